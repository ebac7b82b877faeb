"""Functions of nodes and numbers: elementary ones, comparisons, choices, tables, external functions, named stages."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from symbody.errors import ExpressionError, ShapeError, nearest
from symbody.expr.arithmetic import coerce, mixed_graphs, negate, plain, power
from symbody.expr.external import External, Piecewise
from symbody.expr.node import ALIAS, CONST, EXTERN, RESULT, SCALE, TABLE, Alias, Node

ODD = frozenset({"sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "sign"})
EVEN = frozenset({"cos", "cosh", "abs"})
TRUTHS = frozenset({"lt", "le", "eq", "ne", "and", "or", "not"})  # 1 or 0, nothing else
COMMUTATIVE = frozenset({"min", "max", "hypot", "eq", "ne", "and", "or"})

# name -> number of arguments; `sqrt` and constant powers are power nodes
ARITY = {
    "exp": 1, "log": 1, "sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "sinh": 1, "cosh": 1, "tanh": 1,
    "asinh": 1, "acosh": 1, "atanh": 1, "abs": 1, "sign": 1, "floor": 1, "ceil": 1, "not": 1,
    "atan2": 2, "pow": 2, "min": 2, "max": 2, "hypot": 2, "mod": 2,
    "lt": 2, "le": 2, "eq": 2, "ne": 2, "and": 2, "or": 2, "select": 3,
}  # fmt: skip


def _sign(x: float) -> float:
    return x if x != x else (x > 0) - (x < 0)


def _least(a: float, b: float) -> float:
    return a if a != a or a <= b else b


def _greatest(a: float, b: float) -> float:
    return a if a != a or a >= b else b


FOLD: dict[str, Callable[..., Any]] = {
    "exp": math.exp, "log": math.log, "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin,
    "acos": math.acos, "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "asinh": math.asinh,
    "acosh": math.acosh, "atanh": math.atanh, "abs": abs, "sign": _sign, "floor": math.floor, "ceil": math.ceil,
    "not": lambda a: not a, "atan2": math.atan2, "min": _least, "max": _greatest, "hypot": math.hypot,
    "mod": lambda a, b: a % b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b, "and": lambda a, b: bool(a and b), "or": lambda a, b: bool(a or b),
}  # fmt: skip

# exact at these places, so that no float enters an exact expression
EXACT = {("sin", 0): 0, ("tan", 0): 0, ("cos", 0): 1, ("exp", 0): 1, ("log", 1): 0, ("asin", 0): 0, ("atan", 0): 0,
         ("sinh", 0): 0, ("cosh", 0): 1, ("tanh", 0): 0, ("asinh", 0): 0, ("atanh", 0): 0, ("acos", 1): 0}  # fmt: skip
KEEPS_EXACT = frozenset(
    {"abs", "sign", "floor", "ceil", "not", "min", "max", "mod", "lt", "le", "eq", "ne", "and", "or"}
)


def as_nodes(values: Sequence[Any]) -> list[Node]:
    """All values as nodes of the one Graph that the nodes among them share."""
    graph = None
    for v in values:
        if v.__class__ is Node:
            if graph is None:
                graph = v.graph
            elif v.graph is not graph:
                mixed_graphs(next(u for u in values if u.__class__ is Node), v)
    if graph is None:
        from symbody.expr.graph import current_graph

        graph = current_graph()
    out = []
    for v in values:
        node = coerce(graph, v)
        if node is None:
            raise ExpressionError(f"{v!r} is neither a number nor an expression.")
        out.append(node)
    return out


def call(name: str, *values: Any) -> Node:
    """The node of a function by name, with the rules that need only its direct arguments."""
    if name == "sqrt" and len(values) == 1:
        return power(as_nodes(values)[0], Fraction(1, 2))
    if ARITY.get(name) != len(values):
        if name not in ARITY:
            raise ExpressionError(f"unknown function {name!r}. {nearest(name, [*ARITY, 'sqrt'])}")
        raise ExpressionError(f"{name} takes {ARITY[name]} argument(s), {len(values)} given.")
    if len(values) == 1:
        x = values[0]
        return _unary_node(name, x if x.__class__ is Node else as_nodes(values)[0])
    args: Sequence[Node] = as_nodes(values)
    if name == "select":
        return _select(*args)
    a, b = args
    if name == "pow" and b.op is CONST:
        return power(a, b.data)
    if a.op is CONST and b.op is CONST:
        folded = _fold(name, args)
        if folded is not None:
            return folded
    elif a is b:
        if name == "min" or name == "max":
            return a
        if name == "lt":  # x < x is false, also for NaN; x <= x and x == x are not true for NaN
            return a.graph.number(False)
    if name in COMMUTATIVE and a.id > b.id:
        args = (b, a)
    return function_node(name, tuple(args))


def _unary_node(name: str, x: Node) -> Node:
    op = x.op
    if op is CONST:
        folded = _fold(name, (x,))
        if folded is not None:
            return folded
    elif op is SCALE and x.data < 0:
        if name in ODD:
            return negate(_unary_node(name, negate(x)))
        if name in EVEN:
            x = negate(x)
    elif op == name == "abs":
        return x
    elif op == name == "not" and x.args[0].op in TRUTHS:
        return x.args[0]
    graph = x.graph
    key = (name, x)
    node = graph.functions.get(key)
    if node is None:
        node = graph.functions[key] = Node(graph, name, (x,), None, x.flags)
    return node


def function_node(name: str, args: tuple[Node, ...]) -> Node:
    """The interned node of a function, without rules."""
    graph = args[0].graph
    key = (name, *args)
    node = graph.functions.get(key)
    if node is None:
        flags = 0
        for a in args:
            flags |= a.flags
        node = graph.functions[key] = Node(graph, name, args, None, flags)
    return node


def _fold(name: str, args: Sequence[Node]) -> Node | None:
    values = [a.data for a in args]
    graph = args[0].graph
    if len(values) == 1 and values[0].__class__ is not float and (name, values[0]) in EXACT:
        return graph.number(EXACT[name, values[0]])
    if name in KEEPS_EXACT or any(v.__class__ is float for v in values):
        try:
            return graph.number(plain(FOLD[name](*values)))
        except (ValueError, OverflowError, ZeroDivisionError):
            return None  # left to run time, where IEEE arithmetic answers
    return None


def _select(condition: Node, a: Node, b: Node) -> Node:
    if a is b:
        return a
    if condition.op is CONST:
        return a if condition.data else b
    if condition.op == "not":
        condition, a, b = condition.args[0], b, a
    return function_node("select", (condition, a, b))


def _unary(name: str) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        if x.__class__ is Node:
            return call(name, x) if name == "sqrt" else _unary_node(name, x)
        if getattr(x, "shape", ()) != () or isinstance(x, list):
            import numpy as np

            array = np.asarray(x)
            if array.dtype == object:
                return np.vectorize(function, otypes=[object])(array)
            return np.vectorize(math.sqrt if name == "sqrt" else FOLD[name], otypes=[float])(array)
        return call(name, x)

    function.__name__ = name
    function.__doc__ = f"{name} of a number, an expression or an array of them."
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
    """a where the condition holds, else b. Both are computed."""
    return call("select", condition, a, b)


def equal(a: Any, b: Any) -> Node:
    """The condition a == b (the operator == compares structure)."""
    return call("eq", a, b)


# -- tables


def table(x: Any, breakpoints: Sequence[float], values: Sequence[float], kind: str = "linear") -> Node:
    """Interpolation in a table: `linear`, or `cubic` (natural spline). The end pieces extend outward."""
    return piecewise(x, interpolate(breakpoints, values, kind))


def piecewise(x: Any, polynomial: Piecewise) -> Node:
    """A piecewise polynomial at x."""
    (node,) = as_nodes([x])
    if node.op is CONST:
        return node.graph.number(evaluate_piecewise(polynomial, float(node.data)))
    return node.graph.intern(TABLE, (node,), polynomial, node.flags)


def interpolate(breakpoints: Sequence[float], values: Sequence[float], kind: str = "linear") -> Piecewise:
    """The piecewise polynomial through the points (x_i, y_i), x increasing."""
    xs, ys = [float(v) for v in breakpoints], [float(v) for v in values]
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
    """The same value under a name that rewriting does not look into."""
    return node.graph.intern(ALIAS, (node,), Alias(name, stage), node.flags)
