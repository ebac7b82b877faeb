"""URDF -> Mechanism: links, joints, mimic, limits, damping and friction, and what the links look like.

As the ROS page "urdf/XML" and urdfdom define it: an origin is xyz and fixed-axis roll-pitch-yaw, inertia stands about
the centre of mass in the axes of the inertial origin, the axis of a joint is given in its own frame and defaults to x.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.errors import SHOWN, ModelError, nearest, wrong_argument
from symbody.model.build.builder import Builder
from symbody.model.files.file_values import FileValues, tensor_of, turned
from symbody.model.files.urdf_shapes import MeshFinder, pose_of, read_materials, read_shapes
from symbody.model.files.xml_file import XmlElement, expand_xacro, parse_bound, read_xml
from symbody.model.record.mechanism import WORLD, Limits, Mechanism
from symbody.model.record.pose import IDENTITY, Pose, from_z
from symbody.model.record.snapping import SNAP, listed

KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "free",
    "planar": "planar",
}
IGNORABLE = ("mimic", "dynamics")
_OF_JOINT = {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"}
_OF_LINK = {"inertial", "visual", "collision"}
_ATTRIBUTES = {  # of the elements that decide the motion, and those of limits that programs of motion take
    "origin": "xyz rpy quat_xyzw", "mass": "value", "inertia": "ixx ixy ixz iyy iyz izz", "axis": "xyz",
    "parent": "link", "child": "link", "dynamics": "damping friction", "mimic": "joint multiplier offset",
    "limit": "lower upper velocity effort acceleration deceleration jerk",
}  # fmt: skip


def read(
    path: str | Path,
    root: str = "fixed",
    symbolic: bool = True,
    ignore: Collection[str] = (),
    packages: Sequence[str | Path] = (),
) -> Mechanism:
    """The Mechanism of a URDF file.

    root      "fixed": the root link stands on the world; "free": it moves freely (position and quaternion)
    symbolic  nonzero masses, lengths, inertias and joint laws become parameters with their value as default
    ignore    "mimic": such joints get coordinates of their own; "dynamics": no damping and friction
    packages  folders in which `package://` meshes are looked for, besides those around the file
    """
    path = Path(path)
    top = read_xml(path)
    _refuse_xacro(top, path)
    return read_tree(top, path, root, symbolic, ignore, packages)


def read_tree(
    top: XmlElement, path: Path, root: str, symbolic: bool, ignore: Collection[str], packages: Sequence[str | Path]
) -> Mechanism:
    """The Mechanism of a <robot>; `path` is the file it comes from, options as of `read`."""
    if root not in ("fixed", "free"):
        raise wrong_argument("root", root, "'fixed' (on the world) or 'free' (a floating base)", error=ModelError)
    for name in ignore:
        if name not in IGNORABLE:
            raise ModelError(f"ignore has {name!r}; expected names among {', '.join(IGNORABLE)}.")
    if top.tag != "robot":
        raise top.error(f"the file's root is <{top.tag}>; expected <robot>, as URDF has it.")
    builder = Builder(top.get("name") or path.stem, source=path.name)
    return _UrdfReader(top, builder, symbolic, set(ignore), MeshFinder(path, packages)).read(root)


def _refuse_xacro(top: XmlElement, path: Path) -> None:
    """A macro file is a program, not a model."""
    stack = [top]
    while stack:
        element = stack.pop()
        stack.extend(element.children)
        value = next((v for v in element.attributes.values() if "${" in v or "$(" in v), None)
        if element.tag.startswith("xacro:") or value is not None or path.suffix == ".xacro":
            found = f"<{element.tag}>" if value is None else f"the expression {value[:60]!r}"
            raise element.error(f"this is a xacro macro file ({found}); expected plain URDF. {expand_xacro(path)}")


class _UrdfReader:
    """One pass over a <robot>: check the tree, then links and joints into the Builder."""

    def __init__(self, top: XmlElement, builder: Builder, symbolic: bool, ignore: set[str], meshes: MeshFinder) -> None:
        self.top = top
        self.builder = builder
        self.values = FileValues(builder, symbolic)
        self.ignore = ignore
        self.meshes = meshes
        self.materials = read_materials(top)
        self.links = _by_name(top, "link")
        self.joints = _by_name(top, "joint")
        self.led: dict[str, tuple[str, float, float]] = {}  # followers traced so far
        self.ends = {name: self._ends(name, j) for name, j in self.joints.items()}

    def read(self, root: str) -> Mechanism:
        base = self._root()
        if WORLD in self.links and base != WORLD:
            raise self.links[WORLD].error(
                f"link {WORLD!r} hangs on another link; expected it to be the root. Rename it."
            )
        if base == WORLD and root == "free":
            raise self.links[base].error(
                f"root='free' was asked for, but the root link is {WORLD!r}, which stands still; expected root='fixed'."
            )
        for name, link in self.links.items():
            if name != WORLD:
                self._link(name, link)
        if base != WORLD:
            joint = "root_joint"
            while joint in self.joints:
                joint += "_"
            kind = "free" if root == "free" else "fixed"
            self.builder.joint(joint, kind, WORLD, base, origin=self.links[base].origin)
        for name, element in self.joints.items():
            self._joint(name, element)
        self._notes()
        return self.values.done()

    # -- structure

    def _ends(self, name: str, joint: XmlElement) -> tuple[str, str]:
        """Names of parent and child, both of them known."""
        out = []
        for tag in ("parent", "child"):
            end = joint.find(tag)
            if end is None:
                raise joint.error(f"joint {name!r} has no <{tag}>; expected <{tag} link=.../>.")
            link = end.name("link")
            if link not in self.links:
                raise end.error(f"joint {name!r} has the {tag} {link!r}, which is no link. {nearest(link, self.links)}")
            out.append(link)
        return out[0], out[1]

    def _root(self) -> str:
        """The one link without a parent; an error where links do not form one tree."""
        if not self.links:
            raise self.top.error("the robot has no <link>; expected one at least.")
        carrier: dict[str, str] = {}
        for name, (_, child) in self.ends.items():
            if child in carrier:
                raise self.joints[name].error(
                    f"link {child!r} is the child of joint {name!r} and of joint {carrier[child]!r}; expected a tree, "
                    "in which each link has one parent. Close loops with cuts in a .yaml model."
                )
            carrier[child] = name
        roots = [link for link in self.links if link not in carrier]
        if not roots:
            raise self.top.error("the links form a loop without a root; expected one link that is no joint's child.")
        if len(roots) > 1:
            raise self.links[roots[1]].error(
                f"links {roots[0]!r} and {roots[1]!r} have no parent; expected one root. Connect them by a joint."
            )
        reached = {roots[0]}
        for link in self.links:
            trail: dict[str, None] = {}  # in order, and found at once
            while link not in reached and link not in trail:
                trail[link] = None
                link = self.ends[carrier[link]][0]
            if link in trail:
                raise self.links[link].error(
                    f"link {link!r} is carried by itself ({' <- '.join([*list(trail)[:8], link])}); expected a tree."
                )
            reached.update(trail)
        return roots[0]

    # -- links

    def _link(self, name: str, link: XmlElement) -> None:
        inertial = link.find("inertial")
        mass, com, tensor = 0.0, np.zeros(3), np.zeros((3, 3))
        if inertial is not None:
            pose = self._origin(inertial)
            mass, com = inertial.need("mass").number("value"), pose.position
            if mass < 0:
                raise inertial.need("mass").error(f"link {name!r} has mass {mass:g}; expected zero or more.")
            six = inertial.find("inertia")
            if six is not None:
                entries = [six.number(k, 0.0) for k in ("ixx", "ixy", "iyy", "ixz", "iyz", "izz")]
                if min(entries[0], entries[2], entries[5]) < -1e-12:  # exporters write -5e-20 for 0
                    raise six.error(
                        f"link {name!r} has the moments of inertia {entries[0]:g}, {entries[2]:g}, {entries[5]:g}; "
                        "expected zero or more."
                    )
                tensor = turned(tensor_of(*entries), pose.rotation)
        shapes = read_shapes(link, self.materials, self.meshes, self.builder)
        self.values.body(name, mass, com, tensor, shapes=shapes, origin=(inertial or link).origin)

    def _origin(self, element: XmlElement) -> Pose:
        """The pose of the first <origin> child, as urdfdom reads it; the identity where there is none."""
        origin = element.first("origin")
        if origin is None:
            return IDENTITY
        for other in list(element.all("origin"))[1:]:
            self.builder.note(f"{other.origin}: a second <origin> in <{element.tag}> was ignored; the first counts")
        pose = pose_of(origin)
        where = f"{origin.origin}: rotation of <{element.tag}>"
        return Pose(listed(pose.rotation, self.builder.note, where), pose.position)

    # -- joints

    def _joint(self, name: str, element: XmlElement) -> None:
        parent, child = self.ends[name]
        written = element.name("type")
        if written not in KINDS:
            raise element.error(
                f"joint {name!r} has type {written!r}; expected one of {', '.join(KINDS)}. {nearest(written, KINDS)}"
            )
        kind = KINDS[written]
        pose = self._origin(element)
        axis = _axis(name, element)
        details: dict[str, Any] = {"limits": self._limits(name, element, written)}
        if kind not in ("fixed", "free"):
            details |= self._laws(name, element, kind)
        details["mimic"] = self._mimic(name, element, kind)
        if kind == "planar" and np.abs(axis - (0, 0, 1)).max() > SNAP:
            self._tilted_plane(name, parent, child, pose, axis, element, details)
            return
        self.builder.joint(
            name,
            kind,
            parent,
            child,
            position=self.values.vector(pose.position, "p", name, element.origin),
            rotation=pose.rotation,
            axis=tuple(axis),
            origin=element.origin,
            **details,
        )

    def _tilted_plane(
        self,
        name: str,
        parent: str,
        child: str,
        pose: Pose,
        axis: np.ndarray,
        element: XmlElement,
        details: dict[str, Any],
    ) -> None:
        """URDF's plane is normal to the axis, the Mechanism's to z: a massless body between turns one to the other."""
        align = from_z(axis)
        assert align is not None  # the axis is not zero
        between = f"{name}_plane"
        while between in self.links:
            between += "_"
        position = self.values.vector(pose.position, "p", name, element.origin)
        self.builder.body(between, origin=element.origin)
        self.builder.joint(
            name,
            "planar",
            parent,
            between,
            position=position,
            rotation=(pose.rotation @ align),
            origin=element.origin,
            **details,
        )
        back = f"{name}_back"
        while back in self.joints:
            back += "_"
        self.builder.joint(back, "fixed", between, child, rotation=align.T, origin=element.origin)

    def _laws(self, name: str, element: XmlElement, kind: str) -> dict[str, Any]:
        """Damping and Coulomb friction."""
        dynamics = element.find("dynamics")
        if dynamics is None or "dynamics" in self.ignore:
            return {}
        damping, friction = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
        for what, value in (("damping", damping), ("friction", friction)):
            if value < 0:
                raise dynamics.error(f"joint {name!r} has {what} {value:g}; expected zero or more.")
        turn = kind == "revolute"
        out: dict[str, Any] = {}
        if damping:
            out["viscous"] = self.values.scalar(
                damping, f"viscous_{name}", "N m s/rad" if turn else "N s/m", dynamics.origin
            )
        if friction:
            out["coulomb"] = self.values.scalar(friction, f"coulomb_{name}", "N m" if turn else "N", dynamics.origin)
        return out

    def _limits(self, name: str, element: XmlElement, written: str) -> Limits | None:
        limit = element.find("limit")
        if limit is None or written in ("fixed", "floating", "planar"):
            if limit is not None and written != "fixed":
                self.builder.note(
                    f"{limit.origin}: limits of {written} joint {name!r} were left out, one pair for metres and radians"
                )
            return None

        def bound(attribute: str) -> float | None:
            text = limit.attributes.get(attribute)
            return None if text is None else parse_bound(limit, f"{attribute}=", text)

        lower, upper = bound("lower"), bound("upper")
        if written == "continuous":
            lower = upper = None
        elif lower is not None and upper is not None:
            if lower > upper:
                raise limit.error(f"joint {name!r} has the limits {lower:g} and {upper:g}; expected lower < upper.")
            if lower == upper:
                self.builder.note(
                    f"{limit.origin}: joint {name!r} has equal limits {lower:g} and was left without them"
                )
                lower = upper = None
        velocity, effort = bound("velocity"), bound("effort")
        for what, value in (("velocity", velocity), ("effort", effort)):
            if value is not None and value < 0:
                raise limit.error(f"joint {name!r} has the {what} limit {value:g}; expected zero or more.")
        return Limits(lower, upper, velocity, effort)

    def _mimic(self, name: str, element: XmlElement, kind: str) -> tuple[str, float, float] | None:
        """The joint that leads, ratio and offset; a chain of followers is traced to the one that leads them all."""
        if "mimic" in self.ignore or element.find("mimic") is None:
            return None
        if kind == "fixed":
            self.builder.note(f"{element.origin}: joint {name!r} is fixed, and its <mimic> was ignored")
            return None
        if kind not in ("revolute", "prismatic"):
            raise element.error(
                f"joint {name!r} of kind {kind} has <mimic>; expected it on a joint with one coordinate."
            )
        leader, ratio, offset = self._led(name)
        if self.joints[leader].get("type") not in ("revolute", "continuous", "prismatic"):
            raise element.error(
                f"joint {name!r} mimics {leader!r}, which is {self.joints[leader].get('type')!r}; "
                "expected revolute, continuous or prismatic."
            )
        return leader, ratio, offset

    def _led(self, name: str) -> tuple[str, float, float]:
        """(joint that leads, ratio, offset); what is known of joints on the way is used, so that chains cost once."""
        path: dict[str, XmlElement] = {}
        at = name
        while at not in self.led:
            mimic = self.joints[at].find("mimic")
            if mimic is None:
                self.led[at] = at, 1.0, 0.0
                break
            path[at] = mimic
            at = mimic.name("joint")
            if at not in self.joints:
                raise mimic.error(
                    f"joint {list(path)[-1]!r} mimics {at!r}, which is no joint. {nearest(at, self.joints)} Or read it "
                    "with ignore=('mimic',): then it has a coordinate of its own."
                )
            if at in path:
                some = ", ".join(list(path)[:8]) + (f" and {len(path) - 8} more" if len(path) > 8 else "")
                raise mimic.error(f"joints {some} mimic each other in a circle; expected one that leads.")
        for joint, mimic in reversed(path.items()):
            leader, ratio, offset = self.led[mimic.name("joint")]
            own = mimic.number("multiplier", 1.0)
            self.led[joint] = leader, own * ratio, own * offset + mimic.number("offset", 0.0)
        return self.led[name]

    # -- what was left out

    def _notes(self) -> None:
        """One sentence per kind of element that the equations do not need."""
        found: Counter[str] = Counter()
        first: dict[str, XmlElement] = {}

        def left(elements: list[XmlElement]) -> None:
            for e in elements:
                found[e.tag] += 1
                first.setdefault(e.tag, e)

        left([e for e in self.top.children if e.tag not in ("link", "joint", "material")])
        for link in self.links.values():
            left([e for e in link.children if e.tag not in _OF_LINK])
        for joint in self.joints.values():
            left([e for e in joint.children if e.tag not in _OF_JOINT])
        self._unknown_attributes()
        for tag, count in found.items():
            self.builder.note(
                f"{first[tag].origin}: <{tag}> is not part of the mechanics and was ignored ({count} in all)"
            )
        for name in sorted(self.ignore):
            self.builder.note(f"{self.top.file}: <{name}> was ignored, as asked")
        for sentence in self.meshes.notes():
            self.builder.note(sentence)

    def _unknown_attributes(self) -> None:
        """One sentence per attribute that URDF does not know of its element."""
        inertials = (i for link in self.links.values() for i in link.all("inertial"))
        found: dict[tuple[str, str], list[str]] = {}
        for element in (e for owner in (*inertials, *self.joints.values()) for e in owner.children):
            known = _ATTRIBUTES.get(element.tag, "").split()
            for key in element.attributes if known else ():
                if key not in known:
                    found.setdefault((element.tag, key), []).append(element.origin)
        for (tag, key), origins in list(found.items())[:SHOWN]:
            self.builder.note(
                f"{origins[0]}: <{tag}> has {key}=, which URDF does not know; it was left out ({len(origins)} in all)"
            )


def _by_name(top: XmlElement, tag: str) -> dict[str, XmlElement]:
    out: dict[str, XmlElement] = {}
    for element in top.all(tag):
        name = element.name()
        if name in out:
            raise element.error(
                f"a second {tag} {name!r} (the first is on line {out[name].line}); expected unique names."
            )
        out[name] = element
    return out


def _axis(name: str, element: XmlElement) -> np.ndarray:
    """The unit axis of a joint in its own frame; URDF's default is x."""
    child = element.find("axis")
    axis = np.array(child.numbers("xyz", 3, (1, 0, 0)) if child is not None else (1.0, 0.0, 0.0))
    length = float(np.linalg.norm(axis))
    if length < 1e-10:
        if element.get("type") in ("fixed", "floating"):
            return np.array([1.0, 0.0, 0.0])
        raise (child or element).error(f"joint {name!r} has the axis 0 0 0; expected a direction that is not zero.")
    return axis / length
