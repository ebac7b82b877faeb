"""Entries of rotations that are meant to be 0 or +-1 made exactly that, in a matrix that stays a rotation.

An entry near 1 is no sign that a quarter turn is meant: cos(3.7e-6) is 1 - 7e-12, and its sine is far from zero. So
zeros decide. Those below the bound are reached by a turn that moves no entry by more than twice the bound; an entry is
1 where its row and its column hold nothing else, or where rounding makes it 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

SNAP = 1e-10  # entries of rotations in files this close to 0, 1 or -1 are meant to be it
ROUNDING = 2e-15  # the same of computed rotations; changes below it are not worth a note
LOOSE = 4e-15  # largest entry of R^T R - 1 of a rotation in floats

Entry = tuple[int, int]


def snapped(rotation: np.ndarray, within: float = SNAP) -> np.ndarray:
    """(3, 3) a rotation with exact zeros and ones where entries are that close to them.

    What is no rotation but for rounding is replaced by the nearest one first. Where entries cannot vanish together in a
    rotation so close, the smallest of them do.
    """
    given = np.array(rotation, dtype=float)
    if looseness(given) > LOOSE:
        given = nearest_rotation(given)
    for _ in range(4):  # until it is read back to the last digit
        made = _snapped(given, within)
        if np.array_equal(made, given):
            break
        given = made
    return made


def _snapped(given: np.ndarray, within: float) -> np.ndarray:
    near = np.round(given)
    whole = np.where(np.abs(given - near) < within, near, given)
    if looseness(whole) <= LOOSE:
        return whole + 0.0  # + 0.0 turns -0.0 into 0.0
    zeros = [(i, j) for i in range(3) for j in range(3) if abs(given[i, j]) < within]
    zeros.sort(key=lambda at: abs(given[at]))
    best, kept = given, list[Entry]()
    for at in zeros:
        cleared = best.copy()
        cleared[at] = 0.0
        trial = cleared if looseness(cleared) <= LOOSE else _with_zeros(given, [*kept, at], 2 * within)
        if trial is not None:
            best, kept = trial, [*kept, at]
    for i, j in zip(*np.nonzero(np.abs(np.abs(best) - 1) < within)):
        if np.count_nonzero(best[i]) == 1 and np.count_nonzero(best[:, j]) == 1:
            best[i, j] = np.sign(best[i, j])
    return best + 0.0


def _with_zeros(rotation: np.ndarray, zeros: Sequence[Entry], reach: float) -> np.ndarray | None:
    """exp(w) R with these entries zero by the smallest turn w (Newton); None if an entry moves by more than reach."""
    found = rotation.copy()
    rows, columns = (list(x) for x in zip(*zeros))
    for _ in range(4):
        left = found[rows, columns]
        if np.abs(left).max() <= 1e-17:
            break
        # d (w x column)_row / d w
        slopes = np.array([np.cross(np.eye(3), found[:, j])[:, i] for i, j in zeros])
        w = np.linalg.lstsq(slopes, -left, rcond=1e-12)[0]
        found = nearest_rotation(found + np.cross(w, found, axisb=0, axisc=0))
        if not np.abs(found - rotation).max() <= reach:
            return None
    found[rows, columns] = 0.0
    return found if looseness(found) <= LOOSE else None


def listed(rotation: np.ndarray, note: Callable[[str], object], where: str) -> np.ndarray:
    """The snapped rotation; where an entry changed by more than rounding, a note says what and by how much."""
    made = snapped(rotation)
    change = float(np.abs(made - rotation).max())
    if change > ROUNDING:
        loose = looseness(rotation)
        if loose > SNAP:
            note(f"{where}: R^T R differs from 1 by {loose:.2g}; the nearest rotation was taken (change {change:.2g})")
        else:
            note(f"{where}: entries within {SNAP:g} of 0, 1 or -1 were made exact (largest change {change:.2g})")
    return made


def looseness(matrix: np.ndarray) -> float:
    """The largest entry of R^T R - 1."""
    return float(np.abs(matrix.T @ matrix - np.eye(3)).max())


def nearest_rotation(matrix: np.ndarray) -> np.ndarray:
    """The rotation with the smallest change of entries (polar decomposition); a mirrored one stays mirrored."""
    u, _, v = np.linalg.svd(matrix)
    out: np.ndarray = u @ v
    return out
