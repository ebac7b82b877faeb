"""MJCF worldbody -> plain records of bodies, with joints, frames and shapes in the axes of the MJCF body frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from symbody.model.files.mjcf_defaults import ORIENTATIONS, Defaults
from symbody.model.files.mjcf_geoms import MassProperties, mass_properties, size_and_pose, together, type_of
from symbody.model.files.mjcf_meshes import MeshAssets
from symbody.model.files.xml_file import XmlElement, parse_numbers
from symbody.model.record.pose import IDENTITY, Pose, from_axes, from_axis_angle, from_euler, from_quaternion, from_z
from symbody.model.record.snapping import listed

WRITTEN_OUT = (
    "the bodies written out, as MuJoCo does: mujoco.mj_saveLastXML('out.xml', mujoco.MjModel.from_xml_path('in.xml'))"
)
REFUSED = {
    "composite": "plain bodies: MuJoCo 4 has it no more. With MuJoCo 3, " + WRITTEN_OUT,
    "flexcomp": "rigid bodies: what bends has no place in a Mechanism. Remove it",
    "plugin": "elements of plain MJCF: what a plugin does is not known here. Remove it",
}
UNSEEN = ("camera", "light")
SWITCHES = ("balanceinertia", "fitaabb", "alignfree", "fusestatic", "strippath")  # of <compiler>: true or false


class Compiler(NamedTuple):
    """What <compiler> says about reading the rest."""

    degrees: bool = True
    sequence: str = "xyz"
    autolimits: bool = True
    from_geom: str = "auto"
    groups: tuple[float, float] = (0, 5)

    def angle(self, value: float) -> float:
        return float(np.deg2rad(value)) if self.degrees else value


def compiler_of(settings: XmlElement) -> Compiler:
    """Checks <compiler>; what would change the equations and is not supported is refused by name."""
    if settings.choice("coordinate", ("local", "global"), "local") == "global":
        raise settings.error(
            "coordinate='global' is not supported; expected 'local'. MuJoCo 2.3.3 can convert the file."
        )
    sequence = settings.get("eulerseq") or "xyz"
    if len(sequence) != 3 or any(c not in "xyzXYZ" for c in sequence):
        raise settings.error(f"eulerseq is {sequence!r}; expected three of the letters x, y, z, X, Y, Z.")
    for key in SWITCHES:  # words such as True would be read as false
        settings.choice(key, ("true", "false"), "false")
    low, high = settings.numbers("inertiagrouprange", 2, (0, 5))
    return Compiler(
        settings.choice("angle", ("degree", "radian"), "degree") == "degree",
        sequence,
        settings.choice("autolimits", ("true", "false"), "true") == "true",
        settings.choice("inertiafromgeom", ("true", "false", "auto"), "auto"),
        (low, high),
    )


@dataclass(eq=False)
class GeomRecord:
    """A shape: half-sizes as MJCF has them, pose in the body frame."""

    kind: str
    size: np.ndarray
    pose: Pose
    element: XmlElement


@dataclass(eq=False)
class JointRecord:
    """A joint: anchor (3,) and axis (3,) in the MJCF body frame; attributes with defaults applied."""

    name: str
    kind: str
    anchor: np.ndarray
    axis: np.ndarray
    element: XmlElement

    @property
    def axial(self) -> bool:
        """Whether it has one coordinate."""
        return self.kind in ("hinge", "slide")


@dataclass(eq=False)
class BodyRecord:
    """A body: pose in the frame of the MJCF parent body, and at the reference configuration in the world."""

    name: str
    parent: BodyRecord | None
    pose: Pose
    world: Pose
    element: XmlElement
    joints: list[JointRecord] = field(default_factory=list)
    inertial: MassProperties | None = None
    geoms: list[GeomRecord] = field(default_factory=list)
    frames: dict[str, Pose] = field(default_factory=dict)

    @property
    def anchor(self) -> np.ndarray:
        """Origin of the Mechanism's body frame in the MJCF body frame: the anchor of the last joint."""
        return self.joints[-1].anchor if self.joints else np.zeros(3)


