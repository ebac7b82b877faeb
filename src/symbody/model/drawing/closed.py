"""Coordinates at which a picture is whole: from rest, the loops are closed by damped least squares.

A picture needs no more than that. `symbody.loops.assembly` is the assembly of the equations: exact, with branches
checked and failures explained.
"""

from __future__ import annotations

import numpy as np

from symbody.model.coordinates import neutral
from symbody.model.drawing.poses import Numbers, Pose
from symbody.model.mechanism import Cut

CLOSED = 1e-6  # of m and rad: closed as far as can be seen
STEPS, STARTS = 60, 8
LARGEST = 0.5  # rad or m that a coordinate moves in one step


def closed_coordinates(made: Numbers) -> np.ndarray:
    """(nq,) rest, moved as little as it takes to close the cuts; rest itself where that is not found."""
    mechanism = made.mechanism
    start, free = _start(made)
    if not any(not cut.switched for cut in mechanism.cuts):
        return start
    rng = np.random.default_rng(0)
    for k in range(STARTS):
        # rest may be a dead centre, or the end of the wrong valley: then from ever further around it
        q = _descend(made, start + (0.15 * k * rng.normal(size=len(start)) if k else 0.0) * free, free)
        if np.abs(_gaps(made, q)).max() < CLOSED:
            return q
    return start


def _start(made: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """(nq,) rest with driven joints where their law has them at time zero, and (nq,) 1 where a coordinate is free."""
    q = neutral(made.mechanism)
    free = np.ones(len(q))
    for slot in made.mechanism.slots:
        if slot.joint is not None and slot.mode == "driven":
            free[slot.q] = 0
            q[slot.iq : slot.iq + len(slot.joint.values)] = made.of(slot.joint.values)
    return q, free


def _descend(made: Numbers, q: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Levenberg-Marquardt with slopes by differences."""
    gaps, damping = _gaps(made, q), 1.0
    columns = np.flatnonzero(free)
    for _ in range(STEPS):
        cost = float(gaps @ gaps)
        if np.abs(gaps).max() < CLOSED / 10:
            break
        slopes = np.stack([(_gaps(made, q + 1e-7 * e) - gaps) / 1e-7 for e in np.eye(len(q))[columns]], axis=1)
        for _ in range(8):
            # |slopes s + gaps|^2 + damping cost |s|^2: close to a solution it is Newton's step
            stacked = np.vstack([slopes, np.sqrt(damping * cost) * np.eye(len(columns))])
            step = np.linalg.lstsq(stacked, np.concatenate([-gaps, np.zeros(len(columns))]), rcond=None)[0]
            trial = q.copy()
            trial[columns] += step * min(1.0, LARGEST / max(float(np.abs(step).max()), 1e-300))
            found = _gaps(made, trial)
            if float(found @ found) < cost:
                q, gaps, damping = trial, found, max(damping / 10, 1e-9)
                break
            damping *= 10
        else:
            break
    return q


def _gaps(made: Numbers, q: np.ndarray) -> np.ndarray:
    """(rows,) what keeps the cuts open at q, m and rad."""
    poses = made.poses(q)
    rows = [np.zeros(0)]
    for cut in (c for c in made.mechanism.cuts if not c.switched):
        first, second = (made.frame(poses[body], body, frame) for body, frame in (cut.first, cut.second))
        rows.append(_gap(made, cut, first, second))
    return np.concatenate(rows)


def _gap(made: Numbers, cut: Cut, first: Pose, second: Pose) -> np.ndarray:
    """Displacement and small rotation of the second frame in the first, of them the rows that the kind closes."""
    shift = first[0].T @ (second[1] - first[1])
    if cut.kind == "rod":
        return np.array([np.linalg.norm(shift) - float(made.of([cut.length])[0])])
    turn = first[0].T @ second[0]
    skew = (turn - turn.T) / 2
    small = np.array([skew[2, 1], skew[0, 2], skew[1, 0]])
    axis = "xyz".index(cut.axis)
    others = [k for k in range(3) if k != axis]
    if cut.kind == "universal":
        return np.array([*shift, turn[axis, "xyz".index(cut.axis2)]])
    moves, turns = {
        "ball": ([0, 1, 2], []),
        "solid": ([0, 1, 2], [0, 1, 2]),
        "revolute": ([0, 1, 2], others),
        "prismatic": (others, [0, 1, 2]),
        "cylindrical": (others, others),
        "rows": ([r for r in cut.rows if r < 3], [r - 3 for r in cut.rows if r >= 3]),
    }[cut.kind]
    return np.array([*shift[moves], *small[turns]])
