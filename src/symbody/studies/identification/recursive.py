"""Recursive least squares: parameters that follow the samples as they come, in Python or as emitted code."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DataError, ShapeError, array_argument, real_argument, whole_argument, wrong_argument
from symbody.symbolic.expr.arrays import matmul
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.system.system import System


class RecursiveLS:
    """Least squares with exponential forgetting, row by row.

    x_, P_  values (b,) and (Y^T Y)^-1 (b, b) after the rows so far; count_: rows
    """

    def __init__(self, unknowns: int, forgetting: float = 1.0, start: Any = None, spread: float = 1e6) -> None:
        """forgetting: weight of the past at each row, 1 keeps all. start: first values; spread: their variance beside
        that of a row."""
        self.unknowns = whole_argument("unknowns", unknowns, 1)
        self.forgetting = real_argument("forgetting", forgetting, "a number in (0, 1]", above=0.0)
        if forgetting > 1:
            raise DataError(f"forgetting={forgetting:g}; expected at most 1.")
        self.x_ = np.zeros(unknowns) if start is None else np.array(array_argument("start", start, "numbers"))
        if self.x_.shape != (unknowns,) or not np.isfinite(self.x_).all():
            raise wrong_argument("start", start, f"finite numbers ({unknowns},)")
        self.P_ = float(real_argument("spread", spread, "a positive number", above=0.0)) * np.eye(unknowns)
        self.count_ = 0

    def update(self, y: Any, z: Any, sigma: Any = 1.0) -> Self:
        """Take rows y (n, b) or (b,) with efforts z (n,); sigma: their deviations."""
        rows = np.atleast_2d(array_argument("y", y, "numbers"))
        right = np.ravel(array_argument("z", z, "numbers"))
        if rows.shape != (len(right), self.unknowns):
            raise ShapeError(f"y has the shape {rows.shape}; expected ({len(right)}, {self.unknowns}).")
        deviation = array_argument("sigma", sigma, "positive deviations of the rows")
        if deviation.shape not in ((), right.shape) or not np.all((deviation > 0) & np.isfinite(deviation)):
            raise wrong_argument("sigma", sigma, "positive deviations of the rows")
        deviation = np.broadcast_to(deviation, right.shape)
        if not (np.all(np.isfinite(rows)) and np.all(np.isfinite(right))):
            raise DataError("a row holds something else than numbers; leave the sample out.")
        for a, b, s in zip(rows, right, deviation):
            pa = self.P_ @ a
            gain = pa / (self.forgetting * s**2 + a @ pa)
            self.x_ = self.x_ + gain * (b - a @ self.x_)
            self.P_ = (self.P_ - np.outer(gain, pa)) / self.forgetting
            self.P_ = 0.5 * (self.P_ + self.P_.T)
            self.count_ += 1
        return self


@declared
def recursive_system(unknowns: int, name: str = "recursive_ls") -> System:
    """One update as a System: (x, P, y, z, forgetting) -> x_new, P_new; `.emit("c")` makes a function of it for a
    controller. P is given and returned whole, (b, b)."""
    whole_argument("unknowns", unknowns, 1)
    graph = Graph()
    with graph:

        def fresh(stem: str, *shape: int) -> np.ndarray:
            out = np.empty(shape, dtype=object)
            for k in range(out.size):
                out.flat[k] = graph.symbol(f"{stem}{k + 1}", "input")
            return out

        x, p, y = fresh("x", unknowns), fresh("P", unknowns, unknowns), fresh("y", unknowns)
        z, keep = graph.symbol("z", "input"), graph.symbol("forgetting", "input")
        py = matmul(p, y)
        size = keep + matmul(y, py)
        gain = np.array([v / size for v in py], dtype=object)
        error = z - matmul(y, x)
        new_x = np.array([a + g * error for a, g in zip(x, gain)], dtype=object)
        new_p = np.array([[(p[i, k] - gain[i] * py[k]) / keep for k in range(unknowns)] for i in range(unknowns)])
        scalars = {"z": np.array(z, dtype=object), "forgetting": np.array(keep, dtype=object)}
        return System(name, inputs={"x": x, "P": p, "y": y, **scalars}, outputs={"x_new": new_x, "P_new": new_p})
