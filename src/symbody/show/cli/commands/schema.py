"""`symbody schema`: JSON schemas of what commands print with --json, and of model files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symbody.basics.errors import NameLookupError, nearest

FOLDER = Path(__file__).parent / "schemas"
MODEL_FILE = "model_file"


def names() -> list[str]:
    """Commands that have a schema, and the format of model files."""
    return [*sorted(p.stem for p in FOLDER.glob("*.json")), MODEL_FILE]


def completed(incomplete: str) -> list[str]:
    """The names that begin so, for the shell."""
    return [n for n in names() if n.startswith(incomplete)]


def schema(
    command: Annotated[
        str,
        typer.Argument(metavar="COMMAND", help="simulate, info, ..., or model_file.", autocompletion=completed),
    ] = "",
) -> None:
    """Print the JSON schema (draft 2020-12) of what COMMAND prints with --json; without it, the names."""
    if not command:
        print("\n".join(names()))
        return
    if command not in names():
        raise NameLookupError(f"there is no schema of {command!r}. {nearest(command, names())}")
    print(text(command), end="")


def text(name: str) -> str:
    """The schema of a command, or of model files."""
    if name == MODEL_FILE:
        from symbody.model.files.model_schema import SCHEMA_FILE

        return SCHEMA_FILE.read_text(encoding="utf-8")
    return (FOLDER / f"{name}.json").read_text(encoding="utf-8")
