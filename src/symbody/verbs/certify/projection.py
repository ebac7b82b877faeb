"""What is certified of the projection that runs begin with and lean on: closed, consistent, with the least change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from symbody.reference import assembly
from symbody.reference.dynamics import Motion
from symbody.system.system import System
from symbody.verbs.certify.certificate import Check, backward, worst
from symbody.verbs.certify.closed_states import ClosedStates

CLOSED = 1e-10  # m or rad: what is left open
DYNAMIC = 1e-9  # backward error of velocities
OFF = 1e-4  # rad, m and their rates: how far states are moved off the loops; small enough for the tangent to count


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
    gap = np.abs(point.closures.gap(q, point.t)).max(initial=0.0)
    yield Check("projected positions are closed (m, rad)", float(gap), CLOSED)
    near = worst(np.abs(q - point.q[good]))
    yield Check("projected positions are near those they were moved from (m, rad)", near, 100 * OFF)
    rate = point.closures.rows(Motion(model, q, qd, t=point.t)).hd
    slopes = point.closures.jacobian(q, point.t, qd)
    terms = np.einsum("nij,nj->ni", np.abs(slopes), np.abs(qd)) + 1e-3
    yield Check("projected velocities keep the loops closed", backward(rate, 0.0, terms), DYNAMIC)
    errors, blinds = [worst(np.abs((qd - speed)[:, model.driven]))], []
    for one, change in zip(slopes, qd - speed, strict=True):
        values = np.linalg.svd(one[:, free], compute_uv=False)
        rank = int(np.sum(values > assembly.ZERO * max(values[0], 1e-300))) if len(values) else 0
        blind = assembly.null_space(one[:, free], rank)
        errors.append(worst(np.abs(blind.T @ change[free])))
        blinds.append(blind)
    yield Check("projected velocities change the least", worst(np.array(errors)), 1e-8)
    if not model.quaternions:  # then the coordinates themselves are the tangent ones
        moves = [worst(np.abs(b.T @ move[free])) for b, move in zip(blinds, q - off[good], strict=True)]
        yield Check("projected positions change the least (m, rad)", worst(np.array(moves)), 0.3 * OFF)
