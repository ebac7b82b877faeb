"""What rounding of constants does to a System: its outputs in decimals of many digits, against those of another one.

Constants that are folded in floats carry errors of a few 1e-16, which no exact comparison forgives. Their effect is
measured here without any other rounding: both Systems are evaluated with 40 digits at the same random states, with the
doubles as they are in the one and the exact numbers in the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal, InvalidOperation, getcontext, localcontext
from fractions import Fraction
from typing import Any

from symbody.mechanics.proof.field_tape import (
    ANGLE,
    ARGUMENT,
    COSINE,
    INVERSE,
    NEGATIVE,
    NUMBER,
    POWER,
    PRODUCT,
    PRODUCT2,
    ROOT,
    SCALED,
    SINE,
    SUM,
    SUM2,
    FieldTape,
)
from symbody.mechanics.proof.points import Key, Relations
from symbody.mechanics.proof.prime_field import P, draw
from symbody.symbolic.expr.function_row import FUNCTIONS

DIGITS = 40
ZERO, ONE = Decimal(0), Decimal(1)

# comparisons of a FieldTape are functions of one difference
COMPARED: dict[str, Callable[[Decimal], Decimal]] = {
    "lt": lambda x: ONE if x > 0 else ZERO,
    "eq": lambda x: ONE if x == 0 else ZERO,
}


class NoNumber(ArithmeticError):
    """A step has no meaning in decimals: an external function, an implicit block, a root of a negative number."""


class RandomState:
    """Random numbers for the arguments: in [-1, 1], parameters at their defaults, relations kept."""

    def __init__(self, seed: Any, relations: Relations, defaults: dict[Key, float]) -> None:
        self.seed = seed
        self.values: dict[Key, Decimal] = {}
        for group in relations.circles:
            self._unit(group)
        for group4 in relations.quaternions:
            self._unit(group4)
        for nine in relations.rotations:
            four = [self._draw((nine[0], k)) for k in range(4)]
            self.values.update(zip(nine, _rotation([x / _length(four) for x in four]), strict=True))
        # rotations whose entries have defaults keep the angles drawn: defaults are rounded, not orthonormal
        taken = set(self.values)
        self.values.update({k: Decimal(repr(x)) for k, x in defaults.items() if k not in taken})

    def _draw(self, key: Any) -> Decimal:
        return Decimal(draw(self.seed, "state", key)) / (P // 2) - 1

    def _unit(self, keys: tuple[Key, ...]) -> None:
        entries = [self._draw(k) for k in keys]
        self.values.update({k: x / _length(entries) for k, x in zip(keys, entries)})

    def value(self, key: Key) -> Decimal:
        if key not in self.values:
            self.values[key] = self._draw(key)
        return self.values[key]


def _length(entries: list[Decimal]) -> Decimal:
    return sum((x * x for x in entries), ZERO).sqrt()


def _rotation(quaternion: list[Decimal]) -> list[Decimal]:
    w, x, y, z = quaternion
    return [
        1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
        2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
        2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip


def deviation(
    a: FieldTape, b: FieldTape, sizes: list[int], relations: Relations, defaults: dict[Key, float], states: int = 2
) -> float | None:
    """Largest difference of the outputs, relative to the largest entry of the same output; None if there is no number.

    sizes: number of entries of each output
    """
    worst = ZERO
    with localcontext(Context(prec=DIGITS)):
        for k in range(states):
            try:
                state = RandomState(k, relations, defaults)
                x, y = (numbers_at(tape, state) for tape in (a, b))
            except (NoNumber, InvalidOperation, ZeroDivisionError, OverflowError, ValueError):
                return None
            at = 0
            for size in sizes:
                largest = max((abs(v) for v in y[at : at + size]), default=ZERO)
                apart = max((abs(u - v) for u, v in zip(x[at : at + size], y[at : at + size])), default=ZERO)
                worst = max(worst, apart / largest if largest else apart)
                at += size
    return float(worst)


def numbers_at(tape: FieldTape, state: RandomState) -> list[Decimal]:
    """Outputs of a FieldTape as decimals."""
    v: list[Any] = []
    push = v.append
    for kind, a, b in tape.steps:
        if kind == PRODUCT2:
            push(v[a] * v[b])
        elif kind == SUM2:
            push(v[a] + v[b])
        elif kind == NEGATIVE:
            push(-v[a])
        elif kind == SCALED:
            push(v[a] * _decimal(tape.numbers[len(v)]))
        elif kind == SUM:
            push(sum([v[k] for k in a], ZERO))
        elif kind == PRODUCT:
            push(math.prod([v[k] for k in a], start=ONE))
        elif kind == ARGUMENT:
            push(state.value(a))
        elif kind == NUMBER:
            push(_decimal(tape.numbers[len(v)]))
        elif kind == ANGLE:
            push(_circle(sum([_base(base, v, state) * _decimal(f) for base, f, _ in a], ZERO)))
        elif kind in (SINE, COSINE):
            push(v[a][kind == SINE])
        elif kind == INVERSE:
            push(1 / v[a])
        elif kind == POWER:
            push(v[a] ** b)
        elif kind == ROOT:
            push(v[a].sqrt() if b == 2 else v[a] ** (ONE / b))
        else:
            push(_function(b, [v[k] for k in (a if isinstance(a, tuple) else (a,))]))
    return [v[k] for k in tape.roots]


def _base(base: Any, v: list[Any], state: RandomState) -> Decimal:
    """The angle of a base, as the FieldTape names them."""
    if base[0] == "one":
        return ONE
    found: Decimal = v[base[1]] if base[0] == "value" else state.value(base[1])
    return found


def _function(name: tuple[Any, ...], args: list[Decimal]) -> Decimal:
    if name[0] == "pow" and len(name) == 2:
        return args[0] ** Decimal(name[1])
    if name[0] in COMPARED and len(name) == 1:
        return COMPARED[name[0]](*args)
    row = FUNCTIONS.get(name[0]) if len(name) == 1 else None
    if row is None:
        raise NoNumber(str(name[0]))
    if row.decimal is not None:
        return Decimal(row.decimal(*args))
    return Decimal(float(row.run(*map(float, args))))


def _decimal(value: Any) -> Decimal:
    if isinstance(value, Fraction):
        return Decimal(value.numerator) / Decimal(value.denominator)
    return Decimal(value)


def _circle(x: Decimal) -> tuple[Decimal, Decimal]:
    """Cosine and sine by their series, after the angle was halved until it is small."""
    halvings = max(0, math.frexp(float(x))[1] + 4)
    x = x / (1 << halvings)
    square, term, k = x * x, ONE, 0
    c, s = ZERO, ZERO
    while abs(term) > Decimal(10) ** -(getcontext().prec + 6):
        c += term
        s += term * x / (k + 1)
        term = -term * square / ((k + 1) * (k + 2))
        k += 2
    for _ in range(halvings):
        c, s = c * c - s * s, 2 * s * c
    return c, s
