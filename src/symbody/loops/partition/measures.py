"""What the solution of the loops for dependent joints divides by: its measures, watched during motion; other choices.

A measure that vanishes is a singular position of the partition, or of the mechanism (`assembly.conditioning`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from symbody.assembly.conditioning import Choice, Conditioning, last_values
from symbody.assembly.constraints import Constraints
from symbody.assembly.redundancy import all_pivoted, independent_rows
from symbody.errors import SymbodyError
from symbody.expr.arrays import sum_of_products, zeros
from symbody.expr.call import call
from symbody.expr.functions import sqrt
from symbody.expr.linear_algebra import ldlt
from symbody.expr.node import Node, Pivots
from symbody.expr.walk import free_symbols, quiet_collector
from symbody.loops.closing.factors import Spare, factors
from symbody.loops.closing.projection import gaps
from symbody.loops.equations.augmented import switches
from symbody.loops.partition.partition import Partition, choose_partition
from symbody.loops.partition.pivoting import pivots_of
from symbody.loops.partition.structure import Block
from symbody.model.record.coordinates import velocity_labels, with_mode
from symbody.system.system import System, node_array

CLEARLY = 1.1  # a choice by other means is taken where it is better by this factor


def best_choice(at: Conditioning, J: np.ndarray, whole: bool = False) -> tuple[Choice | None, float]:
    """The Choice with the best conditioned J_v that is found, and its smallest singular value; None if J has none.

    J: as `Conditioning.jacobian` gives it. Rows and columns are chosen together: rows that are redundant on a branch
    need not be the same all along it. whole: the rows are to be independent, whatever is solved for.
    """
    return best_choices(at, J[None], whole)[0]


def best_choices(at: Conditioning, J: np.ndarray, whole: bool = False) -> list[tuple[Choice | None, float]]:
    """The same at each of several J (n, m, nv), whose numbers are computed together."""
    rank, used = at.rank, np.asarray(J.any(axis=1))
    held = np.ones(J.shape[2], dtype=bool)
    held[at.free] = False
    used[:, held] = False
    good = np.isfinite(J).all(axis=(1, 2)) & (used.sum(axis=1) >= rank) & (J.shape[1] >= rank)
    out: list[tuple[Choice | None, float]] = [(None, 0.0)] * len(J)
    if not good.any():
        return out
    J, used = J[good], used[good]
    rows, columns = np.zeros((2, 2, len(J), rank), dtype=int)  # by QR, by elimination
    for inside in used[:1] if (used == used[0]).all() else np.unique(used, axis=0):
        same = np.flatnonzero((used == inside).all(axis=1))
        rows[0, same], columns[0, same] = _by_rotations(J[same], rank, np.flatnonzero(inside))
    rows[1], columns[1] = pivots_of(J, rank, used)
    parts = J[np.arange(len(J))[:, None, None], rows[..., None], columns[..., None, :]]
    sizes = last_values(parts.reshape(-1, rank, rank), rank).reshape(2, -1)
    which = (sizes[1] > CLEARLY * sizes[0]).astype(int) * (not whole)
    each = np.arange(len(J))
    chosen = zip(*(a[which, each].tolist() for a in (rows, columns, sizes)), strict=True)
    for place, (own, dependent, size) in zip(np.flatnonzero(good).tolist(), chosen, strict=True):
        out[place] = Choice(tuple(own), tuple(dependent)), size
    return out


def _by_rotations(J: np.ndarray, rank: int, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, rank) rows and columns of J (n, m, nv), ascending, that QR with pivoting takes; inside: columns it may."""
    if not rank:
        return np.zeros((len(J), 0), dtype=int), np.zeros((len(J), 0), dtype=int)
    every = J.shape[1] == rank
    rows = np.array([range(rank)] * len(J) if every else [independent_rows(one, rank) for one in J])
    parts = J[np.arange(len(J))[:, None, None], rows[:, :, None], inside]
    return rows, np.sort(inside[all_pivoted(parts)[:, :rank]])


def partition_of(at: Conditioning, choice: Choice, q: np.ndarray) -> Partition:
    """A Partition with these rows and dependent velocities; its pivots are good at q."""
    names, pattern = velocity_labels(at.found.tree.mechanism), at.found.pattern
    rows = list(choice.rows)
    independent = [names[k] for k in at.free if k not in choice.dependent and pattern[rows, k].any()]
    return choose_partition(
        at.found, independent, samples=[q], parameters=at.parameters or None, rank=at.rank, rows=rows
    )


