"""Motion of frames as others see them, and their Jacobians; laws of driven joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from symbody.model.record.mechanism import Joint
from symbody.reference.bodies import BodyPose, NumericModel, coordinates, frame_pose, hamilton, poses
from symbody.reference.body_dynamics import BodyMotion
from symbody.reference.expressions import ParameterNumbers, power
from symbody.reference.jets import Array, Jet, apply, dot, matmul, quaternion_turn, scaled, stack, transpose

Frame = tuple[str, str]  # body, frame of it ("": its own)
GROUND: Frame = ("world", "")
TINY = 1e-30  # complex step


@dataclass(frozen=True, eq=False)
class RelativeMotion:
    """Motion of a frame (n, ...) as a reference frame sees it, in its axes; J, Jd (n, 6, nv) angular first."""

    R: Array
    p: Array
    omega: Array
    v: Array
    alpha: Array
    a: Array
    J: Array
    Jd: Array


def relative(pose: BodyPose, base: BodyPose) -> BodyPose:
    """A pose as another frame sees it."""
    back = transpose(base.rotation)
    return BodyPose(matmul(back, pose.rotation), apply(back, pose.position - base.position))


def jacobians(model: NumericModel, q: Array, frames: Sequence[Frame], base: Frame = GROUND) -> list[Array]:
    """(n, 6, nv) of each frame, from the derivatives of its pose; q (n, nq) may be complex."""
    n, nv = len(q), model.nv
    seeds = coordinates(model, q[:, None, :], np.broadcast_to(np.eye(nv), (n, nv, nv)))
    at = poses(model, seeds)
    like = at[0].position[..., 0]
    ground = frame_pose(model, at, *base, like)
    out = []
    for frame in frames:
        seen = relative(frame_pose(model, at, *frame, like), ground)
        both = [np.broadcast_to(x, (n, nv, 3)) for x in (seen.omega, seen.position.x1)]
        out.append(np.swapaxes(np.concatenate(both, axis=-1), 1, 2))
    return out


def seen(motion: BodyMotion, frames: Sequence[Frame], base: Frame = GROUND) -> list[RelativeMotion]:
    """Motion of each frame relative to `base`, to second order."""
    model, n = motion.model, motion.count
    first = jacobians(model, motion.q, frames, base)
    later = jacobians(model, motion.q + 1j * TINY * motion.coordinates.x1, frames, base)
    like = motion.poses[0].position[..., 0]
    ground = frame_pose(model, motion.poses, *base, like)
    out = []
    for frame, J, moved in zip(frames, first, later, strict=True):
        pose = relative(frame_pose(model, motion.poses, *frame, like), ground)
        rotation, position = pose.rotation, pose.position
        vectors = (position.x, pose.omega, position.x1, pose.alpha, position.x2)
        p, omega, v, alpha, a = (np.broadcast_to(x, (n, 3)) for x in vectors)
        R = np.broadcast_to(rotation.x, (n, 3, 3))
        out.append(RelativeMotion(R, p, omega, v, alpha, a, J, np.imag(moved) / TINY))
    return out


def prescribed(number: ParameterNumbers, joint: Joint, t: float) -> tuple[Array, Array, Array]:
    """(q, qd, qdd) of a driven joint at a time, by its laws; a quaternion is scaled to unit length."""
    clock = Jet(np.array(t), np.array(1.0), np.array(0.0))
    laws = stack([number.jet(law, {"t": clock}) for law in joint.values])
    if joint.kind not in ("ball", "free"):
        return laws.x, laws.x1, laws.x2
    raw = laws[..., -4:]
    unit = scaled(raw, power(dot(raw, raw), -0.5))
    # omega = 2 (conjugate of u) u'; its rate has u'' in the place of u', since u' and u' give no vector
    omega, turning = (2 * _vector_of(unit.x, rate) for rate in (unit.x1, unit.x2))
    if joint.kind == "ball":
        return unit.x, omega, turning
    place = laws[..., :3]
    back = transpose(quaternion_turn(unit))
    velocity = apply(Jet(back.x, back.x1), Jet(place.x1, place.x2))
    return (
        np.concatenate([place.x, unit.x]),
        np.concatenate([omega, velocity.x]),
        np.concatenate([turning, velocity.x1]),
    )


def _vector_of(u: Array, rate: Array) -> Array:
    """Vector part of (conjugate of u) times rate, both (4,)."""
    conjugate = np.concatenate([u[:1], -u[1:]])
    return np.asarray(conjugate[1:] * rate[0] + hamilton(conjugate, rate[1:])[1:])
