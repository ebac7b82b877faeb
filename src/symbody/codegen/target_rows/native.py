"""The targets "native", machine code through LLVM, and "llvm", its text. No compiler is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symbody.basics.errors import CompileError
from symbody.codegen.kernel.grouped import GroupedKernel, compile_groups
from symbody.codegen.target_row import Source, Target
from symbody.symbolic.expr.function_row import added_functions
from symbody.symbolic.expr.node import EXTERN
from symbody.symbolic.expr.walk import topological

if TYPE_CHECKING:
    from symbody.codegen.kernel.native_kernel import NativeKernel


def _build(source: Source, **options: Any) -> NativeKernel:
    from symbody.codegen.kernel.compile_program import compile_program

    system = source.system
    externals: tuple[Any, ...] = ()
    if any(key[0] is EXTERN for key in system.graph.others):
        externals = tuple(dict.fromkeys(n.data for n in topological(system.expressions()) if n.op is EXTERN))
    added = added_functions()
    if added:
        called = {n.op for n in topological(system.expressions())}
        added = [row for row in added if row.name in called]
    # the Program is made only when the cache has no code for this System
    return compile_program(
        lambda: source.program, key=source.key, externals=externals, functions=added, name=system.name, **options
    )


def _build_groups(source: Source, **options: Any) -> GroupedKernel:
    from symbody.codegen.kernel.compile_program import compile_program
    from symbody.codegen.llvm.loading import host

    assert source.groups is not None
    fma = options.pop("fma", True) and host().fma
    compile_one = lambda p: compile_program(p, fma=fma, fuse=False, **options)  # noqa: E731
    return compile_groups(source.program, source.groups, compile_one, fma)


def _emit(source: Source, **options: Any) -> dict[str, str]:
    from symbody.codegen.llvm.modules import emit_text
    from symbody.codegen.printer.language import identifier

    if source.groups is not None:
        raise CompileError("LLVM IR is written for a whole System; groups are emitted as C.")
    return {f"{identifier(source.system.name)}.ll": emit_text(source.program, **options)}


NATIVE = Target(
    name="native",
    about="machine code through LLVM, for one state and for vectors of states; no compiler needed",
    build=_build,
    build_groups=_build_groups,
)
LLVM = Target(name="llvm", groups=False, about="the LLVM IR that native code is made of, to read", emit=_emit)
