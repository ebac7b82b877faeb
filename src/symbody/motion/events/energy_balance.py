"""Energy of a mechanism that nothing drives: what must hold through passages where the equations say nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from symbody.mechanics.memoised.kernels import kernel_of
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.model.record.mechanism import Mechanism
from symbody.motion.flow.dry_friction import energy_with_slope
from symbody.motion.flow.flow import Flow

PLACES, WEIGHTS = np.polynomial.legendre.leggauss(8)


class EnergyBalance:
    """kinetic + potential energy (J) of states, and the work of forces between two of them; made when first asked."""

    def __init__(self, mech: Mechanism, parameters: Mapping[str, Any], slow: float = 0.0) -> None:
        self.mech, self.parameters, self.slow = mech, dict(parameters), slow
        self._kernel: Any = None

    def of(self, flow: Flow, t: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(kinetic, potential (J), power less what is dissipated (W)) at states (..., nx) and times (...,)."""
        if self._kernel is None:
            system = energy_with_slope(self.mech, self.slow)
            names = ("kinetic", "potential", "power", "dissipated")
            chosen = derived_of(self.mech).system(
                ("energy_balance", self.slow), lambda: system.replace(outputs={n: system.outputs[n] for n in names})
            )
            self._kernel = kernel_of(chosen)
        states = {**flow.layout.split(x), "t": np.asarray(t, dtype=float)}
        given = {p.name: states.get(p.name, np.zeros(p.shape)) for p in self._kernel.inputs}
        known = {p.name for p in self._kernel.parameters}
        own = {n: v for n, v in self.parameters.items() if n in known}
        found = self._kernel.call_with_status(**given, parameters=own or None)[0]
        kinetic, potential, power, dissipated = (np.broadcast_to(a, x.shape[:-1]) for a in found)
        return kinetic, potential, power - dissipated

    def work(self, flow: Flow, t0: float, t1: float, path: Callable[[float], np.ndarray]) -> float:
        """J, of all that is not stored, along a path of states."""
        times = (t0 + t1) / 2 + (t1 - t0) / 2 * PLACES
        power = self.of(flow, times, np.array([path(float(s)) for s in times]))[2]
        return float((t1 - t0) / 2 * (WEIGHTS @ power))
