"""Session -> Trajectory: recorded quantities are evaluated for all samples at once, by one native call each."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.integrate.native import kernels, loops_of
from symbody.run.session import Session
from symbody.trajectory.trajectory import Trajectory


def trajectory(session: Session) -> Trajectory:
    """States, inputs and recorded quantities at the samples."""
    flow, settings = session.flow, session.settings
    t, x = session.gathered()
    values: dict[str, np.ndarray] = dict(flow.split(x))
    made = kernels(flow)
    u = session.feed.recorded(t)
    parameters = loops_of(settings.parameters, flow, x.ndim)
    given = _arguments(session, t, x, u)
    rates: dict[str, np.ndarray] = {}
    if len(t) and flow.rated:
        rates = _rates(session, given, parameters, x)
    values.update(rates)
    if len(t) and flow.record is not None:
        record = flow.record
        found = _named(made["record"], {**given, **rates}, parameters, settings.threads, list(record.inputs))
        for name, a in found.items():
            shape = (*x.shape[:-1], *record.outputs[name].shape)
            values.setdefault(name, np.array(np.broadcast_to(a, shape)))
    return Trajectory(
        t,
        values,
        {n: labels for n, labels in flow.labels.items() if n in values and labels},
        {n: unit for n, unit in flow.units.items() if n in values or n == "t"},
        session.outcome,
        session.outcomes,
        dict(session.statistics),
        tuple(session.events),
        flow.name,
        settings.method,
        tuple(session.notes),
        session,
    )


def _arguments(session: Session, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> dict[str, Any]:
    """Inputs of the Flow's Kernels by name."""
    flow = session.flow
    out: dict[str, Any] = {**flow.split(x), "t": t}
    at = 0
    for name in flow.signals:
        symbols = flow.rates.inputs[name]
        part = u[..., at : at + symbols.size]
        out[name] = part.reshape(part.shape[:-1] + symbols.shape)
        at += symbols.size
    return out


def _rates(session: Session, given: dict[str, Any], parameters: Any, x: np.ndarray) -> dict[str, np.ndarray]:
    """Recorded rates at all samples, each by the equations that were in force there."""
    flow, threads = session.flow, session.settings.threads
    if not session.segments:
        found = _named(kernels(flow)["rates"], given, parameters, threads)
        return {n: found[rate] for n, rate in flow.rated.items()}
    owners = {rate: state for state, rate in flow.rates.states.items()}
    parts: dict[str, list[np.ndarray]] = {n: [] for n in flow.rated}
    for k, segment in enumerate(session.segments):
        later = session.segments[k + 1 :]
        part = slice(segment.start, later[0].start if later else len(x))
        if segment.start >= part.stop:
            continue
        if segment.rates is not None:
            for n, rate in flow.rated.items():
                parts[n].append(segment.rates[: part.stop - part.start, flow.slices[owners[rate]]])
            continue
        own = {n: a[part] if np.ndim(a) and len(a) == len(x) else a for n, a in given.items()}
        found = _named(kernels(segment.flow)["rates"], own, parameters, threads)
        for n, rate in flow.rated.items():
            parts[n].append(np.asarray(found[rate]))
    return {n: np.concatenate(a) for n, a in parts.items()}


def _named(
    kernel: Any, given: dict[str, Any], parameters: Any, threads: int | None, names: Any = None
) -> dict[str, Any]:
    wanted = [p.name for p in kernel.inputs] if names is None else names
    found, _ = kernel.call_with_status(**{n: given[n] for n in wanted}, parameters=parameters, threads=threads)
    outputs = [o.name for o in kernel.signature.outputs]
    return dict(zip(outputs, found if len(outputs) > 1 else [found]))
