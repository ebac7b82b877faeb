"""What the simulation benchmarks move: planar chains of rods, a spatial chain, the PUMA 560, a car with loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.dynamics_models import Body, Robot, robot
from symbody.model.build.builder import Builder
from symbody.model.load import load
from symbody.model.record.mechanism import WORLD, Mechanism

ROD_LENGTH, ROD_MASS, ROD_RADIUS = 0.3, 1.0, 0.01  # m, kg, m
GRAVITY = np.array([0.0, 0.0, -9.81])  # m/s^2


@dataclass(frozen=True)
class Case:
    """A Mechanism without inputs; `robot` has the same numbers for the peers, None where they cannot express it.

    seconds: how long it moves where end states are compared; chains of many rods forget their start sooner.
    longest: simulated seconds that a timed run may last; the spatial chain without friction leaves all bounds after 2 s
    by the semi-implicit Euler method, whoever does it.
    """

    name: str
    mechanism: Mechanism
    robot: Robot | None
    seconds: float
    longest: float = 60.0

    def start(self) -> np.ndarray:
        """(2 n,) bent, and at rest."""
        n = self.mechanism.nv
        return np.concatenate([0.3 * np.cos(np.arange(n)), np.zeros(n)])


def case(name: str) -> Case:
    """rods<n>, or a name of `dynamics_models.robot`, or the bundled car, whose loops none of the peers has."""
    if name.startswith("rods"):
        moved = rods(int(name[4:]))
        return Case(name, moved.mechanism, moved, 1.0 if moved.n <= 10 else 0.2)
    if name.startswith("car"):
        return Case(name, load(name), None, 3.0)
    moved = robot(name)
    return Case(name, moved.mechanism, moved, 1.0, 2.0 if name.startswith("chain") else 60.0)


def rods(n: int) -> Robot:
    """n equal rods hanging one from the other, on joints about y."""
    b = Builder(f"rods{n}")
    slender, twist = ROD_MASS * (3 * ROD_RADIUS**2 + ROD_LENGTH**2) / 12, ROD_MASS * ROD_RADIUS**2 / 2
    com, tensor = np.array([0.0, 0.0, -ROD_LENGTH / 2]), np.diag([slender, slender, twist])
    bodies = []
    for i in range(n):
        position = np.array([0.0, 0.0, -ROD_LENGTH if i else 0.0])
        b.body(f"rod{i + 1}", mass=ROD_MASS, com=list(com), inertia=[slender, 0, slender, 0, 0, twist])
        parent = f"rod{i}" if i else WORLD
        b.joint(f"joint{i + 1}", "revolute", parent, f"rod{i + 1}", position=list(position), axis="y")
        bodies.append(Body(i - 1, 1, np.eye(3), position, ROD_MASS, com, tensor, 0.0))
    return Robot(f"rods{n}", b.done(), tuple(bodies), GRAVITY)
