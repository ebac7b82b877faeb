"""Three angles in turn, R = R_i(q1) R_j(q2) R_k(q3), for any of the twelve sequences of axes, over any scalar.

Each rotation acts in the frame that the one before has moved. With dual angles the same formulas describe a
displacement by three cylindrical motions (MEDUSA, 3.5: eqs. 3.22-3.26 corrected, 3.37-3.40).

Singular set: sin q2 = 0 where the first and last axes are equal (such as "zyz"), else cos q2 = 0 (such as "zyx").
"""

from __future__ import annotations

from typing import Any

from symbody.basics.errors import ExpressionError
from symbody.model.spatial.rotations import about_axis, axis_number
from symbody.model.spatial.scalar import atan2, cos, real_part, sin, sqrt
from symbody.symbolic.expr.arrays import Array, as_array, matmul, transpose, vector, zeros
from symbody.symbolic.expr.node import Node


def axes_of(sequence: str) -> tuple[int, int, int]:
    """Axis numbers of a sequence such as "zyx"; neighbours must differ."""
    if len(sequence) == 3:
        i, j, k = (axis_number(a) for a in sequence)
        if i != j and j != k:
            return i, j, k
    raise ExpressionError(f"sequence {sequence!r} was given; expected three axes, neighbours unlike, such as 'zyx'.")


def _frame(sequence: str) -> tuple[int, int, int, bool, int]:
    """(i, j, m, whether the last axis is i again, sign of the permutation i j m); m is the axis besides i and j."""
    i, j, k = axes_of(sequence)
    return i, j, 3 - i - j, k == i, 1 if (j - i) % 3 == 1 else -1


def matrix_from_angles(sequence: str, q: Any) -> Array:
    """(3, 3) rotation of the angles q (3,)."""
    i, j, k = axes_of(sequence)
    q = vector(q)
    return matmul(about_axis(i, q[0]), about_axis(j, q[1]), about_axis(k, q[2]))


def angles_from_matrix(sequence: str, matrix: Any) -> Array:
    """The angles q (3,) of a rotation, q2 in [0, pi] or [-pi/2, pi/2]. On the singular set q3 is 0.

    Over nodes the singular set is not looked for: the formulas are those of a regular rotation.
    """
    r = as_array(matrix)
    i, j, m, proper, sign = _frame(sequence)
    if proper:
        cylinder = sqrt(r[j, i] * r[j, i] + r[m, i] * r[m, i]) if not _gone(r[j, i], r[m, i]) else 0
        q2 = atan2(cylinder, r[i, i])
        first, last = (r[j, i], -sign * r[m, i]), (r[i, j], sign * r[i, m])
    else:
        cylinder = sqrt(r[i, i] * r[i, i] + r[i, j] * r[i, j]) if not _gone(r[i, i], r[i, j]) else 0
        q2 = atan2(sign * r[i, m], cylinder)
        first, last = (-sign * r[j, m], r[m, m]), (-sign * r[i, j], r[i, i])
    if _gone(*first) and _gone(*last):
        return as_array([atan2(sign * r[m, j], r[j, j]), q2, 0])
    return as_array([atan2(*first), q2, atan2(*last)])


def _gone(a: Any, b: Any) -> bool:
    """Whether both numbers vanish within rounding; never of nodes."""
    a, b = real_part(a), real_part(b)
    if isinstance(a, Node) or isinstance(b, Node):
        return False
    return bool(a * a + b * b < 1e-28)


def velocity_map(sequence: str, q: Any, axes: str = "body") -> Array:
    """B (3, 3) with omega = B qd, in body axes or reference axes."""
    i, j, k = axes_of(sequence)
    q = vector(q)
    out = zeros(3, 3)
    if axes == "body":
        last = transpose(about_axis(k, q[2]))
        columns = [matmul(last, transpose(about_axis(j, q[1])))[:, i], last[:, j], _unit(k)]
    else:
        first = about_axis(i, q[0])
        columns = [_unit(i), first[:, j], matmul(first, about_axis(j, q[1]))[:, k]]
    for n, column in enumerate(columns):
        out[:, n] = column
    return as_array(out.tolist())


def rate_map(sequence: str, q: Any, axes: str = "body") -> Array:
    """N (3, 3) with qd = N omega: the inverse of `velocity_map`; it divides by `singularity(sequence, q)`.

    In the frame after the first rotation omega = e_i qd1 + e_j qd2 + R_j(q2) e_k qd3, which is triangular.
    """
    i, j, m, proper, sign = _frame(sequence)
    q = vector(q)
    c, s = cos(q[1]), sin(q[1])
    # R_j(q2) e_k = along e_i + across e_m
    along, across = (c, -sign * s) if proper else (sign * s, c)
    k = i if proper else m
    if axes == "body":
        turn = matmul(about_axis(j, q[1]), about_axis(k, q[2]))
    else:
        turn = transpose(about_axis(i, q[0]))
    third = as_array([x / across for x in turn[m]])
    return as_array([(turn[i] - along * third).tolist(), turn[j].tolist(), third.tolist()])


def singularity(sequence: str, q: Any) -> Any:
    """Determinant of the velocity map up to its sign: sin q2 or cos q2. Zero on the singular set."""
    i, _, k = axes_of(sequence)
    q = vector(q)
    return sin(q[1]) if i == k else cos(q[1])


def _unit(k: int) -> Array:
    out = zeros(3)
    out[k] = 1
    return out
