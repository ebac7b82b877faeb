"""sb.minimize: methods by name over one problem record; SciPy's so far, one row each.

A Recorder stands between a method and the problem: it counts evaluations, ends the search when the budget is spent, and
keeps the best point that meets the constraints, which need not be the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DefinitionError, add_row, argument, remove_row, shown, whole_argument, word_argument
from symbody.studies.optimisation.search_problem import (
    Bounds,
    Constraint,
    Function,
    Objective,
    Result,
    SearchOutcome,
    objective,
    shortfall,
)

FEASIBLE = 1e-6  # shortfall of a constraint that is taken for rounding
Progress = Callable[[int, float], Any]  # (evaluations, best so far) -> True to stop


class _Stop(Exception):
    def __init__(self, outcome: SearchOutcome) -> None:
        self.outcome = outcome


class _Failed(Exception):
    """An error of the caller's function, past whatever SciPy makes of errors."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class Recorder:
    """Counts evaluations and keeps the best point that meets the constraints."""

    def __init__(self, problem: Objective, budget: int, progress: Progress | None) -> None:
        self.problem, self.budget, self.progress = problem, budget, progress
        self.count = self.gradients = 0
        self.best: np.ndarray | None = None
        self.value, self.short = float("inf"), float("inf")
        self.nearest: np.ndarray | None = None  # of points whose constraints alone were asked for
        self.distance = float("inf")

    def function(self, x: np.ndarray) -> float:
        """The value at x; inf where it is no number."""
        if self.count >= self.budget:
            raise _Stop(SearchOutcome.BUDGET)
        self.count += 1
        x = np.asarray(x, dtype=float)
        try:
            value = _number(self.problem.function(x))
        except Exception as error:
            raise _Failed(error) from error
        value = value if np.isfinite(value) else float("inf")
        short = self.problem.violation(x) if self.problem.constraints else 0.0
        inside = short <= FEASIBLE
        better = value < self.value if inside and self.short <= FEASIBLE else (inside or short < self.short)
        if self.best is None or better:
            self.best, self.value, self.short = x.copy(), value, short
        if self.progress is not None and self.progress(self.count, self.value):
            raise _Stop(SearchOutcome.STOPPED)
        return value if np.isfinite(value) else 1e300

    def limit(self, constraint: Constraint) -> Function:
        """The function of a constraint; as long as the objective is not evaluated, it keeps the least violated point.

        Methods that never evaluate the objective where a constraint is violated end without any point else.
        """

        def values(x: np.ndarray) -> Any:
            found = constraint.function(x)
            if self.best is None:
                short = shortfall(found)
                if short < self.distance and len(self.problem.constraints) > 1:
                    short = self.problem.violation(x)
                if short < self.distance:
                    self.nearest, self.distance = np.array(x, dtype=float), short
            return found

        return values

    def gradient(self, x: np.ndarray) -> np.ndarray:
        self.gradients += 1
        assert self.problem.gradient is not None
        return np.asarray(self.problem.gradient(np.asarray(x, dtype=float)), dtype=float)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        if np.size(value) == 1 and np.asarray(value).dtype.kind in "fiub":
            return float(np.ravel(value)[0])
        raise DefinitionError(argument("the value of the function", value), "; expected one number.") from None


@dataclass(frozen=True)
class SearchMethod:
    """A way to search: run(problem, recorder, seed) -> (converged, message).

    local: starts from a point. constraints: whether it takes them.
    """

    name: str
    about: str
    run: Callable[[Objective, Recorder, int], tuple[bool, str]]
    local: bool = True
    constraints: bool = False


METHODS: dict[str, SearchMethod] = {}


def add_method(row: SearchMethod) -> SearchMethod:
    """One more method of `minimize`."""
    if not isinstance(row, SearchMethod):
        raise DefinitionError(f"add_method was given {row!r}; expected a Method(name, about, run).")
    return add_row(METHODS, row.name, row, "method of minimize")


def remove_method(name: str) -> None:
    """Take an added method out again."""
    remove_row(METHODS, name, BUILT_IN, "method of minimize")


def _local(name: str) -> Callable[[Objective, Recorder, int], tuple[bool, str]]:
    def run(problem: Objective, recorder: Recorder, seed: int) -> tuple[bool, str]:
        from scipy.optimize import minimize as scipy_minimize

        start = problem.start if problem.start is not None else 0.5 * (problem.lower + problem.upper)
        limits = [
            {"type": "ineq", "fun": c.function, **({"jac": c.jacobian} if c.jacobian is not None else {})}
            for c in problem.constraints
        ]
        slopes = recorder.gradient if problem.gradient is not None and name in ("SLSQP", "L-BFGS-B") else None
        found = scipy_minimize(
            recorder.function,
            start,
            method=name,
            jac=slopes,
            bounds=list(zip(problem.lower, problem.upper)),
            constraints=limits if limits else (),
            options={"maxiter": recorder.budget},
        )
        return bool(found.success), str(found.message)

    return run


