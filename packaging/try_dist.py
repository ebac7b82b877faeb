"""Build sdist and wheel, install each in a bare environment of every Python here, run the README there, check metadata.

python packaging/try_dist.py [--quick]: --quick tries the wheel on this Python alone.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
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
    assert "symbody = symbody.show.cli.app:main" in entry
    assert not [n for n in names if n.startswith("tests/")], "tests are in the wheel"


def readme_code() -> str:
    """The Python blocks of the README, in order."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    return "\n".join(blocks)


def pythons() -> list[str]:
    """Interpreters that are here and run, one a version: on the path, or among those that pyenv has installed.

    A name on the path may be a shim of pyenv that runs nothing until its version is chosen.
    """
    folders = [Path(folder) for folder in os.get_exec_path()]
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = []
    for version in PYTHONS:
        places = [*folders, *(folder / "bin" for folder in sorted(installed.glob(f"{version}.*")))]
        named = [shutil.which(f"python{version}", path=str(place)) for place in places]
        found += [p for p in named if p and makes_environments(p)][:1]
    return found or [sys.executable]


def makes_environments(python: str) -> bool:
    """Whether an interpreter runs and has what `python -m venv` needs."""
    return not subprocess.run([python, "-c", "import venv, ensurepip"], capture_output=True).returncode


def try_package(python: str, package: Path) -> None:
    """In an environment with nothing else, in an empty folder: install, run the README and the command."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        # neither modules nor caches of this place are seen from there
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SYMBODY"))}
        clean["XDG_CACHE_HOME"] = str(place / "cache")
        subprocess.run([python, "-m", "venv", str(place / "env")], check=True, env=clean)
        own = place / "env" / ("Scripts" if sys.platform == "win32" else "bin")

        def run(*words: str) -> str:
            command = [str(own / words[0]), *words[1:]]
            return subprocess.run(command, cwd=place, env=clean, check=True, stdout=subprocess.PIPE, text=True).stdout

        run("python", "-m", "pip", "install", "--quiet", f"{package}[report]")
        where = run("python", "-c", "import symbody; print(symbody.__file__)").strip()
        assert Path(where).is_relative_to(place), f"symbody was found at {where}, not in its environment"
        (place / "readme.py").write_text(readme_code(), encoding="utf-8")
        run("python", "readme.py")
        run("symbody", "info", "four_bar")
        run("symbody", "equations", "pendulum2")


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    packages = build()
    wheel = next(p for p in packages if p.suffix == ".whl")
    check_metadata(wheel)
    print(f"built {', '.join(p.name for p in packages)}")
    for python in [sys.executable] if quick else pythons():
        for package in [wheel] if quick else packages:
            try_package(python, package)
            version = subprocess.run([python, "--version"], capture_output=True, text=True).stdout.strip()
            print(f"{version}: {package.name} installs, and the README runs", flush=True)


if __name__ == "__main__":
    main()
