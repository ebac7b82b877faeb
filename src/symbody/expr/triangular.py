"""Matrices as rows of nonzero entries, and triangular systems over any scalar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symbody.errors import ExpressionError, ShapeError
from symbody.expr.arrays import Array, as_array, difference, is_zero, reciprocal

Row = dict[int, Any]  # column -> entry; entries that are zero are absent


def square_rows(a: Any, what: str) -> tuple[list[Row], int]:
    """The rows of a square matrix as dictionaries without zeros, and its size."""
    a = as_array(a)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ShapeError(f"{what} was given an array of shape {a.shape}; expected a square matrix.")
    rows = [{j: v for j, v in enumerate(row) if not is_zero(v)} for row in a.tolist()]
    return rows, len(rows)


def solve_lower(l: Any, b: Any, unit: bool = False) -> Array:
    """x of L x = b for a lower triangular L (n, n); `unit`: its diagonal is 1 and not read. b of shape (n,)."""
    rows, n = square_rows(l, "solve_lower")
    return _substitute(rows, b, range(n), unit, "solve_lower", lambda i, j: j < i)


def solve_upper(u: Any, b: Any, unit: bool = False) -> Array:
    """x of U x = b for an upper triangular U (n, n); `unit`: its diagonal is 1 and not read. b of shape (n,)."""
    rows, n = square_rows(u, "solve_upper")
    return _substitute(rows, b, range(n - 1, -1, -1), unit, "solve_upper", lambda i, j: j > i)


def _substitute(
    rows: list[Row], b: Any, sequence: range, unit: bool, what: str, before: Callable[[int, int], bool]
) -> Array:
    b = as_array(b)
    if b.shape != (len(rows),):
        raise ShapeError(f"{what}: the right-hand side has shape {b.shape}; expected ({len(rows)},).")
    for i in sequence:
        if not unit and i not in rows[i]:
            raise ExpressionError(f"{what}: the pivot of row {i}, column {i} is structurally zero: L or U is singular.")
    x = b.tolist()
    for i in sequence:
        value = x[i]
        for j, entry in rows[i].items():
            if before(i, j) and not is_zero(x[j]):
                value = difference(value, entry * x[j])
        x[i] = value if unit or is_zero(value) else value * reciprocal(rows[i][i])
    return as_array(x)
