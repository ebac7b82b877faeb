"""Articulated-body inertia: what a wrench must overcome at a Link whose outer joints are free (Featherstone 2008, 7).

    moment = J wd + B a + ...        force = B^T wd + M a + ...

J and M are symmetric. Blocks stand in one frame, about its origin. Velocities that move several Links may wait to be
eliminated, see `Pending`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symbody.mechanics.formalisms.link_motion import Twist, axial_effort, joint_twists
from symbody.mechanics.formalisms.link_poses import LinkPose
from symbody.mechanics.formalisms.tree import Link
from symbody.mechanics.formalisms.vec3 import (
    NOTHING,
    ZERO,
    Mat,
    Vec,
    add_symmetric,
    axis_vector,
    columns_matrix,
    cross,
    dot,
    from_upper,
    is_null,
    mat,
    minus,
    plus,
    skew,
    sum_of,
    times,
    vec,
)
from symbody.mechanics.formalisms.waiting_velocities import NONE, Pending
from symbody.model.spatial.inertia import Inertia
from symbody.symbolic.expr.arrays import is_zero, reciprocal
from symbody.symbolic.expr.linear_algebra import ldlt, solve_ldlt


@dataclass(slots=True)
class Articulated:
    """Blocks J, B, M, the wrench (moment, force) at zero acceleration, and the velocities that wait."""

    j: Mat
    b: Mat
    m: Mat
    moment: Vec
    force: Vec
    pending: Pending = NONE


@dataclass(slots=True)
class EliminatedJoint:
    """What the outward sweep needs of an eliminated joint.

    One velocity: acceleration = (drive - moment_row . wd - force_row . a - sum_k couplings[k] x_k) * inverse, with the
    accelerations x_k of the velocities that waited. Joints of several velocities: solved, columns, waiting (D^-1 K_k).
    """

    moment_row: Vec = ZERO
    force_row: Vec = ZERO
    pivot: Any = 0
    drive: Any = 0
    solved: Any = None
    columns: Any = None
    couplings: Mapping[int, Any] = field(default_factory=dict)
    waiting: Mapping[int, Any] = field(default_factory=dict)

    @property
    def inverse(self) -> Any:
        """1 / own; an interned node, so that it is one division however often it is asked for."""
        return reciprocal(self.pivot)


def rigid(inertia: Inertia, moment: Vec, force: Vec) -> Articulated:
    """Articulated inertia of a body alone; moment (N m) and force (N): its wrench at zero acceleration, Link axes."""
    m = inertia.mass
    masses = Mat(axis_vector(k, m) for k in range(3))
    return Articulated(mat(inertia.tensor), skew(vec(inertia.moment)), masses, moment, force)


def add(x: Articulated, y: Articulated) -> Articulated:
    return Articulated(
        add_symmetric(x.j, y.j), x.b + y.b, add_symmetric(x.m, y.m),
        x.moment + y.moment, x.force + y.force, x.pending.merged(y.pending),
    )  # fmt: skip


def to_stem(x: Articulated, pose: LinkPose) -> Articulated:
    """From Link axes to stem axes."""
    return Articulated(
        pose.tensor_to_stem(x.j), pose.tensor_to_stem(x.b, False), pose.tensor_to_stem(x.m),
        pose.to_stem(x.moment), pose.to_stem(x.force), x.pending.turned(pose.to_stem),
    )  # fmt: skip


def to_parent(x: Articulated, pose: LinkPose) -> Articulated:
    """From stem axes to parent axes, about the same origin."""
    return Articulated(
        pose.tensor_to_parent(x.j), pose.tensor_to_parent(x.b, False), pose.tensor_to_parent(x.m),
        pose.stem_to_parent(x.moment), pose.stem_to_parent(x.force), x.pending.turned(pose.stem_to_parent),
    )  # fmt: skip


def shifted(x: Articulated, p: Vec) -> Articulated:
    """About another origin; p leads from it to the present one: B' = B + p~ M, J' = J + p~ B^T - B' p~."""
    if is_null(p):
        return x
    b = x.b + columns_matrix(cross(p, c) for c in x.m.T)
    left = tuple(cross(p, row) for row in x.b)  # columns of p~ B^T
    right = tuple(cross(p, row) for row in b)  # rows of -B' p~
    j = from_upper(lambda i, k: plus(x.j[i][k], plus(left[k][i], right[i][k])))
    return Articulated(j, b, x.m, x.moment + cross(p, x.force), x.force, x.pending.shifted(p))


