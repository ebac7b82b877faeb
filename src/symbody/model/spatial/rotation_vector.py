"""Rotation vector v = angle * axis: the exponential map of rotations, its inverse and its tangent, over any scalar.

Singular set: full turns, |v| = 2 pi n with n > 0. The logarithm of a half turn has two values; one of them is returned.
"""

from __future__ import annotations

from typing import Any

from symbody.model.spatial.quaternion import quaternion_from_matrix
from symbody.model.spatial.scalar import atan2, branch, real_part, sqrt
from symbody.model.spatial.stumpff import stumpff
from symbody.symbolic.expr.arrays import Array, as_array, identity, is_zero, matmul, norm_squared, skew, vector


def logarithm(matrix: Any) -> Array:
    """The rotation vector v (3,), |v| <= pi, of a rotation: `exponential(logarithm(R))` is R."""
    w, *axis = quaternion_from_matrix(matrix)
    square = norm_squared(vector(axis))
    if is_zero(square):
        return as_array([2 * x for x in axis])
    factor = _angle_over_sine(w, square)
    return as_array([factor * x for x in axis])


def _angle_over_sine(w: Any, square: Any) -> Any:
    """2 atan2(s, w) / s with s^2 given; for small s the series of the arc tangent, whose terms are rational in s^2."""
    return branch(real_part(square) < 1e-4, lambda: _series(w, square), lambda: _closed(w, square))


def _series(w: Any, square: Any) -> Any:
    t = square / (w * w)
    total: Any = 0
    for n in range(6, -1, -1):
        total = 1.0 / (2 * n + 1) - t * total
    return 2 * total / w


def _closed(w: Any, square: Any) -> Any:
    s = sqrt(square)
    return 2 * atan2(s, w) / s


def velocity_map(v: Any, axes: str = "body") -> Array:
    """B (3, 3) with omega = B vd: 1 -+ c2 S + c3 S^2 with S = skew(v), c2 and c3 at |v|^2, - in body axes."""
    v = vector(v)
    square, s = norm_squared(v), skew(v)
    side = s if axes == "body" else -s
    return as_array(identity(3) - stumpff(2, square) * side + stumpff(3, square) * matmul(s, s))


def rate_map(v: Any, axes: str = "body") -> Array:
    """N (3, 3) with vd = N omega: 1 +- S/2 + (c3 - 2 c4) / (2 c2) S^2, + in body axes."""
    v = vector(v)
    square, s = norm_squared(v), skew(v)
    side = s if axes == "body" else -s
    factor = (stumpff(3, square) - 2 * stumpff(4, square)) / (2 * stumpff(2, square))
    return as_array(identity(3) + side / 2 + factor * matmul(s, s))


def singularity(v: Any) -> Any:
    """Determinant of the velocity map, 2 (1 - cos|v|) / |v|^2: it vanishes at full turns."""
    return 2 * stumpff(2, norm_squared(vector(v)))
