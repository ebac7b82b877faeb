"""Quotients that decide a step stay divisions: in floor(x/49) the product with a rounded 1/49 would miss whole numbers.

Elsewhere a quotient by a number is the product with its reciprocal, and a reciprocal is shared by all that it divides.
Below a floor, a comparison and the like every quotient becomes a call of the function `quotient`, which rounds once and
which rewriting leaves alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from symbody.symbolic.expr.arithmetic import multiply_all, power
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.coefficients import negate, over, scale
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.expr.node import ADD, ALIAS, CONST, MUL, POW, SCALE, Node
from symbody.symbolic.expr.walk import below, rebuild, topological, transform

QUOTIENT = "quotient"


def with_divisions(node: Node) -> Node:
    """The node with a division for each quotient on which its value depends directly, through sums or functions.

    Solutions of blocks, tables and calls of external functions are left as they are.
    """
    known = node.graph.divided
    for n in topological([node], lambda n: n in known or _ends(n)):
        args = tuple([known.get(a, a) for a in n.args])
        made = _division(n, args)
        if made is None:
            made = n if args == n.args else args[0] if n.op is ALIAS else rebuild(n, args)
        known[n] = made
        if made is not n:
            node.graph.undivided.setdefault(made, n)
    return known.get(node, node)


def _ends(node: Node) -> bool:
    if node.op in (ADD, MUL, SCALE, POW, ALIAS):
        return False
    row = FUNCTIONS.get(node.op)
    return row is None or (row.steps > 0 and row.steps == row.arity)


def _division(node: Node, args: Sequence[Node]) -> Node | None:
    """The call of `quotient` that the node over these arguments is, perhaps with a sign; None if it divides nothing."""
    op, graph = node.op, node.graph
    if op is SCALE:
        x = args[0]
        parts = over(abs(node.data)) if node.data.__class__ is Fraction else None
        if x.op == QUOTIENT and node.data != -1:
            n, d = parts or (abs(node.data), 1)
            made = call(QUOTIENT, scale(n, x.args[0]), x.args[1])
            made = call(QUOTIENT, made, d)
        elif parts is not None:
            made = call(QUOTIENT, scale(parts[0], x), parts[1])
        else:
            return None
        return negate(made) if node.data < 0 else made
    if op is POW and _divisor(node) is not None:
        return call(QUOTIENT, graph.one, power(args[0], -node.data))
    if op is not MUL:
        return None
    under = {a: _divisor(a) for a in args}
    bottoms = [d for d in under.values() if d is not None]
    if not bottoms:
        return None
    return call(QUOTIENT, multiply_all([a for a in args if under[a] is None], graph), multiply_all(bottoms, graph))


def _divisor(factor: Node) -> Node | None:
    """What a factor of a product divides it by."""
    if factor.op == QUOTIENT and factor.args[0] is factor.graph.one:
        return factor.args[1]
    if factor.op is POW and factor.data.__class__ is not float and factor.data < 0 and factor.args[0].op is not CONST:
        return power(factor.args[0], -factor.data)
    return None


def shared_divisions(roots: Iterable[Node]) -> list[Node]:
    """The roots, where a quotient that is divided below a step is that division everywhere: x/49 - floor(x/49)."""
    roots = list(roots)
    made = {n for n in below(roots) if n.op == QUOTIENT}
    if not made:
        return roots

    def change(node: Node, args: tuple[Node, ...]) -> Node | None:
        if node in made or node.op not in (SCALE, MUL, POW):
            return None
        found = _division(node, args)
        if found is None:
            return None
        size = found.args[0] if found.op is SCALE and found.data == -1 else found
        return found if size in made else None

    return transform(roots, change)
