"""LDL^T factors of symmetric matrices over any scalar; zeros make no operation.

Before anything is generated, the structure is eliminated alone, so that a zero pivot is refused by row and column.
Reciprocals of pivots are stored: one division a pivot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError, ShapeError
from symbody.symbolic.expr.arrays import Array, as_array, difference, is_zero, reciprocal
from symbody.symbolic.expr.triangular import Row, square_rows
from symbody.symbolic.expr.walk import quiet_collector


@dataclass(frozen=True, slots=True)
class Symmetric:
    """A factored symmetric matrix A, n x n.

    Step k eliminates row and column order[k]. `lower[k]` holds the entries {row: l} below the unit diagonal, pivots[k]
    the pivot d_k, inverses[k] its reciprocal.
    """

    order: tuple[int, ...]
    lower: tuple[Row, ...]
    pivots: tuple[Any, ...]
    inverses: tuple[Any, ...]

    @property
    def size(self) -> int:
        return len(self.order)


def ldlt(a: Any, order: str | Sequence[int] = "natural") -> Symmetric:
    """A = L D L^T, rows and columns taken in `order`; only the lower triangle of A is read.

    order: "natural", "from_last" (no fill for the mass matrix of a kinematic tree numbered outward, and what a backward
    recursion gives first is used first; robotran 3.8), "minimum_degree", or the row numbers one by one.
    Robotran 3.8 with stored reciprocals, right-looking: the products d_p l_kp are the entries before scaling.
    """
    rows, n = square_rows(a, "ldlt")
    # row i holds what the lower triangle says of the pair (i, j), in both rows
    for i in range(n):
        rows[i] = {j: v for j, v in rows[i].items() if j <= i}
        for j, v in rows[i].items():
            if j < i:
                rows[j][i] = v
    sequence = _symmetric_order(rows, order)
    lower: list[Row] = []
    pivots: list[Any] = []
    inverses: list[Any] = []
    with quiet_collector():
        for k, p in enumerate(sequence):
            column = rows[p]
            d = column.pop(p, 0)
            if is_zero(d):
                raise _vanished(p, k)
            inverse = reciprocal(d)
            scaled = {i: column[i] * inverse for i in sorted(column)}
            for i in scaled:
                del rows[i][p]
            # a_ij - l_i a_j, each pair once
            below = list(scaled)
            for place, i in enumerate(below):
                row, factor = rows[i], scaled[i]
                for j in below[place:]:
                    value = difference(row.get(j, 0), factor * column[j])
                    if not is_zero(value):
                        row[j] = value
                        rows[j][i] = value
                    elif j in row:
                        del row[j]
                        rows[j].pop(i, None)
            lower.append(scaled)
            pivots.append(d)
            inverses.append(inverse)
    return Symmetric(sequence, tuple(lower), tuple(pivots), tuple(inverses))


def solve_ldlt(a: Any, b: Any, order: str | Sequence[int] = "natural") -> Array:
    """x of A x = b for a symmetric matrix A, or for its factors from `ldlt`; b of shape (n,) or (n, m)."""
    factors = a if isinstance(a, Symmetric) else ldlt(a, order)
    return _solve_columns(factors, b)


# -- factorisation


def _symmetric_order(rows: list[Row], order: str | Sequence[int]) -> tuple[int, ...]:
    """The order of elimination, after it was run on the structure alone: no pivot may be structurally zero."""
    n = len(rows)
    near = [set(row) for row in rows]  # a row is in its own set if its diagonal is not zero
    given = _given_order(order, n)
    left = set(range(n))
    out: list[int] = []
    for k in range(n):
        if given is not None:
            p = given[k]
            if p not in near[p]:
                raise ExpressionError(
                    f"ldlt: the pivot of row {p}, column {p} is structurally zero at step {k + 1} of {n}. Give "
                    "another order, for example order='minimum_degree', or use lu."
                )
        else:
            candidates = [i for i in sorted(left) if i in near[i]]
            if not candidates:
                raise ExpressionError(
                    f"ldlt: after {k} pivots the diagonal is structurally zero in all rows that are left: "
                    f"{sorted(left)}. Use lu, which takes pivots off the diagonal."
                )
            p = min(candidates, key=lambda i: (len(near[i]), i))
        around = near[p] - {p}
        for i in around:
            near[i] |= around
            near[i].discard(p)
        left.discard(p)
        out.append(p)
    return tuple(out)


def _given_order(order: str | Sequence[int], n: int) -> list[int] | None:
    if order == "natural":
        return list(range(n))
    if order == "from_last":
        return list(range(n - 1, -1, -1))
    if order == "minimum_degree":
        return None
    if isinstance(order, str):
        raise ExpressionError(
            f"order {order!r} was given; expected 'natural', 'from_last', 'minimum_degree' or a list of row numbers."
        )
    given = [int(i) for i in order]
    if sorted(given) != list(range(n)):
        raise ExpressionError(f"order {given} was given; expected each row number 0 .. {n - 1} once.")
    return given


def _vanished(row: int, step: int) -> ExpressionError:
    return ExpressionError(
        f"ldlt: the pivot of row {row}, column {row} cancels exactly at step {step + 1}: the matrix is singular, "
        "or this pivot must be taken later. Give another order of pivots."
    )


# -- solution


def _solve_columns(factors: Symmetric, b: Any) -> Array:
    b = as_array(b)
    if b.ndim not in (1, 2) or b.shape[0] != factors.size:
        raise ShapeError(f"the right-hand side has shape {b.shape}; expected ({factors.size},) or ({factors.size}, m).")
    with quiet_collector():
        if b.ndim == 1:
            return as_array(_solve_one(factors, b.tolist()))
        solved = [_solve_one(factors, column) for column in b.T.tolist()]
        return as_array(solved).T if solved else np.empty(b.shape, dtype=object)


def _solve_one(factors: Symmetric, b: list[Any]) -> list[Any]:
    """Forward, scaling and back substitution on one right-hand side; `b` is used up."""
    for k, p in enumerate(factors.order):
        below, inverse = factors.lower[k], factors.inverses[k]
        if is_zero(b[p]):
            continue
        scaled = b[p] * inverse
        for i, l in below.items():
            b[i] = difference(b[i], l * b[p])
        b[p] = scaled
    for k in range(factors.size - 1, -1, -1):
        p, below = factors.order[k], factors.lower[k]
        value = b[p]
        for i, l in below.items():
            if not is_zero(b[i]):
                value = difference(value, l * b[i])
        b[p] = value
    return b
