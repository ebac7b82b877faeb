"""Controllability and observability: which modes the inputs reach, and which the outputs show, by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError, word_argument
from symbody.studies.linear.as_state_space import as_state_space
from symbody.studies.linear.state_space import StateSpace

TOLERANCE = 1e-9  # relative size below which a block of the staircase counts as zero


@dataclass(frozen=True, eq=False)
class Reachability:
    """What a set of inputs reaches (or what a set of outputs shows).

    rank, size   states that are reached, and all states
    eigenvalues  (k,) of the modes that are not reached, rad/s
    vectors      (nx, k) for each of them the combination of states w with w^H B = 0 that no input changes (or the
                 motion v with C v = 0 that no output shows), the largest entry 1
    states       names
    index        smallest k for which B, A B, ..., A^(k-1) B span what is reached
    """

    what: str
    rank: int
    size: int
    eigenvalues: np.ndarray
    vectors: np.ndarray
    states: tuple[str, ...]
    index: int = 0

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.rank == self.size

    def missing(self) -> list[str]:
        """One line for each mode that is not reached: its eigenvalue and the states that take part."""
        return [f"{_number(s)} ({self._who(k)})" for k, s in enumerate(self.eigenvalues)]

    def _who(self, k: int) -> str:
        size = np.abs(self.vectors[:, k])
        order = [i for i in np.argsort(-size, kind="stable") if size[i] > 0.05]
        return ", ".join(self.states[i] for i in order[:4]) + (" ..." if len(order) > 4 else "")

    def __repr__(self) -> str:
        text = f"{self.what}: rank {self.rank} of {self.size}"
        return text if self.complete else f"{text}; not reached: {'; '.join(self.missing())}"


@declared
def controllability(model: Any, inputs: Any = None, tolerance: float = TOLERANCE) -> Reachability:
    """Rank by the staircase form (no powers of A), and the modes that inputs do not reach (hybrid 2.2.4, eq. (8))."""
    ss = as_state_space(model).channel(inputs)
    return _reach("controllable", ss.A, ss.B, ss.states, tolerance)


@declared
def observability(model: Any, outputs: Any = None, tolerance: float = TOLERANCE) -> Reachability:
    """As `controllability`, of the transposed model (hybrid 2.2.4, eq. (9))."""
    ss = as_state_space(model).channel(None, outputs)
    found = _reach("observable", ss.A.T, ss.C.T, ss.states, tolerance)
    return replace(found, vectors=found.vectors.conj())


def _reach(what: str, A: np.ndarray, B: np.ndarray, states: tuple[str, ...], tolerance: float) -> Reachability:
    from scipy.linalg import eig

    n = len(A)
    scale = scales(A)
    rank, Q, steps = staircase(A * scale / scale[:, None], B / scale[:, None], tolerance)
    if rank == n:
        return Reachability(what, n, n, np.zeros(0, complex), np.zeros((n, 0), complex), states, steps)
    rest = Q[:, rank:]
    values, left, _ = eig(rest.T @ (A * scale / scale[:, None]) @ rest, left=True, right=True)
    vectors = (rest @ left) / scale[:, None]
    return Reachability(what, rank, n, values, vectors / np.abs(vectors).max(axis=0), states, steps)


def staircase(A: np.ndarray, B: np.ndarray, tolerance: float = TOLERANCE) -> tuple[int, np.ndarray, int]:
    """(rank, Q, steps): the first `rank` columns of the orthogonal Q span what B reaches through A, in so many steps.

    Each step takes in the part of the remaining states that the part before it drives (Van Dooren 1981).
    """
    n = len(A)
    Q, rank, steps = np.eye(n), 0, 0
    block, size = B, np.linalg.norm(B)
    while rank < n and block.size:
        U, s, _ = np.linalg.svd(block)
        new = int(np.sum(s > tolerance * max(size, np.finfo(float).tiny)))
        if not new:
            break
        Q[:, rank:] = Q[:, rank:] @ U
        rank += new
        steps += 1
        size = np.linalg.norm(A)
        block = Q[:, rank:].T @ A @ Q[:, rank - new : rank]
    return rank, Q, steps


def scales(A: np.ndarray) -> np.ndarray:
    """Units for the states in which the rows and columns of A have like sizes."""
    from scipy.linalg import matrix_balance

    if not len(A):
        return np.ones(0)
    _, (scale, _) = matrix_balance(A, permute=False, separate=True)
    made: np.ndarray = np.asarray(scale, dtype=float)
    return made


def minimal(model: Any, tolerance: float = TOLERANCE) -> StateSpace:
    """The part of a model that its inputs reach and its outputs show, in orthogonal coordinates x1, x2 ..."""
    ss = as_state_space(model)
    scale = scales(ss.A)
    A, B, C = ss.A * scale / scale[:, None], ss.B / scale[:, None], ss.C * scale
    rank, Q, _ = staircase(A, B, tolerance)
    Q = Q[:, :rank]
    A, B, C = Q.T @ A @ Q, Q.T @ B, C @ Q
    rank, Q, _ = staircase(A.T, C.T, tolerance)
    Q = Q[:, :rank]
    return StateSpace(Q.T @ A @ Q, Q.T @ B, C @ Q, ss.D, (), ss.inputs, ss.outputs, ss.dt, ss.D1, ss.D2)


def controllability_matrix(model: Any) -> np.ndarray:
    """(nx, nx nu): [B, A B, A^2 B ...]; for small models and for teaching, ranks come from the staircase."""
    ss = as_state_space(model)
    blocks = [ss.B]
    for _ in range(len(ss.states) - 1):
        blocks.append(ss.A @ blocks[-1])
    return np.hstack(blocks)


def observability_matrix(model: Any) -> np.ndarray:
    """(nx ny, nx): [C; C A; C A^2 ...]."""
    ss = as_state_space(model)
    blocks = [ss.C]
    for _ in range(len(ss.states) - 1):
        blocks.append(blocks[-1] @ ss.A)
    return np.vstack(blocks)


def gramian(model: Any, kind: str = "controllability") -> np.ndarray:
    """(nx, nx) W of A W + W A^T + B B^T = 0 (or of its dual, or in discrete time); the model must be stable."""
    from scipy.linalg import solve_continuous_lyapunov, solve_discrete_lyapunov

    ss = as_state_space(model)
    word_argument("kind", kind, ("controllability", "observability"), error=ModelError)
    if not ss.stable:
        raise ModelError(
            f"a Gramian needs a stable model; the pole {_number(max(ss.poles, key=lambda p: p.real))} is not."
        )
    A, B = (ss.A, ss.B) if kind == "controllability" else (ss.A.T, ss.C.T)
    W: np.ndarray = solve_continuous_lyapunov(A, -B @ B.T) if ss.dt is None else solve_discrete_lyapunov(A, B @ B.T)
    return W


def _number(s: complex) -> str:
    """An eigenvalue for messages."""
    return f"{s.real:.4g}" if abs(s.imag) < 1e-9 * (1 + abs(s)) else f"{s.real:.4g}{s.imag:+.4g}i"
