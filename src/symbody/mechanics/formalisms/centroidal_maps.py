"""Centre of mass and momentum of a whole Tree, as maps from its velocities (Orin, Goswami and Lee 2013)."""

from __future__ import annotations

from typing import Any

from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.composite import composite_bodies, unit_wrench
from symbody.mechanics.formalisms.frame_kinematics import link_motions
from symbody.mechanics.formalisms.link_poses import poses
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.tree_energy import centre_of_mass, total_mass
from symbody.mechanics.formalisms.vec3 import Vec, cross, plus, times
from symbody.symbolic.expr.arrays import Array, is_zero, zeros


def centroidal_map(tree: Tree) -> Array:
    """A (6, nv): (angular momentum about the centre of mass, linear momentum) = A qd, in world axes.

    A column is the impulse that starts one velocity with all that it carries as one body. A rotor inside a joint adds
    its inertia to M only: where its axis points is not said.
    """
    places, com = poses(tree), centre_of_mass(tree)
    bodies = composite_bodies(tree, places)
    moves = link_motions(tree, range(len(tree.links)), order=0)
    out = zeros(6, len(tree.qd))
    for link in tree.links:
        pose, move = places[link.index], moves[link.index]
        arm = move.position - com
        axes = moves[link.parent].rotation if link.motion.axial else move.rotation
        for a, column in enumerate(link.columns):
            impulse = unit_wrench(link, a, bodies[link.index])
            if link.motion.axial:
                impulse = pose.stem_to_parent(impulse[0]), pose.stem_to_parent(impulse[1])
            force, moment = (x if axes is None else axes @ x for x in impulse)
            rows = (*moment + cross(arm, force), *force)
            for i, factor in column:
                for row, x in enumerate(rows):
                    out[row, i] = plus(out[row, i], times(factor, x))
    return out


def centre_of_mass_map(tree: Tree) -> tuple[Vec, Array]:
    """(com (3,) m, J (3, nv)) of all bodies that move, in world axes: the velocity of the centre of mass is J qd."""
    mass = total_mass(tree)
    if is_zero(mass):
        raise ModelError(f"{tree.mechanism.name} has no centre of mass that moves: nothing that moves has mass.")
    share: Any = 1 / mass
    com, momentum = centre_of_mass(tree), centroidal_map(tree)[3:]
    out = zeros(3, len(tree.qd))
    for index, x in enumerate(momentum.flat):
        out.flat[index] = times(share, x)
    return com, out
