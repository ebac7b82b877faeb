"""Explicit accelerations from M and c: leaf-first LDL^T with stored reciprocals (robotran 3.8)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import minus, times
from symbody.model.record.coordinates import with_mode
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.arrays import Array, is_zero
from symbody.symbolic.expr.linear_algebra import solve_ldlt


def driven_velocities(tree: Tree) -> list[int]:
    """Indices of the velocities whose motion is prescribed."""
    return with_mode(tree.mechanism, "driven")


def check_motors(mechanism: Mechanism) -> None:
    """Refuses elastic joints whose motor has no inertia: it turns back as the deflection grows, and no mass moves."""
    bare = [
        repr(j.name)
        for j in mechanism.joints
        if j.elastic is not None and j.mode != "locked" and (j.rotor is None or is_zero(j.rotor.inertia))
    ]
    if bare:
        one = len(bare) == 1
        raise ModelError(
            f"the motor{'' if one else 's'} of elastic joint{'' if one else 's'} {', '.join(bare)} of {mechanism.name} "
            f"{'has' if one else 'have'} no inertia, so that {'its' if one else 'their'} acceleration is not "
            "determined. Give the joint a rotor (inertia, ratio), or leave out elastic."
        )


def accelerations(mass: Array, bias: Array, tau: Array, driven: Sequence[int], given: Array) -> Array:
    """qdd (nv,) of M qdd + c = tau; the driven ones are given, and their share goes to the right-hand side."""
    n = len(tau)
    prescribed = set(driven)
    free = [i for i in range(n) if i not in prescribed]
    for i in free:
        if is_zero(mass[i, i]):
            raise ModelError(
                f"velocity {i + 1} moves nothing that has mass or inertia: its acceleration is not determined. "
                "Give the body of its joint an inertia, or the joint a rotor."
            )
    right = np.empty(len(free), dtype=object)
    for row, i in enumerate(free):
        right[row] = minus(tau[i], bias[i])
        for j in driven:
            if not is_zero(mass[i, j]):
                right[row] = minus(right[row], times(mass[i, j], given[j]))
    out = np.array(given, dtype=object)
    if free:
        # numbered outward, the mass matrix of a tree fills in nowhere if the leaves are eliminated first
        out[free] = solve_ldlt(mass[np.ix_(free, free)], right, order="from_last")
    return out
