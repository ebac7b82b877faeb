"""Nodes exactly as they were, without the rules of construction: for reading what was saved."""

from __future__ import annotations

from typing import Any

from symbody.symbolic.expr.arithmetic import check_exponent, power_node, product_node, sum_node
from symbody.symbolic.expr.call import function_node
from symbody.symbolic.expr.coefficients import negate
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import (
    ADD,
    ALIAS,
    AT,
    CONST,
    EXTERN,
    MUL,
    POW,
    RESULT,
    ROLES,
    SCALE,
    SOLVE,
    SYMBOL,
    TABLE,
    Node,
    SolveInfo,
    Symbol,
)
from symbody.symbolic.expr.walk import at, solve_node, unknowns_below


def restore(graph: Graph, op: str, args: tuple[Node, ...], data: Any) -> Node:
    """The node (op, data, args) itself. ValueError if there can be no such node."""
    flags = 0
    for a in args:
        flags |= a.flags
    if op == CONST:
        return graph.number(data)
    if op == SYMBOL:
        return _symbol(graph, data)
    if op in (ADD, MUL):
        if len(args) < 2:
            raise ValueError(f"{op} of {len(args)} operands")
        return (sum_node if op == ADD else product_node)(graph, args, flags)
    if op == SOLVE:
        _check_block(args, data)
        return solve_node(args, data)
    if op == AT:
        if len(args) != 2 or args[0].op is not SOLVE:
            raise ValueError("at without its block")
        return at(*args)
    if op == EXTERN:
        if len(args) != data.arity:
            raise ValueError(f"external call of {len(args)} arguments")
        return graph.intern(EXTERN, args, data, flags)
    row = FUNCTIONS.get(op)
    if row is not None and not row.as_power:
        if len(args) != row.arity:
            raise ValueError(f"{op} of {len(args)} arguments")
        # the row's own text, so that `op is ...` holds for nodes that were read from a file
        return function_node(row.name, args)
    if op not in (SCALE, POW, RESULT, ALIAS, TABLE):
        raise ValueError(
            f"unknown operation {op!r}. A function that was added has to be added again: symbody.extend.add_function"
        )
    if len(args) != 1:
        raise ValueError(f"{op} of {len(args)} operands")
    if op == SCALE:
        return _scale(graph, args[0], data)
    if op == POW:
        if data == 0 or data == 1:
            raise ValueError(f"power with exponent {data}")
        check_exponent(data)
        return power_node(args[0], data)
    if op == RESULT:
        if args[0].op is not EXTERN or not 0 <= data < args[0].data.results:
            raise ValueError("result without its call")
        return graph.intern(RESULT, args, data, flags)
    if op == ALIAS:
        return graph.intern(ALIAS, args, data, flags)
    return graph.intern(TABLE, args, data, flags)


def _check_block(args: tuple[Node, ...], data: SolveInfo) -> None:
    """ValueError where a block has not what its unknowns need, or guesses by them."""
    n = len(data.unknowns)
    if len(args) != 3 * n + 2 * len(data.checks) or not args:
        raise ValueError("solve with wrong operands")
    if len(set(data.unknowns)) < n or any(u.op is not SYMBOL or u.data.role != "unknown" for u in data.unknowns):
        raise ValueError("solve for what are no unknowns")
    if not unknowns_below(args[n : 2 * n]).isdisjoint(data.unknowns):
        raise ValueError("solve with a guess that contains an unknown")


def _symbol(graph: Graph, data: Symbol) -> Node:
    if data.role not in ROLES:
        raise ValueError(f"symbol of role {data.role!r}")
    return graph.intern(SYMBOL, (), data, ROLES[data.role])


def _scale(graph: Graph, base: Node, coefficient: Any) -> Node:
    if base.op in (CONST, SCALE) or coefficient in (0, 1):
        raise ValueError(f"coefficient {coefficient} of {base.op}")
    if coefficient == -1:
        return negate(base)
    key = (coefficient.__class__, coefficient, base)
    node = graph.scales.get(key)
    if node is None:
        node = graph.scales[key] = Node(graph, SCALE, (base,), coefficient, base.flags)
    return node
