"""Dry friction that integrators can follow: the jump of sign(qd) at rest becomes a steep slope."""

from __future__ import annotations

from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.functions import sqrt
from symbody.symbolic.expr.walk import substitute, topological
from symbody.symbolic.system.system import System

SLOW = 1e-3  # rad/s or m/s


def with_slope(mech: Mechanism, system: System, slow: float) -> System:
    """The System with sign(v) of joints' dry friction replaced by v / sqrt(v^2 + slow^2); slow = 0 leaves the jump.

    At a jump an adaptive method chatters from one side to the other with ever smaller steps, and Newton's iteration of
    an implicit one does not converge. With the slope a joint that should stick creeps, at about the speed `slow`; at
    ten times this speed the friction is 0.5 % too small, at a hundred times 0.005 %.
    """
    if slow <= 0 or not any(joint.coulomb is not None for joint in mech.joints):
        return system
    nodes = system.expressions()
    signs = [n for n in topological(nodes) if n.op == "sign"]
    slopes = {n: n.args[0] / sqrt(n.args[0] * n.args[0] + slow * slow) for n in signs}
    return system.with_outputs(substitute(nodes, slopes)) if slopes else system
