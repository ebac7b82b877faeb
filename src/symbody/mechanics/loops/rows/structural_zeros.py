"""Entries of constraints that are zero in every configuration, though their expressions do not show it.

Constant rotations of frames leave rounding such as 2e-17 sin(q), and sines and cosines of several angles may cancel.
Such entries are seen at random configurations with random parameters: what vanishes there vanishes everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from symbody.basics.errors import SymbodyError
from symbody.mechanics.assembly.constraints import ConstraintRow
from symbody.mechanics.formalisms.frame_kinematics import normalised
from symbody.mechanics.formalisms.tree import Tree
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols

POINTS = 3
ZERO = 1e-13  # relative to the largest value of its kind: rounding of a few operations


def without_zeros(tree: Tree, rows: list[ConstraintRow]) -> list[ConstraintRow]:
    """The rows with exact zeros in place of what always vanishes."""
    slots = [(k, i, x) for k, row in enumerate(rows) for i, x in row.J.items()]
    nodes: list[Any] = [x for _, _, x in slots] + [row.h for row in rows]
    values = _at_random(tree, nodes)
    if values is None:
        return rows
    size = max(1.0, float(np.abs(values[: len(slots)]).max(initial=0.0)))
    small = np.abs(values).max(axis=1) < ZERO * size
    out = []
    for k, row in enumerate(rows):
        J = {i: x for n, (j, i, x) in enumerate(slots) if j == k and not small[n]}
        h = 0 if small[len(slots) + k] else row.h
        out.append(replace(row, J=J, h=h, bias=row.bias if J else 0))
    return out


def _at_random(tree: Tree, nodes: list[Any]) -> np.ndarray | None:
    """(n, POINTS) values of nodes and numbers; None where they cannot be had."""
    rng = np.random.default_rng(0)
    table: dict[Any, Any] = {}
    q = np.array([normalised(tree, rng.normal(size=len(tree.q))) for _ in range(POINTS)], dtype=float)
    table.update(zip(tree.q, q.T.reshape(len(tree.q), POINTS), strict=True))
    real = [n for n in nodes if isinstance(n, Node)]
    for s in free_symbols(real):
        if s not in table:
            typical = abs(s.data.default) if s.data.default else 1.0
            table[s] = typical * rng.uniform(0.5, 1.5, POINTS)
    try:
        found = iter(evaluate(real, table) if real else [])
    except (SymbodyError, ArithmeticError, TypeError, ValueError):
        return None
    out = np.array([np.broadcast_to(next(found) if isinstance(n, Node) else float(n), POINTS) for n in nodes])
    return out.reshape(len(nodes), POINTS) if np.isfinite(out.astype(float)).all() else None
