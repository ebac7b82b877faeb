"""Lengths in units of one of the model's own lengths, which becomes 1: its products vanish (docs/theory.md).

Also the freedom to place origins: a Link's origin may slide along its joint's axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from symbody.mechanics.formalisms.link_poses import axis_in_parent
from symbody.mechanics.formalisms.regrouping import divides_safely
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.formalisms.vec3 import axis_vector, cross, times, vec
from symbody.model.spatial.inertia import Inertia, moved
from symbody.symbolic.expr.arrays import Array, is_one, is_zero
from symbody.symbolic.expr.node import CONST, SCALE, Node


def in_units_of(tree: Tree, length: Any) -> Tree:
    """The Tree with all lengths divided by `length`, a node that is not zero. Masses become mass * length^2."""

    def vector(v: Any) -> Array:
        out = np.empty(len(v), dtype=object)
        for k, x in enumerate(v):
            out[k] = times(x, length)
        return out

    def over(v: Any) -> Array:
        out = np.empty(len(v), dtype=object)
        for k, x in enumerate(v):
            out[k] = _over(x, length)
        return out

    def link_in(link: Link) -> Link:
        i = link.inertia
        inertia = Inertia(times(times(i.mass, length), length), vector(i.moment), i.tensor)
        changes: dict[str, Any] = dict(offset=over(link.offset), inertia=inertia)
        changes["bodies"] = tuple((times(times(m, length), length), over(c), j) for m, c, j in link.bodies)
        if link.motion.is_slide:
            changes.update({x: _over(getattr(link, x), length) for x in ("q", "qd", "qdd")})
            changes["columns"] = _columns(link.columns, length)
            changes["reflected"] = times(times(link.reflected, length), length)
        elif link.motion.along_axis:
            changes["pitch"] = _over(link.pitch, length)
        elif link.motion.all_motions:
            places = list(link.motion.places)
            changes["q"] = np.array(link.q, dtype=object)
            changes["q"][places] = over(link.q[places])
            for x in ("qd", "qdd"):
                changes[x] = np.concatenate([getattr(link, x)[:3], over(getattr(link, x)[3:])])
            changes["columns"] = (*link.columns[:3], *_columns(link.columns[3:], length))
        elif not link.motion.axial:
            changes["unit"] = times(link.unit, length)
            changes["twist_rates"] = tuple((w, vec(over(v))) for w, v in link.twist_rates)
        return replace(link, **changes)

    wrenches = {k: (vector(f), n) for k, (f, n) in tree.wrenches.items()}
    links = [link_in(link) for link in tree.links]
    return replace(tree, links=links, gravity=over(tree.gravity), wrenches=wrenches)


def _columns(columns: Any, length: Any) -> Any:
    return tuple(tuple((i, _over(c, length)) for i, c in column) for column in columns)


def unit_lengths(tree: Tree) -> list[Any]:
    """What may serve as the unit: lengths of offsets, pitches, and the components of gravity."""
    found: dict[Any, None] = {}
    for link in tree.links:
        for x in (*link.offset, link.pitch if link.motion.axial and link.motion.pitched else 0):
            _add_length(found, x)
    for x in tree.gravity:
        _add_length(found, x)
    return list(found)


def _add_length(found: dict[Any, None], x: Any) -> None:
    if is_zero(x) or not isinstance(x, Node):
        return
    if x.op is SCALE:
        x = x.args[0]
    elif x.op is CONST and x.data < 0:
        x = -x
    if not is_one(x) and divides_safely(x):
        found[x] = None


def slide_origins(tree: Tree, steps: Mapping[int, Any]) -> Tree:
    """The Tree with the origin of some turning or sliding Links moved along their axes, by steps[index] (m)."""
    links = list(tree.links)
    wrenches = dict(tree.wrenches)
    for index, step in steps.items():
        link = links[index]
        if not (link.motion.is_turn or link.motion.is_slide) or is_zero(step):
            continue
        u, e = axis_in_parent(link), np.array(axis_vector(link.axis, step), dtype=object)
        offset = np.array(vec(link.offset) + step * u, dtype=object)
        bodies = tuple((m, c - e, j) for m, c, j in link.bodies)
        links[index] = replace(link, offset=offset, inertia=moved(link.inertia, -e), bodies=bodies)
        for child in links:
            if child.parent == index:
                links[child.index] = replace(child, offset=child.offset - e)
        if index in wrenches:
            force, moment = (vec(x) for x in wrenches[index])
            wrenches[index] = (force, moment - cross(vec(e), force))
    return replace(tree, links=links, wrenches=wrenches)


def slide_steps(tree: Tree) -> dict[int, list[Any]]:
    """Per Link, steps along its axis that clear a component of its own offset, or of a child's."""
    out: dict[int, list[Any]] = {}
    for link in tree.links:
        if not (link.motion.is_turn or link.motion.is_slide) or link.parent < 0:
            continue
        u = axis_in_parent(link)
        found: dict[Any, None] = {}
        for k in range(3):
            if not is_zero(link.offset[k]) and divides_safely(u[k]):
                found[_over(-link.offset[k], u[k])] = None
        for child in tree.links:
            if child.parent == link.index and not is_zero(child.offset[link.axis]):
                found[child.offset[link.axis]] = None
        if found:
            out[link.index] = list(found)
    return out


def _over(x: Any, y: Any) -> Any:
    """x / y, exactly 1 where both are the same."""
    if is_zero(x) or is_one(y):
        return x
    return 1 if x is y else -1 if x is -y else x / y
