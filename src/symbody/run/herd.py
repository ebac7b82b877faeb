"""Many runs side by side, each the very run that it is by itself: what they ask for is computed together.

A run is a course of questions (`loop.course`): stretches to be advanced, numbers that hooks decide by. Members of a
batch of a mechanism with closed loops have partitions, levels and times of their own; those that have the same
equations by now take their stretches in lanes of one native call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from symbody.hybrid.plan import Plan
from symbody.hybrid.state import RunState
from symbody.integrate.native import NativeAdaptive, NativeFixed
from symbody.run.loop import Reached, Step, course
from symbody.run.recording import Ended


@dataclass(eq=False)
class _Runner:
    """One run on its way."""

    way: Any
    last: Reached
    anchor: Reached

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


def advance_all(runs: Iterable[tuple[Plan, RunState]], interrupted: Callable[[], bool] = lambda: False) -> list[Ended]:
    """All runs up to their ends."""
    runners, waiting = [], {}
    for k, (plan, state) in enumerate(runs):
        runner = _Runner(course(plan, state, interrupted), *[Reached(plan, state)] * 2)
        runners.append(runner)
        waiting[k] = runner.sent(None)
    while waiting := {k: asked for k, asked in waiting.items() if asked is not None}:
        groups: dict[Any, list[int]] = {}
        for k, asked in waiting.items():
            groups.setdefault(_kind(asked), []).append(k)
        for kind, members in groups.items():
            asks = [waiting[k] for k in members]
            for k, answer in zip(members, _answers(kind[0], asks), strict=True):
                waiting[k] = runners[k].sent(answer)
    return [Ended(runner.last, runner.anchor) for runner in runners]


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
