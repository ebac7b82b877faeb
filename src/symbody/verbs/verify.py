"""The certificate of a Mechanism: independent formalisms against each other, and against what physics demands."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from symbody.errors import ModelError, SymbodyError
from symbody.formalisms.explicit import driven_velocities
from symbody.formalisms.tree import build_tree
from symbody.loops.partition import Partition
from symbody.model.given import given_numbers
from symbody.model.mechanism import Mechanism
from symbody.system.save import fingerprint
from symbody.system.system import System
from symbody.verbs.dynamics import forward_dynamics, inverse_dynamics, semi_explicit
from symbody.verbs.energy import energy
from symbody.verbs.states import States

AGREE = 1e-10  # relative to the largest entry
LAGRANGE_LIMIT = 6  # velocities; the oracle differentiates energies, which grows quickly


@dataclass(frozen=True)
class Check:
    """One statement: the largest relative error found, what was allowed, and whether it holds."""

    text: str
    error: float
    allowed: float

    @property
    def passed(self) -> bool:
        return bool(self.error <= self.allowed)


@dataclass(frozen=True)
class Certificate:
    """What was checked of a Mechanism, at how many random states, and how well it held."""

    name: str
    states: int
    seed: int
    checks: tuple[Check, ...]
    refused: tuple[str, ...] = ()  # formalisms that do not apply, and why
    fingerprint: str = ""
    seconds: float = field(default=0.0, compare=False)
    parameters: tuple[tuple[str, float], ...] = ()  # values in place of the defaults
    independent: tuple[str, ...] = ()  # joints of a partition that was asked for, or the word for it

    @property
    def passed(self) -> bool:
        return all(c.passed for c in self.checks)

    def as_dict(self) -> dict[str, Any]:
        # JSON has no infinity: an error without bound is null
        rows = [
            {**asdict(c), "error": c.error if np.isfinite(c.error) else None, "passed": c.passed} for c in self.checks
        ]
        given = {"parameters": dict(self.parameters), "independent": list(self.independent)}
        return {**asdict(self), **given, "checks": rows, "passed": self.passed}

    def __str__(self) -> str:
        states = f"{self.states} random state{'s' * (self.states != 1)}"
        lines = [f"{self.name}: {'certified' if self.passed else 'NOT CERTIFIED'} at {states}"]
        if self.parameters:
            lines.append("  with " + ", ".join(f"{n} = {v:g}" for n, v in self.parameters))
        if self.independent:
            lines.append("  independent: " + ", ".join(self.independent))
        for c in self.checks:
            lines.append(f"  {'ok  ' if c.passed else 'FAIL'} {c.error:9.1e} (allowed {c.allowed:.0e})  {c.text}")
        lines += [f"  --   {text}" for text in self.refused]
        lines.append(f"  program {self.fingerprint[:16]}, {self.seconds:.1f} s")
        return "\n".join(lines)


def verify(
    mechanism: Mechanism,
    states: int = 20,
    seed: int = 0,
    loops: bool = True,
    parameters: Mapping[str, Any] | None = None,
    partition: Any = "auto",
) -> Certificate:
    """Certify a Mechanism at random states, with random values for parameters that have no default.

    Of a Mechanism with closed loops first the opened tree, then (unless loops is False) the closed mechanism.

    parameters  name -> value in place of the default
    partition   of closed loops: names of independent joints, "pivoting", ...; "auto": chosen
    """
    if not isinstance(mechanism, Mechanism):
        raise ModelError(f"verify() was given {mechanism!r}; expected a Mechanism, as sb.load(name_or_path) gives.")
    if not isinstance(states, int) or states < 1 or not isinstance(seed, int) or seed < 0:
        raise ModelError(f"verify() was given states={states!r}, seed={seed!r}; expected states >= 1 and seed >= 0.")
    values = given_numbers(mechanism, parameters)
    start = time.perf_counter()
    point = States(mechanism, states, seed, values)
    refused: list[str] = []
    tau = point.evaluate(inverse_dynamics(mechanism, formalism="newton_euler", loops=False))
    smallest = inverse_dynamics(mechanism, loops=False)
    m, c = point.evaluate(semi_explicit(mechanism, loops=False))
    closures = len(mechanism.cuts) + len(mechanism.couplings)
    checks = [
        *_formalisms(mechanism, point, tau, refused),
        *_smallest(smallest, point, tau),
        Check("M qdd + c equals inverse dynamics", difference(_times(m, point.qdd) + c, tau), AGREE),
        Check("M is symmetric", difference(m, np.swapaxes(m, -1, -2)), AGREE),
    ]
    # the tree of a closed mechanism may have joints that move nothing with mass: the loops hold them
    if not (closures and loops):
        checks.append(Check("M is positive definite", indefiniteness(m), 0.0))
        checks += _forward(mechanism, point, m, c, tau, refused)
    checks.append(Check("power of the efforts is the rate of the energy", _power_balance(mechanism, point), 1e-9))
    if closures and loops:
        from symbody.verbs.verify_loops import closed_checks

        closed, smallest = closed_checks(mechanism, states, seed, refused, values, partition)
        checks += closed
    elif closures:
        refused.append(f"{closures} loop closures: the equations are those of the opened tree")
    if mechanism.forces:
        refused.append("power balance: of the tree alone, without its force elements")
    return Certificate(
        mechanism.name,
        states,
        seed,
        tuple(checks),
        tuple(refused),
        fingerprint(smallest),
        time.perf_counter() - start,
        tuple(values.items()),
        _asked(partition) if closures and loops else (),
    )


def _asked(partition: Any) -> tuple[str, ...]:
    """What was asked of the partition, in words; nothing for "auto"."""
    if partition == "auto":
        return ()
    if isinstance(partition, (str, Partition)):
        return (partition if isinstance(partition, str) else "a given Partition",)
    return tuple(partition)


def _formalisms(mechanism: Mechanism, point: States, tau: np.ndarray, refused: list[str]) -> Iterator[Check]:
    for formalism in ("barycentric", "base", "order_n", "screw", "lagrange"):
        if formalism == "lagrange" and mechanism.nv > LAGRANGE_LIMIT:
            refused.append(f"lagrange: left out above {LAGRANGE_LIMIT} velocities (this model has {mechanism.nv})")
            continue
        try:
            other = point.evaluate(inverse_dynamics(mechanism, formalism=formalism, loops=False))
        except SymbodyError as error:
            refused.append(f"{formalism}: {error}")
            continue
        yield Check(f"inverse dynamics by {formalism} equals newton_euler", difference(other, tau), AGREE)


def _smallest(smallest: System, point: States, tau: np.ndarray) -> Iterator[Check]:
    interpreted = point.evaluate(smallest)
    yield Check("the smallest program equals newton_euler", difference(interpreted, tau), AGREE)
    native = point.evaluate(smallest, target="native")
    yield Check("native code equals the interpreter", difference(native, interpreted), AGREE)


def _forward(
    mechanism: Mechanism, point: States, m: np.ndarray, c: np.ndarray, tau: np.ndarray, refused: list[str]
) -> Iterator[Check]:
    driven: Any = {"qdd_driven": point.qdd[:, driven_velocities(build_tree(mechanism))]}
    worked = False
    for formalism in ("base", "order_n"):
        try:
            system = forward_dynamics(mechanism, formalism=formalism, loops=False)
        except SymbodyError as error:
            refused.append(f"forward dynamics by {formalism}: {error}")
            continue
        worked = True
        result = point.evaluate(system, tau=tau, **driven)
        qdd = result.qdd if len(system.outputs) > 1 else result
        # compared as efforts: an ill-conditioned M magnifies rounding in qdd, not in M qdd
        distance = difference(_times(m, qdd) + c, tau)
        yield Check(f"forward dynamics by {formalism} inverts inverse dynamics", distance, 1e-9)
    if not worked:
        yield Check("some formalism gives forward dynamics", 1.0, 0.0)


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference, relative to the largest entry of b in the same state (at least 1e-3)."""
    a, b = np.asarray(a), np.asarray(b)
    if b.size == 0:
        return 0.0
    scale = np.maximum(np.max(np.abs(b), axis=tuple(range(1, b.ndim)), keepdims=True), 1e-3)
    worst = float(np.max(np.abs(a - b) / scale))
    return worst if np.isfinite(worst) else float("inf")


