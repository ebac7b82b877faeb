"""The problem record: a function of bounded numbers, its gradient and constraints, and what a search found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, array_argument, wrong_argument

Function = Callable[[np.ndarray], Any]
Bounds = Sequence[tuple[float, float]] | Mapping[str, tuple[float, float]]


class SearchOutcome(Enum):
    """How a search ended."""

    CONVERGED = "The method's own criterion was met."
    BUDGET = "The budget of evaluations was spent; the best point so far is given. Allow a larger budget."
    STALLED = "The method stopped without meeting its criterion. Another method or start may go further."
    INFEASIBLE = "No point that meets all constraints was found; the least violated one is given."
    STOPPED = "The caller's progress function asked to stop."

    @property
    def ok(self) -> bool:
        return self is SearchOutcome.CONVERGED

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, eq=False)
class Constraint:
    """function(x) (m,) >= 0, with its Jacobian (m, n) where it is known."""

    function: Function
    jacobian: Function | None = None
    name: str = "constraint"


def shortfall(values: Any) -> float:
    """How far the values of a constraint fall below 0, at most."""
    return float(-np.min(np.asarray(values, dtype=float), initial=0.0))


@dataclass(frozen=True, eq=False)
class Objective:
    """What is to be made small.

    function     x (n,) -> number
    lower, upper (n,) bounds, finite
    names        (n,)
    gradient     x -> (n,), or None
    constraints  that must be >= 0
    start        (n,) or None: the middle of the bounds
    """

    function: Function
    lower: np.ndarray
    upper: np.ndarray
    names: tuple[str, ...]
    gradient: Function | None = None
    constraints: tuple[Constraint, ...] = ()
    start: np.ndarray | None = None

    @property
    def size(self) -> int:
        return len(self.lower)

    def violation(self, x: np.ndarray) -> float:
        """Largest shortfall of the constraints, 0 where all are met."""
        worst = 0.0
        for c in self.constraints:
            worst = max(worst, shortfall(c.function(x)))
        return worst


@dataclass(frozen=True, eq=False)
class Result:
    """x (n,) with the smallest fun found; evaluations of the function, of its gradient; violation of constraints."""

    x: np.ndarray
    fun: float
    evaluations: int
    outcome: SearchOutcome
    gradients: int = 0
    violation: float = 0.0
    names: tuple[str, ...] = ()
    method: str = ""
    message: str = ""
    starts: tuple[float, ...] = field(default=(), repr=False)

    def as_dict(self) -> dict[str, float]:
        """Name -> value."""
        return dict(zip(self.names, self.x.tolist()))


def objective(
    function: Function, bounds: Bounds, gradient: Function | None, constraints: Sequence[Constraint], start: Any
) -> Objective:
    """The checked record."""
    if isinstance(bounds, Mapping):
        names, pairs = tuple(bounds), list(bounds.values())
    else:
        if not isinstance(bounds, Iterable):
            raise wrong_argument("bounds", bounds, "(lower, upper) for each unknown")
        pairs = list(bounds)
        names = tuple(f"x{k + 1}" for k in range(len(pairs)))
    if not callable(function):
        raise DefinitionError(f"minimize was given {function!r}; expected a function of x (n,).")
    if not pairs:
        raise DefinitionError("minimize was given no bounds; expected (lower, upper) for each unknown.")
    for n, pair in zip(names, pairs):
        array = array_argument(f"bounds of {n!r}", pair, "finite (lower, upper) with lower <= upper")
        if array.shape != (2,) or not np.all(np.isfinite(array)) or not array[0] <= array[1]:
            raise DefinitionError(f"bounds of {n!r} are {pair!r}; expected finite (lower, upper) with lower <= upper.")
    lower, upper = (np.array([float(p[k]) for p in pairs]) for k in (0, 1))
    first = None
    if start is not None:
        first = array_argument("start", start, f"{lower.size} finite numbers")
        if first.shape != lower.shape or not np.all(np.isfinite(first)):
            raise DefinitionError(f"start has the shape {first.shape}; expected {lower.shape} finite numbers.")
        first = np.clip(first, lower, upper)
    return Objective(function, lower, upper, names, gradient, tuple(constraints), first)
