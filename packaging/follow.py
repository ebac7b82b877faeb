"""Follow README, tutorials and notebooks word for word in a bare environment: python packaging/follow.py [WHEEL]

An environment with nothing but the wheel (built first where none is named) and its extra `report`; for notebooks also
nbclient and ipykernel. Everything happens in empty folders outside of the sources: Python blocks run in order, files
that a page shows are written, lines that begin with "$ symbody", and those of the README's list of commands, go to the
`symbody` that was installed. What takes long is run too. Ends at the first thing that does not work, and names it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
EXECUTE = """
import sys, nbclient, nbformat
book = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(book, timeout=900).execute()
shown = [o for c in book.cells if c.cell_type == "code" for o in c.outputs]
assert not [o for o in shown if o.output_type == "error"]
"""
# run by the installed Python in the folder of the page; only the reading of pages comes from the sources
DRIVER = """
import shlex, subprocess, sys
from pathlib import Path
sys.path.append(sys.argv[2])
import pages
pages.run_command = lambda line: subprocess.run([sys.argv[3], *shlex.split(line)], check=True, capture_output=True)
pages.run_page(Path(sys.argv[1]), slow=True)
import symbody
assert not Path(symbody.__file__).is_relative_to(Path(sys.argv[2]).parent), symbody.__file__
"""


def readme_commands() -> list[str]:
    """The list of commands in the README, without what stands beside them."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return [re.split(r"\s{2,}", line.strip())[0] for line in re.findall(r"^    (symbody .*)$", text, re.M)]


def main() -> None:
    given = [Path(a).resolve() for a in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if not given:
            words = [sys.executable, "-m", "build", "--wheel", "--outdir", folder, str(ROOT)]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            given = list(place.glob("*.whl"))
        venv.create(place / "env", with_pip=True)
        own = place / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        clean |= {"XDG_CACHE_HOME": str(place / "cache"), "PATH": f"{own}{os.pathsep}{os.environ['PATH']}"}

        def run(*words: str | Path, at: Path = place) -> None:
            done = subprocess.run([str(w) for w in words], cwd=at, env=clean, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{shlex.join(str(w) for w in words)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")

        def step(name: str, *words: str | Path) -> None:
            at = place / name.replace("/", "_").replace(" ", "_")
            at.mkdir(exist_ok=True)
            start = time.monotonic()
            run(*words, at=at)
            print(f"{name}: as written ({time.monotonic() - start:.0f} s)", flush=True)

        run(own / "python", "-m", "pip", "install", "--quiet", f"{given[0]}[report]")
        for page in (ROOT / "README.md", *TUTORIALS):
            step(page.name, own / "python", "-c", DRIVER, page, ROOT / "tests", own / "symbody")
        for line in readme_commands():  # in one folder: later ones use the files of earlier ones
            (place / "commands").mkdir(exist_ok=True)
            start = time.monotonic()
            run(*shlex.split(line), at=place / "commands")
            print(f"{line}: works ({time.monotonic() - start:.0f} s)", flush=True)
        run(own / "python", "-m", "pip", "install", "--quiet", "nbclient", "nbformat", "ipykernel")
        for book in NOTEBOOKS:
            step(book.name, own / "python", "-c", EXECUTE, book)


if __name__ == "__main__":
    main()
