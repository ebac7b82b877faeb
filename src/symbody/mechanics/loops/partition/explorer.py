"""Closed positions far and wide, and those where a number is least: adversaries of a choice that was made on samples.

From given closed positions, steps are taken in the null space of J and closed again by Newton's iteration, all
positions at once. Random ones spread over the branch; those that lower an objective lead to where a pivot vanishes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.assembly.numeric import Numeric
from symbody.model.record.coordinates import retract, sliding, with_mode
from symbody.model.record.mechanism import Limits, Mechanism

WALKERS = 32
ROUNDS = 6  # of random steps
STRIDE = 0.5  # rad of the fastest joint, or as many mean lengths, in a random step
DESCENT, START, SHRINK, GROW = 8, 0.25, 0.6, 1.5  # steps downhill: how many, the first, and by what they change
REACH = 1.2  # rad, or mean lengths: how far beyond the given positions; farther off a lost pivot is a status
CORRECTIONS = 2
CLOSED = 1e-3  # rad, or mean lengths: how well a position is closed that tells of pivots

Objective = Callable[[np.ndarray], np.ndarray]  # J (k, m, nv) -> (k,)


class Explorer:
    """Closed positions of a mechanism that can be reached from `positions` (k, nq), closed by the rows (indices)."""

    def __init__(
        self,
        found: Constraints,
        positions: np.ndarray,
        rows: Sequence[int],
        parameters: Mapping[str, float] | None = None,
        time: float = 0.0,
    ) -> None:
        self.constraints, self.positions, self.rows = found, np.atleast_2d(positions), list(rows)
        self._given = parameters, time
        self._parts: dict[tuple[int, ...], Walkers] = {}

    def around(self, rows: Sequence[int]) -> Walkers:
        """Those of the loops that the rows belong to, and of all that share joints with them."""
        pattern, near = self.constraints.pattern, set(rows)
        while True:
            columns = pattern[sorted(near)].any(axis=0)
            more = {r for r in self.rows if pattern[r, columns].any()}
            if more <= near:
                break
            near |= more
        key = tuple(sorted(near))
        if key not in self._parts:
            self._parts[key] = Walkers(self.constraints, self.positions, key, *self._given)
        return self._parts[key]


class Walkers:
    """Positions that move together, by some of the rows; J has all rows and columns, but only theirs are filled."""

    def __init__(
        self,
        found: Constraints,
        positions: np.ndarray,
        rows: tuple[int, ...],
        parameters: Mapping[str, float] | None,
        time: float,
    ) -> None:
        mechanism = found.tree.mechanism
        self._numeric = Numeric(found.select(rows), parameters, time)
        self._mechanism, self._rows, self._size = mechanism, list(rows), len(found.rows)
        self._start = np.resize(positions, (max(WALKERS, len(positions)), positions.shape[1]))
        driven = with_mode(mechanism, "driven")
        used = np.asarray(found.pattern[self._rows].any(axis=0))
        self._columns = [k for k in range(mechanism.nv) if used[k] and k not in driven]
        length = self._numeric.length()
        self._unit = np.where(sliding(mechanism)[self._columns], length, 1.0)
        scales = {"m": length, "m^2": length**2}
        self._closed = CLOSED * np.array([scales.get(found.rows[r].unit, 1.0) for r in rows])
        self._limits = _limits(mechanism, positions, length)

    @cached_property
    def visited(self) -> tuple[np.ndarray, np.ndarray]:
        """(k, nq) positions and (k, m, nv) their J: the given ones, and those of random walks from them."""
        rng = np.random.default_rng(0)
        q = self._start
        J = self._at(q)[1]
        found = [(q, J)]
        for _ in range(ROUNDS):
            size = STRIDE * rng.uniform(0.2, 1.0, (len(q), 1))
            new, new_J, good = self._stepped(q, size * self._directions(rng, J))
            q, J = np.where(good[:, None], new, q), np.where(good[:, None, None], new_J, J)
            found.append((q, J))
        return np.concatenate([a for a, _ in found]), np.concatenate([b for _, b in found])

    def descended(self, objective: Objective) -> np.ndarray:
        """(k, m, nv) J at positions where an objective is least, from the lowest of those visited."""
        rng = np.random.default_rng(1)
        q, J = self.visited
        value = _finite(objective(J))
        lowest = np.argsort(value, kind="stable")[:WALKERS]
        q, J, value = q[lowest], J[lowest], value[lowest]
        size = np.full((len(q), 1), START)
        for _ in range(DESCENT):
            new, new_J, good = self._stepped(q, size * self._directions(rng, J))
            next_value = _finite(objective(new_J))
            lower = good & (next_value < value)
            q, J = np.where(lower[:, None], new, q), np.where(lower[:, None, None], new_J, J)
            value = np.where(lower, next_value, value)
            size = np.where(lower[:, None], GROW * size, SHRINK * size)
            size[size < 1e-3] = START  # start anew from there
        return J

    def _at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """h (k, rows) and J (k, m, nv) with zeros in other rows."""
        with np.errstate(all="ignore"):
            h, own = self._numeric.h_and_J(q)
        J = np.zeros((len(q), self._size, own.shape[2]))
        J[:, self._rows] = own
        return h, J

    def _directions(self, rng: np.random.Generator, J: np.ndarray) -> np.ndarray:
        """(k, n) random directions in the null spaces of J, the fastest joint of each at 1."""
        wild = rng.normal(size=(len(J), len(self._columns)))
        free = wild - self._least(J, np.einsum("kmn,kn->km", self._part(J), wild))
        top = np.abs(free).max(axis=1, initial=0.0, keepdims=True)
        return free / np.maximum(top, 1e-300)

    def _part(self, J: np.ndarray) -> np.ndarray:
        return np.nan_to_num(J[:, self._rows][:, :, self._columns] * self._unit)

    def _least(self, J: np.ndarray, right: np.ndarray) -> np.ndarray:
        """(k, n) least x of J x = right (k, m), almost: redundant rows share."""
        part = self._part(J)
        square = part @ part.transpose(0, 2, 1)
        diagonal = np.einsum("kii->ki", square)
        diagonal += 1e-10 * (diagonal.max(axis=1, keepdims=True) + 1e-300)
        y = np.linalg.solve(square, np.nan_to_num(right)[:, :, None])
        return np.nan_to_num(part.transpose(0, 2, 1) @ y)[:, :, 0]

    def _stepped(self, q: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions after the steps (k, n), closed again; their J; which of them are closed, and within limits."""
        q = self._moved(q, step)
        h, J = self._at(q)
        for _ in range(CORRECTIONS):
            q = self._moved(q, -self._least(J, h))
            h, J = self._at(q)
        good = (np.abs(h) < self._closed).all(axis=1) & np.isfinite(J).all(axis=(1, 2))
        for iq, low, high in self._limits:
            good &= (q[:, iq] >= low) & (q[:, iq] <= high)
        return q, J, good

    def _moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        full = np.zeros((len(q), self._mechanism.nv))
        full[:, self._columns] = np.clip(step, -1.0, 1.0) * self._unit
        return retract(self._mechanism, q, full)


def _limits(mechanism: Mechanism, positions: np.ndarray, length: float) -> list[tuple[int, float, float]]:
    """(coordinate, lower, upper): within reach of the given positions, and within limits that hold at all of them."""
    out = []
    for slot in mechanism.slots:
        if not slot.plain:
            continue
        limits = Limits() if slot.joint is None else slot.joint.limits
        for iq, unit in enumerate(slot.units, start=slot.iq):
            out.append((iq, *_reach(positions[:, iq], REACH * length if unit == "m" else REACH, limits)))
    return out


def _reach(own: np.ndarray, reach: float, limits: Limits) -> tuple[float, float]:
    """(lower, upper) of a coordinate whose given positions are `own`."""
    low, high = float(own.min()) - reach, float(own.max()) + reach
    if limits.lower is not None and (own >= limits.lower).all():
        low = max(low, float(limits.lower))
    if limits.upper is not None and (own <= limits.upper).all():
        high = min(high, float(limits.upper))
    return low, high


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, np.inf)
