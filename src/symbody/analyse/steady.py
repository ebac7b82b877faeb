"""Solving chosen rows of a Balance for chosen columns: damped least squares, with names for what is left over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from symbody.analyse.balance import Balance, State, Value
from symbody.expr.evaluate import evaluate
from symbody.model.coordinates import sliding

MOST_STEPS = 100
LARGEST_TURN = 0.3  # rad, or m, that a coordinate moves in one step
SLIGHT = 1e-3  # rad or m: springs count with the effort of so small a displacement
SLIDE = 0.2  # m, where others turn by 1 rad
# relative size of singular values that count as zero: nothing acts in those directions, so that they shall not move.
# The second is for stiff mechanisms, where the first leaves a remainder
FLAT = (1e-8, 1e-13)


class Solved(Enum):
    """How a search for a steady state ended."""

    FOUND = "All equations hold."
    LEAST_SQUARES = "There are more conditions than unknowns; the remainder is the least in the sense of squares."
    NOT_FOUND = (
        "No start led to a point where the equations hold. There may be none; else start nearer to it, or free more."
    )

    @property
    def ok(self) -> bool:
        return self is Solved.FOUND


@dataclass(frozen=True, eq=False)
class Task:
    """Rows that shall take the values `wanted` (rows,) by changing columns; `scale` (rows,) makes rows comparable.

    held: rows of loops that bind the step alone: rolling without slip
    """

    rows: np.ndarray
    columns: np.ndarray
    wanted: np.ndarray
    scale: np.ndarray
    held: np.ndarray | None = None
    tolerance: float = 1e-10


@dataclass(frozen=True, eq=False)
class Ended:
    """Where a start ended: the State, its Value, and the scaled residuals of the Task."""

    state: State
    value: Value
    residual: np.ndarray
    steps: int

    @property
    def largest(self) -> float:
        return float(np.abs(self.residual).max(initial=0.0))


def scales(balance: Balance, value: Value) -> np.ndarray:
    """(rows,) what counts as one in each row: the largest effort that may act near the start, 1 m, 1 rad, 1/s.

    Efforts are sums, and at a state of rest nothing but rounding may be left of them: weights and springs count too.
    """
    out = np.ones(len(balance.row_names))
    forces = balance.rows["force"]
    stiffness = value.jacobian[forces, balance.columns["q"]]
    effort = max(
        np.abs(value.found.get("c", np.zeros(0))).max(initial=0.0),
        np.abs(value.residual[forces]).max(initial=0.0),
        _weights(balance, value).max(initial=0.0),
        SLIGHT * np.abs(stiffness).max(initial=0.0),
    )
    out[forces] = effort if effort > 0 else 1.0
    return out


def _weights(balance: Balance, value: Value) -> np.ndarray:
    """(nv,) what gravity may add up to in each velocity: |g| sqrt(sum m) sqrt(M_kk), by Cauchy-Schwarz."""
    mech = balance.mech
    known: dict[Any, Any] = {n: s.data.default for n, s in mech.parameters.items()}
    known |= balance.parameters
    values = np.array(evaluate([*mech.gravity, *(b.mass for b in mech.bodies)], known), dtype=float)
    inertia = np.abs(np.diag(value.found["M"]))
    weights: np.ndarray = np.linalg.norm(values[:3]) * np.sqrt(np.abs(values[3:]).sum() * inertia)
    return weights


def descend(balance: Balance, task: Task, state: State) -> Ended:
    """From one State by Newton's method; where that fails, by Levenberg-Marquardt."""
    ended = _newton(balance, task, state, FLAT[0])
    if ended.largest < task.tolerance:
        return ended
    ended = _descend(balance, task, state, FLAT[0])
    return ended if ended.largest < task.tolerance else _descend(balance, task, ended.state, FLAT[1])


def _newton(balance: Balance, task: Task, state: State, flat: float) -> Ended:
    """Newton's method, shortened until the next correction is smaller: a test that no scaling of rows changes.

    The natural monotonicity test of Deuflhard 2004, section 3.3. Directions in which nothing acts do not move.
    """
    value, steps = balance.at(state), 0
    r = scaled(task, value)
    turning = _coordinates(balance, task.columns)
    while steps < MOST_STEPS and np.abs(r).max(initial=0.0) > 1e-3 * task.tolerance:
        steps += 1
        basis, groups = directions(balance, task, value)
        J = value.jacobian[np.ix_(task.rows, task.columns)] / task.scale[:, None] @ basis
        size = _sizes(J, groups)
        inverse = np.linalg.pinv(J / size, rcond=flat)
        correction = -inverse @ r
        full = basis @ (correction / size)
        far = np.abs(full[turning]).max(initial=0.0)
        share = min(1.0, LARGEST_TURN / far) if far > 0 else 1.0
        for _ in range(8):
            trial = balance.moved(state, spread(balance, task.columns, share * full))
            new = balance.at(trial)
            r_new = scaled(task, new)
            finite = bool(np.isfinite(r_new).all() and np.isfinite(new.jacobian).all())
            if finite and np.linalg.norm(inverse @ r_new) <= (1 - share / 4) * np.linalg.norm(correction):
                break
            share /= 2
        else:
            break
        state, value, r = trial, new, r_new
    return Ended(state, value, r, steps)


