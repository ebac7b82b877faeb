"""Calls of functions: the node of a function by name, with the rules that need only its direct arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symbody.basics.errors import ExpressionError, nearest
from symbody.symbolic.expr.coefficients import coerce, mixed_graphs, negate, plain
from symbody.symbolic.expr.function_row import FUNCTIONS, Function
from symbody.symbolic.expr.graph import current_graph
from symbody.symbolic.expr.node import CONST, SCALE, Node


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
        graph = current_graph()
    out = []
    for v in values:
        node = coerce(graph, v)
        if node is None:
            raise ExpressionError(f"{v!r} is neither a number nor an expression.")
        out.append(node)
    return out


def as_condition(name: str, value: Any) -> Any:
    """A condition that a user gave; True and False are what Python makes of x == y, before x and y have values."""
    if value.__class__.__name__ in ("bool", "bool_"):  # Python's and NumPy's
        raise ExpressionError(
            f"{name} was given the condition {value}, which Python decided. Compare with <, <=, > or >=, or by "
            "sb.equal(a, b): == compares what expressions are, not their values."
        )
    return value


def call(name: str, *values: Any) -> Node:
    """The node of a function by name, with the rules that need only its direct arguments."""
    row = FUNCTIONS.get(name)
    if row is None:
        raise ExpressionError(f"unknown function {name!r}. {nearest(name, FUNCTIONS)}")
    if row.arity != len(values):
        raise ExpressionError(f"{name} takes {row.arity} argument(s), {len(values)} given.")
    if len(values) == 1:
        x = values[0]
        return unary_node(row, x if x.__class__ is Node else as_nodes(values)[0])
    args = tuple(as_nodes(values))
    if row.rule is not None:
        made = row.rule(*args)
        if made is not None:
            return made
    if all(a.op is CONST for a in args):
        folded = _fold(row, args)
        if folded is not None:
            return folded
    if row.commutative and args[0].id > args[1].id:
        args = args[::-1]
    return function_node(name, args)


def unary_node(row: Function, x: Node) -> Node:
    if row.rule is not None:
        made = row.rule(x)
        if made is not None:
            return made
    op = x.op
    if op is CONST:
        folded = _fold(row, (x,))
        if folded is not None:
            return folded
    elif op is SCALE and x.data < 0 and row.parity:
        if row.parity == "odd":
            return negate(unary_node(row, negate(x)))
        x = negate(x)
    graph = x.graph
    key = (row.name, x)
    node = graph.functions.get(key)
    if node is None:
        node = graph.functions[key] = Node(graph, row.name, (x,), None, x.flags)
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


def _fold(row: Function, args: Sequence[Node]) -> Node | None:
    values = [a.data for a in args]
    graph = args[0].graph
    if len(values) == 1 and values[0].__class__ is not float and values[0] in row.exact_at:
        return graph.number(row.exact_at[values[0]])
    if row.fold is not None and (row.rational or any(v.__class__ is float for v in values)):
        try:
            return graph.number(plain(row.fold(*values)))
        except (ValueError, OverflowError, ZeroDivisionError):
            return None  # left to run time, where IEEE arithmetic answers
    return None
