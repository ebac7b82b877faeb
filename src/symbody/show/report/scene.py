"""What bodies look like: the shapes of the model file, or generated ones sized from the model.

A scene knows nothing of a viewer: parts are plain records in body frames, in m.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any

import numpy as np

from symbody.model.library.force_elements import FORCE_ELEMENTS
from symbody.model.record.coordinates import has_coordinates
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import WORLD, Body, Joint, Mechanism, Placement
from symbody.show.drawing.curves import outline
from symbody.show.drawing.numeric_poses import body_poses
from symbody.show.drawing.skeleton import bond_kind
from symbody.show.report.meshes import EmbeddedMeshes
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols

# soft tones of a palette for any colour vision (Okabe and Ito 2008)
COLOURS = ("#4a90c4", "#e08a4f", "#45ad8b", "#c98bb0", "#7fc3ea", "#e3b34c", "#8f9aa8", "#b7a94a")
METAL, RUBBER, STEEL, RED = "#5b6470", "#3a3f45", "#8a949e", "#b3404f"
FREE_KINDS = ("free", "floating", "planar", "translation3", "schoenflies", "y")


@dataclass(frozen=True, eq=False)
class ScenePart:
    """One shape in its body's frame.

    kind    box (x, y, z sizes), cylinder (radius, length along z), sphere (radius), capsule (as
            cylinder, with half-spheres added), ellipsoid (x, y, z sizes), mesh (scales), plate (corners of
            triangles, nine numbers each)
    matrix  (4, 4) from the part's frame to the body's
    colour  "#rrggbb", "" where a mesh brings its own; opacity 0 to 1
    mesh    place of the file in `Scene.meshes`, -1 for none
    """

    kind: str
    size: tuple[float, ...]
    matrix: np.ndarray
    colour: str
    opacity: float = 1.0
    mesh: int = -1


@dataclass(frozen=True, eq=False)
class SceneLink:
    """What joins two points of bodies and changes its length with them.

    kind    spring, damper, strut (both), link (another force) or rod (a distance that is kept)
    ends    two pairs of a body and a point (3,) in its frame, m
    radius  of the coil or bar, m
    """

    name: str
    kind: str
    ends: tuple[tuple[str, np.ndarray], tuple[str, np.ndarray]]
    radius: float
    colour: str


@dataclass(frozen=True, eq=False)
class Scene:
    """Bodies with their parts, "world" first, links, mesh files, the model's extent, m, and remarks."""

    bodies: dict[str, list[ScenePart]]
    meshes: EmbeddedMeshes
    extent: float
    notes: tuple[str, ...] = field(default=())
    links: tuple[SceneLink, ...] = ()


def part_corners(part: ScenePart) -> np.ndarray:
    """(n, 3) points of the body's frame whose hull holds the part; of a mesh, which is not looked into, its origin."""
    if part.kind == "plate":
        own = np.reshape(part.size, (-1, 3))
    elif part.kind == "mesh":
        own = np.zeros((1, 3))
    else:
        radius, length = part.size[0], part.size[-1]
        half = {
            "box": np.array(part.size) / 2,
            "ellipsoid": np.array(part.size) / 2,
            "sphere": np.full(3, radius),
            "cylinder": np.array([radius, radius, length / 2]),
            "capsule": np.array([radius, radius, length / 2 + radius]),
        }[part.kind]
        own = np.array(list(product((-1, 1), repeat=3))) * half
    out: np.ndarray = own @ part.matrix[:3, :3].T + part.matrix[:3, 3]
    return out


def make_scene(mechanism: Mechanism, parameters: Mapping[str, float] | None = None) -> Scene:
    """Parts of every body: its own shapes where they can be shown, else generated ones."""
    values = _values(mechanism, parameters or {})
    meshes = EmbeddedMeshes()
    extent = _extent(mechanism, parameters)
    bodies: dict[str, list[ScenePart]] = {WORLD: []}
    for k, body in enumerate(mechanism.bodies):
        colour = COLOURS[k % len(COLOURS)]
        own = [p for s in body.shapes if (p := _shape_part(s, values, meshes, colour)) is not None]
        bodies[body.name] = own or _generated(mechanism, body, values, extent, colour)
    if not any(body.shapes for body in mechanism.bodies):
        bodies[WORLD] = _generated_base(mechanism, values, extent)
    return Scene(bodies, meshes, extent, tuple(meshes.notes()), tuple(_links(mechanism, values, extent)))


