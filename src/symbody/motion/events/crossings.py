"""What an event does to a state, and which crossings of guards are meant by the motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbody.motion.flow.event_rules import PreparedEvents
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.vector_field import VectorField
from symbody.motion.methods.locate import EPS

FLAT, AHEAD = 1e-8, 1e-2  # rate of a guard, beside its terms, that counts as none; s to look ahead then
PASSES = 4
CARRIED = 1e-9  # of a guard's terms: beyond it a jump has carried it over zero
CROWD, INSTANT = 20, 1e-9  # so many events within this share of the run are taken for an accumulation


def settled(
    bound: VectorField, t: float, x: np.ndarray, passive: np.ndarray
) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """x, moved by roundings so that a guard which is zero but for roundings has the sign that it is about to have.

    Else a rebound that starts a rounding below the ground would never be seen to fall back. Guards that are passive
    (ng,) move nothing; of those that are about to cross zero, but for a rounding, are returned (number, sign then).
    """
    if not bound.ng:
        return x, []
    g = bound.guards(t, x)
    if not np.all(np.isfinite(g)) or np.all(np.abs(g) > 1e-6 * (1 + np.max(np.abs(x), initial=0.0))):
        return x, []
    rates, slopes = guard_rates(bound, t, x), _gradient(bound, t, x)
    noise = 1e-12 * (np.abs(slopes) @ np.maximum(np.abs(x), 1.0) + np.abs(rates) * max(1.0, abs(t)))
    near = np.abs(g) <= noise
    flat = near & (np.abs(rates) <= FLAT * (np.abs(slopes) @ np.abs(bound.rates(t, x))))
    if flat.any():
        # a guard that a loop has held at zero until now leaves it slowly: only later is its way to be seen
        rates = np.where(flat, _guards_after(bound, t, x) - g, rates)
    for _ in range(PASSES):  # what moves one guard may move another that is near zero too
        wrong = np.flatnonzero(near & ~passive & (np.sign(g) != np.sign(rates)) & (rates != 0))
        if not len(wrong):
            break
        for i in wrong:
            x = _placed(bound, t, x, int(i), np.sign(rates[i]), slopes[i])
        g = bound.guards(t, x)
    late = np.flatnonzero(near & passive & (g * rates < 0))
    return x, [(int(k), int(np.sign(rates[k]))) for k in late]


def _placed(bound: VectorField, t: float, x: np.ndarray, i: int, way: float, slope: np.ndarray) -> np.ndarray:
    """x moved along the guard's gradient, as little as roundings allow, to where guard i has the sign `way`."""
    square = float(slope @ slope)
    if square == 0:
        return x  # a guard of time alone
    g = bound.guards(t, x)[i]
    target = 4 * EPS * float(np.abs(slope) @ np.abs(x)) + EPS * EPS
    for _ in range(8):
        moved = x + slope * ((way * target - g) / square)
        if np.sign(bound.guards(t, moved)[i]) == way:
            return moved
        target *= 4
    return x


