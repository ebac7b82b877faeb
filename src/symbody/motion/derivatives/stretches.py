"""A run read stretch by stretch: steps that a tolerance chose, other equations or methods on the way, and passages
through singular positions.

Each stretch is asked for where it began, and is done again with all its steps. What hooks made of it (a partition that
changed at the start of the last step, a passage, a jump) is read off from where the run went on.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError
from symbody.motion.derivatives.carried import ALPHA, carries
from symbody.motion.derivatives.tape import (
    Bridge,
    Jump,
    Piece,
    Steps,
    Tape,
    Ticking,
    branches,
    check_outcome,
    equal_steps,
    stopped,
)
from symbody.motion.derivatives.tape import Step as OneStep
from symbody.motion.events.plan import Plan
from symbody.motion.events.singular_passage import TIGHT, Passage, Surroundings
from symbody.motion.events.state import RunState
from symbody.motion.flow.flow import Flow
from symbody.motion.march.method_tables import RungeKutta
from symbody.motion.methods.lane_stepper import LaneStepper
from symbody.motion.methods.native_stepper import NativeAdaptive, NativeFixed
from symbody.motion.methods.sample_times import SampleTimes
from symbody.motion.methods.step_grid import step_index
from symbody.motion.methods.stepper import Leg
from symbody.motion.run.loop import Reached, StretchStep, course
from symbody.motion.trajectory.outcome import Outcome

HALVED = 16  # times that a way beside a singular position is halved where it is not followed in one go
CHOSEN = "the steps that the tolerance chose are held: derivatives are those of these steps."


@dataclass(frozen=True, eq=False)
class _RunStretch:
    """What was asked for, what came of it, and where the run stood after it."""

    call: StretchStep
    leg: Leg
    reached: Reached
    passage: Passage | None

    @property
    def end(self) -> float:
        """Up to where its own steps were kept."""
        if self.passage is not None:
            return self.passage.begin[0]
        return min(self.leg.t_end, float(self.reached.state.t))


def taped(plan: Plan, state: RunState, memory: float, step: OneStep) -> Tape:
    """Run to the end, and read off the pieces. memory: bytes that states may take; step: one by the same method."""
    if plan.settings.step is not None and not carries(plan.settings.method):
        found = equal_steps(plan, state, memory, step)
        if found is not None:
            return found
    return read_stretches(plan, state, memory)


def read_stretches(plan: Plan, state: RunState, memory: float) -> Tape:
    """Run to the end, and read off the pieces. memory: bytes that states may take."""
    s = plan.settings
    spacing = state.end - s.start if s.step is None else s.step
    plan = replace(plan, settings=replace(s, sampling=SampleTimes(spacing=spacing)))
    stretches, last = _followed(plan, state)
    check_outcome(last, plan)
    reading = _StretchReading(Ticking(last.plan.signals))
    for one in stretches:
        reading.read(one)
        if reading.size() > memory:
            raise DefinitionError(
                f"the states of the steps of {plan.flow.name} take more than the {memory:g} bytes that memory allows, "
                "and are computed again only for equal steps of methods that carry nothing from one to the next. Give "
                "more memory, or a shorter run."
            )
    pieces = reading.pieces
    pieces = stopped(pieces, last)
    notes = [*last.state.notes]
    if s.step is None:
        notes.append(CHOSEN)
        notes += _others(stretches)
    start = state.x if reading.start is None else reading.start
    outcome = last.outcome or Outcome.FINISHED
    return Tape(
        last.plan,
        np.asarray(start),
        tuple(pieces),
        float(last.state.t),
        last.state.x,
        outcome,
        tuple(notes),
        last.state.outcomes,
        branches(last.state),
    )


def _followed(plan: Plan, state: RunState) -> tuple[list[_RunStretch], Reached]:
    """The run, with each of its stretches."""
    out: list[_RunStretch] = []
    last = Reached(plan, state)
    way, answer = course(plan, state, lambda: False), None
    step: tuple[StretchStep, Leg] | None = None
    known = 0
    while True:
        try:
            asked: Any = way.send(answer)
        except StopIteration:
            return out, last
        if isinstance(asked, Reached):
            last, answer = asked, None
            if step is not None:
                segments = list(asked.state.segments)
                new = [segment.passage for segment in segments[known:] if segment.passage is not None]
                out.append(_RunStretch(*step, asked, new[0] if new else None))
                known, step = len(segments), None
            continue
        answer = asked.answer()
        if isinstance(asked, StretchStep):
            step = asked, answer[0]


def _others(stretches: list[_RunStretch]) -> list[str]:
    """Notes on methods whose steps are not done again as they were."""
    found = dict.fromkeys(one.call.plan.settings.method for one in stretches if _method(one) == "collocation")
    return [
        f"steps of {n!r} are followed from the end of one to the end of the next by Radau's collocation of order 5: "
        "derivatives are those of the motion, to the tolerance of the run."
        for n in found
        if n != "radau"
    ]


def _method(one: _RunStretch) -> str:
    """By what the steps of a stretch are differentiated; "": as the run's own method steps."""
    return "" if one.leg.nodes is None else "collocation"


