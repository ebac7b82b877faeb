"""Ticks of sampled controllers: at fixed instants, Systems give new values to what is held, and to their memory.

Between ticks what is held is constant; so it joins theta as further directions, which every tick gives anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.basics.errors import DefinitionError
from symbody.basics.memory import memory_of
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.motion.derivatives.variables import Variables
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.signals import InputSignals, Sampled, measured, measured_place
from symbody.motion.flow.sources import Control
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.system.system import System, node_array


@dataclass(frozen=True, eq=False)
class Tick:
    """Controller number `controller` is asked at t, in the state x (nx,) with its memory (k,), all of it end to end."""

    flow: Flow
    t: float
    x: np.ndarray
    u: np.ndarray
    controller: int
    memory: np.ndarray


@dataclass(frozen=True, eq=False)
class TickDerivative:
    """held (c, nx), (c, k), (c, n): new values by state, memory and theta; memory (k, nx), (k, k), (k, n) likewise."""

    held_x: np.ndarray
    held_m: np.ndarray
    held_theta: np.ndarray
    memory_x: np.ndarray
    memory_m: np.ndarray
    memory_theta: np.ndarray


class Controllers:
    """The sampled Systems of a run: where what they hold, and remember, stands among all of it.

    variables: what is differentiated by, if anything: parameters of the Systems may be among it
    """

    def __init__(self, signals: InputSignals, variables: Variables | None = None) -> None:
        self.all = list(signals.sampled)
        self.variables = Variables(()) if variables is None else variables
        self.columns = [[int(c) for c in one.line.columns] for one in self.all]
        self.held: list[slice] = []  # places of what each holds
        self.memories: list[slice] = []
        at = below = 0
        for one, columns in zip(self.all, self.columns):
            size = sum(int(a.size) for a in one.memory.values())
            self.held.append(slice(at, at + len(columns)))
            self.memories.append(slice(below, below + size))
            at, below = at + len(columns), below + size
        self.size, self.remembered = at, below

    def flat(self, k: int, memory: dict[str, np.ndarray]) -> np.ndarray:
        """Memory of controller k, end to end."""
        return np.concatenate([np.zeros(0), *(np.ravel(memory[n]) for n in self.all[k].memory)])

    def derivative(self, tick: Tick) -> TickDerivative:
        """At a tick."""
        one = self.all[tick.controller]
        source = one.line.source
        assert isinstance(source, Control)
        system = source.system
        reads = _reads(one, tick.flow)
        made, sizes = memory_of(system).get("tick_jacobian", (source.output,), lambda: _jacobian(system, source.output))
        kernel = kernel_of(made)
        states = tick.flow.layout.split(tick.x)
        memory, at = {}, 0
        for n in system.states:
            a = system.inputs[n]
            memory[n] = tick.memory[at : at + a.size].reshape(a.shape)
            at += a.size
        given = {
            n: memory[n] if n in memory else measured(tick.flow, states, tick.t, n, system.name) for n in system.inputs
        }
        whole = np.asarray(kernel(*(given[p.name] for p in kernel.inputs))).reshape(sum(sizes), -1)
        by_x = np.zeros((sum(sizes), len(tick.x)))
        by_memory = np.zeros((sum(sizes), at))
        column = 0
        remembered = 0
        for n, a in system.inputs.items():
            part = whole[:, column : column + a.size]
            if n in memory:
                by_memory[:, remembered : remembered + a.size] += part
                remembered += a.size
            elif n != "t":
                by_x[:, reads[n] : reads[n] + a.size] += part
            column += a.size
        by_theta = self._by_theta(system, whole[:, column:])
        held = sizes[0]
        return TickDerivative(
            by_x[:held], by_memory[:held], by_theta[:held], by_x[held:], by_memory[held:], by_theta[held:]
        )

    def _by_theta(self, system: System, rows: np.ndarray) -> np.ndarray:
        """(r, n) by theta, from rows (r, p) by all parameters of a System, end to end."""
        out = np.zeros((len(rows), self.variables.size))
        places, at = {}, 0
        for n, a in system.parameters.items():
            places[f"{system.name}.{n}"] = at
            at += a.size
        for v, part in zip(self.variables.items, self.variables.slices().values(), strict=True):
            if v.kind == "controller" and v.owner in places:
                out[:, part] = rows[:, [places[v.owner] + k for k in v.places]]
        return out


def _reads(one: Sampled, flow: Flow) -> dict[str, int]:
    """Input of a controller -> where it stands in x."""
    source = one.line.source
    assert isinstance(source, Control)
    system = source.system
    return {
        n: measured_place(flow, n, a.size, system.name)
        for n, a in system.inputs.items()
        if n not in system.states and n != "t"
    }


def _jacobian(system: System, output: str) -> tuple[System, tuple[int, int]]:
    """Derivatives of a controller's output, then of its next memory, by all its inputs, then by all its parameters; and
    how many rows each has."""
    memory = [x for rate in system.states.values() for x in system.output(rate).flat]
    nodes = [*system.output(output).flat, *memory]
    order = [n for n in system.inputs if n in system.states]
    if order != list(system.states):
        raise DefinitionError(f"controller {system.name!r} has its states in another order among its inputs.")
    symbols = [s for arrays in (system.inputs, system.parameters) for a in arrays.values() for s in a.flat]
    matrix = jacobian(nodes, symbols)
    made = System(
        f"{system.name}_tick",
        inputs=system.inputs,
        outputs={"J": node_array(matrix.reshape(-1), system.graph)},
        parameters=system.parameters,
        defaults=system.defaults,
    )
    return made, (len(nodes) - len(memory), len(memory))
