"""What inputs reach and outputs show: exactly by Krylov's spaces modulo a prime, and on the structure digraph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.mechanics.proof.modular import product, rank, reduced
from symbody.mechanics.proof.prime_field import P


@dataclass(frozen=True, eq=False)
class ReachableSpace:
    """What a set of inputs reaches; of the transposed matrices, what outputs show.

    rank      dimension of the reachable space; `basis` (rank, n) spans it, reduced
    index     smallest k for which B, A B, ..., A^(k-1) B span it
    paths     longest shortest path from an input to a state, in edges: the structural index; 0: some state has none
    unreached places of states that no path reaches
    """

    rank: int
    size: int
    basis: np.ndarray
    index: int
    paths: int
    unreached: tuple[int, ...]

    @property
    def complete(self) -> bool:
        return self.rank == self.size


class ResidueEchelon:
    """A growing space of row vectors, modulo the prime."""

    def __init__(self, n: int) -> None:
        self.rows = np.full((0, n), 0, dtype=object)
        self.pivots: list[int] = []

    def add(self, v: np.ndarray) -> bool:
        """Whether the vector was new."""
        if self.pivots:
            v = (v - v[self.pivots] @ self.rows) % P
        at = np.flatnonzero(v)
        if not at.size:
            return False
        k = int(at[0])
        v = v * pow(int(v[k]), -1, P) % P
        if self.pivots:
            column = self.rows[:, k]
            hit = np.flatnonzero(column)
            if hit.size:
                self.rows[hit] = (self.rows[hit] - np.outer(column[hit], v)) % P
        self.rows = np.concatenate([self.rows, v[None]])
        self.pivots.append(k)
        return True


def krylov(A: np.ndarray, B: np.ndarray) -> tuple[ResidueEchelon, int]:
    """The space that columns of B span through A, and how many blocks it takes."""
    n = len(A)
    space, index = ResidueEchelon(n), 0
    links = [np.flatnonzero(row) for row in A]
    values = [row[k] for row, k in zip(A, links)]
    fresh = [B[:, k] for k in range(B.shape[1])]
    while fresh and len(space.pivots) < n:
        kept = [v for v in fresh if space.add(v)]
        if kept:
            index += 1
        fresh = [_times(links, values, v) for v in kept] if len(space.pivots) < n else []
    return space, index


def _times(links: list[np.ndarray], values: list[np.ndarray], v: np.ndarray) -> np.ndarray:
    """A v modulo the prime, A by its entries that are not zero."""
    out = np.empty(len(links), dtype=object)
    for i, (k, a) in enumerate(zip(links, values)):
        out[i] = int(a @ v[k]) % P if len(k) else 0
    return out


def reach(A: np.ndarray, B: np.ndarray) -> ReachableSpace:
    """What the columns of B reach through A."""
    space, index = krylov(A, B)
    distance = distances(A, B)
    apart = tuple(k for k, d in enumerate(distance) if d == 0)
    longest = 0 if apart or not len(A) else max(distance)
    return ReachableSpace(len(space.pivots), len(A), space.rows, index, longest, apart)


def distances(A: np.ndarray, B: np.ndarray) -> list[int]:
    """Edges of the shortest path from an input to each state in the structure digraph; 0: none."""
    n = len(A)
    after: list[list[int]] = [[int(i) for i in np.flatnonzero(A[:, j])] for j in range(n)]
    out = [0] * n
    front = [i for i in range(n) if any(B[i])]
    step = 1
    for i in front:
        out[i] = step
    while front:
        step += 1
        front = list(dict.fromkeys(i for j in front for i in after[j] if not out[i]))
        for i in front:
            out[i] = step
    return out


@dataclass(frozen=True)
class Kalman:
    """Dimensions of the four parts of Kalman's decomposition, and which storages span them on the graph.

    states   label -> "controllable and observable", "controllable", "observable" or "neither"
    """

    both: int
    controllable: int
    observable: int
    neither: int
    states: dict[str, str]


def kalman(
    forward: ReachableSpace, backward: ReachableSpace, labels: tuple[str, ...], dark: set[str], hidden: set[str]
) -> Kalman:
    """forward: what inputs reach; backward: what outputs show; dark, hidden: storages that they do not, causally."""
    n, r, o = forward.size, forward.rank, backward.rank
    # unobservable space: what the rows of the observable space annihilate
    blind = _null_space(backward.basis, n)
    both_sets = np.concatenate([forward.basis, blind]) if n else np.full((0, 0), 0, dtype=object)
    shared = r + (n - o) - (rank(both_sets) if both_sets.size else 0)
    words = {}
    for name in labels:
        c, s = name not in dark, name not in hidden
        words[name] = (
            "controllable and observable" if c and s else "controllable" if c else "observable" if s else "neither"
        )
    return Kalman(r - shared, shared, n - r - (n - o - shared), n - o - shared, words)


def _null_space(rows: np.ndarray, n: int) -> np.ndarray:
    """(n - rank, n): vectors v with rows v = 0."""
    if not len(rows):
        out = np.full((n, n), 0, dtype=object)
        for k in range(n):
            out[k, k] = 1
        return out
    made, pivots = reduced(rows)
    free = [k for k in range(n) if k not in pivots]
    out = np.full((len(free), n), 0, dtype=object)
    for i, k in enumerate(free):
        out[i, k] = 1
        for r, c in enumerate(pivots):
            out[i, c] = -made[r, k] % P
    return out


def output_controllable(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> int:
    """Rank of [C B, C A B, ..., D] (thesis, theorem I.1.4)."""
    space, _ = krylov(A, B)
    return rank(np.concatenate([product(C, space.rows.T), D], axis=1)) if len(C) else 0
