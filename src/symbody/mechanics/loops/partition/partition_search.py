"""Automatic choice of dependent coordinates: least predicted operations among well conditioned choices.

Constraints that share no coordinate are searched apart. A part with few possible choices is enumerated; a larger one is
searched from the structural and the numeric choice by exchanging one dependent coordinate for an independent one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.formalisms.composite import mass_matrix
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.loops.partition.heuristic import sparse_choice
from symbody.mechanics.loops.partition.pivoting import numeric_choice
from symbody.mechanics.loops.partition.predicted import FULL, NONE, UNIT, predicted_cost
from symbody.mechanics.loops.partition.structure import Block, block_triangular, match
from symbody.symbolic.expr.arrays import is_zero
from symbody.symbolic.expr.lu import lu_count
from symbody.symbolic.expr.node import CONST, Node
from symbody.symbolic.expr.walk import quiet_collector

ENUMERATED = 1500  # choices of one part that are all looked at
BEAM = 12  # choices kept from round to round where they are not
ROUNDS = 12
COMPARED = 40  # of the choices with the smallest blocks, how many are counted in detail
FAIR = 10.0  # condition of J up to which a configuration is regular
SINGULAR = 1e12  # condition beyond which a choice is not looked at
NEAR = 1.02  # costs among which the condition decides
SAME, SLACK = 1.01, 2.0  # cost and condition that count as equal
QUATERNION = 1000  # operations that a dependent quaternion is taken to cost
MIXED = 100_000  # a block that mixes position and velocity constraints cannot be solved for coordinates


@dataclass(frozen=True, eq=False)
class PartitionProblem:
    """What a choice depends on; rows of pattern, kinds and numbers are `rows`, their columns all velocities.

    rows, candidates   row numbers of the Constraints; velocities that may be dependent
    pattern, kinds     (m, nv) bool; NONE, UNIT, FULL
    mass               (nv, nv) bool: pattern of M
    numbers            (k, m, nv) J at samples, scaled
    condition          largest condition number of J_v that is accepted
    quaternions        velocities of ball and free joints
    velocity_rows      places in rows of constraints on velocities only
    actuated           velocities of actuated joints
    """

    rows: list[int]
    candidates: list[int]
    pattern: np.ndarray
    kinds: np.ndarray
    mass: np.ndarray
    numbers: np.ndarray
    condition: float
    quaternions: frozenset[int]
    velocity_rows: tuple[int, ...] = ()
    actuated: frozenset[int] = frozenset()


@dataclass(frozen=True)
class DependentChoice:
    """Dependent columns of one part, their blocks, predicted cost, and condition of J_v as `_condition` has it."""

    columns: tuple[int, ...]
    blocks: tuple[Block, ...]
    cost: int
    condition: float


def ranked_choices(p: PartitionProblem, count: int = 1) -> tuple[list[list[int]], str]:
    """(up to `count` sets of dependent velocities, the best first, and a sentence about the search).

    Each further one has another predicted cost: choices of equal cost are often images of each other.
    """
    ranked: list[list[DependentChoice]] = []
    looked = 0
    bad: list[float] = []
    for rows, columns in parts(p):
        tried = _search(p, rows, columns)
        looked += len(tried)
        good = [c for c in tried if c.condition <= p.condition]
        if good:
            ranked.append(_ranked(p, good)[:count])
        else:
            ranked.append([min(tried, key=lambda c: (c.condition, c.cost))])
            bad.append(ranked[-1][0].condition)
    text = (
        f"Automatic: {looked} choices compared by predicted operations, with condition of J_v up to {p.condition:.0g}."
    )
    if bad:
        text += f" No choice keeps to that bound; the best conditioned was taken ({max(bad):.2g})."
    longest = max((len(r) for r in ranked), default=1)
    # parts are often alike: all of them take their k-th choice together
    return [[x for r in ranked for x in r[min(k, len(r) - 1)].columns] for k in range(longest)], text


def _ranked(p: PartitionProblem, good: list[DependentChoice]) -> list[DependentChoice]:
    """The best choice, then the best one of each cost."""
    first = _best(p, good)
    out = {first.cost: first}
    for c in sorted(good, key=lambda c: (c.cost, len(p.actuated & set(c.columns)), c.condition, c.columns)):
        out.setdefault(c.cost, c)
    return list(out.values())


def _best(p: PartitionProblem, good: list[DependentChoice]) -> DependentChoice:
    """The best conditioned of the cheapest choices. Of those that are as good, one that keeps most actuated joints
    independent: they run through their whole range."""
    least = min(c.cost for c in good)
    first = min((c for c in good if c.cost <= NEAR * least), key=lambda c: (c.condition, c.cost, c.columns))
    alike = [c for c in good if c.cost <= SAME * first.cost and c.condition <= SLACK * first.condition]
    return min(alike, key=lambda c: (len(p.actuated & set(c.columns)), c.condition, c.cost, c.columns))


def parts(p: PartitionProblem) -> Iterator[tuple[list[int], list[int]]]:
    """(rows, candidate columns) of parts that share no column; rows are places in p.rows."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    if not len(p.rows):
        return
    e = p.pattern[:, p.candidates]
    count, label = connected_components(csr_matrix(e.astype(int) @ e.astype(int).T), directed=False)
    for k in range(count):
        rows = [int(i) for i in np.flatnonzero(label == k)]
        yield rows, [c for j, c in enumerate(p.candidates) if e[rows, j].any()]


