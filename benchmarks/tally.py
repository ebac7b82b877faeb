"""Operation counts of peers, by the rule that symbody counts with (docs/decisions/0004).

total = mul + add + div of the straight-line program after the library's own elimination of common subexpressions. Signs
are free. What depends on parameters and numbers alone runs once and is left out, also for libraries that have no such
notion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class Tally:
    mul: int = 0
    add: int = 0
    div: int = 0
    trig: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        return self.mul + self.add + self.div


class TreeTally:
    """Counts SymPy or SymEngine expressions; both have .args, .is_Add, .is_Mul, .is_Pow, .is_Symbol."""

    def __init__(self, inputs: Iterable[Any]) -> None:
        self.tally = Tally()
        self.live = set(inputs)  # symbols that depend on an input

    def program(self, steps: Iterable[tuple[Any, Any]], outputs: Iterable[Any]) -> Tally:
        """The result of cse(): assignments in order, then outputs."""
        for symbol, expression in steps:
            if self.visit(expression):
                self.live.add(symbol)
        for expression in outputs:
            self.visit(expression)
        return self.tally

    def visit(self, e: Any) -> bool:
        """Counts e; whether it depends on an input."""
        if not e.args:
            return e in self.live
        if e.is_Add:
            return self._sum(e.args)
        if e.is_Mul:
            return self._product(e.args)
        if e.is_Pow:
            return self._power(e)
        operands = [self.visit(a) for a in e.args]  # all of them: a visit also counts
        live = any(operands)
        if live:
            if type(e).__name__.lower() in ("sin", "cos", "tan"):
                self.tally.trig += 1
            else:
                self.tally.other += 1
        return live

    def _sum(self, terms: Sequence[Any]) -> bool:
        live = [self.visit(t) for t in terms]
        # the terms that are known once are one term
        places = sum(live) + (not all(live))
        if any(live):
            self.tally.add += places - 1
        return any(live)

    def _product(self, factors: Sequence[Any]) -> bool:
        above = below = 0
        known = False
        for f in factors:
            exponent = f.args[1] if f.is_Pow else None
            if exponent is not None and not exponent.args and exponent.is_Number and exponent.is_negative:
                if self._power(f, divide=False):
                    below += 1
                else:
                    known = True
            elif self.visit(f):
                above += 1
            elif f not in (1, -1):
                known = True
        if not above and not below:
            return False
        above += known
        if below:
            self.tally.div += 1
            self.tally.mul += max(above - 1, 0) + below - 1
        else:
            self.tally.mul += above - 1
        return True

    def _power(self, e: Any, divide: bool = True) -> bool:
        base, exponent = e.args
        live = self.visit(base)
        if not live:
            return self.visit(exponent)
        if exponent.is_Integer:
            n = abs(int(exponent))
            self.tally.mul += n.bit_length() - 1 + n.bit_count() - 1  # by squaring
            if divide and int(exponent) < 0:
                self.tally.div += 1
        else:
            self.visit(exponent)
            self.tally.other += 1
        return True


def casadi_tally(function: Any, inputs: int) -> Tally:
    """Counts the instructions of an SX Function whose arguments from number `inputs` on are parameters."""
    import casadi as ca

    tally = Tally()
    kinds = {
        ca.OP_ADD: "add", ca.OP_SUB: "add", ca.OP_TWICE: "add", ca.OP_MUL: "mul", ca.OP_SQ: "mul", ca.OP_DIV: "div",
        ca.OP_INV: "div", ca.OP_SIN: "trig", ca.OP_COS: "trig", ca.OP_TAN: "trig", ca.OP_NEG: "",
    }  # fmt: skip
    live: dict[int, bool] = {}  # place in the work vector -> whether it depends on an input
    for k in range(function.n_instructions()):
        op = function.instruction_id(k)
        if op == ca.OP_OUTPUT:
            continue
        target = function.instruction_output(k)[0]
        if op == ca.OP_CONST:
            live[target] = False
        elif op == ca.OP_INPUT:
            live[target] = function.instruction_input(k)[0] < inputs
        else:
            live[target] = any(live[i] for i in function.instruction_input(k))
            kind = kinds.get(op, "other")
            if live[target] and kind:
                setattr(tally, kind, getattr(tally, kind) + 1)
    return tally
