"""Rigid motions as sparse matrices: on the ten inertial parameters, on functionals of them, and on twists.

Entries are Terms of `row_echelon.py`. Parameters are [m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] about the origin of
a frame, in its axes; a twist has its angular part in 0..2 and its linear part in 3..5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symbody.mechanics.formalisms.regressor import TENSOR
from symbody.mechanics.formalisms.row_echelon import ONE, ZERO, Row, ValuedTerm, add_to, combination
from symbody.mechanics.formalisms.vec3 import OTHERS

SLOT = {(i, k): 4 + n for n, entry in enumerate(TENSOR) for i, k in (entry, entry[::-1])}

Vector = tuple[ValuedTerm, ValuedTerm, ValuedTerm]
Twist = dict[int, ValuedTerm]
Matrix = dict[int, Row]


def transport(rotation: Sequence[Vector], p: Vector) -> Matrix:
    """(10, 10) rows by new parameter: those of a body in a frame seen from another; p leads to the body's origin."""
    out: Matrix = {0: {0: ONE}}
    turned: list[Row] = []  # the first moment in new axes
    for a in range(3):
        turned.append({1 + i: x for i, x in enumerate(rotation[a]) if x.value})
        out[1 + a] = combination([(ONE, turned[a]), (p[a], {0: ONE})])
    for a, b in TENSOR:
        row: Row = {}
        for i in range(3):
            for k in range(3):
                add_to(row, SLOT[i, k], rotation[a][i] * rotation[b][k])
        if a == b:
            for c in OTHERS[a]:
                twice = p[c] + p[c]
                row = combination([(ONE, row), (twice, turned[c]), (p[c] * p[c], {0: ONE})])
        else:
            row = combination([(ONE, row), (-p[a], turned[b]), (-p[b], turned[a]), (-(p[a] * p[b]), {0: ONE})])
        out[SLOT[a, b]] = row
    return out


def rate(s: Twist) -> Matrix:
    """(10, 10) rows by parameter: rate of the parameters of a body that moves by the twist s, in axes at rest."""
    w, v = halves(s)
    out: Matrix = {}
    moments = [cross_row(w, a) for a in range(3)]
    for a in range(3):
        out[1 + a] = combination([(ONE, {1 + k: x for k, x in moments[a].items()}), (v[a], {0: ONE})])
    for a, b in TENSOR:
        row: Row = {}
        for k, x in moments[a].items():
            add_to(row, SLOT[k, b], x)
        for k, x in moments[b].items():
            add_to(row, SLOT[a, k], x)
        if a == b:
            for c in OTHERS[a]:
                add_to(row, 1 + c, v[c] + v[c])
        else:
            add_to(row, 1 + b, -v[a])
            add_to(row, 1 + a, -v[b])
        out[SLOT[a, b]] = row
    return out


def energy(first: Twist, second: Twist) -> Row:
    """The functional pi -> first . I second, twice the kinetic energy where both are one twist."""
    (w1, v1), (w2, v2) = halves(first), halves(second)
    row: Row = {}
    for k in range(3):
        add_to(row, 0, v1[k] * v2[k])
        a, b = OTHERS[k]
        for v, w in ((v1, w2), (v2, w1)):
            add_to(row, 1 + k, v[a] * w[b] - v[b] * w[a])
    for i in range(3):
        for k in range(3):
            add_to(row, SLOT[i, k], w1[i] * w2[k])
    return row


def bracket(s: Twist) -> Matrix:
    """(6, 6) as rows that act from the right: twist w -> s x w, of motions."""
    ws, vs = halves(s)
    out: Matrix = {k: {} for k in range(6)}
    for a in range(3):
        for k, x in cross_row(ws, a).items():
            add_to(out[k], a, x)
            add_to(out[3 + k], 3 + a, x)
        for k, x in cross_row(vs, a).items():
            add_to(out[k], 3 + a, x)
    return out


def to_child(rotation: Sequence[Vector], p: Vector, twist: Twist) -> Twist:
    """A twist of the parent in the child's frame."""
    w, v = halves(twist)
    moved = [v[a] + w[b] * p[c] - w[c] * p[b] for a, (b, c) in enumerate(OTHERS)]
    back = transposed(rotation)
    parts = (*apply(back, w), *apply(back, (moved[0], moved[1], moved[2])))
    return {k: x for k, x in enumerate(parts) if x.value}


def halves(twist: Twist) -> tuple[Vector, Vector]:
    x = [twist.get(k, ZERO) for k in range(6)]
    return (x[0], x[1], x[2]), (x[3], x[4], x[5])


def cross_row(w: Vector, a: int) -> Row:
    """Row a of the matrix of w x."""
    b, c = OTHERS[a]
    return {k: x for k, x in ((c, w[b]), (b, -w[c])) if x.value}


def pair(row: Mapping[int, ValuedTerm], vector: Mapping[int, ValuedTerm]) -> ValuedTerm:
    total = ZERO
    for k, x in row.items():
        if k in vector:
            total = total + x * vector[k]
    return total


def transposed(m: Sequence[Vector]) -> list[Vector]:
    return [(m[0][k], m[1][k], m[2][k]) for k in range(3)]


def apply(m: Sequence[Vector], v: Vector) -> Vector:
    x = [row[0] * v[0] + row[1] * v[1] + row[2] * v[2] for row in m]
    return (x[0], x[1], x[2])


def product(a: Sequence[Vector], b: Sequence[Vector]) -> list[Vector]:
    return transposed([apply(a, column) for column in transposed(b)])
