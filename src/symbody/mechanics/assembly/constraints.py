"""ConstraintRow, one scalar constraint, and Constraints, all of the loops: symbols, whose numbers `numeric` gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbody.basics.memory import memory_of
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import ZERO, Vec, cross, times
from symbody.symbolic.expr.arrays import Array, zeros

Turned = tuple[tuple[str, int, int], ...]  # names of rows that are turned over, the signs of their side and sense


@dataclass(frozen=True, eq=False)
class UnitWrench:
    """What a multiplier of 1 does to the second body at the origin of the second frame, in the axes of the rows.

    force (3,) and torque (3,); crossed: two vectors whose product is the torque instead, formed only when it is asked
    """

    force: Vec = ZERO
    torque: Vec = ZERO
    crossed: tuple[Vec, Vec] | None = None

    def __call__(self) -> tuple[Vec, Vec]:
        """(force, torque)"""
        return self.force, self.torque if self.crossed is None else cross(*self.crossed)


@dataclass(frozen=True, eq=False)
class ConstraintRow:
    """One scalar constraint, symbolic over a Tree's Graph.

    name      "<cut>.x", "<cut>.rx", "<cut>.rod", "<coupling>"
    loop      name of the cut or coupling
    h         node, 0 when closed (m, m^2 or rad); None for a velocity (non-holonomic) constraint
    J         velocity index -> node, the entries that are not structurally zero: d/dt h = J qd + ht. For the three
              rotation rows of solid and prismatic cuts, angular velocity in place of d/dt h: equal when closed
    ht        partial derivative of h by the time; of a velocity constraint the part without velocities
    bias      Jdot qd + d/dt ht: second derivative of h at qdd = 0
    switch    name of the input (1 closed, 0 open) of a loop that opens and closes; None: always closed
    unit      of h
    meaning   of the multiplier
    side      node that is positive when the loop is closed, negative when it is closed the wrong way round; or None
    sense     node whose sign h has, beside the angle whose rate J gives, where it is closed so; None: the same
    wrench    of a multiplier of 1 on the second body; None for a coupling, which acts on joints
    """

    name: str
    loop: str
    h: Any
    J: dict[int, Any]
    ht: Any
    bias: Any
    switch: str | None
    unit: str
    meaning: str = ""
    side: Any = None
    wrench: UnitWrench | None = None
    sense: Any = None


@dataclass(frozen=True, eq=False)
class Constraints:
    """Rows in the order of the cuts, then of the couplings. notes: rows that were left out, and why."""

    rows: tuple[ConstraintRow, ...]
    tree: Tree
    notes: tuple[str, ...] = ()

    @property
    def h(self) -> Array:
        """(m,) nodes; 0 for velocity constraints, which have no h."""
        return _vector(0 if r.h is None else r.h for r in self.rows)

    @property
    def J(self) -> Array:
        """(m, nv)"""
        out = zeros(len(self.rows), len(self.tree.qd))
        for i, row in enumerate(self.rows):
            for j, x in row.J.items():
                out[i, j] = x
        return out

    @property
    def ht(self) -> Array:
        return _vector(r.ht for r in self.rows)

    @property
    def bias(self) -> Array:
        return _vector(r.bias for r in self.rows)

    @property
    def pattern(self) -> np.ndarray:
        """(m, nv) bool: entries of J that are not structurally zero."""
        out = np.zeros((len(self.rows), len(self.tree.qd)), dtype=bool)
        for i, row in enumerate(self.rows):
            out[i, list(row.J)] = True
        return out

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(r.name for r in self.rows)

    @property
    def loops(self) -> tuple[str, ...]:
        """Cuts and couplings that rows are left of, in order."""
        return tuple(dict.fromkeys(r.loop for r in self.rows))

    def select(self, rows: Any) -> Constraints:
        """Some of the rows; asked again, the same record, whose functions are made once."""
        chosen = tuple(int(i) for i in rows)
        if chosen == tuple(range(len(self.rows))):
            return self
        return memory_of(self).get("selected", chosen, lambda: replace(self, rows=tuple(self.rows[i] for i in chosen)))

    def facing(self, turned: Turned) -> Constraints:
        """These rows for loops that are turned over by half a turn: h and side have other signs there."""
        if not turned:
            return self
        return memory_of(self).get("facing", turned, lambda: replace(self, rows=_faced(self.rows, turned)))


def _faced(rows: tuple[ConstraintRow, ...], turned: Turned) -> tuple[ConstraintRow, ...]:
    signs = {name: pair for name, *pair in turned}
    out = []
    for row in rows:
        side, sense = signs.get(row.name, (1, 1))
        out.append(
            replace(
                row,
                h=None if row.h is None else times(sense, row.h),
                side=None if row.side is None else times(side, row.side),
                sense=None if row.sense is None else times(sense, row.sense),
            )
        )
    return tuple(out)


def _vector(values: Any) -> Array:
    values = list(values)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
