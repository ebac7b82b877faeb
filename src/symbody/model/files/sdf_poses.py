"""Frames of an SDF file: poses relative to other frames, resolved to the world, and the links they are attached to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from symbody.basics.errors import nearest
from symbody.model.files.xml_file import XmlElement, parse_numbers
from symbody.model.record.mechanism import WORLD
from symbody.model.record.pose import IDENTITY, Pose, from_quaternion, from_rpy

WORLD_FRAME = WORLD
IN_WORLD = "\0world::"  # before names of the world where those of its one model have no prefix; no file has a NUL
PLACED_BY = "placement_frame"
OF_MODEL = "__model__"  # the frame of the model itself


@dataclass(eq=False)
class _Frame:
    """A frame: its element, the frame that its pose is relative to, the one it moves with ("" for its own), and of a
    model the one inside that stands where the pose says ("" for the model's own)."""

    element: XmlElement
    pose: Pose
    base: str
    attached: str
    placed_by: str


class Frames:
    """Links, joints, models and <frame> elements by their full names."""

    def __init__(self) -> None:
        self._frames: dict[str, _Frame] = {}
        self._alias: dict[str, str] = {}
        self._poses: dict[str, Pose] = {WORLD: IDENTITY}
        self._first: dict[str, str] = {}  # prefix of a model -> its first link
        self._first_below: dict[str, str] = {}  # the same of the models in it
        self._moves_with: dict[str, str] = {}  # frame -> link, of those asked for
        self.links: dict[str, str] = {}
        self.prefix_of: dict[str, str] = {}
        self.only = ""  # what names in the world put before those of its one model

    def __contains__(self, name: str) -> bool:
        return name in self._frames

    def add(
        self, name: str, element: XmlElement, around: str, prefix: str = "", attached: bool = False, placed_by: str = ""
    ) -> None:
        """A frame whose pose is relative to `around` unless it says otherwise; `attached`: it moves with `around`."""
        if name in self._frames:
            raise element.error(f"a second frame {_shown(name)!r}; expected unique names.")
        pose = element.find("pose")
        base = around
        if pose is not None and pose.get("relative_to"):
            to = pose.get("relative_to")
            base = WORLD if to == WORLD else prefix + to
        place = IDENTITY if pose is None else self.numbers(pose)
        self._frames[name] = _Frame(element, place, base, around if attached else "", placed_by)

    def add_link(self, name: str, prefix: str) -> None:
        """A link of the model with this prefix: frames that are attached to the model move with its first one."""
        self.links[name] = name
        self._first.setdefault(prefix, name)
        while prefix:
            prefix = prefix[: prefix.rfind("::", 0, -2) + 2] if "::" in prefix[:-2] else ""
            self._first_below.setdefault(prefix, name)

    def alias(self, name: str, frame: str) -> None:
        self._alias[name] = frame

    def element(self, name: str) -> XmlElement:
        return self._frames[name].element

    def named(self) -> list[str]:
        """Names of <frame> elements."""
        return [name for name, f in self._frames.items() if f.element.tag == "frame"]

    def numbers(self, pose: XmlElement) -> Pose:
        """x y z and roll pitch yaw, or a quaternion x y z w; blank is the identity."""
        if pose.get("frame").strip():  # blank, as Gazebo used to write it, it says nothing
            raise pose.error("<pose> has a frame, which SDF has not since 1.7; expected relative_to.")
        form = pose.get("rotation_format") or "euler_rpy"
        if not pose.text.strip():
            return IDENTITY
        if form == "quat_xyzw":
            v = parse_numbers(pose, "", pose.text, (7,))
            if np.linalg.norm(v[3:]) < 1e-10:
                raise pose.error("<pose> has the quaternion 0; expected one of length 1.")
            return Pose(from_quaternion([v[6], *v[3:6]]), np.array(v[:3]))
        if form != "euler_rpy":
            raise pose.error(f"<pose> has rotation_format={form!r}; expected euler_rpy or quat_xyzw.")
        v = parse_numbers(pose, "", pose.text, (6,))
        angles = np.deg2rad(v[3:]) if pose.get("degrees") in ("true", "1") else v[3:]
        return Pose(from_rpy(*angles), np.array(v[:3]))

    def world(self, name: str, asked: XmlElement) -> Pose:
        """The pose of a frame in the world, at the file's configuration."""
        trail: dict[str, None] = {}  # in order, and found at once
        at = self._resolved(name, asked)
        while at not in self._poses:
            if at in trail:
                raise self._frames[at].element.error(
                    f"poses are relative to each other: {_circle(trail, at)}; expected one of them to stand in the "
                    "model."
                )
            trail[at] = None
            at = self._resolved(self._frames[at].base, self._frames[at].element)
        for frame in reversed(trail):
            self._poses[frame] = self._poses[at] @ self._pose_of(frame)
            at = frame
        return self._poses[at]

    def _pose_of(self, name: str) -> Pose:
        """In the frame that its pose is relative to."""
        frame = self._frames[name]
        if not frame.placed_by:
            return frame.pose
        inside, element = IDENTITY, frame.element
        seen = set()
        at = self._resolved(frame.placed_by, element)
        while at != name:  # the pose in the model of what stands where the model's pose says
            if at == WORLD or at in seen:
                raise element.error(
                    f"{PLACED_BY} {_shown(frame.placed_by)!r} does not stand in the model; expected a frame in it."
                )
            seen.add(at)
            inside = self._pose_of(at) @ inside
            at = self._resolved(self._frames[at].base, element)
        return frame.pose @ inside.inverse()

    def link(self, name: str, asked: XmlElement) -> str:
        """The link that a frame moves with; "world" for what stands still."""
        seen: dict[str, None] = {}
        at = self._resolved(name, asked)
        while at != WORLD and at not in self.links:
            if at in self._moves_with:
                at = self._moves_with[at]
                continue
            if at in seen:
                raise asked.error(f"frames are attached to each other: {_circle(seen, at)}; expected a link.")
            seen[at] = None
            frame = self._frames[at]
            if not frame.attached:  # a model: its first link, as SDF's canonical link
                inner = at.removesuffix("__model__")
                canonical = frame.element.get("canonical_link")
                first = self._first.get(inner) or self._first_below.get(inner, "")
                found = inner + canonical if canonical else first
                if not found:
                    raise asked.error(f"frame {_shown(name)!r} moves with a model without links; expected one link.")
                at = self._resolved(found, asked)
            else:
                at = self._resolved(frame.attached, frame.element)
        self._moves_with.update(dict.fromkeys(seen, at))  # so that long chains are walked once
        return at

    def _resolved(self, name: str, asked: XmlElement) -> str:
        if self.only and name.startswith(self.only):
            name = name.removeprefix(self.only)
        name = self._alias.get(name, name)
        if name != WORLD and name not in self._frames:
            hint = nearest(_shown(name), [_shown(known) for known in (*self._frames, *self._alias)])
            raise asked.error(f"<{asked.tag}> names {_shown(name)!r}, which is no link or frame. {hint}")
        return name


def _circle(trail: Iterable[str], at: str) -> str:
    return " -> ".join(_shown(name) for name in [*list(trail)[:8], at])


def _shown(name: str) -> str:
    return name.removeprefix(IN_WORLD)
