"""Predicted operations of the reduced equations for a choice of dependent coordinates, from structure alone.

What depends on the choice is counted entry by entry, as `factors`, `closure` and `reduced` would write it: factors of
the diagonal blocks, solutions by them for positions, velocities and accelerations, and the reduced equations by the
cheaper of two routes,

    joints   B = -J_v^-1 J_u          M_uu + M_uv B + B^T (M_vu + M_vv B)
    rows     E = J_v^-1               M_uu - M_uv E J_u - (...)^T + J_u^T (E^T M_vv E) J_u

J, M and c cost the same for every choice. Products with +-1 are free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from symbody.mechanics.loops.partition.structure import Block

NONE, UNIT, FULL = 0, 1, 2  # what an entry is: zero, +-1, an expression
CLOSED, TAIL = 3, 2  # sizes that `factors` inverts in closed form: of a block, and of the rest of a larger one


@dataclass(frozen=True)
class PredictedCost:
    """Operations: factors of all blocks with the positions, velocities and drift, reduced equations."""

    blocks: int
    coupling: int
    reduction: int

    @property
    def total(self) -> int:
        return self.blocks + self.coupling + self.reduction


@dataclass(frozen=True, eq=False)
class Eliminated:
    """A factored block by kinds, as `Factors` has it: steps (row, column, pivot, column below, row beside), then the
    inverse (columns, rows) of the rest."""

    steps: tuple[tuple[int, int, int, dict[int, int], dict[int, int]], ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    core: np.ndarray


def predicted_cost(J: np.ndarray, M: np.ndarray, independent: Sequence[int], blocks: Sequence[Block]) -> PredictedCost:
    """J (m, nv) of NONE, UNIT, FULL; M (nv, nv) bool: pattern of the mass matrix."""
    u, v = list(independent), [c for b in blocks for c in b.columns]
    rows = [r for b in blocks for r in b.rows]
    if not rows:
        return PredictedCost(0, 0, 0)
    found = [_eliminated(J[np.ix_(b.rows, b.columns)]) for b in blocks]
    factored = [f for f, _ in found]
    position = sum(_solved(f, [FULL] * b.size)[1] for f, b in zip(factored, blocks, strict=True))

    def solve(right: np.ndarray) -> tuple[np.ndarray, int]:
        return _cascade(J, blocks, factored, right)

    J_u, mass = J[np.ix_(rows, u)], np.where(M, FULL, NONE)
    whole = np.full((len(rows), 1), FULL)
    _, moved = _product(J_u, np.full((len(u), 1), FULL))
    _, once = solve(whole)
    routes = (_joints(mass, u, v, J_u, solve), _rows(mass, u, v, J_u, moved + once, solve))
    return PredictedCost(position + sum(n for _, n in found), moved + 2 * once, min(routes))


Solve = Callable[[np.ndarray], tuple[np.ndarray, int]]


def _joints(mass: np.ndarray, u: list[int], v: list[int], J_u: np.ndarray, solve: Solve) -> int:
    """Operations of the reduced equations over joints, with B and the dependent accelerations."""
    B, count = solve(J_u)
    vv, vu = mass[np.ix_(v, v)], mass[np.ix_(v, u)]
    coupling, products = _product(vv, B)
    count += products + _sum(coupling, vu)
    count += _symmetric(vu.T, B, np.maximum(coupling, vu), mass[np.ix_(u, u)])
    return count + _forces(vv, vu.T, B) + int((B != NONE).sum()) * 2


def _rows(mass: np.ndarray, u: list[int], v: list[int], J_u: np.ndarray, accelerations: int, solve: Solve) -> int:
    """Operations of the reduced equations over rows of constraints, with E."""
    E, count = solve(np.where(np.eye(len(v), dtype=bool), UNIT, NONE))
    first, products = _product(mass[np.ix_(v, v)], E)
    ww, _ = _product(E.T, first)
    uw, more = _product(mass[np.ix_(u, v)], E)
    count += products + more + _symmetric(np.full((len(v), len(v)), NONE), E, first, np.zeros_like(ww))
    coupling, products = _product(ww, J_u)
    count += products + _sum(coupling, uw.T)
    count += _symmetric(uw, J_u, np.maximum(coupling, uw.T), mass[np.ix_(u, u)])
    _, turned = _product(E.T, np.full((len(v), 1), FULL))
    return count + turned + _forces(ww, uw, J_u) + accelerations


def _symmetric(ux: np.ndarray, project: np.ndarray, coupling: np.ndarray, uu: np.ndarray) -> int:
    """Operations of uu + ux P + P^T coupling, each pair of entries once."""
    first, some = _terms(ux, project)
    last, more = _terms(project.T, coupling)
    terms = first + last + (uu != NONE)
    return int(np.tril(some + more + np.maximum(terms - 1, 0)).sum())


def _forces(xx: np.ndarray, ux: np.ndarray, project: np.ndarray) -> int:
    """Operations of F_u + M_ux b + P^T (F_x + M_xx b)."""
    return 2 * int((xx != NONE).sum() + (ux != NONE).sum()) + int((project != NONE).sum() + (project == FULL).sum())


# -- products


def _terms(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(terms, multiplications) of each entry of a b."""
    terms = (a != NONE).astype(int) @ (b != NONE).astype(int)
    return terms, (a == FULL).astype(int) @ (b == FULL).astype(int)


