"""Mechanism -> SDF text (Gazebo, Drake), with parameters at their defaults.

One model in a world: links with their poses at q = 0, joints between them, and cuts as joints that close loops. A joint
with several motions becomes a chain with massless links; a free body is a link without a joint. What SDF has no words
for is refused if it moves (elastic joints) and listed in a comment at the top of the file if it only acts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from symbody.basics.atomic_file import write_whole
from symbody.basics.errors import ModelError
from symbody.model.files.xml_writer import AXES, XmlWriter, to_quaternion, vector
from symbody.model.record.elementary_motions import BALL, FREE, SCREW, SLIDE, TURN
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import WORLD, Body, Cut, Joint, Mechanism, Shape
from symbody.model.record.pose import Pose

TYPES = {TURN: "revolute", SLIDE: "prismatic", BALL: "ball", SCREW: "screw"}
CUTS = {"solid": "fixed", "ball": "ball", "revolute": "revolute", "prismatic": "prismatic"}
SIZES = {"box": ("size",), "cylinder": ("radius", "length"), "capsule": ("radius", "length"), "sphere": ("radius",)}


def write(mechanism: Mechanism, path: str | Path) -> list[str]:
    """Writes a Mechanism as an SDF file and returns what is lost; nothing is written if it cannot be expressed."""
    writer = _SdfWriter(mechanism, Path(path).parent)
    write_whole(path, writer.text())
    return writer.lost


def to_sdf(mechanism: Mechanism) -> str:
    """The text of a Mechanism in SDF."""
    return _SdfWriter(mechanism).text()


class _SdfWriter(XmlWriter):
    format = "SDF"

    def text(self) -> str:
        mechanism = self.mechanism
        self._name_pieces()
        carried = {j.child: j for j in mechanism.joints}
        self.between: list[str] = []  # massless links
        joints: list[str] = []
        for joint in mechanism.joints:
            joints += self._joint(joint)
        for body in mechanism.bodies:
            self._link(body, carried[body.name])
        self.lines += [*self.between, *joints]
        for cut in mechanism.cuts:
            self._cut(cut)
        for what, pieces in (
            ("coupling", mechanism.couplings),
            ("force", mechanism.forces),
            ("sensor", mechanism.sensors),
            ("keyframe", mechanism.keyframes),
        ):
            self.lost += [f"{what} {p.name}" for p in pieces]
        gravity = self.array(mechanism.gravity, "gravity")
        return "\n".join([
            '<?xml version="1.0"?>',
            '<sdf version="1.11" xmlns:drake="http://drake.mit.edu">',
            *self.comment(),
            '<world name="world">',
            f"  <gravity>{vector(gravity)}</gravity>",
            f"  <model name={self.name(mechanism.name)}>",
            *(f"    {line}" for line in self.lines),
            "  </model>",
            "</world>",
            "</sdf>",
            "",
        ])  # fmt: skip

    def _name_pieces(self) -> None:
        """In SDF the links, joints and frames of a model have different names, whatever they are."""
        self.taken = set(self.links)
        pieces = (("joint", self.mechanism.joints), ("cut", self.mechanism.cuts))
        titles = {what: {p.name: self._title(p.name, what) for p in of} for what, of in pieces}
        self.titles, self.cut_titles = titles["joint"], titles["cut"]
        for what, names in titles.items():
            for name, title in names.items():
                if name != title:
                    self.lost.append(f"name of {what} {name}, which something else has too: it is called {title}")
        frames = [(b.name, name) for b in self.mechanism.bodies for name in b.frames]
        self.frame_titles = {(body, name): self.free(f"{body}.{name}", self.taken) for body, name in frames}

    def _title(self, name: str, what: str) -> str:
        return self.free(name if name not in self.taken else f"{name}_{what}", self.taken)

    # -- links

    def _link(self, body: Body, joint: Joint) -> None:
        owner = f"body {body.name!r}"
        place = self._child_pose(joint)
        relative = "" if joint.parent == WORLD else f" relative_to={self.name(joint.parent)}"
        mass, com, tensor = self.number(body.mass, owner), self.array(body.com, owner), self.array(body.inertia, owner)
        self.lines.append(f"<link name={self.name(body.name)}>")
        self.lines.append(f"  {_pose(place, relative)}")
        entries = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
        moments = "".join(f"<{k}>{float(tensor[i, j])!r}</{k}>" for k, i, j in entries)
        self.lines += [
            "  <inertial>",
            f"    {_pose(Pose(np.eye(3), com))}",
            f"    <mass>{mass!r}</mass>",
            f"    <inertia>{moments}</inertia>",
            "  </inertial>",
        ]
        for k, shape in enumerate(body.shapes):
            self.lines += [f"  {line}" for line in self._shape(shape, body.name, k)]
        self.lines.append("</link>")
        for name, frame in body.frames.items():
            pose = self.pose(frame, f"frame {name!r} of {owner}")
            label = self.name(self.frame_titles[body.name, name])
            self.lines.append(f"<frame name={label} attached_to={self.name(body.name)}>{_pose(pose)}</frame>")

    def _child_pose(self, joint: Joint) -> Pose:
        """Pose of the child in the parent's frame at q = 0, or at the value of a locked joint."""
        pose = self.pose(joint.placement, f"joint {joint.name!r}")
        return self.locked(joint, pose) if joint.mode == "locked" else pose

    def _shape(self, shape: Shape, owner: str, k: int) -> list[str]:
        size = [float(s) for s in shape.size]
        if shape.kind == "mesh":
            file = self.mesh_file(shape.file, owner)
            if not file:
                return []
            uri = self.name(file)[1:-1]
            inner = f"<uri>{uri}</uri><scale>{vector((size * 3 or [1.0] * 3)[:3])}</scale>"
        elif shape.kind == "ellipsoid":
            inner = f"<radii>{vector(s / 2 for s in size)}</radii>"
        elif shape.kind == "box":
            inner = f"<size>{vector(size)}</size>"
        elif shape.kind in SIZES:
            inner = "".join(f"<{k}>{s!r}</{k}>" for k, s in zip(SIZES[shape.kind], size))
        else:
            self.lost.append(f"shape {shape.kind} of {owner}")
            return []
        colour = ""
        if shape.colour:
            colour = f"<material><diffuse>{vector((*shape.colour, 1.0)[:4])}</diffuse></material>"
        pose = _pose(self.shape_pose(shape, owner))
        geometry = f"<geometry><{shape.kind}>{inner}</{shape.kind}></geometry>"
        return [f'<visual name="visual{k + 1}">{pose}{geometry}{colour}</visual>']

    # -- joints

    def _joint(self, joint: Joint) -> list[str]:
        self.refuse_joint(joint)
        owner = f"joint {joint.name!r}"
        motions = () if joint.mode == "locked" else KINDS[joint.kind].motions(joint)
        if not motions:
            return self._sdf_joint(self.titles[joint.name], "fixed", joint.parent, joint.child, [])
        if any(motion is FREE for motion, _ in motions):
            if joint.parent != WORLD or len(motions) > 1:
                raise ModelError(
                    f"{owner} is free on {joint.parent!r}; SDF has free links on the world only. Use a floating joint."
                )
            self.lost += [f"{law} of joint {joint.name}" for law in self.laws(joint)]
            self.lost.append(f"name of joint {joint.name}: a link without a joint is free")
            return []
        if joint.mode == "driven":
            self.lost.append(f"prescribed motion of joint {joint.name}")
        out, parent = [], joint.parent
        place = self.pose(joint.placement, owner)
        for k, (motion, letter) in enumerate(motions):
            if motion not in TYPES:
                raise ModelError(f"{owner} has a {motion.name} motion, which SDF has not; expected hinges and slides.")
            child = joint.child if k == len(motions) - 1 else self.free(f"{joint.name}_{k + 1}", self.taken)
            if child != joint.child:
                relative = "" if joint.parent == WORLD else f" relative_to={self.name(joint.parent)}"
                self.between.append(f"<link name={self.name(child)}>{_pose(place, relative)}{_NOTHING}</link>")
            name = self.titles[joint.name] if k == 0 else self.free(f"{joint.name}_{k + 1}", self.taken)
            inner = self._axis(joint, self.axis(joint, letter)) if motion.axial else []
            if motion is BALL and self.laws(joint):
                self.lost += [f"{law} of joint {joint.name}" for law in self.laws(joint)]
            if motion is SCREW:
                inner.append(
                    f"<screw_thread_pitch>{2 * np.pi * self.number(joint.pitch, owner)!r}</screw_thread_pitch>"
                )
            out += self._sdf_joint(name, TYPES[motion], parent, child, inner)
            parent = child
        return out

    def _sdf_joint(self, name: str, kind: str, parent: str, child: str, inner: list[str]) -> list[str]:
        ends = f"<parent>{_text(self, parent)}</parent><child>{_text(self, child)}</child>"
        head = f'<joint name={self.name(name)} type="{kind}">'
        return [head, f"  {ends}", *(f"  {line}" for line in inner), "</joint>"]

    def _axis(self, joint: Joint, axis: tuple[float, ...]) -> list[str]:
        laws, bounds = self.laws(joint), joint.limits
        out = ["<axis>", f"  <xyz>{vector(axis)}</xyz>"]
        words = {
            "viscous": "damping",
            "coulomb": "friction",
            "stiffness": "spring_stiffness",
            "rest": "spring_reference",
        }
        found = "".join(f"<{word}>{laws[k]!r}</{word}>" for k, word in words.items() if k in laws)
        if found:
            out.append(f"  <dynamics>{found}</dynamics>")
        limits = "".join(
            f"<{k}>{float(v)!r}</{k}>"
            for k in ("lower", "upper", "effort", "velocity")
            if (v := getattr(bounds, k)) is not None
        )
        if limits:
            out.append(f"  <limit>{limits}</limit>")
        follows = self.mimic(joint)
        if follows is not None:
            leader, ratio, offset = follows
            terms = f"<multiplier>{ratio!r}</multiplier><offset>{offset!r}</offset><reference>0.0</reference>"
            out.append(f"  <mimic joint={self.name(self.titles[leader])}>{terms}</mimic>")
        out.append("</axis>")
        if joint.rotor is not None and "armature" in laws:
            owner = f"joint {joint.name!r}"
            inertia, ratio = self.number(joint.rotor.inertia, owner), self.number(joint.rotor.ratio, owner)
            out += [
                f"<drake:rotor_inertia>{inertia!r}</drake:rotor_inertia>",
                f"<drake:gear_ratio>{ratio!r}</drake:gear_ratio>",
            ]
        return out

    def _cut(self, cut: Cut) -> None:
        """A joint between two frames that coincide when the loop is closed."""
        ends = [body if not frame else self.frame_titles[body, frame] for body, frame in (cut.first, cut.second)]
        if cut.kind not in CUTS or cut.switched or cut.second[0] == WORLD:
            self.lost.append(f"cut {cut.name}")
            return
        kind = CUTS[cut.kind]
        inner = (
            ["<axis>", f"  <xyz>{vector(AXES[cut.axis])}</xyz>", "</axis>"] if kind in ("revolute", "prismatic") else []
        )
        self.lines += self._sdf_joint(self.cut_titles[cut.name], kind, ends[0], ends[1], inner)


_NOTHING = (
    "<inertial><mass>0.0</mass><inertia><ixx>0.0</ixx><iyy>0.0</iyy><izz>0.0</izz><ixy>0.0</ixy><ixz>0.0</ixz>"
    "<iyz>0.0</iyz></inertia></inertial>"
)


def _text(writer: XmlWriter, name: str) -> str:
    """A name as text of an element."""
    return writer.name(name)[1:-1].replace("<", "&lt;")


def _pose(pose: Pose, attributes: str = "") -> str:
    w, x, y, z = to_quaternion(pose.rotation)
    numbers = vector((*pose.position, x, y, z, w))
    return f'<pose{attributes} rotation_format="quat_xyzw">{numbers}</pose>'
