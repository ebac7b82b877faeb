"""Pullbacks: w^T dF of the maps of a run (rates, steps, projections, guards, resets) as Systems, by reverse
accumulation.

What a map reads is gathered in groups: states x, time t, step length h, signals u, and the rest m, which does not
change during a run: parameters. Where many parameters enter through few combinations of them (`setup` values), the
adjoints are gathered at these combinations, and brought to the parameters once at the end: so a run costs the same for
six parameters and for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from symbody.basics.memory import memory_of
from symbody.motion.flow.flow import Flow
from symbody.motion.march.adjoint import WEIGHT
from symbody.motion.march.march_ports import STEP_LENGTH
from symbody.symbolic.expr.derivative import jacobian, pullback
from symbody.symbolic.expr.node import BOUND, CONST, SYMBOL, Node
from symbody.symbolic.expr.walk import topological
from symbody.symbolic.system.system import System, node_array


@dataclass(frozen=True, eq=False)
class Pullback:
    """w^T dF as a System: inputs those of F and WEIGHT (n,); outputs of those groups that are not empty.

    groups   name of an output -> its size: "gx", "gt", "gh", "gu", "gm"
    chain    parameters -> (nm, np) derivative of the combinations m by all parameters, as a System of one output
             "chain"; None where m are the parameters themselves
    names    the parameters that `chain`'s columns (or m) mean: (name, index) each
    """

    system: System
    groups: Mapping[str, int]
    chain: System | None
    names: tuple[tuple[str, int], ...]


def pulled(
    flow: Flow,
    system: System,
    nodes: Sequence[Node],
    label: str,
    chosen: Sequence[tuple[str, int]] | None = None,
    lean: bool = False,
) -> Pullback:
    """The pullback of the map (t, x, u, parameters) -> nodes, whose System has the inputs.

    chosen   parameters and constant signals that m stands for, one by one; None: the combinations of all parameters
    lean     only gx and gm
    """
    graph = system.graph
    inputs = dict(system.inputs)
    weights = [graph.symbol(f"{WEIGHT}{k + 1}", "input", scope="pullback") for k in range(len(nodes))]
    groups: dict[str, list[Node]] = {
        "gx": [s for n in flow.states for s in _symbols(inputs, n, flow, graph)],
        "gt": list(inputs["t"].flat) if "t" in inputs else [],
        "gh": list(inputs[STEP_LENGTH].flat) if STEP_LENGTH in inputs else [],
        "gu": [s for n in flow.signals for s in _symbols(inputs, n, flow, graph)],
    }
    names = _parameter_names(system)
    symbols = {(n, k): system.parameters[n].flat[k] for n, k in names}
    if chosen is not None:
        names = tuple(chosen)
        symbols |= {(n, k): inputs[n].flat[k] for n in flow.signals if n in inputs for k in range(inputs[n].size)}
        groups["gm"] = [symbols.get(key, graph.zero) for key in names]
    else:
        groups["gm"] = combinations(nodes, [s for a in inputs.values() for s in a.flat])
    if lean:
        groups = {n: groups[n] for n in ("gx", "gm")}
    variables = [v for part in groups.values() for v in part if v.op is not CONST]
    found = dict(zip(variables, pullback(list(nodes), weights, variables), strict=True))
    outputs = {n: node_array([found.get(v, graph.zero) for v in part], graph) for n, part in groups.items() if part}
    made = System(
        f"{system.name}_{label}",
        inputs={**inputs, WEIGHT: node_array(weights, graph)},
        outputs=outputs,
        parameters=system.parameters,
        defaults=system.defaults,
    )
    chain = None
    if chosen is None and groups["gm"] and names:
        matrix = jacobian(groups["gm"], [symbols[key] for key in names])
        chain = System(
            f"{system.name}_{label}_chain",
            inputs={},
            outputs={"chain": node_array(matrix.reshape(-1), graph)},
            parameters=system.parameters,
            defaults=system.defaults,
        )
    return Pullback(made, {n: len(part) for n, part in groups.items() if part}, chain, names)


def _symbols(inputs: Mapping[str, np.ndarray], name: str, flow: Flow, graph: object) -> list[Node]:
    """Symbols of a state or signal; where the map does not read it, zeros in their places."""
    if name in inputs:
        return list(inputs[name].flat)
    return [flow.rates.graph.zero] * flow.rates.inputs[name].size


def _parameter_names(system: System) -> tuple[tuple[str, int], ...]:
    return tuple((n, k) for n, a in system.parameters.items() for k in range(a.size))


def combinations(nodes: Sequence[Node], inputs: Sequence[Node]) -> list[Node]:
    """Where parameters enter: nodes of parameters and constants alone that others read, in order of their making."""
    own = set(inputs)
    order = topological(nodes)
    still: set[Node] = set()  # of parameters and constants alone
    for node in order:
        if node.op is SYMBOL:
            if node not in own and not node.flags & BOUND:
                still.add(node)
        elif not node.flags & BOUND and all(a in still for a in node.args):
            still.add(node)
    found: dict[Node, None] = {}
    for node in order:
        if node in still:
            continue
        for a in node.args:
            if a in still and a.op is not CONST:
                found[a] = None
    for node in nodes:
        if node in still and node.op is not CONST:
            found[node] = None
    return list(found)


def rates_pullback(flow: Flow, chosen: Sequence[tuple[str, int]] | None = None, lean: bool = False) -> Pullback:
    """Pullback of x' = f(t, x, u)."""
    key = None if chosen is None else tuple(chosen)

    def make() -> Pullback:
        rates = flow.rates
        nodes = [x for n in flow.states for x in rates.output(rates.states[n]).flat]
        return pulled(flow, rates, nodes, "pullback", chosen, lean)

    return memory_of(flow).get("rates_pullback", (key, lean), make)


def plain_rows(flow: Flow) -> tuple[np.ndarray, np.ndarray]:
    """(live, copied): rows of the rates that need computing; (nx,) the state that a rate just is, or -1."""
    rates = flow.rates
    nodes = [x for n in flow.states for x in rates.output(rates.states[n]).flat]
    place = {s: k for k, s in enumerate(s for n in flow.states for s in rates.inputs[n].flat)}
    copied = np.array([place.get(x, -1) for x in nodes], dtype=np.int64)
    still = [x.op is CONST for x in nodes]
    return np.array([k for k in range(len(nodes)) if copied[k] < 0 and not still[k]], dtype=np.int64), copied


def projection_pullback(
    flow: Flow, chosen: Sequence[tuple[str, int]] | None = None, lean: bool = False
) -> Pullback | None:
    """Pullback of the projection as a map of the whole state: what it does not correct passes through."""
    project = flow.project
    if project is None:
        return None
    key = None if chosen is None else tuple(chosen)

    def make() -> Pullback:
        assert project is not None
        nodes = [x for n in flow.states for x in (project.outputs.get(n, project.inputs[n])).flat]
        return pulled(flow, project, nodes, "pullback", chosen, lean)

    return memory_of(flow).get("projection_pullback", (key, lean), make)
