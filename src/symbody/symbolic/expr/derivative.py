"""Derivatives as more nodes in the same Graph: forward (sparse chain rule over the table) and reverse.

Forward: D z_j = sum over the operands z_i of z_j of (dz_j/dz_i) D z_i, zero entries never stored (SYMOFROS, eq. 3.2):
linear in the length of the table. Implicit blocks use the implicit function theorem: in the body the unknowns get the
tangents -J^-1 dr/dp, then D at(s, e) = at(s, D e).

Branches of choices that are not taken count in neither (`branches`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError
from symbody.symbolic.expr.arithmetic import collect, mul
from symbody.symbolic.expr.branch_conditions import Branches, Condition, added, chosen, is_choice, is_steep, is_zero
from symbody.symbolic.expr.coefficients import scale
from symbody.symbolic.expr.function_row import FUNCTIONS, is_truth
from symbody.symbolic.expr.lu import solve_linear
from symbody.symbolic.expr.node import ADD, AT, BOUND, CONST, EXTERN, MUL, RESULT, SCALE, SOLVE, SYMBOL, Node
from symbody.symbolic.expr.partials import external_partials, partials
from symbody.symbolic.expr.walk import at, quiet_collector, topological

Tangent = dict[int, Node]  # direction -> derivative, zeros left out
_NOTHING: Tangent = {}


def jacobian(outputs: Iterable[Node], variables: Sequence[Node]) -> np.ndarray:
    """(len(outputs), len(variables)) matrix of nodes d output / d variable; structural zeros are the constant 0."""
    outputs, variables = list(outputs), list(variables)
    _only_symbols(variables)
    out = np.empty((len(outputs), len(variables)), dtype=object)
    if not outputs or not variables:
        return out
    one, zero = outputs[0].graph.one, outputs[0].graph.zero
    rows = tangents(outputs, {v: {k: one} for k, v in enumerate(variables)})
    for i, row in enumerate(rows):
        for k in range(len(variables)):
            out[i, k] = row.get(k, zero)
    return out


def jvp(outputs: Iterable[Node], variables: Sequence[Node], directions: Sequence[Node]) -> list[Node]:
    """J v: derivative of the outputs along one direction, (len(outputs),)."""
    outputs = list(outputs)
    _only_symbols(variables)
    seeds = {v: {0: d} for v, d in zip(variables, directions, strict=True) if not is_zero(d)}
    return [row.get(0, o.graph.zero) for o, row in zip(outputs, tangents(outputs, seeds), strict=True)]


def vjp(outputs: Sequence[Node], weights: Sequence[Node], variables: Sequence[Node]) -> list[Node]:
    """J^T w by reverse accumulation: the cost does not grow with the number of variables. (len(variables),)"""
    _only_symbols(variables)
    return pullback(outputs, weights, variables)


def pullback(outputs: Sequence[Node], weights: Sequence[Node], variables: Sequence[Node]) -> list[Node]:
    """J^T w where a variable may be any node outside of implicit blocks: what stands below it counts as held."""
    if not outputs:
        return []
    with quiet_collector():
        adjoints = _accumulate(list(outputs), list(weights), {v for v in variables if v.op is not SYMBOL})
    return [adjoints.get(v, v.graph.zero) for v in variables]


def gradient(output: Node, variables: Sequence[Node]) -> list[Node]:
    """Gradient of a scalar, by reverse accumulation."""
    return vjp([output], [output.graph.one], variables)


def hessian(output: Node, variables: Sequence[Node]) -> np.ndarray:
    """(n, n) second derivatives, forward over reverse, symmetric by construction."""
    rows = jacobian(gradient(output, variables), variables)
    for i in range(len(variables)):
        for j in range(i):
            rows[j, i] = rows[i, j]
    return rows


def tangents(outputs: Iterable[Node], seeds: dict[Node, Tangent]) -> list[Tangent]:
    """Tangents of the outputs, given those of some symbols."""
    outputs = list(outputs)
    with quiet_collector():
        forward = _Forward(seeds)
        forward.walk(outputs, forward.root)
        return [forward.find(o, forward.root) for o in outputs]


def _only_symbols(variables: Sequence[Node]) -> None:
    for v in variables:
        if v.op is not SYMBOL:
            raise ExpressionError(f"a derivative by {v} was asked for; expected a symbol.")


class _TangentScope:
    """Tangents of nodes that depend on the unknowns of an implicit block."""

    def __init__(self, parent: _TangentScope | None) -> None:
        self.parent = parent
        self.memo: dict[Node, Tangent] = {}


class _Forward:
    def __init__(self, seeds: dict[Node, Tangent], before: Branches | None = None) -> None:
        """before: what was found of nodes, to be used and added to."""
        self.root = _TangentScope(None)
        self.root.memo.update(seeds)
        self.inside = all(s.flags & BOUND for s in seeds)  # by unknowns of blocks: what is outside depends on none
        self.scopes: dict[tuple[Node, int], _TangentScope] = {}
        self.branches: Branches | None = None  # from the first choice on
        self.before = before

    def find(self, node: Node, scope: _TangentScope) -> Tangent:
        if not node.flags & BOUND:
            return _NOTHING if self.inside else self.root.memo[node]
        inner: _TangentScope | None = scope
        while inner is not None:
            if node in inner.memo:
                return inner.memo[node]
            inner = inner.parent
        raise KeyError(node)

    def known(self, node: Node, scope: _TangentScope) -> bool:
        if not node.flags & BOUND:
            return self.inside or node in self.root.memo
        inner: _TangentScope | None = scope
        while inner is not None:
            if node in inner.memo:
                return True
            inner = inner.parent
        return False

    def walk(self, roots: Iterable[Node], scope: _TangentScope) -> None:
        memo = self.root.memo
        for root in roots:
            stack = [root]
            while stack:
                node = stack[-1]
                if self.known(node, scope):
                    stack.pop()
                    continue
                # a block's body and what is read at its solution are differentiated in the block's own scope
                children: Sequence[Node] = () if node.op in (SOLVE, AT) else node.args
                waiting = [c for c in children if not self.known(c, scope)]
                if waiting:
                    stack.extend(reversed(waiting))
                    continue
                stack.pop()
                (scope.memo if node.flags & BOUND else memo)[node] = self.tangent(node, scope)

    def tangent(self, node: Node, scope: _TangentScope) -> Tangent:
        op = node.op
        if op is SYMBOL or op is CONST or op is EXTERN or op is SOLVE:
            return _NOTHING
        if op is AT:
            return self.tangent_at(node, scope)
        if op is RESULT:
            args = node.args[0].args
            below = [self.find(a, scope) if self.known(a, scope) else _NOTHING for a in args]
            if not any(below):
                return _NOTHING
            return self.combine(node, external_partials(node.args[0])[node.data], below)
        below = [self.find(a, scope) for a in node.args]
        if not any(below):
            return _NOTHING
        if op is ADD:
            return _sum(node, below)
        if op is SCALE:
            return {k: scale(node.data, d) for k, d in below[0].items()}
        if op is MUL and len(below) == 2:
            return _product(node, below[0], below[1])
        row = FUNCTIONS.get(op)
        if row is not None and row.tangent is not None:
            self.branches = self.branches or self.before or Branches()
            zero = node.graph.zero
            columns = sorted({k for d in below for k in d})
            made = {k: row.tangent(node, node.args, [d.get(k, zero) for d in below]) for k in columns}
            return {k: d for k, d in made.items() if not is_zero(d)}
        return self.combine(node, partials(node), below)

    def combine(self, node: Node, weights: Iterable[Any], below: list[Tangent]) -> Tangent:
        times = self.branches.times if self.branches is not None and is_steep(node) else _times
        gathered: dict[int, list[Node]] = {}
        for weight, d in zip(weights, below, strict=True):
            for k, x in d.items():
                gathered.setdefault(k, []).append(times(x, weight))
        return _added(node, gathered)

    def tangent_at(self, node: Node, scope: _TangentScope) -> Tangent:
        solve, body = node.args
        inner = self.scope_of(solve, scope)
        self.walk([body], inner)
        return {k: at(solve, d) for k, d in self.find(body, inner).items()}

    def scope_of(self, solve: Node, scope: _TangentScope) -> _TangentScope:
        """The body's scope, where each unknown has its tangent at the solution."""
        if not solve.flags & BOUND:
            scope = self.root
        key = (solve, id(scope))
        if key not in self.scopes:
            self.scopes[key] = self._differentiate_block(solve, scope)
        return self.scopes[key]

    def _differentiate_block(self, solve: Node, scope: _TangentScope) -> _TangentScope:
        unknowns = solve.data.unknowns
        n = len(unknowns)
        residual = solve.args[:n]
        # dr/dp with the unknowns held
        held = _TangentScope(scope)
        held.memo.update(dict.fromkeys(unknowns, _NOTHING))
        self.walk(residual, held)
        rows = [self.find(r, held) for r in residual]
        inner = _TangentScope(scope)
        if not any(rows):  # J would have to pass all blocks below once more, at every one of a chain
            inner.memo.update(dict.fromkeys(unknowns, _NOTHING))
            return inner
        if solve.data.pivots is None and n > 3:
            # the block's own step -J^-1 r has factors made for it: at r = 0 its derivative is -J^-1 dr/dp
            steps = solve.args[2 * n : 3 * n]
            self.walk(steps, held)
            inner.memo.update({x: self.find(s, held) for x, s in zip(unknowns, steps, strict=True)})
            return inner
        # dx/dp = -J^-1 dr/dp; J and its factors are nodes that the block already has
        matrix = jacobian(residual, unknowns)
        below: list[Tangent] = [{} for _ in unknowns]
        zero = solve.graph.zero
        for k in sorted({k for row in rows for k in row}):
            column = solve_linear(matrix, [-row.get(k, zero) for row in rows], solve.data.pivots)
            for i, d in enumerate(column):
                if not is_zero(d):
                    below[i][k] = d
        inner.memo.update(dict(zip(unknowns, below, strict=True)))
        return inner


