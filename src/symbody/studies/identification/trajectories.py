"""Motions that are linear in their coefficients: finite Fourier series and splines, at rest at both ends.

q(t) = Q c for each joint, with matrices Q, Q', Q'' at sampled instants: limits on q, qd and qdd are linear in c then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.basics.errors import real_argument, whole_argument, word_argument

KINDS = ("fourier", "spline")


@dataclass(frozen=True, eq=False)
class Basis:
    """t (N,) s; q, qd, qdd (N, m): what a unit of each of m coefficients gives; the first one is a constant."""

    kind: str
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    settings: dict[str, float]

    @property
    def size(self) -> int:
        return self.q.shape[1]

    def at(self, t: np.ndarray) -> Basis:
        """The basis at other instants t (N,), s."""
        return basis(self.kind, times=t, **self.settings)  # type: ignore[arg-type]


def basis(
    kind: str = "fourier",
    duration: float = 10.0,
    samples: int = 200,
    order: int = 5,
    rest: bool = True,
    times: np.ndarray | None = None,
) -> Basis:
    """order: harmonics of a Fourier series of period `duration`, or free control points of a quintic spline.

    rest: velocity and acceleration are zero at both ends, so that a motion can start and stop there.
    """
    word_argument("kind", kind, KINDS)
    real_argument("duration", duration, "a positive time in s", above=0.0)
    whole_argument("samples", samples, 4)
    whole_argument("order", order, 2)
    t = (
        np.linspace(0, duration, samples, endpoint=kind == "spline")
        if times is None
        else np.asarray(times, dtype=float)
    )
    q, qd, qdd = _fourier(t, duration, order, rest) if kind == "fourier" else _spline(t, duration, order, rest)
    settings = {"duration": duration, "samples": samples, "order": order, "rest": rest}
    return Basis(kind, t, q, qd, qdd, settings)


def _fourier(t: np.ndarray, duration: float, order: int, rest: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Harmonics scaled to unit velocity: a_k sin(k w t)/(k w) - b_k cos(k w t)/(k w) (Swevers et al. 1997)."""
    k = 2 * np.pi / duration * np.arange(1, order + 1)
    s, c = np.sin(np.outer(t, k)), np.cos(np.outer(t, k))
    one, zero = np.ones((len(t), 1)), np.zeros((len(t), 1))
    q = np.hstack([one, s / k, -c / k])
    qd = np.hstack([zero, c, s])
    qdd = np.hstack([zero, -s * k, c * k])
    if not rest:
        return q, qd, qdd
    # the constant is the place at t = 0; velocity and acceleration vanish there
    conditions = np.zeros((2, 2 * order + 1))
    conditions[0, 1 : order + 1] = 1.0
    conditions[1, order + 1 :] = k
    free = np.linalg.svd(conditions)[2][2:]
    free = np.vstack([np.eye(1, 2 * order + 1), free[1:] if abs(free[0, 0]) > 1 - 1e-9 else free])
    free[1:, 0] = 0.0
    free = free[np.linalg.norm(free, axis=1) > 1e-9]
    return q @ free.T, qd @ free.T, qdd @ free.T


def _spline(t: np.ndarray, duration: float, order: int, rest: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from scipy.interpolate import BSpline

    degree = 5
    count = order + (6 if rest else 0)
    inner = np.linspace(0, duration, count - degree + 1)
    knots = np.concatenate([[0.0] * degree, inner, [duration] * degree])
    functions = [BSpline(knots, np.eye(count)[k], degree) for k in range(count)]
    parts = [np.column_stack([f(t) if d == 0 else f.derivative(d)(t) for f in functions]) for d in range(3)]
    merge = np.eye(count)
    if rest:  # three equal control points at each end: no velocity, no acceleration
        merge = np.zeros((count, order + 2))
        merge[:3, 0] = 1.0
        merge[3 : count - 3, 1 : order + 1] = np.eye(order)
        merge[count - 3 :, order + 1] = 1.0
    # the first coefficient shifts the whole motion
    merge = np.column_stack([np.ones(count), merge[:, 1:]])
    q, qd, qdd = (p @ merge for p in parts)
    return q, qd, qdd
