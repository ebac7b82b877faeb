"""Redundant constraints and singular configurations, from numbers of J at closed configurations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import qr

from symbody.errors import ModelError
from symbody.loops.constraints import Constraints
from symbody.model.coordinates import sliding, velocity_labels

if TYPE_CHECKING:
    from symbody.loops.partition import Partition

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


def generic_rank(J: np.ndarray) -> int:
    """Largest rank at samples (k, m, n): it falls at special configurations only."""
    return max(_rank(x, SAMPLED) for x in J)


def regular_samples(J: np.ndarray) -> np.ndarray:
    """(k,) bool: samples (k, m, n) at which the rows of J are independent."""
    return np.array([_rank(x, SAMPLED) == J.shape[1] for x in J], dtype=bool)


def _rank(a: np.ndarray, relative: float = RANK) -> int:
    if not a.size:
        return 0
    s = np.linalg.svd(a, compute_uv=False)
    return int((s > relative * max(float(s[0]), 1e-300)).sum())


def redundant_rows(J: np.ndarray) -> list[int]:
    """Rows of scaled samples (k, m, n) that follow from the others at all of them, as few as possible."""
    m, rank = J.shape[1], generic_rank(J)
    if rank == m:
        return []
    kept = independent_set(np.array([x for x in J if _rank(x, SAMPLED) == rank]), rank)
    return [i for i in range(m) if i not in kept]


def independent_set(J: np.ndarray, rank: int) -> list[int]:
    """`rank` rows of scaled samples (k, m, n) that are independent at all of them.

    QR with pivoting of each sample proposes rows to keep; the set with the best smallest singular value over all
    samples wins. Among equals later rows are left out.
    """
    m = J.shape[1]
    best, kept = -1.0, list(range(rank))
    tried: set[tuple[int, ...]] = set()
    tilt = 1 - 1e-3 * np.arange(m) / max(m, 1)  # prefers earlier rows where the numbers do not decide
    for sample in J:
        order = qr((sample * tilt[:, None]).T, mode="r", pivoting=True)[1]
        rows = sorted(int(i) for i in order[:rank])
        if tuple(rows) in tried:
            continue
        tried.add(tuple(rows))
        worst = float(np.linalg.svd(J[:, rows], compute_uv=False)[:, -1].min()) if rank else 0.0
        if worst > best * (1 + 1e-9):
            best, kept = worst, rows
    return kept


# -- singular configurations


@dataclass(frozen=True)
class Singularity:
    """Whether J_v can be solved at a configuration: kind none, partition (another choice of q_u helps) or mechanism.

    block: number of the worst block, or -1; smallest: its smallest singular value, scaled, relative to the largest.
    """

    kind: str
    block: int
    smallest: float
    text: str


def singularity(found: Constraints, partition: Partition, J: np.ndarray, bound: float = 1e-9) -> Singularity:
    """Judges J (m, nv) at one configuration."""
    if J.shape != (len(found.rows), len(found.tree.qd)):
        raise ModelError(f"J has shape {J.shape}; expected ({len(found.rows)}, {len(found.tree.qd)}).")
    sizes = []
    for block in partition.blocks:
        a = J[np.ix_(block.rows, block.columns)]
        whole = np.linalg.norm(J[list(block.rows)], axis=1)
        s = np.linalg.svd(a / np.where(whole > 0, whole, 1)[:, None], compute_uv=False)
        sizes.append(float(s[-1]))
    if not sizes or min(sizes) > bound:
        return Singularity("none", -1, min(sizes, default=1.0), "J_v is regular here.")
    worst = int(np.argmin(sizes))
    block = partition.blocks[worst]
    joints = ", ".join(velocity_labels(found.tree.mechanism)[c] for c in block.columns)
    loops = ", ".join(repr(x) for x in dict.fromkeys(found.rows[r].loop for r in block.rows))
    kept = [r for b in partition.blocks for r in b.rows]
    free = [c for c in range(J.shape[1]) if c in partition.independent or c in partition.dependent]
    regular = _rank(scaled(J[None][:, kept][:, :, free], sliding(found.tree.mechanism)[free])[0]) == len(kept)
    if regular:
        text = (
            f"the loops {loops} cannot be solved for {joints} here (smallest singular value {sizes[worst]:.2g}), but "
            "for other joints: choose another partition."
        )
        return Singularity("partition", worst, sizes[worst], text)
    text = f"a singular configuration: the constraints of {loops} are dependent here (branches of motion meet)."
    return Singularity("mechanism", worst, sizes[worst], text)
