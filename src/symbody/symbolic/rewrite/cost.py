"""Operations that a graph will need, counted without lowering it, by the rules of docs/decisions/0004."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.expr.node import ADD, ALIAS, AT, BOUND, CONST, MUL, POW, RESULT, SCALE, SOLVE, SYMBOL, Node
from symbody.symbolic.expr.quotients import QUOTIENT

FREE = frozenset((CONST, SYMBOL, RESULT, ALIAS, SOLVE, AT))


@dataclass(frozen=True, slots=True)
class Cost:
    """Operations of one call. `setup` runs once; `body` is what one iteration of all implicit blocks takes."""

    mul: int = 0
    add: int = 0
    div: int = 0
    trig: int = 0
    other: int = 0
    setup: int = 0
    body: int = 0

    @property
    def total(self) -> int:
        """mul + add + div of what runs at every call."""
        return self.mul + self.add + self.div

    @property
    def rank(self) -> tuple[int, int, int]:
        """Cheaper compares less: operations, then those of the setup, then calls of functions."""
        run = self.total + self.body
        return run, run + self.setup, self.trig + self.other

    def __str__(self) -> str:
        text = f"{self.mul} mul, {self.add} add, {self.div} div = {self.total}; {self.trig} trig"
        for name in ("other", "setup", "body"):
            if getattr(self, name):
                text += f"; {getattr(self, name)} {name}"
        return text


def cost(roots: Iterable[Node]) -> Cost:
    """Cost of all nodes below the roots, each computed once."""
    order, uses, factors = _walk(roots)
    sizes, owned = _coefficients(uses)
    # [run, setup, body] of each operation
    mul, add, div = [0, 0, 0], [0, 0, 0], [0, 0, 0]
    trig = other = 0
    exponents: dict[Node, set[int]] = {}
    roots_of: set[Node] = set()
    scaled: set[tuple[object, Node]] = set()
    parts: set[tuple[str, tuple[Node, ...]]] = set()
    for node in order:
        op = node.op
        flags = node.flags
        if op is SYMBOL or op is CONST:
            continue
        place = 0 if flags else 1
        if flags & BOUND:
            place = 2
        if op is ADD or op is MUL:
            args = node.args
            inputs = len(args)
            fixed = ()
            if flags:
                for a in args:
                    if not a.flags:
                        fixed += (a,)  # type: ignore[assignment]
                if len(fixed) > 1:
                    inputs -= len(fixed) - 1
                    if (op, fixed) not in parts:
                        parts.add((op, fixed))
                        (add if op is ADD else mul)[1] += len(fixed) - 1
            if op is ADD:
                add[place] += inputs - 1
                continue
            divisors = 0
            for a in args:
                if a.op is POW and a in factors:
                    divisors += 1
            if not divisors:
                mul[place] += inputs - 1
            else:
                div[place] += 1
                mul[place] += divisors - 1 + max(inputs - divisors - 1, 0)
        elif op is SCALE:
            c = node.data
            if c == 1 or c == -1:
                continue
            x = node.args[0]
            size = abs(c)
            key = (size, x)
            if owned.get(x) is not None:
                if any(not a.flags for a in x.args):
                    if key not in scaled:
                        scaled.add(key)
                        mul[1] += 1  # the coefficient joins the setup factor
                    continue
                if any((size, a) in sizes and a not in factors for a in x.args):
                    continue  # the product is taken over a factor that is scaled anyway
            if key not in scaled:
                scaled.add(key)
                mul[place] += 1
        elif op is POW:
            e, x = node.data, node.args[0]
            if e < 0 and node not in factors and e.__class__ is not float:
                div[place] += 1
            size = abs(e)
            if size.__class__ is int:
                if size > 1:
                    exponents.setdefault(x, set()).add(size)
            elif size.__class__ is Fraction and size.denominator == 2:
                if x not in roots_of:
                    roots_of.add(x)
                    other += place == 0
                whole = size.numerator // 2
                if whole:
                    mul[place] += 1
                if whole > 1:
                    exponents.setdefault(x, set()).add(whole)
            elif place == 0:
                other += 1
        elif op == QUOTIENT:
            div[place] += 1
        elif op not in FREE and place == 0:
            row = FUNCTIONS.get(op)
            if row is not None and row.trig:
                trig += 1
            else:
                other += 1
    for x, wanted in exponents.items():
        place = (2 if x.flags & BOUND else 0) if x.flags else 1
        mul[place] += 1 if wanted == {2} else len(power_chain(wanted))
    setup = mul[1] + add[1] + div[1]
    return Cost(mul[0], add[0], div[0], trig, other, setup, mul[2] + add[2] + div[2])


def _walk(roots: Iterable[Node]) -> tuple[list[Node], dict[Node, int], set[Node]]:
    """All nodes below the roots, their uses, and the negative powers that are used once, as a factor."""
    order: list[Node] = []
    uses: dict[Node, int] = {}
    factors: set[Node] = set()
    stack: list[Node] = []
    for root in roots:
        if root in uses:
            uses[root] += 1
            factors.discard(root)
            continue
        uses[root] = 1
        stack.append(root)
        while stack:
            node = stack.pop()
            order.append(node)
            product = node.op is MUL
            for a in node.args:
                if a in uses:
                    uses[a] += 1
                    if a.op is POW:
                        factors.discard(a)
                else:
                    uses[a] = 1
                    stack.append(a)
                    if product and a.op is POW and a.data < 0 and a.flags:
                        factors.add(a)
    return order, uses, factors


def _coefficients(uses: dict[Node, int]) -> tuple[set[tuple[object, Node]], dict[Node, object]]:
    """Pairs (|c|, x) of all live scale(c, x), and for products that occur under one |c| only, that size."""
    sizes: set[tuple[object, Node]] = set()
    owned: dict[Node, object] = {}
    owners: dict[Node, int] = {}
    for node in uses:
        if node.op is SCALE and node.data != -1:
            x, size = node.args[0], abs(node.data)
            sizes.add((size, x))
            if x.op is MUL and x.flags:
                owners[x] = owners.get(x, 0) + 1
                owned[x] = size if owned.get(x, size) == size else None
    for x, n in owners.items():
        if uses[x] != n:
            owned[x] = None
    return sizes, owned


def power_chain(exponents: Iterable[int]) -> list[tuple[int, int, int]]:
    """Steps (e, a, b) with e = a + b that reach x^e for all exponents >= 2 of one base, in the order of computation.

    An exponent that is the sum of two available ones takes one step; any other is split into the largest power of two
    below it and the rest (symofros 3.3: binary splitting).
    """
    have = {1}
    steps: list[tuple[int, int, int]] = []

    for wanted in sorted(set(exponents)):
        todo = [wanted]
        while todo:
            e = todo[-1]
            if e in have:
                todo.pop()
                continue
            pair = next((a for a in sorted(have, reverse=True) if a <= e and e - a in have), None)
            if pair is not None:
                steps.append((e, pair, e - pair))
                have.add(e)
                todo.pop()
                continue
            high = 1 << ((e - 1).bit_length() - 1)
            todo.extend(part for part in (e - high, high) if part not in have)
    return steps
