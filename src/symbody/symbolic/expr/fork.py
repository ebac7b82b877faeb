"""Copies of a Graph: the same nodes with the same ids, in an arena of their own.

The order of terms and factors is that of ids, hence of making. Two programs that were written one after the other in
one Graph therefore depend on each other's history. Written in two copies of the Graph that both start from, they do
not, and two threads may write them at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from types import FunctionType
from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node, SolveInfo
from symbody.symbolic.expr.walk import quiet_collector


def fork(graph: Graph, size: int | None = None) -> tuple[Graph, dict[Node, Node]]:
    """A copy of the first `size` nodes of a Graph (all of them if None), and node -> its copy."""
    size = graph.size if size is None else size
    tables = {name: table for name in Graph.__slots__ if isinstance(table := getattr(graph, name), dict)}
    del tables["unknowns"]  # a memory, not a table of nodes
    twin = Graph(graph.name, graph.exact)
    made: dict[Node, Node] = {}
    with quiet_collector():
        inside = {n for table in tables.values() for n in table.values() if n.id < size}
        # the negative of a node stands in no table
        inside |= {n.minus for n in inside if n.minus is not None and n.minus.id < size}
        for node in sorted(inside, key=lambda n: n.id):
            if node.id < 2:
                made[node] = twin.zero if node is graph.zero else twin.one
                continue
            copy = Node(twin, node.op, tuple([made[a] for a in node.args]), _data(node.data, made), node.flags)
            copy.id = node.id
            made[node] = copy
        for node, copy in made.items():
            if node.minus is not None and node.minus.id < size:
                copy.minus = made[node.minus]
        for name, table in tables.items():
            setattr(twin, name, {_key(key, made): made[n] for key, n in table.items() if n.id < size})
    twin.size = size
    return twin, made


def _key(key: Any, made: Mapping[Node, Node]) -> Any:
    if key.__class__ is not tuple:
        return key
    return tuple([made[x] if x.__class__ is Node else _data(x, made) for x in key])


def _data(data: Any, made: Mapping[Node, Node]) -> Any:
    """What a node carries; an implicit block carries the symbols of its unknowns."""
    if data.__class__ is SolveInfo:
        return replace(data, unknowns=tuple(made[u] for u in data.unknowns))
    return data


def carried(value: Any, made: Mapping[Node, Node], known: dict[int, Any]) -> Any:
    """A record whose nodes are replaced by their copies; what holds no node is the same object as before.

    known: id of an object -> what stands for it, for objects that are not to be copied, and for those that were: two
    records that share a third share its copy.
    """
    if value.__class__ is Node:
        return made[value]
    if id(value) in known:
        return known[id(value)]
    new: Any = value
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            new = np.empty(value.shape, dtype=object)
            for i, x in enumerate(value.flat):
                new.flat[i] = carried(x, made, known)
            new.flags.writeable = value.flags.writeable
    elif isinstance(value, tuple):
        parts = [carried(x, made, known) for x in value]
        if any(a is not b for a, b in zip(parts, value)):
            new = value.__class__(*parts) if hasattr(value, "_fields") else value.__class__(parts)
    elif value.__class__ is list:
        new = [carried(x, made, known) for x in value]
    elif value.__class__ is dict:
        new = {carried(k, made, known): carried(x, made, known) for k, x in value.items()}
    elif is_dataclass(value) and not isinstance(value, type):
        new = _record(value, made, known)
    elif isinstance(value, FunctionType) and _holds(value, known):
        raise ExpressionError(f"{value.__qualname__} hides nodes of a Graph that is copied; expected a record.")
    known[id(value)] = new
    return new


def _holds(value: Any, known: Mapping[int, Any]) -> bool:
    """Whether a value holds a node, or an object that something else stands for."""
    kind = value.__class__
    if kind is Node:
        return True
    if id(value) in known:
        return known[id(value)] is not value
    if isinstance(value, (tuple, list)):
        return any(_holds(x, known) for x in value)
    if kind is dict:
        return any(_holds(x, known) for pair in value.items() for x in pair)
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(_holds(x, known) for x in value.flat)
    if isinstance(value, FunctionType):
        return any(
            _holds(cell.cell_contents, known) for cell in value.__closure__ or () if cell.cell_contents is not value
        )
    return is_dataclass(value) and any(_holds(getattr(value, f.name), known) for f in fields(value))


def _record(value: Any, made: Mapping[Node, Node], known: dict[int, Any]) -> Any:
    """A dataclass of the same fields; values that were computed from them later are left behind.

    One that holds no node, such as the row of a table, stays the object that it is.
    """
    if not _holds(value, known):
        return value
    new = object.__new__(value.__class__)
    for f in fields(value):
        object.__setattr__(new, f.name, carried(getattr(value, f.name), made, known))
    return new
