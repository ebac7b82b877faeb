"""Expressions of a Mechanism's records as Python closures over numbers with first and second derivatives.

A Jet is (value, gradient (n,), Hessian (n, n)) by n variables. It is the oracle's own derivative of couplings and of
laws of time: nothing of `symbody.symbolic.expr` but the records of nodes (op, args, data) is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Jet:
    """value, g (n,), h (n, n) symmetric."""

    value: float
    g: np.ndarray
    h: np.ndarray

    def through(self, f: float, d: float, dd: float) -> Jet:
        """A function with value f and derivatives d, dd at this value."""
        return Jet(f, d * self.g, d * self.h + dd * np.outer(self.g, self.g))


def plus(a: Jet, b: Jet) -> Jet:
    return Jet(a.value + b.value, a.g + b.g, a.h + b.h)


def times(a: Jet, b: Jet) -> Jet:
    cross = np.outer(a.g, b.g)
    return Jet(a.value * b.value, a.value * b.g + b.value * a.g, a.value * b.h + b.value * a.h + cross + cross.T)


FUNCTIONS: dict[str, Callable[[float], tuple[float, float, float]]] = {
    "sin": lambda x: (np.sin(x), np.cos(x), -np.sin(x)),
    "cos": lambda x: (np.cos(x), -np.sin(x), -np.cos(x)),
    "exp": lambda x: (np.exp(x), np.exp(x), np.exp(x)),
    "tanh": lambda x: (np.tanh(x), 1 - np.tanh(x) ** 2, -2 * np.tanh(x) * (1 - np.tanh(x) ** 2)),
    "sqrt": lambda x: (np.sqrt(x), 0.5 / np.sqrt(x), -0.25 / np.sqrt(x) ** 3),
}


def jet(node: Any, variables: Mapping[str, Jet], values: Mapping[str, float], n: int) -> Jet:
    """The Jet of a node; variables by the names of symbols, every other symbol is a number in `values`."""
    none, flat = np.zeros(n), np.zeros((n, n))

    def of(x: Any) -> Jet:
        if x.op == "const":
            return Jet(float(x.data), none, flat)
        if x.op == "symbol":
            name = x.data.name
            return variables[name] if name in variables else Jet(values[name], none, flat)
        parts = [of(a) for a in x.args]
        if x.op == "scale":
            return times(Jet(float(x.data), none, flat), parts[0])
        if x.op in ("add", "mul"):
            out = parts[0]
            for other in parts[1:]:
                out = plus(out, other) if x.op == "add" else times(out, other)
            return out
        if x.op == "power":
            k, v = float(x.data), parts[0].value
            return parts[0].through(v**k, k * v ** (k - 1), k * (k - 1) * v ** (k - 2) if k != 1 else 0.0)
        if x.op in FUNCTIONS:
            return parts[0].through(*FUNCTIONS[x.op](parts[0].value))
        raise NotImplementedError(f"the oracle knows no {x.op!r}")

    return of(node)


def seeds(names: list[str], at: np.ndarray) -> dict[str, Jet]:
    """The variables themselves: unit gradients."""
    n = len(names)
    return {name: Jet(float(at[i]), np.eye(n)[i], np.zeros((n, n))) for i, name in enumerate(names)}
