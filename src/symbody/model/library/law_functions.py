"""Functions for laws: of floats, NumPy arrays or Nodes, whichever the law is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.expr.functions import evaluate_piecewise, interpolate
from symbody.symbolic.expr.functions import table as table_node
from symbody.symbolic.expr.node import Node


def apply(name: str, *values: Any) -> Any:
    """A function of the engine by name: a Node if a value is one, else a number or an array."""
    if any(v.__class__ is Node for v in values):
        return call(name, *values)
    if any(isinstance(v, np.ndarray) and v.dtype == object for v in values):
        return np.frompyfunc(lambda *v: apply(name, *v), len(values), 1)(*values)
    result = FUNCTIONS[name].arrays(*values)
    return result[()] if isinstance(result, np.ndarray) else result


def sin(x: Any) -> Any:
    return apply("sin", x)


def cos(x: Any) -> Any:
    return apply("cos", x)


def atan(x: Any) -> Any:
    return apply("atan", x)


def tanh(x: Any) -> Any:
    return apply("tanh", x)


def exp(x: Any) -> Any:
    return apply("exp", x)


def sqrt(x: Any) -> Any:
    return apply("sqrt", x)


def absolute(x: Any) -> Any:
    return apply("abs", x)


def sign(x: Any) -> Any:
    return apply("sign", x)


def minimum(a: Any, b: Any) -> Any:
    return apply("min", a, b)


def maximum(a: Any, b: Any) -> Any:
    return apply("max", a, b)


def select(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b; both are computed."""
    return apply("select", condition, a, b)


def ratio(a: Any, b: Any, small: float) -> Any:
    """a / b that goes to 0 where b does: a b / (b^2 + small^2); relative error (small/b)^2 elsewhere."""
    return a * b / (b * b + small * small)


def smooth_positive(x: Any, width: Any) -> Any:
    """max(x, 0) with the corner rounded over about `width`: (x + sqrt(x^2 + width^2)) / 2, exact far from it."""
    return (x + sqrt(x * x + width * width)) / 2


def table(x: Any, breakpoints: Any, values: Any, kind: str) -> Any:
    """Interpolation, as `sb.table`; for numbers too."""
    if x.__class__ is Node:
        return table_node(x, breakpoints, values, kind)
    polynomial = interpolate(breakpoints, values, kind)
    return np.vectorize(lambda v: evaluate_piecewise(polynomial, v), otypes=[float])(x)[()]
