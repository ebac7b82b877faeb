"""A Flow in implicit form F(t, x, x', lam) = 0, for solvers of differential and algebraic equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.errors import NameLookupError, nearest
from symbody.motion.flow.flow import Flow
from symbody.motion.methods.implicit_step import RATE, Residual
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.system.system import System, node_array


def implicit_form(flow: Flow, residual: Residual | None = None) -> tuple[System, dict[str, str | None]]:
    """(system, states) as `IdaStepper` takes them: x' - f(t, x, u) of states in explicit form, a Residual as it is.

    Where a Residual has multipliers, they become algebraic states, and its constraints the equations for them: give
    constraints as accelerations (index 1), or as velocities (index 2).
    """
    if residual is not None and residual.velocities not in flow.states:
        raise NameLookupError(
            f"the residual is that of {residual.velocities!r}. {nearest(residual.velocities, flow.states)}"
        )
    rates = flow.rates
    with Graph() as graph:
        symbols = {n: _copied(graph, n, a) for n, a in rates.inputs.items()}
        slopes = {n: _copied(graph, n + RATE, rates.inputs[n]) for n in flow.states}
        states: dict[str, str | None] = {n: n + RATE for n in flow.states}
        found = _named(rates, rates.apply(**symbols))
        parts = {n: slopes[n] - found[rates.states[n]] for n in flow.states}
        inputs: dict[str, Any] = {**symbols, **{n + RATE: a for n, a in slopes.items()}}
        if residual is not None:
            given = {**symbols, residual.accelerations: slopes[residual.velocities]}
            if residual.multipliers is not None:
                name = residual.multipliers
                given[name] = inputs[name] = _copied(graph, name, residual.system.inputs[name])
                states[name] = None
            balance = _named(residual.system, residual.system.apply(**{n: given[n] for n in residual.system.inputs}))
            own = np.array(balance[residual.equations], dtype=object)
            for i in residual.explicit:
                own[i] = parts[residual.velocities][i]
            parts[residual.velocities] = own
            if residual.constraints is not None:
                parts[residual.constraints] = balance[residual.constraints]
        rows = [x for part in parts.values() for x in np.array(part, dtype=object).flat]
        system = System(f"{rates.name}_implicit", inputs=inputs, outputs={"residual": node_array(rows, graph)})
    return system, states


def _copied(graph: Graph, name: str, like: np.ndarray) -> np.ndarray:
    out = np.empty(like.shape, dtype=object)
    for k in range(out.size):
        out.flat[k] = graph.symbol(f"{name}_{k + 1}" if like.shape else name, "input")
    return out


def _named(system: System, found: Any) -> dict[str, np.ndarray]:
    if len(system.outputs) == 1:
        found = {next(iter(system.outputs)): found}
    return {n: np.array(a, dtype=object) for n, a in found.items()}
