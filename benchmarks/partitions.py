"""Automatic cutting and partition of closed loops beside all other choices, or random ones: operations of the programs.

A choice is a spanning tree of the joints (what is cut) and a set of independent velocities. Admissible are those whose
J_v is regular, with a condition up to the bound that the automatic choice keeps to.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

import symbody as sb
from benchmarks.record import Claim, Options, Section
from symbody.basics.errors import ModelError, SolveError
from symbody.mechanics.assembly.assembly import closed_samples
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.cutting.cutting import recut
from symbody.mechanics.loops.cutting.joint_graph import joint_graph, spanning
from symbody.mechanics.loops.equations.tree_equations import Opened
from symbody.mechanics.loops.partition.counted import counted_operations, plain_equations
from symbody.mechanics.loops.partition.partition import CONDITION, Partition, choose_partition
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.model.record.coordinates import velocity_labels
from symbody.model.record.mechanism import Mechanism

GIVEN = ("four_bar", "three_rrr_1", "three_rrr_2", "three_rrr_3", "three_rrr_4", "three_loops")
RECUT = ("four_bar", "three_rrr_1", "three_rrr_2", "three_rrr_4")
RANDOM = ("multi_link_suspension", "stewart")
QUICK_GIVEN, QUICK_RECUT = ("four_bar", "three_rrr_4"), ("four_bar",)
DRAWN = 300  # random admissible choices
COUNTED, PROGRAMS = 20, 5  # of all choices by a rough count: those counted well, and those whose programs are made
LIMIT = 1.05


@dataclass(frozen=True, eq=False)
class Modelling:
    """A mechanism with its cuts, and what the partitions of it need."""

    mechanism: Mechanism
    found: Constraints
    samples: np.ndarray
    equations: Opened

    @property
    def columns(self) -> list[str]:
        """Velocities in loops."""
        names = velocity_labels(self.constraints.tree.mechanism)
        return [names[k] for k in np.flatnonzero(self.constraints.pattern.any(axis=0))]

    @property
    def free(self) -> int:
        """How many of them are independent."""
        return len(self.columns) - len(self.constraints.rows)

    def partition(self, independent: tuple[str, ...]) -> Partition | None:
        """None where it is not admissible."""
        try:
            made = choose_partition(self.constraints, independent, samples=self.samples)
        except ModelError:
            return None
        return made if made.condition <= CONDITION else None


def run(options: Options) -> list[Section]:
    columns = ["model", "choices", "admissible", "best", "auto", "auto / best", "auto, s", "search, s"]
    given = Section("partitions", "Partitions: operations of forward dynamics, cuts as they are given", columns)
    cut = Section("cuts", "Cuts and partitions: operations of forward dynamics, cut automatically", columns)
    for name in QUICK_GIVEN if options.quick else GIVEN:
        _compare(given, name, [sb.load(name)], None)
    for name in QUICK_RECUT if options.quick else RECUT:
        _compare(cut, name, _modellings(sb.load(name)), None, recutting=True)
    for name in () if options.quick else RANDOM:
        mechanism = sb.load(name)
        _compare(given, name, [mechanism], DRAWN)
        _compare(cut, name, _modellings(mechanism), DRAWN, recutting=True)
    note = (
        f"one iteration of each block included; every admissible choice is counted roughly, the best {COUNTED} of them "
        f"better, and of the best {PROGRAMS} programs are made, like that of the automatic choice"
    )
    drawn = f"{', '.join(RANDOM)}: {DRAWN} random choices, or all where there are fewer"
    given.notes = cut.notes = [note, drawn]
    return [given, cut]


def _compare(
    section: Section, name: str, mechanisms: list[Mechanism], drawn: int | None, recutting: bool = False
) -> None:
    start = time.perf_counter()
    mechanism = sb.load(name)  # not one that an earlier run has a partition of
    auto = operations(recut(mechanism).mechanism if recutting else mechanism, "auto")
    chosen = time.perf_counter()
    models = [m for m in map(_modelling, mechanisms) if m is not None]
    tried = 0
    rough: list[tuple[int, int, Modelling, Partition]] = []
    for model, independent in _choices(models, drawn):
        tried += 1
        made = model.partition(independent)
        if made is not None:
            rough.append(
                (counted_operations(model.constraints, made, model.equations, "none"), len(rough), model, made)
            )
        if drawn is not None and len(rough) == drawn:
            break
    first = sorted(rough, key=lambda x: x[:2])[:COUNTED]
    better = sorted(
        ((counted_operations(model.constraints, made, model.equations), k, model, made) for _, k, model, made in first),
        key=lambda x: x[:2],
    )
    best = min(operations(model.mechanism, made) for _, _, model, made in better[:PROGRAMS])
    section.add(
        **{
            "model": name, "choices": tried, "admissible": len(rough), "best": best,
            "auto": auto, "auto / best": auto / best, "auto, s": chosen - start,
            "search, s": time.perf_counter() - chosen,
        }
    )  # fmt: skip
    what = "cuts and partition" if recutting else "partition"
    section.claims.append(Claim(f"automatic {what} of {name} by the best of the others", auto / best, LIMIT))


def operations(mechanism: Mechanism, partition: str | Partition) -> int:
    """Of forward dynamics, with one iteration of each block."""
    counts = sb.forward_dynamics(mechanism, formalism="base", partition=partition, preset="standard").count()
    return counts.total + sum(block.total for block in counts.blocks)


def _modellings(mechanism: Mechanism) -> list[Mechanism]:
    """Every spanning tree of the joints, the given one among them."""
    graph = joint_graph(mechanism)
    cuttable = [e.name for e in graph.edges if e.cut is not None]
    made = [spanning(graph, opened) for opened in combinations(cuttable, len(graph.open))]
    return [m for m in made if m is not None]


def _modelling(mechanism: Mechanism) -> Modelling | None:
    """None where it cannot be assembled, or has more equations than joints."""
    tree = build_tree(mechanism)
    found = constraints(tree)
    try:
        made = Modelling(mechanism, found, closed_samples(found), plain_equations(tree))
    except SolveError:
        return None
    return made if made.free >= 0 else None


def _choices(models: list[Modelling], drawn: int | None) -> Iterator[tuple[Modelling, tuple[str, ...]]]:
    """All choices, or random ones without an end, where there are more than `drawn`."""
    total = sum(comb(len(m.columns), m.free) for m in models)
    if drawn is None or total <= drawn:
        for m in models:
            yield from ((m, c) for c in combinations(m.columns, m.free))
        return
    rng = np.random.default_rng(0)
    seen: set[tuple[int, tuple[str, ...]]] = set()
    while len(seen) < total:
        k = int(rng.integers(len(models)))
        m = models[k]
        independent = tuple(m.columns[i] for i in sorted(rng.choice(len(m.columns), m.free, replace=False)))
        if (k, independent) not in seen:
            seen.add((k, independent))
            yield m, independent
