"""The numbers behind the estimators: rank, condition, covariance and whiteness of a linear fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbody.basics.errors import DataError
from symbody.mechanics.formalisms.numeric_relations import greedy_relations
from symbody.studies.identification.estimate import Whiteness
from symbody.studies.identification.measured_equations import MeasuredEquations

SINGULAR = 1e-8  # smallest singular value of columns scaled to unit length, relative to the largest
POOR = 1e3  # condition from which a note names the columns
LIKE = 0.97  # largest correlation of neighbours that an autoregression is given (Andrews and Monahan 1992)
LAGS = 20  # of the test of whiteness


def lengths(y: np.ndarray) -> np.ndarray:
    """(b,) of the columns, 1 for a column of zeros."""
    size = np.linalg.norm(y, axis=0)
    return np.where(size > 0, size, 1.0)


def condition_of(y: np.ndarray) -> float:
    """Condition number of the columns, scaled to unit length."""
    if not y.shape[1]:
        return 1.0
    s = np.linalg.svd(y / lengths(y), compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 0 else float("inf")


def determined(
    y: np.ndarray, names: Sequence[str], rows: Sequence[str], rank: str, what: str
) -> tuple[list[int], list[str]]:
    """(columns that the rows determine, notes); refuses rank-deficient data with rank="refuse".

    what  the record in a sentence; rows: labels for the advice
    """
    if y.shape[0] < y.shape[1]:
        raise DataError(f"{what} gives {y.shape[0]} equations for {y.shape[1]} unknowns; expected more samples.")
    size = np.linalg.norm(y, axis=0)
    zero = [k for k in range(y.shape[1]) if size[k] <= 1e-12 * size.max(initial=0.0) or size[k] == 0]
    unit = y / lengths(y)
    _, s, vt = np.linalg.svd(unit, full_matrices=False)
    notes = []
    lost = int(np.sum(s <= SINGULAR * s[0])) if len(s) else 0
    if lost or zero:
        found, _ = greedy_relations(y, SINGULAR)
        gone = sorted({d for d, _ in found} | set(zero))
        told = []
        for d, weights in found:
            if d in zero or not weights:
                told.append(f"{names[d]} has no effect")
            else:
                told.append(f"{names[d]} cannot be told from {', '.join(names[k] for k in list(weights)[:4])}")
        shown = "; ".join(told[:6]) + (f"; and {len(told) - 6} more" if len(told) > 6 else "")
        if rank == "refuse":
            owners = {names[k].rpartition(".")[0] for k in gone}
            moved = ", ".join([r for r in rows if r in owners] or rows)
            raise DataError(
                f"{what} does not determine {len(gone)} of {y.shape[1]} parameters: {shown}. Move the joints ({moved}) "
                "further, faster and independently of each other (excitation finds such a motion), leave these columns "
                "out of the model, or take rank='reduce' for the combinations that are determined."
            )
        notes.append(f"{what} does not determine {len(gone)} parameters, which were held at zero: {shown}")
        kept = [k for k in range(y.shape[1]) if k not in gone]
        return kept, notes
    condition = float(s[0] / s[-1]) if len(s) else 1.0
    if condition > POOR:
        weak = np.argsort(-np.abs(vt[-1]))[:4]
        shown = ", ".join(names[k] for k in weak if abs(vt[-1][k]) > 0.2)
        notes.append(f"the condition of the columns is {condition:.3g}: {shown} are hardly told from each other")
    return list(range(y.shape[1])), notes


def least_squares(y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(x (b,), (Y^T Y)^-1 (b, b)) by QR of columns scaled to unit length."""
    from scipy.linalg import solve_triangular

    size = lengths(y)
    q, r = np.linalg.qr(y / size)
    x = solve_triangular(r, q.T @ z)
    inverse = solve_triangular(r, np.eye(len(r)))
    return x / size, (inverse @ inverse.T) / np.outer(size, size)


def row_sigma(rest: np.ndarray, row: np.ndarray, count: int, unknowns: int) -> np.ndarray:
    """(n,) standard deviation of the residuals by row; unknowns are shared among the rows by their numbers."""
    total = len(rest)
    out = np.zeros(count)
    for k in range(count):
        own = rest[row == k]
        freedom = len(own) * max(1.0 - unknowns / max(total, 1), 1e-3)
        out[k] = np.sqrt(float(own @ own) / freedom) if len(own) else 0.0
    return out


def correlated_covariance(y: np.ndarray, rest: np.ndarray, row: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """(b, b) of ordinary least squares on (weighted) rows whose errors follow each other in time.

    Products of columns and errors are made nearly white by an autoregression of order one each; of what is left the
    covariances over a span of samples are summed, a span that the data choose (Andrews and Monahan 1992, section 3).

    inverse  (Y^T Y)^-1
    """
    meat = np.zeros_like(inverse)
    for k in np.unique(row):
        g = y[row == k] * rest[row == k][:, None]
        if len(g) < 8:
            meat += g.T @ g
            continue
        root = _correlation(g)
        fresh = g[1:] - root * g[:-1]
        gain = 1 / (1 - root)
        meat += len(g) / len(fresh) * np.outer(gain, gain) * _summed_covariances(fresh)
    freedom = len(rest) / max(len(rest) - y.shape[1], 1)
    return freedom * inverse @ meat @ inverse


def _correlation(g: np.ndarray) -> np.ndarray:
    """(b,) of neighbours in every column, away from 1, where a sum has no end."""
    power = np.sum(g[:-1] ** 2, axis=0)
    return np.clip(np.sum(g[1:] * g[:-1], axis=0) / np.where(power > 0, power, 1.0), -LIKE, LIKE)


def _summed_covariances(g: np.ndarray) -> np.ndarray:
    """(b, b) covariances over all lags, with weights that fall to 0 (Newey and West 1987); the span by Andrews 1991."""
    rho, power = _correlation(g), np.sum(g**2, axis=0) ** 2
    above = float(np.sum(4 * rho**2 * power / ((1 - rho) ** 6 * (1 + rho) ** 2)))
    spread = above / max(float(np.sum(power / (1 - rho) ** 4)), 1e-300)
    span = min(max(1, int(np.ceil(1.1447 * (spread * len(g)) ** (1 / 3)))), len(g) // 4)
    out = g.T @ g
    for j in range(1, span + 1):
        cross = g[j:].T @ g[:-j]
        out = out + (1 - j / (span + 1)) * (cross + cross.T)
    return np.asarray(out)


def whiteness_of(equations: MeasuredEquations, rest: np.ndarray) -> tuple[Whiteness, ...]:
    """By row, of the residuals in the order of `MeasuredEquations.stacked`."""
    from scipy.stats import chi2

    row = equations.stacked()[2]
    out = []
    for k, label in enumerate(equations.rows):
        e = rest[row == k]
        e = e - e.mean() if len(e) else e
        power = float(e @ e)
        lags = min(LAGS, len(e) // 5)
        if power == 0 or lags < 1:
            continue
        rho = np.array([float(e[j:] @ e[:-j]) / power for j in range(1, lags + 1)])
        statistic = len(e) * (len(e) + 2) * float(np.sum(rho**2 / (len(e) - np.arange(1, lags + 1))))
        out.append(Whiteness(label, float(rho[0]), float(chi2.sf(statistic, lags))))
    return tuple(out)
