"""For authors of new members: what a row is made of, and how it is added. One row each, from anywhere.

docs/extending.md adds one of each. Names are found only when asked for, as in `symbody`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from symbody.errors import nearest

if TYPE_CHECKING:
    from symbody.cli.app import COMMANDS, Command, add_command
    from symbody.codegen.methods import RungeKutta, Splitting
    from symbody.simulation.implicit import Diagonal
    from symbody.simulation.makers import METHODS, Method, Setup, add_method

_LATER = {
    # integration methods
    "add_method": "symbody.simulation.makers",
    "METHODS": "symbody.simulation.makers",
    "Method": "symbody.simulation.makers",
    "Setup": "symbody.simulation.makers",
    "RungeKutta": "symbody.codegen.methods",
    "Splitting": "symbody.codegen.methods",
    "Diagonal": "symbody.simulation.implicit",
    # commands
    "add_command": "symbody.cli.app",
    "COMMANDS": "symbody.cli.app",
    "Command": "symbody.cli.app",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'symbody.extend' has no attribute {name!r}. {nearest(name, _LATER)}")


def __dir__() -> list[str]:
    return sorted(_LATER)


__all__ = [
    "COMMANDS", "METHODS", "Command", "Diagonal", "Method", "RungeKutta", "Setup", "Splitting", "add_command",
    "add_method",
]  # fmt: skip
