"""Vectors and matrices of any scalar: NumPy arrays of floats, or object arrays of Nodes, Fractions and numbers.

Entries that are exactly 0 or 1 make no operations. Frames: R_ab takes b-coordinates to a-coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError, ShapeError
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.graph import Graph, current_graph
from symbody.symbolic.expr.node import CONST, Node

Array = np.ndarray[Any, Any]


# -- scalars


def is_zero(value: Any) -> bool:
    """Whether a scalar is structurally zero: the number 0, or a constant node of it."""
    if value.__class__ is Node:
        return value.op is CONST and value.data == 0
    return bool(value == 0)


def is_one(value: Any) -> bool:
    """Whether a scalar is structurally one."""
    if value.__class__ is Node:
        return value.op is CONST and value.data == 1
    return bool(value == 1)


def reciprocal(value: Any) -> Any:
    """1 / value; exact for integers and Fractions."""
    if value.__class__ is not Node and isinstance(value, Rational):
        exact = Fraction(int(value.denominator), int(value.numerator))
        return exact.numerator if exact.denominator == 1 else exact
    return 1 / value


def square_root(value: Any) -> Any:
    """sqrt(value); exact for the squares of integers and Fractions."""
    if value.__class__ is Node:
        return call("sqrt", value)
    if value < 0:
        raise ExpressionError(f"the square root of {value} is not real. Is the matrix positive definite?")
    if isinstance(value, Rational):
        top, bottom = math.isqrt(int(value.numerator)), math.isqrt(int(value.denominator))
        if top * top == value.numerator and bottom * bottom == value.denominator:
            return top if bottom == 1 else Fraction(top, bottom)
    return math.sqrt(value)


def cos_sin(angle: Any) -> tuple[Any, Any]:
    """(cos, sin) of an angle, rad; (1, 0) exactly where the angle is exactly zero."""
    if angle.__class__ is Node:
        return call("cos", angle), call("sin", angle)
    if is_zero(angle):
        return 1, 0
    return math.cos(angle), math.sin(angle)


# -- making arrays


def as_array(value: Any) -> Array:
    """Floats as a float array, Nodes, Fractions and integers alone as an object array; arrays as they are."""
    if isinstance(value, np.ndarray):
        return value
    try:
        array = np.array(value, dtype=object)
    except ValueError:
        raise ShapeError(f"rows of unequal length cannot be a matrix: {_lengths(value)}.") from None
    if any(isinstance(entry, (list, tuple)) for entry in array.flat):
        raise ShapeError(f"rows of unequal length cannot be a matrix: {_lengths(value)}.")
    return _tidy(array)


def _lengths(value: Any) -> str:
    return "lengths " + ", ".join(str(len(row)) if hasattr(row, "__len__") else "scalar" for row in value)


def vector(*entries: Any) -> Array:
    """`vector(x, 0, 1)` or `vector([x, 0, 1])`: shape (n,)."""
    if len(entries) == 1 and isinstance(entries[0], (list, tuple, np.ndarray)):
        array = as_array(entries[0])
    else:
        array = as_array(list(entries))
    if array.ndim != 1:
        raise ShapeError(f"a vector was given as an array of shape {array.shape}; expected (n,).")
    return array


def matrix(rows: Sequence[Sequence[Any]] | Array) -> Array:
    """Rows of equal length: shape (m, n)."""
    array = as_array(rows)
    if array.ndim != 2:
        raise ShapeError(f"a matrix was given as an array of shape {array.shape}; expected (m, n), a list of rows.")
    return array


def zeros(*shape: int) -> Array:
    """An object array of exact zeros."""
    return np.full(shape, 0, dtype=object)


def identity(n: int) -> Array:
    """The n x n unit matrix with exact entries."""
    unit = zeros(n, n)
    for i in range(n):
        unit[i, i] = 1
    return unit


def scalar_array(node: Any) -> Array:
    """A node, or a number, as an array of shape ()."""
    out = np.empty((), dtype=object)
    out[()] = node
    return out


def symbols_in(graph: Graph, symbols: Array) -> Array:
    """Copies of the symbols in another Graph, in the same shape."""
    out = np.empty(symbols.shape, dtype=object)
    for i, s in enumerate(symbols.flat):
        out.flat[i] = graph.intern(s.op, (), s.data, s.flags)
    return out


def symbol_array(name: str, size: int, role: str = "input", start: int = 1, **details: Any) -> Array:
    """Symbols name1 .. name<size> in the current Graph, shape (size,)."""
    graph = current_graph()
    out = zeros(size)
    for k in range(size):
        out[k] = graph.symbol(f"{name}{start + k}", role, **details)
    return out


def symbol_matrix(
    name: str, rows: int, columns: int | None = None, role: str = "input", symmetric: bool = False, **details: Any
) -> Array:
    """Symbols name11, name12, ... (name1_2 where an index has two digits), shape (rows, columns).

    A symmetric one names its entries by the upper triangle: entry (2, 1) is name12.
    """
    columns = rows if columns is None else columns
    if symmetric and rows != columns:
        raise ShapeError(f"a symmetric matrix has as many rows as columns; {rows} and {columns} were given.")
    graph, between = current_graph(), "_" if max(rows, columns) > 9 else ""
    out = zeros(rows, columns)
    for i in range(rows):
        for j in range(columns):
            a, b = (j, i) if symmetric and j < i else (i, j)
            out[i, j] = graph.symbol(f"{name}{a + 1}{between}{b + 1}", role, **details)
    return out


# -- products


def sum_of_products(pairs: Iterable[tuple[Any, Any]]) -> Any:
    """Sum of a*b over the pairs, the exact 0 if there are none. A zero or a factor 1 makes no operation."""
    total: Any = None
    for a, b in pairs:
        if is_zero(a) or is_zero(b):
            continue
        term = b if is_one(a) else a if is_one(b) else a * b
        total = term if total is None else total + term
    return 0 if total is None else total


def dot(a: Any, b: Any) -> Any:
    """Scalar product of two vectors of equal length."""
    a, b = vector(a), vector(b)
    if a.shape != b.shape:
        raise ShapeError(f"dot was given vectors of length {len(a)} and {len(b)}; expected equal lengths.")
    return sum_of_products(zip(a, b))


def norm_squared(a: Any) -> Any:
    """Scalar product of a vector with itself."""
    return dot(a, a)


def cross(a: Any, b: Any) -> Array:
    """Vector product of two vectors of length 3, both in one frame."""
    a, b = _three("cross", a), _three("cross", b)
    return as_array([_minor(a[i], a[j], b[i], b[j]) for i, j in ((1, 2), (2, 0), (0, 1))])


def _minor(a: Any, b: Any, c: Any, d: Any) -> Any:
    """a*d - b*c."""
    return difference(sum_of_products([(a, d)]), sum_of_products([(b, c)]))


def difference(a: Any, b: Any) -> Any:
    """a - b; a zero makes no operation."""
    if is_zero(b):
        return a
    return -b if is_zero(a) else a - b


def skew(v: Any) -> Array:
    """The 3 x 3 matrix S with S @ w = v x w."""
    x, y, z = _three("skew", v)
    return as_array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def unskew(s: Any) -> Array:
    """The vector of a skew-symmetric 3 x 3 matrix, read from its lower half; `unskew(skew(v))` is v."""
    s = matrix(s)
    if s.shape != (3, 3):
        raise ShapeError(f"unskew was given an array of shape {s.shape}; expected (3, 3).")
    return as_array([s[2, 1], s[0, 2], s[1, 0]])


def outer(a: Any, b: Any) -> Array:
    """The matrix a_i b_j, shape (len(a), len(b))."""
    a, b = vector(a), vector(b)
    out = _empty(len(a), len(b))
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i, j] = sum_of_products([(x, y)])
    return _tidy(out)


def transpose(a: Any) -> Array:
    """The transpose of a matrix; a vector stays as it is."""
    return as_array(a).T


def matmul(a: Any, b: Any, *more: Any) -> Any:
    """Matrix product a @ b of matrices (2-D) and vectors (1-D), from the left if there are more than two."""
    a, b = as_array(a), as_array(b)
    if a.ndim not in (1, 2) or b.ndim not in (1, 2) or a.shape[-1] != b.shape[0]:
        raise ShapeError(f"matmul was given arrays of shape {a.shape} and {b.shape}; the inner sizes must be equal.")
    if a.dtype != object and b.dtype != object:
        product = a @ b
    else:
        product = _object_product(a, b)
    return matmul(product, *more) if more else product


def _object_product(a: Array, b: Array) -> Any:
    rows = [a] if a.ndim == 1 else list(a)
    columns = [b] if b.ndim == 1 else list(b.T)
    out = _empty(len(rows), len(columns))
    for i, row in enumerate(rows):
        used = [k for k, x in enumerate(row) if not is_zero(x)]
        for j, column in enumerate(columns):
            out[i, j] = sum_of_products((row[k], column[k]) for k in used)
    if a.ndim == 1 and b.ndim == 1:
        return out[0, 0]
    if a.ndim == 1:
        return _tidy(out[0])
    return _tidy(out[:, 0] if b.ndim == 1 else out)


def _empty(*shape: int) -> Array:
    return np.empty(shape, dtype=object)


def _tidy(array: Array) -> Array:
    """A plain float array where floats are mixed with integers at most; integers alone stay exact objects."""
    kinds = {v.__class__ for v in array.flat}
    if any(issubclass(k, (float, np.floating)) for k in kinds):
        if all(issubclass(k, (float, int, np.floating, np.integer)) for k in kinds):
            return array.astype(float)
    return array


def _three(what: str, v: Any) -> Array:
    v = vector(v)
    if v.shape != (3,):
        raise ShapeError(f"{what} was given a vector of length {len(v)}; expected 3.")
    return v


# -- rotations


def rotation_x(angle: Any) -> Array:
    """R_ab of a frame b that is turned by `angle` (rad) about the x axis of a: b-coordinates to a-coordinates."""
    c, s = cos_sin(angle)
    return as_array([[1, 0, 0], [0, c, -s], [0, s, c]])


def rotation_y(angle: Any) -> Array:
    """R_ab of a frame b that is turned by `angle` (rad) about the y axis of a: b-coordinates to a-coordinates."""
    c, s = cos_sin(angle)
    return as_array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def rotation_z(angle: Any) -> Array:
    """R_ab of a frame b that is turned by `angle` (rad) about the z axis of a: b-coordinates to a-coordinates."""
    c, s = cos_sin(angle)
    return as_array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def rotate_plane(c: Any, s: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """(c x - s y, s x + c y): the point (x, y) turned by the angle of cosine c and sine s; 4 m + 2 a."""
    return (
        difference(sum_of_products([(c, x)]), sum_of_products([(s, y)])),
        sum_of_products([(s, x), (c, y)]),
    )


def rotate_plane_symmetric(c: Any, s: Any, xx: Any, xy: Any, yy: Any) -> tuple[Any, Any, Any]:
    """(xx, xy, yy) of R T R^T for the plane rotation R by (c, s); 4 m + 6 a, no squares (docs/theory.md)."""
    v = sum_of_products([(s, difference(xx, yy)), (c, 2 * xy)])
    t = sum_of_products([(s, v)])
    return difference(xx, t), difference(sum_of_products([(c, v)]), xy), yy if is_zero(t) else yy + t


def rotate_vector(axis: int, c: Any, s: Any, v: Any) -> Array:
    """R v for the elementary rotation R about axis 0, 1 or 2 by the angle of cosine c and sine s; v of length 3."""
    v = _three("rotate_vector", v)
    i, j = _plane_of(axis)
    out = _empty(3)
    out[axis] = v[axis]
    out[i], out[j] = rotate_plane(c, s, v[i], v[j])
    return _tidy(out)


def rotate_symmetric(axis: int, c: Any, s: Any, tensor: Any) -> Array:
    """R T R^T for the elementary rotation R about axis 0, 1 or 2 and a symmetric 3 x 3 tensor T (upper half read).

    8 m + 8 a for a full tensor: the block of the plane and the vector that couples it to the axis.
    """
    t = matrix(tensor)
    if t.shape != (3, 3):
        raise ShapeError(f"rotate_symmetric was given an array of shape {t.shape}; expected (3, 3).")
    i, j = _plane_of(axis)

    def entry(a: int, b: int) -> Any:
        return t[min(a, b), max(a, b)]

    out = _empty(3, 3)
    out[axis, axis] = t[axis, axis]
    out[i, i], out[i, j], out[j, j] = rotate_plane_symmetric(c, s, entry(i, i), entry(i, j), entry(j, j))
    out[axis, i], out[axis, j] = rotate_plane(c, s, entry(axis, i), entry(axis, j))
    out[j, i], out[i, axis], out[j, axis] = out[i, j], out[axis, i], out[axis, j]
    return _tidy(out)


def _plane_of(axis: int) -> tuple[int, int]:
    if axis not in (0, 1, 2):
        raise ExpressionError(f"axis {axis!r} was given; expected 0, 1 or 2 for x, y or z.")
    return (axis + 1) % 3, (axis + 2) % 3