def _descend(balance: Balance, task: Task, state: State, flat: float) -> Ended:
    """Levenberg-Marquardt with the squared residual as damping (Yamashita and Fukushima 2001)."""
    value = balance.at(state)
    r = scaled(task, value)
    damping, steps = 1e-3, 0
    turning = _coordinates(balance, task.columns)
    while steps < MOST_STEPS:
        steps += 1
        J = value.jacobian[np.ix_(task.rows, task.columns)] / task.scale[:, None]
        basis, groups = directions(balance, task, value)
        cost = float(r @ r)
        if cost == 0.0:
            break
        for _ in range(14):
            step = basis @ damped_step(J @ basis, r, damping * min(cost, 1.0), groups, flat)
            far = np.abs(step[turning]).max(initial=0.0)
            step *= min(1.0, LARGEST_TURN / far) if far > 0 else 1.0
            trial = balance.moved(state, spread(balance, task.columns, step))
            new = balance.at(trial)
            r_new = scaled(task, new)
            if np.isfinite(r_new).all() and np.isfinite(new.jacobian).all() and float(r_new @ r_new) < cost:
                damping = max(damping / 10, 1e-9)
                break
            damping *= 10
        else:
            break
        state, value, r = trial, new, r_new
        if np.abs(r).max() < task.tolerance and float(r @ r) > 0.01 * cost:
            break  # rounding
        if float(r @ r) > (1 - 1e-6) * cost:
            break  # a minimum that is not zero
    return Ended(state, value, r, steps)


def damped_step(J: np.ndarray, r: np.ndarray, damping: float, groups: np.ndarray, flat: float) -> np.ndarray:
    """Minimiser of |J s + r|^2 + damping |D s|^2; of several the shortest. D: the largest column of each group."""
    n, size = J.shape[1], _sizes(J, groups)
    stacked = np.vstack([J / size, np.sqrt(damping) * np.eye(n)])
    step: np.ndarray = np.linalg.lstsq(stacked, np.concatenate([-r, np.zeros(n)]), rcond=flat)[0] / size
    return step


def _sizes(J: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """(columns,) the largest column of each group."""
    norms = np.linalg.norm(J, axis=0)
    out = np.array([norms[groups == g].max() for g in groups])
    out[out == 0] = 1.0
    return out


def scaled(task: Task, value: Value) -> np.ndarray:
    return (value.residual[task.rows] - task.wanted) / task.scale


def spread(balance: Balance, columns: np.ndarray, step: np.ndarray) -> np.ndarray:
    out = np.zeros(len(balance.column_names))
    out[columns] = step
    return out


def largest_left(balance: Balance, task: Task, ended: Ended) -> str:
    """The row where most is left, in words; "" if nothing is."""
    if not len(ended.residual):
        return ""
    k = int(np.abs(ended.residual).argmax())
    left = ended.residual[k] * task.scale[k]
    return f"{left:.3g} is left at {balance.row_names[int(task.rows[k])]}"


def starting_points(
    balance: Balance, task: Task, state: State, starts: int, seed: int, size: float = 1.0
) -> Iterator[State]:
    """The State itself, then others ever further away in the unknown coordinates."""
    yield state
    rng = np.random.default_rng(seed)
    turning = _coordinates(balance, task.columns)
    for k in range(1, starts):
        step = np.zeros(len(task.columns))
        step[turning] = size * (0.1 + 2.0 * k / starts) * rng.normal(size=int(turning.sum()))
        step[turning] *= np.where(sliding(balance.mech)[task.columns[turning]], SLIDE, 1.0)
        yield balance.moved(state, spread(balance, task.columns, step))


def _coordinates(balance: Balance, columns: Sequence[int] | np.ndarray) -> np.ndarray:
    """(columns,) which of them are increments of q."""
    return np.asarray(columns) < balance.columns["q"].stop


def directions(balance: Balance, task: Task, value: Value) -> tuple[np.ndarray, np.ndarray]:
    """(columns, k) basis of the steps that rolling wheels allow, and (k,) groups of directions of the same unit."""
    n = len(task.columns)
    groups = np.arange(n) + 2
    turning = _coordinates(balance, task.columns)
    groups[turning] = sliding(balance.mech)[task.columns[turning]]
    if task.held is None or not len(task.held):
        return np.eye(n), groups
    rows = np.zeros((len(task.held), len(balance.column_names)))
    rows[:, balance.columns["q"]] = value.found["J"][task.held]
    rows = rows[:, task.columns]
    touched = np.flatnonzero(np.abs(rows).max(axis=0) > 0)
    _, s, vt = np.linalg.svd(rows[:, touched])
    null = vt[int((s > FLAT[0] * s.max(initial=0.0)).sum()) :].T
    rest = np.setdiff1d(np.arange(n), touched)
    out = np.zeros((n, null.shape[1] + len(rest)))
    out[touched, : null.shape[1]] = null
    out[rest, null.shape[1] + np.arange(len(rest))] = 1.0
    return out, np.concatenate([np.zeros(null.shape[1], dtype=int), groups[rest]])


def with_multipliers(balance: Balance, state: State, rows: np.ndarray) -> State:
    """The State with the multipliers that balance the efforts in some rows best; they enter linearly."""
    if not balance.equations.rows:
        return state
    value = balance.at(state)
    pull = value.jacobian[rows][:, balance.columns["lam"]]
    return replace(state, lam=state.lam - np.linalg.lstsq(pull, value.residual[rows], rcond=FLAT[0])[0])
