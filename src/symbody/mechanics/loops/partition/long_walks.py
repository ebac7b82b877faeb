"""Positions far along one branch: walks that go straight on, each step of which is judged by its way back.

A step is a share of a radian, or of the mechanism's mean length. It counts where the loops close near its end, J has
lost no rank between, and the same step back returns: a search that closes the loops elsewhere does not.
"""

from __future__ import annotations

import numpy as np

from symbody.mechanics.loops.partition.branches import REGULAR, ZERO, Branch, Space, close_all, differences, same_side

WALKS, STRIDE = 32, 0.2  # walks at once; rad of the fastest joint in one step, or mean lengths
HALVINGS = 4  # of a step that is not taken
BACK = 0.5  # of a step: by how much its way back may miss
FARTHER = 3.0  # steps: how far from where it began a step may end
USUAL = 0.1  # of the median over positions of the last singular value of J: at least
EXACT = 2  # Newton steps that close positions as well as doubles allow


def long_walks(branch: Branch, steps: int, seed: int) -> np.ndarray:
    """(k, nq) positions on a branch that walks of so many steps reach, in random order.

    A walk that can go no further is given up; another one begins at a position that was reached, in another direction.
    """
    space, rng = _space(branch), np.random.default_rng(seed)
    start, rank = branch.positions[0], rank_on(branch)
    q, heading = np.tile(start, (WALKS, 1)), rng.normal(size=(WALKS, len(space.unit)))
    known = start[None]
    for _ in range(steps):
        length = STRIDE * rng.uniform(0.5, 1.0, WALKS)
        q, heading, moved = _stride(space, q, heading, rank, length)
        known = np.concatenate([known, q[moved]])
        lost = np.flatnonzero(~moved)
        q[lost] = known[rng.integers(len(known), size=len(lost))]
        heading[lost] = rng.normal(size=(len(lost), len(space.unit)))
    return known[rng.permutation(len(known))]


def rank_on(branch: Branch) -> int:
    """The rank of J at the positions of a branch; constraints that are needed to the second order add nothing."""
    s = singular_vectors(_space(branch), branch.positions)[1]
    return int((s > ZERO * s[:, :1]).sum(axis=1).max()) if s.shape[1] else 0


def regular(space: Space, q: np.ndarray, rank: int) -> np.ndarray:
    """(k,) bool: positions that are not near to a drop of the rank of J, where velocities and accelerations are large
    and known to fewer digits."""
    if not rank or not len(q):
        return np.ones(len(q), dtype=bool)
    s = singular_vectors(space, q)[1]
    share = s[:, rank - 1] / s[:, 0]
    return np.asarray(share > max(REGULAR, USUAL * float(np.median(share))))


def singular_vectors(space: Space, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """u (k, m, m), s (k, n), vh (k, nv, nv) of J without units at positions (k, nq)."""
    J = space.J(q)
    if not J.shape[1]:
        return J[:, :, :0], np.zeros((len(q), 0)), np.tile(np.eye(J.shape[2]), (len(q), 1, 1))
    return np.linalg.svd(J)


def polished(space: Space, q: np.ndarray, rank: int) -> np.ndarray:
    """Positions (k, nq) that are closed nearly, closed to the last digits by steps of least norm."""
    for _ in range(EXACT):
        u, s, vh = singular_vectors(space, q)
        inside = np.where(space.placed, space.h(q), 0.0)
        share = np.einsum("kmr,km->kr", u[:, :, :rank], inside) / s[:, :rank]
        q = space.move(q, -np.einsum("krn,kr->kn", vh[:, :rank], share))
    return q


def _stride(
    space: Space, q: np.ndarray, heading: np.ndarray, rank: int, length: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(positions (k, nq), directions (k, nv), whether each moved) after one step of so many rad or mean lengths."""
    u, s, vh = singular_vectors(space, q)
    u, s, vh = u[:, :, :rank], s[:, :rank], vh[:, :rank]
    heading = _along(vh, heading)
    largest = np.abs(heading).max(axis=1, initial=0.0)
    heading = heading / np.maximum(largest, 1e-300)[:, None]
    able, after, moved = largest > 1e-9, q.copy(), np.zeros(len(q), dtype=bool)
    for _ in range(HALVINGS):
        at = np.flatnonzero(able & ~moved)
        if not len(at):
            break
        step = length[at, None] * heading[at]
        trial = close_all(space, space.move(q[at], step))
        fine = np.isfinite(trial).all(axis=1)
        fine &= _near(space, trial, q[at], FARTHER * length[at])
        fine[fine] &= (space.numeric.sides(trial[fine]) > 0).all(axis=1)
        fine[fine] &= same_side(space, trial[fine], u[at[fine]], s[at[fine]], vh[at[fine]])
        there = singular_vectors(space, trial[fine])[2][:, :rank]
        back = close_all(space, space.move(trial[fine], -_along(there, step[fine])))
        fine[fine] &= _near(space, back, q[at[fine]], BACK * length[at[fine]])
        after[at[fine]], moved[at[fine]] = trial[fine], True
        length = np.where(moved, length, length / 2)
    return after, heading, moved


def _along(vh: np.ndarray, heading: np.ndarray) -> np.ndarray:
    """Directions (k, nv) without what closes or opens the loops: vh (k, rank, nv)."""
    return np.asarray(heading - np.einsum("krn,kr->kn", vh, np.einsum("krn,kn->kr", vh, heading)))


def _near(space: Space, a: np.ndarray, b: np.ndarray, most: np.ndarray) -> np.ndarray:
    """(k,) bool: positions (k, nq) whose coordinates differ by at most so many rad, or mean lengths."""
    gap = np.abs(differences(space, a, b)).max(axis=1, initial=0.0)
    return np.asarray(gap <= most)  # of what did not close: nan, which is not near


def _space(branch: Branch) -> Space:
    assert branch.space is not None  # of a Branch without a look at others
    return branch.space
