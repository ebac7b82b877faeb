"""The 3-D animation of a report: poses of all bodies over time, and the viewer that plays them without a network.

The viewer is MeshCat's bundle (three.js inside), taken from its Python package as a file: the package itself, which
would start a server, is not imported. `player.js` adds the control bar.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from symbody.basics.errors import ShapeError, SymbodyError
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.mechanics.verbs.assemble import assemble
from symbody.mechanics.verbs.kinematics import kinematics
from symbody.model.record.coordinates import neutral
from symbody.model.record.mechanism import WORLD, Mechanism
from symbody.model.spatial.quaternion import matrix_rows
from symbody.motion.trajectory.columns import batch_shape
from symbody.motion.trajectory.trajectory import Trajectory
from symbody.show.drawing.closed_coordinates import closed_coordinates
from symbody.show.drawing.numeric_poses import numbers
from symbody.show.drawing.planar import plane_of
from symbody.show.drawing.skeleton import skeleton
from symbody.show.report.scene import Scene, SceneLink, ScenePart, make_scene, part_corners
from symbody.symbolic.system.names import identifier

MAX_FRAMES = 600
FAR = 1e5  # times the model's first distance from the origin
MISSING = (
    "The animation is left out because the package meshcat is not installed. "
    'Run: pip install "symbody[report]" and write the report again.'
)


@dataclass(frozen=True, eq=False)
class AnimatedPoses:
    """Poses in the world: t (n,) s; position (n, bodies, 3) m; quaternion (n, bodies, 4) as (x, y, z, w)."""

    t: np.ndarray
    bodies: tuple[str, ...]
    position: np.ndarray
    quaternion: np.ndarray


def viewer_script() -> str | None:
    """The text of MeshCat's bundle; None where the package is not installed."""
    spec = find_spec("meshcat")
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).parent / "viewer" / "dist" / "main.min.js"
    return file.read_text(encoding="utf-8") if file.is_file() else None


# -- poses


def make_motion(
    mechanism: Mechanism,
    trajectory: Trajectory | None = None,
    parameters: Mapping[str, float] | None = None,
    member: int = 0,
    max_frames: int = MAX_FRAMES,
) -> AnimatedPoses:
    """Poses of all bodies at up to `max_frames` instants of a Trajectory (of a batch: of one member), or at rest."""
    t, q = _samples(mechanism, trajectory, member, max_frames, parameters)
    names = tuple(b.name for b in mechanism.bodies)
    n = len(t)
    positions, quaternions = np.zeros((n, len(names), 3)), np.zeros((n, len(names), 4))
    if not names:
        return AnimatedPoses(t, names, positions, quaternions)
    # q holds all coordinates, so loops need not be solved again: the tree alone says where the bodies are
    system = kinematics(mechanism, order=0, loops=False)
    values = {p: _value(system, p, parameters or {}) for p in system.parameters}
    inputs = {"q": q} if "q" in system.inputs else {}
    poses = kernel_of(system, "python")(**inputs, parameters=values)
    found = dict(zip(system.outputs, poses))
    for k, name in enumerate(names):
        positions[:, k] = found[f"p_{identifier(name)}"]
        quaternions[:, k] = to_quaternion(np.broadcast_to(found[f"R_{identifier(name)}"], (n, 3, 3)))
    near = _near(positions, quaternions)
    return AnimatedPoses(t[near], names, positions[near], quaternions[near])


def _near(positions: np.ndarray, quaternions: np.ndarray) -> np.ndarray:
    """(n,) whether an instant can be shown: a run that diverges ends with bodies far out of sight. The first always."""
    size = np.abs(positions).max(axis=(1, 2))
    with np.errstate(invalid="ignore"):
        near = (size < FAR * (1 + size[0])) & np.isfinite(quaternions).all(axis=(1, 2))
    near[0] = True
    return np.asarray(near)


