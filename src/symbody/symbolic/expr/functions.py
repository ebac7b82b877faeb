"""Functions of nodes and numbers: elementary ones, comparisons, choices, tables, external functions, named stages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from symbody.basics.errors import ExpressionError, ShapeError, array_argument
from symbody.symbolic.expr.call import as_condition, as_nodes, call, unary_node
from symbody.symbolic.expr.external import External, Piecewise
from symbody.symbolic.expr.function_row import FUNCTIONS, Function
from symbody.symbolic.expr.node import ALIAS, CONST, EXTERN, RESULT, TABLE, Alias, Node


def _unary(name: str) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        if x.__class__ is Node:
            return unary_node(FUNCTIONS[name], x)
        if getattr(x, "shape", ()) != () or isinstance(x, list):
            return _of_array(function, FUNCTIONS[name], x)
        return call(name, x)

    function.__name__ = name
    function.__doc__ = f"{name} of a number, an expression or an array of them."
    return function


def _of_array(function: Callable[[Any], Any], row: Function, x: Any) -> Any:
    """Values of elements: numbers with the bits of compiled code, NaN and infinity too; expressions for the rest."""
    import numpy as np

    try:
        array = np.asarray(x)
    except ValueError:
        raise ShapeError(f"{row.name} was given rows of different lengths; expected an array.") from None
    with np.errstate(all="ignore"):
        if array.dtype.kind in "biuf":
            return np.vectorize(row.run, otypes=[float])(array.astype(float))
        if array.dtype.kind == "c":
            return row.arrays(array)
    return np.vectorize(function, otypes=[object])(array)


def function_of(name: str) -> Callable[..., Any]:
    """A Python function that calls the function of this name; one of one argument takes arrays, too."""
    row = FUNCTIONS[name]
    if row.arity == 1:
        return _unary(name)

    def function(*values: Any) -> Node:
        return call(name, *values)

    function.__name__, function.__doc__ = name, row.about
    return function


sin, cos, tan = _unary("sin"), _unary("cos"), _unary("tan")
asin, acos, atan = _unary("asin"), _unary("acos"), _unary("atan")
sinh, cosh, tanh = _unary("sinh"), _unary("cosh"), _unary("tanh")
asinh, acosh, atanh = _unary("asinh"), _unary("acosh"), _unary("atanh")
exp, log, sqrt = _unary("exp"), _unary("log"), _unary("sqrt")
sign, floor, ceil = _unary("sign"), _unary("floor"), _unary("ceil")


def atan2(y: Any, x: Any) -> Node:
    """Angle of the point (x, y), rad."""
    return call("atan2", y, x)


def hypot(x: Any, y: Any) -> Node:
    return call("hypot", x, y)


def minimum(a: Any, b: Any) -> Node:
    return call("min", a, b)


def maximum(a: Any, b: Any) -> Node:
    return call("max", a, b)


def select(condition: Any, a: Any, b: Any) -> Node:
    """a where the condition holds, else b. Both are computed. The condition is an expression, such as x > 0."""
    return call("select", as_condition("select", condition), a, b)


def equal(a: Any, b: Any) -> Node:
    """The condition a == b (the operator == compares structure)."""
    return call("eq", a, b)


# -- tables


def table(x: Any, breakpoints: Iterable[float], values: Iterable[float], kind: str = "linear") -> Node:
    """Interpolation in a table: `linear`, or `cubic` (natural spline). The end pieces extend outward."""
    return piecewise(x, interpolate(breakpoints, values, kind))


def piecewise(x: Any, polynomial: Piecewise) -> Node:
    """A piecewise polynomial at x."""
    (node,) = as_nodes([x])
    if node.op is CONST:
        return node.graph.number(evaluate_piecewise(polynomial, float(node.data)))
    return node.graph.intern(TABLE, (node,), polynomial, node.flags)


def interpolate(breakpoints: Iterable[float], values: Iterable[float], kind: str = "linear") -> Piecewise:
    """The piecewise polynomial through the points (x_i, y_i), x increasing."""
    xs, ys = _numbers("breakpoints", breakpoints), _numbers("values", values)
    if len(xs) != len(ys) or len(xs) < 2:
        raise ShapeError(f"a table has {len(xs)} breakpoints and {len(ys)} values; expected equal numbers, at least 2.")
    if not all(math.isfinite(v) for v in xs + ys) or any(b <= a for a, b in pairwise(xs)):
        raise ExpressionError("the breakpoints of a table must be finite and increasing, its values finite.")
    h = [b - a for a, b in pairwise(xs)]
    slope = [(b - a) / d for a, b, d in zip(ys, ys[1:], h, strict=False)]
    if kind == "linear":
        return Piecewise(tuple(xs), (tuple(ys[:-1]), tuple(slope)))
    if kind != "cubic":
        raise ExpressionError(f"a table of kind {kind!r} was asked for; expected 'linear' or 'cubic'.")
    curvature = _natural_spline(h, slope)
    linear = [s - d * (2 * m0 + m1) / 6 for s, d, m0, m1 in zip(slope, h, curvature, curvature[1:], strict=False)]
    cubic = [(m1 - m0) / (6 * d) for d, m0, m1 in zip(h, curvature, curvature[1:], strict=False)]
    quadratic = [m / 2 for m in curvature[:-1]]
    return Piecewise(tuple(xs), (tuple(ys[:-1]), tuple(linear), tuple(quadratic), tuple(cubic)))


def _numbers(name: str, values: Iterable[float]) -> list[float]:
    """Floats of an array, or of what only can be gone through, such as the values of a dict."""
    if isinstance(values, Iterable) and not isinstance(values, Sequence | Mapping) and not hasattr(values, "__array__"):
        values = list(values)
    found: list[float] = array_argument(name, values, "numbers (n,)", owner="table").ravel().tolist()
    return found


def _natural_spline(h: list[float], slope: list[float]) -> list[float]:
    """Second derivatives at the points, zero at both ends (tridiagonal system, Thomas' algorithm)."""
    n = len(h) + 1
    upper, right = [0.0] * n, [0.0] * n
    for i in range(1, n - 1):
        pivot = 2 * (h[i - 1] + h[i]) - h[i - 1] * upper[i - 1]
        upper[i] = h[i] / pivot
        right[i] = (6 * (slope[i] - slope[i - 1]) - h[i - 1] * right[i - 1]) / pivot
    m = [0.0] * n
    for i in range(n - 2, 0, -1):
        m[i] = right[i] - upper[i] * m[i + 1]
    return m


def derivative_of(polynomial: Piecewise) -> Piecewise:
    """The derivative, piece by piece; constant pieces have derivative zero."""
    c = tuple(tuple(k * v for v in row) for k, row in enumerate(polynomial.c))[1:]
    return Piecewise(polynomial.x, c or ((0.0,) * (len(polynomial.x) - 1),))


def evaluate_piecewise(polynomial: Piecewise, x: float) -> float:
    from bisect import bisect_right

    if x != x:
        return x
    i = min(max(bisect_right(polynomial.x, x) - 1, 0), len(polynomial.x) - 2)
    d = x - polynomial.x[i]
    value = polynomial.c[-1][i]
    for row in reversed(polynomial.c[:-1]):
        value = value * d + row[i]
    return value


# -- external functions


def extern(function: External, *values: Any) -> Any:
    """Results of an external function: a node, or a list of nodes where it has several results."""
    if len(values) != function.arity:
        raise ShapeError(f"external function {function.name!r} takes {function.arity} arguments, {len(values)} given.")
    args = tuple(as_nodes(values))
    graph = args[0].graph
    flags = 0
    for a in args:
        flags |= a.flags
    node = graph.intern(EXTERN, args, function, flags)
    results = [graph.intern(RESULT, (node,), k, flags) for k in range(function.results)]
    return results[0] if function.results == 1 else results


# -- named stages


def alias(node: Node, name: str, stage: int = 0) -> Node:
    """A node of the same value under a name that rewriting does not look into."""
    return node.graph.intern(ALIAS, (node,), Alias(name, stage), node.flags)
