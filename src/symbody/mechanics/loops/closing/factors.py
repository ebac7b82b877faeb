"""Factors of a diagonal block of the constraint Jacobian, shared by position, velocity, acceleration and multipliers.

Pivots that are numbers are eliminated first: they are safe in every position of the mechanism. What is left is solved
in closed form up to size 3, which needs no pivot at all; above that by LU, but for the last two unknowns. Where no
row's pivot is safe in every position, two are eliminated together, by their determinant, or rows are exchanged at run
time, by comparison and choice: the entry of the largest size becomes the pivot, of equals that of the lowest row, and
one with NaN takes no other's place. Pivots that a user gives are all eliminated, whatever the size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from symbody.basics.errors import ModelError
from symbody.symbolic.expr.arrays import Array, difference, is_zero, matrix, reciprocal, sum_of_products
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.lu import lu
from symbody.symbolic.expr.magnitude import Magnitude
from symbody.symbolic.expr.node import CONST, Node
from symbody.symbolic.expr.small_matrices import determinant_3x3, inverse_3x3
from symbody.symbolic.expr.triangular import Row, square_rows

SAFE = 1e-6  # m or 1: a number that is smaller may be rounding, and is no pivot for its own sake
ROUNDING = 1e-14  # of what was subtracted: a number that is smaller is zero
CLOSED = 3  # size up to which the rest is inverted in closed form
TAIL = 2  # of a larger block, the last two unknowns are solved in closed form

TOGETHER = (-1,)  # in the place of spare rows: this pivot and the next are eliminated together
Spare = tuple[tuple[int, ...], ...]  # for each pivot the other rows that may take its place at run time


@dataclass(frozen=True, slots=True)
class Exchange:
    """Rows `first` and `second` change places where the condition holds."""

    first: int
    second: int
    condition: Any

    def __call__(self, values: list[Any]) -> None:
        a, b = values[self.first], values[self.second]
        if not (is_zero(a) and is_zero(b)):
            values[self.first], values[self.second] = _choice(self.condition, b, a), _choice(self.condition, a, b)


@dataclass(frozen=True, slots=True)
class EliminationStep:
    """One elimination: exchanges of rows before it, then of one row and column, or of two together.

    pivot: the entry, or the determinant of four; inverse: [column][row]; lower: {row: l for each row that is
    eliminated}; upper: {column: u} of each.
    """

    exchanges: tuple[Exchange, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    pivot: Any
    inverse: Sequence[Sequence[Any]]
    lower: dict[int, tuple[Any, ...]]
    upper: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Divisor:
    """What a solution divides by, a pivot or a determinant that is no number, and a bound of the terms it has."""

    value: Any
    scale: Any


@dataclass(frozen=True, slots=True)
class Factors:
    """A square matrix as elimination steps and the inverse (columns x rows) of what is left after them.

    divisors: pivots and the determinant of what is left; where one is small beside its scale, the solution is rounding.
    """

    size: int
    steps: tuple[EliminationStep, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    core: Array
    divisors: tuple[Divisor, ...]

    def solve(self, b: Sequence[Any]) -> list[Any]:
        """x of A x = b."""
        b = list(b)
        for s in self.steps:
            for exchange in s.exchanges:
                exchange(b)
            heads = [b[r] for r in s.rows]
            for i, ls in s.lower.items():
                b[i] = difference(b[i], sum_of_products(zip(ls, heads, strict=True)))
        x: list[Any] = [0] * self.size
        for k, column in enumerate(self.columns):
            x[column] = sum_of_products((self.core[k, i], b[row]) for i, row in enumerate(self.rows))
        for s in reversed(self.steps):
            rests = [
                difference(b[r], sum_of_products((u, x[j]) for j, u in row.items()))
                for r, row in zip(s.rows, s.upper, strict=True)
            ]
            for column, line in zip(s.columns, s.inverse, strict=True):
                x[column] = sum_of_products(zip(rests, line, strict=True))
        return x

    def solve_transposed(self, d: Sequence[Any]) -> list[Any]:
        """y of A^T y = d."""
        d = list(d)
        y: list[Any] = [0] * self.size
        for s in self.steps:
            for k, (r, row) in enumerate(zip(s.rows, s.upper, strict=True)):
                y[r] = z = sum_of_products((d[c], line[k]) for c, line in zip(s.columns, s.inverse, strict=True))
                for j, u in row.items():
                    d[j] = difference(d[j], _times(u, z))
        for i, left in enumerate(self.rows):
            y[left] = sum_of_products((self.core[k, i], d[column]) for k, column in enumerate(self.columns))
        for s in reversed(self.steps):
            for k, r in enumerate(s.rows):
                y[r] = difference(y[r], sum_of_products((ls[k], y[i]) for i, ls in s.lower.items()))
            for exchange in reversed(s.exchanges):
                exchange(y)
        return y

    @property
    def measures(self) -> list[Any]:
        """What changes smoothly with the matrix and vanishes where the solution has none: its divisors.

        Where rows are exchanged, pivots jump; the determinant of the whole, but for its sign, does not.
        """
        exchanges = [e for s in self.steps for e in s.exchanges]
        if not exchanges:
            return [d.value for d in self.divisors]
        signs = [_choice(e.condition, -1, 1) for e in exchanges]
        return [_product([*(d.value for d in self.divisors), *signs])]


def factors(
    a: Array,
    pivots: Sequence[tuple[int, int]] | None = None,
    given: bool = False,
    magnitude: Magnitude | None = None,
    spare: Spare = (),
) -> Factors:
    """Factors of a square matrix A (n, n). pivots: (row, column) pairs in order, read where n > 3 but for the last two.

    given: all pivots are eliminated; they may leave out up to three rows and columns. magnitude: bounds of the entries.
    spare: rows by which each pivot's row may be exchanged at run time, or TOGETHER; they are places, not contents: what
    stands there after earlier exchanges.
    """
    steps, left, columns, rest = _eliminated(a, pivots, given, spare)
    found = _divisors(a, steps, columns, rest, magnitude or Magnitude())
    return Factors(len(a), tuple(steps), left, columns, _inverse(rest), tuple(found))


def _divisors(
    a: Array, steps: Sequence[EliminationStep], columns: Sequence[int], rest: list[list[Any]], magnitude: Magnitude
) -> list[Divisor]:
    """The divisors of an elimination, those of its pivots and of its determinant, in order.

    Entries before the first pivot that is no number have bounds of their own. Later ones are sums of products of
    ratios: they are measured by the columns of A.
    """
    out = []
    plain = True
    for s in steps:
        if not _is_number(s.pivot):
            own = plain and not s.exchanges and len(s.rows) == 1
            measured = _product([_of_column(a, c, magnitude) for c in s.columns])
            out.append(Divisor(s.pivot, magnitude(s.pivot) if own else measured))
            plain = False
    if rest:
        det = _determinant(rest)
        if not _is_number(det):
            own_scale = plain and [[magnitude(x) for x in row] for row in rest]
            columns_of_a = [_of_column(a, c, magnitude) for c in columns]
            out.append(Divisor(det, _permanent(own_scale) if own_scale else _product(columns_of_a)))
    return out


def _of_column(a: Array, column: int, magnitude: Magnitude) -> Any:
    return _sum([magnitude(x) for x in a[:, column]])


def _permanent(a: list[list[Any]]) -> Any:
    """The determinant's terms, all with the same sign, of a matrix of bounds."""
    n = len(a)
    return _sum([_product([a[i][p[i]] for i in range(n)]) for p in permutations(range(n))])


