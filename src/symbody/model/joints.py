"""The catalogue of joints: each kind is a chain of elementary motions (MEDUSA, Table 3.1).

An elementary motion is a letter and an axis:

    R axis    rotation by q
    T axis    translation by q
    H axis    rotation by q and translation by pitch q
    B         ball: quaternion q (w, x, y, z), velocity = angular velocity in child axes
    F         free: position in the joint frame, then quaternion; velocity = angular, then linear, in child axes

The axis "u" is the joint's own axis; x, y, z are axes of the joint frame; in a chain each motion acts in the frame that
the one before has moved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Motion = tuple[str, str]


@dataclass(frozen=True)
class Kind:
    """A kind of joint: its elementary motions (which may depend on the joint's sequence) and a sentence."""

    motions: Callable[[Any], tuple[Motion, ...]]
    text: str
    needs_axis: bool = False

    def nq(self, joint: Any) -> int:
        return sum({"B": 4, "F": 7}.get(m, 1) for m, _ in self.motions(joint)) + (joint.elastic is not None)

    def nv(self, joint: Any) -> int:
        return sum({"B": 3, "F": 6}.get(m, 1) for m, _ in self.motions(joint)) + (joint.elastic is not None)


def _always(*motions: Motion) -> Callable[[Any], tuple[Motion, ...]]:
    return lambda joint: motions


def _rotations(default: str) -> Callable[[Any], tuple[Motion, ...]]:
    return lambda joint: tuple(("R", axis) for axis in (joint.sequence or default))


def _free(default: str) -> Callable[[Any], tuple[Motion, ...]]:
    translations: tuple[Motion, ...] = (("T", "x"), ("T", "y"), ("T", "z"))
    return lambda joint: translations + tuple(("R", axis) for axis in (joint.sequence or default))


KINDS: dict[str, Kind] = {
    "fixed": Kind(_always(), "no motion"),
    "revolute": Kind(_always(("R", "u")), "rotation about an axis", True),
    "prismatic": Kind(_always(("T", "u")), "translation along an axis", True),
    "helical": Kind(_always(("H", "u")), "rotation with translation pitch * q", True),
    "cylindrical": Kind(_always(("T", "u"), ("R", "u")), "translation along and rotation about one axis", True),
    "universal": Kind(_rotations("xy"), "two rotations in turn"),
    "planar": Kind(_always(("T", "x"), ("T", "y"), ("R", "z")), "motion in the xy plane"),
    "translation2": Kind(_always(("T", "x"), ("T", "y")), "translation in the xy plane"),
    "translation3": Kind(_always(("T", "x"), ("T", "y"), ("T", "z")), "translation in space"),
    "spherical": Kind(_rotations("xyz"), "rotation about a point, three angles in turn"),
    "ball": Kind(_always(("B", "")), "rotation about a point, quaternion"),
    "y": Kind(_always(("T", "x"), ("T", "y"), ("H", "z")), "screw about z and translation in the xy plane"),
    "schoenflies": Kind(
        _always(("T", "x"), ("T", "y"), ("T", "z"), ("R", "z")), "translation in space and rotation about z"
    ),
    "floating": Kind(_free("xyz"), "all motions: three translations and three angles in turn"),
    "free": Kind(_always(("F", "")), "all motions: position and quaternion"),
}


def coordinate_names(joint: Any) -> tuple[str, ...]:
    """The coordinates of a joint in words, with units and in their order; the deflection of an elastic one is none."""
    out: list[str] = []
    for motion, axis in KINDS[joint.kind].motions(joint):
        if motion == "F":
            out += [f"{x} (m)" for x in "xyz"]
        if motion in "BF":
            out += [f"{x} of the quaternion" for x in "wxyz"]
            continue
        where = "the axis" if axis == "u" else axis
        out.append(f"along {where} (m)" if motion == "T" else f"about {where} (rad)")
    return tuple(out)


def has_quaternion(joint: Any) -> bool:
    """Whether the last four coordinates of a joint are a quaternion."""
    return any(motion in "BF" for motion, _ in KINDS[joint.kind].motions(joint))
