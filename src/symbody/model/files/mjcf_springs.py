"""Springs and dampers of MJCF joints that are no plain law of a joint: of ball and free joints, and polynomials.

A spring on a ball joint pulls along the rotation vector from its free pose, one on a free joint also towards its place
in the file: `bushing`. Terms of second and third degree act on the coordinate of a hinge or slide: `tendon`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from symbody.model.build.builder import Builder
from symbody.model.files.file_values import FileValues
from symbody.model.files.mjcf_tree import BodyRecord, JointRecord, TreeReader, frame_name
from symbody.model.files.xml_file import XmlElement
from symbody.model.record.pose import Pose

Frame = dict[str, Any]
Point = tuple[str, str]


def curve(element: XmlElement, law: str) -> list[float]:
    """Coefficients of a polynomial without constant, of degree 3."""
    return [*element.numbers(law, range(1, 4), (0.0,)), 0.0, 0.0][:3]


@dataclass(eq=False)
class JointSprings:
    """Springs that become force elements; `acts`: whether the file's flags leave "spring" and "damper" on."""

    tree: TreeReader
    builder: Builder
    values: FileValues
    acts: dict[str, bool]
    made: list[tuple[str, str, list[Point | Pose], Frame, str]] = field(default_factory=list)

    def prepare(self) -> None:
        """Frames of parents at which springs of ball joints are free; before bodies are made."""
        for body in self.tree.bodies[1:]:
            assert body.parent is not None
            if body.joints and body.parent.parent is not None and self._holds(body.joints[0]):
                place = body.pose.position + body.pose.rotation @ body.joints[0].anchor
                body.parent.frames[_rest(body.joints[0])] = Pose(body.pose.rotation, place)

    def frames_before(self, body: BodyRecord, k: int) -> dict[str, Frame]:
        """Frames of the massless body between joint k - 1 and joint k."""
        before, joint = body.joints[k - 1 : k + 1]
        return {_rest(joint): {"position": list(joint.anchor - before.anchor)}} if self._holds(joint) else {}

    def hold(self, body: BodyRecord, joint: JointRecord, parent: str, child: str) -> None:
        """The spring of a ball or free joint between two bodies of the Mechanism."""
        if not self._holds(joint):
            return
        e = joint.element
        names = ("angular", "linear") if joint.kind == "free" else ("angular",)
        values: Frame = {
            k: self.values.scalar(curve(e, "stiffness")[0], f"{k}_stiffness_{joint.name}", unit, e.origin)
            for k, unit in zip(names, ("N m/rad", "N/m"))
        }
        second: Point | Pose = (parent, _rest(joint))
        if body.joints[0] is joint and body.parent is not None and body.parent.parent is None:
            second = Pose(body.pose.rotation, body.pose.position + body.pose.rotation @ joint.anchor)
        self.made.append((f"{joint.name}_spring", "bushing", [(child, ""), second], values, e.origin))

    def bend(self, joint: JointRecord, spring: list[float], damper: list[float]) -> None:
        """Terms of second and third degree of a joint's spring and damper."""
        e, name = joint.element, joint.name
        terms = {
            f"{what}{degree}": value
            for what, law, terms in (("stiffness", "spring", spring), ("damping", "damper", damper))
            for degree, value in zip((2, 3), terms[1:])
            if value and self.acts[law]
        }
        if not terms:
            return
        if not joint.axial:
            raise e.error(
                f"{joint.kind} joint {name!r} has stiffness or damping of second or third degree; expected them on "
                "hinges and slides only. Give one number."
            )
        values: Frame = {k: self.values.scalar(v, f"{k}_{name}", "", e.origin) for k, v in terms.items()}
        rest = self.tree.coordinate(joint, "springref")
        values |= {"length": rest} if rest else {}
        where = {"joints": [name], "coefficients": [1.0]}
        self.made.append((f"{name}_curve", "tendon", [], {**where, **values}, e.origin))

    def write(self) -> None:
        """Into the Builder, when all bodies are there."""
        for name, kind, points, values, origin in self.made:
            ends = [self.values.ground(f"{name}_rest", p, origin) if isinstance(p, Pose) else p for p in points]
            self.builder.force(name, kind, ends, values, origin=origin)

    def _holds(self, joint: JointRecord) -> bool:
        if joint.axial or joint.element.tag == "freejoint" or not self.acts["spring"]:
            return False
        return curve(joint.element, "stiffness")[0] > 0


def _rest(joint: JointRecord) -> str:
    return frame_name(f"{joint.name}_rest")