def carried(x: Articulated, wd: Vec, a: Vec) -> Articulated:
    """With the wrench at the acceleration (wd, a) instead of none."""
    if is_null(wd) and is_null(a):
        return x
    moment = x.moment + (x.j @ wd + x.b @ a)
    force = x.force + (x.b.T @ wd + x.m @ a)
    return Articulated(x.j, x.b, x.m, moment, force, x.pending.carried(wd, a))


# -- elimination of a joint


def eliminate(
    link: Link, x: Articulated, effort: Any, wd: Vec, a: Vec, last: bool
) -> tuple[Articulated, EliminatedJoint]:
    """(the body as felt through the joint, the pivot); `effort` drives the joint, (wd, a) are velocity products.

    last: nothing is felt further down, only the pivot is wanted.
    """
    if link.motion.all_turns:
        return _eliminate_ball(x, effort, a)
    if link.motion.all_motions:
        return _eliminate_free(x, effort)
    if not link.motion.axial:
        return _eliminate_columns(link, x, effort, wd, a)
    out = joint_row(link, x)
    out.drive = minus(effort, axial_effort(link, x.force, x.moment))
    out.couplings = {k: axial_effort(link, f, n) for k, (n, f) in x.pending.wrenches.items()}
    if last:
        return x, out
    exact = is_zero(link.reflected)  # then rows along the axis vanish, and the effort passes as it is
    gone_n, gone_f = exact and link.motion.is_turn, exact and link.motion.is_slide
    rest = carried(removed(x, out, link.axis if gone_n else None, link.axis if gone_f else None), wd, a)
    if gone_n:
        rest.moment = _with(rest.moment, link.axis, effort)
    if gone_f:
        rest.force = _with(rest.force, link.axis, effort)
    return rest, out


def joint_row(link: Link, x: Articulated) -> EliminatedJoint:
    """The row of an axial joint in the equations of the body, and the reciprocal of its own inertia."""
    k = link.axis
    turning = 1 if link.motion.turns else 0
    sliding = link.advance
    row_n: Vec = x.j[k] if turning else ZERO
    row_f: Vec = x.b[k] if turning else ZERO
    if link.motion.slides:
        row_n = row_n + sliding * Vec((x.b[0][k], x.b[1][k], x.b[2][k]))
        row_f = row_f + sliding * x.m[k]
    own = plus(plus(times(turning, row_n[k]), times(sliding, row_f[k])), link.reflected)
    return EliminatedJoint(row_n, row_f, pivot=own)


def removed(
    x: Articulated, pivot: EliminatedJoint, gone_n: int | None = None, gone_f: int | None = None
) -> Articulated:
    """The body without one motion, whose row is in the pivot: x - row^T row / own, and so on.

    gone_n, gone_f: axis along which moment or force can be nothing but the effort, so that their rows are zero.
    """
    row_n, row_f, drive, inverse = pivot.moment_row, pivot.force_row, pivot.drive, pivot.inverse
    by_n, by_f = inverse * row_n, inverse * row_f

    def j(i: int, h: int) -> Any:
        return 0 if gone_n in (i, h) else minus(x.j[i][h], times(by_n[i], row_n[h]))

    def m(i: int, h: int) -> Any:
        return 0 if gone_f in (i, h) else minus(x.m[i][h], times(by_f[i], row_f[h]))

    def b(i: int, h: int) -> Any:
        return 0 if gone_n == i or gone_f == h else minus(x.b[i][h], times(by_n[i], row_f[h]))

    return Articulated(
        from_upper(j), mat([[b(i, h) for h in range(3)] for i in range(3)]), from_upper(m),
        x.moment + drive * by_n, x.force + drive * by_f,
        _left_pending(x.pending, pivot, by_n, by_f, gone_n, gone_f),
    )  # fmt: skip


