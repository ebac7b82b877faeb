"""A scalar objective of a run in the hands of SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.motion.derivatives.linearised import Linearised

if TYPE_CHECKING:
    from symbody.motion.derivatives.function import RunFunction


class RunObjective:
    """theta -> (w^T y, its gradient), for `scipy.optimize.minimize(f, x0, jac=True, hessp=f.hessp)`.

    value, gradient   each by itself, for solvers and checkers that take two functions
    """

    def __init__(self, function: RunFunction, weights: Any = None) -> None:
        self.function, self.weights = function, weights
        self._last: tuple[bytes, Linearised] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: without the last run, which holds loaded code."""
        return {**self.__dict__, "_last": None}

    def __call__(self, theta: Any) -> tuple[float, np.ndarray]:
        return self.value(theta), self.gradient(theta)

    def value(self, theta: Any) -> float:
        y = self._run(theta).y
        return float(self.function.weights_of(y, self.weights) @ y)

    def gradient(self, theta: Any) -> np.ndarray:
        """(n,)"""
        run = self._run(theta)
        return run.vjp(self.function.weights_of(run.y, self.weights))

    def hessp(self, theta: Any, direction: Any) -> np.ndarray:
        """(n,) H v"""
        return self.function.products(self._run(theta), theta, direction, self.weights).product

    def _run(self, theta: Any) -> Linearised:
        """The last one is kept: solvers ask for values and derivatives at one theta one after the other."""
        key = np.ascontiguousarray(theta, dtype=float).tobytes()
        last = self._last
        if last is None or last[0] != key:
            self._last = last = (key, self.function.linearise(theta))
        return last[1]
