"""Several Systems as one: arguments of the same name are shared, and so is what they compute alike."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from symbody.basics.errors import DefinitionError, ShapeError
from symbody.symbolic.expr.arrays import symbols_in
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.system.system import System


def together(name: str, systems: Mapping[str, System]) -> System:
    """One System of all outputs; an output that several have is called <key>_<output> in each.

    systems: key -> System, of one model: inputs and parameters of the same name must have the same shape and unit.
    """
    if not systems:
        raise DefinitionError("together() was given no Systems; expected one or more.")
    if len(systems) == 1:
        return next(iter(systems.values())).replace(name=name)
    graph = Graph(name)
    inputs: dict[str, np.ndarray] = {}
    units: dict[str, str] = {}
    for key, system in systems.items():
        for n, a in system.inputs.items():
            known = inputs.setdefault(n, symbols_in(graph, a))
            if known.shape != a.shape:
                raise ShapeError(f"input {n!r} has shape {a.shape} in {key!r} and {known.shape} elsewhere.")
        units |= {n: u for n, u in system.units.items() if n in system.inputs or n in system.parameters}
    times = [n for system in systems.values() for n in system.outputs]
    outputs: dict[str, np.ndarray] = {}
    origins: dict[str, str] = {}
    defaults: dict[str, np.ndarray] = {}
    for key, system in systems.items():
        found = system.apply(**{n: inputs[n] for n in system.inputs})
        if len(system.outputs) == 1:
            found = {next(iter(system.outputs)): found}
        for n, value in found.items():
            called = n if times.count(n) == 1 else f"{key}_{n}"
            array = np.empty(system.outputs[n].shape, dtype=object)
            array[...] = value
            outputs[called] = array
            origins |= {called: system.origins[n]} if n in system.origins else {}
            units |= {called: system.units[n]} if n in system.units else {}
    return System(name, inputs=inputs, outputs=outputs, units=units, origins=origins, defaults=defaults)
