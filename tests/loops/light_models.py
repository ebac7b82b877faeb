"""Parallel robots with the simplification that is usual for them: the links between motors and platform have no mass.

Table 2.1 of robotran counts such models: its 60 operations of the Delta robot are one inertia for each arm, three for
the platform; the bundled `delta` and `stewart` have heavy forearms and legs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import symbody as sb
from symbody.model.mechanism import Body, Joint, Mechanism, Placement, Rotor


def light_delta() -> Mechanism:
    """The bundled Delta robot; half of each forearm's mass is a point at the elbow, half is on the platform."""
    mech = sb.load("delta")
    p = mech.parameters
    half, length = p["m2"] / 2, p["L1"]
    bodies = []
    for body in mech.bodies:
        if body.name.startswith("arm"):
            mass = body.mass + half
            com = (body.mass * length / 2 + half * length) / mass
            about = body.mass * length**2 / 3 + half * length**2 - mass * com**2
            bodies.append(_with(body, mass, [com, 0, 0], [0, about, about]))
        elif body.name.startswith("fore"):
            bodies.append(_with(body, 0, [0, 0, 0], [0, 0, 0]))
        else:
            bodies.append(replace(body, mass=body.mass + 3 * half))
    return mech.replace(name="light_delta", bodies=tuple(bodies))


def light_stewart() -> Mechanism:
    """The bundled Stewart platform on legs without mass; its frame stands at its centre of mass, and the pistons are
    screws: the inertia of their rotors, `screw` (kg), is all that moves with a leg."""
    mech = sb.load("stewart")
    p = mech.parameters
    bodies, joints = [], []
    for body in mech.bodies:
        if body.name != "platform":
            bodies.append(_with(body, 0, [0, 0, 0], [0, 0, 0]))
            continue
        frames = {n: _lowered(f, p["c3"]) for n, f in body.frames.items()}
        bodies.append(replace(body, com=_nodes(body.mass, [0, 0, 0]), frames=frames))
    screw = mech.parameters["m2"]
    one = screw / screw
    for joint in mech.joints:
        joints.append(_screw(joint, screw, one) if joint.name.startswith("piston") else joint)
        if joint.name == "platform":
            joints[-1] = replace(joint, placement=_lowered(joint.placement, -p["c3"]))
    return mech.replace(name="light_stewart", bodies=tuple(bodies), joints=tuple(joints))


def _screw(joint: Joint, inertia: Any, ratio: Any) -> Joint:
    return replace(joint, rotor=Rotor(inertia, ratio))


def _lowered(placement: Placement, by: Any) -> Placement:
    x, y, z = placement.position
    return replace(placement, position=_nodes(by, [x, y, z - by]))


def _with(body: Body, mass: Any, com: list[Any], moments: list[Any]) -> Body:
    like = body.mass
    tensor = _nodes(like, [moments[i] if i == j else 0 for i in range(3) for j in range(3)]).reshape(3, 3)
    return replace(body, mass=_nodes(like, [mass])[0], com=_nodes(like, com), inertia=tensor)


def _nodes(like: Any, values: list[Any]) -> np.ndarray:
    zero = like - like
    return np.array([zero + v for v in values], dtype=object)
