"""The opened tree's equations M qdd + c in the forms that a reduction may take: matrices, or recursions in qdd.

A recursion evaluated at given accelerations often costs less than the product of M with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from symbody.mechanics.formalisms.efforts import generalized
from symbody.mechanics.formalisms.formulation import Choice, equations, prepared
from symbody.mechanics.formalisms.newton_euler import newton_euler
from symbody.mechanics.formalisms.tree import Tree
from symbody.symbolic.expr.arrays import Array, zeros
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.walk import substitute


@dataclass(frozen=True, eq=False)
class Opened:
    """M (nv, nv) and c (nv,) of a Tree; with a Choice also its recursions, written when they are asked for."""

    tree: Tree
    mass: Array
    bias: Array
    choice: Choice | None = None

    def efforts(self, qdd: Array) -> Array:
        """(nv,) M qdd + c by inverse dynamics at the accelerations qdd (nv,), N m or N."""
        return self._at(self._efforts, qdd)

    def inertial(self, qdd: Array) -> Array:
        """(nv,) M qdd by inverse dynamics at rest, without weight and laws."""
        return self._at(self._inertial, qdd)

    @cached_property
    def _efforts(self) -> Array:
        assert self.choice is not None
        return equations(self.tree, "inverse", self.choice)["tau"]

    @cached_property
    def _inertial(self) -> Array:
        assert self.choice is not None
        ready = prepared(self.tree, self.choice)
        light = replace(ready, gravity=zeros(3), wrenches={})
        return generalized(ready, newton_euler(light, self.choice.frames, self.choice.reference, still=True))

    def _at(self, efforts: Array, qdd: Array) -> Array:
        nodes = as_nodes([self.tree.graph.zero, *efforts, *qdd])[1:]
        n = len(efforts)
        table = {s: x for s, x in zip(self.tree.qdd, nodes[n:], strict=True) if s is not x}
        return np.array(substitute(nodes[:n], table), dtype=object)


def opened(tree: Tree, choice: Choice) -> Opened:
    """The equations of a Tree by a Choice."""
    found = equations(tree, "semi_explicit", choice)
    return Opened(tree, found["M"], found["c"], choice)
