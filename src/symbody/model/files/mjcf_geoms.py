"""MJCF geoms: sizes, volumes, masses and inertias of primitives, as MuJoCo derives them (inertiafromgeom)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.model.files.file_values import turned
from symbody.model.files.mesh_mass import kept_by_mujoco
from symbody.model.files.mjcf_meshes import MeshAssets
from symbody.model.files.xml_file import XmlElement
from symbody.model.record.pose import Pose, from_z

# lengths that a geom needs in `size`, and with fromto
SIZES = {"sphere": (1, 0), "capsule": (2, 1), "cylinder": (2, 1), "ellipsoid": (3, 1), "box": (3, 1)}
MASSLESS = ("plane", "hfield")  # MuJoCo allows them on bodies that stand still
WITHOUT_FORMULA = ("mesh", "sdf")
ROUNDING = 1e-14
TYPES = (*SIZES, *MASSLESS, *WITHOUT_FORMULA)


@dataclass(frozen=True, eq=False)
class MassProperties:
    """mass kg, com (3,) m and tensor (3, 3) about the com, kg m^2, in the axes of one frame.

    axes (3, 3): principal ones that the file gives (columns); None where they are to be found
    """

    mass: float
    com: np.ndarray
    tensor: np.ndarray
    axes: np.ndarray | None = None


NOTHING = MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))


def type_of(geom: XmlElement) -> str:
    """The type of a geom; a geom that names a mesh is at least shown as one."""
    return geom.choice("type", TYPES, "mesh" if geom.get("mesh") and not geom.get("type") else "sphere")


def size_and_pose(geom: XmlElement, pose: Pose) -> tuple[np.ndarray, Pose]:
    """Half-sizes (as MJCF has them) and pose; `fromto` gives length, place and direction of a long geom."""
    kind = type_of(geom)
    if geom.get("mesh"):
        return np.zeros(0), pose  # fitted to the mesh where the mass is asked for
    ends = geom.numbers("fromto", 6)
    sizes = geom.numbers("size", (1, 2, 3))
    if ends:
        if SIZES.get(kind, (0, 0))[1] == 0:
            raise geom.error(f"a {kind} has 'fromto'; expected it on a capsule, cylinder, ellipsoid or box.")
        first, second = np.array(ends[:3]), np.array(ends[3:])
        turn = from_z(first - second)
        if turn is None:
            raise geom.error("'fromto' gives the same point twice; expected two points.")
        half = float(np.linalg.norm(first - second)) / 2
        if not sizes:
            raise geom.error(f"a {kind} with 'fromto' has no size; expected its radius.")
        long = kind in ("capsule", "cylinder")
        size = np.array([sizes[0], half] if long else [sizes[0], sizes[0], half])
        pose = Pose(turn, (first + second) / 2)
    else:
        needed = SIZES.get(kind, (0, 0))[0]
        if len(sizes) < needed:
            raise geom.error(f"a {kind} has {len(sizes)} sizes; expected {needed}.")
        size = np.array(sizes[:needed])
    if kind in SIZES and size.min() <= 0:
        raise geom.error(f"a {kind} has the size {size.min():g}; expected sizes above zero.")
    return size, pose


def mass_properties(geom: XmlElement, size: np.ndarray, pose: Pose, meshes: MeshAssets) -> MassProperties:
    """Mass and inertia of a geom in the frame of `pose`'s owner; the attribute mass counts, else density."""
    kind = type_of(geom)
    mass = geom.number("mass", -1.0)
    if mass < 0 and "mass" in geom.attributes:
        raise geom.error(f"a {kind} has mass {mass:g}; expected zero or more.")
    density = geom.number("density", 1000.0)
    if density < 0:
        raise geom.error(f"a {kind} has density {density:g}; expected zero or more.")
    if kind in MASSLESS or mass == 0 or ("mass" not in geom.attributes and density == 0):
        return NOTHING
    shell = geom.choice("shellinertia", ("true", "false"), "false") == "true"
    if kind in WITHOUT_FORMULA:
        if shell:
            raise geom.error("shellinertia on a mesh; expected inertia='shell' of the <mesh> in <asset>.")
        inner = meshes.content(geom)
        mass = mass if "mass" in geom.attributes else density * inner.volume
        kept, axes = kept_by_mujoco(inner.tensor)
        tensor = turned(kept * (mass / inner.volume), pose.rotation)
        return MassProperties(mass, pose.position + pose.rotation @ inner.com, tensor, pose.rotation @ axes)
    if geom.get("mesh"):
        size, at = meshes.fit(geom, kind)
        pose = pose @ at
    volume, moments = _shell(geom, kind, size) if shell else solid(kind, size)
    mass = mass if "mass" in geom.attributes else density * volume
    return MassProperties(mass, pose.position, turned(np.diag(mass * moments), pose.rotation), pose.rotation)


