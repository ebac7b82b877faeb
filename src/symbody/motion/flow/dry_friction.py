"""Dry friction that integrators can follow: the jump of sign(qd) at rest becomes a steep slope."""

from __future__ import annotations

from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.energy import energy
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.functions import sqrt
from symbody.symbolic.expr.walk import substitute, topological
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.system import System

SLOW = 1e-3  # rad/s or m/s


def with_slope(mech: Mechanism, system: System, slow: float) -> System:
    """The System with sign(v) of joints' dry friction replaced by v / sqrt(v^2 + slow^2); slow = 0 leaves the jump.

    At a jump an adaptive method chatters from one side to the other with ever smaller steps, and Newton's iteration of
    an implicit one does not converge. With the slope a joint that should stick creeps, at about the speed `slow`; at
    ten times this speed the friction is 0.5 % too small, at a hundred times 0.005 %.
    """
    if not _has_slope(mech, slow):
        return system
    nodes = system.expressions()
    signs = [n for n in topological(nodes) if n.op == "sign"]
    slopes = {n: n.args[0] / sqrt(n.args[0] * n.args[0] + slow * slow) for n in signs}
    return system.with_outputs(substitute(nodes, slopes)) if slopes else system


def energy_with_slope(mech: Mechanism, slow: float) -> System:
    """`sb.energy` of q and qd as they are, with the dry friction of such a motion."""
    if not _has_slope(mech, slow):
        return energy(mech, loops=False)

    def make() -> System:
        # rewritten after the slope is in: v sign(v) would become |v|
        return optimize_system(with_slope(mech, energy(mech, preset="none", loops=False), slow), "standard")

    return derived_of(mech).system(("energy with slope", slow), make)


def _has_slope(mech: Mechanism, slow: float) -> bool:
    return slow > 0 and any(joint.coulomb is not None for joint in mech.joints)
