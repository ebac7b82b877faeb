"""Free motions: modes of eigenvalue zero span a space, of which eigensolvers return any vectors, or one twice."""

from __future__ import annotations

import numpy as np

FLAT = 1e-10  # singular values of a state matrix below this share of the largest count as zero


def rigid_basis(space: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(n, r) basis of the same space as the columns of `space`, orthonormal by `weight` (n, n), such as M.

    Each vector moves one coordinate of its own most, as far as that can be; it depends on the space alone.
    """
    from scipy.linalg import cholesky, qr, solve_triangular

    r = space.shape[1]
    if not r:
        return space
    # coordinates that tell the motions apart: with these as parameters the others follow
    _, _, pivots = qr(space.T, mode="economic", pivoting=True)
    chosen = np.sort(pivots[:r])
    single = space @ np.linalg.inv(space[chosen])
    upper = cholesky(single.T @ weight @ single)
    made: np.ndarray = solve_triangular(upper, single.T, trans="T").T
    return made


def resting_states(A: np.ndarray) -> np.ndarray:
    """(n, r) orthonormal basis of the states x with A x = 0."""
    if not A.size:
        return np.zeros((len(A), 0))
    _, s, vh = np.linalg.svd(A)
    basis: np.ndarray = vh[int((s > FLAT * s.max(initial=0.0)).sum()) :].T
    return basis
