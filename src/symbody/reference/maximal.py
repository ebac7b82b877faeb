"""Six coordinates for every body: one dense system for all accelerations, wrenches of joints and multipliers.

    Newton and Euler, each body       I a - w_joint + w_joints of its children - H^T lam = given - gyroscopic
    joints, each body                 a - a_parent - S qdd = bias
    efforts, each velocity            S^T w - C^T lam = tau + laws
    loops                             H a + C qdd = bias

Where rows of loops depend on each other the solution of least norm is taken: the motion is the same for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.reference.bodies import WORLD
from symbody.reference.body_dynamics import BodyMotion
from symbody.reference.closures import Closures
from symbody.reference.jets import Array, cross_matrix


@dataclass(frozen=True, eq=False)
class MaximalSolution:
    """qdd (n, nv); wrenches (n, bodies, 6) of joints about the world's origin; efforts (n, nv) of the loops, J^T lam.

    driven (n, driven velocities): efforts of driven joints; residual (n,) of the system over its right side
    """

    qdd: Array
    wrenches: Array
    loops: Array
    driven: Array
    residual: Array


def solve(motion: BodyMotion, closures: Closures, tau: Array, qdd_driven: Array | None = None) -> MaximalSolution:
    """Accelerations and multipliers of a BodyMotion whose qdd are zero, for efforts tau (n, nv)."""
    model, n = motion.model, motion.count
    bodies, nv, driven = len(model.parts), model.nv, model.driven
    maps = closures.body_maps(motion)
    cut_count = sum(h.shape[1] for _, h, _ in maps)
    joints = closures.coupling_maps(motion)
    loops = cut_count + joints.shape[1]
    at_a, at_q = 0, 6 * bodies
    at_w = at_q + nv
    at_l = at_w + 6 * bodies
    at_d = at_l + loops
    size = at_d + len(driven)
    system, right = np.zeros((n, size, size)), np.zeros((n, size))
    start = spatial_accelerations(motion)
    inertia = spatial_inertias(motion)
    rows = closures.rows(motion)

    def body(offset: int, b: int) -> slice:
        return slice(offset + 6 * b, offset + 6 * b + 6)

    forces = motion.given_wrenches - motion.inertia_wrenches + np.einsum("nbij,nbj->nbi", inertia, start)
    for b, part in enumerate(model.parts):
        newton, joint = body(0, b), body(6 * bodies, b)
        system[:, newton, body(at_a, b)] = inertia[:, b]
        system[:, newton, body(at_w, b)] -= np.eye(6)
        right[:, newton] = forces[:, b]
        system[:, joint, body(at_a, b)] = np.eye(6)
        system[:, joint, at_q : at_q + nv] = -motion.relative[:, b]
        right[:, joint] = start[:, b]
        if part.parent != WORLD:
            system[:, body(0, part.parent), body(at_w, b)] += np.eye(6)
            system[:, joint, body(at_a, part.parent)] -= np.eye(6)
            right[:, joint] -= start[:, part.parent]
        efforts = slice(12 * bodies, 12 * bodies + nv)
        system[:, efforts, body(at_w, b)] = np.swapaxes(motion.relative[:, b], 1, 2)
    first = 12 * bodies
    right[:, first : first + nv] = tau + motion.laws + motion.loads.efforts
    for reflected, part, step, axis, moment, ratio in motion.rotors():
        own, column = first + step.first_v, at_q + step.first_v
        system[:, own, column] += (step.scale * ratio) ** 2 * moment
        if not reflected:
            gain = step.scale * ratio * moment
            carrier = 6 * part.parent
            system[:, own, at_a + carrier : at_a + carrier + 3] += gain * axis.x
            system[:, carrier : carrier + 3, column] += gain * axis.x
    first, at = first + nv, 0
    index = {c.name: (model.index[c.first[0]], model.index[c.second[0]]) for c in closures.cuts}
    for name, one, two in maps:
        count = one.shape[1]
        here, columns = slice(first + at, first + at + count), slice(at_l + at, at_l + at + count)
        right[:, here] = -rows.hdd[:, at : at + count]
        for b, h in zip(index[name], (one, two), strict=True):
            if b == WORLD:
                continue
            system[:, here, body(at_a, b)] += h
            system[:, body(0, b), columns] -= np.swapaxes(h, 1, 2)
            right[:, here] += np.einsum("nij,nj->ni", h, start[:, b])
        at += count
    if joints.shape[1]:
        here, columns = slice(first + at, first + loops), slice(at_l + at, at_l + loops)
        system[:, here, at_q : at_q + nv] = joints
        system[:, 12 * bodies : 12 * bodies + nv, columns] = -np.swapaxes(joints, 1, 2)
        right[:, here] = -rows.hdd[:, at:]
    for k, velocity in enumerate(driven):
        system[:, 12 * bodies + velocity, at_d + k] = -1
        system[:, first + loops + k, at_q + velocity] = 1
        right[:, first + loops + k] = 0.0 if qdd_driven is None else qdd_driven[:, k]
    x = np.array([_least_norm(a, r) for a, r in zip(system, right, strict=True)])
    x = x.reshape(n, size)
    left = np.abs(np.einsum("nij,nj->ni", system, x) - right).max(axis=-1, initial=0.0)
    lam = x[:, at_l:at_d]
    slopes = closures.jacobian(motion.q, motion.t, motion.qd)
    return MaximalSolution(
        x[:, at_q:at_w],
        x[:, at_w:at_l].reshape(n, bodies, 6),
        np.einsum("nmi,nm->ni", slopes, lam),
        x[:, at_d:],
        left / np.maximum(np.abs(right).max(axis=-1, initial=0.0), 1e-300),
    )


def spatial_accelerations(motion: BodyMotion) -> Array:
    """(n, bodies, 6) rates of the twists."""
    out = []
    for pose in motion.poses:
        w, turning, p = pose.omega, pose.alpha, pose.position
        out.append(np.concatenate([turning, p.x2 - np.cross(turning, p.x) - np.cross(w, p.x1)], axis=-1))
    return np.stack(out, axis=1)


def spatial_inertias(motion: BodyMotion) -> Array:
    """(n, bodies, 6, 6) about the world's origin: momentum (angular, linear) by twists."""
    out = np.zeros((motion.count, len(motion.model.parts), 6, 6))
    for b, (part, pose, centre) in enumerate(zip(motion.model.parts, motion.poses, motion.centres, strict=True)):
        arm = cross_matrix(centre.x)
        out[:, b, :3, :3] = motion.tensor(part, pose).x - part.mass * arm @ arm
        out[:, b, :3, 3:] = part.mass * arm
        out[:, b, 3:, :3] = -part.mass * arm
        out[:, b, 3:, 3:] = part.mass * np.eye(3)
    return out


def _least_norm(system: Array, right: Array) -> Array:
    from scipy.linalg import lstsq

    return np.asarray(lstsq(system, right, cond=1e-12, lapack_driver="gelsy", check_finite=False)[0])
