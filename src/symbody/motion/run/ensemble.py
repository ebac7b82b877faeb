"""Many runs side by side, each the very run that it is by itself: what they ask for is computed together.

A run is a course of questions (`loop.course`): stretches to be advanced, numbers that hooks decide by. Members of a
batch of a mechanism with closed loops have partitions, levels and times of their own; those that have the same
equations by now take their stretches in lanes of one native call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

from symbody.motion.events.queries import Asking
from symbody.motion.methods.native_stepper import NativeAdaptive, NativeFixed
from symbody.motion.run.batch import Batch
from symbody.motion.run.loop import Reached, StretchStep, course
from symbody.motion.run.recording import RecordedEnd
from symbody.motion.run.side_by_side import SideBySide
from symbody.motion.trajectory.outcome import Outcome

T = TypeVar("T")

GROUP = 128  # runs that are on their way at a time: enough for native calls to be long, few enough for caches


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The runs of a batch of a closed mechanism; None for one that was not started."""

    batch: Batch
    runs: tuple[RecordedEnd | None, ...]

    @cached_property
    def layout(self) -> SideBySide:
        """How values of the batch are those of members."""
        found = self.batch.made(split=True)
        assert isinstance(found, SideBySide)
        return found

    @property
    def started(self) -> list[RecordedEnd]:
        """Those that were."""
        return [run for run in self.runs if run is not None]

    @property
    def goal(self) -> float:
        """s, the end that was asked for."""
        begun = self.started
        return begun[0].goal if begun else self.batch.settings.start + self.batch.duration

    @property
    def reached(self) -> float:
        """s, what was asked for, or how far all have come where the batch was interrupted."""
        stopped = [run.reached for run in self.started if run.last.outcome is Outcome.INTERRUPTED]
        return min(stopped, default=self.goal)


Keep = Callable[[Callable[[], Sequence[RecordedEnd | None]]], None]


@dataclass(eq=False)
class _Runner:
    """One run on its way."""

    last: Reached | None = None
    anchor: Reached | None = None

    def follow(self, making: Asking[Any], interrupted: Callable[[], bool]) -> Asking[RecordedEnd]:
        """Its questions from its making on."""
        plan, state = yield from making
        self.last = self.anchor = Reached(plan, state)
        way: Any = course(plan, state, interrupted)
        answer: Any = None
        while True:
            asked = way.send(answer)
            answer = None
            if not isinstance(asked, Reached):
                answer = yield asked
                continue
            self.last = asked
            if asked.outcome is not None:
                return RecordedEnd(asked, self.anchor)
            self.anchor = asked

    @property
    def ended(self) -> RecordedEnd | None:
        """Its end, as if it ended here; None: it was not started."""
        if self.last is None or self.anchor is None or not self.anchor.state.inputs:
            return None
        return RecordedEnd(self.last, self.anchor)


def advance_all(
    making: Sequence[Asking[Any]], interrupted: Callable[[], bool] = lambda: False, keep: Keep | None = None
) -> list[RecordedEnd]:
    """All runs up to their ends, group by group: what one group is made of on its way is gone before the next.

    making: of each run its Plan and its state, as questions (`prepare`). keep: told after each round of questions how
    far all have come
    """
    done: list[RecordedEnd] = []

    def far(runners: Sequence[_Runner]) -> list[RecordedEnd | None]:
        begun = [*done, *(runner.ended for runner in runners)]
        return [*begun, *[None] * (len(making) - len(begun))]

    for first in range(0, len(making), GROUP):
        group = making[first : first + GROUP]
        runners = [_Runner() for _ in group]
        asking = [runner.follow(one, interrupted) for runner, one in zip(runners, group, strict=True)]
        done += answered_together(asking, _nothing if keep is None else partial(keep, partial(far, runners)))
    return done


def _nothing() -> None:
    """After a round of questions."""


def answered_together(asking: Sequence[Asking[T]], after: Callable[[], None] = _nothing) -> list[T]:
    """What comes of each, questions of one kind answered together; after: called after each round."""
    found: dict[int, T] = {}

    def sent(k: int, answer: Any) -> Any:
        try:
            return asking[k].send(answer)
        except StopIteration as end:
            found[k] = end.value
            return None

    waiting = {k: sent(k, None) for k in range(len(asking))}
    while waiting := {k: asked for k, asked in waiting.items() if asked is not None}:
        groups: dict[Any, list[int]] = {}
        for k, asked in waiting.items():
            groups.setdefault(_kind(asked), []).append(k)
        for kind, members in groups.items():
            answers = _answers(kind[0], [waiting[k] for k in members])
            for k, answer in zip(members, answers, strict=True):
                waiting[k] = sent(k, answer)
        after()
    return [found[k] for k in range(len(asking))]


def _kind(asked: Any) -> Any:
    """Questions of one kind are answered together."""
    if not isinstance(asked, StretchStep):
        return type(asked), asked.key
    stepper = asked.plan.stepper
    # just these: others that are made of them do more in a stretch
    exact = type(stepper) in (NativeAdaptive, NativeFixed)
    if exact and isinstance(stepper, NativeAdaptive | NativeFixed) and stepper.together():
        alike = stepper.alike(asked.start, asked.stop)
        return type(stepper), id(stepper.march), stepper.method.name, tuple(stepper.parameters or ()), alike
    return None, id(asked)


def _answers(kind: Any, asks: Sequence[Any]) -> list[Any]:
    if len(asks) == 1:
        return [asks[0].answer()]
    if kind in (NativeAdaptive, NativeFixed):
        parts = [(ask.plan.stepper, ask.start) for ask in asks]
        found: list[Any] = kind.advance_all(parts, asks[0].stop, [ask.times for ask in asks])
        return found
    answers: list[Any] = kind.answers(asks)
    return answers


def timed(ended: RecordedEnd, seconds: float) -> RecordedEnd:
    """With the time that it took."""
    state = ended.last.state
    counts = {**state.counts, "seconds": state.counts.get("seconds", 0.0) + seconds}
    return replace(ended, last=replace(ended.last, state=state.but(counts=counts)))
