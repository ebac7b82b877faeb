"""The targets "c", standalone C99 as text or built by the system's compiler, and "c_header", its header alone."""

from __future__ import annotations

from typing import Any

from symbody.basics.errors import CompileError
from symbody.codegen.kernel.grouped import GroupedKernel
from symbody.codegen.kernel.passport import Kernel
from symbody.codegen.printer.module_layout import NAMES
from symbody.codegen.target_row import Source, Target
from symbody.symbolic.lower.groups import Grouped


def _emit(source: Source, **options: Any) -> dict[str, str]:
    from symbody.codegen.c.c_source import emit_c

    return emit_c(source.parts, heading=source.heading, **options)


def _emit_header(source: Source, **options: Any) -> dict[str, str]:
    return {name: text for name, text in _emit(source, **options).items() if name.endswith(".h")}


def _build(source: Source, **options: Any) -> Kernel:
    from symbody.codegen.c.build import build_c

    return build_c(_emit(source, own_trig=False), source.program, **options)


def _build_groups(source: Source, **options: Any) -> GroupedKernel:
    from symbody.codegen.c.build import build_c

    assert isinstance(source.parts, Grouped)
    kernels: dict[str, Kernel] = {**build_c(_emit(source, own_trig=False), source.parts, **options)}
    return GroupedKernel(kernels.pop("step"), kernels)


def _lacks() -> str:
    from symbody.codegen.c.build import find_compiler

    try:
        find_compiler()
    except CompileError as error:
        return str(error)
    return ""


C = Target(
    name="c",
    about="standalone C99 without allocation: a header and a source; built by the system's compiler",
    emit=_emit,
    shown=".c",
    certificate=True,
    precisions=("double", "single"),
    names=NAMES,
    single=True,
    check=(("make", "-s", "test"),),
    build=_build,
    build_groups=_build_groups,
    lacks=_lacks,
    bits=True,
)
C_HEADER = Target(name="c_header", about="the header of the C99 source alone", emit=_emit_header, certificate=True)