def _guards_after(bound: VectorField, t: float, x: np.ndarray) -> np.ndarray:
    """(ng,) guards a little later, by one step of Runge and Kutta."""
    k1 = bound.rates(t, x)
    h = AHEAD / max(1.0, float(np.max(np.abs(k1) / np.maximum(np.abs(x), 1.0), initial=0.0)))
    k2 = bound.rates(t + h / 2, x + h / 2 * k1)
    k3 = bound.rates(t + h / 2, x + h / 2 * k2)
    k4 = bound.rates(t + h, x + h * k3)
    return bound.guards(t + h, x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


def guard_rates(bound: VectorField, t: float, x: np.ndarray) -> np.ndarray:
    """(ng,) time derivatives of the guards along the motion, by a central difference on the tangent."""
    f = bound.rates(t, x)
    if not np.all(np.isfinite(f)):
        return np.zeros(bound.ng)
    speed = float(np.max(np.abs(f) / np.maximum(np.abs(x), 1.0), initial=0.0))
    dt = 1e-6 / max(speed, 1.0)
    return np.asarray(bound.guards(t + dt, x + dt * f) - bound.guards(t - dt, x - dt * f)) / (2 * dt)


def _gradient(bound: VectorField, t: float, x: np.ndarray) -> np.ndarray:
    """(ng, nx) derivative of the guards by the states that move, by central differences."""
    columns = []
    held = _held(bound.flow)
    for k in range(len(x)):
        if k in held:
            columns.append(np.zeros(bound.ng))
            continue
        step = np.zeros(len(x))
        step[k] = 1e-6 * max(1.0, abs(x[k]))
        columns.append((bound.guards(t, x + step) - bound.guards(t, x - step)) / (2 * step[k]))
    return np.array(columns).T


def _held(flow: Flow) -> set[int]:
    """Components that only events change: switches, which no rounding may move."""
    rates = flow.rates
    names = [n for n, rate in rates.states.items() if all(x is rates.graph.zero for x in rates.outputs[rate].flat)]
    return {k for n in names for k in range(flow.slices[n].start, flow.slices[n].stop)}


def confirmed(
    bound: VectorField, events: tuple[int, ...], t: float, x: np.ndarray, directions: np.ndarray
) -> list[int]:
    """Crossings that the motion confirms: on either side of zero, the guard moves in the direction of the crossing.

    Near a turning point the error of a step may carry a guard over zero and back; a rebound must not answer that.
    Where the rates jump at zero, as dry friction does, the side before decides.
    """
    g, rates = bound.guards(t, x), guard_rates(bound, t, x)
    way = np.where(g != 0, np.sign(g), directions)
    against = [k for k in events if way[k] * rates[k] < 0]
    if not against:
        return list(events)
    slopes = _gradient(bound, t, x)
    for k in list(against):
        before = _placed(bound, t, x, k, -way[k], slopes[k])
        if way[k] * guard_rates(bound, t, before)[k] > 0:
            against.remove(k)
    return [k for k in events if k not in against]


def carried_over(
    bound: VectorField,
    t: float,
    before: np.ndarray | None,
    after: np.ndarray,
    directions: np.ndarray,
    which: Sequence[int],
) -> list[int]:
    """Guards among `which` that a jump of the state has carried over zero in their direction, or has put on zero, which
    they are about to leave that way. before None: the start of a run, where every guard counts as not yet crossed.
    """
    chosen = np.array(which, dtype=int)
    ways, g = directions[chosen], bound.guards(t, after)[chosen]
    noise = CARRIED * (np.abs(_gradient(bound, t, after)[chosen]) @ np.maximum(np.abs(after), 1.0))
    over, on = ways * g > noise, np.abs(g) <= noise
    if before is not None:
        # one that was on zero before the jump is that of the event itself, or moves on by itself
        old = ways * bound.guards(t, before)[chosen]
        over, on = over & (old <= noise), on & (old < -noise)
    if on.any():
        over |= on & (ways * guard_rates(bound, t, after)[chosen] > noise)
    return [int(k) for k in chosen[over & (ways != 0)]]


def crowded(instants: Sequence[float], span: float) -> bool:
    """Whether events follow each other without end: a crowd of them in no time."""
    if len(instants) < CROWD:
        return False
    t = instants[-1]
    return t - instants[-CROWD] <= INSTANT * max(abs(t), span)


class Handler:
    """What one event does, ready to run."""

    def __init__(self, index: int, prepared: PreparedEvents, field: VectorField) -> None:
        self.rule, self.index = prepared.events[index], index
        reset, rest = prepared.reset(index), prepared.reset(index, rest=True)
        self.reset = None if reset is None else reset.ready(field)
        self.rest = None if rest is None else rest.ready(field)

    def take_effect(self, bound: VectorField, count: int, t: float, x: np.ndarray) -> tuple[np.ndarray, str, bool]:
        """(state after, what happened, whether the run ends) at the occurrence number `count`."""
        rule = self.rule
        ends, text = rule.stop, "the run stops" if rule.stop else ""
        if rule.limit is not None and count >= rule.limit:
            ends, text = True, f"the run stops at its occurrence {count}"
        if self.reset is None:
            return x, text, ends
        after = self.reset(bound, t, x)
        if rule.slowest > 0 and abs(guard_rates(bound, t, after)[self.index]) < rule.slowest:
            if self.rest is None:
                return after, f"slower than {rule.slowest:g}: it rests, and the run stops", True
            return self.rest(bound, t, after), f"slower than {rule.slowest:g}: it rests", ends
        return after, text or "reset", ends
