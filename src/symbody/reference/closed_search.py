"""Closed positions, found by the reference itself: Levenberg-Marquardt on poses from many starts; ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.reference.bodies import NumericModel, coordinates
from symbody.reference.body_dynamics import BodyMotion
from symbody.reference.closures import Closures
from symbody.reference.jets import Array

CLOSED = 1e-11  # m or rad
ZERO, NONZERO = 1e-9, 1e-6  # singular values of J over the largest: no rank below, rank above, undecided between
STEPS = 60


@dataclass(frozen=True, eq=False)
class Positions:
    """Closed positions q (k, nq), the rank of J there (-1: undecided, near a singular position), and its condition."""

    q: Array
    rank: Array
    condition: Array

    def select(self, keep: Array) -> Positions:
        return Positions(self.q[keep], self.rank[keep], self.condition[keep])


def advanced(model: NumericModel, q: Array, step: Array) -> Array:
    """q moved by tangent increments (n, nv)."""
    return model.normalised(q + coordinates(model, q, step).x1)


def closed_positions(closures: Closures, starts: Array, t: float = 0.0) -> Positions:
    """Where the iteration arrives from each start (k, nq); those that do not close are left out."""
    model = closures.model
    q = model.normalised(starts)
    damping = np.full(len(q), 1e-2)
    h = closures.gap(q, t)
    size = np.sum(h * h, axis=-1)
    for _ in range(STEPS):
        busy = np.flatnonzero((size > CLOSED**2 / 100) & (damping < 1e8))
        if not len(busy):
            break
        slopes = closures.jacobian(q[busy], t)[:, : h.shape[-1]]
        normal = np.einsum("nmi,nmj->nij", slopes, slopes)
        right = np.einsum("nmi,nm->ni", slopes, h[busy])
        weight = damping[busy, None, None] * (np.eye(model.nv) * (1e-3 + np.einsum("nii->ni", normal)[:, :, None]))
        step = -np.linalg.solve(normal + weight, right[..., None])[..., 0]
        trial = advanced(model, q[busy], step)
        left = closures.gap(trial, t)
        value = np.sum(left * left, axis=-1)
        better = value < size[busy]
        take = busy[better]
        q[take], h[take], size[take] = trial[better], left[better], value[better]
        damping[busy] = np.where(better, np.maximum(damping[busy] / 10, 1e-14), damping[busy] * 5)
    return described(closures, polished(closures, q[np.sqrt(size) < 1e-6], t), t)


def polished(closures: Closures, q: Array, t: float = 0.0) -> Array:
    """Positions closed to the last digits by least-norm steps; those that do not close are left out."""
    for _ in range(4):
        h = closures.gap(q, t)
        if not len(q) or np.abs(h).max(initial=0.0) < 1e-14:
            break
        slopes = closures.jacobian(q, t)[:, : h.shape[-1]]
        q = advanced(closures.model, q, -np.einsum("nij,nj->ni", np.linalg.pinv(slopes, rcond=1e-8), h))
    return q[(np.abs(closures.gap(q, t)).max(axis=-1, initial=0.0) < CLOSED) & closures.upright(q)]


def described(closures: Closures, q: Array, t: float = 0.0) -> Positions:
    """Ranks at closed positions."""
    if not len(q):
        return Positions(q, np.zeros(0, dtype=int), np.zeros(0))
    values = singular_values(closures, q, t)
    if not values.shape[1]:  # all loops are open
        return Positions(q, np.zeros(len(q), dtype=int), np.ones(len(q)))
    share = values / np.maximum(values[:, :1], 1e-300)
    rank = np.sum(share > NONZERO, axis=-1)
    undecided = np.any((share > ZERO) & (share <= NONZERO), axis=-1)
    last = np.array([v[max(r - 1, 0)] for v, r in zip(share, rank, strict=True)])
    return Positions(q, np.where(undecided, -1, rank), 1 / np.maximum(last, 1e-300))


def scales(model: NumericModel) -> Array:
    """(nv,) unit of each velocity: rad/s, and the mechanism's length per second."""
    out = np.ones(model.nv)
    for step in model.free_steps():
        if step.kind == "slide":
            out[step.first_v] = model.size
        elif step.kind == "free":
            out[step.first_v + 3 : step.first_v + 6] = model.size
    return out


def singular_values(closures: Closures, q: Array, t: float = 0.0) -> Array:
    """(n, min(m, nv)) of J with columns in units of the mechanism."""
    slopes = closures.jacobian(q, t) * scales(closures.model)
    return np.linalg.svd(slopes, compute_uv=False)


def null_space(slopes: Array, rank: int) -> Array:
    """(nv, nv - rank) orthonormal columns that J does not see."""
    return np.linalg.svd(slopes, full_matrices=True)[2][rank:].T


def starts(model: NumericModel, count: int, seed: int, near: Array | None = None) -> Array:
    """Seeded random positions over all angles and the size of the mechanism; the first half lies around `near`."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1, 1, (count, model.nq)) * np.where(model.angles, np.pi, model.size)
    home = np.zeros((1, model.nq)) if near is None else np.atleast_2d(near)
    local = home[rng.integers(len(home), size=count // 2)]
    spread = np.where(model.angles, 0.6, 0.3 * model.size)
    q[: count // 2] = local + spread * rng.uniform(-1, 1, local.shape)
    for k in model.quaternions:
        part = rng.normal(size=(count, 4))
        part[: count // 2] = (1.0, 0.0, 0.0, 0.0) + 0.3 * part[: count // 2]
        q[:, k : k + 4] = part
    return model.normalised(q)


def consistent_velocities(closures: Closures, q: Array, qd: Array, t: float = 0.0) -> Array:
    """The velocities nearest to qd (n, nv) that keep the loops closed."""
    for _ in range(2):
        motion = BodyMotion(closures.model, q, qd, t=t)
        rate = closures.rows(motion).hd
        slopes = closures.jacobian(q, t, qd)
        qd = qd - np.einsum("nij,nj->ni", np.linalg.pinv(slopes, rcond=1e-9), rate)
    return qd
