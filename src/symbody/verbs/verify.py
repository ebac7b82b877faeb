"""The certificate of a Mechanism: independent formalisms against each other, and against what physics demands."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from symbody.errors import SymbodyError
from symbody.model.mechanism import Mechanism
from symbody.system.save import fingerprint
from symbody.system.system import System
from symbody.verbs.dynamics import forward_dynamics, inverse_dynamics, semi_explicit
from symbody.verbs.energy import energy

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

    @property
    def passed(self) -> bool:
        return all(c.passed for c in self.checks)

    def as_dict(self) -> dict[str, Any]:
        rows = [{**asdict(c), "passed": c.passed} for c in self.checks]
        return {**asdict(self), "checks": rows, "passed": self.passed}

    def __str__(self) -> str:
        lines = [f"{self.name}: {'certified' if self.passed else 'NOT CERTIFIED'} at {self.states} random states"]
        for c in self.checks:
            lines.append(f"  {'ok  ' if c.passed else 'FAIL'} {c.error:9.1e} (allowed {c.allowed:.0e})  {c.text}")
        lines += [f"  --   {text}" for text in self.refused]
        lines.append(f"  program {self.fingerprint[:16]}, {self.seconds:.1f} s")
        return "\n".join(lines)


def verify(mechanism: Mechanism, states: int = 20, seed: int = 0) -> Certificate:
    """Certify a Mechanism at random states, with random values for parameters that have no default."""
    start = time.perf_counter()
    point = _States(mechanism, states, seed)
    checks: list[Check] = []
    refused: list[str] = []

    inverse = inverse_dynamics(mechanism, formalism="newton_euler")
    tau = point.evaluate(inverse, "q", "qd", "qdd")
    for formalism in ("barycentric", "base", "order_n", "screw", "lagrange"):
        if formalism == "lagrange" and mechanism.nv > LAGRANGE_LIMIT:
            refused.append(f"lagrange: left out above {LAGRANGE_LIMIT} velocities (this model has {mechanism.nv})")
            continue
        try:
            other = point.evaluate(inverse_dynamics(mechanism, formalism=formalism), "q", "qd", "qdd")
        except SymbodyError as error:
            refused.append(f"{formalism}: {error}")
            continue
        checks.append(Check(f"inverse dynamics by {formalism} equals newton_euler", _difference(other, tau), AGREE))

    smallest = inverse_dynamics(mechanism)
    checks.append(
        Check("the smallest program equals newton_euler", _difference(point.evaluate(smallest, "q", "qd", "qdd"), tau), AGREE)
    )
    native = point.evaluate(smallest, "q", "qd", "qdd", target="native")
    checks.append(Check("native code equals the interpreter", _difference(native, tau), AGREE))

    m, c = point.evaluate(semi_explicit(mechanism), "q", "qd")
    checks.append(Check("M qdd + c equals inverse dynamics", _difference(_times(m, point.qdd) + c, tau), AGREE))
    checks.append(Check("M is symmetric", _difference(m, np.swapaxes(m, -1, -2)), AGREE))
    smallest_eigenvalue = float(np.min(np.linalg.eigvalsh(m) / np.max(np.abs(m), axis=(-1, -2))[:, None]))
    checks.append(Check("M is positive definite", max(0.0, -smallest_eigenvalue), 1e-12))

    for formalism in ("base", "order_n"):
        try:
            system = forward_dynamics(mechanism, formalism=formalism)
        except SymbodyError as error:
            refused.append(f"forward dynamics by {formalism}: {error}")
            continue
        qdd = point.evaluate(system, "q", "qd", tau=tau)
        # compared as efforts: an ill-conditioned M magnifies rounding in qdd, not in M qdd
        checks.append(
            Check(f"forward dynamics by {formalism} inverts inverse dynamics", _difference(_times(m, qdd) + c, tau), 1e-9)
        )
    checks.append(Check("power of the efforts is the rate of the energy", _power_balance(mechanism, point, tau), 1e-9))
    return Certificate(
        mechanism.name, states, seed, tuple(checks), tuple(refused), fingerprint(smallest), time.perf_counter() - start
    )


class _States:
    """Random states and parameters of a Mechanism, the same for all formalisms."""

    def __init__(self, mechanism: Mechanism, states: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.q = random_positions(mechanism, states, rng)
        self.qd = rng.uniform(-1, 1, (states, mechanism.nv))
        self.qdd = rng.uniform(-1, 1, (states, mechanism.nv))
        self.seed = seed

    def evaluate(self, system: System, *names: str, target: str = "python", **more: np.ndarray) -> Any:
        given: dict[str, Any] = {n: getattr(self, n) for n in names} | more
        kernel = system.compile(target)  # type: ignore[attr-defined]
        return kernel(**{n: v for n, v in given.items() if n in system.inputs}, parameters=self.parameters(system))

    def parameters(self, system: System) -> dict[str, Any]:
        """Defaults, and for parameters without one a number in [0.5, 1.5] that depends on the name alone."""
        out = {}
        for name, array in system.parameters.items():
            default = system.default(name)
            if default is None:
                digest = hashlib.sha256(f"{self.seed} {name}".encode()).digest()
                value = 0.5 + int.from_bytes(digest[:4], "big") / 2**32
                out[name] = np.full(array.shape, value)
            else:
                out[name] = np.reshape(default, array.shape)
        return out


def random_positions(mechanism: Mechanism, states: int, rng: np.random.Generator) -> np.ndarray:
    """(states, nq) coordinates in [-1, 1] with unit quaternions."""
    from symbody.formalisms.tree import build_tree

    q = rng.uniform(-1, 1, (states, mechanism.nq))
    tree = build_tree(mechanism)
    index = {s: k for k, s in enumerate(tree.q)}
    for link in tree.links:
        if link.kind in "BF":
            first = index[link.q[-4]]
            part = rng.normal(size=(states, 4))
            q[:, first : first + 4] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return q


def _difference(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference, relative to the largest entry of b in the same state (at least 1e-3)."""
    a, b = np.asarray(a), np.asarray(b)
    if b.size == 0:
        return 0.0
    axes = tuple(range(1, b.ndim))
    scale = np.maximum(np.max(np.abs(b), axis=axes, keepdims=True), 1e-3)
    worst = float(np.max(np.abs(a - b) / scale))
    return worst if np.isfinite(worst) else float("inf")


