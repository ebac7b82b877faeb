"""MJCF `align` of free bodies: the frame of a body without children becomes its inertial frame, whose pose is q."""

from __future__ import annotations

import numpy as np

from symbody.model.files.mesh_mass import principal_axes
from symbody.model.files.mjcf_geoms import MassProperties
from symbody.model.files.mjcf_tree import BodyRecord, TreeReader
from symbody.model.record.pose import Pose


def align_free_bodies(tree: TreeReader, masses: dict[BodyRecord, MassProperties], by_default: bool) -> None:
    """Moves the frames of free bodies without children, where <freejoint align> or <compiler alignfree> ask for it."""
    parents = {id(body.parent) for body in tree.bodies}
    for body in tree.bodies[1:]:
        if [j.kind for j in body.joints] != ["free"] or id(body) in parents:
            continue
        wish = body.joints[0].element.choice("align", ("true", "false", "auto"), "auto")
        if wish == "true" or (wish == "auto" and by_default):
            masses[body] = _aligned(tree, body, masses[body])


def _aligned(tree: TreeReader, body: BodyRecord, mass: MassProperties) -> MassProperties:
    """Moves the body's frame into its inertial frame; frames, shapes and sites stay where they are in space."""
    axes = principal_axes(mass.tensor)[1] if mass.axes is None else mass.axes
    moved = Pose(axes, mass.com)
    back = moved.inverse()
    body.pose, body.world = body.pose @ moved, body.world @ moved
    for geom in body.geoms:
        geom.pose = back @ geom.pose
    body.frames = {name: back @ pose for name, pose in body.frames.items()}
    for name, (owner, pose) in tree.sites.items():
        if owner is body:
            tree.sites[name] = (body, back @ pose)
    tree.note(
        f"{body.element.origin}: free body {body.name!r} is aligned with its inertia: q is the pose of its principal "
        "axes at the centre of mass, as in MuJoCo"
    )
    return MassProperties(mass.mass, np.zeros(3), np.diag(np.diag(axes.T @ mass.tensor @ axes)), np.eye(3))
