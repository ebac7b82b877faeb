"""The certificate of a Mechanism: every program against the reference, formalisms against each other, and physics."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError, SymbodyError, record_argument, whole_argument
from symbody.mechanics.loops.partition.partition import Partition
from symbody.mechanics.verbs.certify.certificate import (
    Certificate,
    Check,
    backward,
    difference,
    indefiniteness,
    output_of,
)
from symbody.mechanics.verbs.certify.closed_checks import closed_checks
from symbody.mechanics.verbs.certify.derivatives import STEP, tree_derivatives
from symbody.mechanics.verbs.certify.parameter_checks import parameter_checks
from symbody.mechanics.verbs.certify.proofs import Made, closed_proof, proved_checks
from symbody.mechanics.verbs.certify.states import States, states_after
from symbody.mechanics.verbs.certify.tree_checks import AGREE, tree_checks
from symbody.mechanics.verbs.dynamics import forward_dynamics, inverse_dynamics, semi_explicit
from symbody.mechanics.verbs.energy import energy
from symbody.mechanics.verbs.verify_untranscribed import among_themselves, untranscribed
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.parameter_values import given_numbers
from symbody.reference.body_dynamics import BodyMotion
from symbody.symbolic.system.save import fingerprint
from symbody.symbolic.system.system import System

LAGRANGE_LIMIT = 6  # velocities; the oracle differentiates energies, which grows quickly


@declared
def verify(
    mechanism: Mechanism,
    states: int = 20,
    seed: int = 0,
    loops: bool = True,
    parameters: Mapping[str, Any] | None = None,
    partition: Any = "auto",
    at: Any = None,
) -> Certificate:
    """Certify a Mechanism at random states, with random values for parameters that have no default.

    The judge is `symbody.reference`, mechanics written apart from all that it judges. Of a Mechanism with closed loops
    first the opened tree, then (unless loops is False) the closed mechanism, at closed positions that the reference
    finds by itself on several branches.

    parameters  name -> value in place of the default
    partition   of closed loops: names of independent joints, "pivoting", ...; "auto": chosen
    at          positions (nq,) or (k, nq) that are judged besides; those of a closed mechanism are closed first

    Motions that were added by `symbody.extend` are not transcribed in the reference: they are named, and the result
    does not pass.
    """
    record_argument("verify", mechanism, Mechanism, "a Mechanism, as sb.load(name_or_path) gives")
    whole_argument("states", states, 1, owner="verify", error=ModelError)
    whole_argument("seed", seed, 0, owner="verify", error=ModelError)
    values = given_numbers(mechanism, parameters)
    start = time.perf_counter()
    unknown = untranscribed(mechanism)
    if unknown:
        return among_themselves(mechanism, states, seed, unknown)
    point = States(mechanism, states, seed, values, at)
    refused: list[str] = []
    motion = point.motion()
    wanted, terms = motion.efforts(), motion.effort_terms()
    made: list[Made] = []
    plain = inverse_dynamics(mechanism, formalism="newton_euler", loops=False)
    tau = output_of(point.evaluate(plain), "tau")
    smallest = inverse_dynamics(mechanism, loops=False)
    equations = semi_explicit(mechanism, loops=False)
    made += [Made("inverse", "newton_euler", plain), Made("inverse", "auto", smallest, "full")]
    made.append(Made("semi_explicit", "auto", equations, "full"))
    m, c = point.evaluate(equations)[:2]
    closures = len(mechanism.cuts) + len(mechanism.couplings)
    checks = [
        *tree_checks(mechanism, point, motion, refused),
        Check("inverse dynamics by newton_euler equals the reference", backward(tau, wanted, terms), AGREE),
        *_formalisms(mechanism, point, tau, terms, refused, made),
        *_smallest(smallest, point, tau, terms),
        *_mass_and_bias(point, motion, m, c),
        Check("M qdd + c equals inverse dynamics", backward(_times(m, point.qdd) + c, tau, terms), AGREE),
        Check("M is symmetric", difference(m, np.swapaxes(m, -1, -2)), AGREE),
    ]
    # the tree of a closed mechanism may have joints that move nothing with mass: the loops hold them
    if not (closures and loops):
        driven = [k in point.model.driven for k in range(point.model.nv)]
        checks.append(Check("M is positive definite", indefiniteness(m, driven), 0.0))
        checks += _forward(mechanism, point, wanted, refused, made)
    checks += parameter_checks(mechanism, point, motion, refused, not (closures and loops))
    checks.append(
        Check("power of the efforts is the rate of the energy", _power_balance(mechanism, point, plain), 1e-9)
    )
    checks += tree_derivatives(mechanism, point, plain, refused)
    if mechanism.nv:
        checks += proved_checks(mechanism, made, refused, seed)
    else:
        refused.append("equations of motion: no joint moves")
    if closures and loops and mechanism.nv:
        closed, smallest, used = closed_checks(mechanism, states, seed, refused, values, partition, at)
        checks += closed
        checks += closed_proof(mechanism, smallest, used, refused, seed)
    elif closures:
        refused.append(f"{closures} loop closures: the equations are those of the opened tree")
    return Certificate(
        mechanism.name,
        states,
        seed,
        tuple(checks),
        tuple(refused),
        fingerprint(smallest),
        time.perf_counter() - start,
        tuple(values.items()),
        _request_text(partition) if closures and loops else (),
        len(point.given),
    )


def _request_text(partition: Any) -> tuple[str, ...]:
    """What was asked of the partition, in words; nothing for "auto"."""
    if partition == "auto":
        return ()
    if isinstance(partition, (str, Partition)):
        return (partition if isinstance(partition, str) else "a given Partition",)
    return tuple(partition)


def _formalisms(
    mechanism: Mechanism, point: States, tau: np.ndarray, terms: np.ndarray, refused: list[str], made: list[Made]
) -> Iterator[Check]:
    for formalism in ("barycentric", "base", "order_n", "screw", "lagrange"):
        if formalism == "lagrange" and mechanism.nv > LAGRANGE_LIMIT:
            refused.append(f"lagrange: left out above {LAGRANGE_LIMIT} velocities (this model has {mechanism.nv})")
            continue
        try:
            system = inverse_dynamics(mechanism, formalism=formalism, loops=False)
            other = output_of(point.evaluate(system), "tau")
        except SymbodyError as error:
            refused.append(f"{formalism}: {error}")
            continue
        made.append(Made("inverse", formalism, system))
        yield Check(f"inverse dynamics by {formalism} equals newton_euler", backward(other, tau, terms), AGREE)


def _smallest(smallest: System, point: States, tau: np.ndarray, terms: np.ndarray) -> Iterator[Check]:
    interpreted = output_of(point.evaluate(smallest), "tau")
    yield Check("the smallest program equals newton_euler", backward(interpreted, tau, terms), AGREE)
    native = output_of(point.evaluate(smallest, target="native"), "tau")
    yield Check("native code equals the interpreter", backward(native, interpreted, terms), AGREE)


def _mass_and_bias(point: States, motion: BodyMotion, m: np.ndarray, c: np.ndarray) -> Iterator[Check]:
    """M and c of the tree against the reference."""
    own = motion.mass_matrix
    size = np.sqrt(np.einsum("nii->ni", own))
    yield Check("M equals the reference", backward(m, own, size[:, :, None] * size[:, None, :]), AGREE)
    still = point.motion(qdd=0 * point.qdd)
    yield Check("c equals the reference", backward(c, still.efforts(), still.effort_terms()), AGREE)


def _forward(
    mechanism: Mechanism, point: States, tau: np.ndarray, refused: list[str], made: list[Made]
) -> Iterator[Check]:
    """Accelerations of each formalism, given back to the reference: it must find the efforts again."""
    driven: Any = {"qdd_driven": point.qdd[:, point.model.driven]}
    worked = False
    for formalism in ("auto", "base", "order_n"):
        try:
            system = forward_dynamics(mechanism, formalism=formalism, loops=False)
        except SymbodyError as error:
            refused.append(f"forward dynamics by {formalism}: {error}")
            continue
        worked = True
        made.append(Made("forward", formalism, system))
        qdd = output_of(point.evaluate(system, tau=tau, **driven), "qdd")
        # compared as efforts: an ill-conditioned M magnifies rounding in qdd, not in M qdd
        found = point.motion(qdd=qdd)
        distance = backward(found.efforts(), tau, found.effort_terms())
        yield Check(f"forward dynamics by {formalism} inverts the reference", distance, 1e-9)
    if not worked:
        yield Check("some formalism gives forward dynamics", 1.0, 0.0)


def _times(m: np.ndarray, v: np.ndarray) -> np.ndarray:
    product: np.ndarray = np.einsum("...ij,...j->...i", m, v)
    return product


def _power_balance(mechanism: Mechanism, point: States, dynamics: System) -> float:
    """|d/dt (T + V) + dissipated - power| relative to its terms, for the tree with its force elements.

    d/dt by a complex step along the motion, on which force elements keep their inputs and their states change.
    """
    system = energy(mechanism, loops=False)
    result = point.evaluate(dynamics)
    tau = output_of(result, "tau")
    q, qd = point.after(1j * STEP)
    moved = states_after(point, dynamics, result, 1j * STEP)
    there = point.evaluate(system, q=q, qd=qd, tau=tau, **moved)
    here = point.evaluate(system, tau=tau)
    rate = np.imag(there.kinetic + there.potential) / STEP
    size = np.sum(np.abs(tau * point.qd), axis=-1) + np.abs(here.dissipated) + np.abs(here.power) + 1e-3
    return float(np.max(np.abs(rate + here.dissipated - here.power) / size, initial=0.0))
