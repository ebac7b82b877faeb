"""Closed mechanisms by the definition, in world axes and floats, from the Mechanism alone: slow, plain, independent.

Nothing of `symbody.mechanics.loops` is used. Residuals are geometry of world poses, Jacobians come from the twists of
both frames of a cut (cross products), biases from the exact rate of these Jacobians (complex step), accelerations from
the Karush-Kuhn-Tucker equations by least squares, so that redundant constraints do no harm.

A row of a cut is measured along the axes of its first frame, and is second frame minus first:
    translation   h = u . R1^T (p2 - p1)             rate u . R1^T (v2 - v1 - w1 x (p2 - p1))
    rotation      h = u . rotation vector of R1^T R2 rate u . R1^T (w2 - w1), exact where the cut is closed
    rod           h = (|p2 - p1|^2 - length^2) / 2
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import symbody as sb
from mechanics.formalisms.reference import World, number, numbers
from symbody.model.record.mechanism import Cut, Mechanism

STEP = 1e-30
LETTERS = "xyz"


def turned(cut: Cut) -> tuple[list[int], list[int]]:
    """(translations, rotations) along the axes of the first frame that a cut forbids; a universal one has one more."""
    a = LETTERS.index(cut.axis)
    across = [k for k in range(3) if k != a]
    return {
        "solid": ([0, 1, 2], [0, 1, 2]), "ball": ([0, 1, 2], []), "revolute": ([0, 1, 2], across),
        "prismatic": (across, [0, 1, 2]), "cylindrical": (across, across), "universal": ([0, 1, 2], []),
        "rows": ([r for r in cut.rows if r < 3], [r - 3 for r in cut.rows if r >= 3]), "rod": ([], []),
    }[cut.kind]  # fmt: skip


def rotation_vector(a: np.ndarray) -> np.ndarray:
    """Axis times angle of a rotation matrix."""
    sine = np.array([a[2, 1] - a[1, 2], a[0, 2] - a[2, 0], a[1, 0] - a[0, 1]]) / 2
    size = float(np.linalg.norm(sine.real))
    return sine if size < 1e-6 else sine * (np.arctan2(size, (np.trace(a).real - 1) / 2) / size)


def slope(f: Any, step: float = 1e-3) -> complex:
    """f'(0) by central differences of sixth order: f may be complex already, for a rate by complex step."""
    d1, d2, d3 = ((f(k * step) - f(-k * step)) / (2 * k * step) for k in (1, 2, 3))
    return (15 * d1 - 6 * d2 + d3) / 10


