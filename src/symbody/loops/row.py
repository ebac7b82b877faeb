"""Row: one scalar constraint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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
    wrench    gives (force, torque) on the second body at the origin of the second frame for a multiplier of 1, in the
              axes of the rows; None for a coupling, which acts on joints
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
    wrench: Callable[[], tuple[Any, Any]] | None = None
