"""The door for authors: what symbody can be extended by, each with one row. `docs/extending.md` adds one of each.

Rows are added for the running process: a package of extensions adds its rows when it is imported. What is added can be
removed again; what is symbody's own cannot. Nothing here is loaded by `import symbody`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from symbody.basics.errors import nearest
from symbody.basics.memory import forget_all
from symbody.symbolic.expr.function_row import (
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
)
from symbody.symbolic.rewrite.runner import Pass

if TYPE_CHECKING:
    from symbody.bondgraph.graph.parts import Part
    from symbody.codegen.kernel.passport import Kernel
    from symbody.codegen.target_row import Source, Target
    from symbody.model.library.force_element import Account, Effect, Event, Field, ForceElement, Mode, Place, State
    from symbody.model.load import Format
    from symbody.model.record.elementary_motions import Motion, Setting
    from symbody.model.record.joints import Kind
    from symbody.motion.events.hooks import HookRow, Making
    from symbody.motion.events.plan import Change, Quiet
    from symbody.motion.march.method_tables import RungeKutta, Splitting
    from symbody.motion.methods.implicit_step import Diagonal
    from symbody.motion.methods.methods import Method, Setup
    from symbody.show.cli.app import Command

__all__ = [
    "AND", "ANY", "ATOM", "COMPARE", "NOT", "OR", "POWER", "PRODUCT", "SIGN", "SUM", "Account", "Change", "Command",
    "Diagonal", "Effect", "Event", "Field", "ForceElement", "Format", "Function", "HookRow", "Instructions",
    "Kernel", "Kind", "Making", "Method", "Mode", "Motion", "Notation", "Part", "Pass", "Place", "Quiet",
    "RungeKutta", "Setting", "Setup", "Source", "Splitting", "State", "Target", "add_command", "add_force_element",
    "add_format", "add_function", "add_hook", "add_joint_kind", "add_method", "add_motion", "add_part", "add_pass",
    "add_target", "commands", "force_elements", "formats", "functions", "hooks", "joint_kinds", "methods",
    "motions", "parts", "passes", "remove_command", "remove_force_element", "remove_format", "remove_function",
    "remove_hook", "remove_joint_kind", "remove_method", "remove_motion", "remove_part", "remove_pass",
    "remove_target", "targets",
]  # fmt: skip

# -- records that need more than expressions: found when asked for

_LAZY = {
    "Change": "symbody.motion.events.plan",
    "Command": "symbody.show.cli.app",
    "HookRow": "symbody.motion.events.hooks",
    "Making": "symbody.motion.events.hooks",
    "Quiet": "symbody.motion.events.plan",
    "Diagonal": "symbody.motion.methods.implicit_step",
    "Format": "symbody.model.load",
    "Kind": "symbody.model.record.joints",
    "Motion": "symbody.model.record.elementary_motions",
    "Setting": "symbody.model.record.elementary_motions",
    "Kernel": "symbody.codegen.kernel.passport",
    "Method": "symbody.motion.methods.methods",
    "Part": "symbody.bondgraph.graph.parts",
    "RungeKutta": "symbody.motion.march.method_tables",
    "Setup": "symbody.motion.methods.methods",
    "Source": "symbody.codegen.target_row",
    "Splitting": "symbody.motion.march.method_tables",
    "Target": "symbody.codegen.target_row",
    **dict.fromkeys(
        ("Account", "Effect", "Event", "Field", "ForceElement", "Mode", "Place", "State"),
        "symbody.model.library.force_element",
    ),
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'symbody.extend' has no attribute {name!r}. {nearest(name, __all__)}")


# -- functions


def add_function(row: Function) -> Callable[..., Any]:
    """Enter a function of expressions; what is returned takes nodes, numbers and arrays of one argument.

    From then on models and `sb.parse` know it by name, and it is differentiated, folded, evaluated, compiled, emitted,
    printed, saved and loaded by its row.
    """
    from symbody.symbolic.expr.function_row import add_row
    from symbody.symbolic.expr.functions import function_of

    add_row(row)
    return function_of(row.name)


def remove_function(name: str) -> None:
    """Take an added function away. Expressions that call it cannot be used, unless it is added again."""
    from symbody.symbolic.expr.function_row import remove_row
    from symbody.symbolic.expr.graph import forget_evaluations

    remove_row(name)
    forget_evaluations()
    forget_all()


def functions() -> dict[str, Function]:
    """All rows by name, symbody's own first."""
    from symbody.symbolic.expr.function_row import FUNCTIONS

    return dict(FUNCTIONS)


# -- passes


def add_pass(row: Pass) -> None:
    """Enter a pass of rewriting: `system.optimize(also=[name])` runs it at the end."""
    from symbody.symbolic.rewrite.presets import add_pass_row

    add_pass_row(row)


