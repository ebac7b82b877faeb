"""Position, orientation, velocity and acceleration of frames, outward or inward along the Tree (robotran 3.2).

Progressive: everything in the axes of the base, Links outward; Links that several frames share are visited once.
Regressive: the frame as seen from each of its ancestors in turn, inward; cheaper where only p, or p and v, of one frame
are wanted. Both hold for every kind of Link.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from symbody.basics.errors import ModelError, word_argument
from symbody.mechanics.formalisms.frames import Frame, common_ancestor, path, product
from symbody.mechanics.formalisms.link_motion import joint_acceleration, joint_twist
from symbody.mechanics.formalisms.link_poses import LinkPose, poses
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.formalisms.vec3 import (
    ZERO,
    Mat,
    Vec,
    axis_vector,
    columns_matrix,
    cross,
    is_null,
    minus,
    rotate,
    times,
)
from symbody.model.record.coordinates import parts
from symbody.symbolic.expr.arrays import Array, zeros

SCHEMES = ("progressive", "regressive")


@dataclass(frozen=True, eq=False, slots=True)
class FrameMotion:
    """Motion of a frame relative to a base, as the base sees it and in the axes of the base.

    rotation (3, 3) takes coordinates of the frame to the base's, None is the identity; position (m) of its origin;
    omega, velocity (rad/s, m/s); alpha, acceleration (rad/s^2, m/s^2), the classical one. Orders not asked for are 0.
    """

    rotation: Mat | None = None
    position: Vec = ZERO
    omega: Vec = ZERO
    velocity: Vec = ZERO
    alpha: Vec = ZERO
    acceleration: Vec = ZERO


REST = FrameMotion()


def frame_motions(
    tree: Tree, frames: Sequence[Frame], reference: Frame | None = None, order: int = 2, scheme: str = "progressive"
) -> list[FrameMotion]:
    """Motions of frames relative to a reference frame (None: the world), up to an order 0, 1 or 2 of derivatives.

    The recursion starts at the last common ancestor: Links that move the frames and the reference alike do not matter.
    """
    word_argument("scheme", scheme, SCHEMES, error=ModelError)
    everything = [*frames] if reference is None else [*frames, reference]
    base = -1 if reference is None else common_ancestor(tree, [f.link for f in everything])
    if scheme == "progressive":
        of_links = link_motions(tree, [f.link for f in everything], base, order)
        found = [attached(of_links[f.link], f, order) for f in everything]
    else:
        places = poses(tree)
        found = [regressive(tree, f, base, order, places) for f in everything]
    if reference is None:
        return found
    *found, seen_from = found
    return [relative(m, seen_from, order) for m in found]


def choose_scheme(frames: int, quantities: Iterable[str]) -> str:
    """The rule of robotran 3.2: regressive for p, or p and v, of one frame alone; else progressive."""
    return "regressive" if frames == 1 and set(quantities) <= {"p", "v"} else "progressive"


# -- progressive


def link_motions(tree: Tree, links: Iterable[int], base: int = -1, order: int = 2) -> dict[int, FrameMotion]:
    """Motions relative to the Link `base` of the Links given and of all between: Link index -> FrameMotion."""
    needed = {k for link in links for k in path(tree, link, base)}
    out = {base: REST}
    places = poses(tree)
    for k in sorted(needed):
        link = tree.links[k]
        out[k] = _outward(link, places[k], out[link.parent], order)
    return out


def _outward(link: Link, pose: LinkPose, h: FrameMotion, order: int) -> FrameMotion:
    """Motion of a Link from that h of its parent."""
    stem = product(h.rotation, pose.fixed)
    rotation = _turned(stem, pose)
    arm = _rotated(h.rotation, pose.arm)
    position = h.position + arm
    if order == 0:
        return FrameMotion(rotation, position)
    spin, slide = joint_velocity(link, stem, rotation, link.qd)
    lift = cross(h.omega, arm)
    omega = h.omega + spin
    velocity = h.velocity + lift + slide
    if order == 1:
        return FrameMotion(rotation, position, omega, velocity)
    spin2, slide2 = joint_velocity_rate(link, stem, rotation)
    alpha = h.alpha + cross(h.omega, spin) + spin2
    drag = cross(h.alpha, arm) + cross(h.omega, lift)
    # a direction that the parent carries turns with it; what is written in Link axes turns with the Link
    sweep = h.omega + omega if _slides_in_link_axes(link) else 2 * h.omega
    acceleration = h.acceleration + drag + (cross(sweep, slide) + slide2)
    return FrameMotion(rotation, position, omega, velocity, alpha, acceleration)


def joint_velocity(link: Link, stem: Mat | None, rotation: Mat | None, rates: Any) -> tuple[Vec, Vec]:
    """(angular, linear) velocity of a Link relative to its parent for given rates; stem: the joint's axes."""
    if not link.motion.axial:
        return _turned_out(rotation, joint_twist(link, rates))
    axis = column(stem, link.axis)
    spin = rates * axis if link.motion.turns else ZERO
    if link.motion.is_turn:
        return spin, ZERO
    return spin, times(link.advance, rates) * axis


def joint_velocity_rate(link: Link, stem: Mat | None, rotation: Mat | None) -> tuple[Vec, Vec]:
    """Rates of these velocities as the axes see them in which they are written: those of the joint, or of the Link."""
    if link.motion.axial:
        return joint_velocity(link, stem, rotation, link.qdd)
    return _turned_out(rotation, joint_acceleration(link, link.qd, link.qdd))


def _turned_out(rotation: Mat | None, twist: tuple[Vec, Vec]) -> tuple[Vec, Vec]:
    # the linear part first, as it has always been: equal input gives byte-identical text
    linear = _rotated(rotation, twist[1])
    return _rotated(rotation, twist[0]), linear


