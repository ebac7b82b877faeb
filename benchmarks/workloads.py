"""Expressions to measure, each written once over any scalar: floats, arrays, or symbols of any library.

A workload touches a library through three names only (`Scalars`), so that all of them do the same work. None has
structural zeros or ones: a library that skips them would gain on others for a favour that the author could do them all.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

Values = Mapping[str, Sequence[Any]]
Vector = list[Any]


class Scalars(Protocol):
    """What a workload may ask of a library besides + - * /."""

    @property
    def sin(self) -> Callable[[Any], Any]: ...
    @property
    def cos(self) -> Callable[[Any], Any]: ...
    def gradient(self, f: Any, variables: Sequence[Any]) -> list[Any]: ...


@dataclass(frozen=True)
class Workload:
    """Named inputs and parameters (name -> size), and the outputs as a function of them.

    reference: the same values in another form, where `build` needs derivatives and so cannot run on numbers.
    """

    name: str
    inputs: dict[str, int]
    build: Callable[[Scalars, Values], Vector]
    parameters: dict[str, int] = field(default_factory=dict)
    reference: Callable[[Scalars, Values], Vector] | None = None

    def sample(self, states: int, seed: int = 1) -> dict[str, np.ndarray]:
        """Random values: inputs (states, size), parameters (size,), which are positive as masses and lengths are."""
        rng = np.random.default_rng(seed)
        drawn = {name: rng.uniform(-1.0, 1.0, (states, size)) for name, size in self.inputs.items()}
        return drawn | {name: rng.uniform(0.5, 1.5, size) for name, size in self.parameters.items()}

    def expected(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """(states, outputs) computed by NumPy: what every library must give."""
        columns = {name: [array[..., k] for k in range(array.shape[-1])] for name, array in values.items()}
        outputs = (self.reference or self.build)(NumpyScalars(), columns)
        return np.stack(np.broadcast_arrays(*outputs), axis=-1)


class NumpyScalars:
    """Plain arrays as scalars: the oracle."""

    def sin(self, x: Any) -> Any:
        return np.sin(x)

    def cos(self, x: Any) -> Any:
        return np.cos(x)

    def gradient(self, f: Any, variables: Sequence[Any]) -> list[Any]:
        raise NotImplementedError("numbers have no gradient; give the workload a reference")


class Counted:
    """A scalar that only counts the operations written on it; all instances share one counter."""

    written = 0

    def _made(self, *_: Any) -> Counted:
        Counted.written += 1
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _made

    def __neg__(self) -> Counted:
        return self


class CountedScalars:
    def sin(self, x: Any) -> Any:
        return x._made()

    cos = sin

    def gradient(self, f: Any, variables: Sequence[Any]) -> list[Any]:
        raise NotImplementedError("operations of a derivative are not written by hand")


def written_operations(workload: Workload) -> int:
    """Operations that Python performs to build the workload: the unit of work common to all libraries."""
    Counted.written = 0
    one = Counted()
    workload.build(CountedScalars(), {n: [one] * k for n, k in (workload.inputs | workload.parameters).items()})
    return Counted.written


# -- inverse dynamics of a serial arm


def arm(links: int, symbolic: bool = False) -> Workload:
    """Recursive Newton-Euler with full inertias, on a moving base; about 210 operations a link.

    Luh, Walker and Paul 1980. Every joint turns about z, after a fixed turn about x. The base has its own angular
    velocity, angular acceleration and acceleration (gravity included): the first links are as dense as the last.
    symbolic: masses, centres of mass and inertias are parameters instead of numbers.
    """
    rng = random.Random(links)
    twists = [rng.uniform(0.3, 1.2) for _ in range(links)]
    offsets = [[rng.uniform(0.1, 0.5) for _ in range(3)] for _ in range(links)]
    numbers = {
        "m": [rng.uniform(0.5, 2.0) for _ in range(links)],
        "com": [rng.uniform(0.05, 0.3) for _ in range(3 * links)],
        "inertia": [rng.uniform(0.01, 0.2) for _ in range(6 * links)],
    }
    fixed = [(float(np.sin(t)), float(np.cos(t))) for t in twists]

    def build(s: Scalars, v: Values) -> Vector:
        masses, coms, inertias = (v[k] if symbolic else numbers[k] for k in ("m", "com", "inertia"))
        turns = [(s.sin(a), s.cos(a)) for a in v["q"]]
        w, wd, a = list(v["w0"]), list(v["wd0"]), list(v["a0"])
        forces: list[Vector] = []
        moments: list[Vector] = []
        for i in range(links):
            # outward: acceleration of the joint, then everything in the frame of the link
            p, (sa, ca), (sq, cq) = offsets[i], fixed[i], turns[i]
            a = _sum(a, _sum(_cross(wd, p), _cross(w, _cross(w, p))))
            w, wd, a = (_turn_z(_turn_x(x, sa, ca), sq, cq) for x in (w, wd, a))
            qd, qdd = v["qd"][i], v["qdd"][i]
            wd = [wd[0] + w[1] * qd, wd[1] - w[0] * qd, wd[2] + qdd]
            w = [w[0], w[1], w[2] + qd]
            # the link's own force and moment about its joint
            c = coms[3 * i : 3 * i + 3]
            ac = _sum(a, _sum(_cross(wd, c), _cross(w, _cross(w, c))))
            f = [masses[i] * x for x in ac]
            xx, xy, yy, xz, yz, zz = inertias[6 * i : 6 * i + 6]
            tensor = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
            n = _sum(_sum(_apply(tensor, wd), _cross(w, _apply(tensor, w))), _cross(c, f))
            forces.append(f)
            moments.append(n)
        # inward: efforts about the joints
        tau: Vector = [None] * links
        f, n = forces[-1], moments[-1]
        for i in reversed(range(links)):
            tau[i] = n[2]
            if i:
                (sa, ca), (sq, cq) = fixed[i], turns[i]
                f, n = (_turn_x(_turn_z(x, -sq, cq), -sa, ca) for x in (f, n))
                n = _sum(moments[i - 1], _sum(n, _cross(offsets[i], f)))
                f = _sum(forces[i - 1], f)
        return tau

    inputs = {"q": links, "qd": links, "qdd": links, "w0": 3, "wd0": 3, "a0": 3}
    parameters = {k: len(x) for k, x in numbers.items()} if symbolic else {}
    return Workload(f"arm{links}{'p' if symbolic else ''}", inputs, build, parameters)


def _cross(a: Sequence[Any], b: Sequence[Any]) -> Vector:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _sum(a: Sequence[Any], b: Sequence[Any]) -> Vector:
    return [x + y for x, y in zip(a, b)]


def _apply(m: Sequence[Sequence[Any]], a: Sequence[Any]) -> Vector:
    return [row[0] * a[0] + row[1] * a[1] + row[2] * a[2] for row in m]


def _turn_x(a: Sequence[Any], s: Any, c: Any) -> Vector:
    """Into a frame turned about x."""
    return [a[0], c * a[1] + s * a[2], c * a[2] - s * a[1]]


def _turn_z(a: Sequence[Any], s: Any, c: Any) -> Vector:
    """Into a frame turned about z."""
    return [c * a[0] + s * a[1], c * a[1] - s * a[0], a[2]]


# -- double pendulum, by Lagrange


def pendulum() -> Workload:
    """Mass matrix (4) and efforts (2) of two point masses on rods, from the library's own derivatives of T and V."""

    def build(s: Scalars, v: Values) -> Vector:
        (q1, q2), (qd1, qd2), (l1, l2), (m1, m2) = (v[k] for k in ("q", "qd", "l", "m"))
        g = v["g"][0]
        w2 = qd1 + qd2
        speed1 = l1 * l1 * qd1 * qd1
        speed2 = speed1 + l2 * l2 * w2 * w2 + 2 * l1 * l2 * qd1 * w2 * s.cos(q2)
        kinetic = (m1 * speed1 + m2 * speed2) / 2
        potential = -(m1 + m2) * g * l1 * s.cos(q1) - m2 * g * l2 * s.cos(q1 + q2)
        momenta = s.gradient(kinetic, [qd1, qd2])
        mass = [s.gradient(p, [qd1, qd2]) for p in momenta]
        by_q = s.gradient(kinetic - potential, [q1, q2])
        efforts = []
        for p, slope in zip(momenta, by_q):
            rate = s.gradient(p, [q1, q2])
            efforts.append(rate[0] * qd1 + rate[1] * qd2 - slope)
        return [*mass[0], *mass[1], *efforts]

    def closed_form(s: Scalars, v: Values) -> Vector:
        (q1, q2), (qd1, qd2), (l1, l2), (m1, m2) = (v[k] for k in ("q", "qd", "l", "m"))
        g = v["g"][0]
        m22 = m2 * l2 * l2
        m12 = m22 + m2 * l1 * l2 * s.cos(q2)
        m11 = m1 * l1 * l1 + m2 * (l1 * l1 + l2 * l2 + 2 * l1 * l2 * s.cos(q2))
        h = m2 * l1 * l2 * s.sin(q2)
        weight = m2 * g * l2 * s.sin(q1 + q2)
        c1 = -h * qd2 * (2 * qd1 + qd2) + (m1 + m2) * g * l1 * s.sin(q1) + weight
        return [m11, m12, m12, m22, c1, h * qd1 * qd1 + weight]

    return Workload("pendulum", {"q": 2, "qd": 2}, build, {"l": 2, "m": 2, "g": 1}, closed_form)


