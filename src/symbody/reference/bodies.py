"""Numbers of a Mechanism and the motion of its bodies: poses as Jets, and twists and accelerations read off them.

Vectors are in world axes. A twist is (omega, velocity of the body's material point that is at the world's origin), a
wrench (moment about the world's origin, force): both are free of arms, so that they add up from body to body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.model.record.mechanism import Joint, Mechanism
from symbody.reference.expressions import ParameterNumbers
from symbody.reference.jets import Array, Jet, apply, axial, constant, matmul, quaternion_turn, scaled, turn
from symbody.reference.joint_steps import JointStep, Places, places_of, steps_of

WORLD = -1


@dataclass(frozen=True, eq=False)
class BodyPart:
    """A body with numbers, and the joint that carries it.

    parent     index of the parent's BodyPart, -1: the world
    rotation, position   of the joint frame in the parent's frame
    moves      whether anything between it and the world moves
    """

    name: str
    joint: Joint
    parent: int
    rotation: Array
    position: Array
    steps: tuple[JointStep, ...]
    mass: float
    com: Array
    inertia: Array
    moves: bool


class NumericModel:
    """A Mechanism with numbers for its parameters: Parts in the order of the joints, parents first.

    foreign: rows of force elements by kind that are not transcribed here; their laws are called as they are
    """

    def __init__(
        self,
        mechanism: Mechanism,
        values: Mapping[str, float] | None = None,
        foreign: Mapping[str, Any] | None = None,
    ) -> None:
        self.mechanism, self.foreign = mechanism, dict(foreign or {})
        self.number = ParameterNumbers(values or {})
        self.places: Places = places_of(mechanism)
        self.nq, self.nv = self.places.nq, self.places.nv
        self.gravity = self.number(mechanism.gravity)
        self.index: dict[str, int] = {"world": WORLD}
        self.parts: list[BodyPart] = []
        bodies = {b.name: b for b in mechanism.bodies}
        for joint in mechanism.joints:
            body, parent = bodies[joint.child], self.index[joint.parent]
            steps = tuple(steps_of(joint, self.places, self.number))
            moving = any(s.value is None for s in steps) or (parent >= 0 and self.parts[parent].moves)
            place = joint.placement
            self.index[joint.child] = len(self.parts)
            self.parts.append(
                BodyPart(
                    body.name, joint, parent, self.number(place.rotation), self.number(place.position), steps,
                    self.number(body.mass), self.number(body.com), self.number(body.inertia), moving,
                )
            )  # fmt: skip
        self.frames = {
            (b.name, name): (self.number(p.rotation), self.number(p.position))
            for b in mechanism.bodies
            for name, p in b.frames.items()
        }

    @cached_property
    def ancestry(self) -> list[list[int]]:
        """For every BodyPart, the BodyParts from it down to the world."""
        out: list[list[int]] = []
        for k, part in enumerate(self.parts):
            out.append([k, *(out[part.parent] if part.parent >= 0 else [])])
        return out

    @cached_property
    def angles(self) -> Array:
        """(nq,) whether a coordinate is an angle; lengths and quaternions are none."""
        out = np.zeros(self.nq, dtype=bool)
        for step in self.free_steps():
            out[step.first_q] = step.kind in ("turn", "screw")
        return out

    @cached_property
    def quaternions(self) -> list[int]:
        """Places of all quaternions in q."""
        return [s.first_q + (3 if s.kind == "free" else 0) for s in self.free_steps() if s.kind in ("ball", "free")]

    def free_steps(self) -> list[JointStep]:
        """Motions that own coordinates, in the order of q."""
        return [s for p in self.parts for s in p.steps if s.value is None and p.joint.mimic is None]

    @cached_property
    def size(self) -> float:
        """A length of the mechanism, m: the largest offset of a joint or a frame, else 1."""
        offsets = [*(p.position for p in self.parts), *(p for _, p in self.frames.values())]
        return max((float(np.linalg.norm(p)) for p in offsets), default=0.0) or 1.0

    @cached_property
    def driven(self) -> list[int]:
        """Velocities of driven joints."""
        out: list[int] = []
        for joint in self.mechanism.joints:
            if joint.mode == "driven" and joint.name in self.places.of:
                _, _, first, count = self.places.of[joint.name]
                out += range(first, first + count)
        return out

    @cached_property
    def actuated(self) -> list[int]:
        """Velocities on which an effort may act: not passive ones, nor deflections."""
        out: list[int] = []
        for joint in self.mechanism.joints:
            if joint.name in self.places.of and joint.mode in ("actuated", "driven"):
                _, _, first, count = self.places.of[joint.name]
                out += range(first, first + count - (joint.elastic is not None))
        return out

    def normalised(self, q: Array) -> Array:
        """q with quaternions of unit length."""
        q = np.array(q, dtype=float)
        for k in self.quaternions:
            q[..., k : k + 4] /= np.linalg.norm(q[..., k : k + 4], axis=-1, keepdims=True)
        return q


def hamilton(p: Array, w: Array) -> Array:
    """Quaternion p (..., 4) times the pure quaternion (0, w), w (..., 3)."""
    scalar, vector = p[..., :1], p[..., 1:]
    return np.concatenate([-np.sum(vector * w, axis=-1, keepdims=True), scalar * w + np.cross(vector, w)], axis=-1)


def coordinates(model: NumericModel, q: Array, qd: Array, qdd: Array | None = None) -> Jet:
    """q (..., nq) along the motion with velocities qd (..., nv): q' = N qd, and q'' where qdd is given."""
    shape = np.broadcast_shapes(q.shape[:-1], qd.shape[:-1])
    kind = np.result_type(q, qd, float)
    first = np.zeros((*shape, model.nq), kind)
    second = np.zeros((*shape, model.nq), kind)
    for step in model.free_steps():
        iq, iv = step.first_q, step.first_v
        if step.kind not in ("ball", "free"):
            first[..., iq] = qd[..., iv]
            if qdd is not None:
                second[..., iq] = qdd[..., iv]
            continue
        w = qd[..., iv : iv + 3]
        iu = iq + (3 if step.kind == "free" else 0)
        u = q[..., iu : iu + 4]
        rate = hamilton(u, w) / 2
        first[..., iu : iu + 4] = rate
        if qdd is not None:
            second[..., iu : iu + 4] = (hamilton(rate, w) + hamilton(u, qdd[..., iv : iv + 3])) / 2
        if step.kind == "free":
            r = quaternion_turn(Jet(u, rate))
            v = qd[..., iv + 3 : iv + 6]
            first[..., iq : iq + 3] = np.einsum("...ij,...j->...i", r.x, v)
            if qdd is not None:
                a = qdd[..., iv + 3 : iv + 6]
                second[..., iq : iq + 3] = np.einsum("...ij,...j->...i", r.x1, v) + np.einsum(
                    "...ij,...j->...i", r.x, a
                )
    return Jet(q, first, None if qdd is None else second)


