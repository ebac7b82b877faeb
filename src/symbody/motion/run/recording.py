"""A run that has ended -> Trajectory: recorded quantities at all samples at once, by one native call each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.motion.events.plan import Plan
from symbody.motion.events.state import RunState
from symbody.motion.flow.flow_kernels import FlowKernels
from symbody.motion.run.batch import Batch
from symbody.motion.run.loop import Reached
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class RecordedEnd:
    """A run that was asked for: where it ended, and the last place that a longer run passes too.

    batch: of a closed mechanism, whose equations may change: what was asked for
    """

    last: Reached
    anchor: Reached
    batch: Batch | None = None

    @property
    def goal(self) -> float:
        """s, the end that was asked for."""
        return self.last.state.end

    @property
    def reached(self) -> float:
        """s, what was asked for, or where the run stopped if it did not get there."""
        outcome = self.last.outcome
        return self.goal if outcome is not None and outcome.ok else self.last.state.t

    @property
    def beyond(self) -> float:
        """Steps that were counted after the anchor, of one member of a batch in the mean."""
        return self.last.state.tried - self.anchor.state.tried


def trajectory(run: RecordedEnd) -> Trajectory:
    """States, inputs and recorded quantities at the samples."""
    plan, state = run.last.plan, run.last.state
    flow, settings = plan.flow, plan.settings
    t, x = state.gathered()
    values: dict[str, np.ndarray] = dict(flow.layout.split(x))
    u = plan.signals.recorded(t, state.inputs)
    rates: dict[str, np.ndarray] = {}
    if len(t) and flow.rated:
        rates = _rates(plan, state, t, x, u)
    values.update(rates)
    if len(t) and flow.record is not None:
        record = flow.record
        kernels = FlowKernels(flow, settings.parameters, settings.threads)
        for name, a in kernels.call("record", t, x, u, **rates).items():
            shape = (*x.shape[:-1], *record.outputs[name].shape)
            values.setdefault(name, np.array(np.broadcast_to(a, shape)))
    if not state.single:
        values = _until_the_end(values, np.isnan(x).any(axis=-1))
    return Trajectory(
        t,
        values,
        {n: labels for n, labels in flow.labels.items() if n in values and labels},
        {n: unit for n, unit in flow.units.items() if n in values or n == "t"},
        run.last.outcome or Outcome.FINISHED,
        state.outcomes,
        dict(state.counts),
        tuple(state.events),
        flow.name,
        settings.method,
        tuple(state.notes),
        run,
    )


def _until_the_end(values: dict[str, np.ndarray], gone: np.ndarray) -> dict[str, np.ndarray]:
    """Quantities of a batch without those of members that have ended: gone (b, k)."""
    if not gone.any():
        return values
    out = {}
    for name, found in values.items():
        out[name] = np.array(found, dtype=float)
        out[name][gone] = np.nan
    return out


def _rates(plan: Plan, state: RunState, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> dict[str, np.ndarray]:
    """Recorded rates at all samples, each by the equations that were in force there."""
    flow, settings = plan.flow, plan.settings
    if not state.segments:
        found = FlowKernels(flow, settings.parameters, settings.threads).call("rates", t, x, u)
        return {n: found[rate] for n, rate in flow.rated.items()}
    owners = {rate: state_name for state_name, rate in flow.rates.states.items()}
    parts: dict[str, list[np.ndarray]] = {n: [] for n in flow.rated}
    for k, segment in enumerate(state.segments):
        stop = state.segments[k + 1].start if k + 1 < len(state.segments) else len(x)
        part = slice(segment.start, stop)
        if segment.start >= stop:
            continue
        if segment.rates is not None:
            for n, rate in flow.rated.items():
                parts[n].append(segment.rates[: stop - segment.start, flow.slices[owners[rate]]])
            continue
        kernels = FlowKernels(segment.flow, settings.parameters, settings.threads)
        found = kernels.call("rates", t[part], x[part], u[part])
        for n, rate in flow.rated.items():
            parts[n].append(np.asarray(found[rate]))
    return {n: np.concatenate(a) for n, a in parts.items()}
