"""The pages that a user reads first stay true."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from symbody import errors

ROOT = Path(__file__).resolve().parents[1]


def python_blocks(text: str) -> list[tuple[int, str]]:
    """First line number and code of every ```python block."""
    blocks = re.finditer(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, b.start(1)), b.group(1)) for b in blocks]


def test_readme_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the tour writes files
    blocks = python_blocks((ROOT / "README.md").read_text(encoding="utf-8"))
    assert blocks, "README.md has no python block"
    namespace: dict[str, object] = {"__name__": "readme"}
    for line, code in blocks:
        exec(compile("\n" * line + code, "README.md", "exec"), namespace)  # the empty lines make tracebacks point right


def test_readme_names_targets_that_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)`", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert {"demo", "test"} <= named <= targets


def test_error_page_lists_every_exception():
    classes = {n for n, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.SymbodyError)}
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert classes == set(re.findall(r"^\| `(\w+)`", page, flags=re.MULTILINE))