def semiaxes(geom: XmlElement, size: np.ndarray, pose: Pose, meshes: MeshAssets) -> tuple[np.ndarray, Pose]:
    """Semi-axes (3,), m, and pose of the ellipsoid that a fluid sees in place of a geom."""
    kind = type_of(geom)
    if kind in WITHOUT_FORMULA:
        half, at = meshes.half_sizes(geom)
        return half, pose @ at
    if geom.get("mesh"):
        size, at = meshes.fit(geom, kind)
        pose = pose @ at
    r = float(size[0])
    by_kind = {"sphere": [r] * 3, "capsule": [r, r, r + float(size[-1])], "cylinder": [r, r, float(size[-1])]}
    return np.array(by_kind.get(kind, size), dtype=float), pose


def _shell(geom: XmlElement, kind: str, size: np.ndarray) -> tuple[float, np.ndarray]:
    """Area, m^2, and principal moments per mass, m^2, of a thin homogeneous shell with its long axis on z."""
    if kind == "sphere":
        r = float(size[0])
        return 4 * np.pi * r**2, np.full(3, 2 / 3 * r**2)
    if kind == "box":
        a, b, c = (2 * float(s) for s in size)
        sides = np.array([b * c, a * c, a * b])  # areas of the pairs of faces, halved
        total = 2 * sides.sum()
        # a face normal to x lies at +-a/2, and is spread over b and c
        squares = np.array([
            2 * (sides[0] * a**2 / 4 + (sides[1] + sides[2]) * a**2 / 12),
            2 * (sides[1] * b**2 / 4 + (sides[0] + sides[2]) * b**2 / 12),
            2 * (sides[2] * c**2 / 4 + (sides[0] + sides[1]) * c**2 / 12),
        ]) / total  # fmt: skip
        return total, squares.sum() - squares
    if kind in ("cylinder", "capsule"):
        r, h = float(size[0]), 2 * float(size[1])
        wall = 2 * np.pi * r * h
        if kind == "cylinder":
            ends = 2 * np.pi * r**2
            along = wall * r**2 + ends * r**2 / 2
            across = wall * (r**2 / 2 + h**2 / 12) + ends * (r**2 / 4 + h**2 / 4)
        else:
            ends = 4 * np.pi * r**2  # two half-spheres, with their centres r/2 above the ends of the wall
            along = wall * r**2 + ends * 2 / 3 * r**2
            across = wall * (r**2 / 2 + h**2 / 12) + ends * (2 / 3 * r**2 - r**2 / 4 + (h / 2 + r / 2) ** 2)
        total = wall + ends
        return total, np.array([across, across, along]) / total
    raise geom.error(f"shellinertia on a {kind} is not supported; expected a solid one or an <inertial>.")


def solid(kind: str, size: np.ndarray) -> tuple[float, np.ndarray]:
    """Volume, m^3, and principal moments per mass, m^2, of a homogeneous solid with its long axis on z."""
    r = float(size[0])
    if kind == "sphere":
        return 4 / 3 * np.pi * r**3, np.full(3, 2 / 5 * r**2)
    if kind == "cylinder":
        h = 2 * float(size[1])
        across = (3 * r**2 + h**2) / 12
        return np.pi * r**2 * h, np.array([across, across, r**2 / 2])
    if kind == "capsule":
        # a cylinder and two half-spheres; 3/8 r is where a half-sphere has its centre of mass
        h = 2 * float(size[1])
        volume = np.pi * r**2 * (h + 4 / 3 * r)
        ball = 4 * r / (4 * r + 3 * h)
        across = (1 - ball) * (3 * r**2 + h**2) / 12 + ball * (2 / 5 * r**2 + h**2 / 4 + 3 / 8 * h * r)
        return volume, np.array([across, across, (1 - ball) * r**2 / 2 + ball * 2 / 5 * r**2])
    a, b, c = (float(s) for s in size)
    squares = np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    if kind == "ellipsoid":
        return 4 / 3 * np.pi * a * b * c, squares / 5
    return 8 * a * b * c, squares / 3  # box


def together(parts: list[MassProperties]) -> MassProperties:
    """Several bodies as one (parallel axes)."""
    mass = sum(p.mass for p in parts)
    if mass <= 0:
        return NOTHING
    com = sum((p.mass * p.com for p in parts), np.zeros(3)) / mass
    tensor = np.zeros((3, 3))
    for p in parts:
        d = p.com - com
        tensor += p.tensor + p.mass * ((d @ d) * np.eye(3) - np.outer(d, d))
    # these numbers are computed, not written: what cancels but for rounding is meant to be zero
    reach = max(float(np.abs(p.com).max()) for p in parts)
    com = np.where(np.abs(com) < ROUNDING * reach, 0.0, com)
    tensor = np.where(np.abs(tensor) < ROUNDING * float(np.abs(tensor).max()), 0.0, tensor)
    return MassProperties(mass, com, (tensor + tensor.T) / 2, parts[0].axes if len(parts) == 1 else None)
