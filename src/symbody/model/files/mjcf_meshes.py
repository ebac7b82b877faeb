"""Meshes of an MJCF file: what <asset> says of them, their triangles, their mass, and primitives fitted to them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from symbody.basics.errors import ModelError, nearest
from symbody.model.files.mesh_file import Mesh, checked, read_mesh
from symbody.model.files.mesh_mass import MESH_AXES, RULES, Content, content, principal_axes, turned_over
from symbody.model.files.mjcf_builtin_meshes import builtin_mesh
from symbody.model.files.mjcf_defaults import Defaults
from symbody.model.files.urdf_shapes import MeshFinder
from symbody.model.files.xml_file import XmlElement
from symbody.model.record.pose import Pose, from_quaternion

SMALLEST = 1e-15  # volume: MuJoCo's mjMINVAL
ADVICE = (
    "Or let MuJoCo write the masses: save the compiled model with saveinertial='true' in <compiler> (mj_saveLastXML)."
)


class Fitted(NamedTuple):
    """A primitive of a mesh: half-sizes, and its pose in the frame of the mesh."""

    size: np.ndarray
    pose: Pose


class MeshAssets:
    """The meshes of one file by name; triangles are read when a mass needs them, once."""

    def __init__(self, asset: XmlElement, defaults: Defaults, folder: str, files: MeshFinder, strip: bool) -> None:
        self.files, self.folder, self.strip = files, folder, strip
        self.elements: dict[str, XmlElement] = {}
        for written in asset.all("mesh"):
            element = defaults.apply(written, "")
            name = element.get("name") or Path(element.get("file")).stem
            if name in self.elements:
                raise element.error(f"a second mesh {name!r}; expected unique names.")
            self.elements[name] = element
        self._contents: dict[str, Content] = {}

    def element(self, geom: XmlElement) -> XmlElement:
        name = geom.name("mesh")
        if name not in self.elements:
            raise geom.error(f"mesh {name!r} is not in <asset>. {nearest(name, self.elements)}")
        return self.elements[name]

    def file(self, geom: XmlElement) -> tuple[str, tuple[float, ...]]:
        """Where the file of a geom's mesh is (a bare reference if it was not found), and its scale."""
        asset = self.element(geom)
        return self._path(asset), tuple(asset.numbers("scale", 3, (1.0, 1.0, 1.0)))

    def _path(self, asset: XmlElement) -> str:
        name = asset.get("file")
        if not name:
            return asset.get("name")
        if self.strip:
            name = name.replace("\\", "/").rpartition("/")[2]
        return self.files.find(asset, f"{self.folder}/{name}" if self.folder else name)

    def content(self, geom: XmlElement) -> Content:
        """Volume, centre and tensor of density 1 in the frame of the mesh file."""
        asset = self.element(geom)
        name = geom.get("mesh")
        if name not in self._contents:
            rule = asset.choice("inertia", RULES, "legacy")
            try:
                mesh = self._triangles(asset)
                if rule == "exact" and turned_over(mesh):
                    raise asset.error(f"mesh {name!r} has faces that are turned over; expected all of them outward.")
                found = content(mesh, rule)
            except ModelError as error:
                raise ModelError(f"{error} {ADVICE}") from None
            if found.volume < -SMALLEST:
                raise asset.error(f"mesh {name!r} has the volume {found.volume:g}; expected faces that look outward.")
            if found.volume < SMALLEST:
                raise asset.error(f"mesh {name!r} encloses the volume {found.volume:g}; expected a closed surface.")
            self._contents[name] = found
        return self._contents[name]

    def fit(self, geom: XmlElement, kind: str) -> Fitted:
        """A primitive in place of a mesh: its box of equal inertia, or the box around it (fitaabb)."""
        found = self.content(geom)
        moments, axes = principal_axes(found.tensor, MESH_AXES)
        if self.fits_around:
            points = (self._triangles(self.element(geom)).vertices - found.com) @ axes
            low, high = points.min(axis=0), points.max(axis=0)
            half, place = (high - low) / 2, found.com + axes @ ((low + high) / 2)
        else:
            sides = np.maximum(moments.sum() - 2 * moments, SMALLEST) / found.volume
            half, place = np.sqrt(6 * sides) / 2, found.com
        radius = float(half[:2].max() if self.fits_around else half[:2].mean())
        match kind:
            case "sphere":
                size = np.array([half.max() if self.fits_around else half.mean()])
            case "capsule":
                size = np.array([radius, max(0.0, half[2] - (radius if self.fits_around else radius / 2))])
            case "cylinder":
                size = np.array([radius, half[2]])
            case _:
                size = half
        return Fitted(size * geom.number("fitscale", 1.0), Pose(axes, place))

    def half_sizes(self, geom: XmlElement) -> Fitted:
        """How far a mesh reaches from its centre of mass along each of its principal axes."""
        found = self.content(geom)
        _, axes = principal_axes(found.tensor, MESH_AXES)
        points = (self._triangles(self.element(geom)).vertices - found.com) @ axes
        return Fitted(np.abs(points).max(axis=0), Pose(axes, found.com))

    fits_around = False

    def _triangles(self, asset: XmlElement) -> Mesh:
        """The mesh with its reference pose and scale."""
        what = f"{asset.origin}: mesh {asset.get('name')!r}"
        if asset.get("builtin") not in ("", "none"):
            mesh = checked(*builtin_mesh(asset), what)
        elif asset.get("file"):
            path = Path(self._path(asset))
            if not path.is_absolute():
                raise asset.error(
                    f"mesh {asset.get('file')!r}, of which a body takes its mass, was not found in the folder of the "
                    "model; expected it there, or in a folder that packages=[...] or ROS_PACKAGE_PATH names."
                )
            mesh = read_mesh(path, asset.origin)
        else:
            vertices = _many(asset, "vertex")
            mesh = checked(vertices, _many(asset, "face").astype(int), what)
        quaternion = asset.numbers("refquat", 4, (1, 0, 0, 0))
        if np.linalg.norm(quaternion) < 1e-10:
            raise asset.error(f"mesh {asset.get('name')!r} has the refquat 0; expected a quaternion of length 1.")
        turn = from_quaternion(quaternion)
        shift = np.array(asset.numbers("refpos", 3, (0, 0, 0)))
        scale = np.array(asset.numbers("scale", 3, (1, 1, 1)))
        faces = mesh.faces if np.prod(scale) > 0 else mesh.faces[:, ::-1]
        return Mesh((mesh.vertices - shift) @ turn * scale, faces)


def _many(asset: XmlElement, attribute: str) -> np.ndarray:
    """Numbers by threes, any count of them."""
    count = len(asset.get(attribute).split())
    if count % 3 or (attribute == "vertex" and not count):
        raise asset.error(f"mesh {asset.get('name')!r} has {count} numbers in {attribute}; expected threes, or a file.")
    return np.array(asset.numbers(attribute, count)).reshape(-1, 3)
