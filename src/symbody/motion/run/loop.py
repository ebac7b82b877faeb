"""The loop of a run: stretch after stretch, and between them what the hooks answer.

Motion is smooth but for some instants. A stepper advances a stretch up to the next of them; there hooks answer with a
Change, of which the next RunState is made. Nothing is altered in place: a run can end, be saved and go on between any
two stretches, with the same bits.
"""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbody.motion.events.events import Happened
from symbody.motion.events.plan import Change, Hook, Plan, Settings
from symbody.motion.events.queries import Ask, Asking
from symbody.motion.events.state import RunState
from symbody.motion.methods.step_grid import NEAR, step_index
from symbody.motion.methods.stepper import Followed, Leg, Memory, Start
from symbody.motion.run.assembled_plan import replanned
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory import EventRecord

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Reached:
    """Where a run has come. outcome None: it goes on, and any run that goes further passes here, with the same bits."""

    plan: Plan
    state: RunState
    outcome: Outcome | None = None


@dataclass(frozen=True, eq=False)
class StretchStep:
    """A stretch that a run is to be advanced by."""

    plan: Plan
    start: Start
    stop: float
    times: np.ndarray

    def answer(self) -> tuple[Leg, Memory]:
        return self.plan.stepper.advance(self.start, self.stop, self.times)


Course = Generator[Reached | StretchStep | Ask, Any, None]


def advance(plan: Plan, state: RunState, interrupted: Callable[[], bool] = lambda: False) -> Iterator[Reached]:
    """From a state that was reached, or a fresh one, to `state.end`; the last Reached has an outcome.

    interrupted: asked after each stretch.
    """
    way, answer = course(plan, state, interrupted), None
    while True:
        try:
            asked = way.send(answer)
        except StopIteration:
            return
        if isinstance(asked, Reached):
            yield asked
            answer = None
        else:
            answer = asked.answer()


def course(plan: Plan, state: RunState, interrupted: Callable[[], bool]) -> Course:
    """`advance` as a generator: each StretchStep, and each Ask of a hook, is sent its answer."""
    settings, end = plan.settings, state.end
    wanted = settings.sampling.times(settings.start, end, settings.step)
    if not state.inputs:  # a run that has not begun
        plan, state, outcome = _started(plan, state, wanted)
        if outcome is not None:
            yield Reached(plan, _with_end(state), outcome)
            return
        yield Reached(plan, state)
    limit = limit_of(settings, state)
    while end - state.t > 4 * EPS * max(abs(end), abs(state.t)):
        stop = min(end, limit, plan.stepper.border(state.t, end), *(h.next(plan, state) for h in _python_hooks(plan)))
        low, high = np.searchsorted(wanted, [state.t, stop], side="right")
        leg, memory = yield StretchStep(plan, state.begin(_left(settings, state)), stop, wanted[low:high])
        if leg.followed is not None and leg.followed.begin is not None:
            state = _first(state, leg.followed.begin, bool(len(wanted)) and wanted[0] <= settings.start)
        plan, state, leg = yield from _taken(plan, state.but(memory=memory), leg, wanted[low:])
        if not leg.outcome.ok or leg.outcome is Outcome.STOPPED:
            yield Reached(plan, _with_end(state), leg.outcome)
            return
        if state.all_failed:
            break
        plan, state, outcome = _answered(plan, state, leg)
        if outcome is not None:
            yield Reached(plan, _with_end(state), outcome)
            return
        if state.t < end:
            if state.t >= limit:  # a longer run does not stop here
                yield Reached(plan, _with_end(state.but(outcomes=_all_cut(state.outcomes))), Outcome.TOO_MANY_STEPS)
                return
            yield Reached(plan, state)
            early = _ended_early(plan, state, interrupted)
            if early is not None:
                yield Reached(plan, _with_end(state), early)
                return
    yield Reached(plan, state, state.worst)


def _python_hooks(plan: Plan) -> list[Hook]:
    """Hooks whose work the Stepper does not do itself."""
    return [hook for hook in plan.hooks if hook.name not in plan.stepper.handles]


