"""Through a singular position of the mechanism by inertia.

Where constraints become dependent, branches of motion meet and the equations of motion say nothing. A motion that
arrives with a speed goes straight on: its rates are smooth. A polynomial of time through the rates before the position
leads to a first state behind it, where the loops are closed again with the least change. From there the motion is
followed a little further, and a polynomial through the rates on both sides of the gap gives the state behind it again,
until it stays. Nothing is evaluated in the gap itself, where roundings grow with the inverse cube of the distance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial import chebyshev

from symbody.basics.memory import memory_of
from symbody.mechanics.assembly.conditioning import Conditioning
from symbody.model.record.coordinates import checked, retract
from symbody.motion.events.energy_balance import EnergyBalance
from symbody.motion.events.plan import Plan
from symbody.motion.events.state import RunState
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.flow_kernels import FlowKernels
from symbody.motion.methods.locate import Crossing, Path, crossed, locate_each
from symbody.motion.methods.native_stepper import NativeAdaptive
from symbody.motion.methods.step_grid import together
from symbody.motion.methods.stepper import Leg, Memory, Start, Stepper

NODES = 24  # rates on each side
REACH = 6.0  # how far the nodes reach, by the time from the border of the zone to the position
ONE_SIDE, BOTH_SIDES = 7, 13  # degrees of the polynomials
ROUNDS = 12  # of the states behind the position
APPROACH, CAUTIOUS = 16, 0.7  # how often the way up to the zone is estimated, and how much of it is gone
FARTHEST = 6.0  # times to the singular position within which the other side must come
SMALL = 1e-3  # change, relative to the way of the passage, by which the loops are closed behind it at first
STEADY = 1e-6  # the same between the last two rounds
MEETS = 2e-2  # of the distance at the border: nearer the way must come to the position
GROSS = 1e-4  # error of a passage that is none
POLISH = 1e-6  # of the kinetic energy: what speeds are put right by
EXACT = 1e-12  # the same, below which no further round is made
ITERATIONS, CLOSED = 10, 1e-11  # of Newton's method, and the largest gap that it may leave (rad, units of length)
TIGHT = 1e-13  # tolerance of the motion on both sides

Distance = Callable[[float, np.ndarray], float]  # (t, x) -> what vanishes at a singular position


class Surroundings:
    """The run that meets a singular position: its Plan, its state where it was asked, and a method of high order."""

    def __init__(self, plan: Plan, state: RunState) -> None:
        self.plan, self.state = plan, state
        self.kernels = FlowKernels(plan.flow, plan.settings.parameters)
        self.begin = replace(state.begin(), memory={}, levels=None)
        events = plan.events
        # events that may change the motion are left to the method of the run
        self.acts = events is not None and not events.passive.all()
        flow: Flow = plan.flow
        options: dict[str, Any] = {}
        if events is not None and not self.acts:
            options = {"directions": events.directions, "passive": events.passive}
        elif flow.guards is not None:
            flow = memory_of(flow).get("without_guards", (), lambda: plan.flow.replace(guards=None))
        self.helper = NativeAdaptive(
            flow, "dopri8", plan.signals, TIGHT, TIGHT, parameters=plan.settings.parameters, **options
        )

    def at(self, t: float, x: np.ndarray) -> Start:
        """A stretch from here, with the signals as they are held."""
        return replace(self.begin, t=t, x=x)

    def rates(self, t: Any, x: np.ndarray) -> np.ndarray:
        """(..., nx) at states (..., nx) and times (...,)."""
        return self.helper.rates(self.begin, t, x)


@dataclass(frozen=True, eq=False)
class Gap:
    """What is bridged by polynomials: from the state x at t to x_end at `end`.

    behind   instant and state from which rates behind the position were taken: the end, unless the run ends inside
    ahead    s, from t to the position on a straight line: nodes reach a multiple of it to both sides
    nearest  instant and state of the singular position
    """

    t: float
    x: np.ndarray
    ahead: float
    behind: tuple[float, np.ndarray]
    end: float
    x_end: np.ndarray
    nearest: tuple[float, np.ndarray]


@dataclass(frozen=True, eq=False)
class Passage:
    """From where it was asked for near to the zone (`near`), through it, and far enough from it (`far`).

    t, x, rates  samples inside
    instant  of the singular position
    error    of x_end, as the last rounds tell, relative to the way of the passage; or, where it is more, of the energy
             beside the kinetic one
    recorded  crossings inside of the guards of events that only record
    begin    instant and state where it was asked for; gap: what of it no steps lead through
    """

    # of the smallest singular value where the mechanism is regular; smaller ones where rates change faster
    zones: ClassVar[tuple[float, ...]] = (3e-2, 1.5e-2, 7e-3)

    near: Leg
    far: Leg
    t: np.ndarray
    x: np.ndarray
    rates: np.ndarray
    instant: float
    error: float
    begin: tuple[float, np.ndarray]
    gap: Gap
    recorded: tuple[Crossing, ...] = ()

    @property
    def end(self) -> float:
        return self.far.t_end

    @property
    def x_end(self) -> np.ndarray:
        return self.far.x_end


def pass_by_inertia(
    plan: Plan,
    state: RunState,
    conditioning: Conditioning,
    regular: float,
    start: float,
    x_start: np.ndarray,
    wanted: np.ndarray,
    balance: EnergyBalance | None = None,
) -> Passage | None:
    """A way through the singular position that lies ahead of (start, x_start); None if there is none.

    balance: of a mechanism that nothing drives: its energy judges the passage.
    """
    around = Surroundings(plan, state)
    best: Passage | None = None
    for zone in Passage.zones:
        found = _tried(around, conditioning, zone * regular, start, x_start, wanted, balance)
        if found is not None and (best is None or found.error < best.error):
            best = found
        if best is not None and best.error < max(around.plan.settings.rtol, EXACT):
            break
    return best


def _tried(
    around: Surroundings,
    conditioning: Conditioning,
    zone: float,
    start: float,
    x_start: np.ndarray,
    wanted: np.ndarray,
    balance: EnergyBalance | None,
) -> Passage | None:
    """The passage through a zone of one size."""
    at = around.plan.flow.slices["q"]

    def distance(s: float, state: np.ndarray) -> float:
        return conditioning.of_mechanism(conditioning.jacobian(state[at], s))

    near = _approach(around, distance, zone, start, x_start, wanted)
    if near is None:
        return None
    t0, x0 = near.t_end, near.x_end
    ahead = _time_left(distance, around, t0, x0)
    sides = _Sides(around, t0, x0, ahead) if 0 < ahead < np.inf else None
    if sides is None or not sides.extrapolate():
        return None
    length, least = 2 * ahead, distance(t0, x0)
    while distance(t0 + length, sides.state(t0 + length)) < 0.9 * least:
        length += 0.25 * ahead
        if length > FARTHEST * ahead:
            return None
    end = _on_grid(around, t0 + length)
    error = _settled(conditioning, around, sides, end)
    nearest, instant = _nearest(distance, sides, t0, end)
    if error > STEADY or nearest > MEETS * least:
        return None
    after = sides.x_end
    if balance is not None:
        after, lost = _balanced(around, sides, balance, end)
        error = max(error, lost)
        if error > GROSS:
            return None
    if end > around.state.end:  # the run ends inside
        end, after = around.state.end, sides.state(around.state.end)
    times = wanted[(wanted > t0) & (wanted <= end)]
    values, rates = (np.array([f(s) for s in times]).reshape(len(times), len(x0)) for f in (sides.state, sides.rate))
    if len(times) and times[-1] == end:
        values[-1] = after
    recorded = _recorded(around, sides.state, t0, end)
    far = _leave(around, end, after, REACH * ahead, wanted)
    gap = Gap(t0, x0, ahead, (sides.end, sides.x_end), end, after, (instant, sides.state(instant)))
    return Passage(near, far, times, values, rates, instant, error, (start, x_start), gap, recorded)


def _recorded(around: Surroundings, state: Path, start: float, end: float) -> tuple[Crossing, ...]:
    """Crossings of the guards of events that only record, along the polynomials."""
    events = around.plan.events
    if events is None or not events.passive.any():
        return ()
    directions = events.directions

    def guards(t: float, x: np.ndarray) -> np.ndarray:
        return around.kernels.guards(t, x, around.plan.signals.at(t, around.begin.u))

    times = np.linspace(start, end, NODES).tolist()
    values = [guards(s, state(s)) for s in times]
    found: list[Crossing] = []
    for t0, t1, before, after in zip(times, times[1:], values, values[1:]):
        which = np.flatnonzero(crossed(before, after, directions) * events.passive)
        found += locate_each(state, guards, t0, t1, before, after, which.tolist())
    return tuple(replace(crossing, sure=True) for crossing in found)


def _balanced(around: Surroundings, sides: _Sides, balance: EnergyBalance, end: float) -> tuple[np.ndarray, float]:
    """The state behind the position with the energy that it must have, and what was missing beside the kinetic one.

    The last roundings are put right by the speed, whose direction the loops determine.
    """
    flow = around.plan.flow
    times, states = np.array([sides.t0, end]), np.array([sides.x0, sides.x_end])
    kinetic, potential, _ = balance.of(flow, times, states)
    right = float(kinetic[0] + potential[0] - potential[1]) + balance.work(flow, sides.t0, end, sides.state)
    lost = abs(float(kinetic[1]) - right) / max(float(kinetic[0]), 1e-300)
    after = sides.x_end.copy()
    if lost < POLISH and right > 0:
        after[flow.slices["qd"]] *= np.sqrt(right / float(kinetic[1]))
    return after, lost


def node_times(t: float, ahead: float, way: int) -> np.ndarray:
    """(k,) instants of rates from t on (way 1), or back from it (-1)."""
    places = (1 - np.cos(np.linspace(0, np.pi, NODES))) / 2
    return np.asarray(t + way * REACH * ahead * places)


def weights(gap: Gap, end: float) -> np.ndarray:
    """(2 k,) weights of the rates at the nodes before and behind, whose sum leads from gap.x to the state at `end`."""
    t = np.concatenate([node_times(gap.t, gap.ahead, -1), node_times(gap.behind[0], gap.ahead, 1)])
    low, high = float(t.min()), float(t.max())
    middle, half = (low + high) / 2, (high - low) / 2
    slopes = chebyshev.chebfit((t - middle) / half, np.eye(len(t)), BOTH_SIDES)
    states = chebyshev.chebint(slopes, lbnd=(gap.t - middle) / half) * half
    return np.asarray(chebyshev.chebval((end - middle) / half, states))


class _Sides:
    """Rates before and behind the position, and the polynomials of time through them."""

    def __init__(self, around: Surroundings, t: float, x: np.ndarray, ahead: float) -> None:
        self.around, self.helper = around, around.helper
        self.t0, self.x0, self.ahead = t, x, ahead
        self.end, self.x_end = t, x
        self.before: tuple[np.ndarray, np.ndarray] | None = None
        self.scale = (t, 1.0)  # middle and half length of the polynomials
        self.slopes: np.ndarray = np.zeros((1, len(x)))
        self.states: np.ndarray = self.slopes

    def extrapolate(self) -> bool:
        """Polynomials from the rates before alone."""
        self.before = self._rates(self.t0, self.x0, -1)
        if self.before is None:
            return False
        self._fit(*self.before, ONE_SIDE)
        return True

    def interpolate(self, end: float, x_end: np.ndarray) -> bool:
        """Polynomials from the rates before t0 and from (end, x_end) on."""
        behind = self._rates(end, x_end, 1)
        if self.before is None or behind is None:
            return False
        t, rates = (np.concatenate(pair) for pair in zip(self.before, behind, strict=True))
        self._fit(t, rates, BOTH_SIDES)
        return True

    def _fit(self, t: np.ndarray, rates: np.ndarray, degree: int) -> None:
        low, high = float(t.min()), float(t.max())
        self.scale = ((low + high) / 2, (high - low) / 2)
        middle, half = self.scale
        self.slopes = chebyshev.chebfit((t - middle) / half, rates, degree)
        self.states = chebyshev.chebint(self.slopes, lbnd=(self.t0 - middle) / half) * half

    def rate(self, t: float) -> np.ndarray:
        """(nx,) at an instant."""
        return np.asarray(chebyshev.chebval((t - self.scale[0]) / self.scale[1], self.slopes))

    def state(self, t: float) -> np.ndarray:
        """(nx,) at an instant, from x0 at t0 on."""
        return np.asarray(self.x0 + chebyshev.chebval((t - self.scale[0]) / self.scale[1], self.states))

    def _rates(self, t: float, x: np.ndarray, way: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Instants and rates of the motion from (t, x) on (way 1) or back (-1); None where it does not go far."""
        helper = self.helper
        times = node_times(t, self.ahead, way)
        here = self.around.at(t, x)
        signals = helper.table(here, min(times), max(times), np.sort(times))
        run = helper.march.adaptive(
            "dopri8", x, t, times[-1], times[1:], rtol=TIGHT, atol=TIGHT, signals=signals, max_steps=2000,
            **helper.options(here),
        )  # fmt: skip
        if int(run.status) != 0:
            return None
        states = np.concatenate([x[None], helper.project(here, times[1:], np.asarray(run.x))])
        rates = self.around.rates(times, states)
        return (times, rates) if np.isfinite(rates).all() else None


