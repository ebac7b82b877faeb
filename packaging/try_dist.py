"""Build sdist and wheel, install each in a bare environment of every Python here, run the README there, check metadata.

python packaging/try_dist.py [--quick]: --quick tries the wheel on this Python alone.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def build() -> list[Path]:
    """Wheel and sdist in dist/."""
    out = ROOT / "dist"
    shutil.rmtree(out, ignore_errors=True)
    words = [sys.executable, "-m", "build", "--outdir", str(out), str(ROOT)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return sorted(out.iterdir())


def check_metadata(wheel: Path) -> None:
    """Name, version, licence, readme and the command; nothing of the tests inside."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = next(n for n in names if n.endswith("METADATA"))
        text = archive.read(metadata).decode()
        entry = archive.read(next(n for n in names if n.endswith("entry_points.txt"))).decode()
    for line in ("Name: symbody", "License-Expression: BSD-3-Clause", "Requires-Python: >=3.11"):
        assert line in text, f"the metadata of {wheel.name} lacks {line!r}"
    assert "# symbody" in text, "the README is not in the metadata"
    assert "symbody = symbody.cli.app:main" in entry
    assert not [n for n in names if n.startswith("tests/")], "tests are in the wheel"


def readme_code() -> str:
    """The Python blocks of the README, in order."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    return "\n".join(blocks)


def pythons() -> list[str]:
    """Interpreters that are here, one a version."""
    found = [shutil.which(f"python{version}") for version in PYTHONS]
    return [p for p in found if p] or [sys.executable]


def try_package(python: str, package: Path) -> None:
    """In an environment with nothing else, in an empty folder: install, run the README and the command."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if python == sys.executable:
            venv.create(place / "env", with_pip=True)
        else:
            subprocess.run([python, "-m", "venv", str(place / "env")], check=True)
        own = place / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        subprocess.run([own / "python", "-m", "pip", "install", "--quiet", f"{package}[report]"], check=True)
        (place / "readme.py").write_text(readme_code(), encoding="utf-8")
        for words in (["python", "readme.py"], ["symbody", "info", "four_bar"], ["symbody", "equations", "pendulum2"]):
            subprocess.run([own / words[0], *words[1:]], cwd=place, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    packages = build()
    wheel = next(p for p in packages if p.suffix == ".whl")
    check_metadata(wheel)
    print(f"built {', '.join(p.name for p in packages)}")
    for python in [sys.executable] if quick else pythons():
        for package in [wheel] if quick else packages:
            try_package(python, package)
            print(f"{Path(python).name}: {package.name} installs, and the README runs")


if __name__ == "__main__":
    main()
