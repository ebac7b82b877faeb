"""Any System with states about a point: A, B, C, D by its Jacobian."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, ModelError
from symbody.codegen.compile import compile_system
from symbody.studies.linear.operating_point import split_inputs
from symbody.studies.linear.state_space import StateSpace
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.node import Node
from symbody.symbolic.system.parameter_numbers import check_number, real_number
from symbody.symbolic.system.system import System, node_array


def linear_system(
    system: System,
    x0: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> StateSpace:
    """x' = A x + B u, y = C x + D u of the increments about a point, by raw partial derivatives.

    x0, inputs   values by name; zero where none is given. t is no input of the result. y are the outputs that are not
                 rates of states; without any, the states themselves.
    """
    for name, value in (parameters or {}).items():
        if name in system.parameters:
            check_number(name, real_number(name, value), all(s.data.nonzero for s in system.parameters[name].flat))
    made = jacobian_matrices(system)
    known = {n: a for n, a in system.inputs.items() if n in system.states}
    other = {n: a for n, a in system.inputs.items() if n not in system.states}
    values = split_inputs(x0 or {}, known, "state", system.name) | split_inputs(
        inputs or {}, other, "input", system.name
    )
    wanted = {name: x for name, x in made.items() if x.size}
    derived = system.replace(
        outputs=wanted,
        states={},
        guards={},
        resets={},
        residuals={},
        units={},
        origins={},
        name=f"{system.name}_linear",
    )
    found = compile_system(derived, level="quick", lanes=1)(**values, parameters=dict(parameters or {}))
    numbers = dict(zip(wanted, [found] if len(wanted) == 1 else found, strict=True))
    matrices = {name: np.asarray(numbers.get(name, np.zeros(x.shape)), dtype=float) for name, x in made.items()}
    for name, matrix in matrices.items():
        if not np.all(np.isfinite(matrix)):
            raise ModelError(f"{name} of System {system.name!r} is not finite at this point; move the point.")
    a, b, c, d = (matrices[k] for k in "ABCD")
    names = names_of(system)
    return StateSpace(a, b, c, d, names["states"], names["inputs"], names["outputs"])


def jacobian_matrices(system: System) -> dict[str, np.ndarray]:
    """A, B, C, D as arrays of nodes."""
    if not system.states:
        raise DefinitionError(f"System {system.name!r} has no states; expected states={{state: its rate}}.")
    graph = system.graph
    x = [s for n in system.states for s in system.inputs[n].flat]
    u = [s for n in signals(system) for s in system.inputs[n].flat]
    rates = [r for n in system.states.values() for r in system.outputs[n].flat]
    shown = observed(system)
    y: list[Node] = [r for n in shown for r in system.outputs[n].flat] if shown else x
    a, b = _jacobian(rates, x, graph), _jacobian(rates, u, graph)
    return {"A": a, "B": b, "C": _jacobian(y, x, graph), "D": _jacobian(y, u, graph)}


def signals(system: System) -> list[str]:
    """Inputs that are neither states nor time."""
    return [n for n in system.inputs if n not in system.states and n != "t"]


def observed(system: System) -> list[str]:
    """Outputs that are not rates of states."""
    return [n for n in system.outputs if n not in system.states.values()]


def names_of(system: System) -> dict[str, tuple[str, ...]]:
    """Names of the components of states, inputs and outputs."""
    states = _components(system.inputs, system.states)
    shown = _components(system.outputs, observed(system))
    return {"states": states, "inputs": _components(system.inputs, signals(system)), "outputs": shown or states}


def _components(arrays: Mapping[str, np.ndarray], chosen: Any) -> tuple[str, ...]:
    out: list[str] = []
    for n in chosen:
        out += [n] if arrays[n].size == 1 else [f"{n}.{k + 1}" for k in range(arrays[n].size)]
    return tuple(out)


def _jacobian(f: list[Node], x: list[Node], graph: Any) -> np.ndarray:
    return node_array(jacobian(f, x), graph).reshape(len(f), len(x))
