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
from symbody.model.files.sdf_include import MODEL_AXIS, expand_includes, read_sdf
from symbody.model.files.sdf_poses import WORLD_FRAME, Frames
from symbody.model.files.sdf_shapes import read_shapes
from symbody.model.files.urdf_shapes import MeshFinder, trusted_folders
from symbody.model.files.xml_file import XmlElement, parse_numbers
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
    joint: str = ""  # that carries it
    frames: dict[str, Pose] = field(default_factory=dict)


@dataclass(eq=False)
class _SdfJoint:
    """A joint with the links at its ends, and the pose of its frame in each."""

    name: str
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
        self.left: dict[str, list[XmlElement]] = {}
        self.weightless: list[tuple[_Link, float]] = []
        for model in models:
            self._model(model, WORLD_FRAME, "" if len(models) == 1 else f"{model.name()}::", False)
        for element in self.world.children:
            if element.tag not in ("model", "gravity"):
                self._leave(element)

    # -- structure

    def _leave(self, element: XmlElement) -> None:
        self.left.setdefault(element.tag, []).append(element)

    def _model(self, model: XmlElement, around: str, prefix: str, static: bool) -> None:
        """Links, joints and frames of a model, with the names of nested ones before theirs."""
        own = f"{prefix}__model__"
        if model.get("placement_frame"):
            raise model.error("placement_frame is not supported; expected the pose of the model itself.")
        self.frames.add(own, model, around)
        static = static or _text(model, "static", "false") in ("true", "1")
        for inner in model.all("model"):
            self._model(inner, own, f"{prefix}{inner.name()}::", static)
            self.frames.alias(f"{prefix}{inner.name()}", f"{prefix}{inner.name()}::__model__")
        for link in model.all("link"):
            name = prefix + link.name()
            if name in self.links:
                raise link.error(f"a second link {name!r}; expected unique names.")
            self.links[name] = _Link(name, link, static)
            self.frames.add(name, link, own, prefix)
            self.frames.add_link(name, prefix)
        for frame in model.all("frame"):
            name, to = prefix + frame.name(), frame.get("attached_to")
            self.frames.add(name, frame, prefix + to if to else own, prefix, attached=True)
        for element in model.all("joint"):
            self._joint_frame(element, prefix)
        for child in model.children:
            if child.tag not in _OF_MODEL:
                self._leave(child)

    def _joint_frame(self, element: XmlElement, prefix: str) -> None:
        name = prefix + element.name()
        if name in self.joints or name in self.frames:
            raise element.error(f"a second joint or frame {name!r}; expected unique names.")
        child = element.content("child")
        self.frames.add(name, element, prefix + child, prefix, attached=True)
        kind = element.name("type")
        if kind not in KINDS:
            raise element.error(f"joint {name!r} has type {kind!r}; expected one of {', '.join(KINDS)}.")
        self.joints[name] = _SdfJoint(
            name, element, kind, element.content("parent"), prefix + child, IDENTITY, IDENTITY
        )
        self.frames.prefix_of[name] = prefix

    def read(self) -> Mechanism:
        if WORLD in self.links:
            raise self.links[WORLD].element.error(
                f"a link is called {WORLD!r}, which is the ground; expected another name."
            )
        for joint in self.joints.values():
            self._ends(joint)
        cuts = self._carriers()
        for name in self.frames.named():
            self._named_frame(name)
        ends = {joint.name: self._cut_frames(joint) for joint in cuts}
        for link in self.links.values():
            self._link(link)
        for link in self.links.values():
            if not link.joint:
                self._root(link)
        for joint in self.joints.values():
            if joint.name not in ends:
                self._joint(joint)
        for joint in cuts:
            self._cut(joint, ends[joint.name])
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
            raise joint.element.error(f"joint {joint.name!r} has the child 'world'; expected a link.")
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
            short = name.removeprefix(f"{link}.").replace(".", "_")
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
            if inertial.get("auto") in ("true", "1"):
                raise inertial.error(
                    f"link {link.name!r} has <inertial auto='true'>, whose mass comes from shapes; expected mass and "
                    "inertia. Write them into the file."
                )
            if inertial.find("fluid_added_mass") is not None:
                raise inertial.error("<fluid_added_mass> is not supported; expected the mass of the body alone.")
        frames = {
            name: {
                "position": self.values.vector(pose.position, "p", f"{link.name}_{name}", e.origin),
                "rotation": pose.rotation,
            }
            for name, pose in link.frames.items()
        }
        shapes = read_shapes(e, shift, self.meshes, self.builder, self._pose)
        if _text(e, "kinematic", "false") in ("true", "1"):
            raise e.error(f"link {link.name!r} is kinematic: forces do not move it; expected a link that has mass.")
        if _text(e, "gravity", "true") in ("false", "0"):
            self.weightless.append((link, mass))
            frames[LIFT] = {"position": [float(x) for x in com], "rotation": np.eye(3)}
        self.values.body(link.name, mass, com, tensor, frames, shapes, (inertial or e).origin)
        for child in e.children:
            if child.tag not in _OF_LINK:
                self._leave(child)

    def _pose(self, element: XmlElement) -> Pose:
        """The pose of an element in its owner."""
        pose = element.find("pose")
        if pose is None:
            return IDENTITY
        found = self.frames.numbers(pose)
        turn = listed(found.rotation, self.builder.note, f"{pose.origin}: rotation of <{element.tag}>")
        return Pose(turn, found.position)

    def _root(self, link: _Link) -> None:
        """A link that no joint carries: free, or fixed in a static model."""
        place = self.frames.world(link.name, link.element)
        kind = "fixed" if link.static else "free"
        joint = f"{link.name}_{kind}"
        while joint in self.joints:
            joint += "_"
        position = self.values.vector(place.position, "p", joint, link.element.origin)
        self.builder.joint(
            joint, kind, WORLD, link.name, position=position, rotation=place.rotation, origin=link.element.origin
        )

    # -- joints

    def _joint(self, joint: _SdfJoint) -> None:
        e, name = joint.element, joint.name
        carrier = joint.in_parent
        if joint.parent != WORLD and self.links[joint.parent].joint:
            carrier = self.joints[self.links[joint.parent].joint].in_child.inverse() @ joint.in_parent
        rotation, details = carrier.rotation, dict[str, Any]()
        kind = KINDS[joint.kind]
        if kind in ("revolute", "prismatic", "helical"):
            details = self._axis(joint, e.need("axis"), kind)
        elif kind == "universal":
            details = self._universal(joint)
        if kind == "helical":
            details["pitch"] = self._pitch(joint)
        self.builder.joint(
            name,
            kind,
            joint.parent,
            joint.child,
            position=self.values.vector(carrier.position, "p", name, e.origin),
            rotation=rotation,
            origin=e.origin,
            **details,
        )
        for child in e.children:
            if child.tag not in _OF_JOINT and not child.tag.startswith("drake:"):
                self._leave(child)

    def _direction(self, joint: _SdfJoint, axis: XmlElement) -> np.ndarray:
        """The axis in the joint's frame."""
        xyz = axis.find("xyz")
        given = np.array([0.0, 0.0, 1.0] if xyz is None else parse_numbers(xyz, "", xyz.text, (3,)))
        if np.linalg.norm(given) < 1e-10:
            raise axis.error(f"joint {joint.name!r} has the axis 0 0 0; expected a direction that is not zero.")
        where = xyz.get("expressed_in") if xyz is not None else ""
        if _text(axis, MODEL_AXIS, "false").lower() in ("true", "1"):
            where = "__model__"
        if where:
            prefix = self.frames.prefix_of[joint.name]
            at = self.frames.world(prefix + where, axis).rotation
            given = self.frames.world(joint.name, axis).rotation.T @ (at @ given)
        return given / np.linalg.norm(given)

    def _axis(self, joint: _SdfJoint, axis: XmlElement, kind: str) -> dict[str, Any]:
        out: dict[str, Any] = {"axis": tuple(self._direction(joint, axis))}
        out |= self._laws(joint.name, axis, kind)
        limit = axis.find("limit")
        if limit is not None:
            bounds = {
                k: _numbers(limit, k, 1, (np.nan,), infinite=True)[0] for k in ("lower", "upper", "velocity", "effort")
            }
            kept = {k: float(v) for k, v in bounds.items() if np.isfinite(v) and abs(v) < 1e15}
            kept = {k: v for k, v in kept.items() if v >= 0 or k in ("lower", "upper")}  # -1 means none
            if "lower" in kept and kept.get("upper") == kept["lower"]:
                self.builder.note(f"{limit.origin}: joint {joint.name!r} has equal limits and was left without them")
                kept.pop("lower"), kept.pop("upper")
            if kept.get("lower", -np.inf) > kept.get("upper", np.inf):
                raise limit.error(f"joint {joint.name!r} has the limits {kept}; expected lower < upper.")
            if joint.kind != "continuous":
                out["limits"] = Limits(**kept)
        mimic = axis.find("mimic")
        if mimic is not None:
            leader = self.frames.prefix_of[joint.name] + mimic.name("joint")
            if leader not in self.joints:
                raise mimic.error(f"joint {joint.name!r} mimics {leader!r}, no joint. {nearest(leader, self.joints)}")
            ratio, offset, reference = (_numbers(mimic, k, 1, (d,))[0] for k, d in _MIMIC)
            out["mimic"] = (leader, ratio, offset - ratio * reference)
        rotor = joint.element.find("drake:rotor_inertia")
        if rotor is not None:
            inertia = parse_numbers(rotor, "", rotor.text, (1,))[0]
            gear = joint.element.find("drake:gear_ratio")
            ratio = 1.0 if gear is None else parse_numbers(gear, "", gear.text, (1,))[0]
            if inertia and ratio:
                named = self.values.scalar(inertia, f"rotor_{joint.name}", "kg m^2", rotor.origin)
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

    def _universal(self, joint: _SdfJoint) -> dict[str, Any]:
        """Two axes in turn, which must be axes of the joint's frame."""
        letters = ""
        for tag in ("axis", "axis2"):
            axis = self._direction(joint, joint.element.need(tag))
            k = int(np.argmax(np.abs(axis)))
            if abs(axis[k] - 1) > 1e-9:
                raise joint.element.error(
                    f"joint {joint.name!r} has the axis {axis.round(6).tolist()}; expected x, y or z of the joint's "
                    "frame. Turn it by its <pose>."
                )
            letters += "xyz"[k]
            if self._laws(joint.name, joint.element.need(tag), "revolute"):
                self.builder.note(
                    f"{joint.element.origin}: dynamics of the {joint.kind} joint {joint.name!r} were left out"
                )
        return {"sequence": letters}

    def _pitch(self, joint: _SdfJoint) -> float:
        """m/rad, from metres a turn, or from Gazebo's older thread_pitch, -2 pi / pitch."""
        e = joint.element
        if e.find("screw_thread_pitch") is not None:
            return _numbers(e, "screw_thread_pitch", 1, ())[0] / (2 * np.pi)
        old = _numbers(e, "thread_pitch", 1, (1.0,))[0]
        if not old:
            raise e.error(f"joint {joint.name!r} has thread_pitch 0; expected screw_thread_pitch, m a turn.")
        return -1.0 / old

    def _cut_frames(self, joint: _SdfJoint) -> list[tuple[str, str, Pose]]:
        """(link, frame, pose in its body) at both ends of a joint that closes a loop; they coincide, the axis on z."""
        e = joint.element
        if joint.kind not in CUTS:
            raise e.error(f"joint {joint.name!r} of type {joint.kind!r} closes a loop; expected {', '.join(CUTS)}.")
        turn = np.eye(3)
        if joint.kind in ("revolute", "continuous", "prismatic"):
            found = from_z(self._direction(joint, e.need("axis")))
            assert found is not None  # not zero
            turn = found
        out = []
        for link, pose in ((joint.parent, joint.in_parent), (joint.child, joint.in_child)):
            label, at = joint.name.replace(".", "_"), pose @ Pose(turn, np.zeros(3))
            if link != WORLD:
                body = self.links[link]
                at = at if not body.joint else self.joints[body.joint].in_child.inverse() @ at
                while label in body.frames:
                    label += "_"
                body.frames[label] = at
            out.append((link, label, at))
        return out

    def _cut(self, joint: _SdfJoint, ends: list[tuple[str, str, Pose]]) -> None:
        first, second = (
            (link, label) if link != WORLD else self.values.ground(label, at, joint.element.origin)
            for link, label, at in ends
        )
        self.builder.cut(joint.name, CUTS[joint.kind], first, second, origin=joint.element.origin)
        if joint.element.find("axis") is not None and self._laws(joint.name, joint.element.need("axis"), "revolute"):
            self.builder.note(f"{joint.element.origin}: dynamics of the closing joint {joint.name!r} were left out")

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


def _numbers(
    element: XmlElement, tag: str, count: int, default: Sequence[float], infinite: bool = False
) -> Sequence[float]:
    """The numbers in a child; `default` where there is none."""
    child = element.find(tag)
    if child is None:
        if not default and count:
            raise element.error(f"<{element.tag}> has no <{tag}>; expected one.")
        return default
    if infinite and child.text.strip().lower().lstrip("+-") in ("inf", "infinity"):
        return [-np.inf if child.text.strip().startswith("-") else np.inf]
    return parse_numbers(child, "", child.text, (count,))
