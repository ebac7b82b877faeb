"""What of a Mechanism is drawn: points and directions in the world at given coordinates. It knows of no figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.model.library.force_elements import FORCE_ELEMENTS
from symbody.model.record.coordinates import has_coordinates
from symbody.model.record.elementary_motions import Motion
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import WORLD, Body, Force, Joint, Mechanism
from symbody.show.drawing.curves import circle
from symbody.show.drawing.numeric_poses import Pose, PoseNumbers
from symbody.symbolic.expr.node import Node

FLOATING = ("free", "floating", "planar", "translation2", "translation3", "schoenflies", "y")


@dataclass(frozen=True, eq=False)
class Piece:
    """A body: the points it reaches (n, 3), its own joint first, its centre of mass (3,) and mass, kg.

    fixed: whether it is welded to the world.
    """

    name: str
    points: np.ndarray
    com: np.ndarray
    mass: float
    fixed: bool = False


@dataclass(frozen=True, eq=False)
class JointMark:
    """A joint at `point` (3,), the origin of the child; `start` (3,) is its place on the parent.

    motions   its elementary motions and their directions (3,) at zero, None of those that have none
    floats    whether it lets the child move away, so that nothing is seen of it
    grounded  whether it stands on the world itself, or on a body without mass that is welded to it
    """

    name: str
    child: str
    point: np.ndarray
    start: np.ndarray
    motions: tuple[tuple[Motion, np.ndarray | None], ...]
    floats: bool
    grounded: bool

    @property
    def slide(self) -> np.ndarray | None:
        """(3,) direction of a joint that only slides."""
        return self.motions[0][1] if len(self.motions) == 1 and self.motions[0][0].is_slide else None


@dataclass(frozen=True, eq=False)
class Connection:
    """What joins two points: kind "spring", "damper", "strut" (both), "link" (another force), "rod" or "cut"."""

    name: str
    kind: str
    start: np.ndarray
    end: np.ndarray
    grounded: tuple[bool, bool] = (False, False)


@dataclass(frozen=True, eq=False)
class Wheel:
    """A tyre: centre (3,), axle (3,) and radius, m."""

    body: str
    centre: np.ndarray
    axle: np.ndarray
    radius: float


@dataclass(frozen=True, eq=False)
class Skeleton:
    """All that is drawn, and `up` (3,): against gravity, z where there is none."""

    pieces: tuple[Piece, ...]
    pivots: tuple[JointMark, ...]
    bonds: tuple[Connection, ...]
    wheels: tuple[Wheel, ...]
    up: np.ndarray

    def points(self) -> np.ndarray:
        """(n, 3) every point that the picture must hold."""
        found = [x for p in self.pieces for x in (*p.points, *((p.com,) if p.mass > 0 else ()))]
        found += [x for p in self.pivots if not p.floats for x in (p.point, p.start)]
        found += [x for b in self.bonds for x in (b.start, b.end)]
        for wheel in self.wheels:
            found += list(circle(wheel.centre, wheel.axle, wheel.radius, 8))
        return np.array(found or [np.zeros(3)])

    def named_pivots(self) -> list[tuple[str, np.ndarray]]:
        """Names of joints and their places (3,), one for all joints at a place; without those named as their body."""
        places: list[tuple[list[str], np.ndarray]] = []
        for pivot in self.pivots:
            if pivot.floats or pivot.name == pivot.child:
                continue
            near = next((names for names, at in places if np.linalg.norm(at - pivot.point) < 1e-6), None)
            if near is None:
                places.append(([pivot.name], pivot.point))
            else:
                near.append(pivot.name)
        return [(", ".join(names[:3]) + (" …" if len(names) > 3 else ""), at) for names, at in places]


def skeleton(made: PoseNumbers, q: np.ndarray) -> Skeleton:
    """The Skeleton of a Mechanism at q (nq,)."""
    mechanism, poses = made.mechanism, made.poses(q)
    ground = _welded(mechanism)
    pieces = [_piece(made, b, poses[b.name], b.name in ground) for b in mechanism.bodies]
    pieces = [p for p in pieces if not p.fixed or p.mass > 0]
    # the world, and bodies that only give names to points of it; a base with mass is drawn as a body
    bare = ground - {p.name for p in pieces}
    gravity = made.of(mechanism.gravity)
    size = float(np.linalg.norm(gravity))
    return Skeleton(
        tuple(pieces),
        tuple(_pivot(made, j, poses, bare) for j in mechanism.joints if j.child not in ground and has_coordinates(j)),
        (*_cuts(made, poses, bare), *_forces(made, poses, bare)),
        tuple(_wheels(made, poses)),
        -gravity / size if size > 0 else np.array([0.0, 0.0, 1.0]),
    )


def _welded(mechanism: Mechanism) -> set[str]:
    """The world and the bodies that cannot move against it."""
    out = {WORLD}
    for joint in mechanism.joints:
        if joint.parent in out and not has_coordinates(joint) and joint.mimic is None:
            out.add(joint.child)
    return out


def _piece(made: PoseNumbers, body: Body, pose: Pose, fixed: bool) -> Piece:
    """A body reaches its own joint, those it carries and its named frames; if there are none, its centre of mass."""
    local = [np.zeros(3)]
    local += [made.placements[j.name][1] for j in made.mechanism.joints if j.parent == body.name]
    local += [made.of(f.position) for f in body.frames.values()]
    com, mass = made.of(body.com), float(made.of([body.mass])[0])
    if mass > 0 and len(_distinct(local)) < 2:
        local.append(com)
    at = np.array([pose[1] + pose[0] @ x for x in _distinct(local)])
    return Piece(body.name, at, pose[1] + pose[0] @ com, mass, fixed)


def _distinct(points: list[np.ndarray]) -> list[np.ndarray]:
    out: list[np.ndarray] = []
    for x in points:
        if all(np.linalg.norm(x - y) > 1e-9 for y in out):
            out.append(x)
    return out


def _pivot(made: PoseNumbers, joint: Joint, poses: dict[str, Pose], ground: set[str]) -> JointMark:
    rotation, position = poses[joint.parent]
    turn, shift = made.placements[joint.name]
    motions = tuple(
        (motion, None if axis is None else rotation @ turn @ axis)
        for (motion, _), axis in zip(KINDS[joint.kind].motions(joint), made.axes[joint.name])
    )
    floats = joint.kind in FLOATING
    grounded = joint.parent in ground and not floats
    return JointMark(
        joint.name, joint.child, poses[joint.child][1], position + rotation @ shift, motions, floats, grounded
    )


def _cuts(made: PoseNumbers, poses: dict[str, Pose], ground: set[str]) -> list[Connection]:
    out = []
    for cut in made.mechanism.cuts:
        start, end = (made.frame(poses[body], body, frame)[1] for body, frame in (cut.first, cut.second))
        fixed = (cut.first[0] in ground, cut.second[0] in ground)
        out.append(Connection(cut.name, "rod" if cut.kind == "rod" else "cut", start, end, fixed))
    return out


def _forces(made: PoseNumbers, poses: dict[str, Pose], ground: set[str]) -> list[Connection]:
    out = []
    for force in made.mechanism.forces:
        if len(force.points) == 2:
            start, end = (made.frame(poses[body], body, frame)[1] for body, frame in force.points)
            fixed = (force.points[0][0] in ground, force.points[1][0] in ground)
            out.append(Connection(force.name, bond_kind(force), start, end, fixed))
    return out


def bond_kind(force: Force) -> str:
    """What a force between two points looks like, by its row: "spring", "damper", "strut" or "link"."""
    drawing = FORCE_ELEMENTS[force.kind].drawing
    if drawing != "strut":
        return drawing if drawing in ("spring", "damper") else "link"
    stiff, damped = (not _is_zero(force.values.get(name)) for name in ("stiffness", "damping"))
    return "strut" if stiff and damped else "damper" if damped else "spring"


def _is_zero(value: Any) -> bool:
    """Whether a number of the description is absent or exactly zero."""
    number = value.data if isinstance(value, Node) else value
    return number is None or (isinstance(number, (int, float)) and number == 0)


def _wheels(made: PoseNumbers, poses: dict[str, Pose]) -> list[Wheel]:
    """Bodies that carry a tyre and turn about one axis."""
    out = []
    for force in made.mechanism.forces:
        if FORCE_ELEMENTS[force.kind].drawing != "wheel" or "radius" not in force.values:
            continue
        body = force.points[0][0]
        joint = next((j for j in made.mechanism.joints if j.child == body), None)
        if joint is not None and KINDS[joint.kind].needs_axis:
            centre = made.frame(poses[body], *force.points[0])[1]
            axle = poses[body][0] @ made.of(joint.axis)
            out.append(Wheel(body, centre, axle, float(made.of(force.values["radius"]))))
    return out
