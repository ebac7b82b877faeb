"""What writers of XML model files share: numbers at the defaults of parameters, names, and a list of what is lost."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from symbody.basics.errors import ModelError
from symbody.model.record.elementary_motions import pose_along
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import WORLD, Joint, Mechanism, Placement, Shape
from symbody.model.record.numbers import number_of
from symbody.model.record.pose import IDENTITY, Pose, rounded
from symbody.model.record.snapping import snapped

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class XmlWriter:
    """A Mechanism on its way into a text: `lines` of it, and in `lost` what the format has no words for."""

    format = "XML"

    def __init__(self, mechanism: Mechanism, folder: Path | None = None) -> None:
        self.mechanism = mechanism
        self.folder = folder
        if folder is not None:
            with contextlib.suppress(OSError, ValueError, RuntimeError):  # whoever writes there is told why not
                self.folder = folder.resolve()
        self.lines: list[str] = []
        self.lost: list[str] = [
            f"{words} {', '.join(named)}"
            for mode, words in (
                ("passive", "that these joints take no efforts:"),
                ("locked", "coordinates of locked joints, which are fixed there:"),
            )
            if (named := [j.name for j in mechanism.joints if j.mode == mode and j.kind != "fixed"])
        ]
        self.links = {WORLD, *(b.name for b in mechanism.bodies)}
        self.joints = {j.name for j in mechanism.joints}

    # -- numbers

    def number(self, node: Any, owner: str) -> float:
        value = number_of(node)
        if value is None:
            raise ModelError(
                f"{owner} has the value {node}, whose parameters have no defaults; expected numbers for {self.format}."
            )
        return value

    def array(self, nodes: Any, owner: str) -> np.ndarray:
        array = np.asarray(nodes, dtype=object)
        return np.array([self.number(x, owner) for x in array.flat]).reshape(array.shape)

    def pose(self, place: Placement, owner: str) -> Pose:
        return Pose(snapped(self.array(place.rotation, owner)), self.array(place.position, owner))

    def shape_pose(self, shape: Shape, owner: str) -> Pose:
        return IDENTITY if shape.placement is None else self.pose(shape.placement, f"a shape of {owner}")

    def axis(self, joint: Joint, letter: str = "u") -> tuple[float, ...]:
        """Direction of a motion in the joint frame."""
        if letter != "u":
            return AXES[letter]
        return tuple(float(x) for x in self.array(joint.axis, f"joint {joint.name!r}"))

    def locked(self, joint: Joint, pose: Pose) -> Pose:
        """The pose of the child of a joint that stays at its value."""
        owner = f"joint {joint.name!r}"
        entries = [self.number(x, owner) for x in joint.values]
        for motion, name in KINDS[joint.kind].motions(joint) if entries else ():
            own, entries = entries[: motion.nq], entries[motion.nq :]
            pitch = 0.0 if joint.pitch is None else self.number(joint.pitch, owner)
            turn, shift = pose_along(motion, self.axis(joint, name) if name else None, pitch, own)
            pose = pose @ Pose(rounded(turn), shift)
        return pose

    def laws(self, joint: Joint) -> dict[str, float]:
        """The numbers of a joint's laws that are not zero: stiffness, rest, viscous, coulomb, armature."""
        owner, out = f"joint {joint.name!r}", {}
        for key in ("stiffness", "rest", "viscous", "coulomb"):
            value = getattr(joint, key)
            if value is not None and (number := self.number(value, owner)):
                out[key] = number
        if joint.rotor is not None:
            reflected = self.number(joint.rotor.inertia, owner) * self.number(joint.rotor.ratio, owner) ** 2
            if reflected:
                out["armature"] = reflected
            if joint.rotor.gyroscopic:
                self.lost.append(f"gyroscopic effect of the rotor of joint {joint.name}")
        return out

    def mimic(self, joint: Joint) -> tuple[str, float, float] | None:
        """(leader, ratio, offset)"""
        if joint.mimic is None:
            return None
        owner = f"joint {joint.name!r}"
        return joint.mimic.joint, self.number(joint.mimic.ratio, owner), self.number(joint.mimic.offset, owner)

    def refuse_joint(self, joint: Joint) -> None:
        if joint.elastic is not None:
            raise ModelError(
                f"joint {joint.name!r} is elastic; {self.format} has no such joint. Replace it by a rigid one."
            )
        if joint.mimic is not None and joint.kind == "ball" and joint.mode != "locked":
            raise ModelError(
                f"ball joint {joint.name!r} follows another one, which {self.format} has no words for; expected one "
                "with its own coordinates."
            )

    # -- texts

    def name(self, name: str) -> str:
        if name != visible(name):
            raise ModelError(f"{name!r} has a control character; XML cannot hold it. Expected another name.")
        return quoteattr(name)

    def free(self, name: str, taken: set[str]) -> str:
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    def mesh_file(self, file: str, owner: str) -> str:
        """The reference to a mesh: relative to the file's folder where it lies there; else it is lost for readers."""
        path = Path(file)
        if self.folder is not None and path.is_absolute() and path.is_relative_to(self.folder):
            return path.relative_to(self.folder).as_posix()
        self.lost.append(f"mesh {path.name} of {owner}, which lies outside the folder of the file")
        return ""

    def comment(self) -> list[str]:
        if not self.lost:
            return []
        # two hyphens would end an XML comment
        text = [visible(x).replace("--", "- -").rstrip("-") for x in self.lost]
        head = f"  <!-- not in this file, for {self.format} has no words for it:"
        return [head, *(f"       {x}" for x in text), "  -->"]


def vector(values: Iterable[float]) -> str:
    """Numbers that read back to the same bits."""
    return " ".join(repr(float(v) + 0.0) for v in values)


def visible(text: str) -> str:
    """The text without characters that XML cannot hold."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\t\n\r]", "", text)


def to_quaternion(rotation: np.ndarray) -> np.ndarray:
    """(w, x, y, z) of a rotation, by the largest of its four entries, so that no digits are lost."""
    r = rotation
    squares = np.array([np.trace(r), *(2 * np.diag(r) - np.trace(r))]) + 1  # four times the square of each entry
    k = int(np.argmax(squares))
    products = np.array([
        [squares[0], r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]],
        [r[2, 1] - r[1, 2], squares[1], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0]],
        [r[0, 2] - r[2, 0], r[0, 1] + r[1, 0], squares[2], r[1, 2] + r[2, 1]],
        [r[1, 0] - r[0, 1], r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], squares[3]],
    ])  # fmt: skip
    out: np.ndarray = products[k] / np.linalg.norm(products[k])
    return out
