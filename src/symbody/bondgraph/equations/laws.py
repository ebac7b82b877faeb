"""Laws of elements over expressions: co-energies of storages, products with moduli and their inverses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from symbody.bondgraph.graph.bond_graph import Element
from symbody.symbolic.expr.arrays import is_zero
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.lu import solve_lu
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import substitute


def coenergies(e: Element, x: Sequence[Node]) -> list[Node]:
    """z of the energies x of a storage: by its law, or its modulus M by z = M^-1 x."""
    if e.law is not None:
        return substitute(e.law.results, dict(zip(e.law.arguments, x, strict=True)))
    return quotients(e.matrix(len(x)), x)


def products(matrix: np.ndarray, vector: Sequence[Node]) -> list[Node]:
    """matrix @ vector."""
    return [dot(row, vector) for row in matrix]


def quotients(matrix: np.ndarray, vector: Sequence[Node]) -> list[Node]:
    """matrix^-1 @ vector."""
    n = len(vector)
    if all(is_zero(matrix[i, j]) for i in range(n) for j in range(n) if i != j):
        return [v / matrix[k, k] for k, v in enumerate(vector)]
    zero = vector[0].graph.zero
    return [zero + x for x in solve_lu(matrix, np.array(list(vector), dtype=object))]


def dot(a: Iterable[Any], b: Sequence[Node]) -> Node:
    """Sum of products; zero coefficients make no operations."""
    total: Any = 0
    for c, v in zip(a, b):
        if not is_zero(c):
            total = c * v if total.__class__ is int else total + c * v
    return b[0].graph.zero if total.__class__ is int and len(b) else total


def slopes(f: Sequence[Node], x: Sequence[Node]) -> np.ndarray:
    """(f, x) Jacobian, also where one of them is empty."""
    if not f or not x:
        return np.full((len(f), len(x)), 0, dtype=object)
    made: np.ndarray = np.asarray(jacobian(f, x), dtype=object).reshape(len(f), len(x))
    return made
