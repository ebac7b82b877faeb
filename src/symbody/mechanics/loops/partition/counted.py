"""Operations of forward dynamics with closed loops, counted on the program that a partition leads to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from symbody.basics.errors import ModelError
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.formalisms.formulation import Choice
from symbody.mechanics.formalisms.solve_accelerations import driven_velocities
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.loops.closing.closure import close
from symbody.mechanics.loops.equations.reduced import PRODUCTS, all_accelerations, independent_accelerations, reduce
from symbody.mechanics.loops.equations.tree_equations import Opened, opened
from symbody.mechanics.loops.partition.branches import Branch
from symbody.mechanics.loops.partition.partition import Partition, partition_candidates
from symbody.symbolic.expr.walk import quiet_collector
from symbody.symbolic.rewrite.cost import cost

UNSOLVABLE = 10**9  # operations, by a partition that a block cannot be solved with
SAME = 1.02  # operations that count as equal
COUNTED = 6  # partitions of a small mechanism whose programs are counted
FEW_LINKS = 60  # beyond, none are


def cheapest_partition(
    found: Constraints,
    count: int = COUNTED,
    q: Any = None,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
    branch: Branch | None = None,
) -> Partition:
    """The automatic Partition, on the branch of the position q or of the assembled one.

    The programs of up to `count` of the best by prediction are counted, fewer for large mechanisms, and that of the
    choice by structure.
    """
    links = len(found.tree.links)
    most = max(1, min(count, FEW_LINKS // max(1, links)))
    candidates = partition_candidates(found, most, parameters=parameters, q=q, time=time, branch=branch)
    if links > FEW_LINKS or len(candidates) == 1:
        return candidates[0]
    m_c = plain_equations(found.tree)
    counts = [counted_operations(found, p, m_c) for p in candidates]
    least = min(counts)
    # the first is the best conditioned of the cheapest by prediction: a few operations are not worth another one
    chosen = 0 if counts[0] <= SAME * least else counts.index(least)
    others = ", ".join(str(n) if n < UNSOLVABLE else "none" for k, n in enumerate(counts) if k != chosen)
    words = f"Counted programs: {counts[chosen]} operations, with other partitions {others}."
    return replace(candidates[chosen], explanation=f"{candidates[chosen].explanation} {words}")


def plain_equations(tree: Tree) -> Opened:
    """M and c of the opened tree in the form that programs are compared by."""
    with quiet_collector():
        return opened(tree, Choice(frames="group", mass_frames="group"))


def counted_operations(found: Constraints, partition: Partition, m_c: Opened, preset: str = "standard") -> int:
    """mul + add + div of one call with one iteration of every block, by the shorter of the two plain routes.

    About what the verbs reach, which try more routes; the order of partitions is the same, or nearly so.
    """
    tree = found.tree
    try:
        with quiet_collector():
            closure = close(found, partition)
            out = []
            for route in PRODUCTS:
                reduced = reduce(closure, m_c, tree.tau, route, driven_velocities(tree), tree.qdd)
                qdd = all_accelerations(reduced, independent_accelerations(reduced))
                out.append(cost(closure.plan({"qdd": qdd}, preset, True, 1).nodes).rank[0])
            return min(out)
    except ModelError:
        return UNSOLVABLE
