"""What the numbers of a description suggest: masses, inertias and places that a drawing rarely has.

Nothing here is an error: the equations are right for any numbers. It is what a reader of a file wants to know first.
"""

from __future__ import annotations

import numpy as np

from symbody.model.files.file_values import is_physical
from symbody.model.record.coordinates import has_coordinates
from symbody.model.record.mechanism import WORLD, Body, Mechanism, Shape
from symbody.model.record.numbers import numbers_of

FAR = 5.0  # times the reach of a body
HEAVY = 1e6  # ratio of masses that hang on each other
THIN = 1e-4  # m: the radius of gyration of a body that is not a point


def suspicions(mechanism: Mechanism) -> list[str]:
    """Sentences, each with the body or joint it speaks of; parameters at their defaults, those without any left out."""
    out: list[str] = []
    reach = _reach(mechanism)
    masses: dict[str, float] = {}
    for body in mechanism.bodies:
        mass, com, tensor = (numbers_of(x) for x in (body.mass, body.com, body.inertia))
        if mass is None or com is None or tensor is None:
            continue
        masses[body.name] = float(mass)
        out += _of_body(body, float(mass), com, tensor, reach.get(body.name, 0.0))
    out += _unmoved(mechanism, masses)
    for joint in mechanism.joints:
        above, below = masses.get(joint.parent, 0.0), masses.get(joint.child, 0.0)
        if above and below and max(above, below) > HEAVY * min(above, below):
            out.append(
                f"bodies {joint.parent!r} ({above:g} kg) and {joint.child!r} ({below:g} kg) hang on each other: is one "
                "of them in other units?"
            )
    return out


def _of_body(body: Body, mass: float, com: np.ndarray, tensor: np.ndarray, reach: float) -> list[str]:
    out = []
    moments = np.linalg.eigvalsh(tensor)
    shown = ", ".join(f"{m:.4g}" for m in moments)
    if not is_physical(tensor):
        out.append(f"body {body.name!r} has the principal moments {shown} kg m^2, which no distribution of mass has")
    if not mass and tensor.any():
        out.append(f"body {body.name!r} has moments of inertia ({shown} kg m^2), but no mass")
    off = float(np.linalg.norm(com))
    if mass and reach and off > FAR * reach:
        out.append(
            f"body {body.name!r} has its centre of mass {off:.4g} m from its frame, while its joints and shapes end at "
            f"{reach:.4g} m: is it in mm?"
        )
    if mass and tensor.any():
        gyration = float(np.sqrt(max(moments.sum(), 0.0) / 2 / mass))
        if reach and gyration > FAR * (reach + off):
            out.append(
                f"body {body.name!r} has a radius of gyration of {gyration:.4g} m, while its joints and shapes end at "
                f"{reach:.4g} m: is its inertia about another point, or in other units?"
            )
        if reach > 100 * THIN and gyration < THIN:
            out.append(
                f"body {body.name!r} has a radius of gyration of {gyration:.2g} m: is its inertia in other units?"
            )
    return out


def _unmoved(mechanism: Mechanism, masses: dict[str, float]) -> list[str]:
    """Joints that move nothing with mass or inertia; a rotor is enough."""
    inert = {
        b.name
        for b in mechanism.bodies
        if not masses.get(b.name, 1.0) and (found := numbers_of(b.inertia)) is not None and not found.any()
    }
    out: list[str] = []
    for joint in reversed(mechanism.joints):  # children stand after parents
        if joint.child not in inert:
            inert.discard(joint.parent)
        elif has_coordinates(joint) and joint.rotor is None:
            out.append(
                f"joint {joint.name!r} moves nothing that has mass or inertia: its acceleration is not determined"
            )
    return out[::-1]


def _reach(mechanism: Mechanism) -> dict[str, float]:
    """Body -> distance from its frame to the farthest joint, frame or edge of a shape, m."""
    out: dict[str, float] = {}

    def far(body: str, position: np.ndarray | None, more: float = 0.0) -> None:
        if position is not None and body != WORLD:
            out[body] = max(out.get(body, 0.0), float(np.linalg.norm(position)) + more)

    for joint in mechanism.joints:
        far(joint.parent, numbers_of(joint.placement.position))
    for body in mechanism.bodies:
        for frame in body.frames.values():
            far(body.name, numbers_of(frame.position))
        for shape in body.shapes:
            place = np.zeros(3) if shape.placement is None else numbers_of(shape.placement.position)
            size = _size(shape)
            if size:
                far(body.name, place, size)
            else:
                out.pop(body.name, None)  # a mesh may reach anywhere
                break
        else:
            continue
        out[body.name] = 0.0
    return out


def _size(shape: Shape) -> float:
    """Half the largest size; 0 where it is not known."""
    return 0.0 if shape.kind == "mesh" or not shape.size else max(float(s) for s in shape.size)
