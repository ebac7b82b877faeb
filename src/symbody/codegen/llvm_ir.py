"""Program to LLVM text: modules that each compile on their own, and the layout that a caller needs to run them.

Three functions are made, all `void f(context, begin, end)` over a range of states: `sb_setup` (parameters to derived
values), `sb_main` (one state at a time; `sb_main_one(context)` is the first state alone) and `sb_batch` (a vector of
states at a time). The context is an array of 64-bit words: frame, derived values and their stride, table of C
functions, table of external functions, then address and stride of every input and output port. A stride counts doubles
from one state to the next; 0 repeats the same data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from symbody.codegen.ir_writer import Lanes, Writer
from symbody.codegen.llvm_lanes import extern_function, lanes_function, table_function
from symbody.codegen.llvm_rows import gather_functions, scatter_functions, small_gather, small_scatter
from symbody.codegen.llvm_solve import write_solve
from symbody.codegen.llvm_values import (
    ARGUMENTS,
    CALL,
    DERIVED,
    DERIVED_STRIDE,
    FIRST_PORT,
    FRAME,
    LIBM,
    Scope,
    Section,
    input_ports,
)
from symbody.codegen.partition import partition
from symbody.codegen.sincos import sincos_function, slow_function
from symbody.lower.program import Port, Program, operands

# Operations per module: memory stays bounded and several can be compiled at the same time.
MODULE = 10_000
# Up to this many derived values stand in the frame of vector code, one vector each, so that they may differ by lane.
VECTOR_DERIVED = 256
# Ports with at most so many elements are moved between rows and lanes by code without loops.
SMALL_ROW = 16
# Angles per vector in scalar code; single 512-bit operations among scalar ones are slower than two of 256 bits.
PACK = 4


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes that a caller must know. Frames are counted in doubles; `width` 1 means that there is no `sb_batch`."""

    width: int
    derived: int
    setup_frame: int
    main_frame: int
    batch_frame: int
    batched_derived: bool
    setup_blocks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The sections of a Program, cut and placed, before any text is written."""

    program: Program
    setup: Section
    main: Section
    batch: Section | None
    layout: Layout


def plan(program: Program, width: int, fma: bool) -> Plan:
    """Decide what is derived, where chunks end and where everything stands."""
    blocks = _solved(program, program.setup)
    derived = _derived(program)
    outcomes = {b: len(derived) + i for i, b in enumerate(blocks)}
    kept = [*derived, *(~b for b in blocks)]
    one = Lanes(1)
    part = partition(program, program.setup, kept, 1)
    setup = Section("p", program, part, one, fma, "parameter", _elements(program.parameters), [kept], {}, {})

    values = program.main()
    outputs: list[Sequence[int]] = [port.values for port in program.outputs]
    if program.blocks:
        outputs.append([~b for b in range(len(program.blocks))])
    flat = [v for port in outputs for v in port]
    elements = _elements(program.inputs)
    part = partition(program, values, flat, 1)
    main = Section("s", program, part, one, fma, "input", elements, outputs, derived, outcomes)
    batch = None
    batch_frame = 0
    if width > 1:
        part = partition(program, values, flat, width)
        batch = Section("v", program, part, Lanes(width), fma, "input", elements, outputs, derived, outcomes)
        batch.inputs_at = part.frame_size
        batch.outputs_at = batch.inputs_at + program.input_size
        batch_frame = batch.outputs_at + len(flat)
        if len(kept) <= VECTOR_DERIVED:
            batch.derived_at = batch_frame
            batch_frame += len(kept)
    setup.pack = main.pack = min(width, PACK)
    layout = Layout(
        width,
        len(kept),
        setup.part.frame_size,
        main.part.frame_size,
        batch_frame * width,
        batch is not None and batch.derived_at >= 0,
        tuple(blocks),
    )
    return Plan(program, setup, main, batch, layout)


def modules(plan: Plan, *, batch: bool = True, setup: bool = True) -> Iterator[str]:
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
                for u in (*block.guess, *block.step):
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


def _section_modules(section: Section, entry: str) -> Iterator[str]:
    """The functions of a section, `MODULE` operations to a module; the first holds the entry point."""
    part = section.part
    inline = section.lanes.width == 1 and len(part.top) == 1 and not part.bodies
    writers = [_write_main(section, entry, inline) if section.lanes.width == 1 else _write_batch(section, entry)]
    if not inline:
        size, last = 0, part.top[-1]
        for index, chunk in enumerate(part.chunks):
            writers.append(_write_chunk(section, index, index == last))
            size += len(chunk.values)
            if size >= MODULE:
                yield _module(section, writers)
                writers, size = [], 0
    writers += [write_solve(section, b) for b in part.bodies]
    if writers:
        yield _module(section, writers)


def _write_chunk(section: Section, index: int, last: bool) -> Writer:
    w = Writer(section.lanes, section.fma)
    scope = Scope(section, w, index)
    scope.emit(section.part.chunks[index].values)
    if last:
        scope.write_late()
    w.do("ret void\n}")
    head = f"define void @{section.prefix}{index}({ARGUMENTS}) #0 {{"
    w.lines.insert(0, f"{head}\nentry:\n{w.trig_alloca()}")
    return w


def _write_main(section: Section, entry: str, inline: bool) -> Writer:
    """The loop over states of scalar code; a single chunk is written into the loop itself."""
    w = Writer(section.lanes, section.fma)
    ports = input_ports(section) + len(section.outputs)
    w.do("%f = load ptr, ptr %x, align 8")
    base = w.load("%x", 8 * DERIVED, "ptr", 8)
    derived_stride = w.load("%x", 8 * DERIVED_STRIDE, "i64", 8)
    pairs = [_pair(w, p) for p in range(ports)]
    w.do("br label %test")
    w.start("test")
    w.do("%i = phi i64 [ %begin, %entry ], [ %i1, %next ]")
    w.do("%more = icmp slt i64 %i, %end")
    w.do("br i1 %more, label %do, label %done")
    w.start("do")
    w.do(f"%d = getelementptr double, ptr {base}, i64 {w.line(f'mul i64 %i, {derived_stride}')}")
    known = {}
    for p, (address, stride) in enumerate(pairs):
        known[p] = w.line(f"getelementptr double, ptr {address}, i64 {w.line(f'mul i64 %i, {stride}')}")
    room = []
    if inline:
        scope = Scope(section, w, section.part.top[0], known)
        scope.emit(section.part.chunks[section.part.top[0]].values)
        scope.write_late()
    else:
        room.append(f"%t = alloca [{max(ports, 1)} x ptr], align 8")
        for p, pointer in known.items():
            w.store(pointer, "ptr", "%t", 8 * p, 8)
        for c in section.part.top:
            w.do(f"call void @{section.prefix}{c}{CALL}")
    w.do("br label %next")
    w.start("next")
    w.do("%i1 = add i64 %i, 1")
    w.do("br label %test")
    w.start("done")
    w.do("ret void\n}")
    head = f"define void @{entry}(ptr noalias %x, i64 %begin, i64 %end) #0 {{"
    w.lines.insert(0, "\n".join([head, "entry:", w.trig_alloca(), *room]))
    # one argument instead of three: converting them takes longer than many a Kernel
    w.do(f"define void @{entry}_one(ptr %x) #0 {{\ncall void @{entry}(ptr %x, i64 0, i64 1)\nret void\n}}")
    return w


def _pair(w: Writer, port: int) -> tuple[str, str]:
    """(address, stride) of a port from the context."""
    at = 8 * (FIRST_PORT + 2 * port)
    return w.load("%x", at, "ptr", 8), w.load("%x", at + 8, "i64", 8)


def _write_batch(section: Section, entry: str) -> Writer:
    """The loop over vectors of states: rows to lanes, all chunks, lanes to rows; the last vector may be incomplete."""
    w = Writer(section.lanes, section.fma)
    width, bytes_ = section.lanes.width, 8 * section.lanes.width
    inputs = input_ports(section)
    w.used.add("rows")
    w.do(f"define void @{entry}(ptr noalias %x, i64 %begin, i64 %end) #0 {{")
    w.start("entry")
    w.do(f"%f = load ptr, ptr {w.address('%x', 8 * FRAME)}, align 8")
    w.do(f"%d = load ptr, ptr {w.address('%x', 8 * DERIVED)}, align 8")
    w.do(f"%ds = load i64, ptr {w.address('%x', 8 * DERIVED_STRIDE)}, align 8")
    moves = []  # (address, stride, size, place in the frame) of everything read, then of everything written
    at = section.inputs_at
    for p, port in enumerate(section.program.inputs):
        moves.append((*_pair(w, p), port.size, at * bytes_))
        at += port.size
    reads = len(moves)
    for p, values in enumerate(section.outputs):
        moves.append((*_pair(w, inputs + p), len(values), (section.outputs_at + section.output_start[p]) * bytes_))
    size = len(section.derived) + len(section.outcomes)
    derived = (section.derived_at * bytes_, size) if section.derived_at >= 0 and size else None
    if derived:
        # the same for all lanes unless there is a stride: spread once
        w.do(f"call void @gather(ptr %d, i64 0, i64 {size}, ptr {w.address('%f', derived[0])})")
        w.do("%own = icmp ne i64 %ds, 0")
    w.do("br label %test")
    w.start("test")
    w.do("%i = phi i64 [ %begin, %entry ], [ %i1, %next ]")
    w.do("%left = sub i64 %end, %i")
    w.do("%more = icmp sgt i64 %left, 0")
    w.do("br i1 %more, label %fetch, label %done")

    w.start("fetch")
    w.do(f"%full = icmp sge i64 %left, {width}")
    w.do(f"%count = select i1 %full, i64 {width}, i64 %left")
    w.do("br i1 %full, label %all, label %some")
    for label, suffix, extra in (("all", "", ""), ("some", "_some", ", i64 %count")):
        w.start(label)
        for address, stride, size, place in moves[:reads]:
            if size:
                start = w.line(f"getelementptr double, ptr {address}, i64 {w.line(f'mul i64 %i, {stride}')}")
                target = w.address("%f", place)
                if not suffix and 1 < size <= SMALL_ROW:
                    w.used.add(f"gather {size}")
                    w.do(f"call void @gather.{size}(ptr {start}, i64 {stride}, ptr {target})")
                else:
                    w.do(f"call void @gather{suffix}(ptr {start}, i64 {stride}, i64 {size}, ptr {target}{extra})")
        w.do("br label %params")
    w.start("params")
    if derived:
        w.do("br i1 %own, label %spread, label %compute")
        w.start("spread")
        start = w.line(f"getelementptr double, ptr %d, i64 {w.line('mul i64 %i, %ds')}")
        target = w.address("%f", derived[0])
        where = f"ptr {start}, i64 %ds, i64 {derived[1]}, ptr {target}"
        w.do("br i1 %full, label %spread.all, label %spread.some")
        w.start("spread.all")
        w.do(f"call void @gather({where})")
        w.do("br label %compute")
        w.start("spread.some")
        w.do(f"call void @gather_some({where}, i64 %count)")
    w.do("br label %compute")

    w.start("compute")
    for c in section.part.top:
        w.do(f"call void @{section.prefix}{c}(ptr null, ptr %f, ptr %d, ptr %x)")
    w.do("br i1 %full, label %put, label %put.some")
    for label, suffix, extra in (("put", "", ""), ("put.some", "_some", ", i64 %count")):
        w.start(label)
        for address, stride, size, place in moves[reads:]:
            if size:
                start = w.line(f"getelementptr double, ptr {address}, i64 {w.line(f'mul i64 %i, {stride}')}")
                source = w.address("%f", place)
                if not suffix and 1 < size <= SMALL_ROW:
                    w.used.add(f"scatter {size}")
                    w.do(f"call void @scatter.{size}(ptr {source}, ptr {start}, i64 {stride})")
                else:
                    w.do(f"call void @scatter{suffix}(ptr {source}, i64 {size}, ptr {start}, i64 {stride}{extra})")
        w.do("br label %next")
    w.start("next")
    w.do(f"%i1 = add i64 %i, {width}")
    w.do("br label %test")
    w.start("done")
    w.do("ret void\n}")
    return w


def _module(section: Section, writers: Sequence[Writer]) -> str:
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
            parts.append(slow_function(LIBM.index("sin"), LIBM.index("cos")))
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


def _neighbours(section: Section, text: str) -> list[str]:
    """Declarations of the chunks and blocks that are called here and defined in another module."""
    names = [f"{section.prefix}{c}" for c in range(len(section.part.chunks))]
    names += [f"{section.prefix}solve{b}" for b in section.part.bodies]
    called = {
        line[len("call void @") : line.index("(")] for line in text.splitlines() if line.startswith("call void @")
    }
    defined = {
        line[len("define void @") : line.index("(")] for line in text.splitlines() if line.startswith("define void @")
    }
    return [f"declare void @{n}(ptr, ptr, ptr, ptr)" for n in names if n in called and n not in defined]
