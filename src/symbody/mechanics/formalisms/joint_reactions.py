"""Wrenches that joints transmit, by Newton-Euler with the bodies' own inertia: regrouping would change them."""

from __future__ import annotations

import numpy as np

from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.link_poses import poses
from symbody.mechanics.formalisms.newton_euler import Wrench, collect, link_wrench, motions
from symbody.mechanics.formalisms.sweeps import sweep_inward
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.formalisms.vec3 import Vec, mat
from symbody.symbolic.expr.arrays import Array


def reaction(tree: Tree, joints: list[str]) -> list[Array]:
    """(6,) for each joint: moment (N m), then force (N), of parent on child at the child's origin, in child axes.

    The components along the joint's motion are its effort; the others are what its bearings carry. A fixed or locked
    joint that the Tree keeps (`build_tree`) holds all six.
    """
    wanted = {name: _link_of(tree, name) for name in joints}
    places = poses(tree)
    moves = motions(tree, places)
    taken: dict[int, tuple[Vec, Vec]] = {}

    def inward(link: Link, handed: list[Wrench]) -> Wrench:
        own = link_wrench(tree, link, moves[link.index])
        force, moment = own.force, own.moment
        for h in handed:
            force, moment = force + h.force, moment + h.moment
        taken[link.index] = force, moment
        return collect(link, places[link.index], own, handed)[1]

    sweep_inward(tree, inward)
    out = []
    for link in wanted.values():
        force, moment = taken[link.index]
        if link.body_rotation is not None:
            to_body = mat(link.body_rotation)
            force, moment = to_body.T @ force, to_body.T @ moment
        out.append(np.array([*moment, *force], dtype=object))
    return out


def _link_of(tree: Tree, name: str) -> Link:
    """The Link of the body that a joint carries; a fixed or locked joint has one where the Tree keeps it."""
    joint = tree.mechanism.joint(name)
    if tree.mechanism.body(joint.child).coordinates:
        raise ModelError(
            f"joint {name!r} carries body {joint.child!r}, which owns coordinates: between both stands no rigid body "
            "on which the joint acts. Ask for reactions of other joints, or put a body without mass between them."
        )
    index = tree.places[joint.child][0]
    if index < 0 or tree.links[index].joint != name:
        raise ModelError(
            f"joint {name!r} is fixed or locked, and its two bodies are one in this Tree. Keep it: "
            f"build_tree(mechanism, kept=[{name!r}])."
        )
    return tree.links[index]
