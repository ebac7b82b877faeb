"""Kalman's decomposition of a linear model with numbers: four parts, by what inputs reach and outputs show.

In the coordinates of `KalmanForm.model` (thesis I.1.14) the first part is controllable and observable, the second only
controllable, the third only observable, the last neither:

    A = [A11  0  A13  0 ]   B = [B1]   C = [C1 0 C3 0]
        [A21 A22 A23 A24]       [B2]
        [ 0   0  A33  0 ]       [0 ]
        [ 0   0  A43 A44]       [0 ]

(A11, B1, C1, D) has the transfer matrix of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from symbody.studies.control.controllability import TOLERANCE, scales, staircase
from symbody.studies.linear.as_state_space import as_state_space
from symbody.studies.linear.state_space import StateSpace


@dataclass(frozen=True, eq=False)
class KalmanForm:
    """A model in Kalman's coordinates.

    sizes   (4,) states that are controllable and observable, controllable only, observable only, neither
    T       (nx, nx) x = T k: its columns span the four parts in their order
    model   with states k1, k2, ...; entries that are zero by theory are zero
    """

    sizes: tuple[int, int, int, int]
    T: np.ndarray
    model: StateSpace

    @property
    def minimal(self) -> StateSpace:
        """The first part: the same transfer matrix with as few states as possible."""
        n, m = self.sizes[0], self.model
        return m.replace(A=m.A[:n, :n], B=m.B[:n], C=m.C[:, :n], states=m.states[:n])

    def __repr__(self) -> str:
        a, b, c, d = self.sizes
        return f"Kalman form: {a} both, {b} controllable only, {c} observable only, {d} neither"


def kalman_form(model: Any, tolerance: float = TOLERANCE) -> KalmanForm:
    """Kalman's decomposition by two staircase forms, in states of like sizes."""
    ss = as_state_space(model)
    n, scale = len(ss.A), scales(ss.A)
    A, B, C = ss.A * scale / scale[:, None], ss.B / scale[:, None], ss.C * scale
    r, Q, _ = staircase(A, B, tolerance)
    o, V, _ = staircase(A.T, C.T, tolerance)
    reached, rest = Q[:, :r], V[:, o:]
    # what is reached and not shown: combinations of the reached states without any part that is shown
    shared = reached @ _null(V[:, :o].T @ reached, tolerance)
    both, neither = _beside(reached, shared), _beside(rest, shared)
    spanned = np.hstack([both, shared, neither])
    T = np.hstack([both, shared, _complement(spanned, n), neither])
    sizes = (both.shape[1], shared.shape[1], n - spanned.shape[1], neither.shape[1])
    T = T * scale[:, None]
    turned = np.linalg.solve(T, np.hstack([ss.A @ T, ss.B])) if n else np.zeros((0, n + ss.B.shape[1]))
    new, seen = _patterned(turned[:, :n], turned[:, n:], ss.C @ T, sizes)
    names = tuple(f"k{i + 1}" for i in range(n))
    return KalmanForm(sizes, T, ss.replace(A=new[:, :n], B=new[:, n:], C=seen, states=names))


def _null(matrix: np.ndarray, tolerance: float) -> np.ndarray:
    """(columns, k) orthonormal vectors that a matrix with columns of size up to 1 takes to zero."""
    if not matrix.size:
        return np.eye(matrix.shape[1])
    _, s, V = np.linalg.svd(matrix)
    return V[int(np.sum(s > tolerance**0.5)) :].T


def _beside(space: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Orthonormal directions of a space (n, k) that are at right angles to a part of it."""
    if space.shape[1] == part.shape[1]:
        return np.zeros((len(space), 0))
    U, _, _ = np.linalg.svd(space - part @ (part.T @ space), full_matrices=False)
    return U[:, : space.shape[1] - part.shape[1]]


def _complement(space: np.ndarray, n: int) -> np.ndarray:
    if not space.shape[1]:
        return np.eye(n)
    U, _, _ = np.linalg.svd(space)
    return U[:, space.shape[1] :]


def _patterned(A: np.ndarray, B: np.ndarray, C: np.ndarray, sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """[A B] and C with exact zeros where theory has them."""
    first = np.cumsum((0, *sizes))
    at = [slice(a, b) for a, b in pairwise(first)]
    A, B, C = A.copy(), B.copy(), C.copy()
    for i, j in ((0, 1), (0, 3), (2, 0), (2, 1), (2, 3), (3, 0), (3, 1)):
        A[at[i], at[j]] = 0.0
    B[at[2]] = B[at[3]] = 0.0
    C[:, at[1]] = C[:, at[3]] = 0.0
    return np.hstack([A, B]), C
