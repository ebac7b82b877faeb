"""LU factorisation over any scalar, with pivots that are given or chosen for little fill and good size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError, ShapeError
from symbody.symbolic.expr.arrays import Array, as_array, difference, is_zero, reciprocal
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.node import CONST, Node, Pivots
from symbody.symbolic.expr.small_matrices import solve_2x2, solve_3x3
from symbody.symbolic.expr.triangular import Row, square_rows
from symbody.symbolic.expr.walk import quiet_collector

THRESHOLD = 0.1  # a pivot is at least this part of the largest entry of its column, in every sample


@dataclass(frozen=True, slots=True)
class LUStep:
    """One elimination: pivot place, its reciprocal, the column below {row: l}, the row beside {column: u}.

    One of the two, the shorter, carries the reciprocal: `scaled` is "lower" or "upper".
    """

    row: int
    column: int
    pivot: Any
    inverse: Any
    lower: Row
    upper: Row
    scaled: str


@dataclass(frozen=True, slots=True)
class LU:
    """The steps of a factored square matrix."""

    steps: tuple[LUStep, ...]

    @property
    def pivots(self) -> tuple[tuple[int, int], ...]:
        """(row, column) of each pivot in order; `lu(other, pivots=...)` takes them again."""
        return tuple((s.row, s.column) for s in self.steps)


def lu_count(n: int) -> int:
    """Operations of `solve_lu` for a full matrix: n (n - 1) (2 n - 1) / 3 + 5 n (n - 1) / 2 + 2 n - 1.

    Each step costs a division, m products, 2 m^2 for the rest of A, 2 m for the right-hand side, 2 m + 1 going back.
    """
    return n * (n - 1) * (2 * n - 1) // 3 + 5 * n * (n - 1) // 2 + 2 * n - 1


def lu(a: Any, pivots: str | Sequence[tuple[int, int]] | None = None, sample: Any = None) -> LU:
    """Factors of a square matrix A (n, n).

    pivots: None chooses them for least fill (Markowitz), among them first +-1, then other numbers, then expressions;
    "natural" takes the diagonal in order, "diagonal" the diagonal for least fill, places that are zero by structure
    last; else n pairs (row, column).
    sample: numeric values of A, shape (n, n) or (k, n, n); a chosen pivot is then at least a tenth of the largest entry
    of its column in each sample.
    """
    rows, n = square_rows(a, "lu")
    values = _samples(sample, n)
    given = None if pivots is None else list(given_pivots(pivots, rows))
    plan = _check(rows, given) if given is not None else _choose(rows, [], values)
    steps: list[LUStep] = []
    with quiet_collector():
        for k in range(n):
            r, c = plan[k]
            if c not in rows[r] and given is None:
                # the planned pivot cancelled: choose the rest again from what is there
                plan[k:] = _choose(rows, plan[:k], values)
                r, c = plan[k]
            if c not in rows[r]:
                raise ExpressionError(
                    f"lu: the pivot of row {r}, column {c} cancels exactly at step {k + 1}. Give other pivots, or "
                    "pivots=None to choose them."
                )
            steps.append(_eliminate(rows, r, c))
    return LU(tuple(steps))


def _eliminate(rows: list[Row], r: int, c: int) -> LUStep:
    """Take row r and column c out of the rows, and their product from the rest."""
    upper = rows[r]
    rows[r] = {}
    pivot = upper.pop(c)
    inverse = reciprocal(pivot)
    lower = {i: row.pop(c) for i, row in enumerate(rows) if c in row}
    if len(upper) < len(lower):
        scaled = "upper"
        upper = {j: u * inverse for j, u in upper.items()}
    else:
        scaled = "lower"
        lower = {i: l * inverse for i, l in lower.items()}
    for i, l in lower.items():
        row = rows[i]
        for j, u in upper.items():
            value = difference(row.get(j, 0), l * u)
            if is_zero(value):
                row.pop(j, None)
            else:
                row[j] = value
    return LUStep(r, c, pivot, inverse, lower, upper, scaled)


def solve_lu(a: Any, b: Any, pivots: str | Sequence[tuple[int, int]] | None = None, sample: Any = None) -> Array:
    """x of A x = b for a square matrix A, or for its factors from `lu`; b of shape (n,) or (n, m)."""
    factors = a if isinstance(a, LU) else lu(a, pivots, sample)
    b = as_array(b)
    n = len(factors.steps)
    if b.ndim not in (1, 2) or b.shape[0] != n:
        raise ShapeError(f"the right-hand side has shape {b.shape}; expected ({n},) or ({n}, m) for this matrix.")
    with quiet_collector():
        if b.ndim == 1:
            return as_array(_solve_one(factors, b.tolist()))
        solved = [_solve_one(factors, column) for column in b.T.tolist()]
        return as_array(solved).T if solved else np.empty(b.shape, dtype=object)


def _solve_one(factors: LU, b: list[Any]) -> list[Any]:
    for s in factors.steps:
        head = b[s.row]
        if is_zero(head):
            continue
        if s.scaled == "upper":
            head = b[s.row] = head * s.inverse
        for i, l in s.lower.items():
            b[i] = difference(b[i], l * head)
    x: list[Any] = [0] * len(b)
    for s in reversed(factors.steps):
        value = b[s.row]
        for j, u in s.upper.items():
            if not is_zero(x[j]):
                value = difference(value, u * x[j])
        x[s.column] = value * s.inverse if s.scaled == "lower" and not is_zero(value) else value
    return x


# -- choice of pivots


def given_pivots(pivots: str | Sequence[tuple[int, int]], rows: Sequence[Row]) -> Pivots:
    """The pivots that a word or a list means for these rows; see `lu`."""
    n = len(rows)
    if pivots == "natural":
        return tuple((k, k) for k in range(n))
    if pivots == "diagonal":
        return _diagonal(rows)
    if isinstance(pivots, str):
        raise ExpressionError(
            f"pivots {pivots!r} were given; expected 'natural', 'diagonal', None or a list of (row, column)."
        )
    given = tuple((int(r), int(c)) for r, c in pivots)
    if sorted(r for r, _ in given) != list(range(n)) or sorted(c for _, c in given) != list(range(n)):
        raise ExpressionError(f"pivots {given} were given; expected each row and each column 0 .. {n - 1} once.")
    return given


def _check(rows: list[Row], given: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The given pivots, after the structure alone was eliminated by them."""
    pattern = [set(row) for row in rows]
    for k, (r, c) in enumerate(given):
        if c not in pattern[r]:
            raise ExpressionError(
                f"lu: the pivot of row {r}, column {c} is structurally zero at step {k + 1} of {len(given)}. Give "
                "other pivots, or pivots=None to choose them."
            )
        _fill(pattern, r, c)
    return given


