"""Redundant constraints and singular configurations, from numbers of J at closed configurations."""

from __future__ import annotations

import numpy as np

RANK = 1e-8  # relative size of a singular value that counts as zero
SAMPLED = 1e-5  # the same at samples: near a dead point residuals of 1e-12 leave coordinates uncertain by 1e-6


def scaled(J: np.ndarray, slides: np.ndarray) -> np.ndarray:
    """(k, m, n) samples without units: slides (n,) says which columns belong to translations.

    Columns of translations are measured by a length that makes them as large as those of rotations in the mean; then
    each row by its largest norm over all samples. A column that is small among its like stays small.
    """
    slides = np.asarray(slides, dtype=bool)
    sizes = [
        float(np.sqrt((J[:, :, part] ** 2).sum(axis=(0, 1)).mean())) if part.any() else 0.0
        for part in (slides, ~slides)
    ]
    J = J.copy()
    if sizes[0] > 0 and sizes[1] > 0:
        J[:, :, slides] *= sizes[1] / sizes[0]
    rows = np.linalg.norm(J, axis=2).max(axis=0, initial=0.0)
    out: np.ndarray = J / np.where(rows > 0, rows, 1)[None, :, None]
    return out


def generic_rank(J: np.ndarray, relative: float = SAMPLED) -> int:
    """Largest rank at samples (k, m, n): it falls at special configurations only."""
    return max(_rank(x, relative) for x in J)


def regular_samples(J: np.ndarray) -> np.ndarray:
    """(k,) bool: samples (k, m, n) at which the rows of J are independent."""
    return np.array([_rank(x, SAMPLED) == J.shape[1] for x in J], dtype=bool)


def _rank(a: np.ndarray, relative: float = RANK) -> int:
    if not a.size:
        return 0
    s = np.linalg.svd(a, compute_uv=False)
    return int((s > relative * max(float(s[0]), 1e-300)).sum())


def redundant_rows(J: np.ndarray, relative: float = SAMPLED) -> list[int]:
    """Rows of scaled samples (k, m, n) that follow from the others at all of them, as few as possible."""
    m, rank = J.shape[1], generic_rank(J, relative)
    if rank == m:
        return []
    kept = independent_set(np.array([x for x in J if _rank(x, relative) == rank]), rank)
    return [i for i in range(m) if i not in kept]


def independent_set(J: np.ndarray, rank: int) -> list[int]:
    """`rank` rows of scaled samples (k, m, n) that are independent at all of them.

    QR with pivoting of each sample proposes rows to keep; the set with the best smallest singular value over all
    samples wins. Among equals later rows are left out.
    """
    best, kept = -1.0, list(range(rank))
    tried: set[tuple[int, ...]] = set()
    for sample in J:
        rows = independent_rows(sample, rank)
        if tuple(rows) in tried:
            continue
        tried.add(tuple(rows))
        worst = float(np.linalg.svd(J[:, rows], compute_uv=False)[:, -1].min()) if rank else 0.0
        if worst > best * (1 + 1e-9):
            best, kept = worst, rows
    return kept


def independent_rows(sample: np.ndarray, rank: int) -> list[int]:
    """The rows of a scaled sample (m, n) that QR with pivoting proposes to keep, ascending."""
    m = len(sample)
    if m == rank:
        return list(range(m))
    tilt = 1 - 1e-3 * np.arange(m) / max(m, 1)  # prefers earlier rows where the numbers do not decide
    return sorted(pivoted((sample * tilt[:, None]).T)[:rank])


def pivoted(a: np.ndarray) -> list[int]:
    """Columns of a matrix in the order in which QR with pivoting takes them."""
    order: list[int] = all_pivoted(a[None])[0].tolist()
    return order


def all_pivoted(a: np.ndarray) -> np.ndarray:
    """(n, b) the same of matrices (n, a, b)."""
    from scipy.linalg.lapack import dgeqp3

    if not a.size:
        return np.tile(np.arange(a.shape[2]), (len(a), 1))
    if not np.isfinite(a).all():
        raise ValueError("a matrix to be pivoted has entries that are no numbers")
    return np.array([dgeqp3(one)[1] for one in a]) - 1
