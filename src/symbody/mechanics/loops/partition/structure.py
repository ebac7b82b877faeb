"""Block triangular form of a square pattern: which dependent coordinates must be found together, and in which order.

Structure only: a maximum matching of rows and columns, then the strongly connected components of "this row needs the
column of that row" (robotran 3.12, item 3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.basics.errors import ShapeError


@dataclass(frozen=True)
class Block:
    """Rows and columns that are solved together; row i is matched with column i. after: blocks that come before it."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.rows)

    def matches(self, other: Block) -> bool:
        """Whether it solves the same rows for the same columns, in any order."""
        return {*self.rows} == {*other.rows} and {*self.columns} == {*other.columns}


def match(pattern: np.ndarray) -> np.ndarray:
    """For each row of an (m, n) bool pattern the column matched with it, -1 where there is none; most are matched."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    pattern = np.asarray(pattern, dtype=bool)
    if not pattern.size:
        return np.full(pattern.shape[0], -1)
    # least connected columns first: then the matching follows the structure rather than the numbering
    order = np.argsort(pattern.sum(axis=0), kind="stable")
    found = maximum_bipartite_matching(csr_matrix(pattern[:, order]), perm_type="column")
    return np.array([order[c] if c >= 0 else -1 for c in found])


def unmatched(pattern: np.ndarray) -> list[int]:
    """Rows that no column is left for: the structural rank of the pattern falls short by their number."""
    return [int(i) for i in np.flatnonzero(match(pattern) < 0)]


def block_triangular(pattern: np.ndarray) -> tuple[Block, ...]:
    """Blocks of a square (m, m) bool pattern of full structural rank; each needs only earlier ones."""
    pattern = np.asarray(pattern, dtype=bool)
    if pattern.ndim != 2 or pattern.shape[0] != pattern.shape[1]:
        raise ShapeError(f"a pattern of shape {pattern.shape} was given; expected a square one.")
    column_of = match(pattern)
    if (column_of < 0).any():
        short = int((column_of < 0).sum())
        raise ShapeError(
            f"the pattern has structural rank {len(pattern) - short} of {len(pattern)}; expected full rank."
        )
    row_of = np.argsort(column_of)
    rows, columns = np.nonzero(pattern)
    # row -> the row whose matched column it uses
    needs = np.zeros(pattern.shape, dtype=bool)
    needs[rows, row_of[columns]] = True
    groups = strong_order(needs)
    place = {i: n for n, members in enumerate(groups) for i in members}
    return tuple(
        Block(
            members,
            tuple(int(column_of[i]) for i in members),
            tuple(sorted({place[int(j)] for i in members for j in np.flatnonzero(needs[i])} - {n})),
        )
        for n, members in enumerate(groups)
    )


def strong_order(needs: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """Strongly connected components of "i needs j", an (n, n) bool array, in an order in which each needs earlier ones.

    Members of a component ascend.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    if not len(needs):
        return ()
    count, label = connected_components(csr_matrix(needs), directed=True, connection="strong")
    members = [np.flatnonzero(label == k) for k in range(count)]
    before: list[set[int]] = [set() for _ in range(count)]
    for i, j in zip(*np.nonzero(needs), strict=True):
        if label[i] != label[j]:
            before[label[i]].add(int(label[j]))
    return tuple(tuple(int(i) for i in members[k]) for k in _order(members, before))


def _order(members: list[np.ndarray], before: list[set[int]]) -> list[int]:
    """Topological order; among blocks that are ready the one with the first row comes first."""
    out: list[int] = []
    waiting = sorted(range(len(members)), key=lambda k: int(members[k][0]))
    while waiting:
        ready = next(k for k in waiting if before[k] <= set(out))
        out.append(ready)
        waiting.remove(ready)
    return out
