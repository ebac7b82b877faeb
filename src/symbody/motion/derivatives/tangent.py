"""Tangents: a Flow with the derivative of its motion along one direction as further states, made by the engine.

Of x' = f(t, x, u, p) along (dx, du, dp): x' = f and dx' = f_x dx + f_u du + f_p dp. A Runge-Kutta step of both is the
step of x and its derivative along the direction, exactly; so the adjoint of these steps gives second derivatives of the
run as it steps (Griewank and Walther 2008, ch. 5). What belongs to the direction is named as what it belongs to, with
ALONG in front: states, signals and parameters alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from symbody.basics.memory import memory_of
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.motion.derivatives.machine import Machine
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.flow_kernels import kernels
from symbody.motion.march.march_ports import STEP_LENGTH
from symbody.symbolic.expr.arrays import scalar_array
from symbody.symbolic.expr.derivative import jvp
from symbody.symbolic.expr.node import Node
from symbody.symbolic.system.system import System

ALONG = "along "  # no identifier begins so
FIXED = ("t", STEP_LENGTH)  # inputs that no direction moves


def along_symbols(system: System) -> dict[str, np.ndarray]:
    """Symbols of the direction: for each input and parameter, an array of its shape."""
    graph = system.graph
    out: dict[str, np.ndarray] = {}
    for role, arrays in (("input", system.inputs), ("parameter", system.parameters)):
        for name, array in arrays.items():
            if role == "input" and name in FIXED:
                continue
            made = np.empty(array.shape, dtype=object)
            for k in range(array.size):
                own = f"{ALONG}{name}" if array.size == 1 else f"{ALONG}{name}_{k + 1}"
                made.flat[k] = graph.symbol(own, role, default=0.0 if role == "parameter" else None)
            out[name] = made if array.shape else scalar_array(made.item())
    return out


def tangent_nodes(system: System, nodes: Sequence[Node]) -> list[Node]:
    """Derivatives of nodes over the symbols of a System along its direction."""
    along = along_symbols(system)
    pairs = [
        (s, d)
        for arrays in (system.inputs, system.parameters)
        for n, a in arrays.items()
        if arrays is system.parameters or n not in FIXED
        for s, d in zip(a.flat, along[n].flat, strict=True)
    ]
    return jvp(list(nodes), [s for s, _ in pairs], [d for _, d in pairs])


def tangent_system(
    system: System, outputs: Mapping[str, np.ndarray], states: Sequence[str], derivatives: Mapping[str, str]
) -> System:
    """The outputs, and after them their derivatives along the direction.

    states        inputs that come first, before their directions; then t, then the rest and its directions
    derivatives   name of an output -> name of its derivative
    """
    along = along_symbols(system)
    nodes = [x for a in outputs.values() for x in a.flat]
    left = iter(tangent_nodes(system, nodes))
    made: dict[str, np.ndarray] = dict(outputs)
    for name, array in outputs.items():
        part = np.empty(array.shape, dtype=object)
        for k in range(array.size):
            part.flat[k] = next(left)
        made[derivatives[name]] = part if array.shape else scalar_array(part.item())
    own = [n for n in states if n in system.inputs]
    fixed = [n for n in FIXED if n in system.inputs]
    rest = [n for n in system.inputs if n not in own and n not in fixed]
    inputs = {n: system.inputs[n] for n in own} | {ALONG + n: along[n] for n in own}
    inputs |= {n: system.inputs[n] for n in (*fixed, *rest)} | {ALONG + n: along[n] for n in rest}
    return System(
        f"{system.name}_along",
        inputs=inputs,
        outputs=made,
        parameters={**system.parameters, **{ALONG + n: along[n] for n in system.parameters}},
        defaults={**system.defaults, **{ALONG + n: np.zeros(a.shape) for n, a in system.parameters.items()}},
        clocks=system.clocks,
    )


def tangent_flow(flow: Flow) -> Flow:
    """States x, then their derivatives; signals u, then theirs; so its x and u are both end to end."""

    def make() -> Flow:
        rates = flow.rates
        names = dict(rates.states)
        outputs = {rate: rates.output(rate) for rate in names.values()}
        made = tangent_system(rates, outputs, flow.states, {rate: ALONG + rate for rate in names.values()})
        made = made.replace(states={**names, **{ALONG + n: ALONG + rate for n, rate in names.items()}})
        project = flow.project
        if project is not None:
            corrected = {n: project.outputs[n] for n in flow.states if n in project.outputs}
            project = tangent_system(project, corrected, flow.states, {n: ALONG + n for n in corrected})
        second = (*flow.second, *((ALONG + q, ALONG + v) for q, v in flow.second))
        return Flow(made, project, second=second, name=flow.name)

    return memory_of(flow).get("tangent_flow", (), make)


class TangentMachine(Machine):
    """The programs of a Machine for the steps and their derivatives along a direction.

    Of explicit Runge-Kutta methods, and of maps that carry nothing from step to step.
    """

    def __init__(self, machine: Machine) -> None:
        self.flow = self.plain = tangent_flow(machine.flow)
        self.n_states = self.nx = self.flow.nx
        self.table, self.node = machine.table, machine.node
        self.step = None
        if machine.step is not None:
            outputs = {n: machine.step.output(n) for n in machine.flow.states}
            self.step = tangent_system(machine.step, outputs, machine.flow.states, {n: ALONG + n for n in outputs})
        made = kernels(self.flow)
        self.project = made.get("project")
        self.rates = made["rates"] if self.step is None else None
        self.step_kernel = None if self.step is None else kernel_of(self.step)
        self.states = dict(self.flow.rates.states)


def tangent_machine(machine: Machine) -> TangentMachine:
    """Made once."""
    return memory_of(machine).get("tangent", (), lambda: TangentMachine(machine))
