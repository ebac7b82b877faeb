"""Flow: differential equations of first order with all that an integrator needs, whatever they describe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
    labels      name of a state, signal or recorded quantity -> one label for each of its components
    units       likewise -> one unit for each component, or a single one for all
    """

    rates: System
    project: System | None = None
    record: System | None = None
    guards: System | None = None
    second: tuple[tuple[str, str], ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    units: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)

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
