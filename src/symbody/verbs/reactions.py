"""sb.reactions: the wrenches that joints transmit."""

from __future__ import annotations

from collections.abc import Sequence

from symbody.formalisms.reactions import reaction
from symbody.lower.optimize import optimize_system
from symbody.model.joints import KINDS
from symbody.model.mechanism import Mechanism
from symbody.system.system import System
from symbody.verbs.assemble import identifier
from symbody.verbs.dynamics import Problem


def reactions(
    mech: Mechanism,
    joints: Sequence[str] | None = None,
    parameters: str = "setup",
    wrenches: Sequence[str] = (),
    preset: str = "standard",
) -> System:
    """(q, qd, qdd) -> reaction_<joint> (6,): moment then force of the parent on the child, in child axes at its origin.

    joints: their names (None: all that move); wrenches: bodies with a wrench from outside, as in inverse_dynamics.
    """
    problem = Problem(mech, parameters, tuple(wrenches))
    if joints is None:
        joints = [j.name for j in mech.joints if j.mode != "locked" and KINDS[j.kind].motions(j)]
    found = reaction(problem.tree, list(joints))
    outputs = {f"reaction_{identifier(name)}": x for name, x in zip(joints, found, strict=True)}
    system = problem.assemble("inverse", outputs, "")
    system = system.replace(
        name=f"{identifier(mech.name)}_reactions",
        origins={f"reaction_{identifier(n)}": f"wrench of joint {n} on its child, Newton-Euler" for n in joints},
        units={**system.units, **dict.fromkeys(outputs, "N m, N")},
    )
    return optimize_system(system, preset)
