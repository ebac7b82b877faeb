"""sb.reactions: the wrenches that joints transmit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.mechanics.formalisms.formulation import Choice
from symbody.mechanics.formalisms.joint_reactions import reaction
from symbody.mechanics.formalisms.solve_accelerations import driven_velocities
from symbody.mechanics.loops.equations.reduced import (
    PLAIN,
    all_accelerations,
    independent_accelerations,
    multipliers,
    reduce,
)
from symbody.mechanics.loops.equations.tree_equations import opened
from symbody.mechanics.loops.rows.cut_wrenches import cut_wrenches
from symbody.mechanics.memoised.loaded import pushed
from symbody.mechanics.memoised.model_memory import derived_of, options_key
from symbody.mechanics.verbs.closed_problem import closed_problem
from symbody.mechanics.verbs.problem import problem_of
from symbody.mechanics.verbs.system_of_tree import has_loops
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import Joint, Mechanism
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.walk import quiet_collector, substitute
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System


@declared
def reactions(
    mech: Mechanism,
    joints: Sequence[str] | None = None,
    parameters: str = "setup",
    wrenches: Sequence[str] = (),
    preset: str = "standard",
    loops: bool = True,
    partition: Any = "auto",
    formulation: str = "auto",
) -> System:
    """(q, qd, qdd) -> reaction_<joint> (6,): moment then force of the parent on the child, in child axes at its origin.

    joints: their names (None: all that move; fixed and locked ones, by name, give what they hold); wrenches: bodies
    with a wrench from outside, as in inverse_dynamics.
    Closed loops (unless loops is False): (q, qd, tau) -> the same, and reaction_<cut> (6,) of the first body on the
    second, in the axes of the second frame at its origin; reaction_<cut>_cut where a joint of the output has the name
    of the cut. They follow from the motion, hence from the efforts tau.
    formulation  as in `forward_dynamics`: "augmented" takes q and qd as they are, and is meant where a loop opens and
                 closes: its switch s_<loop> is an input then, and an open loop has no reaction
    """
    if joints is None:
        joints = [j.name for j in mech.joints if _moves(j)]
    joints, wrenches, closed = tuple(joints), tuple(wrenches), loops and has_loops(mech)
    make = _closed if closed else _open
    options = options_key({"partition": partition, "formulation": formulation} if closed else {})
    return derived_of(mech).system(
        ("reactions", joints, parameters, wrenches, preset, closed, options),
        lambda: make(mech, joints, parameters, wrenches, preset, partition, formulation),
    )


def _open(
    mech: Mechanism, joints: Sequence[str], parameters: str, wrenches: tuple[str, ...], preset: str, *_: Any
) -> System:
    problem = problem_of(mech, parameters, wrenches, _still(mech, joints))
    found = reaction(problem.tree, list(joints))
    outputs = {f"reaction_{identifier(name)}": x for name, x in zip(joints, found, strict=True)}
    return optimize_system(_named(problem.assemble("inverse", outputs, ""), mech, joints), preset)


def cut_output(cut: str, joints: Sequence[str]) -> str:
    """Name of the output of a cut beside those of joints."""
    name = f"reaction_{identifier(cut)}"
    return f"{name}_cut" if name in {f"reaction_{identifier(j)}" for j in joints} else name


def _moves(joint: Joint) -> bool:
    return joint.mode != "locked" and bool(KINDS[joint.kind].motions(joint))


def _still(mech: Mechanism, joints: Sequence[str]) -> tuple[str, ...]:
    """Fixed and locked ones among the joints: their bodies stay apart."""
    return tuple(name for name in joints if not _moves(mech.joint(name)))


def _named(system: System, mech: Mechanism, joints: Sequence[str]) -> System:
    names = {f"reaction_{identifier(n)}": f"wrench of joint {n} on its child, Newton-Euler" for n in joints}
    names |= {cut_output(c.name, joints): f"wrench of loop {c.name} on its second body" for c in mech.cuts}
    return system.replace(
        name=f"{identifier(mech.name)}_reactions",
        origins={**system.origins, **{n: text for n, text in names.items() if n in system.outputs}},
        units={**system.units, **{n: "N m, N" for n in names if n in system.outputs}},
    )


def _closed(
    mech: Mechanism,
    joints: Sequence[str],
    parameters: str,
    wrenches: tuple[str, ...],
    preset: str,
    partition: Any,
    formulation: str,
) -> System:
    """Reactions of the tree at the closed motion, with the forces of the loops as wrenches from outside."""
    from symbody.mechanics.verbs.closed_dynamics import augmented_motion, chosen_formulation, with_switches

    problem = closed_problem(mech, parameters, wrenches, partition, _still(mech, joints))
    tree = problem.tree
    whole = chosen_formulation(problem, formulation) == "augmented"
    if whole:
        problem = with_switches(problem)
    closure = None if whole else problem.closure()
    with quiet_collector():
        if closure is None:
            motion, lam = augmented_motion(problem)
        else:
            reduced = reduce(closure, opened(tree, Choice()), tree.tau, PLAIN, driven_velocities(tree), tree.qdd)
            qdd_u = independent_accelerations(reduced)
            motion, lam = all_accelerations(reduced, qdd_u), multipliers(reduced, qdd_u)
        qdd = as_nodes([tree.graph.zero, *motion])[1:]
        by_link, by_cut = cut_wrenches(problem.constraints, lam)
        found = np.array(reaction(pushed(tree, by_link), list(joints)), dtype=object)
        # the forces of the loops hold no qdd: only the inertia forces of the tree do
        driven = set(driven_velocities(tree))
        moved = {s: x for k, (s, x) in enumerate(zip(tree.qdd, qdd, strict=True)) if k not in driven}
        nodes = substitute(as_nodes([tree.graph.zero, *found.flat])[1:], moved)
    outputs: dict[str, Any] = {
        f"reaction_{identifier(name)}": nodes[6 * k : 6 * k + 6] for k, name in enumerate(joints)
    }
    for name, (force, moment) in by_cut.items():
        outputs[cut_output(name, joints)] = [*moment, *force]
    problem = problem.read_only()
    if closure is None:
        return optimize_system(_named(problem.closed_system("forward", outputs, ""), mech, joints), preset)
    bound = closure.plan(outputs, preset).bound()
    return _named(problem.closed_system("forward", bound, "", closure=closure), mech, joints)