def _eliminated(
    a: Array, pivots: Sequence[tuple[int, int]] | None, given: bool, spare: Spare
) -> tuple[list[EliminationStep], tuple[int, ...], tuple[int, ...], list[list[Any]]]:
    """(steps, rows and columns that are left, their entries)."""
    rows, n = square_rows(a, "factors")
    steps: list[EliminationStep] = []
    if n <= CLOSED and not given:
        while (place := _safe_pivot(rows)) is not None:
            steps.append(_eliminate(rows, (place[0],), (place[1],)))
    else:
        order = pivots if pivots is not None else lu(a).pivots
        done: set[int] = set()
        for group, columns in grouped(order if given else order[: n - TAIL], spare):
            held = [i for i in group if i not in done and not rows[i].keys().isdisjoint(columns)]
            if not held or (len(group) == 1 and columns[0] not in rows[group[0]]):
                raise ModelError(
                    f"the pivot of row {group[0]}, column {columns[0]} of a block of the constraint Jacobian is zero: "
                    "it cancels, or was never there. Choose another partition, for example partition='pivoting'."
                )
            steps.append(_eliminate(rows, group if len(columns) > 1 else tuple(held), columns))
            done.update(steps[-1].rows)
    used_rows, used_columns = {r for s in steps for r in s.rows}, {c for s in steps for c in s.columns}
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
    """Determinant of a matrix of size 1 to 3."""
    if len(a) == 1:
        return a[0][0]
    if len(a) == 3:
        return determinant_3x3(matrix(a))
    return difference(sum_of_products([(a[0][0], a[1][1])]), sum_of_products([(a[0][1], a[1][0])]))


