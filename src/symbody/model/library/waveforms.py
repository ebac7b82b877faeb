"""Periodic signals of time (hybrid simulators, section 5.2.2): numbers, arrays or Nodes.

A period begins at 0 (`square`: at 1) and ends at 0 (`sawtooth`: just below 1, then it jumps back). Amplitude 1;
multiply for volts or newtons. `frequency` in Hz.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from symbody.basics.errors import DefinitionError
from symbody.model.library.law_functions import apply, select, sin, table
from symbody.symbolic.expr.node import Node

NAMES = ("square", "sawtooth", "triangle", "trapezoidal", "quarter_sine", "parabolic", "free_signal")


def phase(t: Any, frequency: Any) -> Any:
    """Place in the period, 0 to 1."""
    return apply("mod", t * frequency, 1)


def square(t: Any, frequency: Any, duty: float = 0.5) -> Any:
    """1 during the first `duty` of the period, then 0."""
    _share("duty", duty)
    return select(_less(phase(t, frequency), duty), 1.0, 0.0)


def sawtooth(t: Any, frequency: Any) -> Any:
    """From 0 to 1 in a straight line, then back at once."""
    return phase(t, frequency)


def triangle(t: Any, frequency: Any, rise: float = 0.5) -> Any:
    """Up during the share `rise` of the period, and down."""
    _share("rise", rise)
    x = phase(t, frequency)
    return select(_less(x, rise), x / rise, (1 - x) / (1 - rise))


def trapezoidal(t: Any, frequency: Any, rise: float = 0.25, hold: float = 0.5) -> Any:
    """Up during `rise`, 1 during `hold`, and down in the rest of the period."""
    _share("rise", rise)
    _share("rise + hold", rise + hold)
    return table(phase(t, frequency), [0.0, rise, rise + hold, 1.0], [0.0, 1.0, 1.0, 0.0], "linear")


def quarter_sine(t: Any, frequency: Any, rise: float = 0.5) -> Any:
    """Up by the first quarter of a sine during the share `rise`, and down by the second."""
    _share("rise", rise)
    x = phase(t, frequency)
    up, down = x / rise, (1 - x) / (1 - rise)
    return sin(math.pi / 2 * select(_less(x, rise), up, down))


def parabolic(t: Any, frequency: Any, rise: float = 0.5) -> Any:
    """Up as a square of time during the share `rise`, and down likewise: acceleration of one sign on each side."""
    x = triangle(t, frequency, rise)
    return x * x


def free_signal(t: Any, frequency: Any, points: Sequence[float]) -> Any:
    """The natural cubic spline through 0, the points at equal intervals, and 0: what an optimiser may shape."""
    if not len(points):
        raise DefinitionError("free_signal has no points; expected one or more.")
    n = len(points) + 1
    return table(phase(t, frequency), [k / n for k in range(n + 1)], [0.0, *map(float, points), 0.0], "cubic")


def _less(x: Any, bound: float) -> Any:
    return apply("lt", x, bound) if x.__class__ is Node else x < bound


def _share(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise DefinitionError(f"{name} is {value!r}; expected a share of the period, between 0 and 1.")