def _times(m: np.ndarray, v: np.ndarray) -> np.ndarray:
    product: np.ndarray = np.einsum("...ij,...j->...i", m, v)
    return product


def indefiniteness(m: np.ndarray) -> float:
    """Share of the states at which M has no Cholesky factor: it is singular, indefinite or not a number there."""

    def definite(one: np.ndarray) -> bool:
        try:
            return bool(np.all(np.isfinite(np.linalg.cholesky(one))))
        except np.linalg.LinAlgError:
            return False

    return float(np.mean([not definite(one) for one in m])) if m.size else 0.0


def _power_balance(mechanism: Mechanism, point: States) -> float:
    """|d/dt (T + V) + dissipated - tau.qd| relative to its terms, for the tree without force elements.

    d/dt by differences of fourth order along the motion: their error is far below what is allowed.
    """
    tree = mechanism.replace(forces=(), cuts=(), couplings=())
    tau = point.evaluate(inverse_dynamics(tree, formalism="newton_euler"))
    system = energy(tree)

    def total(h: float) -> np.ndarray:
        q, qd = point.after(h)
        at = point.evaluate(system, q=q, qd=qd, tau=tau)
        return np.asarray(at.kinetic + at.potential)

    h = 1e-3
    rate = (total(-2 * h) - 8 * total(-h) + 8 * total(h) - total(2 * h)) / (12 * h)
    lost = point.evaluate(system, tau=tau).dissipated
    power = np.sum(tau * point.qd, axis=-1)
    size = np.sum(np.abs(tau * point.qd), axis=-1) + 1e-3
    return float(np.max(np.abs(rate + lost - power) / size)) if power.size else 0.0
