"""Algebraic relations between states: combinations of storages whose rates cancel whatever happens (thesis II.III.4.c).

Rows y with y [S11 S13] = 0 are conserved quantities: a sum of momenta that no element changes. Their smallest supports
(circuits of the row matroid) say which storages are bound; with the columns of a source, which it cannot move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from symbody.mechanics.proof.modular import left_null_space, rank, reduced
from symbody.mechanics.proof.prime_field import P

MOST = 20


@dataclass(frozen=True)
class AlgebraicRelation:
    """States whose rates are bound: labels, and the coefficients modulo the prime, the first one 1."""

    states: tuple[str, ...]
    coefficients: tuple[int, ...]

    def __str__(self) -> str:
        return "{" + ", ".join(self.states) + "}"

    __repr__ = __str__


def relations(rows: np.ndarray, labels: Sequence[str], most: int = MOST) -> list[AlgebraicRelation]:
    """Relations of smallest support among the rows of a matrix, the smallest first; they span all of them."""
    null = left_null_space(rows)
    if not len(null):
        return []
    n = null.shape[1]
    found: dict[tuple[int, ...], np.ndarray] = {}
    for start in range(n):  # every order of states that begins elsewhere gives other fundamental circuits
        for order in (np.roll(np.arange(n), -start), np.roll(np.arange(n)[::-1], start)):
            made, _ = reduced(null[:, order])
            back = np.empty_like(made)
            back[:, order] = made
            for v in back:
                found.setdefault(tuple(int(k) for k in np.flatnonzero(v)), v)
        if len(found) > 20 * most:
            break
    sizes = sorted(found, key=lambda support: (len(support), support))
    smallest = [s for s in sizes if not any(set(o) < set(s) for o in sizes)]
    kept: list[tuple[int, ...]] = []
    span = np.full((0, n), 0, dtype=object)
    for s in smallest:  # those that are needed to span come in any case
        wider = np.concatenate([span, found[s][None]])
        new = rank(wider) > len(span)
        if new:
            span = wider
        if new or len(kept) < most:
            kept.append(s)
    return [_record(found[s], s, labels) for s in kept]


def _record(v: np.ndarray, support: tuple[int, ...], labels: Sequence[str]) -> AlgebraicRelation:
    scale = pow(int(v[support[0]]), -1, P)
    return AlgebraicRelation(tuple(labels[k] for k in support), tuple(int(v[k]) * scale % P for k in support))
