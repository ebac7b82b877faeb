"""Partial derivatives of every operation with respect to its direct arguments; functions have theirs in their rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError, ShapeError
from symbody.symbolic.expr.arithmetic import multiply_all, power
from symbody.symbolic.expr.coefficients import scale
from symbody.symbolic.expr.function_row import row_of
from symbody.symbolic.expr.functions import derivative_of, piecewise
from symbody.symbolic.expr.node import ADD, ALIAS, MUL, POW, RESULT, SCALE, TABLE, Node


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
    row = row_of(op)
    if row.tangent is not None:
        zero, one = node.graph.zero, node.graph.one
        return [row.tangent(node, args, [one if i == k else zero for i in range(len(args))]) for k in range(len(args))]
    if row.partials is None:
        raise ExpressionError(
            f"the function {op!r} has no derivative. Give its row partials=(node, *arguments) -> one for each argument."
        )
    found = list(row.partials(node, *args))
    if len(found) != len(args):
        raise ShapeError(f"the partials of {op!r} are {len(found)}; expected one for each of {len(args)} arguments.")
    return found


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
