"""Rotation matrices over any scalar. R_ab takes b-coordinates to a-coordinates; angles in rad.

`expr.arrays.rotation_x` and its like serve floats and nodes; these hold for complex and dual angles as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError
from symbody.model.spatial.scalar import cos, sin
from symbody.model.spatial.stumpff import stumpff
from symbody.symbolic.expr.arrays import Array, as_array, identity, matmul, norm_squared, skew, vector

AXES = "xyz"


def axis_number(axis: Any) -> int:
    """0, 1, 2 of "x", "y", "z" or of the number itself."""
    if axis in (0, 1, 2):
        return int(axis)
    if isinstance(axis, str) and len(axis) == 1 and axis.lower() in AXES:
        return AXES.index(axis.lower())
    raise ExpressionError(f"axis {axis!r} was given; expected 'x', 'y', 'z' or 0, 1, 2.")


def about_axis(axis: Any, angle: Any) -> Array:
    """(3, 3) rotation by an angle about a coordinate axis; a dual angle turns and shifts (a cylindrical motion)."""
    k = axis_number(axis)
    c, s = cos(angle), sin(angle)
    a, b = (k + 1) % 3, (k + 2) % 3
    rows: list[list[Any]] = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    rows[k][k] = 1
    rows[a][a], rows[a][b], rows[b][a], rows[b][b] = c, -s, s, c
    return as_array(rows)


def exponential(v: Any) -> Array:
    """(3, 3) rotation of the rotation vector v (3,), rad; also dual vectors (dual Rodrigues, MEDUSA eqs. 2.24-2.25).

    The same formula serves couples, v = eps u, because the Stumpff functions are entire in |v|^2.
    """
    v = vector(v)
    square, s = norm_squared(v), skew(v)
    return as_array(identity(3) + stumpff(1, square) * s + stumpff(2, square) * matmul(s, s))


def is_rotation(matrix: Any, tolerance: float = 1e-10) -> bool:
    """Whether a 3 x 3 matrix of numbers is orthogonal with determinant +1."""
    m = np.asarray(matrix, dtype=float)
    return m.shape == (3, 3) and bool(np.allclose(m @ m.T, np.eye(3), atol=tolerance) and np.linalg.det(m) > 0)