def _settled(conditioning: Conditioning, around: Surroundings, sides: _Sides, end: float) -> float:
    """Closed states behind the position, again and again; how much the last one differs from the one before."""
    flow = around.plan.flow
    at, at_qd = flow.slices["q"], flow.slices["qd"]
    way = float(np.abs(sides.x0[at_qd]).max()) * (end - sides.t0)
    speed = float(np.abs(sides.x0[at_qd]).max())
    size = np.full(len(sides.x0), np.inf)
    size[at], size[at_qd] = way, speed
    error, old = np.inf, sides.state(end)
    for k in range(ROUNDS):
        after = _closed(conditioning, around, end, sides.state(end))
        if after is None or (k == 0 and np.abs((after - old) / size).max() > SMALL):
            return np.inf
        now = float(np.abs((after - old) / size).max())
        if k > 2 and now >= 0.5 * error:
            break  # roundings
        error, old = now, after
        sides.end, sides.x_end = end, after
        if error < EXACT:
            break
        if not sides.interpolate(end, after):
            return np.inf
    return error


def _nearest(distance: Distance, sides: _Sides, start: float, end: float) -> tuple[float, float]:
    """(distance, instant) where the way comes nearest to the singular position."""
    low, high = start, end
    best = (np.inf, start)
    for _ in range(5):
        times = np.linspace(low, high, 9)
        found = [distance(float(s), sides.state(float(s))) for s in times]
        k = int(np.argmin(found))
        best = min(best, (found[k], float(times[k])))
        low, high = times[max(k - 1, 0)], times[min(k + 1, 8)]
    return best


