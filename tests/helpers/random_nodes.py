"""Seeded random expressions over every operation, for tests of text and of bridges."""

from __future__ import annotations

import math
import random
from fractions import Fraction

from symbody.basics.errors import ExpressionError
from symbody.symbolic.expr.arithmetic import add_all, multiply_all
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.coefficients import scale
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.expr.functions import select
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import CONST, Node
from symbody.symbolic.expr.walk import rebuild, topological

# functions that are nodes, with their numbers of arguments
ARITY = {name: row.arity for name, row in FUNCTIONS.items() if not row.as_power}
NUMBERS = (0, 1, 2, -3, Fraction(3, 2), Fraction(-1, 7), 0.5, -1e-7, True)
EXPONENTS = (2, 3, -1, -2, Fraction(1, 2), Fraction(-1, 2), Fraction(2, 3), 0.3, -0.3, Fraction(-3, 2))
COEFFICIENTS = (2, -3, Fraction(1, 2), Fraction(-5, 3), 0.25, -2.5)


def random_nodes(seed: int, graph: Graph, size: int = 40, functions: tuple[str, ...] = tuple(ARITY)) -> list[Node]:
    """Nodes of growing depth over the symbols x0 .. x3, of several roles."""
    rng = random.Random(seed)
    pool = [graph.symbol(f"x{k}", rng.choice(["input", "parameter", "coordinate"])) for k in range(4)]
    pool += [graph.number(v) for v in NUMBERS]
    while len(pool) < size + 13:
        a, b, c = (rng.choice(pool[-12:] if rng.random() < 0.6 else pool) for _ in range(3))
        try:
            node = _one(rng, a, b, c, functions)
        except ExpressionError:  # a division by zero, the root of a negative number
            continue
        if node.op is not CONST or (isinstance(node.data, (int, Fraction, float)) and math.isfinite(node.data)):
            pool.append(node)
    return pool


def _one(rng: random.Random, a: Node, b: Node, c: Node, functions: tuple[str, ...]) -> Node:
    graph = a.graph
    kind = rng.randrange(14)
    if kind < 2:
        return a + b
    if kind == 2:
        return a - b
    if kind < 5:
        return a * b
    if kind == 5:
        return a / b
    if kind == 6:
        return -a
    if kind == 7:
        return a ** rng.choice(EXPONENTS)
    if kind == 8:
        return call(rng.choice([n for n in functions if ARITY[n] == 1]), a)
    if kind == 9:
        return call(rng.choice([n for n in functions if ARITY[n] == 2]), a, b)
    if kind == 10 and "select" in functions:
        return select(a, b, c)
    if kind == 11:
        return add_all([a, b, c], graph)
    if kind == 12:
        return multiply_all([a, b, c], graph)
    return scale(rng.choice(COEFFICIENTS), a)


def is_settled(node: Node) -> bool:
    """Whether making the node again from its operands gives the node: n-ary sums are made without looking for rules."""
    return all(rebuild(n, n.args) is n for n in topological([node]) if n.args)
