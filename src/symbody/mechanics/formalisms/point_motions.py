"""World motion of the points where forces act, and the way back of a force from world axes to Link axes.

Points of one vehicle share most of their motion. It is computed once, for the last Link that carries them all (the
hub); each point adds its motion relative to the hub, seen in hub axes, where the first joints are sparse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from symbody.basics.errors import NameLookupError, nearest
from symbody.mechanics.formalisms.frame_kinematics import FrameMotion, attached, frame_motions, link_motions
from symbody.mechanics.formalisms.frames import Frame, common_ancestor, frame_on, path, product
from symbody.mechanics.formalisms.link_poses import poses
from symbody.mechanics.formalisms.newton_euler import LinkMotion as LocalMotion
from symbody.mechanics.formalisms.newton_euler import step
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import Mat, Vec, cross, minus, rotate, unit_matrix
from symbody.model.record.mechanism import WORLD


def frame_of(tree: Tree, point: tuple[str, str]) -> Frame:
    """The frame of a point (body, frame name), "" for the frame of the body itself."""
    body, name = point
    if body not in tree.places:
        raise NameLookupError(f"{tree.mechanism.name} has no body {body!r}. {nearest(body, tree.places)}")
    known = {} if body == WORLD else tree.mechanism.body(body).frames
    if name and name not in known:
        raise NameLookupError(f"body {body!r} has no frame {name!r}. {nearest(name, known)}")
    return frame_on(tree, body, name)


def orientations(tree: Tree, links: Iterable[int]) -> dict[int, Mat | None]:
    """Link index -> rotation (3, 3) from Link to world axes, None for the identity; parallel axes turn once."""
    places = poses(tree, "group")
    rotation: dict[int, Mat | None] = {-1: None}
    stem: dict[int, Mat | None] = {}
    for k in sorted({k for link in links for k in path(tree, link, -1)}):
        pose, parent = places[k], tree.links[k].parent
        stem[k] = stem[parent] if pose.shared else product(rotation[parent], pose.fixed)
        rotation[k] = _turned(stem[k], pose.turn) if pose.turn is not None else product(stem[k], pose.matrix)
    return rotation


def _turned(stem: Mat | None, turn: tuple[int, object, object]) -> Mat:
    """stem times an elementary rotation: two columns are combined."""
    axis, c, s = turn
    rows = unit_matrix() if stem is None else stem
    return Mat(rotate(axis, c, minus(0, s), row) for row in rows)


def world_motions(tree: Tree, frames: Sequence[Frame], order: int = 1) -> list[FrameMotion]:
    """Motions of frames relative to the world, in world axes, up to an order 0, 1 or 2 of derivatives."""
    turned = orientations(tree, [f.link for f in frames])
    hub = common_ancestor(tree, [f.link for f in frames]) if frames else -1
    if hub < 0 or any(f.link == hub for f in frames) or _spins_little(tree, hub):
        found = frame_motions(tree, frames, order=order)
    else:
        found = _through_hub(tree, frames, hub, turned[hub], order)
    return [
        FrameMotion(product(turned[f.link], f.rotation), m.position, m.omega, m.velocity, m.alpha, m.acceleration)
        for f, m in zip(frames, found)
    ]


def _spins_little(tree: Tree, hub: int) -> bool:
    """Whether world axes are as sparse as hub axes: the hub turns about one axis at most."""
    return sum(tree.links[k].motion.turning_axes for k in tree.ancestors(hub)) < 2


def _through_hub(tree: Tree, frames: Sequence[Frame], hub: int, turn: Mat | None, order: int) -> list[FrameMotion]:
    """Motion of the hub, composed with motions relative to it (the theorem of Coriolis, once per frame)."""
    carrier = link_motions(tree, [hub], order=order)[hub]
    own = _local(tree, hub)  # angular velocity and acceleration of the hub in its own axes
    relative = link_motions(tree, [f.link for f in frames], hub, order)

    def out(v: Vec) -> Vec:
        return v if turn is None else turn @ v

    found = []
    for f in frames:
        m = attached(relative[f.link], f, order)
        position = carrier.position + out(m.position)
        if order == 0:
            found.append(FrameMotion(None, position))
            continue
        velocity = carrier.velocity + out(cross(own.w, m.position) + m.velocity)
        omega = out(own.w + m.omega)
        if order == 1:
            found.append(FrameMotion(None, position, omega, velocity))
            continue
        alpha = own.wd + cross(own.w, m.omega) + m.alpha
        drag = own.u @ m.position + cross(2 * own.w, m.velocity)
        acceleration = carrier.acceleration + out(drag + m.acceleration)
        found.append(FrameMotion(None, position, omega, velocity, out(alpha), acceleration))
    return found


def _local(tree: Tree, link: int) -> LocalMotion:
    """Motion of a Link in its own axes."""
    places, m = poses(tree), LocalMotion()
    for k in path(tree, link, -1):
        m = step(tree.links[k], places[k], m, tree.links[k].qd, tree.links[k].qdd)
    return m


def to_frame(rotation: Mat | None, v: Vec) -> Vec:
    """A vector in the axes of a frame whose rotation to the present axes is given."""
    return v if rotation is None else rotation.T @ v


def from_frame(rotation: Mat | None, v: Vec) -> Vec:
    """A vector of a frame's axes in the axes to which `rotation` leads."""
    return v if rotation is None else rotation @ v
