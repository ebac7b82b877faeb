"""Row reduction of sparse matrices of expressions: numbers decide what is zero, the rest stays exact.

Every entry is a ValuedTerm: an expression and its value. A sum whose value is lost in rounding is exactly zero, so that
pivots are found as with numbers and no zero in disguise is ever divided by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symbody.symbolic.expr.arrays import reciprocal
from symbody.symbolic.expr.node import CONST, Node

CANCELLED = 1e-9  # share of its terms below which a sum is zero
ROUNDING = 1e-13  # share within which a float is the integer next to it
SMALL = 1e-3  # share of a row's largest entry below which an entry is no pivot: dividing by it would magnify rounding


@dataclass(frozen=True, slots=True)
class ValuedTerm:
    """An expression (a Node, or a number) and its value."""

    node: Any
    value: float

    def __add__(self, other: ValuedTerm) -> ValuedTerm:
        if not self.value:
            return other
        if not other.value:
            return self
        value = self.value + other.value
        if abs(value) <= CANCELLED * (abs(self.value) + abs(other.value)):
            return ZERO
        return _term(self.node + other.node, value)

    def __sub__(self, other: ValuedTerm) -> ValuedTerm:
        return self + (-other)

    def __mul__(self, other: ValuedTerm) -> ValuedTerm:
        if not self.value or not other.value:
            return ZERO
        return _term(self.node * other.node, self.value * other.value)

    def __neg__(self) -> ValuedTerm:
        return ValuedTerm(-self.node, -self.value) if self.value else ZERO

    def inverse(self) -> ValuedTerm:
        return _term(reciprocal(self.node), 1 / self.value)


ZERO, ONE = ValuedTerm(0, 0.0), ValuedTerm(1, 1.0)

Row = dict[int, ValuedTerm]  # column -> nonzero entry


def _term(node: Any, value: float) -> ValuedTerm:
    """Floats that are integers up to rounding become exact: they are structure."""
    if node.__class__ is Node and node.op is CONST:
        node = node.data
    if isinstance(node, float) and abs(node - round(node)) <= ROUNDING * abs(node):
        node = round(node)
    return ValuedTerm(node, value)


def number(x: int | float | Fraction) -> ValuedTerm:
    """A ValuedTerm of a number."""
    return _term(x, float(x)) if x else ZERO


def add_to(row: Row, column: int, term: ValuedTerm) -> None:
    """row[column] += term, in place; zeros are not kept."""
    total = row[column] + term if column in row else term
    if total.value:
        row[column] = total
    else:
        row.pop(column, None)


def combination(terms: Iterable[tuple[ValuedTerm, Mapping[int, ValuedTerm]]]) -> Row:
    """Sum of factor * row."""
    out: Row = {}
    for factor, row in terms:
        if factor.value:
            for column, entry in row.items():
                add_to(out, column, factor * entry)
    return out


class RowEchelon:
    """A space of rows in reduced echelon form: every pivot is 1 and the only entry of its column.

    The pivot of a row is its first entry that is not small beside the others, or the last one with `last=True`; then a
    row (a relation between columns) expresses its pivot by columns to the left of it. Files often have right angles
    rounded to six digits: cosines of 1e-6, which make pivots of 1e-12 where the next entry is 1.
    Entries from the column `hidden` on, where a row has some, are its pivot before any other.
    """

    def __init__(
        self, rows: Iterable[Mapping[int, ValuedTerm]] = (), last: bool = False, hidden: int | None = None
    ) -> None:
        self.rows: dict[int, Row] = {}  # by pivot
        self._users: dict[int, set[int]] = {}  # column that is no pivot -> pivots of the rows that have it
        self._first: Callable[[Iterable[int]], int] = max if last else min
        self._hidden = hidden
        # plain numbers first: fewer divisions by symbols
        for row in sorted(rows, key=_symbols_in):
            self.insert(row)

    def __len__(self) -> int:
        return len(self.rows)

    def remainder(self, row: Mapping[int, ValuedTerm]) -> Row:
        """What is left of a row once all pivots are cleared from it; empty if it lies in the space."""
        out: Row = dict(row)
        for column in [c for c in row if c in self.rows]:
            factor = -out.pop(column)
            for other, entry in self.rows[column].items():
                if other != column:
                    add_to(out, other, factor * entry)
        return out

    def insert(self, row: Mapping[int, ValuedTerm], pivot: int | None = None) -> bool:
        """Whether the row was new to the space; pivot: its column, None: the usual one."""
        rest = self.remainder(row)
        if not rest:
            return False
        pivot = self._pivot(rest) if pivot is None else pivot
        factor = rest.pop(pivot).inverse()
        new: Row = {column: factor * entry for column, entry in rest.items()}
        for user in self._users.pop(pivot, ()):
            old = self.rows[user]
            factor = -old.pop(pivot)
            for column, entry in new.items():
                add_to(old, column, factor * entry)
                self._note(column, user, column in old)
        for column in new:
            self._note(column, pivot, True)
        new[pivot] = ONE
        self.rows[pivot] = new
        return True

    def _pivot(self, row: Row) -> int:
        columns = list(row)
        if self._hidden is not None:
            columns = [c for c in row if c >= self._hidden] or columns
        least = SMALL * max(abs(row[c].value) for c in columns)
        return self._first(c for c in columns if abs(row[c].value) >= least)

    def renamed(self, columns: Mapping[int, int]) -> RowEchelon:
        """The space with its columns numbered anew."""
        out = RowEchelon()
        out._first, out._hidden = self._first, self._hidden
        out.rows = {columns[p]: {columns[c]: entry for c, entry in row.items()} for p, row in self.rows.items()}
        out._users = {columns[c]: {columns[p] for p in users} for c, users in self._users.items() if c in columns}
        return out

    def drop(self, pivot: int) -> None:
        """Forget a row."""
        for column in self.rows.pop(pivot):
            self._users.get(column, set()).discard(pivot)

    def _note(self, column: int, pivot: int, present: bool) -> None:
        users = self._users.setdefault(column, set())
        if present:
            users.add(pivot)
        else:
            users.discard(pivot)

    def null_space(self, size: int) -> list[Row]:
        """Vectors over `size` columns that all rows annihilate, one for each column without pivot, where it is 1."""
        free = [c for c in range(size) if c not in self.rows]
        return [{c: ONE, **{p: -row[c] for p, row in self.rows.items() if c in row}} for c in free]


def _symbols_in(row: Mapping[int, ValuedTerm]) -> int:
    return sum(entry.node.__class__ is Node for entry in row.values())


def closed(
    rows: Iterable[Mapping[int, ValuedTerm]], maps: Iterable[Mapping[int, Mapping[int, ValuedTerm]]]
) -> list[Row]:
    """Rows that span the smallest space which holds `rows` and is kept by all maps (row -> row times the matrix)."""
    space = RowEchelon()
    maps = list(maps)
    waiting = sorted((dict(r) for r in rows), key=_symbols_in, reverse=True)
    while waiting:
        row = waiting.pop()
        if space.insert(row):
            waiting += [combination((entry, m.get(c, {})) for c, entry in row.items()) for m in maps]
    return list(space.rows.values())
