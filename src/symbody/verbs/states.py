"""Random states of a Mechanism and numbers for its parameters: the points at which Systems are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.codegen.compile import compile_system
from symbody.expr.arrays import matmul
from symbody.formalisms.kinematics import kinematic_map
from symbody.formalisms.tree import build_tree
from symbody.model.mechanism import Mechanism
from symbody.system.system import System


class States:
    """q, qd, qdd of `count` random states, and what any System of the Mechanism needs besides.

    Coordinates and rates lie in [-1, 1], quaternions have unit length. Parameters take their defaults; one without a
    default, and any further input, takes a number that depends on its name and the seed alone, the same in all Systems.

    values: numbers for parameters in place of these, by name
    """

    def __init__(
        self, mechanism: Mechanism, count: int, seed: int = 0, values: Mapping[str, float] | None = None
    ) -> None:
        rng = np.random.default_rng(seed)
        self.mechanism, self.seed, self.values = mechanism, seed, dict(values or {})
        self.q = random_positions(mechanism, count, rng)
        self.qd = rng.uniform(-1, 1, (count, mechanism.nv))
        self.qdd = rng.uniform(-1, 1, (count, mechanism.nv))

    def evaluate(self, system: System, target: str = "python", **given: Any) -> Any:
        """Outputs of a System at the states; `given` replaces or adds inputs."""
        known = {"q": self.q, "qd": self.qd, "qdd": self.qdd, **given}
        inputs = {n: known[n] if n in known else self._number(n, a.shape, 0.0) for n, a in system.inputs.items()}
        return compile_system(system, target)(**inputs, parameters=self.parameters(system))

    def parameters(self, system: System) -> dict[str, Any]:
        """Values of all parameters: given, the default, or a number in [0.5, 1.5]."""
        out = {}
        for name, array in system.parameters.items():
            known = self.values.get(name, system.default(name))
            out[name] = self._number(name, array.shape, 1.0) if known is None else np.reshape(known, array.shape)
        return out

    def number(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """What `evaluate` takes for an input that is not given."""
        return self._number(name, shape, 0.0)

    def _number(self, name: str, shape: tuple[int, ...], centre: float) -> np.ndarray:
        digest = hashlib.sha256(f"{self.seed} {name}".encode()).digest()
        return np.full(shape, centre - 0.5 + int.from_bytes(digest[:4], "big") / 2**32)

    def after(self, h: complex) -> tuple[np.ndarray, np.ndarray]:
        """(q, qd) on a smooth curve that has the right rates at h = 0; imaginary for a complex step."""
        system = rates(self.mechanism)
        moved = self.q + h * self.evaluate(system)
        return moved, self.qd + h * self.qdd


def rates(mechanism: Mechanism) -> System:
    """The System (q, qd) -> q_dot = N(q) qd."""
    tree = build_tree(mechanism)
    q_dot = matmul(kinematic_map(tree), tree.qd) if len(tree.qd) else tree.qd
    return System("rates", inputs={"q": tree.q, "qd": tree.qd}, outputs={"q_dot": q_dot})


def random_positions(mechanism: Mechanism, count: int, rng: np.random.Generator) -> np.ndarray:
    """(count, nq) coordinates in [-1, 1] with unit quaternions."""
    q = rng.uniform(-1, 1, (count, mechanism.nq))
    tree = build_tree(mechanism)
    index = {s: k for k, s in enumerate(tree.q)}
    for link in tree.links:
        if link.kind in "BF":
            first = index[link.q[-4]]
            part = rng.normal(size=(count, 4))
            q[:, first : first + 4] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return q
