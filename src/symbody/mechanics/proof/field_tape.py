"""A System as a tape: its nodes in order, each one step of arithmetic in the field, ready for many points.

What the field knows is arithmetic, sines and cosines of sums and rational multiples of angles, and that v^(k/d) is the
k-th power of one root of v. Everything else is an unknown function of its arguments:

    odd functions             f(-x) = -f(x), even ones f(-x) = f(x); sign is odd, |x| is the root of x^2
    max(a, b), min(a, b)      (a + b +- |a - b|) / 2
    a < b, a == b             an unknown function of b - a, of |b - a|; a <= b is not (b < a)
    and, or, not, select      T(a) T(b), ..., T(c) a + (1 - T(c)) b, with T an unknown truth of its argument
    implicit blocks           the solution is an unknown function of residual, step (unknowns as symbols) and guess

An unknown function takes any value of the field, so what is proved of it holds for every function of that kind.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from symbody.mechanics.proof.points import Key
from symbody.mechanics.proof.prime_field import DIGITS, NoValue, coefficient, decimal, digits, residue
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.function_row import is_truth, row_of
from symbody.symbolic.expr.node import (
    ADD,
    ALIAS,
    AT,
    BOUND,
    CONST,
    EXTERN,
    MUL,
    POW,
    RESULT,
    SCALE,
    SOLVE,
    SYMBOL,
    TABLE,
    Node,
)  # fmt: skip
from symbody.symbolic.expr.quotients import QUOTIENT
from symbody.symbolic.system.system import System

# kinds of steps; the slots of operands and data stand behind them
(NUMBER, ARGUMENT, NEGATIVE, SCALED, SUM2, SUM, PRODUCT2, PRODUCT, INVERSE, POWER, ROOT, ANGLE, SINE, COSINE,
 FUNCTION, EVEN_FUNCTION, ODD_FUNCTION, UNKNOWN) = range(18)  # fmt: skip

# what a value is made of besides arithmetic and circles
EXACT, UNSURE, ROUNDED, ROOTED = 0, 1, 2, 4

FINEST = 20  # times that an angle may be halved
Step = tuple[int, Any, Any]
Form = dict[Any, Fraction]  # base of an angle -> factor


@dataclass
class FieldTape:
    """Steps in order, the k-th filling slot k.

    roots     slot of each output entry
    flags     of each slot: UNSURE where it reads an unknown function or a root, ROOTED where it reads a root, ROUNDED
              where it reads a float that may be rounded
    nested    whether a root is taken of what reads a root
    halvings  base of an angle -> how often it is halved; odd: -> odd divisors of it
    numbers   slot of a constant, or of a product with one -> the number
    floats    constants that may be rounded results of folding: floats of many digits
    externals external functions by name, under which the field knows them
    refusal   why some step has no meaning in the field; "" if all have
    """

    steps: list[Step] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    halvings: dict[Any, int] = field(default_factory=dict)
    odd: dict[Any, int] = field(default_factory=dict)
    numbers: dict[int, Any] = field(default_factory=dict)
    floats: set[float] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    externals: dict[str, External] = field(default_factory=dict)
    nested: bool = False
    refusal: str = ""


@dataclass(eq=False)
class _SlotScope:
    """Slots of nodes that read the unknowns of implicit blocks, for one meaning of these unknowns."""

    unknowns: dict[Node, int]
    depth: int = 0
    slots: dict[Node, int] = field(default_factory=dict)


def tape_of(system: System) -> FieldTape:
    """The FieldTape of all outputs of a System, entry by entry."""
    keys: dict[Node, Key] = {}
    for name, array in (*system.inputs.items(), *system.parameters.items()):
        keys.update((s, (name, k)) for k, s in enumerate(array.flat))
    return _TapeWriter(keys).write([x for a in system.outputs.values() for x in a.flat])


class _TapeWriter:
    def __init__(self, keys: dict[Node, Key]) -> None:
        self.keys = keys
        self.tape = FieldTape()
        self.plain = _SlotScope({})
        self.blocks: dict[tuple[_SlotScope, Node], tuple[int, _SlotScope]] = {}
        self.angles: dict[frozenset[Any], int] = {}

    def write(self, roots: Iterable[Node]) -> FieldTape:
        self.tape.roots = self.all_slots(list(roots), self.plain)
        return self.tape

    def put(self, kind: int, a: Any, b: Any, flags: int) -> int:
        self.tape.steps.append((kind, a, b))
        self.tape.flags.append(flags)
        return len(self.tape.steps) - 1

    def home(self, node: Node, scope: _SlotScope) -> _SlotScope:
        return scope if node.flags & BOUND else self.plain

    def all_slots(self, roots: list[Node], scope: _SlotScope) -> list[int]:
        """Slots of nodes, with all that they read written before them; blocks are opened by recursion, nothing else."""
        local, plain = scope.slots, self.plain.slots
        stack = roots[::-1]
        while stack:
            node = stack[-1]
            slots = local if node.flags & BOUND else plain
            if node in slots:
                stack.pop()
                continue
            op = node.op
            children = () if op is AT or op is SOLVE else node.args
            waiting = [c for c in children if c not in (local if c.flags & BOUND else plain)]
            if waiting:
                stack.extend(waiting[::-1])
                continue
            stack.pop()
            slots[node] = self.step(node, [(local if c.flags & BOUND else plain)[c] for c in children], scope)
        return [(local if r.flags & BOUND else plain)[r] for r in roots]

    def step(self, node: Node, args: list[int], scope: _SlotScope) -> int:
        op, data, flags = node.op, node.data, self.tape.flags
        if op is MUL:
            mixed = 0
            for a in args:
                mixed |= flags[a]
            return (
                self.put(PRODUCT2, args[0], args[1], mixed) if len(args) == 2 else self.put(PRODUCT, args, None, mixed)
            )
        if op is ADD:
            mixed = 0
            for a in args:
                mixed |= flags[a]
            return self.put(SUM2, args[0], args[1], mixed) if len(args) == 2 else self.put(SUM, args, None, mixed)
        if op is SCALE:
            if data == -1:
                return self.put(NEGATIVE, args[0], None, flags[args[0]])
            data = coefficient(node)
            number, rounded = self.number(data)
            self.tape.numbers[len(flags)] = data
            return self.put(SCALED, args[0], number, flags[args[0]] | rounded)
        if op is CONST:
            number, rounded = self.number(data)
            self.tape.numbers[len(flags)] = data
            return self.put(NUMBER, number, None, rounded)
        if op is SYMBOL:
            if node in scope.unknowns:
                return scope.unknowns[node]
            return self.put(ARGUMENT, self.keys[node], None, EXACT)
        if op is POW:
            return self.power(args[0], data)
        if op is ALIAS:
            return args[0]
        if op == QUOTIENT:
            mixed = flags[args[0]] | flags[args[1]]
            return self.put(PRODUCT2, args[0], self.put(INVERSE, args[1], None, flags[args[1]]), mixed)
        if op == "sin" or op == "cos":
            return self.put(SINE if op == "sin" else COSINE, *self.angle(node.args[0], args[0], scope))
        if op == "tan":
            at, _, mixed = self.angle(node.args[0], args[0], scope)
            cosine = self.put(INVERSE, self.put(COSINE, at, None, mixed), None, mixed)
            return self.put(PRODUCT2, self.put(SINE, at, None, mixed), cosine, mixed)
        if op is SOLVE:
            return self.block(node, scope)[0]
        if op is AT:
            solve, body = node.args
            return self.all_slots([body], self.block(solve, scope)[1])[0]
        return self.function(node, args)

    def number(self, value: Any) -> tuple[int, int]:
        flag = EXACT
        if digits(value) > DIGITS:
            self.tape.floats.add(value)
            flag = ROUNDED
        try:
            return residue(int(value) if value.__class__ is bool else value), flag
        except (NoValue, ValueError, OverflowError):  # infinite, not a number, or the prime divides its denominator
            self.tape.refusal = f"the constant {value} has no value in the field"
            return 0, ROUNDED

    # -- powers and functions

    def power(self, base: int, exponent: Any) -> int:
        mixed = self.tape.flags[base]
        if exponent.__class__ is float:
            self.tape.unknown.add("pow")
            return self.put(FUNCTION, (base,), ("pow", repr(exponent)), mixed | UNSURE)
        whole, degree = exponent, 1
        if exponent.__class__ is Fraction:
            whole, degree = exponent.numerator // exponent.denominator, exponent.denominator
        parts = []
        if degree > 1:
            self.tape.nested |= bool(mixed & ROOTED)
            mixed |= UNSURE | ROOTED
            self.tape.unknown.add("sqrt" if degree == 2 else f"root of degree {degree}")
            one = self.put(ROOT, base, degree, mixed)
            parts.append(self.whole_power(one, exponent.numerator % degree, mixed))
        if whole:
            parts.append(self.whole_power(base, whole, self.tape.flags[base]))
        return parts[0] if len(parts) == 1 else self.put(PRODUCT2, parts[0], parts[1], mixed)

    def whole_power(self, base: int, exponent: int, mixed: int) -> int:
        if exponent < 0:
            base, exponent = self.put(INVERSE, base, None, mixed), -exponent
        if exponent == 1:
            return base
        return self.put(PRODUCT2, base, base, mixed) if exponent == 2 else self.put(POWER, base, exponent, mixed)

    def function(self, node: Node, args: list[int]) -> int:
        op, flags = node.op, UNSURE
        for a in args:
            flags |= self.tape.flags[a]
        self.tape.unknown.add(str(node.data.name) if op is EXTERN else op)
        if op is TABLE:
            return self.put(FUNCTION, tuple(args), ("table", node.data), flags)
        if op is EXTERN:
            if self.tape.externals.setdefault(node.data.name, node.data) is not node.data:
                self.tape.refusal = f"two external functions have the name {node.data.name!r}"
            return self.put(FUNCTION, tuple(args), ("extern", node.data.name), flags)
        if op is RESULT:
            return self.put(FUNCTION, tuple(args), ("result", node.data), flags)
        if op in ("lt", "le", "eq", "ne"):
            return self.comparison(op, args[0], args[1], flags)
        if op in ("and", "or", "not", "select"):
            truths = [self.truth(n, a, flags) for n, a in zip(node.args, args)]
            return self.choice(op, truths, args, flags)
        if op in ("min", "max"):
            return self.extreme(op, args[0], args[1], flags)
        if op == "abs":
            return self.size(args[0], flags)
        parity = row_of(op).parity
        if parity:
            return self.put(EVEN_FUNCTION if parity == "even" else ODD_FUNCTION, args[0], (op,), flags)
        return self.put(FUNCTION, tuple(args), (op,), flags)

    def size(self, a: int, flags: int) -> int:
        """|a|, which is the root of a^2."""
        self.tape.nested |= bool(flags & ROOTED)
        return self.put(ROOT, self.put(PRODUCT2, a, a, flags), 2, flags | ROOTED)

    def minus(self, a: int, b: int, flags: int) -> int:
        return self.put(SUM2, a, self.put(NEGATIVE, b, None, flags), flags)

    def one_minus(self, a: int, flags: int) -> int:
        self.tape.numbers[len(self.tape.flags)] = 1
        return self.minus(self.put(NUMBER, 1, None, EXACT), a, flags)

    def comparison(self, op: str, a: int, b: int, flags: int) -> int:
        if op == "lt":
            return self.put(FUNCTION, (self.minus(b, a, flags),), ("lt",), flags)
        if op == "le":
            return self.one_minus(self.put(FUNCTION, (self.minus(a, b, flags),), ("lt",), flags), flags)
        equal = self.put(EVEN_FUNCTION, self.minus(a, b, flags), ("eq",), flags)
        return equal if op == "eq" else self.one_minus(equal, flags)

    def truth(self, node: Node, slot: int, flags: int) -> int:
        """1 where a value is not zero: the value itself, if it is 1 or 0."""
        if is_truth(node.op) or (node.op is CONST and node.data.__class__ is bool):
            return slot
        return self.one_minus(self.put(EVEN_FUNCTION, slot, ("eq",), flags), flags)

    def choice(self, op: str, truths: list[int], args: list[int], flags: int) -> int:
        first = truths[0]
        if op == "not":
            return self.one_minus(first, flags)
        if op == "select":  # b + T (a - b)
            step = self.put(PRODUCT2, first, self.minus(args[1], args[2], flags), flags)
            return self.put(SUM2, args[2], step, flags)
        both = self.put(PRODUCT2, first, truths[1], flags)
        return both if op == "and" else self.minus(self.put(SUM2, first, truths[1], flags), both, flags)

    def extreme(self, op: str, a: int, b: int, flags: int) -> int:
        apart = self.size(self.minus(a, b, flags), flags)
        apart = apart if op == "max" else self.put(NEGATIVE, apart, None, flags)
        total = self.put(SUM, [a, b, apart], None, flags)
        self.tape.numbers[len(self.tape.flags)] = Fraction(1, 2)
        return self.put(SCALED, total, residue(Fraction(1, 2)), flags)

    # -- angles

    def angle(self, node: Node, slot: int, scope: _SlotScope) -> tuple[int, None, int]:
        """(slot of the point of an angle, None, flags): a sum of multiples of bases is a product of powers."""
        form = self.form(node, slot, scope)
        terms = []
        mixed = self.tape.flags[slot]
        for base, factor in form.items():
            if base[0] == "value" and self.tape.steps[base[1]][0] != ARGUMENT:
                # neither an argument nor a number: an angle that is known by its value alone
                mixed |= UNSURE
                self.tape.unknown.add("sines and cosines of angles that are no sums of multiples of arguments")
            halvings = (factor.denominator & -factor.denominator).bit_length() - 1
            odd = factor.denominator >> halvings
            self.tape.halvings[base] = max(self.tape.halvings.get(base, 0), halvings)
            known = self.tape.odd.get(base, 1)
            self.tape.odd[base] = known if known % odd == 0 else known * odd
            terms.append((base, factor, halvings))
        key = frozenset(terms)
        found = self.angles.get(key)
        if found is None:
            found = self.angles[key] = self.put(ANGLE, tuple(terms), None, mixed)
        return found, None, self.tape.flags[found]

    def form(self, node: Node, slot: int, scope: _SlotScope) -> Form:
        """The angle as a sum of factors times bases: arguments, the number 1, and values that are no sums."""
        out: Form = {}
        if self.tape.refusal:  # a constant that is no number
            return out
        stack: list[tuple[Node, Fraction, _SlotScope]] = [(node, Fraction(1), scope)]
        while stack:
            x, factor, scope = stack.pop()
            while x.op is SCALE or x.op is ALIAS or x.op is AT:
                if x.op is SCALE:
                    factor *= Fraction(decimal(coefficient(x)))
                if x.op is AT:  # a sum of unknowns of a block is a sum, too
                    scope = self.block(x.args[0], scope)[1]
                x = x.args[x.op is AT]
            if x.op is ADD:
                stack.extend((t, factor, scope) for t in x.args)
                continue
            base: Any = ("value", self.home(x, scope).slots[x])
            if x.op is CONST:
                base, factor = ("one",), factor * Fraction(decimal(x.data))
            elif x.op is SYMBOL and x not in scope.unknowns:
                base = ("argument", self.keys[x])
            out[base] = out.get(base, Fraction(0)) + factor
        out = {b: f for b, f in out.items() if f}
        if any(f.denominator & ((1 << FINEST + 1) - 1) == 0 for f in out.values()):
            return {("value", slot): Fraction(1)}
        return out

    # -- implicit blocks

    def block(self, node: Node, scope: _SlotScope) -> tuple[int, _SlotScope]:
        """(slot that stands for a block, scope in which its unknowns have their solution)."""
        scope = self.home(node, scope)
        key = (scope, node)
        if key in self.blocks:
            return self.blocks[key]
        self.tape.unknown.add("solutions of implicit blocks")
        info, n = node.data, len(node.data.unknowns)
        guess = self.all_slots(list(node.args[n : 2 * n]), scope)
        symbols = {
            u: self.put(ARGUMENT, (f"unknown of depth {scope.depth}", k), None, EXACT)
            for k, u in enumerate(info.unknowns)
        }
        inside = _SlotScope({**scope.unknowns, **symbols}, scope.depth + 1)
        formulas = self.all_slots([*node.args[:n], *node.args[2 * n :]], inside)
        flags = UNSURE
        for a in (*guess, *formulas):
            flags |= self.tape.flags[a]
        slot = self.put(FUNCTION, (*guess, *formulas), ("solve", n), flags)
        solution = {u: self.put(FUNCTION, (slot,), ("solution", k), flags) for k, u in enumerate(info.unknowns)}
        self.blocks[key] = slot, _SlotScope({**scope.unknowns, **solution}, scope.depth)
        return self.blocks[key]
