"""One step and all its derivatives: by the state, by theta, by the instant at which it begins, and by its length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError
from symbody.motion.derivatives.collocation import differentiated, solved
from symbody.motion.derivatives.machine import DerivativeRows, Machine, by_theta, called, chain_of, numbers_for, rows_of
from symbody.motion.derivatives.supply import Supply
from symbody.motion.derivatives.tape import Steps
from symbody.motion.flow.flow_kernels import FlowKernels
from symbody.motion.march.job import INSIDE
from symbody.motion.march.march_ports import STEP_LENGTH

SHORTLY = 1e-6  # s, at rates of 1/s: how far before an event rates are looked at
RETRACED = 1e-7  # how far, beside the size of the state, a step that is done again may be off


@dataclass(frozen=True, eq=False)
class StepDerivative:
    """x_new = Phi(x, theta, t, h): A (nx, nx), B (nx, n), t, h (nx,); x_new the state that it gives."""

    A: np.ndarray
    B: np.ndarray
    t: np.ndarray
    h: np.ndarray
    x: np.ndarray


class RunPullbacks:
    """A Machine at the numbers of one run: chains of its pullbacks, brought to theta."""

    def __init__(self, machine: Machine, parameters: Mapping[str, Any], places: Mapping[tuple[str, int], int], n: int):
        self.machine, self.parameters, self.n = machine, parameters, n
        self.chain = by_theta(chain_of(machine.pull, parameters), machine.pull.names, places, n)
        self.chain_projection = None
        if machine.pulled is not None:
            found = chain_of(machine.pulled, parameters)
            self.chain_projection = by_theta(found, machine.pulled.names, places, n)

    def rates(self, t: float, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """(nx,) at one point."""
        machine = self.machine
        assert machine.rates is not None
        flow = machine.flow
        named = flow.layout.named(t, x, u)
        kernel = machine.rates
        known = {p.name for p in kernel.parameters}
        given = {n: v for n, v in self.parameters.items() if n in known} or None
        found, _ = kernel.call_with_status(*(named[p.name] for p in kernel.inputs), parameters=given)
        parts = found if len(kernel.outputs) > 1 else [found]
        by_name = dict(zip([o.name for o in kernel.outputs], parts, strict=True))
        return flow.layout.join([by_name[r] for r in flow.rates.states.values()], ())

    def rows(self, t: float, x: np.ndarray, u: np.ndarray, h: float = 0.0) -> DerivativeRows:
        """Derivatives of the rates, or of the step where it is a map; p by theta."""
        m = self.machine
        return rows_of(m.pull, m.wide, self.parameters, self.chain, t, x, u, m.nx, h)

    def many_rates(self, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """(k, nx) at points: t (k,), x (k, nx), u (k, nu)."""
        m = self.machine
        assert m.rates is not None
        named = m.wide.layout.named(t, x, u)
        given = numbers_for(m.rates, self.parameters)
        found, _ = m.rates.call_with_status(*(named[p.name] for p in m.rates.inputs), parameters=given)
        by_name = dict(
            zip([o.name for o in m.rates.outputs], found if len(m.rates.outputs) > 1 else [found], strict=True)
        )
        shapes = m.wide.layout.states
        parts = [np.broadcast_to(by_name[r], (len(t), *shapes[n])) for n, r in m.wide.rates.states.items()]
        return m.wide.layout.join(parts, (len(t),))

    def many_rows(self, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> list[DerivativeRows]:
        """`rows` at points, in one call."""
        m, k = self.machine, len(t)
        nx = m.nx
        times, states, signals = (np.repeat(a, nx, axis=0) for a in (t, x, u))
        parts = called(m.pull, m.wide, self.parameters, times, states, signals, np.tile(np.eye(nx), (k, 1)))
        shaped = {n: np.asarray(a).reshape(k, nx, -1) for n, a in parts.items()}
        none = np.zeros((k, nx))
        by_t = shaped["gt"][:, :, 0] if "gt" in shaped else none
        by_u = shaped.get("gu", np.zeros((k, nx, u.shape[1])))
        by_p = shaped["gm"] @ self.chain if "gm" in shaped else np.zeros((k, nx, self.n))
        return [DerivativeRows(shaped["gx"][j], by_t[j], none[j], by_u[j], by_p[j]) for j in range(k)]

    def projection(self, t: float, x: np.ndarray, u: np.ndarray) -> DerivativeRows | None:
        """Derivatives of the projection; None where there is none."""
        m = self.machine
        if m.pulled is None:
            return None
        assert self.chain_projection is not None
        return rows_of(m.pulled, m.wide, self.parameters, self.chain_projection, t, x, u, m.nx)

    def values(self, piece: Steps, x: np.ndarray, supply: Supply) -> np.ndarray:
        """(nx,) the state at the end of a piece, from x (nx,) with its integrals."""
        m = self.machine
        if m.collocation is not None:
            return self._collocated(piece, x, supply)
        run = m.march.fixed(
            m.table,
            x,
            piece.t,
            piece.h,
            piece.count,
            piece.count,
            signals=supply.during(piece),
            parameters=self.known(),
        )
        if int(run.status) != 0:
            raise DefinitionError(f"the steps from t = {piece.t:g} s on could not be done again.")
        return np.asarray(run.x_end)

    def _collocated(self, piece: Steps, x: np.ndarray, supply: Supply) -> np.ndarray:
        found = x + solved(self, supply, piece, x, _guess(piece, x)).Z[-1]
        return self.projected(piece.t_end, found, supply.at(piece.t_end, piece.u))

    def projected(self, t: float, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """(nx,) with its integrals, corrected as after a step."""
        m = self.machine
        found = FlowKernels(m.plain, self.parameters).project(np.asarray(t), x[: m.n_states], u)
        return np.concatenate([found, x[m.n_states :]])

    def known(self) -> dict[str, Any] | None:
        """Parameters that the Machine's programs have."""
        have = {p.name for k in self.machine.adjoint.ports.kernels.values() for p in k.parameters}
        return {n: v for n, v in self.parameters.items() if n in have} or None


