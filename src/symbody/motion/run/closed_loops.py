"""Closed loops at the start of a run: the partition for its branch, guards of its loops, and who watches them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.mechanics.assembly.numeric import numeric_of
from symbody.mechanics.loops.partition.partition import Partition
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.memoised.partitions import partition_at, wanted_at
from symbody.model.record.mechanism import Mechanism
from symbody.motion.events.partition_choice import PartitionChoice
from symbody.motion.events.partition_watch import Watch, watch_of
from symbody.motion.events.plan import Settings
from symbody.motion.events.queries import Asking, LoopMeasures
from symbody.motion.flow.chosen_dynamics import is_reduced
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.loop_guards import LoopGuards, bounds_of
from symbody.motion.flow.loop_treatment import Augmented
from symbody.motion.run.run_equations import Written

Remade = Callable[[Any], Written]  # partition -> equations


@dataclass(frozen=True, eq=False)
class Watcher:
    """A Watch with the way it starts with. given: the partition is the user's wish."""

    watch: Watch
    choice: PartitionChoice
    given: bool


def for_branch(mech: Mechanism, formalism: str | None, partition: Any, settings: Settings, q: np.ndarray) -> Any:
    """What the user asked of the partition, or one for the branch of the position q (nq,) where that does not hold.

    Which constraints are redundant depends on the branch, and on the parameters.
    """
    if any(c.switched for c in mech.cuts) or any(c.switched for c in mech.couplings):
        return partition  # which constraints are redundant changes with what is closed
    named = partition is not None and not isinstance(partition, Augmented)
    reduced = named or is_reduced(mech, formalism, "auto" if partition is None else partition)
    wanted = partition if named else "auto"

    given = {n: float(v) for n, v in settings.parameters.items() if np.ndim(v) == 0}
    try:
        chosen = wanted_at(mech, q, wanted, given, settings.start)
        if chosen is not wanted:
            partition_at(mech, q, chosen, given, settings.start)
    except ModelError:
        if reduced:
            raise
        return partition  # no joints can be solved for at all
    if not isinstance(chosen, Partition) or chosen is wanted:
        return partition
    if reduced:
        return chosen
    return replace(partition if isinstance(partition, Augmented) else Augmented(), branch=chosen)


def watcher_of(
    mech: Mechanism,
    formalism: str | None,
    partition: Any,
    asked: bool,
    found: Written,
    settings: Settings,
    remade: Remade,
    balance: Any,
) -> Watcher | None:
    """Who looks after closed loops during the motion; None where loops open and close, or no partition exists."""
    wanted: Any = "auto" if partition is None else partition
    constraints = derived_of(mech).constraints()

    def remake(p: Any) -> Any:
        made = remade(p)
        return made.connected, made.events

    if is_reduced(mech, formalism, wanted):
        chosen = wanted if isinstance(wanted, Partition) else derived_of(mech).partition(wanted)
        way = PartitionChoice(constraints, chosen, found.connected, found.events)
        return Watcher(watch_of(way, remake, settings.parameters, balance=balance), way, asked)
    if any(row.switch is not None for row in constraints.rows):
        return None
    whole = wanted if isinstance(wanted, Augmented) else Augmented()
    try:
        chosen = whole.branch or derived_of(mech).partition()
    except ModelError:
        return None
    way = PartitionChoice(constraints, chosen, found.connected, found.events, whole=True)
    watch = watch_of(
        way, lambda p: remake(replace(whole, branch=p)), settings.parameters, whole.projects, balance=balance
    )
    return Watcher(watch, way, False)


def loop_guards(mech: Mechanism, partition: Any, flow: Flow, settings: Settings) -> LoopGuards:
    """What is looked at after every step of a mechanism with closed loops."""
    plain = {n: float(v) for n, v in settings.parameters.items() if np.ndim(v) == 0}
    length = numeric_of(derived_of(mech).constraints(), plain, settings.start).length()
    loosely = isinstance(partition, Augmented) and not partition.projects
    return LoopGuards(flow, settings.parameters, bounds_of(flow.units["watch"], length, loosely))


def check_closed(loops: LoopGuards, t: float, x: np.ndarray, u: np.ndarray) -> Asking[None]:
    """All rows are closed at the start, those too that the equations leave out."""
    _, gap = yield LoopMeasures(loops, t, x, u)
    why = loops.say_open(t, gap)
    if why:
        raise ModelError(f"the start of {loops.flow.name} is not closed: {why}")
