"""Lengths in units of one of the model's own lengths: that length becomes 1 and its products vanish (operation_counts.md, 5.3).

Also the freedom to place origins: a Link's origin may slide along its joint's axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from symbody.expr.arrays import Array
from symbody.formalisms import triples as t3
from symbody.formalisms.base import divides_safely
from symbody.formalisms.poses import axis_in_parent
from symbody.formalisms.tree import Link, Tree
from symbody.spatial.inertia import Inertia, moved


def in_units_of(tree: Tree, length: Any) -> Tree:
    """The Tree with all lengths divided by `length` (a node that is not zero): masses become mass length^2, forces force length."""
    per = 1 / length

    def vector(v: Any, factor: Any) -> Array:
        out = np.empty(len(v), dtype=object)
        for k, x in enumerate(v):
            out[k] = t3.times(x, factor)
        return out

    def link_in(link: Link) -> Link:
        i = link.inertia
        inertia = Inertia(t3.times(t3.times(i.mass, length), length), vector(i.moment, length), i.tensor)
        changes: dict[str, Any] = dict(offset=vector(link.offset, per), inertia=inertia)
        changes["bodies"] = tuple((t3.times(t3.times(m, length), length), vector(c, per), j) for m, c, j in link.bodies)
        if link.kind == "T":
            changes.update({x: t3.times(getattr(link, x), per) for x in ("q", "qd", "qdd")})
            changes["columns"] = _columns(link.columns, per)
            changes["reflected"] = t3.times(t3.times(link.reflected, length), length)
        elif link.kind == "H":
            changes["pitch"] = t3.times(link.pitch, per)
        elif link.kind == "F":
            changes["q"] = np.concatenate([vector(link.q[:3], per), link.q[3:]])
            for x in ("qd", "qdd"):
                changes[x] = np.concatenate([getattr(link, x)[:3], vector(getattr(link, x)[3:], per)])
            changes["columns"] = (*link.columns[:3], *_columns(link.columns[3:], per))
        return replace(link, **changes)

    wrenches = {k: (vector(f, length), n) for k, (f, n) in tree.wrenches.items()}
    links = [link_in(link) for link in tree.links]
    return replace(tree, links=links, gravity=vector(tree.gravity, per), wrenches=wrenches)


def _columns(columns: Any, factor: Any) -> Any:
    return tuple(tuple((i, t3.times(c, factor)) for i, c in column) for column in columns)


def unit_lengths(tree: Tree) -> list[Any]:
    """Lengths that may serve as the unit: offsets, pitches, first moments' lengths are not, gravity's components are."""
    found: dict[Any, None] = {}
    for link in tree.links:
        for x in (*link.offset, link.pitch if link.kind == "H" else 0):
            _add_length(found, x)
    for x in tree.gravity:
        _add_length(found, x)
    return list(found)


def _add_length(found: dict[Any, None], x: Any) -> None:
    if t3.is_zero(x) or t3.is_one(x) or not hasattr(x, "graph"):
        return
    while x.op == "scale":
        x = x.args[0]
    if x.op != "const" and divides_safely(x):
        found[x] = None


def slide_origins(tree: Tree, steps: Mapping[int, Any]) -> Tree:
    """The Tree with the origin of some R and T Links moved along their axes, by steps[index] (m)."""
    links = list(tree.links)
    wrenches = dict(tree.wrenches)
    for index, step in steps.items():
        link = links[index]
        if link.kind not in "RT" or t3.is_zero(step):
            continue
        u, e = axis_in_parent(link), np.array(t3.along(link.axis, step), dtype=object)
        offset = np.array(t3.add(t3.triple(link.offset), t3.scaled(step, u)), dtype=object)
        bodies = tuple((m, c - e, j) for m, c, j in link.bodies)
        links[index] = replace(link, offset=offset, inertia=moved(link.inertia, -e), bodies=bodies)
        for child in links:
            if child.parent == index:
                links[child.index] = replace(child, offset=child.offset - e)
        if index in wrenches:
            force, moment = (t3.triple(x) for x in wrenches[index])
            wrenches[index] = (force, t3.add(moment, t3.negative(t3.cross(t3.triple(e), force))))
    return replace(tree, links=links, wrenches=wrenches)


def slide_steps(tree: Tree) -> dict[int, list[Any]]:
    """Per Link, steps along its axis that clear a component of its own offset, or of a child's."""
    out: dict[int, list[Any]] = {}
    for link in tree.links:
        if link.kind not in "RT" or link.parent < 0:
            continue
        u, found = axis_in_parent(link), {}
        for k in range(3):
            if not t3.is_zero(link.offset[k]) and divides_safely(u[k]):
                found[_over(-link.offset[k], u[k])] = None
        for child in tree.links:
            if child.parent == link.index and not t3.is_zero(child.offset[link.axis]):
                found[child.offset[link.axis]] = None
        if found:
            out[link.index] = list(found)
    return out


def _over(x: Any, y: Any) -> Any:
    return x if t3.is_one(y) else x / y
