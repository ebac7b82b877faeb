"""Switches: a graph in one of its modes. A switch that is on has no effort, one that is off no flow.

On a 1-junction it lets pass or stops (a switched junction), on a 0-junction it shorts. Causality may differ from mode
to mode: each mode is a graph of its own, in which the switch is a source of zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

import numpy as np

from symbody.basics.errors import DefinitionError, NameLookupError, nearest, wrong_argument
from symbody.bondgraph.causality.causality import Causality, assign
from symbody.bondgraph.graph.bond_graph import SWITCH, Bond, BondGraph
from symbody.bondgraph.graph.check_graph import check_graph

MOST_MODES = 256


def in_mode(graph: BondGraph, modes: Mapping[str, bool]) -> BondGraph:
    """The graph with switches set: on is a source of zero effort, off one of zero flow. Others stay switches."""
    if not isinstance(modes, Mapping):
        raise wrong_argument("modes", modes, "switch -> True or False, in a dict")
    switches = {e.name for e in graph.of_kind(SWITCH)}
    elements = dict(graph.elements)
    for name, on in modes.items():
        if name not in switches:
            raise NameLookupError(f"{graph.name} has no switch {name!r}. {nearest(name, switches)}")
        if not isinstance(on, (bool, np.bool_)):
            raise DefinitionError(f"the switch {name!r} is set to {on!r}; expected True (on) or False (off).")
        zero = np.empty((), dtype=object)
        zero[()] = graph.graph.zero
        elements[name] = replace(elements[name], kind="Se" if on else "Sf", value=zero)
    bonds = tuple(_turned(b) if b.head in modes else b for b in graph.bonds)
    made = replace(graph, elements=elements, bonds=bonds)
    check_graph(made)
    return made


def _turned(b: Bond) -> Bond:
    """Power is counted out of sources; the value is zero, so nothing else changes."""
    return replace(b, tail=b.head, head=b.tail)


def modes_of(graph: BondGraph) -> Iterator[dict[str, bool]]:
    """All settings of the switches."""
    names = [e.name for e in graph.of_kind(SWITCH)]
    if 2 ** len(names) > MOST_MODES:
        raise DefinitionError(f"{graph.name} has {len(names)} switches; at most {MOST_MODES} modes are listed.")
    for values in product((True, False), repeat=len(names)):
        yield dict(zip(names, values))


def causality_by_mode(graph: BondGraph, prefer: str = "integral") -> list[tuple[dict[str, bool], Causality]]:
    """The causality of every mode: which storages are states may change where a switch turns."""
    return [(modes, assign(in_mode(graph, modes), prefer)) for modes in modes_of(graph)]
