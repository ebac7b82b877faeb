"""What the links of a URDF look like: visual (else collision) primitives and meshes, and where mesh files are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from symbody.basics.regular_file import inside, is_file, resolved
from symbody.model.build.builder import Builder
from symbody.model.files.xml_file import XmlElement
from symbody.model.record.mechanism import Placement, Shape
from symbody.model.record.pose import IDENTITY, Pose, from_quaternion, from_rpy

Colour = tuple[float, ...]
_PACKAGE = "package://"


def trusted_folders(packages: Sequence[str | Path]) -> list[Path]:
    """Folders that the user names: those given, then those of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH."""
    ros = [Path(p) for p in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if p]
    ament = [Path(p) / "share" for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    return [*(Path(p) for p in packages), *ros, *ament]


def allowed(folder: Path, reference: str, trusted: Sequence[Path]) -> Path | None:
    """The file `reference` relative to a folder, if it lies in the folder or in a trusted one; else None."""
    target = resolved(folder / reference)
    return target if target and any(inside(root, str(target)) == target for root in (folder, *trusted)) else None


class MeshFinder:
    """Finds mesh files below the model's folder, the folders around it that bear a package's name, and `packages`."""

    def __init__(self, model: Path, packages: Sequence[str | Path]) -> None:
        self.folder = model.resolve().parent
        self.packages = trusted_folders(packages)
        self._missing: list[tuple[str, str]] = []  # origin and reference
        self._remote: list[tuple[str, str]] = []

    def find(self, element: XmlElement, reference: str) -> str:
        """The path of a mesh; where no such file is allowed or there, its bare reference (and a note), which opens
        nothing."""
        if reference.startswith(_PACKAGE):
            name, _, rest = reference[len(_PACKAGE) :].partition("/")
            if name in ("", ".", ".."):  # no package: the root of the system, or a folder above those that are named
                self._missing.append((element.origin, reference))
                return Path(rest).name
            around = (f for f in (self.folder, *self.folder.parents) if f.name == name)
            own = (p for p in self.packages if p.name == name)
            targets = [inside(folder, rest) for folder in (*(p / name for p in self.packages), *own, *around)]
        else:
            rest = reference.removeprefix("file://")
            if "://" in reference and rest == reference:
                self._remote.append((element.origin, reference))
                return reference
            targets = [allowed(self.folder, rest, self.packages)]
        for target in targets:
            if target is not None and is_file(target):
                return str(target)
        self._missing.append((element.origin, reference))
        return Path(rest).name if Path(rest).is_absolute() else reference

    def notes(self) -> Iterable[str]:
        if self._missing:
            origin, reference = self._missing[0]
            yield (
                f"{origin}: mesh {reference!r} was not found in or around the model's folder and is not shown "
                f"({len(self._missing)} such references); masses and inertias do not need it"
            )
        if self._remote:
            origin, reference = self._remote[0]
            yield f"{origin}: mesh {reference!r} is no local file and is not shown ({len(self._remote)} of them)"


def pose_of(origin: XmlElement) -> Pose:
    """The pose that an <origin> gives: xyz in m; fixed-axis roll, pitch, yaw in rad, or (URDF 1.1) a quaternion."""
    position = np.array(origin.numbers("xyz", 3, (0, 0, 0)))
    quaternion = origin.numbers("quat_xyzw", 4)
    if not quaternion:
        return Pose(from_rpy(*origin.numbers("rpy", 3, (0, 0, 0))), position)
    if "rpy" in origin.attributes:
        raise origin.error("<origin> has rpy and quat_xyzw; expected one of them.")
    if np.linalg.norm(quaternion) < 1e-10:
        raise origin.error("<origin> has the quaternion 0; expected one of length 1.")
    x, y, z, w = quaternion
    return Pose(from_quaternion([w, x, y, z]), position)


def read_materials(top: XmlElement) -> dict[str, Colour]:
    """Colours (r, g, b, a) of the robot's named materials."""
    return {m.get("name"): c for m in top.all("material") if (c := _colour(m, {}))}


def read_shapes(
    link: XmlElement, materials: dict[str, Colour], meshes: MeshFinder, builder: Builder
) -> tuple[Shape, ...]:
    """The visual shapes of a link; its collision shapes where it has no others."""
    elements = list(link.all("visual")) or list(link.all("collision"))
    return tuple(s for e in elements if (s := _shape(e, materials, meshes, builder)) is not None)


def _shape(element: XmlElement, materials: dict[str, Colour], meshes: MeshFinder, builder: Builder) -> Shape | None:
    geometry = element.find("geometry")
    if geometry is None or not geometry.children:
        raise (geometry or element).error(
            f"<{element.tag}> has no geometry; expected <box>, <cylinder>, <sphere>, <capsule> or <mesh>."
        )
    form = geometry.children[0]
    size: Sequence[float] = ()
    file = ""
    match form.tag:
        case "box":
            size = form.numbers("size", 3)
        case "cylinder" | "capsule":
            size = (form.number("radius"), form.number("length"))
        case "sphere":
            size = (form.number("radius"),)
        case "mesh":
            size = form.numbers("scale", (1, 3), (1, 1, 1))
            file = meshes.find(form, form.name("filename"))
        case _:
            raise form.error(
                f"<{element.tag}> has the geometry <{form.tag}>; expected box, cylinder, sphere, capsule or mesh."
            )
    if form.tag == "box" and not size:
        raise form.error("<box> has no attribute 'size'; expected three lengths.")
    if form.tag != "mesh" and min(size) <= 0:
        builder.note(not_shown(form, size))
        return None
    origin = element.first("origin")
    pose = IDENTITY if origin is None else pose_of(origin)
    material = element.first("material")
    colour = _colour(material, materials) if material is not None else ()
    return Shape(form.tag, tuple(size), placement_of(pose, builder), file, colour)


def not_shown(form: XmlElement, size: Sequence[float]) -> str:
    """The note on a shape without extent."""
    return f"{form.origin}: a <{form.tag}> has the size {' '.join(f'{s:g}' for s in size)} and is not shown"


def _colour(material: XmlElement, known: dict[str, Colour]) -> Colour:
    colour = material.find("color")
    if colour is not None:
        return tuple(colour.numbers("rgba", (3, 4)))
    return known.get(material.get("name"), ())


def placement_of(pose: Pose, builder: Builder) -> Placement:
    """A numeric pose as a Placement of constants in the Builder's Graph."""

    def nodes(values: np.ndarray) -> np.ndarray:
        out = np.empty(values.shape, dtype=object)
        for k, v in enumerate(values.flat):
            out.flat[k] = builder.number(float(v))
        return out

    return Placement(nodes(pose.rotation), nodes(pose.position))