def _approach(
    around: Surroundings, distance: Distance, zone: float, t: float, x: np.ndarray, wanted: np.ndarray
) -> Leg | None:
    """From (t, x) up to the border of the zone, as far as it gets.

    Errors grow there too: the tolerances are tight, unless events are to be found on the way by the method of the run.
    """
    stepper: Stepper = around.plan.stepper if around.acts else around.helper
    memory: Memory = around.state.memory if around.acts else {}
    near = Leg(np.zeros(0), np.zeros((0, len(x))), t, x)
    left, ahead = distance(t, x), _time_left(distance, around, t, x)
    share = CAUTIOUS  # of the time that seems to be left: the distance does not vanish in a straight line
    for _ in range(APPROACH):
        if left < 2 * zone:
            break
        if not 0 < ahead < np.inf:
            return None
        goal = near.t_end + ahead * min(1 - 1.5 * zone / left, share)
        times = wanted[(wanted > near.t_end) & (wanted <= goal)]
        here = replace(around.at(near.t_end, near.x_end), memory=memory)
        leg, memory = stepper.advance(here, goal, times)
        if leg.events:
            return None
        nearer = distance(leg.t_end, leg.x_end), _time_left(distance, around, leg.t_end, leg.x_end)
        if not leg.outcome.ok or not nearer[1] < np.inf:
            share /= 2  # too far
            continue
        near, (left, ahead), share = together([near, leg]), nearer, CAUTIOUS
    return near