def _whole(name: str) -> Callable[[Objective, Recorder, int], tuple[bool, str]]:
    def run(problem: Objective, recorder: Recorder, seed: int) -> tuple[bool, str]:
        import scipy.optimize as so

        bounds = list(zip(problem.lower, problem.upper))
        if name == "differential_evolution":
            limits: Any = tuple(so.NonlinearConstraint(recorder.limit(c), 0.0, np.inf) for c in problem.constraints)
            rounds = max(1, recorder.budget // (15 * problem.size) - 1)
            found = so.differential_evolution(
                recorder.function, bounds, rng=seed, maxiter=rounds, polish=False, constraints=limits
            )
        elif name == "dual_annealing":
            found = so.dual_annealing(recorder.function, bounds, rng=seed, maxfun=recorder.budget)
        elif name == "direct":
            found = so.direct(recorder.function, bounds, maxfun=recorder.budget)
        else:
            limits = [{"type": "ineq", "fun": recorder.limit(c)} for c in problem.constraints]
            found = so.shgo(recorder.function, bounds, constraints=limits or None)
        return bool(found.success), str(found.message)

    return run


for _row in (
    SearchMethod(
        "slsqp", "sequential quadratic programming, with gradients and constraints", _local("SLSQP"), True, True
    ),
    SearchMethod("lbfgsb", "quasi-Newton with bounds and gradients", _local("L-BFGS-B")),
    SearchMethod("cobyqa", "quadratic models without gradients, with constraints", _local("COBYQA"), True, True),
    SearchMethod("nelder_mead", "simplex without gradients", _local("Nelder-Mead")),
    SearchMethod("powell", "line searches without gradients", _local("Powell")),
    SearchMethod(
        "differential_evolution", "a population over all bounds", _whole("differential_evolution"), False, True
    ),
    SearchMethod("dual_annealing", "annealing over all bounds", _whole("dual_annealing"), False),
    SearchMethod("direct", "division of the bounds into boxes, deterministic", _whole("direct"), False),
    SearchMethod("shgo", "simplicial homology over all bounds", _whole("shgo"), False, True),
):
    add_method(_row)
BUILT_IN = frozenset(METHODS)


@declared
def minimize(
    function: Function,
    bounds: Bounds,
    method: str = "auto",
    *,
    budget: int = 10_000,
    seed: int = 0,
    executor: Executor | None = None,
    gradient: Function | None = None,
    constraints: Sequence[Constraint] = (),
    start: Any = None,
    starts: int = 1,
    progress: Progress | None = None,
) -> Result:
    """The smallest value of function(x) within bounds: .x .fun .evaluations .outcome.

    bounds      (lower, upper) for each unknown, or name -> (lower, upper)
    method      of METHODS; "auto": slsqp with a gradient or constraints, lbfgsb else
    budget      most evaluations of the function, of all starts together
    starts      of a local method: from `start`, then from random points; the best counts
    executor    evaluates starts at the same time; function must be picklable for processes
    progress    called with (evaluations, best value); True stops
    """
    problem = objective(function, bounds, gradient, constraints, start)
    name = ("slsqp" if gradient is not None or constraints else "lbfgsb") if method == "auto" else method
    row = METHODS[word_argument("method", name, METHODS, also=", auto")]
    whole_argument("budget", budget, 1)
    whole_argument("starts", starts, 1)
    whole_argument("seed", seed, 0)
    if row.local and starts > budget:
        raise DefinitionError(
            argument("starts", starts), f"; expected at most the budget of {shown(budget)} evaluations."
        )
    if problem.constraints and not row.constraints:
        able = ", ".join(n for n, m in METHODS.items() if m.constraints)
        raise DefinitionError(f"method={name!r} takes no constraints; expected one of {able}.")
    many = starts if row.local else 1
    share = max(1, budget // many)
    rng = np.random.default_rng(seed)
    problems = []
    for k in range(many):
        first = problem.start if k == 0 else None
        if first is None and (k > 0 or many > 1):
            first = rng.uniform(problem.lower, problem.upper)
        problems.append(Objective(**{**problem.__dict__, "start": first}))
    jobs = [(p, row.name, share, seed + k, None if executor else progress) for k, p in enumerate(problems)]
    found = list(executor.map(_one, jobs)) if executor is not None else [_one(j) for j in jobs]
    best = min(found, key=lambda r: (r.violation > FEASIBLE, r.violation if r.violation > FEASIBLE else 0.0, r.fun))
    return Result(
        best.x, best.fun, sum(r.evaluations for r in found), best.outcome, sum(r.gradients for r in found),
        best.violation, problem.names, name, best.message, tuple(r.fun for r in found),
    )  # fmt: skip


def _one(job: tuple[Objective, str, int, int, Progress | None]) -> Result:
    problem, name, budget, seed, progress = job
    recorder = Recorder(problem, budget, progress)
    try:
        converged, message = METHODS[name].run(problem, recorder, seed)
        outcome = SearchOutcome.CONVERGED if converged else SearchOutcome.STALLED
        if recorder.best is None:
            recorder.function(0.5 * (problem.lower + problem.upper) if recorder.nearest is None else recorder.nearest)
    except _Stop as stop:
        outcome, message = stop.outcome, str(stop.outcome)
    except _Failed as failed:
        raise failed.error from failed.error.__cause__
    assert recorder.best is not None
    if recorder.short > FEASIBLE:
        outcome = SearchOutcome.INFEASIBLE
    return Result(
        recorder.best,
        recorder.value,
        recorder.count,
        outcome,
        recorder.gradients,
        recorder.short,
        problem.names,
        name,
        message,
    )
