"""Linear algebra modulo the prime 2^61 - 1 on object arrays of integers: ranks, solutions, null spaces, determinants.

At a random point of the parameters these are, but for a chance below 2^-40, those over the field of rational functions.
"""

from __future__ import annotations

import numpy as np

from symbody.mechanics.proof.prime_field import P


def reduced(matrix: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Reduced row echelon form (rank, n), and the columns of its pivots."""
    rows = np.array(matrix, dtype=object) % P
    m, n = rows.shape
    pivots: list[int] = []
    r = 0
    for c in range(n):
        found = next((i for i in range(r, m) if rows[i, c]), None)
        if found is None:
            continue
        if found != r:
            rows[[r, found]] = rows[[found, r]]
        head = rows[r, c]
        if head != 1:
            rows[r] = rows[r] * pow(int(head), -1, P) % P
        column = rows[:, c].copy()
        column[r] = 0
        hit = np.flatnonzero(column)
        if hit.size:
            rows[hit] = (rows[hit] - np.outer(column[hit], rows[r])) % P
        pivots.append(c)
        r += 1
        if r == m:
            break
    return rows[:r], pivots


def rank(matrix: np.ndarray) -> int:
    """Rank of a matrix of residues."""
    if not matrix.size:
        return 0
    short = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    return len(reduced(short)[1])


def solution(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """matrix^-1 right; ZeroDivisionError where the matrix is singular."""
    n = len(matrix)
    if not n:
        return np.zeros(right.shape, dtype=object)
    wide = np.concatenate([np.asarray(matrix, dtype=object), np.asarray(right, dtype=object).reshape(n, -1)], axis=1)
    rows, pivots = reduced(wide)
    if pivots[:n] != list(range(n)):
        raise ZeroDivisionError("the matrix is singular")
    made: np.ndarray = rows[:n, n:].reshape(right.shape)
    return made


def left_null_space(matrix: np.ndarray) -> np.ndarray:
    """(k, m): rows y with y matrix = 0, reduced so that they are sparse."""
    m = matrix.shape[0]
    unit = np.full((m, m), 0, dtype=object)
    for k in range(m):
        unit[k, k] = 1
    if not matrix.shape[1]:
        return unit
    rows, pivots = reduced(np.concatenate([matrix, unit], axis=1))
    n = matrix.shape[1]
    below = [r for r, c in enumerate(pivots) if c >= n]
    made: np.ndarray = rows[below][:, n:]
    return made


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a b modulo the prime."""
    if not a.size or not b.size:
        return np.full((a.shape[0], b.shape[1]), 0, dtype=object)
    made: np.ndarray = (a.astype(object) @ b.astype(object)) % P
    return made


def determinant(matrix: np.ndarray) -> int:
    """Determinant modulo the prime."""
    rows = np.array(matrix, dtype=object) % P
    n, out = len(rows), 1
    for k in range(n):
        found = next((i for i in range(k, n) if rows[i, k]), None)
        if found is None:
            return 0
        if found != k:
            rows[[k, found]] = rows[[found, k]]
            out = -out
        head = int(rows[k, k])
        out = out * head % P
        below = np.flatnonzero(rows[k + 1 :, k]) + k + 1
        if below.size:
            factor = rows[below, k] * pow(head, -1, P) % P
            rows[below] = (rows[below] - np.outer(factor, rows[k])) % P
    return out % P
