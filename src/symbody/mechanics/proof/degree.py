"""Bounds on degrees: how many points of the field can be zeros of a formula that is not zero.

A value is written N D1^e1 D2^e2 ..., where N is a polynomial in the parameters of a random point and D1, D2, ... are
polynomials that were divided by. Products add exponents, so that what is divided and multiplied again cancels; a sum
takes the smallest exponents outside. Coordinates of circles and quaternions count 2: they are quotients of quadratic
polynomials in the parameters of their points (over denominators that all terms share).
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
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
    SCALED,
    SINE,
    SUM,
    SUM2,
    FieldTape,
)
from symbody.mechanics.proof.prime_field import BITS

HUGE = 1 << BITS  # a degree at which the field says nothing
Powers = dict[int, int]  # number of a polynomial that was divided by -> exponent
NONE: Powers = {}


class Degrees:
    """Bounds on the degrees of all outputs of a FieldTape.

    numerator     largest degree of N over the outputs
    denominator   sum of the degrees of what was divided by, with the largest exponents that the outputs show
    functions     how many unknown functions there are
    arguments     sum of the degrees of their arguments
    """

    def __init__(self, tape: FieldTape, fine: dict[Any, int]) -> None:
        """fine: base of an angle -> number of parts in which it is counted."""
        self.tape, self.fine = tape, fine
        self.divisors: list[int] = []  # degrees of D1, D2, ...
        self.functions = self.arguments = 0
        n, powers = self._walk()
        self.numerator, self.denominator = 0, 0
        common: Powers = {}
        for k in tape.roots:
            self.numerator = max(self.numerator, min(n[k] + self._size(powers[k], 1), HUGE))
            for d, e in powers[k].items():
                common[d] = min(common.get(d, 0), e)
        self.denominator = min(self._size(common, -1), HUGE)

    def _size(self, powers: Powers, sign: int) -> int:
        """Degree of the factors with exponents of this sign."""
        return sum(abs(e) * self.divisors[d] for d, e in powers.items() if e * sign > 0)

    def _walk(self) -> tuple[list[int], list[Powers]]:
        n: list[int] = []
        powers: list[Powers] = []
        for kind, a, b in self.tape.steps:
            degree, outside = 0, NONE
            if kind == PRODUCT2:
                degree = n[a] + n[b]
                outside = _times(powers[a], powers[b])
            elif kind == SUM2:
                if powers[a] or powers[b]:
                    degree, outside = self._sum([(n[a], powers[a]), (n[b], powers[b])])
                else:
                    degree = max(n[a], n[b])
            elif kind in (NEGATIVE, SCALED):
                degree, outside = n[a], powers[a]
            elif kind == SUM:
                degree, outside = self._sum([(n[k], powers[k]) for k in a])
            elif kind == PRODUCT:
                for k in a:
                    degree, outside = degree + n[k], _times(outside, powers[k])
            elif kind == ARGUMENT:
                degree = 2  # at most: of a coordinate of a circle or quaternion
            elif kind == NUMBER:
                pass
            elif kind in (SINE, COSINE):
                degree = n[a]
            elif kind == ANGLE:
                degree = 2 * sum(self._parts(base, abs(factor)) for base, factor, _ in a)
            elif kind == INVERSE:
                outside = {d: -e for d, e in powers[a].items()}
                if n[a]:
                    outside[len(self.divisors)] = -1
                    self.divisors.append(n[a])
            elif kind == POWER:
                degree, outside = b * n[a], {d: b * e for d, e in powers[a].items()}
            else:  # an unknown function: a new argument, and the chance that two of its arguments meet
                reads = a if isinstance(a, tuple) else (a,)
                degree = 2
                self.functions += 1
                self.arguments += sum(n[k] + self._size(powers[k], 1) + self._size(powers[k], -1) for k in reads)
            n.append(degree if degree < HUGE else HUGE)
            powers.append(outside)
        return n, powers

    def _parts(self, base: Any, factor: Fraction) -> int:
        """Degree of a multiple of an angle, in the finest part of it."""
        if base[0] == "value":
            self.functions += 1
            return int(factor * self.fine.get("value", 1))
        return int(factor * self.fine.get(base, 1))

    def _sum(self, terms: list[tuple[int, Powers]]) -> tuple[int, Powers]:
        first = terms[0][1]
        if all(p is first or p == first for _, p in terms):
            return max(n for n, _ in terms), first
        least: Powers = {}
        for d in {d for _, p in terms for d in p}:
            e = min(p.get(d, 0) for _, p in terms)
            if e:
                least[d] = e
        divisors = self.divisors
        sizes = [n + sum([e * divisors[d] for d, e in p.items()]) for n, p in terms]
        return max(sizes) - sum([e * divisors[d] for d, e in least.items()]), least


def _times(a: Powers, b: Powers) -> Powers:
    if not a or not b:
        return a or b
    out = dict(a)
    for d, e in b.items():
        total = out.get(d, 0) + e
        if total:
            out[d] = total
        else:
            del out[d]
    return out


def difference_degree(a: Degrees, b: Degrees) -> int:
    """Bound on the degree of what is zero where two Tapes agree though they differ, or arguments of functions meet."""
    entries = max(a.numerator + b.denominator, b.numerator + a.denominator)
    return entries + (a.functions + b.functions) * (a.arguments + b.arguments)


def fineness(tapes: list[FieldTape]) -> tuple[dict[Any, int], dict[Any, int]]:
    """(halvings, parts) of the bases of angles, of all Tapes; angles known by their values share one count."""
    halved: dict[Any, int] = {}
    odd: dict[Any, int] = {}
    for tape in tapes:
        for base, h in tape.halvings.items():
            name = "value" if base[0] == "value" else base
            halved[name] = max(halved.get(name, 0), h)
            odd[name] = lcm(odd.get(name, 1), tape.odd[base])
    parts = {name: odd[name] << h for name, h in halved.items()}
    return {name: h for name, h in halved.items() if h}, {name: n for name, n in parts.items() if n > 1}
