"""What every integrator offers: a Driver advances one state vector over an interval and returns a Leg."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from symbody.integrate.locate import Crossing
from symbody.trajectory.outcome import Outcome


@dataclass(frozen=True, eq=False)
class Leg:
    """One stretch of motion without discontinuities.

    t, x        (k,), (k, nx) samples: those of the wanted times that were reached
    t_end,      where the stretch ended: at the end asked for, at the first event that acts, or where it failed
    x_end       (nx,)
    outcome     FINISHED if the end asked for was reached or an event stopped it; else why not
    events      indices of the guards that crossed zero at t_end; empty if none did
    recorded    crossings of guards on the way that change nothing, in order of time
    statistics  steps, rejected, evaluations, iterations: what the method counts
    before      time and state (nx,) at the start of the last step, where closed loops ended the stretch
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


class Driver(Protocol):
    """An integrator made ready for one Flow, its parameters and its inputs.

    State that is worth keeping between stretches (the next step size, a factorised matrix) stays inside the Driver and
    never changes results by more than the tolerances. Guards that are `passive` only record: their crossings are
    located after the step, which is kept as it is. A Driver may also have

        border(t)           end of the stretch that it would like to do in one go from t on
        span(end)           is told how far the run goes
        memory(), recall()  arrays from which it goes on with the same bits; recall({}) forgets, as after a jump
        failed              (b,) status of the members of a batch after a stretch, 0 where all is well
        look                a `Lookout`: the stretch ends after the first step in which one of its guards crosses zero
    """

    def advance(self, t: float, x: np.ndarray, t_end: float, times: np.ndarray) -> Leg:
        """Integrate x (nx,) from t to t_end, with samples at those `times` (ascending) that lie in (t, t_end].

        The Leg may end before t_end without an event: then the next one begins there.
        """
        ...
