"""Zeros of the transfer matrix that are there for almost all parameters: finite ones, those at zero and at infinity.

Infinite zeros: ranks of the Toeplitz matrices of D, C B, C A B, ... grow by their number (Silverman and Kitapci 1983).
Finite ones: the degree of what all maximal minors of the system matrix have in common, by random combinations of rows
and columns. A second engine looks for disjoint causal paths from k inputs to k outputs that cross few storages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symbody.mechanics.proof.modular import determinant, product, rank
from symbody.mechanics.proof.prime_field import P, draw

LARGEST = 60  # states up to which finite zeros are counted


@dataclass(frozen=True)
class Zeros:
    """Structural zeros.

    rank       normal rank of the transfer matrix
    infinite   orders of zeros at infinity, smallest first: how often an output is differentiated until the input shows
    finite     number of finite zeros, None where the model is too large to count them
    at_zero    how many of them are zero
    paths      orders by disjoint paths in the structure digraph, which do not see relations between entries
    """

    rank: int
    infinite: tuple[int, ...]
    finite: int | None
    at_zero: int | None
    paths: tuple[int, ...]


def zeros_of(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> Zeros:
    """Zeros of C (s - A)^-1 B + D at a random point of its parameters."""
    infinite = infinite_zeros(A, B, C, D)
    finite, at_zero = finite_zeros(A, B, C, D, len(infinite)) if len(A) <= LARGEST else (None, None)
    return Zeros(len(infinite), infinite, finite, at_zero, path_orders(A, B, C, D))


def normal_rank(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> int:
    """Rank of the transfer matrix at a random s."""
    if not B.size or not C.size:
        return 0
    return rank(_system(A, B, C, D, draw("normal rank"))) - len(A)


def _system(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray, s: int) -> np.ndarray:
    n = len(A)
    out = np.concatenate([np.concatenate([A, B], axis=1), np.concatenate([C, D], axis=1)], axis=0)
    for k in range(n):
        out[k, k] = (out[k, k] - s) % P
    return out


def infinite_zeros(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> tuple[int, ...]:
    """Orders of the zeros at infinity."""
    whole = normal_rank(A, B, C, D)
    if not whole:
        return ()
    blocks, power = [D], B
    found: list[int] = []
    before, k = 0, 0
    while len(found) < whole and k <= len(A):
        now = rank(_toeplitz(blocks))
        gained = now - before  # zeros of order k or less
        found += [k] * (gained - len(found))
        before = now
        blocks.append(product(C, power))
        power = product(A, power)
        k += 1
    return tuple(found)


def _toeplitz(blocks: list[np.ndarray]) -> np.ndarray:
    q, m = blocks[0].shape
    k = len(blocks)
    out = np.full((q * k, m * k), 0, dtype=object)
    for i in range(k):
        for j in range(i + 1):
            out[q * i : q * (i + 1), m * j : m * (j + 1)] = blocks[i - j]
    return out


def finite_zeros(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray, whole: int) -> tuple[int, int]:
    """(number of finite zeros, number of those that are 0): of the common divisor of two random squarings."""
    if not whole:
        return 0, 0
    polynomials = []
    for trial in range(2):
        left = _random((whole, len(C)), "left", trial)
        right = _random((B.shape[1], whole), "right", trial)
        if len(C) == whole:
            left = np.eye(whole, dtype=int).astype(object)
        if B.shape[1] == whole:
            right = np.eye(whole, dtype=int).astype(object)
        polynomials.append(_determinant(A, product(B, right), product(left, C), product(left, product(D, right))))
        if len(C) == whole and B.shape[1] == whole:
            break
    common = polynomials[0]
    for other in polynomials[1:]:
        common = _gcd(common, other)
    at_zero = next((k for k, c in enumerate(common) if c), 0)
    return len(common) - 1, at_zero


def _random(shape: tuple[int, int], *key: object) -> np.ndarray:
    return np.array([[draw(*key, i, j) for j in range(shape[1])] for i in range(shape[0])], dtype=object).reshape(shape)


def _determinant(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> list[int]:
    """Coefficients of det [A - s, B; C, D], the constant first, by interpolation."""
    n = len(A)
    xs = list(range(1, n + 2))
    ys = [determinant(_system(A, B, C, D, s)) for s in xs]
    return _trimmed(_interpolated(xs, ys))


def _interpolated(xs: list[int], ys: list[int]) -> list[int]:
    """Newton's divided differences modulo the prime."""
    c = list(ys)
    for k in range(1, len(xs)):
        for i in range(len(xs) - 1, k - 1, -1):
            c[i] = (c[i] - c[i - 1]) * pow(xs[i] - xs[i - k], -1, P) % P
    out = [0]
    for k in range(len(xs) - 1, -1, -1):
        shifted = [0, *out]
        for i, v in enumerate(out):
            shifted[i] = (shifted[i] - v * xs[k]) % P
        shifted[0] = (shifted[0] + c[k]) % P
        out = shifted
    return out


