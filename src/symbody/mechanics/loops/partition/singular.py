"""Singular positions of a mechanism: constraints that depend on each other there, and elsewhere do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from symbody.mechanics.assembly.conditioning import SINGULAR, UNRESOLVED, Conditioning
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.assembly.redundancy import redundant_rows
from symbody.mechanics.loops.partition.branches import branch_of


def say_singular(
    found: Constraints, q: np.ndarray, parameters: Mapping[str, float] | None = None, t: float = 0.0
) -> str:
    """Which loops and joints are singular at the closed position q (nq,), in words; "" where the mechanism is regular.

    Constraints that are independent at q are regular. Else the branch of q tells whether some of them are redundant
    all along it, or dependent at q only. All loops of `found` are closed, switched ones too.
    """
    found = replace(found, rows=tuple(replace(row, switch=None) for row in found.rows))
    conditioning = Conditioning(found, len(found.rows), parameters)
    if conditioning.of_position(q, t) > UNRESOLVED:  # as `is_regular`
        return ""
    J = conditioning.jacobian(q, t)
    branch = branch_of(found, q, parameters, time=t, others=False)
    kept = [i for i in range(len(J)) if i not in set(branch.redundant)]
    conditioning.rank = min(len(kept), int(J.any(axis=0).sum()))
    if not branch.singular and conditioning.of_position(q, t) > UNRESOLVED:
        return ""
    return conditioning.say_meeting(J, kept)


def say_unsolved(
    found: Constraints,
    independent: Sequence[int],
    q: np.ndarray,
    parameters: Mapping[str, float] | None = None,
    t: float = 0.0,
) -> str:
    """Which loops cannot be solved for which joints from the independent velocities at the regular position q.

    "" where they can, and where too many or too few velocities are named. Driven joints count as known.
    """
    conditioning = Conditioning(found, len(found.rows), parameters)
    dependent = [k for k in conditioning.free if k not in set(independent)]
    J = conditioning.jacobian(q, t)
    redundant = set(redundant_rows(J[None]))
    rows = [i for i in range(len(J)) if i not in redundant]
    conditioning.rank = len(rows)
    if len(rows) != len(dependent) or conditioning.of_mechanism(J[:, dependent]) > SINGULAR:
        return ""
    return conditioning.say_unsolved(J, rows, dependent)
