"""Maximum likelihood with noise on both sides: on the efforts and on the positions, velocities and accelerations.

To first order the error of a sample's rows is e = noise of tau - d(Y x)/d(q, qd, qdd) noise of the states, with the
covariance S(x). The most likely x makes the sum of r^T S(x)^-1 r smallest (the states being unknowns themselves, errors
in variables); S changes with x, which is what removes the bias of least squares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, real_argument, word_argument
from symbody.studies.identification.estimators.contract import Estimator, EstimatorSolution
from symbody.studies.identification.linear_fit import least_squares, row_sigma
from symbody.studies.identification.measured_equations import MeasuredEquations
from symbody.studies.identification.series import Series
from symbody.symbolic.expr.arrays import matmul
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.system.system import System

STATES = ("q", "qd", "qdd")


class MaximumLikelihood(Estimator):
    """Errors in variables: `noise` gives the deviations of q, qd, qdd (one number or (n,)) and, if known, of tau.

    Rows are not decimated: their errors must be those of single samples.
    """

    method = "maximum likelihood with noise on states and efforts"

    def __init__(self, model: Any = None, *, noise: Mapping[str, Any] | None = None, **settings: Any) -> None:
        """noise: standard deviations of "q", "qd", "qdd" and "tau"; that of tau is estimated where it is missing."""
        super().__init__(model, **settings)
        self.noise = noise

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn from a record, sample by sample."""
        if self.model is None or self.model.mech.nq != self.model.mech.nv or not isinstance(X, Series):
            raise DefinitionError("MaximumLikelihood needs a model of plain joints and fit(series).")
        if not self.noise:
            raise DefinitionError("MaximumLikelihood needs noise={'q': ..., 'qd': ..., 'qdd': ...}: their deviations.")
        for n, v in self.noise.items():
            word_argument("noise", n, (*STATES, "tau"))
            for x in np.ravel(v):
                real_argument("noise", float(x), "a deviation from 0", least=0.0)
        self._series, self._plain = X, None
        kept, self.factor = self.factor, 1
        try:
            return super().fit(X, y)
        finally:
            self.factor = kept

    def _slopes(self) -> System:
        """(q, qd, qdd; beta) -> d(Y beta)/dq, /dqd, /dqdd."""
        assert self.model is not None
        system = self.model.system
        graph, b = system.graph, len(self.model.columns)
        beta = np.array([graph.symbol(f"beta{k + 1}", "parameter") for k in range(b)], dtype=object)
        tau = as_nodes([graph.zero, *matmul(system.outputs["Y"], beta)])[1:]
        outputs = {f"by_{n}": jacobian(tau, list(system.inputs[n])) for n in STATES}
        inputs = {n: system.inputs[n] for n in STATES}
        return System(f"{system.name}_slopes", inputs=inputs, outputs=outputs, parameters={"beta": beta})

    def _solve(self, y: np.ndarray, z: np.ndarray, row: np.ndarray, equations: MeasuredEquations) -> EstimatorSolution:
        from scipy.optimize import least_squares as nonlinear

        assert self.model is not None
        series, n = self._series, len(equations.rows)
        mask = equations.mask.all(axis=1)
        kernel = self._slopes().compile()
        state = [self.model.signal(series, name)[mask] for name in STATES]
        noise = [np.broadcast_to(np.asarray((self.noise or {}).get(name, 0.0), dtype=float), (n,)) for name in STATES]
        start = least_squares(y, z)[0]
        given = (self.noise or {}).get("tau")
        sigma = row_sigma(z - y @ start, row, n, y.shape[1]) if given is None else np.broadcast_to(given, (n,))
        sigma = np.maximum(sigma, 1e-12 * float(np.abs(z).max()))
        names = [self.model.base_names.index(x) for x in equations.names]
        columns, right = equations.y[mask], equations.z[mask]

        def roots(x: np.ndarray) -> np.ndarray:
            """(N, n, n) inverse Cholesky factors of the covariance of a sample's rows."""
            full = np.zeros(len(self.model.columns))  # type: ignore[union-attr]
            full[names] = x
            slopes = kernel(*state, parameters={"beta": full})
            s = np.broadcast_to(np.diag(sigma**2), (len(right), n, n)).copy()
            for name, deviation in zip(STATES, noise):
                j = np.asarray(getattr(slopes, f"by_{name}")) * deviation
                s += j @ j.transpose(0, 2, 1)
            return np.linalg.inv(np.linalg.cholesky(s))

        size = np.maximum(np.abs(start), 1e-6 * np.abs(start).max())

        def errors(u: np.ndarray) -> np.ndarray:
            x = u * size
            rest = right - columns @ x
            return np.einsum("nij,nj->ni", roots(x), rest).ravel()

        found = nonlinear(errors, start / size, method="trf", x_scale="jac", ftol=1e-10, xtol=1e-10, max_nfev=50)
        x = found.x * size
        root = roots(x)
        weighted = np.einsum("nij,njb->nib", root, columns).reshape(-1, columns.shape[2])
        _, inverse = least_squares(weighted, np.zeros(len(weighted)))
        notes = () if found.success else (f"the search ended early: {found.message}",)
        w = 1.0 / sigma[row]
        return EstimatorSolution(x, w, covariance=inverse, notes=notes, iterations=int(found.nfev))
