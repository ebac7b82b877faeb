"""Arithmetic of steps of equal length: instants, places of samples, interpolation, joining of stretches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from symbody.motion.march.method_tables import RungeKutta
from symbody.motion.methods.stepper import Leg
from symbody.motion.trajectory.outcome import Outcome

NEAR = 1e-9  # of a step: instants closer than this are the same


def stage_times(method: Any, t: float, h: float, steps: int) -> np.ndarray:
    """Instants at which steps t + k h evaluate the rates: there functions of time are exact."""
    c = np.unique([*method.c, 1.0]) if isinstance(method, RungeKutta) else np.array([0.0, 0.5, 1.0])
    starts = t + np.arange(steps) * h
    return np.unique(np.concatenate([starts + f * h for f in c]))


def step_index(start: float, step: float, t: float) -> tuple[int, bool]:
    """(k, exact): the last instant start + k step that is not after t, and whether t is that instant."""
    place = (t - start) / step
    k = round(place)
    slack = max(NEAR, 8 * np.finfo(float).eps * abs(t) / step)
    return (k, True) if abs(place - k) <= slack else (math.floor(place), False)


def stride(whole: np.ndarray, steps: int) -> int:
    """The largest `every` whose samples contain those wanted (the last step is recorded anyway)."""
    if not len(whole):
        return max(steps, 1)
    if len(whole) == 1:
        return int(whole[0]) if whole[0] >= 1 else 1
    every = int(whole[0])
    return every if every >= 1 and (np.diff(whole) == every).all() else 1


def hermite(s: np.ndarray, h: float, x0: np.ndarray, x1: np.ndarray, f0: np.ndarray, f1: np.ndarray) -> np.ndarray:
    """Cubic on [0, 1] with the values and slopes of both ends."""
    return (1 + 2 * s) * (1 - s) ** 2 * x0 + s**2 * (3 - 2 * s) * x1 + h * s * (1 - s) * ((1 - s) * f0 - s * f1)


def together(legs: list[Leg]) -> Leg:
    """Consecutive stretches as one."""
    last = legs[-1]
    statistics: dict[str, int] = {}
    for leg in legs:
        for n, v in leg.statistics.items():
            statistics[n] = statistics.get(n, 0) + v
    t = np.concatenate([leg.t for leg in legs])
    x = np.concatenate([leg.x for leg in legs], axis=-2)
    recorded = tuple(crossing for leg in legs for crossing in leg.recorded)
    members = last.members
    for leg in reversed(legs):  # what happened to a member first counts
        if members is not None and leg.members is not None:
            members = np.where(leg.members != Outcome.FINISHED, leg.members, members)
    return Leg(t, x, last.t_end, last.x_end, last.outcome, last.events, statistics, last.before, recorded, members)
