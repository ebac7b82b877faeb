"""Closed forms for matrices of size 2 and 3 over any scalar. They need no pivot, only a determinant that is not zero.

`solve_ldlt` and `solve_lu` cost less (28 and 30 operations for size 3) where the pivots are safe.
"""

from __future__ import annotations

from typing import Any

from symbody.basics.errors import ExpressionError, ShapeError
from symbody.symbolic.expr.arrays import Array, as_array, difference, is_zero, reciprocal, sum_of_products, vector


def determinant_2x2(a: Any) -> Any:
    """2 m + 1 a."""
    a = _square(a, 2, "determinant_2x2")
    return _minor(a[0, 0], a[0, 1], a[1, 0], a[1, 1])


def solve_2x2(a: Any, b: Any) -> Array:
    """x of A x = b by Cramer's rule; 8 m + 3 a + 1 d. b of shape (2,)."""
    a, b = _square(a, 2, "solve_2x2"), _right_side(b, 2, "solve_2x2")
    inverse = _reciprocal(determinant_2x2(a), "solve_2x2")
    return as_array(
        [
            _times(_minor(b[0], a[0, 1], b[1], a[1, 1]), inverse),
            _times(_minor(a[0, 0], b[0], a[1, 0], b[1]), inverse),
        ]
    )


def determinant_3x3(a: Any) -> Any:
    """Expansion along the first row; 9 m + 5 a."""
    a = _square(a, 3, "determinant_3x3")
    return sum_of_products(zip(a[0], _cofactor_row(a, 0)))


def inverse_3x3(a: Any) -> Array:
    """Cofactors over the determinant; 30 m + 11 a + 1 d."""
    a = _square(a, 3, "inverse_3x3")
    cofactors = [_cofactor_row(a, i) for i in range(3)]
    inverse = _reciprocal(sum_of_products(zip(a[0], cofactors[0])), "inverse_3x3")
    return as_array([[_times(cofactors[j][i], inverse) for j in range(3)] for i in range(3)])


def solve_3x3(a: Any, b: Any) -> Array:
    """x of A x = b with the columns a1, a2, a3 of A; 27 m + 14 a + 1 d. b of shape (3,).

    With c = a2 x a3 and e = a1 x b: det = a1.c, x1 = b.c / det, x2 = e.a3 / det, x3 = -e.a2 / det (Cramer's rule,
    two vector products shared).
    """
    a, b = _square(a, 3, "solve_3x3"), _right_side(b, 3, "solve_3x3")
    first, second, third = a[:, 0], a[:, 1], a[:, 2]
    c, e = _cross(second, third), _cross(first, b)
    inverse = _reciprocal(sum_of_products(zip(first, c)), "solve_3x3")
    return as_array(
        [
            _times(sum_of_products(zip(b, c)), inverse),
            _times(sum_of_products(zip(e, third)), inverse),
            _times(-sum_of_products(zip(e, second)), inverse),
        ]
    )


def _cofactor_row(a: Array, i: int) -> list[Any]:
    p, q = (i + 1) % 3, (i + 2) % 3
    return [_minor(a[p, (j + 1) % 3], a[p, (j + 2) % 3], a[q, (j + 1) % 3], a[q, (j + 2) % 3]) for j in range(3)]


def _cross(a: Array, b: Array) -> list[Any]:
    return [_minor(a[i], a[j], b[i], b[j]) for i, j in ((1, 2), (2, 0), (0, 1))]


def _minor(a: Any, b: Any, c: Any, d: Any) -> Any:
    """a d - b c."""
    return difference(sum_of_products([(a, d)]), sum_of_products([(b, c)]))


def _times(value: Any, inverse: Any) -> Any:
    return value if is_zero(value) else value * inverse


def _reciprocal(determinant: Any, what: str) -> Any:
    if is_zero(determinant):
        raise ExpressionError(f"{what}: the determinant is structurally zero: the matrix is singular.")
    return reciprocal(determinant)


def _square(a: Any, n: int, what: str) -> Array:
    a = as_array(a)
    if a.shape != (n, n):
        raise ShapeError(f"{what} was given an array of shape {a.shape}; expected ({n}, {n}).")
    return a


def _right_side(b: Any, n: int, what: str) -> Array:
    b = vector(b)
    if b.shape != (n,):
        raise ShapeError(f"{what}: the right-hand side has shape {b.shape}; expected ({n},).")
    return b
