"""C(q, qd) with c = C qd + g and Mdot - 2 C skew: composite bodies in stem axes (Echeandia and Wensing 2021).

    C = sum over bodies of J^T (I Jdot + E J)

J is a body's Jacobian, and E v = v x* I v its gyroscopic wrench, shared out so that Idot - 2 E is skew. About the
origin of a Link with twist (w, u), mass m, first moment s and spread S = integral of r r^T dm, two blocks of that E are
not zero:

    E = [ -(w~ S + s~ u~)   0 ]        with the momentum p = m u + w x s
        [      -p~          0 ]

so that twelve numbers are summed inward beside the composite inertia. For joints of one coordinate each, C is that of
the Christoffel symbols of M.
"""

from __future__ import annotations

from typing import Any

from symbody.mechanics.formalisms.composite import as_body, composite_bodies, spread_body
from symbody.mechanics.formalisms.efforts import generalized
from symbody.mechanics.formalisms.link_motion import Twist, joint_efforts, joint_twist, joint_twists
from symbody.mechanics.formalisms.link_poses import LinkPose, poses
from symbody.mechanics.formalisms.sweeps import sweep_inward, sweep_outward
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.formalisms.vec3 import NOTHING, ZERO, Mat, Vec, cross, dot, plus, skew, times, vec
from symbody.symbolic.expr.arrays import Array, zeros

Gyro = tuple[Mat, Vec]  # upper left block of E, and the momentum p
Wrench = tuple[Vec, Vec]  # force, moment


def coriolis_matrix(tree: Tree) -> Array:
    """C (nv, nv) in the velocities of the Tree: kg m^2/s and the like. Gravity, laws and forces have no part in it."""
    places = poses(tree)
    stems, twists = _twists(tree, places)
    bodies = composite_bodies(tree, places)
    gyros = _composite_gyros(tree, places, twists)
    out = zeros(len(tree.qd), len(tree.qd))
    for link in tree.links:
        mass, s, j = bodies[link.index]
        block, momentum = gyros[link.index]
        seen = stems if link.motion.axial else twists
        columns = joint_twists(link)
        rates = _rates(link, seen[link.index], columns)
        for a, ((w, u), (wd, ud)) in enumerate(zip(columns, rates, strict=True)):
            inertial = _inertial(mass, s, j, w, u)
            force, moment = _inertial(mass, s, j, wd, ud)
            forward = (
                force - cross(momentum, w),
                moment + block @ w,
            )
            backward = block.T @ w + cross(momentum, u)
            _hand_down(tree, places, stems, twists, link, a, forward, inertial, backward, out)
    return out


def gravity_efforts(tree: Tree) -> Array:
    """g (nv,) of M qdd + C qd + g = tau: the efforts that hold the bodies against their weight, N m or N."""
    places = poses(tree)
    turned = sweep_outward(
        tree,
        lambda link, g: places[link.index].from_stem(places[link.index].parent_to_stem(g)),
        vec(tree.gravity),
    )
    efforts: list[tuple[Any, ...]] = [()] * len(tree.links)

    def inward(link: Link, handed: list[Wrench]) -> Wrench:
        pose, g = places[link.index], turned[link.index]
        mass, s, _ = as_body(link.inertia)
        force, moment = -(mass * g), cross(g, s)
        for f, m in handed:
            force, moment = force + f, moment + m
        efforts[link.index] = joint_efforts(link, force, moment)
        force, moment = (pose.stem_to_parent(pose.to_stem(x)) for x in (force, moment))
        return force, moment + cross(pose.arm, force)

    sweep_inward(tree, inward)
    return generalized(tree, efforts, accelerating=False)


def _twists(tree: Tree, places: list[LinkPose]) -> tuple[list[Twist], list[Twist]]:
    """Twists of the Links at their origins: in stem axes without their own motion, and in Link axes with it."""
    stems: list[Twist] = []

    def outward(link: Link, parent: Twist) -> Twist:
        (w, u), pose = parent, places[link.index]
        stem = pose.parent_to_stem(w), pose.parent_to_stem(u + cross(w, pose.arm))
        stems.append(stem)
        spin, slide = joint_twist(link, link.qd)
        return pose.from_stem(stem[0]) + spin, pose.from_stem(stem[1]) + slide

    return stems, sweep_outward(tree, outward, (ZERO, ZERO))