def _left_pending(
    pending: Pending, pivot: EliminatedJoint, by_n: Vec, by_f: Vec, gone_n: int | None, gone_f: int | None
) -> Pending:
    """K_k - row c_k / own, H_ik - c_i c_k / own, r_k + c_k drive / own with the couplings c."""
    if not pivot.couplings:
        return NONE
    wrenches, by = {}, {k: times(c, pivot.inverse) for k, c in pivot.couplings.items()}
    for k, c in pivot.couplings.items():
        n, f = pending.wrenches[k]
        n, f = n - c * by_n, f - c * by_f
        wrenches[k] = (_with(n, gone_n, 0), _with(f, gone_f, 0))
    return pending.reduced(wrenches, lambda i, k: times(pivot.couplings[i], by[k]), lambda k: times(by[k], pivot.drive))


def _with(v: Vec, k: int | None, value: Any) -> Vec:
    return vec([value if i == k else v[i] for i in range(3)])


def _eliminate_ball(x: Articulated, effort: Any, a: Vec) -> tuple[Articulated, EliminatedJoint]:
    """Three rotations at once: a 3 x 3 solve; no moment but the effort passes."""
    factors = ldlt(np.array(x.j, dtype=object), order="from_last")
    drive = np.array([minus(e, n) for e, n in zip(effort, x.moment)], dtype=object)
    solved = solve_ldlt(factors, drive)
    rows = mat(solve_ldlt(factors, np.array(x.b, dtype=object)))  # J^-1 B
    bt = x.b.T
    columns = rows.T
    m = from_upper(lambda i, k: minus(x.m[i][k], dot(bt[i], columns[k])))
    force = x.force + bt @ vec(solved)
    felt = {k: n for k, (n, _) in x.pending.wrenches.items()}
    waiting = {k: vec(solve_ldlt(factors, np.array(n, dtype=object))) for k, n in felt.items()}
    left = {k: (ZERO, f - bt @ waiting[k]) for k, (_, f) in x.pending.wrenches.items()}
    pending = x.pending.reduced(left, lambda i, k: dot(felt[i], waiting[k]), lambda k: dot(felt[k], vec(solved)))
    rest = carried(Articulated(NOTHING, NOTHING, m, vec(effort), force, pending), ZERO, a)
    return rest, EliminatedJoint(solved=solved, columns=rows, waiting=waiting)


def _eliminate_free(x: Articulated, effort: Any) -> tuple[Articulated, EliminatedJoint]:
    """All motions at once: a 6 x 6 solve; nothing but the effort passes."""
    h = np.empty((6, 6), dtype=object)
    h[:3, :3], h[:3, 3:], h[3:, 3:] = x.j, x.b, x.m
    h[3:, :3] = h[:3, 3:].T
    factors = ldlt(h, order="from_last")
    drive = np.array([minus(e, p) for e, p in zip(effort, (*x.moment, *x.force))], dtype=object)
    solved = solve_ldlt(factors, drive)
    felt = {k: (*n, *f) for k, (n, f) in x.pending.wrenches.items()}
    waiting = {k: solve_ldlt(factors, np.array(w, dtype=object)) for k, w in felt.items()}

    def work(k: int, motion: Any) -> Any:
        return sum_of(times(w, v) for w, v in zip(felt[k], motion))

    left = dict.fromkeys(felt, (ZERO, ZERO))
    pending = x.pending.reduced(left, lambda i, k: work(i, waiting[k]), lambda k: work(k, solved))
    rest = Articulated(NOTHING, NOTHING, NOTHING, vec(effort[:3]), vec(effort[3:]), pending)
    return rest, EliminatedJoint(solved=solved, waiting=waiting)


