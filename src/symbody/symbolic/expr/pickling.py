"""Records with nodes as bytes for workers of the same version: Mechanisms and Systems travel with their Graph.

Nodes are interned and deep, so pickle must not walk through them. What it meets of them is numbered, and all nodes
below stand in one table for each Graph, in the order of their making: terms and factors keep their order, and programs
made of the copy are the same to the last bit. Files of users are never read this way.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any

import numpy as np

from symbody.basics.errors import FormatError
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import SOLVE, Node
from symbody.symbolic.expr.restore import restore
from symbody.symbolic.expr.walk import quiet_collector, topological

Row = tuple[str, Any, tuple[int, ...], tuple[int, ...]]


class Packed:
    """A dataclass with nodes: pickle and copy take their Graph along, one for all records inside."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _unpacked, (self.__class__, pack(_state(self)), _version())


def _state(record: Any) -> dict[str, Any]:
    return {f.name: getattr(record, f.name) for f in fields(record)}


def _unpacked(cls: type, data: tuple[bytes, list[Any]], version: str) -> Any:
    if version != _version():
        raise FormatError(
            f"a {cls.__name__} was pickled by symbody {version}, and this is {_version()}. Pickles are for workers of "
            "the same version; give them the same one, or send a file that `save` has written."
        )
    return _record(cls, unpack(data))


def _record(cls: type, state: dict[str, Any]) -> Any:
    record: Any = object.__new__(cls)
    for name, value in state.items():
        object.__setattr__(record, name, value)  # as it was, also where the class is frozen
    return record


def _version() -> str:
    return str(sys.modules["symbody"].__version__)


def pack(value: Any) -> tuple[bytes, list[Any]]:
    """(pickled value with numbers in place of nodes, tables of nodes)."""
    buffer = io.BytesIO()
    packer = _Packer(buffer)
    packer.dump(value)
    return buffer.getvalue(), [_table(graph, packer.nodes[k]) for k, graph in enumerate(packer.graphs)]


def unpack(data: tuple[bytes, list[Any]]) -> Any:
    """What `pack` took, with new Graphs."""
    body, tables = data
    return _Unpacker(io.BytesIO(body), [_restored(table) for table in tables]).load()


class _Packer(pickle.Pickler):
    """Gives each Graph a number, and each node met the number of its Graph and its own."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.graphs: list[Graph] = []
        self.nodes: list[dict[Node, int]] = []
        self.numbers: dict[int, int] = {}

    def persistent_id(self, value: Any) -> tuple[int, int] | None:
        if value.__class__ is Node:
            graph = self._number(value.graph)
            met = self.nodes[graph]
            return graph, met.setdefault(value, len(met))
        return (self._number(value), -1) if value.__class__ is Graph else None

    def reducer_override(self, value: Any) -> Any:
        if value.__class__ is np.ndarray and not value.flags.writeable:
            return _read_only, (value.copy(),)  # pickle alone would make it writable
        if isinstance(value, Packed):
            return _record, (value.__class__, _state(value))  # its nodes are numbered here, with those around it
        return NotImplemented

    def _number(self, graph: Graph) -> int:
        if id(graph) not in self.numbers:
            self.numbers[id(graph)] = len(self.graphs)
            self.graphs.append(graph)
            self.nodes.append({})
        return self.numbers[id(graph)]


def _read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, graphs: list[tuple[Graph, list[Node]]]) -> None:
        super().__init__(file)
        self.graphs = graphs

    def persistent_load(self, number: Any) -> Any:
        graph, nodes = self.graphs[number[0]]
        return graph if number[1] < 0 else nodes[number[1]]


def _table(graph: Graph, met: dict[Node, int]) -> tuple[str, bool, list[Row], list[int]]:
    """Name and exactness of a Graph, rows of all nodes needed (operands first), and which rows were met."""
    nodes = topological(met)
    nodes.sort(key=attrgetter("id"))
    index = {n: i for i, n in enumerate(nodes)}
    return graph.name, graph.exact, [_row(n, index) for n in nodes], [index[n] for n in met]


def _row(node: Node, index: dict[Node, int]) -> Row:
    data = node.data
    unknowns: tuple[int, ...] = ()
    if node.op is SOLVE:
        unknowns = tuple(index[u] for u in data.unknowns)
        data = replace(data, unknowns=())
    return node.op, data, tuple(index[a] for a in node.args), unknowns


def _restored(table: tuple[str, bool, list[Row], list[int]]) -> tuple[Graph, list[Node]]:
    name, exact, rows, met = table
    graph = Graph(name, exact)
    nodes: list[Node] = []
    with quiet_collector():
        for op, data, args, unknowns in rows:
            if op == SOLVE:
                data = replace(data, unknowns=tuple(nodes[i] for i in unknowns))
            nodes.append(restore(graph, op, tuple(nodes[i] for i in args), data))
    return graph, [nodes[i] for i in met]
