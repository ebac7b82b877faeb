"""Causal loops: closed causal paths from element to element, or among junctions alone, with their gains.

A loop between a storage and another element has a gain with powers of 1/s, which ranks the dynamics; one of resistors
alone is algebraic. One whose gain is 1 cannot be solved: the values that run around it cancel (hypothesis II.3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from symbody.basics.errors import whole_argument
from symbody.bondgraph.causality.causality import granted, prepare, wishes
from symbody.bondgraph.causality.junction_structure import junction_structure
from symbody.bondgraph.causality.scalars import residues
from symbody.bondgraph.causality.strokes import Board, scap
from symbody.bondgraph.graph.bond_graph import SWITCH, BondGraph
from symbody.bondgraph.graph.flat import Flat, ScalarPort, effort, flow
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.lu import solve_lu
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.pickling import Packed

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, eq=False)
class CausalLoop(Packed):
    """A closed causal path.

    members    labels of the elements on the way (or numbers of bonds, of a loop among junctions)
    gain       expression of the parameters and s
    order      power of 1/s; 0: algebraic
    solvable   False where the gain is 1 whatever the parameters are
    """

    members: tuple[str, ...]
    gain: Node
    order: int
    solvable: bool = True

    def __str__(self) -> str:
        kind = "algebraic" if self.order == 0 else f"of order {self.order}"
        end = "" if self.solvable else "; the gain is 1: it cannot be solved"
        return f"{' - '.join(self.members)}: gain {self.gain}, {kind}{end}"

    __repr__ = __str__


def causal_loops(graph: BondGraph, most: int = 50, longest: int = 6, prefer: str = "integral") -> list[CausalLoop]:
    """Loops through elements, the shortest first: at most `most`, of at most `longest` elements."""
    whole_argument("most", most, 1)
    whole_argument("longest", longest, 1)
    structure = junction_structure(graph, prefer=prefer)
    ports = [p for group in ("integral", "derivative", "loss") for p in structure.groups[group]]
    own = {p.index: p for p in ports}
    answers = _answers(graph, ports, structure.causality.gives)
    edges: dict[int, dict[int, Node]] = {}
    for p in ports:  # from what p gives to what q gives
        edges[p.index] = {}
    for q in ports:
        for j, c in structure.entries[q.index].items():
            if j in own:
                for r, factor in answers[q.index].items():
                    known = edges[j].get(r)
                    term = factor * c.node
                    edges[j][r] = term if known is None else known + term
    found = []
    for ring in cycles(edges, longest, most):
        gain: Node = graph.graph.one
        for a, b in zip(ring, (*ring[1:], ring[0])):
            gain = gain * edges[a][b]
        integral = set(structure.causality.integral)
        order = sum((own[k].label in integral) - (own[k].is_storage and own[k].label not in integral) for k in ring)
        solvable = residues([gain], graph.graph)[0] != 1
        found.append(CausalLoop(tuple(own[k].label for k in ring), gain, order, solvable))
    return found


def _answers(graph: BondGraph, ports: Sequence[ScalarPort], gives: Mapping[str, str]) -> dict[int, dict[int, Node]]:
    """port -> {port of the same element: gain from what the first receives to what the second gives}."""
    s = graph.graph.symbol("s", "input")
    out: dict[int, dict[int, Node]] = {p.index: {} for p in ports}
    for name in dict.fromkeys(p.element for p in ports):
        e = graph.elements[name]
        own = sorted((p for p in ports if p.element == name), key=lambda p: p.place)
        n = len(own)
        if e.kind == SWITCH:
            out[own[0].index][own[0].index] = graph.graph.symbol(f"r_{name}", "parameter")
            continue
        if e.law is None:
            modulus = e.matrix(n)
            inverse = e.kind in ("I", "C")
        else:
            modulus, inverse = jacobian(e.law.results, e.law.arguments), False
        natural = ("e" if e.law is None else e.law.gives) if e.kind == "R" else own[0].natural
        for i, p in enumerate(own):
            turned = (gives[p.label] != natural) != inverse
            for j, q in enumerate(own):
                m = modulus[j, i]
                if turned and n > 1:
                    unit = [1 if k == i else 0 for k in range(n)]
                    m = solve_lu(modulus, unit)[j]
                elif turned:
                    m = 1 / m
                if p.is_storage:
                    m = m / s if gives[p.label] == p.natural else m * s
                if residues([graph.graph.zero + m], graph.graph)[0]:
                    out[p.index][q.index] = graph.graph.zero + m
    return out


def cycles(edges: Mapping[K, Mapping[K, object]], longest: int, most: int) -> Iterator[tuple[K, ...]]:
    """Simple cycles of a digraph, the shortest first."""
    order = {node: k for k, node in enumerate(edges)}
    given = 0
    for length in range(1, longest + 1):
        for start in edges:
            stack: list[tuple[K, tuple[K, ...]]] = [(start, (start,))]
            while stack:
                node, way = stack.pop()
                if len(way) == length:
                    if start in edges[node]:
                        yield way
                        given += 1
                        if given == most:
                            return
                    continue
                for after in sorted(edges[node], key=order.__getitem__, reverse=True):
                    if order[after] > order[start] and after not in way:
                        stack.append((after, (*way, after)))


# -- loops among junctions


def unsolvable_loops(graph: BondGraph, prefer: str = "derivative", most: int = 20) -> list[CausalLoop]:
    """Loops of junctions that forbid a causality which the rules of strokes allow; empty if rules and algebra agree."""
    ready = prepare(graph)
    order = list(wishes(ready.ports, prefer, "", (), graph))
    by_rules = scap(ready.flat, order)
    exact = granted(ready, prefer)
    if by_rules is None:
        return []
    board, gives = by_rules
    storages = [p.index for p in ready.ports if p.is_storage]
    if sum(gives[k] != exact.gives[k] for k in storages) == 0:
        return []
    found = junction_loops(ready.flat, board, most)
    return [loop for loop in found if not loop.solvable] or found


def junction_loops(flat: Flat, board: Board, most: int = 20, longest: int = 24) -> list[CausalLoop]:
    """Causal loops that pass through junctions, TF and GY only, for strokes on all bonds."""
    edges = bond_graph_edges(flat, board)
    graph = flat.graph.graph
    out = []
    for ring in cycles(edges, longest, most):
        gain: Node = graph.one
        for a, b in zip(ring, (*ring[1:], ring[0])):
            gain = gain * edges[a][b]
        names = tuple(f"{'ef'[v % 2]}{flat.ends[v // 2][0]}" for v in ring)
        out.append(CausalLoop(names, gain, 0, residues([gain], graph)[0] != 1))
    return out


def bond_graph_edges(flat: Flat, board: Board) -> dict[int, dict[int, Node | int]]:
    """variable -> {variable that it determines: factor}, by the strokes."""
    edges: dict[int, dict[int, Node | int]] = {v: {} for v in range(2 * flat.size)}
    same: Callable[[int], int]
    for k, node in enumerate(flat.nodes):
        here = [b for b, _ in node.bonds if board.stroke.get(b) == k]
        if node.kind in ("0", "1"):
            same, added = (effort, flow) if node.kind == "0" else (flow, effort)
            few = here if node.kind == "0" else [b for b, _ in node.bonds if b not in here]
            if len(few) != 1:
                continue
            sign = dict(node.bonds)
            for b in sign:
                if b != few[0]:
                    edges[same(few[0])][same(b)] = 1
                    edges[added(b)][added(few[0])] = -sign[b] * sign[few[0]]
            continue
        (a, _), (b, _) = node.bonds
        m = node.modulus
        if node.kind == "TF":
            if b in here:
                edges[effort(b)][effort(a)] = m
                edges[flow(a)][flow(b)] = m
            else:
                edges[effort(a)][effort(b)] = 1 / m if isinstance(m, Node) else m
                edges[flow(b)][flow(a)] = 1 / m if isinstance(m, Node) else m
        elif here:
            edges[effort(a)][flow(b)] = 1 / m if isinstance(m, Node) else m
            edges[effort(b)][flow(a)] = 1 / m if isinstance(m, Node) else m
        else:
            edges[flow(b)][effort(a)] = m
            edges[flow(a)][effort(b)] = m
    return edges