def _felt(x: Articulated, twist: Twist) -> tuple[Vec, Vec]:
    """(moment, force) that a unit of a twist's acceleration takes: I S."""
    w, v = twist
    moment = x.j @ w + x.b @ v
    return moment, x.b.T @ w + x.m @ v


def _work(twist: Twist, wrench: tuple[Vec, Vec]) -> Any:
    """Power of a wrench (moment, force) along a twist."""
    return plus(dot(twist[0], wrench[0]), dot(twist[1], wrench[1]))


def _eliminate_columns(link: Link, x: Articulated, effort: Any, wd: Vec, a: Vec) -> tuple[Articulated, EliminatedJoint]:
    """Any number of velocities at once, with the columns S of their twists: U = I S, D = S^T U,
    I - U D^-1 U^T, p + U D^-1 (effort - S^T p) (Featherstone 2008, 7.3)."""
    S = joint_twists(link)
    n = len(S)
    U = [_felt(x, s) for s in S]
    inertia = np.empty((n, n), dtype=object)
    for i in range(n):
        for k in range(i + 1):
            inertia[i, k] = inertia[k, i] = _work(S[k], U[i])
    factors = ldlt(inertia, order="from_last")
    drive = np.array([minus(e, _work(s, (x.moment, x.force))) for e, s in zip(effort, S)], dtype=object)
    solved = solve_ldlt(factors, drive)
    # D^-1 U^T: what an acceleration (wd, a) of the body takes from those of the joint
    by = solve_ldlt(factors, np.array([[*u, *f] for u, f in U], dtype=object))

    def less(i: int, k: int, left: int, right: int) -> Any:
        return sum_of(times(U[c][left][i], by[c, 3 * right + k]) for c in range(n))

    def shared(vectors: Any, which: int) -> Vec:
        out = ZERO
        for u, amount in zip(U, vectors):
            out = out + amount * u[which]
        return out

    felt = {k: tuple(_work(s, w) for s in S) for k, w in x.pending.wrenches.items()}
    waiting = {k: solve_ldlt(factors, np.array(f, dtype=object)) for k, f in felt.items()}
    left = {k: (m - shared(waiting[k], 0), f - shared(waiting[k], 1)) for k, (m, f) in x.pending.wrenches.items()}

    def product(u: Any, v: Any) -> Any:
        return sum_of(times(p, q) for p, q in zip(u, v))

    pending = x.pending.reduced(left, lambda i, k: product(felt[i], waiting[k]), lambda k: product(felt[k], solved))
    rest = Articulated(
        from_upper(lambda i, k: minus(x.j[i][k], less(i, k, 0, 0))),
        mat([[minus(x.b[i][k], less(i, k, 0, 1)) for k in range(3)] for i in range(3)]),
        from_upper(lambda i, k: minus(x.m[i][k], less(i, k, 1, 1))),
        x.moment + shared(solved, 0), x.force + shared(solved, 1), pending,
    )  # fmt: skip
    return carried(rest, wd, a), EliminatedJoint(solved=solved, columns=by, waiting=waiting)


# -- velocities that move several Links


def _release_columns(link: Link, x: Articulated) -> Articulated:
    """`release` for a Link that is not axial: T_k is the twist that a unit of velocity k gives."""
    none: Twist = (ZERO, ZERO)
    twists: dict[int, Twist] = {}
    for (w, v), column in zip(joint_twists(link), link.columns):
        for k, f in column:
            w0, v0 = twists.get(k, none)
            twists[k] = w0 + f * w, v0 + f * v
    old, U = x.pending, {k: _felt(x, s) for k, s in twists.items()}
    wrenches = dict(old.wrenches)
    for k, (moment, force) in U.items():
        n0, f0 = wrenches.get(k, none)
        wrenches[k] = (n0 + moment, f0 + force)

    def inertia(i: int, k: int) -> Any:
        mixed = plus(
            _work(twists.get(i, none), old.wrenches.get(k, none)), _work(twists.get(k, none), old.wrenches.get(i, none))
        )
        return plus(old.coupling(i, k), plus(mixed, _work(twists.get(i, none), U.get(k, none))))

    efforts = {k: plus(old.efforts.get(k, 0), _work(twists.get(k, none), (x.moment, x.force))) for k in wrenches}
    pairs = {(i, k): inertia(i, k) for i in wrenches for k in wrenches if i <= k}
    return replace(x, pending=Pending(wrenches, pairs, efforts))


