"""RunState: where a run stands, all of it. A checkpoint is this and the equations, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symbody.motion.events.log import Log
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.loop_guards import Levels
from symbody.motion.flow.signals import Held
from symbody.motion.methods.stepper import Memory, Start
from symbody.motion.trajectory.outcome import Outcome, worst
from symbody.motion.trajectory.trajectory import EventRecord


@dataclass(frozen=True, eq=False)
class Segment:
    """Samples from number `start` on, with the Flow that gives their rates, or those rates (k, nx) themselves.

    passage: of a singular position, how it was led through; a resumed run does not know it
    """

    start: int
    flow: Flow
    rates: np.ndarray | None = None
    passage: Any = None


@dataclass(frozen=True, eq=False)
class RunState:
    """Where a run stands, and what it has recorded. It never changes: each stretch makes the next one.

    t, x      now; x (nx,), or (b, nx) of a batch, NaN where a member failed
    end       s, what the run was asked for
    since     s, and steps that were counted by then: where this call of the run began; None: with the run
    held      signals between ticks
    memory    of the Stepper
    levels    of the guards of closed loops; or None
    marks     name of a hook -> what it remembers, a frozen record or numbers
    counts    steps, evaluations, ...: statistics
    samples   (times (k,), states (..., k, nx)), stretch by stretch; count: of all samples
    inputs    (instants (n,), (n, ..., nu) signals held from each of them on), stretch by stretch
    segments  which equations belong to which samples, in order, where they were replaced
    outcomes  (b,) of a batch: Outcome of each member
    """

    t: float
    x: np.ndarray
    end: float
    held: Held
    memory: Memory = field(default_factory=dict)
    levels: Levels | None = None
    marks: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)
    samples: Log[tuple[np.ndarray, np.ndarray]] = field(default_factory=Log)
    count: int = 0
    inputs: Log[tuple[np.ndarray, np.ndarray]] = field(default_factory=Log)
    events: Log[EventRecord] = field(default_factory=Log)
    notes: Log[str] = field(default_factory=Log)
    segments: Log[Segment] = field(default_factory=Log)
    outcomes: np.ndarray | None = None
    since: tuple[float, float] | None = None

    def but(self, **changes: Any) -> RunState:
        """A copy with some fields changed: `dataclasses.replace`, in a fraction of its time."""
        out = object.__new__(RunState)
        out.__dict__.update(self.__dict__)
        out.__dict__.update(changes)
        return out

    @property
    def single(self) -> bool:
        """Whether it is one state, and no batch."""
        return self.x.ndim == 1

    @property
    def tried(self) -> float:
        """Steps that were counted, rejected ones too; of a batch, of one member in the mean."""
        total = self.counts.get("steps", 0) + self.counts.get("rejected", 0)
        return total if self.single else total / max(len(self.x), 1)

    def begin(self, most: int = 10**7) -> Start:
        """Where the next stretch begins. most: steps that it may take."""
        return Start(self.t, self.x, self.held.values, self.memory, self.levels, self.end, most)

    def gathered(self) -> tuple[np.ndarray, np.ndarray]:
        """(k,) times and (..., k, nx) states of all samples."""
        if not self.samples:
            return np.zeros(0), np.zeros((*self.x.shape[:-1], 0, self.x.shape[-1]))
        return np.concatenate([t for t, _ in self.samples]), np.concatenate([x for _, x in self.samples], axis=-2)

    @property
    def worst(self) -> Outcome:
        """FINISHED, or why a member of the batch did not get here."""
        return Outcome.FINISHED if self.outcomes is None else worst(self.outcomes)

    @property
    def all_failed(self) -> bool:
        """Whether no member of the batch is left."""
        return self.outcomes is not None and all(o is not Outcome.FINISHED for o in self.outcomes)
