"""Least squares: ordinary, weighted by row, robust, total, and with a prior from the model as it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, real_argument
from symbody.studies.identification.estimators.contract import Estimator, EstimatorSolution
from symbody.studies.identification.linear_fit import least_squares, lengths, row_sigma
from symbody.studies.identification.measured_equations import MeasuredEquations

ROUNDS = 50
SETTLED = 1e-8  # relative change of the values that ends an iteration


class OLS(Estimator):
    """Ordinary least squares: all rows count alike, in their own units."""

    method = "ordinary least squares"

    def _solve(self, y: np.ndarray, z: np.ndarray, row: np.ndarray, equations: MeasuredEquations) -> EstimatorSolution:
        return EstimatorSolution(least_squares(y, z)[0], np.ones(len(z)))


class WLS(Estimator):
    """Weighted least squares: rows of each joint count by the inverse of their residuals' deviation, iterated."""

    method = "weighted least squares"

    def _solve(self, y: np.ndarray, z: np.ndarray, row: np.ndarray, equations: MeasuredEquations) -> EstimatorSolution:
        x, w, rounds = np.zeros(y.shape[1]), np.ones(len(z)), 0
        for rounds in range(1, ROUNDS + 1):
            new = least_squares(y * w[:, None], z * w)[0]
            sigma = row_sigma(z - y @ new, row, len(equations.rows), y.shape[1])
            sigma = np.maximum(sigma, 1e-9 * float(np.abs(z).max()))  # a row without error does not rule alone
            w = 1.0 / sigma[row]
            if _settled(x, new):
                return EstimatorSolution(new, w, iterations=rounds)
            x = new
        return EstimatorSolution(x, w, notes=(f"weights did not settle in {ROUNDS} rounds",), iterations=rounds)


class Huber(Estimator):
    """Robust: rows with residuals beyond `threshold` deviations count less (Huber 1964), each joint by its own
    spread."""

    method = "Huber's robust least squares"

    def __init__(self, model: Any = None, *, threshold: float = 1.345, **settings: Any) -> None:
        """threshold: in standard deviations, which are taken from the median of the residuals."""
        super().__init__(model, **settings)
        self.threshold = threshold

    def _solve(self, y: np.ndarray, z: np.ndarray, row: np.ndarray, equations: MeasuredEquations) -> EstimatorSolution:
        limit = real_argument("threshold", self.threshold, "a positive number of deviations", above=0.0)
        x = least_squares(y, z)[0]
        w, rounds, done = np.ones(len(z)), 0, False
        scale = np.ones(len(equations.rows))
        while rounds < ROUNDS and not done:
            rounds += 1
            rest = z - y @ x
            scale = np.array(
                [
                    1.4826 * np.median(np.abs(rest[row == k])) if np.any(row == k) else 1.0
                    for k in range(len(equations.rows))
                ]
            )
            scale = np.maximum(scale, 1e-9 * float(np.abs(z).max()))
            off = np.abs(rest) / scale[row]
            w = np.sqrt(np.minimum(1.0, limit / np.maximum(off, 1e-300))) / scale[row]
            new = least_squares(y * w[:, None], z * w)[0]
            done, x = _settled(x, new), new
        far = int(np.sum(np.abs(z - y @ x) / scale[row] > limit))
        told = f"{far} of {len(z)} rows lie beyond {limit:g} deviations and count less"
        return EstimatorSolution(x, w, notes=(told,), iterations=rounds)


