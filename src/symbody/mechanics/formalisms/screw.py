"""Inverse dynamics by screws (dual numbers): MEDUSA, algorithms 4.7 and 4.10, corrected, for every kind of Link.

A Link has the body twist V = omega + eps v and its derivative in its own axes, the pseudo-acceleration V'; in dual form

    V  = D*^-1 V_parent  + S qd
    V' = D*^-1 V'_parent + [V, S qd] + S qdd + S' qd  S: the joint's screws, constant in most joints
    F  = H(V') + [V, H(V)]                            H: inertia operator, a twist to a momentum (4.41, 4.53)
    T  = F + sum over the children of D* T            moments by rho x f, not f x rho (E2)
    effort = {T / S}, dual part

Gravity is the pseudo-acceleration -eps g of the world. Unlike the classical recursion this one needs velocities v.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symbody.mechanics.formalisms.efforts import generalized
from symbody.mechanics.formalisms.joint_laws import joint_laws
from symbody.mechanics.formalisms.link_motion import joint_drift, joint_efforts, joint_twist
from symbody.mechanics.formalisms.link_poses import LinkPose, poses
from symbody.mechanics.formalisms.sweeps import sweep_inward, sweep_outward
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.formalisms.vec3 import ZERO, Vec, cross, mat, plus, vec
from symbody.model.spatial.inertia import Inertia, is_massless


@dataclass(frozen=True, slots=True, eq=False)
class DualScrew:
    """re + eps du in Link axes, reduced at the Link's origin: (omega, v) of a twist, (force, moment) of a wrench."""

    re: Vec = ZERO
    du: Vec = ZERO


def inverse(tree: Tree, wrenches: Mapping[int, tuple[Any, Any]] | None = None) -> list[Any]:
    """tau, one node for each velocity: M qdd + c with rotors and joint laws, N m or N.

    wrenches: Link index -> (force (3,), moment about its origin (3,)) from outside, in Link axes; None: the Tree's.
    """
    outside = tree.wrenches if wrenches is None else wrenches
    places = poses(tree)
    efforts: list[tuple[Any, ...]] = [()] * len(tree.links)

    # outward: twists and pseudo-accelerations
    def outward(link: Link, parent: tuple[DualScrew, DualScrew]) -> tuple[DualScrew, DualScrew]:
        return step(link, places[link.index], *parent)

    gravity = DualScrew(ZERO, -vec(tree.gravity))
    motions = sweep_outward(tree, outward, (DualScrew(), gravity))

    # inward: wrenches that the joints carry
    def inward(link: Link, handed: list[DualScrew]) -> DualScrew:
        total = dynamic_wrench(link.inertia, *motions[link.index])
        if link.index in outside:
            force, moment = outside[link.index]
            total = add(total, DualScrew(-vec(force), -vec(moment)))
        for wrench in handed:
            total = add(total, wrench)
        efforts[link.index] = joint_efforts(link, total.re, total.du)
        return to_parent(places[link.index], total)

    sweep_inward(tree, inward)
    return [plus(a, b) for a, b in zip(generalized(tree, efforts), joint_laws(tree), strict=True)]


def step(link: Link, pose: LinkPose, twist: DualScrew, rate: DualScrew) -> tuple[DualScrew, DualScrew]:
    """(V, V') of a Link from those of its parent (MEDUSA, eqs. 4.16, 4.21)."""
    own = DualScrew(*joint_twist(link, link.qd))
    velocity = add(from_parent(pose, twist), own)
    change = add(bracket(velocity, own), DualScrew(*joint_twist(link, link.qdd)))
    if link.twist_rates:
        change = add(change, DualScrew(*joint_drift(link, link.qd)))
    return velocity, add(from_parent(pose, rate), change)


def dynamic_wrench(inertia: Inertia, velocity: DualScrew, rate: DualScrew) -> DualScrew:
    """H(V') + [V, H(V)], the wrench of a body's motion (MEDUSA, eq. 4.53).

    With a = v' + omega x v, Jacobi's identity leaves m a + (omega' x s + omega x (omega x s)) and
    I omega' + omega x I omega + s x a: the momenta m v and s x v need not be formed.
    """
    if is_massless(inertia):
        return DualScrew()
    w, wd = velocity.re, rate.re
    s, tensor = vec(inertia.moment), mat(inertia.tensor)
    a = rate.du + cross(w, velocity.du)
    force = inertia.mass * a + (cross(wd, s) + cross(w, cross(w, s)))
    spin = tensor @ wd + cross(w, tensor @ w)
    return DualScrew(force, spin + cross(s, a))


# -- dual algebra on triples


def add(x: DualScrew, y: DualScrew) -> DualScrew:
    return DualScrew(x.re + y.re, x.du + y.du)


def bracket(x: DualScrew, y: DualScrew) -> DualScrew:
    """[X, Y]: the dual cross product."""
    return DualScrew(cross(x.re, y.re), cross(x.re, y.du) + cross(x.du, y.re))


def from_parent(pose: LinkPose, x: DualScrew) -> DualScrew:
    """D*^-1 X."""
    du = x.du + cross(x.re, pose.arm)
    return DualScrew(pose.from_stem(pose.parent_to_stem(x.re)), pose.from_stem(pose.parent_to_stem(du)))


def to_parent(pose: LinkPose, x: DualScrew) -> DualScrew:
    """D* X."""
    re = pose.stem_to_parent(pose.to_stem(x.re))
    return DualScrew(re, pose.stem_to_parent(pose.to_stem(x.du)) + cross(pose.arm, re))
