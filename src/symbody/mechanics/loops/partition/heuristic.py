"""Choice of dependent coordinates from the pattern of J alone (robotran 3.12, item 2)."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from symbody.mechanics.loops.partition.structure import match


def sparse_choice(pattern: np.ndarray, barred: Collection[int] = ()) -> list[int]:
    """A column for each row of an (m, n) bool pattern, such that few rows share them; `barred` ones are not taken.

    Row by row the column j of least N_j, then least S_ij, then least j: N_j counts the entries of column j, S_ij those
    in rows that share another column with row i. Where rows are left over, a maximum matching completes the choice; -1
    for a row without any.
    """
    e = np.asarray(pattern, dtype=bool)
    m, n = e.shape
    counts = e.sum(axis=0)
    taken: dict[int, int] = {}
    for i in range(m):
        open_columns = [j for j in range(n) if e[i, j] and j not in taken and j not in barred]
        if open_columns:
            best = min(open_columns, key=lambda j: (counts[j], _shared(e, i, j), j))
            taken[best] = i
    out = [-1] * m
    for j, i in taken.items():
        out[i] = j
    return out if -1 not in out else _completed(e, out, barred)


def _shared(e: np.ndarray, i: int, j: int) -> int:
    """S_ij: rows k != i with an entry in column j that have an entry in another column of row i."""
    others = e[i].copy()
    others[j] = False
    return sum(bool(e[k, j]) and bool((e[k] & others).any()) for k in range(len(e)) if k != i)


def _completed(e: np.ndarray, chosen: list[int], barred: Collection[int]) -> list[int]:
    """Rows without a column take one by exchange, with as few columns beyond the chosen ones as possible."""
    allowed = e.copy()
    allowed[:, list(barred)] = False
    for extra in range(e.shape[1]):
        kept = sorted(j for j in chosen if j >= 0)
        columns = [*kept, extra]
        if extra in kept or extra in barred:
            continue
        found = match(allowed[:, columns])
        if (found >= 0).sum() > len(kept):
            chosen = [columns[c] if c >= 0 else -1 for c in found]
            if -1 not in chosen:
                return chosen
    return [int(j) for j in match(allowed)]
