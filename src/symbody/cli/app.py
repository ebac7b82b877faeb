"""The command line: `symbody COMMAND MODEL`. One file a command; this one lists them."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

from symbody.cli import count, emit, info, verify

app = typer.Typer(
    name="symbody",
    help="From the description of a mechanical system to the smallest correct program for its motion.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("info", epilog="Example: symbody info puma560")(info.info)
app.command("count", epilog="Example: symbody count puma560 --formalism newton_euler")(count.count)
app.command("emit", epilog="Example: symbody emit puma560 --quantity inverse --out generated")(emit.emit)
app.command("verify", epilog="Example: symbody verify puma560")(verify.verify)


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Show the version.", is_eager=True)] = False,
) -> None:
    if version:
        print(f"symbody {metadata.version('symbody')}")
        raise typer.Exit


def main() -> None:
    """Entry point of the `symbody` command."""
    app()
