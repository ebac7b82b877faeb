"""What is certified of `sb.assemble`: positions off the loops are closed by it, measured on the frames of cuts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from symbody.basics.errors import SymbodyError
from symbody.mechanics.verbs.assemble import assemble
from symbody.mechanics.verbs.certify.certificate import Check, worst
from symbody.mechanics.verbs.certify.closed_states import CLOSED, ClosedStates
from symbody.model.record.coordinates import velocity_owners
from symbody.model.record.mechanism import Mechanism
from symbody.reference import closed_search as assembly

RETURNED = 1e-7  # m or rad: how well a position is found that nothing but the loops determines
OFF = 1e-4  # rad, and lengths of the mechanism: how far positions are moved off the loops
FEW = 3  # states: each is a search, and which of them is taken counts little


def assembly_checks(mechanism: Mechanism, point: ClosedStates, refused: list[str]) -> Iterator[Check]:
    """All joints moved: the loops close near by. Dependent joints moved, the others fixed: back to where they were."""
    rng = np.random.default_rng(point.seed + 4)
    model, start = point.model, point.q[:FEW]
    numbers = {n: model.number(s) for n, s in mechanism.parameters.items()}
    fixed, loose = _led(mechanism, point, start)
    step = rng.uniform(-OFF, OFF, (2, len(start), model.nv)) * assembly.scales(model)
    step[1][:, [k for k in range(model.nv) if k not in loose]] = 0.0
    step[:, :, model.driven] = 0.0
    determined = _rank(point, start, loose) == len(loose)
    for what, moved, kept, bound in (
        ("all joints", step[0], [], 100 * OFF),
        ("dependent joints", step[1], fixed, RETURNED if determined else 100 * OFF),
    ):
        if kept and model.driven:
            continue  # driven joints stand where their laws put them, and fixed ones may not fit to that
        name = f"assembly from {what} moved by {OFF:g}"
        try:
            q = np.array([assemble(mechanism, q, numbers, kept) for q in assembly.advanced(model, start, moved)])
        except SymbodyError as error:
            refused.append(f"{name}: {error}")
            continue
        gap = point.opening(point.closures.gap(q, point.t))
        yield Check(f"{name}: the loops are closed (m, rad)", gap, CLOSED)
        if not model.driven:
            yield Check(f"{name}: the position near by (m, rad)", worst(np.abs(q - start)), bound)


def _led(mechanism: Mechanism, point: ClosedStates, start: np.ndarray) -> tuple[list[str], list[int]]:
    """(joints that lead, velocities of the others): independent ones, and those that no loop holds in position.

    What binds velocities alone, as rolling does, makes velocities dependent whose positions nothing determines.
    """
    owners = velocity_owners(mechanism)
    others = {owner for k, owner in enumerate(owners) if k not in point.independent}

    def columns() -> list[int]:
        return [k for k, owner in enumerate(owners) if owner in others]

    if point.closures.velocities:
        for owner in sorted(others):
            left = [k for k in columns() if owners[k] != owner]
            if _rank(point, start, left) == _rank(point, start, columns()):
                others.remove(owner)
    return [joint.name for joint in mechanism.joints if joint.name in {*owners} - others], columns()


def _rank(point: ClosedStates, q: np.ndarray, columns: list[int]) -> int:
    """Rank of the constraints on positions by some velocities, the least at several q (n, nq)."""
    if not columns:
        return 0
    slopes = point.closures.jacobian(q, point.t)[:, : len(point.closures.owners)]
    slopes = (slopes * assembly.scales(point.model))[:, :, columns]
    values = np.linalg.svd(slopes, compute_uv=False)
    if not values.shape[1]:
        return 0
    return int(np.sum(values > assembly.ZERO * np.maximum(values[:, :1], 1e-300), axis=-1).min())
