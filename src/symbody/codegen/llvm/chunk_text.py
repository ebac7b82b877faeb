"""Text of one chunk: each value of a Program becomes a few LLVM instructions, for one state or a vector of states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from symbody.basics.errors import CompileError
from symbody.codegen.llvm.chunks import CHUNK, ChunkedRun
from symbody.codegen.llvm.libm import libm_index
from symbody.codegen.llvm.sincos import Request, call_sincos, write_sincos
from symbody.codegen.llvm.trig_order import in_waves
from symbody.codegen.llvm.writer import LaneTypes, LlvmWriter
from symbody.symbolic.expr.function_row import FUNCTIONS, Function
from symbody.symbolic.lower.program import Program

# Words of the context, an array of 64-bit integers; pairs (address, stride in doubles) of inputs and outputs follow.
FRAME, DERIVED, DERIVED_STRIDE, LIBM_TABLE, EXTERN_TABLE, FIRST_PORT = range(6)

ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
# Sines and cosines whose angles are known are computed together, up to this many angles, with one slow branch.
TRIG_GROUP = 8
ARGUMENTS = "ptr noalias %t, ptr noalias %f, ptr noalias %d, ptr %x"
CALL = "(ptr %t, ptr %f, ptr %d, ptr %x)"


@dataclass(slots=True)
class ProgramSection:
    """A run of a Program (setup, or step and call) for some number of lanes, and where its values come from and go.

    elements: element k of the inputs is (port, offset in the port).
    outputs: per output port its elements: a value, or ~b for the outcome of block b.
    derived: value -> index in the derived vector; outcomes: block solved in setup -> index there.
    inputs_at, derived_at, outputs_at: first slots of these in the frame of vector code (derived_at < 0: not there).
    pack: how many sines and cosines scalar code computes in one vector.
    """

    prefix: str
    program: Program
    part: ChunkedRun
    lanes: LaneTypes
    fma: bool
    source: str
    elements: Sequence[tuple[int, int]]
    outputs: Sequence[Sequence[int]]
    derived: dict[int, int]
    outcomes: dict[int, int]
    inputs_at: int = 0
    derived_at: int = -1
    outputs_at: int = 0
    pack: int = 1
    sinks: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    late: list[tuple[int, int, int]] = field(default_factory=list)
    output_start: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """sinks: where a value is stored once made, (-1, slot) or (port, offset); late: outputs copied at the end."""
        unknowns = {u for b in self.part.bodies for u in self.program.blocks[b].unknowns}
        for v, slot in self.part.slots.items():
            if v not in unknowns:
                self.sinks.setdefault(v, []).append((-1, slot))
        start = 0
        for p, port in enumerate(self.outputs):
            self.output_start.append(start)
            start += len(port)
            for k, v in enumerate(port):
                if v >= 0 and v in self.part.home and not self.part.chunks[self.part.home[v]].inside:
                    self.sinks.setdefault(v, []).append((p, k))
                else:
                    self.late.append((p, k, v))

    def pieces(self) -> list[list[tuple[int, int, int]]]:
        """`late` in pieces of bounded size, a function each."""
        return [self.late[i : i + CHUNK] for i in range(0, len(self.late), CHUNK)]

    def top_functions(self) -> list[str]:
        """Functions that make a state, in order."""
        names = [f"{self.prefix}{c}" for c in self.part.top]
        return names + [f"{self.prefix}late{k}" for k in range(len(self.pieces()))]


def constant(number: int | float | Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


class Scope:
    """The values known in one function and how to reach the others."""

    def __init__(
        self, section: ProgramSection, writer: LlvmWriter, chunk: int = -1, ports: dict[int, str] | None = None
    ) -> None:
        """chunk: whose values are written here; ports: pointers to the ports' data that are known already."""
        self.section, self.w, self.chunk = section, writer, chunk
        self.ports = {} if ports is None else dict(ports)
        inside = section.part.chunks[chunk].inside if chunk >= 0 else ()
        self.names: dict[int, str] = {}
        self.booleans: dict[int, str] = {}
        self.bytes = 8 * section.lanes.width
        self.align = min(self.bytes, 64)
        self.libm = ""
        # what rows write with: see `Instructions`
        self.double, self.boolean, self.number = section.lanes.double, section.lanes.boolean, section.lanes.number
        self.line, self.intrinsic = writer.line, writer.intrinsic
        self.unknowns = {u for b in inside for u in section.program.blocks[b].unknowns}

    # -- reading

    def read(self, v: int) -> str:
        """Operand text of a value that is not known in this function yet."""
        s = self.section
        op = s.program.ops[v]
        if op == "const":
            name = s.lanes.number(constant(s.program.args[v][0]))
        elif op == s.source:
            name = self.read_input(s.program.args[v][0])
        elif v in s.derived:
            name = self.read_derived(s.derived[v])
        elif v in s.part.slots:
            name = self.w.load("%f", s.part.slots[v] * self.bytes, s.lanes.double, self.align)
        else:
            raise CompileError(f"Value {v} ({op}) of Program '{s.program.name}' is read before it is computed.")
        self.names[v] = name
        return name

    def read_input(self, k: int) -> str:
        s = self.section
        if s.lanes.width > 1:
            return self.w.load("%f", (s.inputs_at + k) * self.bytes, s.lanes.double, self.align)
        port, offset = s.elements[k]
        return self.w.load(self.port(port), 8 * offset, "double", 8, ", !invariant.load !1")

    def read_derived(self, index: int) -> str:
        s, w = self.section, self.w
        if s.derived_at >= 0:
            return w.load("%f", (s.derived_at + index) * self.bytes, s.lanes.double, self.align)
        one = w.load("%d", 8 * index, "double", 8, ", !invariant.load !1")
        return one if s.lanes.width == 1 else splat(w, one)

    def port(self, p: int) -> str:
        """Pointer to the data of a port for the present state (scalar code); outputs count on after the inputs."""
        if p not in self.ports:
            self.ports[p] = self.w.load("%t", 8 * p, "ptr", 8)
        return self.ports[p]

    def operand(self, v: int) -> str:
        return self.names.get(v) or self.read(v)

    def outcome(self, block: int) -> str:
        s = self.section
        if block in s.outcomes:
            return self.read_derived(s.outcomes[block])
        if block in s.part.outcomes:
            return self.w.load("%f", s.part.outcomes[block] * self.bytes, s.lanes.double, self.align)
        return s.lanes.number(0.0)  # a block that no run solves

    # -- writing

    def write(self, p: int, k: int, value: str) -> None:
        """Store to slot k of the frame (p < 0) or to element k of output port p."""
        s, kind = self.section, self.section.lanes.double
        if p < 0:
            self.w.store(value, kind, "%f", k * self.bytes, self.align)
        elif s.lanes.width > 1:
            self.w.store(value, kind, "%f", (s.outputs_at + s.output_start[p] + k) * self.bytes, self.align)
        else:
            self.w.store(value, kind, self.port(input_ports(s) + p), 8 * k, 8)

    def write_late(self, piece: Sequence[tuple[int, int, int]]) -> None:
        for p, k, v in piece:
            self.write(p, k, self.operand(v) if v >= 0 else self.outcome(~v))

    # -- values

    def emit(self, values: Sequence[int]) -> None:
        """Instructions for all values of a chunk, in order."""
        program, names, sinks, w = self.section.program, self.names, self.section.sinks, self.w
        ops, args, read, kind = program.ops, program.args, self.read, self.section.lanes.double
        lines = w.lines
        trig = [v for v in values if ops[v] == "sin" or ops[v] == "cos"]
        if len(trig) > TRIG_GROUP:
            here = set(values)
            # angles that are known at the start come together anyway
            if sum(args[v][0] in here for v in trig) > TRIG_GROUP:
                values = in_waves(program, values)
        for v in values:
            op = ops[v]
            word = ARITHMETIC.get(op)
            if word is not None:
                a, b = args[v]
                a = names.get(a) or read(a)
                b = names.get(b) or read(b)
                name = f"%{w.next}"
                w.next += 1
                lines.append(f"{name} = {word} {kind} {a}, {b}")
                names[v] = name
            elif op == "sin" or op == "cos":
                if v not in names:
                    self.trig(v, trig)
                continue
            elif op == "extern":
                self.extern(v)
                continue
            elif op == "solve":
                w.do(f"call void @{self.section.prefix}solve{args[v][0]}{CALL}")
                continue
            else:
                names[v] = self.other(v, op)
            sink = sinks.get(v)
            if sink is not None:
                for p, k in sink:
                    self.write(p, k, names[v])

    def other(self, v: int, op: str) -> str:
        """A value that is neither plain arithmetic nor a sine or cosine."""
        w, kind, args, num = self.w, self.section.lanes.double, self.section.program.args[v], self.section.lanes.number
        if op == "fma":
            return self.fused(*args)
        if op == "result":
            return self.result(*args)
        if op == "table":
            w.used.add(f"table {args[0]}")
            return w.line(f"call {kind} @table{args[0]}({kind} {self.operand(args[1])})")
        if op == "neg":
            return w.line(f"fneg {kind} {self.operand(args[0])}")
        row = FUNCTIONS.get(op)
        if row is None:
            raise CompileError(
                f"Native code does not know the operation '{op}' of Program '{self.section.program.name}'."
            )
        if row.truth:
            self.booleans[v] = flag = self.condition(row, args)
            return w.line(f"select {self.boolean} {flag}, {kind} {num(1.0)}, {kind} {num(0.0)}")
        if row.llvm == "select":
            flag = self.truth(args[0])
            a, b = self.operand(args[1]), self.operand(args[2])
            return w.line(f"select {self.boolean} {flag}, {kind} {a}, {kind} {b}")
        values = [self.operand(a) for a in args]
        if callable(row.llvm):
            return row.llvm(self, *values)
        if row.llvm:
            return w.intrinsic(row.llvm, *values)
        if row.libm:
            return self.libm_call(row.libm, *values)
        raise CompileError(
            f"Native code does not know the function '{op}' of Program '{self.section.program.name}'. Give its row "
            "libm=..., a function of the C library, or llvm=..., which writes its instructions."
        )

    def fused(self, a: int, b: int, c: int, sp: int, sc: int) -> str:
        w, kind = self.w, self.section.lanes.double
        x, y, z = self.operand(a), self.operand(b), self.operand(c)
        if sp < 0:
            x = w.line(f"fneg {kind} {x}")
        if sc < 0:
            z = w.line(f"fneg {kind} {z}")
        return w.intrinsic("fma", x, y, z) if w.fma else self.libm_call("fma", x, y, z)

    def condition(self, row: Function, args: tuple[int, ...]) -> str:
        w, lanes = self.w, self.section.lanes
        if not row.conditions:
            a, b = self.operand(args[0]), self.operand(args[1])
            return w.line(f"fcmp {row.llvm} {lanes.double} {a}, {b}")
        a = self.truth(args[0])
        if row.llvm == "not":
            return w.line(f"xor {lanes.boolean} {a}, {lanes.truth(True)}")
        return w.line(f"{row.llvm} {lanes.boolean} {a}, {self.truth(args[1])}")

    def truth(self, v: int) -> str:
        """Booleans: which lanes of a value are not zero."""
        if v not in self.booleans:
            text = f"fcmp une {self.section.lanes.double} {self.operand(v)}, {self.section.lanes.number(0.0)}"
            self.booleans[v] = self.w.line(text)
        return self.booleans[v]

    def libm_table(self) -> str:
        if not self.libm:
            self.libm = self.w.load("%x", 8 * LIBM_TABLE, "ptr", 8)
        return self.libm

    def libm_call(self, name: str, *values: str) -> str:
        w, kind = self.w, self.section.lanes.double
        function = w.load(self.libm_table(), 8 * libm_index(name), "ptr", 8)
        operands = ", ".join(f"{kind} {v}" for v in values)
        if self.section.lanes.width == 1:
            return w.line(f"call double {function}({operands})")
        w.used.add(f"lanes {len(values)}")
        return w.line(f"call {kind} @lanes{len(values)}({operands}, ptr {function})")

    def trig(self, v: int, candidates: list[int]) -> None:
        """The sine or cosine v, together with others of the chunk whose angles are known by now."""
        program, names = self.section.program, self.names
        # angle -> the values that read it; a Program may hold the same sine twice
        wanted: dict[int, list[int]] = {program.args[v][0]: []}
        for u in candidates:
            angle = program.args[u][0]
            if u not in names and (angle in wanted or (len(wanted) < TRIG_GROUP and self.known(angle))):
                wanted.setdefault(angle, []).append(u)
        requests = []
        for angle, values in wanted.items():
            functions = {program.ops[u] for u in values}
            requests.append(Request(self.operand(angle), "sin" in functions, "cos" in functions))
        s = self.section
        if s.lanes.width > 1 and len(s.part.chunks) == 1:
            made = write_sincos(self.w, requests, self.libm_table())
        else:
            made = call_sincos(self.w, requests, self.libm_table(), s.pack)
        for values, (sine, cosine) in zip(wanted.values(), made, strict=True):
            for u in values:
                names[u] = sine if program.ops[u] == "sin" else cosine
                for p, k in s.sinks.get(u, ()):
                    self.write(p, k, names[u])

    def known(self, v: int) -> bool:
        """Whether a value can be read at this point; values of blocks only where their iteration surely ran."""
        s = self.section
        if v in self.names or v in self.unknowns or v in s.derived or s.program.ops[v] in ("const", s.source):
            return True
        home = s.part.home.get(v)
        return home is not None and home != self.chunk and v in s.part.slots and not s.part.chunks[home].inside

    def extern(self, v: int) -> None:
        s, w = self.section, self.w
        f, *given = s.program.args[v]
        external, at = s.program.externals[f], s.part.externs[v]
        for i, a in enumerate(given):
            w.store(self.operand(a), s.lanes.double, "%f", (at + i) * self.bytes, self.align)
        function = w.load(w.load("%x", 8 * EXTERN_TABLE, "ptr", 8), 8 * f, "ptr", 8)
        inp, out = w.address("%f", at * self.bytes), w.address("%f", (at + external.arity) * self.bytes)
        if s.lanes.width == 1:
            w.do(f"call void {function}(ptr {inp}, ptr {out})")
            return
        w.used.add("extern")
        room = w.address("%f", (at + external.arity + external.results) * self.bytes)
        sizes = f"i64 {external.arity}, i64 {external.results}"
        w.do(f"call void @extern_lanes(ptr {function}, ptr {inp}, ptr {out}, ptr {room}, {sizes})")

    def result(self, call: int, k: int) -> str:
        s = self.section
        arity = s.program.externals[s.program.args[call][0]].arity
        return self.w.load("%f", (s.part.externs[call] + arity + k) * self.bytes, s.lanes.double, self.align)


def input_ports(section: ProgramSection) -> int:
    ports = section.program.parameters if section.source == "parameter" else section.program.inputs
    return len(ports)


def splat(w: LlvmWriter, scalar: str) -> str:
    width, kind = w.lanes.width, w.lanes.double
    one = w.line(f"insertelement {kind} poison, double {scalar}, i64 0")
    return w.line(f"shufflevector {kind} {one}, {kind} poison, <{width} x i32> zeroinitializer")
