"""Operation counts of a Program, comparable with published ones and with the operators of the emitted C."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from symbody.lower.program import Program

TRIG = frozenset(("sin", "cos", "tan", "asin", "acos", "atan", "atan2"))
FREE = frozenset(("neg", "result", "solve", "input", "parameter", "const", "unknown"))


@dataclass(frozen=True, slots=True)
class Counts:
    """Operations of one call; `setup` is mul + add + div of the setup run, `blocks` one iteration of each block."""

    mul: int = 0
    add: int = 0
    div: int = 0
    trig: int = 0
    other: int = 0
    setup: int = 0
    blocks: tuple[Counts, ...] = ()

    @property
    def total(self) -> int:
        """mul + add + div of what runs at every call; iterations of solve blocks stand apart."""
        return self.mul + self.add + self.div

    def __add__(self, more: Counts) -> Counts:
        return Counts(
            self.mul + more.mul,
            self.add + more.add,
            self.div + more.div,
            self.trig + more.trig,
            self.other + more.other,
            self.setup + more.setup,
            self.blocks + more.blocks,
        )

    def __str__(self) -> str:
        text = f"{self.mul} mul, {self.add} add, {self.div} div = {self.total}; {self.trig} trig"
        if self.other:
            text += f"; {self.other} other"
        if self.setup:
            text += f"; {self.setup} setup"
        for k, block in enumerate(self.blocks):
            text += f"; iteration of block {k}: ({block})"
        return text


def count_program(program: Program) -> Counts:
    """Counts of a Program: sub is an add, neg is free, fma is a mul and an add, sin and cos of x are two trig."""
    mul, add, div, trig, other = _tally(program, program.main())
    setup = sum(_tally(program, program.setup)[:3])
    blocks = tuple(Counts(*_tally(program, block.body)) for block in program.blocks)
    return Counts(mul, add, div, trig, other, setup, blocks)


def _tally(program: Program, order: Iterable[int]) -> tuple[int, int, int, int, int]:
    ops = program.ops
    number: dict[str, int] = {}
    for v in order:
        op = ops[v]
        number[op] = number.get(op, 0) + 1
    fused = number.pop("fma", 0)
    mul = number.pop("mul", 0) + fused
    add = number.pop("add", 0) + number.pop("sub", 0) + fused
    div = number.pop("div", 0)
    trig = sum(number.pop(op, 0) for op in TRIG)
    other = sum(n for op, n in number.items() if op not in FREE)
    return mul, add, div, trig, other
