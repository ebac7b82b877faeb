"""What is certified of derivatives: those that programs contain against differences of values, by complex steps.

A complex step along a direction, Im f(x + i h v) / h with h = 1e-30, has no truncation error and knows nothing of the
rules by which derivatives were generated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from symbody.basics.errors import SymbodyError
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.certify.certificate import Check, difference, output_of
from symbody.mechanics.verbs.certify.states import States
from symbody.mechanics.verbs.kinematics import kinematics
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.system.differentiate import jacobian_system, jvp_system
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System

STEP = 1e-30
WHOLE = 6  # coordinates up to which a Jacobian is made as a whole; above it one direction a state
DERIVED = 1e-9


def tree_derivatives(mechanism: Mechanism, point: States, dynamics: System, refused: list[str]) -> Iterator[Check]:
    """Checks of efforts by q and qd, and of the pose of the last body; dynamics: inverse dynamics of the tree."""
    if not mechanism.nv:
        return
    for variable in ("q", "qd"):
        text = f"derivatives of efforts by {variable} equal differences"
        try:
            yield Check(text, difference(*_both(point, dynamics, "tau", variable)), DERIVED)
        except SymbodyError as error:
            refused.append(f"derivatives of efforts by {variable}: {error}")
    yield from _frame(mechanism, point)


def closed_derivatives(
    point: States, smallest: System, given: Mapping[str, Any], refused: list[str]
) -> Iterator[Check]:
    """Check of accelerations by q through the loops: the theorem of implicit functions against closing them again."""
    what = "derivatives of accelerations through the loops"
    try:
        found, wanted = _both(point, smallest, "qdd", "q", **given)
    except SymbodyError as error:
        refused.append(f"{what}: {error}")
        return
    there = np.isfinite(found).all(axis=-1)
    if there.any() and not there.all():
        found, wanted = found[there], wanted[there]
        refused.append(f"{what}: none at {np.sum(~there)} of {len(there)} states, where a divisor of theirs vanishes")
    yield Check(f"{what} equal differences", difference(found, wanted), 1e-7)


def _both(point: States, system: System, output: str, variable: str, **given: Any) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of an output along random directions of an input, one a state: as generated, and complex steps."""
    at = np.asarray(given.get(variable, getattr(point, variable)))
    size = at.shape[-1]
    rng = np.random.default_rng(point.seed)
    directions = rng.uniform(-1, 1, at.shape)
    if size <= WHOLE:
        matrix = np.asarray(point.evaluate(jacobian_system(system, output, variable), **given))
        found = np.einsum("...ij,...j->...i", matrix, directions)
    else:
        given[f"v_{variable}"] = directions
        found = np.asarray(point.evaluate(jvp_system(system, output, variable), **given))
    given[variable] = at + 1j * STEP * directions
    value = output_of(point.evaluate(system, **given), output)
    return found, np.imag(value) / STEP


def _frame(mechanism: Mechanism, point: States) -> Iterator[Check]:
    """Checks of the last body of the longest chain: J against differences of its pose, Jd against those of J."""
    tree = derived_of(mechanism).tree()
    name = max((link for link in tree.links if link.body), key=lambda link: len(tree.ancestors(link.index))).body
    system = kinematics(mechanism, [name], quantities=("R", "p", "J", "Jd"), scheme="progressive", loops=False)
    own = {key: f"{key}_{identifier(name)}" for key in ("R", "p", "J", "Jd")}
    velocity = np.random.default_rng(point.seed).uniform(-1, 1, point.qd.shape)
    # along random velocities, one for each state: all columns of J take part
    here = point.evaluate(system)
    there = point.evaluate(system, q=point.q + 1j * STEP * point.rates(velocity))
    turned = np.imag(getattr(there, own["R"])) / STEP @ np.swapaxes(getattr(here, own["R"]), -1, -2)
    omega = np.stack([turned[..., 2, 1], turned[..., 0, 2], turned[..., 1, 0]], axis=-1)
    twist = np.concatenate([omega, np.imag(getattr(there, own["p"])) / STEP], axis=-1)
    jacobian = getattr(here, own["J"])
    found = np.einsum("...ij,...j->...i", jacobian, velocity)
    yield Check(f"the Jacobian of {name} equals differences of its pose", difference(found, twist), DERIVED)
    q, _ = point.after(1j * STEP)
    rate = np.imag(getattr(point.evaluate(system, q=q), own["J"])) / STEP
    yield Check("its rate equals differences of the Jacobian", difference(getattr(here, own["Jd"]), rate), DERIVED)
