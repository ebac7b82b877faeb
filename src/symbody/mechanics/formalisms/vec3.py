"""Vectors and 3 x 3 tensors that read as mathematics: what `expr.arrays` does for any size, without the cost of arrays.

Notation: `u + v`, `u - v`, `-v`, `k * v`; `m @ v`, `m @ n`, `m.T` of tensors; `dot(u, v)`, `cross(u, v)`. Scalars
that may be an exact 0 or 1 go by `plus`, `minus`, `times`, `sum_of`, so that these make no operation. Recursions over
thousands of bodies spend their time here: a Vec is a tuple with operators, nothing is checked, and its entries are
formed in order. Axis numbers are 0, 1, 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, overload

from symbody.symbolic.expr.arithmetic import add, mul
from symbody.symbolic.expr.arrays import is_one, is_zero
from symbody.symbolic.expr.coefficients import negate
from symbody.symbolic.expr.node import CONST, Node

OTHERS = ((1, 2), (2, 0), (0, 1))  # the plane across an axis, cyclic


# -- scalars; two nodes that are no constants come first: they are most, and need neither questions nor dispatch


def plus(a: Any, b: Any) -> Any:
    if a.__class__ is Node and b.__class__ is Node and a.op is not CONST and b.op is not CONST:
        return add(a, b)
    if is_zero(a):
        return b
    return a if is_zero(b) else a + b


def minus(a: Any, b: Any) -> Any:
    if a.__class__ is Node and b.__class__ is Node and a.op is not CONST and b.op is not CONST:
        return add(a, negate(b))
    if is_zero(b):
        return a
    return -b if is_zero(a) else a - b


def times(a: Any, b: Any) -> Any:
    if a.__class__ is Node and b.__class__ is Node and a.op is not CONST and b.op is not CONST:
        return mul(a, b)
    if is_zero(a) or is_zero(b):
        return 0
    if is_one(a):
        return b
    return a if is_one(b) else a * b


def sum_of(terms: Iterable[Any]) -> Any:
    """Sum of scalars."""
    out: Any = 0
    for t in terms:
        out = plus(out, t)
    return out


# -- vectors and tensors


class Vec(tuple[Any, Any, Any]):
    """Three coordinates in one frame. `Vec((x, y, z))` makes one, `vec(array)` reads one."""

    __slots__ = ()
    __array_ufunc__ = None  # scalars of NumPy leave `k * v` to the vector
    __radd__ = __mul__ = None  # type: ignore[assignment]  # what would join and repeat tuples raises TypeError

    def __add__(self, v: Vec) -> Vec:  # type: ignore[override]
        return Vec((plus(self[0], v[0]), plus(self[1], v[1]), plus(self[2], v[2])))

    def __sub__(self, v: Vec) -> Vec:
        return self + -v

    def __neg__(self) -> Vec:
        return Vec((minus(0, self[0]), minus(0, self[1]), minus(0, self[2])))

    def __rmul__(self, k: Any) -> Vec:
        return Vec((times(k, self[0]), times(k, self[1]), times(k, self[2])))


class Mat(tuple[Vec, Vec, Vec]):
    """Rows of a 3 x 3 tensor or rotation. `Mat((a, b, c))` makes one of three rows, `mat(array)` reads one."""

    __slots__ = ()
    __array_ufunc__ = None
    __radd__ = __mul__ = __rmul__ = None  # type: ignore[assignment]

    @property
    def T(self) -> Mat:
        a, b, c = self
        return Mat((Vec((a[0], b[0], c[0])), Vec((a[1], b[1], c[1])), Vec((a[2], b[2], c[2]))))

    def __add__(self, m: Mat) -> Mat:  # type: ignore[override]
        return Mat((self[0] + m[0], self[1] + m[1], self[2] + m[2]))

    def __sub__(self, m: Mat) -> Mat:
        return self + -m

    def __neg__(self) -> Mat:
        return Mat((-self[0], -self[1], -self[2]))

    @overload
    def __matmul__(self, x: Vec) -> Vec: ...
    @overload
    def __matmul__(self, x: Mat) -> Mat: ...
    def __matmul__(self, x: Vec | Mat) -> Vec | Mat:
        a, b, c = self
        if isinstance(x, Mat):
            x, y, z = x.T
            return Mat(Vec((dot(row, x), dot(row, y), dot(row, z))) for row in (a, b, c))
        return Vec((dot(a, x), dot(b, x), dot(c, x)))


ZERO = Vec((0, 0, 0))
NOTHING = Mat((ZERO, ZERO, ZERO))


def vec(v: Any) -> Vec:
    """An array or sequence of length 3 as a Vec."""
    return Vec((v[0], v[1], v[2]))


def mat(m: Any) -> Mat:
    """A (3, 3) array or rows as a Mat."""
    return Mat((vec(m[0]), vec(m[1]), vec(m[2])))


def axis_vector(axis: int, value: Any) -> Vec:
    """The vector of this value along an axis."""
    return Vec((value, 0, 0) if axis == 0 else (0, value, 0) if axis == 1 else (0, 0, value))


def unit_matrix() -> Mat:
    return Mat(axis_vector(k, 1) for k in range(3))


def dot(u: Vec, v: Vec) -> Any:
    a, b, c = u
    x, y, z = v
    return plus(plus(times(a, x), times(b, y)), times(c, z))


def cross(u: Vec, v: Vec) -> Vec:
    a, b, c = u
    x, y, z = v
    return Vec((minus(times(b, z), times(c, y)), minus(times(c, x), times(a, z)), minus(times(a, y), times(b, x))))


def is_null(v: Vec) -> bool:
    """Whether all coordinates are exactly 0."""
    return is_zero(v[0]) and is_zero(v[1]) and is_zero(v[2])


def columns_matrix(columns: Iterable[Vec]) -> Mat:
    """The matrix of three columns."""
    return Mat(columns).T


def add_symmetric(a: Mat, b: Mat) -> Mat:
    """a + b of symmetric tensors, each entry formed once."""
    return from_upper(lambda i, j: plus(a[i][j], b[i][j]))


def skew(v: Vec) -> Mat:
    """S with S w = v x w."""
    x, y, z = v
    return Mat((Vec((0, minus(0, z), y)), Vec((z, 0, minus(0, x))), Vec((minus(0, y), x, 0))))


def from_upper(entry: Callable[[int, int], Any]) -> Mat:
    """The symmetric tensor whose upper entries are entry(i, j), i <= j; each is formed once."""
    xx, xy, xz, yy, yz, zz = (entry(i, j) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
    return Mat((Vec((xx, xy, xz)), Vec((xy, yy, yz)), Vec((xz, yz, zz))))


# -- elementary rotations: R turns by the angle of cosine c and sine s about an axis; -s turns back


def rotate(axis: int, c: Any, s: Any, v: Vec) -> Vec:
    """R v, 4 m + 2 a."""
    if axis == 0:
        return Vec((v[0], minus(times(c, v[1]), times(s, v[2])), plus(times(s, v[1]), times(c, v[2]))))
    if axis == 1:
        return Vec((plus(times(c, v[0]), times(s, v[2])), v[1], minus(times(c, v[2]), times(s, v[0]))))
    return Vec((minus(times(c, v[0]), times(s, v[1])), plus(times(s, v[0]), times(c, v[1])), v[2]))


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
    return mat(out)


def turn_tensor(r: Mat, t: Mat, symmetric: bool = True) -> Mat:
    """r t r^T for any rotation r; a symmetric t needs the upper half only."""
    rows = columns_matrix(r @ column for column in t.T)  # of r t
    if symmetric:
        return from_upper(lambda i, j: dot(rows[i], r[j]))
    return Mat(Vec(dot(row, axis) for axis in r) for row in rows)
