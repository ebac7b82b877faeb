"""Factors of a diagonal block of the constraint Jacobian, shared by position, velocity, acceleration and multipliers.

Pivots that are numbers are eliminated first: they are safe in every position of the mechanism. What is left is solved
in closed form up to size 3, which needs no pivot at all; above that by LU with pivots chosen from samples, but for the
last two unknowns. Pivots that a user gives are all eliminated, whatever the size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from symbody.errors import ModelError
from symbody.expr.arrays import Array, difference, is_zero, matrix, reciprocal, sum_of_products
from symbody.expr.lu import lu
from symbody.expr.node import CONST, Node
from symbody.expr.small_matrices import determinant_3x3, inverse_3x3
from symbody.expr.triangular import Row, square_rows

CLOSED = 3  # size up to which the rest is inverted in closed form
TAIL = 2  # of a larger block, the last two unknowns are solved in closed form


@dataclass(frozen=True, slots=True)
class Step:
    """One elimination: place, pivot and its reciprocal, the column below {row: l}, the row beside {column: u}."""

    row: int
    column: int
    pivot: Any
    inverse: Any
    lower: Row
    upper: Row


@dataclass(frozen=True, slots=True)
class Factors:
    """A square matrix as elimination steps and the inverse (columns x rows) of what is left after them."""

    size: int
    steps: tuple[Step, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    core: Array

    def solve(self, b: Sequence[Any]) -> list[Any]:
        """x of A x = b."""
        b = list(b)
        for s in self.steps:
            head = b[s.row]
            if not is_zero(head):
                for i, l in s.lower.items():
                    b[i] = difference(b[i], l * head)
        x: list[Any] = [0] * self.size
        for k, column in enumerate(self.columns):
            x[column] = sum_of_products((self.core[k, i], b[row]) for i, row in enumerate(self.rows))
        for s in reversed(self.steps):
            rest = sum_of_products((u, x[j]) for j, u in s.upper.items())
            x[s.column] = _times(difference(b[s.row], rest), s.inverse)
        return x

    def solve_transposed(self, d: Sequence[Any]) -> list[Any]:
        """y of A^T y = d."""
        d = list(d)
        y: list[Any] = [0] * self.size
        for s in self.steps:
            y[s.row] = z = _times(d[s.column], s.inverse)
            if not is_zero(z):
                for j, u in s.upper.items():
                    d[j] = difference(d[j], u * z)
        for i, row in enumerate(self.rows):
            y[row] = sum_of_products((self.core[k, i], d[column]) for k, column in enumerate(self.columns))
        for s in reversed(self.steps):
            y[s.row] = difference(y[s.row], sum_of_products((l, y[i]) for i, l in s.lower.items()))
        return y


def factors(a: Array, pivots: Sequence[tuple[int, int]] | None = None, given: bool = False) -> Factors:
    """Factors of a square matrix A (n, n). pivots: (row, column) pairs in order, read where n > 3 but for the last two.

    given: all pivots are eliminated; they may leave out up to three rows and columns.
    """
    steps, left, columns, rest = _eliminated(a, pivots, given)
    return Factors(len(a), tuple(steps), left, columns, _inverse(rest))


def divisors(a: Array, pivots: Sequence[tuple[int, int]] | None = None, given: bool = False) -> list[Any]:
    """What the solution by `factors` divides by: its pivots, and the determinant of what is left after them."""
    steps, _, _, rest = _eliminated(a, pivots, given)
    return [*(s.pivot for s in steps), *([_determinant(rest)] if rest else [])]


def _eliminated(
    a: Array, pivots: Sequence[tuple[int, int]] | None, given: bool
) -> tuple[list[Step], tuple[int, ...], tuple[int, ...], list[list[Any]]]:
    """(steps, rows and columns that are left, their entries)."""
    rows, n = square_rows(a, "factors")
    steps: list[Step] = []
    if n <= CLOSED and not given:
        while (place := _safe_pivot(rows)) is not None:
            steps.append(_eliminate(rows, *place))
    else:
        order = pivots if pivots is not None else lu(a).pivots
        for r, c in order if given else order[: n - TAIL]:
            if c not in rows[r]:
                raise ModelError(
                    f"the pivot of row {r}, column {c} of a block of the constraint Jacobian is zero: it cancels, or "
                    "was never there. Choose another partition, for example partition='pivoting'."
                )
            steps.append(_eliminate(rows, r, c))
    used_rows, used_columns = {s.row for s in steps}, {s.column for s in steps}
    left = tuple(i for i in range(n) if i not in used_rows)
    columns = tuple(j for j in range(n) if j not in used_columns)
    return steps, left, columns, [[rows[i].get(j, 0) for j in columns] for i in left]


def _inverse(a: list[list[Any]]) -> Array:
    """Inverse of a matrix of size 0 to 3 by cofactors."""
    n = len(a)
    if n == 0:
        return matrix([[0]])[:0, :0]
    if n == 3:
        return inverse_3x3(a)
    det = _determinant(a)
    if is_zero(det):
        raise ModelError(
            "a block of the constraint Jacobian is structurally singular. Choose other independent joints (partition=)."
        )
    d = reciprocal(det)
    if n == 1:
        return matrix([[d]])
    return matrix(
        [[_times(a[1][1], d), _negative(_times(a[0][1], d))], [_negative(_times(a[1][0], d)), _times(a[0][0], d)]]
    )


def _determinant(a: list[list[Any]]) -> Any:
    """Of a matrix of size 1 to 3."""
    if len(a) == 1:
        return a[0][0]
    if len(a) == 3:
        return determinant_3x3(matrix(a))
    return difference(sum_of_products([(a[0][0], a[1][1])]), sum_of_products([(a[0][1], a[1][0])]))


def _safe_pivot(rows: list[Row]) -> tuple[int, int] | None:
    """A number other than zero with the least fill, or None."""
    best: tuple[int, int, int] | None = None
    for i, row in enumerate(rows):
        for j, value in row.items():
            if _is_number(value):
                fill = (len(row) - 1) * (sum(j in other for other in rows) - 1)
                if best is None or (fill, i, j) < best:
                    best = (fill, i, j)
    return None if best is None else (best[1], best[2])


def _is_number(value: Any) -> bool:
    return value.op is CONST if isinstance(value, Node) else True


def _eliminate(rows: list[Row], r: int, c: int) -> Step:
    """Take row r and column c out of the rows, and their product from the rest."""
    upper, rows[r] = rows[r], {}
    pivot = upper.pop(c)
    inverse = reciprocal(pivot)
    lower = {i: _times(row.pop(c), inverse) for i, row in enumerate(rows) if c in row}
    for i, l in lower.items():
        for j, u in upper.items():
            value = difference(rows[i].get(j, 0), sum_of_products([(l, u)]))
            if is_zero(value):
                rows[i].pop(j, None)
            else:
                rows[i][j] = value
    return Step(r, c, pivot, inverse, lower, upper)


def _times(a: Any, b: Any) -> Any:
    return sum_of_products([(a, b)])


def _negative(a: Any) -> Any:
    return difference(0, a)
