"""A bare loop over a Stepper and its events: stretches of smooth motion, jumps between them."""

from dataclasses import dataclass

import numpy as np

from helpers.stretches import stretch_on
from symbody.motion.events.events import EventEffects
from symbody.motion.trajectory.outcome import Outcome


@dataclass(frozen=True, eq=False)
class HybridRun:
    """Samples (k,), (k, nx) at the wanted times, and before and after each jump at the same t; legs; what happened."""

    t: np.ndarray
    x: np.ndarray
    t_end: float
    x_end: np.ndarray
    outcome: Outcome
    events: tuple
    legs: tuple
    statistics: dict


def run_hybrid(driver, prepared, bound, t, x, t_end, times, **options) -> HybridRun:
    """Integrate from t to t_end, stretch by stretch from event to event."""
    effects = EventEffects(prepared, bound, **options)
    span, memory = t_end - t, {}
    x, mark = effects.settled(bound, effects.start(), t, np.array(x, dtype=float))
    ts, xs, legs, events = [], [], [], []
    while True:
        leg, memory = stretch_on(driver, t, x, t_end, times[times > t], memory)
        legs.append(leg)
        ts += leg.t.tolist()
        xs += list(leg.x)
        recorded, mark = effects.record(bound, mark, leg.recorded)
        events += recorded
        begin, t, x, outcome = t, leg.t_end, leg.x_end, leg.outcome
        if outcome is Outcome.FINISHED and not leg.events and begin < t < t_end:
            continue  # a Stepper may return early
        if not outcome.ok or not leg.events:
            break
        before = x
        x, happened, ending, mark = effects.answer(bound, mark, t, x, leg.events, span)
        events += happened
        if x is not before:
            if not ts or ts[-1] != t:
                ts.append(t)
                xs.append(before)
            ts.append(t)
            xs.append(x)
        if ending is not None:
            outcome = ending
            break
        if t >= t_end:
            break
        x, mark = effects.settled(bound, mark, t, x)
    total = {"events": len(events)}
    for leg in legs:
        for name, count in leg.statistics.items():
            total[name] = total.get(name, 0) + count
    samples = np.array(xs).reshape(len(xs), bound.nx)
    return HybridRun(np.array(ts), samples, t, x, outcome, tuple(events), tuple(legs), total)