def _sum(node: Node, below: list[Tangent]) -> Tangent:
    filled = [d for d in below if d]
    if len(filled) == 1:
        return filled[0]
    gathered: dict[int, list[Node]] = {}
    for d in filled:
        for k, x in d.items():
            gathered.setdefault(k, []).append(x)
    return _added(node, gathered)


def _product(node: Node, da: Tangent, db: Tangent) -> Tangent:
    a, b = node.args
    out: dict[int, list[Node]] = {k: [mul(d, b)] for k, d in da.items()}
    for k, d in db.items():
        out.setdefault(k, []).append(mul(a, d))
    return _added(node, out)


def _times(value: Node, weight: Any) -> Node:
    product: Node = value * weight
    return product


def _added(node: Node, gathered: dict[int, list[Node]]) -> Tangent:
    out: Tangent = {}
    for k, xs in gathered.items():
        if len(xs) == 1:
            total = xs[0]
        elif len(xs) == 2:
            total = xs[0] + xs[1]
        else:
            total = collect([(1, x) for x in xs], node.graph)
        if not is_zero(total):
            out[k] = total
    return out


# -- reverse

Part = tuple[Condition, Node, bool]  # where it counts, its value, and whether that may be infinite


def _accumulate(outputs: list[Node], weights: list[Node], held: set[Node]) -> dict[Node, Node]:
    """Adjoint of every symbol that the outputs depend on, outside of implicit blocks, and of the nodes `held`, below
    which nothing is looked at."""
    gathered: dict[Node, list[Part]] = {}
    for o, w in zip(outputs, weights, strict=True):
        gathered.setdefault(o, []).append((None, w, False))
    adjoints: dict[Node, Node] = {}
    checked: dict[Node, None] = {}  # blocks that only check: what is read behind them stays tied to them
    branches = Branches()
    order = topological(outputs)
    # a function of constants alone has no derivative to speak of, and need not have one
    active: set[Node] = set()
    choices = any(map(is_choice, {node.op for node in order}))
    for node in order:
        if node.op is SYMBOL or node in held or any(a in active for a in node.args):
            active.add(node)
    for node in reversed(order):
        parts = gathered.pop(node, None)
        if parts is None or node not in active:
            continue
        if len(parts) == 1:
            where, adjoint, steep = parts[0]
        elif not choices:
            where, adjoint, steep = None, added([a for _, a, _ in parts]), False
        else:
            where, adjoint = branches.merge([(w, a) for w, a, _ in parts])
            steep = any(s for _, _, s in parts)
        if node.op is SYMBOL or node in held:
            adjoints[node] = chosen(where, adjoint)
            continue
        if is_zero(adjoint):
            continue
        if node.op is AT and not node.args[0].data.unknowns:
            checked[node.args[0]] = None
            gathered.setdefault(node.args[1], []).append((where, adjoint, steep))
            continue
        below = steep or (choices and is_steep(node))
        pairs = _edges(node, where, steep, branches) if choices else _inputs_and_partials(node, branches)
        for child, inside, weight in pairs:
            gathered.setdefault(child, []).append((inside, adjoint * weight, below))
    for check in checked:
        adjoints = {symbol: at(check, adjoint) for symbol, adjoint in adjoints.items()}
    return adjoints