class TreeReader:
    """Walks the worldbody; `bodies` holds the records in MuJoCo's order, the world first."""

    def __init__(
        self, defaults: Defaults, compiler: Compiler, meshes: MeshAssets, note: Callable[[str], object]
    ) -> None:
        self.defaults = defaults
        self.note = note
        self.meshes = meshes
        self.compiler = compiler
        self.bodies: list[BodyRecord] = []
        self.sites: dict[str, tuple[BodyRecord, Pose]] = {}
        self.unseen: Counter[str] = Counter()
        self._body_names: set[str] = set()
        self._joint_names: set[str] = set()
        self._written: set[str] = set()

    def read(self, worldbody: XmlElement) -> None:
        world = BodyRecord("world", None, IDENTITY, IDENTITY, worldbody)
        self._body_names.add("world")
        stack = [worldbody]
        while stack:  # names that the file gives: those made up here must differ from them
            element = stack.pop()
            stack.extend(element.children)
            self._written.add(element.get("name"))
        self.bodies.append(world)
        self._contents(world, worldbody, IDENTITY, worldbody.get("childclass"))

    # -- bodies

    def _contents(self, body: BodyRecord, element: XmlElement, frame: Pose, childclass: str) -> None:
        """The children of a <body> or <frame>; `frame` is the pose of the latter in the body frame."""
        for child in element.children:
            match child.tag:
                case "body":
                    self._body(child, body, frame, childclass)
                case "frame":
                    inner = self._childclass(child, childclass)
                    self._contents(body, child, frame @ self.pose(child), inner)
                case "joint" | "freejoint":
                    self._joint(child, body, frame, childclass)
                case "inertial":
                    if body.inertial is not None:
                        raise child.error(f"body {body.name!r} has a second <inertial>; expected one at most.")
                    body.inertial = self._inertial(child, body, frame)
                case "geom":
                    self._geom(self.defaults.apply(child, childclass), body, frame)
                case "site":
                    self._site(self.defaults.apply(child, childclass), body, frame)
                case tag if tag in REFUSED:
                    raise child.error(f"<{tag}> is not supported; expected {REFUSED[tag]}.")
                case tag if tag in UNSEEN:
                    self.unseen[tag] += 1
                case tag:
                    raise child.error(
                        f"<{tag}> in body {body.name!r} is not known; expected body, joint, freejoint, inertial, geom, "
                        "site, frame, camera or light."
                    )

    def _childclass(self, element: XmlElement, around: str) -> str:
        own = element.get("childclass")
        return self.defaults.check(element, own) if own else around

    def _body(self, element: XmlElement, parent: BodyRecord, frame: Pose, childclass: str) -> None:
        name = self._name(element, f"body{len(self.bodies)}", self._body_names, "body")
        if element.choice("mocap", ("true", "false"), "false") == "true":
            self.note(f"{element.origin}: body {name!r} is moved by mocap data; here it stands where the file has it")
        pose = frame @ self.pose(element)
        body = BodyRecord(name, parent, pose, parent.world @ pose, element)
        self.bodies.append(body)
        self._contents(body, element, IDENTITY, self._childclass(element, childclass))
        kinds = [j.kind for j in body.joints]
        if "free" in kinds and (len(kinds) > 1 or parent.parent is not None):
            raise element.error(f"body {name!r} has a free joint; expected it alone, on a body of the worldbody.")

    def _name(self, element: XmlElement, default: str, taken: set[str], what: str) -> str:
        """The name of an element, or a new one like `default`."""
        name = element.get("name")
        if name in taken:
            raise element.error(f"a second {what} {name!r}; expected unique names.")
        if not name:
            name = default
            while name in taken or name in self._written:
                name += "_"
        taken.add(name)
        return name

    def new_name(self, default: str) -> str:
        """A name that no body has."""
        while default in self._body_names:
            default += "_"
        self._body_names.add(default)
        return default

    # -- joints

    def _joint(self, element: XmlElement, body: BodyRecord, frame: Pose, childclass: str) -> None:
        if body.parent is None:
            raise element.error("a joint in the worldbody; expected joints in bodies.")
        if element.tag == "freejoint":
            kind = "free"
        else:
            element = self.defaults.apply(element, childclass)
            kind = element.choice("type", ("hinge", "slide", "ball", "free"), "hinge")
        default = f"{body.name}_joint" if not body.joints else f"{body.name}_joint{len(body.joints) + 1}"
        name = self._name(element, default, self._joint_names, "joint")
        anchor, axis = np.zeros(3), np.array([0.0, 0.0, 1.0])
        if kind != "free":
            anchor = frame.rotation @ np.array(element.numbers("pos", 3, (0, 0, 0))) + frame.position
            axis = np.array(element.numbers("axis", 3, (0, 0, 1)))
        length = float(np.linalg.norm(axis))
        if length < 1e-10 and kind in ("hinge", "slide"):
            raise element.error(f"joint {name!r} has the axis 0 0 0; expected a direction that is not zero.")
        if kind in ("hinge", "slide"):
            axis = frame.rotation @ (axis / length)
        body.joints.append(JointRecord(name, kind, anchor, axis, element))

    # -- inertia and shapes

    def _inertial(self, element: XmlElement, body: BodyRecord, frame: Pose) -> MassProperties:
        mass = element.number("mass")
        if mass < 0:
            raise element.error(f"body {body.name!r} has mass {mass:g}; expected zero or more.")
        pose = frame @ self.pose(element)
        diagonal, full = element.numbers("diaginertia", 3), element.numbers("fullinertia", 6)
        if diagonal and full:
            raise element.error("<inertial> has diaginertia and fullinertia; expected one of them.")
        if full and any(k in element.attributes for k in ORIENTATIONS):
            raise element.error("<inertial> has fullinertia and an orientation; expected diaginertia with it.")
        if full:
            xx, yy, zz, xy, xz, yz = full  # MJCF's order
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            tensor = np.diag(diagonal or [0.0] * 3)
        if min(np.diag(tensor)) < -1e-12:  # exporters write -5e-20 for 0
            raise element.error(f"body {body.name!r} has a negative moment of inertia; expected zero or more.")
        turned = pose.rotation @ tensor @ pose.rotation.T
        return MassProperties(mass, pose.position, (turned + turned.T) / 2, None if full else pose.rotation)

    def _geom(self, element: XmlElement, body: BodyRecord, frame: Pose) -> None:
        size, pose = size_and_pose(element, self.pose(element))
        kind = "mesh" if element.get("mesh") else type_of(element)
        body.geoms.append(GeomRecord(kind, size, frame @ pose, element))

    def _site(self, element: XmlElement, body: BodyRecord, frame: Pose) -> None:
        pose = self.pose(element)
        ends = element.numbers("fromto", 6)
        if ends:
            turn = from_z(np.array(ends[:3]) - np.array(ends[3:]))
            pose = Pose(np.eye(3) if turn is None else turn, (np.array(ends[:3]) + np.array(ends[3:])) / 2)
        name = element.get("name")
        if name:
            if name in self.sites:
                raise element.error(f"a second site {name!r}; expected unique names.")
            self.sites[name] = (body, frame @ pose)
            body.frames[frame_name(name)] = frame @ pose

    def mass_of(self, body: BodyRecord) -> MassProperties:
        """From <inertial> or, where `inertiafromgeom` says so, from the geoms in the range of groups."""
        rule = self.compiler.from_geom
        if rule == "false" or (rule == "auto" and body.inertial is not None):
            return body.inertial or together([])
        low, high = self.compiler.groups
        parts = [
            mass_properties(g.element, g.size, g.pose, self.meshes)
            for g in body.geoms
            if low <= g.element.number("group", 0.0) <= high
        ]
        return together([p for p in parts if p.mass > 1e-15])

    # -- poses

    def spring_references(self) -> dict[str, float]:
        """Coordinates of hinges and slides (rad, m) at which MuJoCo takes springs to be free."""
        return {j.name: self.coordinate(j, "springref") for b in self.bodies for j in b.joints if j.axial}

    def coordinate(self, joint: JointRecord, attribute: str) -> float:
        """An attribute of a joint that is a value of its coordinate, rad or m; 0 where there is none."""
        value = joint.element.number(attribute, 0.0)
        return self.compiler.angle(value) if joint.kind == "hinge" else value

    def poses(self, coordinates: Mapping[str, float]) -> dict[BodyRecord, Pose]:
        """Poses of all bodies in the world with hinges and slides at these coordinates; other joints at the file's."""
        out = {self.bodies[0]: IDENTITY}
        for body in self.bodies[1:]:
            assert body.parent is not None
            pose = out[body.parent] @ body.pose
            for joint in body.joints:
                if not joint.axial:
                    continue
                moved = coordinates.get(joint.name, 0.0) - self.coordinate(joint, "ref")
                if joint.kind == "slide":
                    pose = pose @ Pose(np.eye(3), joint.axis * moved)
                else:
                    turn = from_axis_angle(list(joint.axis), moved)
                    pose = pose @ Pose(turn, joint.anchor - turn @ joint.anchor)
            out[body] = pose
        return out

    def pose(self, element: XmlElement) -> Pose:
        """Pose of an element from pos and one of quat, axisangle, euler, xyaxes, zaxis."""
        position = np.array(element.numbers("pos", 3, (0, 0, 0)))
        given = [k for k in ORIENTATIONS if k in element.attributes]
        if len(given) > 1:
            raise element.error(f"<{element.tag}> has {' and '.join(given)}; expected one orientation.")
        return Pose(self._rotation(element, given[0]) if given else np.eye(3), position)

    def _rotation(self, element: XmlElement, way: str) -> np.ndarray:
        size = {"quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}[way]
        v = parse_numbers(element, f"{way}=", element.attributes[way], (size,))
        rotation: np.ndarray | None = None
        if way == "quat":
            rotation = from_quaternion(v) if np.linalg.norm(v) > 1e-10 else None
        elif way == "axisangle":
            rotation = from_axis_angle(v[:3], self.compiler.angle(v[3])) if np.linalg.norm(v[:3]) > 1e-10 else None
        elif way == "euler":
            rotation = from_euler([self.compiler.angle(a) for a in v], self.compiler.sequence)
        elif way == "xyaxes":
            rotation = from_axes(np.array(v[:3]), np.array(v[3:]))
        else:
            rotation = from_z(np.array(v))
        if rotation is None:
            raise element.error(
                f"<{element.tag}> has {way}={element.attributes[way]!r}, which is no orientation; "
                "expected directions that are not zero and not parallel."
            )
        return listed(rotation, self.note, f"{element.origin}: {way} of <{element.tag}>")


def frame_name(name: str) -> str:
    """The name of a frame: a dot would read as body.frame."""
    return name.replace(".", "_")
