"""System -> Kernel, and System -> source text. One entry for every target.

A target is a row of `targets.py`: one that builds gives a Kernel, one that emits gives the texts of files. A System is
taken as it is; `optimize` makes a cheaper one before. Every target must agree with the interpreter, target "python".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from symbody.basics.errors import CompileError
from symbody.codegen.kernel.grouped import GroupedKernel
from symbody.codegen.kernel.passport import Kernel
from symbody.codegen.kernel.recipe import STEP, Recipe, Remade
from symbody.codegen.target_row import Source
from symbody.codegen.targets import TARGETS, target_to_build, target_to_emit
from symbody.symbolic.system.system import System

if TYPE_CHECKING:
    from symbody.codegen.kernel.native_kernel import NativeKernel


@overload
def compile_system(
    system: System, target: Literal["native"] = "native", *, groups: None = None, **options: Any
) -> NativeKernel: ...


@overload
def compile_system(system: System, target: str, *, groups: None = None, **options: Any) -> Kernel: ...


@overload
def compile_system(
    system: System, target: str = "native", *, groups: Mapping[str, Sequence[str]], **options: Any
) -> GroupedKernel: ...


def compile_system(
    system: System, target: str = "native", *, groups: Mapping[str, Sequence[str]] | None = None, **options: Any
) -> Kernel | GroupedKernel:
    """A Kernel of the System as it is; with `groups` (function -> outputs) a GroupedKernel.

    target: a row of `codegen/targets.py` that builds: native, python, c, or an author's
    options: of the target; native: those of `compile_program` (wait, lanes, fma, level, cache); c: of `build_c`
    """
    row = target_to_build(target)
    assert row.build is not None
    if groups is None:
        return _remembered(row.build(Source(system), **options), Recipe(system, target, None, options))
    if row.build_groups is None:
        able = [r.name for r in TARGETS.values() if r.build_groups]
        raise CompileError(f"target {target!r} does not build groups of functions; {', '.join(able)} do.")
    source = Source(system, groups)
    return _remembered(row.build_groups(source, **options), Recipe(system, target, source.groups, options))


K = TypeVar("K")


def _remembered(kernel: K, recipe: Recipe) -> K:
    """The Kernel, with what it was made of where it can be made again by that."""
    if isinstance(kernel, Remade):
        kernel.recipe = recipe
    if isinstance(kernel, GroupedKernel):
        for name, part in ((STEP, kernel.step), *kernel.functions.items()):
            _remembered(part, replace(recipe, function=name))
    return kernel


def emit_system(system: System, target: str = "c", **options: Any) -> str:
    """Source text of the System as it is: "c" (source), "c_header", "llvm" (IR), "text" (assignments to read), ..."""
    files = emit_files(system, target, **options)
    shown = target_to_emit(target).shown
    return next(text for name, text in files.items() if name.endswith(shown))


def emit_files(
    system: System, target: str = "c", *, groups: Mapping[str, Sequence[str]] | None = None, **options: Any
) -> dict[str, str]:
    """All files of a source target, file name -> text; with `groups` (function -> outputs) one function a group."""
    row = target_to_emit(target)
    assert row.emit is not None
    return row.emit(Source(system, groups), **options)