# -- random expressions


def _random_plan(operations: int, seed: int) -> tuple[list[tuple[str, int, int, float]], list[int]]:
    """Steps (kind, operands, factor) and the values that nothing has used, see `random_expressions`."""
    rng = random.Random(seed)
    bounds = [1.0] * 8
    unused: dict[int, None] = {}
    plan: list[tuple[str, int, int, float]] = []
    while len(plan) + len(unused) < operations + 8:
        i, j = (len(bounds) - 1 - min(int(rng.expovariate(0.05)), len(bounds) - 1) for _ in range(2))
        draw, factor = rng.random(), 1.0
        if bounds[i] > 8.0 or draw < 0.06:
            kind, j, bound = "sin" if draw < 0.5 else "cos", i, 1.0
        elif draw < 0.1:
            kind, j, bound, factor = "scale", i, bounds[i], rng.uniform(0.1, 0.9)
        elif bounds[i] + bounds[j] > 8.0 or draw < 0.5:
            kind, bound = "mul", bounds[i] * bounds[j]
        else:
            kind, bound = "add" if draw < 0.75 else "sub", bounds[i] + bounds[j]
        unused.pop(i, None)
        unused.pop(j, None)
        unused[len(bounds)] = None
        bounds.append(bound)
        plan.append((kind, i, j, factor))
    return plan, list(unused)