def step_derivative(numbers: RunPullbacks, supply: Supply, piece: Steps, x: np.ndarray) -> StepDerivative:
    """Derivative of the one step of a piece from x (nx,), with its integrals."""
    m = numbers.machine
    if m.collocation is not None:
        found = StepDerivative(*differentiated(numbers, supply, piece, x, _guess(piece, x)))
    elif m.table is None:
        found = _map(numbers, supply, piece, x)
    else:
        found = _runge_kutta(numbers, supply, piece, x)
    end = piece.t + piece.h
    u = supply.at(end, piece.u)
    rows = numbers.projection(end, found.x, u)
    if rows is None:
        return found
    slope = rows.t + rows.u @ supply.slope(end, piece.t)
    new = numbers.projected(end, found.x, u)
    return StepDerivative(
        rows.x @ found.A,
        rows.x @ found.B + rows.p + rows.u @ supply.by_theta(end, piece.t),
        rows.x @ found.t + slope,
        rows.x @ found.h + slope,
        new,
    )


def speed_before(numbers: RunPullbacks, supply: Supply, piece: Steps, x: np.ndarray, end: np.ndarray) -> np.ndarray:
    """(nx,) rates at the end of a step from x to `end`, as they are before it: extrapolated from shortly before.

    A step that a tolerance chose may end so close to an event at which a law jumps that its last stages stand behind.
    """
    back = numbers.rates(piece.t, x, supply.at(piece.t, piece.u))
    size = SHORTLY / max(1.0, float(np.max(np.abs(back) / np.maximum(np.abs(x), 1.0), initial=0.0)))

    def rates(ahead: float) -> np.ndarray:
        t = piece.t_end - ahead
        return numbers.rates(t, end - ahead * back, supply.at(t, piece.u))

    return 2 * rates(size) - rates(2 * size)


def _guess(piece: Steps, x: np.ndarray) -> np.ndarray:
    """(nx,) the state after a step as it was recorded, with the integrals of x."""
    end = piece.x[-1]
    return np.concatenate([end, x[len(end) :]])


def _runge_kutta(numbers: RunPullbacks, supply: Supply, piece: Steps, x: np.ndarray) -> StepDerivative:
    m = numbers.machine
    table = m.table
    assert table is not None
    nx, n, t, h = m.nx, numbers.n, piece.t, piece.h
    k: list[np.ndarray] = []
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    eye, none = np.eye(nx), np.zeros((nx, n))
    for a, c in zip(table.a, table.c):
        y, dx, dp = x.copy(), eye.copy(), none.copy()
        dt, dh = np.zeros(nx), np.zeros(nx)
        for weight, ki, (kx, kp, kt, kh) in zip(a, k, parts):
            if weight:
                y += h * weight * ki
                dx += h * weight * kx
                dp += h * weight * kp
                dt += h * weight * kt
                dh += h * weight * kh + weight * ki
        s = t + c * h
        inside = s + (INSIDE if c == 0 else -INSIDE) * h
        u = supply.at(s, piece.u)
        rows = numbers.rows(s, y, u)
        slope = rows.t + rows.u @ supply.slope(s, inside)
        k.append(numbers.rates(s, y, u))
        parts.append(
            (
                rows.x @ dx,
                rows.x @ dp + rows.p + rows.u @ supply.by_theta(s, piece.t),
                rows.x @ dt + slope,
                rows.x @ dh + c * slope,
            )
        )
    total = [np.sum([h * b * p[j] for b, p in zip(table.b, parts)], axis=0) for j in range(4)]
    rate = np.sum([b * ki for b, ki in zip(table.b, k)], axis=0)
    return StepDerivative(eye + total[0], total[1], total[2], total[3] + rate, x + h * rate)


def _map(numbers: RunPullbacks, supply: Supply, piece: Steps, x: np.ndarray) -> StepDerivative:
    m = numbers.machine
    s = piece.t + m.node * piece.h
    u = supply.at(s, piece.u)
    rows = numbers.rows(piece.t, x, u, piece.h)
    slope = supply.slope(s, s + INSIDE if m.node == 0 else piece.t)
    moved = rows.u @ slope
    assert m.step_kernel is not None
    kernel, flow = m.step_kernel, m.wide
    named = {**flow.layout.named(piece.t, x, u), STEP_LENGTH: piece.h}
    known = {p.name for p in kernel.parameters}
    given = {n: v for n, v in numbers.parameters.items() if n in known} or None
    made = kernel.call_with_status(*(named[p.name] for p in kernel.inputs), parameters=given)[0]
    by_name = dict(zip([o.name for o in kernel.outputs], made if len(kernel.outputs) > 1 else [made], strict=True))
    new = flow.layout.join([by_name[n] for n in flow.states], ())
    return StepDerivative(
        rows.x, rows.p + rows.u @ supply.by_theta(s, piece.t), rows.t + moved, rows.h + m.node * moved, new
    )
