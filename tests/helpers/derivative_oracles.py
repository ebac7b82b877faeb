"""Oracles of derivatives: complex steps through a plain interpreter, and differences of whole runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from symbody.motion.derivatives.function import RunFunction
from symbody.motion.flow.flow import Flow

STEP = 1e-30


def complex_run(
    flow: Flow, x: np.ndarray, step: float, count: int, parameters: Mapping[str, complex], u: Mapping[str, np.ndarray]
) -> np.ndarray:
    """The state after `count` classical Runge-Kutta steps, by the interpreter of Programs, over complex numbers."""
    kernel, rates = flow.rates.compile("python"), flow.rates

    def f(t, x):
        given = {**flow.layout.split(x), "t": t, **u}
        found = kernel(*(given[n] for n in rates.inputs), parameters=dict(parameters) or None)
        parts = found if len(rates.outputs) > 1 else [found]
        named = dict(zip(rates.outputs, parts, strict=True))
        return np.concatenate([np.ravel(named[r]) for r in rates.states.values()])

    x = np.asarray(x, dtype=complex)
    for k in range(count):
        t = k * step
        k1 = f(t, x)
        k2 = f(t + step / 2, x + step / 2 * k1)
        k3 = f(t + step / 2, x + step / 2 * k2)
        k4 = f(t + step, x + step * k3)
        x = x + step * (k1 / 6 + k2 / 3 + k3 / 3 + k4 / 6)
    return x


def differences(f: Callable[[np.ndarray], np.ndarray], theta: np.ndarray, size: float = 1e-6) -> np.ndarray:
    """(ny, n) central differences, each by a small part of its number."""
    columns = []
    for k in range(len(theta)):
        step = np.zeros_like(theta)
        step[k] = size * (abs(theta[k]) if theta[k] else 1.0)
        columns.append((f(theta + step) - f(theta - step)) / (2 * step[k]))
    return np.array(columns).T


def close(found: np.ndarray, wanted: np.ndarray, part: float) -> None:
    """Each row to a part of its largest component; rows that are nearly zero beside the others, of theirs."""
    largest = np.abs(wanted).max(axis=-1, keepdims=True)
    off = np.abs(found - wanted) / np.maximum(largest, 1e-3 * largest.max())
    assert (off <= part).all(), off.max()


def both_modes(f: RunFunction, theta: np.ndarray | None = None) -> np.ndarray:
    """The Jacobian by the adjoint, with which the directions that go along agree to roundings."""
    run = f.linearise(theta)
    adjoint = np.array([run.vjp(w) for w in np.eye(run.y.size)])
    close(run.jacobian(), adjoint, 1e-10)
    return adjoint
