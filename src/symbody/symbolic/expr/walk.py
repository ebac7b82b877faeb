"""Walks over nodes with an explicit stack: depth 10^6 is harmless."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import overload

from symbody.basics.errors import ExpressionError, shown
from symbody.symbolic.expr.arithmetic import add, collect, mul, multiply_all, power, rewritten_power
from symbody.symbolic.expr.call import as_nodes, call
from symbody.symbolic.expr.coefficients import scale
from symbody.symbolic.expr.functions import alias, piecewise
from symbody.symbolic.expr.node import (
    ADD,
    ALIAS,
    AT,
    BOUND,
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
    SolveInfo,
)


def topological(roots: Iterable[Node], known: Callable[[Node], bool] | None = None) -> list[Node]:
    """All nodes below the roots, operands first, each once. Nodes for which `known` holds are left out, with all below.

    The order is depth first, so that a value stands close to its use.
    """
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[Node] = []
    for root in roots:
        if root in seen:
            continue
        stack.append(root)
        while stack:
            node = stack[-1]
            if node in seen:
                stack.pop()
                continue
            if known is not None and known(node):
                seen.add(node)
                stack.pop()
                continue
            waiting = False
            for child in reversed(node.args):
                if child not in seen:
                    stack.append(child)
                    waiting = True
            if not waiting:
                stack.pop()
                seen.add(node)
                order.append(node)
    return order


def below(roots: Iterable[Node]) -> set[Node]:
    """All nodes below the roots, themselves included, in no order."""
    seen = set(roots)
    stack = list(seen)
    while stack:
        for child in stack.pop().args:
            if child not in seen:
                seen.add(child)
                stack.append(child)
    return seen


def rebuild(node: Node, args: tuple[Node, ...]) -> Node:
    """The node of the same kind over other arguments, made by the same rules as any new node."""
    op = node.op
    if op is ADD:
        if len(args) == 2:
            return add(args[0], args[1])
        return collect([(1, a) for a in args], args[0].graph)
    if op is MUL:
        if len(args) == 2:
            return mul(args[0], args[1])
        return multiply_all(args, args[0].graph)
    if op is SCALE:
        return scale(node.data, args[0])
    if op is POW:
        return rewritten_power(args[0], node.data)
    if op is TABLE:
        return piecewise(args[0], node.data)
    if op is ALIAS:
        return alias(args[0], node.data.name, node.data.stage)
    if op in (EXTERN, RESULT):
        flags = 0
        for a in args:
            flags |= a.flags
        return args[0].graph.intern(op, args, node.data, flags)
    if op is SOLVE:
        return solve_node(args, node.data)
    if op is AT:
        return at(args[0], args[1])
    return call(op, *args)


def solve_node(args: tuple[Node, ...], info: SolveInfo) -> Node:
    """The implicit block over `args` (see `node`); it is bound only by unknowns of blocks around it."""
    flags = 0
    for a in args:
        flags |= a.flags
    if flags & BOUND and not unknowns_below(args) - set(info.unknowns):
        flags &= ~BOUND
    return args[0].graph.intern(SOLVE, args, info, flags)


def at(solve: Node, body: Node) -> Node:
    """The value of `body` where the block `solve` has converged; what does not depend on its unknowns is itself.

    At a block without unknowns, which only checks, the value stays tied to it.
    """
    if not solve.data.unknowns:
        if body.op is CONST or (body.op is AT and body.args[0] is solve):
            return body
        return solve.graph.intern(AT, (solve, body), None, solve.flags | body.flags)
    if not body.flags & BOUND or not (unknowns_below([body]) & set(solve.data.unknowns)):
        return body
    outer = unknowns_below([*solve.args, body]) - set(solve.data.unknowns)
    flags = (solve.flags | body.flags) & ~BOUND | (BOUND if outer else 0)
    return solve.graph.intern(AT, (solve, body), None, flags)


def unknowns_below(roots: Iterable[Node]) -> set[Node]:
    """Unknowns of implicit blocks that the roots depend on and that no block below the roots has solved."""
    empty: frozenset[Node] = frozenset()
    roots = [root for root in roots if root.flags & BOUND]
    if not roots:
        return set()
    # nodes never change: what was found once is kept, or thousands of results of a block would walk it each
    free = roots[0].graph.unknowns
    for node in topological(roots, lambda n: not n.flags & BOUND or n in free):
        if node.op is SYMBOL:
            free[node] = frozenset([node])
            continue
        found = empty
        for a in node.args:
            part = free.get(a, empty)
            if part and part is not found:
                found = found | part if found else part
        if node.op is AT:
            found = found - set(node.args[0].data.unknowns)
        elif node.op is SOLVE:
            found = found - set(node.data.unknowns)
        free[node] = found
    out: set[Node] = set()
    for root in roots:
        out |= free.get(root, empty)
    return out


def uses(roots: Iterable[Node]) -> dict[Node, int]:
    """How often each node is an operand of a node below the roots, or a root itself."""
    roots = list(roots)
    counts: dict[Node, int] = {}
    for node in topological(roots):
        for a in node.args:
            counts[a] = counts.get(a, 0) + 1
    for root in roots:
        counts[root] = counts.get(root, 0) + 1
    return counts


def free_symbols(roots: Iterable[Node]) -> list[Node]:
    """Symbols below the roots in the order of their making, unknowns of implicit blocks left out."""
    found = [n for n in below(roots) if n.op is SYMBOL and n.data.role != "unknown"]
    return sorted(found, key=lambda n: n.id)


@dataclass(slots=True)
class Rebuilt:
    """What `transform` has made: node -> new node; of blocks whose arguments changed, unknown -> that of the new block,
    and what was renamed for it in values that are read at its solution."""

    new: dict[Node, Node] = field(default_factory=dict)
    renamed: dict[Node, dict[Node, Node]] = field(default_factory=dict)
    inside: dict[Node, Rebuilt] = field(default_factory=dict)


def transform(
    roots: Iterable[Node],
    change: Callable[[Node, tuple[Node, ...]], Node | None],
    leave: Callable[[Node], bool] | None = None,
    done: Rebuilt | None = None,
) -> list[Node]:
    """Rebuild everything below the roots: `change(node, new_args)` gives a new node, or None for the usual rebuild.

    Nodes for which `leave` holds stay as they are, with all below. done: what earlier calls with the same `change` and
    `leave` have made, which is used and added to.
    """
    roots = list(roots)
    if done is None:
        done, known = Rebuilt(), leave
    else:
        made_before = done.new
        known = made_before.__contains__ if leave is None else lambda n: n in made_before or leave(n)
    new, renamed, inside = done.new, done.renamed, done.inside
    with quiet_collector():
        for node in topological(roots, known):
            args = tuple([new.get(a, a) for a in node.args])
            made = change(node, args)
            if made is None:
                if args == node.args:
                    made = node
                elif node.op is SOLVE:
                    made, renamed[node] = renewed(args, node.data)
                elif node.op is AT and node.args[0] in renamed:
                    solve = node.args[0]
                    body = rename_unknowns([args[1]], renamed[solve], inside.setdefault(solve, Rebuilt()))[0]
                    made = at(args[0], body)
                else:
                    made = rebuild(node, args)
            new[node] = made
    return [new.get(r, r) for r in roots]


def renewed(args: tuple[Node, ...], info: SolveInfo) -> tuple[Node, dict[Node, Node]]:
    """An implicit block over changed arguments, with unknowns of its own, and how they replace the old ones.

    Two different blocks must never share an unknown: inside one, it would stand for the value in the other. The same
    arguments give the same block again.
    """
    graph = args[0].graph
    key = ("renewed", info, *args)
    made = graph.others.get(key)
    if made is None:
        scope = f"{info.name}#{graph.size}"
        fresh = tuple(graph.symbol(u.data.name, "unknown", scope=scope, unit=u.data.unit) for u in info.unknowns)
        own = rename_unknowns(args, dict(zip(info.unknowns, fresh, strict=True)))
        made = graph.others[key] = solve_node(tuple(own), replace(info, unknowns=fresh))
    return made, dict(zip(info.unknowns, made.data.unknowns, strict=True))


def rename_unknowns(roots: Iterable[Node], table: dict[Node, Node], done: Rebuilt | None = None) -> list[Node]:
    """Replace unknowns where they are free: not inside their own block, nor in what is read at its solution.

    done: as in `transform`, for several calls with one table
    """

    def leave(node: Node) -> bool:
        if not node.flags & BOUND:
            return True
        solve = node.args[0] if node.op is AT else node
        return solve.op is SOLVE and any(u in table for u in solve.data.unknowns)

    return transform(roots, lambda node, args: table.get(node), leave, done)


@overload
def substitute(roots: Node, replacement: Mapping[Node, Node | Number]) -> Node: ...


@overload
def substitute(roots: Iterable[Node], replacement: Mapping[Node, Node | Number]) -> list[Node]: ...


def substitute(roots: Node | Iterable[Node], replacement: Mapping[Node, Node | Number]) -> Node | list[Node]:
    """Replace nodes by nodes, all at once: {x: y, y: x} swaps x and y. Of one expression, or of each of a list.

    A divisor that becomes zero is refused, but for one in a branch of a choice, which may never be taken.
    """
    if roots.__class__ is Node:
        return substitute([roots], replacement)[0]
    try:
        roots, given = list(roots), dict(replacement)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ExpressionError(
            "substitute() expects an expression or a list of them, and a dict: symbol -> what replaces it."
        ) from None
    strange = next((x for x in (*roots, *given) if x.__class__ is not Node), None)
    if strange is not None:
        raise ExpressionError(f"substitute() was given {shown(strange)} where an expression was expected.")
    table = {old: as_nodes([old, new])[1] for old, new in given.items()}
    zeros: dict[Node, Node] = {}

    def change(node: Node, args: tuple[Node, ...]) -> Node | None:
        if node.op is POW and node.data < 0 and args[0].op is CONST and args[0].data == 0:
            zeros[node] = args[0]
        return table.get(node)

    new = transform(roots, change)
    for node in _outside_choices(roots) if zeros else ():
        if node in zeros and node not in table:
            power(zeros[node], node.data)  # which says what is wrong
    return new


def _outside_choices(roots: list[Node]) -> Iterator[Node]:
    """The nodes below the roots that are there whatever is chosen."""
    seen = set(roots)
    stack = list(seen)
    while stack:
        node = stack.pop()
        yield node
        for child in node.args[:1] if node.op == "select" else node.args:
            if child not in seen:
                seen.add(child)
                stack.append(child)


@contextmanager
def quiet_collector() -> Iterator[None]:
    """No cyclic collection meanwhile: building makes no garbage, and the collector would visit every node often."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
