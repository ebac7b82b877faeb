"""States at which programs are judged, taken by the reference, and numbers for parameters and inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.basics.errors import ShapeError, array_argument
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.model.library.force_elements import FORCE_ELEMENTS
from symbody.model.record.mechanism import Mechanism
from symbody.reference.bodies import NumericModel, coordinates
from symbody.reference.body_dynamics import BodyMotion
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System


class States:
    """q, qd, qdd of `count` random states, and what any System of the Mechanism needs besides.

    Coordinates and rates lie in [-1, 1], quaternions have unit length. Parameters take their defaults; one without a
    default, and any further input, takes a number that depends on its name and the seed alone, the same in all Systems.

    values: numbers for parameters in place of these, by name
    at: positions (nq,) or (k, nq) of the user, which come before the random ones
    """

    def __init__(
        self, mechanism: Mechanism, count: int, seed: int = 0, values: Mapping[str, float] | None = None, at: Any = None
    ) -> None:
        rng = np.random.default_rng(seed)
        self.mechanism, self.seed, self.values = mechanism, seed, dict(values or {})
        known = {n: self.values.get(n, s.data.default) for n, s in mechanism.parameters.items()}
        numbers = {n: float(self._number(n, (), 1.0)) if v is None else float(v) for n, v in known.items()}
        rows = {f.kind: FORCE_ELEMENTS[f.kind] for f in mechanism.forces}
        self.model = NumericModel(mechanism, numbers, {kind: row for kind, row in rows.items() if callable(row.law)})
        self.modes = {
            f"m_{identifier(f.name)}{f'_{n}' if n else ''}": tuple(mode.values)
            for f in mechanism.forces
            for n, mode in rows[f.kind].modes.items()
        }
        self.t = float(self.number("t", ()))
        self.given = given_positions(self.model, at)
        self.q = np.concatenate([self.given, random_positions(self.model, count, rng)])
        self.qd = rng.uniform(-1, 1, (len(self.q), self.model.nv))
        self.qdd = rng.uniform(-1, 1, (len(self.q), self.model.nv))

    def motion(self, **changed: Any) -> BodyMotion:
        """The states for the reference; q, qd, qdd in place of those here."""
        known = {"q": self.q, "qd": self.qd, "qdd": self.qdd, **changed}
        count = len(np.atleast_2d(known["q"]))

        def inputs(name: str, shape: tuple[int, ...]) -> np.ndarray:
            return self._mode(name, count) if name in self.modes else self.number(name, shape)

        return BodyMotion(self.model, known["q"], known["qd"], known["qdd"], self.t, inputs)

    def evaluate(self, system: System, target: str = "python", **given: Any) -> Any:
        """Outputs of a System at the states; `given` replaces or adds inputs."""
        return kernel_of(system, target)(**self._inputs(system, given), parameters=self.parameters(system))

    def evaluate_with_status(self, system: System, **given: Any) -> tuple[Any, np.ndarray]:
        """Outputs, and whether every implicit block says that it has converged, (states,)."""
        kernel = kernel_of(system, "python")
        found, status = kernel.call_with_status(**self._inputs(system, given), parameters=self.parameters(system))
        return found, np.broadcast_to(np.all(np.asarray(status) > 0, axis=-1), (len(self.q),))

    def _inputs(self, system: System, given: Mapping[str, Any]) -> dict[str, Any]:
        known = {"q": self.q, "qd": self.qd, "qdd": self.qdd, "t": self.t, **given}
        count = len(np.atleast_2d(known["q"]))
        known |= {n: self._mode(n, count) for n in self.modes if n not in known}
        return {n: known[n] if n in known else self._number(n, a.shape, 0.0) for n, a in system.inputs.items()}

    def _mode(self, name: str, count: int) -> np.ndarray:
        """(count,) all values of a mode in turn, so that each is judged."""
        return np.resize(np.array(self.modes[name], dtype=float), count)

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
        return self.q + h * self.rates(self.qd), self.qd + h * self.qdd

    def rates(self, qd: np.ndarray) -> np.ndarray:
        """q_dot = N(q) qd."""
        return coordinates(self.model, self.q, qd).x1


def given_positions(model: NumericModel, at: Any) -> np.ndarray:
    """(k, nq) positions of the user, quaternions of unit length; none where nothing is given."""
    if at is None:
        return np.zeros((0, model.nq))
    q = np.atleast_2d(array_argument("at", at, "positions (nq,) or (k, nq)"))
    if q.ndim != 2 or q.shape[-1] != model.nq or not np.all(np.isfinite(q)):
        raise ShapeError(
            f"at has shape {np.shape(at)}; expected finite positions (nq,) or (k, nq) with nq = {model.nq}."
        )
    return model.normalised(q)


def random_positions(model: NumericModel, count: int, rng: np.random.Generator) -> np.ndarray:
    """(count, nq) coordinates in [-1, 1] with unit quaternions."""
    q = rng.uniform(-1, 1, (count, model.nq))
    for first in model.quaternions:
        q[:, first : first + 4] = rng.normal(size=(count, 4))
    return model.normalised(q)


def states_after(point: States, system: System, result: Any, h: complex) -> dict[str, Any]:
    """States of force elements a little later; result: what the System gave, with their derivatives."""
    return {n: point.number(n, system.inputs[n].shape) + h * getattr(result, d) for n, d in system.states.items()}
