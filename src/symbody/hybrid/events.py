"""Happenings: what the events of a run do, kept from one stretch to the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbody.flow.events import Prepared
from symbody.flow.field import Field
from symbody.hybrid.crossings import Handler, carried_over, confirmed, crowded, settled
from symbody.integrate.locate import Crossing
from symbody.trajectory.outcome import Outcome
from symbody.trajectory.trajectory import Event

MOST_EVENTS = 100_000


class Happenings:
    """Events of a Flow with what follows from each; it counts them over the whole run."""

    def __init__(self, prepared: Prepared, bound: Field, span: float, max_events: int = MOST_EVENTS) -> None:
        self.most = max_events
        self.prepared, self.bound, self.span = prepared, bound, span
        self.handlers = [Handler(rule, prepared, bound) for rule in prepared.events]
        self.instants: list[float] = []
        self.passive, self.directions = prepared.passive, prepared.directions
        known = () if prepared.flow.events is None else prepared.flow.events.outputs
        self.elements = [k for k, rule in enumerate(prepared.events) if rule.name in known]  # of force elements
        self.leaving: set[int] = set()  # passive guards that leave zero from its other side, by a rounding

    def settled(self, t: float, x: np.ndarray) -> np.ndarray:
        """x with guards that are zero but for roundings on the side to which they move."""
        x, leaving = settled(self.bound, t, x, self.passive)
        self.leaving = {k for k, way in leaving if self.directions[k] in (0, way)}
        return x

    def record(self, crossings: Sequence[Crossing]) -> list[Event]:
        """What happened at crossings of guards that change nothing; however many they are, the run goes on."""
        happened: list[Event] = []
        for crossing in crossings:
            events: Sequence[int] = crossing.events
            if not crossing.sure:
                events = confirmed(self.bound, crossing.events, crossing.t, crossing.x, self.directions)
            for k in events:
                if k in self.leaving:
                    self.leaving.remove(k)
                    continue
                self.handlers[k].count += 1
                happened.append(Event(crossing.t, self.prepared.events[k].name, ""))
        return happened

    def answer(
        self, t: float, x: np.ndarray, events: tuple[int, ...]
    ) -> tuple[np.ndarray, list[Event], Outcome | None]:
        """(state after, what happened, how the run ends if it does) at events that act."""
        self.instants.append(t)
        happened: list[Event] = []
        stop = False
        for k in confirmed(self.bound, events, t, x, self.directions):
            x, text, ends = self.handlers[k].happen(t, x)
            happened.append(Event(t, self.prepared.events[k].name, text))
            stop |= ends
        if stop:
            return x, happened, Outcome.STOPPED
        if crowded(self.instants, self.span) or self._acted() >= self.most:
            return x, happened, Outcome.TOO_MANY_EVENTS
        return x, happened, None

    def carried(self, t: float, before: np.ndarray | None, x: np.ndarray) -> tuple[np.ndarray, list[Event]]:
        """(state after, what happened): events of force elements whose guards a jump, or the start, has carried over
        zero. A velocity that an impact reverses ends the sliding of dry friction, though it never was zero.
        """
        happened: list[Event] = []
        left = list(self.elements)
        while left:
            over = carried_over(self.bound, t, before, x, self.directions, left)
            if not over:
                break
            before = x
            for k in over:
                left.remove(k)
                x = self.handlers[k].happen(t, x)[0]
                happened.append(Event(t, self.prepared.events[k].name, "carried over zero by a jump"))
        return x, happened

    def _acted(self) -> int:
        return sum(h.count for h, passive in zip(self.handlers, self.passive) if not passive)

    def counts(self) -> tuple[int, ...]:
        """How often each event has happened."""
        return tuple(h.count for h in self.handlers)

    def recount(self, counts: Sequence[int], t: float) -> None:
        """Back to earlier counts, those at t."""
        for handler, count in zip(self.handlers, counts):
            handler.count = int(count)
        self.instants = [s for s in self.instants if s <= t]

    def take_over(self, old: Happenings) -> None:
        """Go on from where another one of the same events is."""
        for handler, count in zip(self.handlers, old.counts()):
            handler.count = count
        self.instants, self.leaving = old.instants, old.leaving
