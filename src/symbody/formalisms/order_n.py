"""Accelerations in a number of operations that is linear in the bodies: the articulated-body recursion (robotran 3.7).

"local"     the wrenches that Newton-Euler finds at zero joint acceleration are the bias; what remains to be solved
            has no velocity terms and no gravity (operation_counts.md 4.3, ABA-2)
"textbook"  velocity products travel with the articulated inertias, gravity enters at the base (Featherstone 2008, 7.3)
"""

from __future__ import annotations

from typing import Any

from symbody.errors import ModelError
from symbody.expr.arrays import Array, is_zero, zeros
from symbody.formalisms import triples as t3
from symbody.formalisms.articulated import (
    Articulated,
    Pivot,
    acceleration,
    add,
    carried,
    eliminate,
    rigid,
    shifted,
    to_parent,
    to_stem,
)
from symbody.formalisms.efforts import joint_laws
from symbody.formalisms.explicit import driven_velocities
from symbody.formalisms.newton_euler import Motion, at_rest, link_wrench, motions, rate_matrix, step
from symbody.formalisms.poses import Pose, poses
from symbody.formalisms.sweeps import sweep_inward, sweep_outward
from symbody.formalisms.tree import Link, Tree
from symbody.formalisms.triples import Vec

VARIANTS = ("local", "textbook")
Acceleration = tuple[Vec, Vec]  # wd and a, in Link axes; in stem axes where the stem is shared


def check_order_n(tree: Tree) -> None:
    """Refuse Trees in which a velocity moves several Links: there a joint cannot be eliminated by itself."""
    owner: dict[int, Link] = {}
    for link in tree.links:
        for column in link.columns:
            for index, _ in column:
                if len(column) > 1 or index in owner:
                    first = owner.get(index, link).joint
                    raise ModelError(
                        f"order_n: the velocity of joint {first!r} also moves {link.joint!r} (a mimic joint or a "
                        "gyroscopic rotor), so that neither can be eliminated alone. Use formalism='base'."
                    )
                owner[index] = link


def order_n(tree: Tree, variant: str = "local", frames: str = "sequential", given: Array | None = None) -> Array:
    """qdd (nv,) of the Tree under tau; driven joints accelerate as given (nv,)."""
    if variant not in VARIANTS:
        raise ModelError(f"variant={variant!r}; expected 'local' or 'textbook'.")
    check_order_n(tree)
    places = poses(tree, frames if variant == "local" else "sequential")
    driven = set(driven_velocities(tree))
    prescribed = [all(i in driven for column in link.columns for i, _ in column) for link in tree.links]
    qdd = at_rest(tree)
    for link in tree.links:
        if prescribed[link.index]:
            qdd[link.index] = _of_link(link, tree.qdd if given is None else given)
    moves = motions(tree, places, frames, qdd)
    if variant == "local":
        own = [link_wrench(tree, link, moves[link.index]) for link in tree.links]
        products: list[Acceleration] = [(t3.ZERO, t3.ZERO)] * len(tree.links)
        base = t3.ZERO
    else:
        spins = [Motion(w=m.w, u=rate_matrix(m.w, t3.ZERO)) for m in moves]
        own = [link_wrench(tree, link, spins[link.index]) for link in tree.links]
        products = []
        for link in tree.links:
            parent = spins[link.parent] if link.parent >= 0 else Motion()
            m = step(link, places[link.index], parent, link.qd, qdd[link.index])
            products.append((m.wd, m.a))
        base = t3.negative(t3.triple(tree.gravity))
    efforts = _link_efforts(tree)
    pivots: list[Pivot] = [Pivot()] * len(tree.links)

    # inward: articulated inertias, each joint eliminated where it stands
    def inward(link: Link, handed: list[tuple[Articulated, bool]]) -> tuple[Articulated, bool]:
        pose, wrench = places[link.index], own[link.index]
        x = rigid(link.inertia, wrench.moment, wrench.force)
        for other, stem in handed:
            x = x if stem else add(x, other)
        if pose.stem:
            x = to_stem(x, pose)
            for other, stem in handed:
                x = add(x, other) if stem else x
        last = link.parent < 0
        if prescribed[link.index]:
            x = carried(x, *products[link.index])
        else:
            _check_inertia(link, x)
            x, pivots[link.index] = eliminate(link, x, efforts[link.index], *products[link.index], last)
        if last:
            return x, False
        if not pose.stem:
            x = to_stem(x, pose)
        if pose.shared:
            return shifted(x, pose.arm_stem), True
        return shifted(to_parent(x, pose), pose.arm), False

    sweep_inward(tree, inward)
    out = zeros(len(tree.qd))

    # outward: accelerations
    def outward(link: Link, parent: Acceleration) -> Acceleration:
        pose = places[link.index]
        wd, a = _reach(tree, places, link, parent)
        if not pose.stem:
            wd, a = pose.from_stem(wd), pose.from_stem(a)
        products_wd, products_a = products[link.index]
        wd, a = t3.add(wd, products_wd), t3.add(a, products_a)
        if prescribed[link.index]:
            _write(link, qdd[link.index], out)
            return wd, a
        x = acceleration(link, pivots[link.index], wd, a)
        _write(link, x, out)
        return _moved(link, wd, a, x)

    sweep_outward(tree, outward, (t3.ZERO, base))
    return out


