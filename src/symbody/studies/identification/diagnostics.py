"""What an estimate is worth: essential parameters, cross-validation, and both in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DataError, real_argument
from symbody.studies.identification.estimate import Estimate
from symbody.studies.identification.estimators.contract import Estimator
from symbody.studies.identification.measured_equations import MeasuredEquations
from symbody.studies.identification.series import Series


@dataclass(frozen=True, eq=False)
class Essential:
    """A fit with as few parameters as the record supports.

    estimate  of those that are left; removed: names in the order in which they went, with the residual after each
    """

    estimate: Estimate
    removed: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        gone = ", ".join(name for name, _ in self.removed) or "none"
        return (
            f"{len(self.estimate.values)} essential parameters; without effect on the residual: {gone}\n{self.estimate}"
        )


@declared
def essential(
    estimator: Estimator, X: Any, y: Any = None, *, limit: float = 0.1, significance: float = 0.05
) -> Essential:
    """Step-wise elimination (Gautier and Venture 2013): the parameter with the largest relative deviation goes, the
    rest
    is fitted anew, until none is above `limit`, or a removal makes the residual larger than chance would (F test).

    limit         relative standard deviation below which a parameter stays
    significance  of the F test that ends the elimination, for all removals together
    """
    from scipy.stats import f

    real_argument("limit", limit, "a positive relative deviation", above=0.0)
    real_argument("significance", significance, "a probability between 0 and 1", above=0.0)
    equations = estimator.equations(X, y)
    kept = list(range(len(equations.names)))
    now = estimator._estimated(equations)
    full = _weighted(now, equations)
    removed: list[tuple[str, float]] = []
    freedom = max(now.equations_count - len(kept), 1)
    # neighbouring errors that are alike leave fewer independent ones
    inflation = max([1.0, *((1 + w.correlation) / max(1 - w.correlation, 1e-3) for w in now.whiteness)])
    while len(kept) > 1:
        worst = int(np.argmax(np.where(np.isfinite(now.relative_std), now.relative_std, np.inf)))
        if now.relative_std[worst] <= limit:
            break
        rest = kept[:worst] + kept[worst + 1 :]
        part = equations.chosen(rest)
        trial = estimator._estimated(part)
        gone = len(removed) + 1
        statistic = (_weighted(trial, part, now) - full) / gone / (full / freedom) / inflation
        if float(f.sf(max(statistic, 0.0), gone, freedom / inflation)) < significance:
            break
        removed.append((equations.names[kept[worst]], trial.relative))
        kept, now = rest, trial
    return Essential(now, tuple(removed))


def _weighted(estimate: Estimate, equations: MeasuredEquations, by: Estimate | None = None) -> float:
    """Sum of squares of the residuals, each row by its deviation in the estimate `by`."""
    matrix, z, row = equations.stacked()
    sigma = np.array([(by or estimate).sigma[r] for r in equations.rows])
    sigma = np.maximum(sigma, 1e-9 * float(np.abs(z).max()))
    rest = (z - matrix @ estimate.values) / sigma[row]
    return float(rest @ rest)


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Relative errors of records that a fit has not seen, beside those of what it was made from."""

    seen: tuple[float, ...]
    unseen: tuple[float, ...]

    @property
    def error(self) -> float:
        """Mean of the unseen."""
        return float(np.mean(self.unseen))

    def __str__(self) -> str:
        pairs = ", ".join(f"{a:.2%} -> {b:.2%}" for a, b in zip(self.seen, self.unseen))
        return f"cross-validation (seen -> unseen): {pairs}; mean of the unseen {self.error:.2%}"


@declared
def cross_validate(estimator: Estimator, records: Series | Sequence[Series], folds: int = 5) -> CrossValidation:
    """Fits to all but one record, or block of one record, and predicts the one that was left out."""
    from symbody.studies.identification.measured_equations import joined_equations

    if isinstance(records, Series):
        pairs: list[tuple[Any, Any]] = list(records.folds(folds))
    else:
        if len(records) < 2:
            raise DataError("cross_validate was given one record in a list; expected several, or the record itself.")
        made = [estimator.equations(r) for r in records]
        pairs = [(joined_equations(made[:k] + made[k + 1 :]), made[k]) for k in range(len(made))]
    seen, unseen = [], []
    for part, rest in pairs:
        estimator.fit(part)
        seen.append(estimator.estimate_.relative)
        unseen.append(estimator.relative_error(rest))
    return CrossValidation(tuple(seen), tuple(unseen))
