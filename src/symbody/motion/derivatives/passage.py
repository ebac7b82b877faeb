"""Derivatives across a singular position that a run was led through by its inertia.

The states on both sides are bridged by a polynomial of time through rates before and behind, whose instants are held:

    x_end = C(x + sum_j w_j f(x_j)),    x_j before: the motion back from x; x_j behind: the motion on from x_end

with C, which closes the loops. Linearised, this is a linear equation for dx_end. Where branches of motion meet only as
long as a parameter has its value (a parallelogram whose bars are no longer equal), there is no derivative by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from symbody.basics.errors import DefinitionError, ModelError
from symbody.mechanics.assembly.numeric import numeric_of
from symbody.motion.derivatives.odd_step import RunPullbacks, step_derivative
from symbody.motion.derivatives.supply import Supply
from symbody.motion.derivatives.tape import Bridge, Steps
from symbody.motion.events.singular_passage import TIGHT, node_times, weights

KEPT = 1e-3  # share of the change of the constraints by a parameter that may open the singular position, as roundings


@dataclass(frozen=True, eq=False)
class BridgeDerivative:
    """x_end = Phi(x, theta): A (nx, nx), B (nx, n); x the state at the end, with the integrals from zero on."""

    A: np.ndarray
    B: np.ndarray
    x: np.ndarray


def bridge_derivative(numbers: RunPullbacks, supply: Supply, bridge: Bridge, nz: int) -> BridgeDerivative:
    """numbers: of a method of high order. nz: number of integrals, which are states more."""
    gap, m = bridge.gap, numbers.machine
    nx, own = m.nx, m.n_states
    none = np.zeros(nz)
    x0, (t1, x1) = np.concatenate([gap.x, none]), (gap.behind[0], np.concatenate([gap.behind[1], none]))
    before = _Side(numbers, supply, bridge.u, node_times(gap.t, gap.ahead, -1), x0)
    behind = _Side(numbers, supply, bridge.u, node_times(t1, gap.ahead, 1), x1)
    count = len(before.rates)

    def moved(end: float) -> tuple[np.ndarray, ...]:
        """Derivatives of the polynomial at an instant by x, by x behind, and by theta; and its value."""
        w = weights(gap, end)
        wb, wa = w[:count], w[count:]
        by_x = np.eye(nx) + np.tensordot(wb, before.x, 1)
        by_end = np.tensordot(wa, behind.x, 1)
        theta = np.tensordot(wb, before.theta, 1) + np.tensordot(wa, behind.theta, 1)
        return by_x, by_end, theta, x0 + wb @ before.rates + wa @ behind.rates

    by_x, by_end, theta, value = moved(t1)
    rows = numbers.projection(t1, x1, supply.at(t1, bridge.u))
    assert rows is not None
    direct = rows.p + rows.u @ supply.by_theta(t1, gap.t)
    right = np.concatenate([rows.x @ by_x, rows.x @ theta + direct], axis=1)
    found = np.linalg.solve(np.eye(nx) - rows.x @ by_end, right)
    A, B = found[:, :nx], found[:, nx:]
    if gap.end != t1:  # the run ends inside
        by_x, by_end, theta, value = moved(gap.end)
        A, B = by_x + by_end @ A, theta + by_end @ B
    return BridgeDerivative(A, B, np.concatenate([gap.x_end, value[own:]]))


class _Side:
    """Rates (k, nx) at instants, and their derivatives by the state at the first (k, nx, nx), by theta (k, nx, n)."""

    def __init__(self, numbers: RunPullbacks, supply: Supply, u: np.ndarray, times: np.ndarray, x: np.ndarray) -> None:
        rates, by_x, by_theta = [], [], []
        A, B = np.eye(len(x)), np.zeros((len(x), numbers.n))
        begin = float(min(times))
        for k, t in enumerate(times.tolist()):
            if k:
                x, A, B = _onwards(numbers, supply, u, float(times[k - 1]), t, x, A, B)
            held = supply.at(t, u)
            rows = numbers.rows(t, x, held)
            rates.append(numbers.rates(t, x, held))
            by_x.append(rows.x @ A)
            by_theta.append(rows.x @ B + rows.p + rows.u @ supply.by_theta(t, begin))
        self.rates, self.x, self.theta = np.array(rates), np.array(by_x), np.array(by_theta)


def _onwards(
    numbers: RunPullbacks,
    supply: Supply,
    u: np.ndarray,
    t: float,
    end: float,
    x: np.ndarray,
    A: np.ndarray,
    B: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The state at `end`, which may lie before t, and its derivatives."""
    m = numbers.machine
    span = Steps(m.flow, min(t, end), abs(end - t), 1, x[None], u)
    run = m.march.adaptive(
        "dopri8", x, t, end, None, rtol=TIGHT, atol=TIGHT, signals=supply.during(span), parameters=numbers.known()
    )
    if int(run.status) != 0:
        raise DefinitionError(f"the motion beside the singular position at t = {t:g} s cannot be followed again.")
    for a, b in pairwise([t, *np.asarray(run.t).tolist()]):
        step = step_derivative(numbers, supply, Steps(m.flow, a, b - a, 1, x[None], u), x)
        x, A, B = step.x, step.A @ A, step.A @ B + step.B
    return x, A, B


def check_meeting(bridge: Bridge, places: Mapping[tuple[str, int], int]) -> None:
    """Refuse derivatives by parameters that would take the singular position away.

    There a combination w of the constraints does not change with the joints, w^T J = 0. If w^T h changes with a
    parameter, beside its value branches do not meet: the motion turns off, or comes to an end.
    """
    conditioning, (t, x) = bridge.conditioning, bridge.gap.nearest
    q = x[bridge.flow.slices["q"]]
    scale = conditioning.scales(q, t)[0]
    left = np.linalg.svd(conditioning.jacobian(q, t))[0][:, conditioning.rank - 1]
    base = numeric_of(conditioning.constraints, conditioning.parameters, t)
    values = {s.data.name: float(v) for s, v in base.values.items() if s.data.role != "time"}
    for name in dict.fromkeys(name for name, _ in places if name in values):
        value = values[name]
        size = 1e-6 * max(abs(value), 1e-3)
        h = [
            numeric_of(conditioning.constraints, {**conditioning.parameters, name: value + s * size}, t).h(q) / scale
            for s in (1, -1)
        ]
        change = (h[0] - h[1]) / (2 * size)
        if abs(left @ change) > KEPT * np.linalg.norm(change):
            raise ModelError(
                f"at t = {t:.9g} s the run passes a singular position of {bridge.flow.name} that there is for this "
                f"value of {name!r} alone: beside it branches of motion do not meet. There is no derivative by "
                f"{name!r}."
            )
