"""Estimate: what a fit found, with its uncertainty and everything that limits its worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.errors import NameLookupError, nearest, real_argument, wrong_argument

if TYPE_CHECKING:
    from symbody.studies.identification.linear_inverse import InverseModel
    from symbody.studies.identification.measured_equations import MeasuredEquations


@dataclass(frozen=True, eq=False)
class Whiteness:
    """Whiteness of the residuals of one row: alike neighbouring errors make plain standard deviations too small.

    correlation  with the one before
    p_value      of Ljung and Box's test that the residuals are white
    """

    row: str
    correlation: float
    p_value: float

    @property
    def is_white(self) -> bool:
        return self.p_value > 1e-3


@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters from measurements.

    names, units  (b,) of the parameters
    values        (b,) found
    covariance    (b, b) of them; NaN rows of parameters that the record does not determine
    kind          of the covariance: "white", "correlated" (errors that follow each other were allowed for) or "none"
    sigma         label of a row -> standard deviation of its residual, in the unit of the effort
    relative      |z - Y x| / |z| of all rows, and by row
    condition     of the columns, scaled to unit length
    pi            (p,) all parameters of the Mechanism, where the method finds them
    fixed         names that were held at a value (zero, or the prior)
    unexplained   a sentence where residuals are far above the noise, which the covariance does not allow for; else ""
    """

    method: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray
    kind: str
    sigma: Mapping[str, float]
    relative: float
    relative_of: Mapping[str, float]
    condition: float
    equations_count: int
    whiteness: tuple[Whiteness, ...] = ()
    notes: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    pi: np.ndarray | None = None
    iterations: int = 1
    model: InverseModel | None = field(default=None, repr=False)
    equations: MeasuredEquations | None = field(default=None, repr=False)
    unexplained: str = ""

    @property
    def std(self) -> np.ndarray:
        """(b,) standard deviations."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def relative_std(self) -> np.ndarray:
        """(b,) |std / value|, inf for a value of zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.values != 0, np.abs(self.std / self.values), np.inf)

    def interval(self, level: float = 0.95) -> np.ndarray:
        """(b, 2) confidence intervals."""
        from scipy.stats import t

        real_argument("level", level, "a probability between 0 and 1", above=0.0)
        if level >= 1:
            raise wrong_argument("level", level, "a probability between 0 and 1")
        freedom = max(self.equations_count - len(self.values), 1)
        half = float(t.ppf(0.5 + level / 2, freedom)) * self.std
        return np.column_stack([self.values - half, self.values + half])

    def __getitem__(self, name: str) -> float:
        """The value of a parameter."""
        if name not in self.names:
            raise NameLookupError(f"the estimate has no parameter {name!r}. {nearest(name, self.names)}")
        return float(self.values[self.names.index(name)])

    def as_dict(self) -> dict[str, Any]:
        """In values that JSON knows."""
        rows = [
            {"name": n, "unit": u, "value": float(v), "std": float(s), "relative_std": float(r)}
            for n, u, v, s, r in zip(self.names, self.units, self.values, self.std, self.relative_std)
        ]
        return {
            "method": self.method, "parameters": rows, "relative_residual": self.relative,
            "relative_residual_of": dict(self.relative_of), "sigma": dict(self.sigma), "condition": self.condition,
            "equations": self.equations_count, "covariance": self.kind, "fixed": list(self.fixed),
            "unexplained": self.unexplained, "notes": list(self.notes),
        }  # fmt: skip

    def __str__(self) -> str:
        head = (
            f"{self.method}: {len(self.values)} parameters from {self.equations_count} equations, residual "
            f"{self.relative:.2%}, condition {self.condition:.3g}, {self.kind} covariance"
        )
        width = max((len(n) for n in self.names), default=4)
        lines = [f"  {'':<{width}} {'value':>12} {'std':>10} {'rel %':>8}  unit"]
        for n, u, v, s, r in zip(
            self.names, self.units or [""] * len(self.names), self.values, self.std, self.relative_std
        ):
            lines.append(f"  {n:<{width}} {v:>12.6g} {s:>10.3g} {100 * r:>8.2f}  {u}")
        first = [f"  warning: {self.unexplained}"] if self.unexplained else []
        return "\n".join([head, *first, *lines, *(f"  note: {n}" for n in self.notes)])
