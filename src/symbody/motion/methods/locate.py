"""Where a guard crosses zero inside a step: pure functions over any path of states."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

EPS = float(np.finfo(float).eps)

Path = Callable[[float], np.ndarray]
Guards = Callable[[float, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Crossing:
    """A crossing inside a step: the instant just after it, the state there, and the guards that crossed.

    sure: it need not be confirmed by the rates there, which may say nothing.
    """

    t: float
    x: np.ndarray
    events: tuple[int, ...]
    sure: bool = False


def crossed(before: np.ndarray, after: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """(ng,) of -1, 0, 1: guards that change sign in a wanted direction (0: both).

    A guard that is exactly zero before counts not, one that is zero after does: so each crossing is seen once.
    """
    sign = np.sign(before)
    way = np.where((sign != 0) & (np.sign(after) != sign), -sign, 0)
    return np.where((directions == 0) | (directions == way), way, 0).astype(int)


def locate(
    path: Path, guards: Guards, t0: float, t1: float, before: np.ndarray, after: np.ndarray, directions: np.ndarray
) -> Crossing:
    """The first crossing in (t0, t1], where at least one guard crosses between the values `before` and `after`.

    path     state at an instant of the step: a part of the step done again, or a continuous extension
    Returned is the far end of a bracket of about 1e-13 of the step and a few roundings of t, where the guard has its
    new sign: an integration that goes on from there does not meet the same crossing. Guards that cross within the same
    bracket are simultaneous.
    """
    near = width(t0, t1)
    t, g = t1, after
    for i in np.flatnonzero(crossed(before, after, directions)):
        if not crossed(before, g, directions)[i]:
            continue  # later than the one already found
        t = bracket(_element(path, guards, int(i)), t0, float(before[i]), t, float(g[i]), near)
        g = guards(t, path(t))
    later = min(t + 2 * near, t1)
    after_all = guards(later, path(later))
    if np.count_nonzero(crossed(before, after_all, directions)) > np.count_nonzero(crossed(before, g, directions)):
        t, g = later, after_all
    return Crossing(t, path(t), tuple(np.flatnonzero(crossed(before, g, directions)).tolist()))


def locate_each(
    path: Path, guards: Guards, t0: float, t1: float, before: np.ndarray, after: np.ndarray, which: Iterable[int]
) -> list[Crossing]:
    """The crossing of each of the guards `which`, which cross in (t0, t1], in order of time. See `locate`."""
    near = width(t0, t1)
    found = [(bracket(_element(path, guards, i), t0, float(before[i]), t1, float(after[i]), near), i) for i in which]
    return [Crossing(t, path(t), (i,)) for t, i in sorted(found)]


def width(t0: float, t1: float) -> float:
    """s, of the brackets of crossings in a step."""
    return 1e-13 * abs(t1 - t0) + 4 * EPS * max(abs(t0), abs(t1))


def _element(path: Path, guards: Guards, i: int) -> Callable[[float], float]:
    return lambda t: float(guards(t, path(t))[i])


def bracket(f: Callable[[float], float], a: float, fa: float, b: float, fb: float, width: float) -> float:
    """b of an interval (a, b] no longer than `width` in which f changes sign (Oliveira and Takahashi 2020, ITP).

    Superlinear on smooth functions, never slower than one evaluation more than bisection.
    """
    length = abs(b - a)
    if fb == 0 or length <= width:
        return b
    limit = int(np.ceil(np.log2(length / width))) + 1
    slope = 0.2 / length
    for k in range(2 * limit):
        if abs(b - a) <= width or fb == 0:
            break
        middle = 0.5 * (a + b)
        secant = (fb * a - fa * b) / (fb - fa)
        shift = slope * (b - a) ** 2 * np.sign(b - a)
        toward = np.sign(middle - secant)
        nearer = secant + toward * shift if abs(shift) <= abs(middle - secant) else middle
        radius = max(0.5 * width * 2.0 ** (limit - k) - 0.5 * abs(b - a), 0.0)
        c = nearer if abs(nearer - middle) <= radius else middle - toward * radius
        if c in (a, b):
            c = middle
            if c in (a, b):
                break
        fc = f(float(c))
        if fc == 0 or np.sign(fc) != np.sign(fa):
            b, fb = float(c), fc
        else:
            a, fa = float(c), fc
    return b
