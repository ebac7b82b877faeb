"""Which pivots a block above size 3 is eliminated by: static ones where they are safe, else rows exchanged at run time.

A static pivot is safe if it is a good share of the largest entry of its column at closed samples, at positions along
random motions, and where a search for the least share ends, and if it has the same sign in all of them (after the same
exchanges): between two positions where the signs differ it vanishes. If no static order is safe, two rows and columns
are eliminated together, where their determinant is safe, or the largest of a few entries is taken at run time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from symbody.basics.errors import ExpressionError
from symbody.mechanics.loops.closing.factors import CLOSED, TAIL, TOGETHER, Spare, grouped, is_safe_number
from symbody.mechanics.loops.partition.explorer import Explorer
from symbody.mechanics.loops.partition.structure import Block
from symbody.symbolic.expr.arrays import Array, is_zero
from symbody.symbolic.expr.lu import lu
from symbody.symbolic.expr.node import Pivots

SAFE = 0.02  # share of the largest entry of its column that a pivot has in every position
REGULAR = 1e-5  # smallest singular value, scaled, of a block whose pivots tell anything
HARD = 40  # positions with the least shares that another order is chosen by
RIGHT_SIDES = 5  # that are solved for, beside the block itself, in a usual program
TRIES = 3
BEAM = 5  # sequences of steps that are followed at a time
PAIR = 20  # operations of the inverse of two rows and columns, and of its products with right-hand sides

Step = tuple[tuple[int, ...], tuple[int, ...]]  # rows and columns; see `grouped`


@dataclass(frozen=True)
class Elimination:
    """Pivots (row, column) in order, and for each the rows that may take its place; see `factors`."""

    pivots: Pivots
    spare: Spare = ()

    def shares(self, a: np.ndarray) -> np.ndarray:
        """(k, steps) shares of the pivots, with their signs, of matrices a (k, n, n)."""
        state = _BlockMatrices(a)
        out = [state.step(rows, columns) for rows, columns in self._steps(a.shape[1])]
        return np.array(out).T.reshape(len(a), len(out))

    def least(self, a: np.ndarray) -> np.ndarray:
        """(k,) least share of each matrix; 0 where the signs of a static pivot differ."""
        state, least = _BlockMatrices(a), np.ones(len(a))
        for rows, columns in self._steps(a.shape[1]):
            before = state.exchanges
            share = state.step(rows, columns)
            if len(rows) == len(columns) and _changes_sign(share, before):
                return np.zeros(len(a))
            least = np.minimum(least, np.abs(share))
        return least

    def _steps(self, n: int) -> list[Step]:
        return grouped(self.pivots[: n - TAIL], self.spare)


def elimination(entries: Array, block: Block, samples: np.ndarray, explorer: Explorer | None) -> Elimination | None:
    """For a block with symbolic entries (n, n); samples (k, m, nv) of J, or none. None: a pivot cancels exactly."""
    own = _block_matrices(samples, block)
    try:
        chosen = Elimination(lu(entries, sample=own if len(own) else None).pivots)
    except ExpressionError:
        return None
    if len(entries) <= CLOSED:
        return chosen
    if explorer is None or not len(own):
        return _exchanging(entries, None)
    walkers = explorer.around(block.rows)
    hard = np.concatenate([own, _block_matrices(walkers.visited[1], block)])
    for attempt in range(TRIES):
        if _is_safe(chosen, hard):
            lowest = walkers.descended(partial(_least, chosen, block))
            hard = np.concatenate([hard, _block_matrices(lowest, block)])
            if _is_safe(chosen, hard):
                return chosen
        chosen = _another(entries, hard, chosen) if attempt == 0 else _exchanging(entries, hard)
    return chosen


def _block_matrices(J: np.ndarray, block: Block) -> np.ndarray:
    """(k, n, n) numbers of a block, where it is regular."""
    a = J[:, block.rows][:, :, block.columns]
    if not len(a):
        return a
    with np.errstate(all="ignore"):
        even = a / np.abs(a).max(axis=(0, 2), keepdims=True)
        even = even / np.abs(even).max(axis=(0, 1), keepdims=True)
    sizes = np.linalg.svd(np.nan_to_num(even), compute_uv=False)
    return a[(sizes[:, -1] > REGULAR * sizes[:, 0]) & np.isfinite(a).all(axis=(1, 2))]


def _is_safe(plan: Elimination, hard: np.ndarray) -> bool:
    return bool(plan.least(hard).min(initial=1.0) >= SAFE)


def _changes_sign(shares: np.ndarray, exchanges: np.ndarray) -> bool:
    """Whether numbers (k,) have both signs after the same exchanges (k,)."""
    return not {*exchanges[shares < 0]}.isdisjoint(exchanges[shares > 0])


def _least(plan: Elimination, block: Block, J: np.ndarray) -> np.ndarray:
    """(k,) least share of each matrix; 1 where the block is singular."""
    a = J[:, block.rows][:, :, block.columns]
    sizes = np.linalg.svd(np.nan_to_num(a), compute_uv=False)
    found = np.abs(plan.shares(a)).min(axis=1, initial=1.0)
    return np.where(sizes[:, -1] > REGULAR * sizes[:, 0], found, 1.0)


def _another(entries: Array, hard: np.ndarray, chosen: Elimination) -> Elimination:
    """A static order that is better at the hard positions; with exchanges where there is none that is safe."""
    least = np.abs(chosen.shares(hard)).min(axis=1, initial=1.0)
    worst = np.unique(np.concatenate([np.argsort(least, kind="stable")[:HARD], np.arange(0, len(hard), 8)]))
    try:
        other = Elimination(lu(entries, sample=hard[worst]).pivots)
    except ExpressionError:
        return _exchanging(entries, hard)
    return other if _is_safe(other, hard) else _exchanging(entries, hard)


class _BlockMatrices:
    """Matrices (k, n, n) under elimination, rows exchanged in each as a program would."""

    def __init__(self, a: np.ndarray) -> None:
        self.a = np.array(a, dtype=float)
        self.left = list(range(a.shape[1]))
        self.exchanges = np.zeros(len(a), dtype=np.int64)  # a number for each sequence of exchanges

    def copy(self) -> _BlockMatrices:
        out = _BlockMatrices(self.a)
        out.left, out.exchanges = list(self.left), self.exchanges
        return out

    def entries(self, c: int) -> np.ndarray:
        """(k, rows left) entries of a column."""
        out: np.ndarray = self.a[:, self.left, c]
        return out

    def largest(self, c: int) -> np.ndarray:
        """(k,) sizes of the largest entries of a column."""
        out: np.ndarray = np.abs(self.entries(c)).max(axis=1, initial=0.0)
        return out

    def step(self, rows: tuple[int, ...], columns: tuple[int, ...]) -> np.ndarray:
        """(k,) shares of the pivots that are eliminated, with their signs."""
        a = self.a
        size = np.prod([self.largest(c) for c in columns], axis=0)
        if len(rows) > len(columns):
            top, *later = sorted(rows)
            for i in later:
                swap = np.abs(a[:, top, columns[0]]) < np.abs(a[:, i, columns[0]])
                self.exchanges = 2 * self.exchanges + swap
                a[swap, top], a[swap, i] = a[swap, i], a[swap, top].copy()
            rows = (top,)
        square = a[:, rows][:, :, columns]
        pivot = square[:, 0, 0] if len(rows) == 1 else _two(square)
        self.left = [i for i in self.left if i not in rows]
        with np.errstate(all="ignore"):
            ratio = a[:, self.left][:, :, columns] @ _inverses(square, pivot)
            a[:, self.left] -= ratio @ a[:, rows]
            for c in columns:
                a[:, self.left, c] = 0.0
            share = pivot / size
        return np.where(np.isfinite(share), share, 0.0)


@dataclass
class _Pattern:
    """Columns of each row that are not structurally zero, under elimination; numbers: (row, column) that are."""

    rows: list[set[int]]
    numbers: set[tuple[int, int]]
    left: list[int]

    def copy(self) -> _Pattern:
        return _Pattern([set(row) for row in self.rows], set(self.numbers), list(self.left))

    def holders(self, c: int) -> list[int]:
        return [i for i in self.left if c in self.rows[i]]

    def cost(self, rows: tuple[int, ...], columns: tuple[int, ...]) -> int:
        """Operations of a step: choices of entries and right-hand sides, then products of the elimination."""
        wide = len(set().union(*(self.rows[i] for i in rows)))
        below = len({i for c in columns for i in self.holders(c)}) - len(columns)
        if len(columns) > 1:
            products = 2 * sum(len(self.rows[i] - set(columns)) for i in rows)
            return PAIR + below * (products + 6 + 2 * RIGHT_SIDES)
        choices = (len(rows) - 1) * (2 * wide + 2 * RIGHT_SIDES + 3)
        # rows that may change places become as wide as each other
        filled = sum(wide - len(self.rows[i]) for i in rows)
        return choices + below * (2 * (wide - 1) + 1 + 2 * RIGHT_SIDES) + 4 * filled

    def eliminate(self, rows: tuple[int, ...], columns: tuple[int, ...]) -> None:
        wide = set().union(*(self.rows[i] for i in rows))
        taken = rows if len(rows) == len(columns) else (min(rows),)
        for i in rows:
            self.rows[i] = set(wide)
        self.left = [i for i in self.left if i not in taken]
        for i in {i for c in columns for i in self.holders(c)}:
            self.rows[i] |= wide
            self.rows[i] -= set(columns)
            self.numbers -= {(i, j) for j in wide}
        if len(rows) > len(columns):
            self.numbers -= {(i, j) for i in rows for j in wide}


@dataclass
class _State:
    """A sequence of steps under way."""

    pattern: _Pattern
    values: _BlockMatrices | None
    columns: list[int]
    cost: int = 0
    steps: tuple[Step, ...] = ()

    def choices(self) -> list[tuple[int, Step]]:
        """(cost in all, step) of what may come next."""
        found: list[Step] = []
        for c in self.columns:
            for group in _groups(self.pattern, self.values, c):
                found.append((tuple(group), (c,)))
                if len(group) == 2 and len(self.columns) >= 2 + TAIL and self.values is not None:
                    found += _pairs(self.pattern, self.values, (group[0], group[1]), c)
        return [(self.cost + self.pattern.cost(*step), step) for step in found]

    def after(self, cost: int, step: Step) -> _State:
        pattern, values = self.pattern.copy(), None if self.values is None else self.values.copy()
        pattern.eliminate(*step)
        if values is not None:
            values.step(*step)
        return _State(pattern, values, [c for c in self.columns if c not in step[1]], cost, (*self.steps, step))


def _exchanging(entries: Array, hard: np.ndarray | None) -> Elimination:
    """A cheap sequence of steps that are safe at the hard positions: alone where a row is, else several together.

    Without positions only numbers are safe alone, and else all rows that hold an entry of the column together.
    """
    n = len(entries)
    rows = [{j for j in range(n) if not is_zero(entries[i, j])} for i in range(n)]
    numbers = {(i, j) for i in range(n) for j in rows[i] if is_safe_number(entries[i, j])}
    first = _State(
        _Pattern(rows, numbers, list(range(n))), None if hard is None else _BlockMatrices(hard), list(range(n))
    )
    beams: dict[int, list[_State]] = {n: [first]}  # by the number of columns that are left
    for size in range(n, TAIL, -1):
        beam = _best(beams.get(size, []))
        found = sorted((cost, step, k) for k, state in enumerate(beam) for cost, step in state.choices())
        for cost, step, k in found[: 2 * BEAM]:
            beams.setdefault(size - len(step[1]), []).append(beam[k].after(cost, step))
    best = _best(beams[TAIL])[0]
    pivots: list[tuple[int, int]] = []
    spare: list[tuple[int, ...]] = []
    for rows_, columns in best.steps:
        pivots += zip(rows_, columns)
        spare += [TOGETHER, ()] if len(columns) > 1 else [rows_[1:]]
    return Elimination((*pivots, *zip(best.pattern.left, best.columns, strict=True)), tuple(spare))


def _best(states: list[_State]) -> list[_State]:
    """The cheapest few; the same rows and columns in another order have the same rest, but for exchanges."""
    out: dict[tuple[tuple[int, ...], tuple[int, ...]], _State] = {}
    for state in sorted(states, key=lambda s: (s.cost, s.steps)):
        out.setdefault((tuple(state.pattern.left), tuple(state.columns)), state)
    return list(out.values())[:BEAM]


def _pairs(pattern: _Pattern, values: _BlockMatrices, rows: tuple[int, int], c: int) -> list[Step]:
    """Two rows with a second column, such that their determinant is safe."""
    out: list[Step] = []
    for other in sorted(pattern.rows[rows[0]] | pattern.rows[rows[1]]):
        if other != c:
            columns = (min(c, other), max(c, other))
            with np.errstate(all="ignore"):
                share = _two(values.a[:, rows][:, :, columns]) / (values.largest(c) * values.largest(other))
            share = np.nan_to_num(share)
            if np.abs(share).min(initial=1.0) >= SAFE and not _changes_sign(share, values.exchanges):
                out.append((rows, columns))
    return out


def _two(a: np.ndarray) -> np.ndarray:
    """(k,) determinants of matrices (k, 2, 2)."""
    out: np.ndarray = a[:, 0, 0] * a[:, 1, 1] - a[:, 0, 1] * a[:, 1, 0]
    return out


def _inverses(a: np.ndarray, determinant: np.ndarray) -> np.ndarray:
    """Inverses of matrices (k, 1, 1) or (k, 2, 2), from their determinants (k,)."""
    if a.shape[1] == 1:
        out: np.ndarray = 1.0 / a
        return out
    turned = np.stack([np.stack([a[:, 1, 1], -a[:, 0, 1]], 1), np.stack([-a[:, 1, 0], a[:, 0, 0]], 1)], 1)
    out = turned / determinant[:, None, None]
    return out


def _groups(pattern: _Pattern, values: _BlockMatrices | None, c: int) -> list[list[int]]:
    """Rows that are safe together as pivots of a column: single ones, else one group with as few as possible."""
    holders = pattern.holders(c)
    if not holders:
        return []
    if values is None:
        alone = [[i] for i in holders if (i, c) in pattern.numbers]
        return alone or [holders]
    found = values.entries(c)
    with np.errstate(all="ignore"):
        share = np.nan_to_num(found / values.largest(c)[:, None])
    signed = {i: share[:, values.left.index(i)] for i in holders}
    worst = {i: np.abs(x) for i, x in signed.items()}
    sure = [i for i in holders if worst[i].min(initial=1.0) >= SAFE]
    sure = [i for i in sure if not _changes_sign(signed[i], values.exchanges)]
    if sure:
        return [[i] for i in sure]
    group = [max(holders, key=lambda i: (worst[i].min(initial=1.0), -i))]
    reached = worst[group[0]]
    while (reached.min(initial=1.0) < SAFE or len(group) == 1) and len(group) < len(holders):
        best = max((i for i in holders if i not in group), key=lambda i: np.maximum(reached, worst[i]).min(initial=1.0))
        group.append(best)
        reached = np.maximum(reached, worst[best])
    return [sorted(group)]
