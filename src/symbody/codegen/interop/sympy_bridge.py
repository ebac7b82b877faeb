"""Expressions to SymPy and back. A symbol is matched by its name; what one side does not have is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError
from symbody.codegen.interop.peers import peer
from symbody.symbolic.expr.arithmetic import add, collect, mul, multiply_all, raise_to
from symbody.symbolic.expr.call import as_nodes, call
from symbody.symbolic.expr.function_row import FUNCTIONS, is_truth
from symbody.symbolic.expr.graph import Graph, current_graph
from symbody.symbolic.expr.node import (
    ADD,
    ALIAS,
    AT,
    CONST,
    EXTERN,
    MUL,
    POW,
    RESULT,
    SCALE,
    SOLVE,
    SYMBOL,
    TABLE,
    Node,
    Number,
)
from symbody.symbolic.expr.parse import symbol_named
from symbody.symbolic.expr.walk import topological
from symbody.symbolic.system.system import System


def to_sympy(value: Any, symbols: Mapping[Node, Any] | None = None) -> Any:
    """A Node as a SymPy expression, an array of them as a Matrix or Array, a System as its outputs by name.

    symbols: Node -> SymPy expression; the others become `sympy.Symbol(name)`. Named stages are opened.
    """
    sympy = peer("sympy")
    if isinstance(value, System):
        return {name: to_sympy(a if a.ndim else a.item(), symbols) for name, a in value.outputs.items()}
    if isinstance(value, (np.ndarray, list, tuple)):
        array = np.asarray(value, dtype=object)
        if array.ndim > 2:
            return sympy.Array(_to_sympy(as_nodes(list(array.flat)), symbols or {}, sympy), array.shape)
        rows = array.reshape(-1, 1) if array.ndim == 1 else array
        flat = _to_sympy(as_nodes(list(rows.flat)), symbols or {}, sympy)
        return sympy.Matrix(*rows.shape, flat)
    return _to_sympy(as_nodes([value]), symbols or {}, sympy)[0]


def _to_sympy(roots: list[Node], symbols: Mapping[Node, Any], sympy: Any) -> list[Any]:
    made: dict[Node, Any] = {}

    def number(node: Node) -> Any:
        """The value of a condition as a number is 1 or 0."""
        e = made[node]
        return sympy.Piecewise((1, e), (0, True)) if _is_condition(node) else e

    def condition(node: Node) -> Any:
        e = made[node]
        return e if _is_condition(node) else sympy.Ne(e, 0)

    try:
        for node in topological(roots, lambda n: n in symbols):
            for a in node.args:
                if a in symbols:
                    made[a] = symbols[a]
            made[node] = _expression(node, number, condition, sympy)
    except RecursionError:
        raise ExpressionError("the expression is nested too deeply for SymPy, which recurses over its depth.") from None
    return [symbols[r] if r in symbols else made[r] for r in roots]


def _is_condition(node: Node) -> bool:
    return is_truth(node.op) or (node.op is CONST and node.data.__class__ is bool)


def _expression(node: Node, number: Callable[[Node], Any], condition: Callable[[Node], Any], sympy: Any) -> Any:
    op, args, data = node.op, node.args, node.data
    if op is SYMBOL:
        return sympy.Symbol(data.name)
    if op is CONST:
        return _to_number(data, sympy)
    if op in FUNCTIONS:
        row = FUNCTIONS[op]
        if not row.sympy:
            raise ExpressionError(f"SymPy has no counterpart of the function {op!r}. Give its row sympy=...")
        values = [condition(a) if k < row.conditions else number(a) for k, a in enumerate(args)]
        return row.sympy(sympy, *values) if callable(row.sympy) else getattr(sympy, row.sympy)(*values)
    if op is AT and not args[0].data.unknowns:
        return number(args[1])  # behind a check, of which no status is left there
    if op is SOLVE and not data.unknowns:
        return sympy.true
    if op in (EXTERN, RESULT, SOLVE, AT):
        raise ExpressionError(f"SymPy has no counterpart of the node {op!r} ({node}). Give symbols={{node: ...}}.")
    values = [number(a) for a in args]
    if op is ADD:
        return sympy.Add(*values)
    if op is MUL:
        return sympy.Mul(*values)
    if op is SCALE:
        return _to_number(data, sympy) * values[0]
    if op is POW:
        return sympy.Pow(values[0], _to_number(data, sympy))
    if op is ALIAS:
        return values[0]
    if op is TABLE:
        return _to_pieces(data, values[0], sympy)
    raise ExpressionError(f"SymPy has no counterpart of the node {op!r} ({node}). Give symbols={{node: ...}}.")


def _to_number(value: Number, sympy: Any) -> Any:
    if value.__class__ is bool:
        return sympy.true if value else sympy.false
    if value.__class__ is int:
        return sympy.Integer(value)
    if value.__class__ is Fraction:
        return sympy.Rational(value.numerator, value.denominator)
    return sympy.Float(value)


def _to_pieces(table: Any, x: Any, sympy: Any) -> Any:
    pieces = []
    for i, start in enumerate(table.x[:-1]):
        d = x - sympy.Float(start)
        polynomial = sympy.Add(*(sympy.Float(row[i]) * d**k for k, row in enumerate(table.c)))
        last = i == len(table.x) - 2
        pieces.append((polynomial, True if last else sympy.Lt(x, sympy.Float(table.x[i + 1]))))
    return sympy.Piecewise(*pieces)


# -- from SymPy


def from_sympy(
    expression: Any, names: Mapping[Any, Any] | None = None, graph: Graph | None = None, role: str = "input"
) -> Any:
    """A SymPy expression as a Node, a SymPy Matrix as an array of Nodes.

    names: name, or SymPy expression such as q(t) or q(t).diff(t), -> Node. Other names are looked up in the Graph, and
    become symbols of the given role if they are new.
    """
    sympy = peer("sympy")
    names = names or {}
    if graph is None:
        graph = next((v.graph for v in names.values() if v.__class__ is Node), None) or current_graph()
    if isinstance(expression, sympy.MatrixBase):
        nodes = _from_sympy(list(expression), names, graph, role, sympy)
        out = np.empty(len(nodes), dtype=object)
        out[:] = nodes
        return out.reshape(expression.shape)
    return _from_sympy([sympy.sympify(expression)], names, graph, role, sympy)[0]


def _from_sympy(roots: list[Any], names: Mapping[Any, Any], graph: Graph, role: str, sympy: Any) -> list[Node]:
    made: dict[Any, Node] = {}
    index: dict[str, list[Node]] = {}
    stack = list(reversed(roots))
    while stack:
        e = stack[-1]
        if e in made:
            stack.pop()
            continue
        given = names.get(e, names.get(e.name) if e.is_Symbol else None)
        if given is not None:
            made[e] = as_nodes([graph.one, given])[1]
        elif e.is_Symbol:
            made[e] = symbol_named(graph, e.name, role, index)
        else:
            waiting = [a for a in _operands(e, sympy) if a not in made]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            made[e] = _node(e, made, graph, sympy)
        stack.pop()
    return [made[r] for r in roots]


def _operands(e: Any, sympy: Any) -> list[Any]:
    if e.is_Number or e.is_NumberSymbol or e is sympy.true or e is sympy.false:
        return []
    if isinstance(e, sympy.Piecewise):
        return [part for piece in e.args for part in piece.args]
    unknown_function = e.is_Function and not hasattr(sympy, _name(e))
    if unknown_function or e is sympy.I or isinstance(e, (sympy.Derivative, sympy.Integral)):
        raise _no_counterpart(e)
    return list(e.args)


def _node(e: Any, made: dict[Any, Node], graph: Graph, sympy: Any) -> Node:
    if e is sympy.true or e is sympy.false:
        return graph.number(bool(e))
    if e.is_Integer:
        return graph.number(int(e))
    if e.is_Rational:
        return graph.number(Fraction(int(e.p), int(e.q)))
    if e.is_Number or e.is_NumberSymbol:
        if e is sympy.zoo:
            raise _no_counterpart(e)
        return graph.number(float(e))
    if isinstance(e, sympy.Piecewise):
        return _from_pieces(e, made)
    args = [made[a] for a in e.args]
    if e.is_Add:
        return add(*args) if len(args) == 2 else collect([(1, a) for a in args], graph)
    if e.is_Mul:
        return mul(*args) if len(args) == 2 else multiply_all(args, graph)
    if e.is_Pow:
        return call("exp", args[1]) if e.base is sympy.E else raise_to(*args)
    if isinstance(e, (sympy.GreaterThan, sympy.StrictGreaterThan)):
        return call("le" if isinstance(e, sympy.GreaterThan) else "lt", args[1], args[0])
    name = _name(e)
    ours = next((row for row in FUNCTIONS.values() if row.sympy == name), None)
    if ours is not None and ours.arity == 2 and len(args) > 2:  # Min, Max, And, Or take any number
        total = args[0]
        for a in args[1:]:
            total = call(ours.name, total, a)
        return total
    if ours is not None:
        return call(ours.name, *args)
    if name in RECIPROCALS:
        return 1 / call(RECIPROCALS[name], args[0])
    if name == "Heaviside" and e.args[1] == sympy.Rational(1, 2):
        return (call("sign", args[0]) + 1) / 2
    raise _no_counterpart(e)


RECIPROCALS = {"cot": "tan", "sec": "cos", "csc": "sin", "coth": "tanh", "sech": "cosh", "csch": "sinh"}


def _name(e: Any) -> str:
    return str(type(e).__name__)


def _from_pieces(e: Any, made: dict[Any, Node]) -> Node:
    *first, (last, condition) = [piece.args for piece in e.args]
    if made[condition].op is not CONST or not made[condition].data:
        raise ExpressionError(f"a Piecewise without a last piece (value, True) has no value everywhere: {e}.")
    value = made[last]
    for piece, condition in reversed(first):
        value = call("select", made[condition], made[piece], value)
    return value


def _no_counterpart(e: Any) -> ExpressionError:
    return ExpressionError(
        f"the SymPy expression {e} is a {_name(e)}, which has no counterpart here. Give names={{it: node}}."
    )
