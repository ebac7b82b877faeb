"""Structural ranks by engines that share nothing: the matrix itself, blocks of S, causality, and Boolean term rank.

    matrix   rank of A, [A B], ... at a random point modulo a prime: what holds for almost all parameters
    blocks   rank of blocks of the junction structure (thesis II.3.1, 3-4); of B and C bordered by the laws of resistors
    causal   storages that stay integral under preferred derivative causality, with sources or detectors dualised; of B
             and C how many sources (detectors) can be dualised (II.3.5-6), which also counts those that meet resistors
             or dependent storages alone: an upper bound
    term     largest matching of rows and columns with entries that are not zero: relations between entries are lost

The first is the verdict, the others explain it. Where one contradicts it the record says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from symbody.bondgraph.causality.causality import Causality, PreparedGraph, granted, recorded
from symbody.bondgraph.causality.relation import choose
from symbody.bondgraph.graph.bond_graph import DETECTORS, SOURCES
from symbody.bondgraph.structure.sample import Sample
from symbody.mechanics.proof.modular import product, rank
from symbody.mechanics.proof.prime_field import P

OPPOSITE = {"e": "f", "f": "e"}


@dataclass(frozen=True)
class Rank:
    """Structural rank of a matrix: `value` by the matrix, and what the other engines find; None: nothing."""

    name: str
    value: int
    rows: int
    blocks: int | None
    causal: int | None
    term: int

    @property
    def agreed(self) -> bool:
        """Whether the engines agree; term rank, and causality of B and C, are upper bounds."""
        if self.causal is None:
            return self.term >= self.value
        causal = self.causal >= self.value if self.name in "BC" else self.causal == self.value
        return self.blocks in (None, self.value) and causal and self.term >= self.value

    def __str__(self) -> str:
        text = f"{self.name}: {self.value} of {self.rows}"
        if not self.agreed:
            text += f" (blocks {self.blocks}, causality {self.causal})"
        return text if self.term == self.value else f"{text}; term rank {self.term}, which does not see relations"


@dataclass(frozen=True, eq=False)
class Assignments:
    """Causalities that the ranks are read from.

    integral, derivative     preferred; t = storages that stay integral under derivative
    by_sources, by_detectors preferred derivative with as few as possible of them dualised
    """

    integral: Causality
    derivative: Causality
    by_sources: Causality
    by_detectors: Causality
    free_sources: int
    free_detectors: int
    all_sources: int  # as free_sources, where detectors may turn with them

    @property
    def t(self) -> int:
        return len(self.derivative.integral)

    @property
    def ts(self) -> int:
        return len(self.by_sources.integral)

    @property
    def td(self) -> int:
        return len(self.by_detectors.integral)


def assignments(ready: PreparedGraph) -> Assignments:
    """The causalities of a graph."""

    first = granted(ready, "integral")
    late = [p.index for p in ready.ports if p.is_storage and first.gives[p.index] != p.natural]

    def made(prefer: str, dualise: str) -> Causality:
        # dependent storages take derivative causality first: what stays integral is a state then
        return recorded(ready, granted(ready, prefer, dualise, late if prefer == "derivative" else ()), prefer)

    return Assignments(
        made("integral", ""),
        made("derivative", ""),
        made("derivative", "sources"),
        made("derivative", "detectors"),
        dualisable(ready, SOURCES),
        dualisable(ready, DETECTORS),
        dualisable(ready, SOURCES, held=()),
    )


def dualisable(ready: PreparedGraph, kinds: Sequence[str], held: Sequence[str] = (*SOURCES, *DETECTORS)) -> int:
    """How many sources (or detectors) can be turned together, those of other kinds that are held not changing."""
    fixed = [(p.index, p.natural) for p in ready.ports if p.kind in held and p.kind not in kinds]
    turned = [p for p in ready.ports if p.kind in kinds]
    rest = [(p.index, p.natural or "e") for p in ready.ports]
    choice = choose(ready.relation, [*fixed, *((p.index, OPPOSITE[p.natural]) for p in turned), *rest])
    return sum(choice.gives[p.index] != p.natural for p in turned)


def term_rank(matrix: np.ndarray) -> int:
    """Size of the largest matching of the entries that are not zero."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    if not matrix.size:
        return 0
    pattern = csr_matrix(np.array(matrix != 0, dtype=np.int8))
    return int((maximum_bipartite_matching(pattern, perm_type="column") >= 0).sum())


def ranks(s: Sample, found: Assignments) -> dict[str, Rank]:
    """A, B, C, [A B] and [A; C]."""
    b, n = s.blocks, len(s.A)
    wide = np.concatenate([s.A, s.B], axis=1)
    tall = np.concatenate([s.A, s.C], axis=0)
    of_A = np.concatenate([b["x", "x"], b["x", "r"]], axis=1)
    of_AB = np.concatenate([of_A, b["x", "u"]], axis=1)
    of_AC = np.concatenate([b["x", "x"], b["r", "x"], b["y", "x"]], axis=0)
    if s.fed:
        rows = (("A", s.A, n), ("[A B]", wide, n), ("[A; C]", tall, n), ("B", s.B, s.B.shape[1]), ("C", s.C, len(s.C)))
        return {name: Rank(name, rank(m), most, None, None, term_rank(m)) for name, m, most in rows}
    out = {
        name: Rank(name, rank(m), n, rank(block), n - left, term_rank(m))
        for name, m, block, left in (
            ("A", s.A, of_A, found.t),
            ("[A B]", wide, of_AB, found.ts),
            ("[A; C]", tall, of_AC, found.td),
        )
    }
    out["B"] = Rank("B", rank(s.B), s.B.shape[1], _bordered_B(s), found.free_sources, term_rank(s.B))
    out["C"] = Rank("C", rank(s.C), s.C.shape[0], _bordered_C(s), found.free_detectors, term_rank(s.C))
    return out


def _bordered_B(s: Sample) -> int | None:
    """Rank of S14 + S13 N S34 as that of a matrix without inverses; None where a source drives a dependent storage."""
    b, (out, into) = s.blocks, s.loss
    if b["d", "u"].any():
        return None
    inner = (out + product(into, b["r", "r"])) % P
    rows = [[inner, product(into, b["r", "u"])], [b["x", "r"], b["x", "u"]]]
    return rank(np.concatenate([np.concatenate(row, axis=1) for row in rows], axis=0)) - len(out)


def _bordered_C(s: Sample) -> int | None:
    """Rank of S41 + S43 N S31, as `_bordered_B` finds it; None where a detector reads a dependent storage."""
    b, (out, into) = s.blocks, s.loss
    if b["y", "d"].any():
        return None
    inner = (out + product(into, b["r", "r"])) % P
    rows = [[inner, product(into, b["r", "x"])], [b["y", "r"], b["y", "x"]]]
    return rank(np.concatenate([np.concatenate(row, axis=1) for row in rows], axis=0)) - len(out)


def zero_eigenvalues(A: np.ndarray) -> int:
    """How many eigenvalues are zero whatever the parameters: n - rank of high powers of A."""
    n = len(A)
    if not n:
        return 0
    power, count, known = A, rank(A), n
    while count != known and count:
        power = product(power, A)
        known, count = count, rank(power)
    return n - count
