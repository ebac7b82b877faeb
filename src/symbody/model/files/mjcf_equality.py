"""MJCF equality constraints: connect and weld become cuts; of joints, a linear law mimic, a held one a locked joint.

Laws that mimic cannot say (polynomials, two laws for one joint, circles) become couplings. MuJoCo keeps its constraints
softly (solref, solimp); cuts, couplings, mimic and locked joints are their rigid limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import nearest
from symbody.model.build.builder import Builder
from symbody.model.files.mjcf_tendons import Tendon
from symbody.model.files.mjcf_tree import BodyRecord, JointRecord, TreeReader, frame_name
from symbody.model.files.xml_file import XmlElement
from symbody.model.record.pose import Pose, from_quaternion

End = tuple[BodyRecord, str, Pose]  # body, name of the frame, its pose in the MJCF body frame


@dataclass(frozen=True, eq=False)
class CutRecord:
    """A loop closure between two frames."""

    name: str
    kind: str
    ends: tuple[End, End]
    origin: str


@dataclass(frozen=True, eq=False)
class EqualityLaw:
    """joint1 - reference1 = a0 + a1 x + ... + a4 x^4 with x = joint2 - reference2; no leader: x = 0."""

    name: str
    follower: str
    leader: str
    coefficients: tuple[float, ...]
    references: tuple[float, float]
    origin: str

    @property
    def linear(self) -> bool:
        return not self.leader or not any(self.coefficients[2:])

    @property
    def line(self) -> tuple[float, float]:
        """(ratio, offset) of follower = ratio leader + offset, for a linear law."""
        ratio = self.coefficients[1] if self.leader else 0.0
        return ratio, self.coefficients[0] + self.references[0] - ratio * self.references[1]


@dataclass(frozen=True, eq=False)
class Equalities:
    """What the section says: cuts, details of joints that follow or are held (by name), and the laws left over."""

    cuts: list[CutRecord]
    details: dict[str, dict[str, Any]]
    laws: list[EqualityLaw]
    tendons: list[tuple[str, XmlElement]]  # equalities of tendons, with defaults filled in

    def expression(self, law: EqualityLaw) -> str:
        """A law as the expression of a coupling: zero where it is satisfied."""
        first, second = law.references
        x = f"({self._coordinate(law.leader)} - ({second!r}))" if law.leader else "0"
        terms = " + ".join(
            f"({c!r})*{x}^{k}" if k else f"({c!r})" for k, c in enumerate(law.coefficients) if c or not k
        )
        return f"{self._coordinate(law.follower)} - ({first!r}) - ({terms})"

    def _coordinate(self, joint: str) -> str:
        """A locked joint has no coordinate: its value stands for it."""
        details = self.details.get(joint, {})
        quoted = joint.replace("`", "``")
        if "mimic" in details:  # a follower has none either
            leader, ratio, offset = details["mimic"]
            return f"(({ratio!r})*{self._coordinate(leader)} + ({offset!r}))"
        return repr(details["value"]) if "value" in details else f"`q.{quoted}`"

    def tendon_length(self, tendon: Tendon) -> str:
        """The length of a fixed tendon as an expression of coordinates."""
        return " + ".join(f"({c!r})*{self._coordinate(j)}" for j, c in tendon.joints.items()) or "0"


def read_equality(equality: XmlElement, tree: TreeReader, builder: Builder) -> Equalities:
    """The constraints that are active; the others, and those of tendons and flexes, are noted."""
    cuts: list[CutRecord] = []
    simple: dict[str, EqualityLaw] = {}  # by the joint that follows
    rest: list[EqualityLaw] = []
    tendons: list[tuple[str, XmlElement]] = []
    bodies = {body.name: body for body in tree.bodies}
    joints = {joint.name: joint for body in tree.bodies for joint in body.joints}
    names: dict[str, set[str]] = {"cut": set(), "law": set()}
    tops: dict[str, str] = {}  # follower -> a joint further up its chain of leaders

    def once(element: XmlElement, name: str, kind: str) -> None:
        if name in names[kind]:
            raise element.error(f"a second equality {name!r}; expected unique names.")
        names[kind].add(name)

    for number, written in enumerate(equality.children, 1):
        element = tree.defaults.apply(written, "", "equality")
        name = element.get("name") or f"{element.tag}{number}"
        if element.choice("active", ("true", "false"), "true") == "false":
            builder.note(f"{element.origin}: {element.tag} {name!r} is not active and was left out")
        elif element.tag in ("connect", "weld"):
            once(element, name, "cut")
            cuts.append(_cut(element, name, tree, bodies))
        elif element.tag == "joint":
            law = _joint_law(element, name, tree, joints)
            once(element, name, "law")
            if not law.linear or law.follower in simple or law.follower == _top(law.leader, tops):
                rest.append(law)
            else:
                simple[law.follower] = law
                tops[law.follower] = law.leader
        elif element.tag == "tendon":
            tendons.append((name, element))
        elif element.tag in ("flex", "flexvert", "flexstrain"):
            builder.note(f"{element.origin}: equality <{element.tag}> {name!r} was left out")
        else:
            raise element.error(f"<{element.tag}> is no equality constraint; expected connect, weld, joint or tendon.")
    return Equalities(cuts, _details(simple), rest, tendons)


# -- cuts


def _cut(element: XmlElement, name: str, tree: TreeReader, bodies: dict[str, BodyRecord]) -> CutRecord:
    # a weld whose torque counts nothing holds its point alone
    free = element.tag == "weld" and element.number("torquescale", 1.0) == 0
    kind = "ball" if element.tag == "connect" or free else "solid"
    if "site1" in element.attributes or "site2" in element.attributes:
        ends = (_site(element, "site1", tree), _site(element, "site2", tree))
        return CutRecord(name, kind, ends, element.origin)
    first = _body(element, "body1", bodies)
    second = _body(element, "body2", bodies) if "body2" in element.attributes else tree.bodies[0]
    if first is second:
        raise element.error(f"{element.tag} {name!r} joins body {first.name!r} to itself; expected two bodies.")
    between = first.world.inverse() @ second.world  # at the reference configuration
    label = frame_name(name)
    if element.tag == "connect":
        if "anchor" not in element.attributes:
            raise element.error(f"connect {name!r} has no anchor; expected three numbers in the frame of body1.")
        anchor = np.array(element.numbers("anchor", 3))
        here = Pose(np.eye(3), anchor)
        there = Pose(np.eye(3), between.inverse().rotation @ anchor + between.inverse().position)
        return CutRecord(name, kind, ((first, label, here), (second, label, there)), element.origin)
    anchor = np.array(element.numbers("anchor", 3, (0, 0, 0)))  # in the frame of body2
    relative = element.numbers("relpose", 7, (0, 1, 0, 0, 0, 0, 0))
    if np.linalg.norm(relative[3:]) < 1e-10:
        here = Pose(between.rotation, between.rotation @ anchor + between.position)
    else:
        here = Pose(from_quaternion(relative[3:]), np.array(relative[:3]))
    there = Pose(np.eye(3), anchor)
    return CutRecord(name, kind, ((first, label, here), (second, label, there)), element.origin)


def _body(element: XmlElement, attribute: str, bodies: dict[str, BodyRecord]) -> BodyRecord:
    name = element.name(attribute)
    if name not in bodies:
        raise element.error(f"{element.tag} has {attribute}={name!r}, which is no body. {nearest(name, bodies)}")
    return bodies[name]


def _site(element: XmlElement, attribute: str, tree: TreeReader) -> End:
    name = element.name(attribute)
    if name not in tree.sites:
        raise element.error(f"{element.tag} has {attribute}={name!r}, which is no site. {nearest(name, tree.sites)}")
    body, pose = tree.sites[name]
    return body, frame_name(name), pose


# -- laws of joints


def _joint_law(element: XmlElement, name: str, tree: TreeReader, joints: dict[str, JointRecord]) -> EqualityLaw:
    def find(attribute: str) -> JointRecord:
        wanted = element.name(attribute)
        if wanted not in joints:
            hint = nearest(wanted, joints)
            raise element.error(f"equality joint has {attribute}={wanted!r}, which is no joint. {hint}")
        if joints[wanted].kind not in ("hinge", "slide"):
            raise element.error(
                f"equality joint has {attribute}={wanted!r}, a {joints[wanted].kind} joint; expected hinge or slide."
            )
        return joints[wanted]

    def reference(joint: JointRecord) -> float:
        ref = joint.element.number("ref", 0.0)
        return tree.compiler.angle(ref) if joint.kind == "hinge" else ref

    coefficients = [*element.numbers("polycoef", range(1, 6), (0, 1, 0, 0, 0)), 0, 0, 0, 0][:5]
    if len(element.get("polycoef").split()) == 1:
        coefficients[1] = 1.0  # MuJoCo keeps its default where a number is not given
    follower = find("joint1")
    if not element.get("joint2"):
        return EqualityLaw(name, follower.name, "", (coefficients[0],), (reference(follower), 0.0), element.origin)
    leader = find("joint2")
    if leader is follower:
        raise element.error(f"equality joint couples {leader.name!r} with itself; expected two joints.")
    references = (reference(follower), reference(leader))
    return EqualityLaw(name, follower.name, leader.name, tuple(map(float, coefficients)), references, element.origin)


def _top(joint: str, tops: dict[str, str]) -> str:
    """The joint that leads all leaders of one; paths are shortened on the way, so that long chains stay cheap."""
    path = []
    while joint in tops:
        path.append(joint)
        joint = tops[joint]
    for passed in path:
        tops[passed] = joint
    return joint


def _details(laws: dict[str, EqualityLaw]) -> dict[str, dict[str, Any]]:
    """Fields by follower: `mimic` of the joint that leads all leaders, or `mode` and `value` where that one is held."""
    lines: dict[str, tuple[str, float, float]] = {}  # follower -> top, ratio, offset
    for follower in laws:
        path = []
        at = follower
        while at in laws and at not in lines:
            path.append(at)
            at = laws[at].leader
        for joint in reversed(path):
            ratio, offset = laws[joint].line
            top, above, shift = lines.get(laws[joint].leader, (laws[joint].leader, 1.0, 0.0))
            lines[joint] = top, ratio * above, ratio * shift + offset
    return {
        follower: {"mimic": lines[follower]} if lines[follower][0] else {"mode": "locked", "value": lines[follower][2]}
        for follower in laws
    }
