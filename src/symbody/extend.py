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
    from symbody.model.joints import Kind
    from symbody.model.motions import Motion, Setting

__all__ = [
    "AND", "ANY", "ATOM", "COMPARE", "NOT", "OR", "POWER", "PRODUCT", "SIGN", "SUM", "Function", "Instructions",
    "Kernel", "Kind", "Motion", "Notation", "Pass", "Setting", "Source", "Target", "add_function", "add_joint_kind",
    "add_motion", "add_pass", "add_target", "functions", "joint_kinds", "motions", "passes", "remove_function",
    "remove_joint_kind", "remove_motion", "remove_pass", "remove_target", "targets",
]  # fmt: skip

# -- records that need more than expressions: found when asked for

_LATER = {
    "Kind": "symbody.model.joints",
    "Motion": "symbody.model.motions",
    "Setting": "symbody.model.motions",
    "Kernel": "symbody.codegen.passport",
    "Source": "symbody.codegen.target_row",
    "Target": "symbody.codegen.target_row",
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


# -- elementary motions and kinds of joints


def add_motion(row: Motion) -> Motion:
    """Enter an elementary motion: joint kinds may be made of it, bodies may own its coordinates.

    Its twist is compared with the derivative of its pose first.
    """
    from symbody.model.motions import add_motion as add

    return add(row)


def remove_motion(name: str) -> None:
    """Take an added motion away."""
    from symbody.model.motions import remove_motion as remove

    remove(name)


def motions() -> dict[str, Motion]:
    """All rows by name, symbody's own first."""
    from symbody.model.motions import MOTIONS

    return dict(MOTIONS)


def add_joint_kind(name: str, text: str, *motions: tuple[Motion | str, str]) -> Kind:
    """Enter a kind of joint: a chain of elementary motions, each with its axis (u: the joint's own, x, y, z, or "")."""
    from symbody.model.joints import add_joint_kind as add

    return add(name, text, *motions)


def remove_joint_kind(name: str) -> None:
    """Take an added kind away."""
    from symbody.model.joints import remove_joint_kind as remove

    remove(name)


def joint_kinds() -> dict[str, Kind]:
    """All rows by name, symbody's own first."""
    from symbody.model.joints import KINDS

    return dict(KINDS)
