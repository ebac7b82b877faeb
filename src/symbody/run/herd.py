"""Many runs side by side, each the very run that it is by itself: what they ask for is computed together.

A run is a course of questions (`loop.course`): stretches to be advanced, numbers that hooks decide by. Members of a
batch of a mechanism with closed loops have partitions, levels and times of their own; those that have the same
equations by now take their stretches in lanes of one native call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from symbody.hybrid.asks import Asking
from symbody.integrate.native import NativeAdaptive, NativeFixed
from symbody.run.loop import Course, Reached, Step, course
from symbody.run.recording import Ended

GROUP = 128  # runs that are on their way at a time: enough for native calls to be long, few enough for caches


@dataclass(eq=False)
class _Runner:
    """One run on its way."""

    way: Any
    last: Reached | None = None
    anchor: Reached | None = None

    def sent(self, answer: Any) -> Any:
        """The next question; None where the run has ended."""
        asked = self.way.send(answer)
        while isinstance(asked, Reached):
            self.last = asked
            if asked.outcome is not None:
                return None
            self.anchor = asked
            asked = self.way.send(None)
        return asked

    def ended(self) -> Ended:
        assert self.last is not None
        assert self.anchor is not None
        return Ended(self.last, self.anchor)


def advance_all(making: Iterable[Asking[Any]], interrupted: Callable[[], bool] = lambda: False) -> list[Ended]:
    """All runs up to their ends, group by group: what one group is made of on its way is gone before the next.

    making: of each run its Plan and its state, as questions (`prepare`)
    """
    out: list[Ended] = []
    rest = iter(making)
    while group := list(islice(rest, GROUP)):
        out += _advanced(group, interrupted)
    return out


def _advanced(making: Sequence[Asking[Any]], interrupted: Callable[[], bool]) -> list[Ended]:
    runners = [_Runner(_whole(one, interrupted)) for one in making]
    waiting = {k: runner.sent(None) for k, runner in enumerate(runners)}
    while waiting := {k: asked for k, asked in waiting.items() if asked is not None}:
        groups: dict[Any, list[int]] = {}
        for k, asked in waiting.items():
            groups.setdefault(_kind(asked), []).append(k)
        for kind, members in groups.items():
            asks = [waiting[k] for k in members]
            for k, answer in zip(members, _answers(kind[0], asks), strict=True):
                waiting[k] = runners[k].sent(answer)
    return [runner.ended() for runner in runners]


def _whole(making: Asking[Any], interrupted: Callable[[], bool]) -> Course:
    """A run from its making on."""
    plan, state = yield from making
    yield Reached(plan, state)
    yield from course(plan, state, interrupted)


def _kind(asked: Any) -> Any:
    """Questions of one kind are answered together."""
    if not isinstance(asked, Step):
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


def timed(ended: Ended, seconds: float) -> Ended:
    """With the time that it took."""
    state = ended.last.state
    return Ended(replace(ended.last, state=state.but(counts={**state.counts, "seconds": seconds})), ended.anchor)
