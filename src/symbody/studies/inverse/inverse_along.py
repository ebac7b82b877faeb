"""sb.inverse_along: the efforts, powers and works of a given motion, in one native call for all its instants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError, NameLookupError, nearest
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.mechanics.verbs.dynamics import inverse_dynamics
from symbody.mechanics.verbs.system_of_tree import has_loops
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.parameter_values import check_given
from symbody.motion.flow.coordinate_labels import labels_of, units_of
from symbody.motion.flow.recorded_quantities import Quantities, recorded
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory import Trajectory
from symbody.studies.inverse.closed_samples import branch_at, closed_samples
from symbody.studies.inverse.sampled_motion import SampledMotion, sampled_motion
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System

FORMALISM = "base"  # small, and made without a search


@declared
def inverse_along(
    mech: Mechanism,
    motion: Any,
    q: Any = None,
    qd: Any = None,
    qdd: Any = None,
    *,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    outputs: Any = None,
    formalism: str = FORMALISM,
    threads: int | None = None,
) -> Trajectory:
    """The motion with tau, power and work: a Trajectory.

    motion      a Trajectory with q (and qd, qdd), or times t (n,), with q (n, nq), qd and qdd (n, nv). Rates that are
                not given come from splines of degree 5 through the samples; a note says so
    inputs      other inputs of the model (forces, wrenches, internal states) by name, constant or (n, ...); those that
                the Trajectory holds are taken from it, the others are zero
    outputs     what to record besides, as in `simulate`: "energy", "reactions", "p.<frame>" ...

    tau (n, nv): efforts that the motion needs; power (n, nv) = tau qd of each joint, W; work (n, nv): its integral
    since the start, J (by a cubic spline). Closed loops: only independent joints are read; q and qd of the others come
    from the loops, followed from the first instant on (their qdd stays as given), and tau is zero on passive joints.
    """
    samples = sampled_motion(mech, motion, q, qd, qdd)
    values: dict[str, Any] = dict(check_given(mech, parameters))
    partition = branch_at(mech, samples, values)
    system = _system(mech, formalism, partition)
    if "tau" not in system.outputs:
        raise ModelError(
            f"{mech.name} has fewer actuators than degrees of freedom, so that no efforts give any motion exactly; "
            "actuate more joints, or use sb.inverse_dynamics for Psi and G."
        )
    if has_loops(mech):
        samples = closed_samples(mech, samples, values, partition)
    given = _arguments(mech, samples, motion, inputs, system.inputs)
    notes = list(samples.notes)
    found = _called(system, given, values, threads)
    tau = found["tau"]
    if not np.isfinite(tau).all():
        k = int(np.argmax(~np.isfinite(tau).all(axis=1)))
        raise ModelError(
            f"the efforts of {mech.name} are not finite at t = {samples.t[k]:g} s: a law has no value there, or loops "
            "are singular."
        )
    power = tau * samples.qd
    made = {"q": samples.q, "qd": samples.qd, "qdd": samples.qdd, "tau": tau, "power": power}
    made["work"] = _integral(samples.t, power)
    labels, units = labels_of(mech), units_of(mech)
    labels |= {"power": labels["tau"], "work": labels["tau"]}
    units |= {"power": "W", "work": "J"}
    if outputs is not None:
        recorder, more_labels, more_units = _recorder(mech, outputs, partition)
        if recorder is not None:
            given = _arguments(mech, samples, motion, inputs, recorder.inputs) | {"tau": tau}
            given = {n: given[n] for n in recorder.inputs}
            made |= _called(recorder, given, values, threads)
            labels |= more_labels
            units |= more_units
    return Trajectory(
        samples.t,
        made,
        labels=labels,
        units=units,
        outcome=Outcome.FINISHED,
        model=mech.name,
        method="inverse dynamics",
        notes=tuple(notes),
    )


def _system(mech: Mechanism, formalism: str, partition: Any) -> System:
    """Inverse dynamics on a branch of a Mechanism."""
    return inverse_dynamics(mech, formalism, **({"partition": partition} if has_loops(mech) else {}))


def _arguments(
    mech: Mechanism, samples: SampledMotion, motion: Any, inputs: Mapping[str, Any] | None, needed: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Values of all inputs of a System, each (n, *shape)."""
    own = {"q": samples.q, "qd": samples.qd, "qdd": samples.qdd, "t": samples.t}
    recorded_values = motion.values if isinstance(motion, Trajectory) else {}
    for name in inputs or {}:
        if name not in needed and name not in ("tau",):
            known = [n for n in needed if n not in own]
            raise NameLookupError(f"{mech.name} has no input {name!r} of its inverse dynamics. {nearest(name, known)}")
    out = {}
    for name, symbols in needed.items():
        if name in own:
            out[name] = own[name]
            continue
        value = (inputs or {}).get(name, recorded_values.get(name, 0.0))
        array = np.asarray(value, dtype=float)
        shape = (len(samples.t), *symbols.shape)
        out[name] = np.ascontiguousarray(np.broadcast_to(array, shape))
    return out


def _called(
    system: System, given: Mapping[str, np.ndarray], parameters: Mapping[str, Any], threads: int | None
) -> dict[str, np.ndarray]:
    kernel = kernel_of(system)
    options: dict[str, Any] = {} if threads is None else {"threads": threads}
    own = {n: v for n, v in parameters.items() if n in system.parameters}
    return kernel.call_named(*(given[n] for n in system.inputs), parameters=own or None, **options)


def _integral(t: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Since the first instant, by a cubic spline (by trapezoids where there are less than four samples)."""
    if len(t) < 4:
        steps = np.diff(t)[:, None] * (values[1:] + values[:-1]) / 2
        return np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(steps, axis=0)])
    from scipy.interpolate import CubicSpline

    out: np.ndarray = CubicSpline(t, values, axis=0).antiderivative()(t)
    return out


def _recorder(mech: Mechanism, outputs: Any, partition: Any) -> tuple[System | None, dict[str, Any], dict[str, Any]]:
    """What `outputs` names as a System of q, qd, qdd, tau and t, with labels and units."""
    dynamics = _system(mech, FORMALISM, partition)
    graph = Graph(mech.name)

    def symbols(name: str, size: int) -> np.ndarray:
        return np.array([graph.symbol(f"{name}{k + 1}", "input") for k in range(size)], dtype=object)

    time = np.empty((), dtype=object)
    time[()] = graph.symbol("t", "time", unit="s")
    base = {"q": symbols("q", mech.nq), "qd": symbols("qd", mech.nv), "t": time, "tau": symbols("tau", mech.nv)}
    for name, array in dynamics.inputs.items():
        if name not in ("q", "qd", "qdd", "t"):
            new = np.empty(array.shape, dtype=object)
            for k, s in enumerate(array.flat):
                new.flat[k] = graph.symbol(s.data.name, "input")
            base[name] = new
    known = Quantities(mech, graph, base, dynamics, partition)
    record = recorded(known, outputs)
    chosen = {n: x for n, x in record.chosen.items() if n not in base}
    if not chosen:
        return None, {}, {}
    inputs = {**base, **({"qdd": known.qdd} if record.reads_qdd else {})}
    nodes = {n: x.nodes for n, x in chosen.items()}
    assert all(isinstance(v, Node) for a in nodes.values() for v in a.flat)
    system = System(f"{identifier(mech.name)}_recorded", inputs=inputs, outputs=nodes)
    labels = {n: x.labels for n, x in chosen.items() if x.labels}
    return system, labels, {n: x.unit for n, x in chosen.items() if x.unit}
