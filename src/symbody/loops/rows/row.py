"""Row: one scalar constraint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symbody.formalisms import vec3 as t3
from symbody.formalisms.vec3 import Vec


@dataclass(frozen=True, eq=False)
class UnitWrench:
    """What a multiplier of 1 does to the second body at the origin of the second frame, in the axes of the rows.

    force (3,) and torque (3,); crossed: two vectors whose product is the torque instead, formed only when it is asked
    """

    force: Vec = t3.ZERO
    torque: Vec = t3.ZERO
    crossed: tuple[Vec, Vec] | None = None

    def __call__(self) -> tuple[Vec, Vec]:
        """(force, torque)"""
        return self.force, self.torque if self.crossed is None else t3.cross(*self.crossed)


@dataclass(frozen=True, eq=False)
class Row:
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
