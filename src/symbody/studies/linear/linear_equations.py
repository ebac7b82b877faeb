"""The symbolic part of linearisation: derivatives of M qdd, g, internal rates and outputs, in one walk of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, NameLookupError, nearest
from symbody.mechanics.assembly.constraints import ConstraintRow
from symbody.mechanics.formalisms.frame_kinematics import kinematic_map
from symbody.mechanics.formalisms.solve_accelerations import driven_velocities
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.verbs.closed_problem import ClosedProblem, closed_problem
from symbody.mechanics.verbs.problem import Problem, problem_of
from symbody.mechanics.verbs.system_of_tree import has_loops
from symbody.model.record.coordinates import transport, velocity_labels
from symbody.model.record.mechanism import Mechanism
from symbody.studies.linear.linear_outputs import Chooser, component_names
from symbody.symbolic.expr.arrays import Array, is_zero, matmul
from symbody.symbolic.expr.derivative import Tangent, tangents
from symbody.symbolic.expr.linear_algebra import ldlt, solve_ldlt
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System, node_array


@dataclass(frozen=True, eq=False)
class LinearEquations:
    """Matrices of a linear model as a System, and the names of their rows and columns.

    system       (q, qd, qdd, tau, further inputs, internal states, t) -> the matrices of `Linear` that are not empty,
                 and the values c, z_dot, y at the operating point
    rows         names of the loop constraints that are closed; the System has the input multipliers then, and
                 the outputs h, J, G = d(J^T lam)/dq, and derivatives of their rates
    actuated     indices of the velocities whose efforts are inputs; driven: of those that are prescribed
    modes        of force elements: inputs of the System that are held, no inputs of the linear model
    starts       initial values of internal states and modes
    """

    system: System
    labels: tuple[str, ...]
    actuated: tuple[int, ...]
    driven: tuple[int, ...]
    inputs: tuple[str, ...]
    internal: tuple[str, ...]
    outputs: tuple[str, ...]
    modes: tuple[str, ...] = ()
    starts: Mapping[str, float] = field(default_factory=dict)
    rows: tuple[str, ...] = ()
    rolling: tuple[bool, ...] = ()
    loops: tuple[str, ...] = ()  # cuts and couplings that the rows belong to

    @property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """Shape of each matrix; the System leaves out those that are empty."""
        n, nz, nu, ny = len(self.labels), len(self.internal), len(self.inputs), len(self.outputs)
        second = {"M": (n, n), "B": (n, n), "K1": (n, n), "K2": (n, n), "U1": (n, nu), "U2": (n, nu), "F": (n, nz)}
        internal = {"Zq": (nz, n), "Zv": (nz, n), "Zz": (nz, nz), "Zu": (nz, nu)}
        shown = {"Cq": (ny, n), "Cv": (ny, n), "Ca": (ny, n), "Cz": (ny, nz), "Cu": (ny, nu)}
        return {**second, **internal, **shown}


def linear_equations(
    mech: Mechanism,
    outputs: Any = None,
    vary: Sequence[str] = (),
    loops: Any = "closed",
    formalism: str = "newton_euler",
) -> LinearEquations:
    """M, K1, K2, B, U1, U2 ... of M qdd + g = 0 with g = c - tau, by tangent increments.

    vary   parameters that count as inputs too; formalism: which equations are differentiated
    loops  which cuts and couplings are closed: "closed", "permanent", "open", or their names
    """
    if mech.nv == 0:
        raise ModelError(f"{mech.name} has no joint that moves; there are no small motions.")
    problem = closed_problem(mech) if has_loops(mech) else problem_of(mech)
    tree, graph = problem.tree, problem.tree.graph
    made = problem.outputs("semi_explicit", formalism)
    n = len(tree.qd)
    mass, c = node_array(made["M"], graph).reshape(n, n), node_array(made["c"], graph)
    momentum = node_array(matmul(mass, tree.qdd), graph) if n else c
    driven = driven_velocities(tree)
    passive = {k for p in mech.slots if p.mode == "passive" for k in range(p.iv, p.iv + p.nv)}
    actuated = [k for k in range(n) if k not in passive and k not in driven]
    found = closed_rows(problem, loops)
    needed = {k: None if found else momentum[k] + c[k] for k in driven}
    chosen = Chooser(problem, needed).choose(outputs)
    labels = velocity_labels(mech)

    internal = list(problem.states)
    z = [s for name in internal for s in np.asarray(problem.states[name]).flat]
    rates = [x for name in internal for x in node_array(problem.derivatives[name], graph).flat]
    further = [s for a in problem.inputs.values() for s in np.asarray(a).flat]
    u = [*tree.tau[actuated], *further, *(_parameter(problem, name) for name in vary)]
    inputs = [*(f"tau.{labels[k]}" for k in actuated), *component_names(problem.inputs), *vary]

    # one column for each direction: increments of q, then qd, qdd, z, u
    seeds: dict[Node, Tangent] = {}
    for s, row in zip(tree.q, kinematic_map(tree)):
        seeds[s] = {k: x for k, x in enumerate(node_array(row, graph)) if not is_zero(x)}
    for k, s in enumerate([*tree.qd, *tree.qdd, *z, *u]):
        seeds[s] = {n + k: graph.one}
    g = [x - tau for x, tau in zip(c, tree.tau)]
    lam = np.array([graph.symbol(f"lam{k + 1}", "input") for k in range(len(found))], dtype=object)
    bound = _constraint_nodes(tree, found, lam)
    parts = [list(x) for x in (momentum, g, rates, chosen.nodes)]
    parts += [list(bound[name]) for name in ("pull", "velocity", "acceleration")]
    rows = tangents([x for part in parts for x in part], seeds)
    width = 3 * n + len(z) + len(u)
    table = np.full((len(rows), width), graph.zero, dtype=object)
    for i, row in enumerate(rows):
        for k, x in row.items():
            table[i, k] = x
    of_momentum, of_g, of_rates, of_outputs, of_pull, of_velocity, of_acceleration = np.split(
        table, np.cumsum([len(part) for part in parts])[:-1]
    )
    for row, k in chosen.increments.items():
        of_outputs[row, k] = graph.one

    at_q, at_v, at_a, at_z, at_u = _spans([n, n, n, len(z), len(u)])
    matrices: dict[str, Array] = {
        "M": mass, "B": of_g[:, at_v], "K1": of_momentum[:, at_q], "K2": of_g[:, at_q],
        "U1": of_momentum[:, at_u], "U2": of_g[:, at_u], "F": of_g[:, at_z],
        "Zq": of_rates[:, at_q], "Zv": of_rates[:, at_v], "Zz": of_rates[:, at_z], "Zu": of_rates[:, at_u],
        "Cq": of_outputs[:, at_q], "Cv": of_outputs[:, at_v], "Ca": of_outputs[:, at_a],
        "Cz": of_outputs[:, at_z], "Cu": of_outputs[:, at_u],
        "c": c, "z_dot": node_array(rates, graph), "y": node_array(chosen.nodes, graph),
    }  # fmt: skip
    if found:
        matrices |= {
            "h": bound["h"], "J": bound["J"], "velocity": bound["velocity"], "acceleration": bound["acceleration"],
            "G": of_pull[:, at_q], "velocity_q": of_velocity[:, at_q],
            "acceleration_q": of_acceleration[:, at_q], "acceleration_v": of_acceleration[:, at_v],
        }  # fmt: skip
    system = _system(problem, {name: x for name, x in matrices.items() if x.size}, lam)
    return LinearEquations(
        system, labels, tuple(actuated), tuple(driven), tuple(inputs), tuple(internal), tuple(chosen.names),
        tuple(problem.modes),
        {n: a.item().data.default or 0.0 for n, a in {**problem.states, **problem.modes}.items()},
        tuple(row.name for row in found), tuple(row.h is None for row in found),
        tuple(dict.fromkeys(row.loop for row in found)),
    )  # fmt: skip


def closed_rows(problem: Problem, loops: Any) -> list[ConstraintRow]:
    """Constraints of the cuts and couplings that are closed."""
    mech = problem.mech
    everything = {c.name: c.switched for c in mech.cuts} | {c.name: c.switched for c in mech.couplings}
    if isinstance(loops, str) and loops in ("closed", "permanent", "open"):
        chosen = {
            n for n, switched in everything.items() if loops == "closed" or (loops == "permanent" and not switched)
        }
    else:
        chosen = {loops} if isinstance(loops, str) else set(loops)
        for name in chosen:
            if name not in everything:
                known = ["closed", "permanent", "open", *everything]
                raise NameLookupError(f"{mech.name} has no loop {name!r}. {nearest(str(name), known)}")
    if not isinstance(problem, ClosedProblem):
        return []
    return [row for row in problem.constraints.rows if row.loop in chosen]


def _constraint_nodes(tree: Tree, rows: Sequence[ConstraintRow], lam: Array) -> dict[str, Array]:
    """J, h, the pull J^T lam, and the first and second rates J qd + ht, J qdd + bias."""
    graph, n = tree.graph, len(tree.qd)
    J = np.full((len(rows), n), graph.zero, dtype=object)
    for i, row in enumerate(rows):
        for k, x in row.J.items():
            J[i, k] = graph.one * x
    first, second = _product(J, tree.qd[:, None], graph)[:, 0], _product(J, tree.qdd[:, None], graph)[:, 0]
    return {
        "J": J,
        "h": node_array([graph.zero if row.h is None else row.h for row in rows], graph),
        "pull": _product(J.T, lam[:, None], graph)[:, 0] if rows else node_array([], graph),
        "velocity": node_array([x + row.ht for x, row in zip(first, rows)], graph),
        "acceleration": node_array([x + row.bias for x, row in zip(second, rows)], graph),
    }


def with_state_space(mech: Mechanism, equations: LinearEquations) -> System:
    """The System of the matrices, with K, U and the state space A, B_ss, C, D added symbolically.

    Driven joints are held.
    """
    system = equations.system
    graph, out = system.graph, dict(system.outputs)
    nz, nu = len(equations.internal), len(equations.inputs)
    m = {name: out.get(name, np.full(shape, graph.zero, dtype=object)) for name, shape in equations.shapes.items()}
    m["K"], m["U"] = m["K1"] + m["K2"], m["U1"] + m["U2"]
    f = [k for k in range(len(equations.labels)) if k not in equations.driven]
    ff = np.ix_(f, f)
    right = np.hstack([m["K"][ff], m["B"][ff], m["F"][f], m["U"][f]])
    solved = -node_array(solve_ldlt(ldlt(m["M"][ff], "from_last"), right), graph)
    nf = len(f)
    accelerations, by_input = solved[:, : 2 * nf + nz], solved[:, 2 * nf + nz :]
    one = node_array(np.eye(nf, dtype=int).tolist(), graph).reshape(nf, nf)
    none = np.full((nf, nf + nz + nu), graph.zero, dtype=object)
    turning = node_array(transport(mech, system.inputs["qd"])[ff], graph).reshape(nf, nf)
    first = np.hstack([turning, one, none[:, :nz]])
    last = np.hstack([m["Zq"][:, f], m["Zv"][:, f], m["Zz"]])
    through = m["Ca"][:, f]
    made = {
        "K": m["K"],
        "U": m["U"],
        "A": np.vstack([first, accelerations, last]),
        "B_ss": np.vstack([none[:, :nu], by_input, m["Zu"]]),
        "C": np.hstack([m["Cq"][:, f], m["Cv"][:, f], m["Cz"]]) + _product(through, accelerations, graph),
        "D": m["Cu"] + _product(through, by_input, graph),
    }
    outputs = {**out, **{name: node_array(x, graph) for name, x in made.items() if x.size}}
    return system.replace(outputs=outputs)


def _product(a: Array, b: Array, graph: Any) -> Array:
    if not a.size or not b.size:
        return np.full((a.shape[0], b.shape[1]), graph.zero, dtype=object)
    return node_array(matmul(a, b), graph).reshape(a.shape[0], b.shape[1])


def _spans(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum(sizes)
    return [slice(int(e) - s, int(e)) for s, e in zip(sizes, ends)]


def _parameter(problem: Problem, name: str) -> Node:
    known = problem.mech.parameters
    if name not in known:
        raise NameLookupError(f"{problem.mech.name} has no parameter {name!r} to vary. {nearest(name, known)}")
    node: Node = problem.tree.node(known[name])
    return node


def _system(problem: Problem, outputs: dict[str, Array], lam: Array) -> System:
    tree = problem.tree
    inputs: dict[str, Array] = {"q": tree.q, "qd": tree.qd, "qdd": tree.qdd, "tau": tree.tau}
    inputs |= {**problem.inputs, **problem.states, **problem.modes, "multipliers": lam}
    nodes = [x for a in outputs.values() for x in a.flat]
    time = [s for s in free_symbols(nodes) if s.data.role == "time"]
    if time:
        inputs["t"] = node_array(time[0], tree.graph)
    return System(
        f"{identifier(tree.mechanism.name)}_linear",
        inputs={name: a for name, a in inputs.items() if a.size},
        outputs=outputs,
        origins=dict.fromkeys(outputs, "linearised equations of motion, SYMOFROS 2.2.3"),
    )