def release(link: Link, x: Articulated) -> Articulated:
    """The body before the motion of a joint whose velocities move other Links too: they wait from here on.

    With a = a' + S sum_k f_k x_k: K_k + f_k I S, H_ik + f_i S.K_k + f_k S.K_i + f_i f_k S.I S, r_k + f_k S.p.
    """
    if not link.motion.axial:
        return _release_columns(link, x)
    row = joint_row(link, x)
    factors = {k: f for column in link.columns for k, f in column}
    old = x.pending
    felt = {k: axial_effort(link, f, n) for k, (n, f) in old.wrenches.items()}
    effort = axial_effort(link, x.force, x.moment)
    wrenches = dict(old.wrenches)
    for k, f in factors.items():
        n0, f0 = wrenches.get(k, (ZERO, ZERO))
        wrenches[k] = (n0 + f * row.moment_row, f0 + f * row.force_row)

    def inertia(i: int, k: int) -> Any:
        fi, fk = factors.get(i, 0), factors.get(k, 0)
        mixed = plus(times(fi, felt.get(k, 0)), times(fk, felt.get(i, 0)))
        return plus(old.coupling(i, k), plus(mixed, times(times(fi, fk), row.pivot)))

    efforts = {k: plus(old.efforts.get(k, 0), times(factors.get(k, 0), effort)) for k in wrenches}
    pairs = {(i, k): inertia(i, k) for i in wrenches for k in wrenches if i <= k}
    return replace(x, pending=Pending(wrenches, pairs, efforts))


def settle(x: Articulated, velocity: int, effort: Any) -> tuple[Articulated, EliminatedJoint]:
    """(the body without a velocity that waited, the pivot): all Links that it moves have been met."""
    pending = x.pending
    out = EliminatedJoint(*pending.wrenches[velocity], pivot=pending.coupling(velocity, velocity))
    out.drive = minus(effort, pending.efforts[velocity])
    out.couplings = {k: pending.coupling(velocity, k) for k in pending.wrenches if k != velocity}
    return removed(x, out), out


# -- outward


def acceleration(link: Link, pivot: EliminatedJoint, wd: Vec, a: Vec, known: Any) -> Any:
    """qdd of the joint, from (wd, a), which its Link would have without it; known: qdd of velocities that waited."""
    less: tuple[Any, ...]
    if link.motion.axial:
        return pivot_acceleration(pivot, wd, a, known)
    if link.motion.all_turns:
        less = pivot.columns @ a + wd
    elif link.motion.all_motions:
        less = (*wd, *a)
    else:
        less = tuple(sum_of(times(c, y) for c, y in zip(row, (*wd, *a))) for row in pivot.columns)
    for k, column in pivot.waiting.items():
        less = tuple(plus(y, times(c, known[k])) for y, c in zip(less, column))
    return tuple(minus(x, y) for x, y in zip(pivot.solved, less))


def pivot_acceleration(pivot: EliminatedJoint, wd: Vec, a: Vec, known: Any) -> Any:
    """qdd of one velocity, at the acceleration (wd, a) of the body from which it was removed."""
    felt = plus(dot(pivot.moment_row, wd), dot(pivot.force_row, a))
    for k, c in pivot.couplings.items():
        felt = plus(felt, times(c, known[k]))
    return times(minus(pivot.drive, felt), pivot.inverse)
