"""Choice of dependent coordinates from numbers of J at closed configurations (robotran 3.12, item 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def numeric_choice(J: np.ndarray) -> list[int]:
    """Columns of scaled samples (k, m, n) that make J_v well conditioned at all of them.

    QR with column pivoting of each sample proposes m columns; the set with the largest smallest singular value over all
    samples wins.
    """
    from scipy.linalg import qr

    m = J.shape[1]
    best, chosen = -1.0, list(range(m))
    for sample in J:
        order = qr(sample, mode="r", pivoting=True)[1]
        columns = sorted(int(j) for j in order[:m])
        worst = min(float(np.linalg.svd(x[:, columns], compute_uv=False)[-1]) for x in J) if m else 1.0
        if worst > best * (1 + 1e-9):
            best, chosen = worst, columns
    return chosen


def pivots_of(J: np.ndarray, rank: int, columns: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(rows, columns) of scaled J (m, n) that elimination with complete pivoting meets, ascending: `rank` of each."""
    a = J[:, list(columns)].copy()
    rows, chosen = [], []
    for _ in range(rank):
        r, c = divmod(int(np.argmax(np.abs(a))), a.shape[1])
        rows.append(r)
        chosen.append(columns[c])
        if a[r, c] != 0:
            a -= np.outer(a[:, c], a[r]) / a[r, c]
        a[r], a[:, c] = 0, 0
    return tuple(sorted(rows)), tuple(sorted(chosen))
