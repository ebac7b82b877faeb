"""Identities of functions as rows: name, pattern, replacement, condition. Each holds wherever its left side is real.

A pattern is an expression over the symbols x, y, c; it matches direct structure only, sums and products in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import permutations

from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import ADD, CONST, MUL, SYMBOL, Node
from symbody.symbolic.expr.walk import below, rebuild, topological, transform

Bindings = dict[Node, Node]


@dataclass(frozen=True, slots=True)
class Rule:
    """pattern -> replacement, where `condition` (on what the symbols stand for) holds."""

    name: str
    pattern: Node
    replacement: Node
    condition: Callable[[Bindings], bool] | None = None


def _rows() -> tuple[Rule, ...]:
    graph = Graph("rules")
    x, y, c = (graph.symbol(n) for n in ("x", "y", "c"))
    half = Fraction(1, 2)

    def f(name: str, *args: Node | int) -> Node:
        return call(name, *args)

    one_minus = 1 - x**2
    return (
        Rule("exp of log", f("exp", f("log", x)), x),
        Rule("log of exp", f("log", f("exp", x)), x),
        # inverse functions undone
        Rule("sin of asin", f("sin", f("asin", x)), x),
        Rule("cos of acos", f("cos", f("acos", x)), x),
        Rule("tan of atan", f("tan", f("atan", x)), x),
        Rule("sinh of asinh", f("sinh", f("asinh", x)), x),
        Rule("asinh of sinh", f("asinh", f("sinh", x)), x),
        Rule("cosh of acosh", f("cosh", f("acosh", x)), x),
        Rule("tanh of atanh", f("tanh", f("atanh", x)), x),
        # algebraic forms of a function of an inverse function
        Rule("cos of asin", f("cos", f("asin", x)), one_minus**half),
        Rule("sin of acos", f("sin", f("acos", x)), one_minus**half),
        # sqrt(1 + x^2) would leave the range of doubles where its value does not
        Rule("cos of atan", f("cos", f("atan", x)), 1 / f("hypot", graph.one, x)),
        Rule("cosh of asinh", f("cosh", f("asinh", x)), f("hypot", graph.one, x)),
        # at the origin atan2 is 0, while y / x is undefined: only where x is known not to vanish (1 / x may overflow)
        Rule("tan of atan2", f("tan", f("atan2", y, x)), f("quotient", y, x), lambda b: _nonzero(b[x])),
        # the theses print cos x; the root is never negative
        Rule("1/sqrt(1+tan^2)", (1 + f("tan", x) ** 2) ** -half, f("abs", f("cos", x))),
        Rule("sqrt(1+tan^2)", (1 + f("tan", x) ** 2) ** half, 1 / f("abs", f("cos", x))),
        Rule("1/(1+tan^2)", (1 + f("tan", x) ** 2) ** -1, f("cos", x) ** 2),
        Rule("cosh^2 - sinh^2", f("cosh", x) ** 2 - f("sinh", x) ** 2, graph.one),
        Rule("exp times exp", f("exp", x) * f("exp", y), f("exp", x + y)),
        # absolute value, sign, choice
        Rule("abs times sign", f("abs", x) * f("sign", x), x),
        Rule("x times sign", x * f("sign", x), f("abs", x)),
        Rule("abs times abs", f("abs", x) * f("abs", y), f("abs", x * y)),
        Rule("max and min", f("max", x, y) + f("min", x, y), x + y),
        Rule("same choice, added", f("select", c, x, graph.zero) + f("select", c, graph.zero, y), f("select", c, x, y)),
        Rule("choice in a choice", f("select", c, f("select", c, x, y), graph.zero), f("select", c, x, graph.zero)),
        Rule("atan2 over a positive number", f("atan2", x, graph.one), f("atan", x)),
        Rule("hypot squared", f("hypot", x, y) ** 2, x**2 + y**2),
    )


def _nonzero(node: Node) -> bool:
    if node.op is CONST:
        return bool(node.data != 0)
    return node.op is SYMBOL and node.data.nonzero


RULES = _rows()


def apply_rules(roots: Sequence[Node], rules: Iterable[Rule] = RULES) -> list[Node]:
    """Rewrite every node that a rule matches, operands first."""
    present = {node.op for node in below(roots)}
    by_op: dict[str, list[Rule]] = {}
    for rule in rules:
        if _functions(rule.pattern) <= present:
            by_op.setdefault(rule.pattern.op, []).append(rule)
    if not by_op:
        return list(roots)

    def change(node: Node, args: tuple[Node, ...]) -> Node | None:
        if node.op not in by_op:
            return None
        made = node if args == node.args else rebuild(node, args)
        for rule in by_op.get(made.op, ()):
            found = match(rule.pattern, made)
            if found is not None and (rule.condition is None or rule.condition(found)):
                return instantiate(rule.replacement, found, made.graph)
        return made

    return transform(roots, change)


@cache
def _functions(pattern: Node) -> frozenset[str]:
    """Functions that an expression must hold for the pattern to match."""
    return frozenset(node.op for node in below([pattern]) if node.op in FUNCTIONS)


@cache
def _heads(pattern: Node) -> frozenset[str]:
    """Operations that the operands of a node must have for the pattern to match; a symbol matches any."""
    return frozenset(a.op for a in pattern.args if a.op is not SYMBOL)


def match(pattern: Node, node: Node, found: Bindings | None = None) -> Bindings | None:
    """What the symbols of the pattern stand for, if the node has its structure. It recurses: patterns are shallow."""
    found = {} if found is None else found
    if pattern.op is SYMBOL:
        known = found.get(pattern)
        if known is None:
            return {**found, pattern: node}
        return found if known is node else None
    if pattern.op != node.op or len(pattern.args) != len(node.args):
        return None
    if pattern.op is CONST:
        return found if pattern.data == node.data and node.data.__class__ is not bool else None
    if pattern.data != node.data:
        return None
    if not _heads(pattern) <= {a.op for a in node.args}:
        return None
    orders: Iterable[tuple[Node, ...]] = (node.args,)
    if pattern.op is ADD or pattern.op is MUL or (pattern.op in FUNCTIONS and FUNCTIONS[pattern.op].commutative):
        orders = permutations(node.args)
    for args in orders:
        trial: Bindings | None = found
        for p, n in zip(pattern.args, args, strict=True):
            trial = match(p, n, trial)
            if trial is None:
                break
        if trial is not None:
            return trial
    return None


def instantiate(replacement: Node, found: Bindings, graph: Graph) -> Node:
    """The replacement over the matched nodes, made in their Graph."""
    new: Bindings = {}
    for node in topological([replacement]):
        if node in found:
            new[node] = found[node]
        elif node.op is CONST:
            new[node] = graph.number(node.data)
        else:
            new[node] = rebuild(node, tuple(new[a] for a in node.args))
    return new[replacement]
