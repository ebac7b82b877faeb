"""Rodrigues parameters r = tan(angle / 2) axis (Gibbs' vector), over any scalar: rational, without trigonometry.

Singular set: half turns, where r is infinite; there 1 / (1 + r.r) = cos^2(angle / 2) vanishes.
"""

from __future__ import annotations

from typing import Any

from symbody.symbolic.expr.arrays import Array, as_array, identity, matmul, norm_squared, outer, skew, unskew, vector


def matrix_from_rodrigues(r: Any) -> Array:
    """(3, 3) rotation: ((1 - r.r) 1 + 2 r r^T + 2 skew(r)) / (1 + r.r)."""
    r = vector(r)
    square = norm_squared(r)
    factor = 1 / (1 + square)
    return as_array(factor * ((1 - square) * identity(3) + 2 * outer(r, r) + 2 * skew(r)))


def rodrigues_from_matrix(matrix: Any) -> Array:
    """r (3,) of a rotation that is no half turn: the skew part divided by 1 + trace."""
    m = as_array(matrix)
    return as_array((unskew(m - m.T) / (1 + m[0, 0] + m[1, 1] + m[2, 2])).tolist())


def compose(first: Any, second: Any) -> Array:
    """Parameters of the rotation `second` followed by `first`: (a + b + a x b) / (1 - a.b)."""
    a, b = vector(first), vector(second)
    return as_array(((a + b + matmul(skew(a), b)) / (1 - matmul(a, b))).tolist())


def velocity_map(r: Any, axes: str = "body") -> Array:
    """B (3, 3) with omega = B rd: 2 / (1 + r.r) (1 -+ skew(r)), - in body axes."""
    r = vector(r)
    side = skew(r) if axes == "body" else -skew(r)
    return as_array(2 / (1 + norm_squared(r)) * (identity(3) - side))


def rate_map(r: Any, axes: str = "body") -> Array:
    """N (3, 3) with rd = N omega: (1 +- skew(r) + r r^T) / 2, + in body axes."""
    r = vector(r)
    side = skew(r) if axes == "body" else -skew(r)
    return as_array((identity(3) + side + outer(r, r)) / 2)


def singularity(r: Any) -> Any:
    """cos^2(angle / 2): it vanishes at half turns."""
    return 1 / (1 + norm_squared(vector(r)))
