"""What is marched on a device: Programs, and where states, signals and sampled Systems stand in its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from symbody.symbolic.lower.program import Program
from symbody.symbolic.system.ports import Port


@dataclass(frozen=True, eq=False)
class Clocked:
    """A sampled System: its Program without parameters, and where its numbers come from and go to.

    reads   input -> ("memory", place), ("x", place) or ("t", 0)
    writes  (columns of u, output); kept: output -> place in the memory, of what becomes its next state
    """

    program: Program
    reads: Mapping[str, tuple[str, int]]
    writes: tuple[tuple[int, ...], str]
    kept: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class DeviceEquations:
    """What is marched: Programs of the same inputs, and where states and signals stand in x and u.

    states    state -> (place, size) in x; signals: likewise in u; rate_of: state -> output of `rates`
    pairs     (place of positions, place of velocities, size) where the rates of positions are the velocities
    drift     outputs: rates of the positions, named as in `rates`; for splitting methods where there are no `pairs`
    watch     Program with an output "gap"; bounds: beyond which a row of it is open
    moving    columns of u that are interpolated in a table; held: columns that change at entries of the schedule
    """

    rates: Program
    states: Mapping[str, tuple[int, int]]
    signals: Mapping[str, tuple[int, int]]
    rate_of: Mapping[str, str]
    positions: tuple[str, ...] = ()
    pairs: tuple[tuple[int, int, int], ...] = ()
    project: Program | None = None
    drift: Program | None = None
    watch: Program | None = None
    bounds: tuple[float, ...] = ()
    clocks: tuple[Clocked, ...] = ()
    moving: tuple[int, ...] = ()
    held: tuple[int, ...] = ()
    memory: int = 0

    @property
    def nx(self) -> int:
        return sum(size for _, size in self.states.values())

    @property
    def nu(self) -> int:
        return sum(size for _, size in self.signals.values())

    def programs(self) -> dict[str, Program]:
        """Those with parameters of the run, by what they are for."""
        found = {"rates": self.rates, "project": self.project, "drift": self.drift, "watch": self.watch}
        return {kind: p for kind, p in found.items() if p is not None}

    def parameters(self) -> dict[str, Port]:
        """Parameters of all Programs by name."""
        return {p.name: p for program in self.programs().values() for p in program.parameters}
