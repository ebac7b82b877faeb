"""Happenings: what the events of a run do, kept from one stretch to the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbody.simulation.events import Prepared
from symbody.simulation.field import Field
from symbody.simulation.jumps import Handler, confirmed, crowded, settled
from symbody.simulation.outcome import Outcome
from symbody.simulation.trajectory import Event

MOST_EVENTS = 100_000


class Happenings:
    """Events of a Flow with what follows from each; it counts them over the whole run."""

    def __init__(self, prepared: Prepared, bound: Field, span: float, max_events: int = MOST_EVENTS) -> None:
        self.most = max_events
        self.prepared, self.bound, self.span = prepared, bound, span
        self.handlers = [Handler(rule, prepared, bound) for rule in prepared.events]
        self.instants: list[float] = []
        self.count = 0

    def settled(self, t: float, x: np.ndarray) -> np.ndarray:
        """x with guards that are zero but for roundings on the side to which they move."""
        return settled(self.bound, t, x)

    def answer(
        self, t: float, x: np.ndarray, events: tuple[int, ...]
    ) -> tuple[np.ndarray, list[Event], Outcome | None]:
        """(state after, what happened, how the run ends if it does)."""
        self.instants.append(t)
        happened: list[Event] = []
        stop = False
        for k in confirmed(self.bound, events, t, x, self.prepared.directions):
            x, text, ends = self.handlers[k].happen(t, x)
            happened.append(Event(t, self.prepared.events[k].name, text))
            stop |= ends
        self.count += len(happened)
        if stop:
            return x, happened, Outcome.STOPPED
        if crowded(self.instants, self.span) or self.count >= self.most:
            return x, happened, Outcome.TOO_MANY_EVENTS
        return x, happened, None

    def counts(self) -> tuple[int, ...]:
        """How often each event has happened."""
        return tuple(h.count for h in self.handlers)

    def recount(self, counts: Sequence[int]) -> None:
        """Back to earlier counts."""
        for handler, count in zip(self.handlers, counts):
            handler.count = int(count)
