"""Clocks: sampled controllers are asked at their ticks, held tables jump; and inputs that tell loops to close.

Several clocks tick side by side, each at its own instants.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from symbody.motion.events.events import Events
from symbody.motion.events.impacts import Gates
from symbody.motion.events.plan import Change, Plan, Quiet
from symbody.motion.events.state import RunState
from symbody.motion.methods.stepper import Leg
from symbody.motion.trajectory.outcome import Outcome


class Clocks(Quiet):
    """The hook of all that is held between instants."""

    name = "clocks"

    def begin(self, plan: Plan, state: RunState) -> Change | None:
        return self._refreshed(plan, state)

    def next(self, plan: Plan, state: RunState) -> float:
        return plan.signals.stop(state.held, state.t)

    def after(self, plan: Plan, state: RunState, leg: Leg) -> Change | None:
        return self._refreshed(plan, state) if state.t < state.end else None

    def _refreshed(self, plan: Plan, state: RunState) -> Change | None:
        held = plan.signals.refreshed(state.held, state.t, state.x)
        return None if held is state.held else Change(held=held)


class Impacts(Quiet):
    """The hook of loops that an input tells to close: their impact is a jump, after which events may follow."""

    name = "impacts"

    def __init__(self, gates: Gates, events: Events | None) -> None:
        self.gates, self.events = gates, events

    def begin(self, plan: Plan, state: RunState) -> Change | None:
        return self._switched(plan, state)

    def after(self, plan: Plan, state: RunState, leg: Leg) -> Change | None:
        return self._switched(plan, state) if state.t < state.end else None

    def _switched(self, plan: Plan, state: RunState) -> Change | None:
        after, happened, why, now = self.gates.answer(plan, state, state.x, jumped=False)
        change = Change(mark=now, events=tuple(happened))
        if after is not state.x:
            marks: dict[str, Any] = {}
            if self.events is not None:
                at, mark = self.events.at(plan, state), self.events.mark(state)
                after, more, marks["events"] = self.events.effects.carried(at, mark, state.t, state.x, after)
                change = replace(change, events=(*change.events, *more), marks=marks)
            change = replace(change, jump=after, memory={})
        if why:
            change = replace(change, notes=(why,), outcome=Outcome.NOT_CONVERGED)
        return change
