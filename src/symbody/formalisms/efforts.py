"""From Links to the Mechanism's velocities: columns, reflected rotors, and the laws of joints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symbody.errors import ModelError
from symbody.expr.arrays import Array, zeros
from symbody.expr.functions import call
from symbody.formalisms import triples as t3
from symbody.formalisms.tree import Tree
from symbody.model.joints import KINDS
from symbody.model.mechanism import Joint, has_coordinates

LinkEfforts = list[tuple[Any, ...]]


def generalized(tree: Tree, efforts: LinkEfforts, accelerating: bool = True) -> Array:
    """(nv,) efforts on the Mechanism's velocities from those on Links; rotors add reflected * qdd if accelerating."""
    out = zeros(len(tree.qd))
    for link in tree.links:
        for k, (column, effort) in enumerate(zip(link.columns, efforts[link.index])):
            if accelerating and k == 0 and not t3.is_zero(link.reflected):
                effort = t3.plus(effort, t3.times(link.reflected, link.qdd))
            for index, factor in column:
                out[index] = t3.plus(out[index], t3.times(factor, effort))
    return out


def projected(tree: Tree, entry: Callable[[int, int, int, int], Any]) -> Array:
    """(nv, nv) from the mass matrix of the Links: entry(i, a, j, b), component a of Link i and b of j <= i."""
    n = len(tree.qd)
    out = zeros(n, n)

    def put(i: int, j: int, value: Any) -> None:
        out[i, j] = t3.plus(out[i, j], value)
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
                        value = t3.plus(value, link.reflected)
                    if t3.is_zero(value):
                        continue
                    twin = other == link.index and a == b
                    for i, x in column:
                        for j, y in row:
                            if twin and j > i:
                                continue
                            # two Links that one velocity moves count from both sides
                            double = 2 if i == j and not twin else 1
                            put(i, j, t3.times(double, t3.times(t3.times(x, y), value)))
    return out


def joint_laws(tree: Tree) -> Array:
    """(nv,) efforts of the joints' own laws: stiffness (q - rest) + viscous qd + coulomb sign(qd), and elasticity.

    Efforts of force elements (`tree.efforts`) are subtracted.
    """
    out = zeros(len(tree.qd))
    iq = iv = 0
    places: dict[str, tuple[int, int]] = {}
    for joint in tree.mechanism.joints:
        if not has_coordinates(joint):
            if joint.mimic is not None and joint.mode != "locked":
                _following_law(tree, joint, places, out)
            continue
        kind = KINDS[joint.kind]
        nq, nv = kind.nq(joint), kind.nv(joint)
        places[joint.name] = (iq, iv)
        q, qd = tree.q[iq : iq + nq], tree.qd[iv : iv + nv]
        own = nv - (joint.elastic is not None)
        if joint.stiffness is not None and nq != nv:
            raise ModelError(
                f"joint {joint.name!r} of kind {joint.kind!r} has a stiffness, but its coordinates are a quaternion. "
                "Use the kind 'spherical' or 'floating', or a force element."
            )
        for k in range(own):
            position = q[k] if nq == nv else None
            out[iv + k] = t3.plus(out[iv + k], _law(tree, joint, position, qd[k]))
        if joint.elastic is not None:
            stiffness, damping = (tree.node(x) for x in joint.elastic)
            law = t3.plus(t3.times(stiffness, q[own]), t3.times(damping, qd[own]))
            out[iv + own] = t3.plus(out[iv + own], law)
        iq, iv = iq + nq, iv + nv
    if tree.efforts is not None:
        for k, effort in enumerate(tree.efforts):
            out[k] = t3.minus(out[k], effort)
    return out


def _law(tree: Tree, joint: Joint, q: Any, qd: Any) -> Any:
    effort: Any = 0
    if joint.stiffness is not None:
        rest = tree.node(joint.rest) if joint.rest is not None else 0
        effort = t3.times(tree.node(joint.stiffness), t3.minus(q, rest))
    if joint.viscous is not None:
        effort = t3.plus(effort, t3.times(tree.node(joint.viscous), qd))
    if joint.coulomb is not None:
        effort = t3.plus(effort, t3.times(tree.node(joint.coulomb), call("sign", qd)))
    return effort


def _following_law(tree: Tree, joint: Joint, places: dict[str, tuple[int, int]], out: np.ndarray) -> None:
    """A joint that mimics another feels its law at its own coordinate; the other's velocity takes the effort."""
    assert joint.mimic is not None
    if all(x is None for x in (joint.stiffness, joint.viscous, joint.coulomb)):
        return
    iq, iv = places[joint.mimic.joint]
    ratio, shift = tree.node(joint.mimic.ratio), tree.node(joint.mimic.offset)
    effort = _law(tree, joint, ratio * tree.q[iq] + shift, ratio * tree.qd[iv])
    out[iv] = t3.plus(out[iv], t3.times(ratio, effort))
