"""Expressions into a Network, and back."""

from __future__ import annotations

from collections.abc import Sequence

from symbody.symbolic.expr.arithmetic import collect, multiply_all, rewritten_power, taken_out
from symbody.symbolic.expr.coefficients import negate
from symbody.symbolic.expr.node import ADD, CONST, MUL, POW, SCALE, SYMBOL, Node
from symbody.symbolic.expr.walk import quiet_collector, rebuild, topological
from symbody.symbolic.rewrite.network import INVERSE, PRODUCT, ROOT, SUM, Network

LONGEST_POWER = 16  # higher ones stay one operation


def load(roots: Sequence[Node], parameters_vary: bool = False) -> Network:
    """The Network of expressions; with `parameters_vary` parameters are symbols like any others."""
    graph = roots[0].graph
    net = Network(graph)
    ref: dict[Node, int] = {}
    order = topological(roots, _is_constant if parameters_vary else _is_setup)
    for node in order:
        op, args = node.op, node.args
        if op is SYMBOL:
            ref[node] = net.leaf(node)
            continue
        for a in args:
            if a not in ref:
                ref[a] = net.setup(a)
        if op is ADD:
            made = net.sum_of([ref[a] for a in args])
        elif op is MUL:
            made = net.product_of([ref[a] for a in args])
        elif op is SCALE:
            made = net.product_of((net.setup(graph.number(node.data)), ref[args[0]]))
        elif op is POW and node.data.__class__ is int and abs(node.data) <= LONGEST_POWER and _opens(node):
            made = net.product_of([ref[args[0]]] * abs(node.data))
            if node.data < 0:
                made = net.inverse_of(made)
        else:
            made = net.call_of(node, tuple([ref[a] for a in args]))
        ref[node] = made
    for r in roots:
        if r not in ref:
            ref[r] = net.setup(r)
    net._put_root([ref[r] for r in roots])
    net.clean()
    net.journal.clear()
    return net


def _opens(power: Node) -> bool:
    """Whether the coefficient of the base may be taken out: not where its power leaves the range of doubles alone."""
    base = power.args[0]
    return base.op is not SCALE or base.data == -1 or taken_out(base.data, power.data) is not None


def _is_setup(node: Node) -> bool:
    return not node.flags


def _is_constant(node: Node) -> bool:
    return node.op is CONST


def store(net: Network) -> list[Node]:
    """The expressions of a Network, in the order of the roots it was loaded from."""
    graph = net.graph
    node: dict[int, Node] = {}
    kind, body = net.kind, net.body

    def value(r: int) -> Node:
        v = r if r > 0 else -r
        found = node.get(v)
        if found is None:
            found = node[v] = body[v]
        return found if r > 0 else negate(found)

    with quiet_collector():
        for v in net.order():
            k = kind[v]
            if k == SUM:
                node[v] = collect([(1 if r > 0 else -1, value(abs(r))) for r in body[v]], graph)
            elif k == PRODUCT:
                node[v] = multiply_all([value(f) for f in body[v]], graph)
            elif k == INVERSE:
                node[v] = rewritten_power(value(body[v][0]), -1)
            else:
                node[v] = rebuild(net.like[v], tuple([value(r) for r in body[v]]))  # type: ignore[arg-type]
        return [value(sign * body[ROOT][place]) for place, sign in net.outputs]
