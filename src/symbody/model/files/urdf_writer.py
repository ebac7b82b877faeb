"""Mechanism -> URDF text, with parameters at their defaults.

A joint with several motions becomes a chain of URDF joints with massless links between them; a locked joint becomes a
fixed one. What URDF has no words for is refused if it moves (ball and screw joints, elastic joints) and listed in a
comment at the top of the file if it only acts (springs, rotors, cuts, forces).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from symbody.atomic_file import write_whole
from symbody.errors import ModelError
from symbody.model.build.snapping import snapped
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import WORLD, Body, Joint, Mechanism, Placement, Shape
from symbody.model.record.motions import BALL, FREE, SLIDE, TURN, pose_along
from symbody.model.record.numbers import number_of
from symbody.model.record.pose import IDENTITY, Pose, rounded, to_rpy

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
PLAIN = {TURN: "revolute", SLIDE: "prismatic", FREE: "floating"}


def write(mechanism: Mechanism, path: str | Path) -> None:
    """Writes a Mechanism as a URDF file; nothing is written if it cannot be expressed."""
    write_whole(path, to_urdf(mechanism).encode())


def to_urdf(mechanism: Mechanism) -> str:
    """The text of a Mechanism in URDF."""
    return _Writer(mechanism).text()


class _Writer:
    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.lines: list[str] = []
        self.lost: list[str] = []
        self.links = {WORLD, *(b.name for b in mechanism.bodies)}
        self.joints = {j.name for j in mechanism.joints}

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
        head = ['<?xml version="1.0"?>', f"<robot name={self._name(mechanism.name)}>"]
        return "\n".join([*head, *self._comment(), *self.lines, "</robot>", ""])

    def _base(self) -> Joint | None:
        """The fixed joint that sets one root link on the world, which URDF leaves unsaid."""
        on_world = [j for j in self.mechanism.joints if j.parent == WORLD]
        if len(on_world) != 1 or on_world[0].kind != "fixed":
            return None
        pose = self._pose(on_world[0].placement, on_world[0].name)
        still = np.array_equal(pose.rotation, np.eye(3)) and not pose.position.any()
        return on_world[0] if still else None

    # -- links

    def _body(self, body: Body) -> None:
        owner = f"body {body.name!r}"
        mass = self._number(body.mass, owner)
        com, tensor = self._array(body.com, owner), self._array(body.inertia, owner)
        inner: list[str] = []
        if mass or tensor.any():
            entries = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
            inner += [
                "    <inertial>",
                f'      <origin xyz="{_vector(com)}" rpy="0 0 0"/>',
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
                form = f'<box size="{_vector(size)}"/>'
            case "sphere":
                form = f'<sphere radius="{size[0]!r}"/>'
            case "cylinder" | "capsule":
                form = f'<{shape.kind} radius="{size[0]!r}" length="{size[1]!r}"/>'
            case "mesh":
                scale = f' scale="{_vector(size)}"' if size and set(size) != {1.0} else ""
                form = f"<mesh filename={self._name(shape.file)}{scale}/>"
            case _:
                self.lost.append(f"shape {shape.kind} of {owner}")
                return []
        pose = self._pose(shape.placement, f"a shape of {owner}") if shape.placement is not None else IDENTITY
        out = ["    <visual>", f"      {_origin(pose)}", f"      <geometry>{form}</geometry>"]
        if shape.colour:
            rgba = (*shape.colour, 1.0)[:4]
            out.append(f'      <material name=""><color rgba="{_vector(rgba)}"/></material>')
        return [*out, "    </visual>"]

    def _frame(self, body: Body, name: str, place: Placement) -> None:
        """A named frame: a massless link on a fixed joint."""
        link = self._free(name if name not in self.links else f"{body.name}_{name}", self.links)
        pose = self._pose(place, f"frame {name!r} of body {body.name!r}")
        self._element("link", link, [])
        self._urdf_joint(self._free(f"{link}_fixed", self.joints), "fixed", body.name, link, pose)

    # -- joints

    def _joint(self, joint: Joint) -> None:
        owner = f"joint {joint.name!r}"
        if joint.elastic is not None:
            raise ModelError(f"{owner} is elastic; URDF has no such joint. Replace it by a rigid one.")
        pose = self._pose(joint.placement, owner)
        axis = tuple(float(x) for x in self._array(joint.axis, owner))
        if joint.mode == "locked":
            self._urdf_joint(joint.name, "fixed", joint.parent, joint.child, self._locked(joint, pose, axis))
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
            child = joint.child if last else self._free(f"{joint.name}_{k + 1}", self.links)
            if not last:
                self._element("link", child, [])
            title = joint.name if k == 0 else self._free(f"{joint.name}_{k + 1}", self.joints)
            kind, details = PLAIN[motion], []
            if motion.axial:
                details.append(f'    <axis xyz="{_vector(axis if name == "u" else AXES[name])}"/>')
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
        viscous, coulomb = (0.0 if x is None else self._number(x, owner) for x in (joint.viscous, joint.coulomb))
        if viscous or coulomb:
            out.append(f'    <dynamics damping="{viscous!r}" friction="{coulomb!r}"/>')
        if joint.mimic is not None:
            ratio, offset = self._number(joint.mimic.ratio, owner), self._number(joint.mimic.offset, owner)
            leader = self._name(joint.mimic.joint)
            out.append(f'    <mimic joint={leader} multiplier="{ratio!r}" offset="{offset!r}"/>')
        return out

    def _locked(self, joint: Joint, pose: Pose, axis: tuple[float, ...]) -> Pose:
        """The pose of the child of a joint that stays at its value."""
        owner = f"joint {joint.name!r}"
        entries = [self._number(x, owner) for x in joint.values]
        for motion, name in KINDS[joint.kind].motions(joint) if entries else ():
            own, entries = entries[: motion.nq], entries[motion.nq :]
            pitch = 0.0 if joint.pitch is None else self._number(joint.pitch, owner)
            turn, shift = pose_along(motion, axis if name == "u" else AXES.get(name), pitch, own)
            pose = pose @ Pose(rounded(turn), shift)
        return pose

    def _urdf_joint(
        self, name: str, kind: str, parent: str, child: str, pose: Pose, details: Iterable[str] = ()
    ) -> None:
        inner = [
            f"    {_origin(pose)}",
            f"    <parent link={self._name(parent)}/>",
            f"    <child link={self._name(child)}/>",
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
        for what, pieces in (("cut", m.cuts), ("force", m.forces), ("sensor", m.sensors)):
            self.lost += [f"{what} {p.name}" for p in pieces]
        gravity = [number_of(g) for g in m.gravity]
        if gravity != [0.0, 0.0, -9.81]:
            self.lost.append(f"gravity {' '.join(map(str, gravity))}")

    def _comment(self) -> list[str]:
        if not self.lost:
            return []
        # two hyphens would end an XML comment
        text = [_visible(x).replace("--", "- -").rstrip("-") for x in self.lost]
        return ["  <!-- not in this file, for URDF has no words for it:", *(f"       {x}" for x in text), "  -->"]

    # -- small pieces

    def _element(self, tag: str, name: str, inner: list[str], more: str = "") -> None:
        head = f"  <{tag} name={self._name(name)}{more}"
        self.lines += [f"{head}>", *inner, f"  </{tag}>"] if inner else [f"{head}/>"]

    def _name(self, name: str) -> str:
        if name != _visible(name):
            raise ModelError(f"{name!r} has a control character; XML cannot hold it. Expected another name.")
        return quoteattr(name)

    def _free(self, name: str, taken: set[str]) -> str:
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    def _number(self, node: Any, owner: str) -> float:
        value = number_of(node)
        if value is None:
            raise ModelError(
                f"{owner} has the value {node}, whose parameters have no defaults; expected numbers for URDF."
            )
        return value

    def _array(self, nodes: Any, owner: str) -> np.ndarray:
        array = np.asarray(nodes, dtype=object)
        return np.array([self._number(x, owner) for x in array.flat]).reshape(array.shape)

    def _pose(self, place: Placement, owner: str) -> Pose:
        return Pose(snapped(self._array(place.rotation, owner)), self._array(place.position, owner))


def _origin(pose: Pose) -> str:
    return f'<origin xyz="{_vector(pose.position)}" rpy="{_vector(to_rpy(pose.rotation))}"/>'


def _vector(values: Iterable[float]) -> str:
    """Numbers that read back to the same bits."""
    return " ".join(repr(float(v) + 0.0) for v in values)


def _limit_line(lower: float | None, upper: float | None, effort: float | None, velocity: float | None) -> str:
    given = (("lower", lower), ("upper", upper), ("effort", effort or 0.0), ("velocity", velocity or 0.0))
    return "    <limit " + " ".join(f'{k}="{float(v)!r}"' for k, v in given if v is not None) + "/>"


def _visible(text: str) -> str:
    """The text without characters that XML cannot hold."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\t\n\r]", "", text)
