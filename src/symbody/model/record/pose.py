"""Numeric poses of model files: rotations from the ways in which files write them, composed; zeros and ones exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from symbody.model.record.snapping import ROUNDING, snapped
from symbody.model.spatial.quaternion import matrix_from_quaternion

TINY = 1e-10  # directions shorter than this have none


class Pose(NamedTuple):
    """Pose of a frame in the frame of its owner: p_owner = rotation @ p_frame + position."""

    rotation: np.ndarray  # (3, 3)
    position: np.ndarray  # (3,), m

    def __matmul__(self, other: Pose) -> Pose:
        """The pose of a frame that has pose `other` in this frame."""
        return Pose(rounded(self.rotation @ other.rotation), self.rotation @ other.position + self.position)

    def inverse(self) -> Pose:
        return Pose(self.rotation.T, -(self.rotation.T @ self.position))


def rounded(rotation: np.ndarray) -> np.ndarray:
    """A computed rotation whose zeros and ones are exact, so that they vanish from equations."""
    return snapped(rotation, ROUNDING)


IDENTITY = Pose(np.eye(3), np.zeros(3))


def about(axis: int, angle: float) -> np.ndarray:
    """(3, 3) active rotation about coordinate axis 0, 1 or 2."""
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    out = np.eye(3)
    out[i, i] = out[j, j] = c
    out[i, j], out[j, i] = -s, s
    return out


def from_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """URDF: roll about x, pitch about y, yaw about z, all fixed axes: Rz(yaw) Ry(pitch) Rx(roll)."""
    return rounded(about(2, yaw) @ about(1, pitch) @ about(0, roll))


def to_rpy(rotation: np.ndarray) -> tuple[float, float, float]:
    """The (roll, pitch, yaw) of a rotation."""
    pitch = float(np.arctan2(-rotation[2, 0], np.hypot(rotation[0, 0], rotation[1, 0])))
    roll = float(np.arctan2(rotation[2, 1], rotation[2, 2]))
    # yaw from what is left when roll is undone: near pitch 90 degrees, where roll is uncertain, it makes up for it
    c, s = np.cos(roll), np.sin(roll)
    yaw = np.arctan2(s * rotation[0, 2] - c * rotation[0, 1], c * rotation[1, 1] - s * rotation[1, 2])
    return roll, pitch, float(yaw)


def from_euler(angles: Sequence[float], sequence: str) -> np.ndarray:
    """MJCF: three rotations in turn; a small letter turns about the moved axis, a capital about the fixed one."""
    out = np.eye(3)
    for letter, angle in zip(sequence, angles):
        turn = about("xyz".index(letter.lower()), angle)
        out = out @ turn if letter.islower() else turn @ out
    return rounded(out)


def from_quaternion(quaternion: Sequence[float]) -> np.ndarray:
    """(w, x, y, z), of any length but zero."""
    unit = np.asarray(quaternion, dtype=float) / np.linalg.norm(quaternion)
    return rounded(np.asarray(matrix_from_quaternion(unit), dtype=float))


def from_axis_angle(axis: Sequence[float], angle: float) -> np.ndarray:
    """Rotation by `angle` about an axis of any length but zero."""
    unit = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    return from_quaternion([np.cos(angle / 2), *(np.sin(angle / 2) * unit)])


def from_axes(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Frame of the x axis and a y axis made orthogonal to it (MJCF xyaxes); None if they are parallel or zero."""
    if np.linalg.norm(x) < TINY:
        return None
    x = x / np.linalg.norm(x)
    y = y - x * (x @ y)
    if np.linalg.norm(y) < TINY:
        return None
    y = y / np.linalg.norm(y)
    return rounded(np.stack([x, y, np.cross(x, y)], axis=1))


def from_z(direction: np.ndarray) -> np.ndarray | None:
    """The smallest rotation that takes z to a direction (MJCF zaxis and fromto); None if it is zero."""
    length = float(np.linalg.norm(direction))
    if length < TINY:
        return None
    z = direction / length
    across = np.array([-z[1], z[0], 0.0])  # z axis x direction
    sine = float(np.linalg.norm(across))
    if sine == 0:
        return np.eye(3) if z[2] > 0 else about(0, np.pi).round()
    return from_axis_angle(list(across), float(np.arctan2(sine, z[2])))
