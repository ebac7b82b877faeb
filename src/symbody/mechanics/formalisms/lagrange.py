"""Lagrange's equations by differentiating the energies: an oracle that shares nothing with Newton's and Euler's.

    d/dt dT/dqd - dT/dq + dV/dq + dD/dqd = tau

Quaternion joints have quasi-velocities u (angular, then linear, in child axes), q_dot = N(q) u. For them the equations
of Boltzmann and Hamel hold: derivatives by q become N^T d/dq, and with the momenta (pi, p) = dT/du the rows gain
omega x pi + v x p and omega x p. V holds gravity and springs, D is Rayleigh's function of friction.
"""

from __future__ import annotations

from typing import Any

from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms import tree_energy as energy
from symbody.mechanics.formalisms.frame_kinematics import kinematic_map, link_motions
from symbody.mechanics.formalisms.frames import Frame
from symbody.mechanics.formalisms.jacobians import frame_jacobians
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import ZERO, cross, plus, sum_of, vec
from symbody.symbolic.expr.arrays import Array, matmul, zeros
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.derivative import gradient, hessian, jvp
from symbody.symbolic.expr.node import Node

MAX_BODIES = 12


def check(tree: Tree) -> None:
    """Refuses what would take too long, before any work."""
    bodies = len(tree.mechanism.bodies)
    if bodies > MAX_BODIES:
        raise ModelError(
            f"{tree.mechanism.name} has {bodies} bodies; 'lagrange' is an oracle for at most {MAX_BODIES}. "
            "Use 'newton_euler', 'screw' or 'order_n'."
        )


def mass_and_bias(tree: Tree) -> tuple[Array, Array]:
    """(M (nv, nv), c (nv,)) with M qdd + c = tau; c holds gravity, joint laws and external wrenches as well."""
    check(tree)
    zero = tree.graph.zero
    q, qd = list(tree.q), list(tree.qd)
    if not qd:
        return zeros(0, 0), zeros(0)
    kinetic, potential, friction = as_nodes(
        [zero, energy.kinetic(tree), energy.potential(tree), energy.dissipation_function(tree)]
    )[1:]
    rates = kinematic_map(tree)
    mass = hessian(kinetic, qd)
    momentum = gradient(kinetic, qd)
    # d/dt of the momenta at qdd = 0: along q_dot = N qd
    drift = jvp(momentum, q, as_nodes([zero, *matmul(rates, tree.qd)])[1:])
    slope = matmul(rates.T, [v - t for v, t in zip(gradient(potential, q), gradient(kinetic, q), strict=True)])
    bias = zeros(len(qd))
    terms = (drift, slope, gradient(friction, qd), _turning(tree, momentum), _from_outside(tree))
    for k, row in enumerate(zip(*terms, strict=True)):
        bias[k] = sum_of(row)
    return mass, bias


def inverse(tree: Tree) -> Array:
    """tau (nv,) for the Tree's q, qd, qdd."""
    mass, bias = mass_and_bias(tree)
    return matmul(mass, tree.qdd) + bias


def _turning(tree: Tree, momentum: list[Node]) -> Array:
    """Hamel's terms of quaternion joints: the momenta stand in axes that turn. A joint and its followers share them."""
    out = zeros(len(tree.qd))
    counted: set[int] = set()
    for link in tree.links:
        if not link.motion.body_axes:
            continue
        at = [column[0][0] for column in link.columns]
        if at[0] in counted:
            continue
        counted.add(at[0])
        w, pi = vec(link.qd[:3]), vec([momentum[i] for i in at[:3]])
        terms: tuple[Any, ...] = cross(w, pi)
        if link.motion.all_motions:
            p = vec([momentum[i] for i in at[3:]])
            terms = (*vec(terms) + cross(vec(link.qd[3:]), p), *cross(w, p))
        for i, value in zip(at, terms, strict=True):
            out[i] = plus(out[i], value)
    return out


def _from_outside(tree: Tree) -> Array:
    """-J^T times the wrenches from outside, by virtual power."""
    out = zeros(len(tree.qd))
    for index, (force, moment) in tree.wrenches.items():
        [(jacobian, _)] = frame_jacobians(tree, [Frame("", index, None, ZERO)], rates=False)
        rotation = link_motions(tree, [index], order=0)[index].rotation
        wrench = [vec(v) if rotation is None else rotation @ vec(v) for v in (moment, force)]
        out = out - matmul(jacobian.T, [*wrench[0], *wrench[1]])
    return out
