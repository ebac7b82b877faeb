"""Nonlinear least squares with retraction: one solver for assembly, equilibria, trim, inverse kinematics and pictures.

    minimise |r(x)|^2        x <- moved(x, s)        |J s + r|^2 + mu |D s|^2 -> min

x is any record of a state; `moved` retracts it along a step s of tangent increments (and may keep it within bounds).
Levenberg-Marquardt: the damping mu is a factor times the squared residual, which keeps convergence quadratic even where
J has no full rank (Yamashita and Fukushima 2001). A step that does not lower |r| is tried again with ten times the
factor; one that does divides it by ten. `newton` is for problems where the rows have no common scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

X = TypeVar("X")


@dataclass(frozen=True, eq=False)
class ResidualPoint:
    """What is known at one x: residual (m,), its Jacobian (m, n) by the steps, formed when it is asked for.

    value   what the caller computed there besides
    sound   whether it may be stepped to; a residual that is no number is refused in any case
    """

    residual: np.ndarray
    jacobian: Callable[[], np.ndarray]
    value: Any = None
    sound: bool = True

    @cached_property
    def cost(self) -> float:
        """|r|^2; infinite where residuals are above 1e154."""
        with np.errstate(over="ignore"):
            return float(self.residual @ self.residual)

    @cached_property
    def largest(self) -> float:
        return float(np.abs(self.residual).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Directions:
    """basis (n, k): steps are basis @ y, None for all; groups (k,): directions of one unit, scaled alike by D.

    Without groups D is the identity.
    """

    basis: np.ndarray | None = None
    groups: np.ndarray | None = None


EVERYWHERE = Directions()


@dataclass(frozen=True, eq=False)
class LeastSquaresProblem(Generic[X]):
    """at: x -> ResidualPoint; moved: (x, step (n,)) -> x, a retraction.

    bounded (n,): components that `StoppingRules.longest` limits.

    directions: (x, ResidualPoint there) -> Directions, asked for once before each step: coordinates at a bound stay.
    """

    at: Callable[[X], ResidualPoint]
    moved: Callable[[X, np.ndarray], X]
    bounded: np.ndarray | None = None
    directions: Callable[[X, ResidualPoint], Directions] = field(default=lambda x, point: EVERYWHERE)


@dataclass(frozen=True)
class StoppingRules:
    """When to stop, how to damp, how far to go.

    tolerance   solved where no residual is larger: no further step
    steps       at most so many; trials: dampings that are tried for one of them
    damping     first factor of the squared residual; least: it never falls below; most: of the squared residual
    longest     rad or m: largest bounded component of a step
    stalled     relative decrease of |r|^2 below which the search ends: a minimum that is not zero ...
    near        ... unless |r| was below this already
    rounding    where no residual is larger than this and |r|^2 falls by less than 99 %, only rounding is left
    flat        singular values below this share of the largest count as zero: nothing acts there, nothing moves
    """

    tolerance: float = 0.0
    steps: int = 100
    trials: int = 12
    damping: float = 1.0
    least: float = 1e-12
    most: float = np.inf
    longest: float = 0.5
    stalled: float = 0.0
    near: float = 0.0
    rounding: float = 0.0
    flat: float | None = None


@dataclass(frozen=True, eq=False)
class LeastSquaresResult(Generic[X]):
    """Where a search ended."""

    x: X
    point: ResidualPoint
    steps: int


def least_squares(problem: LeastSquaresProblem[X], x: X, rules: StoppingRules) -> LeastSquaresResult[X]:
    """Levenberg-Marquardt from x."""
    point, damping, steps = problem.at(x), rules.damping, 0
    while steps < rules.steps and not _solved(point, rules.tolerance):
        steps += 1
        cost, ways, J = point.cost, problem.directions(x, point), point.jacobian()
        if not (np.isfinite(cost) and np.isfinite(J).all()):
            break  # so far away that nothing has a value: no step is known
        for _ in range(rules.trials):
            weight = damping * min(cost, rules.most)
            if not np.isfinite(weight):
                continue
            step = damped_step(J, point.residual, weight, ways, rules.flat)
            trial = problem.moved(x, _shortened(step, problem.bounded, rules.longest))
            new = problem.at(trial)
            if new.sound and new.cost < cost:
                damping = max(damping / 10, rules.least)
                break
            damping *= 10
        else:
            break  # no descent: a minimum that is not zero, or rounding
        x, point = trial, new
        if new.largest < rules.rounding and new.cost > 0.01 * cost:
            break
        if new.cost > (1 - rules.stalled) * cost and cost > rules.near**2:
            break
    return LeastSquaresResult(x, point, steps)


def newton(problem: LeastSquaresProblem[X], x: X, rules: StoppingRules) -> LeastSquaresResult[X]:
    """Newton's method, shortened until the next correction is smaller: a test that no scaling of rows changes.

    The natural monotonicity test of Deuflhard 2004, section 3.3. Directions in which nothing acts do not move.
    """
    point, steps = problem.at(x), 0
    while steps < rules.steps and not _solved(point, rules.tolerance):
        steps += 1
        ways, J = problem.directions(x, point), point.jacobian()
        if not (np.isfinite(point.residual).all() and np.isfinite(J).all()):
            break
        J = J if ways.basis is None else J @ ways.basis
        size = sizes(J, ways.groups)
        inverse = np.linalg.pinv(J / size, rcond=1e-15 if rules.flat is None else rules.flat)
        correction = -inverse @ point.residual
        full = _spread(ways, correction / size)
        far = _far(full, problem.bounded)
        share = min(1.0, rules.longest / far) if far > 0 else 1.0
        for _ in range(rules.trials):
            trial = problem.moved(x, share * full)
            new = problem.at(trial)
            good = new.sound and bool(np.isfinite(new.residual).all())
            if good and np.linalg.norm(inverse @ new.residual) <= (1 - share / 4) * np.linalg.norm(correction):
                break
            share /= 2
        else:
            break
        x, point = trial, new
    return LeastSquaresResult(x, point, steps)


def damped_step(
    J: np.ndarray, r: np.ndarray, damping: float, ways: Directions = EVERYWHERE, flat: float | None = None
) -> np.ndarray:
    """(n,) minimiser of |J s + r|^2 + damping |D s|^2 along the directions; of several the shortest."""
    J = J if ways.basis is None else J @ ways.basis
    n, size = J.shape[1], sizes(J, ways.groups)
    stacked = np.vstack([J / size, np.sqrt(damping) * np.eye(n)])
    return _spread(ways, np.linalg.lstsq(stacked, np.concatenate([-r, np.zeros(n)]), rcond=flat)[0] / size)


def sizes(J: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """(columns,) the largest column of each group; 1 without groups, and where nothing acts."""
    if groups is None:
        return np.ones(J.shape[1])
    norms = np.linalg.norm(J, axis=0)
    out = np.array([norms[groups == g].max() for g in groups])
    out[out == 0] = 1.0
    return out


def _solved(point: ResidualPoint, tolerance: float) -> bool:
    return point.largest == 0.0 or point.largest < tolerance


def _spread(ways: Directions, y: np.ndarray) -> np.ndarray:
    return y if ways.basis is None else ways.basis @ y


def _far(step: np.ndarray, bounded: np.ndarray | None) -> float:
    return float(np.abs(step if bounded is None else step[bounded]).max(initial=0.0))


def _shortened(step: np.ndarray, bounded: np.ndarray | None, longest: float) -> np.ndarray:
    far = _far(step, bounded)
    return step if far <= longest else step * (longest / far)
