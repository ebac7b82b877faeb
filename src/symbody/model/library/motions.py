"""Motion laws q(t): bang-bang, trapezoid, cubic, quintic, spline, Fourier; of numbers, arrays or Nodes.

Each is a record that is called with t: numbers give numbers, arrays arrays, and a Node (the time symbol of a driven
joint, or of an input) an expression with its exact derivatives. Sources: Khalil and Dombre 2002, chapter 13;
Biagiotti and Melchiorri 2008, chapters 2 to 4; Swevers et al. 1997 for Fourier series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, ShapeError, real_argument
from symbody.model.library.law_functions import cos, sin
from symbody.symbolic.expr.external import Piecewise
from symbody.symbolic.expr.functions import derivative_of, piecewise
from symbody.symbolic.expr.node import Node

# peak speed and acceleration of a unit move in unit time, from rest to rest
PEAKS = {"bang_bang": (2.0, 4.0), "cubic": (1.5, 6.0), "quintic": (15 / 8, 10 / math.sqrt(3))}


@dataclass(frozen=True)
class MotionLaw:
    """A piecewise polynomial of time that rests at its ends: constant before `start` and after `end`, s."""

    polynomial: Piecewise
    start: float
    end: float

    def __call__(self, t: Any) -> Any:
        return _at(self.polynomial, t)

    def qd(self, t: Any) -> Any:
        """The rate; at a breakpoint that of the piece that begins there."""
        return _at(self._first, t)

    def qdd(self, t: Any) -> Any:
        return _at(self._second, t)

    @cached_property
    def _first(self) -> Piecewise:
        return derivative_of(self.polynomial)

    @cached_property
    def _second(self) -> Piecewise:
        return derivative_of(self._first)

    @property
    def duration(self) -> float:
        """s"""
        return self.end - self.start

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Instants at which the law changes its polynomial."""
        return self.polynomial.x[1:-1]


def _at(polynomial: Piecewise, t: Any) -> Any:
    """Values at numbers (complex ones too: the piece is that of the real part) or at a Node."""
    if t.__class__ is Node:
        return piecewise(t, polynomial)
    x, c = np.asarray(polynomial.x), np.asarray(polynomial.c)
    times = np.asarray(t)
    piece = np.clip(np.searchsorted(x, times.real, side="right") - 1, 0, len(x) - 2)
    d = times - x[piece]
    value = np.zeros_like(d, dtype=np.result_type(times, float))
    for row in c[::-1]:
        value = value * d + row[piece]
    return value[()]


def _resting(times: Sequence[float], coefficients: Sequence[Sequence[float]], last: float) -> MotionLaw:
    """A MotionLaw of pieces (constant term first, by time since the piece's start), with rest before and after."""
    size = max(3, *(len(p) for p in coefficients))
    first = coefficients[0][0]
    pieces = [[first], *coefficients, [last]]
    rows = tuple(tuple(float(p[k]) if k < len(p) else 0.0 for p in pieces) for k in range(size))
    x = (times[0] - 1.0, *times, times[-1] + 1.0)
    return MotionLaw(Piecewise(tuple(float(v) for v in x), rows), float(times[0]), float(times[-1]))


# -- from point to point


def bang_bang(
    start: float, end: float, duration: float | None = None, acceleration: float | None = None, t0: float = 0.0
) -> MotionLaw:
    """Greatest acceleration, then greatest deceleration: the quickest move by |qdd| <= acceleration."""
    move = float(end) - float(start)
    if acceleration is not None:
        _positive("acceleration", acceleration)
        quickest = 2 * math.sqrt(abs(move) / acceleration)
        duration = _long_enough(duration, quickest, f"|qdd| <= {acceleration:g}")
    if duration is None:
        raise DefinitionError("bang_bang needs a duration or an acceleration; neither was given.")
    half = _positive("duration", duration) / 2
    a = move / half**2
    return _resting(
        [t0, t0 + half, t0 + 2 * half], [[start, 0, a / 2], [start + move / 2, a * half, -a / 2]], float(end)
    )


def trapezoid(
    start: float, end: float, velocity: float, acceleration: float, duration: float | None = None, t0: float = 0.0
) -> MotionLaw:
    """Greatest acceleration up to the greatest velocity, and back: |qd| <= velocity, |qdd| <= acceleration.

    A short move does not reach the velocity and is bang-bang. A longer duration than the quickest one lowers the
    velocity and keeps the acceleration.
    """
    _positive("velocity", velocity)
    _positive("acceleration", acceleration)
    move = abs(float(end) - float(start))
    top = min(velocity, math.sqrt(move * acceleration))
    quickest = move / top + top / acceleration if move else 0.0
    total = _long_enough(duration, quickest, f"|qd| <= {velocity:g} and |qdd| <= {acceleration:g}")
    if move == 0:
        return bang_bang(start, end, total or 1.0, t0=t0)
    if duration is not None and total > quickest:
        # move = top (total - top / acceleration)
        top = acceleration / 2 * (total - math.sqrt(total * total - 4 * move / acceleration))
    ramp, direction = top / acceleration, math.copysign(1.0, end - start)
    if total - 2 * ramp <= 1e-12 * total:
        return bang_bang(start, end, total, t0=t0)
    a, v, d = direction * acceleration, direction * top, direction * top * ramp / 2
    return _resting(
        [t0, t0 + ramp, t0 + total - ramp, t0 + total],
        [[start, 0, a / 2], [start + d, v], [end - d, v, -a / 2]],
        float(end),
    )


