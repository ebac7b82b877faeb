"""CUDA C++ as a language of the printer, and the functions of a Program as device functions that a kernel calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from symbody.basics.errors import CompileError, DefinitionError
from symbody.codegen.c.c_language import SINGLE, TAKEN, C, check_precision, kind_of
from symbody.codegen.c.c_source import support
from symbody.codegen.printer.language import FunctionText, Language
from symbody.codegen.printer.module_layout import EmittedModule, ModulePart, plan
from symbody.codegen.printer.write import write
from symbody.symbolic.lower.liveness import values_of
from symbody.symbolic.lower.program import Program

# double; single; single with the approximate functions of the hardware
PRECISIONS = ("double", "single", "fast")
REALS = {"double": "double", "single": "float", "fast": "float"}
# operations above which a program is cut into functions that are called: its values would not fit into registers, and
# compilers take more than linear time on one long function
LONG = 6000
CHUNK = 2000
WORDS = TAKEN | {
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "dim3", "double2", "float2", "float4", "sincos",
    "sincosf", "rsqrt", "clock", "clock64", "assert", "printf", "malloc", "free", "memcpy", "memset", "half", "uint",
    "ushort", "ulong", "int2", "int4", "norm", "rhypot", "abs", "min", "max", "saturate",
}  # fmt: skip
PRELUDE = """#ifndef NAN
#define NAN __longlong_as_double(0x7ff8000000000000LL)
#endif
#ifndef INFINITY
#define INFINITY __longlong_as_double(0x7ff0000000000000LL)
#endif
"""


def cuda_language(precision: str) -> Language:
    """C with the functions of a module on the device; checks of single precision as in C."""
    check_precision(precision, PRECISIONS, "cuda")
    base = C if precision == "double" else SINGLE
    # sines and cosines are those of the device
    return replace(base, taken=WORDS, angles=(), frame=_frame(REALS[precision], precision == "fast"))


def _frame(real: str, fast: bool) -> Callable[[FunctionText, EmittedModule], str]:
    def frame(function: FunctionText, module: EmittedModule) -> str:
        declared = ", ".join(f"{kind_of(a, real, module.name)} *__restrict__ {a.name}" for a in function.arguments)
        lines = "\n".join(with_sincos(function.lines, real, fast))
        return f"static __device__ __noinline__ void {function.name}({declared})\n{{\n{lines}\n}}\n"

    return frame


_TRIG = re.compile(r"^(?P<indent> +)const (?:double|float) (?P<name>\w+) = (?P<kind>sin|cos)f?\((?P<of>[\w\[\]]+)\);$")


def with_sincos(lines: Sequence[str], real: str, fast: bool = False) -> list[str]:
    """Sine and cosine of the same argument as one call, which shares the reduction of the argument.

    fast: by the hardware, which the compiler does for `sinf` and `cosf` alone. Only values that are statements of one
    level of a function: what stands in a loop stays there.
    """
    found: dict[tuple[str, str], dict[str, tuple[int, str]]] = {}
    for at, line in enumerate(lines):
        match = _TRIG.match(line)
        if match:
            found.setdefault((match["indent"], match["of"]), {}).setdefault(match["kind"], (at, match["name"]))
    out: list[str | None] = list(lines)
    for (indent, of), pair in found.items():
        if len(pair) < 2 or indent != "    ":
            continue
        (first, _), (second, _) = sorted(pair.values())
        call = "sincos" if real == "double" else "__sincosf" if fast else "sincosf"
        names = f"{pair['sin'][1]}, {pair['cos'][1]}"
        out[first] = f"{indent}{real} {names}; {call}({of}, &{pair['sin'][1]}, &{pair['cos'][1]});"
        out[second] = None
    return [line for line in out if line is not None]


def setup_solves(program: Program) -> bool:
    """Whether setup has solve blocks, so that it may fail; then it runs on the device, state by state."""
    made = values_of(program, program.setup)
    return any(program.ops[v] == "solve" for v in made)


@dataclass(frozen=True, eq=False)
class DeviceProgram:
    """The functions of a Program on the device, in a namespace of their own.

    text      helpers, tables, NAME_setup and NAME
    derived   values of parameters that NAME reads: their numbers in the Program
    blocks    number of solve blocks; pieces: number of functions that a long program was cut into, 0 for none
    """

    program: Program
    module: EmittedModule
    space: str
    text: str
    pieces: int

    @property
    def derived(self) -> list[int]:
        return self.module.derived

    @property
    def blocks(self) -> int:
        return len(self.program.blocks)

    @property
    def work(self) -> int:
        """Scratch numbers that the functions need."""
        return max((part.work for part in self.module.every), default=0)

    @property
    def setup_solves(self) -> bool:
        return setup_solves(self.program)

    def call(
        self,
        inputs: Mapping[str, str],
        outputs: Mapping[str, str],
        derived: str = "derived",
        status: str = "status",
        work: str = "work",
    ) -> str:
        """The statement that calls NAME with these arrays, by the names of the ports."""
        places = {"derived": derived, "status": status, "work": work}
        return self._call(self.module.parts[0], {**inputs}, {**outputs}, places)

    def setup(
        self, parameters: str = "parameters", derived: str = "derived", status: str = "status", work: str = "work"
    ) -> str:
        """The statement that calls NAME_setup."""
        places = {"parameters": parameters, "derived": derived, "status": status, "work": work}
        return self._call(self.module.setup, {}, {}, places)

    def _call(
        self, part: ModulePart, inputs: Mapping[str, str], outputs: Mapping[str, str], places: Mapping[str, str]
    ) -> str:
        given = []
        for a in part.arguments.values():
            if a.role in ("input", "output"):
                assert a.port is not None
                given.append((inputs if a.role == "input" else outputs)[a.port.name])
            else:
                given.append(places[a.role])
        return f"{self.space}::{part.name}({', '.join(given)});"


def device_program(program: Program, precision: str, space: str, long: int = LONG, setup: bool = True) -> DeviceProgram:
    """The device functions of a Program.

    long: operations above which it is cut into several functions; setup: whether parameters come to the device, too.
    """
    language, real = cuda_language(precision), REALS[precision]
    if long < 1:
        raise DefinitionError(f"long is {long}; expected a positive number of operations.")
    for external in program.externals:
        if external.c_body is None:
            raise CompileError(
                f"'{program.name}' calls the function '{external.name}' from outside, which has no text for the "
                "device. Give it External(..., c_body=...), numbers in[] to numbers out[]."
            )
    operations = len(program.main()) + sum(len(b.body) for b in program.blocks)
    chunk = None if operations <= long else min(CHUNK, long)
    module = plan(program, language, chunk)
    write(module)
    written = module.every if setup or setup_solves(program) else module.parts
    bodies = "".join(_definition(module, part, real, precision == "fast") for part in written)
    helpers = _on_device(support(module, bodies, real))
    pieces = sum(len(part.functions) for part in written)
    text = f"namespace {space} {{\n\n{helpers}{bodies}}} // namespace {space}\n"
    return DeviceProgram(program, module, space, text, pieces)


def _definition(module: EmittedModule, part: ModulePart, real: str, fast: bool) -> str:
    assert part.text is not None
    arguments = ", ".join(f"{kind_of(a, real, module.name)} *__restrict__ {a.name}" for a in part.arguments.values())
    frames = [module.language.frame(function, module) for function in part.functions]
    lines = with_sincos(part.text.lines, real, fast)
    return "\n".join(
        [*frames, f"static __device__ __forceinline__ void {part.name}({arguments})", "{", *lines, "}", "", ""]
    )


def _on_device(text: str) -> str:
    """Helpers and tables of C as those of the device."""
    text = re.sub(r"^static const ", "static __device__ const ", text, flags=re.MULTILINE)
    return re.sub(r"^static (?!__device__)", "static __device__ ", text, flags=re.MULTILINE)