def _leave(around: Surroundings, t: float, x: np.ndarray, span: float, wanted: np.ndarray) -> Leg:
    """From (t, x) away from the zone in the same way, where nothing is to happen."""
    nothing = Leg(np.zeros(0), np.zeros((0, len(x))), t, x)
    end = min(_on_grid(around, t + span), around.state.end)
    if around.acts or end <= t or around.plan.signals.stop(around.state.held, t) < end:
        return nothing
    leg, _ = around.helper.advance(around.at(t, x), end, wanted[(wanted > t) & (wanted <= end)])
    return leg if leg.outcome.ok and leg.t_end == end else nothing


def _time_left(distance: Distance, around: Surroundings, t: float, x: np.ndarray) -> float:
    """Seconds until the distance vanishes, on a straight line; inf if it grows."""
    flow = around.plan.flow
    at, at_qd = flow.slices["q"], flow.slices["qd"]
    small = 1e-6 / max(float(np.abs(x[at_qd]).max()), 1e-9)
    rates = x[at_qd]
    if at.stop - at.start != at_qd.stop - at_qd.start:
        rates = around.rates(np.asarray(t), x)[at]
    later = x.copy()
    later[at] = x[at] + small * rates
    now, then = distance(t, x), distance(t + small, later)
    return now * small / (now - then) if then < now else np.inf


