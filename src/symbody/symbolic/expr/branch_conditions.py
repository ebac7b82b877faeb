"""Where derivatives count: that of a branch which is not taken may be infinite or undefined, and 0 times it is NaN.

So what belongs to a branch of a choice (select, min, max) carries the condition of the branch, and is chosen where it
leaves the branch. A condition is a node that is not 0 where the derivative counts, or None where it always counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from symbody.symbolic.expr.arithmetic import collect
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.expr.node import ADD, ALIAS, AT, CONST, MUL, POW, RESULT, SCALE, Node, Number
from symbody.symbolic.expr.walk import at, topological

Condition = Node | None

_THROUGH = frozenset({ADD, ALIAS, AT, MUL, POW, SCALE, "abs", "max", "min", "select"})


def is_zero(value: Any) -> bool:
    """The number 0, or its node."""
    if value.__class__ is Node:
        return value.op is CONST and bool(value.data == 0)
    return bool(value == 0)


def is_choice(op: str) -> bool:
    """Whether an operation takes one of several branches."""
    row = FUNCTIONS.get(op)
    return row is not None and row.tangent is not None


def is_steep(node: Node) -> bool:
    """Whether a partial derivative may be infinite or undefined where the value is finite: roots, arc cosines, ...

    A function of one argument that is smooth everywhere has no domain in its row.
    """
    if node.op is POW:
        return bool(node.data < 1)
    if node.op is RESULT:
        return True
    row = FUNCTIONS.get(node.op)
    return row is not None and row.tangent is None and (row.arity > 1 or bool(row.domain))


def added(values: list[Node]) -> Node:
    return values[0] if len(values) == 1 else collect([(1, v) for v in values], values[0].graph)


class Branches:
    """The conditions of one differentiation, and what each was made of: both branches together always count."""

    def __init__(self) -> None:
        self.made: dict[Node, tuple[Condition, Node, bool]] = {}  # -> outer condition, that of a choice, the branch
        self.conditions: dict[Node, Condition] = {}  # the memory of `nonzero`
        self.passing: dict[str, bool] = {}  # that of `_passes_zero`, by operation

    def narrow(self, outer: Condition, condition: Node, holds: bool = True) -> Node:
        """Inside of `outer`, the branch that is taken where `condition` holds (or does not)."""
        here = condition if holds else call("not", condition)
        if outer is None:
            found = here
        elif outer is here:
            return here
        else:
            found = call("and", outer, here)
        self.made.setdefault(found, (outer, condition, holds))
        return found

    def split(self, outer: Condition, weight: Any) -> Iterator[tuple[Condition, Any]]:
        """A weight that is chosen, as conditions and what they choose; zeros left out."""
        stack = [(outer, weight)]
        while stack:
            where, w = stack.pop()
            if is_zero(w):
                continue
            if w.__class__ is Node and w.op == "select":
                condition, a, b = w.args
                stack += [(self.narrow(where, condition, False), b), (self.narrow(where, condition), a)]
            else:
                yield where, w

    def merge(self, parts: Iterable[tuple[Condition, Node]]) -> tuple[Condition, Node]:
        """The sum of values that count each under its condition, and the condition under which any does."""
        groups: dict[Condition, list[Node]] = {}
        for where, value in parts:
            groups.setdefault(where, []).append(value)
        total = {where: added(values) for where, values in groups.items()}
        if len(total) > 1:
            self._join_sides(total)
        if len(total) == 1:
            return next(iter(total.items()))
        whole = self.either(total)
        return whole, added([v if c is whole else chosen(c, v) for c, v in total.items()])

    def _join_sides(self, total: dict[Condition, Node]) -> None:
        """Values under both branches of one choice become a value that is chosen, under what the choice stands in."""
        waiting = [c for c in total if c in self.made]
        sides: dict[tuple[Condition, Node], Node] = {}
        while waiting:
            one = waiting.pop()
            assert one is not None
            outer, condition, holds = self.made[one]
            other = sides.pop((outer, condition), None)
            if other is None:
                sides[outer, condition] = one
                continue
            a, b = total.pop(one), total.pop(other)
            value = call("select", condition, a, b) if holds else call("select", condition, b, a)
            if outer in total:
                total[outer] = total[outer] + value
                continue
            total[outer] = value
            if outer in self.made:
                waiting.append(outer)

    def either(self, conditions: Iterable[Condition]) -> Condition:
        """Where any of the conditions holds."""
        given = dict.fromkeys(conditions)
        whole: Condition = None
        for c in given:
            if c is None:
                return None
            if c in self.made and self.made[c][0] in given:
                continue  # inside of another
            whole = c if whole is None else call("or", whole, c)
        return whole

    def times(self, value: Node, weight: Any) -> Node:
        """value * weight, and 0 where the value is 0 by choice, be the weight infinite or undefined there."""
        where = None if weight.__class__ is not Node or weight.op is CONST else self.nonzero(value)
        if where is None:
            return value * weight
        if value.op == "select":
            condition, a, b = value.args
            if is_zero(b) and self.nonzero(a) is None:
                return call("select", condition, a * weight, b)
            if is_zero(a) and self.nonzero(b) is None:
                return call("select", condition, a, b * weight)
        return chosen(where, value * weight)

    def nonzero(self, node: Node) -> Condition:
        """Where a value may differ from 0, as far as the choices among its factors and terms say: None for anywhere."""
        if node not in self.conditions:
            for x in topological([node], lambda n: n in self.conditions or not self._passes(n)):
                self.conditions[x] = self._nonzero(x)
        return self.conditions.get(node)

    def _passes(self, node: Node) -> bool:
        known = self.passing.get(node.op)
        if known is None:
            known = self.passing[node.op] = _passes_zero(node)
        return known

    def _nonzero(self, node: Node) -> Condition:
        op, args, found = node.op, node.args, self.conditions
        if op == "select":
            if not any(is_zero(a) for a in args[1:]) and (found.get(args[1]) is None or found.get(args[2]) is None):
                return None
            sides = [(a, holds) for a, holds in ((args[1], True), (args[2], False)) if not is_zero(a)]
            return self.either([self.narrow(found.get(a), args[0], holds) for a, holds in sides])
        if op in ("min", "max"):
            x, bound = args if args[1].op is CONST else args[::-1]
            if bound.op is not CONST or is_zero(bound):
                return _off(node, 0)
            return found.get(x) if (bound.data > 0) == (op == "min") else None
        if op is ADD:
            if len(args) == 2 and any(a.op is CONST for a in args):
                x, number = args if args[1].op is CONST else args[::-1]
                return _off(x, -number.data)
            return self.either(found.get(a) for a in args)
        if op is MUL:
            where: Condition = None
            for a in args:
                inner = found.get(a)
                where = where if inner is None else self.narrow(where, inner)
            return where
        if op is POW and node.data <= 0:
            return None
        root = _root(node)
        if root:
            return _off(args[0], root)
        inner = found.get(args[-1])
        return at(args[0], inner) if op is AT and inner is not None else inner


def chosen(where: Condition, value: Node) -> Node:
    """The value where the condition holds, else 0."""
    return value if where is None else call("select", where, value, value.graph.zero)


def _off(node: Node, value: Number) -> Condition:
    """Where a value that is limited or chosen may differ from a number: None for anywhere."""
    if node.op is SCALE:
        node, value = node.args[0], value / node.data
    if node.op not in ("max", "min", "select"):
        return None
    *condition, a, b = node.args
    here = [x.op is CONST and bool(x.data == value) for x in (a, b)]
    if not any(here):
        return None
    if condition:
        return call("not", condition[0]) if here[0] else condition[0]
    x, bound = (a, b) if here[1] else (b, a)
    return call("not", call("le", x, bound) if node.op == "max" else call("le", bound, x))


def _root(node: Node) -> Number | None:
    """Where a function is 0, exactly."""
    row = FUNCTIONS.get(node.op)
    return None if row is None else next((x for x, y in row.exact_at.items() if y == 0), None)


def _passes_zero(node: Node) -> bool:
    """Whether an operation may be 0 because of what it is given."""
    return node.op in _THROUGH or _root(node) is not None