def remove_pass(name: str) -> None:
    """Take an added pass away."""
    from symbody.symbolic.rewrite.presets import remove_pass_row

    remove_pass_row(name)
    forget_all()


def passes() -> dict[str, Pass]:
    """All rows by name, symbody's own first."""
    from symbody.symbolic.rewrite.presets import PASSES

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
    forget_all()


def targets() -> dict[str, Target]:
    """All rows by name, symbody's own first."""
    from symbody.codegen.targets import TARGETS

    return dict(TARGETS)


# -- force elements


def add_force_element(row: ForceElement) -> None:
    """Enter a kind of force element: models, programs, simulation, linear models and certificate know it by its row."""
    from symbody.model.library.force_elements import add_row

    add_row(row)


def remove_force_element(kind: str) -> None:
    """Take an added kind away. Mechanisms that have such elements cannot be used any more."""
    from symbody.model.library.force_elements import remove_row

    remove_row(kind)
    forget_all()


def force_elements() -> dict[str, ForceElement]:
    """All rows by kind, symbody's own first."""
    from symbody.model.library.force_elements import FORCE_ELEMENTS

    return dict(FORCE_ELEMENTS)


# -- parts of bond graphs


def add_part(row: Part) -> None:
    """Enter a part of bond graphs: `builder.part(name, row.name, ...)` and the section `parts` of files know it."""
    from symbody.bondgraph.graph.parts import add_part_row

    add_part_row(row)


def remove_part(name: str) -> None:
    """Take an added part away. Graphs that were made of it stay as they are."""
    from symbody.bondgraph.graph.parts import remove_part_row

    remove_part_row(name)
    forget_all()


def parts() -> dict[str, Part]:
    """All rows by name, symbody's own first."""
    from symbody.bondgraph.graph.parts import PARTS

    return dict(PARTS)


# -- integration methods


def add_hook(row: HookRow) -> HookRow:
    """Enter a hook: what happens between stretches of smooth motion, asked after symbody's own."""
    from symbody.motion.events.hooks import add_hook

    return add_hook(row)


def remove_hook(name: str) -> None:
    """Take an added hook away."""
    from symbody.motion.events.hooks import remove_hook

    remove_hook(name)
    forget_all()


def add_method(row: Method | RungeKutta | Splitting | Diagonal) -> Method:
    """Enter an integration method: a table of coefficients, which runs natively, or a Method with its own Stepper."""
    from symbody.motion.methods.methods import add_method

    return add_method(row)


def remove_method(name: str) -> None:
    """Take an added method away."""
    from symbody.motion.methods.methods import remove_method

    remove_method(name)
    forget_all()


def hooks() -> dict[str, HookRow]:
    """All rows by name, symbody's own first."""
    from symbody.motion.events.hooks import HOOKS

    return dict(HOOKS)


def methods() -> dict[str, Method]:
    """All rows by name, symbody's own first."""
    from symbody.motion.methods.methods import METHODS

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
    """Enter a command; `symbody.show.cli.app.main()` runs it with the others."""
    from symbody.show.cli.app import add_command

    return add_command(row)


def remove_command(name: str) -> None:
    """Take an added command away."""
    from symbody.show.cli.app import remove_command

    remove_command(name)


def commands() -> dict[str, Command]:
    """All rows by name, symbody's own first."""
    from symbody.show.cli.app import COMMANDS

    return dict(COMMANDS)


# -- elementary motions and kinds of joints


def add_motion(row: Motion) -> Motion:
    """Enter an elementary motion: joint kinds may be made of it, bodies may own its coordinates.

    Its twist is compared with the derivative of its pose first.
    """
    from symbody.model.record.motion_check import add_motion as add

    return add(row)


def remove_motion(name: str) -> None:
    """Take an added motion away."""
    from symbody.model.record.motion_check import remove_motion as remove

    remove(name)
    forget_all()


def motions() -> dict[str, Motion]:
    """All rows by name, symbody's own first."""
    from symbody.model.record.elementary_motions import MOTIONS

    return dict(MOTIONS)


def add_joint_kind(name: str, text: str, *motions: tuple[Motion | str, str]) -> Kind:
    """Enter a kind of joint: a chain of elementary motions, each with its axis (u: the joint's own, x, y, z, or "")."""
    from symbody.model.record.joints import add_joint_kind as add

    return add(name, text, *motions)


def remove_joint_kind(name: str) -> None:
    """Take an added kind away."""
    from symbody.model.record.joints import remove_joint_kind as remove

    remove(name)
    forget_all()


def joint_kinds() -> dict[str, Kind]:
    """All rows by name, symbody's own first."""
    from symbody.model.record.joints import KINDS

    return dict(KINDS)
