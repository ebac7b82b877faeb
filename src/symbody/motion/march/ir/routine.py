"""Routine: structured LLVM text for the march's own loops: variables, loops, branches, arrays of lanes.

Kernels are long straight lines of arithmetic and have their own writer (`llvm/writer.py`); the march is the opposite,
little arithmetic and much control, and LLVM's passes tidy it up (`compiled_march.py`). No operation carries fast-math
flags: the compiler may neither reassociate nor fuse, so that lanes, threads and NumPy give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from symbody.codegen.llvm.writer import LaneTypes, double_literal

HEAD = "ptr noalias %job, i64 %begin, i64 %end"


class Routine:
    """One function. Values are names (or literals); `job` is an array of 64-bit words, read by name.

    words: names of the job's words in order. lanes: doubles per vector of the flat loops.
    attributes: the group of attributes of the function, see `compile`
    """

    attributes = 0

    def __init__(self, name: str, words: Sequence[str], width: int, head: str = HEAD, result: str = "void") -> None:
        self.title = f"define {'' if head == HEAD else 'internal '}{result} @{name}({head}) #{self.attributes} {{"
        self.words = {w: i for i, w in enumerate(words)}
        self.lanes = LaneTypes(width)
        self.width = width
        self.vector = self.lanes.double
        self._entry: list[str] = []
        self._lines: list[str] = []
        self._known: dict[str, str] = {}
        self._count = 0
        self.used: set[str] = set()

    def text(self) -> str:
        """The finished function; the body must end with `ret`."""
        return "\n".join([self.title, "entry:", *self._entry, "br label %body", "body:", *self._lines, "}"])

    # -- single instructions

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def op(self, text: str) -> str:
        name = self._name("%v")
        self._lines.append(f"{name} = {text}")
        return name

    def do(self, text: str) -> None:
        self._lines.append(text)

    def word(self, name: str, kind: str = "i64") -> str:
        """A word of the job, read once at the start of the function."""
        if name not in self._known:
            place, value = self._name("%w"), f"%job.{name}"
            self._entry.append(f"{place} = getelementptr i64, ptr %job, i64 {self.words[name]}")
            self._entry.append(f"{value} = load {kind}, ptr {place}, align 8")
            self._known[name] = value
        return self._known[name]

    def pointer(self, name: str) -> str:
        return self.word(name, "ptr")

    def number(self, name: str) -> str:
        return self.word(name, "double")

    def add(self, a: str, b: str) -> str:
        return self.op(f"add i64 {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self.op(f"sub i64 {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        return self.op(f"mul i64 {a}, {b}")

    def f(self, name: str, a: str, b: str, kind: str = "double") -> str:
        """fadd, fsub, fmul or fdiv."""
        return self.op(f"{name} {kind} {a}, {b}")

    def compare(self, how: str, a: str, b: str) -> str:
        """i1; how: slt, eq ... for integers, olt, une ... for doubles."""
        if how[0] in "ou" and how not in ("ult", "ugt"):
            return self.op(f"fcmp {how} double {a}, {b}")
        return self.op(f"icmp {how} i64 {a}, {b}")

    def both(self, a: str, b: str) -> str:
        return self.op(f"and i1 {a}, {b}")

    def either(self, a: str, b: str) -> str:
        return self.op(f"or i1 {a}, {b}")

    def negate(self, a: str) -> str:
        return self.op(f"xor i1 {a}, true")

    def flag(self, name: str) -> str:
        """i1: whether a word of the job is not zero."""
        return self.compare("ne", self.word(name), "0")

    def select(self, condition: str, a: str, b: str, kind: str = "double") -> str:
        return self.op(f"select i1 {condition}, {kind} {a}, {kind} {b}")

    def call(self, kind: str, intrinsic: str, *values: str) -> str:
        """An intrinsic `llvm.<name>.f64` or `.i64` of operands of one type."""
        full = f"llvm.{intrinsic}.{'f64' if kind == 'double' else kind}"
        self.used.add(f"declare {kind} @{full}({', '.join([kind] * len(values))})")
        return self.op(f"call {kind} @{full}({', '.join(f'{kind} {v}' for v in values)})")

    def least(self, a: str, b: str) -> str:
        return self.select(self.compare("slt", a, b), a, b, "i64")

    # -- memory

    def at(self, base: str, index: str) -> str:
        """Pointer to element `index` of an array of doubles (or of 64-bit integers)."""
        return base if index == "0" else self.op(f"getelementptr double, ptr {base}, i64 {index}")

    def load(self, base: str, index: str, kind: str = "double") -> str:
        return self.op(f"load {kind}, ptr {self.at(base, index)}, align 8")

    def store(self, value: str, base: str, index: str, kind: str = "double") -> None:
        self.do(f"store {kind} {value}, ptr {self.at(base, index)}, align 8")

    def vload(self, base: str, index: str) -> str:
        """A vector from a work buffer: these start at multiples of 64 bytes and are padded to whole vectors."""
        return self.op(f"load {self.vector}, ptr {self.at(base, index)}, align {8 * self.width}")

    def vstore(self, value: str, base: str, index: str) -> None:
        self.do(f"store {self.vector} {value}, ptr {self.at(base, index)}, align {8 * self.width}")

    def variable(self, kind: str, value: str) -> RoutineVariable:
        place = self._name("%at")
        self._entry.append(f"{place} = alloca {kind}, align 64")
        variable = RoutineVariable(self, place, kind)
        variable.set(value)
        return variable

    # -- control

    def _goto(self, label: str) -> None:
        self.do(f"br label %{label}")

    def _branch(self, condition: str, yes: str, no: str) -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def _start(self, label: str) -> None:
        self.do(f"{label}:")

    @contextmanager
    def loop(self, end: str, start: str = "0", step: int | str = 1) -> Iterator[str]:
        """for i = start; i < end; i += step."""
        test, body, done = (self._name(s) for s in ("test", "do", "done"))
        i = self.variable("i64", start)
        self._goto(test)
        self._start(test)
        value = i.get()
        self._branch(self.compare("slt", value, end), body, done)
        self._start(body)
        yield value
        i.set(self.add(value, str(step)))
        self._goto(test)
        self._start(done)

    @contextmanager
    def forever(self) -> Iterator[str]:
        """An endless loop; yields the label that `leave` takes."""
        again, done = self._name("again"), self._name("left")
        self._goto(again)
        self._start(again)
        yield done
        self._goto(again)
        self._start(done)

    def leave(self, condition: str, label: str) -> None:
        """Jump to a label if the condition holds."""
        onward = self._name("on")
        self._branch(condition, label, onward)
        self._start(onward)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        yes, done = self._name("then"), self._name("fi")
        self._branch(condition, yes, done)
        self._start(yes)
        yield
        self._goto(done)
        self._start(done)

    @contextmanager
    def unless(self, condition: str) -> Iterator[None]:
        with self.when(self.negate(condition)):
            yield

    # -- sums of products over whole vectors

    def literal(self, number: float) -> str:
        return double_literal(number)

    def combination(self, coefficients: Sequence[float], bases: Sequence[str], index: str) -> str | None:
        """Sum of c*k over vectors of the buffers k, from the left; zeros cost nothing, None if all are zero."""
        total: str | None = None
        for c, base in zip(coefficients, bases, strict=False):
            if c == 0.0:
                continue
            k = self.vload(base, index)
            term = k if c == 1.0 else self.f("fmul", self.lanes.number(c), k, self.vector)
            total = term if total is None else self.f("fadd", total, term, self.vector)
        return total


class RoutineVariable:
    """A mutable value of a Routine; LLVM turns it into registers."""

    def __init__(self, routine: Routine, place: str, kind: str) -> None:
        self.routine, self.place, self.kind = routine, place, kind

    def get(self) -> str:
        return self.routine.op(f"load {self.kind}, ptr {self.place}, align 8")

    def set(self, value: str) -> None:
        self.routine.do(f"store {self.kind} {value}, ptr {self.place}, align 8")
