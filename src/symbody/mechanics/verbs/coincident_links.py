"""Links whose two points coincide at a position: the line between them has no direction, and the force no value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.mechanics.memoised.kernels import kernel_of
from symbody.mechanics.verbs.kinematics import kinematics
from symbody.model.library.force_elements import FORCE_ELEMENTS
from symbody.model.record.mechanism import WORLD, Force, Mechanism
from symbody.symbolic.system.names import identifier

UNKNOWN = "A law may have no value here"  # said where no link is to blame


def coincident_links(
    mech: Mechanism, q: np.ndarray, parameters: Mapping[str, float] | None = None, time: float = 0.0
) -> str | None:
    """A sentence without its full stop: which links have both points at one place at q (nq,); None if no link has."""
    found = [f for f in mech.forces if len(f.points) == 2 and _is_link(f)]
    names = sorted({_name(p) for f in found for p in f.points} - {WORLD})
    if not names:
        return None
    system = kinematics(mech, names, quantities="p", loops=False)
    given: dict[str, Any] = {n: v for n, v in (("q", q), ("t", time)) if n in system.inputs}
    numbers = {n: v for n, v in (parameters or {}).items() if n in system.parameters}
    places = kernel_of(system, "python").call_named(**given, parameters=numbers or None)
    at = {n: places[f"p_{identifier(n)}"] for n in names} | {WORLD: np.zeros(3)}
    same = [f for f in found if not np.any(at[_name(f.points[0])] - at[_name(f.points[1])])]
    if not same:
        return None
    told = [f"{f.name!r} between {_name(f.points[0])!r} and {_name(f.points[1])!r}" for f in same]
    return f"The points of the link {', and of '.join(told)} coincide here"


def _is_link(force: Force) -> bool:
    return FORCE_ELEMENTS[force.kind].place_of(force.points, force.values) == "link"


def _name(point: tuple[str, str]) -> str:
    return f"{point[0]}.{point[1]}" if point[1] else point[0]
