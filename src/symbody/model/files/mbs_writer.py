"""Mechanism -> ROBOTRAN .mbs text, with parameters at their defaults.

ROBOTRAN has translations and rotations along and about x, y and z alone: another axis, and a turned frame, become
locked rotations before and after. Frames become points, whose axes are those of the body. What the format has no words
for is refused if it moves (ball, free and elastic joints, followers) and listed in a comment if it only acts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import ModelError
from symbody.model.files.mbs import START
from symbody.model.files.xml_writer import XmlWriter, visible
from symbody.model.record.elementary_motions import SLIDE, TURN
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import WORLD, Body, Cut, Joint, Mechanism
from symbody.model.record.numbers import number_of
from symbody.model.record.pose import from_z, to_rpy

NATURES = {"actuated": "independent", "passive": "dependent", "driven": "driven", "locked": "locked"}
CUTS = ("ball", "rod", "solid")
ORIGIN = "origin"


def write(mechanism: Mechanism, path: str | Path) -> list[str]:
    """Writes a Mechanism as a .mbs file and returns what is lost; nothing is written if it cannot be expressed."""
    writer = _MbsWriter(mechanism)
    write_whole(path, writer.text())
    return writer.lost


class _MbsWriter(XmlWriter):
    format = "ROBOTRAN"

    def text(self) -> str:
        m = self.mechanism
        self.points: dict[str, dict[str, np.ndarray]] = {WORLD: {}, **{b.name: self._frames(b) for b in m.bodies}}
        hung = {j.name: self._point(j) for j in m.joints}
        carried = {j.child: j for j in m.joints}
        bodies = {b.name: b for b in m.bodies}
        tree = [line for j in m.joints for line in self._body(bodies[j.child], carried[j.child], hung)]
        cuts = [line for cut in m.cuts for line in self._cut(cut)]
        links = [
            line for force in m.forces if force.kind == "link" for line in self._ends("link", force.name, force.points)
        ]
        for force in m.forces:
            if force.kind not in ("link", "external") or force.values.get("function") is not None:
                self.lost.append(f"force {force.name}")
        self.lost += [f"coupling {c.name}" for c in m.couplings] + [
            f"keyframe {k.name}" for k in m.keyframes if k.name != START or k.qd
        ]
        gravity = self.array(m.gravity, "gravity")
        return "\n".join([
            '<?xml version="1.0" encoding="UTF-8"?>',
            "<mbsDescR7>",
            *self.comment(),
            f"  <mbsname>{self._text(m.name)}</mbsname>",
            "  <base>",
            f"    <gravity>{_coordinates(gravity)}</gravity>",
            *self._written_points(WORLD),
            "  </base>",
            "  <bodytree>", *tree, "  </bodytree>",
            "  <cuts>", *cuts, "  </cuts>",
            "  <links>", *links, "  </links>",
            "</mbsDescR7>",
            "",
        ])  # fmt: skip

    def _text(self, name: str) -> str:
        if name != visible(name):
            raise ModelError(f"{name!r} has a control character; XML cannot hold it. Expected another name.")
        return escape(name)

    # -- points

    def _frames(self, body: Body) -> dict[str, np.ndarray]:
        out = {}
        for name, frame in body.frames.items():
            pose = self.pose(frame, f"frame {name!r} of body {body.name!r}")
            out[name] = pose.position
            if not np.array_equal(pose.rotation, np.eye(3)):
                self.lost.append(f"rotation of frame {name} of body {body.name}")
        return out

    def _point(self, joint: Joint) -> str:
        """The point of the parent at which a joint stands; a new one where no frame is there."""
        position = self.pose(joint.placement, f"joint {joint.name!r}").position
        if not position.any():
            return ORIGIN
        own = self.points[joint.parent]
        found = next((name for name, p in own.items() if np.array_equal(p, position)), None)
        if found is None:
            found = self.free(f"at_{joint.name}", set(own))
            own[found] = position
        return found

    def _written_points(self, body: str) -> Iterator[str]:
        forces = [f for f in self.mechanism.forces if f.kind == "external" and f.values.get("function") is None]
        attached: dict[str, list[str]] = {}
        for force in forces:
            if len(force.points) == 1 and force.points[0][0] == body:
                attached.setdefault(force.points[0][1], []).append(f"<extforce name={self.name(force.name)}/>")
        for sensor in self.mechanism.sensors:
            if sensor.body == body:
                attached.setdefault(sensor.frame, []).append(f"<sensor name={self.name(sensor.name)}/>")
        places = {**self.points[body], **({ORIGIN: np.zeros(3)} if "" in attached else {})}
        for name, position in places.items():
            inner = "".join(attached.get("" if name == ORIGIN and "" in attached else name, ()))
            yield f"      <point><pointname>{self._text(name)}</pointname>{_coordinates(position)}{inner}</point>"

    # -- bodies and joints

    def _body(self, body: Body, joint: Joint, hung: dict[str, str]) -> Iterator[str]:
        owner = f"body {body.name!r}"
        parent = "base" if joint.parent == WORLD else joint.parent
        mass, com, tensor = self.number(body.mass, owner), self.array(body.com, owner), self.array(body.inertia, owner)
        entries = (("Ixx", 0, 0), ("Ixy", 0, 1), ("Ixz", 0, 2), ("Iyy", 1, 1), ("Iyz", 1, 2), ("Izz", 2, 2))
        moments = "".join(f"<{k}>{float(tensor[i, j])!r}</{k}>" for k, i, j in entries)
        yield "    <body>"
        yield f"      <bodyname>{self._text(body.name)}</bodyname>"
        yield (
            f"      <parent><bodyname>{self._text(parent)}</bodyname>"
            f"<pointname>{self._text(hung[joint.name])}</pointname></parent>"
        )
        yield from (f"      {line}" for line in self._joints(joint))
        yield f"      <mass>{mass!r}</mass>"
        yield f"      <com>{_coordinates(com)}</com>"
        yield f"      <inertia>{moments}</inertia>"
        yield from self._written_points(body.name)
        yield "    </body>"
        if body.shapes:
            self.lost.append(f"shapes of body {body.name}")

    def _joints(self, joint: Joint) -> Iterator[str]:
        self.refuse_joint(joint)
        owner = f"joint {joint.name!r}"
        if joint.mimic is not None:
            raise ModelError(f"{owner} follows {joint.mimic.joint!r}; ROBOTRAN has no followers. Use a coupling.")
        self.lost += [f"{law} of joint {joint.name}" for law in self.laws(joint)]
        yield from self._turn(joint, self.pose(joint.placement, owner).rotation, "placed")
        entries = [number_of(x) or 0.0 for x in joint.values]
        if joint.mode == "driven" and joint.values:
            self.lost.append(f"law of motion of joint {joint.name}: ROBOTRAN has it in user code")
        start = next((x.q.get(joint.name, ()) for x in self.mechanism.keyframes if x.name == START), ())
        for k, (motion, letter) in enumerate(KINDS[joint.kind].motions(joint)):
            if motion not in (TURN, SLIDE):
                raise ModelError(
                    f"{owner} has a {motion.name} motion, which ROBOTRAN has not; expected rotations and translations. "
                    "Use the kinds 'spherical' and 'floating'."
                )
            axis = np.array(self.axis(joint, letter))
            place = int(np.argmax(np.abs(axis)))
            align = np.eye(3)
            if axis[place] != 1.0:
                found = from_z(axis)
                assert found is not None  # unit length
                align, place = found, 2
            yield from self._turn(joint, align, "axis")
            name = joint.name if k == 0 else self.free(f"{joint.name}_{k + 1}", self.joints)
            value = entries[k] if k < len(entries) else start[k] if k < len(start) else 0.0
            letter = "R" if motion is TURN else "T"
            yield self._joint(name, f"{letter}{place + 1}", NATURES[joint.mode], value)
            yield from self._turn(joint, align.T, "back")

    def _turn(self, joint: Joint, rotation: np.ndarray, what: str) -> Iterator[str]:
        """A fixed rotation: locked joints about z, y and x in turn."""
        roll, pitch, yaw = to_rpy(rotation)
        for letter, angle in (("R3", yaw), ("R2", pitch), ("R1", roll)):
            if angle:
                name = self.free(f"{joint.name}_{what}_{letter}", self.joints)
                yield self._joint(name, letter, "locked", angle)

    def _joint(self, name: str, kind: str, nature: str, value: float) -> str:
        start = f"<initialvalue><q>{value!r}</q></initialvalue>" if value else ""
        head = f"<joint><jointname>{self._text(name)}</jointname><type>{kind}</type>"
        return f"{head}<nature>{nature}</nature>{start}</joint>"

    # -- what joins points

    def _cut(self, cut: Cut) -> Iterator[str]:
        if cut.kind not in CUTS or cut.switched:
            self.lost.append(f"cut {cut.name}")
            return
        length = "" if cut.length is None else f"<length>{self.number(cut.length, f'cut {cut.name!r}')!r}</length>"
        yield from self._ends(cut.kind, cut.name, (cut.first, cut.second), length)

    def _ends(self, tag: str, name: str, points: tuple[tuple[str, str], ...], more: str = "") -> Iterator[str]:
        ends = "".join(
            f"<endpoint{k}><bodyname>{self._text('base' if body == WORLD else body)}</bodyname>"
            f"<pointname>{self._text(frame or ORIGIN)}</pointname></endpoint{k}>"
            for k, (body, frame) in enumerate(points, 1)
        )
        yield f"    <{tag}><name>{self._text(name)}</name>{ends}{more}</{tag}>"


def _coordinates(values: np.ndarray) -> str:
    return "<coordinates>" + "".join(f"<{k}>{float(v)!r}</{k}>" for k, v in zip("xyz", values)) + "</coordinates>"
