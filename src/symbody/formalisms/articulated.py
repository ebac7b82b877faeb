"""Articulated-body inertia: what a wrench must overcome at a Link whose outer joints are free (Featherstone 2008, 7).

    moment = J wd + B a + ...        force = B^T wd + M a + ...

J and M are symmetric. Blocks stand in one frame, about its origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.expr.arrays import is_zero, reciprocal
from symbody.expr.linear_algebra import Symmetric, ldlt, solve_ldlt
from symbody.formalisms import triples as t3
from symbody.formalisms.poses import Pose
from symbody.formalisms.tree import Link
from symbody.formalisms.triples import Mat, Vec
from symbody.spatial.inertia import Inertia


@dataclass(slots=True)
class Articulated:
    """Blocks J, B, M and the wrench (moment, force) at zero acceleration."""

    j: Mat
    b: Mat
    m: Mat
    moment: Vec
    force: Vec


@dataclass(slots=True)
class Pivot:
    """What the outward sweep needs of an eliminated joint.

    One velocity: acceleration = (drive - moment_row . wd - force_row . a) * inverse. Several: by `solve`.
    """

    moment_row: Vec = t3.ZERO
    force_row: Vec = t3.ZERO
    drive: Any = 0
    inverse: Any = 0
    factors: Symmetric | None = None
    solved: Any = None
    columns: Any = None


def rigid(inertia: Inertia, moment: Vec, force: Vec) -> Articulated:
    """Of a body alone."""
    m = inertia.mass
    return Articulated(
        t3.tensor(inertia.tensor), t3.skew(t3.triple(inertia.moment)), ((m, 0, 0), (0, m, 0), (0, 0, m)), moment, force
    )


def add(x: Articulated, y: Articulated) -> Articulated:
    return Articulated(
        t3.add_symmetric(x.j, y.j), t3.add_tensors(x.b, y.b), t3.add_symmetric(x.m, y.m),
        t3.add(x.moment, y.moment), t3.add(x.force, y.force),
    )  # fmt: skip


def to_stem(x: Articulated, pose: Pose) -> Articulated:
    """From Link axes to stem axes."""
    return Articulated(
        pose.tensor_to_stem(x.j), pose.tensor_to_stem(x.b, False), pose.tensor_to_stem(x.m),
        pose.to_stem(x.moment), pose.to_stem(x.force),
    )  # fmt: skip


def to_parent(x: Articulated, pose: Pose) -> Articulated:
    """From stem axes to parent axes, about the same origin."""
    return Articulated(
        pose.tensor_to_parent(x.j), pose.tensor_to_parent(x.b, False), pose.tensor_to_parent(x.m),
        pose.stem_to_parent(x.moment), pose.stem_to_parent(x.force),
    )  # fmt: skip


def shifted(x: Articulated, p: Vec) -> Articulated:
    """About another origin; p leads from it to the present one: B' = B + p~ M, J' = J + p~ B^T - B' p~."""
    if t3.no_motion(p):
        return x
    columns = tuple(t3.cross(p, c) for c in t3.transposed(x.m))  # of p~ M
    b = t3.add_tensors(x.b, t3.transposed(columns))  # type: ignore[arg-type]
    left = tuple(t3.cross(p, row) for row in x.b)  # columns of p~ B^T
    right = tuple(t3.cross(p, row) for row in b)  # rows of -B' p~
    j = t3.from_upper(lambda i, k: t3.plus(x.j[i][k], t3.plus(left[k][i], right[i][k])))
    return Articulated(j, b, x.m, t3.add(x.moment, t3.cross(p, x.force)), x.force)


def carried(x: Articulated, wd: Vec, a: Vec) -> Articulated:
    """With the wrench at the acceleration (wd, a) instead of none."""
    if t3.no_motion(wd) and t3.no_motion(a):
        return x
    moment = t3.add(x.moment, t3.add(t3.apply(x.j, wd), t3.apply(x.b, a)))
    force = t3.add(x.force, t3.add(t3.apply_transposed(x.b, wd), t3.apply(x.m, a)))
    return Articulated(x.j, x.b, x.m, moment, force)


# -- elimination of a joint


