"""From equations in which dependent coordinates are symbols to equations at the solutions of implicit blocks.

Equations are written, and rewritten for fewer operations, as if all coordinates were known. Here each block of
constraints becomes one `solve`, and everything that its iteration computes anyway is read at the solution instead of
being computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from symbody.mechanics.loops.closing.unknowns import Unknowns
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.node import AT, BOUND, Node, SolveInfo
from symbody.symbolic.expr.walk import rebuild, solve_node, topological

SPAN = 256.0  # rad or m: closed to 3e-10 after any number of turns, which is some roundings of q after 1e4 turns


@dataclass(eq=False)
class Binder:
    """Blocks solved so far: `inside` maps a node to (block, its counterpart in the block's body).

    waiting: symbols that blocks still to come solve for; none may be read before
    """

    waiting: set[Node] = field(default_factory=set)
    inside: dict[Node, tuple[Node, Node]] = field(default_factory=dict)
    known: dict[Node, Node] = field(default_factory=dict)

    def at_solution(self, roots: Iterable[Node]) -> list[Node]:
        """Expressions with every unknown of the blocks so far at its solution."""
        roots = list(roots)
        known = self.known
        for node in topological(roots, known.__contains__):
            found = self.inside.get(node)
            if found is not None:
                known[node] = _at(*found)
            elif node.args:
                args = tuple([known[a] for a in node.args])
                known[node] = node if args == node.args else rebuild(node, args)
            else:
                known[node] = node
        return [known[r] for r in roots]

    def add_block(
        self,
        name: str,
        residual: Sequence[Node],
        step: Sequence[Node],
        found: Unknowns,
        watched: Sequence[Node] = (),
    ) -> None:
        """One more block; its equations may contain unknowns of earlier ones. watched: value, limit of each check."""
        graph = found.symbols[0].graph
        scope = f"{name}#{graph.size}"
        bound = [graph.symbol(s.data.name, "unknown", scope=scope, unit=s.data.unit) for s in found.symbols]
        inner: dict[Node, Node] = dict(zip(found.symbols, bound, strict=True))
        for symbol, value in found.values.items():
            # the value is an expression of the unknowns and of the guess, which is an input as it stands
            (inner[symbol],) = _replace([value], {s: inner[s] for s in found.symbols})
        roots = [*residual, *step, *watched]
        order = topological(roots)
        self.waiting -= inner.keys()
        early = [str(node) for node in order if node in self.waiting]
        if early:
            raise AssertionError(f"the block {name} reads {', '.join(early)}, which a later block solves for")
        for node in order:
            if node not in inner and any(a in inner for a in node.args):
                inner[node] = node  # depends on the unknowns; filled below
        self.at_solution([a for node in order if node in inner for a in node.args if a not in inner])
        self.at_solution([r for r in roots if r not in inner])
        for node in order:
            if node in inner and node.args:
                inner[node] = rebuild(node, tuple([inner[a] if a in inner else self.known[a] for a in node.args]))
        body = [inner[r] if r in inner else self.known[r] for r in roots]
        guess = as_nodes([graph.zero, *found.guess])[1:]
        checks = tuple(check for check, _, _ in found.checks)
        info = SolveInfo(name, tuple(bound), remedy=found.remedy, checks=checks, span=SPAN)
        block = solve_node((*body[: len(bound)], *guess, *body[len(bound) :]), info)
        for node, value in inner.items():
            self.known.pop(node, None)
            self.inside[node] = (block, value)


def _at(block: Node, body: Node) -> Node:
    """The value of an expression at the solution of its block; what the unknowns do not enter is itself."""
    if not body.flags & BOUND:
        return body
    # no block stands inside another here, so that nothing stays bound
    return block.graph.intern(AT, (block, body), None, (block.flags | body.flags) & ~BOUND)


def _replace(roots: list[Any], table: dict[Node, Node]) -> list[Node]:
    new = dict(table)
    for node in topological(roots, new.__contains__):
        args = tuple([new[a] for a in node.args])
        new[node] = node if args == node.args else rebuild(node, args)
    return [new[r] for r in roots]
