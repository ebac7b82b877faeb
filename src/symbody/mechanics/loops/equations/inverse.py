"""Efforts of the actuated joints of a closed mechanism for a motion of its independent joints (robotran 3.14).

    Psi = Phi_u + B^T Phi_v,  Psi = G tau_a

Phi are the efforts of the opened tree with its joint laws; G has a unit column for each independent actuated joint and
a row of B, transposed, for each dependent one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbody.mechanics.loops.closing.closure import Closure
from symbody.mechanics.loops.closing.factors import factors
from symbody.mechanics.loops.equations.reduced import accelerations_for, add, product
from symbody.model.record.coordinates import with_mode
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.arrays import Array, transpose, zeros
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.linear_algebra import solve_ldlt
from symbody.symbolic.expr.walk import substitute


def actuated_velocities(mechanism: Mechanism) -> list[int]:
    """Indices of the velocities on which an effort may act: of joints that are actuated, or driven by some effort."""
    deflections = set(mechanism.elastic_velocities)
    return [k for k in with_mode(mechanism, "actuated", "driven") if k not in deflections]


def balance(closure: Closure, efforts: Array, actuated: Sequence[int]) -> tuple[Array, Array]:
    """(Psi (u,), G (u, a)) from the efforts (nv,) of the tree, an expression of its symbols q, qd, qdd."""
    tree, u = closure.tree, closure.u
    qdd = accelerations_for(closure, tree.qdd[list(u)])
    nodes = as_nodes([tree.graph.zero, *efforts, *qdd])[1:]
    moved = substitute(nodes[: len(qdd)], {tree.qdd[k]: nodes[len(qdd) + k] for k in closure.v})
    phi = np.array(moved, dtype=object)
    psi = add(phi[list(u)], product(transpose(closure.B), phi[list(closure.v)]))
    g = zeros(len(u), len(actuated))
    for j, k in enumerate(actuated):
        if k in closure.place:
            g[:, j] = closure.B[closure.place[k]]
        else:
            g[u.index(k), j] = 1
    return psi, g


def actuator_efforts(psi: Array, g: Array) -> Array | None:
    """tau_a (a,) of G tau_a = Psi: exact, or of least norm where there are more actuators; None if there are fewer."""
    n, a = g.shape
    if a < n:
        return None
    if a == n:
        return np.array(factors(g).solve(list(psi)), dtype=object)
    x = solve_ldlt(product(g, transpose(g)), psi)
    return product(transpose(g), x)
