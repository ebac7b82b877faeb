"""Rates of the states, those of dependent storages by the chain rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbody.basics.errors import ModelError
from symbody.bondgraph.causality.scalars import residues
from symbody.bondgraph.equations.laws import dot
from symbody.bondgraph.equations.writing import Writing
from symbody.bondgraph.graph.flat import ScalarPort
from symbody.bondgraph.graph.symbols import input_symbol, state_name
from symbody.mechanics.proof.modular import rank
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.lu import solve_lu
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols


def rates(w: Writing) -> dict[str, Node]:
    given = [*w.I, *w.R, *w.U]
    right = {p.index: w.received(p, given) for p in w.I}
    if not w.D:
        return {state_name(p): right[p.index] for p in w.I}
    xd = [w.xd[p.index] for p in w.D]
    free = set(free_symbols(xd))
    columns = [p for p in w.I if w.x[p.index] in free]
    slopes = jacobian(xd, [w.x[p.index] for p in columns]) if columns else np.zeros((len(xd), 0), dtype=object)
    own = explicit_rates(w, xd, free)
    bound = [p for p in w.I if any(w.reads(p, d) for d in w.D)]
    push = np.array([[w.entry(p, d) for d in w.D] for p in bound], dtype=object)
    dx: dict[int, Node] = {p.index: right[p.index] for p in w.I if p not in bound}
    inside = [k for k, p in enumerate(columns) if p in bound]
    rest = [k for k, p in enumerate(columns) if p not in bound]
    known = list(own)
    for i in range(len(xd)):
        for k in rest:
            known[i] = known[i] + slopes[i, k] * dx[columns[k].index]
    if bound:
        place = {p.index: k for k, p in enumerate(bound)}
        matrix = np.full((len(bound), len(bound)), w.g.zero, dtype=object)
        vector = []
        for r, p in enumerate(bound):
            matrix[r, r] = w.g.one
            vector.append(right[p.index] + dot(push[r], known))
        for r in range(len(bound)):
            for k in inside:
                c = place[columns[k].index]
                matrix[r, c] = matrix[r, c] - dot(push[r], list(slopes[:, k]))
        check_rates(w, matrix, bound)
        for p, value in zip(bound, solve_lu(matrix, np.array(vector, dtype=object))):
            dx[p.index] = w.g.zero + value
    w.xd_dot = {
        d.index: known[i] + dot([slopes[i, k] for k in inside], [dx[columns[k].index] for k in inside])
        for i, d in enumerate(w.D)
    }
    return {state_name(p): dx[p.index] for p in w.I}


def check_rates(w: Writing, matrix: np.ndarray, bound: Sequence[ScalarPort]) -> None:
    if rank(np.array(residues(list(matrix.flat), w.g), dtype=object).reshape(matrix.shape)) < len(matrix):
        names = ", ".join(p.label for p in (*bound, *w.D))
        raise ModelError(
            f"{w.graph.name}: the storages {names} are bound to each other so that their rates cancel: no state "
            "equations exist. A negative modulus among them may be the reason."
        )


def explicit_rates(w: Writing, xd: Sequence[Node], free: set[Node]) -> list[Node]:
    """What changes dependent energies besides the storages: time, sources, integrals."""
    out = [w.g.zero for _ in xd]
    for symbol in sorted(free, key=lambda s: s.id):
        role, name = symbol.data.role, symbol.data.name
        if symbol in w.x.values() or role == "parameter":
            continue
        if role == "time":
            rate = w.g.one
        elif name in w.integral_rates:
            rate = w.integral_rates[name]
        else:
            rate = w.dots[symbol] = input_symbol(w.g, f"{name}_dot")
        slopes = jacobian(xd, [symbol])
        out = [a + slopes[i, 0] * rate for i, a in enumerate(out)]
    return out
