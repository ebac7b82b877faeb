"""The contract of all estimators: settings in the constructor, `fit`, `predict`, `score`, learned names with a
trailing _.

`fit(series)` takes a prepared record where the estimator has a `model`; `fit(X, y)` takes samples X (N, nq + 2 nv) with
efforts y (N, nv), or, without a model, any matrix (N, b) and right side (N,). A scikit-learn pipeline can hold it.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from symbody.basics.errors import DataError, DefinitionError, ShapeError, word_argument
from symbody.studies.identification.estimate import Estimate
from symbody.studies.identification.linear_fit import (
    condition_of,
    correlated_covariance,
    determined,
    least_squares,
    row_sigma,
    whiteness_of,
)
from symbody.studies.identification.linear_inverse import InverseModel
from symbody.studies.identification.measured_equations import MeasuredEquations, plain_equations
from symbody.studies.identification.series import Series

COVARIANCES = ("auto", "white", "correlated")
RANKS = ("refuse", "reduce")
FAR = 3.0  # times the noise of the efforts: residuals that it does not explain
ROUNDED = 1e-3  # of the efforts: residuals below are small, whatever the noise


@dataclass(frozen=True, eq=False)
class EstimatorSolution:
    """What a method finds: values (b,), weights (m,) of the rows, covariance or None where that of the rows holds."""

    values: np.ndarray
    weights: np.ndarray
    covariance: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    iterations: int = 1
    pi: np.ndarray | None = None


class Estimator:
    """Base of all estimators; subclasses say how rows are solved (`_solve`)."""

    method = ""

    def __init__(
        self,
        model: InverseModel | None = None,
        *,
        factor: int | None = None,
        least_speed: Any = 0.0,
        covariance: str = "auto",
        rank: str = "refuse",
    ) -> None:
        """model: None where `fit` gets a matrix. factor, least_speed: as in `InverseModel.equations`. covariance:
        "white"
        errors, "correlated" ones, or "auto": by the test of whiteness. rank: "refuse" data that do not determine all
        parameters, or "reduce" to those that they do."""
        self.model = model
        self.factor = factor
        self.least_speed = least_speed
        self.covariance = covariance
        self.rank = rank

    # -- settings, as scikit-learn asks for them

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name."""
        return {n: getattr(self, n) for n in self._names()}

    def set_params(self, **settings: Any) -> Self:
        """Change settings by name."""
        for name, value in settings.items():
            word_argument("setting", name, self._names())
            setattr(self, name, value)
        return self

    @classmethod
    def _names(cls) -> list[str]:
        found: dict[str, None] = {}
        for kind in reversed(cls.__mro__):
            if "__init__" in kind.__dict__ and kind is not object:
                for p in inspect.signature(kind.__dict__["__init__"]).parameters.values():
                    if p.name != "self" and p.kind is not p.VAR_KEYWORD:
                        found[p.name] = None
        return list(found)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of a regressor."""
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        target = TargetTags(required=False, multi_output=True)
        return Tags("regressor", target_tags=target, regressor_tags=RegressorTags(), input_tags=InputTags())

    def __repr__(self) -> str:
        given = ", ".join(f"{n}={v!r}" for n, v in self.get_params().items() if v is not None)
        return f"{type(self).__name__}({given})"

    # -- the contract

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the parameters; see the head of `contract.py` for what X and y may be."""
        word_argument("covariance", self.covariance, COVARIANCES)
        word_argument("rank", self.rank, RANKS)
        equations = self.equations(X, y)
        self.equations_ = equations
        self.estimate_ = self._estimated(equations)
        self.coef_ = self.estimate_.values
        self.names_ = self.estimate_.names
        self.covariance_ = self.estimate_.covariance
        self.std_ = self.estimate_.std
        self.relative_std_ = self.estimate_.relative_std
        self.sigma_ = dict(self.estimate_.sigma)
        self.condition_ = self.estimate_.condition
        self.notes_ = self.estimate_.notes
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Efforts (N, n), or (N,) without a model."""
        equations = self.equations(X, None, measured=False)
        found = equations.y @ self._fitted().values
        return found if self.model is not None else found[:, 0]

    def relative_error(self, X: Any, y: Any = None) -> float:
        """|z - Y x| / |z| of all rows that count: the figure that robot identification reports."""
        equations = self.equations(X, y)
        matrix, z, _ = equations.stacked()
        return float(np.linalg.norm(z - matrix @ self._fitted().values) / np.linalg.norm(z))

    def score(self, X: Any, y: Any = None) -> float:
        """Coefficient of determination R^2 of the efforts about their means."""
        equations = self.equations(X, y)
        matrix, z, row = equations.stacked()
        rest = z - matrix @ self._fitted().values
        spread = sum(float(np.sum((z[row == k] - z[row == k].mean()) ** 2)) for k in np.unique(row))
        return 1.0 - float(rest @ rest) / max(spread, 1e-300)

    def equations(self, X: Any, y: Any = None, measured: bool = True) -> MeasuredEquations:
        """The rows that X and y stand for."""
        if isinstance(X, MeasuredEquations):
            return X
        if isinstance(X, Series):
            if self.model is None:
                raise DefinitionError(f"{type(self).__name__} was given a Series, but has no model; expected model=...")
            if not measured and "tau" not in X:
                X = X.with_values(tau=np.zeros_like(X["qd"]))
            if measured:
                return self.model.equations(X, self.factor, self.least_speed)
            return self.model.equations(X, 1)
        if self.model is None:
            right = np.zeros(len(np.asarray(X))) if y is None and not measured else y
            if right is None:
                raise DefinitionError("fit was given a matrix without a right side; expected fit(X, y).")
            return plain_equations(X, right)
        samples = np.asarray(X, dtype=float)
        mech = self.model.mech
        if samples.ndim != 2 or samples.shape[1] != mech.nq + 2 * mech.nv:
            raise ShapeError(
                f"X has the shape {samples.shape}; expected (N, {mech.nq + 2 * mech.nv}): q, qd and qdd of {mech.name}."
            )
        efforts = np.zeros((len(samples), mech.nv)) if y is None else np.asarray(y, dtype=float)
        if y is None and measured:
            raise DefinitionError("fit was given samples without efforts; expected fit(X, y) with y (N, nv).")
        q, qd, qdd = np.split(samples, [mech.nq, mech.nq + mech.nv], axis=1)
        series = Series(np.arange(len(samples), dtype=float), {"q": q, "qd": qd, "qdd": qdd, "tau": efforts})
        return self.model.equations(series, None, self.least_speed if measured else 0.0)

    def _fitted(self) -> Estimate:
        if not hasattr(self, "estimate_"):
            raise DefinitionError(f"this {type(self).__name__} is not fitted yet; call fit(series) first.")
        return self.estimate_

    # -- the fit

    def _solve(self, y: np.ndarray, z: np.ndarray, row: np.ndarray, equations: MeasuredEquations) -> EstimatorSolution:
        raise NotImplementedError

    def _estimated(self, equations: MeasuredEquations) -> Estimate:
        matrix, z, row = equations.stacked()
        what = equations.source or "the record"
        if not len(z) or not np.any(z):
            raise DataError(f"{what}: all efforts are zero; expected measured ones.")
        kept, notes = determined(matrix, equations.names, equations.rows, self.rank, what)
        found = self._solve(matrix[:, kept], z, row, equations.chosen(kept))
        unknowns = matrix.shape[1]
        values = np.zeros(unknowns)
        values[kept] = found.values
        rest = z - matrix @ values
        white = whiteness_of(equations, found.weights * rest)
        covariance, kind = self._covariance(matrix[:, kept], rest, row, found, white)
        whole = np.full((unknowns, unknowns), np.nan)
        whole[np.ix_(kept, kept)] = covariance
        sigma = row_sigma(rest, row, len(equations.rows), len(kept))
        names = equations.rows
        relative = {
            label: float(np.linalg.norm(rest[row == k]) / max(float(np.linalg.norm(z[row == k])), 1e-300))
            for k, label in enumerate(names)
        }
        gone = [equations.names[k] for k in range(unknowns) if k not in set(kept)]
        return Estimate(
            self.method, equations.names, equations.units or ("",) * unknowns, values, whole, kind,
            dict(zip(names, sigma.tolist())), float(np.linalg.norm(rest) / np.linalg.norm(z)), relative,
            condition_of(found.weights[:, None] * matrix[:, kept]), len(z), white,
            (*equations.notes, *notes, *found.notes, *_said(white, kind)), tuple(gone), found.pi, found.iterations,
            self.model, equations, _unexplained(equations, sigma),
        )  # fmt: skip

    def _covariance(
        self, y: np.ndarray, rest: np.ndarray, row: np.ndarray, found: EstimatorSolution, white: Any
    ) -> tuple[np.ndarray, str]:
        if found.covariance is not None:
            return found.covariance, "white"
        w = found.weights
        weighted, error = y * w[:, None], rest * w
        _, inverse = least_squares(weighted, error)
        coloured = self.covariance == "correlated" or (self.covariance == "auto" and not all(x.is_white for x in white))
        if coloured:
            return correlated_covariance(weighted, error, row, inverse), "correlated"
        freedom = max(len(rest) - y.shape[1], 1)
        return float(error @ error) / freedom * inverse, "white"


def _unexplained(equations: MeasuredEquations, sigma: np.ndarray) -> str:
    """A sentence where residuals are far above what the noise of the efforts explains."""
    if equations.noise is None:
        return ""
    size = np.sqrt(np.mean(equations.z**2, axis=0))
    far = [k for k, n in enumerate(equations.noise) if sigma[k] > max(FAR * n, ROUNDED * size[k])]
    if not far:
        return ""
    told = ", ".join(f"{equations.rows[k]} ({sigma[k]:.2g} instead of {equations.noise[k]:.2g})" for k in far)
    return (
        f"residuals are more than {FAR:g} times the noise of the efforts: {told}. Intervals allow for noise alone, so "
        "the values may lie far outside: another cutoff, laws that are missing, or wrong signals"
    )


def _said(white: Any, kind: str) -> list[str]:
    bad = [f"{w.row} ({w.correlation:+.2f})" for w in white if not w.is_white]
    if not bad:
        return []
    told = "allow for it" if kind == "correlated" else "do not allow for it"
    return [
        f"residuals follow each other in time, correlation of neighbours: {', '.join(bad)}; standard deviations {told}"
    ]
