"""Which partition of closed loops holds at a position: that of the Mechanism, or one for another branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from symbody.basics.errors import ModelError
from symbody.mechanics.assembly.conditioning import holding
from symbody.mechanics.assembly.numeric import numeric_of
from symbody.mechanics.loops.partition.partition import Partition
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.model.record.mechanism import Mechanism

SINGULAR = 1e12  # condition of J_v above which a partition is refused

Chosen = str | Partition | Sequence[str]  # "auto", "heuristic", "pivoting", names of independent joints, or a Partition


def partition_at(
    mech: Mechanism,
    q: np.ndarray,
    wanted: Chosen = "auto",
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> Partition:
    """The Partition for the branch of the closed position q (nq,): that of the Mechanism, where it holds there.

    A Partition that was given is refused where it leaves out a constraint which is needed at q.
    """
    derived = derived_of(mech)
    found = derived.constraints()
    usual = _usual(mech, wanted)
    opened = {found.rows[i].loop for i in usual.open} if usual is not None else set()
    closed = tuple({row.loop for row in found.rows if row.switch is not None} - opened)

    shut = [i for i, row in enumerate(found.rows) if row.switch is None or row.loop in closed]
    turned = numeric_of(found.select(shut), parameters, time).turned(np.asarray(q, dtype=float))

    def suits(positions: np.ndarray) -> bool:
        if usual is None or usual.turned != turned:
            return False
        # joints that were named may be locked on one branch, and move another
        columns = None if isinstance(wanted, (str, Partition)) else usual.dependent
        if columns is not None and usual.least > SINGULAR:
            return False
        return bool(holding(found, usual.rows, positions, parameters, time, closed, columns).any())

    if usual is not None and suits(np.asarray(q, dtype=float)[None]):
        return usual
    branch = derived.branch_at(q, parameters, closed, time)
    if usual is not None and usual.turned == turned and (branch.singular or suits(branch.positions)):
        return usual
    if isinstance(wanted, Partition):
        assert usual is not None
        raise ModelError(
            f"the Partition solves {len(usual.rows)} constraints ({', '.join(usual.row_order)}); on the branch of "
            f"{mech.name} that was given {branch.rank} are independent. Make one for it: sb.partition(mech, q=...)."
        )
    return derived.partition_on(branch, q, wanted, parameters, time)


def wanted_at(
    mech: Mechanism,
    q: np.ndarray,
    wanted: Chosen = "auto",
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> Chosen:
    """What was asked of the partition, where that holds at the closed position q (nq,); else `partition_at` q."""
    made = partition_at(mech, q, wanted, parameters, time)
    return wanted if isinstance(wanted, Partition) or made is _usual(mech, wanted) else made


def _usual(mech: Mechanism, wanted: Chosen) -> Partition | None:
    """The Partition that is wanted, on the branch of the assembled position; None where joints that were named do not
    fit it, as they may another branch."""
    if isinstance(wanted, Partition):
        return wanted
    try:
        return derived_of(mech).partition(wanted)
    except ModelError:
        if isinstance(wanted, str):
            raise
        return None
