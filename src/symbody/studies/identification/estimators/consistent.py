"""Physically consistent estimates: every body one that could exist, by linear matrix inequalities.

The pseudo-inertia of a body, [[S, s], [s^T, m]] with S = tr(I)/2 - I, is positive definite exactly where some
distribution of positive mass has these ten parameters (Wensing, Kim and Slotine 2018). Of all consistent parameters
those are taken that fit the measured rows best and stay near the model as it is in directions that no row feels.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.errors import DataError, DefinitionError, real_argument
from symbody.motion.trajectory.optional_packages import extra
from symbody.studies.identification.estimators.contract import Estimator, EstimatorSolution
from symbody.studies.identification.estimators.least_squares import prior_deviation
from symbody.studies.identification.linear_fit import least_squares, row_sigma
from symbody.studies.identification.measured_equations import MeasuredEquations

if TYPE_CHECKING:
    from symbody.studies.identification.linear_inverse import InverseModel

NONNEGATIVE = ("rotor", "viscous", "coulomb", "stiffness")  # laws of joints that only take energy, or store it


def pseudo_inertia(pi: Any) -> np.ndarray:
    """(4, 4) from (m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz)."""
    m, sx, sy, sz, xx, xy, yy, xz, yz, zz = np.asarray(pi, dtype=float)
    half = 0.5 * (xx + yy + zz)
    return np.array([[half - xx, -xy, -xz, sx], [-xy, half - yy, -yz, sy], [-xz, -yz, half - zz, sz], [sx, sy, sz, m]])


def inconsistent_bodies(model: InverseModel, pi: np.ndarray, margin: float = 0.0) -> list[str]:
    """Names of bodies whose pseudo-inertia is not positive definite; bodies without any inertia are none."""
    out = []
    for k, body in enumerate(model.mech.bodies):
        own = pi[10 * k : 10 * k + 10]
        if np.any(own) and np.linalg.eigvalsh(pseudo_inertia(own))[0] < margin - 1e-12:
            out.append(body.name)
    return out


class PhysicallyConsistent(Estimator):
    """Weighted least squares over bodies that can exist; `estimate_.pi` has all parameters of the Mechanism.

    Needs cvxpy with Clarabel (pip install symbody[identify]).
    """

    method = "physically consistent least squares"

    def __init__(
        self,
        model: Any = None,
        *,
        margin: float = 1e-6,
        pull: float = 1e-3,
        spread: float = 0.3,
        least: float = 0.05,
        solver: str = "CLARABEL",
        **settings: Any,
    ) -> None:
        """margin: least eigenvalue of every pseudo-inertia (kg m^2 and kg). pull: weight of the distance from the model
        as it is, in deviations of the prior, beside a unit of the fit's own mean square. spread, least: as in Prior."""
        super().__init__(model, **settings)
        self.margin = margin
        self.pull = pull
        self.spread = spread
        self.least = least
        self.solver = solver

    def _solve(self, y: np.ndarray, z: np.ndarray, row: np.ndarray, equations: MeasuredEquations) -> EstimatorSolution:
        if self.model is None:
            raise DefinitionError("PhysicallyConsistent needs a model with bodies; expected model=inverse_model(...).")
        model = self.model
        real_argument("margin", self.margin, "a number from 0", least=0.0)
        real_argument("pull", self.pull, "a positive number", above=0.0)
        free = least_squares(y, z)[0]
        sigma = np.maximum(row_sigma(z - y @ free, row, len(equations.rows), y.shape[1]), 1e-9 * float(np.abs(z).max()))
        w = 1.0 / sigma[row]
        for _ in range(3):  # weights by the rows' own residuals
            free = least_squares(y * w[:, None], z * w)[0]
            sigma = row_sigma(z - y @ free, row, len(equations.rows), y.shape[1])
            w = 1.0 / np.maximum(sigma, 1e-9 * float(np.abs(z).max()))[row]
        names = [model.base_names.index(n) for n in equations.names]
        # the rows count through their triangle alone
        q, r = np.linalg.qr(y * w[:, None])
        pi = self._optimum(model, r @ model.matrix[names], q.T @ (z * w), len(z))
        values = model.matrix[names] @ pi
        _, inverse = least_squares(y * w[:, None], z * w)
        error = (z - y @ values) * w
        covariance = float(error @ error) / max(len(z) - y.shape[1], 1) * inverse
        notes = ["standard deviations are those of the free fit; at an active bound they are too large"]
        return EstimatorSolution(values, w, covariance=covariance, notes=tuple(notes), pi=pi)

    def _optimum(self, model: InverseModel, a: np.ndarray, b: np.ndarray, count: int) -> np.ndarray:
        cp = extra("cvxpy", "identify")
        deviation = np.minimum(prior_deviation(model, self.spread, self.least), 1e3)
        bodies = [k for k in range(len(model.mech.bodies)) if np.any(model.matrix[:, 10 * k : 10 * k + 10])]
        # unknowns in deviations of the prior: numbers of one size
        x = cp.Variable(len(model.names))
        pi = model.prior + cp.multiply(deviation, x)
        pulled = [k for k, n in enumerate(model.names) if k < 10 * len(model.mech.bodies)]
        limits = []
        for k in bodies:
            j = _pseudo(cp, pi[10 * k : 10 * k + 10])
            limits.append(j - self.margin * np.eye(4) >> 0)
        still = [k for k in pulled if k // 10 not in bodies]
        if still:
            limits.append(x[still] == 0)
        for k, name in enumerate(model.names):
            if name.rpartition(".")[2] in NONNEGATIVE:
                limits.append(pi[k] >= 0)
        scaled = a * deviation
        fit = cp.sum_squares(scaled @ x - (b - a @ model.prior)) / count
        near = cp.sum_squares(x[pulled]) / max(len(pulled), 1)
        loose = [k for k in range(len(model.names)) if k not in set(pulled)]
        rest = cp.sum_squares(x[loose]) * 1e-12 if loose else 0
        problem = cp.Problem(cp.Minimize(fit + self.pull * near + rest), limits)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an inaccurate solution is judged below
                problem.solve(solver=self.solver)
        except cp.error.SolverError as error:
            raise DataError(f"no consistent parameters were found: {error}. Give another margin or solver.") from None
        if problem.status not in ("optimal", "optimal_inaccurate") or x.value is None:
            raise DataError(
                f"no consistent parameters were found: the solver says {problem.status!r}. A smaller margin="
                f"{self.margin:g} may help; check the units of tau."
            )
        found = np.asarray(model.prior + deviation * x.value)
        for k, name in enumerate(model.names):
            if name.rpartition(".")[2] in NONNEGATIVE:
                found[k] = max(found[k], 0.0)
        bad = inconsistent_bodies(model, found)
        if bad:
            raise DataError(
                f"the solver ended ({problem.status}) with bodies that cannot exist: {', '.join(bad)}. Give a larger "
                f"margin than {self.margin:g}."
            )
        return found


def _pseudo(cp: Any, p: Any) -> Any:
    half = 0.5 * (p[4] + p[6] + p[9])
    rows = [
        [half - p[4], -p[5], -p[7], p[1]],
        [-p[5], half - p[6], -p[8], p[2]],
        [-p[7], -p[8], half - p[9], p[3]],
        [p[1], p[2], p[3], p[0]],
    ]
    return cp.bmat(rows)
