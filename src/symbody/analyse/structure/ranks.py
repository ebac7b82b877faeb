"""Structural ranks by engines that share nothing: the matrix itself, blocks of S, causality, and Boolean term rank.

    matrix   rank of A, [A B], ... at a random point modulo a prime: what holds for almost all parameters
    blocks   rank of blocks of the junction structure (thesis II.3.1, 3-6)
    causal   storages that stay integral under preferred derivative causality, with sources or detectors dualised
    term     largest matching of rows and columns with entries that are not zero: relations between entries are lost

The first is the verdict. The others explain it, and where one differs the record says so: term rank is too large where
entries share parameters, blocks and causality where a source acts through resistors alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from symbody.analyse.structure.sample import Sample
from symbody.bondgraph.causality import Causality, Prepared, granted, recorded
from symbody.bondgraph.modular import rank
from symbody.bondgraph.relation import choose

OPPOSITE = {"e": "f", "f": "e"}


@dataclass(frozen=True)
class Rank:
    """Structural rank of a matrix: `value` by the matrix, and what the other engines find."""

    name: str
    value: int
    rows: int
    blocks: int
    causal: int
    term: int

    @property
    def agreed(self) -> bool:
        """Whether matrix, blocks and causality agree; term rank is an upper bound."""
        return self.value == self.blocks == self.causal and self.term >= self.value

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

    @property
    def t(self) -> int:
        return len(self.derivative.integral)

    @property
    def ts(self) -> int:
        return len(self.by_sources.integral)

    @property
    def td(self) -> int:
        return len(self.by_detectors.integral)


def assignments(ready: Prepared) -> Assignments:
    """The causalities of a graph."""

    def made(prefer: str, dualise: str) -> Causality:
        return recorded(ready, granted(ready, prefer, dualise), prefer)

    return Assignments(
        made("integral", ""), made("derivative", ""), made("derivative", "sources"), made("derivative", "detectors"),
        dualisable(ready, ("Se", "Sf")), dualisable(ready, ("De", "Df")),
    )  # fmt: skip


def dualisable(ready: Prepared, kinds: Sequence[str]) -> int:
    """How many sources (or detectors) can be turned together, only I, C and R changing with them."""
    fixed = [(p.index, p.natural) for p in ready.ports if p.natural and not p.is_storage and p.kind not in kinds]
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
    of_B = np.concatenate([b["x", "u"], b["r", "u"]], axis=0)
    of_C = np.concatenate([b["y", "x"], b["y", "r"]], axis=1)
    rows = (
        ("A", s.A, of_A, n - found.t, n),
        ("[A B]", wide, of_AB, n - found.ts, n),
        ("[A; C]", tall, of_AC, n - found.td, n),
        ("B", s.B, of_B, found.free_sources, s.B.shape[1]),
        ("C", s.C, of_C, found.free_detectors, s.C.shape[0]),
    )
    return {name: Rank(name, rank(m), most, rank(block), causal, term_rank(m)) for name, m, block, causal, most in rows}


def zero_eigenvalues(A: np.ndarray) -> int:
    """How many eigenvalues are zero whatever the parameters: n - rank of high powers of A."""
    from symbody.bondgraph.modular import product

    n = len(A)
    if not n:
        return 0
    power, count, known = A, rank(A), n
    while count != known and count:
        power = product(power, A)
        known, count = count, rank(power)
    return n - count
