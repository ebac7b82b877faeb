"""Mechanism -> URDF text, with parameters at their defaults.

A joint with several motions becomes a chain of URDF joints with massless links between them; a locked joint becomes a
fixed one. What URDF has no words for is refused if it moves (ball and screw joints, elastic joints) and listed in a
comment at the top of the file if it only acts (springs, rotors, cuts, forces).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import ModelError
from symbody.model.files.xml_writer import XmlWriter, vector
from symbody.model.record.elementary_motions import BALL, FREE, SLIDE, TURN
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import WORLD, Body, Joint, Mechanism, Placement, Shape
from symbody.model.record.numbers import number_of
from symbody.model.record.pose import IDENTITY, Pose, to_rpy

PLAIN = {TURN: "revolute", SLIDE: "prismatic", FREE: "floating"}


def write(mechanism: Mechanism, path: str | Path) -> list[str]:
    """Writes a Mechanism as a URDF file and returns what is lost; nothing is written if it cannot be expressed."""
    writer = _UrdfWriter(mechanism)
    write_whole(path, writer.text())
    return writer.lost


def to_urdf(mechanism: Mechanism) -> str:
    """The text of a Mechanism in URDF."""
    return _UrdfWriter(mechanism).text()


class _UrdfWriter(XmlWriter):
    format = "URDF"

    def text(self) -> str:
        mechanism = self.mechanism
        base = self._base()
        if base is None:
            self.lines.append(f'  <link name="{WORLD}"/>')
        for body in mechanism.bodies:
            self._body(body)
        for joint in mechanism.joints:
            if joint is not base:
                self._joint(joint)
        for body in mechanism.bodies:
            for name, place in body.frames.items():
                self._frame(body, name, place)
        self._what_is_lost()
        head = ['<?xml version="1.0"?>', f"<robot name={self.name(mechanism.name)}>"]
        return "\n".join([*head, *self.comment(), *self.lines, "</robot>", ""])

    def _base(self) -> Joint | None:
        """The fixed joint that sets one root link on the world, which URDF leaves unsaid."""
        on_world = [j for j in self.mechanism.joints if j.parent == WORLD]
        if len(on_world) != 1 or on_world[0].kind != "fixed":
            return None
        pose = self.pose(on_world[0].placement, on_world[0].name)
        still = np.array_equal(pose.rotation, np.eye(3)) and not pose.position.any()
        return on_world[0] if still else None

    # -- links

    def _body(self, body: Body) -> None:
        owner = f"body {body.name!r}"
        mass = self.number(body.mass, owner)
        com, tensor = self.array(body.com, owner), self.array(body.inertia, owner)
        inner: list[str] = []
        if mass or tensor.any():
            entries = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
            inner += [
                "    <inertial>",
                f'      <origin xyz="{vector(com)}" rpy="0 0 0"/>',
                f'      <mass value="{mass!r}"/>',
                "      <inertia " + " ".join(f'{k}="{float(tensor[i, j])!r}"' for k, i, j in entries) + "/>",
                "    </inertial>",
            ]
        for shape in body.shapes:
            inner += self._shape(shape, body.name)
        self._element("link", body.name, inner)

    def _shape(self, shape: Shape, owner: str) -> list[str]:
        size = tuple(float(s) for s in shape.size)
        match shape.kind:
            case "box":
                form = f'<box size="{vector(size)}"/>'
            case "sphere":
                form = f'<sphere radius="{size[0]!r}"/>'
            case "cylinder" | "capsule":
                form = f'<{shape.kind} radius="{size[0]!r}" length="{size[1]!r}"/>'
            case "mesh":
                scale = f' scale="{vector(size)}"' if size and set(size) != {1.0} else ""
                form = f"<mesh filename={self.name(shape.file)}{scale}/>"
            case _:
                self.lost.append(f"shape {shape.kind} of {owner}")
                return []
        pose = self.pose(shape.placement, f"a shape of {owner}") if shape.placement is not None else IDENTITY
        out = ["    <visual>", f"      {_origin(pose)}", f"      <geometry>{form}</geometry>"]
        if shape.colour:
            rgba = (*shape.colour, 1.0)[:4]
            out.append(f'      <material name=""><color rgba="{vector(rgba)}"/></material>')
        return [*out, "    </visual>"]

    def _frame(self, body: Body, name: str, place: Placement) -> None:
        """A named frame: a massless link on a fixed joint."""
        link = self.free(name if name not in self.links else f"{body.name}_{name}", self.links)
        pose = self.pose(place, f"frame {name!r} of body {body.name!r}")
        self._element("link", link, [])
        self._urdf_joint(self.free(f"{link}_fixed", self.joints), "fixed", body.name, link, pose)

    # -- joints

    def _joint(self, joint: Joint) -> None:
        owner = f"joint {joint.name!r}"
        self.refuse_joint(joint)
        pose = self.pose(joint.placement, owner)
        if joint.mode == "locked":
            self._urdf_joint(joint.name, "fixed", joint.parent, joint.child, self.locked(joint, pose))
            return
        motions = KINDS[joint.kind].motions(joint)
        for motion, _ in motions:
            if motion not in PLAIN:
                raise ModelError(
                    f"{owner} of kind {joint.kind!r} cannot be written as URDF; expected hinges, slides, free joints. "
                    + (
                        "Use the kind 'spherical', three hinges in turn."
                        if motion is BALL
                        else f"URDF has no {motion.name} motions."
                    )
                )
        if not motions:
            self._urdf_joint(joint.name, "fixed", joint.parent, joint.child, pose)
        parent = joint.parent
        for k, (motion, name) in enumerate(motions):
            last = k == len(motions) - 1
            child = joint.child if last else self.free(f"{joint.name}_{k + 1}", self.links)
            if not last:
                self._element("link", child, [])
            title = joint.name if k == 0 else self.free(f"{joint.name}_{k + 1}", self.joints)
            kind, details = PLAIN[motion], []
            if motion.axial:
                details.append(f'    <axis xyz="{vector(self.axis(joint, name))}"/>')
                kind, limit = self._limit(joint, kind)
                details += limit + self._laws(joint)
            self._urdf_joint(title, kind, parent, child, pose, details)
            parent, pose = child, IDENTITY

    def _limit(self, joint: Joint, kind: str) -> tuple[str, list[str]]:
        """The URDF type and its <limit>: a hinge without bounds is continuous; effort and velocity must be there."""
        bounds = joint.limits
        if kind == "revolute" and bounds.lower is None and bounds.upper is None:
            if bounds.effort is None and bounds.velocity is None:
                return "continuous", []
            return "continuous", [_limit_line(None, None, bounds.effort, bounds.velocity)]
        far = 1e9  # m: URDF wants bounds for every slide
        lower, upper = (b if b is not None else f for b, f in ((bounds.lower, -far), (bounds.upper, far)))
        return kind, [_limit_line(lower, upper, bounds.effort, bounds.velocity)]

    def _laws(self, joint: Joint) -> list[str]:
        owner = f"joint {joint.name!r}"
        out = []
        viscous, coulomb = (0.0 if x is None else self.number(x, owner) for x in (joint.viscous, joint.coulomb))
        if viscous or coulomb:
            out.append(f'    <dynamics damping="{viscous!r}" friction="{coulomb!r}"/>')
        if joint.mimic is not None:
            ratio, offset = self.number(joint.mimic.ratio, owner), self.number(joint.mimic.offset, owner)
            leader = self.name(joint.mimic.joint)
            out.append(f'    <mimic joint={leader} multiplier="{ratio!r}" offset="{offset!r}"/>')
        return out

    def _urdf_joint(
        self, name: str, kind: str, parent: str, child: str, pose: Pose, details: Iterable[str] = ()
    ) -> None:
        inner = [
            f"    {_origin(pose)}",
            f"    <parent link={self.name(parent)}/>",
            f"    <child link={self.name(child)}/>",
            *details,
        ]
        self._element("joint", name, inner, f' type="{kind}"')

    # -- what URDF has no words for

    def _what_is_lost(self) -> None:
        m = self.mechanism
        for joint in m.joints:
            if joint.stiffness is not None:
                self.lost.append(f"spring of joint {joint.name}")
            if joint.rotor is not None:
                self.lost.append(f"rotor of joint {joint.name}")
            if joint.mode == "driven":
                self.lost.append(f"prescribed motion of joint {joint.name}")
        pieces_of = (
            ("cut", m.cuts),
            ("coupling", m.couplings),
            ("force", m.forces),
            ("sensor", m.sensors),
            ("keyframe", m.keyframes),
        )
        for what, pieces in pieces_of:
            self.lost += [f"{what} {p.name}" for p in pieces]
        gravity = [number_of(g) for g in m.gravity]
        if gravity != [0.0, 0.0, -9.81]:
            self.lost.append(f"gravity {' '.join(map(str, gravity))}")

    # -- small pieces

    def _element(self, tag: str, name: str, inner: list[str], more: str = "") -> None:
        head = f"  <{tag} name={self.name(name)}{more}"
        self.lines += [f"{head}>", *inner, f"  </{tag}>"] if inner else [f"{head}/>"]


def _origin(pose: Pose) -> str:
    return f'<origin xyz="{vector(pose.position)}" rpy="{vector(to_rpy(pose.rotation))}"/>'


def _limit_line(lower: float | None, upper: float | None, effort: float | None, velocity: float | None) -> str:
    given = (("lower", lower), ("upper", upper), ("effort", effort or 0.0), ("velocity", velocity or 0.0))
    return "    <limit " + " ".join(f'{k}="{float(v)!r}"' for k, v in given if v is not None) + "/>"
