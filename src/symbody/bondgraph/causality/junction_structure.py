"""The matrix S of the junction structure: what elements receive, from what they give (thesis II.1.1).

[ dx_I ]   [ S11 S12 S13 S14 ] [ z_I   ]      x_I  energies of storages in integral causality, z_I their co-energies
[ z_D  ] = [ S21 ...         ] [ dx_D  ]      x_D  of storages in derivative causality
[ d_in ]                       [ d_out ]      d    resistors: what they receive and give
[ y    ]                       [ u     ]      u    sources, y detectors; w: what sources receive
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import word_argument
from symbody.bondgraph.causality.causality import Causality as _Causality
from symbody.bondgraph.causality.causality import PreparedGraph, granted, places, prepare, recorded
from symbody.bondgraph.causality.relation import Matrix, relation_of, solved
from symbody.bondgraph.causality.scalars import ZERO, Twin, residues
from symbody.bondgraph.graph.bond_graph import DETECTORS, SOURCES, BondGraph
from symbody.bondgraph.graph.flat import ScalarPort, is_loss
from symbody.symbolic.expr.pickling import Packed

GROUPS = ("integral", "derivative", "loss", "source", "detector")


@dataclass(frozen=True, eq=False)
class JunctionStructure(Packed):
    """S by groups of ports.

    groups     "integral", "derivative", "loss", "source", "detector" -> ports in order
    entries    result -> {given: expression}, by places of ports
    causality  that it belongs to
    """

    graph: BondGraph
    causality: _Causality
    groups: dict[str, tuple[ScalarPort, ...]]
    entries: Matrix[Twin]

    def block(self, rows: str, columns: str) -> np.ndarray:
        """(rows, columns) block as expressions: integral, derivative, loss, source, detector."""
        return self._filled(rows, columns, lambda x: x.node)

    def residues(self, rows: str, columns: str) -> np.ndarray:
        """(rows, columns) block of residues modulo the prime, at the point where the causality was chosen."""
        return self._filled(rows, columns, lambda x: x.r)

    def _filled(self, rows: str, columns: str, of: Any) -> np.ndarray:
        for word in (rows, columns):
            word_argument("block", word, GROUPS)
        down, across = self.groups[rows], self.groups[columns]
        out = np.full((len(down), len(across)), 0, dtype=object)
        for i, a in enumerate(down):
            row = self.entries[a.index]
            for j, b in enumerate(across):
                out[i, j] = of(row.get(b.index, ZERO))
        return out

    @property
    def S(self) -> np.ndarray:
        """The whole matrix, groups in their order."""
        return np.block([[self.block(r, c) for c in GROUPS] for r in GROUPS])

    def labels(self, group: str) -> tuple[str, ...]:
        return tuple(p.label for p in self.groups[group])


def junction_structure(graph: BondGraph, first: Sequence[str] = (), prefer: str = "integral") -> JunctionStructure:
    """S for the preferred causality; `first`: storages that get it before the others."""
    ready = prepare(graph)
    choice = granted(ready, prefer, "", places(ready, first))
    return structure_for(ready, recorded(ready, choice, prefer), choice.gives)


def structure_for(ready: PreparedGraph, causality: _Causality, gives: Sequence[str]) -> JunctionStructure:
    """S for a causality that was chosen."""
    graph, ports = ready.flat.graph, ready.ports
    moduli = [n.modulus for n in ready.flat.nodes if n.kind in ("TF", "GY")]
    table = {m: Twin(m, r) for m, r in zip(moduli, residues(moduli, graph.graph))}
    table |= {-m: -x for m, x in list(table.items()) if not isinstance(m, int)}

    def scalar(c: Any) -> Twin:
        return Twin(c, c) if c.__class__ is int else table[c]

    entries = solved(relation_of(ready.flat, scalar), gives)
    storages = [p for p in ports if p.is_storage]
    groups = {
        "integral": tuple(p for p in storages if gives[p.index] == p.natural),
        "derivative": tuple(p for p in storages if gives[p.index] != p.natural),
        "loss": tuple(p for p in ports if is_loss(p)),
        "source": tuple(p for p in ports if p.kind in SOURCES),
        "detector": tuple(p for p in ports if p.kind in DETECTORS),
    }
    return JunctionStructure(graph, causality, groups, entries)
