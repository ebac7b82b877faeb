"""Definitions that refer to one another by name, put in order."""

from __future__ import annotations

from collections.abc import Mapping

from symbody.basics.errors import ExpressionError
from symbody.symbolic.expr.graph import Graph, current_graph
from symbody.symbolic.expr.node import Node, Number
from symbody.symbolic.expr.parse import parse
from symbody.symbolic.expr.walk import free_symbols, substitute


def define(definitions: Mapping[str, str | Node | Number], graph: Graph | None = None) -> dict[str, Node]:
    """Expressions whose names may occur in one another, in any order, as nodes of the remaining symbols.

    `define({"area": "width**2", "width": "2*r"})` gives both as expressions of r. A definition that needs itself is an
    error that names the circle.
    """
    graph = graph or current_graph()
    with graph:
        raw = {n: parse(d) if isinstance(d, str) else graph.one * d for n, d in definitions.items()}
    needs = {n: [s.data.name for s in free_symbols([node]) if s.data.name in raw] for n, node in raw.items()}
    done: dict[str, Node] = {}
    for start in raw:
        path: list[str] = [start]
        while path:
            name = path[-1]
            if name in done:
                path.pop()
                continue
            waiting = next((n for n in needs[name] if n not in done), None)
            if waiting is None:
                known = {s: done[s.data.name] for s in free_symbols([raw[name]]) if s.data.name in done}
                done[name] = substitute([raw[name]], known)[0]
                path.pop()
            elif waiting in path:
                circle = " -> ".join([*path[path.index(waiting) :], waiting])
                raise ExpressionError(f"cyclic definition: {circle}. Remove one of these from its own definition.")
            else:
                path.append(waiting)
    return {n: done[n] for n in raw}
