"""What Steppers over other libraries share: stretches of a run, signals and loops of one stretch."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from symbody.motion.flow.loop_guards import LoopGuards
from symbody.motion.flow.signals import InputSignals
from symbody.motion.flow.vector_field import VectorField
from symbody.motion.methods.stepper import Start

PARTS = 16  # stretches of a run by methods that offer no natural ones: an interrupt or a checkpoint waits no longer


@dataclass(frozen=True)
class Parts:
    """Equal stretches of a run from `start`; None: the whole in one."""

    start: float | None

    def border(self, t: float, end: float) -> float:
        """The end of the stretch that begins at t, in a run up to `end`."""
        if self.start is None:
            return math.inf
        part = (end - self.start) / PARTS
        return self.start + (math.floor((t - self.start) / part * (1 + 1e-12) + 1e-9) + 1) * part


WHOLE = Parts(None)


def reading(field: VectorField, signals: InputSignals | None, start: Start) -> VectorField:
    """A VectorField that reads the signals of one stretch; None: it knows its own."""
    return field if signals is None else field.reading(lambda t, x: signals.at(t, start.u))


def loop_guards(
    loops: LoopGuards | None, field: VectorField, start: Start, t: float, x: np.ndarray
) -> np.ndarray | None:
    """The guards of closed loops at a state; None where nothing is guarded."""
    if loops is None:
        return None
    levels = loops.no_levels() if start.levels is None else start.levels
    return loops.values(levels, t, x, field.signals(t, x))
