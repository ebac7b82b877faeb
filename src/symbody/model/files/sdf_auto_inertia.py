"""SDF <inertial auto="true">: mass and inertia from the shapes of a link's collisions and their density.

The density is that of the collision, else of <inertial>, else 1000 kg/m^3; to a given <mass> all is scaled.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symbody.model.files.file_values import turned
from symbody.model.files.mjcf_geoms import MassProperties, solid, together
from symbody.model.files.xml_file import XmlElement, parse_numbers
from symbody.model.record.pose import Pose

WATER = 1000.0
ADVICE = "expected box, sphere, cylinder, capsule, ellipsoid or cone. Write mass and inertia into the file."


def auto_inertia(link: XmlElement, inertial: XmlElement, pose_of: Callable[[XmlElement], Pose]) -> MassProperties:
    """Mass, centre and inertia of a link from its shapes, in link axes. pose_of: of a collision in the link."""
    density = _value(inertial, "density")
    parts = []
    for collision in link.all("collision"):
        own = _value(collision, "density")
        found = own if own is not None else density if density is not None else WATER
        if found <= 0:
            raise collision.error(f"the density of a collision is {found:g}; expected one above zero, kg/m^3.")
        parts.append(_shape(collision, found, pose_of(collision)))
    whole = together(parts)
    if whole.mass <= 0:
        raise inertial.error("<inertial auto='true'> takes the mass from collisions; expected one with a shape.")
    mass = _value(inertial, "mass")
    if mass is None:
        return whole
    if mass <= 0:
        raise inertial.error(f"<inertial auto='true'> has mass {mass:g}; expected one above zero.")
    return MassProperties(mass, whole.com, whole.tensor * (mass / whole.mass))


def _shape(collision: XmlElement, density: float, pose: Pose) -> MassProperties:
    geometry = collision.find("geometry")
    form = geometry.children[0] if geometry is not None and geometry.children else None
    if form is None:
        raise collision.error(f"a collision has no shape to take a mass from; {ADVICE}")

    def number(tag: str) -> float:
        return parse_numbers(form.need(tag), "", form.need(tag).text, (1,))[0]

    def three(tag: str) -> np.ndarray:
        return np.array(parse_numbers(form.need(tag), "", form.need(tag).text, (3,)))

    height = 0.0  # of the centre of mass
    match form.tag:
        case "box":
            size = three("size") / 2
        case "ellipsoid":
            size = three("radii")
        case "sphere":
            size = np.array([number("radius")])
        case "cylinder" | "capsule" | "cone":
            size = np.array([number("radius"), number("length") / 2])
            height = -size[1] / 2 if form.tag == "cone" else 0.0
        case _:
            raise form.error(f"<inertial auto='true'> with the geometry <{form.tag}>; {ADVICE}")
    if size.min() <= 0:
        raise form.error(f"a <{form.tag}> has the size {2 * size.min():g}; expected sizes above zero.")
    volume, moments = _cone(*size) if form.tag == "cone" else solid(form.tag, size)
    mass = density * volume
    centre = pose.position + pose.rotation @ [0, 0, height]
    return MassProperties(mass, centre, turned(np.diag(mass * moments), pose.rotation))


def _cone(radius: float, half: float) -> tuple[float, np.ndarray]:
    """Volume and moments per mass of a cone on z about its centre of mass, a quarter of its height above the base."""
    across = 3 / 80 * (4 * radius**2 + 4 * half**2)
    return np.pi * radius**2 * 2 * half / 3, np.array([across, across, 3 / 10 * radius**2])


def _value(element: XmlElement, tag: str) -> float | None:
    child = element.find(tag)
    return None if child is None else parse_numbers(child, "", child.text, (1,))[0]
