"""MJCF equality constraints: connect and weld become cuts, a linear joint coupling mimic, a held joint a locked one.

MuJoCo keeps its constraints softly (solref, solimp); cuts, mimic and locked joints are their rigid limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.errors import nearest
from symbody.model.builder import Builder
from symbody.model.mjcf_tree import BodyRecord, JointRecord, TreeReader, frame_name
from symbody.model.pose import Pose, from_quaternion
from symbody.model.xml_file import Element

End = tuple[BodyRecord, str, Pose]  # body, name of the frame, its pose in the MJCF body frame


@dataclass(frozen=True, eq=False)
class CutRecord:
    """A loop closure between two frames."""

    name: str
    kind: str
    ends: tuple[End, End]
    origin: str


@dataclass(frozen=True, eq=False)
class Coupling:
    """What a joint constraint says about the joint that follows: `mimic`, or `mode` and `value`."""

    details: dict[str, Any]


def read_equality(equality: Element, tree: TreeReader, builder: Builder) -> tuple[list[CutRecord], dict[str, Coupling]]:
    """Cuts, and couplings by the name of the joint that follows."""
    cuts: list[CutRecord] = []
    laws: dict[str, tuple[str, float, float, Element]] = {}
    for number, written in enumerate(equality.children, 1):
        element = tree.defaults.apply(written, "", "equality")
        name = element.get("name") or f"{element.tag}{number}"
        if element.choice("active", ("true", "false"), "true") == "false":
            builder.note(f"{element.origin}: {element.tag} {name!r} is not active and was left out")
        elif element.tag in ("connect", "weld"):
            if name in {c.name for c in cuts}:
                raise element.error(f"a second equality {name!r}; expected unique names.")
            cuts.append(_cut(element, name, tree))
        elif element.tag == "joint":
            follower, leader, ratio, offset = _joint_law(element, tree)
            if follower in laws:
                raise element.error(f"joint {follower!r} follows two constraints; expected one at most.")
            laws[follower] = (leader, ratio, offset, element)
        elif element.tag in ("tendon", "flex", "flexvert", "flexstrain"):
            builder.note(f"{element.origin}: equality <{element.tag}> {name!r} was left out")
        else:
            raise element.error(f"<{element.tag}> is no equality constraint; expected connect, weld, joint or tendon.")
    return cuts, {follower: _coupling(follower, laws) for follower in laws}


# -- cuts


def _cut(element: Element, name: str, tree: TreeReader) -> CutRecord:
    kind = "ball" if element.tag == "connect" else "solid"
    if "site1" in element.attributes or "site2" in element.attributes:
        ends = (_site(element, "site1", tree), _site(element, "site2", tree))
        return CutRecord(name, kind, ends, element.origin)
    first = _body(element, "body1", tree)
    second = _body(element, "body2", tree) if "body2" in element.attributes else tree.bodies[0]
    if first is second:
        raise element.error(f"{element.tag} {name!r} joins body {first.name!r} to itself; expected two bodies.")
    between = first.world.inverse() @ second.world  # at the reference configuration
    label = frame_name(name)
    if kind == "ball":
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


def _body(element: Element, attribute: str, tree: TreeReader) -> BodyRecord:
    name = element.name(attribute)
    for body in tree.bodies:
        if body.name == name:
            return body
    hint = nearest(name, [b.name for b in tree.bodies])
    raise element.error(f"{element.tag} has {attribute}={name!r}, which is no body. {hint}")


def _site(element: Element, attribute: str, tree: TreeReader) -> End:
    name = element.name(attribute)
    if name not in tree.sites:
        raise element.error(f"{element.tag} has {attribute}={name!r}, which is no site. {nearest(name, tree.sites)}")
    body, pose = tree.sites[name]
    return body, frame_name(name), pose


# -- couplings of coordinates


def _joint_law(element: Element, tree: TreeReader) -> tuple[str, str, float, float]:
    """(follower, leader or "", ratio, offset) of joint1 - ref1 = a0 + a1 (joint2 - ref2)."""
    joints = {j.name: j for b in tree.bodies for j in b.joints}

    def find(attribute: str) -> JointRecord:
        name = element.name(attribute)
        if name not in joints:
            raise element.error(f"equality joint has {attribute}={name!r}, which is no joint. {nearest(name, joints)}")
        if joints[name].kind not in ("hinge", "slide"):
            raise element.error(
                f"equality joint has {attribute}={name!r}, a {joints[name].kind} joint; expected hinge or slide."
            )
        return joints[name]

    def reference(joint: JointRecord) -> float:
        ref = joint.element.number("ref", 0.0)
        return tree.compiler.angle(ref) if joint.kind == "hinge" else ref

    coefficients = [*element.numbers("polycoef", range(1, 6), (0, 1, 0, 0, 0)), 0, 0, 0, 0][:5]
    if len(element.get("polycoef").split()) == 1:
        coefficients[1] = 1.0  # MuJoCo keeps its default where a number is not given
    follower = find("joint1")
    if not element.get("joint2"):
        return follower.name, "", 0.0, coefficients[0] + reference(follower)
    leader = find("joint2")
    if leader is follower:
        raise element.error(f"equality joint couples {leader.name!r} with itself; expected two joints.")
    if any(coefficients[2:]):
        raise element.error(
            f"equality joint on {follower.name!r} has polycoef of degree 2 or more; expected a linear one."
        )
    offset = coefficients[0] + reference(follower) - coefficients[1] * reference(leader)
    return follower.name, leader.name, coefficients[1], offset


def _coupling(follower: str, laws: dict[str, tuple[str, float, float, Element]]) -> Coupling:
    """Traces followers of followers to the joint that leads them all."""
    ratio, offset, at, seen = 1.0, 0.0, follower, [follower]
    while at in laws:
        leader, a, b, element = laws[at]
        offset += ratio * b
        ratio *= a
        if not leader:
            return Coupling({"mode": "locked", "value": offset})
        if leader in seen:
            raise element.error(f"joints {', '.join(seen)} follow each other in a circle; expected one that leads.")
        seen.append(leader)
        at = leader
    return Coupling({"mimic": (at, ratio, offset)})
