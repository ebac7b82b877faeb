"""Nonlinear identification: parameters of any Mechanism or System from its measured motion, with sensitivities.

The motion is simulated together with its derivatives by the parameters (forward sensitivities, generated code), and the
distance from the measured outputs is made smallest by bounded least squares, from several starts where asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import (
    DataError,
    DefinitionError,
    NameLookupError,
    array_argument,
    nearest,
    real_argument,
    whole_argument,
    wrong_argument,
)
from symbody.model.record.mechanism import Mechanism
from symbody.motion.run.settings import RTOL, Tolerance
from symbody.motion.run.simulate import simulate
from symbody.studies.identification.series import Series
from symbody.studies.inverse.sensitivity import sensitivity
from symbody.symbolic.expr.derivative import tangents
from symbody.symbolic.system.system import System

SET_HERE = ("duration", "parameters", "values", "samples", "sampling", "t0", "mode", "integrals", "at")
INTEGRATED = 0.1  # standard deviations by which the error of integration may move a parameter
FINER = 100.0  # times smaller tolerances (steps: 4 times) of a run that judges another one
ROUNDS = 3  # of finer integration
NEGLIGIBLE = 1e-7  # of the width of the bounds: deviations below count as this
SMALL = 1e-3  # relative size of a singular value below which a direction is said to be hardly identifiable


@dataclass(frozen=True, eq=False)
class NonlinearFit:
    """Parameters found: name -> value, with deviations, and how well each direction is determined.

    sigma     standard deviation of the residuals, by output, in its unit
    relative  |measured - simulated| / |measured - mean| of all outputs
    singular  (p,) singular values of the sensitivities, by parameters in units of their bounds, largest first
    weakest   the direction of the smallest one: name -> share
    starts    sum of squares that each start led to
    """

    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray
    sigma: Mapping[str, float]
    relative: float
    singular: np.ndarray
    weakest: Mapping[str, float]
    evaluations: int
    starts: tuple[float, ...]
    converged: bool
    notes: tuple[str, ...] = ()
    problem: Any = field(default=None, repr=False)

    @property
    def std(self) -> np.ndarray:
        """(p,) standard deviations."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            raise NameLookupError(f"the fit has no parameter {name!r}. {nearest(name, self.names)}")
        return float(self.values[self.names.index(name)])

    def __str__(self) -> str:
        lines = [f"  {n:<20} {v:>12.6g} ± {s:.3g}" for n, v, s in zip(self.names, self.values, self.std)]
        head = f"nonlinear least squares: relative error {self.relative:.2%}, {self.evaluations} simulations"
        return "\n".join([head, *lines, *(f"  note: {n}" for n in self.notes)])


