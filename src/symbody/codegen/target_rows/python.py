"""The target "python": the interpreter of Programs, which judges the others. It builds anywhere and is slow."""

from __future__ import annotations

from typing import Any

from symbody.codegen.kernel.grouped import GroupedKernel, compile_groups
from symbody.codegen.kernel.interpreted import InterpretedKernel
from symbody.codegen.target_row import Source, Target


def _build(source: Source, **options: Any) -> InterpretedKernel:
    return InterpretedKernel(source.program, **options)


def _build_groups(source: Source, **options: Any) -> GroupedKernel:
    assert source.groups is not None
    return compile_groups(source.program, source.groups, lambda p: InterpretedKernel(p, **options))


PYTHON = Target(
    name="python",
    about="the interpreter of Programs: floats, complex and exact numbers, no native code",
    build=_build,
    build_groups=_build_groups,
    bits=True,
)
