"""Automatic cutting: where to open the loops of a mechanism so that its equations take few operations.

The given cuts are one choice; every spanning tree of the joint graph is another one. From the given one, one cut at a
time is exchanged for another joint of its loop, as long as the predicted operations fall (robotran 4.6: short branches,
cut joints rather than bodies, points on joints, absolute coordinates). Of the best modellings met on the way, the
programs are counted with the partition that is chosen automatically.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError, SolveError
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.formalisms.tree import Tree, build_tree
from symbody.mechanics.loops.cutting.joint_graph import Edge, JointGraph, joint_graph, spanning
from symbody.mechanics.loops.partition.counted import FEW_LINKS, cheapest_partition, counted_operations, plain_equations
from symbody.mechanics.loops.partition.heuristic import sparse_choice
from symbody.mechanics.loops.partition.partition_search import kinds_of, mass_pattern
from symbody.mechanics.loops.partition.predicted import predicted_cost
from symbody.mechanics.loops.partition.structure import Block, block_triangular, match
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.model.record.coordinates import with_mode
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.node import Node
from symbody.symbolic.rewrite.cost import cost as cost_of

ROUNDS = 12
COUNTED = 3  # modellings whose programs are counted, besides the given one
PARTITIONS = 2  # of each of them


@dataclass(frozen=True, eq=False)
class Cutting:
    """A modelling of a mechanism.

    mechanism      the same one, cut elsewhere
    cost, before   operations of forward dynamics with one iteration of every block, after and before
    explanation    sentences: what was exchanged, and what it saves
    """

    mechanism: Mechanism
    cost: int
    before: int
    explanation: str


@declared
def recut(
    mechanism: Mechanism,
    cuttable: Collection[str] | None = None,
    absolute: Mapping[str, str] | None = None,
    rounds: int = ROUNDS,
) -> Cutting:
    """The mechanism, cut anew where its equations take the fewest operations.

    cuttable: joints that may be cut and so lose their coordinates; by default the passive ones without laws, followers
    and couplings. absolute: body -> kind of a fictitious joint from the world that may carry it, such as
    {"platform": "planar"}. Joints that stay keep their names and the meaning of their coordinates; a cut that becomes a
    joint gives it its name.
    """
    graph = joint_graph(mechanism, cuttable, absolute)
    if spanning(graph, graph.open) is None:
        raise ModelError(f"{mechanism.name} is no tree when its cuts are open; expected one.")
    met = _descent(graph, rounds)
    met[graph.open] = (met[graph.open][0], mechanism)
    ranked = sorted(met, key=lambda opened: (met[opened][0], sorted(opened)))
    before = _operations(mechanism)
    counted = {graph.open: before}
    for opened in ranked[:COUNTED]:
        if opened != graph.open:
            try:
                counted[opened] = _operations(met[opened][1])
            except (ModelError, SolveError):
                continue  # it cannot be partitioned, or not be assembled from q = 0
    best = min(counted, key=lambda opened: (counted[opened], opened != graph.open, sorted(opened)))
    words = _sentence(graph, best, before, counted[best])
    words += f" {len(met)} modellings were compared by predicted operations, {len(counted)} of them counted."
    return Cutting(met[best][1], counted[best], before, words)


def _descent(graph: JointGraph, rounds: int) -> dict[frozenset[str], tuple[int, Mechanism]]:
    """Open edges -> (predicted operations, mechanism) of all modellings met: those on the way, and their neighbours."""
    given = spanning(graph, graph.open)
    assert given is not None
    here = graph.open
    met = {here: (predicted_operations(given), given)}
    for _ in range(rounds):
        around = _neighbours(graph, here, met)
        best = min(around, key=lambda opened: (met[opened][0], sorted(opened)), default=here)
        if met[best][0] >= met[here][0]:
            break
        here = best
    return met


def _neighbours(
    graph: JointGraph, opened: frozenset[str], met: dict[frozenset[str], tuple[int, Mechanism]]
) -> list[frozenset[str]]:
    """What single exchanges lead to, if it is a tree; it is met then."""
    out = []
    for closing in graph.edges:
        if closing.name not in opened or closing.joint is None:
            continue
        for opening in _loop(graph, opened, closing):
            if opening.cut is None and not opening.free:
                continue
            there = opened - {closing.name} | {opening.name}
            if there not in met:
                made = spanning(graph, there)
                if made is None:
                    continue
                try:
                    met[there] = (predicted_operations(made), made)
                except ModelError:
                    continue  # more equations than joints once this one is cut
            out.append(there)
    return out


def _loop(graph: JointGraph, opened: frozenset[str], closing: Edge) -> list[Edge]:
    """Edges of the loop that an edge closes in the tree of the others."""
    tree = [e for e in graph.edges if e.name not in opened]
    back: dict[str, Edge | None] = {closing.a: None}
    front = [closing.a]
    while front:
        here = front.pop()
        for e in tree:
            if here in (e.a, e.b):
                other = e.b if e.a == here else e.a
                if other not in back:
                    back[other] = e
                    front.append(other)
    out, at = [], closing.b
    while (step := back.get(at)) is not None:
        out.append(step)
        at = step.a if step.b == at else step.b
    return out


def _sentence(graph: JointGraph, opened: frozenset[str], before: int, after: int) -> str:
    if opened == graph.open:
        return f"No other cuts take fewer than {before} operations: the cuts stay."
    closed = [_closed(e) for e in graph.edges if e.name in graph.open - opened]
    cut = [e.name for e in graph.edges if e.name in opened - graph.open]
    return f"{', '.join(closed)}; cut instead: {', '.join(cut)}. {before} -> {after} operations."


def _closed(edge: Edge) -> str:
    assert edge.joint is not None
    now = "is rigid now" if edge.joint.kind == "fixed" else f"became a {edge.joint.kind} joint"
    return f"{edge.name} {now}"


# -- operations


def _operations(mechanism: Mechanism) -> int:
    """Counted, with the automatic partition; predicted for large mechanisms."""
    tree = build_tree(mechanism)
    if len(tree.links) > FEW_LINKS:
        return predicted_operations(mechanism)
    found = constraints(tree)
    return counted_operations(found, cheapest_partition(found, PARTITIONS), plain_equations(tree))


def predicted_operations(mechanism: Mechanism) -> int:
    """About: expressions of constraints, M and c as they are, and the reduction by structure alone."""
    tree = build_tree(mechanism)
    found, m_c = constraints(tree), plain_equations(tree)
    entries = [x for r in found.rows for x in (r.h, r.bias, *r.J.values())]
    nodes = [x for x in (*entries, *m_c.mass.flat, *m_c.bias) if isinstance(x, Node)]
    return cost_of(nodes).rank[0] + _reduction(found, tree)


def _reduction(found: Constraints, tree: Tree) -> int:
    if not found.rows:
        return 0
    barred = with_mode(tree.mechanism, "driven")
    dependent = sorted(sparse_choice(found.pattern, barred))
    if -1 in dependent or (match(found.pattern[:, dependent]) < 0).any():
        raise ModelError(f"{tree.mechanism.name} has more constraints than joints that could satisfy them.")
    found_blocks = block_triangular(found.pattern[:, dependent])
    blocks = [Block(b.rows, tuple(dependent[c] for c in b.columns), b.after) for b in found_blocks]
    independent = [i for i in range(len(tree.qd)) if i not in dependent]
    kinds = kinds_of(found, list(range(len(found.rows))))
    return predicted_cost(kinds, mass_pattern(tree), independent, blocks).total
