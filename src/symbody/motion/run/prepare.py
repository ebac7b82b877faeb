"""A run made ready: its Plan, and its state at the start, from a model and the numbers that it is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.motion.events.energy_balance import EnergyBalance
from symbody.motion.events.impacts import Gates, check_switches, closed_loops, make_ready
from symbody.motion.events.log import Log
from symbody.motion.events.partition_watch import Watched
from symbody.motion.events.plan import Plan, Settings
from symbody.motion.events.queries import Asking, Projected
from symbody.motion.events.state import RunState
from symbody.motion.flow.closed_start import closed_start, say_changes
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.flow_kernels import FlowKernels
from symbody.motion.flow.initial_state import check_prescribed, initial_values
from symbody.motion.flow.loop_treatment import Augmented
from symbody.motion.flow.signals import Held, InputSignals
from symbody.motion.run.assembled_plan import assembled, together
from symbody.motion.run.closed_loops import Watcher, check_closed, for_branch, loop_guards, watcher_of
from symbody.motion.run.given_numbers import batch_size, check_bodies, check_parameters
from symbody.motion.run.run_equations import RunModel, Written, written
from symbody.motion.run.side_by_side import SideBySide
from symbody.motion.trajectory.outcome import Outcome


def prepared(
    model: RunModel,
    settings: Settings,
    duration: float,
    given: Mapping[str, Any],
    partition: Any = None,
    split: bool = False,
) -> Asking[tuple[Plan, RunState] | SideBySide]:
    """The Plan of a run, and its state at the start; numbers of closed loops are asked for, as in a run.

    given: initial values of states by name, None where the default is meant.

    split: whether a batch is to be cut into parts; then, and where its members cannot advance together, a SideBySide.
    """
    mech = model.mechanism
    notes = check_bodies(mech, settings.parameters) if mech is not None else []
    found = _first(model, settings, given, partition)
    notes = [*notes, *found.connected.notes]
    flow = found.connected.flow
    check_parameters(flow, settings.parameters, mech)
    start = {n: v for n, v in found.given.items() if v is not None}
    values, size = initial_values(flow, start)
    size = batch_size(size, settings.parameters, flow, found.assignments)
    # the mass of what falls freely is a parameter of the model, but cancels from its motion
    own = {n: _plain(v) for n, v in settings.parameters.items() if n in flow.parameters}
    settings = replace(settings, parameters=own) if settings.parameters else settings
    signals = InputSignals(found.connected, settings.start, settings.step, settings.period, size)
    # members of closed mechanisms have partitions of their own
    if size is not None and (
        split or model.closed is not None or not together(found.connected, found.events, settings, signals)
    ):
        return SideBySide(size, flow, found.assignments)
    x = flow.layout.vector(values, size)
    if model.closed is not None:
        return (yield from _Closed(model, settings, duration, partition, found, start, notes).run(x))
    plan = assembled(found.connected, found.events, settings, signals)
    held = signals.start()
    x = yield from corrected(flow, signals, held, settings, start, x, notes)
    return plan, fresh(plan, held, x, settings.start + duration, notes)


def _first(model: RunModel, settings: Settings, given: Mapping[str, Any], partition: Any) -> Written:
    """The equations of a partition; of the automatic one, where joints that were named do not fit the branch of the
    assembled position, as they may that of the start."""
    try:
        return written(model, settings, given, partition)
    except ModelError:
        if partition is None or isinstance(partition, (str, Augmented)) or hasattr(partition, "independent"):
            raise
        return written(model, settings, given, None)


def _plain(value: Any) -> Any:
    """One number as a float, which Kernels take the short way; batches as they are."""
    return float(value) if np.ndim(value) == 0 else value


def fresh(plan: Plan, held: Held, x: np.ndarray, end: float, notes: list[str], **more: Any) -> RunState:
    """A run that has not started."""
    outcomes = None if x.ndim == 1 else np.full(len(x), Outcome.FINISHED, dtype=object)
    return RunState(plan.settings.start, x, end, held, notes=Log(notes), outcomes=outcomes, **more)


class _Closed:
    """The start of a mechanism with closed loops."""

    def __init__(
        self,
        model: RunModel,
        settings: Settings,
        duration: float,
        partition: Any,
        found: Written,
        start: Mapping[str, Any],
        notes: list[str],
    ) -> None:
        mech = model.closed
        assert mech is not None
        self.model, self.mech, self.settings, self.duration = model, mech, settings, duration
        self.partition, self.written, self.start, self.notes = partition, found, start, notes

    def run(self, wished: np.ndarray) -> Asking[tuple[Plan, RunState]]:
        """wished: x (nx,) as it was given."""
        settings, found, t = self.settings, self.written, self.settings.start
        flow = found.connected.flow
        check_switches(flow, found.assignments)
        signals = InputSignals(found.connected, t, settings.step, settings.period)
        held = make_ready(flow, signals, signals.start(), t)
        closed = closed_loops(flow, wished, signals.at(t, held.values))
        x = yield from closed_start(self.mech, flow, settings.parameters, self.start, wished, t, closed)
        partition = for_branch(self.mech, self.model.formalism, self.partition, settings, x[flow.slices["q"]])
        if partition is not self.partition:
            found = self._remade(partition)
        loops = loop_guards(self.mech, partition, found.connected.flow, settings)
        watcher = self._watcher(partition, found)
        watch = None if watcher is None else watcher.watch
        plan = assembled(found.connected, found.events, settings, signals, loops, watch)
        mark, levels = None, loops.no_levels()
        if watcher is not None:
            mark, levels, note = yield from watcher.watch.start(plan, watcher.choice, held, t, x, watcher.given)
            self.notes += [note] if note else []
            if mark.choice is not watcher.choice:
                loops = loops.of(mark.choice.connected.flow)
                plan = assembled(mark.choice.connected, mark.choice.prepared, settings, signals, loops, watcher.watch)
        x = yield from corrected(plan.flow, signals, held, settings, self.start, x, self.notes, watcher, mark)
        self.notes[:0] = say_changes(flow, self.start, wished, x)
        yield from check_closed(loops, t, x, signals.at(t, held.values))
        marks: dict[str, Any] = {} if mark is None else {"loops": mark}
        if plan.flow.impact is not None:
            marks["impacts"] = Gates(plan.flow, settings.parameters).look(x, signals.at(t, held.values))
        return plan, fresh(plan, held, x, t + self.duration, self.notes, levels=levels, marks=marks)

    def _remade(self, partition: Any) -> Written:
        return written(self.model, self.settings, self.written.given, partition)

    def _watcher(self, partition: Any, found: Written) -> Watcher | None:
        rules = () if found.events is None else found.events.events
        driven = any(j.mode == "driven" for j in self.mech.joints)
        acted = bool(found.assignments) or any(rule.acts for rule in rules) or driven
        balance = None if acted else EnergyBalance(self.mech, self.settings.parameters, self.settings.slow)
        return watcher_of(
            self.mech,
            self.model.formalism,
            partition,
            self.partition is not None,
            found,
            self.settings,
            self._remade,
            balance,
        )


def corrected(
    flow: Flow,
    signals: InputSignals,
    held: Held,
    settings: Settings,
    given: Mapping[str, Any],
    x: np.ndarray,
    notes: list[str],
    watcher: Watcher | None = None,
    mark: Watched | None = None,
) -> Asking[np.ndarray]:
    """The start corrected: unit quaternions, closed loops, driven joints at their laws."""
    if flow.project is None:
        return x
    t = settings.start
    u = signals.at(t, held.values)
    if x.ndim == 1:
        after: np.ndarray = yield Projected(flow, settings.parameters, t, x, u)
    else:
        after = FlowKernels(flow, settings.parameters).project(np.asarray(t), x, u)
    bad = ~np.isfinite(np.atleast_2d(after)).all(axis=1)
    if bad.any():
        names = ", ".join(repr(n) for n in dict.fromkeys(flow.labels.get("gap", ())))
        loops = f", or loops ({names}) that do not close from there or are singular there" if names else ""
        why = f"a quaternion of length zero{loops}. Give q0 of another position."
        if watcher is not None and mark is not None:
            why = watcher.watch.unclosed(mark, np.atleast_2d(x)[bad][0, flow.slices["q"]], t)
        raise ModelError(f"the initial state of {flow.name} cannot be corrected: {why}")
    check_prescribed(flow, x, after, given, notes)
    return after
