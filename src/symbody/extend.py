"""The door for authors: what symbody can be extended by, each with one row. `docs/extending.md` adds one of each.

Rows are added for the running process: a package of extensions adds its rows when it is imported. What is added can be
removed again; what is symbody's own cannot. Nothing here is loaded by `import symbody`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from symbody.errors import nearest

if TYPE_CHECKING:
    from symbody.cli.app import Command
    from symbody.codegen.methods import RungeKutta, Splitting
    from symbody.model.load import Format
    from symbody.simulation.implicit import Diagonal
    from symbody.simulation.makers import Method, Setup

__all__ = [
    "Command", "Diagonal", "Format", "Method", "RungeKutta", "Setup", "Splitting", "add_command", "add_format",
    "add_method", "commands", "formats", "methods", "remove_command", "remove_format", "remove_method",
]  # fmt: skip

# -- records: found when asked for

_LATER = {
    "Command": "symbody.cli.app",
    "Diagonal": "symbody.simulation.implicit",
    "Format": "symbody.model.load",
    "Method": "symbody.simulation.makers",
    "RungeKutta": "symbody.codegen.methods",
    "Setup": "symbody.simulation.makers",
    "Splitting": "symbody.codegen.methods",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'symbody.extend' has no attribute {name!r}. {nearest(name, __all__)}")


# -- integration methods


def add_method(row: Method | RungeKutta | Splitting | Diagonal) -> Method:
    """Enter an integration method: a table of coefficients, which runs natively, or a Method with its own Driver."""
    from symbody.simulation.makers import add_method

    return add_method(row)


def remove_method(name: str) -> None:
    """Take an added method away."""
    from symbody.simulation.makers import remove_method

    remove_method(name)


def methods() -> dict[str, Method]:
    """All rows by name, symbody's own first."""
    from symbody.simulation.makers import METHODS

    return dict(METHODS)


# -- readers and writers of model files


def add_format(row: Format) -> Format:
    """Enter a kind of model file: `sb.load`, `sb.save` and the command line know its suffixes."""
    from symbody.model.load import add_format

    return add_format(row)


def remove_format(name: str) -> None:
    """Take an added format away."""
    from symbody.model.load import remove_format

    remove_format(name)


def formats() -> dict[str, Format]:
    """All rows by name, symbody's own first."""
    from symbody.model.load import FORMATS

    return dict(FORMATS)


# -- commands


def add_command(row: Command) -> Command:
    """Enter a command; `symbody.cli.app.main()` runs it with the others."""
    from symbody.cli.app import add_command

    return add_command(row)


def remove_command(name: str) -> None:
    """Take an added command away."""
    from symbody.cli.app import remove_command

    remove_command(name)


def commands() -> dict[str, Command]:
    """All rows by name, symbody's own first."""
    from symbody.cli.app import COMMANDS

    return dict(COMMANDS)
