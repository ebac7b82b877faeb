"""Accelerations in a number of operations that is linear in the bodies: the articulated-body recursion (robotran 3.7).

"local"     the wrenches that Newton-Euler finds at zero joint acceleration are the bias; what remains to be solved
            has no velocity terms and no gravity (docs/theory.md)
"textbook"  velocity products travel with the articulated inertias, gravity enters at the base (Featherstone 2008, 7.3)
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from symbody.basics.errors import ModelError, word_argument
from symbody.mechanics.formalisms.articulated import (
    Articulated,
    EliminatedJoint,
    acceleration,
    add,
    carried,
    eliminate,
    joint_row,
    pivot_acceleration,
    release,
    rigid,
    settle,
    shifted,
    to_parent,
    to_stem,
)
from symbody.mechanics.formalisms.frames import common_ancestor
from symbody.mechanics.formalisms.joint_laws import joint_laws
from symbody.mechanics.formalisms.link_motion import joint_twist
from symbody.mechanics.formalisms.link_poses import LinkPose, poses
from symbody.mechanics.formalisms.newton_euler import LinkMotion, at_rest, link_wrench, motions, rate_matrix, step
from symbody.mechanics.formalisms.solve_accelerations import driven_velocities
from symbody.mechanics.formalisms.sweeps import sweep_inward, sweep_outward
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.formalisms.vec3 import ZERO, Vec, cross, minus, sum_of, times, vec
from symbody.model.spatial.inertia import no_inertia
from symbody.symbolic.expr.arrays import Array, is_zero, zeros

VARIANTS = ("local", "textbook")
Acceleration = tuple[Vec, Vec]  # wd and a, in Link axes; in stem axes where the stem is shared
WORLD = -1


def check_order_n(tree: Tree) -> None:
    """Refuse, before any symbolic work, a joint that moves nothing: neither mass nor inertia nor a rotor."""
    heavy: set[int] = set()
    for link in reversed(tree.links):
        inertia = link.inertia
        entries = (inertia.mass, *inertia.moment, *inertia.tensor.flat)
        if link.index in heavy or not all(is_zero(x) for x in entries):
            heavy |= {link.index, link.parent}
    moved = set(driven_velocities(tree))
    for link in tree.links:
        if link.index in heavy or not is_zero(link.reflected):
            moved |= {k for column in link.columns for k, _ in column}
    for link in tree.links:
        if any(k not in moved for column in link.columns for k, _ in column):
            raise _undetermined(link.joint)


def _undetermined(joint: str, more: str = "") -> ModelError:
    return ModelError(
        f"order_n: joint {joint!r} moves nothing that has mass or inertia{more}: its acceleration is not determined. "
        "Give its body an inertia, or the joint a rotor."
    )


def order_n(tree: Tree, variant: str = "local", frames: str = "sequential", given: Array | None = None) -> Array:
    """qdd (nv,) of the Tree under tau; driven joints accelerate as given (nv,).

    A velocity that moves several Links (a joint that follows another, a gyroscopic rotor) is eliminated at the last
    Link that carries them all; on the way there it waits, see `Pending`.
    """
    word_argument("variant", variant, VARIANTS, error=ModelError)
    check_order_n(tree)
    places = poses(tree, frames if variant == "local" else "sequential")
    driven = set(driven_velocities(tree))
    prescribed = [all(i in driven for column in link.columns for i, _ in column) for link in tree.links]
    meeting = shared_velocities(tree, driven)
    shared = {velocity for velocities in meeting.values() for velocity in velocities}
    waits = [any(i in shared for column in link.columns for i, _ in column) for link in tree.links]
    qdd = at_rest(tree)
    given = tree.qdd if given is None else given
    for link in tree.links:
        if prescribed[link.index]:
            qdd[link.index] = _of_link(link, given)
    moves = motions(tree, places, frames, qdd)
    if variant == "local":
        own = [link_wrench(tree, link, moves[link.index]) for link in tree.links]
        products: list[Acceleration] = [(ZERO, ZERO)] * len(tree.links)
        base = ZERO
    else:
        spins = [LinkMotion(w=m.w, u=rate_matrix(m.w, ZERO)) for m in moves]
        own = [link_wrench(tree, link, spins[link.index]) for link in tree.links]
        products = []
        for link in tree.links:
            parent = spins[link.parent] if link.parent >= 0 else LinkMotion()
            m = step(link, places[link.index], parent, link.qd, qdd[link.index])
            products.append((m.wd, m.a))
        base = -vec(tree.gravity)
    efforts = [minus(tau, law) for tau, law in zip(tree.tau, joint_laws(tree))]
    pivots: list[EliminatedJoint] = [EliminatedJoint()] * len(tree.links)
    settled: dict[int, EliminatedJoint] = {}  # by velocity, in the order of elimination
    on_world = rigid(no_inertia(), ZERO, ZERO)

    def settled_here(link: int, x: Articulated, own_motion: bool) -> Articulated:
        """Eliminate the velocities that meet at a Link: those of its own motion, or those of Links it carries."""
        for velocity in meeting.get(link, ()):
            if _moves(tree, link, velocity) is own_motion:
                if is_zero(x.pending.coupling(velocity, velocity)):
                    raise _undetermined(_first_joint(tree, velocity))
                x, settled[velocity] = settle(x, velocity, efforts[velocity])
        return x

    # inward: articulated inertias, each joint eliminated where it stands
    def inward(link: Link, handed: list[tuple[Articulated, bool]]) -> tuple[Articulated, bool]:
        nonlocal on_world
        pose, wrench = places[link.index], own[link.index]
        x = rigid(link.inertia, wrench.moment, wrench.force)
        for other, stem in handed:
            x = x if stem else add(x, other)
        if pose.stem:
            x = to_stem(x, pose)
            for other, stem in handed:
                x = add(x, other) if stem else x
        x = settled_here(link.index, x, own_motion=False)
        last = link.parent < 0 and not x.pending and not waits[link.index]
        if prescribed[link.index]:
            x = carried(x, *products[link.index])
        elif waits[link.index]:
            x = settled_here(link.index, release(link, x), own_motion=True)
            x = carried(x, *products[link.index])
        else:
            _check_inertia(link, x)
            x, pivots[link.index] = eliminate(link, x, _link_effort(link, efforts), *products[link.index], last)
        if last:
            return x, False
        if not pose.stem:
            x = to_stem(x, pose)
        if pose.shared:
            return shifted(x, pose.arm_stem), True
        x = shifted(to_parent(x, pose), pose.arm)
        if link.parent < 0:
            on_world = add(on_world, x)
        return x, False

    sweep_inward(tree, inward)
    settled_here(WORLD, on_world, own_motion=False)
    out = zeros(len(tree.qd))
    for velocity in driven:
        out[velocity] = given[velocity]

    def write_settled(link: int, at: Acceleration, own_motion: bool) -> None:
        """Accelerations of the velocities that met at a Link, the last eliminated first."""
        for velocity in reversed(meeting.get(link, ())):
            if _moves(tree, link, velocity) is own_motion:
                out[velocity] = pivot_acceleration(settled[velocity], *at, out)

    # outward: accelerations
    def outward(link: Link, parent: Acceleration) -> Acceleration:
        pose = places[link.index]
        wd, a = _reach(tree, places, link, parent)
        if not pose.stem:
            wd, a = pose.from_stem(wd), pose.from_stem(a)
        products_wd, products_a = products[link.index]
        wd, a = wd + products_wd, a + products_a
        if waits[link.index]:
            write_settled(link.index, (wd, a), own_motion=True)
            wd, a = _moved(link, wd, a, _of_link(link, out))
        elif not prescribed[link.index]:
            x = acceleration(link, pivots[link.index], wd, a, out)
            _write(link, x, out)
            wd, a = _moved(link, wd, a, x)
        write_settled(link.index, (wd, a), own_motion=False)
        return wd, a

    write_settled(WORLD, (ZERO, base), own_motion=False)
    sweep_outward(tree, outward, (ZERO, base))
    return out


def shared_velocities(tree: Tree, driven: Collection[int]) -> dict[int, list[int]]:
    """Link (-1: the world) -> velocities that move several Links, of which it is the last common ancestor."""
    movers: dict[int, list[int]] = {}
    for link in tree.links:
        for k in {k for column in link.columns for k, _ in column}:
            movers.setdefault(k, []).append(link.index)
    together = {k for link in tree.links for column in link.columns if len(column) > 1 for k, _ in column}
    out: dict[int, list[int]] = {}
    for k, links in movers.items():
        if k not in driven and (len(links) > 1 or k in together):
            out.setdefault(common_ancestor(tree, links), []).append(k)
    return out


def _moves(tree: Tree, link: int, velocity: int) -> bool:
    return link != WORLD and any(k == velocity for column in tree.links[link].columns for k, _ in column)


def _first_joint(tree: Tree, velocity: int) -> str:
    return next(link.joint for link in tree.links if _moves(tree, link.index, velocity))


def _reach(tree: Tree, places: list[LinkPose], link: Link, parent: Acceleration) -> Acceleration:
    """Acceleration that a Link takes from its parent, in its stem axes."""
    pose, (wd, a) = places[link.index], parent
    if pose.shared:
        return wd, a + cross(wd, pose.arm_stem)
    if link.parent >= 0 and places[link.parent].stem:
        below = places[link.parent]
        wd, a = below.from_stem(wd), below.from_stem(a)
    a = a + cross(wd, pose.arm)
    return pose.parent_to_stem(wd), pose.parent_to_stem(a)


def _moved(link: Link, wd: Vec, a: Vec, x: Any) -> Acceleration:
    """With the joint's own acceleration."""
    spin, slide = joint_twist(link, x)
    return wd + spin, a + slide


def _check_inertia(link: Link, x: Articulated) -> None:
    empty = all(is_zero(e) for block in (x.j, x.b, x.m) for row in block for e in row)
    if empty and is_zero(link.reflected):
        raise _undetermined(link.joint)
    if link.motion.axial and is_zero(joint_row(link, x).pivot):
        raise _undetermined(link.joint, " which the joints that it carries do not move alike")


def _link_effort(link: Link, efforts: list[Any]) -> Any:
    """Effort that drives a Link, from those on the velocities: tau less the laws of joints."""
    parts = [_over(efforts[index], factor) for ((index, factor),) in link.columns]
    return parts[0] if link.motion.axial else parts


def _over(x: Any, factor: Any) -> Any:
    if is_zero(x):
        return x
    if factor == 1 or factor == -1:
        return x * factor
    return x / factor


def _of_link(link: Link, values: Array) -> Any:
    parts = [sum_of(times(factor, values[index]) for index, factor in column) for column in link.columns]
    return parts[0] if link.motion.axial else parts


def _write(link: Link, x: Any, out: Array) -> None:
    parts = (x,) if link.motion.axial else x
    for column, value in zip(link.columns, parts):
        index, factor = column[0]
        out[index] = _over(value, factor)