def _diagonal(rows: Sequence[Row]) -> Pivots:
    """The diagonal for least fill; places that are zero by structure come after all others, which fill them.

    No such pivot is zero where the matrix is I or a mass matrix but for small parts, or one of these bordered by the
    rows of constraints and their transpose.
    """
    pattern = [set(row) for row in rows]
    left = list(range(len(rows)))
    empty = {k for k in left if k not in pattern[k]}
    out: list[tuple[int, int]] = []
    while left:
        below = [sum(k in row for row in pattern) for k in range(len(rows))]
        k = min(left, key=lambda k: (k in empty, k not in pattern[k], (len(pattern[k]) - 1) * (below[k] - 1), k))
        left.remove(k)
        out.append((k, k))
        _fill(pattern, k, k)
    return tuple(out)


def _fill(pattern: list[set[int]], r: int, c: int) -> None:
    beside = pattern[r] - {c}
    pattern[r] = set()
    for row in pattern:
        if c in row:
            row |= beside
            row.discard(c)


def _choose(rows: list[Row], done: list[tuple[int, int]], samples: list[Array]) -> list[tuple[int, int]]:
    """Pivots for what is left of the rows: least (entries beside) * (entries below), sizes permitting.

    A matrix that is structurally regular stays so whatever nonzero pivot is taken; this ends early only if it is not.
    """
    pattern = [set(row) for row in rows]
    values = [s.copy() for s in samples]
    for r, c in done:
        _eliminate_samples(values, r, c)
    ranks = [{j: _rank(v) for j, v in row.items()} for row in rows]
    out: list[tuple[int, int]] = []
    n = len(rows)
    for k in range(len(done), n):
        found = _best(pattern, ranks, values)
        if found is None:
            rows_left = sorted(set(range(n)) - {r for r, _ in done + out})
            columns_left = sorted(set(range(n)) - {c for _, c in done + out})
            raise ExpressionError(
                f"lu: the matrix is structurally singular: after {k} of {n} pivots nothing but zeros is left in rows "
                f"{rows_left}, columns {columns_left}."
            )
        r, c = found
        out.append(found)
        beside = pattern[r] - {c}
        filled = [i for i, row in enumerate(pattern) if c in row and i != r]
        _fill(pattern, r, c)
        for i in filled:  # entries that were changed are expressions now
            for j in beside:
                ranks[i][j] = 2
        _eliminate_samples(values, r, c)
    return out


