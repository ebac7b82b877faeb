"""sb.assemble: coordinates that close the loops of a Mechanism."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.mechanics.assembly.assembly import assemble_constraints
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.parameter_values import given_numbers


@declared
def assemble(
    mechanism: Mechanism,
    q: Any = None,
    parameters: Mapping[str, float] | None = None,
    fixed: Collection[str] = (),
    tolerance: float | None = None,
    seed: int = 0,
    starts: int = 40,
    time: float = 0.0,
    loops: Collection[str] | None = None,
) -> np.ndarray:
    """(nq,) closed coordinates near the guess q (zero and unit quaternions if it is not given).

    q: (nq,) numbers, or {joint: numbers}; joints that it names keep their values where that is possible. fixed: joints
    that keep the coordinates of the guess in any case; driven joints stand where their law says at `time`. loops:
    cuts and couplings to be closed; by default those that are not switched. tolerance: of gaps, m and rad; by default
    1e-12 rad, and of 1 m, 1 mm, 1 um, 1 km ..., as suits the lengths of the mechanism.
    SolveError names what cannot close.
    """
    found = derived_of(mechanism).constraints()
    return assemble_constraints(
        found, q, given_numbers(mechanism, parameters), fixed, tolerance, seed, starts, time, loops
    )
