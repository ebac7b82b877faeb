"""Parameters of a controller beside those of what it drives: equal ones are one, others are the controller's own.

A controller that was made from a nominal model has parameters named as those of the robot. Where name, unit and value
are the same they are bound: who changes the robot's mass changes the model's. Where they differ, or a value is given
for <controller>.<parameter>, the controller keeps its own under that name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from symbody.basics.errors import ShapeError
from symbody.symbolic.expr.arrays import symbols_in
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import SETUP, SYMBOL
from symbody.symbolic.system.parameter_numbers import check_number, real_number
from symbody.symbolic.system.system import System

ANY = "controller."  # stands for the name of the controller where there is one


def of_controllers(inputs: Any, parameters: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """(inputs, parameters) with what is given for controllers under their names.

    "controller.m1" is "<name>.m1" where one System controls. A sampled System stays outside of the equations: its
    values become its defaults.
    """
    given = dict(parameters)
    if not any("." in name for name in given):
        return inputs, given
    values = inputs.values() if isinstance(inputs, Mapping) else [inputs]
    systems = {id(s): s for s in values if isinstance(s, System)}
    if len(systems) == 1:
        (only,) = systems.values()
        own = [n for n in given if n.startswith(ANY) and n.removeprefix(ANY) in only.parameters]
        given = {f"{only.name}.{n.removeprefix(ANY)}" if n in own else n: v for n, v in given.items()}
    changed: dict[int, System] = {}
    for key, system in systems.items():
        names = [n for n in system.parameters if f"{system.name}.{n}" in given] if system.clocks else []
        if names:
            defaults = {n: _sampled_value(system, n, given.pop(f"{system.name}.{n}")) for n in names}
            changed[key] = system.replace(defaults={**system.defaults, **defaults})
    if not changed:
        return inputs, given
    if isinstance(inputs, Mapping):
        return {n: changed.get(id(v), v) for n, v in inputs.items()}, given
    return changed[id(inputs)], given


def _sampled_value(system: System, name: str, value: Any) -> np.ndarray:
    full, symbols = f"{system.name}.{name}", system.parameters[name]
    array = real_number(full, value)
    check_number(full, array, all(s.data.nonzero for s in symbols.flat))
    if array.shape != symbols.shape:
        raise ShapeError(
            f"parameter {full!r} of a sampled controller has shape {array.shape}; expected {symbols.shape}: it is the "
            "same for all members of a batch. Run the members one by one."
        )
    return array


def controller_parameters(
    system: System, taken: Mapping[str, np.ndarray], graph: Graph, asked: Collection[str] = ()
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], list[str]]:
    """(parameter -> symbols in the Graph, those that are new by their names, notes) of a controller.

    taken: parameters of the equations so far, by name. What has no namesake among them keeps its name.
    asked: names that values are given for; <controller>.<parameter> among them is the controller's own.
    """
    given: dict[str, np.ndarray] = {}
    new: dict[str, np.ndarray] = {}
    bound, own = [], []
    for name, symbols in system.parameters.items():
        values = system.default(name)
        full = f"{system.name}.{name}"
        if name not in taken and full not in asked:
            new[name] = given[name] = _made(symbols, name, values, graph)
        elif full not in asked and _equal(symbols, values, taken[name]):
            given[name] = symbols_in(graph, taken[name])
            if any(a.data != b.data for a, b in zip(symbols.flat, taken[name].flat)):
                bound.append(name)
        else:
            new[full] = given[name] = _made(symbols, full, values, graph)
            own.append(full if values is None or full in asked else f"{full} = {', '.join(f'{v:.6g}' for v in values)}")
    notes = []
    if bound:
        notes.append(
            f"controller {system.name!r} shares parameters of the same name, unit and value: {', '.join(bound)}."
        )
    if own:
        notes.append(f"controller {system.name!r} has values of its own: {', '.join(own)}.")
    return given, new, notes


def _equal(symbols: np.ndarray, values: tuple[float, ...] | None, theirs: np.ndarray) -> bool:
    if symbols.shape != theirs.shape:
        return False
    defaults = tuple(s.data.default for s in theirs.flat)
    mine: tuple[Any, ...] = values if values is not None else tuple(s.data.default for s in symbols.flat)
    return mine == defaults and all(a.data.unit == b.data.unit for a, b in zip(symbols.flat, theirs.flat))


def _made(symbols: np.ndarray, name: str, values: tuple[float, ...] | None, graph: Graph) -> np.ndarray:
    """Symbols of the parameter under a name: that of an array's elements is numbered."""
    out = np.empty(symbols.shape, dtype=object)
    for k, s in enumerate(symbols.flat):
        full = (
            s.data.name
            if name == s.data.name or "." not in name
            else name
            if symbols.shape == ()
            else f"{name}_{k + 1}"
        )
        default = s.data.default if values is None else values[k]
        out.flat[k] = graph.intern(SYMBOL, (), replace(s.data, name=full, default=default), SETUP)
    return out
