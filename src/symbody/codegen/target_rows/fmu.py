"""The targets "fmu2" and "fmu3": a System with states as an FMU, for model exchange and co-simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symbody.basics.errors import CompileError
from symbody.codegen.target_row import Source, Target


def _emit(version: int) -> Callable[..., dict[str, Any]]:
    def emit(source: Source, **options: Any) -> dict[str, bytes]:
        from symbody.codegen.fmu.package import build_fmu

        name = source.system.name
        data = build_fmu(
            source.system, version, labels=source.labels, units=source.units, start=source.start, **options
        )
        return {f"{name}.fmu": data}

    return emit


def _lacks() -> str:
    from symbody.codegen.c.build import find_compiler
    from symbody.codegen.fmu.package import platform_of

    try:
        find_compiler()
        platform_of()
    except CompileError as error:
        return str(error)
    return ""


FMU2 = Target(
    name="fmu2",
    about="an FMU of FMI 2.0, for model exchange and co-simulation, of a System with states",
    emit=_emit(2),
    motion=True,
    groups=False,
    certificate=True,
    lacks=_lacks,
)
FMU3 = Target(
    name="fmu3",
    about="an FMU of FMI 3.0, for model exchange and co-simulation, of a System with states",
    emit=_emit(3),
    motion=True,
    groups=False,
    certificate=True,
    lacks=_lacks,
)
