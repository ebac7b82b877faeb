"""Inertia that joints of an MJCF file feel at its reference configuration, for springs given by their time constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from symbody.model.files.mjcf_geoms import MassProperties
from symbody.model.files.mjcf_tree import BodyRecord, JointRecord

SMALLEST = 1e-15
MOST = 2000  # velocities of one tree: its matrix is inverted
UNSURE = 1e14  # condition number of that matrix


@dataclass(frozen=True, eq=False)
class Felt:
    """Inertia that is felt at the reference configuration: M^-1 of each tree of bodies by itself.

    velocities: of a joint, in turn; names: of joints; places: of a velocity, its tree and its row there.
    """

    velocities: Mapping[JointRecord, list[int]]
    names: Mapping[str, JointRecord]
    places: Sequence[tuple[int, int]]
    inverses: Sequence[np.ndarray]

    def by(self, joint: JointRecord) -> float:
        """1 / mean of the joint's diagonal entries (of a free joint: over all six), as MuJoCo's dof_invweight0."""
        own = [self.places[k] for k in self.velocities[joint]]
        return 1 / max(SMALLEST, float(np.mean([self.inverses[tree][row, row] for tree, row in own])))

    def by_sum(self, coefficients: Mapping[str, float]) -> float:
        """1 / (c M^-1 c) of a sum of coordinates."""
        shares: dict[int, dict[int, float]] = {}
        for name, c in coefficients.items():
            for k in self.velocities[self.names[name]]:
                tree, row = self.places[k]
                shares.setdefault(tree, {})[row] = c
        total = 0.0
        for tree, row_of in shares.items():
            rows, share = list(row_of), np.array(list(row_of.values()))
            total += float(share @ self.inverses[tree][np.ix_(rows, rows)] @ share)
        return 1 / max(SMALLEST, total)


def felt_inertia(
    bodies: list[BodyRecord],
    masses: Mapping[BodyRecord, MassProperties],
    armature_of: Callable[[JointRecord], float],
    sums: Sequence[tuple[Mapping[str, float], float]],
) -> Felt:
    """sums: of fixed tendons, coefficients by joint and the inertia on their rate."""
    names = {joint.name: joint for body in bodies for joint in body.joints}
    sums = [(c, size) for c, size in sums if c and size]
    trees = _trees(bodies, names, [list(c) for c, _ in sums])
    columns: list[np.ndarray] = []  # (6,) each: angular, then linear at the world's origin
    places: list[tuple[int, int]] = []
    velocities: dict[JointRecord, list[int]] = {joint: [] for joint in names.values()}
    owners: list[list[JointRecord]] = [[] for _ in range(max(trees.values(), default=-1) + 1)]
    above: dict[BodyRecord, list[int]] = {bodies[0]: []}
    for body in bodies[1:]:
        assert body.parent is not None
        above[body] = list(above[body.parent])
        for joint in body.joints:
            for twist in _twists(joint, body):
                above[body].append(len(columns))
                velocities[joint].append(len(columns))
                places.append((trees[body], len(owners[trees[body]])))
                columns.append(twist)
                owners[trees[body]].append(joint)
                if len(owners[trees[body]]) > MOST:
                    raise joint.element.error(
                        "springdamper or dampratio ask for the inertia that joints feel, and those that move each "
                        f"other have more than {MOST} velocities; expected fewer, or stiffness and damping."
                    )
    matrices = [np.diag([_joint_armature(joint, armature_of) for joint in tree]) for tree in owners]
    for coefficients, size in sums:
        shares = [(k, c) for name, c in coefficients.items() for k in velocities[names[name]]]
        rows = [places[k][1] for k, _ in shares]
        share = np.array([c for _, c in shares])
        matrices[places[shares[0][0]][0]][np.ix_(rows, rows)] += size * np.outer(share, share)
    for body in bodies[1:]:
        given = masses[body]
        if not above[body] or not given.mass:
            continue
        rows = [places[k][1] for k in above[body]]
        j = np.array([columns[k] for k in above[body]]).T
        turn = body.world.rotation
        centre = body.world.position + turn @ given.com
        velocity = j[3:] + np.cross(j[:3], centre, axisa=0, axisc=0)
        tensor = turn @ given.tensor @ turn.T
        matrices[trees[body]][np.ix_(rows, rows)] += j[:3].T @ tensor @ j[:3] + given.mass * velocity.T @ velocity
    return Felt(velocities, names, places, [_inverse(m, tree) for m, tree in zip(matrices, owners)])


def _trees(
    bodies: list[BodyRecord], names: Mapping[str, JointRecord], together: list[list[str]]
) -> dict[BodyRecord, int]:
    """The number of the tree that a body is in; joints in one sum of coordinates make one tree of theirs."""
    top: dict[BodyRecord, BodyRecord] = {}
    carrier: dict[JointRecord, BodyRecord] = {}
    for body in bodies[1:]:
        assert body.parent is not None
        top[body] = body if body.parent is bodies[0] else top[body.parent]
        carrier |= dict.fromkeys(body.joints, body)
    joined = {body: body for body in top.values()}

    def root_of(body: BodyRecord) -> BodyRecord:
        while joined[body] is not body:
            joined[body] = body = joined[joined[body]]
        return body

    for joints in together:
        ends = [root_of(top[carrier[names[name]]]) for name in joints]
        for end in ends[1:]:
            joined[root_of(end)] = root_of(ends[0])
    numbers: dict[BodyRecord, int] = {}
    return {body: numbers.setdefault(root_of(start), len(numbers)) for body, start in top.items()}


def _joint_armature(joint: JointRecord, armature_of: Callable[[JointRecord], float]) -> float:
    return 0.0 if joint.element.tag == "freejoint" else armature_of(joint)


def _inverse(matrix: np.ndarray, owners: list[JointRecord]) -> np.ndarray:
    if not owners:
        return matrix
    sizes = np.diag(matrix)
    good = bool(sizes.min() > 0)
    if good:
        scale = 1 / np.sqrt(sizes)
        scaled = matrix * np.outer(scale, scale)
        try:
            inverse = np.linalg.inv(scaled)
        except np.linalg.LinAlgError:
            good = False
        else:
            good = float(np.linalg.norm(scaled, 1) * np.linalg.norm(inverse, 1)) < UNSURE
    if not good:
        still = owners[int(np.argmin(sizes))]
        raise still.element.error(
            f"springdamper or dampratio ask for the inertia that joints feel, but joint {still.name!r} moves none; "
            "expected an inertia, or stiffness and damping."
        )
    out: np.ndarray = inverse * np.outer(scale, scale)
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
