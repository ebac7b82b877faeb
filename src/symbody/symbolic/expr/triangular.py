"""Matrices as rows of nonzero entries, over any scalar."""

from __future__ import annotations

from typing import Any

from symbody.basics.errors import ShapeError
from symbody.symbolic.expr.arrays import as_array, is_zero

Row = dict[int, Any]  # column -> entry; entries that are zero are absent


def square_rows(a: Any, what: str) -> tuple[list[Row], int]:
    """The rows of a square matrix as dictionaries without zeros, and its size."""
    a = as_array(a)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ShapeError(f"{what} was given an array of shape {a.shape}; expected a square matrix.")
    rows = [{j: v for j, v in enumerate(row) if not is_zero(v)} for row in a.tolist()]
    return rows, len(rows)
