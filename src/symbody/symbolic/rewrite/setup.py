"""The setup run: values of parameters alone, rewritten by the same passes with the parameters as variables."""

from __future__ import annotations

from collections.abc import Sequence

from symbody.symbolic.expr.node import CONST, SYMBOL, Node
from symbody.symbolic.expr.walk import topological, transform
from symbody.symbolic.rewrite.factor import factor
from symbody.symbolic.rewrite.flatten import flatten
from symbody.symbolic.rewrite.network_of_nodes import load, store
from symbody.symbolic.rewrite.pairs import share_pairs

ROUNDS = 2


def tidy_setup(roots: Sequence[Node]) -> list[Node]:
    """Fewer operations for the values that depend on parameters only."""
    tops = _tops(roots)
    if not tops:
        return list(roots)
    net = load(tops, parameters_vary=True)
    for _ in range(ROUNDS):
        before = net.total
        flatten(net)
        factor(net)
        flatten(net)
        share_pairs(net)
        if net.total >= before:
            break
    new = dict(zip(tops, store(net), strict=True))
    return transform(roots, lambda node, args: new.get(node))


def _tops(roots: Sequence[Node]) -> list[Node]:
    """Setup values that something else reads, in the order of computation."""
    found: dict[Node, None] = {}
    for node in topological(roots):
        if node.flags:
            for a in node.args:
                if not a.flags and a.op is not CONST and a.op is not SYMBOL:
                    found[a] = None
    for root in roots:
        if not root.flags and root.op is not CONST and root.op is not SYMBOL:
            found[root] = None
    return list(found)
