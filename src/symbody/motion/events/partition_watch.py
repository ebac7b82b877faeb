"""Closed loops watched during motion: another choice of dependent joints where the present one becomes singular.

Near a dead point the loops cannot be solved for the dependent joints, although the mechanism moves on; and where some
constraints are redundant, those that are kept may lose rank where all together do not. The states q and qd have their
full size, so a run may go on with the equations of another partition, of other joints and rows, from any state; with
multipliers for all joints, with those of other rows. Measures of the loops (determinants or pivots) are looked at after
every step (`loop_guards`), never at samples: where one has fallen below a share of its size, J tells whether another
partition is better by a margin, here and ahead along the present velocity. Where the mechanism itself is singular, no
partition helps; there the motion is continued by its inertia (`singular_passage`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, SymbodyError
from symbody.mechanics.assembly.conditioning import SINGULAR, Conditioning, RowChoice
from symbody.mechanics.loops.partition.measures import partition_of
from symbody.mechanics.loops.partition.partition import Partition
from symbody.mechanics.memoised.model_memory import derived_of, numbers_key
from symbody.model.record.coordinates import velocity_labels
from symbody.motion.events.energy_balance import EnergyBalance
from symbody.motion.events.partition_choice import PartitionChoice, say_singular, solved_part, with_pivots
from symbody.motion.events.passages import MOST, NONE, Passages
from symbody.motion.events.plan import Change, Plan, Quiet, SwitchedEquations
from symbody.motion.events.queries import Ahead, Asking, Both, Compared, Judged, Looked, LoopMeasures
from symbody.motion.events.singular_passage import GROSS, pass_by_inertia
from symbody.motion.events.state import RunState, Segment
from symbody.motion.flow.connect import Connected
from symbody.motion.flow.event_rules import PreparedEvents
from symbody.motion.flow.loop_guards import Levels
from symbody.motion.flow.signals import Held
from symbody.motion.methods.stepper import Leg, Memory
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory import EventRecord

LOW = 0.5  # of its size where the partition was taken up, or looked into last: a measure below is looked into
HIGH = 4.0  # above this much of it, where that size was a poor one, it is taken again
WORTH = 2.0  # another partition must be better by this factor: a margin, so that none is taken back soon
KNOWN = 0.6  # one whose equations exist already may be worse than the best by this much
CLOSE_BY = 1e-3  # smallest singular value of J at a start that is worth a note
MECHANISM = 0.15  # of the largest smallest singular value so far: below, the mechanism is to blame
SURELY = 1e-3  # of the same: at a position where a measure vanishes, branches meet
TRIES = 6  # changes at one instant
LOST = (Outcome.NOT_CONVERGED, Outcome.NOT_FINITE, Outcome.STEP_TOO_SMALL)

Remake = Callable[[Partition], tuple[Connected, PreparedEvents | None]]


@dataclass(frozen=True, eq=False)
class Watched:
    """What the watch of a run remembers.

    choice     whose equations are in force
    choices    all that were needed so far
    regular    largest smallest singular value of J so far
    stuck      where the run could not go on, and how often
    entered    time and energy where a singular position came near; or None
    passages   of singular positions
    """

    choice: PartitionChoice
    choices: tuple[PartitionChoice, ...]
    regular: float = 1.0
    stuck: tuple[float, int] = (-np.inf, 0)
    entered: tuple[float, float] | None = None
    passages: Passages = NONE


@dataclass(frozen=True, eq=False)
class Watch:
    """What does not change during a run with closed loops.

    remake        equations of another partition
    conditioning  measures of J, without units
    passes        whether singular positions are passed by inertia; not where loops are closed but for a drift
    balance       of a mechanism that nothing drives; or None
    """

    remake: Remake
    conditioning: Conditioning
    passes: bool = True
    balance: EnergyBalance | None = None

    def start(
        self, plan: Plan, way: PartitionChoice, held: Held, t: float, x: np.ndarray, given: bool
    ) -> Asking[tuple[Watched, Levels, str]]:
        """At a regular start x (nx,): what is remembered, levels, and a note if it is almost singular, or suits another
        partition better. given: the partition is the user's wish, which is not replaced at the start.
        """
        watching = Watching(self, plan, Watched(way, (way,)), None, held)
        note = yield from watching.begin(t, x, given)
        return watching.mark(), watching.levels, note

    def unclosed(self, mark: Watched, q: np.ndarray, t: float) -> str:
        """Why the loops may not close from q, in words."""
        why = say_singular(self.conditioning, mark.choice, q, t, MECHANISM * mark.regular)
        return f"its loops do not close from there: {why} Give q0 of another position."


def watch_of(
    way: PartitionChoice,
    remake: Remake,
    parameters: Mapping[str, Any],
    passes: bool = True,
    balance: EnergyBalance | None = None,
) -> Watch:
    """The Watch of a run that starts with this way."""
    plain = {n: float(v) for n, v in parameters.items() if np.ndim(v) == 0}
    conditioning = Conditioning(way.constraints, len(way.partition.rows), plain, neighbours=0)
    return Watch(remake, conditioning, passes, balance)


class LoopWatch(Quiet):
    """The hook of closed loops: they stay closed, and are solved for joints for which they can be."""

    name = "loops"

    def __init__(self, watch: Watch | None) -> None:
        """watch: None where no other partition can be made: in batches, with loops that open, and from a file."""
        self.watch = watch

    def inspect(self, plan: Plan, state: RunState, leg: Leg, later: np.ndarray) -> Asking[Change | None]:
        loops = plan.loops
        assert loops is not None
        measure, low = np.zeros(0), False
        if leg.outcome.ok:
            levels = state.levels or loops.no_levels()
            u = plan.signals.at(leg.t_end, state.held.values)
            measure, gap, opened, low, high = yield Judged(loops, levels, leg.t_end, leg.x_end, u)
            if opened:
                why = loops.say_open(leg.t_end, gap)
                return Change(leg=replace(leg, outcome=Outcome.LOOP_OPENED, events=()), notes=(why,))
            if not (low or high):
                return None
        if self.watch is None:
            return None
        watching = Watching(self.watch, plan, state.marks[self.name], state)
        return (yield from watching.inspect(leg, later, measure, low))


class Watching:
    """One look of a Watch: it works on copies of what is remembered, and gives the Change that follows."""

    def __init__(
        self, watch: Watch, plan: Plan, mark: Watched, state: RunState | None, held: Held | None = None
    ) -> None:
        self.watch, self.plan, self.state = watch, plan, state
        self.conditioning, self.balance, self.passes = watch.conditioning, watch.balance, watch.passes
        assert plan.loops is not None
        self.loops = plan.loops
        self.held = state.held if state is not None else held
        assert self.held is not None
        levels = None if state is None else state.levels
        self.levels = levels or self.loops.no_levels()
        self.choice, self.choices, self.regular = mark.choice, list(mark.choices), mark.regular
        self._stuck, self._entered, self._passages = mark.stuck, mark.entered, mark.passages
        self.notes: list[str] = []
        self.drop: list[str] = []
        self.events: list[EventRecord] = []
        self.segments: list[Segment] = []
        self.counts: dict[str, float] = {}
        self.equations: SwitchedEquations | None = None
        self.memory: Memory | None = None

    def mark(self) -> Watched:
        """What is to be remembered."""
        return Watched(self.choice, tuple(self.choices), self.regular, self._stuck, self._entered, self._passages)

    def measure(self, t: Any, x: np.ndarray) -> Asking[np.ndarray]:
        """Measures (..., k) at states, with the signals as they are held."""
        measure, _ = yield LoopMeasures(self.loops, t, x, self._signals(float(np.ravel(t)[0])))
        return np.asarray(measure)

    def _signals(self, t: float) -> np.ndarray:
        """(nu,) as they are held."""
        assert self.held is not None
        return self.plan.signals.at(t, self.held.values)

    def look(self, q: Sequence[np.ndarray], t: Sequence[float]) -> Asking[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """J (n, m, nv) without units at positions; the singular values (n,) that vanish where the mechanism is
        singular, and those that vanish where the equations of the present way are."""
        positions, times = np.array(q), np.array(t, dtype=float)
        J, whole, mine = yield Looked(self.conditioning, positions, times, solved_part(self.choice))
        return J, whole, with_pivots(J, self.choice, mine)

    def _seen(self, t: float, x: np.ndarray) -> Both:
        """Measures, and J with its singular values, at a state."""
        found = LoopMeasures(self.loops, t, x, self._signals(t))
        return Both(found, Looked(self.conditioning, x[self._at][None], np.array([t]), solved_part(self.choice)))

    def take(self, way: PartitionChoice) -> None:
        """Watch the loops by another way; its measures have no levels yet."""
        self.choice = way
        self.loops = self.loops.of(way.connected.flow)
        self.levels = self.loops.no_levels()

    # -- start

    def begin(self, t: float, x: np.ndarray, given: bool) -> Asking[str]:
        """Make ready at a regular start; returns a note if it is almost singular, or suits another partition better.

        given: the partition is the user's wish, which is not replaced at the start.
        """
        if not self.choice.whole and not self.choice.partition.independent and not self.conditioning.moving:
            raise ModelError(self._locked())
        q = x[self._at]
        (first, _), (looked, whole, own) = yield self._seen(t, x)
        J, measure = looked[0], np.asarray(first)
        self.regular, mine = float(whole[0]), float(with_pivots(looked, self.choice, own)[0])
        notes = []
        if self.regular < CLOSE_BY:
            meeting = self.conditioning.say_meeting(J, self.choice.partition.rows)
            notes.append(f"the start is almost a singular position: {meeting}")
        if mine < SINGULAR and given:
            raise ModelError(
                f"{self._name} cannot start with the partition {self.choice.independent()}: {self._singular(q, t)} Or "
                "leave partition out, or give q0 of another position."
            )
        if mine < 0.1 * self.regular and not given:
            better = yield from self._better(J[None], np.array([self.regular]), mine, q)
            if better is not None:
                self.take(better)
                mine = self._size(J, better)
                measure = yield from self.measure(t, x)
                notes.append(f"the loops are solved with {better.say()}, which suits the start.")
        self._take_up(measure, self.regular, mine)
        return " ".join(notes)

    def _locked(self) -> str:
        found, names = self.choice.constraints, velocity_labels(self.choice.constraints.tree.mechanism)
        loops = ", ".join(map(repr, found.loops))
        return (
            f"{self._name} is locked: the {len(self.choice.partition.rows)} constraints of {loops} leave its joints "
            f"{', '.join(names)} no freedom. Remove a constraint, add a joint, or drive one."
        )

    @property
    def _at(self) -> slice:
        return self.choice.connected.flow.slices["q"]

    @property
    def _name(self) -> str:
        return self.choice.constraints.tree.mechanism.name

    def _singular(self, q: np.ndarray, t: float) -> str:
        return say_singular(self.conditioning, self.choice, q, t, MECHANISM * self.regular)

    def _size(self, J: np.ndarray, way: PartitionChoice) -> float:
        """The singular value that vanishes where the equations of a way are singular."""
        if way.whole:
            return self.conditioning.of_rows(J, way.partition.rows)
        return self.conditioning.of_partition(J, way.partition)

    # -- levels

    def take_up(self, t: float, x: np.ndarray) -> Asking[float]:
        """Levels of the measures by their sizes at a state; ceilings where the partition, or the mechanism, is poor.

        Returns the smallest singular value of J.
        """
        (measure, _), (J, whole, own) = yield self._seen(t, x)
        mine = with_pivots(J, self.choice, own)
        self._take_up(measure, float(whole[0]), float(mine[0]))
        return float(whole[0])

    def _take_up(self, measure: np.ndarray, whole: float, mine: float) -> None:
        """Takes up measures (k,) and the smallest singular values of J and of J_v there."""
        self.regular = max(self.regular, whole)
        with np.errstate(divide="ignore"):
            inverse = np.where(measure == 0, 0.0, 1 / measure)
        poor = WORTH * mine < whole or whole < 0.5 * self.regular
        self.levels = Levels(inverse / LOW, inverse / HIGH if poor else np.zeros(len(measure)))

    # -- stretches

    def inspect(self, leg: Leg, wanted: np.ndarray, measure: np.ndarray, low: bool) -> Asking[Change]:
        """What follows from a stretch: it is shorter if the partition is changed before its end, longer by a passage.

        wanted: (k,) instants of all samples after the stretch's beginning; measure: at its end, where that was reached,
        and low: whether one is below its level there, else above its ceiling.
        """
        leg = yield from self._inspected(leg, wanted, measure, low)
        return Change(
            leg=leg, held=self.held, memory=self.memory, levels=self.levels, mark=self.mark(), counts=self.counts,
            events=tuple(self.events), notes=tuple(self.notes), drop=tuple(self.drop), segments=tuple(self.segments),
            equations=self.equations,
        )  # fmt: skip

    def _inspected(self, leg: Leg, wanted: np.ndarray, measure: np.ndarray, low: bool) -> Asking[Leg]:
        if leg.outcome in LOST:
            return (yield from self._rescued(leg, wanted))
        if not leg.outcome.ok:
            return leg
        if low:
            return (yield from self._answer(leg, wanted, measure))
        whole = yield from self.take_up(leg.t_end, leg.x_end)
        if whole > MECHANISM * self.regular:
            self._left(leg.t_end, leg.x_end)
        return leg

    def _answer(self, leg: Leg, wanted: np.ndarray, measure: np.ndarray) -> Asking[Leg]:
        """A measure has fallen below its level at the end of a stretch."""
        crossed = (measure * self.levels.down < 0).any() and leg.before is not None
        after = (leg.t_end, leg.x_end)
        t, x = leg.before if crossed and leg.before is not None else after
        bad = (yield from self._crossing(t, x, *after, measure)) if crossed else x[self._at]
        J, values, own = yield from self.look([bad], [t])
        whole, mine = float(values[0]), float(own[0])
        self.regular = max(self.regular, whole)
        if whole < MECHANISM * self.regular:
            # the last step may have come too near to be accurate
            passed = yield from self._pass(leg, wanted, *(leg.before or (t, x)))
            if passed is not None:
                return passed
            self._enter(t, x)
        if WORTH * mine < whole:
            ahead, further = yield from self._ahead(t, x)
            better = yield from self._better(np.concatenate([J, ahead]), np.concatenate([values, further]), mine, bad)
            if better is not None and self._tries_left(t):
                return (yield from self._changed(leg, t, x, better))
        if crossed and self.conditioning.of_position(bad, t) < SURELY * self.regular:
            lost = self._lost(t, x, *after)
            if lost > GROSS:
                why = self.conditioning.say_meeting(J[0], self.choice.partition.rows)
                self.notes.append(
                    f"at t = {t:.6g} s a singular position lies ahead that the motion cannot be continued through by "
                    f"its inertia: {why} Start with another speed or position."
                )
                return replace(_until(leg, t, x), outcome=Outcome.NOT_CONVERGED)
            self._say_error(t, lost)
        yield from self.take_up(*after)
        return leg

    def _lost(self, t: float, x: np.ndarray, t_end: float, x_end: np.ndarray) -> float:
        """Change of energy where nothing drives the mechanism, beside the kinetic one; inf where it is not known."""
        if self.balance is None:
            return np.inf
        states = np.array([x, x_end])
        kinetic, potential, power = self.balance.of(self.choice.connected.flow, np.array([t, t_end]), states)
        if power.any():
            return np.inf
        return float(abs(np.diff(kinetic + potential)[0]) / max(kinetic.max(), 1e-300))

    def _say_error(self, t: float, error: float) -> None:
        if error > MOST * self.plan.settings.rtol:
            self.notes.append(
                f"at t = {t:.6g} s a singular position was passed with a relative error of about {error:.1g}, more "
                f"than {MOST:g} times the tolerance."
            )

    def _sum_up(self, t: float, x: np.ndarray, t_end: float, x_end: np.ndarray) -> None:
        """What all passages so far changed of the energy together; each of them may be small."""
        if self.balance is None:
            return
        states = np.array([x, x_end])
        kinetic, potential, power = self.balance.of(self.choice.connected.flow, np.array([t, t_end]), states)
        before = self._passages
        # steps of fixed length know no tolerance
        now = self._passages = before.further(t, kinetic, potential, power, self.plan.settings.step is not None)
        if now.count > 1 and now.error > MOST * self.plan.settings.rtol:
            self.drop += [before.note] if before.note else []
            self._passages = replace(now, note=now.say(t_end))
            self.notes.append(self._passages.note)

    def _enter(self, t: float, x: np.ndarray) -> None:
        """A singular position is near, and not passed through."""
        if self.balance is not None and self._entered is None:
            kinetic, potential, _ = self.balance.of(self.choice.connected.flow, t, x)
            self._entered = (t, float(kinetic + potential))

    def _left(self, t: float, x: np.ndarray) -> None:
        """It is no longer near: the energy tells whether the motion was followed."""
        if self.balance is None or self._entered is None:
            return
        start, before = self._entered
        self._entered = None
        kinetic, potential, power = self.balance.of(self.choice.connected.flow, t, x)
        lost = float(kinetic + potential) - before
        if float(power) == 0 and abs(lost) > MOST * self.plan.settings.rtol * float(kinetic):
            self.notes.append(
                f"from t = {start:.6g} s to {t:.6g} s, near a singular position, the energy changed by {lost:.2g} J, "
                f"{abs(lost) / float(kinetic):.1g} of the kinetic one: the motion is that uncertain from there on."
            )

    def _rescued(self, leg: Leg, wanted: np.ndarray) -> Asking[Leg]:
        """The method could not go on from the end of a stretch."""
        t, x = leg.t_end, leg.x_end
        if not np.isfinite(x).all():
            return leg
        q = x[self._at]
        J = self.conditioning.jacobian(q, t)
        whole, mine = self.conditioning.of_mechanism(J), self._size(J, self.choice)
        tries = self._tries_left(t)
        if tries and whole < MECHANISM * self.regular:
            passed = yield from self._pass(leg, wanted, t, x)
            if passed is not None:
                return passed
        if tries and mine < whole:
            better = yield from self._better(J[None], np.array([whole]), mine, q)
            if better is not None:
                return (yield from self._changed(replace(leg, outcome=Outcome.FINISHED), t, x, better))
        self.notes.append(f"at t = {t:.6g} s {self._singular(q, t)}")
        return leg

    def _tries_left(self, t: float) -> bool:
        """Whether a run may be taken up again at t with other equations; not where that did not help before."""
        last, count = self._stuck
        count = count + 1 if t <= last + 1e-9 * abs(last) else 1
        self._stuck = (max(t, last), count)
        return count <= TRIES

    def _crossing(
        self, t: float, x: np.ndarray, t_end: float, x_end: np.ndarray, last: np.ndarray
    ) -> Asking[np.ndarray]:
        """The position on the chord from x to x_end where a measure vanishes; last: the measures at x_end."""
        first = yield from self.measure(t, x)
        changed = np.flatnonzero(first * last < 0)
        if not len(changed):
            return x_end[self._at]
        which, low, high = int(changed[0]), 0.0, 1.0
        for _ in range(3):
            s = np.linspace(low, high, 65)
            found = yield from self.measure(t + s * (t_end - t), x + s[:, None] * (x_end - x))
            values = found[:, which] * first[which]
            k = int(np.argmax(values <= 0))
            low, high = float(s[max(k - 1, 0)]), float(s[k])
        return (x + low * (x_end - x))[self._at]

    # -- another partition

    def _ahead(self, t: float, x: np.ndarray) -> Asking[tuple[np.ndarray, np.ndarray]]:
        """J (n, m, nv) where the present velocity leads, before, at and behind the place where the partition becomes
        singular, and the singular values (n,) of the mechanism there."""
        found: tuple[np.ndarray, np.ndarray] = yield Ahead(self.loops, self.conditioning, t, x, self._signals(t))
        return found

    def _better(
        self, samples: np.ndarray, sizes: np.ndarray, mine: float, q: np.ndarray
    ) -> Asking[PartitionChoice | None]:
        """A way that is better by a good factor at all samples of J (n, m, nv): one that is known, else a new one.

        sizes: (n,) the singular values of the mechanism there; mine: of the present partition at the first sample.
        Positions where the mechanism itself is singular tell nothing.
        """
        limit = WORTH * mine / max(float(sizes[0]), 1e-300)
        regular, whole = sizes > MECHANISM * self.regular, self.choice.whole
        if regular.any():
            at, sizes = samples[regular], sizes[regular]
        else:
            at, sizes = samples[:1], np.maximum(sizes[:1], 1e-300)
        known = [way for way in self.choices if way is not self.choice]
        choices, values, scores = yield Compared(self.conditioning, at, sizes, tuple(map(solved_part, known)), whole)
        if not choices:
            return None
        new, marks = scores[: len(choices)], scores[len(choices) :]
        for k, way in enumerate(known):
            if way.partition.given and not whole:
                marks[k] = float((with_pivots(at, way, values[len(choices) + k]) / sizes).min())
        best = new.index(max(new))
        if marks and max(marks) > max(KNOWN * new[best], limit):
            return known[marks.index(max(marks))]
        if new[best] < limit:
            return None
        try:
            partition = self._partition(choices[best], q)
            way = PartitionChoice(self.choice.constraints, partition, *self.watch.remake(partition), whole=whole)
        except SymbodyError:
            return None  # no equations by these joints: the run goes on as it is
        self.choices.append(way)
        return way

    def _partition(self, choice: RowChoice, q: np.ndarray) -> Partition:
        """With these rows and joints: the same record in every run, whose equations are kept with the model."""
        key = (choice, numbers_key(self.conditioning.parameters))
        derived = derived_of(self.choice.constraints.tree.mechanism)
        return derived.get("partition_underway", key, lambda: partition_of(self.conditioning, choice, q))

    def _changed(self, leg: Leg, t: float, x: np.ndarray, way: PartitionChoice) -> Asking[Leg]:
        """Go on with another way from (t, x), the end of the stretch or the start of its last step."""
        kept = _until(leg, t, x)
        self.take(way)
        yield from self.take_up(t, x)
        assert self.state is not None
        self._mark(Segment(self.state.count + len(kept.t), way.connected.flow))
        self.equations = SwitchedEquations(way.connected, way.prepared)
        # the motion is the same: so are its steps
        self.memory = {n: a for n, a in self.state.memory.items() if n == "next" and leg.outcome.ok}
        self.events.append(EventRecord(t, "partition", f"From here on {way.say()}: others are near singular."))
        self.counts["partitions"] = 1
        return kept

    # -- through a singular position

    def _pass(self, leg: Leg, wanted: np.ndarray, t: float, x: np.ndarray) -> Asking[Leg | None]:
        """The stretch up to (t, x), and from there through a singular position of the mechanism; None if not."""
        if not self.passes:
            return None
        assert self.state is not None
        state = replace(self.state, levels=self.loops.no_levels())
        passed = pass_by_inertia(self.plan, state, self.conditioning, self.regular, t, x, wanted, self.balance)
        if passed is None:
            return None
        kept = _until(leg, t, x)
        times = np.concatenate([kept.t, passed.near.t, passed.t, passed.far.t])
        states = np.concatenate([kept.x, passed.near.x, passed.x, passed.far.x])
        flow = self.plan.flow
        count = state.count + len(kept.t) + len(passed.near.t)
        self._mark(Segment(count, flow, passed.rates, passed), Segment(count + len(passed.t), flow))
        text = "A singular position was passed by inertia."
        whole = self._lost(t, x, passed.end, passed.x_end)  # on the paths to it and from it too
        self._say_error(passed.instant, max(passed.error, whole if whole < np.inf else 0.0))
        self._sum_up(t, x, passed.end, passed.x_end)
        self.events.append(EventRecord(passed.instant, "singular position", text))
        self.counts["passages"] = 1
        self.memory = {}
        self.held = self.plan.signals.skipped(state.held, passed.end)
        yield from self.take_up(passed.end, passed.x_end)
        parts = (leg.statistics, passed.near.statistics, passed.far.statistics)
        statistics = {n: sum(part.get(n, 0) for part in parts) for n in leg.statistics}
        parts_recorded = (kept.recorded, passed.near.recorded, passed.recorded, passed.far.recorded)
        recorded = tuple(crossing for part in parts_recorded for crossing in part)
        return Leg(times, states, passed.end, passed.x_end, statistics=statistics, recorded=recorded)

    def _mark(self, *segments: Segment) -> None:
        """From here on samples belong to other equations."""
        assert self.state is not None
        if not self.state.segments and not self.segments:
            self.segments.append(Segment(0, self.plan.flow))
        self.segments += segments


def _until(leg: Leg, t: float, x: np.ndarray) -> Leg:
    """The beginning of a stretch, up to the state x at t."""
    keep = leg.t <= t
    recorded = tuple(crossing for crossing in leg.recorded if crossing.t <= t)
    return Leg(leg.t[keep], leg.x[keep], t, x, statistics=leg.statistics, recorded=recorded)
