"""Radau's collocation of three stages: the steps of stiff methods, done again from their ends and differentiated.

    Z_i = h sum_j a_ij f(t + c_j h, x + Z_j)        x_new = x + Z_3

Radau IIA of order 5 (Hairer and Wanner II, IV.5): SciPy's method of that name takes these very steps. Those of methods
that remember several steps (backward differences) are followed from the end of one to the end of the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symbody.basics.errors import DefinitionError

if TYPE_CHECKING:
    from symbody.motion.derivatives.machine import DerivativeRows
    from symbody.motion.derivatives.odd_step import RunPullbacks
    from symbody.motion.derivatives.supply import Supply
    from symbody.motion.derivatives.tape import Steps

ITERATIONS = 40
SOLVED = 1e-13  # last change of Newton's iteration, beside the size of the state
SLOW = 0.1  # of the change before: above, the matrix is made anew
STALLED = 1e-9  # the same, where roundings of steep laws let it go no further
INSIDE = 1e-9  # of a step: how far inside of it its ends are looked at


@dataclass(frozen=True)
class Collocation:
    """Table of an implicit method whose last stage is the new state."""

    name: str
    a: tuple[tuple[float, ...], ...]
    c: tuple[float, ...]


_S = 6**0.5
RADAU = Collocation(
    "collocation",
    (
        ((88 - 7 * _S) / 360, (296 - 169 * _S) / 1800, (-2 + 3 * _S) / 225),
        ((296 + 169 * _S) / 1800, (88 + 7 * _S) / 360, (-2 - 3 * _S) / 225),
        ((16 - _S) / 36, (16 + _S) / 36, 1 / 9),
    ),
    ((4 - _S) / 10, (4 + _S) / 10, 1.0),
)


@dataclass(frozen=True, eq=False)
class SolvedStages:
    """Stages of one step: rates (s, nx), their rows, slopes (s, nx) by time; Z (s, nx), and Newton's matrix."""

    rates: np.ndarray
    rows: Sequence[DerivativeRows]
    Z: np.ndarray
    matrix: np.ndarray


def solved(numbers: RunPullbacks, supply: Supply, piece: Steps, x: np.ndarray, guess: np.ndarray) -> SolvedStages:
    """The stages of the one step of a piece from x (nx,), with its integrals; guess (nx,): the state after it."""
    table = numbers.machine.collocation
    assert table is not None
    t, h, s, nx = piece.t, piece.h, len(table.c), len(x)
    a = np.array(table.a)
    times = np.array([t + c * h for c in table.c])
    signals = np.array([supply.at(time, piece.u) for time in times.tolist()])
    Z = np.array([c * (guess - x) for c in table.c])
    size = 1 + np.abs(x)

    def linearised() -> tuple[list[DerivativeRows], np.ndarray]:
        rows = numbers.many_rows(times, x + Z, signals)
        blocks = [[(i == j) * np.eye(nx) - h * a[i, j] * rows[j].x for j in range(s)] for i in range(s)]
        return rows, np.block(blocks)

    rows, matrix = linearised()
    last = np.inf
    for _ in range(ITERATIONS):
        rates = numbers.many_rates(times, x + Z, signals)
        if not np.isfinite(matrix).all() or not np.isfinite(rates).all():
            break
        change = np.linalg.solve(matrix, (h * a @ rates - Z).reshape(-1)).reshape(s, nx)
        Z = Z + change
        now = float(np.max(np.abs(change) / size))
        if now <= SOLVED or (now <= STALLED and now >= 0.5 * last):
            rows, matrix = linearised()
            return SolvedStages(numbers.many_rates(times, x + Z, signals), rows, Z, matrix)
        if now > SLOW * last:  # the matrix is that of where the iteration began
            rows, matrix = linearised()
        last = now
    raise DefinitionError(
        f"the step from t = {t:g} s to {t + h:g} s cannot be done again: its equations are not solved by Newton's "
        "iteration. Take smaller tolerances."
    )


def differentiated(
    numbers: RunPullbacks, supply: Supply, piece: Steps, x: np.ndarray, guess: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(A (nx, nx), B (nx, n), by the begin (nx,), by the length (nx,), the new state (nx,)) of a step."""
    found = solved(numbers, supply, piece, x, guess)
    table = numbers.machine.collocation
    assert table is not None
    a, h, nx, n, s = np.array(table.a), piece.h, len(x), numbers.n, len(table.c)
    by_x, by_theta = np.zeros((s, nx, nx)), np.zeros((s, nx, n))
    by_t, by_h = np.zeros((s, nx)), a @ found.rates
    for j, (c, rows) in enumerate(zip(table.c, found.rows)):
        time = piece.t + c * h
        slope = rows.t + rows.u @ supply.slope(time, time - INSIDE * h)
        theta = rows.p + rows.u @ supply.by_theta(time, piece.t)
        for i in range(s):
            w = h * a[i, j]
            by_x[i] += w * rows.x
            by_theta[i] += w * theta
            by_t[i] += w * slope
            by_h[i] += w * c * slope
    right = np.concatenate([by_x, by_theta, by_t[:, :, None], by_h[:, :, None]], axis=2).reshape(s * nx, -1)
    last = np.linalg.solve(found.matrix, right)[-nx:]
    return np.eye(nx) + last[:, :nx], last[:, nx : nx + n], last[:, -2], last[:, -1], x + found.Z[-1]
