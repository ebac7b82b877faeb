"""How well the loops of a mechanism can be solved for dependent joints in a position, and for which joints best.

Two numbers tell whose fault a singular J_v is: the last singular value of J (all rows and columns) that is not zero in
general vanishes where the mechanism itself is singular; the smallest one of J_v is at most as large, and much smaller
where another choice of independent joints, or of redundant constraints to leave out, would do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from symbody.errors import SymbodyError
from symbody.expr.arrays import sum_of_products, zeros
from symbody.expr.call import call
from symbody.expr.functions import sqrt
from symbody.expr.linear_algebra import ldlt
from symbody.expr.node import Node, Pivots
from symbody.expr.walk import free_symbols, quiet_collector
from symbody.loops.closing.assembly import close, length_scale, perturbed
from symbody.loops.closing.factors import Spare, factors
from symbody.loops.closing.projection import gaps
from symbody.loops.equations.augmented import switches
from symbody.loops.partition.partition import Partition, choose_partition
from symbody.loops.partition.pivoting import numeric_choice, pivots_of
from symbody.loops.partition.structure import Block
from symbody.loops.rows.constraints import Constraints
from symbody.loops.rows.numeric import Numeric
from symbody.loops.rows.redundancy import independent_set
from symbody.model.record.coordinates import checked, sliding, velocity_labels, with_mode
from symbody.system.system import System, node_array

SINGULAR = 1e-7  # smallest singular value of J_v, without units, that counts as zero
UNRESOLVED = 1e-5  # the same of J: where branches of motion meet, roundings of 1e-16 move joints by 1e-8 and more
NEAR = 1e-2  # of J: below, a position is closed better than assembly does before it is judged
CLEARLY = 1.1  # a choice by other means is taken where it is better by this factor
NEIGHBOURS, SPREAD = 3, 0.5  # positions about one, and how far from it (rad), that show how large entries of J are


class Choice(NamedTuple):
    """Rows that are kept, ascending, and as many velocities that they are solved for."""

    rows: tuple[int, ...]
    dependent: tuple[int, ...]


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
        self.found, self.rank, self.parameters = found, rank, dict(parameters or {})
        self.neighbours = neighbours
        mechanism = found.tree.mechanism
        self._fixed = with_mode(mechanism, "driven")
        self.free = [k for k in range(mechanism.nv) if k not in self._fixed]
        self._slides = sliding(mechanism)
        self._scales: tuple[np.ndarray, np.ndarray] | None = None
        self._numeric: Numeric | None = None
        nodes = [x for r in found.rows for x in (r.h, r.ht, *r.J.values()) if isinstance(x, Node)]
        self.moving = any(s.data.role == "time" for s in free_symbols(nodes))  # constraints depend on time

    def numeric(self, t: float) -> Numeric:
        """Numbers of the constraints at time t."""
        if self._numeric is None or self.moving:
            self._numeric = Numeric(self.found, self.parameters, t)
        return self._numeric

    def jacobian(self, q: np.ndarray, t: float = 0.0) -> np.ndarray:
        """(m, nv) J of the free velocities, without units: what they are measured by suits the first position."""
        J = self._free_columns(q, t)
        if self._scales is None:
            self._scales = self._measured(np.array([J, *self._around(q, t)]))
        rows, columns = self._scales
        out: np.ndarray = J / rows[:, None] * columns
        return out

    def _free_columns(self, q: np.ndarray, t: float) -> np.ndarray:
        J = self.numeric(t).J(q)
        J[:, self._fixed] = 0
        return J

    def _around(self, q: np.ndarray, t: float) -> list[np.ndarray]:
        """J at positions about q, closed or not: all rows of a stretched mechanism may vanish at q itself."""
        mechanism, rng = self.found.tree.mechanism, np.random.default_rng(0)
        length = length_scale(self.numeric(t))
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
        sizes = [_mean(J[:, :, part], 1) for part in (self._slides, ~self._slides)]
        columns[self._slides] = sizes[1] / sizes[0] if min(sizes) > 0 else 1.0
        units = np.array([row.unit for row in self.found.rows])
        rows = np.ones(J.shape[1])
        for unit in set(units):
            rows[units == unit] = _mean((J * columns)[:, units == unit], 2) or 1.0
        return rows, columns

    # -- numbers of J as `jacobian` gives it

    def of_mechanism(self, J: np.ndarray) -> float:
        """The singular value that vanishes where the mechanism is singular."""
        return self._last(J)

    def of_position(self, q: np.ndarray, t: float = 0.0) -> float:
        """The same at q, closed as well as doubles allow: gaps of 1e-12 may hide a singular position."""
        value = self.of_mechanism(self.jacobian(q, t))
        if value > NEAR:
            return value
        numeric = self.numeric(t)
        better = close(numeric, checked(self.found.tree.mechanism, q), self.free, 1e-16)
        if np.abs(better.h).max(initial=0.0) > np.abs(numeric.h(q)).max(initial=0.0):
            return value
        return min(value, self.of_mechanism(self.jacobian(better.q, t)))

    def of_partition(self, J: np.ndarray, partition: Partition) -> float:
        """The smallest singular value of J_v, or a pivot given by hand that is smaller."""
        whole = self._last(J[np.ix_(partition.rows, partition.dependent)])
        return min([whole, *(size for size, _, _ in _given_pivots(J, partition))])

    def of_choice(self, J: np.ndarray, choice: Choice) -> float:
        """The smallest singular value of J_v for rows and dependent velocities that no partition is made of yet."""
        return self._last(J[np.ix_(choice.rows, choice.dependent)])

    def of_rows(self, J: np.ndarray, rows: Sequence[int]) -> float:
        """The same where all velocities are solved for at once, with multipliers."""
        return self._last(J[list(rows)])

    def _last(self, J: np.ndarray) -> float:
        if self.rank == 0:
            return 1.0
        if not np.isfinite(J).all() or min(J.shape) < self.rank:
            return 0.0
        return float(np.linalg.svd(J, compute_uv=False)[self.rank - 1])

    # -- other partitions

    def best(self, J: np.ndarray, whole: bool = False) -> tuple[Choice | None, float]:
        """The Choice with the best conditioned J_v that is found, and its smallest singular value; None if J has none.

        Rows and columns are chosen together: rows that are redundant on a branch need not be the same all along it.
        whole: the rows are to be independent, whatever is solved for.
        """
        columns = [k for k in self.free if J[:, k].any()]
        if len(J) < self.rank or len(columns) < self.rank or not np.isfinite(J).all():
            return None, 0.0
        rows = independent_set(J[None], self.rank)
        dependent = sorted(columns[k] for k in numeric_choice(J[None][:, rows][:, :, columns]))
        found = [Choice(tuple(rows), tuple(dependent)), Choice(*pivots_of(J, self.rank, columns))]
        sizes = [self.of_choice(J, choice) for choice in found]
        k = int(sizes[1] > CLEARLY * sizes[0] and not whole)
        return found[k], sizes[k]

    def partition(self, choice: Choice, q: np.ndarray) -> Partition:
        """A Partition with these rows and dependent velocities; its pivots are good at q."""
        names, pattern = velocity_labels(self.found.tree.mechanism), self.found.pattern
        rows = list(choice.rows)
        independent = [names[k] for k in self.free if k not in choice.dependent and pattern[rows, k].any()]
        return choose_partition(
            self.found, independent, samples=[q], parameters=self.parameters or None, rank=self.rank, rows=rows
        )

    # -- words

    def say(self, partition: Partition, q: np.ndarray, t: float = 0.0, low: float = SINGULAR) -> str:
        """Which loops are singular at q, and for which joints. low: of J, below which the mechanism is to blame."""
        J = self.jacobian(q, t)
        whole, mine = self.of_position(q, t), self.of_partition(J, partition)
        if whole < max(low, UNRESOLVED) or whole < 2 * mine:
            return self.say_meeting(J, partition.rows)
        if mine < self._last(J[np.ix_(partition.rows, partition.dependent)]):
            size, row, velocity = min(_given_pivots(J, partition))
            joint = velocity_labels(self.found.tree.mechanism)[velocity]
            return (
                f"the pivot of row {self.found.rows[row].name} and joint {joint}, which was given by hand, is "
                f"{size:.1e} there: give another order of pivots, or leave them to be chosen."
            )
        unsolved = self.say_unsolved(J, partition.rows, partition.dependent)
        return f"{unsolved}, but for other joints: choose another partition."

    def say_rows(self, partition: Partition, q: np.ndarray, t: float = 0.0, low: float = SINGULAR) -> str:
        """The same where all velocities are solved for at once: the rows that are kept may be to blame."""
        J = self.jacobian(q, t)
        whole, mine = self.of_position(q, t), self.of_rows(J, partition.rows)
        if whole < max(low, UNRESOLVED) or whole < 2 * mine:
            return self.say_meeting(J, partition.rows)
        loops = self._weakest(J[list(partition.rows)], partition.rows)[0]
        left = ", ".join(self.found.rows[i].name for i in partition.redundant)
        return (
            f"the constraints of {loops} that are kept depend on each other there (smallest singular value {mine:.1e}, "
            f"of all constraints {whole:.1e}), and {left} should be kept: give q0 of another position, or use "
            "formulation='reduced'."
        )

    def say_meeting(self, J: np.ndarray, rows: Sequence[int]) -> str:
        """Which of the rows of J (as `jacobian` gives it; those that are redundant left out) the mechanism loses."""
        loops, inside, count = self._weakest(J[list(rows)], rows)
        names = velocity_labels(self.found.tree.mechanism)
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
        names = velocity_labels(self.found.tree.mechanism)
        joints = ", ".join(names[c] for c in sorted(inside & set(dependent)))
        return f"the loops {loops} cannot be solved for {joints} there (smallest singular value {self._last(part):.1e})"

    def _weakest(self, part: np.ndarray, rows: Sequence[int]) -> tuple[str, set[int], int]:
        """Loops of those rows that are almost dependent, the velocities in them, and how many rows there are."""
        weights = np.abs(np.linalg.svd(part)[0][:, -1])
        weak = [self.found.rows[i] for i, w in zip(rows, weights, strict=True) if w > 0.1 * weights.max()]
        loops = ", ".join(repr(x) for x in dict.fromkeys(row.loop for row in weak))
        return loops, {c for row in weak for c in row.J}, len(weak)


def _given_pivots(J: np.ndarray, partition: Partition) -> list[tuple[float, int, int]]:
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


def watched(found: Constraints, partition: Partition | None, kept: Sequence[int] | None = None) -> System:
    """(q, qd[, t, s_<loop>]) -> measure (k,) as of `measures`, and gap (m,) of all rows; 0 of an open loop.

    Gaps are m or rad; those of velocity constraints their J qd + ht, beside sqrt(1 + |qd|^2). partition None: no joints
    are solved for, and the measure is that of the rows `kept` (`row_measure`), where such are given. Each output
    has one entry at least: 1 where nothing is divided by, 0 where there is no row.
    """
    tree, on = found.tree, switches(found)
    nodes = [] if partition is None else list(measures(found, partition).outputs["measure"].flat)
    if partition is None and kept:
        nodes = [row_measure(found, kept)]
    gap: list[Any] = []
    for apart, row in zip(gaps(found), found.rows, strict=True):
        if row.h is None:
            speed = sqrt(1 + sum(v * v for v in tree.qd))
            apart = (sum(x * tree.qd[k] for k, x in row.J.items()) + row.ht) / speed
        gap.append(apart if row.switch is None else apart * on[row.switch])
    inputs: dict[str, Any] = {n: node_array(list(a), tree.graph) for n, a in (("q", tree.q), ("qd", tree.qd))}
    time = [s for s in free_symbols([*nodes, *(g for g in gap if isinstance(g, Node))]) if s.data.role == "time"]
    if time:
        inputs["t"] = np.array(time[0], dtype=object)
    inputs.update({name: np.array(s, dtype=object) for name, s in on.items()})
    outputs = {"measure": node_array(nodes or [1], tree.graph), "gap": node_array(gap or [0], tree.graph)}
    return System(f"{_identifier(tree.mechanism.name)}_watched", inputs=inputs, outputs=outputs)


def row_measure(found: Constraints, rows: Sequence[int]) -> Any:
    """The product of the singular values of these rows of J, in the free velocities: 0 where they depend on others."""
    held = set(with_mode(found.tree.mechanism, "driven"))
    own = [{k: e for k, e in found.rows[r].J.items() if k not in held} for r in rows]
    matrix = zeros(len(own), len(own))
    for i, a in enumerate(own):
        for j, b in enumerate(own[: i + 1]):
            matrix[i, j] = matrix[j, i] = sum_of_products((a[k], b[k]) for k in a if k in b)
    with quiet_collector():
        product: Any = 1
        for pivot in ldlt(matrix).pivots:
            product = product * pivot
    return sqrt(call("abs", product)) if isinstance(product, Node) else 1


def measures(found: Constraints, partition: Partition) -> System:
    """(q[, t]) -> measure (k,): what the solution by this partition divides by; an entry that vanishes is singular.

    The determinant of each block up to size 3, and of larger ones the pivots and the determinant of the last two, or
    the determinant of the whole where rows are exchanged at run time; of a block whose order was given by hand its
    pivots, and the determinant of what they leave.
    """
    tree = found.tree
    with quiet_collector():
        nodes = [
            x
            for k, b in enumerate(partition.blocks)
            for x in _block_measures(
                found, b, partition.pivots.get(k), k in partition.given, partition.spare.get(k, ())
            )
        ]
    varying = [x for x in nodes if isinstance(x, Node) and free_symbols([x])]
    inputs: dict[str, Any] = {"q": node_array(list(tree.q), tree.graph)}
    time = [s for s in free_symbols(varying) if s.data.role == "time"]
    if time:
        inputs["t"] = np.array(time[0], dtype=object)
    name = f"{_identifier(tree.mechanism.name)}_measures"
    return System(name, inputs=inputs, outputs={"measure": node_array(varying, tree.graph)})


def _identifier(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def _block_measures(found: Constraints, block: Block, order: Pivots | None, given: bool, spare: Spare) -> list[Any]:
    entries = [[found.rows[r].J.get(c, 0) for c in block.columns] for r in block.rows]
    try:
        return factors(np.array(entries, dtype=object), order, given, spare=spare).measures
    except SymbodyError:  # a pivot cancels: the program was made with others, which are not known here
        return []
