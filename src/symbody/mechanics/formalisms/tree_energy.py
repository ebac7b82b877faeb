"""Energies and powers of a Tree, in Link axes: no inertia tensor is turned, and gravity needs no positions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.frame_kinematics import link_motions
from symbody.mechanics.formalisms.joint_laws import coordinates_with_laws
from symbody.mechanics.formalisms.link_motion import Twist, joint_twist
from symbody.mechanics.formalisms.link_poses import LinkPose, poses
from symbody.mechanics.formalisms.sweeps import sweep_outward
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.formalisms.vec3 import ZERO, Vec, cross, dot, mat, minus, plus, sum_of, times, vec
from symbody.model.spatial.inertia import Inertia
from symbody.symbolic.expr.arrays import is_zero
from symbody.symbolic.expr.call import call

HALF = Fraction(1, 2)


def kinetic(tree: Tree) -> Any:
    """Kinetic energy of bodies and rotors, J."""
    places = poses(tree)
    twists = sweep_outward(tree, lambda link, h: link_twist(link, places[link.index], h), (ZERO, ZERO))
    double: Any = 0
    for link, (w, v) in zip(tree.links, twists, strict=True):
        double = plus(double, twice_kinetic(link.inertia, w, v))
        if not is_zero(link.reflected):
            double = plus(double, times(link.reflected, times(link.qd, link.qd)))
    return times(HALF, double)


def link_twist(link: Link, pose: LinkPose, parent: Twist) -> Twist:
    """Twist of a Link from that of its parent."""
    w, v = parent

    def turn(x: Vec) -> Vec:
        return pose.from_stem(pose.parent_to_stem(x))

    w, v = turn(w), turn(v + cross(w, pose.arm))
    spin, slide = joint_twist(link, link.qd)
    return w + spin, v + slide


def twice_kinetic(inertia: Inertia, w: Vec, v: Vec) -> Any:
    """m v.v + 2 v.(w x s) + w.I w of a body, about its origin."""
    s = vec(inertia.moment)
    linear = times(inertia.mass, dot(v, v))
    mixed = times(2, dot(v, cross(w, s)))
    return plus(plus(linear, mixed), dot(w, mat(inertia.tensor) @ w))


def potential(tree: Tree) -> Any:
    """Potential energy of gravity (zero at the world's origin) and of joint springs, J."""
    return plus(gravity_potential(tree), spring_energy(tree))


def gravity_potential(tree: Tree) -> Any:
    """-g . (m p) summed over the bodies. Outward go g in Link axes and g . p of the origin."""
    places = poses(tree)

    def fall(link: Link, parent: tuple[Vec, Any]) -> tuple[Vec, Any]:
        g, depth = parent
        pose = places[link.index]
        return pose.from_stem(pose.parent_to_stem(g)), plus(depth, dot(g, pose.arm))

    total: Any = 0
    falls = sweep_outward(tree, fall, (vec(tree.gravity), 0))
    for link, (g, depth) in zip(tree.links, falls, strict=True):
        inertia = link.inertia
        total = plus(total, plus(times(inertia.mass, depth), dot(g, vec(inertia.moment))))
    return minus(0, total)


# -- joint laws


def spring_energy(tree: Tree) -> Any:
    """stiffness (q - rest)^2 / 2 summed over joint springs and elastic joints, J."""
    double: Any = 0
    for law in coordinates_with_laws(tree):
        if not is_zero(law.stiffness):
            stretch = minus(law.q, law.rest)
            double = plus(double, times(law.stiffness, times(stretch, stretch)))
    return times(HALF, double)


def dissipated(tree: Tree) -> Any:
    """Power that viscous and Coulomb friction take, viscous qd^2 + coulomb |qd|, W."""
    total: Any = 0
    for law in coordinates_with_laws(tree):
        total = plus(total, times(law.viscous, times(law.qd, law.qd)))
        if not is_zero(law.coulomb):  # with the sign itself, for which a run may put its slope (`flow.dry_friction`)
            total = plus(total, times(law.coulomb, times(law.qd, call("sign", law.qd))))
    return total


def dissipation_function(tree: Tree) -> Any:
    """Rayleigh's function, viscous qd^2 / 2 + coulomb |qd|: its gradient in qd is the effort of friction, W."""
    total: Any = 0
    for law in coordinates_with_laws(tree):
        total = plus(total, times(HALF, times(law.viscous, times(law.qd, law.qd))))
        if not is_zero(law.coulomb):
            total = plus(total, times(law.coulomb, call("abs", law.qd)))
    return total


# -- the whole


def power(tree: Tree) -> Any:
    """tau . qd, what actuators and driven joints give, W."""
    return sum_of(times(a, b) for a, b in zip(tree.tau, tree.qd, strict=True))


def total_mass(tree: Tree) -> Any:
    """Mass of all bodies that move, kg."""
    return sum_of(link.inertia.mass for link in tree.links)


def centre_of_mass(tree: Tree) -> Vec:
    """(3,) of all bodies that move, in world axes, m."""
    mass = total_mass(tree)
    if is_zero(mass):
        raise ModelError(f"{tree.mechanism.name} has no mass that moves, hence no centre of mass. Give a body a mass.")
    moves = link_motions(tree, range(len(tree.links)), order=0)
    moment = ZERO
    for link in tree.links:
        m, s = moves[link.index], vec(link.inertia.moment)
        turned = s if m.rotation is None else m.rotation @ s
        moment = moment + (link.inertia.mass * m.position + turned)
    return 1 / mass * moment
