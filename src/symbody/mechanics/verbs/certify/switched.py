"""What is certified of loops that open and close: one program, judged with its switches open and closed.

For every setting of the switches the reference has a mechanism of its own, in which the closed loops are permanent and
the open ones are taken away. The program of the switched mechanism, given the switches, must move like it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from symbody.basics.errors import SymbodyError
from symbody.mechanics.assembly.constraints import ConstraintRow
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.certify.certificate import Check, backward, output_of, worst
from symbody.mechanics.verbs.certify.closed_states import CLOSED, ClosedStates
from symbody.mechanics.verbs.certify.loop_checks import DYNAMIC, accelerations_error, multiplier_checks, reaction_checks
from symbody.mechanics.verbs.certify.projection_checks import projection_checks
from symbody.mechanics.verbs.closed_dynamics import impact, projection
from symbody.mechanics.verbs.dynamics import forward_dynamics
from symbody.mechanics.verbs.reactions import cut_output, reactions
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.system.system import System

ALL = 3  # switched loops up to which every setting is judged
AUGMENTED = 1e-8  # backward error of accelerations with multipliers; rows that yield are 1e-10 of it


def switched_checks(
    mechanism: Mechanism,
    smallest: System,
    states: int,
    seed: int,
    refused: list[str],
    values: Mapping[str, float] | None = None,
    at: Any = None,
) -> Iterator[Check]:
    """Checks of the programs of a Mechanism with switched loops, for settings of its switches.

    smallest: its forward dynamics; at: positions of the user, judged where all loops are closed
    """
    pieces: tuple[Any, ...] = (*mechanism.cuts, *mechanism.couplings)
    names = [p.name for p in pieces if p.switched]
    with_lam = forward_dynamics(mechanism, formalism="newton_euler", lam=True)
    wrenches = reactions(mechanism, [j.name for j in mechanism.joints])
    programs = (smallest, with_lam, wrenches, projection(mechanism), impact(mechanism))
    for closed in settings(names):
        held = mechanism.with_loops(**{n: n in closed for n in names})
        words = f"{', '.join(map(repr, closed))} closed" if closed else "all switched loops open"
        where = at if len(closed) == len(names) else None
        told: list[str] = []
        try:
            point = ClosedStates(held, states, seed, values, "auto", where)
        except SymbodyError as error:  # they do not close at the same time, or nothing moves then
            refused.append(f"{words}: {error}")
            continue
        if not len(point.q):
            refused.append(f"{words}: no regular closed position was found")
            continue
        try:
            for check in _judged(mechanism, held, point, programs, closed, names, told):
                yield replace(check, text=f"{words}: {check.text}")
        except SymbodyError as error:
            yield Check(f"{words}: the programs answer at closed states of the reference: {error}", 1.0, 0.0)
        refused += [f"{words}: {text}" for text in told]
    if len(names) > ALL:
        refused.append(f"{len(names)} switched loops: none, one, all but one and all of them were closed, no others")


def settings(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Names of the loops that are closed: all subsets of a few; of more none, each one, all but one, and all."""
    n = len(names)
    sizes = range(n + 1) if n <= ALL else (0, 1, n - 1, n)
    return [closed for k in sizes for closed in combinations(names, k)]


def _judged(
    mechanism: Mechanism,
    held: Mechanism,
    point: ClosedStates,
    programs: Sequence[System],
    closed: Sequence[str],
    names: Sequence[str],
    refused: list[str],
) -> Iterator[Check]:
    """The programs with these loops closed, at states of the reference; held: the Mechanism that it knows."""
    smallest, with_lam, wrenches, project, meeting = programs
    switches: dict[str, Any] = {f"s_{n}": float(n in closed) for n in names}
    given: dict[str, Any] = {"tau": point.tau, "qdd_driven": point.qdd[:, point.model.driven], **switches}
    for target in ("python", "native"):
        qdd = output_of(point.evaluate(smallest, target, **given), "qdd")
        error = accelerations_error(point, qdd, given)
        yield Check(f"accelerations ({target}) equal the reference", error, AUGMENTED)
    found = point.evaluate(with_lam, **given)
    yield Check(
        "accelerations by newton_euler equal the reference",
        accelerations_error(point, np.asarray(found.qdd), given),
        AUGMENTED,
    )
    rows = derived_of(mechanism).constraints().rows
    is_closed = np.array([row.switch is None or row.loop in closed for row in rows])
    lam = np.asarray(found.lam)
    if not is_closed.all():
        yield Check("open loops carry nothing", worst(np.abs(lam[:, ~is_closed])), 0.0)
    kept = _Multipliers(np.asarray(found.qdd), lam[:, is_closed])
    yield from multiplier_checks(held, point, kept, "switched", given)
    yield from reaction_checks(held, point, wrenches, given, np.asarray(found.qdd))
    joints, known = [j.name for j in mechanism.joints], point.evaluate(wrenches, **given)
    away = [cut.name for cut in mechanism.cuts if cut.switched and cut.name not in closed]
    if away:
        most = [worst(np.abs(output_of(known, cut_output(name, joints)))) for name in away]
        yield Check("open cuts exert nothing", max(most), 0.0)
    yield from projection_checks(project, point, refused, **switches)
    yield from _impact(point, point.evaluate(meeting, **switches), rows, is_closed)


class _Multipliers:
    """Accelerations, and multipliers of the loops that are closed."""

    def __init__(self, qdd: np.ndarray, lam: np.ndarray) -> None:
        self.qdd, self.lam = qdd, lam


def _impact(point: ClosedStates, found: Any, rows: Sequence[ConstraintRow], is_closed: np.ndarray) -> Iterator[Check]:
    """What the closing of loops follows from: gaps, J, which rows are closed, and M of the tree."""
    count = len(point.q)
    gap = np.broadcast_to(np.asarray(found.gap), (count, len(is_closed)))[:, is_closed]
    open_by = point.opening_of([row for row, closed in zip(rows, is_closed, strict=True) if closed], gap)
    yield Check("closing: closed loops have no gap (m, rad)", open_by, CLOSED)
    s = np.broadcast_to(np.asarray(found.s), (count, len(is_closed)))
    yield Check("closing: the rows that are closed are", worst(np.abs(s - is_closed)), 0.0)
    slopes = np.broadcast_to(np.asarray(found.J), (count, len(is_closed), point.model.nv))[:, is_closed]
    ht = np.broadcast_to(np.asarray(found.ht), (count, len(is_closed)))[:, is_closed]
    rate = np.einsum("nij,nj->ni", slopes, point.qd) + ht
    terms = np.einsum("nij,nj->ni", np.abs(slopes), np.abs(point.qd)) + np.abs(ht) + 1e-3
    yield Check("closing: J qd + ht vanishes where loops stay closed", backward(rate, 0.0, terms), DYNAMIC)
    mass = point.motion().mass_matrix
    size = np.sqrt(np.abs(np.einsum("nii->ni", mass)))
    error = backward(np.broadcast_to(np.asarray(found.M), mass.shape), mass, size[:, :, None] * size[:, None, :])
    yield Check("closing: M equals the reference", error, DYNAMIC)
