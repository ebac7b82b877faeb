"""Relations between the columns of a regressor at random states: a check by numbers, and what is left to find."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from symbody.mechanics.formalisms.regressor import regressor
from symbody.mechanics.formalisms.tree import Tree
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.node import Node

EXACT = 1e-12  # a coefficient this close to a simple fraction is taken to be it
LARGEST = 64  # denominator of a simple fraction
NEW = (1e-3, 1e-5)  # share of a column that is new to those before it, asked for first, and then


def random_regressor(
    tree: Tree, values: Callable[[list[Node]], dict[Node, float]], unknowns: int, seed: int = 0
) -> np.ndarray:
    """Y at random states, stacked: (states * nv, p), with at least twice as many rows as unknowns."""
    y = regressor(tree)
    nodes = as_nodes([tree.graph.zero, *y.flat])[1:]
    nv = len(tree.qd)
    states = 2 * unknowns // max(nv, 1) + 10
    at: dict[Any, Any] = {**values(nodes), **random_state(tree, states, np.random.default_rng(seed))}
    found = evaluate(nodes, at)
    out = np.zeros((states, *y.shape))
    for k, value in enumerate(found):
        out[:, k // y.shape[1], k % y.shape[1]] = value  # numbers broadcast over the states
    return out.reshape(-1, y.shape[1])


def random_state(tree: Tree, states: int, rng: np.random.Generator) -> dict[Node, np.ndarray]:
    """Coordinates, speeds and accelerations of unit size; quaternions of unit length."""
    out = {s: rng.uniform(-np.pi, np.pi, states) for s in tree.q}
    out.update({s: rng.uniform(-1, 1, states) for s in (*tree.qd, *tree.qdd)})
    for link in tree.links:
        if len(link.quaternion):
            quaternion = rng.normal(size=(4, states))
            out.update(zip(link.quaternion, quaternion / np.linalg.norm(quaternion, axis=0)))
    return out


class SingularGap(NamedTuple):
    """How many singular values of columns of unit length count, the last that does and the next, by the largest."""

    rank: int
    last: float
    next: float

    @property
    def gap(self) -> float:
        """The last that counts by the next; where all count, by what rounding leaves."""
        return self.last / max(self.next, float(np.finfo(float).eps))


def singular_gap(y: np.ndarray, tolerance: float) -> SingularGap:
    """Rank and gap of the nonzero columns of y (rows, p): singular values above `tolerance` times the largest count."""
    size = np.linalg.norm(y, axis=0)
    s = np.linalg.svd(y[:, size > 0] / size[size > 0], compute_uv=False)
    if not len(s):
        return SingularGap(0, 1.0, 0.0)
    s = s / s[0]
    rank = int(np.sum(s > tolerance))
    return SingularGap(rank, float(s[rank - 1]), float(s[rank]) if rank < len(s) else 0.0)


def greedy_relations(y: np.ndarray, tolerance: float) -> tuple[list[tuple[int, dict[int, float]]], float]:
    """([(dependent column, weights of independent columns)], condition of the independent ones).

    Columns are scaled to unit length; how many are independent is the number of singular values above `tolerance`
    times the largest. Which ones: from left to right those of which a share of `NEW` at least is new, then, where that
    are too few, those of which less is. A column that is new by 1e-6 only would make weights of 1e6.
    """
    size = np.linalg.norm(y, axis=0)
    unit = y / np.where(size > 0, size, 1.0)
    singular = np.linalg.svd(unit, compute_uv=False) if unit.size else np.ones(1)
    rank = int(np.sum(singular > tolerance * singular[0])) if unit.size else 0
    if rank == y.shape[1]:
        return [], float(singular[0] / singular[-1])
    kept = _independent(unit, rank, tolerance)
    found: list[tuple[int, dict[int, float]]] = []
    rest = sorted(set(range(y.shape[1])) - set(kept))
    every = np.linalg.lstsq(unit[:, kept], unit[:, rest], rcond=None)[0].T if kept else np.zeros((len(rest), 0))
    for k, weights in zip(rest, every, strict=True):
        # once more with those that matter alone: their rounding is smaller
        used = [j for j, w in zip(kept, weights) if abs(w) > tolerance]
        weights = np.linalg.lstsq(unit[:, used], unit[:, k], rcond=None)[0] if used else np.zeros(0)
        found.append((k, {j: float(w * size[k] / size[j]) for j, w in zip(used, weights)}))
    singular = np.linalg.svd(unit[:, kept], compute_uv=False) if kept else np.ones(1)
    return found, float(singular[0] / singular[-1])


def _independent(unit: np.ndarray, rank: int, tolerance: float) -> list[int]:
    """At most `rank` columns that are independent, in their order."""
    kept: list[int] = []
    basis = np.zeros((unit.shape[0], 0))
    for share in (*(x for x in NEW if x > tolerance), tolerance):
        for k in sorted(set(range(unit.shape[1])) - set(kept)):
            if len(kept) == rank:
                return sorted(kept)
            rest = unit[:, k]
            for _ in range(2):  # twice is enough for orthogonality
                rest = rest - basis @ (basis.T @ rest)
            length = float(np.linalg.norm(rest))
            if length > share:
                kept.append(k)
                basis = np.column_stack([basis, rest / length])
    return sorted(kept)


def rounded(x: float) -> int | float | Fraction:
    """The simple fraction that a number is, if it is one to 1e-12."""
    near = Fraction(x).limit_denominator(LARGEST)
    if abs(x - near) > EXACT * max(1.0, abs(x)):
        return x
    return near.numerator if near.denominator == 1 else near
