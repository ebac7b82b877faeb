"""Mechanism -> MJCF text, with parameters at their defaults; angles in radians, masses from <inertial> alone.

A chain of motions becomes joints of one body in turn, a locked joint a body without joints, a follower an equality
constraint of joints, cuts connect and weld. What MJCF has no words for is refused if it moves (elastic joints, free
joints on moving bodies) and listed in a comment at the top of the file if it only acts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import ModelError
from symbody.model.files.xml_writer import XmlWriter, to_quaternion, vector
from symbody.model.record.elementary_motions import BALL, FREE, SCREW, SLIDE, TURN
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import WORLD, Body, Cut, Force, Joint, Mechanism, Shape
from symbody.model.record.pose import IDENTITY, Pose
from symbody.symbolic.expr.node import Node

TYPES = {TURN: "hinge", SLIDE: "slide", BALL: "ball", FREE: "free"}
CUTS = {"ball": "connect", "solid": "weld"}
GEOMS = {"box": "box", "sphere": "sphere", "cylinder": "cylinder", "capsule": "capsule", "ellipsoid": "ellipsoid"}


def write(mechanism: Mechanism, path: str | Path) -> list[str]:
    """Writes a Mechanism as an MJCF file and returns what is lost; nothing is written if it cannot be expressed."""
    writer = _MjcfWriter(mechanism, Path(path).parent)
    write_whole(path, writer.text())
    return writer.lost


def to_mjcf(mechanism: Mechanism) -> str:
    """The text of a Mechanism in MJCF."""
    return _MjcfWriter(mechanism).text()


class _MjcfWriter(XmlWriter):
    format = "MJCF"

    def __init__(self, mechanism: Mechanism, folder: Path | None = None) -> None:
        super().__init__(mechanism, folder)
        self.children: dict[str, list[Joint]] = {}
        for joint in mechanism.joints:
            self.children.setdefault(joint.parent, []).append(joint)
        self.bodies = {b.name: b for b in mechanism.bodies}
        self.sites: dict[tuple[str, str], str] = {}
        self.frames: dict[str, list[str]] = {}  # of bodies, those that are sites
        self._site_names: set[str] = set()
        self.equality: list[str] = []
        self._equalities = {c.name for c in mechanism.cuts}
        self.tendons: list[str] = []
        self.assets: dict[str, str] = {}
        self.fast: list[str] = []  # joints with limits of velocity

    def text(self) -> str:
        mechanism = self.mechanism
        self._name_sites()
        self._tree()
        for cut in mechanism.cuts:
            self._cut(cut)
        for force in mechanism.forces:
            self._force(force)
        if self.fast:
            self.lost.append(f"velocity limits of joints {', '.join(self.fast)}")
        self.lost += [f"coupling {c.name}" for c in mechanism.couplings]
        self.lost += [f"sensor {s.name}" for s in mechanism.sensors]
        self.lost += [f"keyframe {k.name}" for k in mechanism.keyframes]
        gravity = self.array(mechanism.gravity, "gravity")
        head = [
            '<?xml version="1.0"?>',
            f"<mujoco model={self.name(mechanism.name)}>",
            *self.comment(),
            '  <compiler angle="radian" autolimits="true" inertiafromgeom="false" alignfree="false"/>',
            f'  <option gravity="{vector(gravity)}"/>',
        ]
        assets = ["  <asset>", *self.assets.values(), "  </asset>"] if self.assets else []
        rest = []
        for tag, lines in (("tendon", self.tendons), ("equality", self.equality)):
            if lines:
                rest += [f"  <{tag}>", *lines, f"  </{tag}>"]
        return "\n".join([*head, *assets, "  <worldbody>", *self.lines, "  </worldbody>", *rest, "</mujoco>", ""])

    def _name_sites(self) -> None:
        """Sites have names of their own among all bodies."""
        used = [(p.first, p.second) for p in self.mechanism.cuts] + [f.points for f in self.mechanism.forces]
        wanted = [(b.name, name) for b in self.mechanism.bodies for name in b.frames]
        wanted += [(body, frame) for points in used for body, frame in points if frame == ""]
        counts = Counter(frame for _, frame in wanted)
        for body, frame in dict.fromkeys(wanted):
            self.frames.setdefault(body, []).append(frame)
            label = frame if frame and counts[frame] == 1 else f"{body}_{frame}" if frame else f"{body}_origin"
            self.sites[body, frame] = self.free(label, self._site_names)

    # -- bodies

    def _tree(self) -> None:
        """Bodies in the order of the joints, each within its parent; an explicit stack, for chains may be long."""
        self._sites(WORLD, {}, 2)
        stack: list[tuple[Joint | None, int]] = [(j, 2) for j in reversed(self.children.get(WORLD, []))]
        while stack:
            joint, depth = stack.pop()
            if joint is None:
                self.lines.append("  " * depth + "</body>")
                continue
            self._open(joint, depth)
            stack.append((None, depth))
            stack += [(j, depth + 1) for j in reversed(self.children.get(joint.child, []))]

    def _open(self, joint: Joint, depth: int) -> None:
        owner, pad = f"joint {joint.name!r}", "  " * (depth + 1)
        self.refuse_joint(joint)
        pose = self.pose(joint.placement, owner)
        joints: list[str] = []
        if joint.mode == "locked":
            pose = self.locked(joint, pose)
        else:
            joints = self._motions(joint, pose)
        self.lines.append("  " * depth + f"<body name={self.name(joint.child)}{_place(pose)}>")
        self.lines += [pad + line for line in joints]
        body = self.bodies[joint.child]
        self._inertial(body, pad)
        for shape in body.shapes:
            line = self._shape(shape, body.name)
            if line:
                self.lines.append(pad + line)
        self._sites(body.name, body.frames, depth + 1)

    def _inertial(self, body: Body, pad: str) -> None:
        owner = f"body {body.name!r}"
        mass, com, tensor = self.number(body.mass, owner), self.array(body.com, owner), self.array(body.inertia, owner)
        if not mass and not tensor.any():
            return
        xx, xy, xz, _, yy, yz, _, _, zz = tensor.flat
        low, middle, high = np.linalg.eigvalsh(tensor)
        if mass and not (low > 0 and high <= (low + middle) * (1 + 1e-6)):
            self.lost.append(
                f"body {body.name}, for MuJoCo: it refuses moments of inertia {vector((low, middle, high))}"
            )
        if xy or xz or yz:
            moments = f'fullinertia="{vector((xx, yy, zz, xy, xz, yz))}"'
        else:
            moments = f'diaginertia="{vector((xx, yy, zz))}"'
        self.lines.append(pad + f'<inertial pos="{vector(com)}" mass="{mass!r}" {moments}/>')

    def _sites(self, body: str, frames: Mapping[str, Any], depth: int) -> None:
        for frame in self.frames.get(body, ()):
            place = self.pose(frames[frame], f"frame {frame!r} of body {body!r}") if frame else IDENTITY
            self.lines.append("  " * depth + f"<site name={self.name(self.sites[body, frame])}{_place(place)}/>")

    def _shape(self, shape: Shape, owner: str) -> str:
        size = [float(s) for s in shape.size]
        if shape.kind == "mesh":
            file = self.mesh_file(shape.file, owner)
            if not file:
                return ""
            name = f"{Path(file).stem}_{len(self.assets) + 1}"
            scale = f' scale="{vector((size * 3)[:3])}"' if size and set(size) != {1.0} else ""
            line = f"    <mesh name={{}} file={self.name(file)}{scale}/>"
            if line not in self.assets:
                self.assets[line] = line.format(self.name(name))
            named = self.assets[line].split('name="')[1].split('"')[0]
            form = f'type="mesh" mesh="{named}"'
        elif shape.kind in GEOMS and size:
            halves = [size[0], size[1] / 2] if shape.kind in ("cylinder", "capsule") else [s / 2 for s in size]
            halves = size if shape.kind == "sphere" else halves
            form = f'type="{GEOMS[shape.kind]}" size="{vector(halves)}"'
        else:
            self.lost.append(f"shape {shape.kind} of {owner}")
            return ""
        colour = f' rgba="{vector((*shape.colour, 1.0)[:4])}"' if shape.colour else ""
        return f'<geom {form}{_place(self.shape_pose(shape, owner))}{colour} contype="0" conaffinity="0" mass="0"/>'

    # -- joints

    def _motions(self, joint: Joint, pose: Pose) -> list[str]:
        owner, out = f"joint {joint.name!r}", []
        motions = KINDS[joint.kind].motions(joint)
        if joint.mode == "driven":
            self.lost.append(f"prescribed motion of joint {joint.name}")
        for k, (motion, letter) in enumerate(motions):
            name = joint.name if k == 0 else self.free(f"{joint.name}_{k + 1}", self.joints)
            if motion is SCREW:
                out += self._screw(joint, name, self.axis(joint, letter))
                continue
            if motion not in TYPES:
                raise ModelError(f"{owner} has a {motion.name} motion, which MJCF has not; expected hinges and slides.")
            if motion is FREE and (joint.parent != WORLD or len(motions) > 1):
                raise ModelError(
                    f"{owner} is free on {joint.parent!r}; MJCF has them on the world only. Use a floating joint."
                )
            if motion is FREE and (pose.position.any() or not np.array_equal(pose.rotation, np.eye(3))):
                self.lost.append(f"coordinates of joint {joint.name} relative to its frame: MJCF measures in the world")
            axis = f' axis="{vector(self.axis(joint, letter))}"' if motion.axial else ""
            laws = self._laws(joint, motion.axial)
            out.append(f'<joint name={self.name(name)} type="{TYPES[motion]}"{axis}{laws}/>')
        follows = self.mimic(joint)
        if follows is not None:
            leader, ratio, offset = follows
            self.equality.append(
                f"    <joint name={self._law_name(joint.name)} joint1={self.name(joint.name)} "
                f'joint2={self.name(leader)} polycoef="{vector((offset, ratio, 0, 0, 0))}"/>'
            )
        return out

    def _screw(self, joint: Joint, name: str, axis: tuple[float, ...]) -> list[str]:
        """A hinge and a slide that follows it; MuJoCo keeps that softly."""
        slide = self.free(f"{joint.name}_slide", self.joints)
        pitch = self.number(joint.pitch, f"joint {joint.name!r}")
        self.equality.append(
            f"    <joint name={self._law_name(slide)} joint1={self.name(slide)} joint2={self.name(name)} "
            f'polycoef="{vector((0, pitch, 0, 0, 0))}"/>'
        )
        along = f'axis="{vector(axis)}"'
        return [
            f'<joint name={self.name(name)} type="hinge" {along}{self._laws(joint, True)}/>',
            f'<joint name={self.name(slide)} type="slide" {along}/>',
        ]

    def _law_name(self, follower: str) -> str:
        return self.name(self.free(f"{follower}_follows", self._equalities))

    def _laws(self, joint: Joint, axial: bool) -> str:
        laws = self.laws(joint)
        words = {"stiffness": "stiffness", "rest": "springref", "viscous": "damping", "coulomb": "frictionloss",
                 "armature": "armature"}  # fmt: skip
        if not axial:
            self.lost += [f"{law} of joint {joint.name}" for law in laws if law != "viscous"]
            laws = {k: v for k, v in laws.items() if k == "viscous"}
        out = "".join(f' {words[law]}="{value!r}"' for law, value in laws.items())
        bounds = joint.limits
        if axial and bounds.lower is not None and bounds.upper is not None:
            out += f' range="{vector((bounds.lower, bounds.upper))}"'
        elif bounds.lower is not None or bounds.upper is not None:
            self.lost.append(f"limit of joint {joint.name}")
        if bounds.velocity is not None:
            self.fast.append(joint.name)
        if axial and bounds.effort:
            out += f' actuatorfrcrange="{vector((-bounds.effort, bounds.effort))}"'
        return out

    # -- what joins bodies

    def _cut(self, cut: Cut) -> None:
        if cut.kind not in CUTS or cut.switched:
            self.lost.append(f"cut {cut.name}")
            return
        first, second = (self.name(self.sites[p]) for p in (cut.first, cut.second))
        self.equality.append(f"    <{CUTS[cut.kind]} name={self.name(cut.name)} site1={first} site2={second}/>")

    def _force(self, force: Force) -> None:
        """Springs and dampers along lines, and over joints, are tendons."""
        values = force.values
        plain = {k: v for k, v in values.items() if v is not None}
        line = force.kind == "spring_damper" and plain.get("law") in (None, "linear")
        tendon = force.kind == "tendon" and plain.get("law") in (None, "spring")
        if not (line or tendon):
            self.lost.append(f"force {force.name}")
            return
        numbers = {
            k: self.number(v, f"force {force.name!r}") for k, v in plain.items() if isinstance(v, (Node, int, float))
        }
        length = numbers.get("length", 0.0)
        spring = f'springlength="{vector((length, length + numbers.get("slack", 0.0)))}"'
        curves = {law: [numbers.get(f"{law}{k}", 0.0) for k in ("", 2, 3)] for law in ("stiffness", "damping")}
        laws = "".join(
            f' {law}="{vector(terms if any(terms[1:]) else terms[:1])}"' for law, terms in curves.items() if any(terms)
        )
        tag, inner = "fixed", []
        if plain.get("joints") is not None:
            coefficients = self.array(plain["coefficients"], f"force {force.name!r}")
            inner = [
                f'<joint joint={self.name(j)} coef="{c!r}"/>' for j, c in zip(plain["joints"], map(float, coefficients))
            ]
        else:
            tag, inner = "spatial", self._line(force, plain)
        self.tendons.append(f"    <{tag} name={self.name(force.name)} {spring}{laws}>")
        self.tendons += [f"      {part}" for part in inner]
        self.tendons.append(f"    </{tag}>")

    def _line(self, force: Force, values: Mapping[str, Any]) -> list[str]:
        """Sites in turn; where the divisor changes, a pulley begins another branch at the same site."""
        sites = [f"<site site={self.name(self.sites[p])}/>" for p in force.points]
        given = values.get("divisors")
        divisors = [1.0] * (len(sites) - 1) if given is None else list(self.array(given, f"force {force.name!r}"))
        out, last = [sites[0]], 1.0
        for k, divisor in enumerate(divisors):
            if divisor == 0:
                continue
            if divisor != last or (k and divisors[k - 1] == 0):
                out += [f'<pulley divisor="{float(divisor)!r}"/>', sites[k]]
            out.append(sites[k + 1])
            last = divisor
        return out


def _place(pose: Pose) -> str:
    """pos and quat, where they are not those of the owner."""
    out = f' pos="{vector(pose.position)}"' if pose.position.any() else ""
    if not np.array_equal(pose.rotation, np.eye(3)):
        out += f' quat="{vector(to_quaternion(pose.rotation))}"'
    return out
