"""System -> Kernel, and System -> source text. One entry for every target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symbody.codegen.grouped import GroupedKernel, compile_groups
from symbody.codegen.interpreted import InterpretedKernel
from symbody.errors import NameLookupError, nearest
from symbody.expr.external import External
from symbody.expr.node import EXTERN
from symbody.expr.walk import topological
from symbody.lower.lowering import lower
from symbody.system.save import fingerprint
from symbody.system.system import System

COMPILE_TARGETS = ("native", "python", "c")
EMIT_TARGETS = ("c", "c_header", "llvm", "text")


def compile_system(
    system: System, target: str = "native", *, groups: Mapping[str, Sequence[str]] | None = None, **options: Any
) -> Any:
    """A Kernel of the System as it is; with `groups` (function -> outputs) a GroupedKernel.

    native   machine code through LLVM, no compiler needed; options of `compile_program`: wait, lanes, fma, level, cache
    python   the interpreter of Programs
    c        the C target built with the system's compiler
    """
    if groups is not None:
        return _compile_groups(system, target, groups, options)
    if target == "native":
        from symbody.codegen.kernel import compile_program

        externals: tuple[External, ...] = ()
        if any(key[0] is EXTERN for key in system.graph.others):
            externals = tuple(dict.fromkeys(n.data for n in topological(system.expressions()) if n.op is EXTERN))
        # the Program is made only when the cache has no code for this System
        return compile_program(
            lambda: lower(system), key=fingerprint(system), externals=externals, name=system.name, **options
        )
    if target == "python":
        return InterpretedKernel(lower(system), **options)
    if target == "c":
        from symbody.codegen.c import emit_c
        from symbody.codegen.c_build import build_c

        program = lower(system)
        return build_c(emit_c(program), program, **options)
    raise NameLookupError(f"unknown target {target!r} to compile for. {nearest(target, COMPILE_TARGETS)}")


def _compile_groups(
    system: System, target: str, groups: Mapping[str, Sequence[str]], options: dict[str, Any]
) -> GroupedKernel:
    program = lower(system)
    if target == "python":
        return compile_groups(program, groups, lambda p: InterpretedKernel(p, **options))
    if target == "native":
        from symbody.codegen.kernel import compile_program
        from symbody.codegen.llvm_compile import host

        fma = options.pop("fma", True) and host().fma
        return compile_groups(program, groups, lambda p: compile_program(p, fma=fma, fuse=False, **options), fma)
    raise NameLookupError(f"groups are compiled for 'native' and 'python', not for {target!r}; emit them as C instead.")


def emit_system(system: System, target: str = "c", **options: Any) -> str:
    """Source text of the System as it is: "c" (source), "c_header", "llvm" (IR), "text" (assignments to read)."""
    if target in ("c", "c_header"):
        from symbody.codegen.c import emit_c

        files = emit_c(lower(system), **options)
        return next(text for name, text in files.items() if name.endswith(".c" if target == "c" else ".h"))
    if target == "llvm":
        from symbody.codegen.llvm_ir import emit_text

        return emit_text(lower(system), **options)
    if target == "text":
        from symbody.expr.text import to_assignments

        lines = to_assignments(system.expressions())
        return lines if isinstance(lines, str) else "\n".join(lines)
    raise NameLookupError(f"unknown target {target!r} to emit. {nearest(target, EMIT_TARGETS)}")