def cubic(
    start: float,
    end: float,
    duration: float,
    velocities: tuple[float, float] = (0.0, 0.0),
    t0: float = 0.0,
) -> MotionLaw:
    """The polynomial of degree 3 with given places and velocities at both ends."""
    T, move = _positive("duration", duration), float(end) - float(start)
    v0, v1 = velocities
    c2 = (3 * move - (2 * v0 + v1) * T) / T**2
    c3 = (-2 * move + (v0 + v1) * T) / T**3
    return _resting([t0, t0 + T], [[start, v0, c2, c3]], float(end))


def quintic(
    start: float,
    end: float,
    duration: float,
    velocities: tuple[float, float] = (0.0, 0.0),
    accelerations: tuple[float, float] = (0.0, 0.0),
    t0: float = 0.0,
) -> MotionLaw:
    """The polynomial of degree 5 with given places, velocities and accelerations at both ends."""
    T, move = _positive("duration", duration), float(end) - float(start)
    (v0, v1), (a0, a1) = velocities, accelerations
    c3 = (20 * move - (8 * v1 + 12 * v0) * T - (3 * a0 - a1) * T**2) / (2 * T**3)
    c4 = (-30 * move + (14 * v1 + 16 * v0) * T + (3 * a0 - 2 * a1) * T**2) / (2 * T**4)
    c5 = (12 * move - 6 * (v1 + v0) * T + (a1 - a0) * T**2) / (2 * T**5)
    return _resting([t0, t0 + T], [[start, v0, a0 / 2, c3, c4, c5]], float(end))


# -- through many points


def spline(
    times: Sequence[float], points: Sequence[float], velocities: tuple[float, float] | None = (0.0, 0.0)
) -> MotionLaw:
    """The cubic spline through points: with given velocities at both ends, or natural (no curvature there) if None."""
    t, y = np.asarray(times, dtype=float), np.asarray(points, dtype=float)
    if t.ndim != 1 or t.shape != y.shape or len(t) < 2:
        raise ShapeError(f"spline has {t.shape} times and {y.shape} points; expected as many of both, at least 2.")
    if not (np.isfinite(t).all() and np.isfinite(y).all() and (np.diff(t) > 0).all()):
        raise DefinitionError("the times of a spline must be finite and ascending, its points finite.")
    h = np.diff(t)
    slope = np.diff(y) / h
    n = len(t)
    matrix, right = np.zeros((n, n)), np.zeros(n)
    for i in range(1, n - 1):  # second derivatives m: continuous slopes
        matrix[i, i - 1 : i + 2] = h[i - 1], 2 * (h[i - 1] + h[i]), h[i]
        right[i] = 6 * (slope[i] - slope[i - 1])
    matrix[0, 0] = matrix[-1, -1] = 1.0
    if velocities is not None:
        matrix[0, :2], right[0] = (2 * h[0], h[0]), 6 * (slope[0] - velocities[0])
        matrix[-1, -2:], right[-1] = (h[-1], 2 * h[-1]), 6 * (velocities[1] - slope[-1])
    m = np.linalg.solve(matrix, right)
    linear = slope - h * (2 * m[:-1] + m[1:]) / 6
    pieces = np.stack([y[:-1], linear, m[:-1] / 2, np.diff(m) / (6 * h)], axis=1)
    return _resting(t.tolist(), pieces.tolist(), float(y[-1]))


# -- periodic


@dataclass(frozen=True)
class Fourier:
    """offset + sum_k a_k / (k w) sin(k w t) - b_k / (k w) cos(k w t): its rate is sum a_k cos + b_k sin."""

    offset: float
    a: tuple[float, ...]
    b: tuple[float, ...]
    omega: float  # rad/s

    def _harmonics(self, t: Any) -> list[tuple[float, float, float, Any]]:
        pairs = zip(self.a, self.b, strict=True)
        return [(a, b, k * self.omega, k * self.omega * t) for k, (a, b) in enumerate(pairs, start=1)]

    def __call__(self, t: Any) -> Any:
        return self.offset + sum((a / w) * sin(x) - (b / w) * cos(x) for a, b, w, x in self._harmonics(t))

    def qd(self, t: Any) -> Any:
        return sum(a * cos(x) + b * sin(x) for a, b, _, x in self._harmonics(t))

    def qdd(self, t: Any) -> Any:
        return sum((b * w) * cos(x) - (a * w) * sin(x) for a, b, w, x in self._harmonics(t))

    @property
    def duration(self) -> float:
        """One period, s."""
        return 2 * math.pi / self.omega


def fourier(offset: float, a: Sequence[float], b: Sequence[float], frequency: float) -> Fourier:
    """A periodic motion; a, b: amplitudes of the rate's cosines and sines, from the fundamental (Hz) on."""
    if len(a) != len(b) or not len(a):
        raise ShapeError(f"fourier has {len(a)} cosines and {len(b)} sines of the rate; expected as many, at least 1.")
    omega = 2 * math.pi * _positive("frequency", frequency)
    return Fourier(float(offset), tuple(map(float, a)), tuple(map(float, b)), omega)


def _positive(name: str, value: float) -> float:
    return float(real_argument(name, value, "a positive number", above=0.0))


def _long_enough(duration: float | None, quickest: float, limits: str) -> float:
    if duration is None:
        return quickest
    if duration < quickest * (1 - 1e-12):
        raise DefinitionError(
            f"a duration of {duration:g} s is too short for {limits}; expected at least {quickest:g}."
        )
    return max(float(duration), quickest)
