"""Where the work of force elements goes: into a store, from a source, or into heat.

Each element keeps an Account, made only when energies are asked for. Along a motion

    power of its forces = given - lost - d stored / dt

so that kinetic and stored energy together change by what is given less what is lost. Springs store, and so does the
elastic part of a contact or tyre; inputs, given forces and functions of the user give; all the rest is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symbody.mechanics.formalisms.frame_kinematics import kinematic_map
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import minus, plus, sum_of, times
from symbody.model.library import contact
from symbody.model.library.force_element import Account
from symbody.model.library.law_functions import smooth_positive
from symbody.model.library.springs import ramp_energy
from symbody.symbolic.expr.arrays import is_zero, matmul
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.derivative import jvp


def total(accounts: Iterable[Account]) -> Account:
    """The sum of Accounts."""
    rows = list(accounts)
    return Account(*(sum_of(getattr(a, name) for a in rows) for name in ("stored", "given", "lost")))


def contact_energy(depth: Any, stiffness: Any, width: Any = 0) -> Any:
    """Energy whose slope in depth is `contact.normal_force` at rest, J."""
    if is_zero(width):
        return stiffness * ramp_energy(depth)
    return smooth_positive(stiffness, stiffness / 100) * ramp_energy(depth, width)


def contact_account(depth: Any, rate: Any, stiffness: Any, width: Any, power: Any) -> Account:
    """Account of a contact with forces of a power (W): elastic work is stored, the rest lost; rate of depth, m/s."""
    at_rest = contact.normal_force(depth, 0, stiffness, 0, width)
    return Account(stored=contact_energy(depth, stiffness, width), lost=minus(0, plus(power, times(at_rest, rate))))


def rate_along_motion(tree: Tree, value: Any) -> Any:
    """Time derivative of a node that depends on q, along q_dot = N qd."""
    nodes = as_nodes([tree.graph.zero, value, *matmul(kinematic_map(tree), tree.qd)])[1:]
    return jvp(nodes[:1], list(tree.q), nodes[1:])[0]