def _inputs_and_partials(node: Node, branches: Branches) -> list[tuple[Node, Condition, Any]]:
    """Nodes that a node reads, where it reads them, and the partial derivatives by them, but for zeros."""
    if node.op is AT:
        return _block_inputs(node, branches)
    if node.op is RESULT:
        children, weights = node.args[0].args, external_partials(node.args[0])[node.data]
    else:
        children, weights = node.args, partials(node)
    return [(c, None, w) for c, w in zip(children, weights, strict=True) if not is_zero(w)]


def _edges(node: Node, where: Condition, steep: bool, branches: Branches) -> Iterator[tuple[Node, Condition, Any]]:
    """Operands of a node with their conditions and slopes, where there are choices.

    where, steep: where the node's own adjoint counts, and whether it may be infinite
    """
    choice = is_choice(node.op)
    for child, read, weight in _inputs_and_partials(node, branches):
        inside = where if read is None else branches.narrow(where, read)
        if choice:
            for branch, w in branches.split(inside, weight):
                yield child, branch, w
            continue
        # a value that is 0 by choice would meet an infinite adjoint
        zero_unless = branches.nonzero(weight) if steep and weight.__class__ is Node else None
        yield child, inside if zero_unless is None else branches.narrow(inside, zero_unless), weight


def _block_inputs(node: Node, branches: Branches) -> list[tuple[Node, Condition, Any]]:
    """Nodes outside of a block that a value at its solution reads, where it does, and the total derivative by each."""
    solve, body = node.args
    roots = [*solve.args[: len(solve.data.unknowns)], body]
    reads: dict[Node, None] = {}
    # a block inside, or cascaded, is looked into as well: what it reads is an input too
    inside = topological(roots, lambda x: not x.flags & BOUND and x.op is not SOLVE)
    for x in inside:
        for a in x.args:
            if not a.flags & BOUND and a.op is not CONST and a.op is not SOLVE:
                reads[a] = None
    inputs = list(reads)
    forward = _Forward({x: {k: node.graph.one} for k, x in enumerate(inputs)}, branches)
    forward.walk([node], forward.root)
    row = forward.find(node, forward.root)
    where = _read_where(roots, inside) if any(map(is_choice, {x.op for x in inside})) else {}
    blocks = [x for x in inside if x.op is SOLVE] + [solve]
    return [(x, _at_all(blocks, where.get(x)), row[k]) for k, x in enumerate(inputs) if k in row]


def _at_all(blocks: list[Node], condition: Condition) -> Condition:
    """A condition of unknowns at the solutions of their blocks, inner ones first."""
    if condition is not None:
        for block in blocks:
            condition = at(block, condition)
    return condition


def _read_where(roots: list[Node], inside: list[Node]) -> dict[Node, Condition]:
    """Under what conditions the nodes of a block read what does not depend on its unknowns."""
    branches = Branches()
    gathered: dict[Node, list[Condition]] = {root: [None] for root in roots}
    for x in reversed(inside):
        if x not in gathered or is_truth(x.op):
            continue
        where = branches.either(gathered.pop(x))
        if is_choice(x.op):
            for child, weight in zip(x.args, partials(x), strict=True):
                gathered.setdefault(child, []).extend(c for c, _ in branches.split(where, weight))
        else:
            for child in x.args:
                gathered.setdefault(child, []).append(where)
    return {x: branches.either(conditions) for x, conditions in gathered.items() if conditions}