def _composite_gyros(tree: Tree, places: list[LinkPose], twists: list[Twist]) -> list[Gyro]:
    """E of each Link with all that it carries: axes as those of `composite_bodies`."""
    out: list[Gyro] = [(NOTHING, ZERO)] * len(tree.links)

    def inward(link: Link, handed: list[Gyro]) -> Gyro:
        pose, (w, u) = places[link.index], twists[link.index]
        mass, s, spread = spread_body(link)
        block = -(skew(w) @ spread + skew(s) @ skew(u))
        momentum = mass * u + cross(w, s)
        for other, p in handed:
            block, momentum = block + other, momentum + p
        at_stem = pose.tensor_to_stem(block, symmetric=False), pose.to_stem(momentum)
        out[link.index] = at_stem if link.motion.axial else (block, momentum)
        block, momentum = pose.tensor_to_parent(at_stem[0], symmetric=False), pose.stem_to_parent(at_stem[1])
        return block - skew(pose.arm) @ skew(momentum), momentum

    sweep_inward(tree, inward)
    return out


def _rates(link: Link, twist: Twist, columns: tuple[Twist, ...]) -> list[Twist]:
    """Rates of a Link's own columns in axes that stand still: they turn with the Link, which has this twist."""
    (w, u), own = twist, link.twist_rates or ((ZERO, ZERO),) * len(columns)
    return [(cross(w, a) + da, cross(w, b) + cross(u, a) + db) for (a, b), (da, db) in zip(columns, own, strict=True)]


def _inertial(mass: Any, s: Vec, j: Mat, w: Vec, u: Vec) -> Wrench:
    """(force, moment) = I (w, u)."""
    return mass * u + cross(w, s), j @ w + cross(s, u)


def _hand_down(
    tree: Tree, places: list[LinkPose], stems: list[Twist], twists: list[Twist], link: Link, a: int, forward: Wrench,
    inertial: Wrench, backward: Vec, out: Array,
) -> None:  # fmt: skip
    """Entries of a component of a Link with itself and all Links that carry it.

    forward   I Jdot + E J of the component: its column of C;  inertial, backward: I J and E^T J, for its row
    """

    def put(i: int, b: int, value: Any, row: bool) -> None:
        for k, x in tree.links[i].columns[b]:
            for n, y in link.columns[a]:
                at = (n, k) if row else (k, n)
                out[at] = plus(out[at], times(times(x, y), value))

    def read(at: Link, twist: Twist) -> None:
        columns = joint_twists(at)
        rates = _rates(at, twist, columns)
        for b, ((w, u), (wd, ud)) in enumerate(zip(columns, rates, strict=True)):
            put(at.index, b, plus(dot(w, forward[1]), dot(u, forward[0])), row=False)
            if at is not link:  # rows of a Link's own components are the columns of the others
                power = plus(dot(wd, inertial[1]), dot(ud, inertial[0]))
                put(at.index, b, plus(power, dot(w, backward)), row=True)

    at, pose = link, places[link.index]
    if not link.motion.axial:
        read(link, twists[link.index])
        (forward, inertial), backward = (_each(x, pose.to_stem) for x in (forward, inertial)), pose.to_stem(backward)
    else:
        read(link, stems[link.index])
    while at.parent >= 0:
        arm = pose.arm

        def shifted(wrench: Wrench, pose: LinkPose = pose, arm: Vec = arm) -> Wrench:
            force, moment = _each(wrench, pose.stem_to_parent)
            return force, moment + cross(arm, force)

        forward, inertial, backward = shifted(forward), shifted(inertial), pose.stem_to_parent(backward)
        at = tree.links[at.parent]
        pose = places[at.index]
        if not at.motion.axial:
            read(at, twists[at.index])
        (forward, inertial), backward = (_each(x, pose.to_stem) for x in (forward, inertial)), pose.to_stem(backward)
        if at.motion.axial:
            read(at, stems[at.index])


def _each(wrench: Wrench, turn: Any) -> Wrench:
    return turn(wrench[0]), turn(wrench[1])