def eliminate(link: Link, x: Articulated, effort: Any, wd: Vec, a: Vec, last: bool) -> tuple[Articulated, Pivot]:
    """(the body as felt through the joint, the pivot); `effort` drives the joint, (wd, a) are velocity products.

    last: nothing is felt further down, only the pivot is wanted.
    """
    if link.kind == "B":
        return _eliminate_ball(x, effort, a)
    if link.kind == "F":
        return _eliminate_free(x, effort)
    k = link.axis
    pitch = 0 if link.kind == "R" else link.pitch if link.kind == "H" else 1
    row_n: Vec = x.j[k] if link.kind in "RH" else t3.ZERO
    row_f: Vec = x.b[k] if link.kind in "RH" else t3.ZERO
    if link.kind in "TH":
        row_n = t3.add(row_n, t3.scaled(pitch, (x.b[0][k], x.b[1][k], x.b[2][k])))
        row_f = t3.add(row_f, t3.scaled(pitch, x.m[k]))
    turning, sliding = (1 if link.kind in "RH" else 0), pitch
    pivot = t3.plus(t3.plus(t3.times(turning, row_n[k]), t3.times(sliding, row_f[k])), link.reflected)
    felt = t3.plus(t3.times(turning, x.moment[k]), t3.times(sliding, x.force[k]))
    drive = t3.minus(effort, felt)
    inverse = reciprocal(pivot)
    out = Pivot(row_n, row_f, drive, inverse)
    if last:
        return x, out
    by_n, by_f = t3.scaled(inverse, row_n), t3.scaled(inverse, row_f)
    exact = is_zero(link.reflected)  # then rows along the axis vanish, and the effort passes as it is
    gone_n, gone_f = exact and link.kind == "R", exact and link.kind == "T"

    def j(i: int, h: int) -> Any:
        return 0 if gone_n and k in (i, h) else t3.minus(x.j[i][h], t3.times(by_n[i], row_n[h]))

    def m(i: int, h: int) -> Any:
        return 0 if gone_f and k in (i, h) else t3.minus(x.m[i][h], t3.times(by_f[i], row_f[h]))

    def b(i: int, h: int) -> Any:
        empty = (gone_n and i == k) or (gone_f and h == k)
        return 0 if empty else t3.minus(x.b[i][h], t3.times(by_n[i], row_f[h]))

    rest = Articulated(
        t3.from_upper(j), t3.tensor([[b(i, h) for h in range(3)] for i in range(3)]), t3.from_upper(m),
        t3.add(x.moment, t3.scaled(drive, by_n)), t3.add(x.force, t3.scaled(drive, by_f)),
    )  # fmt: skip
    rest = carried(rest, wd, a)
    if gone_n:
        rest.moment = _with(rest.moment, k, effort)
    if gone_f:
        rest.force = _with(rest.force, k, effort)
    return rest, out


def _with(v: Vec, k: int, value: Any) -> Vec:
    return t3.triple([value if i == k else v[i] for i in range(3)])


def _eliminate_ball(x: Articulated, effort: Any, a: Vec) -> tuple[Articulated, Pivot]:
    """Three rotations at once: a 3 x 3 solve; no moment but the effort passes."""
    factors = ldlt(np.array(x.j, dtype=object), order="from_last")
    drive = np.array([t3.minus(e, n) for e, n in zip(effort, x.moment)], dtype=object)
    solved = solve_ldlt(factors, drive)
    columns = solve_ldlt(factors, np.array(x.b, dtype=object))  # J^-1 B
    bt = t3.transposed(x.b)
    rows = t3.tensor(columns)
    m = t3.from_upper(lambda i, k: t3.minus(x.m[i][k], t3.dot(bt[i], (rows[0][k], rows[1][k], rows[2][k]))))
    force = t3.add(x.force, t3.apply(bt, t3.triple(solved)))
    rest = carried(Articulated(t3.NOTHING, t3.NOTHING, m, t3.triple(effort), force), t3.ZERO, a)
    return rest, Pivot(factors=factors, solved=solved, columns=rows)


def _eliminate_free(x: Articulated, effort: Any) -> tuple[Articulated, Pivot]:
    """All motions at once: a 6 x 6 solve; nothing but the effort passes."""
    h = np.empty((6, 6), dtype=object)
    h[:3, :3], h[:3, 3:], h[3:, 3:] = x.j, x.b, x.m
    h[3:, :3] = h[:3, 3:].T
    drive = np.array([t3.minus(e, p) for e, p in zip(effort, (*x.moment, *x.force))], dtype=object)
    solved = solve_ldlt(h, drive, order="from_last")
    rest = Articulated(t3.NOTHING, t3.NOTHING, t3.NOTHING, t3.triple(effort[:3]), t3.triple(effort[3:]))
    return rest, Pivot(solved=solved)


def acceleration(link: Link, pivot: Pivot, wd: Vec, a: Vec) -> Any:
    """Of the joint, from the acceleration (wd, a) that its Link would have without it."""
    if link.kind == "B":
        less = t3.add(t3.apply(pivot.columns, a), wd)
        return tuple(t3.minus(x, y) for x, y in zip(pivot.solved, less))
    if link.kind == "F":
        return tuple(t3.minus(x, y) for x, y in zip(pivot.solved, (*wd, *a)))
    felt = t3.plus(t3.dot(pivot.moment_row, wd), t3.dot(pivot.force_row, a))
    return t3.times(t3.minus(pivot.drive, felt), pivot.inverse)