def _slides_in_link_axes(link: Link) -> bool:
    return link.motion.slides and not link.motion.axial


def attached(m: FrameMotion, f: Frame, order: int = 2) -> FrameMotion:
    """Motion of a frame that is fixed to a Link with motion m."""
    arm = _rotated(m.rotation, f.position)
    rotation, position = product(m.rotation, f.rotation), m.position + arm
    if order == 0 or is_null(f.position):
        return FrameMotion(rotation, position, m.omega, m.velocity, m.alpha, m.acceleration)
    lift = cross(m.omega, arm)
    velocity = m.velocity + lift
    if order == 1:
        return FrameMotion(rotation, position, m.omega, velocity)
    drag = cross(m.alpha, arm) + cross(m.omega, lift)
    return FrameMotion(rotation, position, m.omega, velocity, m.alpha, m.acceleration + drag)


# -- regressive


def regressive(
    tree: Tree, f: Frame, base: int = -1, order: int = 2, places: list[LinkPose] | None = None
) -> FrameMotion:
    """Motion of a frame relative to the Link `base`, by moving the observer from the frame's Link inward."""
    places = poses(tree) if places is None else places
    m = FrameMotion(f.rotation, f.position)
    for k in reversed(path(tree, f.link, base)):
        m = _inward(tree.links[k], places[k], m, order)
    return m


def _inward(link: Link, pose: LinkPose, m: FrameMotion, order: int) -> FrameMotion:
    """The motion that the Link sees, as its parent sees it."""

    def turn(v: Vec) -> Vec:
        return pose.to_stem(v)

    def out(v: Vec) -> Vec:
        return pose.stem_to_parent(v)

    rotation = _turned_by(pose, m.rotation)
    arm = turn(m.position)
    position = pose.arm + out(arm)
    if order == 0:
        return FrameMotion(rotation, position)
    # in the joint's axes, where the Link's own motion has one component
    own = _matrix_of(pose)
    spin, slide = joint_velocity(link, None, own, link.qd)
    w, v = turn(m.omega), turn(m.velocity)
    lift = cross(spin, arm)
    omega, velocity = w + spin, v + lift + slide
    if order == 1:
        return FrameMotion(rotation, position, out(omega), out(velocity))
    spin2, slide2 = joint_velocity_rate(link, None, own)
    if _slides_in_link_axes(link):
        slide2 = slide2 + cross(spin, slide)
    alpha = turn(m.alpha) + cross(spin, w) + spin2
    drag = cross(spin2, arm) + cross(spin, lift + 2 * v)
    acceleration = turn(m.acceleration) + drag + slide2
    return FrameMotion(rotation, position, out(omega), out(velocity), out(alpha), out(acceleration))


# -- relative motion


def relative(m: FrameMotion, r: FrameMotion, order: int = 2) -> FrameMotion:
    """Motion m as an observer with motion r sees it, in the observer's axes; both relative to one base."""

    def back(v: Vec) -> Vec:
        return v if r.rotation is None else r.rotation.T @ v

    inverse = None if r.rotation is None else r.rotation.T
    rotation = product(inverse, m.rotation)
    arm = m.position - r.position
    if order == 0:
        return FrameMotion(rotation, back(arm))
    omega = m.omega - r.omega
    lift = cross(r.omega, arm)
    velocity = m.velocity - r.velocity - lift
    if order == 1:
        return FrameMotion(rotation, back(arm), back(omega), back(velocity))
    alpha = m.alpha - r.alpha - cross(r.omega, omega)
    drag = cross(r.alpha, arm) + cross(r.omega, lift + 2 * velocity)
    acceleration = m.acceleration - r.acceleration - drag
    return FrameMotion(rotation, back(arm), back(omega), back(velocity), back(alpha), back(acceleration))


# -- rates of coordinates


def kinematic_map(tree: Tree) -> Array:
    """N (nq, nv) with q_dot = N(q) qd: the identity but for quaternions, and for the position of free joints."""
    out = zeros(len(tree.q), len(tree.qd))
    for part in parts(tree.mechanism):
        out[part.q, part.v] = part.motion.map_of_rates(tree.q[part.q])
    return out


def normalised(tree: Tree, q: Any) -> Array:
    """Coordinates q (nq,), numbers or nodes, with every quaternion scaled to unit length."""
    out = zeros(len(tree.q))
    for part in parts(tree.mechanism):
        out[part.q] = part.motion.normalise(q[part.q])
    return out


# -- rotations that may be the identity


def column(m: Mat | None, axis: int) -> Vec:
    return axis_vector(axis, 1) if m is None else Vec((m[0][axis], m[1][axis], m[2][axis]))


def _rotated(m: Mat | None, v: Vec) -> Vec:
    return v if m is None else m @ v


def _matrix_of(pose: LinkPose) -> Mat | None:
    """Link axes to stem axes."""
    if pose.turn is None:
        return pose.matrix
    axis, c, s = pose.turn
    return columns_matrix(rotate(axis, c, s, axis_vector(k, 1)) for k in range(3))


def _turned(stem: Mat | None, pose: LinkPose) -> Mat | None:
    """stem times the Link's own rotation: an elementary one combines two columns."""
    if pose.turn is None or stem is None:
        return product(stem, _matrix_of(pose))
    axis, c, s = pose.turn
    return Mat(rotate(axis, c, minus(0, s), row) for row in stem)


def _turned_by(pose: LinkPose, m: Mat | None) -> Mat | None:
    """The Link's own rotation, then the constant one, times m, column by column."""
    if m is None:
        return product(pose.fixed, _matrix_of(pose))
    return columns_matrix(pose.stem_to_parent(pose.to_stem(c)) for c in m.T)