# -- numbers of the model


def _values(mechanism: Mechanism, parameters: Mapping[str, float]) -> dict[Node, float]:
    """Symbols of the description and their values; what has none is 1, so that something can be drawn."""
    out = {}
    for symbol in free_symbols(mechanism.values()):
        fallback = 1.0 if symbol.data.role == "parameter" else 0.0
        value = parameters.get(symbol.data.name, symbol.data.default)
        out[symbol] = fallback if value is None else float(value)
    return out


def _numbers(nodes: Any, values: Mapping[Node, float]) -> np.ndarray:
    array = np.asarray(nodes, dtype=object)
    return np.array([float(x) for x in evaluate(list(array.flat), values)]).reshape(array.shape)


def _matrix(placement: Placement | None, values: Mapping[Node, float]) -> np.ndarray:
    out = np.eye(4)
    if placement is not None:
        out[:3, :3] = _numbers(placement.rotation, values)
        out[:3, 3] = _numbers(placement.position, values)
    return out


def _extent(mechanism: Mechanism, parameters: Mapping[str, float] | None) -> float:
    """Diagonal of the box around all joints and centres of mass at rest, m; 1 for a single point."""
    values = _values(mechanism, parameters or {})
    filled = {s.data.name: v for s, v in values.items() if s.data.role == "parameter"}
    points = [np.zeros(3)]
    poses = body_poses(mechanism, None, filled)
    for body in mechanism.bodies:
        rotation, position = poses[body.name]
        ends = [_numbers(body.com, values), *(_numbers(f.position, values) for f in body.frames.values())]
        points += [position, *(position + rotation @ e for e in ends)]
    size = float(np.linalg.norm(np.ptp(np.array(points), axis=0)))
    return size if size > 1e-6 else 1.0


# -- shapes of the file


def _shape_part(shape: Any, values: Mapping[Node, float], meshes: EmbeddedMeshes, colour: str) -> ScenePart | None:
    matrix, size = _matrix(shape.placement, values), tuple(float(s) for s in shape.size)
    given = [min(max(float(c), 0.0), 1.0) for c in shape.colour]
    tone = "#" + "".join(f"{round(255 * c):02x}" for c in given[:3]) if len(given) >= 3 else ""
    opacity = given[3] if len(given) > 3 and given[3] > 0 else 1.0
    if shape.kind == "mesh":
        place, unit = meshes.add(shape.file)
        if place < 0:
            return None
        scale = np.broadcast_to(np.array(size or (1.0,)), (3,)) * unit
        keep = meshes.has_colours(place) and not tone
        return ScenePart("mesh", tuple(float(s) for s in scale), matrix, "" if keep else tone or colour, opacity, place)
    if shape.kind not in ("box", "cylinder", "sphere", "capsule", "ellipsoid") or not size or min(size) <= 0:
        return None
    return ScenePart(shape.kind, size, matrix, tone or colour, opacity)


# -- what joins bodies


def _links(mechanism: Mechanism, values: Mapping[Node, float], extent: float) -> Iterator[SceneLink]:
    """Forces between two points, and rods: cuts that keep a distance."""
    for force in mechanism.forces:
        if len(force.points) == 2:
            kind = bond_kind(force)
            ends = [(body, _point(mechanism, body, frame, values)) for body, frame in force.points]
            yield SceneLink(force.name, kind, (ends[0], ends[1]), (0.004 if kind == "link" else 0.02) * extent, STEEL)
    for cut in mechanism.cuts:
        if cut.kind == "rod":
            ends = [(body, _point(mechanism, body, frame, values)) for body, frame in (cut.first, cut.second)]
            yield SceneLink(cut.name, "rod", (ends[0], ends[1]), 0.006 * extent, RED)


