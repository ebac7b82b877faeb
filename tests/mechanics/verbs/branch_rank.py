"""The number of base parameters of closed loops once more: an SVD of the regressor along one branch, in small steps.

The oracle is the reference's mechanics (`symbody/reference`, plain NumPy from the records of a Mechanism) and its own
walks: steps of at most 0.01 or 0.05 (rad, or of the mechanism's length) that close by Newton's method in four steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.model.record.mechanism import Mechanism
from symbody.reference.bodies import NumericModel
from symbody.reference.body_dynamics import BodyMotion
from symbody.reference.closed_search import advanced, null_space, scales
from symbody.reference.closures import Closures
from symbody.reference.linear_parameters import effort_columns, parameter_count

LANES = 20  # walks at once
ZERO = 1e-8  # of the largest singular value of J
ROUNDING = 1e-12  # of what a column has in the opened tree, or the largest has


@dataclass(frozen=True, eq=False)
class BranchRank:
    """rank of the projected regressor at so many states; gap: its last singular value that counts by the next."""

    rank: int
    gap: float
    states: int


def branch_rank(mech: Mechanism, home: np.ndarray, steps: int = 100, stride: float = 0.01, seed: int = 0) -> BranchRank:
    """On the branch of the closed position home (nq,); the rank is where the singular values fall most."""
    model = NumericModel(mech)
    closures, unit = Closures(model), scales(model)
    q = _along(model, closures, unit, home, steps, stride, seed)
    rng = np.random.default_rng(seed + 100)
    J = closures.jacobian(q) * unit
    s = np.linalg.svd(J, compute_uv=False)
    ranks = (s > ZERO * s[:, :1]).sum(axis=1)
    assert (ranks == ranks[0]).all(), "the walks crossed a drop of rank"
    free = unit[None, :, None] * np.array([null_space(a, int(ranks[0])) for a in J])
    qd, qdd = (np.einsum("nij,nj->ni", free, rng.normal(size=(len(q), free.shape[2]))) for _ in range(2))
    bias = closures.rows(BodyMotion(model, q, qd, qdd)).hdd
    qdd = qdd - unit * _least_norm(J, bias)
    whole, _ = effort_columns(BodyMotion(model, q, qd, qdd), range(parameter_count(model)))
    rows = np.einsum("nvu,nvp->nup", free, whole).reshape(-1, whole.shape[2])
    tree = np.linalg.norm((unit[:, None] * whole).reshape(-1, whole.shape[2]), axis=0)
    size = np.linalg.norm(rows, axis=0)
    felt = (size > ROUNDING * tree) & (size > ROUNDING * size.max())
    values = np.linalg.svd(rows[:, felt] / size[felt], compute_uv=False)
    values = np.append(values / values[0], 1e-16)
    falls = values[:-1] / np.maximum(values[1:], 1e-16)
    rank = int(np.argmax(falls)) + 1
    return BranchRank(rank, float(falls[rank - 1]), len(q))


def _along(
    model: NumericModel, closures: Closures, unit: np.ndarray, home: np.ndarray, steps: int, stride: float, seed: int
) -> np.ndarray:
    """(n, nq) positions of walks that go straight on from home."""
    rng = np.random.default_rng(seed)
    q = np.repeat(home[None], LANES, axis=0)
    count = closures.gap(q).shape[1]
    heading = rng.normal(size=(LANES, model.nv))
    speed = stride * rng.uniform(0.3, 1.0, (LANES, 1))  # else walks of one freedom meet the same positions
    out = []
    for k in range(steps):
        _, s, vh = np.linalg.svd(closures.jacobian(q)[:, :count] * unit)
        tangent = vh[:, int((s[0] > ZERO * s[0, 0]).sum()) :]
        heading = np.einsum("nki,nk->ni", tangent, np.einsum("nki,ni->nk", tangent, heading))
        heading = heading / np.abs(heading).max(axis=1, keepdims=True)
        new = advanced(model, q, speed * heading * unit)
        for _ in range(4):
            J = closures.jacobian(new)[:, :count] * unit
            new = advanced(model, new, -unit * _least_norm(J, closures.gap(new)))
        assert np.abs(closures.gap(new)).max() < 1e-11
        assert np.abs(new - q).max() < 5 * stride * max(1.0, model.size), "a jump to another branch"
        q = new
        if k % 4 == 3:
            out.append(q)
    return np.concatenate(out)


def _least_norm(J: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.einsum("nij,nj->ni", np.linalg.pinv(J, rcond=ZERO), right)
