"""What goes into a march and what comes out: signals over time, and the Run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ShapeError


@dataclass(frozen=True, eq=False)
class Signals:
    """Inputs over time: all inputs that are neither states nor time, end to end in the order of the Kernel's inputs.

    times   (k,) ascending; equal neighbours are a jump. Values are constant before the first and after the last.
    values  (k, nu), (b, k, nu) one set for each member of a batch, or (nu,) constant
    hold    keep each value until the next time; else linear in between. At a jump that falls on the boundary of two
            steps each step sees its own side.
    """

    times: Any
    values: Any
    hold: bool = False

    def table(self, nu: int, members: int | None) -> tuple[np.ndarray, np.ndarray]:
        """(times (k,), values (k, nu) or (b, k, nu)), checked."""
        times = np.atleast_1d(np.ascontiguousarray(self.times, dtype=float))
        values = np.ascontiguousarray(self.values, dtype=float)
        if values.ndim == 1:
            times, values = times[:1], values[None, :]
        shapes = [(times.size, nu)] + ([] if members is None else [(members, times.size, nu)])
        if values.shape not in shapes:
            told = " or ".join(map(str, shapes))
            raise ShapeError(f"signals have values of shape {np.shape(self.values)}; expected {told} or ({nu},).")
        if times.ndim != 1 or times.size == 0 or not np.all(np.diff(times) >= 0):
            raise ShapeError("times of signals must be one ascending sequence of at least one number.")
        return times, values

    def jumps(self, times: np.ndarray) -> bool:
        """Whether the values are not continuous in time."""
        return times.size > 1 and (self.hold or bool(np.any(np.diff(times) == 0)))


@dataclass(frozen=True, eq=False)
class LogStep:
    """A step in which only passive guards crossed zero; x_before, x_end (nx,), crossed (ng,) signs."""

    t_before: float
    x_before: np.ndarray
    t_end: float
    x_end: np.ndarray
    crossed: np.ndarray


@dataclass(frozen=True, eq=False)
class Run:
    """How a march went; arrays have the batch dimension in front where x had one.

    t, x               (..., k), (..., k, nx) samples; the start is not one of them. A member of a batch that ended
                       early has NaN from there on, a single state has fewer samples. t of fixed steps is (k,) where all
                       members share their times.
    samples            (...,) number of samples
    t_end, x_end       the last accepted state
    t_before, x_before start of the last accepted step (equal to the end after a failure)
    status             0 end reached, 1 guard crossed in the last step, 2 not finite, 3 step too small,
                       4 too many steps, 5 implicit block failed
    crossed            (..., ng) signs of the crossings in the last step
    steps, rejected, evaluations   counts
    h_next             proposal for the next adaptive step
    log                of one state: the steps in which passive guards crossed, but for the one that ended the run
    """

    t: np.ndarray
    x: np.ndarray
    samples: np.ndarray
    t_end: np.ndarray
    x_end: np.ndarray
    t_before: np.ndarray
    x_before: np.ndarray
    status: np.ndarray
    crossed: np.ndarray
    steps: np.ndarray
    rejected: np.ndarray
    evaluations: np.ndarray
    h_next: np.ndarray
    log: tuple[LogStep, ...] = ()

    def member(self, k: int, first: int = 0) -> Run:
        """How member k of a batch went, as if it had been alone. first: the number of its first sample."""
        count = int(self.samples[k])
        fields = {f: getattr(self, f)[k] for f in MEMBER}
        return Run(self.t[..., first:count], self.x[k, first:count], np.array(count - first), **fields)


MEMBER = ("t_end", "x_end", "t_before", "x_before", "status", "crossed", "steps", "rejected", "evaluations", "h_next")
