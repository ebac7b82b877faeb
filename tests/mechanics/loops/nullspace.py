"""Accelerations of a closed mechanism in numbers, by an orthonormal basis of the motions that the loops allow.

A second road to what `reduced` and `augmented` compute: no partition, no elimination of symbols. It also serves where
the constraints are redundant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

TOLERANCE = 1e-10  # of singular values, relative to the largest


def accelerations(mass: Any, bias: Any, tau: Any, jacobian: Any, gamma: Any) -> np.ndarray:
    """qdd (nv,) of M qdd + c = tau + J^T lam, J qdd + gamma = 0, all numbers of one state.

    With J N = 0: qdd = p + N z, p = -J^+ gamma, (N^T M N) z = N^T (tau - c - M p).
    """
    mass, jacobian = np.asarray(mass, dtype=float), np.asarray(jacobian, dtype=float)
    basis = null_space(jacobian)
    particular = -np.linalg.lstsq(jacobian, np.asarray(gamma, dtype=float), rcond=TOLERANCE)[0]
    right = basis.T @ (np.asarray(tau, dtype=float) - bias - mass @ particular)
    return np.asarray(particular + basis @ np.linalg.solve(basis.T @ mass @ basis, right))


def null_space(jacobian: np.ndarray) -> np.ndarray:
    """(nv, f) orthonormal columns N with J N = 0."""
    if not jacobian.size:
        return np.eye(jacobian.shape[1])
    _, sizes, rows = np.linalg.svd(jacobian)
    rank = int(np.sum(sizes > TOLERANCE * max(sizes[0], 1e-300)))
    return np.asarray(rows[rank:].T)


def driven_accelerations(
    mass: Any, bias: Any, tau: Any, jacobian: Any, gamma: Any, driven: list[int], given: Any
) -> np.ndarray:
    """As `accelerations`, with the accelerations of driven velocities given (entries of an (nv,) vector)."""
    jacobian = np.asarray(jacobian, dtype=float)
    rows = np.eye(jacobian.shape[1])[driven]
    values = np.asarray(given, dtype=float)[driven]
    return accelerations(mass, bias, tau, np.vstack([jacobian, rows]), np.concatenate([gamma, -values]))
