"""Operation counts of a Program, comparable with published ones and with the operators of the emitted C."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from symbody.basics.display import html_table
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.lower.program import Program, operands

FREE = frozenset(("neg", "result", "solve", "input", "parameter", "const", "unknown"))


@dataclass(frozen=True, slots=True)
class Counts:
    """Operations of one call; `setup` is mul + add + div of the setup run, `blocks` one iteration of each block.

    `checks` are counted separately: operations of any kind that serve the status alone. The size and the comparison of
    every check, two operations, are taken once a call; what an iteration computes for checks alone is in `blocks`.
    """

    mul: int = 0
    add: int = 0
    div: int = 0
    trig: int = 0
    other: int = 0
    setup: int = 0
    blocks: tuple[Counts, ...] = ()
    checks: int = 0

    @property
    def total(self) -> int:
        """mul + add + div of what runs at every call; iterations of solve blocks are counted separately."""
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
            self.checks + more.checks,
        )

    def _repr_html_(self) -> str:
        heads = ["mul", "add", "div", "total", "trig", "other", "setup", "checks"]
        rows = [[getattr(c, h) for h in heads] for c in (self, *self.blocks)]
        names = ["one call", *(f"iteration of block {k + 1}" for k in range(len(self.blocks)))]
        return html_table(["", *heads], [[n, *r] for n, r in zip(names, rows)])

    def __str__(self) -> str:
        text = f"{self.mul} mul, {self.add} add, {self.div} div = {self.total}; {self.trig} trig"
        if self.other:
            text += f"; {self.other} other"
        if self.setup:
            text += f"; {self.setup} setup"
        if self.checks:
            text += f"; {self.checks} checks"
        for k, block in enumerate(self.blocks):
            text += f"; iteration of block {k}: ({block})"
        return text


def count_program(program: Program) -> Counts:
    """Counts of a Program: sub is an add, neg is free, fma is a mul and an add, sin and cos of x are two trig."""
    apart = serving_checks(program)
    mul, add, div, trig, other, checks = _tally(program, program.main(), apart)
    setup = sum(_tally(program, program.setup, set())[:3])
    blocks = []
    for block in program.blocks:
        m, a, d, t, o, alone = _tally(program, block.body, apart)
        blocks.append(Counts(m, a, d, t, o, checks=alone))
        checks += 2 * len(block.checks)
    return Counts(mul, add, div, trig, other, setup, tuple(blocks), checks)


def serving_checks(program: Program) -> set[int]:
    """Values that checks read, directly or not, and nothing else does."""
    wanted = [v for port in program.outputs for v in port.values]
    for block in program.blocks:
        wanted += (*block.guess, *block.residual, *block.step)
    used = _below(program, wanted, set())
    return _below(program, [v for block in program.blocks for v in (*block.watched, *block.limits)], used)


def _below(program: Program, values: Iterable[int], known: set[int]) -> set[int]:
    """The values and all that they are made from, but for known ones."""
    found: set[int] = set()
    waiting = list(values)
    while waiting:
        v = waiting.pop()
        if v not in found and v not in known:
            found.add(v)
            waiting.extend(operands(program.ops[v], program.args[v]))
    return found


def _tally(program: Program, order: Iterable[int], apart: set[int]) -> tuple[int, int, int, int, int, int]:
    """mul, add, div, trig, other of the values, and all operations of those in `apart`, which serve checks."""
    ops = program.ops
    number: dict[str, int] = {}
    checks = 0
    for v in order:
        op = ops[v]
        if v in apart:
            checks += 2 if op == "fma" else op not in FREE
        else:
            number[op] = number.get(op, 0) + 1
    fused = number.pop("fma", 0)
    mul = number.pop("mul", 0) + fused
    add = number.pop("add", 0) + number.pop("sub", 0) + fused
    div = number.pop("div", 0)
    trig = sum(n for op, n in number.items() if op in FUNCTIONS and FUNCTIONS[op].trig)
    other = sum(n for op, n in number.items() if op not in FREE) - trig
    return mul, add, div, trig, other, checks
