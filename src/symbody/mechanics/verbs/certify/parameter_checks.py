"""What is certified of parameters: the regressor column by column, and programs to which they are inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from symbody.basics.errors import SymbodyError
from symbody.mechanics.verbs.certify.certificate import Check, backward, output_of, worst
from symbody.mechanics.verbs.certify.states import States
from symbody.mechanics.verbs.certify.tree_checks import AGREE
from symbody.mechanics.verbs.dynamics import forward_dynamics, inverse_dynamics
from symbody.mechanics.verbs.identifiable_parameters import parameter_values, regressor
from symbody.model.record.mechanism import Mechanism
from symbody.reference.body_dynamics import BodyMotion
from symbody.reference.linear_parameters import effort_columns, linear_parameters, parameter_count

MANY_ENTRIES = 500  # of the regressor: of a larger one some columns are judged
FEW_COLUMNS = 20
FEW_STATES = 3  # at which columns are compared; each is a motion of its own for the reference


def parameter_checks(
    mechanism: Mechanism, point: States, motion: BodyMotion, refused: list[str], forward: bool
) -> Iterator[Check]:
    """forward: whether forward dynamics of the tree exists."""
    if not point.model.nv:
        return
    yield from _regressor(mechanism, point, refused)
    yield from _runtime(mechanism, point, motion, refused, forward)


def _regressor(mechanism: Mechanism, point: States, refused: list[str]) -> Iterator[Check]:
    count = parameter_count(point.model)
    chosen = list(range(count))
    if count * point.model.nv > MANY_ENTRIES:
        chosen = sorted(
            np.random.default_rng(point.seed).choice(count, min(count, FEW_COLUMNS), replace=False).tolist()
        )
        refused.append(f"regressor: {len(chosen)} of its {count} columns are judged")
    few = {name: getattr(point, name)[:FEW_STATES] for name in ("q", "qd", "qdd")}
    try:
        system = regressor(mechanism, columns=chosen)
    except SymbodyError as error:
        refused.append(f"regressor: {error}")
        return
    found = point.evaluate(system, **few)
    y, wanted = output_of(found, "Y"), effort_columns(point.motion(**few), chosen)
    # a column by its own largest entry; one that hardly acts by the largest of all
    size = np.max(np.abs(wanted[0]), axis=1, keepdims=True)
    size = np.maximum(size, 1e-2 * np.max(size, axis=-1, keepdims=True, initial=0.0))
    yield Check("columns of the regressor equal the reference", backward(y, wanted[0], size), AGREE)
    if mechanism.forces:
        rest = output_of(found, "tau0")
        terms = point.motion(**few).effort_terms()
        yield Check("efforts of force elements beside it equal the reference", backward(rest, wanted[1], terms), AGREE)
    values = parameter_values(mechanism, point.model.number.given)
    terms = linear_parameters(point.model)
    largest = max(float(np.max(np.abs(terms), initial=0.0)), 1e-300)  # a body may have no inertia at all
    distance = worst(np.abs(values - terms) / np.maximum(np.abs(terms), 1e-3 * largest))
    yield Check("linear parameters equal the reference", distance, AGREE)


def _runtime(
    mechanism: Mechanism, point: States, motion: BodyMotion, refused: list[str], forward: bool
) -> Iterator[Check]:
    """Programs whose parameters are inputs of every call."""
    given: dict[str, Any] = dict(point.model.number.given)
    wanted, terms = motion.efforts(), motion.effort_terms()
    try:
        system = inverse_dynamics(mechanism, formalism="newton_euler", parameters="runtime", loops=False)
    except SymbodyError as error:
        refused.append(f"parameters as inputs: {error}")
        return
    tau = output_of(point.evaluate(system, **given), "tau")
    yield Check("inverse dynamics with parameters as inputs equals the reference", backward(tau, wanted, terms), AGREE)
    if not forward:
        return
    given |= {"tau": wanted, "qdd_driven": point.qdd[:, point.model.driven]}
    try:
        system = forward_dynamics(mechanism, formalism="order_n", parameters="runtime", loops=False)
    except SymbodyError as error:
        refused.append(f"forward dynamics with parameters as inputs: {error}")
        return
    qdd = output_of(point.evaluate(system, **given), "qdd")
    # compared as efforts: an ill-conditioned M magnifies rounding in qdd, not in M qdd
    moved = point.motion(qdd=qdd)
    terms = np.maximum(terms, moved.effort_terms())
    yield Check(
        "forward dynamics with parameters as inputs inverts the reference",
        backward(moved.efforts(), wanted, terms),
        1e-9,
    )
