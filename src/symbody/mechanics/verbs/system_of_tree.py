"""Quantities of a Tree as a System: names, parameters and units put together in one way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from symbody.mechanics.formalisms.tree import Tree
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.arrays import scalar_array
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System, node_array


def make_system(
    tree: Tree,
    what: str,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    units: Mapping[str, str],
    origins: Mapping[str, str],
) -> System:
    """The System <mechanism>_<what>. Parameters that occur are its parameters; with a "runtime" Tree, inputs."""
    nodes = {name: node_array(value, tree.graph) for name, value in outputs.items()}
    arguments: dict[str, Any] = {name: array for name, array in inputs.items() if len(array)}
    if tree.runtime:
        carried = set(tree.moved.values())
        occurring = free_symbols([x for array in nodes.values() for x in array.flat])
        arguments.update({s.data.name: s for s in occurring if s in carried and s.data.role == "input"})
    return System(
        f"{identifier(tree.mechanism.name)}_{what}",
        inputs=arguments,
        outputs=nodes,
        units={name: unit for name, unit in units.items() if unit},
        origins=dict(origins),
    )


def time_input(outputs: Iterable[Any]) -> dict[str, Any]:
    """The input t, where outputs depend on time: by laws of joints and forces, or by constraints."""
    nodes = [x for value in outputs for x in np.array(value, dtype=object).flat if isinstance(x, Node)]
    return {s.data.name: scalar_array(s) for s in free_symbols(nodes) if s.data.role == "time"}


def has_loops(mech: Mechanism) -> bool:
    """Whether loops are closed, or coordinates subject to conditions. Anything but a Mechanism is refused elsewhere."""
    return isinstance(mech, Mechanism) and bool(mech.cuts or mech.couplings)
