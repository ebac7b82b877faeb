"""Tangent increments of the coordinates of a Mechanism, in numbers: names, retraction, transport.

An increment dtheta has the size nv of the velocities and is measured as they are: q moves to the place that it would
reach in unit time at the constant velocity dtheta. Plain coordinates add; quaternions turn by it in child axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from symbody.expr.arrays import skew
from symbody.model.joints import KINDS
from symbody.model.mechanism import Joint, Mechanism, has_coordinates
from symbody.spatial.quaternion import matrix_from_quaternion, multiply, normalise
from symbody.spatial.stumpff import stumpff


class Place(NamedTuple):
    """Where the coordinates of a joint stand: q[iq:iq + nq], qd[iv:iv + nv]."""

    joint: Joint
    iq: int
    nq: int
    iv: int
    nv: int


def places(mech: Mechanism) -> list[Place]:
    """Joints that own coordinates, in the order of q."""
    out, iq, iv = [], 0, 0
    for joint in mech.joints:
        if has_coordinates(joint):
            nq, nv = KINDS[joint.kind].nq(joint), KINDS[joint.kind].nv(joint)
            out.append(Place(joint, iq, nq, iv, nv))
            iq, iv = iq + nq, iv + nv
    return out


def coordinate_labels(mech: Mechanism) -> tuple[str, ...]:
    """One label a coordinate (nq): the joint's name, or <joint>.1, <joint>.2 ... where it has several."""
    return tuple(label for p in places(mech) for label in _numbered(p.joint.name, p.nq))


def velocity_labels(mech: Mechanism) -> tuple[str, ...]:
    """One label a velocity (nv), likewise."""
    return tuple(label for p in places(mech) for label in _numbered(p.joint.name, p.nv))


def _numbered(name: str, n: int) -> list[str]:
    return [name] if n == 1 else [f"{name}.{k + 1}" for k in range(n)]


def retract(mech: Mechanism, q: np.ndarray, dtheta: np.ndarray) -> np.ndarray:
    """q (nq,) moved by the increment dtheta (nv,)."""
    out = np.array(q, dtype=float)
    for letter, iq, iv in _motions(mech):
        if letter not in "BF":
            out[iq] += dtheta[iv]
            continue
        quaternion = out[iq + 3 : iq + 7] if letter == "F" else out[iq : iq + 4]
        turn = np.asarray(dtheta[iv : iv + 3], dtype=float)
        if letter == "F":
            # the screw motion of constant twist: its translation is V(turn) dp in child axes (Murray et al. 1994, 2.36)
            slide = _screw_map(turn) @ np.asarray(dtheta[iv + 3 : iv + 6], dtype=float)
            out[iq : iq + 3] += _floats(matrix_from_quaternion(quaternion)) @ slide
            iq += 3
        half = 0.25 * float(turn @ turn)
        step = [float(stumpff(0, half)), *(0.5 * float(stumpff(1, half)) * turn)]
        out[iq : iq + 4] = _floats(normalise(multiply(quaternion, step)))
    return out


def positions(mech: Mechanism, q: np.ndarray) -> np.ndarray:
    """(nv,) a number for each velocity: the coordinate; of a quaternion the rotation vector, rad; then the position."""
    out = np.zeros(mech.nv)
    for letter, iq, iv in _motions(mech):
        if letter not in "BF":
            out[iv] = q[iq]
            continue
        if letter == "F":
            out[iv + 3 : iv + 6] = q[iq : iq + 3]
            iq += 3
        w, axis = q[iq], q[iq + 1 : iq + 4]
        sine = float(np.linalg.norm(axis))
        # q and -q are the same turn, of at most half a revolution
        out[iv : iv + 3] = axis * (2.0 * np.arctan2(sine, abs(w)) * np.copysign(1.0, w) / sine if sine > 0 else 0.0)
    return out


def transport(mech: Mechanism, qd: np.ndarray) -> np.ndarray:
    """T (nv, nv) of the increments along a motion with velocities qd: d(dtheta)/dt = d(qd) + T dtheta.

    Zero for plain coordinates. Increments in child axes turn with them: T = -ad(qd), the bracket of twists.
    """
    out = np.zeros((mech.nv, mech.nv))
    for letter, _, iv in _motions(mech):
        if letter in "BF":
            spin = -_floats(skew(qd[iv : iv + 3]))
            out[iv : iv + 3, iv : iv + 3] = spin
        if letter == "F":
            out[iv + 3 : iv + 6, iv + 3 : iv + 6] = spin
            out[iv + 3 : iv + 6, iv : iv + 3] = -_floats(skew(qd[iv + 3 : iv + 6]))
    return out


def _motions(mech: Mechanism) -> Iterator[tuple[str, int, int]]:
    """(letter, first coordinate, first velocity) of every elementary motion."""
    for p in places(mech):
        iq, iv = p.iq, p.iv
        letters = [letter for letter, _ in KINDS[p.joint.kind].motions(p.joint)]
        if p.joint.elastic is not None:
            letters.append(letters[-1])
        for letter in letters:
            yield letter, iq, iv
            iq, iv = iq + {"B": 4, "F": 7}.get(letter, 1), iv + {"B": 3, "F": 6}.get(letter, 1)


def _screw_map(turn: np.ndarray) -> np.ndarray:
    """V (3, 3): 1 + c2 S + c3 S^2 with S = skew(turn)."""
    s, square = _floats(skew(turn)), float(turn @ turn)
    return np.eye(3) + float(stumpff(2, square)) * s + float(stumpff(3, square)) * s @ s


def _floats(array: object) -> np.ndarray:
    return np.asarray(array, dtype=float)
