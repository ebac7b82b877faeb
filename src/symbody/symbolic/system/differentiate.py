"""Systems of derivatives of Systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import ShapeError
from symbody.symbolic.expr import derivative
from symbody.symbolic.expr.node import Node
from symbody.symbolic.system.system import System, node_array


def jacobian_system(system: System, output: str, variable: str) -> System:
    """The raw partial derivative, of shape output.shape + variable.shape."""
    f, x = system.output(output), system.argument(variable)
    matrix = derivative.jacobian(f.flat, list(x.flat))
    return _derived(system, f"d{output}_d{variable}", matrix.reshape(f.shape + x.shape))


def gradient_system(system: System, output: str, variable: str) -> System:
    """Gradient of a scalar output, of the shape of the variable, by reverse accumulation."""
    f, x = _scalar(system, output), system.argument(variable)
    nodes = derivative.gradient(f, list(x.flat))
    return _derived(system, f"d{output}_d{variable}", _shaped(nodes, x.shape))


def hessian_system(system: System, output: str, variable: str) -> System:
    """Second derivatives of a scalar output, of shape variable.shape * 2."""
    f, x = _scalar(system, output), system.argument(variable)
    return _derived(system, f"d2{output}_d{variable}2", derivative.hessian(f, list(x.flat)).reshape(x.shape * 2))


def jvp_system(system: System, output: str, variable: str) -> System:
    """J v along a direction v, which becomes a new last input v_<variable>; v_<variable>_ where that is taken."""
    f, x = system.output(output), system.argument(variable)
    new = _New(system)
    directions = new.symbols([(f"v_{s.data.name}", s.data.scope) for s in x.flat], x.shape)
    nodes = derivative.jvp(list(f.flat), list(x.flat), list(directions.flat))
    return _derived(system, f"d{output}_v", _shaped(nodes, f.shape), {new.name(f"v_{variable}"): directions})


def vjp_system(system: System, variables: Sequence[str]) -> System:
    """J^T w by reverse accumulation: outputs `d_<variable>` for weights w_<output> of all outputs, new last inputs in
    the order of the outputs; w_<output>_ where that is taken.

    variables: inputs or parameters. One program serves the gradient of anything that is made of the outputs.
    """
    new = _New(system)
    weights = {
        new.name(f"w_{n}"): new.symbols([(f"w_{n}_{k + 1}", "") for k in range(f.size)], f.shape)
        for n, f in system.outputs.items()
    }
    values = [node for f in system.outputs.values() for node in f.flat]
    factors = [w for array in weights.values() for w in array.flat]
    wanted = [system.argument(n) for n in variables]
    nodes = derivative.vjp(values, factors, [s for a in wanted for s in a.flat])
    outputs, at = {}, 0
    for name, array in zip(variables, wanted):
        outputs[f"d_{name}"] = node_array(_shaped(nodes[at : at + array.size], array.shape), system.graph)
        at += array.size
    return System(
        f"{system.name}_vjp",
        inputs={**system.inputs, **weights},
        outputs=outputs,
        parameters=system.parameters,
        defaults=system.defaults,
    )


class _New:
    """Names and symbols of new inputs, none of which a System has."""

    def __init__(self, system: System) -> None:
        arguments = {**system.inputs, **system.parameters}
        self.graph = system.graph
        self.names = set(arguments)
        self.taken = {s for a in arguments.values() for s in a.flat}

    def name(self, wanted: str) -> str:
        while wanted in self.names:
            wanted += "_"
        self.names.add(wanted)
        return wanted

    def symbols(self, wanted: Sequence[tuple[str, str]], shape: tuple[int, ...]) -> np.ndarray:
        """Symbols of names and scopes."""
        made: list[Node] = []
        for name, scope in wanted:
            while (symbol := self.graph.symbol(name, "input", scope=scope)) in self.taken:
                name += "_"
            self.taken.add(symbol)
            made.append(symbol)
        return _shaped(made, shape)


def _scalar(system: System, output: str) -> Node:
    f = system.output(output)
    if f.size != 1:
        raise ShapeError(
            f"output {output!r} has shape {f.shape}; a gradient needs a scalar. Use system.jacobian({output!r}, ...)."
        )
    node: Node = f.flat[0]
    return node


def _shaped(nodes: Sequence[Node], shape: tuple[int, ...]) -> np.ndarray:
    out = np.empty(shape, dtype=object)
    for i, n in enumerate(nodes):
        out.flat[i] = n
    return out


def _derived(system: System, name: str, nodes: Any, more: dict[str, Any] | None = None) -> System:
    return System(
        f"{system.name}_{name}",
        inputs={**system.inputs, **(more or {})},
        outputs={name: node_array(nodes, system.graph)},
        parameters=system.parameters,
        units={k: v for k, v in system.units.items() if k not in system.outputs},
        origins={name: f"derivative of System {system.name}"},
        defaults=system.defaults,
    )
