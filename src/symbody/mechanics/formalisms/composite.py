"""Mass matrix by composite rigid bodies (Featherstone 2008, ch. 6), c by Newton-Euler without accelerations.

The inertia of all that a joint carries is summed inward, in stem axes; the wrench that a unit acceleration of the joint
needs is then handed down to the world and read off at every joint on the way. Second moments are kept as the inertia
tensor J, or as the spread S = integral of r r^T dm with J = tr(S) 1 - S, whose change of origin takes fewer sums.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from symbody.basics.errors import ModelError, word_argument
from symbody.mechanics.formalisms.efforts import generalized, projected
from symbody.mechanics.formalisms.joint_laws import joint_laws
from symbody.mechanics.formalisms.link_motion import axial_effort, joint_efforts
from symbody.mechanics.formalisms.link_poses import LinkPose, poses
from symbody.mechanics.formalisms.newton_euler import at_rest, newton_euler
from symbody.mechanics.formalisms.sweeps import sweep_inward
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.formalisms.vec3 import (
    NOTHING,
    OTHERS,
    ZERO,
    Mat,
    Vec,
    add_symmetric,
    axis_vector,
    cross,
    from_upper,
    is_null,
    mat,
    minus,
    plus,
    sum_of,
    times,
    vec,
)
from symbody.model.spatial.inertia import Inertia
from symbody.symbolic.expr.arrays import Array
from symbody.symbolic.expr.functions import alias
from symbody.symbolic.expr.node import SCALE, Node

Body = tuple[Any, Vec, Mat]  # mass, first moment, second moments about the origin
MOMENTS = ("tensor", "spread")
HALF = Fraction(1, 2)
NO_BODY: Body = (0, ZERO, NOTHING)


def mass_and_bias(
    tree: Tree, frames: str = "sequential", mass_frames: str | None = None, moments: str = "tensor"
) -> tuple[Array, Array]:
    """(M (nv, nv), c (nv,)) with joint laws in c; the frames of M may be chosen apart from those of c."""
    return mass_matrix(tree, mass_frames or frames, moments), bias(tree, frames)


def bias(tree: Tree, frames: str = "sequential", reference: str = "origin") -> Array:
    """c (nv,): efforts at zero acceleration."""
    efforts = newton_euler(tree, frames, reference, qdd=at_rest(tree))
    out = generalized(tree, efforts, accelerating=False)
    for k, law in enumerate(joint_laws(tree)):
        out[k] = plus(out[k], law)
    return out


def mass_matrix(tree: Tree, frames: str = "sequential", moments: str = "tensor") -> Array:
    """M (nv, nv). moments: "tensor" or "spread", what is summed over the bodies."""
    word_argument("moments", moments, MOMENTS, error=ModelError)
    places = poses(tree, frames)
    composites = composite_bodies(tree, places, moments == "spread")
    if moments == "spread":
        composites = [(mass, s, _tensor_of(spread)) for mass, s, spread in composites]
    entries: dict[tuple[int, int, int, int], Any] = {}
    for link in tree.links:
        for a in range(len(link.columns)):
            _hand_down(tree, places, link, a, composites[link.index], entries)
    return projected(tree, lambda i, a, j, b: entries.get((i, a, j, b), 0))


def composite_bodies(tree: Tree, places: list[LinkPose], spread: bool = False) -> list[Body]:
    """Each Link with all that it carries, about its origin: in stem axes (Links that are not axial: in Link axes)."""
    shift = shifted_spread if spread else shifted
    out: list[Body] = [NO_BODY] * len(tree.links)

    def inward(link: Link, handed: list[tuple[Body, bool]]) -> tuple[Body, bool]:
        pose = places[link.index]
        body = spread_body(link) if spread else as_body(link.inertia)
        for other, stem in handed:
            body = body if stem else add_bodies(body, other)
        at_stem = (body[0], pose.to_stem(body[1]), pose.tensor_to_stem(body[2]))
        for other, stem in handed:
            at_stem = add_bodies(at_stem, other) if stem else at_stem
        out[link.index] = at_stem if link.motion.axial else body
        if pose.shared:
            return shift(at_stem, pose.arm_stem), True
        mass, moment, tensor = at_stem
        turned = (mass, pose.stem_to_parent(moment), pose.tensor_to_parent(tensor))
        return shift(turned, pose.arm), False

    sweep_inward(tree, inward)
    return out


def as_body(inertia: Inertia) -> Body:
    return inertia.mass, vec(inertia.moment), mat(inertia.tensor)


def spread_body(link: Link) -> Body:
    j, diagonal = link.inertia.tensor, link.spread
    if diagonal is None:
        diagonal = vec([times(HALF, minus(plus(j[b, b], j[c, c]), j[a, a])) for a, (b, c) in enumerate(OTHERS)])
    spread = from_upper(lambda a, b: named(diagonal[a], "spread") if a == b else minus(0, j[a, b]))
    return link.inertia.mass, vec(link.inertia.moment), spread


def _tensor_of(spread: Mat) -> Mat:
    """tr(S) 1 - S."""

    def entry(a: int, b: int) -> Any:
        if a != b:
            return minus(0, spread[a][b])
        x, y = OTHERS[a]
        return plus(spread[x][x], spread[y][y])

    return from_upper(entry)


def add_bodies(x: Body, y: Body) -> Body:
    return plus(x[0], y[0]), x[1] + y[1], add_symmetric(x[2], y[2])


def shifted(body: Body, p: Vec) -> Body:
    """About another origin; p leads from it to the present one."""
    if is_null(p):
        return body
    mass, s, j = body
    mp = mass * p
    twice = tuple(_doubled(x) for x in p)

    def entry(a: int, b: int) -> Any:
        if a == b:
            across = [k for k in range(3) if k != a]
            more = sum_of(plus(times(mp[k], p[k]), times(twice[k], s[k])) for k in across)
            return plus(j[a][a], more)
        less = sum_of((times(mp[a], p[b]), times(p[a], s[b]), times(p[b], s[a])))
        return minus(j[a][b], less)

    return mass, s + mp, from_upper(entry)


def shifted_spread(body: Body, p: Vec) -> Body:
    """As `shifted`, for second moments as spread."""
    if is_null(p):
        return body
    mass, s, spread = body
    mp = mass * p
    moment = s + mp

    def entry(a: int, b: int) -> Any:
        if a == b:
            more = plus(times(_doubled(p[a]), s[a]), times(mp[a], p[a]))
        else:
            more = plus(times(p[a], moment[b]), times(p[b], s[a]))
        return plus(spread[a][b], more)

    return mass, moment, from_upper(entry)


def _doubled(x: Any) -> Any:
    return named(times(2, x), "twice")


def named(x: Any, stem: str) -> Any:
    """A parameter with a numeric factor gets a name, so that the factor does not wander into sums of products."""
    if isinstance(x, Node) and not x.flags and x.op is SCALE:
        return alias(x, f"{stem}_{x.id}", 1)
    return x


def unit_wrench(link: Link, component: int, body: Body) -> tuple[Vec, Vec]:
    """(force, moment) that a unit acceleration of one velocity component of the Link takes."""
    mass, s, j = body
    if not link.motion.axial:
        w, v = link.twists[component]
        force, moment = cross(w, s), j @ w
        return force + mass * v, moment + cross(s, v)
    axis = link.axis
    e = axis_vector(axis, 1)
    force, moment = ZERO, ZERO
    if link.motion.turns:
        force, moment = cross(e, s), j[axis]
    if link.motion.slides:
        force = force + link.advance * axis_vector(axis, mass)
        moment = moment + link.advance * cross(s, e)
    return force, moment


def _hand_down(
    tree: Tree, places: list[LinkPose], link: Link, a: int, body: Body, entries: dict[tuple[int, int, int, int], Any]
) -> None:
    """Fill in the entries of M of component a of a Link with itself and with all Links that carry it."""
    force, moment = unit_wrench(link, a, body)
    at, pose = link, places[link.index]
    if not link.motion.axial:
        for b, effort in enumerate(joint_efforts(link, force, moment)[: a + 1]):
            entries[link.index, a, link.index, b] = effort
        force, moment = pose.to_stem(force), pose.to_stem(moment)
    else:
        entries[link.index, a, link.index, 0] = axial_effort(link, force, moment)
    while at.parent >= 0:
        if is_null(force) and is_null(moment):
            return
        # from the stem of a Link to the stem of its parent
        carrier, below = tree.links[at.parent], places[at.parent]
        if pose.shared:
            moment = moment + cross(pose.arm_stem, force)
        else:
            force, moment = pose.stem_to_parent(force), pose.stem_to_parent(moment)
            moment = moment + cross(pose.arm, force)
            if not carrier.motion.axial:
                for b, effort in enumerate(joint_efforts(carrier, force, moment)):
                    entries[link.index, a, carrier.index, b] = effort
            force, moment = below.to_stem(force), below.to_stem(moment)
        if carrier.motion.axial:
            entries[link.index, a, carrier.index, 0] = axial_effort(carrier, force, moment)
        at, pose = carrier, below
