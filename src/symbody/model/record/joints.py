"""The catalogue of joints: each kind is a chain of rows of `elementary_motions.py` (MEDUSA, Table 3.1).

The axis "u" of a motion is the joint's own axis; x, y, z are axes of the joint frame, "" stands for motions that need
none; in a chain each motion acts in the frame that the one before has moved.

A new kind is one row, given to `symbody.extend.add_joint_kind`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from symbody.basics.errors import DefinitionError
from symbody.model.record.elementary_motions import BALL, FREE, MOTIONS, SCREW, SLIDE, TURN, Motion

Step = tuple[Motion, str]  # a motion and its axis


@dataclass(frozen=True)
class Kind:
    """A kind of joint: its elementary motions (which may depend on the joint's sequence) and a sentence.

    angles    how many axes of rotation a sequence such as "xyz" names; 0 where there is nothing to choose
    """

    motions: Callable[[Any], tuple[Step, ...]]
    text: str
    needs_axis: bool = False
    angles: int = 0

    def nq(self, joint: Any) -> int:
        """Number of coordinates; an elastic joint has its last motion twice."""
        return sum(m.nq for m, _ in self._chain(joint))

    def nv(self, joint: Any) -> int:
        return sum(m.nv for m, _ in self._chain(joint))

    def _chain(self, joint: Any) -> tuple[Step, ...]:
        motions = self.motions(joint)
        return motions if joint.elastic is None else (*motions, motions[-1])

    @property
    def pitched(self) -> bool:
        """Whether joints of this kind must have a pitch."""
        return any(motion.pitched for motion, _ in self.motions(_ANY))


class _Any:
    """A joint of which nothing is known."""

    sequence = ""


_ANY = _Any()


def _always(*motions: Step) -> Callable[[Any], tuple[Step, ...]]:
    return lambda joint: motions


def _rotations(default: str) -> Callable[[Any], tuple[Step, ...]]:
    return lambda joint: tuple((TURN, axis) for axis in (joint.sequence or default))


def _free(default: str) -> Callable[[Any], tuple[Step, ...]]:
    translations: tuple[Step, ...] = ((SLIDE, "x"), (SLIDE, "y"), (SLIDE, "z"))
    return lambda joint: translations + tuple((TURN, axis) for axis in (joint.sequence or default))


KINDS: dict[str, Kind] = {
    "fixed": Kind(_always(), "no motion"),
    "revolute": Kind(_always((TURN, "u")), "rotation about an axis", True),
    "prismatic": Kind(_always((SLIDE, "u")), "translation along an axis", True),
    "helical": Kind(_always((SCREW, "u")), "rotation with translation pitch * q", True),
    "cylindrical": Kind(_always((SLIDE, "u"), (TURN, "u")), "translation along and rotation about one axis", True),
    "universal": Kind(_rotations("xy"), "two rotations in turn", angles=2),
    "planar": Kind(_always((SLIDE, "x"), (SLIDE, "y"), (TURN, "z")), "motion in the xy plane"),
    "translation2": Kind(_always((SLIDE, "x"), (SLIDE, "y")), "translation in the xy plane"),
    "translation3": Kind(_always((SLIDE, "x"), (SLIDE, "y"), (SLIDE, "z")), "translation in space"),
    "spherical": Kind(_rotations("xyz"), "rotation about a point, three angles in turn", angles=3),
    "ball": Kind(_always((BALL, "")), "rotation about a point, quaternion"),
    "y": Kind(_always((SLIDE, "x"), (SLIDE, "y"), (SCREW, "z")), "screw about z and translation in the xy plane"),
    "schoenflies": Kind(
        _always((SLIDE, "x"), (SLIDE, "y"), (SLIDE, "z"), (TURN, "z")), "translation in space and rotation about z"
    ),
    "floating": Kind(_free("xyz"), "all motions: three translations and three angles in turn", angles=3),
    "free": Kind(_always((FREE, "")), "all motions: position and quaternion"),
}
BUILT_IN = frozenset(KINDS)


def add_joint_kind(name: str, text: str, *motions: tuple[Motion | str, str]) -> Kind:
    """Put a new kind of joint into the catalogue: a chain of elementary motions (rows or their names), with axes.

    An axis is x, y or z of the joint frame, "u" for the joint's own (the motion must then look the same from all sides
    of it), or "" for a motion that needs none.
    """
    if name in KINDS:
        raise DefinitionError(f"there is a joint kind {name!r} already; expected a new name.")
    if not motions:
        raise DefinitionError(f"joint kind {name!r} has no motion; expected (motion, axis) pairs. 'fixed' is there.")
    steps = []
    for motion, axis in motions:
        known = MOTIONS.get(motion if isinstance(motion, str) else motion.name)
        if known is None:
            raise DefinitionError(f"joint kind {name!r} names the motion {motion!r}; there are {', '.join(MOTIONS)}.")
        if axis not in ("u", "x", "y", "z", "") or (known.axial and not axis):
            raise DefinitionError(f"joint kind {name!r}: axis {axis!r} of {known.name!r}; expected u, x, y or z.")
        steps.append((known, axis))
    if any(m.quaternion is not None for m, _ in steps[:-1]):
        raise DefinitionError(f"joint kind {name!r} has a quaternion before other motions; expected it to be the last.")
    KINDS[name] = Kind(_always(*steps), text, any(axis == "u" for _, axis in steps))
    return KINDS[name]


def remove_joint_kind(name: str) -> None:
    """Take a kind out again that was added."""
    if name in BUILT_IN or name not in KINDS:
        raise DefinitionError(f"joint kind {name!r} was not added; only those that were can be removed.")
    del KINDS[name]


def coordinate_names(joint: Any) -> tuple[str, ...]:
    """The coordinates of a joint in words, with units and in their order; the deflection of an elastic one is none."""
    return tuple(w for motion, axis in KINDS[joint.kind].motions(joint) for w in motion.coordinate_words(axis))


def has_quaternion(joint: Any) -> bool:
    """Whether the last four coordinates of a joint are a quaternion."""
    return any(motion.quaternion is not None for motion, _ in KINDS[joint.kind].motions(joint))
