"""Forces of closed loops as wrenches on bodies: what the multipliers of a cut mean (see `cut_rows` for its rows).

The force of a cut acts at the origin of its second frame, on the second body; the first body feels the opposite there.
Couplings act on joints as efforts do, and give no wrench.
"""

from __future__ import annotations

from typing import Any

from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.formalisms.frames import Frame, common_ancestor, frame_on
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import ZERO, Mat, Vec, axis_vector, columns_matrix, cross
from symbody.mechanics.loops.rows.chains import direction, point


def cut_wrenches(found: Constraints, lam: Any) -> tuple[dict[int, tuple[Vec, Vec]], dict[str, tuple[Vec, Vec]]]:
    """(by Link, by cut) for multipliers lam (m,).

    By Link: force and moment about the Link's origin, in Link axes, of all cuts. By cut: force and moment on the second
    body, in the axes of the second frame, at its origin.
    """
    tree = found.tree
    rows = list(zip(found.rows, lam, strict=True))
    links: dict[int, tuple[Vec, Vec]] = {}
    cuts: dict[str, tuple[Vec, Vec]] = {}
    for cut in tree.mechanism.cuts:
        first, second = (frame_on(tree, *end) for end in (cut.first, cut.second))
        base = common_ancestor(tree, [first.link, second.link])
        force, torque = ZERO, ZERO
        for row, x in rows:
            if row.loop == cut.name and row.wrench is not None:
                push, turn = row.wrench()
                force, torque = force + x * push, torque + x * turn
        at = point(tree, second, base).value
        for f, sign in ((first, -1), (second, 1)):
            if f.link >= 0:
                _add(tree, links, f.link, base, sign * force, sign * torque, at)
        axes = _axes(tree, second, base)
        cuts[cut.name] = (axes.T @ force, axes.T @ torque)
    return links, cuts


def _axes(tree: Tree, f: Frame, base: int) -> Mat:
    """Frame axes to the axes of the Link `base`."""
    return columns_matrix(direction(tree, f, base, axis_vector(k, 1)).value for k in range(3))


def _add(tree: Tree, links: dict[int, tuple[Vec, Vec]], link: int, base: int, force: Vec, torque: Vec, at: Vec) -> None:
    """Add a wrench at a point, all in the axes of `base`, to those on a Link."""
    if link == base:
        turned, twisted, arm = force, torque, at
    else:
        own = Frame("", link, None, ZERO)
        axes = _axes(tree, own, base)
        arm = at - point(tree, own, base).value
        turned, twisted, arm = (axes.T @ v for v in (force, torque, arm))
    old_force, old_moment = links.get(link, (ZERO, ZERO))
    moment = twisted + cross(arm, turned)
    links[link] = (old_force + turned, old_moment + moment)
