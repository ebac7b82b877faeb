"""Program: ordered assignments over numbered values, the one input of every target.

A value is a number 0 .. n-1. `ops[v]` says how it is made and `args[v]` from what:

    op          args                      meaning
    input       (k,)                      element k of all inputs laid end to end
    parameter   (k,)                      element k of all parameters laid end to end
    const       (number,)                 int, Fraction or float
    unknown     (block, k)                unknown k of an implicit block, iterated or at the solution
    add sub mul div   (a, b)              binary arithmetic
    neg         (a,)                      change of sign, free in every count
    fma         (a, b, c, sp, sc)         sp*a*b + sc*c rounded once, sp and sc are +1 or -1
    functions   (a, ...)                  sqrt sin atan2 select ...: rows of `symbolic/expr/ops.py`; comparisons
                                          give 1.0 or 0.0
    table       (t, x)                    piecewise polynomial `tables[t]` at x
    extern      (f, a, b, ...)            call of `externals[f]`; its value is not a number: read it with `result`
    result      (call, k)                 result k of an extern value
    solve       (block,)                  runs `blocks[block]`; not a number: read the block's unknowns and body values

Values are made in three runs, each in an order in which operands come first: `setup` (parameters and constants only),
`step` (states and time), `call` (everything else). Leaves (input, parameter, const, unknown) stand in no list. The
values of a block's body stand in `block.body` only; after its `solve` they hold what they are at the solution and may
be read by anything later.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from symbody.symbolic.expr.external import External, Piecewise
from symbody.symbolic.expr.node import BlockCheck
from symbody.symbolic.system.ports import Port

Number = int | float | Fraction

LEAVES = ("input", "parameter", "const", "unknown")


@dataclass(frozen=True, slots=True)
class OutputPort:
    """A named result: `values` are the value numbers of its elements in C order."""

    name: str
    shape: tuple[int, ...]
    values: tuple[int, ...]
    unit: str = ""


@dataclass(frozen=True, slots=True)
class SolveBlock:
    """Newton iteration: x = guess; evaluate body; stop if |step| <= tolerance*(1+min(|x|, far)), else x += step.

    far = min(REACH*(1+|guess|), span), for each unknown: one that ran away to where doubles do not tell angles apart
    goes on until it fails.

    When it stops, the body was evaluated at the x that stays: unknowns and body values belong together. It fails after
    `max_iterations` evaluations, or as soon as a step is not finite. Its outcome is the number of evaluations, or minus
    that where it fails. Then the checks are looked at: check j compares |watched[j]| with limits[j], and the first one
    that does not hold makes the outcome -(max_iterations + 1 + j). A block without unknowns is its checks alone.
    """

    name: str
    unknowns: tuple[int, ...]
    guess: tuple[int, ...]
    body: tuple[int, ...]
    residual: tuple[int, ...]
    step: tuple[int, ...]
    tolerance: float = 1e-12
    max_iterations: int = 25
    remedy: str = ""
    checks: tuple[BlockCheck, ...] = ()
    watched: tuple[int, ...] = ()
    limits: tuple[int, ...] = ()
    span: float = math.inf

    @property
    def ends(self) -> tuple[int, ...]:
        """What is read where an evaluation of the body ends."""
        return (*self.step, *self.watched, *self.limits)

    @property
    def words(self) -> tuple[str, ...]:
        """What each check means where it does not hold."""
        return tuple(check.words for check in self.checks)


@dataclass(frozen=True, slots=True)
class Program:
    """See the module's text for the meaning of `ops` and `args`."""

    name: str
    inputs: tuple[Port, ...]
    parameters: tuple[Port, ...]
    outputs: tuple[OutputPort, ...]
    ops: Sequence[str]
    args: Sequence[tuple[Any, ...]]
    setup: Sequence[int]
    step: Sequence[int]
    call: Sequence[int]
    blocks: tuple[SolveBlock, ...] = ()
    tables: tuple[Piecewise, ...] = ()
    externals: tuple[External, ...] = ()
    names: dict[int, str] = field(default_factory=dict)

    @property
    def input_size(self) -> int:
        return sum(p.size for p in self.inputs)

    @property
    def parameter_size(self) -> int:
        return sum(p.size for p in self.parameters)

    def main(self) -> list[int]:
        """Value numbers of what runs at every call: `step`, then `call`."""
        return [*self.step, *self.call]


def operands(op: str, args: tuple[Any, ...]) -> tuple[int, ...]:
    """Value numbers that a value reads directly (a `solve` reads its block's guess and body: see `SolveBlock`)."""
    if op in LEAVES or op == "solve":
        return ()
    if op in ("table", "extern"):
        return args[1:]
    if op == "result":
        return args[:1]
    if op == "fma":
        return args[:3]
    return args


def say_unsolved(
    block: str, program: str, evaluations: int, limit: int, remedy: str = "", words: Sequence[str] = ()
) -> str:
    """Why a block found no solution, and what to do. evaluations: minus its outcome; words: of its checks."""
    if evaluations > limit:
        return f"Solve block '{block}' of '{program}' has no sound solution: {words[evaluations - limit - 1]}. {remedy}"
    why = "a step is not finite" if evaluations < limit else "the limit is reached"
    advice = remedy or "Give a guess nearer to the solution, or check that one exists at this state."
    times = f"{evaluations} evaluation{'s' if evaluations != 1 else ''}"
    return f"Solve block '{block}' of '{program}' did not converge: stopped after {times}, {why}. {advice}"
