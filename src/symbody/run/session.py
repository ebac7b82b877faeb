"""Session: one simulation on its way, stretch by stretch; it can be interrupted, saved, and continued."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symbody.flow.connect import Connected
from symbody.flow.dry_friction import SLOW
from symbody.flow.flow import Flow
from symbody.flow.loop_guards import Lookout
from symbody.flow.signals import Feed
from symbody.hybrid.events import Happenings
from symbody.hybrid.impacts import Gates
from symbody.integrate.samples import Sampling
from symbody.integrate.stepper import Leg
from symbody.trajectory.outcome import Outcome
from symbody.trajectory.trajectory import Event

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Settings:
    """What a run was asked for; `step` None: the tolerances choose."""

    method: str
    start: float
    step: float | None
    rtol: float
    atol: float
    max_steps: int
    sampling: Sampling
    period: float | None = None
    threads: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    automatic: bool = False  # an explicit method may give way to an implicit one
    slow: float = SLOW


@dataclass(eq=False)
class Anchor:
    """An instant where a run that goes further passes too: it is continued from here, with the same bits."""

    t: float
    x: np.ndarray
    samples: int  # number of samples up to here
    events: int
    feed: Mapping[str, np.ndarray]
    driver: Mapping[str, np.ndarray]
    happened: tuple[int, ...] = ()  # counts of the events
    leaving: tuple[int, ...] = ()  # see `Happenings`


@dataclass(frozen=True, eq=False)
class Segment:
    """Samples from number `start` on, with the Flow that gives their rates, or those rates (k, nx) themselves."""

    start: int
    flow: Flow
    rates: np.ndarray | None = None


@dataclass(eq=False)
class Session:
    """States and samples so far. `advance(end)` goes on; what it computed survives an interrupt.

    t, x       now; x (nx,), or (b, nx) of a batch
    ts, xs     samples: lists of (k,) and (..., k, nx)
    driver     integrator; it may be replaced by another kind on the way (stiff motions)
    lookout    numbers of closed loops that end a stretch (`lookout`); or None
    watch      answers what it sees, and may replace the equations (`switching`); or None
    segments   which equations belong to which samples, in order, where they were replaced
    gates      closes loops that open and close on the way; or None
    """

    connected: Connected
    settings: Settings
    feed: Feed
    driver: Any
    t: float
    x: np.ndarray
    happenings: Happenings | None = None
    ts: list[np.ndarray] = field(default_factory=list)
    xs: list[np.ndarray] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    statistics: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    outcome: Outcome = Outcome.FINISHED
    outcomes: np.ndarray | None = None
    anchor: Anchor | None = None
    end: float = math.nan
    count: int = 0  # samples so far
    lookout: Lookout | None = None
    watch: Any = None
    segments: list[Segment] = field(default_factory=list)
    gates: Gates | None = None

    def __post_init__(self) -> None:
        if self.x.ndim == 2 and self.outcomes is None:
            self.outcomes = np.full(len(self.x), Outcome.FINISHED, dtype=object)

    @property
    def flow(self) -> Flow:
        return self.connected.flow

    def advance(self, end: float, watch: Callable[[Session], None] | None = None, clever: Any = None) -> Outcome:
        """Integrate up to `end`. watch: called after each stretch; clever: may replace the driver (stiff motions)."""
        began = time.perf_counter()
        self.end = end
        if self.anchor is None:
            self._begin()
        else:
            self._return_to_anchor()
        wanted = self.settings.sampling.times(self.settings.start, end, self.settings.step)
        with interrupts() as interrupted:
            self.outcome = self._loop(end, wanted, interrupted, watch, clever)
        self.statistics["seconds"] = self.statistics.get("seconds", 0.0) + time.perf_counter() - began
        return self.outcome

    def _begin(self) -> None:
        if self.gates is not None:
            self.gates.look(self.t, self.x)
        self.feed.refresh(self.t, self.x)
        if self.happenings is not None:
            self.x = self._carried(None, self.x)
            self.x = self.happenings.settled(self.t, self.x)
        first = self.settings.sampling.times(self.settings.start, self.end, self.settings.step)[:1]
        if len(first) and first[0] <= self.settings.start:
            self._collect(np.array([self.t]), self.x[..., None, :])
        self.drop_anchor()

    def _loop(
        self, end: float, wanted: np.ndarray, interrupted: Callable[[], bool], watch: Any, clever: Any
    ) -> Outcome:
        if not self._switched():  # by a controller that is asked at the very start
            return Outcome.NOT_CONVERGED
        while end - self.t > 4 * EPS * max(abs(end), abs(self.t)):
            stop = min(end, self.feed.stop(self.t), self.driver.border(self.t))
            low, high = np.searchsorted(wanted, [self.t, stop], side="right")
            known = len(self.events)
            leg = self._stretch(stop, wanted[low:high], wanted[low:])
            self._take(leg)
            self._record(leg, known)
            if not leg.outcome.ok:
                self._collect_end()
                return leg.outcome
            if self._all_failed():
                return self._worst()
            if leg.events:
                ended = self._happen(leg)
                if ended is not None:
                    return ended
            if self.t < end:
                self.feed.refresh(self.t, self.x)
                if not self._switched():
                    return Outcome.NOT_CONVERGED
                self.drop_anchor()
            if watch is not None:
                watch(self)
            if self.t < end and (ended := self._ended_early(interrupted())) is not None:
                self._collect_end()
                return ended
            if clever is not None:
                clever(self)
        return self._worst()

    def _ended_early(self, interrupted: bool) -> Outcome | None:
        """Why the run goes no further, if it does not."""
        if interrupted:
            return Outcome.INTERRUPTED
        return Outcome.TOO_MANY_STEPS if self.statistics.get("steps", 0) > self.settings.max_steps else None

    def _stretch(self, stop: float, times: np.ndarray, later: np.ndarray) -> Leg:
        """One stretch, with samples at `times`; where loops are watched it may be shorter than the driver's, or longer.

        later: all instants of samples from now on.
        """
        leg: Leg = self.driver.advance(self.t, self.x, stop, times)
        if self.lookout is None or self.x.ndim != 1:
            return leg
        if leg.outcome.ok:
            seen = self.lookout.found(leg.t_end, leg.x_end)
            why = self.lookout.say_open(leg.t_end, seen[1])
            if why:
                self.notes.append(why)
                return replace(leg, outcome=Outcome.LOOP_OPENED, events=())
            if not self.lookout.crossed(seen[0]):
                return leg
        return leg if self.watch is None else self.watch.inspect(self, leg, later)

    def _take(self, leg: Leg) -> None:
        """Keep what a stretch gave."""
        self._collect(leg.t, leg.x)
        self.t, self.x = leg.t_end, leg.x_end
        for name, count in leg.statistics.items():
            self.statistics[name] = self.statistics.get(name, 0) + count
        failed = getattr(self.driver, "failed", None)
        if self.outcomes is not None and failed is not None:
            from symbody.integrate.native import FAILURES

            for i in np.flatnonzero(failed):
                if self.outcomes[i] is Outcome.FINISHED:
                    self.outcomes[i] = FAILURES[int(failed[i])]
                    if self.outcomes[i] is Outcome.LOOP_OPENED and self.lookout is not None:
                        t, states = self.driver.opened[int(i)]
                        gap = self.lookout.found(t, states)[1][i]
                        self.notes.append(f"member {i}: {self.lookout.say_open(t, gap)}")

    def _collect(self, t: np.ndarray, x: np.ndarray) -> None:
        if len(t):
            self.count += len(t)
            self.ts.append(np.asarray(t))
            self.xs.append(np.asarray(x))

    def _collect_end(self) -> None:
        """The state where a run ends before its time."""
        if not self.ts or self.ts[-1][-1] != self.t:
            self._collect(np.array([self.t]), self.x[..., None, :])

    def _record(self, leg: Leg, known: int) -> None:
        """Note the events of a stretch that change nothing, in order with others since the first `known` ones."""
        if leg.recorded:
            assert self.happenings is not None
            happened = self.happenings.record(leg.recorded)
            self.events[known:] = sorted([*happened, *self.events[known:]], key=lambda event: event.t)

    def _happen(self, leg: Leg) -> Outcome | None:
        """Answer the events at the end of a stretch: jumps are recorded before and after; an Outcome ends the run."""
        assert self.happenings is not None
        after, happened, stops = self.happenings.answer(self.t, self.x, leg.events)
        self.events += happened
        possible = True
        if after is not self.x:
            if self.gates is not None:
                after, possible = self._gated(after, True)
            self._jump(self._carried(self.x, after))
        if not possible:
            return Outcome.NOT_CONVERGED
        if stops is not None:
            self._collect_end()
        else:
            self.x = self.happenings.settled(self.t, self.x)
            self._forget()
        return stops

    def _carried(self, before: np.ndarray | None, after: np.ndarray) -> np.ndarray:
        """A state after a jump, and after the events of force elements that the jump itself has brought about."""
        if self.happenings is None or not self.happenings.elements:
            return after
        after, happened = self.happenings.carried(self.t, before, after)
        self.events += happened
        return after

    def _jump(self, after: np.ndarray) -> None:
        """Go on from another state, which is recorded beside the one before."""
        if not self.ts or self.ts[-1][-1] != self.t:
            self._collect(np.array([self.t]), self.x[None])
        self._collect(np.array([self.t]), after[None])
        self.x = after

    def _switched(self) -> bool:
        """Loops that an input tells to close do; False if they cannot."""
        if self.gates is None:
            return True
        after, possible = self._gated(self.x, False)
        if after is not self.x:
            self._jump(self._carried(self.x, after))
            self._forget()
        if not possible:
            self._collect_end()
        return possible

    def _gated(self, x: np.ndarray, jumped: bool) -> tuple[np.ndarray, bool]:
        """x after the impacts of loops that close, and whether these are possible; a note says why not."""
        assert self.gates is not None
        after, happened, why = self.gates.answer(self.t, x, jumped)
        self.events += happened
        if why:
            self.notes.append(why)
        return after, not why

    def _forget(self) -> None:
        """After a jump the size of the last step means nothing."""
        recall = getattr(self.driver, "recall", None)
        if recall is not None:
            recall({})

    # -- batches

    def _all_failed(self) -> bool:
        return self.outcomes is not None and all(o is not Outcome.FINISHED for o in self.outcomes)

    def _worst(self) -> Outcome:
        if self.outcomes is None:
            return Outcome.FINISHED
        return next((o for o in self.outcomes if o is not Outcome.FINISHED), Outcome.FINISHED)

    # -- continuing

    def drop_anchor(self) -> None:
        """Here a longer run passes too."""
        memory: dict[str, np.ndarray] = getattr(self.driver, "memory", dict)()
        happened: tuple[int, ...] = ()
        leaving: tuple[int, ...] = ()
        if self.happenings is not None:
            happened, leaving = self.happenings.counts(), tuple(sorted(self.happenings.leaving))
        self.anchor = Anchor(
            self.t, self.x.copy(), self.count, len(self.events), self.feed.mark(), memory, happened, leaving
        )

    def _return_to_anchor(self) -> None:
        """A run ends between two anchors as it was told; a longer one goes on from the last of them."""
        anchor = self.anchor
        assert anchor is not None
        self.t, self.x = anchor.t, anchor.x.copy()
        if self.ts:
            t, x = np.concatenate(self.ts), np.concatenate(self.xs, axis=-2)
            self.ts, self.xs = [t[: anchor.samples]], [x[..., : anchor.samples, :]]
        self.events = self.events[: anchor.events]
        self.count = anchor.samples
        self.segments = [s for s in self.segments if s.start <= anchor.samples]
        self.feed.rewind(anchor.feed)
        if self.happenings is not None:
            self.happenings.recount(anchor.happened, anchor.t)
            self.happenings.leaving = set(anchor.leaving)
        if self.gates is not None:
            self.gates.look(self.t, self.x)
        recall = getattr(self.driver, "recall", None)
        if recall is not None:
            recall(anchor.driver)

    def gathered(self) -> tuple[np.ndarray, np.ndarray]:
        """(k,) times and (..., k, nx) states of all samples."""
        if not self.ts:
            return np.zeros(0), np.zeros((*self.x.shape[:-1], 0, self.x.shape[-1]))
        return np.concatenate(self.ts), np.concatenate(self.xs, axis=-2)


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Ctrl-C as a question: the first one is remembered until a stretch is complete, a second one raises."""
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    old = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        pressed.append(number)
        if len(pressed) > 1:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, old if old is not None else signal.SIG_DFL)