def _rank(value: Any) -> int:
    """0 for +-1, 1 for another number among expressions, 2 for an expression."""
    if value.__class__ is Node:
        if value.op is not CONST:
            return 2
        value = value.data
    return 0 if value == 1 or value == -1 else 1


def _best(pattern: list[set[int]], ranks: list[dict[int, int]], values: list[Array]) -> tuple[int, int] | None:
    count: dict[int, int] = {}
    for row in pattern:
        for j in row:
            count[j] = count.get(j, 0) + 1
    largest = [np.abs(v).max(axis=0) if v.size else v for v in values]
    best: tuple[Any, ...] | None = None
    for i, row in enumerate(pattern):
        for j in row:
            share = 1.0
            for v, top in zip(values, largest):
                share = min(share, float(abs(v[i, j]) / top[j]) if top[j] > 0 else 0.0)
            small = share < THRESHOLD
            # too small ones come last, the largest of them first
            key = (small, -share if small else 0.0, (len(row) - 1) * (count[j] - 1), ranks[i].get(j, 2), -share, i, j)
            if best is None or key < best:
                best = key
    return None if best is None else (best[-2], best[-1])


def _samples(sample: Any, n: int) -> list[Array]:
    if sample is None:
        return []
    array = np.asarray(sample, dtype=float)
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3 or array.shape[1:] != (n, n):
        raise ShapeError(f"sample has shape {array.shape}; expected ({n}, {n}) or (k, {n}, {n}), values of the matrix.")
    if not np.isfinite(array).all():
        raise ExpressionError("sample holds values that are not finite; expected values of the matrix at usual states.")
    return [s.copy() for s in array]


def _eliminate_samples(values: list[Array], r: int, c: int) -> None:
    for v in values:
        pivot = v[r, c]
        if pivot != 0:
            v -= np.outer(v[:, c] / pivot, v[r, :])
        v[r, :] = 0.0
        v[:, c] = 0.0


def solve_linear(matrix: np.ndarray, right: Sequence[Node], pivots: Pivots | None = None) -> list[Node]:
    """matrix^-1 right: closed form up to size 3 (no pivot to choose), LU above."""
    n = len(right)
    if pivots is None and n <= 3:
        if n == 1:
            return [right[0] / matrix[0, 0]]
        found = solve_2x2(matrix, right) if n == 2 else solve_3x3(matrix, right)
    else:
        found = solve_lu(matrix, np.array(right, dtype=object), pivots=pivots)
    return as_nodes([right[0], *found])[1:]
