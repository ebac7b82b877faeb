"""What can be said of a bond graph before any number is known: ranks, controllability, observability, zeros.

Every verdict holds for almost all values of the parameters, with relations between them kept. It comes from exact ranks
at a random point modulo a prime; beside it stand the causal procedure of the graph, which explains it (Sueur and
Dauphin-Tanguy 1991), and Boolean term rank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.basics.errors import SymbodyError, whole_argument
from symbody.bondgraph.causality.causal_loops import CausalLoop, unsolvable_loops
from symbody.bondgraph.causality.causality import prepare
from symbody.bondgraph.graph.bond_graph import BondGraph
from symbody.bondgraph.structure.algebraic_relations import AlgebraicRelation, relations
from symbody.bondgraph.structure.conditions import LARGEST, Condition, conditions
from symbody.bondgraph.structure.ranks import Assignments, Rank, assignments, ranks, zero_eigenvalues
from symbody.bondgraph.structure.reach import Kalman, ReachableSpace, kalman, output_controllable, reach
from symbody.bondgraph.structure.sample import Sample, sample_of
from symbody.bondgraph.structure.sets import MOST, Sets, sets_of
from symbody.bondgraph.structure.zeros import Zeros, zeros_of
from symbody.mechanics.proof.modular import rank


@dataclass(frozen=True, eq=False)
class Analysis:
    """Structural properties of a graph.

    ranks              "A", "B", "C", "[A B]", "[A; C]" -> Rank by four engines
    zero_eigenvalues   how many eigenvalues are zero for all parameters; `bound` are the relations between states
    reached, shown     what the sources reach and the detectors show, with indices
    uncontrollable, unobservable   storages that stay integral when all sources (detectors) may be dualised, or that no
                       causal path reaches
    sources, detectors members and smallest sets; kalman: the four parts
    output_rank        rank of [C B, C A B, ..., D]: outputs can be brought anywhere if it is their number. That they
                       can follow independent courses needs a transfer matrix of that rank; `refused` says which
                       sufficient conditions of the graph forbid it
    zeros              finite and infinite; unsolvable: loops of gain 1 that forbid a causality
    conditions         when verdicts fail, of up to 12 states
    by_source          source -> storages that it alone leaves uncontrollable
    """

    graph: BondGraph
    states: tuple[str, ...]
    assignments: Assignments
    sample: Sample
    ranks: dict[str, Rank]
    zero_eigenvalues: int
    bound: list[AlgebraicRelation]
    reached: ReachableSpace
    shown: ReachableSpace
    uncontrollable: tuple[str, ...]
    unobservable: tuple[str, ...]
    sources: Sets
    detectors: Sets
    kalman: Kalman
    output_rank: int
    refused: tuple[str, ...]
    zeros: Zeros
    unsolvable: list[CausalLoop]
    conditions: list[Condition]
    by_source: dict[str, tuple[AlgebraicRelation, ...]]

    @property
    def controllable(self) -> bool:
        return self.reached.complete

    @property
    def observable(self) -> bool:
        return self.shown.complete

    @property
    def output_controllable(self) -> bool:
        """Whether all outputs can be brought to any values."""
        return self.output_rank == len(self.sample.labels("y"))

    @property
    def functional(self) -> bool:
        """Whether all outputs can follow any courses: the transfer matrix has full row rank."""
        return self.zeros.rank == len(self.sample.labels("y"))

    @property
    def disagreements(self) -> list[str]:
        """Sentences on engines that do not agree; each has its reason in the engine's limits."""
        out = [f"ranks differ for {r}" for r in self.ranks.values() if not r.agreed]
        if self.sample.fed:  # causality does not see signals
            return out
        causal = not self.uncontrollable, not self.unobservable
        exact = self.controllable, self.observable
        for word, a, b in zip(("controllability", "observability"), exact, causal):
            if a != b:
                out.append(f"{word}: {a} by exact ranks, {b} by causality")
        if self.refused and self.functional:
            out.append("outputs can follow any courses by exact ranks, not by causality")
        if self.zeros.rank > len(self.zeros.paths):
            out.append(f"zeros at infinity: {list(self.zeros.infinite)} by ranks, {list(self.zeros.paths)} by paths")
        return out

    def digraph(self) -> dict[str, list[str]]:
        """The structure digraph: input or state -> states and outputs that it acts on at once."""
        s = self.sample
        x, u, y = self.states, s.labels("u"), s.labels("y")
        out: dict[str, list[str]] = {n: [] for n in (*u, *x, *y)}
        for names, rows, matrix in ((x, x, s.A), (u, x, s.B), (x, y, s.C), (u, y, s.D)):
            for i, j in np.argwhere(matrix != 0):
                out[names[j]].append(rows[i])
        return out

    def __str__(self) -> str:
        from symbody.bondgraph.structure.analysis_text import words_of

        return words_of(self)

    __repr__ = __str__


