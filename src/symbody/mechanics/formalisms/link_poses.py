"""Where a Link stands on its parent: the arm between their origins and the turns between their axes.

Axes met on the way: parent axes -> (constant rotation) -> stem axes -> (the joint's rotation) -> Link axes. Consecutive
revolute Links with parallel axes may share one stem: then vectors are turned once, by the sum of the angles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symbody.basics.errors import ModelError, word_argument
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.formalisms.vec3 import (
    OTHERS,
    ZERO,
    Mat,
    Vec,
    axis_vector,
    mat,
    minus,
    rotate,
    rotate_tensor,
    times,
    turn_tensor,
    vec,
)
from symbody.symbolic.expr.arrays import Array, cos_sin, is_one, is_zero
from symbody.symbolic.expr.node import CONST, Node

FRAMES = ("sequential", "group", "group_body")
Planar = tuple[int, Any, Any]  # axis, cosine, sine


@dataclass(slots=True)
class LinkPose:
    """arm (3,) from the parent's origin to the Link's, in parent axes; arm_stem the same in stem axes if it is shared.

    fixed    stem axes to parent axes, None is the identity; planar: the same as an elementary rotation, where it is one
    turn     Link axes to stem axes: elementary (axis, c, s), or None
    matrix   Link axes to stem axes of a Link that is not axial; None is the identity
    shared   whether the stem is the parent's stem
    stem     whether a child shares this Link's stem
    carrier  turn of the parent, where the stem is shared
    angle    from the stem, rad
    """

    arm: Vec
    fixed: Mat | None
    planar: Planar | None
    turn: Planar | None
    matrix: Mat | None = None
    shared: bool = False
    stem: bool = False
    arm_stem: Vec = ZERO
    angle: Any = 0
    carrier: Planar | None = None

    # -- vectors

    def to_stem(self, v: Vec) -> Vec:
        """From Link axes."""
        if self.turn is not None:
            return rotate(*self.turn, v)
        return v if self.matrix is None else self.matrix @ v

    def from_stem(self, v: Vec) -> Vec:
        """To Link axes."""
        if self.turn is not None:
            axis, c, s = self.turn
            return rotate(axis, c, minus(0, s), v)
        return v if self.matrix is None else self.matrix.T @ v

    def stem_to_parent(self, v: Vec) -> Vec:
        return v if self.fixed is None else self.fixed @ v

    def parent_to_stem(self, v: Vec) -> Vec:
        return v if self.fixed is None else self.fixed.T @ v

    # -- tensors

    def tensor_to_stem(self, t: Mat, symmetric: bool = True) -> Mat:
        if self.turn is not None:
            return rotate_tensor(*self.turn, t, symmetric)
        return t if self.matrix is None else turn_tensor(self.matrix, t, symmetric)

    def tensor_to_parent(self, t: Mat, symmetric: bool = True) -> Mat:
        """From stem axes."""
        if self.planar is not None:
            return rotate_tensor(*self.planar, t, symmetric)
        return t if self.fixed is None else turn_tensor(self.fixed, t, symmetric)


def poses(tree: Tree, frames: str = "sequential") -> list[LinkPose]:
    """Poses of all Links; frames "group" and "group_body", not "sequential", share stems of parallel revolute axes."""
    word_argument("frames", frames, FRAMES, error=ModelError)
    out: list[LinkPose] = []
    for link in tree.links:
        parent = tree.links[link.parent] if link.parent >= 0 else None
        shared = (
            frames != "sequential" and parent is not None and link.motion.is_turn and parent.motion.is_turn
            and link.axis == parent.axis and link.rotation is None
        )  # fmt: skip
        pose = _pose(link)
        if shared:
            carrier = out[link.parent]
            pose.shared = carrier.stem = True
            pose.carrier, pose.arm_stem = carrier.turn, carrier.to_stem(pose.arm)
            pose.angle = carrier.angle + link.q
            pose.turn = (link.axis, *cos_sin(pose.angle))
        out.append(pose)
    return out


def _pose(link: Link) -> LinkPose:
    fixed = None if link.rotation is None else mat(link.rotation)
    planar = None if link.rotation is None else planar_rotation(link.rotation)
    arm, turn, matrix, angle = vec(link.offset), None, None, 0
    move: Vec | None = None
    if link.motion.about_axis:
        angle = link.q
        turn = (link.axis, *cos_sin(link.q))
    if link.motion.along_axis:
        move = axis_vector(link.axis, times(link.advance, link.q))
    if not link.motion.axial:
        matrix, move = link.displacement
    if move is not None:
        arm = arm + (move if fixed is None else fixed @ move)
    return LinkPose(arm, fixed, planar, turn, matrix, angle=angle)


def axis_in_parent(link: Link) -> Vec:
    """Direction of the joint axis in parent axes."""
    if link.rotation is None:
        return axis_vector(link.axis, 1)
    return vec(link.rotation[:, link.axis])


def planar_rotation(r: Array) -> Planar | None:
    """(axis, c, s) of a rotation about a coordinate axis, found by structure; None for any other rotation."""
    for axis in range(3):
        i, j = OTHERS[axis]
        free = all(is_zero(r[axis, k]) and is_zero(r[k, axis]) for k in (i, j))
        if free and is_one(r[axis, axis]) and _same(r[i, i], r[j, j]) and _same(r[j, i], -r[i, j]):
            return axis, r[i, i], r[j, i]
    return None


def _same(a: Any, b: Any) -> bool:
    """Equal in structure, or numbers that differ by rounding only."""
    if a is b:
        return True
    if isinstance(a, Node) and isinstance(b, Node):
        return bool(a.op is CONST and b.op is CONST and abs(a.data - b.data) < 1e-15)
    return bool(not isinstance(a, Node) and not isinstance(b, Node) and a == b)