def _ended_early(plan: Plan, state: RunState, interrupted: Callable[[], bool]) -> Outcome | None:
    """Why the run goes no further, if it does not."""
    if interrupted():
        return Outcome.INTERRUPTED
    return Outcome.TOO_MANY_STEPS if _left(plan.settings, state) < 1 else None


def limit_of(settings: Settings, state: RunState) -> float:
    """s, where steps of one length have been as many as one call may take; inf if the run ends before."""
    if settings.step is None:
        return math.inf
    begun = settings.start if state.since is None else state.since[0]
    last = step_index(settings.start, settings.step, begun)[0] + settings.max_steps
    limit = settings.start + last * settings.step
    return limit if state.end - limit > NEAR * settings.step else math.inf


def _left(settings: Settings, state: RunState) -> int:
    """How many steps a method that chooses them may still take in this call."""
    if settings.step is not None:
        return settings.max_steps
    return settings.max_steps - int(state.tried - (0 if state.since is None else state.since[1]))


def _all_cut(outcomes: np.ndarray | None) -> np.ndarray | None:
    """(b,) of a batch whose members were on their way."""
    if outcomes is None:
        return None
    cut = outcomes.copy()
    cut[outcomes == Outcome.FINISHED] = Outcome.TOO_MANY_STEPS
    return cut


# -- the parts of a stretch


def _started(plan: Plan, state: RunState, wanted: np.ndarray) -> tuple[Plan, RunState, Outcome | None]:
    """The start: what is held is known first, for guards may read it; the first sample is what is there before loops
    are told to close."""
    due = bool(len(wanted)) and wanted[0] <= plan.settings.start
    state = state.but(inputs=state.inputs.plus([(np.array([-np.inf]), state.held.values[None])]))
    if "events" in plan.stepper.handles:
        due = False  # what happens at once is part of its first stretch
    for hook in sorted(_python_hooks(plan), key=lambda hook: hook.name != "clocks"):
        change = hook.begin(plan, state)
        if change is None:
            continue
        if due and change.jump is not None:
            state, due = _collected(state, np.array([state.t]), state.x[..., None, :]), False
        plan, state = _changed(plan, state, hook, change)
        if change.outcome is not None:
            return plan, state, change.outcome
    if due:
        state = _collected(state, np.array([state.t]), state.x[..., None, :])
    return plan, state, None


def _taken(plan: Plan, state: RunState, leg: Leg, later: np.ndarray) -> Asking[tuple[Plan, RunState, Leg]]:
    """Keep what a stretch gave, as the hooks let it stand. later: all instants of samples from its beginning on."""
    events: list[EventRecord] = []
    for name in [hook.name for hook in _python_hooks(plan)]:
        hook = next(hook for hook in plan.hooks if hook.name == name)  # of the equations that are in force by now
        answer = hook.inspect(plan, state, leg, later)
        change = (yield from answer) if isinstance(answer, Generator) else answer
        if change is not None:
            leg = leg if change.leg is None else change.leg
            events = [*change.events, *events]
            plan, state = _changed(plan, state, hook, change, ())
    state = _collected(state, leg.t, leg.x) if leg.followed is None else _followed(state, leg, leg.followed)
    counts = dict(state.counts)
    for name, count in leg.statistics.items():
        counts[name] = counts.get(name, 0) + count
    outcomes = state.outcomes
    if outcomes is not None and leg.members is not None:
        outcomes = np.where(outcomes == Outcome.FINISHED, leg.members, outcomes)
    events.sort(key=lambda event: event.t)
    state = state.but(t=leg.t_end, x=leg.x_end, counts=counts, outcomes=outcomes, events=state.events.plus(events))
    return plan, state, leg


def _first(state: RunState, begin: tuple[np.ndarray, np.ndarray], due: bool) -> RunState:
    """The start of a run whose Stepper follows events and clocks: state and signals after what happens at once."""
    x, u = begin
    at = np.array([state.t])
    state = state.but(inputs=state.inputs.plus([(at, u[None])]))
    return _collected(state, at, x[..., None, :]) if due else state


