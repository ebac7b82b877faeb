"""Force elements of a Mechanism, applied to its Tree.

    found = wrenches(tree)
    tree.wrenches = found.links        for Newton-Euler and the formalisms built on it

`ELEMENTS` has the function of each kind of `model.force_kinds`. Signs: link forces push their points apart when
positive; tyre forces stand in ISO axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from symbody.expr.arrays import zeros
from symbody.formalisms import link_forces, point_forces, tyres
from symbody.formalisms.tree import Tree
from symbody.formalisms.wrenches import Element, Wrenches, elements
from symbody.model.force_kinds import check_force
from symbody.model.mechanism import Force


@dataclass(frozen=True)
class Kind:
    """A kind of force element: what it does, and whether it needs the world motion of its points."""

    act: Callable[[Element], None]
    moving: bool = False


ELEMENTS: dict[str, Kind] = {
    "spring_damper": Kind(link_forces.spring_damper),
    "actuator": Kind(link_forces.actuator),
    "link": Kind(link_forces.link_input),
    "point_force": Kind(point_forces.point_force, True),
    "wrench": Kind(point_forces.wrench, True),
    "contact": Kind(point_forces.contact_point, True),
    "tyre": Kind(tyres.tyre, True),
    "wheel": Kind(tyres.wheel_input, True),
    "external": Kind(point_forces.external, True),
    "joint": Kind(point_forces.joint),
}


def wrenches(tree: Tree, forces: Sequence[Force] | None = None) -> Wrenches:
    """What the force elements of the Tree's Mechanism (or those given) do to its Links."""
    forces = tree.mechanism.forces if forces is None else forces
    for f in forces:
        check_force(f, tree.mechanism)
    out = Wrenches(tree, efforts=zeros(len(tree.qd)))
    # an external link (two points) needs no world motion
    moving = {f.name for f in forces if ELEMENTS[f.kind].moving and len(f.points) == 1}
    with tree.graph:
        for element in elements(tree, forces, moving, out):
            ELEMENTS[element.force.kind].act(element)
    return out