def random_expressions(operations: int, seed: int = 3) -> Workload:
    """Sums, products, sines and cosines of earlier values, the recent ones more often; 8 inputs, 8 outputs.

    A bound travels with each value, and what could grow large goes through a sine: all results stay near 1. Values that
    nothing has used are summed into the outputs, so that none of the work is dead.
    """

    plan, outputs = _random_plan(operations, seed)  # drawn once: building measures the library, not the dice

    def build(s: Scalars, v: Values) -> Vector:
        made: list[Any] = list(v["x"])
        for kind, i, j, factor in plan:
            if kind == "sin":
                made.append(s.sin(made[i]))
            elif kind == "cos":
                made.append(s.cos(made[i]))
            elif kind == "scale":
                made.append(factor * made[i])
            elif kind == "mul":
                made.append(made[i] * made[j])
            else:
                made.append(made[i] + made[j] if kind == "add" else made[i] - made[j])
        results = [made[k] for k in outputs[:8]]
        for n, k in enumerate(outputs[8:]):
            results[n % 8] = results[n % 8] + made[k]
        return results

    return Workload(f"random{operations}", {"x": 8}, build)


# -- 4x4 matrices


def matrices() -> Workload:
    """A B (16 outputs) and the inverse of A + 4 I by 2x2 minors (16)."""

    def build(s: Scalars, v: Values) -> Vector:
        a = [[v["A"][4 * i + j] for j in range(4)] for i in range(4)]
        b = [[v["B"][4 * i + j] for j in range(4)] for i in range(4)]
        product = [_dot(a[i], [row[j] for row in b]) for i in range(4) for j in range(4)]
        for i in range(4):
            a[i][i] = a[i][i] + 4
        return product + _inverse4(a)

    return Workload("matrix4", {"A": 16, "B": 16}, build)


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:]):
        total = total + x * y
    return total


