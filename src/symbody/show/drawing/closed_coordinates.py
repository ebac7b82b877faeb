"""Coordinates at which a picture is whole: from rest, the loops are closed by damped least squares.

A picture needs no more than that. `symbody.mechanics.assembly.assembly` is the assembly of the equations: exact, with
branches checked and failures explained.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbody.model.record.coordinates import checked, neutral, retract, with_mode
from symbody.model.record.mechanism import Cut
from symbody.model.record.retracted_least_squares import (
    LeastSquaresProblem,
    ResidualPoint,
    StoppingRules,
    least_squares,
)
from symbody.show.drawing.numeric_poses import Pose, PoseNumbers

CLOSED = 1e-6  # of m and rad: closed as far as can be seen
STARTS = 8
TINY = 1e-7  # rad or m, of differences
RULES = StoppingRules(tolerance=CLOSED / 10, steps=60, trials=8, damping=1.0, least=1e-9, longest=0.5)


def closed_coordinates(made: PoseNumbers) -> np.ndarray:
    """(nq,) rest, moved as little as it takes to close the cuts; rest itself where that is not found."""
    mechanism = made.mechanism
    start = _start(made)
    driven = with_mode(mechanism, "driven")
    free = [k for k in range(mechanism.nv) if k not in driven]
    if not free or all(cut.switched for cut in mechanism.cuts):
        return start
    rng = np.random.default_rng(0)
    for k in range(STARTS):
        # rest may be a dead centre, or the end of the wrong valley: then from ever further around it
        away = np.zeros(mechanism.nv)
        away[free] = 0.15 * k * rng.normal(size=len(free)) if k else 0.0
        q = _descend(made, retract(mechanism, start, away), free)
        if np.abs(_gaps(made, q)).max() < CLOSED:
            return q
    return start


def _start(made: PoseNumbers) -> np.ndarray:
    """(nq,) rest with driven joints where their law has them at time zero."""
    q = neutral(made.mechanism)
    for slot in made.mechanism.slots:
        if slot.joint is not None and slot.mode == "driven":
            q[slot.iq : slot.iq + len(slot.joint.values)] = made.of(slot.joint.values)
    return checked(made.mechanism, q)


def _descend(made: PoseNumbers, q: np.ndarray, free: Sequence[int]) -> np.ndarray:
    """Damped least squares over the velocities in `free`, with slopes by differences."""
    mechanism, steps = made.mechanism, np.eye(made.mechanism.nv)[list(free)]

    def at(q: np.ndarray) -> ResidualPoint:
        gaps = _gaps(made, q)

        def slopes() -> np.ndarray:
            return np.stack([(_gaps(made, retract(mechanism, q, TINY * e)) - gaps) / TINY for e in steps], axis=1)

        return ResidualPoint(gaps, slopes)

    problem: LeastSquaresProblem[np.ndarray] = LeastSquaresProblem(
        at, lambda q, step: retract(mechanism, q, step @ steps)
    )
    return least_squares(problem, q, RULES).x


def _gaps(made: PoseNumbers, q: np.ndarray) -> np.ndarray:
    """(rows,) what keeps the cuts open at q, m and rad."""
    poses = made.poses(q)
    rows = [np.zeros(0)]
    for cut in (c for c in made.mechanism.cuts if not c.switched):
        first, second = (made.frame(poses[body], body, frame) for body, frame in (cut.first, cut.second))
        rows.append(_gap(made, cut, first, second))
    return np.concatenate(rows)


def _gap(made: PoseNumbers, cut: Cut, first: Pose, second: Pose) -> np.ndarray:
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
