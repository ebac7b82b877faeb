"""Reductions of a Linear: driven joints, and permanent or closed intermittent constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from symbody.basics.errors import ModelError, ShapeError
from symbody.studies.linear.linear import Linear

WELL_PLACED = 1e-2  # smallest singular value of the dependent columns of J, relative to that of all columns


@dataclass(frozen=True, eq=False)
class LinearClosure:
    """Constraints at an operating point of M qdd + c = tau + J^T lam, by tangent increments.

    J             (nc, nv): d/dt h = J qd + ht of positions, J qd + ht = 0 of velocities
    multipliers   (nc,) lam there; None: found from the residual of the equations without constraints
    geometric     (nv, nv) d(J^T lam)/dq, lam held; None: zero (lam = 0, or constraints linear in q)
    velocity_q    (nc, nv) d(J qd + ht)/dq; None: zero, as at rest
    acceleration_q, acceleration_v   (nc, nv) derivatives of J qdd + Jd qd by q and by qd; None: zero
    independent   velocities that are kept; None: chosen by pivoting, so that J's other columns are well conditioned
    keep          velocities that are kept in any case: those of driven joints
    rolling       (nc,) bool: rows that bind velocities alone (non-holonomic); None: none of them does
    """

    J: np.ndarray
    multipliers: np.ndarray | None = None
    geometric: np.ndarray | None = None
    velocity_q: np.ndarray | None = None
    acceleration_q: np.ndarray | None = None
    acceleration_v: np.ndarray | None = None
    independent: Sequence[int] | None = None
    keep: Sequence[int] = ()
    rolling: np.ndarray | None = None


def constrained(linear: Linear, closure: LinearClosure) -> Linear:
    """The Linear of the independent increments y and velocities w: K_r = W^T ((K - d(J^T lam)/dq) E + B P1 + M P2), ...

    Variations keep the constraints and their rates: dq = E y, dqd = W w + P1 y, dqdd = W w' + P2 y + P3 w. E spans what
    constraints of position allow, W what all of them allow; the independent rows of W are the identity and those of P1,
    P2, P3 are zero (robotran: dv = B_vu du). Without rolling E = W; at rest P = 0. Permanent constraints are always
    present; of intermittent ones pass those that are closed.
    """
    J = np.atleast_2d(np.asarray(closure.J, dtype=float))
    n = linear.size
    if J.shape[1] != n:
        raise ShapeError(f"J has {J.shape[1]} columns; expected {n}, one for each increment of {linear.model}.")
    rolling = np.zeros(len(J), dtype=bool) if closure.rolling is None else np.asarray(closure.rolling, dtype=bool)
    speeds, dependent, rows = partition(J, closure.independent, closure.keep)
    W, inverse = _basis(J, speeds, dependent, rows)
    if rolling.any():
        kept, bound, regular = partition(J[~rolling], None, speeds) if not rolling.all() else (list(range(n)), [], [])
        E, _ = _basis(J[~rolling], kept, bound, regular)
    else:
        kept, E = speeds, W
    P1 = -inverse @ _given(closure.velocity_q, J.shape) @ E
    by_velocity = _given(closure.acceleration_v, J.shape)
    P2 = -inverse @ (_given(closure.acceleration_q, J.shape) @ E + by_velocity @ P1)
    P3 = -inverse @ by_velocity @ W
    lam = closure.multipliers
    if lam is None and linear.residual.size == n:
        lam = np.linalg.lstsq(J.T, linear.residual, rcond=None)[0]
    K2 = linear.K2 - _given(closure.geometric, (n, n))
    return linear.replace(
        M=W.T @ linear.M @ W,
        B=W.T @ (linear.B @ W + linear.M @ P3),
        K1=W.T @ (linear.K1 @ E + linear.M @ P2),
        K2=W.T @ (K2 @ E + linear.B @ P1),
        U1=W.T @ linear.U1,
        U2=W.T @ linear.U2,
        Ud=W.T @ linear.Ud,
        Udd=W.T @ linear.Udd,
        T=(linear.T @ E + P1)[kept],
        S=W[kept],
        F=W.T @ linear.F,
        Zq=linear.Zq @ E + linear.Zv @ P1,
        Zv=linear.Zv @ W,
        Cq=linear.Cq @ E + linear.Cv @ P1 + linear.Ca @ P2,
        Cv=linear.Cv @ W + linear.Ca @ P3,
        Ca=linear.Ca @ W,
        coordinates=tuple(linear.coordinates[k] for k in kept),
        speeds=tuple(linear.coordinates[k] for k in speeds),
        J=J,
        multipliers=lam,
        E=E,
    )


def _basis(
    J: np.ndarray, kept: Sequence[int], dependent: Sequence[int], rows: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """(E (n, kept) with J E = 0 and unit rows of what is kept, an inverse (n, nc) of J on the dependent columns)."""
    n = J.shape[1]
    E, inverse = np.zeros((n, len(kept))), np.zeros((n, len(J)))
    E[kept] = np.eye(len(kept))
    inverse[np.ix_(dependent, rows)] = np.linalg.inv(J[np.ix_(rows, dependent)])
    return E - inverse @ J @ E, inverse


def is_well_placed(J: np.ndarray, independent: Sequence[int]) -> bool:
    """Whether the constraints determine the other velocities from these, and not much worse than from the best ones."""
    dependent = [k for k in range(J.shape[1]) if k not in set(independent)]
    rank = int(np.linalg.matrix_rank(J))
    if len(dependent) != rank or not rank:
        return False
    whole, part = (np.linalg.svd(x, compute_uv=False)[rank - 1] for x in (J, J[:, dependent]))
    return bool(part > WELL_PLACED * whole)


def partition(
    J: np.ndarray, independent: Sequence[int] | None = None, keep: Sequence[int] = ()
) -> tuple[list[int], list[int], list[int]]:
    """(independent columns, dependent columns, rows): J[rows][:, dependent] is regular; other rows say nothing new."""
    from scipy.linalg import qr

    n = J.shape[1]
    size = np.linalg.norm(J) or 1.0
    if independent is None:
        candidates = [k for k in range(n) if k not in set(keep)]
        r, order = qr(J[:, candidates], mode="r", pivoting=True)
        rank = int(np.sum(np.abs(np.diag(r)) > 1e-10 * size))
        dependent = sorted(candidates[k] for k in order[:rank])
        if rank < np.linalg.matrix_rank(J, tol=1e-10 * size):
            raise ModelError("the constraints leave no freedom to the driven joints; drive fewer of them.")
    else:
        dependent = [k for k in range(n) if k not in set(independent)]
        rank = int(np.linalg.matrix_rank(J, tol=1e-10 * size))
        if len(dependent) != rank or np.linalg.matrix_rank(J[:, dependent], tol=1e-10 * size) != rank:
            raise ModelError(
                f"{len(list(independent))} independent increments were named; the constraints of rank {rank} leave "
                f"{n - rank}, and must determine the others. Name other increments, or leave the choice open."
            )
    _, order = qr(J[:, dependent].T, mode="r", pivoting=True)
    return [k for k in range(n) if k not in set(dependent)], dependent, sorted(int(k) for k in order[:rank])


def without_driven(linear: Linear, driven: Sequence[str], motion: Sequence[np.ndarray], how: str) -> Linear:
    """The Linear of the other increments. The motion of the driven ones is held as prescribed, or becomes inputs.

    driven: their labels; motion: q, qd, qdd of them at the operating point; how: "held" or

    "input"   each is one input q.<label>, its position u: columns of K, and with its rates u' and u'' those of B and M.
              Increments of quaternions have dqd = u' - T u (T of the operating point, zero at rest)
    "parts"   each is three inputs q.<label>, qd.<label>, qdd.<label>: columns of K, B and M. They are variations of one
              motion; whoever uses them lets them be each other's derivatives
    """
    if not driven:
        return linear
    c = [linear.coordinates.index(name) for name in driven]
    f = [k for k in range(linear.size) if k not in set(c)]
    # places among the velocities
    cv = [linear.speeds.index(name) for name in driven]
    fv = [k for k in range(len(linear.speeds)) if k not in set(cv)]
    changes: dict[str, np.ndarray] = {
        "M": linear.M[np.ix_(fv, fv)], "B": linear.B[np.ix_(fv, fv)], "T": linear.T[np.ix_(f, f)],
        "K1": linear.K1[np.ix_(fv, f)], "K2": linear.K2[np.ix_(fv, f)], "S": linear.S[np.ix_(f, fv)],
    }  # fmt: skip
    changes |= {name: getattr(linear, name)[fv] for name in ("U1", "U2", "F")}
    changes |= {name: getattr(linear, name)[:, f] for name in ("Zq", "Cq")}
    changes |= {name: getattr(linear, name)[:, fv] for name in ("Zv", "Cv", "Ca")}
    changes["E"] = (np.eye(linear.size) if linear.E is None else linear.E)[:, f]
    left = {
        "coordinates": tuple(linear.coordinates[k] for k in f),
        "speeds": tuple(linear.speeds[k] for k in fv),
    }
    if how == "held":
        return linear.replace(**changes, **left)
    if np.abs(linear.T[np.ix_(f, c)]).max(initial=0.0) + np.abs(linear.S[np.ix_(f, cv)]).max(initial=0.0) > 0:
        raise ModelError("driven joints of a rolling model are held; their motion as input is not offered.")
    # by position, velocity and acceleration, each column by column
    none = np.zeros((len(fv), len(c)))
    by = {
        "U1": [linear.K1[np.ix_(fv, c)], none, linear.M[np.ix_(fv, cv)]],
        "U2": [linear.K2[np.ix_(fv, c)], linear.B[np.ix_(fv, cv)], none],
        "Zu": [linear.Zq[:, c], linear.Zv[:, cv], np.zeros((len(linear.internal), len(c)))],
        "Cu": [linear.Cq[:, c], linear.Cv[:, cv], linear.Ca[:, cv]],
    }
    own = {name: changes.get(name, getattr(linear, name)) for name in by}
    if how == "parts":
        changes |= {name: np.hstack([own[name], *parts]) for name, parts in by.items()}
        changes["u0"] = np.concatenate([linear.u0, *motion])
        inputs = (*linear.inputs, *(f"{stem}.{name}" for stem in ("q", "qd", "qdd") for name in driven))
        return linear.replace(**changes, **left, inputs=inputs)
    T = linear.T[np.ix_(c, c)]
    # u, u' and u'' of dq = u, dqd = u' - T u, dqdd = u'' - T u'
    by = {name: [p - v @ T, v - a @ T, a] for name, (p, v, a) in by.items()}
    changes |= {name: np.hstack([own[name], parts[0]]) for name, parts in by.items()}
    force = [x + y for x, y in zip(by["U1"], by["U2"])]
    rates = {"Ud": force[1], "Udd": force[2], "Zud": by["Zu"][1], "Cud": by["Cu"][1], "Cudd": by["Cu"][2]}
    changes |= {name: np.hstack([np.zeros((len(x), len(linear.inputs))), x]) for name, x in rates.items()}
    changes["u0"] = np.concatenate([linear.u0, motion[0]])
    return linear.replace(**changes, **left, inputs=(*linear.inputs, *(f"q.{name}" for name in driven)))


def _given(matrix: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    if matrix is None:
        return np.zeros(shape)
    array = np.asarray(matrix, dtype=float)
    if array.shape != shape:
        raise ShapeError(f"a derivative of the constraints has shape {array.shape}; expected {shape}.")
    return array