def _samples(
    mechanism: Mechanism,
    trajectory: Trajectory | None,
    member: int,
    max_frames: int,
    parameters: Mapping[str, float] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """(n,) instants and (n, nq) coordinates: evenly chosen in time, without those that are not finite."""
    if trajectory is None or "q" not in trajectory.values or not len(trajectory.t):
        return np.zeros(1), _rest(mechanism, parameters)[0][None]
    count = int(np.prod(batch_shape(trajectory)))
    q = np.asarray(trajectory.values["q"], dtype=float).reshape(count, len(trajectory.t), -1)[member]
    if q.shape[-1] != mechanism.nq:
        raise ShapeError(f"the trajectory has {q.shape[-1]} coordinates; {mechanism.name} has nq {mechanism.nq}.")
    t = np.asarray(trajectory.t, dtype=float)
    good = np.isfinite(q).all(axis=1) & np.isfinite(t)
    t, q = t[good], q[good]
    if not len(t):
        return np.zeros(1), _rest(mechanism, parameters)[0][None]
    if len(t) > max_frames:
        chosen = np.unique(np.searchsorted(t, np.linspace(t[0], t[-1], max_frames)).clip(0, len(t) - 1))
        t, q = t[chosen], q[chosen]
    return t, q


def _rest(mechanism: Mechanism, parameters: Mapping[str, float] | None) -> tuple[np.ndarray, str]:
    """(nq,) zero coordinates, assembled where there are loops, and a remark where that fails."""
    rest = neutral(mechanism)
    if not mechanism.cuts and not mechanism.couplings:
        return rest, ""
    try:
        return assemble(mechanism, parameters=parameters or None), ""
    except SymbodyError:
        return rest, "The model is shown at zero coordinates, where its loops may be open."


def _value(system: Any, name: str, given: Mapping[str, float]) -> Any:
    """The value of a parameter: given, its default, or 1 so that something can be drawn."""
    default = system.default(name)
    value = given.get(name, 1.0 if default is None else default)
    shape = system.parameters[name].shape
    return np.broadcast_to(np.ravel(value), shape) if shape else float(np.ravel(value)[0])


def to_quaternion(rotation: np.ndarray) -> np.ndarray:
    """(n, 4) unit quaternions (x, y, z, w) of (n, 3, 3) rotations, read from their largest part: well-conditioned.

    The outer product of the quaternion with itself is linear in the rotation (Shepperd 1978).
    """
    r = rotation
    d = np.stack([r[:, 0, 0], r[:, 1, 1], r[:, 2, 2]], axis=-1)
    trace = d.sum(axis=-1)
    k = np.empty((len(r), 4, 4))
    for i in range(3):
        k[:, i, i] = 1 + 2 * d[:, i] - trace
        j, l = (i + 1) % 3, (i + 2) % 3
        k[:, i, 3] = k[:, 3, i] = r[:, l, j] - r[:, j, l]
        k[:, i, j] = k[:, j, i] = r[:, i, j] + r[:, j, i]
    k[:, 3, 3] = 1 + trace
    best = np.argmax(np.stack([k[:, i, i] for i in range(4)], axis=-1), axis=-1)
    column: np.ndarray = k[np.arange(len(r)), :, best]
    return column / np.linalg.norm(column, axis=-1, keepdims=True)


# -- what the player gets


def player_data(mechanism: Mechanism, motion: AnimatedPoses, scene: Scene) -> dict[str, Any]:
    """Everything that `player.js` draws, ready for JSON: shapes, meshes, poses (base64 of float32), sizes, the view."""
    upright = _upright(mechanism)
    frames = np.concatenate([motion.position, motion.quaternion], axis=-1).astype("<f4")
    low, high = _bounds(motion, scene, upright)
    # what moves far is followed by the camera, which then needs to see the model only
    travel = float(np.linalg.norm(np.ptp(motion.position.mean(axis=1), axis=0))) if motion.bodies else 0.0
    follow = travel > 2 * scene.extent
    return {
        "t": [float(x) for x in motion.t],
        "bodies": [[_part(p) for p in scene.bodies[name]] for name in motion.bodies],
        "world": [_part(p) for p in scene.bodies[WORLD]],
        "links": [_link(link, motion) for link in scene.links],
        "poses": base64.b64encode(frames.tobytes()).decode(),
        "meshes": [{"format": f.format, "data": f.data, "pictures": f.pictures} for f in scene.meshes.files],
        "upright": [float(x) for x in upright.flat],
        "low": [float(x) for x in low],
        "high": [float(x) for x in high],
        "extent": scene.extent,
        "ground": bool(_gravity(mechanism).any()),
        "follow": bool(follow),
        "above": _is_flat(motion, upright),
        "face": _face(mechanism, upright),
    }


def _part(part: ScenePart) -> dict[str, Any]:
    return {
        "kind": part.kind,
        "size": [round(s, 9) for s in part.size],
        "matrix": [round(float(x), 9) for x in part.matrix.T.flat],  # column after column, as WebGL has them
        "colour": part.colour,
        "opacity": part.opacity,
        "mesh": part.mesh,
    }


def _link(link: SceneLink, motion: AnimatedPoses) -> dict[str, Any]:
    """A link for the player: bodies by their place, -1 for the world, and its length at the first instant, m."""
    ends, places = [], []
    for body, point in link.ends:
        k = -1 if body == WORLD else motion.bodies.index(body)
        ends.append({"body": k, "point": [round(float(x), 9) for x in point]})
        places.append(point if k < 0 else motion.position[0, k] + _rotation(motion.quaternion[:1, k])[0] @ point)
    length = max(float(np.linalg.norm(places[1] - places[0])), link.radius)
    looks = {"name": link.name, "kind": link.kind, "radius": link.radius, "colour": link.colour}
    return {**looks, "length": length, "ends": ends}


def _gravity(mechanism: Mechanism) -> np.ndarray:
    from symbody.model.record.numbers import number_of

    return np.array([number_of(g) or 0.0 for g in mechanism.gravity], dtype=float)


def _upright(mechanism: Mechanism) -> np.ndarray:
    """(3, 3) rotation of the world for the eye: the axis against gravity points up."""
    gravity = _gravity(mechanism)
    axis = int(np.argmax(np.abs(gravity)))
    if not gravity.any() or (axis == 2 and gravity[2] < 0):
        return np.eye(3)
    up = -np.sign(gravity[axis]) * np.eye(3)[axis]
    side = np.eye(3)[(axis + 1) % 3]
    return np.stack([side, np.cross(up, side), up])


def _bounds(motion: AnimatedPoses, scene: Scene, upright: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Box around all bodies at all instants, (3,) and (3,) m, in upright axes."""
    if not motion.bodies:
        return -np.ones(3), np.ones(3)
    low, high = np.zeros(3), np.zeros(3)
    for k, name in enumerate(motion.bodies):
        turn = _rotation(motion.quaternion[:, k])
        # a body without parts, or with a mesh, still has some size
        spots = (
            [0.08 * scene.extent * np.concatenate([np.eye(3), -np.eye(3)])] if _has_no_size(scene.bodies[name]) else []
        )
        spots += [part_corners(p) for p in scene.bodies[name]]
        spots += [point[None] for link in scene.links for body, point in link.ends if body == name]
        for spot in spots:
            places = (motion.position[:, k, None] + spot @ np.swapaxes(turn, 1, 2)) @ upright.T
            low = np.minimum(low, places.min(axis=(0, 1)))
            high = np.maximum(high, places.max(axis=(0, 1)))
    return low, high


def _face(mechanism: Mechanism, upright: np.ndarray) -> list[float] | None:
    """(3,) direction from which a planar mechanism is seen straight on, in upright axes; None for a spatial one."""
    try:
        made = numbers(mechanism)
        plane = plane_of(skeleton(made, closed_coordinates(made)))
    except SymbodyError:
        return None
    return None if plane is None else [float(x) for x in upright @ np.cross(plane[0], plane[1])]


def _has_no_size(parts: list[ScenePart]) -> bool:
    return all(part.kind == "mesh" for part in parts)


def _is_flat(motion: AnimatedPoses, upright: np.ndarray) -> bool:
    """Whether the bodies stay in a horizontal plane of their own, which is better seen from above."""
    if len(motion.bodies) < 2:
        return False
    among = motion.position - motion.position.mean(axis=1, keepdims=True)
    spread = np.ptp((among @ upright.T).reshape(-1, 3), axis=0)
    return bool(spread[2] < 0.02 * spread.max())


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    """(n, 3, 3) rotations of unit quaternions (x, y, z, w)."""
    x, y, z, w = quaternion.T
    return np.moveaxis(np.array(matrix_rows(w, x, y, z)), -1, 0)


# -- the piece of page


@dataclass(frozen=True)
class Animation:
    """HTML of the stage and its control bar, the scripts it needs in order, data as (id, JSON), and remarks."""

    html: str
    scripts: tuple[str, ...]
    data: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def make_animation(
    mechanism: Mechanism,
    trajectory: Trajectory | None = None,
    parameters: Mapping[str, float] | None = None,
    max_frames: int = MAX_FRAMES,
) -> Animation | None:
    """The animation of a Trajectory, or the model at rest; None where the viewer is not installed."""
    viewer = viewer_script()
    if viewer is None:
        return None
    scene = make_scene(mechanism, parameters)
    motion = make_motion(mechanism, trajectory, parameters, max_frames=max_frames)
    data = json.dumps(player_data(mechanism, motion, scene), separators=(",", ":"), allow_nan=False)
    folder = Path(__file__).parent
    html = (folder / "player.html").read_text(encoding="utf-8")
    player = (folder / "player.js").read_text(encoding="utf-8")
    notes = list(scene.notes)
    if trajectory is not None and batch_shape(trajectory):
        notes.append("Of the batch, its first member is shown.")
    if trajectory is None and (note := _rest(mechanism, parameters)[1]):
        notes.append(note)
    return Animation(html, (viewer, player), (("animation-data", data),), tuple(notes))
