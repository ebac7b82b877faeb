"""What the solution of the loops for dependent joints divides by: its measures, watched during motion; other choices.

A measure that vanishes is a singular position of the partition, or of the mechanism (`assembly.conditioning`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import SymbodyError
from symbody.mechanics.assembly.conditioning import Conditioning, RowChoice
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.loops.closing.factors import Spare, factors
from symbody.mechanics.loops.closing.projection import gaps
from symbody.mechanics.loops.equations.augmented import switches
from symbody.mechanics.loops.partition.partition import Partition, choose_partition
from symbody.mechanics.loops.partition.structure import Block
from symbody.model.record.coordinates import velocity_labels, with_mode
from symbody.symbolic.expr.arrays import sum_of_products, zeros
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.functions import sqrt
from symbody.symbolic.expr.linear_algebra import ldlt
from symbody.symbolic.expr.node import Node, Pivots
from symbody.symbolic.expr.walk import free_symbols, quiet_collector
from symbody.symbolic.system.system import System, node_array


def partition_of(at: Conditioning, choice: RowChoice, q: np.ndarray) -> Partition:
    """A Partition with these rows and dependent velocities; its pivots are good at q."""
    names, pattern = velocity_labels(at.constraints.tree.mechanism), at.constraints.pattern
    rows = list(choice.rows)
    independent = [names[k] for k in at.free if k not in choice.dependent and pattern[rows, k].any()]
    return choose_partition(
        at.constraints, independent, samples=[q], parameters=at.parameters or None, rank=at.rank, rows=rows
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
    symbols = free_symbols(x for x in (*nodes, *gap) if isinstance(x, Node))
    time = [s for s in symbols if s.data.role == "time"]
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
