"""The partition of a closed mechanism as a record: to read, to change its order, and to give to the other verbs."""

from __future__ import annotations

from collections.abc import Sequence

from symbody.errors import ModelError
from symbody.loops.ordered import check_partition, ordered
from symbody.loops.partition import Partition
from symbody.model.mechanism import Mechanism
from symbody.verbs.assemble import has_loops
from symbody.verbs.closed_problem import Chosen, ClosedProblem, partition_of


def partition(
    mech: Mechanism,
    choice: Chosen = "auto",
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    pivots: Sequence[tuple[str, str]] = (),
) -> Partition:
    """Which velocities are independent and in which order the others are solved; `partition=` of all verbs takes it.

    choice    "auto", "heuristic", "pivoting", names of independent joints, or a Partition to change
    rows      constraints of whole blocks by name, in the order in which they are solved
    columns   dependent velocities of whole blocks by name; the k-th row of a block is solved for its k-th column
    pivots    pairs (constraint, velocity) in place of both; a formula solves up to three of a block that are left out
    Blocks that are not named keep what was chosen for them.
    """
    if not has_loops(mech):
        raise ModelError(f"{mech.name} has no loops: all its joints are independent.")
    found = ClosedProblem(mech).found
    if isinstance(choice, Partition):
        check_partition(found, choice)
    else:
        choice = partition_of(mech, found, choice)
    return ordered(found, choice, rows, columns, pivots)