def _point(mechanism: Mechanism, body: str, frame: str, values: Mapping[Node, float]) -> np.ndarray:
    """(3,) origin of a named frame in its body's frame."""
    return _numbers(mechanism.body(body).frames[frame].position, values) if frame else np.zeros(3)


# -- generated shapes


def _generated(
    mechanism: Mechanism, body: Body, values: Mapping[Node, float], extent: float, colour: str
) -> list[ScenePart]:
    """Bars from the body's origin to what it carries, a plate through them, a hub, or a box of its inertia."""
    joint = next(j for j in mechanism.joints if j.child == body.name)
    ends = [_numbers(j.placement.position, values) for j in mechanism.joints if j.parent == body.name]
    held = _attachments(mechanism, body, values)
    com, mass = _numbers(body.com, values), float(_numbers([body.mass], values)[0])
    if (
        held and mass == 0 and not ends and joint.kind == "fixed"
    ):  # names of points on another body: only what hangs there
        return [ScenePart("sphere", (0.008 * extent,), _shifted(point), METAL) for point in held]
    parts: list[ScenePart] = []
    ends += held
    floats = joint.kind in FREE_KINDS
    if not ends and not floats:  # the last of a chain: up to its farthest named frame, else through its centre of mass
        ends = [_numbers(f.position, values) for f in body.frames.values()] or [2 * com]
    longest = max((float(np.linalg.norm(e)) for e in ends), default=0.0)
    radius = min(max(0.07 * longest, 0.006 * extent), 0.022 * extent)
    plate = _plate([np.zeros(3), *_different(ends, 1e-9)], colour, min(radius, 0.008 * extent))
    wheel = _wheel_radius(mechanism, body, values)
    if wheel > 0 and KINDS[joint.kind].needs_axis:
        turn = _turned_to(_numbers(joint.axis, values))
        parts.append(ScenePart("cylinder", (wheel, 0.4 * wheel), turn, RUBBER))
        parts += _marks(turn, wheel)
    elif plate:
        return plate + _hub(joint, values, min(radius, 0.012 * extent), has_coordinates(joint))
    elif mass > 0 and (floats or longest < 1e-3 * extent):
        # what carries others is seen through
        opacity = 0.4 if _different(ends, radius) else 0.9
        parts += _inertia_box(body, values, colour, opacity, (0.02 * extent, (2.0 if floats else 0.12) * extent))
    for end in _different(ends, radius):
        parts += capsule(np.zeros(3), end, radius, colour)
    return parts + _hub(joint, values, radius, has_coordinates(joint))


def _marks(turn: np.ndarray, radius: float) -> list[ScenePart]:
    """A spoke on both sides of a wheel, so that its spin is seen."""
    out = []
    for side in (-1, 1):
        at = np.eye(4)
        at[:3, 3] = (0.5 * radius, 0, side * 0.2 * radius)
        out.append(ScenePart("box", (0.9 * radius, 0.14 * radius, 0.03 * radius), turn @ at, "#e8ecef"))
    return out


def _attachments(mechanism: Mechanism, body: Body, values: Mapping[Node, float]) -> list[np.ndarray]:
    """Points of a body at which loops are cut or forces act."""
    pairs = [p for c in mechanism.cuts for p in (c.first, c.second)] + [p for f in mechanism.forces for p in f.points]
    names = {frame: None for owner, frame in pairs if owner == body.name and frame}
    return [_numbers(body.frames[frame].position, values) for frame in names]


def _plate(points: Sequence[np.ndarray], colour: str, radius: float) -> list[ScenePart]:
    """The hull of three points or more that do not lie on a line: seen through, with bars along its edges."""
    faces, edges = outline(np.array(points))
    triangles = [np.stack([f[0], f[k], f[k + 1]]) for f in faces for k in range(1, len(f) - 1)]
    if not triangles:
        return []
    bars = [p for line in edges for a, b in pairwise(line) for p in capsule(a, b, radius, colour)]
    return [ScenePart("plate", tuple(float(x) for x in np.ravel(triangles)), np.eye(4), colour, 0.3), *bars]


