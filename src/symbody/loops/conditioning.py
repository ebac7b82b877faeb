"""How well the loops of a mechanism can be solved for dependent joints in a position, and for which joints best.

Two numbers tell whose fault a singular J_v is: the last singular value of J (all rows and columns) that is not zero in
general vanishes where the mechanism itself is singular; the smallest one of J_v is at most as large, and much smaller
where another choice of independent joints, or of redundant constraints to leave out, would do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.errors import ExpressionError
from symbody.expr.lu import lu
from symbody.expr.node import Node
from symbody.expr.small_matrices import determinant_2x2, determinant_3x3
from symbody.expr.walk import free_symbols, quiet_collector
from symbody.loops.constraints import Constraints
from symbody.loops.numeric import Numeric, sliding, velocity_owners
from symbody.loops.partition import Partition, choose_partition
from symbody.loops.pivoting import numeric_choice
from symbody.loops.redundancy import redundant_rows, velocity_names
from symbody.system.system import System, node_array

SINGULAR = 1e-7  # smallest singular value of J, without units, that counts as zero
CLOSED = 3  # size up to which blocks are solved by their determinant, as `factors` does


class Conditioning:
    """J of a mechanism's loops, with numbers for the parameters and without units, and what it tells."""

    def __init__(self, found: Constraints, rank: int, parameters: Mapping[str, float] | None = None) -> None:
        self.found, self.rank, self.parameters = found, rank, dict(parameters or {})
        mechanism = found.tree.mechanism
        driven = {j.name for j in mechanism.joints if j.mode == "driven"}
        owners = velocity_owners(mechanism)
        self.free = [k for k, (joint, _) in enumerate(owners) if joint not in driven]
        self._fixed = [k for k, (joint, _) in enumerate(owners) if joint in driven]
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
        J = self.numeric(t).J(q)
        J[:, self._fixed] = 0
        if self._scales is None:
            self._scales = self._measured(J)
        rows, columns = self._scales
        out: np.ndarray = J / rows[:, None] * columns
        return out

    def _measured(self, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sizes of rows, one for each unit (a row may vanish in a position), and a length for all translations."""
        columns = np.ones(J.shape[1])
        sizes = [_mean(J[:, part], 0) for part in (self._slides, ~self._slides)]
        columns[self._slides] = sizes[1] / sizes[0] if min(sizes) > 0 else 1.0
        units = np.array([row.unit for row in self.found.rows])
        rows = np.ones(len(J))
        for unit in set(units):
            rows[units == unit] = _mean((J * columns)[units == unit], 1) or 1.0
        return rows, columns

    # -- numbers of J as `jacobian` gives it

    def of_mechanism(self, J: np.ndarray) -> float:
        """The singular value that vanishes where the mechanism is singular."""
        return self._last(J)

    def of_partition(self, J: np.ndarray, partition: Partition) -> float:
        """The smallest singular value of J_v."""
        return self._last(J[np.ix_(partition.rows, partition.dependent)])

    def _last(self, J: np.ndarray) -> float:
        if self.rank == 0:
            return 1.0
        if not np.isfinite(J).all() or min(J.shape) < self.rank:
            return 0.0
        return float(np.linalg.svd(J, compute_uv=False)[self.rank - 1])

    # -- other partitions

    def best(self, J: np.ndarray) -> tuple[list[int], float]:
        """Dependent velocities with the best conditioned columns, and the smallest singular value of their J_v."""
        out = set(redundant_rows(J[None]))
        rows = [i for i in range(len(J)) if i not in out]
        columns = [k for k in self.free if J[:, k].any()]
        if len(rows) != self.rank or len(columns) < self.rank:
            return [], 0.0
        dependent = sorted(columns[k] for k in numeric_choice(J[None][:, rows][:, :, columns]))
        return dependent, self._last(J[np.ix_(rows, dependent)])

    def partition(self, dependent: Sequence[int], q: np.ndarray) -> Partition:
        """A Partition with these dependent velocities; its rows and pivots are good at q."""
        names, pattern = velocity_names(self.found), self.found.pattern
        independent = [names[k] for k in self.free if k not in dependent and pattern[:, k].any()]
        return choose_partition(self.found, independent, samples=[q], parameters=self.parameters or None)

    # -- words

    def say(self, partition: Partition, q: np.ndarray, t: float = 0.0, low: float = SINGULAR) -> str:
        """Which loops are singular at q, and for which joints. low: of J, below which the mechanism is to blame."""
        J, names, used = self.jacobian(q, t), velocity_names(self.found), list(partition.rows)
        whole, mine = self.of_mechanism(J), self.of_partition(J, partition)
        locked = whole < max(low, SINGULAR) or whole < 2 * mine
        part = J[used] if locked else J[np.ix_(used, partition.dependent)]
        # loops of the rows that are almost dependent, and the joints of these loops
        weights = np.abs(np.linalg.svd(part)[0][:, -1])
        rows = [i for i, w in zip(used, weights, strict=True) if w > 0.1 * weights.max()]
        loops = ", ".join(repr(x) for x in dict.fromkeys(self.found.rows[i].loop for i in rows))
        inside = {c for i in rows for c in self.found.rows[i].J}
        if locked:
            joints = ", ".join(names[c] for c in sorted(inside))
            return (
                f"the constraints of {loops} depend on each other there (smallest singular value of J {whole:.1e}; "
                f"joints {joints}): branches of motion meet, or the mechanism is locked."
            )
        joints = ", ".join(names[c] for c in sorted(inside & set(partition.dependent)))
        return (
            f"the loops {loops} cannot be solved for {joints} there (smallest singular value {mine:.1e}), but for "
            "other joints: choose another partition."
        )


def _mean(a: np.ndarray, axis: int) -> float:
    """Root of the mean square length of the columns (axis 0) or rows (axis 1); 0 without any."""
    return float(np.sqrt((a**2).sum(axis=axis).mean())) if a.size else 0.0


def measures(found: Constraints, partition: Partition) -> System:
    """(q[, t]) -> measure (k,): what the solution by this partition divides by; an entry that vanishes is singular.

    The determinant of each block up to size 3, and of larger ones the pivots and the determinant of the last two.
    """
    tree = found.tree
    with quiet_collector():
        nodes = [x for k, b in enumerate(partition.blocks) for x in _block_measures(found, b, partition.pivots.get(k))]
    varying = [x for x in nodes if isinstance(x, Node) and free_symbols([x])]
    inputs: dict[str, Any] = {"q": node_array(list(tree.q), tree.graph)}
    time = [s for s in free_symbols(varying) if s.data.role == "time"]
    if time:
        inputs["t"] = np.array(time[0], dtype=object)
    name = "".join(c if c.isalnum() else "_" for c in tree.mechanism.name)
    return System(f"{name}_measures", inputs=inputs, outputs={"measure": node_array(varying, tree.graph)})


def _block_measures(found: Constraints, block: Any, order: Any) -> list[Any]:
    entries = [[found.rows[r].J.get(c, 0) for c in block.columns] for r in block.rows]
    n = len(entries)
    if n == 1:
        return [entries[0][0]]
    if n <= CLOSED:
        a = np.array(entries, dtype=object)
        return [determinant_2x2(a) if n == 2 else determinant_3x3(a)]
    try:
        steps = lu(np.array(entries, dtype=object), pivots=order).steps
    except ExpressionError:  # a pivot cancels: the program was made with others, which are not known here
        return []
    pivots = [s.pivot for s in steps]
    return [*pivots[:-2], pivots[-2] * pivots[-1]]
