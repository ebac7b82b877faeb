"""Barycentric parameters: the mass of every body is moved to its parent (robotran 3.6).

Through a joint that only turns, the parent feels the mass as a point at the joint. What remains are the barycentric
vectors b and tensors K; prismatic, helical and free Links keep their mass.
"""

from __future__ import annotations

from dataclasses import replace

from symbody.mechanics.formalisms.tree import Tree
from symbody.model.spatial.inertia import Inertia, add, moved
from symbody.symbolic.expr.arrays import zeros


def barycentric(tree: Tree) -> Tree:
    """The Tree with barycentric inertias: the same efforts and the same motion."""
    inertias = [link.inertia for link in tree.links]
    for link in reversed(tree.links):
        if not (link.motion.is_turn or link.motion.all_turns):
            continue
        own = inertias[link.index]
        inertias[link.index] = Inertia(0, own.moment, own.tensor)
        if link.parent >= 0:
            point = moved(Inertia(own.mass, zeros(3), zeros(3, 3)), link.offset)
            inertias[link.parent] = add(inertias[link.parent], point)
    links = [replace(link, inertia=inertia, bodies=()) for link, inertia in zip(tree.links, inertias)]
    return replace(tree, links=links)
