"""Exciting motions: coefficients for which the columns of the regressor are told apart best, within all limits.

The criterion and the limits have exact gradients: d criterion / dY comes from the singular vectors, and the product
with
dY / d(q, qd, qdd) from generated code, by reverse accumulation through the regressor.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import (
    DefinitionError,
    NameLookupError,
    ShapeError,
    nearest,
    real_argument,
    whole_argument,
    word_argument,
)
from symbody.mechanics.verbs.kinematics import kinematics
from symbody.studies.identification.linear_inverse import InverseModel
from symbody.studies.identification.series import Series
from symbody.studies.identification.trajectories import Basis, basis
from symbody.studies.optimisation.minimum_search import minimize
from symbody.studies.optimisation.search_problem import Constraint, Result, SearchOutcome
from symbody.symbolic.expr.derivative import gradient
from symbody.symbolic.system.system import System

CRITERIA = ("condition", "scaled_condition", "determinant")
SHARP = 100.0  # of the smooth maximum over time: it is at most log(2 N)/SHARP above the largest value
BISECTIONS = 16
AMPLITUDE = 3.0  # bound of a coefficient, in units that reach a limit by themselves


@dataclass(frozen=True)
class JointLimits:
    """Limits of one joint: q between lower and upper, |qd|, |qdd| and |tau| at most; None: no limit."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    acceleration: float | None = None
    effort: float | None = None


@dataclass(frozen=True)
class CartesianLimit:
    """A frame ("body" or "body.frame") that stays between lower and upper (3,), m in world axes; None: no limit."""

    frame: str
    lower: tuple[float | None, float | None, float | None] = (None, None, None)
    upper: tuple[float | None, float | None, float | None] = (None, None, None)


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion: t (N,), q, qd, qdd (N, n) and tau of the model as it is; how good it is, and what it took.

    condition     of the stacked regressor as it is, and with columns scaled to unit length
    use           what share of each limit is used: name -> largest ratio
    starts        criterion at the random starts, scaled until they touch a limit, before any optimisation
    """

    labels: tuple[str, ...]
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    criterion: str
    value: float
    condition: float
    scaled_condition: float
    use: Mapping[str, float]
    evaluations: int
    seconds: float
    outcome: SearchOutcome
    starts: tuple[float, ...]
    basis: Basis = field(repr=False)
    coefficients: np.ndarray = field(repr=False)

    def series(self) -> Series:
        """As a Series."""
        return Series(self.t, {"q": self.q, "qd": self.qd, "qdd": self.qdd, "tau": self.tau}, self.labels)

    def at(self, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, qd, qdd (N, n) at other instants, such as those of a controller."""
        other = self.basis.at(np.asarray(t, dtype=float))
        return other.q @ self.coefficients, other.qd @ self.coefficients, other.qdd @ self.coefficients

    @declared
    def save(self, path: str | Path, rate: float | None = None) -> Path:
        """Write t, q, qd, qdd as CSV; rate: Hz of the rows, None: the samples of the search."""
        if rate is not None:
            real_argument("rate", rate, "a positive number of rows a second", above=0.0)
        duration = float(self.basis.settings["duration"])
        t = self.t if rate is None else np.arange(0, duration + 0.5 / rate, 1 / rate)
        q, qd, qdd = self.at(t)
        text = io.StringIO()
        out = csv.writer(text, lineterminator="\n")
        out.writerow(["t", *(f"{n}.{x}" for n in ("q", "qd", "qdd") for x in self.labels)])
        for k in range(len(t)):
            out.writerow([repr(float(x)) for x in (t[k], *q[k], *qd[k], *qdd[k])])
        return write_whole(Path(path), text.getvalue())

    def __str__(self) -> str:
        used = ", ".join(f"{n} {v:.0%}" for n, v in sorted(self.use.items(), key=lambda x: -x[1])[:4])
        best = f"; best of {len(self.starts)} scaled random starts {min(self.starts):.4g}" if self.starts else ""
        return (
            f"{self.criterion} {self.value:.4g}{best}\ncondition {self.condition:.4g}, {self.scaled_condition:.4g} "
            f"with "
            f"scaled columns\nlimits used: {used}\n{self.evaluations} evaluations, {self.seconds:.1f} s: {self.outcome}"
        )


