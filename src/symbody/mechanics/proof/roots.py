"""Comparison with square roots taken in the field: r^2 = v for every root r of a value v.

The field does not know which of two roots is positive: its sign is drawn, as an unknown function of v. If
no product of radicands is a square (times a constant), the signs of all roots can be changed independently without
changing what the formulas know of each other, and an identity that holds for one choice of signs holds for all. If
radicands depend on each other in d ways, the choices fall into 2^d classes, one of which is that of the positive roots;
a point meets it with a chance of 2^-d, and more points are taken. d is bounded by the characters (whether they have a
root) of the radicands at random points: what is independent there is independent.
"""

from __future__ import annotations

import math
from typing import Any

from symbody.mechanics.proof.field_tape import FieldTape
from symbody.mechanics.proof.points import RandomPoint, Relations
from symbody.mechanics.proof.prime_field import NoValue, is_square
from symbody.mechanics.proof.tape_values import radicands_at, values_at

SPARE = 32  # points of characters beyond the number of radicands
MOST_RADICANDS = 8  # that are different: all have a root at one point of 2^8
MOST_CLASSES = 2  # ways in which radicands may depend on each other
CHANCE = 41  # bits


def equal_with_roots(
    a: FieldTape, b: FieldTape, degree: int, points: int, seed: int, relations: Relations, halved: dict[Any, int]
) -> int:
    """The number of points at which both Tapes agree, enough for a proof; 0 if they differ or it is not possible."""
    if a.nested or b.nested:
        return 0
    number, dependent = _dependence(a, b, seed, relations, halved)
    if number > MOST_RADICANDS or dependent > MOST_CLASSES:
        return 0
    if dependent:
        points = max(points, math.ceil(CHANCE / -math.log2(1 - 2.0**-dependent)))
    found = 0
    for attempt in range(4 * points << number):
        try:
            point = RandomPoint((seed, "roots", attempt), relations, halved=halved)
            x = values_at(a, point, roots=True)
            if x != values_at(b, point, roots=True):
                return 0
        except NoValue:  # some radicand has no root here
            continue
        found += 1
        if found == points:
            return found
    return 0


def _dependence(a: FieldTape, b: FieldTape, seed: int, relations: Relations, halved: dict[Any, int]) -> tuple[int, int]:
    """(number of different radicands, bound on the number of their dependences)."""
    rows: list[list[int]] = []
    for attempt in range(SPARE + MOST_RADICANDS):
        point = RandomPoint((seed, "characters", attempt), relations, halved=halved)
        try:
            rows.append(radicands_at(a, point) + radicands_at(b, point))
        except NoValue:
            continue
    columns = {column for column in zip(*rows) if max(column) > 1}  # 0 and 1 have roots without a choice
    # a constant factor has the same character everywhere: it is one more column
    vectors = [sum(is_square(x) << k for k, x in enumerate(column)) for column in columns]
    return len(columns), len(vectors) + 1 - _rank([*vectors, (1 << len(rows)) - 1])


def _rank(vectors: list[int]) -> int:
    """Rank over the field of two elements."""
    basis: list[int] = []
    for v in vectors:
        for b in basis:
            v = min(v, v ^ b)
        if v:
            basis.append(v)
    return len(basis)
