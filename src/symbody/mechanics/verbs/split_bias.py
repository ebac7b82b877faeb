"""sb.coriolis and sb.gravity: the two parts of c that come from the bodies alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.composite import mass_matrix
from symbody.mechanics.formalisms.coriolis import coriolis_matrix, gravity_efforts
from symbody.mechanics.formalisms.frame_kinematics import kinematic_map
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.loops.closing.closure import Closure
from symbody.mechanics.loops.equations.reduced import add, product
from symbody.mechanics.memoised.model_memory import derived_of, options_key
from symbody.mechanics.verbs.closed_dynamics import at_closed_state, velocity_map
from symbody.mechanics.verbs.closed_problem import ClosedProblem
from symbody.mechanics.verbs.system_of_tree import has_loops, make_system, time_input
from symbody.model.record.coordinates import velocity_labels
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.arrays import Array, is_zero, zeros
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.derivative import jvp
from symbody.symbolic.expr.walk import free_symbols, quiet_collector
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.system import System

SOURCE = "composite bodies (Echeandia and Wensing 2021)"


@declared
def coriolis(
    mech: Mechanism, parameters: str = "setup", preset: str = "standard", loops: bool = True, partition: Any = "auto"
) -> System:
    """(q, qd) -> C (nv, nv) of M qdd + C qd + g + ... = tau, with Mdot - 2 C skew.

    It is that of the Christoffel symbols where every joint has one coordinate, and Pinocchio's. Laws of joints and
    force elements have no part in it: c of `semi_explicit` is C qd + g where there are none.
    Closed loops (unless loops is False): C (u, u) on the independent velocities, B^T (C B + M Bdot); q and qd as in
    `forward_dynamics`. A loop that moves in time by itself has no such matrix, and is refused.
    """

    def of_tree(tree: Tree) -> Array:
        return coriolis_matrix(tree)

    def reduced(problem: ClosedProblem, closure: Closure) -> Array:
        _refuse_time(mech, closure)
        tree, b = closure.tree, velocity_map(closure)
        inner = add(product(coriolis_matrix(tree), b), product(mass_matrix(tree), velocity_map_rate(closure)))
        return product(b.T, inner)

    text = f"Coriolis and centrifugal matrix of {mech.name}: {SOURCE}" if isinstance(mech, Mechanism) else ""
    return _verb(mech, "coriolis", "C", of_tree, reduced, text, parameters, preset, loops, partition)


@declared
def gravity(
    mech: Mechanism, parameters: str = "setup", preset: str = "standard", loops: bool = True, partition: Any = "auto"
) -> System:
    """(q) -> g (nv,), N m or N: the efforts that hold the bodies against their weight, the gradient of its potential.

    Springs and force elements have no part in it. Closed loops (unless loops is False): g (u,) on the independent
    velocities, B^T g.
    """

    def of_tree(tree: Tree) -> Array:
        return gravity_efforts(tree)

    def reduced(problem: ClosedProblem, closure: Closure) -> Array:
        return product(velocity_map(closure).T, gravity_efforts(closure.tree))

    text = f"efforts of weight of {mech.name}" if isinstance(mech, Mechanism) else ""
    return _verb(mech, "gravity", "g", of_tree, reduced, text, parameters, preset, loops, partition)


def _verb(
    mech: Mechanism,
    what: str,
    output: str,
    of_tree: Callable[[Tree], Array],
    reduced: Callable[[ClosedProblem, Closure], Array],
    text: str,
    parameters: str,
    preset: str,
    loops: bool,
    partition: Any,
) -> System:
    """One output of the tree, or of the closed mechanism."""
    closed = loops and has_loops(mech)

    def system(tree: Tree, value: Array) -> System:
        inputs = {"q": tree.q, "qd": tree.qd} if what == "coriolis" else {"q": tree.q}
        return make_system(tree, what, {**inputs, **time_input([value])}, {output: value}, {"t": "s"}, {output: text})

    def make() -> System:
        if not closed:
            tree = derived_of(mech).tree(parameters)
            with quiet_collector():
                return optimize_system(system(tree, of_tree(tree)), preset)

        def at(problem: ClosedProblem, closure: Closure) -> System:
            with quiet_collector():
                return system(closure.tree, reduced(problem, closure))

        found = at_closed_state(mech, at, partition, parameters, preset)
        names = velocity_labels(mech)
        chosen = closed_velocities(mech, partition)
        return found.replace(origins={**found.origins, **{f"{output}[{j}]": names[k] for j, k in enumerate(chosen)}})

    options = options_key({"partition": partition} if closed else {})
    return derived_of(mech).system((what, parameters, preset, closed, options), make)


def closed_velocities(mech: Mechanism, partition: Any) -> tuple[int, ...]:
    """Indices of the independent velocities."""
    from symbody.mechanics.verbs.closed_problem import closed_problem

    return closed_problem(mech, partition=partition).partition().independent


def velocity_map_rate(closure: Closure) -> Array:
    """Bdot (nv, u) of qd = B qd_u: J_v Bdot_v = -Jdot B."""
    tree, rows = closure.tree, closure.constraints.rows
    b, out = velocity_map(closure), zeros(len(tree.qd), len(closure.u))
    entries = [(r, k) for r in closure.solved_rows for k in rows[r].J]
    rates = along_motion(tree, [rows[r].J[k] for r, k in entries])
    turned: dict[int, Any] = {r: zeros(len(closure.u)) for r in closure.solved_rows}
    for (r, k), rate in zip(entries, rates, strict=True):
        if not is_zero(rate):
            turned[r] = add(turned[r], np.array([-rate * x if not is_zero(x) else 0 for x in b[k]], dtype=object))
    for j in range(len(closure.u)):
        for k, value in closure.solve({r: row[j] for r, row in turned.items()}).items():
            out[k, j] = value
    return out


def along_motion(tree: Tree, values: Any) -> list[Any]:
    """Rates of values that depend on q and time, along q_dot = N(q) qd."""
    zero = tree.graph.zero
    rates = as_nodes([zero, *product(kinematic_map(tree), tree.qd)])[1:]
    nodes = as_nodes([zero, *values])[1:]
    clocks = [s for s in free_symbols(nodes) if s.data.role == "time"]
    return jvp(nodes, [*tree.q, *clocks], [*rates, *(tree.graph.one for _ in clocks)])


def _refuse_time(mech: Mechanism, closure: Closure) -> None:
    moving = sorted({row.loop for row in closure.constraints.rows if not is_zero(row.ht)})
    if moving:
        raise ModelError(
            f"{', '.join(map(repr, moving))} of {mech.name} moves in time by itself, so that velocities are no linear "
            "function of the independent ones, and there is no C. Use sb.semi_explicit, whose c holds all of it, or "
            "loops=False."
        )
