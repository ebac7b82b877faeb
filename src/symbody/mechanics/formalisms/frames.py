"""Frames of a Mechanism by name: where each stands on the Tree, and which Links lie between two of them."""

from __future__ import annotations

from dataclasses import dataclass

from symbody.basics.errors import NameLookupError, nearest
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import ZERO, Mat, Vec, mat, vec
from symbody.model.record.frame_names import frame_named
from symbody.symbolic.expr.arrays import is_one, is_zero


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame fixed to a Link (-1 is the world): rotation takes its coordinates to the Link's, None is the identity."""

    name: str
    link: int
    rotation: Mat | None
    position: Vec  # origin in the Link frame, m


def frame(tree: Tree, name: str) -> Frame:
    """A frame by name: "world", a body, "body.frame", a sensor, or the name of a frame that only one body has."""
    return frame_on(tree, *_owner(tree, name), name)


def frame_on(tree: Tree, body: str, fixed: str = "", name: str = "") -> Frame:
    """The frame `fixed` of a body, "" is its own; name: what it is called, body.frame by default."""
    name = name or (f"{body}.{fixed}" if fixed else body)
    if (body, fixed) in tree.frame_links:
        return Frame(name, tree.frame_links[body, fixed], None, ZERO)
    link, rotation, origin = tree.places[body]
    turn = None if rotation is None else mat(rotation)
    position = vec(origin)
    if fixed:
        placement = tree.node(tree.mechanism.body(body).frames[fixed])
        shift = vec(placement.position)
        position = position + (shift if turn is None else turn @ shift)
        turn = product(turn, mat(placement.rotation))
    return Frame(name, link, None if turn is None or _is_identity(turn) else turn, position)


def _owner(tree: Tree, name: str) -> tuple[str, str]:
    """(body, its frame or "") of a name."""
    mechanism = tree.mechanism
    if name in tree.places:
        return name, ""
    end = frame_named(mechanism.body_of, name)
    if end is not None:
        return end
    for sensor in mechanism.sensors:
        if sensor.name == name:
            return sensor.body, sensor.frame
    owners = [b.name for b in mechanism.bodies if name in b.frames]
    if len(owners) == 1:
        return owners[0], name
    if owners:
        choices = " or ".join(f"'{b}.{name}'" for b in owners)
        raise NameLookupError(f"{mechanism.name} has several frames {name!r}. Write {choices}.")
    known = [*tree.places, *(f"{b.name}.{f}" for b in mechanism.bodies for f in b.frames)]
    known += [s.name for s in mechanism.sensors]
    raise NameLookupError(f"{mechanism.name} has no body, frame or sensor {name!r}. {nearest(name, known)}")


def path(tree: Tree, link: int, base: int) -> list[int]:
    """Links that move `link` relative to its ancestor `base`, outward; `base` itself is not among them."""
    out: list[int] = []
    while link != base:
        out.append(link)
        link = tree.links[link].parent
    return out[::-1]


def common_ancestor(tree: Tree, links: list[int]) -> int:
    """The last Link that is an ancestor of all (or one of them), -1 for the world: motion below it is irrelevant."""
    shared = [-1, *reversed(tree.ancestors(links[0]))]
    for link in links[1:]:
        line = {-1, *tree.ancestors(link)}
        shared = [k for k in shared if k in line]
    return shared[-1]


def product(a: Mat | None, b: Mat | None) -> Mat | None:
    """a b of rotations, None for the identity."""
    if a is None or b is None:
        return b if a is None else a
    turn = b.T
    return Mat(turn @ row for row in a)


def _is_identity(m: Mat) -> bool:
    return all(is_one(m[i][j]) if i == j else is_zero(m[i][j]) for i in range(3) for j in range(3))
