"""Every line of docs/command_line.md works, in order, in an empty folder."""

import re
import shlex
from pathlib import Path

import pytest

from symbody.show.cli.app import COMMANDS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "command_line.md"


def lines():
    return re.findall(r"^\$ symbody (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)


UNSAID = ("--help", "--certificate", "--equations", "--animation", "--starts")  # defaults, or for a few
LONG = ("verify ", "report linkage", "linearize linkage")  # seconds each; no other line needs what they write


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["quick lines", "all lines"])
def test_every_example_of_the_page_runs(call, here, whole):
    for line in lines():
        if not whole and (line == "examples" or line.startswith(LONG)):
            continue
        result = call(*shlex.split(line))
        assert result.exit_code == 0, f"symbody {line}\n{result.stderr}"
        assert not result.stderr, f"symbody {line}\n{result.stderr}"


def test_the_page_names_every_command_and_its_options(call):
    page = PAGE.read_text(encoding="utf-8")
    shown = {shlex.split(line)[0] for line in lines()}
    for name in COMMANDS:
        assert name in shown, f"{name} has no example in docs/command_line.md"
        text = call(name, "--help").stdout
        assert "Example:" in text
        for option in re.findall(r"(?<![\w-])--[a-z0-9-]+", text.partition("Options:")[2]):
            assert option in page or option in ("--help", "--certificate", "--equations", "--animation", "--starts"), (
                option
            )


def test_examples_of_the_help_name_what_exists(call, here):
    for name, row in COMMANDS.items():
        words = shlex.split(row.example)
        if name not in ("count", "emit", "verify", "report", "equilibrium"):  # these take seconds for a large model
            assert call(*words[1:]).exit_code == 0, row.example