def _followed(state: RunState, leg: Leg, way: Followed) -> RunState:
    """Samples, events and held signals of a stretch whose Stepper followed them; jumps are recorded on both sides."""
    done = 0
    for jump in way.jumps:
        upto = int(np.searchsorted(leg.t, jump.t, side="right"))
        state = _collected(state, leg.t[done:upto], leg.x[done:upto])
        at = np.array([jump.t])
        if not state.samples or state.samples[-1][0][-1] != jump.t:
            state = _collected(state, at, jump.before[None])
        state = _collected(state, at, jump.after[None])
        if way.u is not None:
            log = [(leg.t[done:upto], way.u[done:upto]), (at, jump.u[None])]
            state = state.but(inputs=state.inputs.plus(log))
        done = upto
    state = _collected(state, leg.t[done:], leg.x[..., done:, :])
    if way.u is not None:
        state = state.but(inputs=state.inputs.plus([(leg.t[done:], way.u[done:])]))
    held = replace(state.held, values=way.u_end)
    if way.ticks is not None:
        held = replace(held, ticks=way.ticks, memories=way.memories)
    marks = dict(state.marks)
    if way.counts is not None:
        marks["events"] = Happened(way.counts, way.instants, way.leaving)
    return state.but(held=held, marks=marks, events=state.events.plus(way.events))


def _answered(plan: Plan, state: RunState, leg: Leg) -> tuple[Plan, RunState, Outcome | None]:
    """What the hooks make of the end of a stretch."""
    for hook in _python_hooks(plan):
        change = hook.after(plan, state, leg)
        if change is not None:
            plan, state = _changed(plan, state, hook, change)
            if change.outcome is not None:
                return plan, state, change.outcome
    return plan, state, None


def _changed(
    plan: Plan, state: RunState, hook: Hook, change: Change, events: Sequence[EventRecord] | None = None
) -> tuple[Plan, RunState]:
    """The Plan and the state that follow from a Change; with other events than its own, where they are given."""
    new: dict[str, Any] = {}
    marks = {**state.marks, **(change.marks or {})}
    if change.mark is not None:
        marks[hook.name] = change.mark
    new["marks"] = marks
    if change.jump is not None:
        # both sides of a jump are recorded
        if not state.samples or state.samples[-1][0][-1] != state.t:
            state = _collected(state, np.array([state.t]), state.x[None])
        state = _collected(state, np.array([state.t]), change.jump[None]).but(x=change.jump)
    if change.x is not None:
        new["x"] = change.x
    if change.held is not None:
        new["held"] = change.held
        if change.held.values is not state.held.values:
            new["inputs"] = state.inputs.plus([(np.array([state.t]), change.held.values[None])])
    for name in ("memory", "levels"):
        if getattr(change, name) is not None:
            new[name] = getattr(change, name)
    if change.counts:
        new["counts"] = {**state.counts, **{n: state.counts.get(n, 0) + v for n, v in change.counts.items()}}
    if change.drop:
        state = state.but(notes=type(state.notes)(n for n in state.notes if n not in change.drop))
    new["events"] = state.events.plus(change.events if events is None else events)
    new["notes"] = state.notes.plus(change.notes)
    new["segments"] = state.segments.plus(change.segments)
    if change.equations is not None or change.method is not None:
        plan = replanned(plan, change)
    return plan, state.but(**new)


def _collected(state: RunState, t: np.ndarray, x: np.ndarray) -> RunState:
    if not len(t):
        return state
    samples = state.samples.plus([(np.asarray(t), np.asarray(x))])
    return state.but(samples=samples, count=state.count + len(t))


def _with_end(state: RunState) -> RunState:
    """With a sample of the state where a run ends before its time."""
    if not state.samples or state.samples[-1][0][-1] != state.t:
        return _collected(state, np.array([state.t]), state.x[..., None, :])
    return state


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Ctrl-C as a question: the first one is remembered until a stretch is complete, a second one raises."""
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def note(number: int, frame: Any) -> None:
        pressed.append(number)
        if len(pressed) > 1:
            raise KeyboardInterrupt

    old = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, old if old is not None else signal.SIG_DFL)
