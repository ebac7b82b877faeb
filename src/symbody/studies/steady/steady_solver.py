"""Solving chosen rows of SteadyEquations for chosen columns by least squares, with names for what is left over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from symbody.model.record.coordinates import sliding
from symbody.model.record.retracted_least_squares import (
    Directions,
    LeastSquaresProblem,
    LeastSquaresResult,
    ResidualPoint,
    StoppingRules,
    least_squares,
    newton,
)
from symbody.studies.steady.steady_equations import SteadyEquations, SteadyPoint, Value
from symbody.symbolic.expr.evaluate import evaluate

LARGEST_TURN = 0.3  # rad, or m, that a coordinate moves in one step
SLIGHT = 1e-3  # rad or m: springs count with the effort of so small a displacement
SLIDE = 0.2  # m, where others turn by 1 rad
# relative size of singular values that count as zero: nothing acts in those directions, so that they shall not move.
# The second is for stiff mechanisms, where the first leaves a remainder
FLAT = (1e-8, 1e-13)
NEWTON = StoppingRules(steps=100, trials=8, longest=LARGEST_TURN, flat=FLAT[0])
DAMPED = StoppingRules(
    steps=100, trials=14, damping=1e-3, least=1e-9, most=1.0, longest=LARGEST_TURN, stalled=1e-6, flat=FLAT[0]
)


class SteadyOutcome(Enum):
    """How a search for a steady state ended."""

    CONVERGED = "All equations hold."
    LEAST_SQUARES = "There are more conditions than unknowns; the remainder is the least in the sense of squares."
    NOT_CONVERGED = (
        "No start led to a point where the equations hold. There may be none; else start nearer to it, or free more."
    )

    @property
    def ok(self) -> bool:
        return self is SteadyOutcome.CONVERGED


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
class SteadyEnd:
    """Where a start ended: the SteadyPoint, its Value, and the scaled residuals of the Task."""

    state: SteadyPoint
    value: Value
    residual: np.ndarray
    steps: int

    @property
    def largest(self) -> float:
        return float(np.abs(self.residual).max(initial=0.0))


def scales(balance: SteadyEquations, value: Value) -> np.ndarray:
    """(rows,) what counts as one in each row: the largest effort that may act near the start, 1 m, 1 rad, 1/s.

    Efforts are sums, and at a state of rest nothing but rounding may be left of them: weights and springs count too.
    """
    out = np.ones(len(balance.row_names))
    forces = balance.rows["force"]
    stiffness = value.jacobian[forces, balance.columns["q"]]
    effort = max(
        np.abs(value.outputs.get("c", np.zeros(0))).max(initial=0.0),
        np.abs(value.residual[forces]).max(initial=0.0),
        _weights(balance, value).max(initial=0.0),
        SLIGHT * np.abs(stiffness).max(initial=0.0),
    )
    out[forces] = effort if effort > 0 else 1.0
    return out


def _weights(balance: SteadyEquations, value: Value) -> np.ndarray:
    """(nv,) what gravity may add up to in each velocity: |g| sqrt(sum m) sqrt(M_kk), by Cauchy-Schwarz."""
    mech = balance.mech
    known: dict[Any, Any] = {n: s.data.default for n, s in mech.parameters.items()}
    known |= balance.parameters
    values = np.array(evaluate([*mech.gravity, *(b.mass for b in mech.bodies)], known), dtype=float)
    inertia = np.abs(np.diag(value.outputs["M"]))
    weights: np.ndarray = np.linalg.norm(values[:3]) * np.sqrt(np.abs(values[3:]).sum() * inertia)
    return weights


def descend(balance: SteadyEquations, task: Task, state: SteadyPoint) -> SteadyEnd:
    """From one SteadyPoint by Newton's method; where that fails, by damped least squares."""
    problem = _problem(balance, task)
    ended = _ended(newton(problem, state, replace(NEWTON, tolerance=1e-3 * task.tolerance)))
    if ended.largest < task.tolerance:
        return ended
    rules = replace(DAMPED, rounding=task.tolerance)
    ended = _ended(least_squares(problem, state, rules))
    if ended.largest < task.tolerance:
        return ended
    return _ended(least_squares(problem, ended.state, replace(rules, flat=FLAT[1])))


