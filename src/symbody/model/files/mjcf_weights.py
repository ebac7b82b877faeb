"""Inertia that joints of an MJCF file feel at its reference configuration, for springs given by their time constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from symbody.model.files.mjcf_geoms import MassProperties
from symbody.model.files.mjcf_tree import BodyRecord, JointRecord

SMALLEST = 1e-15


def joint_inertias(
    bodies: list[BodyRecord],
    masses: Mapping[BodyRecord, MassProperties],
    armature_of: Callable[[JointRecord], float],
    sums: Sequence[tuple[Mapping[str, float], float]],
) -> dict[JointRecord, float]:
    """Joint -> 1 / mean of its diagonal entries of M^-1 (of a free joint: over all six), as MuJoCo's dof_invweight0.

    sums: of fixed tendons, coefficients by joint and the inertia on their rate
    """
    columns: list[np.ndarray] = []  # (6,) each: angular, then linear at the world's origin
    owners: list[JointRecord] = []
    above: dict[BodyRecord, list[int]] = {bodies[0]: []}
    armature: list[float] = []
    for body in bodies[1:]:
        assert body.parent is not None
        above[body] = list(above[body.parent])
        for joint in body.joints:
            for twist in _twists(joint, body):
                above[body].append(len(columns))
                columns.append(twist)
                owners.append(joint)
                armature.append(0.0 if joint.element.tag == "freejoint" else armature_of(joint))
    n = len(columns)
    if not n:
        return {}
    matrix = np.diag(np.array(armature))
    for coefficients, size in sums:
        row = np.array([coefficients.get(owner.name, 0.0) for owner in owners])
        matrix += size * np.outer(row, row)
    for body in bodies[1:]:
        places, given = above[body], masses[body]
        if not places or not given.mass:
            continue
        j = np.array([columns[k] for k in places]).T
        turn = body.world.rotation
        centre = body.world.position + turn @ given.com
        velocity = j[3:] + np.cross(j[:3], centre, axisa=0, axisc=0)
        tensor = turn @ given.tensor @ turn.T
        matrix[np.ix_(places, places)] += j[:3].T @ tensor @ j[:3] + given.mass * velocity.T @ velocity
    sizes = np.diag(matrix)
    if not sizes.min() > 0 or np.linalg.cond(matrix / np.sqrt(np.outer(sizes, sizes))) > 1e14:
        still = owners[int(np.argmin(sizes))]
        raise still.element.error(
            f"springdamper asks for the inertia that joints feel, but joint {still.name!r} moves none; expected an "
            "inertia, or stiffness and damping."
        )
    inverse = np.diag(np.linalg.inv(matrix))
    out: dict[JointRecord, float] = {}
    for joint in dict.fromkeys(owners):
        mean = float(np.mean([inverse[k] for k, owner in enumerate(owners) if owner is joint]))
        out[joint] = 1 / max(SMALLEST, mean)
    return out


def spring_damper(inertia: float, time: float, ratio: float) -> tuple[float, float]:
    """Stiffness and damping of a spring with this time constant and damping ratio on an inertia."""
    return inertia / max(SMALLEST, time**2 * ratio**2), 2 * inertia / max(SMALLEST, time)


def _twists(joint: JointRecord, body: BodyRecord) -> list[np.ndarray]:
    """At the reference configuration, where turns about other joints of the body are zero."""
    turn, place = body.world.rotation, body.world.position + body.world.rotation @ joint.anchor
    if joint.kind == "slide":
        return [np.r_[np.zeros(3), turn @ joint.axis]]
    axes = [turn @ joint.axis] if joint.kind == "hinge" else list(turn.T)
    turns = [np.r_[axis, np.cross(place, axis)] for axis in axes]
    shifts = [np.r_[np.zeros(3), unit] for unit in np.eye(3)] if joint.kind == "free" else []
    return [*shifts, *turns]
