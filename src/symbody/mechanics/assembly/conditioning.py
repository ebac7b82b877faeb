"""How well the loops of a mechanism can be solved for dependent joints in a position.

Two numbers tell whose fault a singular J_v is: the last singular value of J (all rows and columns) that is not zero in
general vanishes where the mechanism itself is singular; the smallest one of J_v is at most as large, and much smaller
where another choice of independent joints, or of redundant constraints to leave out, would do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from symbody.basics.errors import SymbodyError
from symbody.mechanics.assembly.assembly import close, perturbed
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.assembly.numeric import Numeric, numeric_of, rows_of
from symbody.mechanics.assembly.redundancy import scaled
from symbody.model.record.coordinates import checked, retract, sliding, velocity_labels, with_mode

SINGULAR = 1e-7  # smallest singular value of J_v, without units, that counts as zero
UNRESOLVED = 1e-5  # the same of J: where branches of motion meet, roundings of 1e-16 move joints by 1e-8 and more
NEAR = 1e-2  # of J: below, a position is closed better than assembly does before it is judged
NONZERO = 1e-6  # of the largest singular value of J: at least
NEIGHBOURS, SPREAD = 3, 0.5  # positions about one, and how far from it (rad), that show how large entries of J are


class RowChoice(NamedTuple):
    """Rows that are kept, ascending, and as many velocities that they are solved for."""

    rows: tuple[int, ...]
    dependent: tuple[int, ...]


class SolvedPart(Protocol):
    """What of a Partition is read here."""

    @property
    def rows(self) -> tuple[int, ...]: ...
    @property
    def dependent(self) -> tuple[int, ...]: ...
    @property
    def redundant(self) -> tuple[int, ...]: ...
    @property
    def given(self) -> frozenset[int]: ...
    @property
    def blocks(self) -> tuple[Any, ...]: ...
    @property
    def pivots(self) -> dict[int, tuple[tuple[int, int], ...]]: ...


class Conditioning:
    """J of a mechanism's loops, with numbers for the parameters and without units, and what it tells."""

    def __init__(
        self,
        found: Constraints,
        rank: int,
        parameters: Mapping[str, float] | None = None,
        neighbours: int = NEIGHBOURS,
    ) -> None:
        """neighbours: positions about the first that tell sizes too; 0 where the first is known to be regular."""
        self.constraints, self.rank, self.parameters = found, rank, dict(parameters or {})
        self.neighbours = neighbours
        mechanism = found.tree.mechanism
        self.held = with_mode(mechanism, "driven")
        self.free = [k for k in range(mechanism.nv) if k not in self.held]
        self.slides = sliding(mechanism)
        self._scales: tuple[np.ndarray, np.ndarray] | None = None
        self._numeric: Numeric | None = None
        self.moving = rows_of(found).moving  # constraints depend on time

    def numeric(self, t: float) -> Numeric:
        """Numbers of the constraints at time t."""
        if self._numeric is None or self.moving:
            self._numeric = numeric_of(self.constraints, self.parameters, t)
        return self._numeric

    def jacobian(self, q: np.ndarray, t: float = 0.0) -> np.ndarray:
        """(m, nv) J of the free velocities, without units: what they are measured by suits the first position."""
        J = self._free_columns(q, t)
        rows, columns = self._scales if self._scales is not None else self.scales(q, t)
        out: np.ndarray = J / rows[:, None] * columns
        return out

    def scales(self, q: np.ndarray, t: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """(m,) sizes of rows and (nv,) lengths of columns; q: a first position, for which they are made."""
        if self._scales is None:
            self._scales = self._measured(np.array([self._free_columns(q, t), *self._around(q, t)]))
        return self._scales

    def without_units(self, J: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """J (n, m, nv) of the free velocities by sizes of rows (n, m) and lengths of columns (n, nv)."""
        J[:, :, self.held] = 0
        out: np.ndarray = J / rows[:, :, None] * columns[:, None, :]
        return out

    def _free_columns(self, q: np.ndarray, t: float) -> np.ndarray:
        J = self.numeric(t).J(q)
        J[:, self.held] = 0
        return J

    def _around(self, q: np.ndarray, t: float) -> list[np.ndarray]:
        """J at positions about q, closed or not: all rows of a stretched mechanism may vanish at q itself."""
        if not self.neighbours:
            return []
        mechanism, rng = self.constraints.tree.mechanism, np.random.default_rng(0)
        length = self.numeric(t).length()
        out = []
        for _ in range(self.neighbours):
            try:
                with np.errstate(all="ignore"):
                    J = self._free_columns(perturbed(mechanism, q, self.free, rng, SPREAD, length), t)
            except (SymbodyError, ArithmeticError, ValueError):
                continue  # a coupling has no value there
            if np.isfinite(J).all():
                out.append(J)
        return out

    def _measured(self, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sizes of rows, one for each unit (a row may vanish in a position), and a length for all translations.

        J: (k, m, nv) at several positions.
        """
        columns = np.ones(J.shape[2])
        sizes = [_mean(J[:, :, part], 1) for part in (self.slides, ~self.slides)]
        columns[self.slides] = sizes[1] / sizes[0] if min(sizes) > 0 else 1.0
        units = rows_of(self.constraints).units
        rows = np.ones(J.shape[1])
        for unit in set(units):
            rows[units == unit] = _mean((J * columns)[:, units == unit], 2) or 1.0
        return rows, columns

    # -- numbers of J as `jacobian` gives it

    def of_mechanism(self, J: np.ndarray) -> float:
        """The singular value that vanishes where the mechanism is singular."""
        return self._last(J)

    def of_position(self, q: np.ndarray, t: float = 0.0) -> float:
        """`of_mechanism` at q, closed as well as doubles allow: gaps of 1e-12 may hide a singular position."""
        value = self.of_mechanism(self.jacobian(q, t))
        if value > NEAR:
            return value
        numeric = self.numeric(t)
        better = close(numeric, checked(self.constraints.tree.mechanism, q), self.free, 1e-16)
        if np.abs(better.h).max(initial=0.0) > np.abs(numeric.h(q)).max(initial=0.0):
            return value
        return min(value, self.of_mechanism(self.jacobian(better.q, t)))

    def of_partition(self, J: np.ndarray, partition: SolvedPart) -> float:
        """The smallest singular value of J_v, or a pivot given by hand that is smaller."""
        whole = self._last(J[np.ix_(partition.rows, partition.dependent)])
        return min([whole, *(size for size, _, _ in given_pivots(J, partition))])

    def of_rows(self, J: np.ndarray, rows: Sequence[int]) -> float:
        """Smallest singular value of these rows of J, where all velocities are solved for at once, with multipliers."""
        return self._last(J[list(rows)])

    def _last(self, J: np.ndarray) -> float:
        return float(last_values(J[None], self.rank)[0])

    # -- words

    def say(self, partition: SolvedPart, q: np.ndarray, t: float = 0.0, low: float = SINGULAR) -> str:
        """Which loops are singular at q, and for which joints. low: of J, below which the mechanism is to blame."""
        J = self.jacobian(q, t)
        whole, mine = self.of_position(q, t), self.of_partition(J, partition)
        if whole < max(low, UNRESOLVED) or whole < 2 * mine:
            return self.say_meeting(J, partition.rows)
        if mine < self._last(J[np.ix_(partition.rows, partition.dependent)]):
            size, row, velocity = min(given_pivots(J, partition))
            joint = velocity_labels(self.constraints.tree.mechanism)[velocity]
            return (
                f"the pivot of row {self.constraints.rows[row].name} and joint {joint}, which was given by hand, is "
                f"{size:.1e} there: give another order of pivots, or leave them to be chosen."
            )
        unsolved = self.say_unsolved(J, partition.rows, partition.dependent)
        return f"{unsolved}, but for other joints: choose another partition."

    def say_rows(self, partition: SolvedPart, q: np.ndarray, t: float = 0.0, low: float = SINGULAR) -> str:
        """`say` where all velocities are solved for at once: the rows that are kept may be to blame."""
        J = self.jacobian(q, t)
        whole, mine = self.of_position(q, t), self.of_rows(J, partition.rows)
        if whole < max(low, UNRESOLVED) or whole < 2 * mine:
            return self.say_meeting(J, partition.rows)
        loops = self._weakest(J[list(partition.rows)], partition.rows)[0]
        left = ", ".join(self.constraints.rows[i].name for i in partition.redundant)
        return (
            f"the constraints of {loops} that are kept depend on each other there (smallest singular value {mine:.1e}, "
            f"of all constraints {whole:.1e}), and {left} should be kept: give q0 of another position, or use "
            "formulation='reduced'."
        )

    def say_meeting(self, J: np.ndarray, rows: Sequence[int]) -> str:
        """Which of the rows of J (as `jacobian` gives it; those that are redundant left out) the mechanism loses."""
        loops, inside, count = self._weakest(J[list(rows)], rows)
        names = velocity_labels(self.constraints.tree.mechanism)
        if count > 1:
            lost = f"the constraints of {loops} depend on each other there"
        else:
            lost = f"a constraint of {loops} binds no velocity there"
        return (
            f"{lost} (smallest singular value of J {self.of_mechanism(J):.1e}; joints "
            f"{', '.join(names[c] for c in sorted(inside))}): branches of motion meet, or the mechanism is locked."
        )

    def say_unsolved(self, J: np.ndarray, rows: Sequence[int], dependent: Sequence[int]) -> str:
        """The beginning of a sentence: which loops cannot be solved for which of the dependent velocities."""
        part = J[np.ix_(rows, dependent)]
        loops, inside, _ = self._weakest(part, rows)
        names = velocity_labels(self.constraints.tree.mechanism)
        joints = ", ".join(names[c] for c in sorted(inside & set(dependent)))
        return f"the loops {loops} cannot be solved for {joints} there (smallest singular value {self._last(part):.1e})"

    def _weakest(self, part: np.ndarray, rows: Sequence[int]) -> tuple[str, set[int], int]:
        """Loops of those rows that are almost dependent, the velocities in them, and how many rows there are."""
        weights = np.abs(np.linalg.svd(part)[0][:, -1])
        weak = [self.constraints.rows[i] for i, w in zip(rows, weights, strict=True) if w > 0.1 * weights.max()]
        loops = ", ".join(repr(x) for x in dict.fromkeys(row.loop for row in weak))
        return loops, {c for row in weak for c in row.J}, len(weak)


def last_values(J: np.ndarray, rank: int) -> np.ndarray:
    """(n,) singular value number `rank` of matrices (n, a, b); 0 of one that is no number, or has not so many."""
    if rank == 0:
        return np.ones(len(J))
    if min(J.shape[1:]) < rank:
        return np.zeros(len(J))
    if np.isfinite(J).all():
        found: np.ndarray = np.linalg.svd(J, compute_uv=False)[:, rank - 1]
        return found
    good, out = np.isfinite(J).all(axis=(1, 2)), np.zeros(len(J))
    out[good] = np.linalg.svd(J[good], compute_uv=False)[:, rank - 1]
    return out


def given_pivots(J: np.ndarray, partition: SolvedPart) -> list[tuple[float, int, int]]:
    """(size, row, velocity) of each pivot that was given by hand, up to one that vanishes."""
    out = []
    for k in sorted(partition.given):
        block = partition.blocks[k]
        a = J[np.ix_(block.rows, block.columns)]
        for r, c in partition.pivots[k]:
            size = float(abs(a[r, c]))
            out.append((size, block.rows[r], block.columns[c]))
            if not size > 0:
                break
            a = a - np.outer(a[:, c], a[r]) / a[r, c]
    return out


def _mean(a: np.ndarray, axis: int) -> float:
    """Root of the mean square length of the columns (axis 0) or rows (axis 1); 0 without any."""
    return float(np.sqrt((a**2).sum(axis=axis).mean())) if a.size else 0.0


def is_regular(
    found: Constraints, q: np.ndarray, parameters: Mapping[str, float] | None = None, t: float = 0.0
) -> bool:
    """Whether all constraints are surely independent at the closed position q (nq,); the branch tells of the others."""
    return Conditioning(found, len(found.rows), parameters).of_position(q, t) > UNRESOLVED


def surely_regular(
    found: Constraints, q: np.ndarray, parameters: Sequence[Mapping[str, float]], t: float = 0.0
) -> np.ndarray:
    """(n,) bool: where `is_regular` is true by far, at closed positions q (n, nq) with parameters of the same names, at
    once; False where it must be asked."""
    rank, mechanism = len(found.rows), found.tree.mechanism
    one = Conditioning(found, rank, parameters[0])
    slides, units, rng = one.slides, rows_of(found).units, np.random.default_rng(0)
    lengths = np.array([numeric_of(found, own, t).length() for own in parameters])
    turns = np.zeros((NEIGHBOURS, mechanism.nv))
    for k in range(NEIGHBOURS):
        turns[k, one.free] = SPREAD * rng.normal(size=len(one.free))
    steps = turns * np.where(slides, lengths[:, None], 1.0)[:, None, :]
    around = retract(mechanism, np.repeat(q[:, None], NEIGHBOURS, axis=1), steps)
    positions = np.concatenate([q[:, None], around], axis=1)
    count = NEIGHBOURS + 1
    given = {n: np.repeat([own[n] for own in parameters], count) for n in parameters[0]}
    with np.errstate(all="ignore"):
        J = Numeric(found, given, t).J(positions.reshape(-1, mechanism.nq)).reshape(len(q), count, rank, mechanism.nv)
        J[..., one.held] = 0
        sizes = [np.sqrt((J[..., part] ** 2).sum(axis=2).mean(axis=(1, 2))) for part in (slides, ~slides) if part.any()]
        columns = np.ones((len(q), mechanism.nv))
        if len(sizes) == 2:
            columns[:, slides] = np.where(np.minimum(*sizes) > 0, sizes[1] / sizes[0], 1.0)[:, None]
        J = J * columns[:, None, None, :]
        rows = np.ones((len(q), rank))
        for unit in set(units):
            size = np.sqrt((J[:, :, units == unit] ** 2).sum(axis=3).mean(axis=(1, 2)))
            rows[:, units == unit] = np.where(size > 0, size, 1.0)[:, None]
        values = last_values(J[:, 0] / rows[:, :, None], rank)
    surely: np.ndarray = (values > 2 * NEAR) & np.isfinite(J).all(axis=(1, 2, 3))
    return surely


def holding(
    found: Constraints,
    rows: Sequence[int],
    q: np.ndarray,
    parameters: Mapping[str, Any] | None = None,
    time: float = 0.0,
    closed: Collection[str] = (),
    columns: Sequence[int] | None = None,
) -> np.ndarray:
    """(k,) bool: whether `rows` are independent at the closed positions q (k, nq), and the others follow from them.

    parameters: numbers, or arrays (k,). columns: velocities that they must be solvable for (None: any).
    """
    shut = [i for i, row in enumerate(found.rows) if row.switch is None or row.loop in closed]
    if not shut:
        return np.ones(len(q), dtype=bool)
    J = scaled(numeric_of(found, parameters, time).J(q)[:, shut], sliding(found.tree.mechanism))
    whole = np.linalg.svd(J, compute_uv=False)
    part = np.linalg.svd(J[:, [shut.index(i) for i in rows if i in set(shut)]], compute_uv=False)
    least = NONZERO * whole[:, :1]
    out: np.ndarray = ((part > least).sum(axis=1) == len(rows)) & ((whole > least).sum(axis=1) == len(rows))
    if columns is not None:
        solved = np.linalg.svd(J[:, [shut.index(i) for i in rows]][:, :, list(columns)], compute_uv=False)
        out &= (solved > least).all(axis=1)
    return out