def _problem(balance: SteadyEquations, task: Task) -> LeastSquaresProblem[SteadyPoint]:
    def at(state: SteadyPoint) -> ResidualPoint:
        value = balance.at(state)
        J = value.jacobian[np.ix_(task.rows, task.columns)] / task.scale[:, None]
        return ResidualPoint(scaled(task, value), lambda: J, value, bool(np.isfinite(value.jacobian).all()))

    return LeastSquaresProblem(
        at,
        lambda state, step: balance.moved(state, spread(balance, task.columns, step)),
        _coordinates(balance, task.columns),
        lambda state, point: Directions(*directions(balance, task, point.value)),
    )


def _ended(found: LeastSquaresResult[SteadyPoint]) -> SteadyEnd:
    return SteadyEnd(found.x, found.point.value, found.point.residual, found.steps)


def scaled(task: Task, value: Value) -> np.ndarray:
    return (value.residual[task.rows] - task.wanted) / task.scale


def spread(balance: SteadyEquations, columns: np.ndarray, step: np.ndarray) -> np.ndarray:
    out = np.zeros(len(balance.column_names))
    out[columns] = step
    return out


def largest_left(balance: SteadyEquations, task: Task, ended: SteadyEnd) -> str:
    """The row where most is left, in words; "" if nothing is."""
    if not len(ended.residual):
        return ""
    k = int(np.abs(ended.residual).argmax())
    left = ended.residual[k] * task.scale[k]
    return f"{left:.3g} is left at {balance.row_names[int(task.rows[k])]}"


def starting_points(
    balance: SteadyEquations, task: Task, state: SteadyPoint, starts: int, seed: int, size: float = 1.0
) -> Iterator[SteadyPoint]:
    """The SteadyPoint itself, then others ever further away in the unknown coordinates."""
    yield state
    rng = np.random.default_rng(seed)
    turning = _coordinates(balance, task.columns)
    for k in range(1, starts):
        step = np.zeros(len(task.columns))
        step[turning] = size * (0.1 + 2.0 * k / starts) * rng.normal(size=int(turning.sum()))
        step[turning] *= np.where(sliding(balance.mech)[task.columns[turning]], SLIDE, 1.0)
        yield balance.moved(state, spread(balance, task.columns, step))


def _coordinates(balance: SteadyEquations, columns: Sequence[int] | np.ndarray) -> np.ndarray:
    """(columns,) which of them are increments of q."""
    return np.asarray(columns) < balance.columns["q"].stop


def directions(balance: SteadyEquations, task: Task, value: Value) -> tuple[np.ndarray, np.ndarray]:
    """(columns, k) basis of the steps that rolling wheels allow, and (k,) groups of directions of the same unit."""
    n = len(task.columns)
    groups = np.arange(n) + 2
    turning = _coordinates(balance, task.columns)
    groups[turning] = sliding(balance.mech)[task.columns[turning]]
    if task.held is None or not len(task.held):
        return np.eye(n), groups
    rows = np.zeros((len(task.held), len(balance.column_names)))
    rows[:, balance.columns["q"]] = value.outputs["J"][task.held]
    rows = rows[:, task.columns]
    touched = np.flatnonzero(np.abs(rows).max(axis=0) > 0)
    _, s, vt = np.linalg.svd(rows[:, touched])
    null = vt[int((s > FLAT[0] * s.max(initial=0.0)).sum()) :].T
    rest = np.setdiff1d(np.arange(n), touched)
    out = np.zeros((n, null.shape[1] + len(rest)))
    out[touched, : null.shape[1]] = null
    out[rest, null.shape[1] + np.arange(len(rest))] = 1.0
    return out, np.concatenate([np.zeros(null.shape[1], dtype=int), groups[rest]])


def with_multipliers(balance: SteadyEquations, state: SteadyPoint, rows: np.ndarray) -> SteadyPoint:
    """The SteadyPoint with the multipliers that balance the efforts in some rows best; they enter linearly."""
    if not balance.equations.rows:
        return state
    value = balance.at(state)
    pull = value.jacobian[rows][:, balance.columns["lam"]]
    return replace(state, lam=state.lam - np.linalg.lstsq(pull, value.residual[rows], rcond=FLAT[0])[0])
