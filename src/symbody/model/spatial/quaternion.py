"""Unit quaternions (w, x, y, z) over any scalar. q and -q are the same rotation; there is no singular set."""

from __future__ import annotations

from typing import Any

from symbody.model.spatial.scalar import choose, real_part, sqrt
from symbody.symbolic.expr.arrays import Array, as_array, norm_squared, reciprocal, vector


def matrix_from_quaternion(q: Any) -> Array:
    """(3, 3) rotation of a unit quaternion (4,)."""
    return as_array(matrix_rows(*vector(q)))


def matrix_rows(w: Any, x: Any, y: Any, z: Any) -> list[list[Any]]:
    """Its rows; the components may be arrays, of many quaternions at once."""
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]


def quaternion_from_matrix(matrix: Any) -> Array:
    """The unit quaternion (4,) of a rotation, w >= 0, without loss of digits at any angle (Shepperd 1978).

    The rows of 4 q q^T are linear in the matrix; the one with the largest diagonal entry is taken.
    """
    r = as_array(matrix)
    trace = r[0, 0] + r[1, 1] + r[2, 2]
    a, b, c = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    d, e, f = r[0, 1] + r[1, 0], r[0, 2] + r[2, 0], r[1, 2] + r[2, 1]
    rows = [
        [1 + trace, a, b, c],
        [a, 1 + 2 * r[0, 0] - trace, d, e],
        [b, d, 1 + 2 * r[1, 1] - trace, f],
        [c, e, f, 1 + 2 * r[2, 2] - trace],
    ]
    best, largest = rows[0], rows[0][0]
    for k in (1, 2, 3):
        better = real_part(largest) < real_part(rows[k][k])
        best = [choose(better, new, old) for new, old in zip(rows[k], best, strict=True)]
        largest = choose(better, rows[k][k], largest)
    half = 1 / (2 * sqrt(largest))
    sign = choose(real_part(best[0]) < 0, -half, half)
    return as_array([sign * x for x in best])


def multiply(p: Any, q: Any) -> Array:
    """Hamilton's product p q (4,): the rotation q first, then p."""
    a, b, c, d = vector(p)
    w, x, y, z = vector(q)
    return as_array(
        [
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ]
    )


def conjugate(q: Any) -> Array:
    """(w, -x, -y, -z): the inverse rotation."""
    w, x, y, z = vector(q)
    return as_array([w, -x, -y, -z])


def normalise(q: Any) -> Array:
    """q / |q|."""
    q = vector(q)
    factor = 1 / sqrt(norm_squared(q))
    return as_array([x * factor for x in q])


def velocity_map(q: Any, axes: str = "body") -> Array:
    """B (3, 4) with omega = B qd, in body or reference axes."""
    w, x, y, z = (2 * c for c in vector(q))
    if axes == "body":
        return as_array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
    return as_array([[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]])


def rate_map(q: Any, axes: str = "body") -> Array:
    """N (4, 3) with qd = N omega, which keeps |q|."""
    half = reciprocal(2)
    w, x, y, z = (half * c for c in vector(q))
    if axes == "body":
        return as_array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])
    return as_array([[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]])


def singularity(q: Any) -> Any:
    """|q|^2: the chart fails only where a quaternion was allowed to vanish."""
    return norm_squared(vector(q))
