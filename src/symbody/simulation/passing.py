"""Through a singular position of the mechanism by inertia.

Where constraints become dependent, branches of motion meet and the equations of motion say nothing. A motion that
arrives with a speed goes straight on: its rates, which are smooth, are continued by a polynomial from before the
position to behind it, where the loops are closed again with the least change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.polynomial import Polynomial

from symbody.loops.assembly import close
from symbody.loops.conditioning import Conditioning
from symbody.loops.numeric import checked
from symbody.simulation.driver import Leg
from symbody.simulation.field import Field
from symbody.simulation.session import Session
from symbody.simulation.steps import together

NODES = 5  # rates before the position through which the polynomial goes
APPROACH = 4  # how often the way up to the zone is estimated again
FARTHEST = 8.0  # distances to the singular position within which the other side must come
SMALL = 1e-5  # change, relative to the way of the passage, by which the loops are closed behind it

Distance = Callable[[float, np.ndarray], float]  # (t, x) -> what vanishes at a singular position


@dataclass(frozen=True, eq=False)
class Passage:
    """From (start, x_start) near to the zone (`near`), through it to (end, x_end); t, x, rates: samples inside."""

    zone: ClassVar[float] = 1e-2  # of the smallest singular value at the start: roundings grow with its inverse cube

    start: float
    x_start: np.ndarray
    near: Leg
    t: np.ndarray
    x: np.ndarray
    rates: np.ndarray
    instant: float
    end: float
    x_end: np.ndarray


def pass_by_inertia(
    session: Session, conditioning: Conditioning, regular: float, start: float, x_start: np.ndarray,
    wanted: np.ndarray,
) -> Passage | None:  # fmt: skip
    """A way through the singular position that lies ahead of (start, x_start); None if there is none."""
    at, at_qd = session.flow.slices["q"], session.flow.slices["qd"]
    zone = Passage.zone * regular

    def distance(s: float, state: np.ndarray) -> float:
        return conditioning.of_mechanism(conditioning.jacobian(state[at], s))

    near = _approach(session, distance, zone, start, x_start, wanted)
    if near is None:
        return None
    t0, x0 = near.t_end, near.x_end
    ahead = _time_left(distance, session, t0, x0)
    slopes = _continued(session, t0, x0, ahead) if 0 < ahead < np.inf else None
    if slopes is None:
        return None
    states = [p.integ() for p in slopes]

    def state(s: float) -> np.ndarray:
        return x0 + np.array([p(s) for p in states])

    length, least = 2 * ahead, distance(t0, x0)
    while distance(t0 + length, state(length)) < 0.9 * least:
        length += 0.25 * ahead
        if length > FARTHEST * ahead:
            return None
    end = _on_grid(session, t0 + length)
    after = _closed(conditioning, session, end, state(end - t0))
    if after is None or np.abs(after - state(end - t0))[at].max() > SMALL * np.abs(x0[at_qd]).max() * (end - t0):
        return None
    if end > session.end:  # the run ends inside
        end, after = session.end, state(session.end - t0)
    times = wanted[(wanted > t0) & (wanted <= end)]
    values = np.array([state(s - t0) for s in times]).reshape(len(times), len(x0))
    rates = np.array([[p(s - t0) for p in slopes] for s in times]).reshape(len(times), len(x0))
    if len(times) and times[-1] == end:
        values[-1] = after
    return Passage(start, x_start, near, times, values, rates, t0 + ahead, end, after)


def _approach(
    session: Session, distance: Distance, zone: float, t: float, x: np.ndarray, wanted: np.ndarray
) -> Leg | None:
    """From (t, x) up to the border of the zone by the method of the run, as far as it gets."""
    near = Leg(np.zeros(0), np.zeros((0, len(x))), t, x)
    for _ in range(APPROACH):
        left = distance(near.t_end, near.x_end)
        if left < 2 * zone:
            break
        ahead = _time_left(distance, session, near.t_end, near.x_end)
        if not 0 < ahead < np.inf:
            return None
        goal = near.t_end + ahead * (1 - 1.5 * zone / left)
        times = wanted[(wanted > near.t_end) & (wanted <= goal)]
        leg = session.driver.advance(near.t_end, near.x_end, goal, times)
        if leg.events:
            return None
        if not leg.outcome.ok:
            break  # no nearer by this method
        near = together([near, leg])
    return near


def _time_left(distance: Distance, session: Session, t: float, x: np.ndarray) -> float:
    """Seconds until the distance vanishes, on a straight line; inf if it grows."""
    flow = session.flow
    at, at_qd = flow.slices["q"], flow.slices["qd"]
    small = 1e-6 / max(float(np.abs(x[at_qd]).max()), 1e-9)
    if at.stop - at.start != at_qd.stop - at_qd.start:
        rates = _field(session).rates(t, x)[at]
    else:
        rates = x[at_qd]
    later = x.copy()
    later[at] = x[at] + small * rates
    now, then = distance(t, x), distance(t + small, later)
    return now * small / (now - then) if then < now else np.inf


def _field(session: Session) -> Field:
    feed = session.feed
    return Field(session.flow, session.settings.parameters, lambda t, x: feed.at(t))


def _continued(session: Session, t: float, x: np.ndarray, spacing: float) -> list[Polynomial] | None:
    """Rates (nx) as polynomials of the time after t, from rates at t and before, where all is regular."""
    field = _field(session)
    found = [field.rates(t, x)]
    h = -spacing
    for k in range(NODES - 1):
        s = t + k * h
        k1 = found[-1]
        k2 = field.rates(s + h / 2, x + h / 2 * k1)
        k3 = field.rates(s + h / 2, x + h / 2 * k2)
        k4 = field.rates(s + h, x + h * k3)
        x = field.project(s + h, x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
        found.append(field.rates(s + h, x))
    rates = np.array(found)
    if not np.isfinite(rates).all():
        return None
    nodes = h * np.arange(NODES)
    return [Polynomial.fit(nodes, column, NODES - 1).convert() for column in rates.T]


def _on_grid(session: Session, t: float) -> float:
    """The next instant of a step that is not before t."""
    step, start = session.settings.step, session.settings.start
    return t if step is None else start + step * float(np.ceil((t - start) / step - 1e-9))


def _closed(conditioning: Conditioning, session: Session, t: float, x: np.ndarray) -> np.ndarray | None:
    """x with closed coordinates and velocities, changed as little as possible."""
    flow = session.flow
    at, at_qd = flow.slices["q"], flow.slices["qd"]
    numeric = conditioning.numeric(t)
    mechanism = numeric.tree.mechanism
    out = x.copy()
    start = checked(mechanism, x[at])
    # near the position a gap of h moves joints by much more: closed as well as doubles allow
    attempts = (close(numeric, start, conditioning.free, tolerance) for tolerance in (1e-15, 1e-14, 1e-12))
    attempt = next((a for a in attempts if a.closed), None)
    if attempt is None:
        return None
    out[at] = attempt.q
    J, ht, free = numeric.J(attempt.q), numeric.ht(attempt.q), conditioning.free
    velocities = out[at_qd].copy()
    velocities[free] += np.linalg.lstsq(J[:, free], -(J @ velocities + ht), rcond=1e-8)[0]
    out[at_qd] = velocities
    return out
