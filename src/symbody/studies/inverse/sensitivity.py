"""Forward sensitivities of a motion to parameters and initial values: S = dx/dp, S' = f_x S + f_p."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError, Named, NameLookupError, nearest, record_argument, wrong_argument
from symbody.model.record.followers import following
from symbody.model.record.keyframes import named_state
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.parameter_values import check_given
from symbody.motion.derivatives.run_derivatives import RunDerivatives, derivatives
from symbody.motion.flow.flow import Flow
from symbody.motion.trajectory.trajectory import Trajectory
from symbody.symbolic.expr.arrays import scalar_array
from symbody.symbolic.expr.derivative import Tangent, tangents
from symbody.symbolic.expr.evaluate import transplant
from symbody.symbolic.expr.node import Node
from symbody.symbolic.system.names import identifier, place_of
from symbody.symbolic.system.system import System, node_array


@dataclass(frozen=True, eq=False)
class Direction:
    """What a sensitivity is taken to: components of parameters, or the initial value of one state component."""

    name: str
    parameter: str = ""
    state: str = ""
    index: int = 0


def sensitivity_flow(flow: Flow, parameters: Sequence[str]) -> Flow:
    """The Flow with the states S_<state>_<name> added: derivatives of each state by each name.

    parameters   names of parameters of the Flow (a component of an array: name.2), or of states at the start: "q.1"
                 (or a label, "q.shoulder"); `sensitivity_start` gives the first values
    Recorded quantities get theirs too, d_<quantity>_<name>. Guards come along: S is right until the first event.
    """
    if flow.events is not None:
        names = ", ".join(n for n in flow.events.outputs if "." not in n)
        raise ModelError(
            f"force elements of {flow.name} have events ({names}), which sensitivities do not pass. Hold the mode: "
            "replace the element by the law of that mode."
        )
    chosen = directions(flow, parameters)
    new = {d.name: _symbols(flow, d.name) for d in chosen}
    rates = _augmented(flow, flow.rates, new, chosen, dict(flow.rates.states))
    project = None
    if flow.project is not None:
        project = _augmented(flow, flow.project, new, chosen, {n: n for n in flow.states if n in flow.project.outputs})
    record = None
    if flow.record is not None:
        record = _augmented(flow, flow.record, new, chosen, None)
    rated = dict(flow.rated)
    for quantity, rate in flow.rated.items():
        state = next(n for n, output in flow.rates.states.items() if output == rate)
        rated |= {_name("d", quantity, d.name): f"{new[d.name][state]}_dot" for d in chosen}
    guards = flow.guards
    if guards is not None:
        guards = guards.replace(inputs=_with_new(guards, flow, new))
    labels, units = dict(flow.labels), dict(flow.units)
    start = dict(flow.start)
    for d in chosen:
        for state in flow.states:
            name = _name("S", state, d.name)
            if state in flow.labels:
                labels[name] = flow.labels[state]
            start[name] = _start(flow, state, d)
    return flow.replace(
        rates=rates, project=project, record=record, guards=guards, second=(), labels=labels, units=units, start=start,
        rated=rated, name=f"{flow.name}_sensitivity",
    )  # fmt: skip


def sensitivity_start(flow: Flow, parameters: Sequence[str]) -> dict[str, np.ndarray]:
    """First values of the states that `sensitivity_flow` adds: zero, and one for an initial value itself."""
    return {
        _name("S", state, d.name): _start(flow, state, d) for d in directions(flow, parameters) for state in flow.states
    }


def directions(flow: Flow, names: Sequence[str]) -> list[Direction]:
    """What the names mean."""
    out = []
    known = flow.parameters
    for name in [names] if isinstance(names, str) else names:
        stem, _, part = name.rpartition(".")
        if name in known and known[name].size == 1:
            out.append(Direction(name, parameter=name))
        elif name in known:
            out += [Direction(f"{name}.{k + 1}", parameter=name, index=k) for k in range(known[name].size)]
        elif stem in known and (place := place_of(part, known[stem].size)) is not None:
            out.append(Direction(name, parameter=stem, index=place))
        elif (component := _state_component(flow, name)) is not None:
            out.append(Direction(name, state=component[0], index=component[1]))
        else:
            choices = [*known, *(f"{s}.{label}" for s in flow.states for label in flow.labels.get(s, ()))]
            raise NameLookupError(
                f"there is no parameter or state {name!r} to differentiate by. {nearest(name, choices)}"
            )
    return out


def _state_component(flow: Flow, name: str) -> tuple[str, int] | None:
    state, _, part = name.partition(".")
    if state not in flow.states:
        return None
    size, labels = flow.rates.inputs[state].size, list(flow.labels.get(state, ()))
    if not part:
        return (state, 0) if size == 1 else None
    if part in labels:
        return state, labels.index(part)
    place = place_of(part, size)
    return None if place is None else (state, place)


def _name(prefix: str, quantity: str, direction: str) -> str:
    return f"{prefix}_{quantity}_{identifier(direction)}"


def _start(flow: Flow, state: str, d: Direction) -> np.ndarray:
    out = np.zeros(flow.rates.inputs[state].shape)
    if d.state == state:
        out.flat[d.index] = 1.0
    return out


def _symbols(flow: Flow, direction: str) -> dict[str, str]:
    """State -> name of its sensitivity."""
    return {state: _name("S", state, direction) for state in flow.states}


def _with_new(system: System, flow: Flow, new: Mapping[str, Mapping[str, str]]) -> dict[str, np.ndarray]:
    """Inputs of a System: its states, the new ones, then all others, and derivatives of rates that it reads."""
    states = {n: system.inputs[n] for n in flow.states}
    for names in new.values():
        states |= {name: _like(system, state, name, "state") for state, name in names.items()}
    read = [n for n in flow.rated if n in system.inputs]
    rates = {_name("d", n, d): _like(system, n, _name("d", n, d), "input") for d in new for n in read}
    return {**states, **{n: a for n, a in system.inputs.items() if n not in states}, **rates}


def _like(system: System, name: str, new: str, role: str) -> np.ndarray:
    """New symbols in the shape of an input."""
    out = np.empty(system.inputs[name].shape, dtype=object)
    for k in range(out.size):
        out.flat[k] = system.graph.symbol(f"{new}{k + 1}", role)
    return out


def _augmented(
    flow: Flow,
    system: System,
    new: Mapping[str, Mapping[str, str]],
    chosen: Sequence[Direction],
    states: Mapping[str, str] | None,
) -> System:
    """The System with derivatives of its outputs along all directions, in one walk.

    states: state -> output that belongs to it (its rate, or its corrected value); None: all outputs are recorded.
    """
    graph, inputs = system.graph, _with_new(system, flow, new)
    seeds: dict[Node, Tangent] = {}
    for k, d in enumerate(chosen):
        for state, name in new[d.name].items():
            for s, tangent in zip(system.inputs[state].flat, inputs[name].flat):
                seeds.setdefault(s, {})[k] = tangent
        for n in flow.rated:
            if n in system.inputs:
                for s, tangent in zip(system.inputs[n].flat, inputs[_name("d", n, d.name)].flat):
                    seeds.setdefault(s, {})[k] = tangent
        if d.parameter in system.parameters:
            seeds.setdefault(system.parameters[d.parameter].flat[d.index], {})[k] = graph.one
    wanted = list(system.outputs)
    rows = iter(tangents([x for n in wanted for x in system.outputs[n].flat], seeds))
    derived: dict[str, list[np.ndarray]] = {}
    for n in wanted:
        shape = system.outputs[n].shape
        found = [next(rows) for _ in range(system.outputs[n].size)]
        derived[n] = [
            node_array([row.get(k, graph.zero) for row in found], graph).reshape(shape) for k in range(len(chosen))
        ]
    outputs = dict(system.outputs)
    declared = dict(system.states)
    if states is None:
        for n in wanted:
            outputs |= {_name("d", n, d.name): derived[n][k] for k, d in enumerate(chosen)}
    else:
        for k, d in enumerate(chosen):
            for state, output in states.items():
                name = new[d.name][state]
                corrected = output == state
                outputs[name if corrected else f"{name}_dot"] = derived[output][k]
                if not corrected:
                    declared[name] = f"{name}_dot"
    return system.replace(
        name=f"{system.name}_sensitivity", inputs=inputs, outputs=outputs, states=declared, units={}, origins={}
    )


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """A trajectory with derivatives.

    trajectory   the motion itself, with the values S_<state>_<name>
    names        what the derivatives are taken to
    values       values that were used, by name, where they are known
    """

    trajectory: Trajectory
    names: tuple[str, ...]
    values: Mapping[str, float] = field(default_factory=dict)

    def of(self, quantity: str, name: str) -> np.ndarray:
        """d quantity / d name over time, of the shape of the quantity."""
        for prefix in ("S", "d"):
            found = _name(prefix, quantity, name)
            if found in self.trajectory.values:
                return np.asarray(self.trajectory.values[found])
        known = [q for q in self.trajectory.values if not q.startswith(("S_", "d_"))]
        raise NameLookupError(
            f"there is no derivative of {quantity!r} by {name!r}. {nearest(quantity, known)} "
            f"{nearest(name, self.names)}"
        )

    def relative(self, quantity: str, name: str) -> np.ndarray:
        """d quantity / d ln name: the change for a relative change of a parameter."""
        if name not in self.values:
            raise ModelError(f"the value of {name!r} is not known; relative sensitivities are for parameters.")
        return self.values[name] * self.of(quantity, name)


@overload
def sensitivity(
    mech: Mechanism,
    duration: float,
    parameters: Sequence[str],
    *,
    outputs: Any = ...,
    values: Mapping[str, Any] | None = ...,
    mode: None = ...,
    **options: Any,
) -> Sensitivity: ...


@overload
def sensitivity(
    mech: Any,
    duration: float,
    parameters: Sequence[str],
    *,
    outputs: Any = ...,
    values: Mapping[str, Any] | None = ...,
    mode: str,
    integrals: Mapping[str, str] | None = ...,
    at: str = ...,
    **options: Any,
) -> RunDerivatives: ...


@declared
def sensitivity(
    mech: Any,
    duration: float,
    parameters: Sequence[str],
    *,
    outputs: Any = None,
    values: Mapping[str, Any] | None = None,
    mode: str | None = None,
    integrals: Mapping[str, str] | None = None,
    at: str = "end",
    **options: Any,
) -> Sensitivity | RunDerivatives:
    """Derivatives of a motion by parameters, values at the start, and inputs.

    parameters   names of parameters, of states at the start ("q.shoulder"); with a mode of inputs too ("tau.elbow")
    outputs      what is differentiated besides the states, as `simulate` takes it; with a mode: instead of them
    options      those of `simulate`: q0, qd0, step, method, inputs ...; values of parameters under `values`

    mode None    the motion is simulated together with its derivatives, which are states more: over time, up to the
                 first event, also with steps that a tolerance chooses
    mode         "forward", "adjoint", or "auto", whichever is cheaper: the steps of the run are differentiated as they
                 are taken, natively, through events. Then
    integrals    name -> expression whose integral over the run is differentiated
    at           "end": quantities where the run ends; "samples": at all instants of `sampling`

    Where loops are closed, the start of the independent joints of the partition is held fixed, and the others follow.
    """
    if isinstance(parameters, Mapping):
        raise wrong_argument(
            "parameters", parameters, "names to differentiate by", "Give values of parameters as ",
            Named("values", "{name: number}"), ".", owner="sensitivity",
        )  # fmt: skip
    if mode is not None:
        if isinstance(mech, Mechanism):
            check_given(mech, values)
        wanted = outputs if outputs is not None or integrals else _states(mech)
        return derivatives(mech, duration, parameters, wanted or (), integrals, mode, at, parameters=values, **options)
    if integrals is not None or at != "end":
        raise ModelError("integrals and instants are differentiated with a mode; give mode='auto'.")
    record_argument("sensitivity", mech, Mechanism, "a Mechanism, as sb.load(name_or_path) gives")
    return _simulated(mech, duration, parameters, outputs, values, options)


def _states(model: Mechanism | System) -> list[str]:
    return list(model.states) if isinstance(model, System) else ["q", "qd"]


def _simulated(
    mech: Mechanism,
    duration: float,
    parameters: Sequence[str],
    outputs: Any,
    values: Mapping[str, Any] | None,
    options: dict[str, Any],
) -> Sensitivity:
    """The motion together with its derivatives. The partition of closed loops does not change on the way."""
    from symbody.mechanics.memoised.partitions import wanted_at
    from symbody.motion.flow.loop_treatment import Augmented
    from symbody.motion.flow.of_mechanism import mechanism_flow
    from symbody.motion.run.simulate import simulate

    check_given(mech, values)
    options |= {n: named_state(mech, options[n], n.removesuffix("0"), values) for n in ("q0", "qd0") if n in options}
    mech = following(mech, {*parameters, *(values or {})})
    pieces: tuple[Any, ...] = (*mech.cuts, *mech.couplings)
    switched = [p.name for p in pieces if p.switched]
    if switched:
        held = ", ".join(f"{n}=True" for n in switched)
        raise ModelError(
            f"{mech.name} has loops that open and close, whose impacts are differentiated with a mode only. Give mode="
            f"'forward' or 'adjoint', or say which are closed all the time: mech.with_loops({held}), or False for open."
        )
    partition = options.pop("partition", None) or "auto"
    flow = mechanism_flow(mech, outputs=outputs, partition=partition)
    if flow.impact is not None:  # a projection of least change is not differentiated
        flow = mechanism_flow(mech, outputs=outputs, partition=Augmented(project=False)).replace(impact=None)
    if mech.cuts or mech.couplings:
        options |= _closed_start(mech, flow, values or {}, options)
        if flow.impact is None:
            numbers = {n: float(v) for n, v in (values or {}).items() if np.ndim(v) == 0}
            branch = wanted_at(mech, options["q0"], partition, numbers, options.get("t0", 0.0))
            if branch is not partition:
                flow = mechanism_flow(mech, outputs=outputs, partition=branch)
    given = {n: v for n, v in (values or {}).items() if n in flow.parameters}
    flow = _with_unread(mech, flow, [parameters] if isinstance(parameters, str) else parameters)
    chosen = directions(flow, parameters)
    trajectory = simulate(sensitivity_flow(flow, parameters), duration, parameters=given, **options)
    used = {}
    for d in chosen:
        if d.parameter:
            system = next(s for s in flow.systems.values() if d.parameter in s.parameters)
            known = np.ravel(values[d.parameter]) if values and d.parameter in values else system.default(d.parameter)
            if known is not None:
                used[d.name] = float(known[d.index])
    return Sensitivity(trajectory, tuple(d.name for d in chosen), used)


def _with_unread(mech: Mechanism, flow: Flow, names: Sequence[str]) -> Flow:
    """The Flow with those parameters of the Mechanism that are named, and that none of its equations reads."""
    own = {n: mech.parameters[n] for n in names if n in mech.parameters and n not in flow.parameters}
    nodes = transplant(own.values(), {}, flow.rates.graph)
    more = {n: scalar_array(x) for n, x in zip(own, nodes, strict=True)}
    return flow.replace(rates=flow.rates.replace(parameters={**flow.rates.parameters, **more})) if own else flow


def _closed_start(
    mech: Mechanism, flow: Flow, values: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """q0 and qd0 that close the loops, as `simulate` makes them of what was given."""
    from symbody.motion.events.queries import answered
    from symbody.motion.flow.closed_start import closed_start
    from symbody.motion.flow.initial_state import initial_values

    given = {n: named_state(mech, options[f"{n}0"], n, values) for n in ("q", "qd") if options.get(f"{n}0") is not None}
    found, _ = initial_values(flow, given)
    x = answered(closed_start(mech, flow, values, given, flow.layout.vector(found, None), options.get("t0", 0.0)))
    return {f"{n}0": x[flow.slices[n]] for n in ("q", "qd")}
