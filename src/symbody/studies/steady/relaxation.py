"""Motion about a state of rest: eigenvalues, and pseudo-time relaxation that runs downhill to a stable equilibrium."""

from __future__ import annotations

import numpy as np

from symbody.studies.steady.steady_equations import SteadyEquations, SteadyPoint, Value
from symbody.studies.steady.steady_solver import LARGEST_TURN, Task, directions, spread

MOST_STEPS = 200
RESTING = 1e-6  # scaled residual at which relaxation hands over to Newton's method
NUDGE = 1e-2  # rad or m, away from an unstable equilibrium


def relax(
    balance: SteadyEquations, task: Task, state: SteadyPoint, loose: np.ndarray, leave_saddles: bool
) -> SteadyPoint:
    """Downhill from a SteadyPoint, over the velocities `loose`: implicit steps of M q' = tau + J^T lam - c.

    Pseudo-transient continuation (Kelley and Keyes 1998): the step grows as the residual falls, so that it ends as
    Newton's method; it stays so short that M / step + K is positive, so that it never climbs towards a saddle.
    """
    step, last = 1e-3, np.inf
    n = int(loose.sum())
    rng = np.random.default_rng(0)
    for _ in range(MOST_STEPS):
        value = balance.at(state)
        r = (value.residual[task.rows] - task.wanted) / task.scale
        size = float(np.linalg.norm(r))
        if not np.isfinite(size) or not np.isfinite(value.jacobian).all():
            return state
        lowest, direction = steepest_fall(balance, value, loose)
        if size < RESTING:
            if lowest >= 0 or not leave_saddles:
                return state
            away = np.zeros(len(task.columns))
            away[:n] = NUDGE * direction / max(np.abs(direction).max(), 1e-300) * rng.choice([-1.0, 1.0])
            state, step, last = balance.moved(state, spread(balance, task.columns, away)), 1e-3, np.inf
            continue
        step = min(step * min(max(last / size, 0.5), 5.0), 1e12)
        if lowest < 0:
            step = min(step, 0.5 / -lowest)
        last = size
        move = _implicit_step(balance, task, value, loose, step)
        far = np.abs(move[:n]).max(initial=0.0)
        if far > LARGEST_TURN:
            move[:n] *= LARGEST_TURN / far
            step *= LARGEST_TURN / far
        state = balance.moved(state, spread(balance, task.columns, move))
    return state


def _implicit_step(balance: SteadyEquations, task: Task, value: Value, loose: np.ndarray, step: float) -> np.ndarray:
    """One implicit Euler step of all unknowns: coordinates by their masses, internal states at their own rate."""
    n, nz = int(loose.sum()), len(balance.equations.internal)
    J = value.jacobian[np.ix_(task.rows, task.columns)].copy()
    r = value.residual[task.rows] - task.wanted
    mass = value.outputs["M"][np.ix_(loose, loose)]
    J[:n, :n] += mass / step + 1e-12 * np.trace(mass) / max(n, 1) / step * np.eye(n)
    if nz:
        at = slice(len(task.rows) - nz, len(task.rows))
        J[at, n : n + nz] -= np.eye(nz) / np.sqrt(step)
    basis, _ = directions(balance, task, value)
    move: np.ndarray = basis @ np.linalg.lstsq(J / task.scale[:, None] @ basis, -r / task.scale, rcond=1e-14)[0]
    return move


def allowed(balance: SteadyEquations, value: Value, loose: np.ndarray, rolling: bool = True) -> np.ndarray:
    """(n, k) basis of displacements of the loose coordinates that all loops allow; rolling: wheels too."""
    n = int(loose.sum())
    if not balance.equations.rows:
        return np.eye(n)
    J = value.outputs["J"][:, loose]
    J = J if rolling else J[~balance.rolling]
    if not len(J):
        return np.eye(n)
    _, s, vt = np.linalg.svd(J)
    rank = int((s > 1e-9 * s.max(initial=0.0)).sum())
    return vt[rank:].T


def steepest_fall(balance: SteadyEquations, value: Value, loose: np.ndarray) -> tuple[float, np.ndarray]:
    """Lowest eigenvalue of the symmetric stiffness by the mass matrix, 1/s^2, and its direction (n,)."""
    basis = allowed(balance, value, loose)
    if not basis.shape[1]:
        return 0.0, np.zeros(int(loose.sum()))
    mass, stiffness = _reduced(balance, value, loose, basis)
    symmetric = (stiffness + stiffness.T) / 2
    floor = 1e-9 * max(np.trace(mass) / len(mass), 1e-300)
    inverse = np.linalg.inv(np.linalg.cholesky(mass + floor * np.eye(len(mass))))
    eigenvalues, vectors = np.linalg.eigh(inverse @ symmetric @ inverse.T)
    lowest = float(eigenvalues[0])
    if lowest > -1e-9 * max(1.0, float(np.abs(eigenvalues).max())):
        lowest = 0.0
    return lowest, basis @ (inverse.T @ vectors[:, 0])


def _reduced(
    balance: SteadyEquations, value: Value, loose: np.ndarray, basis: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mass and stiffness in the directions of a basis."""
    chosen = np.ix_(loose, loose)
    stiffness = value.jacobian[balance.rows["force"], balance.columns["q"]][chosen]
    return basis.T @ value.outputs["M"][chosen] @ basis, basis.T @ stiffness @ basis


def eigenvalues_at_rest(balance: SteadyEquations, value: Value, loose: np.ndarray) -> np.ndarray | None:
    """Eigenvalues (1/s) of dq, dqd and dz about rest, other coordinates held; None where some motion has no mass."""
    speeds = allowed(balance, value, loose)
    shifts = allowed(balance, value, loose, rolling=False)
    found, chosen = value.outputs, np.ix_(loose, loose)
    n, m, nz = shifts.shape[1], speeds.shape[1], len(balance.equations.internal)
    mass = speeds.T @ found["M"][chosen] @ speeds
    if m and np.linalg.cond(mass) > 1e13:
        return None
    stiffness = value.jacobian[balance.rows["force"], balance.columns["q"]][chosen]
    right = np.hstack(
        [speeds.T @ stiffness @ shifts, speeds.T @ found["B"][chosen] @ speeds, speeds.T @ found["F"][loose]]
    )
    top = np.hstack([np.zeros((n, n)), shifts.T @ speeds, np.zeros((n, nz))])
    middle = -np.linalg.solve(mass, right) if m else np.zeros((0, n + m + nz))
    last = np.hstack([found["Zq"][:, loose] @ shifts, found["Zv"][:, loose] @ speeds, found["Zz"]])
    out: np.ndarray = np.linalg.eigvals(np.vstack([top, middle, last])).astype(complex)
    return out[np.lexsort((out.imag, out.real))]
