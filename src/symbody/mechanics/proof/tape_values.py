"""The steps of a FieldTape carried out at one point: residues of all output entries."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from symbody.mechanics.proof.field_tape import (
    ANGLE,
    ARGUMENT,
    COSINE,
    FUNCTION,
    INVERSE,
    NEGATIVE,
    NUMBER,
    ODD_FUNCTION,
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
from symbody.mechanics.proof.points import RandomPoint
from symbody.mechanics.proof.prime_field import ORDER, RIGHT, Circle, P, draw, inverse, multiple, root, turned


def values_at(tape: FieldTape, point: RandomPoint, roots: bool = False) -> list[int]:
    """Residues of the outputs at a point; NoValue where a divisor is zero there or, with `roots`, a root is missing.

    roots: whether square roots are taken in the field; otherwise they are unknown functions, too.
    """
    v = slots_at(tape, point, roots)
    return [v[k] % P for k in tape.roots]


def radicands_at(tape: FieldTape, point: RandomPoint) -> list[int]:
    """What square roots are taken of, roots being unknown functions."""
    v = slots_at(tape, point, False)
    return [v[a] % P for kind, a, b in tape.steps if kind == ROOT and b == 2]


def slots_at(tape: FieldTape, point: RandomPoint, roots: bool) -> list[Any]:
    """Residues of all slots; points of the circle for angles."""
    v: list[Any] = []
    push = v.append
    for kind, a, b in tape.steps:
        if kind == PRODUCT2:
            push(v[a] * v[b] % P)
        elif kind == SUM2:
            push((v[a] + v[b]) % P)
        elif kind == NEGATIVE:
            push(P - v[a])
        elif kind == SCALED:
            push(v[a] * b % P)
        elif kind == SUM:
            push(sum([v[k] for k in a]) % P)
        elif kind == PRODUCT:
            total = 1
            for k in a:
                total = total * v[k] % P
            push(total)
        elif kind == ARGUMENT:
            push(point.value(a))
        elif kind == NUMBER:
            push(a)
        elif kind == SINE:
            push(v[a][1])
        elif kind == COSINE:
            push(v[a][0])
        elif kind == ANGLE:
            push(_angle(a, v, point))
        elif kind == INVERSE:
            push(inverse(v[a]))
        elif kind == POWER:
            push(pow(v[a], b, P))
        elif kind == ROOT:
            x = v[a] % P
            if x <= 1:  # a radicand that is 0 or 1 at a random point is that number
                push(x)
            else:
                push(_signed_root(x, point) if roots and b == 2 else draw(point.seed, "root", b, x))
        elif kind == FUNCTION:
            push(draw(point.seed, b, tuple([v[k] % P for k in a])))
        else:
            x = v[a] % P
            size = min(x, P - x)
            found = draw(point.seed, b, size)
            push(P - found if kind == ODD_FUNCTION and x != size else found)
    return v


def _signed_root(x: int, point: RandomPoint) -> int:
    """A root whose sign is an unknown function of x: the field does not know which one is positive."""
    found = root(x)
    return P - found if draw(point.seed, "sign of a root", x) & 1 else found


def _angle(terms: tuple[tuple[Any, Fraction, int], ...], v: list[Any], point: RandomPoint) -> Circle:
    out = RIGHT
    for base, factor, halvings in terms:
        sign = 1
        if base[0] == "value":
            x = v[base[1]] % P
            size = min(x, P - x)
            sign = 1 if x == size else -1
            base = ("value", size)
        if factor == 1 or factor == -1:
            one = point.angle(base)
            if factor * sign < 0:
                one = (one[0], P - one[1])
        else:
            odd = factor.denominator >> halvings
            times = sign * factor.numerator * pow(odd, -1, ORDER) << (point.halvings(base) - halvings)
            one = multiple(point.part(base), times)
        out = one if out is RIGHT else turned(out, one)
    return out