def _search(p: PartitionProblem, rows: list[int], columns: list[int]) -> list[DependentChoice]:
    """Choices worth comparing, in detail."""
    m = len(rows)
    J = p.numbers[:, rows]
    whole = np.linalg.svd(J[:, :, columns], compute_uv=False) if len(J) else np.zeros((0, m))

    def screened(sets: Iterable[tuple[int, ...]], bound: float = SINGULAR) -> list[tuple[int, tuple[int, ...]]]:
        """(cost by block sizes alone, columns) of choices that are regular by structure and at the samples."""
        out = []
        for c in sets:
            e = p.pattern[np.ix_(rows, c)]
            if (match(e) < 0).any():
                continue
            if _condition(J[:, :, list(c)], whole) > bound:
                continue
            sizes = [b.size for b in block_triangular(e)]
            out.append((sum(lu_count(n) for n in sizes) + QUATERNION * len(p.quaternions & set(c)), c))
        return sorted(out)

    first = _seeds(p, rows, columns)
    seeds = screened(first) or screened(first, np.inf)
    if comb(len(columns), m) <= ENUMERATED:
        rough = screened(combinations(columns, m))
    else:
        rough = _exchanged(seeds, columns, screened)
    compared = dict.fromkeys(c for _, c in [*rough[:COMPARED], *seeds])
    return [_judged(p, rows, c, _condition(J[:, :, list(c)], whole)) for c in compared]


def _seeds(p: PartitionProblem, rows: list[int], columns: list[int]) -> list[tuple[int, ...]]:
    """The structural and the numeric choice."""
    barred = [i for i in range(p.pattern.shape[1]) if i not in columns]
    out = [tuple(sorted(sparse_choice(p.pattern[rows], barred)))]
    if len(p.numbers):
        out.append(tuple(sorted(columns[k] for k in numeric_choice(p.numbers[:, rows][:, :, columns]))))
    return [c for c in dict.fromkeys(out) if -1 not in c]


def _exchanged(
    seeds: list[tuple[int, tuple[int, ...]]], columns: list[int], screened: Any
) -> list[tuple[int, tuple[int, ...]]]:
    """Beam search: from the seeds by single exchanges."""
    known: dict[tuple[int, ...], int] = {c: cost for cost, c in seeds}
    beam, seen = sorted(seeds), set(known)
    for _ in range(ROUNDS):
        fresh = {
            tuple(sorted({*c} - {out} | {new})) for _, c in beam for out in c for new in columns if new not in c
        } - seen
        if not fresh:
            break
        seen |= fresh
        ranked = screened(sorted(fresh)[: 10 * ENUMERATED // ROUNDS])
        known.update({c: cost for cost, c in ranked})
        better = sorted([*beam, *ranked])[:BEAM]
        if better == beam:
            break
        beam = better
    return sorted((cost, c) for c, cost in known.items())


def _judged(p: PartitionProblem, rows: list[int], columns: tuple[int, ...], condition: float) -> DependentChoice:
    blocks = tuple(
        Block(tuple(rows[r] for r in b.rows), tuple(columns[c] for c in b.columns), b.after)
        for b in block_triangular(p.pattern[np.ix_(rows, columns)])
    )
    independent = [i for i in range(p.pattern.shape[1]) if i not in columns]
    cost = predicted_cost(p.kinds, p.mass, independent, blocks).total
    cost += QUATERNION * len(p.quaternions & set(columns))
    if p.velocity_rows:
        cost += MIXED * sum(0 < len(set(b.rows) & set(p.velocity_rows)) < b.size for b in blocks)
    return DependentChoice(columns, blocks, cost, condition)


def _condition(J_v: np.ndarray, whole: np.ndarray) -> float:
    """Condition at the worst of k scaled samples, 0 without samples: the largest singular value of J by the smallest of
    J_v (k, m, m); whole (k, m): those of J. It bounds B too. Near a singular configuration of the mechanism, where no
    choice of columns helps, it counts by how much worse than J it is."""
    if not J_v.size:
        return 0.0
    part = np.linalg.svd(J_v, compute_uv=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        excuse = np.maximum(1.0, whole[:, 0] / whole[:, -1] / FAIR)
        return float(np.nan_to_num(whole[:, 0] / part[:, -1] / excuse, nan=np.inf, posinf=np.inf).max())


# -- structure of J and M


def kinds_of(found: Constraints, rows: list[int]) -> np.ndarray:
    """(m, nv) of NONE, UNIT, FULL."""
    out = np.full((len(rows), len(found.tree.qd)), NONE)
    for i, r in enumerate(rows):
        for j, x in found.rows[r].J.items():
            out[i, j] = UNIT if _is_unit(x) else FULL
    return out


def _is_unit(x: Any) -> bool:
    if isinstance(x, Node):
        return x.op is CONST and x.data in (1, -1)
    return x in (1, -1)


def mass_pattern(tree: Tree) -> np.ndarray:
    """(nv, nv) bool: entries of M that are not zero by structure."""
    with quiet_collector():
        return np.array([[not is_zero(x) for x in row] for row in mass_matrix(tree)], dtype=bool).reshape(
            len(tree.qd), len(tree.qd)
        )
