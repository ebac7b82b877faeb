"""Choice of dependent coordinates from numbers of J at closed configurations (robotran 3.12, item 1)."""

from __future__ import annotations

import numpy as np

from symbody.mechanics.assembly.redundancy import pivoted


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
