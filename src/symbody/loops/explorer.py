"""Closed positions far and wide, and those where a number is least: adversaries of a choice that was made on samples.

From given closed positions, steps are taken in the null space of J and closed again by Newton's iteration, all
positions at once. Random ones spread over the branch; those that lower an objective lead to where a pivot vanishes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from symbody.loops.assembly import length_scale
from symbody.loops.constraints import Constraints
from symbody.loops.numeric import Numeric, advanced, motions, sliding, velocity_owners

WALKERS = 16
ROUNDS = 8  # of random steps
STRIDE = 0.4  # rad of the fastest joint, or as many mean lengths, in a random step
DESCENT, START, SHRINK, GROW = 24, 0.3, 0.6, 1.3  # steps downhill: how many, the first, and by what they change
CORRECTIONS = 3
CLOSED = 1e-7  # m or rad: how well a position is closed that tells of pivots

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
        self.positions = np.atleast_2d(positions)
        self._numeric = Numeric(found, parameters, time)
        mechanism = found.tree.mechanism
        self._mechanism = mechanism
        self._rows = list(rows)
        driven = {j.name for j in mechanism.joints if j.mode == "driven"}
        owners = velocity_owners(mechanism)
        used = found.pattern[self._rows].any(axis=0) if self._rows else np.zeros(len(owners), dtype=bool)
        self._columns = [k for k, (joint, _) in enumerate(owners) if used[k] and joint not in driven]
        self._unit = np.where(sliding(mechanism)[self._columns], length_scale(self._numeric), 1.0)
        self._limits = _limits(mechanism, self.positions)

    def _J(self, q: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return self._numeric.J(q)

    @cached_property
    def visited(self) -> tuple[np.ndarray, np.ndarray]:
        """(k, nq) positions and (k, m, nv) their J: the given ones, and those of random walks from them."""
        rng = np.random.default_rng(0)
        q = np.resize(self.positions, (max(WALKERS, len(self.positions)), self.positions.shape[1]))
        J = self._J(q)
        found = [(q, J)]
        for _ in range(ROUNDS):
            size = STRIDE * rng.uniform(0.3, 1.0, (len(q), 1))
            new, new_J, good = self._stepped(q, J, size * self._directions(rng, J))
            q, J = np.where(good[:, None], new, q), np.where(good[:, None, None], new_J, J)
            found.append((q, J))
        return np.concatenate([a for a, _ in found]), np.concatenate([b for _, b in found])

    def descended(self, objective: Objective) -> tuple[np.ndarray, np.ndarray]:
        """(k, nq) positions and their J where an objective is least, from the lowest of those visited."""
        rng = np.random.default_rng(1)
        q, J = self.visited
        lowest = np.argsort(_finite(objective(J)), kind="stable")[:WALKERS]
        q, J = q[lowest], J[lowest]
        value, size = _finite(objective(J)), np.full((len(q), 1), START)
        for _ in range(DESCENT):
            new, new_J, good = self._stepped(q, J, size * self._directions(rng, J))
            lower = good & (_finite(objective(new_J)) < value)
            q, J = np.where(lower[:, None], new, q), np.where(lower[:, None, None], new_J, J)
            value = np.where(lower, _finite(objective(J)), value)
            size = np.where(lower[:, None], GROW * size, SHRINK * size)
            size[size < 1e-4] = START  # start anew from there
        return q, J

    def _directions(self, rng: np.random.Generator, J: np.ndarray) -> np.ndarray:
        """(k, n) random directions in the null spaces of J, the fastest joint of each at 1."""
        wild = rng.normal(size=(len(J), len(self._columns)))
        free = wild - self._least(J, np.einsum("kmn,kn->km", self._part(J), wild))
        top = np.abs(free).max(axis=1, initial=0.0, keepdims=True)
        return free / np.maximum(top, 1e-300)

    def _part(self, J: np.ndarray) -> np.ndarray:
        return J[:, self._rows][:, :, self._columns] * self._unit

    def _least(self, J: np.ndarray, right: np.ndarray) -> np.ndarray:
        """(k, n) least x of J x = right (k, m)."""
        part = np.nan_to_num(self._part(J))
        return np.einsum("knm,km->kn", np.linalg.pinv(part, rcond=1e-9), np.nan_to_num(right))

    def _stepped(self, q: np.ndarray, J: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions after the steps (k, n), closed again; their J; which of them are closed, and within limits."""
        q = self._moved(q, step)
        for _ in range(CORRECTIONS):
            with np.errstate(all="ignore"):
                h = self._numeric.h(q)[:, self._rows]
            J = self._J(q)
            q = self._moved(q, -self._least(J, h))
        with np.errstate(all="ignore"):
            h = self._numeric.h(q)[:, self._rows]
        J = self._J(q)
        good = (np.abs(h).max(axis=1, initial=0.0) < CLOSED) & np.isfinite(J).all(axis=(1, 2))
        for iq, low, high in self._limits:
            good &= (q[:, iq] >= low) & (q[:, iq] <= high)
        return q, J, good

    def _moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        full = np.zeros((len(q), len(sliding(self._mechanism))))
        full[:, self._columns] = np.clip(np.nan_to_num(step), -1.0, 1.0) * self._unit
        kinds = [(letter, iq, iv) for letter, iq, iv, _ in motions(self._mechanism)]
        if any(letter in "BF" and full[:, iv : iv + 6].any() for letter, _, iv in kinds):
            return np.array([advanced(self._mechanism, a, b) for a, b in zip(q, full, strict=True)])
        out = q.copy()
        for letter, iq, iv in kinds:
            if letter not in "BF":
                out[:, iq] += full[:, iv]
        return out


def _limits(mechanism: object, positions: np.ndarray) -> list[tuple[int, float, float]]:
    """(coordinate, lower, upper) of joints with limits that hold at all given positions."""
    out = []
    for letter, iq, _, name in motions(mechanism):  # type: ignore[arg-type]
        limits = mechanism.joint(name).limits  # type: ignore[attr-defined]
        low = -np.inf if limits.lower is None else limits.lower
        high = np.inf if limits.upper is None else limits.upper
        if letter not in "BF" and (positions[:, iq] >= low).all() and (positions[:, iq] <= high).all():
            out.append((iq, low, high))
    return [x for x in out if np.isfinite(x[1]) or np.isfinite(x[2])]


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, np.inf)