def _inverse4(a: Sequence[Sequence[Any]]) -> Vector:
    """Row by row; Laplace expansion by the upper and the lower two rows."""
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    s = [a[0][i] * a[1][j] - a[0][j] * a[1][i] for i, j in pairs]
    c = [a[2][i] * a[3][j] - a[2][j] * a[3][i] for i, j in pairs]
    r = 1 / (s[0] * c[5] - s[1] * c[4] + s[2] * c[3] + s[3] * c[2] - s[4] * c[1] + s[5] * c[0])
    return [
        (a[1][1] * c[5] - a[1][2] * c[4] + a[1][3] * c[3]) * r,
        (a[0][2] * c[4] - a[0][1] * c[5] - a[0][3] * c[3]) * r,
        (a[3][1] * s[5] - a[3][2] * s[4] + a[3][3] * s[3]) * r,
        (a[2][2] * s[4] - a[2][1] * s[5] - a[2][3] * s[3]) * r,
        (a[1][2] * c[2] - a[1][0] * c[5] - a[1][3] * c[1]) * r,
        (a[0][0] * c[5] - a[0][2] * c[2] + a[0][3] * c[1]) * r,
        (a[3][2] * s[2] - a[3][0] * s[5] - a[3][3] * s[1]) * r,
        (a[2][0] * s[5] - a[2][2] * s[2] + a[2][3] * s[1]) * r,
        (a[1][0] * c[4] - a[1][1] * c[2] + a[1][3] * c[0]) * r,
        (a[0][1] * c[2] - a[0][0] * c[4] - a[0][3] * c[0]) * r,
        (a[3][0] * s[4] - a[3][1] * s[2] + a[3][3] * s[0]) * r,
        (a[2][1] * s[2] - a[2][0] * s[4] - a[2][3] * s[0]) * r,
        (a[1][1] * c[1] - a[1][0] * c[3] - a[1][2] * c[0]) * r,
        (a[0][0] * c[3] - a[0][1] * c[1] + a[0][2] * c[0]) * r,
        (a[3][1] * s[1] - a[3][0] * s[3] - a[3][2] * s[0]) * r,
        (a[2][0] * s[3] - a[2][1] * s[1] + a[2][2] * s[0]) * r,
    ]


def by_name(name: str) -> Workload:
    """The workload of a name such as arm6, arm6p, random1000, pendulum or matrix4."""
    if name == "pendulum":
        return pendulum()
    if name == "matrix4":
        return matrices()
    if name.startswith("random"):
        return random_expressions(int(name.removeprefix("random")))
    if name.startswith("arm"):
        return arm(int(name.removeprefix("arm").removesuffix("p")), name.endswith("p"))
    raise ValueError(f"unknown workload {name!r}; expected arm<n>, arm<n>p, random<n>, pendulum or matrix4")
