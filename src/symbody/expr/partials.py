"""Partial derivatives of every operation with respect to its direct arguments: one row a function."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from symbody.errors import ExpressionError, ShapeError
from symbody.expr.arithmetic import multiply_all, power, scale
from symbody.expr.functions import call, derivative_of, piecewise
from symbody.expr.node import ADD, ALIAS, MUL, POW, RESULT, SCALE, TABLE, Node

HALF = Fraction(-1, 2)


def _root(x: Node) -> Node:
    """1 / sqrt(x)."""
    return power(x, HALF)


# name -> (node, *args) -> partials. Where a function has a corner the derivative is that of one side.
PARTIALS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "sin": lambda n, x: (call("cos", x),),
    "cos": lambda n, x: (-call("sin", x),),
    "tan": lambda n, x: (1 + n**2,),
    "asin": lambda n, x: (_root(1 - x**2),),
    "acos": lambda n, x: (-_root(1 - x**2),),
    "atan": lambda n, x: (1 / (1 + x**2),),
    "sinh": lambda n, x: (call("cosh", x),),
    "cosh": lambda n, x: (call("sinh", x),),
    "tanh": lambda n, x: (1 - n**2,),
    "asinh": lambda n, x: (_root(1 + x**2),),
    "acosh": lambda n, x: (_root(x**2 - 1),),
    "atanh": lambda n, x: (1 / (1 - x**2),),
    "exp": lambda n, x: (n,),
    "log": lambda n, x: (1 / x,),
    "abs": lambda n, x: (call("sign", x),),
    "atan2": lambda n, y, x: (x / (x**2 + y**2), -y / (x**2 + y**2)),
    "hypot": lambda n, x, y: (x / n, y / n),
    "pow": lambda n, x, y: (y * call("pow", x, y - 1), call("log", x) * n),
    "mod": lambda n, x, y: (1, -call("floor", x / y)),
    "sign": lambda n, x: (0,),
    "floor": lambda n, x: (0,),
    "ceil": lambda n, x: (0,),
    "not": lambda n, x: (0,),
    "lt": lambda n, x, y: (0, 0),
    "le": lambda n, x, y: (0, 0),
    "eq": lambda n, x, y: (0, 0),
    "ne": lambda n, x, y: (0, 0),
    "and": lambda n, x, y: (0, 0),
    "or": lambda n, x, y: (0, 0),
}

# name -> (node, args, tangents) -> tangent. A choice between tangents, so that the branch not taken may be infinite.
CHOICES: dict[str, Callable[..., Node]] = {
    "select": lambda n, a, d: call("select", a[0], d[1], d[2]),
    "min": lambda n, a, d: call("select", a[0] <= a[1], d[0], d[1]),
    "max": lambda n, a, d: call("select", a[1] <= a[0], d[0], d[1]),
}


def partials(node: Node) -> list[Any]:
    """Partial derivatives by each argument, as nodes or numbers. Choices have weights 0 or 1 chosen by a condition."""
    op, args = node.op, node.args
    if op is ADD:
        return [1] * len(args)
    if op is SCALE:
        return [node.data]
    if op is MUL:
        return _product_partials(node)
    if op is POW:
        return [scale(node.data, power(args[0], node.data - 1))]
    if op is ALIAS:
        return [1]
    if op is TABLE:
        return [piecewise(args[0], derivative_of(node.data))]
    if op is RESULT:
        raise ExpressionError("a result is differentiated through its external call")
    if op in CHOICES:
        zero, one = node.graph.zero, node.graph.one
        return [CHOICES[op](node, args, [one if i == k else zero for i in range(len(args))]) for k in range(len(args))]
    return list(PARTIALS[op](node, *args))


def _product_partials(node: Node) -> list[Node]:
    """Product of the other factors; long products share their beginnings and ends."""
    args, graph = node.args, node.graph
    n = len(args)
    if n == 2:
        return [args[1], args[0]]
    if n <= 4:
        return [multiply_all(args[:k] + args[k + 1 :], graph) for k in range(n)]
    before, after = [graph.one], [graph.one]
    for f in args[:-1]:
        before.append(before[-1] * f)
    for f in reversed(args[1:]):
        after.append(f * after[-1])
    after.reverse()
    return [b * a for b, a in zip(before, after, strict=True)]


def external_partials(call_node: Node) -> np.ndarray:
    """(results, arity) partial derivatives of an external call, from the derivative its author gave."""
    function = call_node.data
    if function.derivative is None:
        raise ExpressionError(
            f"external function {function.name!r} has no derivative. Give one: External(..., derivative=f), where "
            "f(*nodes) returns one row of partial derivatives for each result."
        )
    rows = np.array(function.derivative(*call_node.args), dtype=object).reshape(-1)
    if rows.size != function.results * function.arity:
        raise ShapeError(
            f"the derivative of external function {function.name!r} gave {rows.size} entries; "
            f"expected {function.results} x {function.arity}."
        )
    return rows.reshape(function.results, function.arity)
