"""A Mechanism by numbers: where its bodies are at given coordinates, without any equation being made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.errors import ModelError, Named, ShapeError
from symbody.expr.evaluate import evaluate
from symbody.expr.node import Node
from symbody.expr.walk import free_symbols
from symbody.model.given import given_numbers
from symbody.model.joints import KINDS
from symbody.model.mechanism import WORLD, Joint, Mechanism, has_coordinates

Pose = tuple[np.ndarray, np.ndarray]  # rotation (3, 3) and position (3,) in the world
NEUTRAL: dict[str, list[float]] = {"B": [1, 0, 0, 0], "F": [0, 0, 0, 1, 0, 0, 0]}


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbers of a Mechanism that its poses need.

    values      value of every symbol of the description
    placements  rotation and position of each joint's frame in its parent
    axes        direction of each elementary motion of a joint, None for balls and free bodies
    """

    mechanism: Mechanism
    values: dict[Node, float]
    placements: dict[str, Pose]
    axes: dict[str, list[np.ndarray | None]]

    def of(self, nodes: Any) -> np.ndarray:
        """Values of an array of nodes, in its shape."""
        array = np.asarray(nodes, dtype=object)
        return np.array([float(x) for x in evaluate(list(array.flat), self.values)]).reshape(array.shape)

    def frame(self, pose: Pose, body: str, frame: str) -> Pose:
        """Pose of a named frame of a body that has a pose; "" is the body itself."""
        if not frame:
            return pose
        placed = self.mechanism.body(body).frames[frame]
        return pose[0] @ self.of(placed.rotation), pose[1] + pose[0] @ self.of(placed.position)

    def poses(self, q: np.ndarray) -> dict[str, Pose]:
        """Pose of every body at q (nq,), the world included."""
        own = split(self.mechanism, q)
        poses: dict[str, Pose] = {WORLD: (np.eye(3), np.zeros(3))}
        for joint in self.mechanism.joints:
            rotation, position = poses[joint.parent]
            turn, shift = self.placements[joint.name]
            poses[joint.child] = self._moved((rotation @ turn, position + rotation @ shift), joint, own)
        return poses

    def _moved(self, pose: Pose, joint: Joint, own: Mapping[str, np.ndarray]) -> Pose:
        """A joint's frame after the joint's motions, each in the frame that the one before has moved."""
        q, at = self._coordinates(joint, own), 0
        rotation, position = pose
        for (motion, _), axis in zip(KINDS[joint.kind].motions(joint), self.axes[joint.name]):
            if axis is None:
                if motion == "F":
                    position, at = position + rotation @ q[at : at + 3], at + 3
                rotation, at = rotation @ _from_quaternion(q[at : at + 4]), at + 4
                continue
            if motion in "TH":
                pitch = 1.0 if motion == "T" or joint.pitch is None else float(self.of([joint.pitch])[0])
                position = position + rotation @ axis * pitch * q[at]
            if motion in "RH":
                rotation = rotation @ _about(axis, float(q[at]))
            at += 1
        return rotation, position

    def _coordinates(self, joint: Joint, own: Mapping[str, np.ndarray]) -> np.ndarray:
        """One number for each elementary motion of a joint (four and seven for balls and free bodies)."""
        if joint.name in own:
            q = own[joint.name]
            return np.array([q[0] + q[1]]) if joint.elastic is not None else q
        if joint.mimic is not None and joint.mimic.joint in own:
            ratio, offset = self.of([joint.mimic.ratio, joint.mimic.offset])
            return np.array([ratio * own[joint.mimic.joint][0] + offset])
        neutral = [x for motion, _ in KINDS[joint.kind].motions(joint) for x in NEUTRAL.get(motion, [0.0])]
        return self.of(joint.values) if len(joint.values) == len(neutral) else np.array(neutral)


def numbers(mechanism: Mechanism, parameters: Mapping[str, float] | None = None) -> Numbers:
    """The numbers of a Mechanism: given values, else defaults, time zero; a parameter with neither is named."""
    made = Numbers(mechanism, _values(mechanism, parameters or {}), {}, {})
    for joint in mechanism.joints:
        made.placements[joint.name] = made.of(joint.placement.rotation), made.of(joint.placement.position)
        made.axes[joint.name] = [
            made.of(joint.axis) if letter == "u" else np.eye(3)["xyz".index(letter)] if letter else None
            for _, letter in KINDS[joint.kind].motions(joint)
        ]
    return made


def body_poses(mechanism: Mechanism, q: Any = None, parameters: Mapping[str, float] | None = None) -> dict[str, Pose]:
    """Rotation and position in the world of every body at q (nq,), by numbers."""
    return numbers(mechanism, parameters).poses(checked(mechanism, q))


def checked(mechanism: Mechanism, q: Any) -> np.ndarray:
    """(nq,) the given coordinates, or those of rest."""
    given = rest_coordinates(mechanism) if q is None else np.asarray(q, dtype=float).ravel()
    if len(given) != mechanism.nq:
        raise ShapeError(f"show was given {len(given)} coordinates; {mechanism.name} has nq {mechanism.nq}.")
    return given


def rest_coordinates(mechanism: Mechanism) -> np.ndarray:
    """(nq,) zeros, with the quaternion (1, 0, 0, 0) for balls and free bodies."""
    out: list[float] = []
    for joint in mechanism.joints:
        if has_coordinates(joint):
            for motion, _ in KINDS[joint.kind].motions(joint):
                out += NEUTRAL.get(motion, [0])
            out += [0] * (joint.elastic is not None)
    return np.array(out, dtype=float)


def split(mechanism: Mechanism, q: np.ndarray) -> dict[str, np.ndarray]:
    """The part of q (nq,) of each joint that has coordinates."""
    own: dict[str, np.ndarray] = {}
    at = 0
    for joint in mechanism.joints:
        if has_coordinates(joint):
            size = KINDS[joint.kind].nq(joint)
            own[joint.name] = q[at : at + size]
            at += size
    return own


def _about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues: 1 + sin(a) K + (1 - cos(a)) K K."""
    cross = _cross(axis)
    out: np.ndarray = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return out


def _from_quaternion(p: np.ndarray) -> np.ndarray:
    """1 + 2 w K + 2 K K of the unit quaternion (w, x, y, z), with K the cross product matrix of (x, y, z)."""
    w, *xyz = p / np.linalg.norm(p)
    cross = _cross(xyz)
    out: np.ndarray = np.eye(3) + 2 * w * cross + 2 * (cross @ cross)
    return out


def _cross(v: Any) -> np.ndarray:
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def _values(mechanism: Mechanism, parameters: Mapping[str, float]) -> dict[Node, float]:
    given = given_numbers(mechanism, parameters)
    out: dict[Node, float] = {}
    for symbol in free_symbols(mechanism.values()):
        value = given.get(symbol.data.name, symbol.data.default)
        if value is None:
            if symbol.data.role == "parameter":
                told = f"parameter {symbol.data.name!r} has no default. Give "
                raise ModelError(told, Named("parameters", "{...}"), " with its value.")
            value = 0.0
        out[symbol] = float(value)
    return out
