"""The pages that a user reads first stay true."""

from __future__ import annotations

import inspect
import re

from helpers.pages import ROOT, run_page
from symbody.basics import errors


def test_readme_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the tour writes files
    assert run_page(ROOT / "README.md"), "README.md has no python block"


def test_readme_opens_with_five_lines_and_their_output(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, told = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, flags=re.DOTALL).groups()
    assert text.index(".webp") < text.index(code)  # below a picture that moves
    assert len([line for line in code.splitlines() if line]) == 5
    exec(code, {})
    assert capsys.readouterr().out == told


def test_readme_names_targets_that_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)`", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert {"demo", "test"} <= named <= targets


def test_readme_names_commands_that_exist():
    from symbody.show.cli.app import COMMANDS

    named = set(re.findall(r"^    symbody (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert named
    assert named <= set(COMMANDS)


def test_error_page_lists_every_exception():
    classes = {n for n, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.SymbodyError)}
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert classes == set(re.findall(r"^\| `(\w+)`", page, flags=re.MULTILINE))
