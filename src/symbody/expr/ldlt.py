"""LDL^T and Cholesky factors of symmetric matrices over any scalar; zeros make no operation.

Before anything is generated, the structure is eliminated alone, so that a zero pivot is refused by row and column.
Reciprocals of pivots are stored: one division a pivot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.errors import ExpressionError, ShapeError
from symbody.expr.arrays import Array, as_array, difference, is_zero, reciprocal, square_root, zeros
from symbody.expr.triangular import Row, square_rows
from symbody.expr.walk import quiet_collector


@dataclass(frozen=True, slots=True)
class Symmetric:
    """A factored symmetric matrix A, n x n.

    Step k eliminates row and column order[k]. `lower[k]` holds the entries {row: l} below the pivot (unit diagonal for
    LDL^T, `roots[k]` on it for Cholesky), pivots[k] the pivot d_k, inverses[k] its reciprocal (Cholesky: of its root).
    """

    kind: str  # "ldlt" or "cholesky"
    order: tuple[int, ...]
    lower: tuple[Row, ...]
    pivots: tuple[Any, ...]
    roots: tuple[Any, ...]
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
    return _factor(a, order, "ldlt")


def cholesky(a: Any, order: str | Sequence[int] = "natural") -> Symmetric:
    """A = L L^T for a positive definite A, otherwise as `ldlt`."""
    return _factor(a, order, "cholesky")


def ldlt_count(n: int) -> int:
    """Operations of `solve_ldlt` for a full symmetric matrix and one right-hand side.

    With m = n - 1 .. 0 rows below the pivot, each step costs 1 division, m products for l, m (m + 1) for the rest of A,
    2 m for the right-hand side, 2 m + 1 for the back substitution; the last division takes its numerator along:
    n (n - 1) (2 n - 1) / 6 + 3 n (n - 1) + 2 n - 1.
    """
    return n * (n - 1) * (2 * n - 1) // 6 + 3 * n * (n - 1) + 2 * n - 1


def cholesky_count(n: int) -> int:
    """Operations of `solve_cholesky`, a square root being one: n (n - 1) (2 n - 1) / 6 + 3 n (n - 1) + 4 n - 3.

    Each step costs a root and a product more than LDL^T; the last unknown, which nothing depends on, needs neither.
    """
    return n * (n - 1) * (2 * n - 1) // 6 + 3 * n * (n - 1) + 4 * n - 3


def solve_ldlt(a: Any, b: Any, order: str | Sequence[int] = "natural") -> Array:
    """x of A x = b for a symmetric matrix A, or for its factors from `ldlt`; b of shape (n,) or (n, m)."""
    factors = a if isinstance(a, Symmetric) else ldlt(a, order)
    return _solve_columns(factors, b)


def solve_cholesky(a: Any, b: Any, order: str | Sequence[int] = "natural") -> Array:
    """x of A x = b for a positive definite matrix A, or for its factors from `cholesky`; b of shape (n,) or (n, m)."""
    factors = a if isinstance(a, Symmetric) else cholesky(a, order)
    return _solve_columns(factors, b)


def symmetric_factors(factors: Symmetric) -> tuple[Array, Array]:
    """(L, d) as arrays in the order of elimination: A[order][:, order] = L diag(d) L^T, with d = 1 for Cholesky."""
    n = factors.size
    place = {row: k for k, row in enumerate(factors.order)}
    full = zeros(n, n)
    for k in range(n):
        full[k, k] = factors.roots[k] if factors.kind == "cholesky" else 1
        for row, value in factors.lower[k].items():
            full[place[row], k] = value
    d = [1] * n if factors.kind == "cholesky" else list(factors.pivots)
    return as_array(full.tolist()), as_array(d)


# -- factorisation


def _factor(a: Any, order: str | Sequence[int], kind: str) -> Symmetric:
    rows, n = square_rows(a, kind)
    # row i holds what the lower triangle says of the pair (i, j), in both rows
    for i in range(n):
        rows[i] = {j: v for j, v in rows[i].items() if j <= i}
        for j, v in rows[i].items():
            if j < i:
                rows[j][i] = v
    sequence = _symmetric_order(rows, order, kind)
    lower: list[Row] = []
    pivots: list[Any] = []
    roots: list[Any] = []
    inverses: list[Any] = []
    with quiet_collector():
        for k, p in enumerate(sequence):
            column = rows[p]
            d = column.pop(p, 0)
            if is_zero(d):
                raise _vanished(p, p, k, kind)
            root = square_root(d) if kind == "cholesky" else None
            inverse = reciprocal(d if root is None else root)
            scaled = {i: column[i] * inverse for i in sorted(column)}
            for i in scaled:
                del rows[i][p]
            # a_ij - l_i a_j, each pair once; Cholesky has l_j in the place of a_j
            other = scaled if kind == "cholesky" else column
            below = list(scaled)
            for place, i in enumerate(below):
                row, factor = rows[i], scaled[i]
                for j in below[place:]:
                    value = difference(row.get(j, 0), factor * other[j])
                    if not is_zero(value):
                        row[j] = value
                        rows[j][i] = value
                    elif j in row:
                        del row[j]
                        rows[j].pop(i, None)
            lower.append(scaled)
            pivots.append(d)
            roots.append(root)
            inverses.append(inverse)
    return Symmetric(kind, sequence, tuple(lower), tuple(pivots), tuple(roots), tuple(inverses))


def _symmetric_order(rows: list[Row], order: str | Sequence[int], kind: str) -> tuple[int, ...]:
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
                    f"{kind}: the pivot of row {p}, column {p} is structurally zero at step {k + 1} of {n}. Give "
                    "another order, for example order='minimum_degree', or use lu."
                )
        else:
            candidates = [i for i in sorted(left) if i in near[i]]
            if not candidates:
                raise ExpressionError(
                    f"{kind}: after {k} pivots the diagonal is structurally zero in all rows that are left: "
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


def _vanished(row: int, column: int, step: int, what: str) -> ExpressionError:
    return ExpressionError(
        f"{what}: the pivot of row {row}, column {column} cancels exactly at step {step + 1}: the matrix is singular, "
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
    rooted = factors.kind == "cholesky"
    for k, p in enumerate(factors.order):
        below, inverse = factors.lower[k], factors.inverses[k]
        if is_zero(b[p]):
            continue
        if rooted and not below:
            inverse = reciprocal(factors.pivots[k])  # the root would only be squared again
        scaled = b[p] * inverse
        head = scaled if rooted else b[p]
        for i, l in below.items():
            b[i] = difference(b[i], l * head)
        b[p] = scaled
    for k in range(factors.size - 1, -1, -1):
        p, below = factors.order[k], factors.lower[k]
        value = b[p]
        for i, l in below.items():
            if not is_zero(b[i]):
                value = difference(value, l * b[i])
        b[p] = value * factors.inverses[k] if rooted and below and not is_zero(value) else value
    return b
