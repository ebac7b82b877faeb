"""Flow: differential equations of first order with all that an integrator needs, whatever they describe.

Mechanisms and Systems with states become Flows (`of_mechanism.py`, `of_system.py`); an integrator knows nothing
else of what it moves. What must hold exactly, unit quaternions and closed loops, is restored by a map of its own
after every accepted step (projection methods: Hairer, Lubich, Wanner 2006, IV.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import replace as _replace
from functools import cached_property
from typing import Any

import numpy as np

from symbody.motion.flow.layout import Layout
from symbody.symbolic.expr.arrays import scalar_array
from symbody.symbolic.system.system import System


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
    impact      same inputs -> gap, J, ht, s, M of loops that open and close (see `impacts`); labels and units of gap
                name the loop of each row; or None
    watch       same inputs -> measure (k,), gap (m,): what closed loops are watched by (see `loop_guards`); or None
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

    @cached_property
    def layout(self) -> Layout:
        """Where states and signals stand in x and u."""
        rates = self.rates
        signals = [n for n in rates.inputs if n not in rates.states and n != "t"]
        return Layout({n: rates.inputs[n].shape for n in rates.states}, {n: rates.inputs[n].shape for n in signals})

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states, in the order in which they make up the vector x."""
        return tuple(self.layout.states)

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of the inputs that are neither states nor time."""
        return tuple(self.layout.signals)

    @property
    def nx(self) -> int:
        """Number of state components."""
        return self.layout.nx

    @property
    def slices(self) -> dict[str, slice]:
        """Where each state stands in x."""
        return self.layout.slices

    @cached_property
    def systems(self) -> dict[str, System]:
        """Those of rates, project, record, guards, events, balance, impact and watch that there are."""
        kinds = ("rates", "project", "record", "guards", "events", "balance", "impact", "watch")
        found = {k: getattr(self, k) for k in kinds}
        return {k: s for k, s in found.items() if s is not None}

    @cached_property
    def parameters(self) -> dict[str, np.ndarray]:
        """Parameters of all its Systems by name."""
        return {n: a for s in self.systems.values() for n, a in s.parameters.items()}

    def replace(self, **changes: Any) -> Flow:
        """A copy with some fields changed."""
        return _replace(self, **changes)


def shared_inputs(system: System) -> dict[str, np.ndarray]:
    """Inputs in the order of a Flow: states, t (made where there is none), the rest."""
    states = {n: system.inputs[n] for n in system.states}
    time = system.inputs.get("t")
    if time is None:
        time = scalar_array(system.graph.symbol("t", "time", unit="s"))
    rest = {n: a for n, a in system.inputs.items() if n not in states and n != "t"}
    return {**states, "t": time, **rest}
