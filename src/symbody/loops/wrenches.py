"""Forces of closed loops as wrenches on bodies: what the multipliers of a cut mean (see `cut_rows` for its rows).

The force of a cut acts at the origin of its second frame, on the second body; the first body feels the opposite there.
Couplings act on joints as efforts do, and give no wrench.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symbody.formalisms import triples as t3
from symbody.formalisms.frames import Frame, common_ancestor, frame
from symbody.formalisms.tree import Tree
from symbody.formalisms.triples import OTHERS, Mat, Vec
from symbody.loops.chains import direction, point
from symbody.loops.constraints import Constraints
from symbody.model.mechanism import Cut

XYZ = "xyz"


def cut_wrenches(found: Constraints, lam: Any) -> tuple[dict[int, tuple[Vec, Vec]], dict[str, tuple[Vec, Vec]]]:
    """(by Link, by cut) for multipliers lam (m,).

    By Link: force and moment about the Link's origin, in Link axes, of all cuts. By cut: force and moment on the second
    body, in the axes of the second frame, at its origin.
    """
    tree = found.tree
    values = {row.name: x for row, x in zip(found.rows, lam, strict=True)}
    links: dict[int, tuple[Vec, Vec]] = {}
    cuts: dict[str, tuple[Vec, Vec]] = {}
    for cut in tree.mechanism.cuts:
        first, second = (frame(tree, f"{body}.{name}" if name else body) for body, name in (cut.first, cut.second))
        base = common_ancestor(tree, [first.link, second.link])
        mine = {name.removeprefix(f"{cut.name}."): x for name, x in values.items() if name.startswith(f"{cut.name}.")}
        force, torque = _on_second(tree, cut, first, second, base, mine)
        at = point(tree, second, base).value
        for f, sign in ((first, -1), (second, 1)):
            if f.link >= 0:
                _add(tree, links, f.link, base, t3.scaled(sign, force), t3.scaled(sign, torque), at)
        axes = _axes(tree, second, base)
        cuts[cut.name] = (t3.apply_transposed(axes, force), t3.apply_transposed(axes, torque))
    return links, cuts


def _on_second(tree: Tree, cut: Cut, first: Frame, second: Frame, base: int, lam: Mapping[str, Any]) -> tuple[Vec, Vec]:
    """(force, torque at the origin of the second frame) on the second body, in the axes of the Link `base`."""

    def of_first(k: int) -> Vec:
        return direction(tree, first, base, t3.along(k, 1)).value

    def of_second(k: int) -> Vec:
        return direction(tree, second, base, t3.along(k, 1)).value

    force, torque = t3.ZERO, t3.ZERO
    moves, turns = _free_axes(cut)
    for k, letter in enumerate(XYZ):
        if letter in lam:
            along = t3.along(k, 1) if moves else of_first(k)
            force = t3.add(force, t3.scaled(lam[letter], along))
        if f"r{letter}" in lam:
            if turns is None:
                about = t3.along(k, 1)
            else:
                # the row is sign a_1 . b_2 = 0, its rate (omega_2 - omega_1) . sign (b_2 x a_1)
                i, j = OTHERS[turns]
                other, sign = (j, -1) if k == i else (i, 1)
                about = t3.scaled(sign, t3.cross(of_second(turns), of_first(other)))
            torque = t3.add(torque, t3.scaled(lam[f"r{letter}"], about))
    for name, x in lam.items():
        if name == "rod":
            gap = t3.add(point(tree, second, base).value, t3.negative(point(tree, first, base).value))
            force = t3.add(force, t3.scaled(x, gap))
        elif len(name) == 3:  # universal: the two axes stay perpendicular
            a, b = of_first(XYZ.index(name[1])), of_second(XYZ.index(name[2]))
            torque = t3.add(torque, t3.scaled(x, t3.cross(b, a)))
    return force, torque


def _free_axes(cut: Cut) -> tuple[bool, int | None]:
    """(whether point rows go by the axes of the ancestor, the common axis of rotation rows or None for all three)."""
    axis = XYZ.index(cut.axis)
    if cut.kind == "rows":
        moves, turns = [r for r in cut.rows if r < 3], [r - 3 for r in cut.rows if r >= 3]
        free = next((k for k in range(3) if k not in turns), None)
        return len(moves) == 3, free
    return cut.kind not in ("prismatic", "cylindrical"), axis if cut.kind in ("revolute", "cylindrical") else None


def _axes(tree: Tree, f: Frame, base: int) -> Mat:
    """Frame axes to the axes of the Link `base`."""
    columns = tuple(direction(tree, f, base, t3.along(k, 1)).value for k in range(3))
    return t3.transposed(columns)  # type: ignore[arg-type]


def _add(tree: Tree, links: dict[int, tuple[Vec, Vec]], link: int, base: int, force: Vec, torque: Vec, at: Vec) -> None:
    """Add a wrench at a point, all in the axes of `base`, to those on a Link."""
    if link == base:
        turned, twisted, arm = force, torque, at
    else:
        own = Frame("", link, None, t3.ZERO)
        axes = _axes(tree, own, base)
        arm = t3.add(at, t3.negative(point(tree, own, base).value))
        turned, twisted, arm = (t3.apply_transposed(axes, v) for v in (force, torque, arm))
    old_force, old_moment = links.get(link, (t3.ZERO, t3.ZERO))
    moment = t3.add(twisted, t3.cross(arm, turned))
    links[link] = (t3.add(old_force, turned), t3.add(old_moment, moment))