class MotionResiduals:
    """Residuals of a model's motion against a record, and their derivatives by the parameters in units of their
    bounds."""

    def __init__(
        self, model: Mechanism | System, series: Series, parameters: Mapping[str, tuple[float, float]],
        outputs: Sequence[str], inputs: Mapping[str, Any] | None, options: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.model, self.series = model, series
        self.outputs = (outputs,) if isinstance(outputs, str) else tuple(outputs)
        bounds, self.held = _bounds(model, parameters)
        self.names = tuple(bounds)
        if not self.names or not self.outputs:
            raise DefinitionError(
                "fit_system was given no parameters or no outputs; expected some of both, name -> (lower, upper)."
            )
        _check_options(options)
        self.lower, self.upper = (np.array([p[k] for p in bounds.values()]) for k in (0, 1))
        self.measured = {n: np.asarray(series[n]) for n in self.outputs}
        spread = {n: np.std(a, axis=0) for n, a in self.measured.items()}
        for n, s in spread.items():
            if not np.any(s > 0):
                raise DataError(f"{n!r} is constant in the record; nothing can be learned from it. Leave it out.")
        self.scale = {n: np.where(s > 0, s, 1.0) for n, s in spread.items()}
        self.inputs = {
            n: (series.t, np.asarray(series[n])) for n in (inputs or {}) if inputs is not None and inputs[n] is None
        }
        self.inputs |= {n: v for n, v in (inputs or {}).items() if v is not None}
        self.options = dict(options)
        self.count = 0
        self._twin: System | None = _with_sensitivities(model, self.names) if isinstance(model, System) else None
        self._last: tuple[bytes, Any] = (b"", None)

    def values(self, u: np.ndarray) -> np.ndarray:
        """From the unit box to parameters."""
        return self.lower + u * (self.upper - self.lower)

    def _run(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(residuals (m,), derivatives (m, p)) at parameters in units of their bounds."""
        key = u.tobytes()
        if self._last[0] == key:
            return self._last[1]
        self.count += 1
        given = {**self.held, **dict(zip(self.names, self.values(u).tolist()))}
        t = self.series.t
        options = {"samples": t, "t0": float(t[0]), **self.options}
        if self.inputs:
            options["inputs"] = self.inputs
        extra = [n for n in self.outputs if n not in ("q", "qd")]
        if isinstance(self.model, Mechanism):
            found = sensitivity(
                self.model, self.series.duration, self.names, outputs=extra or None, values=given, **options
            )
            motion = found.trajectory

            def slope(n: str, p: str) -> np.ndarray:
                return found.of(n, p)
        else:
            assert self._twin is not None
            states0 = dict(options.pop("states0", None) or {})
            motion = simulate(
                self._twin, self.series.duration, parameters=given, states0=states0, outputs=self._recorded(), **options
            )

            def slope(n: str, p: str) -> np.ndarray:
                return np.asarray(motion[f"S_{n}_{p}"])

        if not motion.outcome.ok:
            bad = np.full(sum(a.size for a in self.measured.values()), 1e6)
            self._last = (key, (bad, np.zeros((len(bad), len(self.names)))))
            return self._last[1]
        width = self.upper - self.lower
        rest, slopes = [], []
        for n in self.outputs:
            simulated = _shaped(motion[n], self.measured[n])
            rest.append(((simulated - self.measured[n]) / self.scale[n]).ravel())
            slopes.append(
                np.column_stack(
                    [
                        (_shaped(slope(n, p), self.measured[n]) / self.scale[n]).ravel() * w
                        for p, w in zip(self.names, width)
                    ]
                )
            )
        self._last = (key, (np.concatenate(rest), np.vstack(slopes)))
        return self._last[1]

    def _recorded(self) -> Any:
        assert self._twin is not None
        wanted = [n for n in self._twin.outputs if n in self.outputs or n.startswith("S_")]
        return wanted or None

    def finer(self) -> MotionResiduals:
        """The same, integrated with tolerances 100 times smaller, or steps of a quarter."""
        other = copy(self)
        other.options = _finer(self.options)
        other._last = (b"", None)
        return other

    def refine(self) -> None:
        """Integrate more finely from here on."""
        self.options, self._last = _finer(self.options), (b"", None)

    def accuracy(self) -> str:
        """What `refine` has chosen, in words."""
        kinds = ("step", "tolerance", "rtol", "atol")
        return ", ".join(f"{n}={self.options[n]!r}" for n in kinds if self.options.get(n) is not None)

    def residuals(self, u: np.ndarray) -> np.ndarray:
        return self._run(u)[0]

    def slopes(self, u: np.ndarray) -> np.ndarray:
        return self._run(u)[1]


def _finer(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a simulation whose error is smaller by about two decades."""
    out = dict(options)
    if out.get("step") is not None:
        out["step"] = out["step"] / 4
        return out
    least = 1e-13  # no relative tolerance of doubles is smaller
    given = out.pop("tolerance", None)
    if isinstance(given, Tolerance):
        absolute = None if given.absolute is None else given.absolute / FINER
        return {**out, "tolerance": Tolerance(max(given.relative / FINER, least), absolute)}
    for n, x in (("rtol", out.get("rtol", RTOL if given is None else given)), ("atol", out.get("atol"))):
        if x is not None:
            out[n] = max(x / FINER, least) if n == "rtol" else x / FINER
    return out


def _bounds(
    model: Mechanism | System, parameters: Mapping[str, Any]
) -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
    """(name -> bounds of those that are fitted, name -> value of those that are held)."""
    bounds, held, known = {}, {}, model.parameters
    for n, given in parameters.items():
        if n not in known:
            raise NameLookupError(f"{model.name} has no parameter {n!r}. {nearest(n, known)}")
        pair = array_argument(f"parameters[{n!r}]", given, "(lower, upper) to fit it, or a number to hold it at")
        if pair.shape == () and np.isfinite(pair):
            held[n] = float(pair)
        elif pair.shape == (2,) and np.all(np.isfinite(pair)) and pair[0] < pair[1]:
            bounds[n] = (float(pair[0]), float(pair[1]))
        else:
            raise DefinitionError(
                f"bounds of {n!r} are {given!r}; expected finite (lower, upper), or a number to hold it at."
            )
    return bounds, held


def _check_options(options: Mapping[str, Any]) -> None:
    for n in options:
        if n in SET_HERE:
            what = "a value that is held goes among `parameters`, name -> number" if n == "values" else "leave it out"
            raise DefinitionError(f"fit_system sets {n!r} of the simulation itself, by the record; {what}.")
    if not isinstance(options.get("states0") or {}, Mapping):
        raise wrong_argument("states0", options["states0"], "state -> first value")


def _shaped(values: Any, like: np.ndarray) -> np.ndarray:
    return np.asarray(values).reshape(like.shape)


def _with_sensitivities(system: System, names: Sequence[str]) -> System:
    """The System with the states S_<state>_<p>, and outputs S_<output>_<p>: S' = f_x S + f_p."""
    if not system.states:
        raise DefinitionError(
            f"{system.name} has no states; expected a System that moves. For a formula take linear_regressor."
        )
    graph = system.graph
    seeds: dict[Any, dict[int, Any]] = {}
    added: dict[str, np.ndarray] = {}
    for k, p in enumerate(names):
        if system.parameters[p].size != 1:
            raise DefinitionError(f"parameter {p!r} has {system.parameters[p].size} entries; fit_system takes scalars.")
        seeds.setdefault(system.parameters[p].item(), {})[k] = graph.one
        for state in system.states:
            symbols = np.empty(system.inputs[state].shape, dtype=object)
            for i in range(symbols.size):
                symbols.flat[i] = graph.symbol(f"S_{state}_{p}_{i + 1}", "input")
                seeds.setdefault(system.inputs[state].flat[i], {})[k] = symbols.flat[i]
            added[f"S_{state}_{p}"] = symbols
    outputs, states = dict(system.outputs), dict(system.states)
    rates = {v: n for n, v in system.states.items()}
    for n, a in system.outputs.items():
        rows = tangents(list(a.flat), seeds)
        for k, p in enumerate(names):
            found = np.empty(a.shape, dtype=object)
            for i in range(a.size):
                found.flat[i] = rows[i].get(k, graph.zero)
            if n in rates:
                outputs[f"S_{rates[n]}_{p}_dot"] = found
                states[f"S_{rates[n]}_{p}"] = f"S_{rates[n]}_{p}_dot"
            else:
                outputs[f"S_{n}_{p}"] = found
    inputs = {**dict(system.inputs.items()), **added}
    return system.replace(
        name=f"{system.name}_sensitivity", inputs=inputs, outputs=outputs, states=states, units={}, origins={}
    )


@declared
def fit_system(
    model: Mechanism | System,
    series: Series,
    parameters: Mapping[str, tuple[float, float]],
    outputs: Sequence[str] = ("q",),
    *,
    inputs: Mapping[str, Any] | None = None,
    start: Mapping[str, float] | None = None,
    starts: int = 1,
    seed: int = 0,
    budget: int = 50,
    **options: Any,
) -> NonlinearFit:
    """Parameters of a Mechanism or System whose motion is nearest to a record.

    parameters  name -> (lower, upper); name -> number: held there, the others at their defaults
    outputs     signals of the record that the model has as states or outputs
    inputs      input of the model -> None: the record's signal of that name; or whatever `sb.simulate` takes
    start       first values, others the middle of their bounds; starts: further ones are random
    budget      simulations for each start
    options     those of `sb.simulate`: q0, qd0, states0, step, method, rtol ...

    Where the error of integration would move a parameter by more than a tenth of its standard deviation, the fit goes
    on with smaller tolerances or steps, and says so.
    """
    whole_argument("starts", starts, 1)
    whole_argument("budget", budget, 1)
    motion = MotionResiduals(model, series, parameters, outputs, inputs, options)
    rng = np.random.default_rng(seed)
    width = motion.upper - motion.lower
    for n, x in (start or {}).items():
        if n not in motion.names:
            raise NameLookupError(f"start has {n!r}, which is not fitted. {nearest(n, motion.names)}")
        real_argument(f"start[{n!r}]", x, "a number")
    first = np.array([(start or {}).get(n, 0.5 * (a + b)) for n, a, b in zip(motion.names, motion.lower, motion.upper)])
    tries = [np.clip((first - motion.lower) / width, 1e-6, 1 - 1e-6)]
    tries += [rng.uniform(0.02, 0.98, len(width)) for _ in range(starts - 1)]
    best, costs = None, []
    for u in tries:
        found = _searched(motion, u, budget)
        costs.append(2 * float(found.cost))
        if best is None or found.cost < best.cost:
            best = found
    assert best is not None
    rounds, shift = 0, _integration_shift(motion, best.x)
    while shift > INTEGRATED and rounds < ROUNDS:
        rounds += 1
        motion.refine()
        best = _searched(motion, best.x, budget)
        shift = _integration_shift(motion, best.x)
    notes = []
    if rounds:
        notes.append(f"integration was made finer, so as not to move the values: {motion.accuracy()}")
    if shift > INTEGRATED:
        notes.append(f"the error of integration still moves a value by {shift:.2g} standard deviations")
    return _judged(motion, best, costs, notes)


def _searched(motion: MotionResiduals, u: np.ndarray, budget: int) -> Any:
    from scipy.optimize import least_squares

    return least_squares(
        motion.residuals, u, jac=motion.slopes, bounds=(0.0, 1.0), max_nfev=budget, x_scale="jac", ftol=1e-10,
        xtol=1e-10, gtol=1e-12,
    )  # fmt: skip


def _integration_shift(motion: MotionResiduals, u: np.ndarray) -> float:
    """By how many standard deviations finer integration would move the parameter that it moves most, to first order."""
    rest, slopes = motion._run(u)
    finer = motion.finer()._run(u)[0] - rest
    s = np.linalg.svd(slopes, compute_uv=False)
    if not s[-1] > 1e-10 * s[0]:
        return 0.0  # the record does not determine them anyway
    root = np.linalg.pinv(slopes)
    sigma = np.sqrt(float(rest @ rest) / max(len(rest) - len(u), 1)) * np.linalg.norm(root, axis=1)
    return float(np.max(np.abs(root @ finer) / np.maximum(sigma, NEGLIGIBLE)))


def _judged(motion: MotionResiduals, best: Any, costs: Sequence[float], notes: list[str]) -> NonlinearFit:
    rest, slopes = motion._run(best.x)
    width = motion.upper - motion.lower
    _, s, vt = np.linalg.svd(slopes, full_matrices=False)
    freedom = max(len(rest) - len(width), 1)
    variance = float(rest @ rest) / freedom
    weakest = {n: float(x) for n, x in zip(motion.names, vt[-1])}
    if s[-1] <= 1e-10 * s[0]:
        shown = ", ".join(n for n, x in weakest.items() if abs(x) > 0.2)
        notes.append(
            f"the record does not determine {shown}: no output changes along them. Fix one, or measure something else"
        )
        covariance = np.full((len(width), len(width)), np.inf)
    else:
        root = vt.T / s
        covariance = variance * (root @ root.T) * np.outer(width, width)
        if s[-1] < SMALL * s[0]:
            shown = ", ".join(n for n, x in weakest.items() if abs(x) > 0.2)
            notes.append(f"{shown} are hardly told apart by this record (ratio {s[-1] / s[0]:.1e})")
    for n, u in zip(motion.names, best.x):
        if u < 1e-6 or u > 1 - 1e-6:
            notes.append(f"{n} lies at its bound {'lower' if u < 0.5 else 'upper'}: widen it if it is not physical")
    if not best.success:
        notes.append(f"the search ended early: {best.message}")
    sigma, at, square, spread = {}, 0, 0.0, 0.0
    for n, a in motion.measured.items():
        part = rest[at : at + a.size].reshape(a.shape) * motion.scale[n]
        at += a.size
        sigma[n] = float(np.sqrt(np.mean(part**2)))
        square += float(np.sum((part / motion.scale[n]) ** 2))
        spread += float(np.sum(((a - a.mean(axis=0)) / motion.scale[n]) ** 2))
    return NonlinearFit(
        motion.names, motion.values(best.x), covariance, sigma, float(np.sqrt(square / max(spread, 1e-300))), s,
        weakest,
        motion.count, tuple(costs), bool(best.success), tuple(notes), motion,
    )  # fmt: skip


@declared
def profile(
    fit: NonlinearFit, name: str, points: int = 9, width: float = 3.0, budget: int = 20
) -> tuple[np.ndarray, np.ndarray]:
    """Profile likelihood: (values (points,) of a parameter, rise of the sum of squares over its variance with all
    others
    fitted anew). It is a parabola through 1 at one standard deviation where the model is nearly linear; a flat side
    means that the record does not bound the parameter there.

    width: standard deviations to either side, within the bounds
    """
    from scipy.optimize import least_squares

    motion: MotionResiduals = fit.problem
    k = fit.names.index(name) if name in fit.names else -1
    if k < 0:
        raise NameLookupError(f"the fit has no parameter {name!r}. {nearest(name, fit.names)}")
    center, half = fit.values[k], fit.std[k]
    if not np.isfinite(half) or half == 0:
        half = 0.1 * (motion.upper[k] - motion.lower[k])
    grid = np.clip(np.linspace(center - width * half, center + width * half, points), motion.lower[k], motion.upper[k])
    others = [i for i in range(len(fit.names)) if i != k]
    base = (fit.values - motion.lower) / (motion.upper - motion.lower)
    rest = motion.residuals(base)
    variance = float(rest @ rest) / max(len(rest) - len(base), 1)
    rise = []
    for value in grid:
        u = base.copy()
        u[k] = (value - motion.lower[k]) / (motion.upper[k] - motion.lower[k])

        def full(v: np.ndarray, u: np.ndarray = u) -> np.ndarray:
            out = u.copy()
            out[others] = v
            return out

        if others:
            found = least_squares(
                lambda v, f=full: motion.residuals(f(v)), np.clip(u[others], 1e-6, 1 - 1e-6),
                jac=lambda v, f=full: motion.slopes(f(v))[:, others], bounds=(0.0, 1.0), max_nfev=budget,
            )  # fmt: skip
            cost = 2 * float(found.cost)
        else:
            r = motion.residuals(u)
            cost = float(r @ r)
        rise.append((cost - float(rest @ rest)) / variance)
    return grid, np.array(rise)


@declared
def screen(motion_or_fit: MotionResiduals | NonlinearFit, at: Mapping[str, float] | None = None) -> dict[str, float]:
    """Local screening: name -> norm of the outputs' change for a change of the parameter by its whole range, relative
    to
    the outputs' spread; what is far below 1e-3 can hardly be identified."""
    motion: MotionResiduals = motion_or_fit.problem if isinstance(motion_or_fit, NonlinearFit) else motion_or_fit
    values = np.array([(at or {}).get(n, 0.5 * (a + b)) for n, a, b in zip(motion.names, motion.lower, motion.upper)])
    slopes = motion.slopes((values - motion.lower) / (motion.upper - motion.lower))
    size = np.linalg.norm(slopes, axis=0) / np.sqrt(len(slopes))
    return dict(zip(motion.names, size.tolist()))


@declared
def morris(motion: MotionResiduals, paths: int = 10, levels: int = 6, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Global screening (Morris 1991): name -> (mean of |elementary effects| on the residuals' size, their deviation).

    A small mean: the parameter has no influence anywhere. A deviation as large as the mean: it acts nonlinearly, or
    together with others.
    """
    rng = np.random.default_rng(seed)
    n = len(motion.names)
    step = levels / (2 * (levels - 1))
    effects: list[list[float]] = [[] for _ in range(n)]

    def size(u: np.ndarray) -> np.ndarray:
        return motion.residuals(u)

    for _ in range(paths):
        u = rng.integers(0, levels // 2, n) / (levels - 1)
        now = size(u)
        for k in rng.permutation(n):
            u = u.copy()
            u[k] += step
            then = size(u)
            effects[k].append(float(np.sqrt(np.mean((then - now) ** 2))) / step)
            now = then
    return {name: (float(np.mean(e)), float(np.std(e))) for name, e in zip(motion.names, effects)}