def _trimmed(p: list[int]) -> list[int]:
    while len(p) > 1 and not p[-1]:
        p.pop()
    return p


def _gcd(a: list[int], b: list[int]) -> list[int]:
    while any(b):
        while len(a) >= len(b) and any(a):
            factor = a[-1] * pow(b[-1], -1, P) % P
            shift = len(a) - len(b)
            for i, v in enumerate(b):
                a[i + shift] = (a[i + shift] - factor * v) % P
            a = _trimmed(a)
            if len(a) < len(b):
                break
        a, b = b, a
    return _trimmed(a)


# -- paths


def path_orders(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> tuple[int, ...]:
    """Orders by vertex-disjoint paths: the least number of states on k of them, minus that on k - 1 (van der Woude)."""
    n, m, q = len(A), B.shape[1], C.shape[0]
    # vertices are split: inputs 0..m-1, states in and out, outputs; every edge carries one unit
    first, into, out = 0, m, m + n
    last = m + 2 * n
    start, goal = last + q, last + q + 1
    flow = _Flow(goal + 1)
    for j in range(m):
        flow.edge(start, first + j, 0)
        for i in np.flatnonzero(B[:, j]):
            flow.edge(first + j, into + int(i), 0)
        for i in np.flatnonzero(D[:, j]):
            flow.edge(first + j, last + int(i), 0)
    for k in range(n):
        flow.edge(into + k, out + k, 1)
        for i in np.flatnonzero(A[:, k]):
            if i != k:
                flow.edge(out + k, into + int(i), 0)
        for i in np.flatnonzero(C[:, k]):
            flow.edge(out + k, last + int(i), 0)
    for end in range(last, last + q):
        flow.edge(end, goal, 0)
    costs: list[int] = []
    while (cost := flow.augment(start, goal)) is not None:
        costs.append(cost)
    return tuple(sorted(costs))


class _Flow:
    """Cheapest paths one after the other (Bellman-Ford with turned edges)."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.edges: list[list[int]] = []  # tail, head, room, cost
        self.at: list[list[int]] = [[] for _ in range(size)]

    def edge(self, tail: int, head: int, cost: int) -> None:
        for a, b, room, c in ((tail, head, 1, cost), (head, tail, 0, -cost)):
            self.at[a].append(len(self.edges))
            self.edges.append([a, b, room, c])

    def augment(self, start: int, goal: int) -> int | None:
        from collections import deque

        far: list[int | None] = [None] * self.size
        came = [-1] * self.size
        far[start] = 0
        waiting = deque([start])
        while waiting:
            v = waiting.popleft()
            here = far[v]
            for k in self.at[v]:
                _, w, room, cost = self.edges[k]
                known = far[w]
                if room and here is not None and (known is None or here + cost < known):
                    far[w], came[w] = here + cost, k
                    waiting.append(w)
        if far[goal] is None:
            return None
        v = goal
        while v != start:
            k = came[v]
            self.edges[k][2] -= 1
            self.edges[k ^ 1][2] += 1
            v = self.edges[k][0]
        return far[goal]
