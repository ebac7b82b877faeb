"""Derivatives across an event: its instant moves so that its guard stays zero, and its reset is differentiated.

With x- before, x+ = R(t, x-, u, theta) after, g the guard, f the rate at which x- moves with the instant:

    dt = -(g_x dx + g_theta) / (g_t + g_x f)        dx+ = R_x (dx + f dt) + R_t dt + R_theta

which is the saltation matrix of the event, for the steps as they were taken. Where the guard hardly moves (grazing), or
two events happen at one instant, there is no derivative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, ModelError
from symbody.basics.memory import memory_of
from symbody.motion.derivatives.closing import closed_by_impact, closes
from symbody.motion.derivatives.machine import DerivativeRows, by_theta, called, chain_of, rows_of
from symbody.motion.derivatives.odd_step import RETRACED
from symbody.motion.derivatives.pullbacks import Pullback, pulled
from symbody.motion.derivatives.supply import Supply
from symbody.motion.derivatives.tape import Jump, Steps, Tape
from symbody.motion.events.plan import Plan
from symbody.motion.flow.event_rules import PreparedEvents, Reset
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.flow_kernels import FlowKernels
from symbody.motion.flow.vector_field import VectorField
from symbody.motion.methods.step_grid import hermite
from symbody.motion.trajectory.trajectory import EventRecord

GRAZING = 1e-8  # changes of a state, beside its size, that would undo a crossing which counts as grazing
ROUNDING = 1e-12  # the same, of a guard that stands at zero
CARRIED = "carried over zero"  # how the text of such an event begins
RESTS = "it rests"


@dataclass(frozen=True, eq=False)
class JumpDerivative:
    """x+ = R(x-, theta, t): A (nx, nx), B (nx, n), t (nx,); and of the guard whose zero is the instant, or None.

    bend, scale: second derivative of the guard along the motion, and how it changes with the size of the state
    """

    instant: float
    name: str
    A: np.ndarray
    B: np.ndarray
    t: np.ndarray
    guard_x: np.ndarray | None = None
    guard_theta: np.ndarray | None = None
    guard_t: float = 0.0
    bend: float = 0.0
    scale: float = 0.0

    def check(self, rate: float, speed: np.ndarray) -> None:
        """Refuse a crossing at which the guard hardly moves: rate, along the motion with this speed (nx,)."""
        assert self.guard_x is not None
        terms = float(np.abs(self.guard_x) @ np.abs(speed)) + abs(self.guard_t)
        flat = abs(rate) <= 1e-9 * terms or rate == 0.0
        if flat or rate * rate <= 2 * abs(self.bend) * GRAZING * self.scale:
            raise ModelError(
                f"event {self.name!r} at t = {self.instant:.9g} s is grazing: its guard crosses zero at the rate "
                f"{rate:.3g}, so slowly that the motion beside it has no such event. There is no derivative there."
            )


def jump_derivative(
    plan: Plan,
    jump: Jump,
    supply: Supply,
    parameters: Mapping[str, Any],
    places: Mapping[tuple[str, int], int],
    n: int,
    leads: bool,
    closing: Flow,
) -> JumpDerivative:
    """Derivative of a jump on the tape. leads: whether a step ends at it, so that its instant may move; closing: the
    Flow whose projection closes loops, as a formula."""
    events, t = plan.events, jump.t
    if events is None and jump.flow.impact is None:
        raise DefinitionError(f"the states jump at t = {jump.t:.9g} s without an event, which is not differentiated.")
    flow = jump.flow if events is None else events.flow
    index = {} if events is None else {rule.name: k for k, rule in enumerate(events.events)}
    acting = [e for e in jump.events if events is not None and e.name in index and events.events[index[e.name]].acts]
    own = [e for e in acting if not e.text.startswith(CARRIED)]
    if len(own) > 1:
        told = ", ".join(repr(e.name) for e in own)
        raise ModelError(
            f"the events {told} happen at the same instant, t = {t:.9g} s. Beside it one comes first, and which one "
            "depends on the direction: there is no derivative there."
        )
    state = _Composed(flow, supply, parameters, places, n, t, jump.u, np.array(jump.before))
    carried = [e for e in acting if e not in own]
    _happened(state, events, index, own)
    names = [e.name for e in jump.events]
    if closes(closing, names, not np.array_equal(state.x, jump.before), state.x, state.u):
        state.close(closing)
    _happened(state, events, index, carried)
    gap = np.abs(state.x - jump.after)
    if not (gap <= RETRACED * (1 + np.abs(jump.after).max(initial=0.0))).all():
        raise DefinitionError(
            f"what happens at t = {t:.9g} s ({', '.join(e.name for e in acting) or 'a jump'}) is not what its events "
            "say alone, and is not differentiated."
        )
    if not own or not leads:
        name = acting[0].name if acting else ""
        return JumpDerivative(t, name, state.A, state.B, state.dt)
    assert events is not None
    k = index[own[0].name]
    return _guarded(events, k, state, np.array(jump.before), own[0].name, parameters)


def _happened(
    state: _Composed, events: PreparedEvents | None, index: Mapping[str, int], which: Sequence[EventRecord]
) -> None:
    """Resets of events, one after the other."""
    for event in which:
        assert events is not None
        rule = events.events[index[event.name]]
        for rest in (False, True):
            wanted = RESTS in event.text and rule.rest is not None if rest else bool(rule.reset)
            if wanted:
                state.reset(events, index[event.name], rest)


def _guarded(
    events: PreparedEvents, k: int, state: _Composed, x: np.ndarray, name: str, parameters: Mapping[str, Any]
) -> JumpDerivative:
    flow, t = events.flow, state.t
    guards = flow.guards
    assert guards is not None
    node = guards.output("guard").flat[k]
    pull = memory_of(guards).get("pullback", (k,), lambda: pulled(flow, guards, [node], f"pullback{k + 1}"))
    rows = state.rows(pull, x, 1)
    slope = state.supply.slope(t, state.before)
    theta = rows.p[0] + rows.u[0] @ state.supply.by_theta(t, state.begin)
    time = float(rows.t[0] + rows.u[0] @ slope)
    kernels = FlowKernels(flow, parameters)

    def moving(s: float, y: np.ndarray) -> tuple[float, np.ndarray]:
        f = kernels.rates(np.asarray(s), y, state.supply.at(s, u_held))
        found = rows_of(pull, flow, parameters, state.chain(pull), s, y, state.supply.at(s, u_held), 1)
        return float(found.x[0] @ f + found.t[0]), f

    u_held = state.held
    rate, f = moving(t, x)
    ahead = 1e-6 / max(1.0, float(np.max(np.abs(f) / np.maximum(np.abs(x), 1.0), initial=0.0)))
    # backwards, where the motion is that before the event
    bend = (rate - moving(t - ahead, x - ahead * f)[0]) / ahead
    scale = float(np.abs(rows.x[0]) @ np.maximum(np.abs(x), 1e-3))
    return JumpDerivative(t, name, state.A, state.B, state.dt, rows.x[0], theta, time, bend, scale)


def check_touching(tape: Tape, supply: Supply, parameters: Mapping[str, Any]) -> None:
    """Refuse runs in which the guard of an event that acts turns back at zero inside of a step: beside them it crosses.

    Between steps the guard is the cubic of its values and rates.
    """
    events = tape.plan.events
    if events is None or events.flow.guards is None or not any(rule.acts for rule in events.events):
        return
    flow, guards = events.flow, events.flow.guards
    acting = [k for k, rule in enumerate(events.events) if rule.acts]
    nodes = list(guards.output("guard").flat)
    pull = memory_of(guards).get("pullback", ("all",), lambda: pulled(flow, guards, nodes, "pullback"))
    kernels = FlowKernels(flow, parameters)
    for piece in tape.pieces:
        if not isinstance(piece, Steps) or piece.every > 1 or piece.x.ndim != 2:
            continue
        x, t = piece.x, piece.t + np.arange(len(piece.x)) * piece.h
        u = np.array([supply.at(float(s), piece.u) for s in t]) if supply.signals.moving else piece.u[None]
        u = np.broadcast_to(u, (len(t), supply.signals.size))
        rates = kernels.rates(t, x, u)
        values = np.broadcast_to(kernels.call("guards", t, x, u)["guard"], (len(t), len(nodes)))
        for k in acting:
            w = np.zeros((len(t), len(nodes)))
            w[:, k] = 1.0
            parts = called(pull, flow, parameters, t, x, u, w)
            slopes = np.einsum("ij,ij->i", parts["gx"], rates) + (parts["gt"][:, 0] if "gt" in parts else 0.0)
            scale = np.einsum("ij,ij->i", np.abs(parts["gx"]), np.maximum(np.abs(x), 1e-3))
            _refuse_touching(events.events[k].name, events.directions[k], t, piece.h, values[:, k], slopes, scale)


def _refuse_touching(
    name: str, direction: int, t: np.ndarray, h: float, g: np.ndarray, slope: np.ndarray, scale: np.ndarray
) -> None:
    side = np.sign(g)
    turns = (side[:-1] != 0) & (side[:-1] == side[1:]) & (side[:-1] * slope[:-1] < 0) & (side[1:] * slope[1:] > 0)
    turns &= np.abs(g[:-1]) > ROUNDING * scale[:-1]  # a guard that has just acted begins at zero
    if direction:
        turns &= side[:-1] == -direction
    for i in np.flatnonzero(turns):
        # where the cubic of values and rates turns back
        chord, first, last = g[i + 1] - g[i], h * slope[i], h * slope[i + 1]
        found = np.roots([3 * (first + last - 2 * chord), 2 * (3 * chord - 2 * first - last), first])
        s = found.real[(np.abs(found.imag) == 0) & (found.real > 0) & (found.real < 1)]
        near = side[i] * hermite(s, h, g[i], g[i + 1], slope[i], slope[i + 1])
        if near.min(initial=np.inf) <= GRAZING * scale[i]:
            raise ModelError(
                f"event {name!r} is grazing at t = {t[i] + s[near.argmin()] * h:.9g} s: its guard turns back at zero, "
                "and crosses it in motions beside this one. There is no derivative there."
            )


class _Composed:
    """Resets one after the other, with their derivatives."""

    def __init__(
        self,
        flow: Flow,
        supply: Supply,
        parameters: Mapping[str, Any],
        places: Mapping[tuple[str, int], int],
        n: int,
        t: float,
        held: np.ndarray,
        x: np.ndarray,
    ) -> None:
        self.flow, self.supply, self.parameters, self.places, self.n = flow, supply, parameters, places, n
        self.t, self.held, self.x = t, held, x
        self.u = supply.at(t, held)
        self.begin = self.before = t - 1e-9  # what is held, and moves, on the side before
        nx = flow.nx
        self.A, self.B, self.dt = np.eye(nx), np.zeros((nx, n)), np.zeros(nx)

    def chain(self, pull: Pullback) -> np.ndarray:
        return by_theta(chain_of(pull, self.parameters), pull.names, self.places, self.n)

    def rows(self, pull: Pullback, x: np.ndarray, size: int) -> DerivativeRows:
        return rows_of(pull, self.flow, self.parameters, self.chain(pull), self.t, x, self.u, size)

    def reset(self, events: PreparedEvents, k: int, rest: bool) -> None:
        found: Reset | None = events.reset(k, rest)
        assert found is not None
        name = events.events[k].name
        if found.functions:
            raise DefinitionError(
                f"event {name!r} at t = {self.t:.9g} s resets states by a Python function, which has no derivative. "
                "Write it as an expression."
            )
        system, nodes = found.system, found.nodes
        assert system is not None
        pull = memory_of(system).get("pullback", (), lambda: pulled(self.flow, system, nodes, "pullback"))
        rows = self.rows(pull, self.x, len(nodes))
        nx = self.flow.nx
        A, B, dt = np.eye(nx), np.zeros((nx, self.n)), np.zeros(nx)
        A[found.places] = rows.x
        B[found.places] = rows.p + rows.u @ self.supply.by_theta(self.t, self.begin)
        dt[found.places] = rows.t + rows.u @ self.supply.slope(self.t, self.before)
        self._then(A, B, dt)
        field = VectorField(self.flow, self.parameters, self.u)
        self.x = found.ready(field)(field, self.t, self.x)

    def close(self, flow: Flow) -> None:
        """The impact of loops that are closed from now on."""
        found = closed_by_impact(flow, self.parameters, self.places, self.n, self.t, self.x, self.u)
        rows = found.rows
        direct = rows.p + rows.u @ self.supply.by_theta(self.t, self.begin)
        self._then(rows.x, direct, rows.t + rows.u @ self.supply.slope(self.t, self.before))
        self.x = found.x

    def _then(self, A: np.ndarray, B: np.ndarray, dt: np.ndarray) -> None:
        self.A, self.B, self.dt = A @ self.A, A @ self.B + B, A @ self.dt + dt