def watched(found: Constraints, partition: Partition | None, kept: Sequence[int] | None = None) -> System:
    """(q, qd[, t, s_<loop>]) -> measure (k,) as of `measures`, and gap (m,) of all rows; 0 of an open loop.

    Gaps are m or rad; those of velocity constraints their J qd + ht, beside sqrt(1 + |qd|^2). partition None: no joints
    are solved for, and the measure is that of the rows `kept` (`row_measure`), where such are given. Each output
    has one entry at least: 1 where nothing is divided by, 0 where there is no row.
    """
    tree, on = found.tree, switches(found)
    nodes = [] if partition is None else list(measures(found, partition).outputs["measure"].flat)
    if partition is None and kept:
        nodes = [row_measure(found, kept)]
    gap: list[Any] = []
    for apart, row in zip(gaps(found), found.rows, strict=True):
        if row.h is None:
            speed = sqrt(1 + sum(v * v for v in tree.qd))
            apart = (sum(x * tree.qd[k] for k, x in row.J.items()) + row.ht) / speed
        gap.append(apart if row.switch is None else apart * on[row.switch])
    inputs: dict[str, Any] = {n: node_array(list(a), tree.graph) for n, a in (("q", tree.q), ("qd", tree.qd))}
    time = [s for s in free_symbols([*nodes, *(g for g in gap if isinstance(g, Node))]) if s.data.role == "time"]
    if time:
        inputs["t"] = np.array(time[0], dtype=object)
    inputs.update({name: np.array(s, dtype=object) for name, s in on.items()})
    outputs = {"measure": node_array(nodes or [1], tree.graph), "gap": node_array(gap or [0], tree.graph)}
    return System(f"{_identifier(tree.mechanism.name)}_watched", inputs=inputs, outputs=outputs)


def row_measure(found: Constraints, rows: Sequence[int]) -> Any:
    """The product of the singular values of these rows of J, in the free velocities: 0 where they depend on others."""
    held = set(with_mode(found.tree.mechanism, "driven"))
    own = [{k: e for k, e in found.rows[r].J.items() if k not in held} for r in rows]
    matrix = zeros(len(own), len(own))
    for i, a in enumerate(own):
        for j, b in enumerate(own[: i + 1]):
            matrix[i, j] = matrix[j, i] = sum_of_products((a[k], b[k]) for k in a if k in b)
    with quiet_collector():
        product: Any = 1
        for pivot in ldlt(matrix).pivots:
            product = product * pivot
    return sqrt(call("abs", product)) if isinstance(product, Node) else 1


def measures(found: Constraints, partition: Partition) -> System:
    """(q[, t]) -> measure (k,): what the solution by this partition divides by; an entry that vanishes is singular.

    The determinant of each block up to size 3, and of larger ones the pivots and the determinant of the last two, or
    the determinant of the whole where rows are exchanged at run time; of a block whose order was given by hand its
    pivots, and the determinant of what they leave.
    """
    tree = found.tree
    with quiet_collector():
        nodes = [
            x
            for k, b in enumerate(partition.blocks)
            for x in _block_measures(
                found, b, partition.pivots.get(k), k in partition.given, partition.spare.get(k, ())
            )
        ]
    varying = [x for x in nodes if isinstance(x, Node) and free_symbols([x])]
    inputs: dict[str, Any] = {"q": node_array(list(tree.q), tree.graph)}
    time = [s for s in free_symbols(varying) if s.data.role == "time"]
    if time:
        inputs["t"] = np.array(time[0], dtype=object)
    name = f"{_identifier(tree.mechanism.name)}_measures"
    return System(name, inputs=inputs, outputs={"measure": node_array(varying, tree.graph)})


def _identifier(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def _block_measures(found: Constraints, block: Block, order: Pivots | None, given: bool, spare: Spare) -> list[Any]:
    entries = [[found.rows[r].J.get(c, 0) for c in block.columns] for r in block.rows]
    try:
        return factors(np.array(entries, dtype=object), order, given, spare=spare).measures
    except SymbodyError:  # a pivot cancels: the program was made with others, which are not known here
        return []
