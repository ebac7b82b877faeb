"""The door for authors: what symbody can be extended by, each with one row. `docs/extending.md` adds one of each.

Rows are added for the running process: a package of extensions adds its rows when it is imported. What is added can be
removed again; what is symbody's own cannot. Nothing here is loaded by `import symbody`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from symbody.expr.function_row import (
    AND,
    ANY,
    ATOM,
    COMPARE,
    NOT,
    OR,
    POWER,
    PRODUCT,
    SIGN,
    SUM,
    Function,
    Instructions,
    Notation,
)  # fmt: skip
from symbody.rewrite.runner import Pass

if TYPE_CHECKING:
    from symbody.codegen.passport import Kernel
    from symbody.codegen.target_row import Source, Target
    from symbody.library.force_element import Account, Effect, Event, Field, ForceElement, Mode, Place, State

__all__ = [
    "AND", "ANY", "ATOM", "COMPARE", "NOT", "OR", "POWER", "PRODUCT", "SIGN", "SUM", "Account", "Effect", "Event",
    "Field", "ForceElement", "Function", "Instructions", "Kernel", "Mode", "Notation", "Pass", "Place", "Source",
    "State", "Target", "add_force_element", "add_function", "add_pass", "add_target", "force_elements", "functions",
    "passes", "remove_force_element", "remove_function", "remove_pass", "remove_target", "targets",
]  # fmt: skip

# -- records that need more than expressions: found when asked for

_LATER = {
    "Kernel": "symbody.codegen.passport",
    "Source": "symbody.codegen.target_row",
    "Target": "symbody.codegen.target_row",
    **dict.fromkeys(
        ("Account", "Effect", "Event", "Field", "ForceElement", "Mode", "Place", "State"),
        "symbody.library.force_element",
    ),
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'symbody.extend' has no attribute {name!r}.")


# -- functions


def add_function(row: Function) -> Callable[..., Any]:
    """Enter a function of expressions; what is returned takes nodes, numbers and arrays of one argument.

    From then on models and `sb.parse` know it by name, and it is differentiated, folded, evaluated, compiled, emitted,
    printed, saved and loaded by its row.
    """
    from symbody.expr.function_row import add_row
    from symbody.expr.functions import function_of

    add_row(row)
    return function_of(row.name)


def remove_function(name: str) -> None:
    """Take an added function away. Expressions that call it cannot be used any more."""
    from symbody.expr.function_row import remove_row

    remove_row(name)


def functions() -> dict[str, Function]:
    """All rows by name, symbody's own first."""
    from symbody.expr.function_row import FUNCTIONS

    return dict(FUNCTIONS)


# -- passes


def add_pass(row: Pass) -> None:
    """Enter a pass of rewriting: `system.optimize(also=[name])` runs it at the end."""
    from symbody.rewrite.presets import add_pass_row

    add_pass_row(row)


def remove_pass(name: str) -> None:
    """Take an added pass away."""
    from symbody.rewrite.presets import remove_pass_row

    remove_pass_row(name)


def passes() -> dict[str, Pass]:
    """All rows by name, symbody's own first."""
    from symbody.rewrite.presets import PASSES

    return dict(PASSES)


# -- targets


def add_target(row: Target) -> None:
    """Enter a target: `system.compile(row.name)`, `system.emit(row.name)` and `symbody emit --target` know it."""
    from symbody.codegen.targets import add_target_row

    add_target_row(row)


def remove_target(name: str) -> None:
    """Take an added target away."""
    from symbody.codegen.targets import remove_target_row

    remove_target_row(name)


def targets() -> dict[str, Target]:
    """All rows by name, symbody's own first."""
    from symbody.codegen.targets import TARGETS

    return dict(TARGETS)


# -- force elements


def add_force_element(row: ForceElement) -> None:
    """Enter a kind of force element: models, programs, simulation, linear models and certificate know it by its row."""
    from symbody.library.force_elements import add_row

    add_row(row)


def remove_force_element(kind: str) -> None:
    """Take an added kind away. Mechanisms that have such elements cannot be used any more."""
    from symbody.library.force_elements import remove_row

    remove_row(kind)


def force_elements() -> dict[str, ForceElement]:
    """All rows by kind, symbody's own first."""
    from symbody.library.force_elements import FORCE_ELEMENTS

    return dict(FORCE_ELEMENTS)
