"""What every integrator offers: a Stepper advances a state over an interval and returns a Leg.

A Stepper is made for one Flow, its parameters and where its signals come from, and remembers nothing: whatever the next
stretch depends on is in its `Start`. So a run can be stopped, saved, and continued from any Start with the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from symbody.motion.flow.loop_guards import Levels
from symbody.motion.methods.locate import Crossing
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory import EventRecord

# What a method carries from one stretch to the next (the proposal for the next step, the memory of a multistep method):
# arrays by name. {} is that of a motion that begins, and after a jump.
Memory = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Start:
    """Where a stretch begins.

    x       (nx,), or (b, nx) of a batch; members that failed hold NaN
    u       (nu,), or (b, nu): signals as they are held; those that move with time are read by the Stepper
    memory  what the method returned at the end of the stretch before
    levels  of the guards of closed loops; or None
    end     s, of the whole run
    most    steps that methods which choose theirs may still take, rejected ones too
    """

    t: float
    x: np.ndarray
    u: np.ndarray
    memory: Memory = field(default_factory=dict)
    levels: Levels | None = None
    end: float = math.inf
    most: int = 10**7


@dataclass(frozen=True, eq=False)
class Leg:
    """One stretch of motion without discontinuities.

    t, x        (k,), (..., k, nx) samples: those of the wanted times that were reached
    t_end,      where the stretch ended: at the end asked for, at the first event that acts, or where it failed
    x_end       (nx,), or (b, nx)
    outcome     FINISHED if the end asked for was reached or an event stopped it; else why not
    events      indices of the guards that crossed zero at t_end; empty if none did
    recorded    crossings of guards on the way that change nothing, in order of time
    statistics  steps, rejected, evaluations, iterations: what the method counts
    before      time and state (nx,) at the start of the last step, where closed loops ended the stretch
    members     (b,) of a batch: Outcome of each member; None for one state
    followed    what happened on the way, of a Stepper that follows events and clocks itself; then `events` is empty,
                and the outcome is STOPPED where one of them ended the run
    nodes       (k,), (k, nx) where the accepted steps ended, of methods that are not this package's own
    """

    t: np.ndarray
    x: np.ndarray
    t_end: float
    x_end: np.ndarray
    outcome: Outcome = Outcome.FINISHED
    events: tuple[int, ...] = ()
    statistics: dict[str, int] = field(default_factory=dict)
    before: tuple[float, np.ndarray] | None = None
    recorded: tuple[Crossing, ...] = ()
    members: np.ndarray | None = None
    followed: Followed | None = None
    nodes: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True, eq=False)
class StateJump:
    """States (nx,) before and after at an instant, and the signals (nu,) held then."""

    t: float
    before: np.ndarray
    after: np.ndarray
    u: np.ndarray


@dataclass(frozen=True, eq=False)
class Followed:
    """What a Stepper that follows events and clocks itself met on its way.

    events   in order of time, of a batch member by member
    jumps    of one state, in order of time
    begin    state and signals at the very start of a run, after what happened at once; None: it began earlier
    u        (k, ..., nu) signals at the samples of the stretch; None where none is held here
    u_end    (..., nu) signals at its end
    ticks, memories    of the sampled controllers, as in `Held`; None where they are asked elsewhere
    counts, instants, leaving   of the events of one state, as in `Happened`; None of a batch
    """

    events: tuple[EventRecord, ...]
    jumps: tuple[StateJump, ...]
    begin: tuple[np.ndarray, np.ndarray] | None
    u: np.ndarray | None
    u_end: np.ndarray
    ticks: tuple[int, ...] | None
    memories: tuple[Mapping[str, np.ndarray], ...]
    counts: tuple[int, ...] | None
    instants: tuple[float, ...] = ()
    leaving: frozenset[int] = frozenset()


class Stepper(Protocol):
    """An integrator made ready for one Flow.

    Guards that are `passive` only record: their crossings are located after the step, which is kept as it is. Where
    loops of a mechanism are guarded, the stretch ends after the first step in which one of these guards crosses zero.

    handles   names of the hooks whose work the method does itself inside of a stretch ("events", "clocks"); the loop
              does not ask these
    """

    @property
    def handles(self) -> frozenset[str]: ...

    def border(self, t: float, end: float) -> float:
        """The end of the stretch that it would like to do in one go from t on, in a run up to `end`."""
        ...

    def advance(self, start: Start, stop: float, times: np.ndarray) -> tuple[Leg, Memory]:
        """Integrate from `start` to `stop`, with samples at those `times` (ascending) that lie after start.t.

        The Leg may end before `stop` without an event: then the next one begins there.
        """
        ...


def check_memory(stepper: Stepper, start: Start) -> None:
    """ValueError where the memory at a start from a file is none that the method leaves behind."""
    check = getattr(stepper, "check_memory", None)
    if check is not None and start.memory:
        check(start)


def check_arrays(memory: Memory, expected: Mapping[str, tuple[int, ...]], alive: np.ndarray) -> None:
    """ValueError where a memory has not just these arrays of numbers, name -> shape. alive: (b,) members that go on, or
    () of one state."""
    if set(memory) != set(expected):
        raise ValueError(f"a memory of {sorted(memory)}; expected {sorted(expected)}")
    for name, shape in expected.items():
        found = memory[name]
        if found.shape != shape or found.dtype != float or not np.isfinite(found[alive]).all():
            raise ValueError(f"a memory whose {name} are no numbers of shape {shape}")


NOTHING: frozenset[str] = frozenset()
