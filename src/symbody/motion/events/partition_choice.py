"""PartitionChoice: a partition of closed loops with its equations of motion; what J tells of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.basics.memory import memory_of
from symbody.mechanics.assembly.conditioning import Conditioning, given_pivots
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.loops.partition.partition import Partition
from symbody.model.record.coordinates import velocity_labels
from symbody.motion.events.queries import Rows
from symbody.motion.flow.connect import Connected
from symbody.motion.flow.event_rules import PreparedEvents


@dataclass(frozen=True, eq=False)
class PartitionChoice:
    """A partition with its equations of motion. whole: only its rows matter, all joints are solved for."""

    constraints: Constraints
    partition: Partition
    connected: Connected
    prepared: PreparedEvents | None
    whole: bool = False

    def say(self) -> str:
        """What distinguishes it, in words."""
        if self.whole:
            left = ", ".join(self.constraints.rows[i].name for i in self.partition.redundant)
            return f"{left or 'no constraint'} left out as redundant"
        return f"{self.independent()} independent"

    def independent(self) -> str:
        def make() -> str:
            names = velocity_labels(self.constraints.tree.mechanism)
            inside = np.flatnonzero(self.constraints.pattern.any(axis=0))
            return ", ".join(names[k] for k in self.partition.independent if k in inside)

        return memory_of(self.constraints).get("said", self.partition.independent, make)


def say_singular(conditioning: Conditioning, way: PartitionChoice, q: np.ndarray, t: float, low: float) -> str:
    """Which loops are singular at q, and for which joints."""
    say = conditioning.say_rows if way.whole else conditioning.say
    return say(way.partition, q, t, low)


def solved_part(way: PartitionChoice) -> Rows:
    """The rows, and columns where not all, of J that the equations of a way solve."""
    return tuple(way.partition.rows), None if way.whole else tuple(way.partition.dependent)


def with_pivots(J: np.ndarray, way: PartitionChoice, sizes: np.ndarray) -> np.ndarray:
    """Singular values (n,) of a way at J (n, m, nv), or pivots given by hand that are smaller."""
    if way.whole or not way.partition.given:
        return sizes
    pivots = [[size for size, _, _ in given_pivots(one, way.partition)] for one in J]
    return np.array([min([size, *own]) for size, own in zip(sizes, pivots, strict=True)])
