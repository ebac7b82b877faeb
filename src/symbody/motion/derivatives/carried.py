"""Methods that carry more than the state from step to step: their steps as maps of the state and of what is carried.

verlet, symplectic4    the rates at the end of a step are those with which the next begins (where nothing corrects the
                       states in between): velocities half a step, positions the whole, velocities the other half
generalized_alpha      accelerations, and the like of them by which it averages
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from symbody.basics.errors import DefinitionError
from symbody.motion.flow.flow import Flow, shared_inputs
from symbody.motion.march.ir.splitting import DRIFTS
from symbody.motion.march.march_ports import STEP_LENGTH
from symbody.motion.march.method_tables import METHODS, Splitting
from symbody.motion.methods.implicit_step import start_system, step_system
from symbody.symbolic.expr.arrays import scalar_array
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import substitute
from symbody.symbolic.system.system import System

ALPHA = "generalized_alpha"
RATE = "rate of "  # begin of the names of rates that are carried; no identifier begins so


@dataclass(frozen=True, eq=False)
class Carrying:
    """flow: with what is carried as further states; step: the map over all of them; start: what is carried where a
    motion begins, of the states before; None where nothing is carried. node: fraction of the step at which signals
    are read."""

    flow: Flow
    step: System
    start: System | None
    node: float


def carries(method: str) -> bool:
    """Whether a method may carry more than the state."""
    found = METHODS.get(method)
    return method == ALPHA or (isinstance(found, Splitting) and bool(found.substeps))


def carrying(flow: Flow, method: str) -> Carrying:
    """The steps of a method. flow: with its integrals."""
    if method == ALPHA:
        step, start = step_system(flow, ALPHA), start_system(flow, ALPHA)
        assert start is not None
        shapes = {n: a.shape for n, a in start.outputs.items()}
        return Carrying(_with_states(flow, shapes), step, start, max(step.clocks.values(), default=0.0))
    table = METHODS[method]
    assert isinstance(table, Splitting)
    if not flow.second:
        raise DefinitionError(f"{flow.name} has no positions and velocities; take another method.")
    split = _Split(flow, table)
    if flow.project is not None:  # rates are made anew after it
        return Carrying(flow, split.step({n: split.rate(n) for n in split.kicked}), None, 1.0)
    rates = flow.rates
    names = {n: RATE + n for n in split.kicked}
    held = {names[n]: _symbols(rates, names[n], rates.inputs[n].shape) for n in split.kicked}
    step = split.step({n: list(held[names[n]].flat) for n in split.kicked}, held)
    outputs = {names[n]: _shaped(split.rate(n), rates.inputs[n].shape) for n in split.kicked}
    start = System(
        f"{rates.name}_start",
        inputs=rates.inputs,
        outputs=outputs,
        parameters=rates.parameters,
        defaults=rates.defaults,
    )
    return Carrying(_with_states(flow, {n: a.shape for n, a in held.items()}), step, start, 1.0)


class _Split:
    """Steps of a splitting method over the symbols of a Flow's rates."""

    def __init__(self, flow: Flow, table: Splitting) -> None:
        self.flow, self.table, self.rates = flow, table, flow.rates
        self.positions = [q for q, _ in flow.second]
        self.kicked = [n for n in flow.states if n not in self.positions]
        self.h = self.rates.graph.symbol(STEP_LENGTH, "input")
        self.time = shared_inputs(self.rates)["t"].item()

    def rate(self, name: str) -> list[Node]:
        """Rates of a state as expressions of the symbols."""
        return list(self.rates.output(self.rates.states[name]).flat)

    def step(self, rates: Mapping[str, Sequence[Node]], held: Mapping[str, np.ndarray] | None = None) -> System:
        """The map. rates: at the beginning, of what is kicked; held: their symbols, where they are carried."""
        x = {n: list(self.rates.inputs[n].flat) for n in self.flow.states}
        before = {n: list(rates[n]) for n in self.kicked}
        for start, w, end in self.table.spans():
            x = self._kick(x, before, w / 2)
            x = self._drift(x, start, w)
            tried, now = self._kick(x, before, w / 2), before
            for _ in range(self.table.evaluations):
                now = {n: self._at(self.rate(n), tried, end) for n in self.kicked}
                tried = self._kick(x, now, w / 2)
            x, before = tried, now
        inputs = shared_inputs(self.rates)
        outputs = {n: _shaped(x[n], self.rates.inputs[n].shape) for n in self.flow.states}
        if held is not None:
            outputs |= {RATE + n: _shaped(before[n], self.rates.inputs[n].shape) for n in self.kicked}
        own = {n: inputs.pop(n) for n in self.flow.states}
        return System(
            f"{self.rates.name}_{self.table.name}",
            inputs={**own, **(held or {}), "t": inputs.pop("t"), STEP_LENGTH: np.array(self.h, dtype=object), **inputs},
            outputs=outputs, parameters=self.rates.parameters, defaults=self.rates.defaults,
        )  # fmt: skip

    def _at(self, nodes: Sequence[Node], x: Mapping[str, Sequence[Node]], fraction: float) -> list[Node]:
        swap = {s: v for n in self.flow.states for s, v in zip(self.rates.inputs[n].flat, x[n], strict=True)}
        return list(substitute(list(nodes), {**swap, self.time: self.time + fraction * self.h}))

    def _kick(
        self, x: Mapping[str, Sequence[Node]], rates: Mapping[str, Sequence[Node]], w: float
    ) -> dict[str, list[Node]]:
        moved = {n: [a + w * self.h * k for a, k in zip(x[n], rates[n], strict=True)] for n in self.kicked}
        return {**{n: list(a) for n, a in x.items()}, **moved}

    def _drift(self, x: Mapping[str, Sequence[Node]], start: float, w: float) -> dict[str, list[Node]]:
        """Positions at constant velocities: by Runge and Kutta where their rates are not the velocities."""
        table = DRIFTS[self.table.drift]
        stages: list[dict[str, list[Node]]] = []

        def moved(weights: Sequence[float]) -> dict[str, list[Node]]:
            out = {n: list(a) for n, a in x.items()}
            for q in self.positions:
                for b, stage in zip(weights, stages):
                    if b:
                        out[q] = [a + (w * b) * self.h * k for a, k in zip(out[q], stage[q], strict=True)]
            return out

        for a, c in zip(table.a, table.c):
            there = moved(a)
            stages.append({q: self._at(self.rate(q), there, start + c * w) for q in self.positions})
        return moved(table.b)