def _reach(tree: Tree, places: list[Pose], link: Link, parent: Acceleration) -> Acceleration:
    """Acceleration that a Link takes from its parent, in its stem axes."""
    pose, (wd, a) = places[link.index], parent
    if pose.shared:
        return wd, t3.add(a, t3.cross(wd, pose.arm_stem))
    if link.parent >= 0 and places[link.parent].stem:
        below = places[link.parent]
        wd, a = below.from_stem(wd), below.from_stem(a)
    a = t3.add(a, t3.cross(wd, pose.arm))
    return pose.parent_to_stem(wd), pose.parent_to_stem(a)


def _moved(link: Link, wd: Vec, a: Vec, x: Any) -> Acceleration:
    """With the joint's own acceleration."""
    if link.kind in "BF":
        return t3.add(wd, t3.triple(x[:3])), (t3.add(a, t3.triple(x[3:])) if link.kind == "F" else a)
    if link.kind in "RH":
        wd = t3.add(wd, t3.along(link.axis, x))
    if link.kind in "TH":
        a = t3.add(a, t3.along(link.axis, t3.times(link.pitch if link.kind == "H" else 1, x)))
    return wd, a


def _check_inertia(link: Link, x: Articulated) -> None:
    empty = all(is_zero(e) for block in (x.j, x.b, x.m) for row in block for e in row)
    if empty and is_zero(link.reflected):
        raise ModelError(
            f"order_n: joint {link.joint!r} moves nothing that has mass or inertia: its acceleration is not "
            "determined. Give its body an inertia, or the joint a rotor."
        )


def _link_efforts(tree: Tree) -> list[Any]:
    """Efforts that drive each Link: tau less the laws of joints, on the Link's velocities."""
    laws = joint_laws(tree)
    out: list[Any] = []
    for link in tree.links:
        parts = []
        for column in link.columns:
            index, factor = column[0]
            parts.append(_over(t3.minus(tree.tau[index], laws[index]), factor))
        out.append(parts if link.kind in "BF" else parts[0])
    return out


def _over(x: Any, factor: Any) -> Any:
    if is_zero(x):
        return x
    if factor == 1 or factor == -1:
        return x * factor
    return x / factor


def _of_link(link: Link, values: Array) -> Any:
    parts = [t3.times(factor, values[index]) for column in link.columns for index, factor in column]
    return parts if link.kind in "BF" else parts[0]


def _write(link: Link, x: Any, out: Array) -> None:
    parts = x if link.kind in "BF" else (x,)
    for column, value in zip(link.columns, parts):
        index, factor = column[0]
        out[index] = _over(value, factor)
