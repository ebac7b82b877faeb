"""Single steps of explicit methods in NumPy: between the ticks of a Python controller a native call costs more.

Sums are taken in the order of the native loops, so that the results are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import SolveError
from symbody.motion.flow.flow import Flow
from symbody.motion.march.method_tables import RungeKutta


class NumpyStep:
    """One step of a Flow from one state, by its Kernels bound to the parameters of the run."""

    def __init__(self, flow: Flow, kernels: Mapping[str, Any], method: RungeKutta, parameters: Any) -> None:
        self.method = method
        self.rates = kernels["rates"].bind(parameters)
        self.project = kernels["project"].bind(parameters) if "project" in kernels else None
        self._pack = flow.layout.packer(flow.rates.inputs, flow.rates.name)

    def step(self, t: float, h: float, x: np.ndarray, u: np.ndarray) -> np.ndarray | None:
        """x (nx,) after a step with the signals u (nu,) held; None where it fails: the native march says why."""
        method = self.method
        slopes: list[np.ndarray] = []
        try:
            for row, c in zip(method.a, method.c):
                at = _advanced(x, h, row, slopes)
                slopes.append(_flat(self.rates(*self._pack(t + c * h, at, u))))
            after = _advanced(x, h, method.b, slopes)
            if self.project is not None:
                after = _flat(self.project(*self._pack(t + h, after, u)))
        except SolveError:
            return None
        return after if np.isfinite(after).all() else None


def _flat(found: Any) -> np.ndarray:
    parts = found if isinstance(found, tuple) else (found,)
    return np.concatenate([np.ravel(p) for p in parts])


def _advanced(x: np.ndarray, h: float, weights: Sequence[float], slopes: Sequence[np.ndarray]) -> np.ndarray:
    """x + h sum of weights times slopes."""
    total: Any = None
    for w, k in zip(weights, slopes):
        if w != 0.0:
            term = k if w == 1.0 else w * k
            total = term if total is None else total + term
    return x if total is None else x + h * total