class _StretchReading:
    """Pieces of stretches, one after the other."""

    def __init__(self, ticking: Ticking) -> None:
        self.ticking = ticking
        self.pieces: list[Piece] = []
        self.moved = False  # an event has just acted: the instant at which the next step begins moves
        self.start: np.ndarray | None = None

    def size(self) -> int:
        """Bytes of states."""
        return sum(p.x.nbytes for p in self.pieces if isinstance(p, Steps))

    def read(self, one: _RunStretch) -> None:
        """One stretch more."""
        if isinstance(one.call.plan.stepper, LaneStepper):
            self._one_by_one(one, one.call.plan.stepper)
            return
        plan, start = one.call.plan, one.call.start
        self._due_ticks(plan.flow, start.t, start.x, start.u)
        own = _going_on(_steps(one), plan.settings.method, not start.memory)
        acts = bool(one.leg.events) and one.end == one.leg.t_end and one.passage is None
        if self.moved and own:
            own[:1] = _split_end(own[0], first=True)
        if acts and own:
            own[-1:] = _split_end(own[-1], first=False)
        self.pieces += own
        self.moved = False
        if one.passage is not None:
            self.pieces += _passed(plan, one.passage, start.u)
            return
        now = one.reached.state
        if one.end == one.leg.t_end and not _same(one.leg.x_end, now.x):
            self._jump(plan.flow, one.leg.t_end, one.leg.x_end, now.x, start.u if acts else now.held.values, now)
            self.moved = acts

    def _one_by_one(self, one: _RunStretch, stepper: LaneStepper) -> None:
        """A stretch whose Stepper follows events and clocks itself: it is asked for single steps."""
        plan, now = one.call.plan, one.call.start
        if carries(plan.settings.method):
            raise DefinitionError(
                f"method {plan.settings.method!r} is not differentiated together with events, sampled controllers or "
                "held tables, since it carries rates from step to step. Take 'rk4', or 'generalized_alpha'."
            )
        single = copy(stepper)
        single.chunk = 1
        while now.t < one.leg.t_end:
            leg, memory = single.advance(now, one.call.stop, np.zeros(0))
            way = leg.followed
            assert way is not None
            x, u = (now.x, now.u) if way.begin is None else way.begin
            if leg.t_end > now.t or way.begin is not None:
                u = self._due_ticks(plan.flow, now.t, x, u)
            if leg.t_end > now.t:
                jumps = way.jumps
                end = jumps[0].before if jumps else leg.x_end
                step = Steps(plan.flow, now.t, leg.t_end - now.t, 1, np.stack([x, end]), u)
                self.pieces.append(replace(step, odd=self.moved or bool(jumps)))
                self.moved = bool(jumps)
                if jumps:
                    self._jump(plan.flow, leg.t_end, end, leg.x_end, u, one.reached.state)
            now = replace(now, t=leg.t_end, x=leg.x_end, u=way.u_end, memory=memory)
        if not np.array_equal(now.x, one.leg.x_end):
            raise DefinitionError(
                f"the steps of {plan.flow.name} up to t = {one.leg.t_end:g} s cannot be done again as the run took "
                "them, so that it is not differentiated. Give a step."
            )

    def _jump(
        self, flow: Flow, t: float, before: np.ndarray, after: np.ndarray, u: np.ndarray, state: RunState
    ) -> None:
        events = tuple(e for e in state.events if e.t == t)
        self.pieces.append(Jump(flow, t, before, after, u, events))

    def _due_ticks(self, flow: Flow, t: float, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Ticks that are due; the signals that are held from then on."""
        if self.start is None:
            self.start = x
        self.pieces += self.ticking.due(flow, t, x, u)
        if not self.ticking.given:
            return u
        u = u.copy()
        for column, value in self.ticking.given.items():
            u[column] = value
        return u


def _same(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether states are equal but for roundings by which guards are put on their sides."""
    return bool(np.all(np.abs(x - y) <= 1e-12 * (1 + np.abs(x))))


def _steps(one: _RunStretch) -> list[Piece]:
    """The steps of a stretch that were kept."""
    plan, start = one.call.plan, one.call.start
    t, x = _accepted(one)
    keep = (t > start.t) & (t < one.end)
    t, x = t[keep], x[keep]
    if one.passage is not None:
        end = one.passage.begin[1]
    else:
        end = one.leg.x_end if one.end == one.leg.t_end else np.asarray(one.reached.state.x)
    if one.end > start.t:
        t, x = np.append(t, one.end), np.concatenate([x, end[None]])
    t, x = np.append(start.t, t), np.concatenate([start.x[None], x])
    method = _method(one)
    flow, u, h, rtol = plan.flow, start.u, plan.settings.step, plan.settings.rtol
    single = [
        Steps(
            flow,
            float(a),
            float(b - a),
            1,
            x[k : k + 2],
            u,
            odd=bool(method),
            method=method,
            rtol=rtol if method else 0.0,
        )
        for k, (a, b) in enumerate(pairwise(t))
        if b > a
    ]
    return list(single) if h is None else _together(single, plan.settings.start, h)


def _accepted(one: _RunStretch) -> tuple[np.ndarray, np.ndarray]:
    """(k,), (k, nx) ends of all steps of a stretch, in order."""
    plan, start, stepper = one.call.plan, one.call.start, one.call.plan.stepper
    if one.leg.nodes is not None:
        return one.leg.nodes
    if isinstance(stepper, NativeFixed):
        return one.leg.t, one.leg.x
    if not isinstance(stepper, NativeAdaptive):
        raise DefinitionError(
            f"steps of method {plan.settings.method!r} are not told one by one, so that the run of {plan.flow.name} is "
            "not differentiated. Take another method."
        )
    table = stepper.method
    assert isinstance(table, RungeKutta)
    chunk, longest = stepper.limits(start.x)
    run = stepper.march.adaptive(
        table, start.x, start.t, one.call.stop, None, rtol=stepper.rtol, atol=stepper.atol,
        first_step=start.memory.get("next"), max_step=longest, max_steps=min(chunk, start.most),
        signals=stepper.table(start, start.t, one.call.stop, ()), **stepper.options(start),
    )  # fmt: skip
    return np.asarray(run.t), np.asarray(run.x)


def _going_on(pieces: list[Piece], method: str, begins: bool) -> list[Piece]:
    """Pieces of a stretch by a method that carries more than the state. begins: it has no memory before them."""
    if method != ALPHA:  # splitting methods begin anew in each call of the march, and these are the pieces
        return pieces
    return [replace(p, fresh=begins and k == 0) if isinstance(p, Steps) else p for k, p in enumerate(pieces)]


def _together(steps: list[Steps], start: float, h: float) -> list[Piece]:
    """Single steps of the grid start + k h, those that follow each other as one piece."""
    out: list[Steps] = []
    plain = False
    for one in steps:
        k, exact = step_index(start, h, one.t)
        whole = exact and step_index(start, h, one.t_end) == (k + 1, True)
        if whole and plain:
            last = out[-1]
            out[-1] = replace(last, count=last.count + 1, x=np.concatenate([last.x, one.x[1:]]))
        else:
            out.append(replace(one, t=start + k * h, h=h) if whole else replace(one, odd=True))
        plain = whole
    return list(out)


def _split_end(piece: Piece, first: bool) -> list[Piece]:
    """A piece whose first, or last, step stands by itself: it begins, or ends, at an instant that moves."""
    if not isinstance(piece, Steps):
        return [piece]
    if piece.count == 1:
        return [replace(piece, odd=True)]
    if first:
        one = replace(piece, count=1, x=piece.x[:2], odd=True)
        return [one, replace(piece, t=piece.t + piece.h, count=piece.count - 1, x=piece.x[1:], fresh=False)]
    t = piece.t + (piece.count - 1) * piece.h
    one = replace(piece, t=t, count=1, x=piece.x[-2:], odd=True, fresh=False)
    return [replace(piece, count=piece.count - 1, x=piece.x[:-1]), one]


def _passed(plan: Plan, passage: Passage, u: np.ndarray) -> list[Piece]:
    """Near to a singular position, across it, and away from it. Steps on both sides are those of tight tolerances."""
    gap = passage.gap
    around = Surroundings(plan, RunState(passage.begin[0], passage.begin[1], gap.end, plan.signals.start()))
    around.begin = replace(around.begin, u=u)
    if gap.end <= gap.t:  # the run ends before the position
        return list(_tight(around, plan.flow, *passage.begin, gap.end, gap.x_end, u))
    near = _tight(around, plan.flow, *passage.begin, gap.t, gap.x, u)
    far = _tight(around, plan.flow, gap.end, gap.x_end, passage.end, passage.x_end, u)
    watch: Any = next(hook for hook in plan.hooks if hook.name == "loops")
    return [*near, Bridge(plan.flow, gap, u, watch.watch.conditioning), *far]


def _tight(
    around: Surroundings, flow: Flow, t: float, x: np.ndarray, t_end: float, x_end: np.ndarray, u: np.ndarray
) -> list[Steps]:
    if t_end <= t:
        return []
    helper, goals = around.helper, [t_end]
    times, states = [t], [x]
    while goals:
        now, goal, here = times[-1], goals[-1], around.at(times[-1], states[-1])
        options = helper.options(here)
        options["passive"] = np.ones(len(options["passive"]), dtype=bool)
        run = helper.march.adaptive(
            "dopri8", states[-1], now, goal, None, rtol=TIGHT, atol=TIGHT, max_steps=10**6,
            signals=helper.table(here, now, goal, ()), **options,
        )  # fmt: skip
        if int(run.status) == 0 and float(run.t_end) == goal:
            times += np.asarray(run.t).tolist()
            states += list(np.asarray(run.x))
            goals.pop()
        elif len(goals) < HALVED:  # steps that are tried beyond the position may not be solved
            goals.append((now + goal) / 2)
        else:
            raise DefinitionError(
                f"the steps from t = {t:g} s to {t_end:g} s, beside a singular position, cannot be done again."
            )
    states[-1] = x_end
    return [
        Steps(flow, float(a), float(b - a), 1, np.array(states[k : k + 2]), u, odd=True, method="dopri8")
        for k, (a, b) in enumerate(pairwise(times))
    ]
