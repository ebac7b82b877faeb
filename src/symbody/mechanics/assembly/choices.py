"""Which rows and dependent velocities suit a J best, by numbers alone: asked where a partition turns singular."""

from __future__ import annotations

import numpy as np

from symbody.mechanics.assembly.conditioning import Conditioning, RowChoice, last_values
from symbody.mechanics.assembly.redundancy import all_pivoted, independent_rows

CLEARLY = 1.1  # a choice by other means is taken where it is better by this factor


def best_choices(at: Conditioning, J: np.ndarray, whole: bool = False) -> list[tuple[RowChoice | None, float]]:
    """For each J (n, m, nv) the RowChoice with the best conditioned J_v that is found, and its smallest singular value.

    J: as `Conditioning.jacobian` gives them; None, 0.0 for one that has no choice. Rows and columns are chosen
    together: rows that are redundant on a branch need not be the same all along it. whole: the rows are to be
    independent, whatever is solved for. The numbers of all J are computed together.
    """
    rank, used = at.rank, np.asarray(J.any(axis=1))
    held = np.ones(J.shape[2], dtype=bool)
    held[at.free] = False
    used[:, held] = False
    good = np.isfinite(J).all(axis=(1, 2)) & (used.sum(axis=1) >= rank) & (J.shape[1] >= rank)
    out: list[tuple[RowChoice | None, float]] = [(None, 0.0)] * len(J)
    if not good.any():
        return out
    J, used = J[good], used[good]
    rows, columns = np.zeros((2, 2, len(J), rank), dtype=int)  # by QR, by elimination
    for inside in used[:1] if (used == used[0]).all() else np.unique(used, axis=0):
        same = np.flatnonzero((used == inside).all(axis=1))
        rows[0, same], columns[0, same] = _by_rotations(J[same], rank, np.flatnonzero(inside))
    rows[1], columns[1] = pivots_of(J, rank, used)
    parts = J[np.arange(len(J))[:, None, None], rows[..., None], columns[..., None, :]]
    sizes = last_values(parts.reshape(-1, rank, rank), rank).reshape(2, -1)
    which = (sizes[1] > CLEARLY * sizes[0]).astype(int) * (not whole)
    each = np.arange(len(J))
    chosen = zip(*(a[which, each].tolist() for a in (rows, columns, sizes)), strict=True)
    for place, (own, dependent, size) in zip(np.flatnonzero(good).tolist(), chosen, strict=True):
        out[place] = RowChoice(tuple(own), tuple(dependent)), size
    return out


def _by_rotations(J: np.ndarray, rank: int, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, rank) rows and columns of J (n, m, nv), ascending, that QR with pivoting takes; inside: columns it may."""
    if not rank:
        return np.zeros((len(J), 0), dtype=int), np.zeros((len(J), 0), dtype=int)
    every = J.shape[1] == rank
    rows = np.array([range(rank)] * len(J) if every else [independent_rows(one, rank) for one in J])
    parts = J[np.arange(len(J))[:, None, None], rows[:, :, None], inside]
    return rows, np.sort(inside[all_pivoted(parts)[:, :rank]])


def pivots_of(J: np.ndarray, rank: int, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, rank) rows and columns of scaled J (n, m, nv) that elimination with complete pivoting meets, ascending.

    used: (n, nv) columns that may be met, as many as `rank` at least.
    """
    a = np.where(used[:, None, :], J, 0.0)
    every, first = np.arange(len(J)), np.argmax(used, axis=1)
    rows, chosen = np.zeros((2, len(J), rank), dtype=int)
    for k in range(rank):
        r, c = np.divmod(np.argmax(np.abs(a).reshape(len(a), -1), axis=1), a.shape[2])
        c = np.where(a[every, r, c] != 0, c, first)
        rows[:, k], chosen[:, k] = r, c
        pivot = a[every, r, c]
        change = a[every, :, c][:, :, None] * a[every, r][:, None, :] / np.where(pivot != 0, pivot, 1.0)[:, None, None]
        a -= change
        a[every, r], a[every, :, c] = 0, 0
    return np.sort(rows), np.sort(chosen)
