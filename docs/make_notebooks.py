"""Write a notebook for each tutorial: python docs/make_notebooks.py

Text becomes Markdown cells, blocks of Python become code cells; files that a tutorial shows are written by a cell.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
FOLDER = DOCS / "notebooks"
_BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```\n?", re.M | re.S)


def cells(page: str) -> list[dict[str, Any]]:
    """Cells of a page, in order."""
    out: list[dict[str, Any]] = []
    at = 0
    for found in _BLOCK.finditer(page):
        _add(out, "markdown", page[at : found.start()])
        kind, body = found[1], found[2]
        name = re.match(r"# (\S+\.(?:yaml|yml|urdf|xml))\n", body)
        if kind == "python":
            _add(out, "code", body)
        elif name:
            _add(out, "code", f"from pathlib import Path\n\nPath({name[1]!r}).write_text({body!r})")
        else:
            _add(out, "markdown", found[0])
        at = found.end()
    _add(out, "markdown", page[at:])
    return out


def _add(out: list[dict[str, Any]], kind: str, text: str) -> None:
    text = text.strip("\n")
    if not text.strip():
        return
    lines = text.splitlines(keepends=True)
    cell: dict[str, Any] = {"cell_type": kind, "id": f"c{len(out)}", "metadata": {}, "source": lines}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    out.append(cell)


def notebook(page: Path) -> str:
    """The notebook of a tutorial as JSON."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    data = {
        "cells": cells(page.read_text(encoding="utf-8")),
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for tutorial in sorted((DOCS / "tutorials").glob("*.md")):
        (FOLDER / f"{tutorial.stem}.ipynb").write_text(notebook(tutorial), encoding="utf-8")
