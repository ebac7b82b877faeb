"""SDF (Gazebo, Drake) -> Mechanism: links, joints, frames, nested models; joints that close loops become cuts.

As the SDFormat specification defines it: a pose is x y z roll pitch yaw (or a quaternion) relative to the frame that
`relative_to` names, else to its owner; a joint stands in the frame of its child; the axis is given in the joint's
frame, or in the one that `expressed_in` names. A link that no joint carries is free, unless its model is static.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.errors import nearest
from symbody.model.build.builder import Builder
from symbody.model.files.file_values import FileValues, tensor_of, turned
from symbody.model.files.sdf_auto_inertia import auto_inertia
from symbody.model.files.sdf_include import expand_includes, read_sdf
from symbody.model.files.sdf_merge import MODEL_AXIS
from symbody.model.files.sdf_poses import IN_WORLD, OF_MODEL, PLACED_BY, WORLD_FRAME, Frames
from symbody.model.files.sdf_shapes import read_shapes
from symbody.model.files.urdf_shapes import MeshFinder, trusted_folders
from symbody.model.files.xml_file import XmlElement, parse_bound, parse_numbers
from symbody.model.record.mechanism import WORLD, Limits, Mechanism
from symbody.model.record.pose import IDENTITY, Pose, from_z
from symbody.model.record.snapping import listed

KINDS = {
    "fixed": "fixed", "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "ball": "ball",
    "screw": "helical", "universal": "universal", "revolute2": "universal",
}  # fmt: skip
CUTS = {"fixed": "solid", "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "ball": "ball"}
_OF_LINK = {"pose", "inertial", "visual", "collision", "gravity", "kinematic"}
LIFT = "lift"  # frame at the centre of mass of a link without weight
_OF_MODEL = {"link", "joint", "frame", "pose", "static", "model"}
_OF_JOINT = {"parent", "child", "pose", "axis", "axis2", "thread_pitch", "screw_thread_pitch"}
GEARBOX = "gearbox"
UNIT = 1e-9  # how near an axis of a universal joint is to one of its frame
PARALLEL = 1e-6  # the same of axes of gears: files hold six digits


def read(path: str | Path, symbolic: bool = True, packages: Sequence[str | Path] = ()) -> Mechanism:
    """The Mechanism of an SDF file.

    symbolic  nonzero masses, lengths, inertias and joint laws become parameters with their value as default
    packages  folders in which `model://` and `package://` meshes are looked for, besides those around the file
    """
    path = Path(path)
    top = read_sdf(path)
    if top.tag != "sdf":
        raise top.error(f"the file's root is <{top.tag}>; expected <sdf>.")
    return _SdfReader(top, path, symbolic, packages).read()


@dataclass(eq=False)
class _Link:
    name: str
    element: XmlElement
    static: bool
    prefix: str  # of names in its model
    joint: str = ""  # that carries it
    frames: dict[str, Pose] = field(default_factory=dict)


@dataclass(eq=False)
class _SdfJoint:
    """A joint with the links at its ends, and the pose of its frame in each. `title` is its name in the Mechanism."""

    name: str
    title: str
    element: XmlElement
    kind: str
    parent: str
    child: str
    in_parent: Pose
    in_child: Pose


class _SdfReader:
    def __init__(self, top: XmlElement, path: Path, symbolic: bool, packages: Sequence[str | Path]) -> None:
        top, left = expand_includes(top, path, trusted_folders(packages))
        worlds = list(top.all("world"))
        if len(worlds) > 1:
            raise worlds[1].error("a second <world>; expected one. Put the other one into a file of its own.")
        self.world = worlds[0] if worlds else top
        self.top = top
        models = list(self.world.all("model"))
        if not models:
            raise top.error("the file has no <model>; expected one at least.")
        old = [p for p in self.world.all("physics") if p.find("gravity") is not None]  # where SDF 1.5 has it
        at = old[0] if old and self.world.find("gravity") is None else self.world
        gravity = [0.0, 0.0, -9.81] if not worlds else _numbers(at, "gravity", 3, (0, 0, -9.8))
        name = models[0].get("name") if len(models) == 1 else self.world.get("name")
        self.builder = Builder(name or path.stem, gravity, source=path.name)
        for note in left:
            self.builder.note(note)
        self.gravity = np.array(gravity)
        if worlds and at.find("gravity") is None:
            self.builder.note(f"{self.world.origin}: gravity is SDF's default, 0 0 -9.8")
        self.values = FileValues(self.builder, symbolic)
        self.meshes = MeshFinder(path, packages)
        self.frames = Frames()
        self.links: dict[str, _Link] = {}
        self.joints: dict[str, _SdfJoint] = {}
        self.titles: set[str] = set()
        self.second: dict[str, tuple[str, str]] = {}  # of a universal joint as two hinges: link between, second hinge
        self.left: dict[str, list[XmlElement]] = {}
        self.weightless: list[tuple[_Link, float]] = []
        outer = IN_WORLD if len(models) == 1 else ""  # before names of the world
        if outer:
            self.frames.only = f"{outer}{models[0].get('name')}::"
        for model in models:
            self._model(model, WORLD_FRAME, "" if outer else f"{model.name()}::", outer, False)
        self._frames_and_joints(self.world, WORLD_FRAME, outer)
        for element in self.world.children:
            if element.tag not in ("model", "gravity", "frame", "joint"):
                self._leave(element)

    # -- structure

    def _leave(self, element: XmlElement) -> None:
        self.left.setdefault(element.tag, []).append(element)

    def _model(self, model: XmlElement, around: str, prefix: str, outer: str, static: bool) -> None:
        """Links, joints and frames of a model, with the names of nested ones before theirs.

        prefix, outer: before names that the model holds, and before those of what is around it
        """
        own = f"{prefix}{OF_MODEL}"
        placed_by = model.get(PLACED_BY)
        self.frames.add(own, model, around, outer, placed_by=prefix + placed_by if placed_by else "")
        if model.get("name"):
            self.frames.alias(f"{outer}{model.get('name')}", own)
        static = static or _text(model, "static", "false") in ("true", "1")
        for inner in model.all("model"):
            self._model(inner, own, f"{prefix}{inner.name()}::", prefix, static)
        for link in model.all("link"):
            name = prefix + link.name()
            if name in self.links:
                raise link.error(f"a second link {name!r}; expected unique names.")
            self.links[name] = _Link(name, link, static, prefix)
            self.frames.add(name, link, own, prefix)
            self.frames.add_link(name, prefix)
        self._frames_and_joints(model, own, prefix)
        for child in model.children:
            if child.tag not in _OF_MODEL:
                self._leave(child)

    def _frames_and_joints(self, owner: XmlElement, own: str, prefix: str) -> None:
        """Enter the frames and joints of a model or the world, whose frame is `own`."""
        for frame in owner.all("frame"):
            name, to, placed_by = prefix + frame.name(), frame.get("attached_to"), frame.get(PLACED_BY)
            around = own if not to else WORLD_FRAME if to == WORLD else prefix + to
            by = prefix + placed_by if placed_by else ""
            self.frames.add(name, frame, around, prefix, attached=True, placed_by=by)
        for element in owner.all("joint"):
            self._joint_frame(element, prefix)

    def _joint_frame(self, element: XmlElement, prefix: str) -> None:
        name = prefix + element.name()
        title = name.removeprefix(IN_WORLD)
        if name in self.joints or name in self.frames:
            raise element.error(f"a second joint or frame {title!r}; expected unique names.")
        child = element.content("child")
        self.frames.add(name, element, prefix + child, prefix, attached=True)
        kind = element.name("type")
        if kind not in KINDS and kind != GEARBOX:
            raise element.error(f"joint {title!r} has type {kind!r}; expected one of {', '.join((*KINDS, GEARBOX))}.")
        title = self._free_title(title)
        parent = element.content("parent")
        self.joints[name] = _SdfJoint(name, title, element, kind, parent, prefix + child, IDENTITY, IDENTITY)
        self.frames.prefix_of[name] = prefix

    def _free_title(self, title: str) -> str:
        while title in self.titles:
            title += "_"
        self.titles.add(title)
        return title

    def read(self) -> Mechanism:
        if WORLD in self.links:
            raise self.links[WORLD].element.error(
                f"a link is called {WORLD!r}, which is the ground; expected another name."
            )
        for joint in self.joints.values():
            self._ends(joint)
        cuts = self._carriers()
        self._split()
        for name in self.frames.named():
            self._named_frame(name)
        ends = {joint.name: self._cut_frames(joint) for joint in cuts}
        for link in self.links.values():
            self._link(link)
        for link in self.links.values():
            if not link.joint:
                self._root(link)
        for joint in self.joints.values():
            if joint.name not in ends and joint.kind != GEARBOX:
                self._joint(joint, joint.child)
        for joint in cuts:
            self._cut(joint, ends[joint.name])
        for joint in self.joints.values():
            if joint.kind == GEARBOX:
                self._gearbox(joint, {c.name for c in cuts})
        for link, mass in self.weightless:
            self._lift(link, mass)
        self._notes()
        return self.values.done()

    def _lift(self, link: _Link, mass: float) -> None:
        """A link that gravity does not pull: a force at its centre of mass bears its weight."""
        origin = link.element.origin
        force = [float(-mass * g) for g in self.gravity]
        if any(force):
            self.builder.force(f"{link.name}_lift", "point_force", [(link.name, LIFT)], {"force": force}, origin=origin)
        self.builder.note(f"{origin}: gravity does not pull link {link.name!r}; a force bears its weight")

    def _ends(self, joint: _SdfJoint) -> None:
        """Links of parent and child, and the joint's frame in each at the file's configuration."""
        prefix = self.frames.prefix_of[joint.name]
        here = self.frames.world(joint.name, joint.element)
        joint.child = self.frames.link(joint.child, joint.element)
        if joint.child == WORLD:
            raise joint.element.error(f"joint {joint.title!r} has the child 'world'; expected a link.")
        joint.in_child = self.frames.world(joint.child, joint.element).inverse() @ here
        if joint.parent == WORLD:
            joint.in_parent = here
            return
        joint.parent = self.frames.link(prefix + joint.parent, joint.element)
        joint.in_parent = self.frames.world(joint.parent, joint.element).inverse() @ here

    def _carriers(self) -> list[_SdfJoint]:
        """The first joint that reaches a link carries it; one that closes a loop, or reaches it again, is cut."""
        cuts = []
        roots: dict[str, str] = {}  # link -> one that it hangs on, nearer to the link that carries them all

        def root(link: str) -> str:
            trail = []
            while link in roots:
                trail.append(link)
                link = roots[link]
            roots.update(dict.fromkeys(trail, link))  # so that long chains are walked once
            return link

        for joint in self.joints.values():
            link = self.links[joint.child]
            if joint.kind == GEARBOX:
                continue
            if link.joint or root(joint.parent) == joint.child:
                cuts.append(joint)
            else:
                link.joint = joint.name
                roots[joint.child] = joint.parent
        return cuts

    def _named_frame(self, name: str) -> None:
        """A <frame> that is attached to a link is a named frame of its body."""
        link = self.frames.link(name, self.frames.element(name))
        if link in self.links:
            body = self._body_frame(self.links[link])
            pose = body.inverse() @ self.frames.world(name, self.frames.element(name))
            short = name.removeprefix(IN_WORLD).removeprefix(f"{link}.").replace(".", "_")
            while short in self.links[link].frames:
                short += "_"
            self.links[link].frames[short] = pose

    def _body_frame(self, link: _Link) -> Pose:
        """The Mechanism's body frame in the world: the frame of the joint that carries it, else the link's own."""
        place = self.frames.world(link.name, link.element)
        return place @ self.joints[link.joint].in_child if link.joint else place

    # -- links

    def _link(self, link: _Link) -> None:
        e = link.element
        inertial = e.find("inertial")
        mass, com, tensor = 1.0, np.zeros(3), np.eye(3)
        shift = IDENTITY if not link.joint else self.joints[link.joint].in_child.inverse()
        if inertial is None:
            self.builder.note(f"{e.origin}: link {link.name!r} has no <inertial>; SDF's default is 1 kg and 1 kg m^2")
            tensor = turned(tensor, shift.rotation)
            com = shift.position
        elif inertial.get("auto") in ("true", "1"):
            found = auto_inertia(e, inertial, lambda collision: self._pose(collision, link))
            mass, com = found.mass, shift.position + shift.rotation @ found.com
            tensor = turned(found.tensor, shift.rotation)
        else:
            pose = shift @ self._pose(inertial)
            mass = _numbers(inertial, "mass", 1, (1.0,))[0]
            if mass < 0:
                raise inertial.error(f"link {link.name!r} has mass {mass:g}; expected zero or more.")
            six = inertial.find("inertia")
            if six is not None:
                wanted = ("ixx", "ixy", "iyy", "ixz", "iyz", "izz")
                defaults = (1.0, 0.0, 1.0, 0.0, 0.0, 1.0)
                tensor = tensor_of(*(_numbers(six, k, 1, (d,))[0] for k, d in zip(wanted, defaults)))
            if min(np.diag(tensor)) < -1e-12:  # exporters write -5e-20 for 0
                raise (six or inertial).error(
                    f"link {link.name!r} has a negative moment of inertia; expected 0 or more."
                )
            com, tensor = pose.position, turned(tensor, pose.rotation)
            if inertial.find("fluid_added_mass") is not None:
                raise inertial.error("<fluid_added_mass> is not supported; expected the mass of the body alone.")
        frames = {
            name: {
                "position": self.values.vector(pose.position, "p", f"{link.name}_{name}", e.origin),
                "rotation": pose.rotation,
            }
            for name, pose in link.frames.items()
        }
        shapes = read_shapes(e, shift, self.meshes, self.builder, lambda shape: self._pose(shape, link))
        if _text(e, "kinematic", "false") in ("true", "1"):
            raise e.error(f"link {link.name!r} is kinematic: forces do not move it; expected a link that has mass.")
        if _text(e, "gravity", "true") in ("false", "0"):
            self.weightless.append((link, mass))
            frames[LIFT] = {"position": [float(x) for x in com], "rotation": np.eye(3)}
        self.values.body(link.name, mass, com, tensor, frames, shapes, (inertial or e).origin)
        for child in e.children:
            if child.tag not in _OF_LINK:
                self._leave(child)

    def _pose(self, element: XmlElement, link: _Link | None = None) -> Pose:
        """The pose of an element in its owner; in a link, of which it may stand relative to another frame."""
        pose = element.find("pose")
        if pose is None:
            return IDENTITY
        found = self.frames.numbers(pose)
        if link is not None and pose.get("relative_to"):
            to = self.frames.world(link.prefix + pose.get("relative_to"), pose)
            found = self.frames.world(link.name, pose).inverse() @ to @ found
        turn = listed(found.rotation, self.builder.note, f"{pose.origin}: rotation of <{element.tag}>")
        return Pose(turn, found.position)

    def _root(self, link: _Link) -> None:
        """A link that no joint carries: free, or fixed in a static model."""
        place = self.frames.world(link.name, link.element)
        kind = "fixed" if link.static else "free"
        joint = f"{link.name}_{kind}"
        joint = self._free_title(joint)
        position = self.values.vector(place.position, "p", joint, link.element.origin)
        self.builder.joint(
            joint, kind, WORLD, link.name, position=position, rotation=place.rotation, origin=link.element.origin
        )

    # -- joints

    def _joint(self, joint: _SdfJoint, child: str) -> None:
        e, name = joint.element, joint.title
        carrier = joint.in_parent
        if joint.parent != WORLD and self.links[joint.parent].joint:
            carrier = self.joints[self.links[joint.parent].joint].in_child.inverse() @ joint.in_parent
        rotation, details = carrier.rotation, dict[str, Any]()
        kind = KINDS[joint.kind]
        if kind in ("revolute", "prismatic", "helical"):
            details = self._axis(joint, self._axis_element(joint), kind)
        elif joint.name in self.second:
            kind, details = "revolute", self._axis(joint, e.need("axis"), "revolute")
        elif kind == "universal":
            details = {"sequence": self._letters(joint)}
        if kind == "helical":
            details["pitch"] = self._pitch(joint)
        between, second = self.second.get(joint.name, ("", ""))
        self.builder.joint(
            name,
            kind,
            joint.parent,
            between or child,
            position=self.values.vector(carrier.position, "p", name, e.origin),
            rotation=rotation,
            origin=e.origin,
            **details,
        )
        if between:
            self.builder.body(between, origin=e.origin)
            details = self._axis(joint, e.need("axis2"), "revolute")
            self.builder.joint(second, "revolute", between, child, origin=e.origin, **details)
        for part in e.children:
            if part.tag not in _OF_JOINT and not part.tag.startswith("drake:"):
                self._leave(part)

    def _axis_element(self, joint: _SdfJoint) -> XmlElement:
        """The <axis> of a joint; one that has none turns or slides on SDF's default, z of its frame."""
        found = joint.element.find("axis")
        if found is None:
            self.builder.note(f"{joint.element.origin}: joint {joint.title!r} has no axis; SDF's default is 0 0 1")
            found = XmlElement("axis", {}, joint.element.file, joint.element.line)
        return found

    def _direction(self, joint: _SdfJoint, axis: XmlElement) -> np.ndarray:
        """The axis in the joint's frame."""
        xyz = axis.find("xyz")
        given = np.array([0.0, 0.0, 1.0] if xyz is None else parse_numbers(xyz, "", xyz.text, (3,)))
        if np.linalg.norm(given) < 1e-10:
            raise axis.error(f"joint {joint.title!r} has the axis 0 0 0; expected a direction that is not zero.")
        where = xyz.get("expressed_in") if xyz is not None else ""
        if _text(axis, MODEL_AXIS, "false").lower() in ("true", "1"):
            where = OF_MODEL
        if where:
            prefix = self.frames.prefix_of[joint.name]
            at = self.frames.world(where if where == WORLD else prefix + where, axis).rotation
            given = self.frames.world(joint.name, axis).rotation.T @ (at @ given)
        return given / np.linalg.norm(given)

    def _axis(self, joint: _SdfJoint, axis: XmlElement, kind: str) -> dict[str, Any]:
        out: dict[str, Any] = {"axis": tuple(self._direction(joint, axis))}
        out |= self._laws(joint.title, axis, kind)
        limit = axis.find("limit")
        if limit is not None:
            given = {tag: limit.find(tag) for tag in ("lower", "upper", "velocity", "effort")}
            bounds = {tag: parse_bound(e, "", e.text) for tag, e in given.items() if e is not None}
            kept = {k: float(v) for k, v in bounds.items() if v is not None and abs(v) < 1e15}
            kept = {k: v for k, v in kept.items() if v >= 0 or k in ("lower", "upper")}  # -1 means none
            if "lower" in kept and kept.get("upper") == kept["lower"]:
                self.builder.note(f"{limit.origin}: joint {joint.title!r} has equal limits and was left without them")
                kept.pop("lower"), kept.pop("upper")
            if kept.get("lower", -np.inf) > kept.get("upper", np.inf):
                raise limit.error(f"joint {joint.title!r} has the limits {kept}; expected lower < upper.")
            if joint.kind != "continuous":
                out["limits"] = Limits(**kept)
        mimic = axis.find("mimic")
        if mimic is not None:
            leader = self._leader(joint, mimic)
            ratio, offset, reference = (_numbers(mimic, k, 1, (d,))[0] for k, d in _MIMIC)
            out["mimic"] = (leader, ratio, offset - ratio * reference)
        rotor = joint.element.find("drake:rotor_inertia")
        if rotor is not None and axis.tag == "axis":
            inertia = parse_numbers(rotor, "", rotor.text, (1,))[0]
            gear = joint.element.find("drake:gear_ratio")
            ratio = 1.0 if gear is None else parse_numbers(gear, "", gear.text, (1,))[0]
            if inertia and ratio:
                named = self.values.scalar(inertia, f"rotor_{joint.title}", "kg m^2", rotor.origin)
                out["rotor"] = (named, ratio)
        return out

    def _laws(self, name: str, axis: XmlElement, kind: str) -> dict[str, Any]:
        dynamics = axis.find("dynamics")
        if dynamics is None:
            return {}
        turn = kind != "prismatic"
        units = ("N m s/rad", "N m", "N m/rad", "rad") if turn else ("N s/m", "N", "N/m", "m")
        out: dict[str, Any] = {}
        for (word, key), unit in zip(_LAWS.items(), units):
            value = _numbers(dynamics, word, 1, (0.0,))[0]
            if value < 0 and key != "rest":
                raise dynamics.error(f"joint {name!r} has {word} {value:g}; expected zero or more.")
            if value:
                out[key] = self.values.scalar(value, f"{key}_{name}", unit, dynamics.origin)
        if "stiffness" not in out:
            out.pop("rest", None)
        return out

    def _leader(self, joint: _SdfJoint, mimic: XmlElement) -> str:
        """The joint that leads: of a universal one the hinge that <mimic axis=""> names."""
        name = mimic.name("joint")
        key = self.frames.prefix_of[joint.name] + name
        if key not in self.joints:
            raise mimic.error(f"joint {joint.title!r} mimics {name!r}, no joint. {nearest(name, self.joints)}")
        second = mimic.choice("axis", ("axis", "axis2"), "axis") == "axis2"
        if second and key not in self.second:
            raise mimic.error(f"joint {joint.title!r} mimics axis2 of {name!r}, which has one axis; expected axis.")
        return self.second[key][1] if second else self.joints[key].title

    def _split(self) -> None:
        """Universal joints that become two hinges: about axes that are none of their frame, or with laws of their own,
        limits, or followers."""
        led = {
            self.frames.prefix_of[joint.name] + mimic.name("joint")
            for joint in self.joints.values()
            for tag in ("axis", "axis2")
            for axis in joint.element.all(tag)
            for mimic in axis.all("mimic")
        }
        for joint in self.joints.values():
            if KINDS.get(joint.kind) != "universal":
                continue
            more = any(joint.element.need(a).find(k) for a in ("axis", "axis2") for k in ("dynamics", "limit", "mimic"))
            if more or joint.name in led or not self._letters(joint):
                between = f"{joint.title}_1"
                while between in self.links:
                    between += "_"
                self.second[joint.name] = between, self._free_title(f"{joint.title}_2")

    def _letters(self, joint: _SdfJoint) -> str:
        """The axes of a universal joint as those of its frame; "" where they are none."""
        axes = [self._direction(joint, joint.element.need(tag)) for tag in ("axis", "axis2")]
        if any(np.abs(axis - np.eye(3)).sum(axis=1).min() > UNIT for axis in axes):
            return ""
        return "".join("xyz"[int(np.argmax(axis))] for axis in axes)

    def _pitch(self, joint: _SdfJoint) -> float:
        """m/rad, from metres a turn, or from Gazebo's older thread_pitch, -2 pi / pitch."""
        e = joint.element
        if e.find("screw_thread_pitch") is not None:
            return _numbers(e, "screw_thread_pitch", 1, ())[0] / (2 * np.pi)
        old = _numbers(e, "thread_pitch", 1, (1.0,))[0]
        if not old:
            raise e.error(f"joint {joint.title!r} has thread_pitch 0; expected screw_thread_pitch, m a turn.")
        return -1.0 / old

    def _cut_frames(self, joint: _SdfJoint) -> list[tuple[str, str, Pose]]:
        """(link, frame, pose in its body) at both ends of a joint that closes a loop; they coincide, the axis on z.

        Of kinds that no cut has, only the end at the child: a link without mass stands at the other.
        """
        turn = np.eye(3)
        if joint.kind in ("revolute", "continuous", "prismatic"):
            found = from_z(self._direction(joint, self._axis_element(joint)))
            assert found is not None  # not zero
            turn = found
        out = []
        ends = ((joint.parent, joint.in_parent), (joint.child, joint.in_child))
        for link, pose in ends if joint.kind in CUTS else ends[1:]:
            label, at = joint.title.replace(".", "_"), pose @ Pose(turn, np.zeros(3))
            if link != WORLD:
                body = self.links[link]
                at = at if not body.joint else self.joints[body.joint].in_child.inverse() @ at
                while label in body.frames:
                    label += "_"
                body.frames[label] = at
            out.append((link, label, at))
        return out

    def _cut(self, joint: _SdfJoint, ends: list[tuple[str, str, Pose]]) -> None:
        e = joint.element
        if joint.kind not in CUTS:
            link = f"{joint.title}_end"
            while link in self.links:
                link += "_"
            self.builder.body(link, origin=e.origin)
            self._joint(joint, link)
            self.builder.cut(joint.title, "solid", (link, ""), ends[0][:2], origin=e.origin)
            return
        first, second = (
            (link, label) if link != WORLD else self.values.ground(label, at, e.origin) for link, label, at in ends
        )
        self.builder.cut(joint.title, CUTS[joint.kind], first, second, origin=e.origin)
        lost = [k for axis in e.all("axis") for k in ("dynamics", "limit", "mimic") if axis.find(k) is not None]
        if lost:
            self.builder.note(f"{e.origin}: {' and '.join(lost)} of the closing joint {joint.title!r} were left out")

    # -- gears

    def _gearbox(self, joint: _SdfJoint, cuts: set[str]) -> None:
        """theta2 = -ratio * theta1: the angles of the parent about axis and of the child about axis2, against the
        reference body. Both must be carried by hinges on it, or carry it."""
        e = joint.element
        wanted = e.content("gearbox_reference_body", WORLD)
        wanted = WORLD if wanted in (WORLD, "__default__") else self.frames.prefix_of[joint.name] + wanted
        reference = self.frames.link(wanted, e)
        ratio = _numbers(e, "gearbox_ratio", 1, (1.0,))[0]
        angles = []
        for link, tag in ((joint.parent, "axis"), (joint.child, "axis2")):
            axis = e.find(tag) or e.need("axis")
            along = self.frames.world(joint.name, e).rotation @ self._direction(joint, axis)
            angles.append(self._angle_against(reference, link, along, joint, cuts))
        self.builder.coupling(joint.title, f"{angles[1]} + ({ratio!r})*({angles[0]})", origin=e.origin)

    def _angle_against(self, reference: str, link: str, along: np.ndarray, gear: _SdfJoint, cuts: set[str]) -> str:
        """The angle of a link about a direction of the world, against another one, by the hinge between them."""
        for hinge in self.joints.values():
            forward = (hinge.parent, hinge.child) == (reference, link)
            if hinge.name in cuts or hinge.kind not in ("revolute", "continuous"):
                continue
            if forward or (hinge.parent, hinge.child) == (link, reference):
                axis = self.frames.world(hinge.name, hinge.element).rotation
                cosine = float(along @ (axis @ self._direction(hinge, self._axis_element(hinge))))
                if abs(cosine) > 1 - PARALLEL:
                    sign = "" if (cosine > 0) is forward else "-"
                    return f"{sign}`q.{hinge.title.replace('`', '``')}`"
        raise gear.element.error(
            f"gearbox {gear.title!r} asks for the angle of {link!r} against {reference!r}; expected a hinge between "
            "them about its axis."
        )

    # -- what was left out

    def _notes(self) -> None:
        for tag, elements in self.left.items():
            self.builder.note(
                f"{elements[0].origin}: <{tag}> is not part of the mechanics and was ignored ({len(elements)} in all)"
            )
        for sentence in self.meshes.notes():
            self.builder.note(sentence)


_LAWS = {"damping": "viscous", "friction": "coulomb", "spring_stiffness": "stiffness", "spring_reference": "rest"}
_MIMIC = (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))


def _text(element: XmlElement, tag: str, default: str) -> str:
    return element.content(tag, default)


def _numbers(element: XmlElement, tag: str, count: int, default: Sequence[float]) -> Sequence[float]:
    """The numbers in a child; `default` where there is none."""
    child = element.find(tag)
    if child is None:
        if not default and count:
            raise element.error(f"<{element.tag}> has no <{tag}>; expected one.")
        return default
    return parse_numbers(child, "", child.text, (count,))
