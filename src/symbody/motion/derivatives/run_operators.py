"""Operators: a run as maps of NumPy arrays with any loop dimensions in front, which bridges to other packages call.

    value(theta)            (..., ny)   y
    push(theta, v)          (..., ny)   J v
    pull(theta, w)          (..., n)    J^T w
    bend(theta, u, v)       (..., ny)   second derivative of y along u and v
    hess(theta, w, v)       (..., n)    H v of w^T y

The last runs are kept: packages ask for values and for derivatives at one theta one after the other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symbody.basics.errors import ShapeError
from symbody.motion.derivatives.function import RunFunction, jacobian_by
from symbody.motion.derivatives.linearised import Linearised
from symbody.motion.derivatives.many import Many


class Operators:
    """n, ny: sizes of theta and of y."""

    def __init__(self, f: RunFunction) -> None:
        self.f = f
        self.n, self.ny = f.variables.size, f().size
        self._last: tuple[bytes, Many] | None = None

    def check(self, shape: tuple[int, ...]) -> None:
        """ShapeError where a given theta has a shape that is not (..., n)."""
        if not shape or shape[-1] != self.n:
            raise ShapeError(f"theta has shape {shape}; expected ({self.n},), or (..., {self.n}) for many runs.")

    def many(self, thetas: np.ndarray) -> Many:
        """Runs at (b, n)."""
        key = np.ascontiguousarray(thetas, dtype=float).tobytes()
        last = self._last
        if last is None or last[0] != key:
            self._last = last = (key, self.f.many(thetas))
        return last[1]

    def run(self, theta: np.ndarray) -> Linearised:
        """The run at (n,)."""
        return self.many(np.asarray(theta, dtype=float)[None]).first

    def value(self, theta: np.ndarray) -> np.ndarray:
        rows = np.asarray(theta, dtype=float).reshape(-1, self.n)
        found = self.many(rows).y if len(rows) else np.zeros((0, self.ny))
        return found.reshape(*np.shape(theta)[:-1], self.ny)

    def pull(self, theta: np.ndarray, w: np.ndarray) -> np.ndarray:
        loop, (thetas, weights) = self._rows((theta, self.n), (w, self.ny))
        found = self.many(thetas).vjp(weights) if len(thetas) else np.zeros((0, self.n))
        return found.reshape(*loop, self.n)

    def push(self, theta: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._each(self.ny, lambda run, at, row: jacobian_by(run, "auto") @ row, theta, (v, self.n))

    def hess(self, theta: np.ndarray, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        def one(run: Linearised, at: np.ndarray, weights: np.ndarray, row: np.ndarray) -> np.ndarray:
            return self.f.products(run, at, row, weights).product

        return self._each(self.n, one, theta, (w, self.ny), (v, self.n))

    def bend(self, theta: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        def one(run: Linearised, at: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
            rows = [self.f.products(run, at, second, w).product for w in np.eye(self.ny)]
            return np.array(rows).reshape(self.ny, self.n) @ first

        return self._each(self.ny, one, theta, (u, self.n), (v, self.n))

    def _rows(self, *given: tuple[np.ndarray, int]) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """Loop dimensions of all of them, and each as rows."""
        arrays = [np.asarray(a, dtype=float) for a, _ in given]
        loop = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
        return loop, [np.broadcast_to(a, (*loop, k)).reshape(-1, k) for a, (_, k) in zip(arrays, given)]

    def _each(
        self, size: int, call: Callable[..., np.ndarray], theta: np.ndarray, *others: tuple[np.ndarray, int]
    ) -> np.ndarray:
        """Run by run."""
        loop, (thetas, *rows) = self._rows((theta, self.n), *others)
        if not len(thetas):
            return np.zeros((*loop, size))
        runs = self.many(thetas).runs
        return np.array([call(*one) for one in zip(runs, thetas, *rows)]).reshape(*loop, size)
