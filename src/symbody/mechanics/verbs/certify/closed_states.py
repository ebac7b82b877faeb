"""Closed states of a mechanism, found and described by the reference alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from symbody.basics.errors import ModelError
from symbody.mechanics.assembly.constraints import ConstraintRow
from symbody.mechanics.loops.partition.partition import Partition
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.memoised.partitions import Chosen, wanted_at
from symbody.mechanics.verbs.certify.certificate import worst
from symbody.mechanics.verbs.certify.states import States, given_positions
from symbody.model.record.mechanism import Mechanism
from symbody.reference import closed_search as assembly
from symbody.reference.bodies import NumericModel
from symbody.reference.body_dynamics import BodyMotion
from symbody.reference.closures import Closures

STARTS = (16, 64)  # random positions from which the reference closes the loops: fewest, most
CLOSED = 1e-10  # rad, or units of length: what is left open
WORK = 2000  # starts times velocities
WORST_CONDITION = 100.0  # of dependent by independent velocities at the states that are compared, where there are such


class ClosedStates(States):
    """Closed positions and velocities, and efforts on the actuated joints; qdd keeps the loops closed, t is 0.

    partition    of the velocities, as the programs have it: on the branch of the first position of the user, if any
    wanted       the same as the verbs take it
    found        all closed positions with their ranks; `given` of the user come first in q
    others       closed positions whose number of degrees of freedom is not that of the partition
    """

    def __init__(
        self,
        mechanism: Mechanism,
        count: int,
        seed: int = 0,
        values: Mapping[str, float] | None = None,
        partition: Chosen = "auto",
        at: Any = None,
    ) -> None:
        super().__init__(mechanism, count, seed, values)
        self.t = 0.0
        self.closures = Closures(self.model, _facing(self.model, at))
        rng = np.random.default_rng(seed)
        self.given = self._closed_by_user(at)
        self.wanted = partition
        if len(self.given):
            self.wanted = wanted_at(mechanism, self.given[0], partition, self.values)
        chosen = self.wanted
        self.partition = chosen if isinstance(chosen, Partition) else _chosen(mechanism, chosen)
        self.independent = list(self.partition.independent)
        nv = self.model.nv
        tries = int(np.clip(WORK // max(nv, 1), *STARTS))
        near = self.given if len(self.given) else None
        self.positions = assembly.closed_positions(self.closures, assembly.starts(self.model, tries, seed, near))
        if not len(self.positions.q) and not len(self.given):
            raise ModelError(f"{mechanism.name}: no closed position was found from {tries} random starts.")
        mine = assembly.described(self.closures, self.given)
        freedom = nv - len(self.independent)
        self.wrong = mine.select((mine.rank >= 0) & (mine.rank != freedom))
        self.others = self.positions.select((self.positions.rank >= 0) & (self.positions.rank != freedom))
        self.rank = freedom
        usable = self.positions.select(self.positions.rank == freedom)
        self.q = self._regular(usable.q, count, rng)
        self.q = np.concatenate([mine.q[mine.rank == freedom], self.q])
        shape = (len(self.q), nv)
        self.qd = assembly.consistent_velocities(self.closures, self.q, rng.uniform(-1, 1, shape))
        self.tau = np.zeros(shape)
        actuated = self.model.actuated
        self.tau[:, actuated] = rng.uniform(-1, 1, (len(self.q), len(actuated)))
        self.qdd = self.consistent(self.q, self.qd, rng.uniform(-1, 1, shape))

    def _closed_by_user(self, at: Any) -> np.ndarray:
        """Positions of the user, closed from where they are."""
        q = given_positions(self.model, at)
        if not len(q):
            return q
        out = []
        for k, one in enumerate(q):
            found = assembly.closed_positions(self.closures, one[None]).q
            if not len(found):
                gap = np.abs(self.closures.gap(one[None])).max(initial=0.0)
                raise ModelError(
                    f"position {k} of `at` is open by {gap:.3g} m or rad, and the reference cannot close it."
                )
            out.append(found[0])
        return np.array(out)

    def _regular(self, q: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
        """As many positions as asked for, at which dependent velocities follow well from independent ones."""
        if not len(q):
            return q
        size = np.array([np.linalg.norm(self.by_independent(one)) + self._to_singular(one) for one in q])
        q = q[size <= max(WORST_CONDITION, float(size.min()))]
        order = rng.permutation(len(q))
        return q[np.resize(order, count)]

    def _to_singular(self, q: np.ndarray) -> float:
        """Condition of J on its rank at a closed q (nq,): large where branches of motion meet."""
        if not self.rank:
            return 1.0
        s = np.linalg.svd(self.closures.jacobian(q[None], self.t)[0], compute_uv=False)
        return float(s[0] / max(s[self.rank - 1], 1e-300))

    def opening(self, gap: np.ndarray) -> float:
        """How far gaps (n, m) of the reference are open at most, in rad and units of length."""
        return worst(np.abs(gap) / np.where(self.closures.are_lengths, self.length, 1.0))

    def opening_of(self, rows: Sequence[ConstraintRow], gap: np.ndarray) -> float:
        """How far gaps of rows of a program are open at most, in rad and units of length."""
        units = {"m": self.length, "m^2": self.length**2}
        return worst(np.abs(gap) / np.array([units.get(row.unit, 1.0) for row in rows]))

    @cached_property
    def length(self) -> float:
        """The unit of length, m: the size of the mechanism, 1 where all joints stand in one point.

        Angles, and couplings of coordinates that may be turns, are measured by 1 whatever the lengths.
        """
        apart = any(np.any(part.position) for part in self.model.parts)
        return self.model.size if apart else 1.0

    # -- what the reference says about dependent velocities

    def by_independent(self, q: np.ndarray) -> np.ndarray:
        """B (nv, u): all velocities from the independent ones, from the null space of J at a closed q (nq,)."""
        slopes = self.closures.jacobian(q[None], self.t)[0]
        free = assembly.null_space(slopes, self.rank)
        own = free[self.independent]
        if own.shape[0] != own.shape[1] or np.linalg.matrix_rank(own, tol=1e-12) < own.shape[0]:
            return np.full((self.model.nv, len(self.independent)), np.inf)
        return np.asarray(free @ np.linalg.inv(own))

    def maps(self, q: np.ndarray) -> np.ndarray:
        """B of several positions, (n, nv, u)."""
        return np.array([self.by_independent(one) for one in q]).reshape(len(q), self.model.nv, len(self.independent))

    def consistent(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Accelerations with the independent parts of qdd that keep the loops closed."""
        still = BodyMotion(self.model, q, qd, 0 * qdd, self.t, self.number)
        slopes, bias = self.closures.jacobian(q, self.t, qd), self.closures.rows(still).hdd
        return self._completed(slopes, bias, qdd)

    def velocities(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Velocities with the independent parts of qd that keep the loops closed."""
        for _ in range(2):
            slopes = self.closures.jacobian(q, self.t, qd)
            rest = BodyMotion(self.model, q, 0 * qd, t=self.t)
            qd = self._completed(slopes, self.closures.rows(rest).hd, qd)
        return qd

    def _completed(self, slopes: np.ndarray, right: np.ndarray, x: np.ndarray) -> np.ndarray:
        """x with dependent parts such that slopes x + right = 0."""
        dependent = [k for k in range(self.model.nv) if k not in self.independent]
        out = np.array(x)
        out[:, dependent] = 0.0
        for k in range(len(x)):
            left = slopes[k] @ out[k] + right[k]
            out[k, dependent] = -np.linalg.lstsq(slopes[k][:, dependent], left, rcond=1e-10)[0]
        return out

    def virtual(self, q: np.ndarray) -> np.ndarray:
        """(nv, k) virtual displacements at a closed q that leave driven joints where they are."""
        free = assembly.null_space(self.closures.jacobian(q[None], self.t)[0], self.rank)
        driven = self.model.driven
        if not driven or not free.shape[1]:
            return free
        held = free[driven]
        left = np.linalg.svd(held)
        return np.asarray(free @ left[2][int(np.sum(left[1] > 1e-9)) :].T)


def _facing(model: NumericModel, at: Any) -> np.ndarray | None:
    """(nq,) position that says how loops are closed that may be turned over; None: as their frames are."""
    given = given_positions(model, at)
    if len(given):
        return np.asarray(given[0])
    branch = derived_of(model.mechanism).branch()
    return branch.positions[0] if branch is not None and branch.turned else None


def _chosen(mechanism: Mechanism, partition: Any) -> Partition:
    return derived_of(mechanism).partition(partition)