def _symbols(rates: System, name: str, shape: tuple[int, ...]) -> np.ndarray:
    size = int(np.prod(shape, dtype=int))
    made = [rates.graph.symbol(name if not shape else f"{name}_{k + 1}", "state") for k in range(size)]
    return _shaped(made, shape)


def _shaped(nodes: Sequence[Node], shape: tuple[int, ...]) -> np.ndarray:
    out = np.empty(shape, dtype=object)
    for k, node in enumerate(nodes):
        out.flat[k] = node
    return out


def _with_states(flow: Flow, shapes: Mapping[str, tuple[int, ...]]) -> Flow:
    """The Flow with further states, after its own; only their places matter, the map moves them."""
    rates = flow.rates
    inputs, graph = shared_inputs(rates), rates.graph
    own = {n: inputs.pop(n) for n in flow.states}
    more = {n: _symbols(rates, n, shape) for n, shape in shapes.items()}
    states = {**rates.states, **{n: f"rate of {n}" for n in shapes}}
    outputs = {**rates.outputs}
    for n, shape in shapes.items():
        zeros = [graph.zero] * int(np.prod(shape, dtype=int))
        outputs[f"rate of {n}"] = _shaped(zeros, shape) if shape else scalar_array(graph.zero)
    made = System(
        f"{rates.name}_carried",
        inputs={**own, **more, **inputs},
        outputs=outputs,
        states=states,
        parameters=rates.parameters,
        defaults=rates.defaults,
    )
    project = flow.project
    if project is not None:
        passed = {n: _symbols(project, n, shape) for n, shape in shapes.items()}
        project = project.replace(inputs={**project.inputs, **passed})
    return flow.replace(rates=made, project=project)
