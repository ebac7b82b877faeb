"""Choice of dependent coordinates from numbers of J at closed configurations (robotran 3.12, item 1)."""

from __future__ import annotations

import numpy as np

from symbody.assembly.redundancy import pivoted


def numeric_choice(J: np.ndarray) -> list[int]:
    """Columns of scaled samples (k, m, n) that make J_v well conditioned at all of them.

    QR with column pivoting of each sample proposes m columns; the set with the largest smallest singular value over all
    samples wins.
    """
    m = J.shape[1]
    best, chosen = -1.0, list(range(m))
    for sample in J:
        columns = sorted(pivoted(sample)[:m])
        worst = min(float(np.linalg.svd(x[:, columns], compute_uv=False)[-1]) for x in J) if m else 1.0
        if worst > best * (1 + 1e-9):
            best, chosen = worst, columns
    return chosen


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
