"""Vectors and 3 x 3 tensors as tuples of scalars: what `expr.arrays` does for any size, without the cost of arrays.

Recursions over thousands of bodies spend their time here. An exact 0 or 1 makes no operation. Axis numbers are 0, 1, 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symbody.symbolic.expr.arrays import is_one, is_zero

Vec = tuple[Any, Any, Any]
Mat = tuple[Vec, Vec, Vec]

ZERO: Vec = (0, 0, 0)
NOTHING: Mat = (ZERO, ZERO, ZERO)
OTHERS = ((1, 2), (2, 0), (0, 1))  # the plane across an axis, cyclic


def plus(a: Any, b: Any) -> Any:
    if is_zero(a):
        return b
    return a if is_zero(b) else a + b


def minus(a: Any, b: Any) -> Any:
    if is_zero(b):
        return a
    return -b if is_zero(a) else a - b


def times(a: Any, b: Any) -> Any:
    if is_zero(a) or is_zero(b):
        return 0
    if is_one(a):
        return b
    return a if is_one(b) else a * b


def total(terms: Iterable[Any]) -> Any:
    """Sum of scalars."""
    out: Any = 0
    for t in terms:
        out = plus(out, t)
    return out


def triple(v: Any) -> Vec:
    """(3,) array or sequence as a tuple."""
    return (v[0], v[1], v[2])


def tensor(m: Any) -> Mat:
    """(3, 3) array or rows as a tuple of tuples."""
    return (triple(m[0]), triple(m[1]), triple(m[2]))


def along(axis: int, value: Any) -> Vec:
    """The vector `value` along an axis."""
    return (value, 0, 0) if axis == 0 else (0, value, 0) if axis == 1 else (0, 0, value)


def add(u: Vec, v: Vec) -> Vec:
    return (plus(u[0], v[0]), plus(u[1], v[1]), plus(u[2], v[2]))


def scaled(k: Any, v: Vec) -> Vec:
    return (times(k, v[0]), times(k, v[1]), times(k, v[2]))


def negative(v: Vec) -> Vec:
    return (minus(0, v[0]), minus(0, v[1]), minus(0, v[2]))


def dot(u: Vec, v: Vec) -> Any:
    return plus(plus(times(u[0], v[0]), times(u[1], v[1])), times(u[2], v[2]))


def cross(u: Vec, v: Vec) -> Vec:
    return (
        minus(times(u[1], v[2]), times(u[2], v[1])),
        minus(times(u[2], v[0]), times(u[0], v[2])),
        minus(times(u[0], v[1]), times(u[1], v[0])),
    )


def no_motion(v: Vec) -> bool:
    return is_zero(v[0]) and is_zero(v[1]) and is_zero(v[2])


def apply(m: Mat, v: Vec) -> Vec:
    """m v."""
    return (dot(m[0], v), dot(m[1], v), dot(m[2], v))


def apply_transposed(m: Mat, v: Vec) -> Vec:
    """m^T v."""
    return triple([total(times(m[k][i], v[k]) for k in range(3)) for i in range(3)])


def add_tensors(a: Mat, b: Mat) -> Mat:
    return (add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2]))


def add_symmetric(a: Mat, b: Mat) -> Mat:
    return from_upper(lambda i, j: plus(a[i][j], b[i][j]))


def transposed(m: Mat) -> Mat:
    return tuple(zip(*m))  # type: ignore[return-value]


def skew(v: Vec) -> Mat:
    """S with S w = v x w."""
    x, y, z = v
    return ((0, minus(0, z), y), (z, 0, minus(0, x)), (minus(0, y), x, 0))


def from_upper(entry: Any) -> Mat:
    """The symmetric tensor whose upper entries are entry(i, j), i <= j; each is formed once."""
    xx, xy, xz, yy, yz, zz = (entry(i, j) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


# -- elementary rotations: R turns by the angle of cosine c and sine s about an axis; -s turns back


def rotate(axis: int, c: Any, s: Any, v: Vec) -> Vec:
    """R v, 4 m + 2 a."""
    if axis == 0:
        return (v[0], minus(times(c, v[1]), times(s, v[2])), plus(times(s, v[1]), times(c, v[2])))
    if axis == 1:
        return (plus(times(c, v[0]), times(s, v[2])), v[1], minus(times(c, v[2]), times(s, v[0])))
    return (minus(times(c, v[0]), times(s, v[1])), plus(times(s, v[0]), times(c, v[1])), v[2])


def rotate_tensor(axis: int, c: Any, s: Any, t: Mat, symmetric: bool = True) -> Mat:
    """R T R^T without squares: the 2 x 2 block in 4 m + 6 a, its coupling with the axis (docs/theory.md)."""
    i, j = OTHERS[axis]
    v = plus(times(s, minus(t[i][i], t[j][j])), times(c, plus(t[i][j], t[j][i])))
    step, mixed = times(s, v), times(c, v)
    out: list[list[Any]] = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    out[axis][axis] = t[axis][axis]
    out[i][i], out[j][j] = minus(t[i][i], step), plus(t[j][j], step)
    out[i][j], out[j][i] = minus(mixed, t[j][i]), minus(mixed, t[i][j])
    out[i][axis] = minus(times(c, t[i][axis]), times(s, t[j][axis]))
    out[j][axis] = plus(times(s, t[i][axis]), times(c, t[j][axis]))
    if symmetric:
        out[axis][i], out[axis][j] = out[i][axis], out[j][axis]
    else:
        out[axis][i] = minus(times(c, t[axis][i]), times(s, t[axis][j]))
        out[axis][j] = plus(times(s, t[axis][i]), times(c, t[axis][j]))
    return tensor(out)


def turn_tensor(r: Mat, t: Mat, symmetric: bool = True) -> Mat:
    """r t r^T for any rotation r; a symmetric t needs the upper half only."""
    half = tuple(apply(r, column) for column in transposed(t))  # columns of r t
    rows = transposed(half)  # type: ignore[arg-type]
    if symmetric:
        return from_upper(lambda i, j: dot(rows[i], r[j]))
    return tuple(tuple(dot(rows[i], r[j]) for j in range(3)) for i in range(3))  # type: ignore[return-value]
