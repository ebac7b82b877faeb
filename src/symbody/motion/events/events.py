"""Events: guards that cross zero, what follows from them, and what a jump brings about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbody.motion.events.crossings import CROWD, Handler, carried_over, confirmed, crowded, settled
from symbody.motion.events.impacts import Gates
from symbody.motion.events.plan import Change, Plan, Quiet
from symbody.motion.events.state import RunState
from symbody.motion.flow.event_rules import PreparedEvents
from symbody.motion.flow.vector_field import VectorField
from symbody.motion.methods.locate import Crossing
from symbody.motion.methods.methods import MOST_EVENTS
from symbody.motion.methods.stepper import Leg
from symbody.motion.methods.stretch_parts import reading
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory import EventRecord


@dataclass(frozen=True)
class Happened:
    """What the events of a run remember.

    counts    (ng,) how often each has happened
    instants  s, the latest at which events acted: a crowd of them in no time ends the run
    leaving   passive guards that leave zero from its other side, by a rounding
    """

    counts: tuple[int, ...]
    instants: tuple[float, ...] = ()
    leaving: frozenset[int] = frozenset()

    def once_more(self, k: int) -> Happened:
        """With one more of event k."""
        counts = list(self.counts)
        counts[k] += 1
        return replace(self, counts=tuple(counts))


class EventEffects:
    """Events of a Flow with what follows from each. at: a VectorField that reads the signals of the instant."""

    def __init__(self, prepared: PreparedEvents, field: VectorField, max_events: int = MOST_EVENTS) -> None:
        """field: of the Flow of the events, with the parameters of the run."""
        self.prepared, self.field, self.most = prepared, field, max_events
        self.handlers = [Handler(k, prepared, self.field) for k in range(len(prepared.events))]
        self.passive, self.directions = prepared.passive, prepared.directions
        known = () if prepared.flow.events is None else prepared.flow.events.outputs
        self.elements = [k for k, rule in enumerate(prepared.events) if rule.name in known]  # of force elements

    def start(self) -> Happened:
        """Nothing has happened yet."""
        return Happened((0,) * len(self.handlers))

    def settled(self, at: VectorField, mark: Happened, t: float, x: np.ndarray) -> tuple[np.ndarray, Happened]:
        """x with guards that are zero but for roundings on the side to which they move."""
        x, leaving = settled(at, t, x, self.passive)
        return x, replace(mark, leaving=frozenset(k for k, way in leaving if self.directions[k] in (0, way)))

    def record(
        self, at: VectorField, mark: Happened, crossings: Sequence[Crossing]
    ) -> tuple[list[EventRecord], Happened]:
        """What happened at crossings of guards that change nothing; however many they are, the run goes on."""
        happened: list[EventRecord] = []
        for crossing in crossings:
            events: Sequence[int] = crossing.events
            if not crossing.sure:
                events = confirmed(at, crossing.events, crossing.t, crossing.x, self.directions)
            for k in events:
                if k in mark.leaving:
                    mark = replace(mark, leaving=mark.leaving - {k})
                    continue
                mark = mark.once_more(k)
                happened.append(EventRecord(crossing.t, self.prepared.events[k].name, ""))
        return happened, mark

    def answer(
        self, at: VectorField, mark: Happened, t: float, x: np.ndarray, events: tuple[int, ...], span: float
    ) -> tuple[np.ndarray, list[EventRecord], Outcome | None, Happened]:
        """(state after, what happened, how the run ends if it does, what is remembered) at events that act.

        span: s, of the whole run.
        """
        mark = replace(mark, instants=(*mark.instants[1 - CROWD :], t))
        happened: list[EventRecord] = []
        stop = False
        for k in confirmed(at, events, t, x, self.directions):
            mark = mark.once_more(k)
            x, text, ends = self.handlers[k].take_effect(at, mark.counts[k], t, x)
            happened.append(EventRecord(t, self.prepared.events[k].name, text))
            stop |= ends
        if stop:
            return x, happened, Outcome.STOPPED, mark
        if crowded(mark.instants, span) or self._acted(mark) >= self.most:
            return x, happened, Outcome.TOO_MANY_EVENTS, mark
        return x, happened, None, mark

    def carried(
        self, at: VectorField, mark: Happened, t: float, before: np.ndarray | None, x: np.ndarray
    ) -> tuple[np.ndarray, list[EventRecord], Happened]:
        """(state after, what happened, what is remembered): events of force elements whose guards a jump, or the start,
        has carried over zero. A velocity that an impact reverses ends the sliding of dry friction, though it never was
        zero.
        """
        happened: list[EventRecord] = []
        left = list(self.elements)
        while left:
            over = carried_over(at, t, before, x, self.directions, left)
            if not over:
                break
            before = x
            for k in over:
                left.remove(k)
                mark = mark.once_more(k)
                x = self.handlers[k].take_effect(at, mark.counts[k], t, x)[0]
                happened.append(EventRecord(t, self.prepared.events[k].name, "carried over zero by a jump"))
        return x, happened, mark

    def _acted(self, mark: Happened) -> int:
        return sum(count for count, passive in zip(mark.counts, self.passive, strict=True) if not passive)


class Events(Quiet):
    """The hook of events; gates: loops that open and close, which a jump may tell to close."""

    name = "events"

    def __init__(self, effects: EventEffects, gates: Gates | None) -> None:
        self.effects, self.gates = effects, gates

    def at(self, plan: Plan, state: RunState) -> VectorField:
        """The functions of the events with the signals of the instant."""
        return reading(self.effects.field, plan.signals, state.begin())

    def mark(self, state: RunState) -> Happened:
        found: Happened | None = state.marks.get(self.name)
        return self.effects.start() if found is None else found

    def begin(self, plan: Plan, state: RunState) -> Change | None:
        at, mark = self.at(plan, state), self.mark(state)
        x, happened, mark = self.effects.carried(at, mark, state.t, None, state.x)
        x, mark = self.effects.settled(at, mark, state.t, x)
        return Change(x=x, mark=mark, events=tuple(happened))

    def inspect(self, plan: Plan, state: RunState, leg: Leg, later: np.ndarray) -> Change | None:
        if not leg.recorded:
            return None
        happened, mark = self.effects.record(self.at(plan, state), self.mark(state), leg.recorded)
        return Change(events=tuple(happened), mark=mark)

    def after(self, plan: Plan, state: RunState, leg: Leg) -> Change | None:
        if not leg.events:
            return None
        own, at, t, before = self.effects, self.at(plan, state), state.t, state.x
        span = state.end - plan.settings.start
        x, events, ends, mark = own.answer(at, self.mark(state), t, before, leg.events, span)
        jump: np.ndarray | None = None
        notes: tuple[str, ...] = ()
        marks: dict[str, Any] = {}
        if x is not before:
            why = ""
            if self.gates is not None:
                x, closed, why, marks["impacts"] = self.gates.answer(plan, state, x, jumped=True)
                events += closed
            jump, more, mark = own.carried(at, mark, t, before, x)
            events += more
            if why:
                ends, notes = Outcome.NOT_CONVERGED, (why,)
        if ends is None:
            settled, mark = own.settled(at, mark, t, before if jump is None else jump)
            change = Change(jump=jump, x=settled, memory={})
        else:
            change = Change(jump=jump, outcome=ends)
        return replace(change, events=tuple(events), notes=notes, mark=mark, marks=marks)