def _shifted(point: np.ndarray) -> np.ndarray:
    out = np.eye(4)
    out[:3, 3] = point
    return out


def _wheel_radius(mechanism: Mechanism, body: Body, values: Mapping[Node, float]) -> float:
    """Radius of the tyre that the body carries, m; 0 if it has none."""
    for force in mechanism.forces:
        if (
            FORCE_ELEMENTS[force.kind].drawing == "wheel"
            and force.points[0][0] == body.name
            and "radius" in force.values
        ):
            return float(_numbers(force.values["radius"], values))
    return 0.0


def _generated_base(mechanism: Mechanism, values: Mapping[Node, float], extent: float) -> list[ScenePart]:
    """Thin bars from the world's origin to the joints that stand on it."""
    held = [j for j in mechanism.joints if j.parent == WORLD and j.kind not in FREE_KINDS]
    ends = [_numbers(j.placement.position, values) for j in held]
    radius = 0.008 * extent
    return [p for end in _different(ends, radius) for p in capsule(np.zeros(3), end, radius, METAL)]


def _different(ends: Sequence[np.ndarray], radius: float) -> list[np.ndarray]:
    """Points that are worth a bar: apart from the origin and from each other."""
    out: list[np.ndarray] = []
    for end in ends:
        if np.linalg.norm(end) > radius and all(np.linalg.norm(end - e) > 1e-9 for e in out):
            out.append(end)
    return out


def capsule(start: np.ndarray, end: np.ndarray, radius: float, colour: str) -> list[ScenePart]:
    """A round bar between two points of the body's frame."""
    along = end - start
    length = float(np.linalg.norm(along))
    bar = _turned_to(along / length)
    bar[:3, 3] = (start + end) / 2
    return [ScenePart("cylinder", (radius, length), bar, colour), ScenePart("sphere", (radius,), _shifted(end), colour)]


def _hub(joint: Joint, values: Mapping[Node, float], radius: float, moves: bool) -> list[ScenePart]:
    """The joint itself at the body's origin: a disc along its axis, a block for a slider, a ball for the others."""
    motions = KINDS[joint.kind].motions(joint)
    if not moves or joint.kind in ("free", "floating"):
        return [ScenePart("sphere", (radius,), np.eye(4), METAL)]
    if KINDS[joint.kind].needs_axis:
        turn = _turned_to(_numbers(joint.axis, values))
        if motions[0][0].is_slide:
            return [ScenePart("box", (2.4 * radius, 2.4 * radius, 3.2 * radius), turn, METAL)]
        return [ScenePart("cylinder", (1.35 * radius, 2.8 * radius), turn, METAL)]
    return [ScenePart("sphere", (1.35 * radius,), np.eye(4), METAL)]


def _turned_to(axis: np.ndarray) -> np.ndarray:
    """(4, 4) rotation that takes z to a unit axis."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    out = np.eye(4)
    out[:3, :3] = np.column_stack([x, np.cross(axis, x), axis])
    return out


def _inertia_box(
    body: Body, values: Mapping[Node, float], colour: str, opacity: float, bounds: tuple[float, float]
) -> list[ScenePart]:
    """The homogeneous box with the body's mass and principal moments; sides a^2 = 6 (I2 + I3 - I1) / m."""
    mass = float(_numbers([body.mass], values)[0])
    tensor = _numbers(body.inertia, values)
    moments, axes = np.linalg.eigh((tensor + tensor.T) / 2)
    sides = np.sqrt(np.maximum(6 * (moments.sum() - 2 * moments) / mass, 0))
    if not np.isfinite(sides).all():
        return []
    # a body without its own inertia is still seen; one with a huge inertia does not hide the rest
    sides = np.clip(sides, *bounds)
    if np.linalg.det(axes) < 0:
        axes = axes * [1, 1, -1]
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = axes, _numbers(body.com, values)
    return [ScenePart("box", tuple(float(s) for s in sides), matrix, colour, opacity)]