def _times(m: np.ndarray, v: np.ndarray) -> np.ndarray:
    product: np.ndarray = np.einsum("...ij,...j->...i", m, v)
    return product


def _power_balance(mechanism: Mechanism, point: _States, tau: np.ndarray) -> float:
    """|d/dt (T + V) + dissipated - tau.qd| relative to its terms, d/dt by central differences along the motion."""
    system = energy(mechanism)

    def at(h: float) -> Callable[[str], np.ndarray]:
        q = step(mechanism, point.q, point.qd + h / 2 * point.qdd, h)
        kernel = system.compile("python")  # type: ignore[attr-defined]
        given = {"q": q, "qd": point.qd + h * point.qdd, "tau": tau}
        result = kernel(**{n: v for n, v in given.items() if n in system.inputs}, parameters=point.parameters(system))
        return lambda name: np.asarray(getattr(result, name))

    # fourth-order differences: the error is far below the tolerance for motions of unit size
    h = 1e-3
    values = {k: at(k * h) for k in (-2, -1, 1, 2)}
    total = {k: f("kinetic") + f("potential") for k, f in values.items()}
    rate = (total[-2] - 8 * total[-1] + 8 * total[1] - total[2]) / (12 * h)
    now = at(0.0)
    lost = now("dissipated") if "dissipated" in system.outputs else 0.0
    power = np.sum(tau * point.qd, axis=-1)
    size = np.sum(np.abs(tau * point.qd), axis=-1) + 1e-3
    return float(np.max(np.abs(rate + lost - power) / size))


def step(mechanism: Mechanism, q: np.ndarray, qd: np.ndarray, h: float) -> np.ndarray:
    """Coordinates after moving with the constant velocity qd for the time h."""
    from symbody.formalisms.tree import build_tree

    tree = build_tree(mechanism)
    position = {s: k for k, s in enumerate(tree.q)}
    out = q.copy()
    done: set[int] = set()
    for link in tree.links:
        if link.kind in "BF":
            _step_quaternion(link, position, q, qd, h, out)
            continue
        for index, _ in link.columns[0]:
            # one coordinate for one velocity, in the same order; links that mimic share it
            k = _coordinate_of(tree, index)
            if k not in done:
                done.add(k)
                out[:, k] = q[:, k] + h * qd[:, index]
    return out


def _coordinate_of(tree: Any, velocity: int) -> int:
    """Coordinate whose rate is a velocity of a joint without quaternion."""
    k = velocity
    for link in tree.links:
        if link.kind in "BF" and link.columns[0][0][0] < velocity:
            k += 1  # a quaternion has one coordinate more than velocities
    return k


def _step_quaternion(link: Any, position: dict[Any, int], q: np.ndarray, qd: np.ndarray, h: float, out: np.ndarray) -> None:
    """Rotation by the body angular velocity for the time h, and for a free joint the motion of its origin."""
    columns = [c[0][0] for c in link.columns]
    first = position[link.q[-4]]
    w = qd[:, columns[:3]]
    quaternion = q[:, first : first + 4]
    out[:, first : first + 4] = _multiply(quaternion, _exponential(w * h))
    if link.kind == "F":
        # the velocity is constant in body axes, which turn meanwhile: integrate by Gauss-Legendre of order 6
        start = position[link.q[0]]
        moved = np.zeros_like(w)
        for node, weight in ((-np.sqrt(0.6), 5 / 18), (0.0, 8 / 18), (np.sqrt(0.6), 5 / 18)):
            now = _multiply(quaternion, _exponential(w * h * (1 + node) / 2))
            moved += weight * _rotate(now, qd[:, columns[3:]])
        out[:, start : start + 3] = q[:, start : start + 3] + h * moved


def _exponential(v: np.ndarray) -> np.ndarray:
    angle = np.linalg.norm(v, axis=1, keepdims=True)
    return np.concatenate([np.cos(angle / 2), v * np.sinc(angle / (2 * np.pi)) / 2], axis=1)


def _multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    w = a[:, :1] * b[:, :1] - np.sum(a[:, 1:] * b[:, 1:], axis=1, keepdims=True)
    v = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])
    return np.concatenate([w, v], axis=1)


def _rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    t = 2 * np.cross(q[:, 1:], v)
    rotated: np.ndarray = v + q[:, :1] * t + np.cross(q[:, 1:], t)
    return rotated
