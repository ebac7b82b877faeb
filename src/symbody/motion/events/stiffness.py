"""Stiffness: an explicit method of an automatic run gives way where stability, not accuracy, limits its steps."""

from __future__ import annotations

import numpy as np

from symbody.motion.events.plan import Change, Plan, Quiet
from symbody.motion.events.state import RunState
from symbody.motion.flow.flow_kernels import FlowKernels
from symbody.motion.methods.methods import METHODS
from symbody.motion.methods.stepper import Leg

BOUNDARY = 2.5  # h |lambda| near the edge of the stability regions of dopri5 (3.3) and dopri8 (6.1)
FEW = 500  # steps before the question is asked
MANY_LEFT = 2000  # steps that must be left for a change to pay
LARGEST = 200  # states beyond which the eigenvalues are not worth their cost


class Stiffness(Quiet):
    """The hook of automatic runs."""

    name = "stiffness"

    def after(self, plan: Plan, state: RunState, leg: Leg) -> Change | None:
        old = plan.settings.method
        if METHODS[old].steps == "chosen" or state.t >= state.end or not is_stiff(plan, state):
            return None
        # radau is dearer where samples are dense, as it interpolates by a cubic; but it is projected at each step
        new = "lsoda" if plan.flow.project is None else "radau"
        note = f"stiff from t = {state.t:g} s on: {old} gave way to {new}."
        return Change(method=new, memory={}, notes=(note,))


def is_stiff(plan: Plan, state: RunState) -> bool:
    """By the spectrum of the Jacobian: strongly damped modes for which the mean step is already too long.

    Accuracy keeps h |lambda| of modes that matter well below 1 at usual tolerances (Hairer and Wanner II, IV.2).
    """
    steps, t, start = state.counts.get("steps", 0), state.t, plan.settings.start
    if steps < FEW or not state.single or len(state.x) > LARGEST or t <= start:
        return False
    h = (t - start) / steps
    if (state.end - t) / h < MANY_LEFT:
        return False
    damped = -np.linalg.eigvals(_jacobian(plan, state)).real
    return bool(h * np.max(damped, initial=0.0) > BOUNDARY)


def _jacobian(plan: Plan, state: RunState) -> np.ndarray:
    """(nx, nx) by central differences, all columns in one native call."""
    x = state.x
    size = 1e-6 * np.maximum(1.0, np.abs(x))
    shifts = np.diag(size)
    states = np.concatenate([x + shifts, x - shifts])
    kernels = FlowKernels(plan.flow, plan.settings.parameters, plan.settings.threads)
    times = np.full(len(states), state.t)
    rates = kernels.rates(times, states, plan.signals.at_times(times, state.held.values))
    n = len(x)
    slopes = (rates[:n] - rates[n:]) / (2 * size[:, None])
    return np.nan_to_num(np.asarray(slopes.T))
