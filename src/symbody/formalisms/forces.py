"""Force elements of a Mechanism, applied to its Tree.

    found = wrenches(tree)
    tree.wrenches = found.links        for Newton-Euler and the formalisms built on it

`ELEMENTS` names the kinds. Signs: link forces push their points apart when positive; tyre forces stand in ISO axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from symbody.errors import ModelError, nearest
from symbody.expr.arrays import zeros
from symbody.formalisms import link_forces, point_forces, tyres
from symbody.formalisms.tree import Tree
from symbody.formalisms.wrenches import Element, Wrenches, elements
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
        if f.kind not in ELEMENTS:
            where = f"{f.origin}: " if f.origin else ""
            raise ModelError(f"{where}force {f.name!r} has kind {f.kind!r}. {nearest(f.kind, ELEMENTS)}")
    forces = [replace(f, values=_Asked(f.values)) for f in forces]
    out = Wrenches(tree, efforts=zeros(len(tree.qd)))
    # an external link (two points) needs no world motion
    moving = {f.name for f in forces if ELEMENTS[f.kind].moving and len(f.points) == 1}
    with tree.graph:
        for element in elements(tree, forces, moving, out):
            ELEMENTS[element.force.kind].act(element)
            _refuse_unused(element.force)
    return out


class _Asked(dict[str, Any]):
    """Values of a force element that remember which of them were asked for."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.asked: dict[str, None] = {}

    def get(self, key: str, default: Any = None) -> Any:
        self.asked[key] = None
        return super().get(key, default)

    def items(self) -> Any:
        self.asked.update(dict.fromkeys(self))
        return super().items()


def _refuse_unused(force: Force) -> None:
    """A value that the element never asked for is a slip of the pen, or belongs to another law."""
    asked = force.values.asked if isinstance(force.values, _Asked) else {}
    for name in force.values:
        if name not in asked:
            where = f"{force.origin}: " if force.origin else ""
            raise ModelError(
                f"{where}force {force.name!r} ({force.kind}) has no use for {name!r}. {nearest(name, asked)}"
            )
