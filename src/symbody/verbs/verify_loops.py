"""What is certified of closed loops: independent formulations against each other at closed states, and physics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from symbody.errors import SymbodyError
from symbody.formalisms.explicit import driven_velocities
from symbody.formalisms.tree import build_tree
from symbody.loops.assembly import closed_samples
from symbody.loops.constraints import Constraints, constraints
from symbody.loops.inverse import actuated_velocities
from symbody.loops.nullspace import driven_accelerations
from symbody.loops.numeric import Numeric
from symbody.loops.partition import Partition
from symbody.model.mechanism import Mechanism
from symbody.system.system import System
from symbody.verbs.certificate import Check, difference, output_of
from symbody.verbs.closed_problem import Chosen
from symbody.verbs.dynamics import forward_dynamics, inverse_dynamics, semi_explicit
from symbody.verbs.energy import energy
from symbody.verbs.loops import closure, partition_of
from symbody.verbs.states import States
from symbody.verbs.verify import AGREE, indefiniteness, states_after
from symbody.verbs.verify_derivatives import STEP, closed_derivatives

CLOSED = 1e-10  # m or rad: what is left open
WORST_CONDITION = 100.0  # of J_v at the states that are compared, where there are such


class ClosedStates(States):
    """Closed positions and velocities, and efforts on the actuated joints. qdd: random on the independent joints."""

    def __init__(
        self,
        mechanism: Mechanism,
        count: int,
        seed: int = 0,
        values: Mapping[str, float] | None = None,
        partition: Chosen = "auto",
    ) -> None:
        super().__init__(mechanism, count, seed, values)
        self.partition = partition
        rng = np.random.default_rng(seed)
        found = constraints(build_tree(mechanism))
        system = closure(mechanism, partition)
        self.numeric = Numeric(found, self._named(found))
        samples = self._away_from_locks(found, closed_samples(found, count, None, self._named(found), seed))
        start = samples[rng.integers(len(samples), size=count)]
        self.q, self.qd = self.evaluate(system, q=start, qd=self.qd, t=0.0)
        self.tau = np.zeros((count, mechanism.nv))
        actuated = actuated_velocities(mechanism)
        self.tau[:, actuated] = rng.uniform(-1, 1, (count, len(actuated)))

    def _away_from_locks(self, found: Constraints, samples: np.ndarray) -> np.ndarray:
        """Positions at which J_v is regular enough for digits to be compared."""
        chosen = self.partition
        partition = chosen if isinstance(chosen, Partition) else partition_of(self.mechanism, found, chosen)
        if not partition.blocks:
            return samples
        jacobian = self.numeric.J(samples)[:, list(partition.rows)][:, :, list(partition.dependent)]
        condition = np.linalg.cond(jacobian)
        return samples[condition <= max(WORST_CONDITION, float(condition.min()))]

    def _named(self, found: Constraints) -> dict[str, float]:
        """Numbers of all parameters of the loops: those that every System is given."""
        known = {n: self.values.get(n, s.data.default) for n, s in found.tree.mechanism.parameters.items()}
        return {n: float(self._number(n, (), 1.0)) if v is None else float(v) for n, v in known.items()}


def closed_checks(
    mechanism: Mechanism,
    states: int,
    seed: int,
    refused: list[str],
    values: Mapping[str, float] | None = None,
    partition: Chosen = "auto",
) -> tuple[list[Check], System]:
    """Checks of the closed mechanism, and the smallest program for its forward dynamics."""
    smallest = forward_dynamics(mechanism, partition=partition)
    if any(row.switch is not None for row in constraints(build_tree(mechanism)).rows):
        refused.append("loops that open and close: only the tree is certified")
        return [], smallest
    point = ClosedStates(mechanism, states, seed, values, partition)
    return list(_checks(mechanism, point, smallest, refused)), smallest


def _checks(mechanism: Mechanism, point: ClosedStates, smallest: System, refused: list[str]) -> Iterator[Check]:
    numeric = point.numeric
    driven = driven_velocities(build_tree(mechanism))
    given: dict[str, Any] = {"tau": point.tau, "t": 0.0, "qdd_driven": point.qdd[:, driven]}

    def accelerations(system: System, target: str = "python") -> np.ndarray:
        return output_of(point.evaluate(system, target, **given), "qdd")

    qdd = accelerations(smallest)
    jacobian, bias = numeric.J(point.q), numeric.bias(point.q, point.qd)
    gap = np.abs(numeric.h(point.q)).max(initial=0.0)
    yield Check("the loops are closed (m, rad)", float(gap), CLOSED)
    rate = np.abs(_times(jacobian, point.qd) + numeric.ht(point.q)).max(initial=0.0)
    yield Check("velocities keep them closed (m/s, rad/s)", float(rate), CLOSED)
    # relative to the terms, which may be far larger than their sum
    terms = _times(np.abs(jacobian), np.abs(qdd)) + np.abs(bias)
    left = np.abs(_times(jacobian, qdd) + bias) / np.maximum(terms.max(axis=-1, keepdims=True, initial=0.0), 1e-3)
    yield Check("accelerations keep them closed", float(left.max(initial=0.0)), 1e-9)
    native = accelerations(smallest, "native")
    yield Check("closed loops: native code equals the interpreter", difference(native, qdd), AGREE)
    way: dict[str, Any] = {"partition": point.partition}
    plain = accelerations(forward_dynamics(mechanism, formalism="newton_euler", **way))
    yield Check("closed loops: the smallest program equals newton_euler", difference(qdd, plain), 1e-9)
    try:
        full = accelerations(forward_dynamics(mechanism, formulation="augmented"))
        yield Check("reduced equations equal the augmented ones", difference(qdd, full), 1e-8)
    except SymbodyError as error:
        refused.append(f"augmented equations: {error}")
    m, c = point.evaluate(semi_explicit(mechanism, formalism="newton_euler", loops=False), t=0.0)[:2]
    rows = zip(m, c, point.tau, jacobian, bias, point.qdd, strict=True)
    other = np.array([driven_accelerations(m1, c1, f, j, b, driven, qdd1) for m1, c1, f, j, b, qdd1 in rows])
    yield Check("reduced equations equal those in the null space of J", difference(qdd, other), 1e-8)
    reduced = point.evaluate(semi_explicit(mechanism, formalism="newton_euler", **way), t=0.0)
    yield Check("the reduced M is positive definite", indefiniteness(reduced.M), 0.0)
    yield from _inverted(mechanism, point, given, qdd, refused)
    yield from closed_derivatives(point, smallest, given, refused)
    if driven or np.any(numeric.ht(point.q)):
        refused.append("closed loops: driven joints or laws of time bring power, hence no power balance")
    else:
        yield Check("closed loops do no work", _power_balance(mechanism, point, smallest, given, qdd), 1e-9)


def _inverted(
    mechanism: Mechanism, point: ClosedStates, given: dict[str, Any], qdd: np.ndarray, refused: list[str]
) -> Iterator[Check]:
    """Efforts for the accelerations found give these accelerations again."""
    system = inverse_dynamics(mechanism, partition=point.partition)
    if "tau" not in system.outputs:
        refused.append("closed loops: fewer actuators than degrees of freedom, hence no efforts to compare")
        return
    tau = output_of(point.evaluate(system, qdd=qdd, t=0.0), "tau")
    plain = forward_dynamics(mechanism, formalism="newton_euler", partition=point.partition)
    found = output_of(point.evaluate(plain, **{**given, "tau": tau}), "qdd")
    yield Check("closed loops: forward dynamics inverts inverse dynamics", difference(found, qdd), 1e-7)


def _power_balance(
    mechanism: Mechanism, point: ClosedStates, dynamics: System, given: dict[str, Any], qdd: np.ndarray
) -> float:
    """|d/dt (T + V) + dissipated - power| relative to its terms: forces of loops do no work.

    d/dt by complex step along the motion; the energies close the loops by themselves, imaginary parts included.
    """
    system = energy(mechanism, partition=point.partition)
    point.qdd = qdd
    moved = states_after(point, dynamics, point.evaluate(dynamics, **given), 1j * STEP)
    q, qd = point.after(1j * STEP)
    there = point.evaluate(system, q=q, qd=qd, tau=point.tau, t=0.0, **moved)
    here = point.evaluate(system, tau=point.tau, t=0.0)
    rate = np.imag(there.kinetic + there.potential) / STEP
    # the parts of the rate may be far larger than their sum near a lock
    weight = point.evaluate(semi_explicit(mechanism, formalism="newton_euler", loops=False), t=0.0)
    parts = np.sum(np.abs(point.qd * (_times(weight.M, qdd))), axis=-1) + np.sum(np.abs(point.qd * weight.c), axis=-1)
    size = parts + np.abs(here.dissipated) + np.abs(here.power) + 1e-3
    return float(np.max(np.abs(rate + here.dissipated - here.power) / size, initial=0.0))


def _times(m: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("...ij,...j->...i", m, v))
