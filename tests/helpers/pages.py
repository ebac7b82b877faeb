"""Pages of documentation as programs: what a reader would type is run, in order, in one folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(python|yaml|console)( slow)?\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the line before its first one, its text, and whether it takes long."""

    kind: str
    line: int
    text: str
    slow: bool


def blocks(text: str) -> list[Block]:
    """All python, yaml and console blocks of a page."""
    return [Block(b[1], text.count("\n", 0, b.start(3)), b[3], bool(b[2])) for b in BLOCK.finditer(text)]


def run_page(path: Path, slow: bool = False) -> dict[str, Any]:
    """Run a page in the current folder and return the names that its Python blocks have made.

    yaml       written to the file that its first line names in a comment; without one it is only shown
    console    lines after "$ symbody" go to the command line, in this process
    python     executed, all blocks in one namespace; blocks marked "slow" only if asked for
    """
    namespace: dict[str, Any] = {"__name__": path.stem}
    text = path.read_text(encoding="utf-8")
    for block in blocks(text):
        if block.slow and not slow:
            continue
        if block.kind == "python":
            # the empty lines make tracebacks point right
            exec(compile("\n" * block.line + block.text, str(path), "exec"), namespace)
        elif block.kind == "yaml":
            name = re.match(r"# ([\w.]+\.yaml)$", block.text.splitlines()[0])
            if name:
                Path(name[1]).write_text(block.text, encoding="utf-8")
        else:
            for line in commands(block.text):
                run_command(line)
    return namespace


def commands(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("$ "):
            assert line.startswith("$ symbody "), f"{line!r}: only the command line of symbody is run"
            yield line.removeprefix("$ symbody ")


def run_command(line: str) -> str:
    """One line of the command line in this process; its output."""
    import shlex

    from typer.testing import CliRunner

    from symbody.show.cli.app import app

    result = CliRunner().invoke(app, shlex.split(line))
    assert result.exit_code == 0, f"symbody {line}\n{result.output}\n{result.exception!r}"
    return str(result.output)
