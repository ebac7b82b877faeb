"""Rows of couplings: gears, prescribed relations, user functions, rolling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from symbody.mechanics.assembly.constraints import ConstraintRow
from symbody.mechanics.formalisms.frame_kinematics import kinematic_map
from symbody.mechanics.formalisms.tree import Tree
from symbody.model.record.couplings import coordinate_names
from symbody.model.record.mechanism import Coupling
from symbody.symbolic.expr.arrays import Array, is_zero, matmul, sum_of_products
from symbody.symbolic.expr.derivative import jacobian, jvp
from symbody.symbolic.expr.evaluate import transplant
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols, substitute


def coupling_rows(tree: Tree, coupling: Coupling) -> Iterator[ConstraintRow]:
    """The one row of a coupling, differentiated symbolically; external functions bring their own derivatives."""
    e = expression_on_tree(tree, coupling.expression)
    q_dot = matmul(kinematic_map(tree), tree.qd)
    time = next((s for s in free_symbols([e]) if s.data.role == "time"), None)
    switch = f"s_{coupling.name}" if coupling.switched else None
    if coupling.kind == "velocity":
        slopes = _columns(jacobian([e], list(tree.qd))[0])
        rest: Any
        rest = substitute([e], dict.fromkeys(tree.qd, 0))[0]
        h, rate, unit = None, e, "1/s"
    else:
        by_q = jacobian([e], list(tree.q))[0]
        slopes = _columns(matmul(np.asarray(by_q, dtype=object), kinematic_map(tree)))
        rest = jacobian([e], [time])[0][0] if time is not None else 0
        h, unit = e, "1"
        rate = sum_of_products([(1, rest), *((x, tree.qd[i]) for i, x in slopes.items())])
    bias = _derivative(rate, tree, q_dot, time)
    meaning = f"effort of coupling {coupling.name!r}: joint i feels lam times dh/dq_i"
    yield ConstraintRow(coupling.name, coupling.name, h, slopes, rest, bias, switch, unit, meaning)


def expression_on_tree(tree: Tree, expression: Node) -> Any:
    """An expression of the Mechanism's Graph over q.<joint>, qd.<joint> as a node of the Tree's Graph."""
    table: dict[Node, Any] = {}
    named = coordinate_names(tree.mechanism)
    for s in free_symbols([expression]):
        if s.data.role not in ("coordinate", "velocity"):
            table[s] = tree.node(s)
            continue
        places, values = (named[0], tree.q) if s.data.role == "coordinate" else (named[1], tree.qd)
        stem, _, joint = s.data.name.partition(".")
        if s.data.name in places:
            table[s] = values[places[s.data.name]]
            continue
        mimic = tree.mechanism.joint(joint).mimic  # a follower: validation has seen that it is one
        assert mimic is not None
        table[s] = tree.node(mimic.ratio) * values[places[f"{stem}.{mimic.joint}"]]
        if stem == "q":
            table[s] = table[s] + tree.node(mimic.offset)
    return transplant([expression], table, tree.graph)[0]


def _columns(row: Any) -> dict[int, Any]:
    return {i: x for i, x in enumerate(row) if not is_zero(x)}


def _derivative(x: Any, tree: Tree, q_dot: Array, time: Node | None) -> Any:
    """dx/dt at qdd = 0."""
    if not isinstance(x, Node):
        return 0
    variables, directions = list(tree.q), [tree.graph.number(0) + d for d in q_dot]
    if time is not None:
        variables, directions = [*variables, time], [*directions, tree.graph.number(1)]
    return jvp([x], variables, directions)[0]
