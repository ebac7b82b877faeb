"""From Links to the Mechanism's velocities: columns and reflected rotors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import plus, times
from symbody.symbolic.expr.arrays import Array, is_zero, zeros

LinkEfforts = list[tuple[Any, ...]]


def generalized(tree: Tree, efforts: LinkEfforts, accelerating: bool = True) -> Array:
    """(nv,) efforts on the Mechanism's velocities from those on Links; rotors add reflected * qdd if accelerating."""
    out = zeros(len(tree.qd))
    for link in tree.links:
        for k, (column, effort) in enumerate(zip(link.columns, efforts[link.index])):
            if accelerating and k == 0 and not is_zero(link.reflected):
                effort = plus(effort, times(link.reflected, link.qdd))
            for index, factor in column:
                out[index] = plus(out[index], times(factor, effort))
    return out


def projected(tree: Tree, entry: Callable[[int, int, int, int], Any]) -> Array:
    """(nv, nv) from the mass matrix of the Links: entry(i, a, j, b), component a of Link i and b of j <= i."""
    n = len(tree.qd)
    out = zeros(n, n)

    def put(i: int, j: int, value: Any) -> None:
        out[i, j] = plus(out[i, j], value)
        if i != j:
            out[j, i] = out[i, j]

    for link in tree.links:
        for other in tree.ancestors(link.index):
            for a, column in enumerate(link.columns):
                for b, row in enumerate(tree.links[other].columns):
                    if other == link.index and b > a:
                        continue
                    value = entry(link.index, a, other, b)
                    if other == link.index and a == b == 0:
                        value = plus(value, link.reflected)
                    if is_zero(value):
                        continue
                    twin = other == link.index and a == b
                    for i, x in column:
                        for j, y in row:
                            if twin and j > i:
                                continue
                            # two Links that one velocity moves count from both sides
                            double = 2 if i == j and not twin else 1
                            put(i, j, times(double, times(times(x, y), value)))
    return out
