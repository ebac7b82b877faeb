"""Flow: differential equations of first order with all that an integrator needs, whatever they describe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import replace as _replace
from typing import Any

import numpy as np

from symbody.errors import DefinitionError
from symbody.expr.arrays import scalar_array
from symbody.system.system import System


@dataclass(frozen=True, eq=False)
class Flow:
    """x' = f(t, x, u) as Systems that share their inputs: the states, then t and the signals u that occur.

    rates       System whose `states` map each state (an input) to its rate (an output)
    project     same inputs -> corrected states, under the states' own names: unit quaternions, closed loops; or None.
                It is applied after every accepted step.
    record      same inputs -> what is recorded besides the states (energies, sensors, efforts); or None
    second      pairs (positions, velocities) of state names, for methods that treat the two differently;
                the rate of the positions depends on time and on these two states alone
    guards      System of one output "guard" (ng,), same inputs: an event happens where an element crosses zero; or None
    events      same inputs -> guards <event> and values <event>.<state> that states or signals take there, of force
                elements and controllers; directions stand in its modes as <event>.direction; or None
    labels      name of a state, signal or recorded quantity -> one label for each of its components
    units       likewise -> one unit for each component, or a single one for all
    rated       name under which a rate is recorded (qdd) -> the rate; `record` may read them as further inputs
    start       name of a state or signal -> its value where none is given; zero for those that are not named
    prescribed  name of a state -> components that are known functions of time: `project` sets them
    balance     same inputs and those of `rated` -> "residual": equations of motion that are not solved for the rates,
                for implicit methods; or None
    impact      same inputs -> gap, J, ht, s, M of loops that open and close (see `gates`); labels and units of gap name
                the loop of each row; or None
    watch       same inputs -> measure (k,), gap (m,): what closed loops are watched by during a run (see `lookout`);
                or None
    """

    rates: System
    project: System | None = None
    record: System | None = None
    guards: System | None = None
    events: System | None = None
    second: tuple[tuple[str, str], ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    units: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    rated: Mapping[str, str] = field(default_factory=dict)
    start: Mapping[str, np.ndarray] = field(default_factory=dict)
    prescribed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    balance: System | None = None
    impact: System | None = None
    watch: System | None = None
    name: str = ""

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states, in the order in which they make up the vector x."""
        return tuple(self.rates.states)

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of the inputs that are neither states nor time."""
        return tuple(n for n in self.rates.inputs if n not in self.rates.states and n != "t")

    @property
    def nx(self) -> int:
        """Number of state components."""
        return sum(self.rates.inputs[n].size for n in self.states)

    @property
    def slices(self) -> dict[str, slice]:
        """Where each state stands in x."""
        out, at = {}, 0
        for name in self.states:
            size = self.rates.inputs[name].size
            out[name] = slice(at, at + size)
            at += size
        return out

    @property
    def systems(self) -> dict[str, System]:
        """Those of rates, project, record, guards, events, balance, impact and watch that there are."""
        kinds = ("rates", "project", "record", "guards", "events", "balance", "impact", "watch")
        found = {k: getattr(self, k) for k in kinds}
        return {k: s for k, s in found.items() if s is not None}

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Parameters of all its Systems by name."""
        return {n: a for s in self.systems.values() for n, a in s.parameters.items()}

    def replace(self, **changes: Any) -> Flow:
        """The same Flow with some fields changed."""
        return _replace(self, **changes)

    def split(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """State vectors (..., nx) by name, in the shapes of the states."""
        shapes = {n: self.rates.inputs[n].shape for n in self.states}
        return {n: x[..., s].reshape(x.shape[:-1] + shapes[n]) for n, s in self.slices.items()}


def system_flow(system: System) -> Flow:
    """The Flow of any System with states: what it puts out besides their rates is recorded; guards come along."""
    if not system.states:
        raise DefinitionError(
            f"System {system.name!r} has no states to integrate; expected states={{'x': 'x_dot'}}, an input each and "
            "the output that is its rate."
        )
    for state, rate in system.states.items():
        if system.inputs[state].shape != system.outputs[rate].shape:
            shapes = f"{system.inputs[state].shape} and {system.outputs[rate].shape}"
            raise DefinitionError(f"System {system.name!r}: state {state!r} and rate {rate!r} have shapes {shapes}.")
    inputs = shared_inputs(system)
    # each state has an output of its own, even if two have the same rate
    rates = {
        n: rate if list(system.states.values()).count(rate) == 1 else f"{n}_dot" for n, rate in system.states.items()
    }
    rest = {n: a for n, a in system.outputs.items() if n not in system.states.values()}
    keep: dict[str, Any] = {"parameters": system.parameters, "defaults": system.defaults}
    flow_rates = System(
        f"{system.name}_rates",
        inputs=inputs,
        outputs={rate: system.outputs[system.states[n]] for n, rate in rates.items()},
        states=rates,
        **keep,
    )
    record = System(f"{system.name}_record", inputs=inputs, outputs=rest, **keep) if rest else None
    guards = None
    if system.guards:
        flat = np.concatenate([a.reshape(-1) for a in system.guards.values()])
        guards = System(f"{system.name}_guards", inputs=inputs, outputs={"guard": flat}, **keep)
    units: dict[str, str | tuple[str, ...]] = dict(system.units)
    start = {n: np.asarray(x, dtype=float) for n, x in system.modes.items() if n in system.inputs}
    return Flow(flow_rates, record=record, guards=guards, units=units, start=start, name=system.name)


def shared_inputs(system: System) -> dict[str, np.ndarray]:
    """Inputs in the order of a Flow: states, t (made where there is none), the rest."""
    states = {n: system.inputs[n] for n in system.states}
    time = system.inputs.get("t")
    if time is None:
        time = scalar_array(system.graph.symbol("t", "time", unit="s"))
    rest = {n: a for n, a in system.inputs.items() if n not in states and n != "t"}
    return {**states, "t": time, **rest}