class _Problem:
    """Criterion, limits and their gradients in the coefficients c (m, n), flattened."""

    def __init__(
        self,
        model: InverseModel,
        shape: Basis,
        limits: Sequence[JointLimits],
        criterion: str,
        cartesian: Sequence[CartesianLimit],
        clear: Callable[[np.ndarray], Any] | None,
    ) -> None:
        self.model, self.basis, self.limits, self.criterion = model, shape, limits, criterion
        self.n = len(model.labels)
        self.kernel = model.kernel
        self.slopes = _slopes(model.system).compile()
        self.cartesian, self.clear = list(cartesian), clear
        if cartesian:
            system = kinematics(model.mech, frames=[c.frame for c in cartesian], order=0)
            outputs = {n: a for n, a in system.outputs.items() if n.startswith("p")}
            self.places = system.replace(outputs=outputs, origins={}, units={})
            self.place_kernel = self.places.compile()
            self.place_slopes = _place_slopes(self.places).compile()
        self.scale = self._scales()
        self._last: tuple[bytes, Any] = (b"", None)
        self._judged: tuple[bytes, tuple[float, np.ndarray]] = (b"", (0.0, np.zeros(0)))

    def _scales(self) -> np.ndarray:
        """(m, n): a coefficient of 1 reaches the nearest limit by itself; the constant is the middle of the range."""
        out = np.ones((self.basis.size, self.n))
        for j, limit in enumerate(self.limits):
            for k in range(1, self.basis.size):
                ratios = [1e-12]
                if limit.lower is not None and limit.upper is not None:
                    ratios.append(np.ptp(self.basis.q[:, k]) / max(limit.upper - limit.lower, 1e-9))
                if limit.velocity:
                    ratios.append(np.abs(self.basis.qd[:, k]).max() / limit.velocity)
                if limit.acceleration:
                    ratios.append(np.abs(self.basis.qdd[:, k]).max() / limit.acceleration)
                out[k, j] = 1.0 / max(ratios)
            if limit.lower is not None and limit.upper is not None:
                out[0, j] = 0.5 * (limit.upper - limit.lower)
        return out

    def coefficients(self, x: np.ndarray) -> np.ndarray:
        c = x.reshape(self.basis.size, self.n) * self.scale
        for j, limit in enumerate(self.limits):
            if limit.lower is not None and limit.upper is not None:
                c[0, j] += 0.5 * (limit.lower + limit.upper)
        return c

    def motion(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        c = self.coefficients(x)
        return self.basis.q @ c, self.basis.qd @ c, self.basis.qdd @ c

    def back(self, g: Sequence[np.ndarray]) -> np.ndarray:
        """Gradient in x from those in q, qd, qdd (N, n)."""
        b = self.basis
        return ((b.q.T @ g[0] + b.qd.T @ g[1] + b.qdd.T @ g[2]) * self.scale).ravel()

    def columns(self, x: np.ndarray) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        key = x.tobytes()
        if self._last[0] != key:
            state = tuple(map(np.ascontiguousarray, self.motion(x)))
            self._last = (key, (state, self.model.regressor(*state)))
        return self._last[1]

    # -- criterion

    def value(self, x: np.ndarray) -> float:
        return self._judgement(x)[0]

    def gradient(self, x: np.ndarray) -> np.ndarray:
        state, y = self.columns(x)
        return self._pull(state, self._judgement(x)[1].reshape(y.shape))

    def _judgement(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """What `_criterion` says at x, the last one kept: value and gradient are asked for one after the other."""
        key = x.tobytes()
        if self._judged[0] != key:
            self._judged = (key, self._criterion(self.columns(x)[1]))
        return self._judged[1]

    def _criterion(self, y: np.ndarray) -> tuple[float, np.ndarray]:
        """(logarithm of the criterion, its gradient (rows, b))."""
        flat = y.reshape(-1, y.shape[2])
        size = np.ones(flat.shape[1])
        if self.criterion == "scaled_condition":
            size = np.maximum(np.linalg.norm(flat, axis=0), 1e-12)
        u, s, vt = _singular(flat / size)
        if self.criterion == "determinant":
            value = -2 * float(np.sum(np.log(s))) / len(s)
            return value, -2 / len(s) * (u / s) @ vt
        value = float(np.log(s[0] / s[-1]))
        slope = np.outer(u[:, 0], vt[0]) / s[0] - np.outer(u[:, -1], vt[-1]) / s[-1]
        if self.criterion == "scaled_condition":
            unit = flat / size
            slope = (slope - unit * np.sum(unit * slope, axis=0)) / size
        return value, slope

    def _pull(self, state: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
        found = self.slopes(*state, np.ascontiguousarray(weights))
        return self.back([np.asarray(getattr(found, f"by_{n}")) for n in ("q", "qd", "qdd")])

    # -- limits: each is 1 - smooth maximum over time of its ratio, >= 0

    def ratios(self, x: np.ndarray) -> dict[str, tuple[np.ndarray, str, int]]:
        """Name -> (ratio (N,) that stays below 1, signal, joint)."""
        (q, qd, qdd), y = self.columns(x)
        out: dict[str, tuple[np.ndarray, str, int]] = {}
        tau = y @ self.model.base_prior if any(v.effort for v in self.limits) else None
        for j, (label, limit) in enumerate(zip(self.model.labels, self.limits)):
            if limit.lower is not None and limit.upper is not None:
                half = 0.5 * (limit.upper - limit.lower)
                out[f"q.{label}"] = ((q[:, j] - 0.5 * (limit.lower + limit.upper)) / half, "q", j)
            if limit.velocity:
                out[f"qd.{label}"] = (qd[:, j] / limit.velocity, "qd", j)
            if limit.acceleration:
                out[f"qdd.{label}"] = (qdd[:, j] / limit.acceleration, "qdd", j)
            if limit.effort and tau is not None:
                out[f"tau.{label}"] = (tau[:, j] / limit.effort, "tau", j)
        return out

    def use(self, x: np.ndarray) -> dict[str, float]:
        out = {n: float(np.abs(r).max()) for n, (r, _, _) in self.ratios(x).items()}
        q = self.motion(x)[0]
        for name, values, _ in self._sided(q):
            out[name] = max(out.get(name, 0.0), float(np.max(1 - values)))
        return out

    def constraint(self, x: np.ndarray) -> np.ndarray:
        values = [1 - _smooth(np.concatenate([r, -r]))[0] for r, _, _ in self.ratios(x).values()]
        values += [1 - _smooth(1 - v)[0] for _, v, _ in self._sided(self.motion(x)[0])]
        return np.array(values)

    def constraint_slopes(self, x: np.ndarray) -> np.ndarray:
        state, y = self.columns(x)
        rows = []
        for r, signal, j in self.ratios(x).values():
            w = _smooth(np.concatenate([r, -r]))[1]
            w = w[: len(r)] - w[len(r) :]
            limit = self.limits[j]
            if signal == "tau":
                weights = np.zeros(y.shape)
                weights[:, j, :] = np.outer(w / (limit.effort or 1.0), self.model.base_prior)
                rows.append(-self._pull(state, weights))
                continue
            size = {
                "q": 0.5 * ((limit.upper or 0.0) - (limit.lower or 0.0)),
                "qd": limit.velocity,
                "qdd": limit.acceleration,
            }
            g = [np.zeros_like(s) for s in state]
            g[("q", "qd", "qdd").index(signal)][:, j] = w / (size[signal] or 1.0)
            rows.append(-self.back(g))
        for _, values, slope in self._sided(state[0]):
            w = _smooth(1 - values)[1]
            by_q = slope(w)
            rows.append(self.back([by_q, np.zeros_like(by_q), np.zeros_like(by_q)]))
        return np.array(rows).reshape(len(rows), x.size)

    def _sided(self, q: np.ndarray) -> list[tuple[str, np.ndarray, Callable[[np.ndarray], np.ndarray]]]:
        """(name, values (N,) that stay >= 0, weights (N,) -> sum of weights dvalue/dq (N, n)) of Cartesian limits and
        the
        user's clearance."""
        out: list[tuple[str, np.ndarray, Callable[[np.ndarray], np.ndarray]]] = []
        if self.cartesian:
            found = self.place_kernel(q)
            places = [np.asarray(found)] if len(self.places.outputs) == 1 else [np.asarray(p) for p in found]
            for k, limit in enumerate(self.cartesian):
                for axis in range(3):
                    for sign, edge in ((1.0, limit.lower[axis]), (-1.0, limit.upper[axis])):
                        if edge is None:
                            continue
                        values = sign * (places[k][:, axis] - edge)

                        def slope(w: np.ndarray, k: int = k, axis: int = axis, sign: float = sign) -> np.ndarray:
                            weights = np.zeros((len(w), len(self.cartesian), 3))
                            weights[:, k, axis] = sign * w
                            return np.asarray(self.place_slopes(q, weights))

                        out.append((f"{limit.frame}.{'xyz'[axis]}", values, slope))
        if self.clear is not None:
            clear = self.clear
            values = self._clearance(q)

            def by_user(w: np.ndarray) -> np.ndarray:
                g = np.zeros_like(q)
                for j in range(q.shape[1]):
                    h = np.zeros(q.shape[1])
                    h[j] = 1e-6
                    g[:, j] = w * (_row(clear(q + h), len(q)) - _row(clear(q - h), len(q))) / 2e-6
                return g

            out.append(("clearance", values, by_user))
        return out

    def _clearance(self, q: np.ndarray) -> np.ndarray:
        assert self.clear is not None
        return _row(self.clear(q), len(q))

    # -- starts

    def scaled(self, x: np.ndarray) -> np.ndarray:
        """The motion about its middle, scaled until it touches a limit."""
        middle = x.copy()
        middle[self.n :] = 0.0
        if any(v > 1.0 for v in self.use(middle).values()):
            return x
        # q, qd and qdd are linear in the factor
        factor = np.inf
        at, wide = self.motion(middle), self.motion(x)
        for j, limit in enumerate(self.limits):
            rise = wide[0][:, j] - at[0][:, j]
            for edge, side in ((limit.upper, 1.0), (limit.lower, -1.0)):
                if edge is not None and np.max(side * rise) > 0:
                    factor = min(factor, float(side * (edge - at[0][0, j]) / np.max(side * rise)))
            for signal, most in ((1, limit.velocity), (2, limit.acceleration)):
                if most and np.any(wide[signal][:, j]):
                    factor = min(factor, most / float(np.abs(wide[signal][:, j]).max()))
        out = x.copy()
        out[self.n :] *= factor
        if not (self.cartesian or self.clear or any(v.effort for v in self.limits)):
            return out
        low, high = 0.0, 1.0
        trial = out.copy()
        for k in range(BISECTIONS):
            share = high if k == 0 else 0.5 * (low + high)
            trial[self.n :] = out[self.n :] * share
            inside = all(v <= 1.0 + 1e-12 for v in self.use(trial).values())
            if k == 0 and inside:
                return trial
            low, high = (share, high) if inside else (low, share)
        trial[self.n :] = out[self.n :] * low
        return trial


def _singular(y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular value decomposition; through Y^T Y where the condition leaves enough digits."""
    values, v = np.linalg.eigh(y.T @ y)
    if values[0] > 1e-10 * values[-1]:
        s = np.sqrt(values[::-1])
        vt = v[:, ::-1].T
        return (y @ vt.T) / s, s, vt
    u, s, vt = np.linalg.svd(y, full_matrices=False)
    return u, np.maximum(s, 1e-14 * s[0]), vt


def _row(values: Any, count: int) -> np.ndarray:
    """The smallest clearance of each sample."""
    array = np.asarray(values, dtype=float)
    if array.shape[:1] != (count,):
        raise ShapeError(f"the clearance function gave the shape {array.shape}; expected ({count},) or ({count}, m).")
    return array if array.ndim == 1 else array.min(axis=1)


def _smooth(r: np.ndarray) -> tuple[float, np.ndarray]:
    """(smooth maximum, never below the largest; its gradient)."""
    top = float(r.max())
    e = np.exp(SHARP * (r - top))
    total = float(e.sum())
    return top + np.log(total) / SHARP, e / total


def _slopes(system: System) -> System:
    """(q, qd, qdd, W (rows, b)) -> gradients of sum W Y by q, qd and qdd, by reverse accumulation."""
    graph, y = system.graph, system.outputs["Y"]
    w = np.empty(y.shape, dtype=object)
    for k in range(w.size):
        w.flat[k] = graph.symbol(f"W{k + 1}", "input")
    total: Any = graph.zero
    for a, b in zip(w.flat, y.flat):
        total = total + a * b
    names = ("q", "qd", "qdd")
    found = gradient(total, [s for n in names for s in system.inputs[n].flat])
    parts, at = {}, 0
    for n in names:
        size = system.inputs[n].size
        parts[f"by_{n}"] = np.array(list(found)[at : at + size], dtype=object)
        at += size
    return System(f"{system.name}_pull", inputs={**{n: system.inputs[n] for n in names}, "W": w}, outputs=parts)


def _place_slopes(system: System) -> System:
    graph, count = system.graph, len(system.outputs)
    w = np.empty((count, 3), dtype=object)
    total: Any = graph.zero
    for k, p in enumerate(system.outputs.values()):
        for axis in range(3):
            w[k, axis] = graph.symbol(f"W{k}_{axis}", "input")
            total = total + w[k, axis] * p.flat[axis]
    found = gradient(total, list(system.inputs["q"].flat))
    outputs = {"by_q": np.array(list(found), dtype=object)}
    return System(f"{system.name}_pull", inputs={"q": system.inputs["q"], "W": w}, outputs=outputs)


@declared
def excitation(
    model: InverseModel,
    *,
    duration: float = 10.0,
    kind: str = "fourier",
    order: int = 5,
    samples: int = 120,
    rest: bool = True,
    criterion: str = "condition",
    limits: Mapping[str, JointLimits] | None = None,
    velocity: float | None = None,
    acceleration: float | None = None,
    cartesian: Sequence[CartesianLimit] = (),
    clearance: Callable[[np.ndarray], Any] | None = None,
    starts: int = 2,
    random: int = 30,
    budget: int = 150,
    seed: int = 0,
    progress: Callable[[int, float], Any] | None = None,
) -> Excitation:
    """A motion that makes the parameters of a model well told apart, within limits.

    kind, order   "fourier" with harmonics of 1/duration, or "spline" with free control points; rest: as in `basis`
    criterion     "condition" of the stacked regressor, "scaled_condition" with columns of unit length, or
                  "determinant": mean of -log of the eigenvalues of Y^T Y
    limits        joint -> JointLimits; those that are missing are taken from the model; velocity (rad/s), acceleration
                  (rad/s^2) for joints without one
    cartesian     frames that stay within a box; clearance: q (N, nq) -> distances (N,) or (N, m) that stay positive
    random        motions that are drawn and scaled until they touch a limit; the best `starts` of them are optimised
    budget        evaluations of the criterion for each start
    progress      called with (evaluations, best value); True stops
    """
    word_argument("criterion", criterion, CRITERIA)
    whole_argument("starts", starts, 1)
    whole_argument("random", random, starts)
    mech = model.mech
    if mech.nq != mech.nv or "B" in model.system.outputs:
        raise DefinitionError(f"{mech.name} has quaternions or closed loops; excitation takes trees of plain joints.")
    began = time.process_time()
    shape = basis(kind, duration, samples, order, rest)
    if samples * mech.nv < 2 * len(model.columns):
        raise DefinitionError(
            f"samples={samples} give less than twice as many rows as the {len(model.columns)} unknowns."
        )
    rules = _limits(model, limits or {}, velocity, acceleration)
    problem = _Problem(model, shape, rules, criterion, cartesian, clearance)
    rng = np.random.default_rng(seed)
    drawn = []
    size = shape.size * problem.n
    for _ in range(random):
        x = rng.uniform(-1, 1, size)
        x[: problem.n] *= 0.3
        x = problem.scaled(x)
        if all(v <= 1 + 1e-9 for v in problem.use(x).values()):
            drawn.append((problem.value(x), x))
    if not drawn:
        raise DefinitionError(
            "no random motion lies within the limits; the middle of the joints' ranges already breaks one."
        )
    drawn.sort(key=lambda pair: pair[0])
    best: tuple[float, np.ndarray, Result] | None = None
    total = random
    bounds = [(-AMPLITUDE, AMPLITUDE)] * size
    limit = Constraint(problem.constraint, problem.constraint_slopes, "limits")
    told = None if progress is None else lambda k, v: progress(k, v if criterion == "determinant" else float(np.exp(v)))
    for first, x in drawn[:starts]:
        kept = _Kept(problem, first, x)
        found = minimize(
            problem.value, bounds, "slsqp", budget=budget, gradient=kept.gradient, constraints=[limit], start=0.9 * x,
            progress=told,
        )  # fmt: skip
        kept.take(found.x)
        total += found.evaluations + found.gradients
        if best is None or kept.value < best[0]:
            best = (kept.value, kept.x, found)
    assert best is not None
    return _excitation(problem, best, total, began, [v for v, _ in drawn])


class _Kept:
    """The best motion within all limits on the way: iterates lie beside the limits, and are scaled until they touch."""

    def __init__(self, problem: _Problem, value: float, x: np.ndarray) -> None:
        self.problem, self.value, self.x = problem, value, x

    def take(self, x: np.ndarray) -> None:
        scaled = self.problem.scaled(x)
        value = self.problem.value(scaled)
        if value < self.value and all(v <= 1 + 1e-6 for v in self.problem.use(scaled).values()):
            self.value, self.x = value, scaled

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Gradient of the criterion; asked for once at each iterate."""
        self.take(x)
        return self.problem.gradient(x)


def _excitation(
    problem: _Problem, best: tuple[float, np.ndarray, Result], total: int, began: float, starts: Sequence[float]
) -> Excitation:
    value, x, found = best
    (q, qd, qdd), y = problem.columns(x)
    flat = y.reshape(-1, y.shape[2])
    s = np.linalg.svd(flat, compute_uv=False)
    unit = np.linalg.svd(flat / np.maximum(np.linalg.norm(flat, axis=0), 1e-300), compute_uv=False)
    plain = problem.criterion == "determinant"
    shown = (lambda v: v) if plain else (lambda v: float(np.exp(v)))
    return Excitation(
        problem.model.labels, problem.basis.t, q, qd, qdd, y @ problem.model.base_prior, problem.criterion,
        shown(value),
        float(s[0] / s[-1]), float(unit[0] / unit[-1]), problem.use(x), total, time.process_time() - began,
        found.outcome,
        tuple(shown(v) for v in starts), problem.basis, problem.coefficients(x),
    )  # fmt: skip


def _limits(
    model: InverseModel, given: Mapping[str, JointLimits], velocity: float | None, acceleration: float | None
) -> list[JointLimits]:
    labels = model.labels
    for name in given:
        if name not in labels:
            raise NameLookupError(
                f"limits has {name!r}, which is no joint of {model.mech.name}. {nearest(name, labels)}"
            )
    out = []
    for label in labels:
        own = given.get(label, JointLimits())
        known = next((j.limits for j in model.mech.joints if j.name == label), None)
        lower, upper = own.lower, own.upper
        if known is not None:
            lower = known.lower if lower is None else lower
            upper = known.upper if upper is None else upper
        speed = own.velocity or (known.velocity if known is not None else None) or velocity
        effort = own.effort or (known.effort if known is not None else None)
        if (lower is None or upper is None) and speed is None:
            raise DefinitionError(
                f"joint {label!r} has neither a range nor a velocity limit; give "
                f"limits={{{label!r}: JointLimits(...)}} or "
                "velocity=..."
            )
        if effort is not None and not np.any(model.base_prior):
            effort = None
        out.append(JointLimits(lower, upper, speed, own.acceleration or acceleration, effort))
    return out
