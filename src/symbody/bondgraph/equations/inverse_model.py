"""Inverse models: which inputs make the outputs follow what is asked of them.

On the graph a detector becomes a source of both effort and flow (its value, and no power), and the source a place where
both are found: bonds on the way between carry both from the detector to the source, bicausally. It can be done where
every output can be paired with an input by causal paths that do not disturb each other; in equations, where the
outputs, differentiated until inputs appear, have an invertible matrix of inputs (vector relative degree).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.basics.errors import ModelError
from symbody.bondgraph.causality.causal_loops import bond_graph_edges
from symbody.bondgraph.causality.causality import PreparedGraph, granted, prepare
from symbody.bondgraph.causality.scalars import residues
from symbody.bondgraph.causality.strokes import strokes_for
from symbody.bondgraph.equations.state_equations import StateEquations, arrays_of, write_equations
from symbody.bondgraph.graph.bond_graph import BondGraph
from symbody.bondgraph.graph.flat import effort, flow
from symbody.mechanics.proof.modular import rank
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.lu import solve_linear
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols, substitute
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.system import System


@dataclass(frozen=True, eq=False)
class Inverse:
    """An inverse model.

    system    inputs: the highest derivative of each output that is asked for, <output>_d<r> (itself if r = 0);
              outputs: the inputs of the graph. Its states are those of the graph and start where the graph starts.
    degrees   output -> r, how often it is differentiated
    lines     (input, output) -> numbers of the bonds that carry both effort and flow
    """

    graph: BondGraph
    system: System
    degrees: dict[str, int]
    lines: dict[tuple[str, str], tuple[int, ...]]

    def __repr__(self) -> str:
        found = ", ".join(f"{y} ({r} times)" for y, r in self.degrees.items())
        return f"Inverse of {self.graph.name}: differentiates {found}"


def inverse(graph: BondGraph, optimize: str = "standard") -> Inverse:
    """The inverse model of a graph with as many detectors as inputs."""
    made = write_equations(graph)
    u, y = made.inputs, made.outputs
    if len(u) != len(y) or not u:
        raise ModelError(
            f"{graph.name} has {len(u)} inputs and {len(y)} detectors; an inverse needs as many of both, and some."
        )
    degrees, right = _differentiated(made)
    matrix = jacobian(right, list(u.values()))
    values = np.array(residues(list(matrix.flat), graph.graph), dtype=object).reshape(matrix.shape)
    if rank(values) < len(u):
        raise ModelError(
            f"{graph.name} has no inverse by bicausality: the causal paths from {', '.join(u)} to {', '.join(y)} share "
            "their way, so that outputs cannot be asked for independently. Choose other detectors."
        )
    if set(u.values()) & set(free_symbols(matrix.flat)):
        raise ModelError(f"{graph.name} is not linear in its inputs; the inverse is not a formula.")
    g = graph.graph
    names = {n: n if r == 0 else f"{n}_d{r}" for n, r in degrees.items()}
    asked = {names[n]: g.symbol(names[n], "input", scope="asked") for n in y}
    rest = substitute(right, dict.fromkeys(u.values(), g.zero))
    found = solve_linear(matrix, [a - b for a, b in zip(asked.values(), rest)])
    put = dict(zip(u.values(), found, strict=True))
    rates = substitute(list(made.rates.values()), put)
    outputs = {**{f"{n}_dot": r for n, r in zip(made.rates, rates)}, **dict(zip(u, found))}
    used = set(free_symbols(outputs.values()))
    t = g.symbol("t", "time")
    inputs = {**made.x, **({"t": t} if t in used else {}), **asked}
    system = System(
        f"{graph.name}_inverse", arrays_of(inputs), arrays_of(outputs), states={n: f"{n}_dot" for n in made.rates}
    )
    lines = {(a, b): _line(graph, a, b) for a, b in _pairs(values, list(u), list(y))}
    return Inverse(graph, optimize_system(system, optimize), degrees, lines)


def _differentiated(made: StateEquations) -> tuple[dict[str, int], list[Node]]:
    """How often each output is differentiated until an input appears, and what is found then."""
    x, u = list(made.x.values()), set(made.inputs.values())
    rates = list(made.rates.values())
    degrees, right = {}, []
    for name, node in made.outputs.items():
        r = 0
        while not _reads(node, u, made):
            r += 1
            if r > len(x):
                raise ModelError(f"{made.graph.name}: no input reaches {name!r}; it cannot be asked for.")
            slopes = jacobian([node], x)[0]
            node = sum((a * b for a, b in zip(slopes, rates)), made.graph.graph.zero)
        degrees[name] = r
        right.append(node)
    return degrees, right


def _reads(node: Node, u: set[Node], made: StateEquations) -> bool:
    own = [s for s in free_symbols([node]) if s in u]
    return bool(own) and any(residues(list(jacobian([node], own)[0]), made.graph.graph))


def _pairs(values: np.ndarray, u: list[str], y: list[str]) -> list[tuple[str, str]]:
    """Each input with the output that it is found from: a transversal of the matrix of inputs."""
    from scipy.optimize import linear_sum_assignment

    i, j = linear_sum_assignment(np.array([[0 if v else 1 for v in row] for row in values]))
    return [(u[b], y[a]) for a, b in zip(i, j)]


def _line(graph: BondGraph, source: str, detector: str) -> tuple[int, ...]:
    """Bonds of a shortest causal path from a source to a detector, elements on the way answering at once."""
    ready: PreparedGraph = prepare(graph)
    choice = granted(ready, "integral")
    board = strokes_for(ready.flat, choice.gives)
    if board is None:
        return ()
    edges = {v: set(after) for v, after in bond_graph_edges(ready.flat, board).items()}
    for p in ready.ports:  # through an element: what it receives makes what it gives
        if p.kind in ("I", "C", "R", "Sw"):
            e, f = effort(p.bond), flow(p.bond)
            edges[f if choice.gives[p.index] == "e" else e].add(e if choice.gives[p.index] == "e" else f)
    by = {p.label: p for p in ready.ports}
    first, last = by[source], by[detector]
    start = effort(first.bond) if first.kind == "Se" else flow(first.bond)
    goal = effort(last.bond) if last.kind == "De" else flow(last.bond)
    came: dict[int, int] = {start: -1}
    waiting = [start]
    while waiting and goal not in came:
        after = []
        for v in waiting:
            for w in sorted(edges[v]):
                if w not in came:
                    came[w] = v
                    after.append(w)
        waiting = after
    if goal not in came:
        return ()
    way: list[int] = []
    v = goal
    while v != -1:
        way.append(ready.flat.ends[v // 2][0])
        v = came[v]
    return tuple(dict.fromkeys(n for n in reversed(way) if n))
