"""Estimators that simulate: instrumental variables (IDIM-IV) and closed-loop output error (DIDIM).

Both simulate the robot with its controller along the same reference, with the parameters found so far. The simulated
states carry no noise of measurement: as instruments they remove the bias that noisy columns bring (Janot, Vandanjon and
Gautier 2014); as the states of the columns they make the efforts alone sufficient (Gautier, Janot and Vandanjon 2013).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from symbody.basics.errors import DataError, DefinitionError, real_argument
from symbody.motion.run.simulate import simulate
from symbody.studies.identification.estimators.contract import Estimator, EstimatorSolution
from symbody.studies.identification.linear_fit import least_squares, row_sigma
from symbody.studies.identification.measured_equations import MeasuredEquations
from symbody.studies.identification.series import Series
from symbody.symbolic.expr.arrays import matmul
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.functions import tanh
from symbody.symbolic.expr.linear_algebra import solve_ldlt
from symbody.symbolic.expr.walk import substitute, topological
from symbody.symbolic.system.system import System

if TYPE_CHECKING:
    from symbody.studies.identification.linear_inverse import InverseModel

ROUNDS = 20
SETTLED = 1e-3  # relative change of the values that ends the rounds
SLOW = 1e-3  # rad/s or m/s: below it the dry friction of the simulation falls off to zero


def closed_loop(model: InverseModel, slow: float = SLOW) -> System:
    """The robot under a PD controller, from its regressor: states q and qd, inputs q_ref, qd_ref and tau_ff, parameters
    beta1 .. beta<b>, kp1 .. kp<n> and kd1 .. kd<n>.

    tau = kp (q_ref - q) + kd (qd_ref - qd) + tau_ff;  M qdd + c = tau with M = d(Y beta)/d qdd
    """
    mech, system = model.mech, model.system
    if mech.nq != mech.nv or "B" in system.outputs:
        raise DefinitionError(
            f"{mech.name} has quaternions or closed loops; simulated estimators take trees of plain joints."
        )
    graph = system.graph
    n, b = mech.nv, len(model.columns)
    q, qd, qdd = (system.inputs[x] for x in ("q", "qd", "qdd"))

    def fresh(name: str, size: int, role: str) -> np.ndarray:
        return np.array([graph.symbol(f"{name}{k + 1}", role) for k in range(size)], dtype=object)

    beta, kp, kd = fresh("beta", b, "parameter"), fresh("kp", n, "parameter"), fresh("kd", n, "parameter")
    q_ref, qd_ref, tau_ff = (fresh(x, n, "input") for x in ("q_ref", "qd_ref", "tau_ff"))
    tau = matmul(system.outputs["Y"], beta)
    if "tau0" in system.outputs:
        tau = tau + system.outputs["tau0"]
    nodes = as_nodes([graph.zero, *tau])[1:]
    jumps = {x: tanh(x.args[0] / slow) for x in topological(nodes) if x.op == "sign"} if slow else {}
    nodes = substitute(nodes, jumps) if jumps else nodes
    mass = jacobian(nodes, list(qdd))
    bias = np.array(substitute(nodes, dict.fromkeys(qdd, 0)), dtype=object)
    efforts = kp * (q_ref - q) + kd * (qd_ref - qd) + tau_ff
    rates = solve_ldlt(mass, efforts - bias)
    return System(
        f"{system.name}_loop",
        inputs={"q": q, "qd": qd, "q_ref": q_ref, "qd_ref": qd_ref, "tau_ff": tau_ff},
        outputs={"q_dot": qd, "qd_dot": rates},
        states={"q": "q_dot", "qd": "qd_dot"},
    )


class Simulated(Estimator):
    """What both share: the closed loop, simulated over the time of the record.

    The record needs q_ref (N, n). kp and kd are those of the controller, in the units of the efforts; velocity: whether
    the controller acts on qd_ref - qd or on -qd.
    """

    def __init__(
        self,
        model: Any = None,
        *,
        kp: Any = None,
        kd: Any = None,
        velocity: bool = False,
        step: float | None = None,
        slow: float = SLOW,
        start: Any = None,
        **settings: Any,
    ) -> None:
        """kp, kd: gains, one or (n,). velocity: whether qd_ref is followed too. step: s of the simulation, None: the
        period
        of the record. slow: speed below which dry friction falls off. start: (b,) first values; None: by OLS."""
        super().__init__(model, **settings)
        self.kp = kp
        self.kd = kd
        self.velocity = velocity
        self.step = step
        self.slow = slow
        self.start = start

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a prepared record with q_ref."""
        if self.model is None or not isinstance(X, Series):
            raise DefinitionError(f"{type(self).__name__} simulates: expected model=... and fit(series) with 'q_ref'.")
        if self.kp is None or self.kd is None:
            raise DefinitionError(f"{type(self).__name__} needs the gains kp and kd of the controller.")
        X["q_ref"]  # refuses by name
        if len(X.pieces) > 1:
            raise DataError("the record has breaks, over which nothing can be simulated; take one stretch of it.")
        self._series = X
        return super().fit(X, y)

    def simulated(self, values: np.ndarray) -> Series:
        """The motion of the closed loop with base parameters (b,), at the instants of the record."""
        series, model = self._series, self.model
        assert model is not None
        if not hasattr(self, "_loop"):
            self._loop = closed_loop(model, self.slow)
            self._kernel = self._loop.compile()
        n = len(model.labels)
        gains = {x: np.broadcast_to(np.asarray(getattr(self, x), dtype=float), (n,)).copy() for x in ("kp", "kd")}
        step = series.period if self.step is None else real_argument("step", self.step, "a time in s", above=0.0)
        q_ref = np.asarray(series["q_ref"])
        qd_ref = np.gradient(q_ref, series.t, axis=0) if self.velocity else np.zeros_like(q_ref)
        ff = series["tau_ff"] if "tau_ff" in series else np.zeros_like(q_ref)
        vectors = {"beta": np.asarray(values, dtype=float), **gains}
        given = {f"{n}{k + 1}": float(x) for n, v in vectors.items() for k, x in enumerate(v)}
        given = {n: x for n, x in given.items() if n in self._loop.parameters}
        motion = simulate(
            self._loop,
            series.duration,
            step=step,
            t0=float(series.t[0]),
            q0=series["q"][0],
            qd0=series["qd"][0],
            inputs={n: (series.t, v) for n, v in (("q_ref", q_ref), ("qd_ref", qd_ref), ("tau_ff", ff))},
            parameters=given,
            samples=series.t,
            method="rk4",
        )
        if not motion.outcome.ok or not np.all(np.isfinite(motion["q"])):
            raise DataError(
                f"the simulated loop did not get through the record: {motion.outcome}. The gains or the start values "
                "make it unstable; check kp, kd and their units, or take a smaller step."
            )
        q, qd = np.asarray(motion["q"]), np.asarray(motion["qd"])
        rates = self._kernel(q, qd, q_ref, qd_ref, np.asarray(ff), parameters=given)
        return series.with_values(q=q, qd=qd, qdd=np.asarray(rates.qd_dot))

    def _columns(self, values: np.ndarray, equations: MeasuredEquations) -> np.ndarray:
        """(m, b) columns at the simulated states, in the rows of the equations."""
        assert self.model is not None
        found = self.model.equations(self.simulated(values), self.factor)
        keep = equations.mask.T.ravel()
        flat = found.y.transpose(1, 0, 2).reshape(-1, found.y.shape[2])[keep]
        index = [found.names.index(n) for n in equations.names]
        return np.asarray(flat[:, index])

    def _rounds(
        self, y: np.ndarray, z: np.ndarray, row: np.ndarray, equations: MeasuredEquations, instruments: bool
    ) -> EstimatorSolution:
        assert self.model is not None
        names = [self.model.base_names.index(n) for n in equations.names]
        x = least_squares(y, z)[0] if self.start is None else np.asarray(self.start, dtype=float)[names]
        w = np.ones(len(z))
        inverse = np.eye(len(x))
        rounds, change = 0, float("inf")
        clean = y
        while rounds < ROUNDS and change >= SETTLED:
            rounds += 1
            full = np.zeros(len(self.model.columns))
            full[names] = x
            clean = self._columns(full, equations)
            right = y if instruments else clean
            rest = z - right @ x
            sigma = row_sigma(rest, row, len(equations.rows), y.shape[1])
            w = 1.0 / np.maximum(sigma, 1e-9 * float(np.abs(z).max()))[row]
            a = (clean * w[:, None]).T @ (right * w[:, None])
            new = np.linalg.solve(a, (clean * w[:, None]).T @ (z * w))
            change = float(np.linalg.norm(new - x) / max(float(np.linalg.norm(new)), 1e-300))
            x = new
            inverse = np.linalg.inv((clean * w[:, None]).T @ (clean * w[:, None]))
        error = (z - (y if instruments else clean) @ x) * w
        covariance = float(error @ error) / max(len(z) - len(x), 1) * inverse
        notes = () if change < SETTLED else (f"the values still changed by {change:.1%} after {ROUNDS} simulations",)
        return EstimatorSolution(x, w, covariance=covariance, notes=notes, iterations=rounds)


class IDIMIV(Simulated):
    """Instrumental variables: columns at measured states, instruments at simulated ones."""

    method = "instrumental variables (IDIM-IV)"

    def _solve(self, y: np.ndarray, z: np.ndarray, row: np.ndarray, equations: MeasuredEquations) -> EstimatorSolution:
        return self._rounds(y, z, row, equations, instruments=True)


class DIDIM(Simulated):
    """Closed-loop output error on the efforts: columns at simulated states. Measured positions serve the start
    alone."""

    method = "closed-loop output error (DIDIM)"

    def _solve(self, y: np.ndarray, z: np.ndarray, row: np.ndarray, equations: MeasuredEquations) -> EstimatorSolution:
        return self._rounds(y, z, row, equations, instruments=False)
