"""The partition of a closed mechanism as a record: to read, to change its order, and to give to the other verbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError
from symbody.mechanics.assembly.assembly import assemble_constraints
from symbody.mechanics.assembly.conditioning import holding
from symbody.mechanics.loops.partition.partition import Partition
from symbody.mechanics.loops.partition.partition_order import check_partition, ordered
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.memoised.partitions import Chosen, partition_at
from symbody.mechanics.verbs.system_of_tree import has_loops
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.parameter_values import given_numbers


@declared
def partition(
    mech: Mechanism,
    choice: Chosen = "auto",
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    pivots: Sequence[tuple[str, str]] = (),
    q: Any = None,
    parameters: Mapping[str, Any] | None = None,
) -> Partition:
    """Which velocities are independent and in which order the others are solved; `partition=` of all verbs takes it.

    choice    "auto", "heuristic", "pivoting", names of independent joints, or a Partition to change
    rows      constraints of whole blocks by name, in the order in which they are solved
    columns   dependent velocities of whole blocks by name; the k-th row of a block is solved for its k-th column
    pivots    pairs (constraint, velocity) in place of both; a formula solves up to three of a block that are left out
    q         a position on the branch that is meant, (nq,) numbers or {joint: numbers}: closed positions reached from
              it without passing a singular one. By default that of the assembled position
    parameters  name -> value in place of the default, for which the branch is looked at
    Blocks that are not named keep what was chosen for them.
    """
    if not has_loops(mech):
        raise ModelError(f"{mech.name} has no loops: all its joints are independent.")
    derived = derived_of(mech)
    found = derived.constraints()
    if isinstance(choice, Partition):
        check_partition(found, choice)
    elif q is None and not parameters:
        choice = derived.partition(choice)
    else:
        values = given_numbers(mech, parameters)
        at = assemble_constraints(found, q, values)
        if choice != "auto":  # with pivots that are good at q
            return ordered(found, derived.partition_from(at, choice, values), rows, columns, pivots)
        known = partition_at(mech, at, choice, values)
        regular = holding(found, known.rows, at[None], values, columns=known.dependent).all()
        # at a dead point of that of the mechanism another one is chosen, which holds there
        choice = known if regular else derived.partition_from(at, choice, values)
    return ordered(found, choice, rows, columns, pivots)
