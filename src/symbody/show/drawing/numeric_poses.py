"""A Mechanism by numbers: where its bodies are at given coordinates, without any equation being made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, Named, ShapeError, array_argument, wrong_argument
from symbody.model.record.coordinates import neutral
from symbody.model.record.elementary_motions import MOTIONS, Motion, pose_along
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import WORLD, Joint, Mechanism
from symbody.model.record.parameter_values import given_numbers
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols

Pose = tuple[np.ndarray, np.ndarray]  # rotation (3, 3) and position (3,) in the world


@dataclass(frozen=True, eq=False)
class PoseNumbers:
    """The numbers of a Mechanism that its poses need.

    values      value of every symbol of the description
    placements  rotation and position of each joint's frame in its parent
    axes        direction of each elementary motion of a joint, None of one that has none
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
            if self.mechanism.body(joint.child).coordinates:
                motion = MOTIONS[self.mechanism.body(joint.child).coordinates]
                poses[joint.child] = _after(poses[joint.child], motion, None, 0.0, own[joint.child, "body"])
        return poses

    def _moved(self, pose: Pose, joint: Joint, own: Mapping[tuple[str, str], np.ndarray]) -> Pose:
        """A joint's frame after the joint's motions, each in the frame that the one before has moved."""
        q, at = self._coordinates(joint, own), 0
        for (motion, _), axis in zip(KINDS[joint.kind].motions(joint), self.axes[joint.name]):
            pitch = 0.0 if joint.pitch is None else float(self.of([joint.pitch])[0])
            pose, at = _after(pose, motion, axis, pitch, q[at : at + motion.nq]), at + motion.nq
        return pose

    def _coordinates(self, joint: Joint, own: Mapping[tuple[str, str], np.ndarray]) -> np.ndarray:
        """The coordinates of a joint's elementary motions, whether it owns them, follows another or is locked."""
        if (joint.name, "joint") in own:
            q = own[joint.name, "joint"]
            return np.array([q[0] + q[1]]) if joint.elastic is not None else q
        if joint.mimic is not None and (joint.mimic.joint, "joint") in own:
            if joint.kind == "ball":
                return own[joint.mimic.joint, "joint"]
            ratio, offset = self.of([joint.mimic.ratio, joint.mimic.offset])
            return np.array([ratio * own[joint.mimic.joint, "joint"][0] + offset])
        neutral = [x for motion, _ in KINDS[joint.kind].motions(joint) for x in motion.neutral]
        return self.of(joint.values) if len(joint.values) == len(neutral) else np.array(neutral)


def numbers(mechanism: Mechanism, parameters: Mapping[str, float] | None = None) -> PoseNumbers:
    """The numbers of a Mechanism: given values, else defaults, time zero; a parameter with neither is named."""
    made = PoseNumbers(mechanism, _values(mechanism, parameters or {}), {}, {})
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
    given = neutral(mechanism) if q is None else array_argument("q", q, "numbers (nq,)").ravel()
    if len(given) != mechanism.nq:
        raise ShapeError(f"show was given {len(given)} coordinates; {mechanism.name} has nq {mechanism.nq}.")
    if not np.isfinite(given).all():
        raise wrong_argument("q", q, "finite numbers (nq,)")
    return given


def split(mechanism: Mechanism, q: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """(owner, "joint" or "body") -> its part of q (nq,)."""
    return {(s.owner, "body" if s.joint is None else "joint"): q[s.q] for s in mechanism.slots}


def _after(pose: Pose, motion: Motion, axis: np.ndarray | None, pitch: float, q: np.ndarray) -> Pose:
    """A frame after an elementary motion about or along a direction (3,) of it, None for one that has none."""
    rotation, position = pose
    turn, shift = pose_along(motion, axis, pitch, q)
    return rotation @ turn, position + rotation @ shift


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
