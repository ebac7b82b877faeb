"""Recursive Newton-Euler: outward for the motion of each Link, inward for the wrench that it takes (robotran 3.4).

Everything stands in Link axes, or in the stem axes of `link_poses.py`. Gravity is the upward acceleration of the base.
With U = wd~ + w~ w~ a point p of a Link accelerates by a + U p, and Euler's equation reuses U (docs/theory.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from symbody.basics.errors import ModelError, word_argument
from symbody.mechanics.formalisms.link_motion import axial_effort, joint_acceleration, joint_efforts, joint_twist
from symbody.mechanics.formalisms.link_poses import LinkPose, poses
from symbody.mechanics.formalisms.sweeps import sweep_inward, sweep_outward
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.formalisms.vec3 import (
    NOTHING,
    OTHERS,
    ZERO,
    Mat,
    Vec,
    axis_vector,
    cross,
    mat,
    minus,
    plus,
    rotate,
    times,
    vec,
)
from symbody.model.spatial.inertia import Inertia
from symbody.symbolic.expr.arrays import is_zero
from symbody.symbolic.expr.node import Node

REFERENCES = ("origin", "com")


@dataclass(slots=True)
class LinkMotion:
    """w, wd (rad/s, rad/s^2), a: acceleration of the origin less gravity (m/s^2), u: the matrix U; in Link axes.

    The same before the Link's own rotation, in stem axes: stem_w, stem_wd, stem_a; rate and rate2 are the sums of joint
    speeds and accelerations since the stem; stem_u is U turned to stem axes, for Links whose stem is shared.
    """

    w: Vec = ZERO
    wd: Vec = ZERO
    a: Vec = ZERO
    u: Mat = NOTHING
    stem_w: Vec = ZERO
    stem_wd: Vec = ZERO
    stem_a: Vec = ZERO
    rate: Any = 0
    rate2: Any = 0
    stem_u: Mat = NOTHING


@dataclass(slots=True)
class Wrench:
    """force (N) and moment about the origin (N m) that a Link asks of its parent; in its stem axes if `stem`."""

    force: Vec
    moment: Vec
    stem: bool = False


def newton_euler(
    tree: Tree,
    frames: str = "sequential",
    reference: str = "origin",
    qdd: Sequence[Any] | None = None,
    still: bool = False,
    places: list[LinkPose] | None = None,
) -> list[tuple[Any, ...]]:
    """Efforts of every Link, one per velocity component, N m or N: what M qdd + c is made of, without joint laws.

    frames     see `poses.FRAMES`
    reference  "origin": inertia about the Link's origin; "com": each body's about its centre of mass
    qdd        accelerations of the Links instead of theirs; 0 everywhere gives c
    still      without velocities
    """
    word_argument("reference", reference, REFERENCES, error=ModelError)
    places = poses(tree, frames) if places is None else places
    moves = motions(tree, places, frames, qdd, still)
    efforts: list[tuple[Any, ...]] = [()] * len(tree.links)

    # inward: what each Link takes, and what it passes on
    def inward(link: Link, handed: list[Wrench]) -> Wrench:
        pose, wrench = places[link.index], link_wrench(tree, link, moves[link.index], reference)
        efforts[link.index], result = collect(link, pose, wrench, handed)
        return result

    sweep_inward(tree, inward)
    return efforts


def motions(
    tree: Tree,
    places: list[LinkPose],
    frames: str = "sequential",
    qdd: Sequence[Any] | None = None,
    still: bool = False,
) -> list[LinkMotion]:
    """The motion of every Link."""

    def outward(link: Link, parent: LinkMotion) -> LinkMotion:
        velocity = _none(link) if still else link.qd
        acceleration = link.qdd if qdd is None else qdd[link.index]
        return step(link, places[link.index], parent, velocity, acceleration, frames == "group")

    return sweep_outward(tree, outward, LinkMotion(a=-vec(tree.gravity)))


def at_rest(tree: Tree) -> list[Any]:
    """Zero accelerations, one entry per Link."""
    return [_none(link) for link in tree.links]


def _none(link: Link) -> Any:
    return 0 if link.motion.axial else (0,) * len(link.columns)


def step(link: Link, pose: LinkPose, parent: LinkMotion, qd: Any, qdd: Any, in_stem: bool = False) -> LinkMotion:
    """Motion of a Link from that of its parent. in_stem: with a shared stem, U times the arm is formed in stem axes."""
    motion, axis = link.motion, link.axis
    m = LinkMotion()
    if pose.shared:
        m.stem_w, m.stem_wd = parent.stem_w, parent.stem_wd
        m.rate, m.rate2 = plus(parent.rate, qd), plus(parent.rate2, qdd)
        if in_stem:
            more = parent.stem_u @ pose.arm_stem
        else:
            assert pose.carrier is not None
            more = rotate(*pose.carrier, parent.u @ pose.arm)
        m.stem_a = parent.stem_a + more
    else:
        m.stem_w, m.stem_wd = pose.parent_to_stem(parent.w), pose.parent_to_stem(parent.wd)
        m.stem_a = pose.parent_to_stem(parent.a + parent.u @ pose.arm)
        if motion.about_axis:
            m.rate, m.rate2 = qd, qdd
        if motion.along_axis:
            slide = axis_vector(axis, times(link.advance, qd))
            m.stem_a = m.stem_a + cross(m.stem_w, 2 * slide)
            m.stem_a = m.stem_a + axis_vector(axis, times(link.advance, qdd))
    w = pose.from_stem(m.stem_w)
    wd = pose.from_stem(m.stem_wd)
    m.a = pose.from_stem(m.stem_a)
    if not motion.axial:
        (spin, v), (spin2, v2) = joint_twist(link, qd), joint_acceleration(link, qd, qdd)
        m.w = w + spin
        m.wd = wd + (cross(w, spin) + spin2)
        if motion.slides:  # v: of the origin relative to the parent, in Link axes
            drag = cross(2 * w + spin, v)
            m.a = m.a + (drag + v2)
    elif motion.is_slide:
        m.w, m.wd = w, wd
    else:
        m.w = w + axis_vector(axis, m.rate)
        m.wd = wd + cross(w, axis_vector(axis, m.rate)) + axis_vector(axis, m.rate2)
    m.u = rate_matrix(m.w, m.wd)
    if pose.stem and in_stem:
        stem_w = m.stem_w + axis_vector(axis, m.rate)
        stem_wd = m.stem_wd + cross(m.stem_w, axis_vector(axis, m.rate)) + axis_vector(axis, m.rate2)
        m.stem_u = rate_matrix(stem_w, stem_wd)
    return m


def rate_matrix(w: Vec, wd: Vec) -> Mat:
    """U = wd~ + w~ w~."""
    x, y, z = w
    xx, yy, zz = times(x, x), times(y, y), times(z, z)
    xy, yz, zx = times(x, y), times(y, z), times(z, x)
    return Mat(
        (
            Vec((minus(0, plus(yy, zz)), minus(xy, wd[2]), plus(zx, wd[1]))),
            Vec((plus(xy, wd[2]), minus(0, plus(xx, zz)), minus(yz, wd[0]))),
            Vec((minus(zx, wd[1]), plus(yz, wd[0]), minus(0, plus(xx, yy)))),
        )
    )


def link_wrench(tree: Tree, link: Link, m: LinkMotion, reference: str = "origin") -> Wrench:
    """What the Link's own motion takes, at its origin and in its axes, less the wrench from outside."""
    if reference == "com":
        force, moment = ZERO, ZERO
        for mass, com, inertia in link.bodies:
            c = vec(com)
            f = mass * (m.a + m.u @ c)
            force = force + f
            moment = moment + (euler(mat(inertia), m.w, m.wd, m.u) + cross(c, f))
    else:
        force, moment = body_wrench(link.inertia, m, link.spread)
    if link.index in tree.wrenches:
        outer_force, outer_moment = tree.wrenches[link.index]
        force = force - vec(outer_force)
        moment = moment - vec(outer_moment)
    return Wrench(force, moment)