def _safe_pivot(rows: list[Row]) -> tuple[int, int] | None:
    """A number that is more than rounding, with the least fill, or None."""
    best: tuple[int, int, int] | None = None
    for i, row in enumerate(rows):
        for j, value in row.items():
            if is_safe_number(value):
                fill = (len(row) - 1) * (sum(j in other for other in rows) - 1)
                if best is None or (fill, i, j) < best:
                    best = (fill, i, j)
    return None if best is None else (best[1], best[2])


def _is_number(value: Any) -> bool:
    return value.op is CONST if isinstance(value, Node) else True


def is_safe_number(value: Any) -> bool:
    """Whether an entry is a number that may be divided by in every position: 6e-17 is what is left of cos(pi/2)."""
    return _is_number(value) and abs(_float(value)) >= SAFE


def _float(value: Any) -> float:
    return float(value.data if isinstance(value, Node) else value)


def _cancels(value: Any, first: Any, taken: Any) -> bool:
    """Whether a difference of numbers is zero but for rounding."""
    if not (_is_number(value) and _is_number(first) and _is_number(taken)):
        return False
    return abs(_float(value)) <= ROUNDING * (abs(_float(first)) + abs(_float(taken)))


def grouped(pivots: Sequence[tuple[int, int]], spare: Spare) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(rows, columns) of each step: one column and the rows that may hold its pivot, or two of both together."""
    out: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    k = 0
    while k < len(pivots):
        (r, c), others = pivots[k], spare[k] if k < len(spare) else ()
        if others == TOGETHER:
            k += 1
            out.append(((r, pivots[k][0]), (c, pivots[k][1])))
        else:
            out.append(((r, *others), (c,)))
        k += 1
    return out


def _eliminate(rows: list[Row], group: tuple[int, ...], columns: tuple[int, ...]) -> EliminationStep:
    """Take columns out of the rows, with as many rows: of a group for one column that with the largest entry."""
    exchanges: tuple[Exchange, ...] = ()
    if len(group) > len(columns):
        first, *later = sorted(group)
        exchanges = tuple(_exchange(rows, columns[0], first, i) for i in later)
        group = (first,)
    upper = tuple(rows[r] for r in group)
    for r in group:
        rows[r] = {}
    square = [[row.pop(c, 0) for c in columns] for row in upper]
    pivot = _determinant(square)
    inverse = _inverse(square).tolist() if len(group) > 1 else [[reciprocal(pivot)]]
    lower: dict[int, tuple[Any, ...]] = {}
    for i, row in enumerate(rows):
        entries = [row.pop(c, 0) for c in columns]
        if not all(is_zero(e) for e in entries):
            lower[i] = tuple(
                sum_of_products((e, line[k]) for e, line in zip(entries, inverse, strict=True))
                for k in range(len(group))
            )
    for i, ls in lower.items():
        for j in dict.fromkeys(j for row in upper for j in row):
            taken = sum_of_products((l, row[j]) for l, row in zip(ls, upper, strict=True) if j in row)
            value = difference(rows[i].get(j, 0), taken)
            if is_zero(value) or _cancels(value, rows[i].get(j, 0), taken):
                rows[i].pop(j, None)
            else:
                rows[i][j] = value
    return EliminationStep(exchanges, group, columns, pivot, inverse, lower, upper)


def _exchange(rows: list[Row], c: int, first: int, second: int) -> Exchange:
    """The row with the larger entry in column c comes first; of equal ones the lower, and the other of one with NaN."""
    sizes = [abs(rows[i].get(c, 0)) for i in (first, second)]
    made = Exchange(
        first, second, call("lt", *sizes) if any(isinstance(x, Node) for x in sizes) else sizes[0] < sizes[1]
    )
    for j in sorted({*rows[first], *rows[second]}):
        pair = [rows[first].get(j, 0), rows[second].get(j, 0)]
        places = Exchange(0, 1, made.condition)
        places(pair)
        for i, value in zip((first, second), pair, strict=True):
            rows[i].pop(j, None)
            if not is_zero(value):
                rows[i][j] = value
    return made


def _choice(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b."""
    if not isinstance(condition, Node):
        return a if condition else b
    return call("select", condition, a, b)


def _sum(terms: Sequence[Any]) -> Any:
    return sum_of_products((t, 1) for t in terms)


def _product(terms: Sequence[Any]) -> Any:
    out: Any = 1
    for t in terms:
        out = _times(out, t)
    return out


def _times(a: Any, b: Any) -> Any:
    return sum_of_products([(a, b)])


def _negative(a: Any) -> Any:
    return difference(0, a)
