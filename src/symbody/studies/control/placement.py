"""State feedback u = -K x: poles where they are wanted, or the least quadratic cost."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError, ShapeError, array_argument, wrong_argument
from symbody.studies.control.controllability import controllability, controllability_matrix
from symbody.studies.linear.as_state_space import as_state_space
from symbody.studies.linear.state_space import StateSpace


@declared
def place(model: Any, poles: Sequence[complex], inputs: Any = None) -> np.ndarray:
    """K (nu, nx) with eigenvalues of A - B K at the poles (rad/s, or in the z plane for a discrete model).

    Several inputs: the well-conditioned choice of Tits and Yang. Refused, with the modes named, if the inputs do not
    reach every state.
    """
    from scipy.signal import place_poles

    ss = as_state_space(model).channel(inputs)
    try:
        wanted = np.asarray(poles, dtype=complex).ravel()
    except (TypeError, ValueError, OverflowError):
        raise wrong_argument("poles", poles, f"{len(ss.states)} numbers") from None
    if len(wanted) != len(ss.states):
        raise ShapeError(f"{len(wanted)} poles were given; the model has {len(ss.states)} states.")
    if not np.allclose(np.sort_complex(wanted), np.sort_complex(wanted.conj())):
        raise ModelError("complex poles must come in conjugate pairs, so that the gains are real.")
    found = controllability(ss)
    if not found.complete:
        raise ModelError(
            f"the poles cannot be placed: {found.size - found.rank} of {found.size} modes are not reached by "
            f"{', '.join(ss.inputs) or 'any input'}: {'; '.join(found.missing())}. Add an input that moves them, or "
            "leave these states out."
        )
    if _repeated(wanted) > np.linalg.matrix_rank(ss.B):
        return _ackermann(ss, wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a slow convergence is judged by its result
        gain = place_poles(ss.A, ss.B, wanted).gain_matrix
    reached = np.linalg.eigvals(ss.A - ss.B @ gain)
    error = np.abs(np.sort_complex(reached) - np.sort_complex(wanted)).max()
    if error > 1e-3 * (1 + np.abs(wanted).max()):
        raise ModelError(f"the poles were missed by {error:.3g}: the model is close to not being controllable.")
    made: np.ndarray = np.real(gain)
    return made


def _repeated(poles: np.ndarray) -> int:
    """How often the most frequent pole occurs."""
    return max(int(np.sum(np.abs(poles - p) <= 1e-12 * (1 + abs(p)))) for p in poles)


def _ackermann(ss: StateSpace, poles: np.ndarray) -> np.ndarray:
    """K = e_n^T [B, A B ...]^-1 p(A), for one input and poles of any multiplicity (Ackermann 1972)."""
    if len(ss.inputs) != 1:
        raise ModelError(
            f"a pole is wanted more often than the rank of B ({np.linalg.matrix_rank(ss.B)}); spread the poles."
        )
    n = len(ss.states)
    polynomial = np.eye(n)
    for c in np.real(np.poly(poles))[1:]:
        polynomial = polynomial @ ss.A + c * np.eye(n)
    last = np.linalg.solve(controllability_matrix(ss).T, np.eye(n)[:, -1])
    return (last @ polynomial)[None]


@declared
def lqr(model: Any, Q: Any, R: Any, inputs: Any = None) -> np.ndarray:
    """K (nu, nx) that minimises the integral of x^T Q x + u^T R u (a sum in discrete time)."""
    from scipy.linalg import LinAlgError, solve_continuous_are, solve_discrete_are

    ss = as_state_space(model).channel(inputs)
    n, m = len(ss.states), len(ss.inputs)
    Q, R = _weights("Q", Q, n, definite=False), _weights("R", R, m, definite=True)
    try:
        if ss.dt is None:
            X = solve_continuous_are(ss.A, ss.B, Q, R)
            gain: np.ndarray = np.linalg.solve(R, ss.B.T @ X)
        else:
            X = solve_discrete_are(ss.A, ss.B, Q, R)
            gain = np.linalg.solve(R + ss.B.T @ X @ ss.B, ss.B.T @ X @ ss.A)
    except (LinAlgError, ValueError) as error:
        why = str(error).rstrip(".")
        raise ModelError(
            f"there is no stabilising feedback: {why}. {controllability(ss)!r}. Every unstable mode must be reached, "
            "and Q must see it."
        ) from None
    return gain


def _weights(name: str, given: Any, n: int, definite: bool) -> np.ndarray:
    """A symmetric matrix (n, n) without negative eigenvalues from one, from its diagonal, or from one number."""
    array = array_argument(name, given, f"a matrix {(n, n)}, its diagonal, or one number")
    full = array * np.eye(n) if array.ndim == 0 else np.diag(array) if array.ndim == 1 else array
    if full.shape != (n, n):
        raise ShapeError(f"{name} has shape {array.shape}; expected {(n, n)}, its diagonal, or one number.")
    size = np.abs(full).max(initial=0.0)
    if not np.isfinite(full).all() or np.abs(full - full.T).max(initial=0.0) > 1e-12 * size:
        raise ModelError(f"{name} is not symmetric; expected a symmetric matrix of finite weights.")
    least = float(np.linalg.eigvalsh(full).min(initial=np.inf))
    if least < -1e-12 * size or (definite and least <= 1e-12 * size):
        needed = "positive" if definite else "positive or zero"
        raise ModelError(f"{name} has the eigenvalue {least:.3g}; expected {needed} weights.")
    return full