def body_wrench(inertia: Inertia, m: LinkMotion, spread: Any = None) -> tuple[Vec, Vec]:
    """mass a + U s and J wd + w x J w + s x a, with the first moment s; spread as in `euler`."""
    s = vec(inertia.moment)
    force = inertia.mass * m.a + m.u @ s
    moment = euler(mat(inertia.tensor), m.w, m.wd, m.u, spread) + cross(s, m.a)
    return force, moment


def euler(j: Mat, w: Vec, wd: Vec, u: Mat, spread: Any = None) -> Vec:
    """j wd + w x j w by entries of U (docs/theory.md).

    spread: diagonal of the pseudo-inertia, j_aa = s_b + s_c. Where one of two entries is zero, the two products of a
    component are one product with an entry of U.
    """
    out: list[Any] = [0, 0, 0]
    for a in range(3):
        b, c = OTHERS[a]
        gap = minus(j[c][c], j[b][b])
        if (spread is not None and is_zero(spread[c])) or gap is j[a][a]:
            n = times(j[a][a], u[c][b])
        elif (spread is not None and is_zero(spread[b])) or _opposite(gap, j[a][a]):
            n = minus(0, times(j[a][a], u[b][c]))
        else:
            n = plus(times(j[a][a], wd[a]), times(gap, times(w[b], w[c])))
        n = plus(n, minus(times(j[a][c], u[b][a]), times(j[a][b], u[c][a])))
        if not is_zero(j[b][c]):
            n = plus(n, times(j[b][c], minus(times(w[b], w[b]), times(w[c], w[c]))))
        out[a] = n
    return vec(out)


def _opposite(x: Any, y: Any) -> bool:
    return isinstance(y, Node) and not is_zero(y) and x is -y


def collect(link: Link, pose: LinkPose, own: Wrench, handed: list[Wrench]) -> tuple[tuple[Any, ...], Wrench]:
    """(efforts of the Link, what it asks of its parent) from its own wrench and those of its children."""
    force, moment = own.force, own.moment
    stem_force, stem_moment = ZERO, ZERO
    for h in handed:
        if h.stem:
            stem_force, stem_moment = stem_force + h.force, stem_moment + h.moment
        else:
            force, moment = force + h.force, moment + h.moment
    efforts: tuple[Any, ...] = ()
    if not link.motion.axial:
        efforts = joint_efforts(link, force, moment)
    force = stem_force + pose.to_stem(force)
    moment = stem_moment + pose.to_stem(moment)
    if not efforts:
        efforts = (axial_effort(link, force, moment),)
    if pose.shared:
        return efforts, Wrench(force, moment + cross(pose.arm_stem, force), True)
    force, moment = pose.stem_to_parent(force), pose.stem_to_parent(moment)
    return efforts, Wrench(force, moment + cross(pose.arm, force))