class TLS(Estimator):
    """Total least squares: errors in the columns as well as in the efforts, by the smallest singular direction.

    `ratio` is the relative error of the columns, in parts of their lengths, to that of the efforts; 1: as in Van Huffel
    and Vandewalle (1991), who scale all to unit length. Columns that are exact, such as constants, may be named in
    `exact`: those with errors are corrected for them, and where they have none they are spoilt. A note says where this
    matters.
    """

    method = "total least squares"

    def __init__(self, model: Any = None, *, ratio: float = 1.0, exact: tuple[str, ...] = (), **settings: Any) -> None:
        """ratio: of the relative errors of columns and efforts. exact: names, or parts after the dot, of columns
        without errors."""
        super().__init__(model, **settings)
        self.ratio = ratio
        self.exact = exact

    def _solve(self, y: np.ndarray, z: np.ndarray, row: np.ndarray, equations: MeasuredEquations) -> EstimatorSolution:
        ratio = real_argument("ratio", self.ratio, "a positive number", above=0.0)
        sigma = row_sigma(z - y @ least_squares(y, z)[0], row, len(equations.rows), y.shape[1])
        sigma = np.maximum(sigma, 1e-9 * float(np.abs(z).max()))
        w = 1.0 / sigma[row]
        a, b = y * w[:, None], z * w
        sure = [k for k, n in enumerate(equations.names) if n in self.exact or n.rpartition(".")[2] in self.exact]
        noisy = [k for k in range(y.shape[1]) if k not in sure]
        if not noisy:
            raise DefinitionError(f"exact={self.exact!r} names all columns; expected some with errors, or take OLS.")
        # exact columns are taken out by projection (Golub, Hoffman and Stewart 1987)
        q = np.linalg.qr(a[:, sure])[0] if sure else np.zeros((len(b), 0))
        rest = np.column_stack([a[:, noisy], b])
        rest = rest - q @ (q.T @ rest)
        # in these units the errors of all columns and of the efforts are of one size; projection does not change them
        size = lengths(a[:, noisy]) * ratio / max(float(np.linalg.norm(b)), 1e-300)
        scaled = np.column_stack([rest[:, :-1] / size, rest[:, -1]])
        _, s, vt = np.linalg.svd(np.linalg.qr(scaled)[1])
        last = vt[-1]
        if abs(last[-1]) < 1e-12 * np.abs(last).max():
            raise DefinitionError(
                "total least squares has no solution here: the efforts are no part of the smallest direction."
            )
        part = -last[:-1] / last[-1] / size
        x = np.zeros(y.shape[1])
        x[noisy] = part
        if sure:
            x[sure] = least_squares(a[:, sure], b - a[:, noisy] @ part)[0]
        # the variance of all errors by the smallest singular value
        spread = float(s[-1] ** 2) / max(len(b) - y.shape[1], 1)
        plain, inverse = least_squares(a, b)
        covariance = spread * (1 + float(np.sum((part * size) ** 2))) * inverse
        far = float(np.max(np.abs(x - plain) / np.sqrt(np.diag(covariance))))
        notes = [
            f"errors of the columns are taken to be {ratio:g} times those of the efforts, relative to their lengths"
        ]
        if far > 1:
            notes.append(
                f"this moves values by up to {far:.2g} standard deviations from weighted least squares: right where "
                "columns have such errors, a bias where they have none; see ratio and exact"
            )
        return EstimatorSolution(x, w, covariance=covariance, notes=tuple(notes))


class Prior(Estimator):
    """With a prior: weighted least squares, and the parameters of the model as it is with a deviation of their own.

    `spread` is the relative deviation of every linear parameter of the model (CAD), `least` a floor for those that are
    zero there, relative to the largest of the same quantity. The estimate is the most likely one given both.
    """

    method = "least squares with a prior from the model"

    def __init__(self, model: Any = None, *, spread: float = 0.3, least: float = 0.05, **settings: Any) -> None:
        """spread: relative deviation of the model's parameters. least: its floor, relative to the largest of a kind."""
        super().__init__(model, **settings)
        self.spread = spread
        self.least = least

    def _solve(self, y: np.ndarray, z: np.ndarray, row: np.ndarray, equations: MeasuredEquations) -> EstimatorSolution:
        if self.model is None:
            raise DefinitionError(
                "Prior needs a model whose parameters it starts from; expected model=inverse_model(...)."
            )
        model = self.model
        deviation = prior_deviation(model, self.spread, self.least)
        names = [model.base_names.index(n) for n in equations.names]
        loose = model.matrix @ np.diag(deviation**2) @ model.matrix.T
        center, spread = model.base_prior[names], loose[np.ix_(names, names)]
        # a direction without any spread is known exactly: it gets a spread of rounding
        spread = spread + np.diag(1e-12 * np.maximum(np.diag(spread), 1e-12))
        root = np.linalg.inv(np.linalg.cholesky(spread))
        x, w, rounds = np.zeros(y.shape[1]), np.ones(len(z)), 0
        for rounds in range(1, ROUNDS + 1):
            sigma = row_sigma(
                z - y @ (x if rounds > 1 else least_squares(y, z)[0]), row, len(equations.rows), y.shape[1]
            )
            w = 1.0 / np.maximum(sigma, 1e-9 * float(np.abs(z).max()))[row]
            new, inverse = least_squares(np.vstack([y * w[:, None], root]), np.concatenate([z * w, root @ center]))
            done, x = _settled(x, new), new
            if done:
                break
        return EstimatorSolution(x, w, covariance=inverse, iterations=rounds)


def prior_deviation(model: Any, spread: float, least: float) -> np.ndarray:
    """(p,) standard deviations of the model's parameters: relative, with a floor by kind; friction is left free."""
    kinds = [n.rpartition(".")[2] for n in model.names]
    groups = {"m": "m", "mx": "s", "my": "s", "mz": "s"}
    kind = [groups.get(k, "I" if k.startswith("I") else k) for k in kinds]
    out = np.abs(model.prior) * spread
    for k in set(kind):
        same = [i for i, x in enumerate(kind) if x == k]
        largest = float(np.abs(model.prior[same]).max())
        # nothing is known of laws that the model does not have
        floor = least * largest if k in ("m", "s", "I") and largest > 0 else 1e6
        out[same] = np.maximum(out[same], floor)
    out[[model.names.index(n) for n in model.unknown]] = 1e6
    return np.asarray(out)


def _settled(old: np.ndarray, new: np.ndarray) -> bool:
    return bool(np.linalg.norm(new - old) <= SETTLED * max(float(np.linalg.norm(new)), 1e-300))
