"""Causality: which of effort and flow each element gives; preferred integral or derivative, sources dualised or not.

The choice is exact: as many storages as possible get what is preferred, then as few sources as possible are dualised
(`relation.choose`). The strokes of the bonds inside follow by the rules of the junctions and explain it (`strokes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from symbody.basics.errors import DefinitionError, ModelError, NameLookupError, nearest, word_argument
from symbody.bondgraph.causality.relation import PortCausality, Relation, choose, relation_of
from symbody.bondgraph.causality.scalars import Residue, residues
from symbody.bondgraph.causality.strokes import PORT, Board, strokes_for
from symbody.bondgraph.graph.bond_graph import DETECTORS, SOURCES, BondGraph
from symbody.bondgraph.graph.flat import Flat, ScalarPort, flatten, is_fixed, is_loss
from symbody.mechanics.proof.prime_field import P

PREFER = ("integral", "derivative")
DUALISE = ("", "sources", "detectors", "all")
MOST_TRIALS = 2000  # orders of storages that `alternatives` tries


@dataclass(frozen=True, eq=False)
class Causality:
    """An assignment; several may live on one graph.

    gives        label of a port -> "e" or "f", what its element gives to the rest
    strokes      (number of a bond, component from 0) -> name of the element or junction that receives the effort
    integral     labels of storages in integral causality, derivative: the others
    dualised     labels of sources and detectors whose causality was turned
    blocked      label of a port that did not get what was preferred -> labels of those that stood in the way
    """

    graph: BondGraph
    prefer: str
    gives: Mapping[str, str]
    strokes: Mapping[tuple[int, int], str]
    integral: tuple[str, ...]
    derivative: tuple[str, ...]
    dualised: tuple[str, ...] = ()
    blocked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def stroke(self, number: int, component: int = 0) -> str:
        """Name of the end of a bond that receives the effort."""
        if (number, component) not in self.strokes:
            raise NameLookupError(f"{self.graph.name} has no stroke at bond {number}, component {component}.")
        return self.strokes[number, component]

    def __str__(self) -> str:
        lines = [f"{self.graph.name}: preferred {self.prefer} causality"]
        lines.append(f"integral: {', '.join(self.integral) or 'none'}")
        lines.append(f"derivative: {', '.join(self.derivative) or 'none'}")
        if self.dualised:
            lines.append(f"dualised: {', '.join(self.dualised)}")
        for label, others in self.blocked.items():
            lines.append(f"{label} is held by {', '.join(others)}")
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class PreparedGraph:
    """A graph in scalars with its relation modulo the prime: what all causalities of it begin with."""

    flat: Flat
    relation: Relation[Residue]

    @property
    def ports(self) -> list[ScalarPort]:
        return self.flat.ports


def prepare(graph: BondGraph, seed: Any = 0) -> PreparedGraph:
    """Scalars and relation at a random point of the moduli."""
    flat = flatten(graph)
    moduli = [n.modulus for n in flat.nodes if n.kind in ("TF", "GY")]
    table = dict(zip(moduli, residues(moduli, graph.graph, seed)))
    table |= {-m: -r for m, r in list(table.items()) if not isinstance(m, int)}

    def scalar(c: Any) -> Residue:
        return Residue((c if c.__class__ is int else table[c]) % P)

    return PreparedGraph(flat, relation_of(flat, scalar))


def wishes(
    ports: Sequence[ScalarPort],
    prefer: str,
    dualise: str = "",
    first: Sequence[int] = (),
    graph: BondGraph | None = None,
) -> Iterator[tuple[int, str]]:
    """(port, what it should give), the most important first."""
    turned = {"sources": SOURCES, "detectors": DETECTORS, "all": (*SOURCES, *DETECTORS)}.get(dualise, ())
    for p in ports:
        if is_fixed(p) and p.kind not in turned:
            yield p.index, p.natural
    opposite = {"e": "f", "f": "e"}
    order = [*first, *(p.index for p in ports if p.is_storage and p.index not in set(first))]
    for k in order:
        yield k, ports[k].natural if prefer == "integral" else opposite[ports[k].natural]
    for p in ports:
        if is_fixed(p):
            yield p.index, p.natural
    for p in ports:
        if is_loss(p):
            law = graph.elements[p.element].law if graph is not None and p.kind == "R" else None
            yield p.index, "e" if law is None else law.gives


def granted(ready: PreparedGraph, prefer: str, dualise: str = "", first: Sequence[int] = ()) -> PortCausality:
    """The best causality; sources or detectors that contradict each other are refused with their bonds."""
    choice = choose(ready.relation, list(wishes(ready.ports, prefer, dualise, first, ready.flat.graph)))
    for k, others in choice.refused.items():
        port = ready.ports[k]
        if is_fixed(port) and dualise == "":
            raise _conflict(ready, port, [ready.ports[o] for o in others])
    return choice


def _conflict(ready: PreparedGraph, port: ScalarPort, others: list[ScalarPort]) -> ModelError:
    flat = ready.flat
    held = [p for p in others if is_fixed(p)]
    names = ", ".join(f"{p.label!r} ({p.kind}) on bond {flat.bond_name(p.bond)}" for p in (port, *held))
    what = "effort" if port.natural == "e" else "flow"
    alone = "" if held else f"; the junctions leave no {what} to it"
    return ModelError(
        f"{flat.graph.name}: {names} cannot all impose their {what if not held else 'effort or flow'}{alone}: what "
        "one gives, the others fix already. Turn one into the other kind of source, or put a resistor or storage in."
    )


def recorded(ready: PreparedGraph, choice: PortCausality, prefer: str) -> Causality:
    """The record of a choice, with strokes on all bonds."""
    ports, flat = ready.ports, ready.flat
    board = strokes_for(flat, choice.gives)
    strokes = {} if board is None else _by_name(board)
    storages = [p for p in ports if p.is_storage]
    right = [p for p in storages if choice.gives[p.index] == p.natural]
    return Causality(
        flat.graph,
        prefer,
        {p.label: choice.gives[p.index] for p in ports},
        strokes,
        tuple(p.label for p in right),
        tuple(p.label for p in storages if p not in right),
        tuple(p.label for p in ports if is_fixed(p) and choice.gives[p.index] != p.natural),
        {
            ports[k].label: tuple(ports[o].label for o in others)
            for k, others in choice.refused.items()
            if not is_loss(ports[k])
        },
    )


def _by_name(board: Board) -> dict[tuple[int, int], str]:
    flat = board.flat
    owner = {p.bond: p for p in flat.ports}
    out: dict[tuple[int, int], str] = {}
    for b, end in board.stroke.items():
        number, place = flat.ends[b]
        if number == 0:
            continue
        name = owner[b].element if end == PORT else flat.nodes[end].name
        if name:  # "" is the junction between two elements that face each other
            out[number, place] = name
        else:
            out.setdefault((number, place), _other_end(flat, b, owner))
    return out


def _other_end(flat: Flat, bond: int, owner: Mapping[int, ScalarPort]) -> str:
    line = flat.graph.bonds[flat.ends[bond][0] - 1]
    return line.other(owner[bond].element)


def assign(
    graph: BondGraph, prefer: str = "integral", dualise: str = "", first: Sequence[str] = (), seed: Any = 0
) -> Causality:
    """The causality with as many storages as possible in what is preferred.

    dualise   "" keeps sources and detectors as they are; "sources", "detectors", "all": they may be turned, as few as
              possible, to let more storages have what is preferred
    first     labels of storages that get it before the others, where not all can
    """
    word_argument("prefer", prefer, PREFER)
    word_argument("dualise", dualise, DUALISE)
    ready = prepare(graph, seed)
    return recorded(ready, granted(ready, prefer, dualise, places(ready, first)), prefer)


def places(ready: PreparedGraph, labels: Sequence[str]) -> list[int]:
    """Places of storages by label."""
    known = {p.label: p.index for p in ready.ports if p.is_storage}
    for label in labels:
        if label not in known:
            raise NameLookupError(f"{ready.flat.graph.name} has no storage {label!r}. {nearest(str(label), known)}")
    return [known[label] for label in labels]


def alternatives(graph: BondGraph, prefer: str = "integral", most: int = 20, dualise: str = "") -> list[Causality]:
    """Causalities that grant the preference to as many storages as the best one, each to other storages.

    `most` bounds how many are given. The sets of storages that are held back are tried smallest change first.
    """
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise DefinitionError(f"most={most!r}; expected a whole number from 1.")
    word_argument("prefer", prefer, PREFER)
    word_argument("dualise", dualise, DUALISE)
    ready = prepare(graph)
    best = granted(ready, prefer, dualise)
    storages = [p.index for p in ready.ports if p.is_storage]
    held = {k for k in storages if k in best.refused}
    found = {frozenset(held): best}
    near = sorted({o for k in held for o in best.refused[k] if ready.ports[o].is_storage} | held)
    trials = 0
    for others in combinations(near, len(held)):
        if len(found) >= most or trials >= MOST_TRIALS or not held:
            break
        trials += 1
        last = set(others)
        if frozenset(last) in found:
            continue
        choice = granted(ready, prefer, dualise, [k for k in storages if k not in last])
        key = frozenset(k for k in storages if k in choice.refused)
        found.setdefault(key, choice)
    return [recorded(ready, choice, prefer) for choice in list(found.values())[:most]]
