"""The targets, one row each: `compile`, `emit` and the command line read this list. Authors add to it."""

from __future__ import annotations

from symbody.basics.errors import CompileError, DefinitionError, NameLookupError, nearest, shown
from symbody.codegen.target_row import Target
from symbody.codegen.target_rows.c import C_HEADER, C
from symbody.codegen.target_rows.casadi import CASADI
from symbody.codegen.target_rows.cpp import CPP
from symbody.codegen.target_rows.cuda import CUDA
from symbody.codegen.target_rows.fmu import FMU2, FMU3
from symbody.codegen.target_rows.fortran77 import FORTRAN77
from symbody.codegen.target_rows.fortran2008 import FORTRAN2008
from symbody.codegen.target_rows.javascript import JAVASCRIPT
from symbody.codegen.target_rows.jax import JAX
from symbody.codegen.target_rows.julia import JULIA
from symbody.codegen.target_rows.latex import LATEX
from symbody.codegen.target_rows.maple import MAPLE
from symbody.codegen.target_rows.matlab import MATLAB
from symbody.codegen.target_rows.native import LLVM, NATIVE
from symbody.codegen.target_rows.numba import NUMBA
from symbody.codegen.target_rows.python import PYTHON
from symbody.codegen.target_rows.rust import RUST
from symbody.codegen.target_rows.text import TEXT
from symbody.codegen.target_rows.torch import TORCH

ROWS = (
    NATIVE,
    PYTHON,
    C,
    C_HEADER,
    CPP,
    CUDA,
    FORTRAN77,
    FORTRAN2008,
    JAVASCRIPT,
    RUST,
    JULIA,
    MATLAB,
    MAPLE,
    NUMBA,
    JAX,
    TORCH,
    CASADI,
    FMU2,
    FMU3,
    LLVM,
    LATEX,
    TEXT,
)
BUILT_IN = {row.name: row for row in ROWS}
TARGETS: dict[str, Target] = dict(BUILT_IN)


def target_to_build(name: str) -> Target:
    """The row of a target that makes Kernels."""
    known = [row.name for row in TARGETS.values() if row.build]
    return _row_named(name, known, "to compile for", "It is source text alone: use emit")


def target_to_emit(name: str) -> Target:
    """The row of a target that writes source text."""
    known = [row.name for row in TARGETS.values() if row.emit]
    return _row_named(name, known, "to emit", "It has no source text: use compile")


def _row_named(name: str, known: list[str], what: str, other: str) -> Target:
    if not isinstance(name, str):
        raise NameLookupError(f"{shown(name)} is no target {what}. {nearest(name, known)}")
    if name in known:
        return TARGETS[name]
    if name in TARGETS:
        raise CompileError(f"there is no target {name!r} {what}. {other}, or one of {', '.join(known)}.")
    raise NameLookupError(f"unknown target {name!r} {what}. {nearest(name, known)}")


def add_target_row(row: Target) -> None:
    """Enter an author's row; DefinitionError says what is wrong with it."""
    if row.name in TARGETS:
        raise DefinitionError(f"there is a target {row.name!r} already. Choose another name, or remove it first.")
    if row.emit is None and row.build is None:
        raise DefinitionError(f"target {row.name!r} has neither emit nor build; expected one of them, or both.")
    if row.build_groups is not None and row.build is None:
        raise DefinitionError(f"target {row.name!r} builds groups but no System; expected build, too.")
    TARGETS[row.name] = row


def remove_target_row(name: str) -> None:
    """Take an author's row away."""
    if name in BUILT_IN:
        raise DefinitionError(f"target {name!r} is symbody's own and cannot be removed.")
    if name not in TARGETS:
        raise NameLookupError(
            f"there is no added target {name!r}. {nearest(name, [n for n in TARGETS if n not in BUILT_IN])}"
        )
    del TARGETS[name]
