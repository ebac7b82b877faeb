"""LoopGuards: numbers of closed loops that are looked at after every step of a run, whatever is recorded.

    measure  what the solution for the dependent joints divides by; it is compared with levels that move during a run
    gap      how far each row is from closed, m or rad: all rows, those that a partition left out as redundant too

Native loops evaluate them as further guards: a step in which one of these crosses zero ends the stretch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.motion.flow.flow import Flow, shared_inputs
from symbody.motion.flow.flow_kernels import FlowKernels
from symbody.symbolic.expr.arrays import scalar_array
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.system.system import System, node_array

OPEN = 1e-6  # of the mechanism's length (m), and rad: a loop that is farther from closed has opened
LOOSELY = 1e-3  # the same where only Baumgarte's terms, or accelerations, hold the loops
TURN = 0.5  # rad, m: of the fastest joint in one step
NAME = "watch_level"  # of the guards' parameters


@dataclass(frozen=True, eq=False)
class Levels:
    """(k,) inverse levels of the measures with the sign that they should have, and inverse ceilings; 0: none."""

    down: np.ndarray
    up: np.ndarray


class LoopGuards:
    """The guards of a Flow's loops.

    In order: of each measure one that falls through zero below its level, one that rises through zero above its
    ceiling; and one that falls where a loop opens. Levels are part of a run's state.

    bounds    (m,) m or rad, beyond which a row is open
    """

    def __init__(self, flow: Flow, parameters: Mapping[str, Any], bounds: np.ndarray) -> None:
        assert flow.watch is not None
        self.flow, self.parameters, self.bounds = flow, dict(parameters), bounds
        self.loops, self.units = flow.labels["watch"], flow.units["watch"]
        self.measures = int(flow.watch.outputs["measure"].size)
        self._kernels = FlowKernels(flow, parameters)

    def of(self, flow: Flow) -> LoopGuards:
        """The guards, with these bounds, of another partition's Flow."""
        return self if flow is self.flow else LoopGuards(flow, self.parameters, self.bounds)

    def no_levels(self) -> Levels:
        """Where only open loops count."""
        return Levels(np.zeros(self.measures), np.zeros(self.measures))

    def numbers(self, levels: Levels) -> dict[str, float]:
        """Parameters of the native guards."""
        values = [*levels.down, *levels.up]
        out = {f"{NAME}_{i + 1}": float(v) for i, v in enumerate(values)}
        for unit, bound in _by_unit(self.units, self.bounds).items():
            out[f"{NAME}_{_word(unit)}"] = 1 / bound
        return out

    def values(self, levels: Levels, t: float, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """(2 k + 1,) the guards at a state (nx,)."""
        measure, gap = self.measured(t, x, u)
        share = gap / self.bounds
        return np.concatenate([measure * levels.down - 1, measure * levels.up - 1, [1 - float(share @ share)]])

    @property
    def directions(self) -> np.ndarray:
        """(2 k + 1,) of -1, 1: which crossings count."""
        k = self.measures
        return np.concatenate([np.full(k, -1), np.full(k, 1), [-1]]).astype(int)

    def longest(self, x: np.ndarray) -> float:
        """s, of a step from the state x (nx,): at its speeds no joint turns or slides farther than TURN."""
        speed = float(np.abs(x[self.flow.slices["qd"]]).max(initial=0.0))
        return TURN / speed if speed > 0 else np.inf

    # -- numbers at states

    def measured(self, t: Any, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(measure (..., k), gap (..., m)) at states (..., nx) with the signals u (..., nu); a gap without value is
        infinite."""
        named = self._kernels.call("watch", np.asarray(t, dtype=float), x, u)
        shape = x.shape[:-1]
        measure, gap = (np.broadcast_to(a, (*shape, np.shape(a)[-1])) for a in (named["measure"], named["gap"]))
        return finite_measures(measure, gap)

    def say_open(self, t: float, gap: np.ndarray) -> str:
        """Which loop is open, by how much, and what to do, from the gaps (m,) at t; "" where all are closed."""
        share = gap / self.bounds
        if float(share @ share) <= 1:
            return ""
        worst = int(np.argmax(share))
        size = share[worst] * self.bounds[worst]
        return (
            f"at t = {t:.6g} s loop {self.loops[worst]!r} has opened by {size:.3g} {self.units[worst]} (allowed "
            f"{self.bounds[worst]:.1g}): what is computed from there on is not the motion of the closed mechanism. "
            "Start from another position or assembly, take a smaller step, another partition, or "
            "closing=sb.Augmented()."
        )


def finite_measures(measure: np.ndarray, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Measures, 0 where they have no value, and sizes of gaps, infinite there."""
    gap = np.abs(gap)
    if not np.isfinite(measure).all() or not np.isfinite(gap).all():
        measure, gap = np.nan_to_num(measure, nan=0.0), np.nan_to_num(gap, nan=np.inf)
    return measure, gap


def bounds_of(units: Sequence[str], length: float, loosely: bool) -> np.ndarray:
    """(m,) beyond which a row counts as open. length: of the mechanism, m."""
    share = LOOSELY if loosely else OPEN
    return np.array([share * (length if unit == "m" else 1.0) for unit in units])


def guarded(flow: Flow) -> System:
    """The events' guards of a Flow, and after them those of its loops, as one System."""
    assert flow.watch is not None
    inputs = shared_inputs(flow.rates)
    graph = flow.rates.graph
    nodes: list[Any] = []
    if flow.guards is not None:
        nodes += np.array(flow.guards.apply(**{n: inputs[n] for n in flow.guards.inputs}), dtype=object).flat
    found = flow.watch.apply(**{n: inputs[n] for n in flow.watch.inputs})
    measure, gap = (np.array(found[n], dtype=object).reshape(-1) for n in ("measure", "gap"))
    for i, value in enumerate([*measure, *measure]):
        nodes.append(value * _level(graph, str(i + 1)) - 1)
    squares: Any = 0
    units = list(flow.units["watch"])
    for unit in dict.fromkeys(units):
        own = [g for g, u in zip(gap, units, strict=True) if u == unit]
        squares = squares + sum(g * g for g in own) * _level(graph, _word(unit)) ** 2
    nodes.append(1 - squares)
    names = [*(str(i + 1) for i in range(2 * len(measure))), *map(_word, dict.fromkeys(units))]
    levels = {f"{NAME}_{n}": scalar_array(_level(graph, n)) for n in names}  # all, whether they occur or not
    return System(
        f"{flow.rates.name}_guarded", inputs=inputs, outputs={"guard": node_array(nodes, graph)}, parameters=levels
    )


def _level(graph: Graph, name: str) -> Any:
    return graph.symbol(f"{NAME}_{name}", "parameter")


def _word(unit: str) -> str:
    """A name for the bound of gaps in a unit; that of "1" is not the name of the first level."""
    return "open_" + ("".join(c for c in unit if c.isalnum()) or "none")


def _by_unit(units: Sequence[str], bounds: np.ndarray) -> dict[str, float]:
    return {unit: float(bound) for unit, bound in zip(units, bounds, strict=True)}
