"""Regressors beside that of the tree's efforts: of closed loops, and of the wrench on the ground."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from symbody.mechanics.formalisms.regressor import known_efforts
from symbody.mechanics.formalisms.regressor import regressor as regressor_matrix
from symbody.mechanics.loops.equations.inverse import balance
from symbody.mechanics.memoised.partitions import Chosen
from symbody.mechanics.verbs.closed_dynamics import velocity_map
from symbody.mechanics.verbs.closed_problem import closed_problem
from symbody.mechanics.verbs.problem import problem_of
from symbody.mechanics.verbs.system_of_tree import has_loops
from symbody.model.record.coordinates import velocity_labels
from symbody.model.record.mechanism import Body, Joint, Mechanism, Placement
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.walk import quiet_collector, substitute
from symbody.symbolic.system.system import System

GROUND = "force_plate"


def projected_regressor(mech: Mechanism, parameters: str, chosen: Sequence[int], partition: Chosen) -> System:
    """(q, qd, qdd) -> Y (u, p) = B^T Y of the tree at the closed state, B (nv, u); tau0 (u,) of force elements.

    Of a tree B is the identity.
    """
    if not has_loops(mech):
        problem = problem_of(mech, parameters)
        with quiet_collector():
            y = regressor_matrix(problem.tree, chosen)[:, chosen]
            outputs: dict[str, Any] = {"Y": y, "B": np.eye(mech.nv, dtype=int).astype(object)}
            if mech.forces:
                outputs["tau0"] = known_efforts(problem.tree)
        return problem.assemble("inverse", outputs, "of a tree")
    closed = closed_problem(mech, parameters, (), partition)
    made = closed.closure()
    tree = closed.tree
    with quiet_collector():
        y = regressor_matrix(tree, chosen)[:, chosen]
        columns = [balance(made, y[:, k], ())[0] for k in range(y.shape[1])]
        outputs = {"Y": np.column_stack(columns) if columns else np.zeros((len(made.u), 0), dtype=object)}
        outputs["B"] = velocity_map(made)
        if mech.forces:
            outputs["tau0"] = balance(made, known_efforts(tree), ())[0]
    bound = made.plan(closed.with_derivatives(outputs), "standard")
    solved, found = closed.bind(bound)
    labels = velocity_labels(mech)
    origins = {f"Y[{k}, :]": labels[u] for k, u in enumerate(made.u)}
    return solved.closed_system("inverse", found, "projected on the independent velocities", origins, made)


def base_wrench_regressor(mech: Mechanism, parameters: str, chosen: Sequence[int]) -> System:
    """(q, qd, qdd) -> Y (6, p): moment (N m), then force (N) of the ground on the mechanism, at the world's origin.

    The mechanism is set on a plate that could move freely, and the plate is held at rest: the efforts on its six
    velocities are the wrench. Closed loops are open here: what they carry inside does not reach the ground.
    """
    plated = _on_plate(mech)
    problem = problem_of(plated, parameters)
    tree = problem.tree
    at = next(s for s in plated.slots if s.owner == GROUND)
    rest: dict[Any, Any] = {s: int(k == 3) for k, s in enumerate(tree.q[at.q])}  # (x, y, z), (w, x, y, z)
    rest |= dict.fromkeys((*tree.qd[at.v], *tree.qdd[at.v]), 0)
    names = len(plated.bodies) - 1
    moved = [c if c < 10 * names else c + 10 for c in chosen]  # the plate's ten stand after those of the bodies
    with quiet_collector():
        y = regressor_matrix(tree, moved)[at.v][:, moved]
        nodes = as_nodes([tree.graph.zero, *y.flat])[1:]
        outputs = {"Y": np.array(substitute(nodes, rest), dtype=object).reshape(y.shape)}
        if mech.forces:
            efforts = as_nodes([tree.graph.zero, *known_efforts(tree)[at.v]])[1:]
            outputs["tau0"] = np.array(substitute(efforts, rest), dtype=object)
    others = {n: [k for k in range(len(a)) if a[k] not in rest] for n, a in _vectors(tree).items()}
    system = problem.without_states().assemble("inverse", outputs, "efforts on a plate at rest")
    inputs = {n: a[others[n]] if n in others else a for n, a in system.inputs.items()}
    origins = {f"Y[{k}, :]": f"{what} {axis}" for k, (what, axis) in enumerate(_wrench())}
    return system.replace(inputs=inputs, origins={**system.origins, **origins}, units={})


def _wrench() -> list[tuple[str, str]]:
    return [(what, axis) for what in ("moment", "force") for axis in "xyz"]


def _vectors(tree: Any) -> dict[str, np.ndarray]:
    return {"q": tree.q, "qd": tree.qd, "qdd": tree.qdd}


def _on_plate(mech: Mechanism) -> Mechanism:
    """The Mechanism with a free body of no mass between it and the world; its velocities stand first or last."""
    zero, one = mech.graph.number(0), mech.graph.number(1)
    nothing = np.array([zero] * 3, dtype=object)
    identity = np.array([[one if i == k else zero for k in range(3)] for i in range(3)], dtype=object)
    plate = Body(GROUND, zero, nothing, np.array([[zero] * 3] * 3, dtype=object))
    joint = Joint(GROUND, "free", "world", GROUND, Placement(identity, nothing), identity[2])
    joints = [dataclasses.replace(j, parent=GROUND) if j.parent == "world" else j for j in mech.joints]
    return mech.replace(bodies=(*mech.bodies, plate), joints=(joint, *joints), cuts=(), couplings=(), sensors=())
