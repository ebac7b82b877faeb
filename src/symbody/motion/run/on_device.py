"""Runs on a device: what `simulate` may be asked for there, and reductions of a batch without recording."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, Named, word_argument, wrong_argument
from symbody.codegen.cuda.cuda_language import PRECISIONS
from symbody.motion.events.plan import Plan
from symbody.motion.events.state import RunState
from symbody.motion.methods.device_stepper import OnDevice
from symbody.motion.methods.native_stepper import OUTCOMES
from symbody.motion.run.loop import limit_of
from symbody.motion.run.side_by_side import SideBySide
from symbody.motion.trajectory.outcome import Outcome, worst
from symbody.motion.trajectory.trajectory import Trajectory

TOO_MANY = next(status for status, outcome in OUTCOMES.items() if outcome is Outcome.TOO_MANY_STEPS)
KINDS = ("mean", "min", "max", "final")  # the first three as they stand in the arrays of a march


def read_device(device: Any, precision: Any, reduce: Any) -> str | None:
    """None for the processor, else "cuda" or "cuda:1"; precision and reductions belong to a device."""
    if device in (None, "cpu"):
        for name, value, usual in (("precision", precision, "double"), ("reduce", tuple(reduce), ())):
            if value != usual:
                raise DefinitionError(
                    Named(name, repr(value)), " belongs to a run on a device; give ", Named("device", "'cuda'"), "."
                )
        return None
    if not isinstance(device, str) or not re.fullmatch(r"cuda(:\d+)?", device):
        raise wrong_argument("device", device, "'cuda', 'cuda:1' and so on, or None for the processor")
    word_argument("precision", precision, PRECISIONS)
    for kind in (reduce,) if isinstance(reduce, str) else reduce:
        word_argument("reduce", kind, KINDS)
    if isinstance(reduce, str):
        raise wrong_argument("reduce", reduce, "a sequence of mean, min, max, final")
    return device


def reduced(made: tuple[Plan, RunState] | SideBySide, kinds: tuple[str, ...]) -> Trajectory:
    """The states at the end, and mean, least and largest of each over all steps, as a Trajectory of one instant.

    Final states are those of the Trajectory, always there. The others are named `mean.q`, `min.qd` and so on; what was
    recorded on every step would give the same.
    """
    assert not isinstance(made, SideBySide)
    plan, state = made
    stepper, flow = plan.stepper, plan.flow
    assert isinstance(stepper, OnDevice)
    if plan.settings.step is None:
        raise DefinitionError("reductions count steps of fixed length; give ", Named("step", "..."), " in seconds.")
    end = min(state.end, limit_of(plan.settings, state))
    run = stepper.reduced(state.begin(), end)
    status = np.where((run["status"] == 0) & (end < state.end), TOO_MANY, run["status"])
    there = np.isin(status, (0, TOO_MANY))[:, None]
    x = np.where(there, run["x_end"], np.nan)
    values = {n: a[:, None] for n, a in flow.layout.split(x).items()}
    labels = {n: found for n, found in flow.labels.items() if n in values and found}
    units = {n: unit for n, unit in flow.units.items() if n in values or n == "t"}
    for kind in (k for k in kinds if k != "final"):
        found = np.where(there, run["reduced"].reshape(len(x), 3, -1)[:, KINDS.index(kind)], np.nan)
        for n, a in flow.layout.split(found).items():
            values[f"{kind}.{n}"] = a[:, None]
            if n in labels:
                labels[f"{kind}.{n}"] = labels[n]
            if n in units:
                units[f"{kind}.{n}"] = units[n]
    outcomes = np.array([OUTCOMES[int(k)] for k in status], dtype=object)
    counts = {"steps": int(run["taken"].sum())}
    return Trajectory(
        np.array([end]), values, labels, units, worst(outcomes), outcomes, counts, (), flow.name,
        plan.settings.method, tuple(state.notes), None,
    )  # fmt: skip