@dataclass(frozen=True, eq=False)
class BodyPose:
    """Rotation (..., 3, 3) body to world axes, and origin (..., 3)."""

    rotation: Jet
    position: Jet

    def point(self, local: Array) -> Jet:
        """A point that is fixed to the body."""
        return self.position + apply(self.rotation, constant(local, self.position))

    def moved(self, rotation: Array, position: Array) -> BodyPose:
        """The pose of a frame that is fixed to the body."""
        return BodyPose(matmul(self.rotation, constant(rotation, self.rotation)), self.point(position))

    @property
    def omega(self) -> Array:
        return axial(np.matmul(self.rotation.x1, np.swapaxes(self.rotation.x, -1, -2)))

    @property
    def alpha(self) -> Array:
        return axial(np.matmul(self.rotation.x2, np.swapaxes(self.rotation.x, -1, -2)))

    @property
    def twist(self) -> Array:
        """(..., 6) of the material point at the world's origin."""
        w = self.omega
        return np.concatenate([w, self.position.x1 - np.cross(w, self.position.x)], axis=-1)


def poses(model: NumericModel, q: Jet) -> list[BodyPose]:
    """Poses of all Parts in world axes; q (..., nq) with its rates."""
    ground = BodyPose(_still(np.eye(3), q), _still(np.zeros(3), q))
    like = ground.position[..., 0]
    out: list[BodyPose] = []
    for part in model.parts:
        at = (out[part.parent] if part.parent >= 0 else ground).moved(part.rotation, part.position)
        for step in part.steps:
            at = _carried_out(step, at, q, like)
        out.append(at)
    return out


def _still(value: Array, q: Jet) -> Jet:
    """A Jet that does not change, with the leading dimensions of q."""

    def spread(like: Array, x: Array) -> Array:
        return np.broadcast_to(x, (*like.shape[:-1], *x.shape))

    zero = np.zeros_like(value)
    return Jet(spread(q.x, value), spread(q.x1, zero), None if q.x2 is None else spread(q.x2, zero))


def _carried_out(step: JointStep, at: BodyPose, q: Jet, like: Jet) -> BodyPose:
    if step.kind in ("ball", "free"):
        size = 4 if step.kind == "ball" else 7
        entries = constant(step.value, like) if step.value is not None else q[..., step.first_q : step.first_q + size]
        shifted = at.position + apply(at.rotation, entries[..., :3]) if size == 7 else at.position
        return BodyPose(matmul(at.rotation, quaternion_turn(entries[..., -4:])), shifted)
    value = constant(step.value[0], like) if step.value is not None else q[..., step.first_q] * step.scale + step.shift
    rotation, position = at.rotation, at.position
    if step.kind in ("slide", "screw"):
        along = value if step.kind == "slide" else value * step.pitch
        position = position + scaled(apply(rotation, constant(step.axis, like)), along)
    if step.kind in ("turn", "screw"):
        rotation = matmul(rotation, turn(step.axis, value))
    return BodyPose(rotation, position)


def frame_pose(model: NumericModel, at: list[BodyPose], body: str, frame: str, like: Jet) -> BodyPose:
    """Pose of a frame of a body; "" is the body's own, "world" the ground's."""
    if body == "world":
        return BodyPose(constant(np.eye(3), like), constant(np.zeros(3), like))
    pose = at[model.index[body]]
    if not frame:
        return pose
    if (body, frame) not in model.frames:
        raise ModelError(f"body {body!r} has no frame {frame!r}.")
    return pose.moved(*model.frames[body, frame])


def twist_maps(model: NumericModel, q: Array) -> Array:
    """(..., bodies, 6, nv): twists by velocities, from the derivatives of the poses along each velocity.

    q may be complex, for a complex step.
    """
    if not model.nv:
        return np.zeros((*q.shape[:-1], len(model.parts), 6, 0))
    moved = coordinates(model, q[..., None, :], np.broadcast_to(np.eye(model.nv), (*q.shape[:-1], model.nv, model.nv)))
    columns = [p.twist for p in poses(model, moved)]
    shape = (*q.shape[:-1], model.nv, 6)
    return np.stack([np.swapaxes(np.broadcast_to(c, shape), -1, -2) for c in columns], axis=-3)
