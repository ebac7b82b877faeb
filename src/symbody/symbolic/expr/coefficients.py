"""Numbers as constants and coefficients of nodes: coercion, folding, scaling, negation."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, NoReturn, cast

from symbody.basics.errors import ExpressionError
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import CONST, SCALE, Node, Number

LONGEST_EXACT = 4096  # bits of an exact number; without a bound, a product of products doubles them at every step


def coerce(graph: Graph, value: Any) -> Node | None:
    """A number as a constant of `graph`, a Node as itself; None for what is neither (arrays, other types)."""
    kind = value.__class__
    if kind is float:
        return graph.number(as_written(value) if graph.exact else value)
    if kind is int or kind is Fraction or kind is bool:
        return graph.number(value)
    if kind is Node:
        return cast(Node, value)
    if isinstance(value, tuple):  # a vector multiplies itself
        return None
    if isinstance(value, Integral):
        return graph.number(int(value))
    if isinstance(value, Rational):
        return graph.number(Fraction(int(value.numerator), int(value.denominator)))
    if isinstance(value, Real) and not hasattr(value, "shape"):
        return coerce(graph, float(value))
    if getattr(value, "shape", None) == () and getattr(value, "dtype", None) is not None:  # NumPy scalar
        item = value.item()
        return coerce(graph, float(item) if item.__class__ is value.__class__ else item)
    return None


def mixed_graphs(a: Node, b: Node) -> NoReturn:
    raise ExpressionError(
        f"{a} belongs to {a.graph} and {b} to {b.graph}; an expression lives in one Graph. "
        "Make both symbols in the same `with sb.Graph():`, or bring one System into the other with system.apply(...)."
    )


def as_written(value: float) -> Number:
    """The rational number that the shortest text of a float says: 0.1 is 1/10, not the double next to it."""
    return Fraction(repr(value)) if math.isfinite(value) else value


def as_float(value: Number) -> float:
    """A number as a double; one beyond all doubles is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def times(a: Number, b: Number) -> Number:
    """a * b; exact where both are, and infinite where a float cannot hold it."""
    try:
        return plain(a * b)
    except OverflowError:
        return as_float(a) * as_float(b)


def split(node: Node) -> tuple[Number, Node]:
    """(coefficient, base) of a node that is not a constant."""
    if node.op is SCALE:
        return node.data, node.args[0]
    return 1, node


def scale(coefficient: Number, base: Node) -> Node:
    """coefficient * base, for any node."""
    if base.op is CONST:
        return base.graph.number(times(coefficient, base.data))
    if base.op is SCALE:
        coefficient, base = times(coefficient, base.data), base.args[0]
    if coefficient == 1:
        return base
    if coefficient == -1:
        return negate(base)
    if coefficient == 0:
        return base.graph.zero
    graph = base.graph
    if coefficient.__class__ is not float:
        coefficient = plain(coefficient)
    key = (coefficient.__class__, coefficient, base)
    node = graph.scales.get(key)
    if node is None:
        node = graph.scales[key] = Node(graph, SCALE, (base,), coefficient, base.flags)
    return node


def negate(node: Node) -> Node:
    if node.minus is not None:
        return node.minus
    if node.op is CONST:
        return node.graph.number(-node.data)
    if node.op is SCALE:
        return scale(-node.data, node.args[0])
    minus = Node(node.graph, SCALE, (node,), -1, node.flags)
    node.minus = minus
    minus.minus = node
    return minus


def plain(value: Number) -> Number:
    """The result of folding as it is kept: a whole Fraction as int, an exact number of too many digits as a float."""
    if value.__class__ is Fraction:
        if value.denominator != 1:
            return as_float(value) if exact_bits(value) > LONGEST_EXACT else value
        value = value.numerator
    if value.__class__ is int and value.bit_length() > LONGEST_EXACT:
        return as_float(value)
    return value


def exact_bits(value: int | Fraction) -> int:
    """Size of an exact number, at least 1."""
    return max(value.numerator.bit_length(), value.denominator.bit_length())
