"""Program to LLVM text: modules that each compile on their own, and the layout that a caller needs to run them.

Three functions are made, all `void f(context, begin, end)` over a range of states: `sb_setup` (parameters to derived
values), `sb_main` (one state at a time; `sb_main_one(context)` is the first state alone) and `sb_batch` (a vector of
states at a time). The context is an array of 64-bit words: frame, derived values and their stride, table of C
functions, table of external functions, then address and stride of every input and output port. A stride counts doubles
from one state to the next; 0 repeats the same data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from symbody.codegen.llvm.chunk_text import ARGUMENTS, ProgramSection, Scope
from symbody.codegen.llvm.chunks import partition
from symbody.codegen.llvm.entry import fits_loop, write_batch, write_main
from symbody.codegen.llvm.lane_functions import extern_function, lanes_function, table_function
from symbody.codegen.llvm.libm import libm_index
from symbody.codegen.llvm.rows import gather_functions, scatter_functions, small_gather, small_scatter
from symbody.codegen.llvm.sincos import sincos_function, slow_function
from symbody.codegen.llvm.solve import write_solve
from symbody.codegen.llvm.writer import LaneTypes, LlvmWriter
from symbody.symbolic.lower.program import Program, operands
from symbody.symbolic.system.ports import Port

# Lines per module: memory stays bounded and several can be compiled at the same time.
MODULE = 20_000
# Up to this many derived values stand in the frame of vector code, one vector each, so that they may differ by lane.
VECTOR_DERIVED = 256
# Angles per vector in scalar code; single 512-bit operations among scalar ones are slower than two of 256 bits.
PACK = 4


@dataclass(frozen=True, slots=True)
class ModuleLayout:
    """Sizes that a caller must know. Frames are counted in doubles; `width` 1 means that there is no `sb_batch`."""

    width: int
    derived: int
    setup_frame: int
    main_frame: int
    batch_frame: int
    batched_derived: bool


@dataclass(frozen=True, slots=True)
class ModulePlan:
    """The sections of a Program, cut and placed, before any text is written."""

    program: Program
    setup: ProgramSection
    main: ProgramSection
    batch: ProgramSection | None
    layout: ModuleLayout


def plan(program: Program, width: int, fma: bool) -> ModulePlan:
    """Decide what is derived, where chunks end and where everything stands."""
    blocks = _solved(program, program.setup)
    derived = _derived(program)
    outcomes = {b: len(derived) + i for i, b in enumerate(blocks)}
    kept = [*derived, *(~b for b in blocks)]
    one = LaneTypes(1)
    part = partition(program, program.setup, kept, 1)
    setup = ProgramSection("p", program, part, one, fma, "parameter", _elements(program.parameters), [kept], {}, {})

    values = program.main()
    outputs: list[Sequence[int]] = [port.values for port in program.outputs]
    if program.blocks:
        outputs.append([~b for b in range(len(program.blocks))])
    flat = [v for port in outputs for v in port]
    elements = _elements(program.inputs)
    part = partition(program, values, flat, 1)
    main = ProgramSection("s", program, part, one, fma, "input", elements, outputs, derived, outcomes)
    batch = None
    batch_frame = 0
    if width > 1:
        part = partition(program, values, flat, width)
        batch = ProgramSection("v", program, part, LaneTypes(width), fma, "input", elements, outputs, derived, outcomes)
        batch.inputs_at = part.frame_size
        batch.outputs_at = batch.inputs_at + program.input_size
        batch_frame = batch.outputs_at + len(flat)
        if len(kept) <= VECTOR_DERIVED:
            batch.derived_at = batch_frame
            batch_frame += len(kept)
    setup.pack = main.pack = min(width, PACK)
    layout = ModuleLayout(
        width,
        len(kept),
        setup.part.frame_size,
        main.part.frame_size,
        batch_frame * width,
        batch is not None and batch.derived_at >= 0,
    )
    return ModulePlan(program, setup, main, batch, layout)


def modules(plan: ModulePlan, *, batch: bool = True, setup: bool = True) -> Iterator[str]:
    """IR of one module after another, without target lines."""
    if setup:
        yield from _section_modules(plan.setup, "sb_setup")
    yield from _section_modules(plan.main, "sb_main")
    if batch and plan.batch is not None:
        yield from _section_modules(plan.batch, "sb_batch")


def emit_text(program: Program, *, lanes: int = 1, fma: bool = False) -> str:
    """The IR of all modules to read, for a Program as it is; fma: whether the machine has a fused multiply-add."""
    texts = list(modules(plan(program, lanes, fma)))
    return "\n".join(f"; {program.name}: module {i + 1} of {len(texts)}\n{text}" for i, text in enumerate(texts))


def _elements(ports: Sequence[Port]) -> list[tuple[int, int]]:
    return [(p, k) for p, port in enumerate(ports) for k in range(port.size)]


def _solved(program: Program, values: Iterable[int]) -> list[int]:
    """Blocks that run within a list of values, nested ones included."""
    found: list[int] = []
    for v in values:
        if program.ops[v] == "solve":
            b = program.args[v][0]
            found += [b, *_solved(program, program.blocks[b].body)]
    return found


def _derived(program: Program) -> dict[int, int]:
    """Setup values and parameters that the main part or an output reads, numbered."""
    ops, args = program.ops, program.args
    made = set(program.setup)
    for b in _solved(program, program.setup):
        made.update(program.blocks[b].body, program.blocks[b].unknowns)
    derived: dict[int, int] = {}

    def note(v: int) -> None:
        if (v in made or ops[v] == "parameter") and v not in derived:
            derived[v] = len(derived)

    def visit(values: Iterable[int]) -> None:
        for v in values:
            op = ops[v]
            if op == "solve":
                block = program.blocks[args[v][0]]
                visit(block.body)
                for u in (*block.guess, *block.ends):
                    note(u)
            elif op == "result":
                # a result of an external call made in setup is itself a setup value
                continue
            else:
                for u in operands(op, args[v]):
                    if u in made or ops[u] == "parameter":
                        note(u)

    visit(program.step)
    visit(program.call)
    for port in program.outputs:
        for v in port.values:
            note(v)
    return derived


def _section_modules(section: ProgramSection, entry: str) -> Iterator[str]:
    """The functions of a section, `MODULE` operations to a module; the first holds the entry point."""
    part = section.part
    inline = section.lanes.width == 1 and fits_loop(section)
    writers = [write_main(section, entry, inline) if section.lanes.width == 1 else write_batch(section, entry)]
    size = 0
    for function in [] if inline else _functions(section):
        writers.append(function)
        size += len(function.lines)
        if size >= MODULE:
            yield _module(section, writers)
            writers, size = [], 0
    writers += [write_solve(section, b) for b in part.bodies]
    if writers:
        yield _module(section, writers)


def _functions(section: ProgramSection) -> Iterator[LlvmWriter]:
    """Chunks, then pieces of the outputs that are copied at the end."""
    for index, chunk in enumerate(section.part.chunks):
        w = LlvmWriter(section.lanes, section.fma)
        Scope(section, w, index).emit(chunk.values)
        yield _closed(w, f"{section.prefix}{index}")
    for k, piece in enumerate(section.pieces()):
        w = LlvmWriter(section.lanes, section.fma)
        Scope(section, w).write_late(piece)
        yield _closed(w, f"{section.prefix}late{k}")


def _closed(w: LlvmWriter, name: str) -> LlvmWriter:
    w.do("ret void\n}")
    w.lines.insert(0, f"define void @{name}({ARGUMENTS}) #0 {{\nentry:\n{w.trig_alloca()}")
    return w


def _module(section: ProgramSection, writers: Sequence[LlvmWriter]) -> str:
    """Functions with the helpers, intrinsics and neighbours that they call."""
    width = section.lanes.width
    used = set().union(*(w.used for w in writers))
    text = "\n".join("\n".join(w.lines) for w in writers)
    parts = [text]
    for need in sorted(n for n in used if n.startswith("sincos ")):
        function = sincos_function(int(need.split()[1]), section.fma)
        used |= function.used
        parts.append("\n".join(function.lines))
    for need in sorted(used):
        word, _, number = need.partition(" ")
        if word == "sincos_slow":
            parts.append(slow_function(libm_index("sin"), libm_index("cos")))
        elif word == "lanes":
            parts.append(lanes_function(width, int(number)))
        elif word == "table":
            parts.append(table_function(section.program.tables[int(number)], int(number), width))
        elif word == "extern":
            parts.append(extern_function(width))
        elif word == "gather":
            parts.append(small_gather(width, int(number)))
        elif word == "scatter":
            parts.append(small_scatter(width, int(number)))
        elif word == "rows":
            parts += [gather_functions(width), scatter_functions(width)]
    declared = {need for need in used if need.startswith("declare")}
    if "sincos_slow" in used:
        declared.add("declare double @llvm.fabs.f64(double)")
    parts += sorted(declared)
    parts += _neighbours(section, text)
    parts.append(
        'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" "no-stack-arg-probe" }'
    )
    parts.append('!0 = !{!"branch_weights", i32 1, i32 1000000}')
    parts.append("!1 = !{}")
    return "\n".join(parts) + "\n"


def _neighbours(section: ProgramSection, text: str) -> list[str]:
    """Declarations of the functions of the section that are called here and defined in another module."""
    name = rf"({section.prefix}(?:solve|late)?\d+)"
    called = set(re.findall(rf"^call void @{name}\(", text, re.MULTILINE))
    defined = set(re.findall(rf"^define void @{name}\(", text, re.MULTILINE))
    return [f"declare void @{n}(ptr, ptr, ptr, ptr)" for n in sorted(called - defined)]
