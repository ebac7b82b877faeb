"""Singular positions of a mechanism: constraints that depend on each other there, and elsewhere do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from symbody.loops.assembly import closed_samples
from symbody.loops.conditioning import NEAR, SINGULAR, UNRESOLVED, Conditioning
from symbody.loops.constraints import Constraints
from symbody.loops.numeric import motions
from symbody.loops.redundancy import redundant_rows

MOVED = 1e-3  # rad, m: positions that are nearer are the same one


def say_singular(
    found: Constraints, q: np.ndarray, parameters: Mapping[str, float] | None = None, t: float = 0.0
) -> str:
    """Which loops and joints are singular at the closed position q (nq,), in words; "" where the mechanism is regular.

    Constraints that are independent at q are regular. Else the rank of J at other closed positions tells whether some
    of them are redundant everywhere, or dependent at q only. All loops of `found` are closed, switched ones too.
    """
    found = replace(found, rows=tuple(replace(row, switch=None) for row in found.rows))
    conditioning = Conditioning(found, len(found.rows), parameters)
    if conditioning.of_position(q, t) > UNRESOLVED:
        return ""
    J = conditioning.jacobian(q, t)
    samples = closed_samples(found, q=q, parameters=parameters, time=t)
    if _is_isolated(J, _moved(found, samples - q)):
        kept = list(range(len(J)))
    else:
        redundant = set(redundant_rows(np.array([conditioning.jacobian(x, t) for x in samples])))
        kept = [i for i in range(len(J)) if i not in redundant]
    conditioning.rank = min(len(kept), int(J.any(axis=0).sum()))
    return "" if conditioning.of_position(q, t) > UNRESOLVED else conditioning.say_meeting(J, kept)


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


def _moved(found: Constraints, difference: np.ndarray) -> float:
    """The largest of the differences (k, nq) of coordinates, whole turns of revolute joints left aside."""
    out = difference.copy()
    for letter, iq, _, _ in motions(found.tree.mechanism):
        if letter == "R":
            out[:, iq] = np.remainder(out[:, iq] + np.pi, 2 * np.pi) - np.pi
    return float(np.abs(out).max(initial=0.0))


def _is_isolated(J: np.ndarray, moved: float) -> bool:
    """Whether J leaves velocities free at q, but no other closed position is near: bars that are just long enough."""
    freedom = J.any(axis=0).sum() - int((np.linalg.svd(J, compute_uv=False) > NEAR).sum())
    return bool(freedom > 0 and moved < MOVED)
