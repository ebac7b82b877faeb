"""Parameters of a controller beside those of what it drives: equal ones are one, others are the controller's own.

A controller that was made from a nominal model has parameters named as those of the robot. Where name, unit and value
are the same they are bound: who changes the robot's mass changes the model's. Where they differ, the controller keeps
its own under the name <controller>.<parameter>.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from symbody.expr.arrays import symbols_in
from symbody.expr.graph import Graph
from symbody.expr.node import SETUP, SYMBOL
from symbody.system.system import System


def own_parameters(
    system: System, taken: Mapping[str, np.ndarray], graph: Graph
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], list[str]]:
    """(parameter -> symbols in the Graph, those that are new by their names, notes) of a controller.

    taken: parameters of the equations so far, by name. What has no namesake among them keeps its name.
    """
    given: dict[str, np.ndarray] = {}
    new: dict[str, np.ndarray] = {}
    bound, own = [], []
    for name, symbols in system.parameters.items():
        values = system.default(name)
        if name not in taken:
            new[name] = given[name] = _made(symbols, name, values, graph)
        elif _equal(symbols, values, taken[name]):
            given[name] = symbols_in(graph, taken[name])
            if any(a.data != b.data for a, b in zip(symbols.flat, taken[name].flat)):
                bound.append(name)
        else:
            full = f"{system.name}.{name}"
            new[full] = given[name] = _made(symbols, full, values, graph)
            own.append(f"{full}{'' if values is None else ' = ' + ', '.join(f'{v:.6g}' for v in values)}")
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
