"""What the reduction to independent coordinates costs, alone: the step between M, c, B and the reduced equations.

Counted (robotran 3.14, table 2.1): Mcal = M_uu + M_uv B + B^T (M_vu + M_vv B), its lower half, and Fcal = c'_u +
B^T c'_v, given M, B and c' as symbols. c' are the efforts at zero independent acceleration less the actuators', so M b'
is in them: the recursion that makes c takes b' in its place. That table's count with full matrices has no M b' either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.formulation import Choice
from symbody.mechanics.loops.equations.inverse import actuated_velocities
from symbody.mechanics.loops.equations.reduced import add, product, symmetric
from symbody.mechanics.loops.equations.tree_equations import opened
from symbody.mechanics.memoised.partitions import Chosen
from symbody.mechanics.verbs.closed_problem import closed_problem
from symbody.mechanics.verbs.system_of_tree import has_loops
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.arrays import Array, is_zero, transpose, zeros
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import CONST, Node
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.system import System


@dataclass(frozen=True)
class Reduction:
    """Sizes of a partition and operations (mul + add + div) of the reduction: as generated, and with full matrices."""

    independent: int
    dependent: int
    operations: int

    @property
    def dense(self) -> int:
        """2 u v (v + 2 u) + 3 u v + u^2: M_vv B, M_uv B, B^T of their sum, B^T c', and the sums."""
        u, v = self.independent, self.dependent
        return 2 * u * v * (v + 2 * u) + 3 * u * v + u * u


def reduction(mech: Mechanism, partition: Chosen = "auto", preset: str = "full") -> Reduction:
    """The cost of the reduction of a mechanism with loops.

    Entries of M, B and c' that are equal are one symbol; those that are 0 or +-1 by structure stay what they are.
    """
    if not has_loops(mech):
        raise ModelError(f"{mech.name} has no loops: there is nothing to reduce.")
    problem = closed_problem(mech, partition=partition)
    closure, tree = problem.closure(), problem.tree
    u, v = list(closure.u), list(closure.v)
    equations = opened(tree, Choice(grouping="base"))
    start = zeros(len(tree.qd))
    start[v] = closure.bias
    efforts = equations.efforts(start)
    for k in actuated_velocities(mech):
        efforts[k] = efforts[k] - tree.tau[k]
    graph = Graph("reduction")
    mass, B, c = (_symbols(graph, a, n) for a, n in ((equations.mass, "M"), (closure.B, "B"), (efforts, "c")))
    uu, uv, vv = mass[np.ix_(u, u)], mass[np.ix_(u, v)], mass[np.ix_(v, v)]
    mcal = symmetric(uu, uv, B, add(transpose(uv), product(vv, B)))
    fcal = add(c[u], product(transpose(B), c[v]))
    outputs = [x for x in (*mcal[np.tril_indices(len(u))], *fcal) if isinstance(x, Node)]
    symbols = {x: str(x) for a in (mass, B, c) for x in a.flat if isinstance(x, Node)}
    inputs = {name: np.array([x], dtype=object) for x, name in sorted(symbols.items(), key=lambda item: item[1])}
    system = System("reduction", inputs=inputs, outputs={"out": np.array(outputs, dtype=object)})
    return Reduction(len(u), len(v), optimize_system(system, preset).count().total)


def _symbols(graph: Graph, entries: Any, stem: str) -> Array:
    """The array with one symbol for each distinct entry."""
    known: dict[Any, Node] = {}
    out = np.empty(np.shape(entries), dtype=object)
    for i, x in enumerate(np.asarray(entries, dtype=object).flat):
        value = x.data if isinstance(x, Node) and x.op is CONST else x
        if is_zero(x) or value in (1, -1):
            out.flat[i] = 0 if is_zero(x) else int(value)
        else:
            out.flat[i] = known.setdefault(x, graph.symbol(f"{stem}{len(known)}"))
    return out
