"""LlvmWriter: the lines of one LLVM function, written as text.

Text takes about a microsecond a line, several times less than building llvmlite's IR objects and printing them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field


def double_literal(number: float) -> str:
    """A double as LLVM reads it without rounding: the 16 hexadecimal digits of its bits."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


@dataclass(frozen=True, slots=True)
class LaneTypes:
    """Type names for values of `width` doubles that are computed together; width 1 is plain scalar code."""

    width: int
    double: str = field(init=False)
    integer: str = field(init=False)
    boolean: str = field(init=False)
    suffix: str = field(init=False)

    def __post_init__(self) -> None:
        w = self.width
        wrap = (lambda name: name) if w == 1 else (lambda name: f"<{w} x {name}>")
        object.__setattr__(self, "double", wrap("double"))
        object.__setattr__(self, "integer", wrap("i64"))
        object.__setattr__(self, "boolean", wrap("i1"))
        object.__setattr__(self, "suffix", "f64" if w == 1 else f"v{w}f64")

    def number(self, value: float) -> str:
        literal = double_literal(value)
        return literal if self.width == 1 else f"splat (double {literal})"

    def count(self, value: int) -> str:
        """An integer constant in every lane."""
        return str(value) if self.width == 1 else f"splat (i64 {value})"

    def truth(self, value: bool) -> str:
        literal = "true" if value else "false"
        return literal if self.width == 1 else f"splat (i1 {literal})"


@dataclass(slots=True)
class LlvmWriter:
    """Lines of one function. Unnamed results count upwards in the order of their lines, as LLVM's parser wants.

    `used` gathers the intrinsics and helper functions that the text refers to, so that the module can declare them.
    """

    lanes: LaneTypes
    fma: bool
    lines: list[str] = field(default_factory=list)
    entry: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    next: int = 0
    labels: int = 0
    block: str = "entry"
    trig_room: int = 0

    def line(self, text: str) -> str:
        """Add an instruction with a result; returns the result's name."""
        name = f"%{self.next}"
        self.next += 1
        self.lines.append(f"{name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Add an instruction without a result."""
        self.lines.append(text)

    def label(self, stem: str) -> str:
        """A new label name; `start` opens its block."""
        self.labels += 1
        return f"{stem}{self.labels}"

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label

    def address(self, pointer: str, byte: int) -> str:
        return pointer if byte == 0 else self.line(f"getelementptr i8, ptr {pointer}, i64 {byte}")

    def load(self, pointer: str, byte: int, kind: str, align: int, tail: str = "") -> str:
        return self.line(f"load {kind}, ptr {self.address(pointer, byte)}, align {align}{tail}")

    def store(self, value: str, kind: str, pointer: str, byte: int, align: int) -> None:
        self.do(f"store {kind} {value}, ptr {self.address(pointer, byte)}, align {align}")

    def intrinsic(self, name: str, *values: str) -> str:
        """Call `llvm.<name>` on values of the lanes' type."""
        kind = self.lanes.double
        full = f"llvm.{name}.{self.lanes.suffix}"
        self.used.add(f"declare {kind} @{full}({', '.join([kind] * len(values))})")
        return self.line(f"call {kind} @{full}({', '.join(f'{kind} {v}' for v in values)})")

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """a*b + c, rounded once where `fma` allows it, else twice."""
        if self.fma:
            return self.intrinsic("fma", a, b, c)
        kind = self.lanes.double
        return self.line(f"fadd {kind} {self.line(f'fmul {kind} {a}, {b}')}, {c}")

    def trig_alloca(self) -> str:
        """For the head of the function: room that sines and cosines need in their slow branch."""
        return f"%trig = alloca [{self.trig_room} x double], align 64" if self.trig_room else ""

    def any(self, booleans: str) -> str:
        """i1: true if some lane is."""
        w = self.lanes.width
        if w == 1:
            return booleans
        bits = self.line(f"bitcast <{w} x i1> {booleans} to i{w}")
        return self.line(f"icmp ne i{w} {bits}, 0")
