"""The graph bond by bond: multibonds and matrix moduli written out, and the equations of the junction structure.

Variable 2 b is the effort of scalar bond b, 2 b + 1 its flow. Every element that is no junction, TF or GY is a port
with a bond of its own. A matrix TF is 1-junctions and 0-junctions with scalar TFs between, a matrix GY likewise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from symbody.bondgraph.graph.bond_graph import DETECTORS, OPEN, SOURCES, STORAGES, SWITCH, TWO_PORTS, BondGraph
from symbody.bondgraph.graph.check_graph import first_and_second
from symbody.model.record.origin import fault
from symbody.symbolic.expr.arrays import is_one, is_zero
from symbody.symbolic.expr.node import CONST, Node

Coefficient = Node | int
Row = dict[int, Coefficient]


@dataclass(frozen=True)
class ScalarPort:
    """One component of one bond at an element.

    place   which component of the element, from 0; label   the element's name, with _1, _2 where it has several
    bond    scalar bond
    """

    index: int
    element: str
    kind: str
    place: int
    label: str
    bond: int

    @property
    def is_storage(self) -> bool:
        return self.kind in STORAGES

    @property
    def natural(self) -> str:
        """What the element gives in the causality that suits it: "e" or "f"; "" if it does not mind."""
        return {"Se": "e", "Sf": "f", "I": "f", "C": "e", "De": "f", "Df": "e"}.get(self.kind, "")


@dataclass
class ScalarNode:
    """A scalar junction, TF or GY: bonds with +1 where power comes in, -1 where it goes out. modulus of TF and GY."""

    kind: str
    bonds: list[tuple[int, int]]
    name: str
    modulus: Coefficient = 1


@dataclass
class Flat:
    """The graph in scalars.

    ends    scalar bond -> (number of the bond in the graph, component from 0); number 0: inside a matrix modulus
    rows    equations of the junction structure, each zero
    """

    graph: BondGraph
    ports: list[ScalarPort] = field(default_factory=list)
    nodes: list[ScalarNode] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Scalar bonds."""
        return len(self.ends)

    def rows(self) -> Iterable[Row]:
        for node in self.nodes:
            yield from _equations(node)

    def bond_name(self, scalar: int) -> str:
        """A scalar bond in a sentence."""
        number, place = self.ends[scalar]
        bond = self.graph.bonds[number - 1]
        return f"{bond}" if bond.dimension == 1 else f"{bond}, component {place + 1}"

    def new_bond(self, number: int, place: int = 0) -> int:
        self.ends.append((number, place))
        return len(self.ends) - 1


def effort(bond: int) -> int:
    return 2 * bond


def flow(bond: int) -> int:
    return 2 * bond + 1


def _equations(node: ScalarNode) -> Iterable[Row]:
    if node.kind in ("0", "1"):
        same, added = (effort, flow) if node.kind == "0" else (flow, effort)
        first = node.bonds[0][0]
        for b, _ in node.bonds[1:]:
            yield {same(b): 1, same(first): -1}
        yield {added(b): sign for b, sign in node.bonds}
        return
    (a, _), (b, _) = node.bonds
    m = node.modulus
    if node.kind == "TF":  # e1 = m e2, f2 = m f1
        yield {effort(a): 1, effort(b): -m}
        yield {flow(b): 1, flow(a): -m}
    else:  # e1 = m f2, e2 = m f1
        yield {effort(a): 1, flow(b): -m}
        yield {effort(b): 1, flow(a): -m}


def flatten(graph: BondGraph) -> Flat:
    """All bonds as scalars, ports first in the order of the elements."""
    opened = graph.of_kind(OPEN)
    if opened:
        raise fault(
            opened[0].origin,
            f"{graph.name} has the open port {opened[0].name!r}; connect it, "
            "or close it by an input: graph.with_ports({'" + opened[0].name + "': 'flow'}).",
        )
    flat = Flat(graph)
    scalar = {(b.number, k): flat.new_bond(b.number, k) for b in graph.bonds for k in range(b.dimension)}
    at = {name: [b for b in graph.bonds if name in (b.tail, b.head)] for name in graph.elements}
    taken: set[int] = set()
    for e in graph.elements.values():
        if e.is_junction or e.kind in TWO_PORTS:
            continue
        places = [(b, k) for b in at[e.name] for k in range(b.dimension)]
        for place, (b, k) in enumerate(places):
            bond = scalar[b.number, k]
            if bond in taken:  # two elements face each other: a 1-junction between them changes nothing
                own = flat.new_bond(b.number, k)
                into = b.head == e.name
                flat.nodes.append(ScalarNode("1", [(bond, 1 if into else -1), (own, -1 if into else 1)], ""))
                bond = own
            taken.add(bond)
            label = e.name if len(places) == 1 else f"{e.name}_{place + 1}"
            flat.ports.append(ScalarPort(len(flat.ports), e.name, e.kind, place, label, bond))
    for e in graph.elements.values():
        if e.is_junction:
            for k in range(at[e.name][0].dimension):
                ways = [(scalar[b.number, k], 1 if b.head == e.name else -1) for b in at[e.name]]
                flat.nodes.append(ScalarNode(e.kind, ways, e.name))
        elif e.kind in TWO_PORTS:
            first, second = first_and_second(e, at[e.name])
            _two_port(
                flat,
                e.name,
                e.kind,
                np.asarray(e.value, dtype=object),
                [scalar[first.number, k] for k in range(first.dimension)],
                [scalar[second.number, k] for k in range(second.dimension)],
            )
    return flat


def _two_port(flat: Flat, name: str, kind: str, modulus: np.ndarray, first: list[int], second: list[int]) -> None:
    if modulus.shape == ():
        for a, b in zip(first, second, strict=True):
            flat.nodes.append(ScalarNode(kind, [(a, 1), (b, -1)], name, _plain(modulus.item())))
        return
    left = [ScalarNode("1", [(a, 1)], name) for a in first]
    right = [ScalarNode("0" if kind == "TF" else "1", [(b, -1)], name) for b in second]
    for j in range(len(second)):
        for i in range(len(first)):
            m = _plain(modulus[j, i])
            if is_zero(m):
                continue
            a = flat.new_bond(0)
            left[i].bonds.append((a, -1))
            if kind == "TF" and is_one(m):
                right[j].bonds.append((a, 1))
                continue
            b = flat.new_bond(0)
            flat.nodes.append(ScalarNode(kind, [(a, 1), (b, -1)], name, m))
            right[j].bonds.append((b, 1))
    flat.nodes += [*left, *right]


def _plain(node: Coefficient) -> Coefficient:
    """Whole constants as integers, so that +-1 make no operations."""
    if isinstance(node, Node) and node.op is CONST and isinstance(node.data, int):
        return node.data
    return node


def is_fixed(port: ScalarPort) -> bool:
    """Whether the causality of a port is given: sources and detectors."""
    return port.kind in (*SOURCES, *DETECTORS)


def is_loss(port: ScalarPort) -> bool:
    """Resistors and switches: ports of the dissipative field."""
    return port.kind in ("R", SWITCH)
