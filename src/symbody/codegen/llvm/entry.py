"""Entry points in LLVM text: the loops over states, one at a time or a vector of them at a time."""

from __future__ import annotations

from symbody.codegen.llvm.chunk_text import (
    CALL,
    DERIVED,
    DERIVED_STRIDE,
    FIRST_PORT,
    FRAME,
    ProgramSection,
    Scope,
    input_ports,
)
from symbody.codegen.llvm.writer import LlvmWriter

# Ports with at most so many elements are moved between rows and lanes by code without loops.
SMALL_ROW = 16
# Up to this many ports have their pointers in registers of the loop itself.
FEW_PORTS = 32


def fits_loop(section: ProgramSection) -> bool:
    """Whether the values of a scalar section can be written into the loop over states, without calls."""
    few = input_ports(section) + len(section.outputs) <= FEW_PORTS
    return few and len(section.part.top) == 1 and not section.part.bodies and len(section.pieces()) <= 1


def write_main(section: ProgramSection, entry: str, inline: bool) -> LlvmWriter:
    """The loop over states of scalar code; a single chunk is written into the loop itself."""
    w = LlvmWriter(section.lanes, section.fma)
    ports = input_ports(section) + len(section.outputs)
    w.do("%f = load ptr, ptr %x, align 8")
    base = w.load("%x", 8 * DERIVED, "ptr", 8)
    derived_stride = w.load("%x", 8 * DERIVED_STRIDE, "i64", 8)
    pairs = [_pair(w, p) for p in range(ports)] if inline else []
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
    room = ""
    if inline:
        scope = Scope(section, w, section.part.top[0], known)
        scope.emit(section.part.chunks[section.part.top[0]].values)
        for piece in section.pieces():
            scope.write_late(piece)
    else:
        room = f"%t = alloca [{max(ports, 1)} x ptr], align 8"
        _fill_table(w, ports)
        for name in section.top_functions():
            w.do(f"call void @{name}{CALL}")
    w.do("br label %next")
    w.start("next")
    w.do("%i1 = add i64 %i, 1")
    w.do("br label %test")
    w.start("done")
    w.do("ret void\n}")
    head = f"define void @{entry}(ptr noalias %x, i64 %begin, i64 %end) #0 {{"
    w.lines.insert(0, f"{head}\nentry:\n{w.trig_alloca()}\n{room}")
    # one argument instead of three: converting them takes longer than many a Kernel
    w.do(f"define void @{entry}_one(ptr %x) #0 {{\ncall void @{entry}(ptr %x, i64 0, i64 1)\nret void\n}}")
    return w


def _fill_table(w: LlvmWriter, ports: int) -> None:
    """Pointers to the data of all ports for state %i into %t, in a loop: there may be thousands of ports."""
    before = w.block
    w.do("br label %port")
    w.start("port")
    w.do(f"%p = phi i64 [ 0, %{before} ], [ %p1, %port.do ]")
    w.do(f"%p.more = icmp slt i64 %p, {ports}")
    w.do("br i1 %p.more, label %port.do, label %ready")
    w.start("port.do")
    w.do("%p.two = mul i64 %p, 2")
    w.do(f"%p.word = add i64 %p.two, {FIRST_PORT}")
    w.do("%p.at = getelementptr ptr, ptr %x, i64 %p.word")
    w.do("%p.base = load ptr, ptr %p.at, align 8")
    w.do("%p.stride.at = getelementptr ptr, ptr %p.at, i64 1")
    w.do("%p.stride = load i64, ptr %p.stride.at, align 8")
    w.do("%p.offset = mul i64 %i, %p.stride")
    w.do("%p.data = getelementptr double, ptr %p.base, i64 %p.offset")
    w.do("%p.to = getelementptr ptr, ptr %t, i64 %p")
    w.do("store ptr %p.data, ptr %p.to, align 8")
    w.do("%p1 = add i64 %p, 1")
    w.do("br label %port")
    w.start("ready")


def _pair(w: LlvmWriter, port: int) -> tuple[str, str]:
    """(address, stride) of a port from the context."""
    at = 8 * (FIRST_PORT + 2 * port)
    return w.load("%x", at, "ptr", 8), w.load("%x", at + 8, "i64", 8)


def write_batch(section: ProgramSection, entry: str) -> LlvmWriter:
    """The loop over vectors of states: rows to lanes, all chunks, lanes to rows; the last vector may be incomplete."""
    w = LlvmWriter(section.lanes, section.fma)
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
    for name in section.top_functions():
        w.do(f"call void @{name}(ptr null, ptr %f, ptr %d, ptr %x)")
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