def _on_grid(around: Surroundings, t: float) -> float:
    """The next instant of a step that is not before t."""
    step, start = around.plan.settings.step, around.plan.settings.start
    return t if step is None else start + step * float(np.ceil((t - start) / step - 1e-9))


def _closed(conditioning: Conditioning, around: Surroundings, t: float, x: np.ndarray) -> np.ndarray | None:
    """x with closed coordinates and velocities, changed as little as possible; None where the loops do not close."""
    flow = around.plan.flow
    at, at_qd = flow.slices["q"], flow.slices["qd"]
    numeric, free = conditioning.numeric(t), conditioning.free
    mechanism = numeric.tree.mechanism
    q = checked(mechanism, x[at])
    gap = np.inf
    # near the position a gap of h moves joints by much more: closed as well as doubles allow
    for _ in range(ITERATIONS):
        h = numeric.h(q)
        left = numeric.gap(h)
        if not left < gap:
            break
        best, gap = q, left
        step = np.zeros(len(x[at_qd]))
        step[free] = np.linalg.lstsq(numeric.J(q)[:, free], -h, rcond=1e-8)[0]
        q = retract(mechanism, q, step)
    if not gap < CLOSED:
        return None
    out = x.copy()
    out[at] = best
    J, ht = numeric.J(best), numeric.ht(best)
    velocities = out[at_qd].copy()
    velocities[free] += np.linalg.lstsq(J[:, free], -(J @ velocities + ht), rcond=1e-8)[0]
    out[at_qd] = velocities
    return out
