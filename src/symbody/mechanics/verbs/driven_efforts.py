"""sb.driven_efforts: what driven joints must give for their motion, and the power of loops that move in time.

Phi = M qdd + c are the efforts of the opened tree at the motion. In a tree a driven joint gives its Phi. In closed
loops it works alone on the virtual motion w that keeps them closed and in which all other independent joints rest:

    tau_d = w . (Phi - tau),  J w = 0,  w_d = 1                    (with multipliers: Phi_d - (J^T lam)_d, the same)

Forces of loops do work where a loop moves in time, h(q, t) = 0: (J^T lam) . qd = -lam . dh/dt = (Phi - tau) . qd, with
the efforts of driven joints in tau.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.mechanics.formalisms.solve_accelerations import driven_velocities
from symbody.mechanics.formalisms.vec3 import minus, plus, sum_of, times
from symbody.mechanics.loops.closing.closure import Closure
from symbody.mechanics.memoised.model_memory import derived_of, options_key
from symbody.mechanics.verbs.closed_problem import closed_problem
from symbody.mechanics.verbs.problem import Problem, problem_of
from symbody.mechanics.verbs.system_of_tree import has_loops
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.arrays import Array, is_zero
from symbody.symbolic.expr.walk import quiet_collector
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System


@declared
def driven_efforts(
    mech: Mechanism,
    parameters: str = "setup",
    preset: str = "standard",
    partition: Any = "auto",
    formulation: str = "auto",
    alpha: Any = 0,
    beta: Any = 0,
) -> System:
    """(q, qd, qdd, tau) -> tau (nv,) with the efforts of driven joints in place of what is given for them.

    qdd (nv,) are the accelerations of the motion, as `forward_dynamics` gives them; tau of the other joints are the
    efforts that act. With them `power` of `energy`, tau . qd, holds what driven joints bring. In closed loops q and qd
    are those of the closed mechanism, and loop_power (W) is what loops that depend on time bring beside tau.
    partition, formulation, alpha, beta: as in `forward_dynamics`.
    """
    options = options_key({"partition": partition, "formulation": formulation, "alpha": alpha, "beta": beta})
    make = _closed if has_loops(mech) else _open
    return derived_of(mech).system(
        ("driven_efforts", parameters, preset, options),
        lambda: make(mech, parameters, preset, partition, formulation, alpha, beta),
    )


def _open(mech: Mechanism, parameters: str, preset: str, *_: Any) -> System:
    problem = problem_of(mech, parameters)
    phi = problem.outputs("inverse", "base" if parameters == "setup" else "newton_euler")["tau"]
    tau = _replaced(problem.tree.tau, driven_velocities(problem.tree), phi)
    return optimize_system(_system(problem, {"tau": tau}), preset)


def _closed(
    mech: Mechanism, parameters: str, preset: str, partition: Any, formulation: str, alpha: Any, beta: Any
) -> System:
    from symbody.mechanics.verbs.closed_dynamics import augmented_motion, chosen_formulation, with_switches

    problem = closed_problem(mech, parameters, (), partition)
    if chosen_formulation(problem, formulation) == "augmented":
        problem = with_switches(problem)
    tree, found = problem.tree, problem.constraints
    driven = driven_velocities(tree)
    whole = chosen_formulation(problem, formulation) == "augmented"
    closure = None if whole else problem.closure()
    with quiet_collector():
        phi = problem.outputs("inverse", "base" if parameters == "setup" else "newton_euler")["tau"]
        if closure is not None:
            own = [_virtual_power(closure, k, phi) for k in driven]
        else:
            lam = augmented_motion(problem, "newton_euler", alpha, beta)[1]
            own = [
                minus(phi[k], sum_of(times(x, row.J[k]) for x, row in zip(lam, found.rows) if k in row.J))
                for k in driven
            ]
        tau = _replaced(tree.tau, driven, dict(zip(driven, own)))
        outputs: dict[str, Any] = {"tau": tau}
        if any(not is_zero(row.ht) for row in found.rows):
            outputs["loop_power"] = sum_of(times(minus(a, b), v) for a, b, v in zip(phi, tau, tree.qd))
    if closure is None:
        return optimize_system(_system(problem, outputs), preset)
    return _system(problem, closure.plan(outputs, preset).bound())


def _virtual_power(closure: Closure, k: int, phi: Array) -> Any:
    """w . (Phi - tau) of the virtual motion of one independent joint, the others at rest."""
    own = sum_of(
        times(b, minus(phi[v], closure.tree.tau[v])) for v, b in zip(closure.v, closure.B[:, closure.u.index(k)])
    )
    return plus(phi[k], own)


def _replaced(tau: Array, driven: Sequence[int], efforts: Any) -> Array:
    out = np.array(tau, dtype=object)
    for k in driven:
        out[k] = efforts[k]
    return out


def _system(problem: Problem, outputs: dict[str, Any]) -> System:
    """Inputs q, qd, qdd, tau, and those of force elements, switches and time."""
    tree = problem.tree
    mech = tree.mechanism
    problem = problem.replace(inputs={"tau": tree.tau, **problem.inputs}).read_only()
    base = problem.assemble("inverse", outputs, "virtual power")
    return base.replace(
        name=f"{identifier(mech.name)}_driven_efforts",
        units={**base.units, **({"loop_power": "W"} if "loop_power" in outputs else {})},
        origins={"tau": "efforts, those of driven joints as their motion needs them"},
    )
