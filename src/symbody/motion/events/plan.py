"""Plan: what a run is made of, frozen; and its hooks: what happens between stretches of smooth motion.

A hook (events, clocks, impacts, partitions, stiffness) is made with its Plan and remembers nothing itself: what it must
know later stands in the RunState, under its name in `marks`. It changes nothing itself either: it answers with a
Change, and the loop makes the next state of it. Where a hook asks for other equations or another method, the loop makes
the Plan for them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from symbody.motion.events.queries import Asking
from symbody.motion.events.state import RunState, Segment
from symbody.motion.flow.connect import Connected
from symbody.motion.flow.dry_friction import SLOW
from symbody.motion.flow.event_rules import PreparedEvents
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.loop_guards import Levels, LoopGuards
from symbody.motion.flow.signals import Held, InputSignals
from symbody.motion.methods.sample_times import SampleTimes
from symbody.motion.methods.stepper import Leg, Memory, Stepper
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory import EventRecord


@dataclass(frozen=True, eq=False)
class Settings:
    """What a run was asked for; `step` None: the tolerances choose."""

    method: str
    start: float
    step: float | None
    rtol: float
    atol: float
    max_steps: int
    sampling: SampleTimes
    period: float | None = None
    threads: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    automatic: bool = False  # an explicit method may give way to an implicit one
    slow: float = SLOW
    device: str | None = None  # "cuda" or "cuda:1": where a batch is marched; precision: there
    precision: str = "double"


@dataclass(frozen=True, eq=False)
class Plan:
    """What a run is made of.

    connected  the Flow with its inputs; signals: those that stay outside of the equations
    events     in the order of their guards; loops: guards of closed loops
    hooks      in the order in which they are asked
    """

    connected: Connected
    settings: Settings
    signals: InputSignals
    stepper: Stepper
    events: PreparedEvents | None = None
    loops: LoopGuards | None = None
    hooks: tuple[Hook, ...] = ()

    @property
    def flow(self) -> Flow:
        return self.connected.flow


# -- hooks


@dataclass(frozen=True, eq=False)
class SwitchedEquations:
    """Other equations of the same states, and their events."""

    connected: Connected
    events: PreparedEvents | None


@dataclass(frozen=True, eq=False)
class Change:
    """What follows; None: that stays as it is.

    leg        the stretch as it is to be taken: shorter, or longer by a passage (from `inspect` alone)
    x          another state, taken silently; jump: one that is recorded beside the state before
    memory     of the Stepper: {} forgets, as after a jump
    counts     to be added
    notes      to be added; drop: notes that these replace
    equations  to go on with; method: to go on with
    outcome    the run ends so
    """

    leg: Leg | None = None
    x: np.ndarray | None = None
    jump: np.ndarray | None = None
    held: Held | None = None
    memory: Memory | None = None
    levels: Levels | None = None
    mark: Any = None
    marks: Mapping[str, Any] | None = None
    counts: Mapping[str, float] | None = None
    events: tuple[EventRecord, ...] = ()
    notes: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()
    equations: SwitchedEquations | None = None
    method: str | None = None
    outcome: Outcome | None = None


class Hook(Protocol):
    """Asked in the order of `Plan.hooks`.

    begin    at the start of a run, once
    next     the instant up to which a stretch may go; inf where the hook has none
    inspect  a stretch before it is taken: it may be cut short, continued, or refused. A hook that needs numbers may be
             a generator that asks for them (`asks`): then they are computed for many runs at once
    after    a stretch that was taken (state.t is its end); leg None: the start of the run
    """

    @property
    def name(self) -> str: ...
    def begin(self, plan: Plan, state: RunState) -> Change | None: ...
    def next(self, plan: Plan, state: RunState) -> float: ...
    def inspect(
        self, plan: Plan, state: RunState, leg: Leg, later: np.ndarray
    ) -> Change | Asking[Change | None] | None: ...
    def after(self, plan: Plan, state: RunState, leg: Leg) -> Change | None: ...


class Quiet:
    """A hook that does nothing: the others override what they do."""

    name = "quiet"

    def begin(self, plan: Plan, state: RunState) -> Change | None:
        return None

    def next(self, plan: Plan, state: RunState) -> float:
        return math.inf

    def inspect(
        self, plan: Plan, state: RunState, leg: Leg, later: np.ndarray
    ) -> Change | Asking[Change | None] | None:
        return None

    def after(self, plan: Plan, state: RunState, leg: Leg) -> Change | None:
        return None