class LoopWorld(World):
    """A Mechanism with numbers for its parameters, its loops closed. q (nq,), qd (nv,), tau (nv,) are floats."""

    def __init__(self, mech: Mechanism, values: dict[str, float] | None = None) -> None:
        super().__init__(mech, values)
        self.names = self._names()
        self.holonomic = [k for k, (_, kind) in enumerate(self.names) if kind == "position"]
        self.driven = [self.first[j.name][1] for j in mech.joints if j.mode == "driven" and j.name in self.first]
        self._coordinates_of = self._coordinates()
        self._places: dict[tuple[str, str], tuple[np.ndarray, np.ndarray]] = {}

    def _names(self) -> list[tuple[str, str]]:
        out = []
        for cut in self.mech.cuts:
            moved, rotated = turned(cut)
            letters = [*(LETTERS[k] for k in moved), *(f"r{LETTERS[k]}" for k in rotated)]
            letters += {"universal": ["angle"], "rod": ["rod"]}.get(cut.kind, [])
            out += [(f"{cut.name}.{letter}", "position") for letter in letters]
        return out + [(c.name, c.kind) for c in self.mech.couplings]

    # -- geometry

    def frame(self, poses: dict[str, Any], twists: dict[str, Any], end: tuple[str, str]) -> tuple[Any, Any, Any, Any]:
        """(R, p, J of angular velocity, J of the origin's velocity) of a frame, in world axes."""
        body, name = end
        r, p = poses[body]
        if name:
            if end not in self._places:
                place = self.mech.body(body).frames[name]
                self._places[end] = numbers(place.rotation, self.values), numbers(place.position, self.values)
            rotation, position = self._places[end]
            r, p = r @ rotation, p + r @ position
        jw, jv = np.zeros((3, self.nv), dtype=complex), np.zeros((3, self.nv), dtype=complex)
        for column, factor, w, v, at in twists[body]:
            jw[:, column] += factor * w
            jv[:, column] += factor * (v + np.cross(w, p - at))
        return r, p, jw, jv

    def constraints(self, q: np.ndarray, t: complex = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(h, J, ht) of all rows, complex if q or t is: rate J qd + ht; h of a velocity row is 0."""
        poses, twists = self.poses(np.asarray(q, dtype=complex))
        h, jac = [], []
        for cut in self.mech.cuts:
            r1, p1, w1, v1 = self.frame(poses, twists, cut.first)
            r2, p2, w2, v2 = self.frame(poses, twists, cut.second)
            d = p2 - p1
            moved, rotated = turned(cut)
            slide = r1.T @ (v2 - v1 - np.cross(w1.T, d).T)
            turn = r1.T @ (w2 - w1)
            a = r1.T @ r2
            angle = rotation_vector(a)
            h += [(r1.T @ d)[k] for k in moved] + [self._angle(cut, angle, a, k) for k in rotated]
            jac += [slide[k] for k in moved] + [turn[k] for k in rotated]
            if cut.kind == "universal":
                u, v = r1[:, LETTERS.index(cut.axis)], r2[:, LETTERS.index(cut.axis2)]
                h.append(u @ v)
                jac.append(np.cross(v, u) @ (w2 - w1))
            if cut.kind == "rod":
                h.append((d @ d - number(cut.length, self.values) ** 2) / 2)
                jac.append(d @ (v2 - v1))
        drift = [0.0] * len(h)
        for coupling in self.mech.couplings:
            value, row, rate = self._coupling(coupling, q, t)
            h.append(value)
            jac.append(row)
            drift.append(rate)
        return np.array(h, dtype=complex), np.array(jac, dtype=complex).reshape(len(h), self.nv), np.array(drift)

    @staticmethod
    def _angle(cut: Cut, angle: np.ndarray, a: np.ndarray, k: int) -> complex:
        """Small angle of the second frame about axis k of the first; free of the motion that the joint allows."""
        if cut.kind not in ("revolute", "cylindrical"):
            return angle[k]
        axis = LETTERS.index(cut.axis)  # u1 x u2 for the common axis u, in axes of the first frame
        return np.cross(np.eye(3)[axis], a[:, axis])[k]

    # -- couplings

    def _coordinates(self) -> dict[str, tuple[str, int]]:
        """q.<joint>.<k> and qd.<joint>.<k> -> which vector and where."""
        out: dict[str, tuple[str, int]] = {}
        for which, total, at in (("q", self.nq, 0), ("qd", self.nv, 1)):
            starts = sorted((places[at], name) for name, places in self.first.items())
            ends = [s for s, _ in starts[1:]] + [total]
            for (start, name), end in zip(starts, ends):
                for k in range(start, end):
                    out[f"{which}.{name}" if end - start == 1 else f"{which}.{name}.{k - start + 1}"] = (which, k)
        return out

    def _coupling(self, coupling: Any, q: np.ndarray, t: complex) -> tuple[complex, np.ndarray, complex]:
        """Value, row and explicit rate of a coupling."""

        def value(place: np.ndarray, speed: np.ndarray, time: complex) -> complex:
            vectors = {"q": place, "qd": speed}
            named = {name: vectors[which][k] for name, (which, k) in self._coordinates_of.items()}
            at = self.values | {"t": time} | self._followers(place, speed) | named
            return complex(sb.evaluate(coupling.expression, at))

        rest = np.zeros(self.nv)
        if coupling.kind == "velocity":  # linear in qd: by unit velocities
            base = value(q, rest, t)
            return 0.0, np.array([value(q, unit, t) - base for unit in np.eye(self.nv)]), base
        row = [slope(lambda s, u=unit: value(self.advance(q, u, s), rest, t)) for unit in np.eye(self.nv)]
        return value(q, rest, t), np.array(row), slope(lambda s: value(q, rest, t + s))

    def _followers(self, q: np.ndarray, qd: np.ndarray) -> dict[str, complex]:
        out: dict[str, complex] = {}
        for j in self.mech.joints:
            if j.mimic is not None:
                ratio, offset = number(j.mimic.ratio, self.values), number(j.mimic.offset, self.values)
                iq, iv = self.first[j.mimic.joint]
                out |= {f"q.{j.name}": ratio * q[iq] + offset, f"qd.{j.name}": ratio * qd[iv]}
        return out

    # -- numbers

    def residual(self, q: np.ndarray, t: float = 0.0) -> np.ndarray:
        """(m,) h(q) of all rows; 0 for velocity rows."""
        return self.constraints(np.asarray(q, dtype=float), t)[0].real

    def jacobian(self, q: np.ndarray, t: float = 0.0) -> np.ndarray:
        """(m, nv) rates of the rows by velocities."""
        return self.constraints(np.asarray(q, dtype=float), t)[1].real

    def bias(self, q: np.ndarray, qd: np.ndarray, t: float = 0.0) -> np.ndarray:
        """(m,) what remains of the rows' accelerations at qdd = 0: rate of J qd + ht along the motion."""
        _, jac, drift = self.constraints(self.advance(q, qd, 1j * STEP), t + 1j * STEP)
        return (jac @ qd + drift).imag / STEP

    def rank(self, q: np.ndarray, tolerance: float = 1e-9) -> int:
        """Rank of J at q, relative to its largest singular value."""
        s = np.linalg.svd(self.jacobian(q), compute_uv=False)
        return int(np.sum(s > tolerance * s[0])) if s.size else 0

    def mobility(self, q: np.ndarray) -> int:
        """Degrees of freedom at q, driven joints not counted: velocities that remain."""
        free = [k for k in range(self.nv) if k not in self.driven]
        s = np.linalg.svd(self.jacobian(q)[:, free], compute_uv=False)
        return len(free) - (int(np.sum(s > 1e-9 * s[0])) if s.size else 0)

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q after a finite tangent step; quaternions are normalised."""
        out = self.advance(np.asarray(q, dtype=float), step, 1.0).real
        for _, _, _, entries in self.rows:
            for letter, _, _, how, _, place in entries:
                if how == "own" and letter in "BF":
                    k = place[0] + (3 if letter == "F" else 0)
                    out[k : k + 4] /= np.linalg.norm(out[k : k + 4])
        return out

    def neutral(self) -> np.ndarray:
        """q = 0, with unit quaternions."""
        out = np.zeros(self.nq)
        for _, _, _, entries in self.rows:
            for letter, _, _, how, _, place in entries:
                if how == "own" and letter in "BF":
                    out[place[0] + (3 if letter == "F" else 0)] = 1.0
        return out

    def assemble(
        self, q: np.ndarray | None = None, hold: Iterable[int] = (), tolerance: float = 1e-13, starts: int = 10
    ) -> np.ndarray:
        """A closed q near the given one, by damped Gauss-Newton steps; the velocities `hold` do not move.

        If that ends in a minimum that is not zero, it starts again from points at random, farther and farther away.
        """
        q = self.neutral() if q is None else np.array(q, dtype=float)
        free = np.array([k for k in range(self.nv) if k not in set(hold)])
        rng = np.random.default_rng(0)
        for k in range(starts):
            step = np.zeros(self.nv)
            step[free] = rng.uniform(-0.3, 0.3, free.size) * k
            found, size = self._newton(self.moved(q, step), free, tolerance)
            if size < tolerance:
                return found
        raise AssertionError(f"{self.mech.name} does not close: residual {size:.3g}")

    def _newton(self, q: np.ndarray, free: np.ndarray, tolerance: float, most: int = 60) -> tuple[np.ndarray, float]:
        pick = self.holonomic
        for _ in range(most):
            h, jac = (x.real[pick] for x in self.constraints(q)[:2])
            size = float(np.linalg.norm(h))
            if size < tolerance:
                break
            step = np.zeros(self.nv)
            step[free] = -np.linalg.lstsq(jac[:, free], h, rcond=1e-8)[0]
            factor = min(1.0, 0.5 / max(1e-300, np.abs(step).max()))
            while factor > 1e-4:
                trial = self.moved(q, factor * step)
                if np.linalg.norm(self.residual(trial)[pick]) < size * (1 - 0.1 * factor) or size < 1e-11:
                    break
                factor /= 2
            q = self.moved(q, factor * step)
        return q, float(np.linalg.norm(self.residual(q)[pick]))

    def project(self, q: np.ndarray, qd: np.ndarray, t: float = 0.0) -> np.ndarray:
        """The velocity nearest to qd (in joint coordinates) that the constraints allow."""
        _, jac, drift = (x.real for x in self.constraints(q, t))
        return qd - np.linalg.lstsq(jac, jac @ qd + drift, rcond=1e-10)[0]

    def acceleration(
        self,
        q: np.ndarray,
        qd: np.ndarray,
        tau: np.ndarray | None = None,
        qdd_driven: np.ndarray | None = None,
        t: float = 0.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(qdd, lam) of M qdd + c = tau + springs + J^T lam, J qdd + bias = 0.

        lam is the one of least norm if constraints are redundant. Driven joints take qdd_driven (zero if not given).
        """
        mass, c = self.equations(q, qd)
        force = (np.zeros(self.nv) if tau is None else tau) + self.springs(q, qd)
        jac, bias = self.jacobian(q, t), self.bias(q, qd, t)
        lead = np.zeros(self.nv)
        if self.driven:
            lead[self.driven] = 0.0 if qdd_driven is None else qdd_driven
        free = [k for k in range(self.nv) if k not in self.driven]
        m, n = jac.shape[0], len(free)
        # motion: particular solution and null space of J; the multipliers from what is left of the equations
        jf, mf = jac[:, free], mass[np.ix_(free, free)]
        rhs = (force - c - mass @ lead)[free]
        u, s, vt = np.linalg.svd(jf) if m else (np.eye(0), np.zeros(0), np.eye(n))
        rank = int(np.sum(s > 1e-9 * s[0])) if s.size else 0
        null = vt[rank:].T
        given = -(bias + jac @ lead)
        particular = vt[:rank].T @ ((u[:, :rank].T @ given) / s[:rank]) if m else np.zeros(n)
        qdd = lead.copy()
        qdd[free] = particular + null @ np.linalg.solve(null.T @ mf @ null, null.T @ (rhs - mf @ particular))
        lam = np.linalg.lstsq(jf.T, mf @ qdd[free] - rhs, rcond=1e-9)[0] if m else np.zeros(0)
        return qdd, lam

    def springs(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """(nv,) efforts of linear spring-dampers between two points; the other force elements are not known here."""
        poses, twists = self.poses(np.asarray(q, dtype=complex))
        out = np.zeros(self.nv)
        for force in self.mech.forces:
            if force.kind != "spring_damper" or force.values.get("law", "linear") != "linear":
                continue
            _, p1, _, v1 = self.frame(poses, twists, force.points[0])
            _, p2, _, v2 = self.frame(poses, twists, force.points[1])
            z = (p1 - p2).real
            length = np.linalg.norm(z)
            row = (z / length) @ (v1 - v2).real
            k, d, free = (number(force.values.get(n, 0), self.values) for n in ("stiffness", "damping", "length"))
            out += row * (-k * (length - free) - d * (row @ qd))
        return out

    def energy(self, q: np.ndarray, qd: np.ndarray) -> float:
        """Kinetic energy, weight and the springs between points, J."""
        mass, _ = self.equations(q, qd)
        total = 0.5 * qd @ mass @ qd
        for b, _, _, com, _, _, _ in self.jacobians(np.asarray(q, dtype=complex)):
            total -= number(b.mass, self.values) * self.gravity @ com.real
        poses, twists = self.poses(np.asarray(q, dtype=complex))
        for force in self.mech.forces:
            if force.kind == "spring_damper":
                p1, p2 = (self.frame(poses, twists, e)[1].real for e in force.points)
                k, free = (number(force.values.get(n, 0), self.values) for n in ("stiffness", "length"))
                total += 0.5 * k * (np.linalg.norm(p1 - p2) - free) ** 2
        return float(total)