def analyse(graph: BondGraph, most: int = MOST, expand: bool = True) -> Analysis:
    """All structural properties of a graph.

    most     alternatives that are listed; expand   whether the conditions under which verdicts fail are worked out
    """
    whole_argument("most", most, 1)
    ready = prepare(graph)
    s = sample_of(graph)
    found = assignments(ready)
    n, labels = len(s.A), s.labels("x")
    states = tuple(f"{'p' if p.kind == 'I' else 'q'}_{p.label}" for p in s.ports["x"])
    own = s.A if s.fed else _beside(s, "x", "r")  # rows that cancel are states that are bound
    by = s.B if s.fed else s.blocks["x", "u"]
    forward, backward = reach(s.A, s.B), reach(s.A.T, s.C.T)
    dark = _dark(None if s.fed else found.by_sources.integral, forward, labels)
    hidden = _dark(None if s.fed else found.by_detectors.integral, backward, labels)
    left = n - rank(s.A)
    sources = sets_of(s.A, s.B, s.labels("u"), max(left, 1), most)
    detectors = sets_of(s.A.T, s.C.T, s.labels("y"), max(left, 1), most)
    verdicts = [
        *(["rank A"] if n and not left else []),
        *(["controllable"] if n and forward.complete else []),
        *(["observable"] if n and backward.complete else []),
    ]
    return Analysis(
        graph, states, found, s, ranks(s, found), zero_eigenvalues(s.A), relations(own, labels, most), forward,
        backward, dark, hidden, sources, detectors, kalman(forward, backward, labels, set(dark), set(hidden)),
        output_controllable(s.A, s.B, s.C, s.D), _refused(s, found), zeros_of(s.A, s.B, s.C, s.D),
        unsolvable_loops(graph), _conditions(graph, n, verdicts if expand else []),
        {p.label: tuple(relations(np.concatenate([own, by[:, [k]]], axis=1), labels, most))
         for k, p in enumerate(s.ports["u"])},
    )  # fmt: skip


def _beside(s: Sample, *groups: str) -> np.ndarray:
    return np.concatenate([s.blocks["x", g] for g in groups], axis=1)


def _dark(integral: tuple[str, ...] | None, found: ReachableSpace, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Storages that stay integral, and those that no path reaches; None: those without a pivot in what is reached."""
    apart = {labels[k] for k in found.unreached}
    if integral is None:
        pivots = {int(np.flatnonzero(row)[0]) for row in found.basis}
        integral = tuple(n for k, n in enumerate(labels) if k not in pivots)
    return tuple(n for n in labels if n in apart or n in integral)


def _refused(s: Sample, found: Assignments) -> tuple[str, ...]:
    """Which sufficient conditions say that outputs cannot be controlled independently (thesis II.3.11-14)."""
    b, q = s.blocks, len(s.ports["y"])
    seen = np.concatenate([b["y", "x"], b["y", "d"], b["y", "r"], b["y", "u"]], axis=1)
    acting = np.concatenate([b["x", "u"], b["d", "u"], b["r", "u"], b["y", "u"]], axis=0)
    out = []
    if rank(seen) < q:
        out.append("a detector cannot be dualised: detectors repeat each other")
    if rank(acting) < q:
        out.append(f"only {rank(acting)} sources act independently, fewer than the {q} detectors")
    if found.all_sources < q:
        out.append(f"only {found.all_sources} sources can be dualised, fewer than the {q} detectors")
    return tuple(out)


def _conditions(graph: BondGraph, n: int, verdicts: list[str]) -> list[Condition]:
    """Conditions of verdicts; those of large graphs, or without constant matrices, stay modular and say so."""
    if verdicts and n <= LARGEST:
        try:
            return conditions(graph.matrices(), verdicts)
        except SymbodyError:  # moduli move: tangents have no formula of their own
            pass
    return [Condition(verdict, {}, open=tuple(graph.parameters)) for verdict in verdicts]
