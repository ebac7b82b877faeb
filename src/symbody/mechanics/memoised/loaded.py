"""A Tree with what acts on it: force elements, wrenches from outside, and the constraints of its loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symbody.basics.errors import NameLookupError, nearest
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.formalisms.applied_forces import wrenches as act
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import ZERO, cross, mat, vec
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.model.library.force_element import Event
from symbody.symbolic.expr.arrays import Array
from symbody.symbolic.expr.fork import carried, fork
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import quiet_collector
from symbody.symbolic.system.names import identifier


@dataclass(frozen=True, eq=False)
class LoadedTree:
    """A Tree whose Links carry the forces of all elements.

    inputs, states   of force elements and of wrenches from outside: name -> symbols; derivatives: of the states
    modes, events    of force elements, see `Wrenches`
    units            name of an input or state -> unit
    constraints            constraints of the loops, in the same Graph; None: they were not asked for
    """

    tree: Tree
    inputs: dict[str, Array] = field(default_factory=dict)
    states: dict[str, Array] = field(default_factory=dict)
    derivatives: dict[str, Any] = field(default_factory=dict)
    modes: dict[str, Array] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    constraints: Constraints | None = None

    def forked(self, size: int | None = None) -> LoadedTree:
        """A copy in a Graph of its own, with its first `size` nodes (None: all)."""
        tree = self.tree
        graph, made = fork(tree.graph, size)
        known: dict[int, Any] = {id(tree.mechanism): tree.mechanism, id(tree.graph): graph}
        # of what was carried into the Tree's Graph: nodes of the Mechanism stay those of the Mechanism
        both: dict[Node, Node] = {**{n: n for n in tree.moved}, **made}
        with quiet_collector():
            new: LoadedTree = carried(self, both, known)
        return new


def loaded(tree: Tree, wrenches: Sequence[str] = ()) -> LoadedTree:
    """A Tree with its force elements, and a wrench from outside on each of the bodies named in `wrenches`."""
    out = LoadedTree(tree)
    if tree.mechanism.forces:
        found = act(tree)
        out = LoadedTree(
            replace(tree, wrenches=dict(found.links), efforts=found.efforts),
            dict(found.inputs),
            dict(found.states),
            dict(found.derivatives),
            dict(found.modes),
            dict(found.events),
            {n: u for n, u in found.units.items() if n not in found.outputs},
        )
    for body in wrenches:
        out = _with_wrench(out, body)
    return out


def with_constraints(given: LoadedTree) -> LoadedTree:
    """With the constraints of all loops, in the same Graph."""
    with quiet_collector():
        return replace(given, constraints=constraints(given.tree))


def _with_wrench(given: LoadedTree, body: str) -> LoadedTree:
    """A wrench from outside as an input: moment then force, in body axes at the body's origin."""
    tree = given.tree
    if body not in tree.places:
        raise NameLookupError(f"{tree.mechanism.name} has no body {body!r} for a wrench. {nearest(body, tree.places)}")
    name = f"w_{identifier(body)}"
    symbols = np.array([tree.graph.symbol(f"{name}_{k + 1}", "input") for k in range(6)], dtype=object)
    inputs = {**given.inputs, name: symbols}
    index, rotation, origin = tree.places[body]
    if index < 0:
        return replace(given, inputs=inputs)  # the body does not move
    moment, force = vec(symbols[:3]), vec(symbols[3:])
    if rotation is not None:
        moment, force = mat(rotation) @ moment, mat(rotation) @ force
    moment = moment + cross(vec(origin), force)
    return replace(given, tree=pushed(tree, {index: (force, moment)}), inputs=inputs)


def pushed(tree: Tree, more: dict[int, tuple[Any, Any]]) -> Tree:
    """The Tree with further (force, moment) on Links, in Link axes at their origins."""
    out = dict(tree.wrenches)
    for index, (force, moment) in more.items():
        old_force, old_moment = out.get(index, (ZERO, ZERO))
        out[index] = (vec(old_force) + force, vec(old_moment) + moment)
    return replace(tree, wrenches=out)
