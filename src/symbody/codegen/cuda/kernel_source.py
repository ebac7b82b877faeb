"""The kernel of a Program: one state a thread, arrays by state or by component, parameters shared, per state or folded.

    NAME_kernel(n, inputs, parameters, derived, outputs, status)

by state       the components of a state stand side by side: element k of state i at [i*size + k]
by component   the states stand side by side: element k of state i at [k*n + i]

An input of one state for all has the distance 0 from state to state. Shared parameters come as what setup made of them,
by value, so that calls on several streams do not meet; per state, each thread runs setup itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, word_argument
from symbody.codegen.cuda.cuda_language import LONG, PRELUDE, REALS, DeviceProgram, device_program, setup_solves
from symbody.codegen.printer.heading import Heading, argument_lines, head_lines, parameter_lines
from symbody.symbolic.lower.program import Program

LAYOUTS = ("state", "component")
PARAMETERS = ("shared", "each", "folded")
BY_VALUE = 3500  # bytes of derived values that go with the arguments of a launch
BLOCK = 128  # threads of a block


@dataclass(frozen=True, eq=False)
class KernelText:
    """text, and what the caller must know to launch it.

    entry     name of the kernel
    by_value  derived values go with the arguments; else as an array on the device
    """

    text: str
    entry: str
    functions: DeviceProgram
    layout: str
    parameters: str
    precision: str
    by_value: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64 if self.precision == "double" else np.float32)

    @property
    def options(self) -> tuple[str, ...]:
        return ("--use_fast_math",) if self.precision == "fast" else ()


def kernel_text(
    program: Program,
    precision: str = "double",
    layout: str = "state",
    parameters: str = "shared",
    long: int | None = None,
    heading: Heading | None = None,
) -> KernelText:
    """The text of one kernel. program: with folded parameters it has none left."""
    word_argument("layout", layout, LAYOUTS)
    word_argument("parameters", parameters, PARAMETERS)
    if parameters == "folded" and program.parameters:
        raise DefinitionError(f"'{program.name}' still has parameters; fold them first (`folded`).")
    each = parameters == "each" or setup_solves(program)
    made = device_program(program, precision, "program", LONG if long is None else long, each)
    real, name = REALS[precision], made.module.name
    size = len(made.derived) * (8 if real == "double" else 4)
    by_value = size <= BY_VALUE
    entry = f"{name}_kernel"
    arguments = ["const long long n"]
    body = ["const long long i = (long long)blockIdx.x*blockDim.x + threadIdx.x;", "if (i >= n)", "    return;"]
    inputs, outputs = {}, {}
    for k, port in enumerate(program.inputs):
        inputs[port.name] = f"in{k}"
        arguments += [f"const {real} *__restrict__ g_in{k}", f"const long long s_in{k}"]
        body += load(f"in{k}", port.size, layout, real)
    if each:
        total = max(program.parameter_size, 1)
        body.append(f"{real} parameters[{total}];")
        for k, port in enumerate(program.parameters):
            arguments += [f"const {real} *__restrict__ g_par{k}", f"const long long s_par{k}"]
            body += _scalar_load(f"g_par{k}", f"s_par{k}", "parameters", port.start, port.size, layout)
        body.append(f"{real} derived[{max(len(made.derived), 1)}];")
    elif not by_value:
        arguments.append(f"const {real} *__restrict__ derived")
    body.append(f"int status[{max(made.blocks, 1)}] = {{0}};")
    if made.work:
        body.append(f"{real} work[{made.work}];")
    if each:
        body.append(made.setup())
    for k, out in enumerate(program.outputs):
        outputs[out.name] = f"out{k}"
        arguments.append(f"{real} *__restrict__ g_out{k}")
        body.append(f"{real} out{k}[{max(len(out.values), 1)}];")
    where = "constants.v" if by_value and not each else "derived"
    body.append(made.call(inputs, outputs, derived=where))
    if each and made.setup_solves:
        body += _unsolved(program)
    for k, out in enumerate(program.outputs):
        body += store(f"out{k}", len(out.values), layout, real)
    if made.blocks:
        arguments.append("int *__restrict__ g_status")
        body += [f"g_status[{_place(k, made.blocks, layout)}] = status[{k}];" for k in range(made.blocks)]
    struct = ""
    if by_value and not each:  # last: the other arguments are words of 8 bytes
        arguments.append(f"const __grid_constant__ {name}_derived constants")
        struct = f"struct {name}_derived {{ {real} v[{max(len(made.derived), 1)}]; }};\n\n"
    lines = "\n".join(f"    {line}" for line in body)
    listed = ",\n    ".join(arguments)
    head = _head(made, heading or Heading(), precision, layout, "each" if each else parameters)
    text = (
        f'{head}{PRELUDE}\n{made.text}\n{struct}extern "C" __global__ void __launch_bounds__({BLOCK})\n'
        f"{entry}(\n    {listed})\n{{\n{lines}\n}}\n"
    )
    return KernelText(text, entry, made, layout, "each" if each else parameters, precision, by_value)


def _head(made: DeviceProgram, heading: Heading, precision: str, layout: str, parameters: str) -> str:
    told = [
        *head_lines(made.module, heading),
        "",
        f"{precision} precision, arrays by {layout}, parameters {parameters}",
    ]
    if made.pieces:
        told.append(f"cut into {made.pieces} functions; {made.work} values travel between them")
    told += ["", *parameter_lines(made.module), "", *argument_lines(made.module.parts[0], heading)]
    return "".join(f"// {line}".rstrip() + "\n" for line in told) + "\n"


def _unsolved(program: Program) -> list[str]:
    """NaN in all results where a block of setup failed."""
    tests = " || ".join(f"status[{k}] < 0" for k in range(len(program.blocks)))
    lines = [f"if ({tests}) {{"]
    for k, out in enumerate(program.outputs):
        lines += [f"    for (int k = 0; k < {len(out.values)}; ++k)", f"        out{k}[k] = NAN;"] if out.values else []
    return [*lines, "}"]


def _place(k: int, size: int, layout: str) -> str:
    if layout == "state":
        return f"i*{size} + {k}" if size > 1 else "i"
    return f"{k}*n + i" if k else "i"


def vector(size: int, real: str) -> int:
    """Numbers that are loaded or stored at once where the components of a state stand side by side."""
    most = 2 if real == "double" else 4
    return next(w for w in (most, 2, 1) if size % w == 0 and w <= most)


def load(name: str, size: int, layout: str, real: str) -> list[str]:
    """An array of a thread, filled from the device's memory."""
    lines = [f"{real} {name}[{max(size, 1)}];"]
    if layout == "component":
        return lines + _scalar_load(f"g_{name}", f"s_{name}", name, 0, size, layout)
    width = vector(size, real) if size else 1
    if width == 1:
        return lines + _scalar_load(f"g_{name}", f"s_{name}", name, 0, size, layout)
    fields = "xyzw"[:width]
    for k in range(0, size, width):
        read = f"reinterpret_cast<const {real}{width} *>(g_{name} + i*s_{name})[{k // width}]"
        puts = " ".join(f"{name}[{k + j}] = v.{f};" for j, f in enumerate(fields))
        lines.append(f"{{ const {real}{width} v = {read}; {puts} }}")
    return lines


def _scalar_load(array: str, stride: str, name: str, start: int, size: int, layout: str) -> list[str]:
    """Element k at [i*stride + k] by state; by component at [k*n + i] where the stride is 1, at [k] where it is 0."""
    if layout == "state":
        return [f"{name}[{start + k}] = {array}[i*{stride}{f' + {k}' if k else ''}];" for k in range(size)]
    return [
        f"{name}[{start + k}] = {array}[{f'{k}*({stride} ? n : 1) + ' if k else ''}i*{stride}];" for k in range(size)
    ]


def store(name: str, size: int, layout: str, real: str) -> list[str]:
    """An array of a thread, written to the device's memory."""
    if layout == "component":
        return [f"g_{name}[{_place(k, size, layout)}] = {name}[{k}];" for k in range(size)]
    width = vector(size, real) if size else 1
    if width == 1:
        return [f"g_{name}[{_place(k, size, layout)}] = {name}[{k}];" for k in range(size)]
    lines = []
    for k in range(0, size, width):
        parts = ", ".join(f"{name}[{k + j}]" for j in range(width))
        target = f"reinterpret_cast<{real}{width} *>(g_{name} + i*{size})[{k // width}]"
        lines.append(f"{target} = make_{real}{width}({parts});")
    return lines