def _product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, int]:
    """(kinds of a b, operations)."""
    terms, full = _terms(a, b)
    unit = (a == UNIT).astype(int) @ (b == UNIT).astype(int)
    kinds = np.where(terms == 0, NONE, np.where((terms == 1) & (unit == 1), UNIT, FULL))
    return kinds, int(full.sum() + np.maximum(terms - 1, 0).sum())


def _sum(a: np.ndarray, b: np.ndarray) -> int:
    """Additions of a + b."""
    return int(((a != NONE) & (b != NONE)).sum())


# -- solutions


def _cascade(
    J: np.ndarray, blocks: Sequence[Block], factored: Sequence[Eliminated], right: np.ndarray
) -> tuple[np.ndarray, int]:
    """(kinds of X, operations) of J_v X = right, block by block; rows as the blocks have them, and the rows of X."""
    out = np.full(right.shape, NONE)
    count, at, known = 0, 0, list[int]()
    for block, factors in zip(blocks, factored, strict=True):
        n = block.size
        mine = right[at : at + n]
        earlier, more = _product(J[np.ix_(block.rows, known)], out[:at])
        count += more + _sum(earlier, mine)
        mine = np.where(earlier == NONE, mine, FULL)
        for k in np.flatnonzero(mine.any(axis=0)):
            x, more = _solved(factors, list(mine[:, k]))
            out[at : at + n, k] = x
            count += more
        known += block.columns
        at += n
    return out, count


def _solved(f: Eliminated, b: list[int]) -> tuple[list[int], int]:
    """(kinds of x, operations) of A x = b."""
    b, count = [int(x) for x in b], 0
    for r, _, _, lower, _ in f.steps:
        if b[r] != NONE:
            for i, l in lower.items():
                count += (l == FULL and b[r] == FULL) + (b[i] != NONE)
                b[i] = FULL
    x = [NONE] * len(b)
    for k, c in enumerate(f.columns):
        x[c], more = _dot(f.core[k], [b[r] for r in f.rows])
        count += more
    for r, c, pivot, _, upper in reversed(f.steps):
        rest, more = _dot(list(upper.values()), [x[j] for j in upper])
        count += more + (rest != NONE and b[r] != NONE)
        x[c] = max(rest, b[r]) if NONE in (rest, b[r]) else FULL
        if x[c] != NONE and pivot == FULL:
            count += x[c] == FULL
            x[c] = FULL
    return x, int(count)


def _dot(a: Sequence[int], b: Sequence[int]) -> tuple[int, int]:
    """(kind, operations) of a sum of products."""
    terms = [(x, y) for x, y in zip(a, b, strict=True) if x != NONE and y != NONE]
    if not terms:
        return NONE, 0
    kind = UNIT if terms == [(UNIT, UNIT)] else FULL
    return kind, sum(x == FULL and y == FULL for x, y in terms) + len(terms) - 1


# -- factors


def _eliminated(a: np.ndarray) -> tuple[Eliminated, int]:
    """(factors, operations): pivots +-1 first, or of a large block all but the last ones; the rest in closed form."""
    a, n = a.copy(), len(a)
    rows, columns = list(range(n)), list(range(n))
    steps, count = [], 0
    while rows:
        places = [(i, j) for i, j in product(rows, columns) if a[i, j] != NONE and (n > CLOSED or a[i, j] == UNIT)]
        if not places or (n > CLOSED and len(rows) <= TAIL):
            break
        r, c = min(places, key=lambda p: _markowitz(a, p, rows, columns))
        rows.remove(r)
        columns.remove(c)
        pivot = int(a[r, c])
        lower = {i: FULL if pivot == FULL else int(a[i, c]) for i in rows if a[i, c] != NONE}
        upper = {j: int(a[r, j]) for j in columns if a[r, j] != NONE}
        count += (pivot == FULL) * (1 + sum(a[i, c] == FULL for i in lower))
        for (i, l), (j, x) in product(lower.items(), upper.items()):
            count += (l == FULL and x == FULL) + (a[i, j] != NONE)
            a[i, j] = FULL
        steps.append((r, c, pivot, lower, upper))
    core, more = _inverse(a[np.ix_(rows, columns)])
    return Eliminated(tuple(steps), tuple(rows), tuple(columns), core), int(count + more)


def _inverse(a: np.ndarray) -> tuple[np.ndarray, int]:
    """(kinds of the inverse, operations) by cofactors, size 0 to 3."""
    n, count = len(a), 0
    if n < 2:
        return np.where(a == NONE, NONE, FULL).T, n
    cofactors = np.full((n, n), NONE)
    for i, j in product(range(n), range(n)):
        minor = np.delete(np.delete(a, i, 0), j, 1)
        if n == 2:
            cofactors[i, j] = minor[0, 0]
        else:
            cofactors[i, j], more = _dot([minor[0, 0], minor[0, 1]], [minor[1, 1], minor[1, 0]])
            count += more
    _, determinant = _dot(list(a[0]), list(cofactors[0]))
    return np.where(cofactors == NONE, NONE, FULL).T, count + determinant + 1 + int((cofactors == FULL).sum())


def _markowitz(a: np.ndarray, p: tuple[int, int], rows: list[int], columns: list[int]) -> tuple[int, int, int, int]:
    i, j = p
    fill = (sum(a[i, c] != NONE for c in columns) - 1) * (sum(a[r, j] != NONE for r in rows) - 1)
    return int(fill), int(a[i, j] != UNIT), i, j
