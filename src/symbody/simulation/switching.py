"""Closed loops watched during motion: another choice of dependent joints where the present one becomes singular.

Near a dead point the loops cannot be solved for the dependent joints, although the mechanism moves on. The states q and
qd have their full size, so a run may go on with the equations of another partition from any state. Each stretch is
looked at after it was computed: from the first sample where a measure (determinant or pivot) of the loops has become
small or has changed its sign, it is done again. Where the mechanism itself is singular, no partition helps; there the
motion is continued by its inertia (`passing`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from symbody.codegen.compile import compile_system
from symbody.errors import ModelError, SymbodyError
from symbody.loops.conditioning import SINGULAR, Conditioning, measures
from symbody.loops.constraints import Constraints
from symbody.loops.partition import Partition
from symbody.loops.redundancy import velocity_names
from symbody.simulation.connect import Connected
from symbody.simulation.driver import Leg
from symbody.simulation.events import Prepared
from symbody.simulation.outcome import Outcome
from symbody.simulation.passing import Passage, pass_by_inertia
from symbody.simulation.session import Segment, Session
from symbody.simulation.trajectory import Event

LOW = 0.4  # of its size where the partition was taken up: a measure below is looked into
WORTH = 3.0  # another partition must be better by this factor
CLOSE_BY = 1e-3  # smallest singular value of J at a start that is worth a note
MECHANISM = 0.05  # of the smallest singular value at the start: below, the mechanism is to blame
POINTS = 65  # instants that are looked at in a stretch of an adaptive method, besides the samples
TRIES = 6  # changes at one instant
LOST = (Outcome.NOT_CONVERGED, Outcome.NOT_FINITE, Outcome.STEP_TOO_SMALL)

Remake = Callable[[Partition], tuple[Connected, Prepared | None]]


@dataclass(frozen=True, eq=False)
class Way:
    """A partition with its equations of motion."""

    found: Constraints
    partition: Partition
    connected: Connected
    prepared: Prepared | None

    @cached_property
    def kernel(self) -> Any:
        return compile_system(measures(self.found, self.partition))

    def measure(self, t: np.ndarray, q: np.ndarray, parameters: Mapping[str, Any]) -> np.ndarray:
        """(k, n) measures at positions (k, nq)."""
        kernel = self.kernel
        known = {p.name for p in kernel.parameters}
        given = {n: v for n, v in parameters.items() if n in known}
        inputs = [{"q": q, "t": t}[p.name] for p in kernel.inputs]
        found, _ = kernel.call_with_status(*inputs, parameters=given or None)
        return np.nan_to_num(np.asarray(found).reshape(len(q), -1), nan=0.0)

    def say(self) -> str:
        names = velocity_names(self.found)
        inside = np.flatnonzero(self.found.pattern.any(axis=0))
        return ", ".join(names[k] for k in self.partition.independent if k in inside)


class Watch:
    """Looks at every stretch of a run with closed loops, and keeps the partitions that were needed so far."""

    def __init__(self, way: Way, remake: Remake, parameters: Mapping[str, Any]) -> None:
        self.way, self.ways, self.remake = way, [way], remake
        self.parameters = dict(parameters)
        plain = {n: float(v) for n, v in self.parameters.items() if np.ndim(v) == 0}
        self.conditioning = Conditioning(way.found, len(way.partition.rows), plain, neighbours=0)
        self.reference = np.ones(1)  # (n,) sizes of the measures where the partition was taken up
        self.regular = 1.0  # smallest singular value of J at the start
        self._lost = (-np.inf, 0)  # where the run could not go on, and how often
        self._last: tuple[float, np.ndarray] = (np.nan, np.zeros(0))  # measures where the last single step ended

    def copied(self) -> Watch:
        """One that may go on without changing this one."""
        twin = copy(self)
        twin.ways = list(self.ways)
        return twin

    # -- start

    def begin(self, t: float, q: np.ndarray, given: bool) -> str:
        """Make ready at a regular start; returns a note if it is almost singular, or suits another partition better.

        given: the partition is the user's wish, which is not replaced at the start.
        """
        if not self.way.partition.independent and not self.conditioning.moving:
            raise ModelError(self._locked())
        J = self.conditioning.jacobian(q, t)
        self.regular = self.conditioning.of_mechanism(J)
        mine = self.conditioning.of_partition(J, self.way.partition)
        notes = []
        if self.regular < CLOSE_BY:
            meeting = self.conditioning.say_meeting(J, self.way.partition.rows)
            notes.append(f"the start is almost a singular position: {meeting}")
        if mine < SINGULAR and given:
            raise ModelError(
                f"{self._name} cannot start with the partition {self.way.say()}: {self._singular(q, t)} Or leave "
                "partition out, or give q0 of another position."
            )
        if mine < 0.1 * self.regular and not given:
            better = self._better(J, q, mine)
            if better is not None:
                self.way = better
                notes.append(f"the loops are solved with {better.say()} independent, which suits the start.")
        self._take_up(t, q)
        return " ".join(notes)

    def unclosed(self, q: np.ndarray, t: float) -> str:
        """Why the loops may not close from q, in words."""
        return f"its loops do not close from there: {self._singular(q, t)} Give q0 of another position."

    def _locked(self) -> str:
        found, names = self.way.found, velocity_names(self.way.found)
        loops = ", ".join(map(repr, found.loops))
        return (
            f"{self._name} is locked: the {len(self.way.partition.rows)} constraints of {loops} leave its joints "
            f"{', '.join(names)} no freedom. Remove a constraint, add a joint, or drive one."
        )

    def _take_up(self, t: float, q: np.ndarray) -> None:
        values = np.abs(self.way.measure(np.array([t]), q[None], self.parameters)[0])
        self.reference = np.maximum(values, 1e-300)
        self._last = (np.nan, values)

    @property
    def _name(self) -> str:
        return self.way.found.tree.mechanism.name

    def _singular(self, q: np.ndarray, t: float) -> str:
        return self.conditioning.say(self.way.partition, q, t, MECHANISM * self.regular)

    # -- stretches

    def instants(self, session: Session, stop: float, wanted: np.ndarray) -> np.ndarray:
        """Times to be computed in a stretch up to `stop`: those wanted, and enough to look at."""
        settings, t = session.settings, session.t
        if settings.step is None:
            return np.union1d(wanted, np.linspace(t, stop, POINTS)[1:])
        low, high = ((x - settings.start) / settings.step for x in (t, stop))
        steps = settings.start + settings.step * np.arange(np.floor(low + 1e-6) + 1, np.floor(high + 1e-6) + 1)
        if len(wanted) >= len(steps):
            return wanted
        return np.union1d(wanted, steps[(steps > t) & (steps <= stop)])

    def inspect(self, session: Session, leg: Leg, wanted: np.ndarray, stop: float, tries: int = TRIES) -> Leg:
        """The stretch as it may stand: shorter if the partition was changed, or with the passage at its end."""
        at = session.flow.slices["q"]
        if self._one_step(session, leg) and self._quiet(session, leg):
            return _only(leg, wanted)
        t, x = _points(session, leg)
        found = self.way.measure(t, x[:, at], self.parameters) / self.reference
        if not found.shape[1]:
            return _only(leg, wanted)
        sizes, signs = np.abs(found).min(axis=1), np.sign(found)
        crossed = np.concatenate([[False], (signs[1:] * signs[:-1] < 0).any(axis=1)])
        level, first = LOW, 1
        while True:
            low = np.flatnonzero((sizes < level) | crossed)
            low = low[low >= first]
            if not len(low):
                break
            k = int(low[0])
            answer = self._answer(session, leg, wanted, stop, t, x, k, bool(crossed[k]), tries)
            if answer is not None:
                return answer
            level, first = min(level, max(float(sizes[k]) / WORTH, 1e-300)), k + 1
        if leg.outcome in LOST:
            answer = self._answer(session, leg, wanted, stop, t, x, len(t) - 1, False, tries, lost=True)
            if answer is not None:
                return answer
            session.notes.append(f"at t = {t[-1]:.6g} s {self._singular(x[-1, at], t[-1])}")
        return _only(leg, wanted)

    @staticmethod
    def _one_step(session: Session, leg: Leg) -> bool:
        step = session.settings.step
        return step is not None and leg.outcome.ok and leg.t_end - session.t < 1.5 * step

    def _quiet(self, session: Session, leg: Leg) -> bool:
        """Whether a single step, as those between two ticks of a controller, needs no closer look."""
        at = session.flow.slices["q"]
        before = self._last[1] if self._last[0] == session.t else self._measured(session.t, session.x[at])
        after = self._measured(leg.t_end, leg.x_end[at])
        self._last = (leg.t_end, after)
        return bool(np.abs(after).min(initial=np.inf) >= LOW and (before * after > 0).all())

    def _measured(self, t: float, q: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.way.measure(np.array([t]), q[None], self.parameters)[0] / self.reference
        return found

    def _answer(
        self, session: Session, leg: Leg, wanted: np.ndarray, stop: float, t: np.ndarray, x: np.ndarray, k: int,
        crossed: bool, tries: int, lost: bool = False,
    ) -> Leg | None:  # fmt: skip
        """What is done about point k: None if nothing."""
        at = session.flow.slices["q"]
        bad = self._crossing(t, x[:, at], k) if crossed else x[k, at]
        J = self.conditioning.jacobian(bad, t[k])
        whole, mine = self.conditioning.of_mechanism(J), self.conditioning.of_partition(J, self.way.partition)
        if whole < MECHANISM * self.regular and (crossed or lost or whole < Passage.zone * self.regular):
            passed = pass_by_inertia(session, self.conditioning, self.regular, t, x, max(k - 1, 0), wanted)
            if passed is not None:
                return self._passed(session, leg, wanted, passed)
        if lost:
            tries = min(tries, self._tries_left(t[k]))
        if tries == 0 or mine > (1.0 if lost else 0.5) * whole:
            return None
        better = self._better(J, bad, mine)
        if better is None:
            return None
        last = max(k - 1, 0)
        return self._changed(session, leg, wanted, stop, float(t[last]), x[last], better, tries)

    def _tries_left(self, t: float) -> int:
        """How often a run that was lost at t may be taken up again; less if it was lost about there before."""
        last, count = self._lost
        count = count + 1 if t <= last * (1 + 1e-9) else 1
        self._lost = (max(t, last), count)
        return max(TRIES - count, 0)

    def _crossing(self, t: np.ndarray, q: np.ndarray, k: int) -> np.ndarray:
        """The position between points k - 1 and k where a measure vanishes, on the chord."""
        before, after = q[k - 1], q[k]
        first = self.way.measure(t[k - 1 : k], before[None], self.parameters)[0]
        last = self.way.measure(t[k : k + 1], after[None], self.parameters)[0]
        which = int(np.flatnonzero(first * last < 0)[0]) if (first * last < 0).any() else 0
        low, high = 0.0, 1.0
        for _ in range(30):
            s = (low + high) / 2
            value = self.way.measure(t[k : k + 1], (before + s * (after - before))[None], self.parameters)[0][which]
            low, high = (s, high) if value * first[which] > 0 else (low, s)
        out: np.ndarray = before + low * (after - before)
        return out

    def _better(self, J: np.ndarray, q: np.ndarray, mine: float) -> Way | None:
        """A way that is better here by a good factor: one that is known, else a new one."""
        best, limit = self.conditioning.best(J)
        if limit < WORTH * mine:
            return None
        for way in self.ways:
            if self.conditioning.of_partition(J, way.partition) > max(limit / WORTH, WORTH * mine):
                return way
        try:
            partition = self.conditioning.partition(best, q)
            way = Way(self.way.found, partition, *self.remake(partition))
        except SymbodyError:
            return None  # no equations by these joints: the run goes on as it is
        self.ways.append(way)
        return way

    def _changed(
        self, session: Session, leg: Leg, wanted: np.ndarray, stop: float, t: float, x: np.ndarray, way: Way, tries: int
    ) -> Leg:
        """Go on with another way from (t, x)."""
        from symbody.simulation.simulate import adopt

        kept = _until(_only(leg, wanted), t, x)
        self.way = way
        self._take_up(t, x[session.flow.slices["q"]])
        _mark(session, Segment(session.count + len(kept.t), way.connected.flow))
        adopt(session, way.connected, way.prepared)
        session.events.append(Event(t, "partition", f"From here on {way.say()} independent: others are near singular."))
        session.statistics["partitions"] = session.statistics.get("partitions", 0) + 1
        if t > session.t:
            return kept
        # nothing was kept: the stretch begins anew
        again = session.driver.advance(session.t, session.x, stop, self.instants(session, stop, wanted))
        return self.inspect(session, again, wanted, stop, tries - 1)

    def _passed(self, session: Session, leg: Leg, wanted: np.ndarray, passed: Passage) -> Leg:
        """The stretch up to a singular position of the mechanism, and the passage."""
        from symbody.simulation.simulate import adopt

        kept = _until(_only(leg, wanted), passed.start, passed.x_start)
        times = np.concatenate([kept.t, passed.near.t, passed.t])
        states = np.concatenate([kept.x, passed.near.x, passed.x])
        flow = session.flow
        count = session.count + len(kept.t) + len(passed.near.t)
        _mark(session, Segment(count, flow, passed.rates), Segment(count + len(passed.t), flow))
        text = "A singular position was passed by inertia."
        session.events.append(Event(passed.instant, "singular position", text))
        session.statistics["passages"] = session.statistics.get("passages", 0) + 1
        adopt(session, self.way.connected, self.way.prepared)
        statistics = {n: leg.statistics.get(n, 0) + passed.near.statistics.get(n, 0) for n in leg.statistics}
        return Leg(times, states, passed.end, passed.x_end, statistics=statistics)


def _mark(session: Session, *segments: Segment) -> None:
    """From here on samples belong to other equations."""
    if not session.segments:
        session.segments.append(Segment(0, session.flow))
    session.segments += segments


def _points(session: Session, leg: Leg) -> tuple[np.ndarray, np.ndarray]:
    """Times and states of a stretch with its ends, as far as they are finite."""
    t, x = np.concatenate([[session.t], leg.t]), np.concatenate([session.x[None], leg.x])
    if leg.t_end > t[-1]:
        t, x = np.append(t, leg.t_end), np.concatenate([x, leg.x_end[None]])
    good = np.isfinite(x).all(axis=1)
    good[0] = True
    return t[good], x[good]


def _only(leg: Leg, wanted: np.ndarray) -> Leg:
    """A stretch with the samples that were asked for."""
    keep = np.isin(leg.t, wanted)
    return leg if keep.all() else replace(leg, t=leg.t[keep], x=leg.x[keep])


def _until(leg: Leg, t: float, x: np.ndarray) -> Leg:
    """The beginning of a stretch, up to the state x at t."""
    keep = leg.t <= t
    return Leg(leg.t[keep], leg.x[keep], t, x, statistics=leg.statistics)
