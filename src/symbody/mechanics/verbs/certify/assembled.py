"""What is certified of `sb.assemble`: positions off the loops are closed by it, measured on the frames of cuts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from symbody.basics.errors import SymbodyError
from symbody.mechanics.verbs.assemble import assemble
from symbody.mechanics.verbs.certify.certificate import Check, worst
from symbody.mechanics.verbs.certify.closed_states import ClosedStates
from symbody.model.record.coordinates import velocity_owners
from symbody.model.record.mechanism import Mechanism
from symbody.reference import closed_search as assembly

RETURNED = 1e-7  # m or rad: how well a position is found that nothing but the loops determines
OFF = 1e-4  # m, rad: how far positions are moved off the loops
FEW = 3  # states: each is a search, and which of them is taken counts little


def assembly_checks(mechanism: Mechanism, point: ClosedStates, refused: list[str]) -> Iterator[Check]:
    """All joints moved: the loops close near by. Dependent joints moved, the others fixed: back to where they were."""
    rng = np.random.default_rng(point.seed + 4)
    model, start = point.model, point.q[:FEW]
    numbers = {n: model.number(s) for n, s in mechanism.parameters.items()}
    step = rng.uniform(-OFF, OFF, (2, len(start), model.nv))
    step[1][:, point.independent] = 0.0
    step[:, :, model.driven] = 0.0
    owners = velocity_owners(mechanism)
    led = {owners[k] for k in point.independent}
    loose = {owner for k, owner in enumerate(owners) if k not in point.independent}
    fixed = [joint.name for joint in mechanism.joints if joint.name in led - loose]
    determined = set(fixed) == led
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
        gap = np.abs(point.closures.gap(q, point.t)).max(initial=0.0)
        yield Check(f"{name}: the loops are closed (m, rad)", float(gap), point.closed)
        if not model.driven:
            yield Check(f"{name}: the position near by (m, rad)", worst(np.abs(q - start)), bound)
