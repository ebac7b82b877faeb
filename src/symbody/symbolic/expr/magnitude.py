"""Upper bounds of |x| that cost little: sines and cosines count as 1, sums and products as those of the bounds.

A bound of an expression of angles and parameters depends on parameters alone, so that it is computed once, in setup.
What has no such bound (a division, a function) is bounded by its own size.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import Any

from symbody.symbolic.expr.arrays import sum_of_products
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.expr.node import ADD, ALIAS, CONST, MUL, POW, SCALE, Node
from symbody.symbolic.expr.walk import free_symbols, topological


class Magnitude:
    """Bounds of the nodes of one Graph. within: symbols that are at most 1 in size, such as parts of quaternions."""

    def __init__(self, within: Collection[Node] = ()) -> None:
        self._bounds: dict[Node, Any] = dict.fromkeys(within, 1)

    def __call__(self, x: Any) -> Any:
        """A bound of |x|: a number, or a node."""
        if not isinstance(x, Node):
            return abs(x)
        for node in topological([x], self._bounds.__contains__):
            self._bounds[node] = self._bound(node)
        return self._bounds[x]

    def limit(self, x: Node, bound: Any) -> None:
        """Another bound of |x| is known; the smaller one for the defaults of symbols, or 1, is taken."""
        own = self(x)
        if _size(bound) < _size(own):
            self._bounds[x] = bound

    def _bound(self, node: Node) -> Any:
        op = node.op
        below = [self._bounds[a] for a in node.args]
        if op is CONST:
            return abs(node.data)
        if op in FUNCTIONS and FUNCTIONS[op].bound is not None:
            return FUNCTIONS[op].bound
        if op is ADD:
            return sum_of_products((b, 1) for b in below)
        if op is MUL:
            return _product(below)
        if op is SCALE:
            return _product([abs(node.data), below[0]])
        if op is POW and (node.data.__class__ is int or node.data == Fraction(1, 2)) and node.data > 0:
            return below[0] ** node.data
        if op is ALIAS or op == "abs":
            return below[0]
        return call("abs", node)


def _size(bound: Any) -> float:
    if not isinstance(bound, Node):
        return float(bound)
    values = {s: 1.0 if s.data.default is None else s.data.default for s in free_symbols([bound])}
    return abs(float(evaluate(bound, values)))


def _product(factors: list[Any]) -> Any:
    out: Any = 1
    for f in factors:
        out = sum_of_products([(out, f)])
    return out
