"""What is certified of the projection that runs begin with and lean on: closed, consistent, with the least change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from symbody.mechanics.verbs.certify.certificate import Check, backward, worst
from symbody.mechanics.verbs.certify.closed_states import CLOSED, ClosedStates
from symbody.reference import closed_search as assembly
from symbody.reference.bodies import NumericModel, coordinates
from symbody.reference.body_dynamics import BodyMotion
from symbody.symbolic.system.system import System

DYNAMIC = 1e-9  # backward error of velocities
OFF = 1e-4  # rad, m and their rates: how far states are moved off the loops
LITTLE = 1e-7  # the same where the tangent alone counts: what is of second order stays below SHARE of it
SHARE = 1e-3


def projection_checks(system: System, point: ClosedStates, refused: list[str], **given: Any) -> Iterator[Check]:
    """States moved off the loops come back; driven joints stay, the others change along J^T alone.

    system: `verbs.loops.projection`; given: its inputs besides
    """
    rng = np.random.default_rng(point.seed + 2)
    model, count = point.model, len(point.q)
    free = [k for k in range(model.nv) if k not in model.driven]
    step, push = rng.uniform(-OFF, OFF, (2, count, model.nv))
    step[:, model.driven] = push[:, model.driven] = 0.0
    off, speed = assembly.advanced(model, point.q, step), point.qd + push
    found, good = point.evaluate_with_status(system, q=off, qd=speed, **given)
    if not good.all():
        refused.append(f"projection: {int(np.sum(~good))} of {count} states are refused by its status")
    if not good.any():
        yield Check("the projection converges at some state", 1.0, 0.0)
        return
    q, qd, speed = np.asarray(found.q)[good], np.asarray(found.qd)[good], speed[good]
    gap = point.opening(point.closures.gap(q, point.t))
    yield Check("projected positions are closed (m, rad)", gap, CLOSED)
    near = worst(np.abs(q - point.q[good]))
    yield Check("projected positions are near those they were moved from (m, rad)", near, 100 * OFF)
    rate = point.closures.rows(BodyMotion(model, q, qd, t=point.t)).hd
    slopes = point.closures.jacobian(q, point.t, qd)
    terms = np.einsum("nij,nj->ni", np.abs(slopes), np.abs(qd)) + 1e-3
    yield Check("projected velocities keep the loops closed", backward(rate, 0.0, terms), DYNAMIC)
    errors = [worst(np.abs((qd - speed)[:, model.driven]))]
    errors += [worst(np.abs(_blind(one, free).T @ v[free])) for one, v in zip(slopes, qd - speed, strict=True)]
    yield Check("projected velocities change the least", worst(np.array(errors)), 1e-8)
    yield from _least(system, point, free, **given)


def _least(system: System, point: ClosedStates, free: list[int], **given: Any) -> Iterator[Check]:
    """Positions a little off the loops come back along J^T: not along motions that keep the loops as they are."""
    rng = np.random.default_rng(point.seed + 3)
    step = np.zeros((len(point.q), point.model.nv))
    step[:, free] = rng.uniform(-LITTLE, LITTLE, (len(point.q), len(free)))
    off = assembly.advanced(point.model, point.q, step)
    found, good = point.evaluate_with_status(system, q=off, qd=point.qd, **given)
    start, end = off[good], np.asarray(found.q)[good]
    slopes = point.closures.jacobian(end, point.t)
    moves = [tangent(point.model, a, b) for a, b in zip(start, end, strict=True)]
    errors = [worst(np.abs(_blind(one, free).T @ v[free])) for one, v in zip(slopes, moves, strict=True)]
    yield Check("projected positions change the least (m, rad)", worst(np.array(errors)), SHARE * LITTLE)


def _blind(slopes: np.ndarray, free: list[int]) -> np.ndarray:
    """Basis of the motions of the free velocities that J (rows, nv) does not see."""
    values = np.linalg.svd(slopes[:, free], compute_uv=False)
    rank = int(np.sum(values > assembly.ZERO * max(values[0], 1e-300))) if len(values) else 0
    return assembly.null_space(slopes[:, free], rank)


def tangent(model: NumericModel, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """(nv,) increments that lead from q `start` (nq,) to a near one, to the second order."""
    rates = coordinates(model, np.tile(start, (model.nv, 1)), np.eye(model.nv)).x1
    return np.asarray(np.linalg.lstsq(rates.T, end - start, rcond=None)[0])
