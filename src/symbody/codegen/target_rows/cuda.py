"""The target "cuda": CUDA C++ over a Program, one state a thread; built by nvrtc and run on a device."""

from __future__ import annotations

from typing import Any

from symbody.codegen.kernel.passport import Kernel
from symbody.codegen.target_row import Source, Target


def _emit(
    source: Source,
    *,
    precision: str = "double",
    layout: str = "state",
    parameters: str = "shared",
    certificate: str | None = None,
    long: int | None = None,
) -> dict[str, str]:
    """NAME.cu. layout: arrays by state or by component; parameters: shared, each (state) or folded (the defaults)."""
    from dataclasses import replace

    from symbody.codegen.cuda.kernel_source import kernel_text
    from symbody.codegen.cuda.texts import folded
    from symbody.symbolic.system.ports import gather_parameters

    program = source.program
    if parameters == "folded":
        program = folded(program, gather_parameters(program.parameters, None))
    heading = replace(source.heading, certificate=certificate)
    made = kernel_text(program, precision, layout, parameters, long, heading)
    return {f"{made.functions.module.name}.cu": made.text}


def _build(
    source: Source,
    *,
    precision: str = "double",
    layout: str = "state",
    fold: Any = None,
    long: int | None = None,
    device: int = 0,
) -> Kernel:
    """precision: double, single, or fast (single, with the hardware's approximate functions); layout: state (n, ...) or
    component (..., n); fold: parameters to be put into the text, a mapping, or True for the defaults; long: operations
    above which a program is cut into functions; device: where NumPy arrays are computed.
    """
    from symbody.basics.errors import CompileError, whole_argument, word_argument
    from symbody.codegen.cuda import driver, nvrtc
    from symbody.codegen.cuda.cuda_language import LONG, PRECISIONS
    from symbody.codegen.cuda.kernel import CudaKernel
    from symbody.codegen.cuda.kernel_source import LAYOUTS
    from symbody.codegen.cuda.texts import Texts, folded
    from symbody.symbolic.system.ports import check_numbers, gather_parameters

    word_argument("precision", precision, PRECISIONS)
    word_argument("layout", layout, LAYOUTS)
    if long is not None:
        whole_argument("long", long, 1)
    if nvrtc.lacks():
        raise CompileError(nvrtc.lacks())
    driver.device(device)  # says what is missing
    program = source.program
    if fold is not None and fold is not False:
        numbers = None if fold is True else fold
        check_numbers(program.parameters, numbers)
        program = folded(program, gather_parameters(program.parameters, numbers))
    texts = Texts(
        program,
        precision,
        layout,
        not source.program.parameters or program is not source.program,
        LONG if long is None else long,
    )
    kernel = CudaKernel(program, texts, device)
    first = texts.text("shared")
    driver.device(device).build(first.text, first.options)  # mistakes show here, not in the first call
    return kernel


def _lacks() -> str:
    from symbody.codegen.cuda import driver

    return driver.lacks()


CUDA = Target(
    name="cuda",
    about="CUDA C++, one state a thread; built by nvrtc, for arrays on a device",
    emit=_emit,
    shown=".cu",
    certificate=True,
    groups=False,
    precisions=("double", "single", "fast"),
    build=_build,
    lacks=_lacks,
)
