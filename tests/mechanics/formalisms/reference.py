"""Dynamics of trees by the definition, in world axes and floats, from the Mechanism alone: slow, plain, independent.

Nothing here is shared with `symbody.mechanics.formalisms`: poses are homogeneous matrices, velocities come from
Jacobians, and accelerations from differences of exact Jacobian rates (complex step), so that no recursion formula is
repeated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import symbody as sb
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import Mechanism


def number(x: Any, values: dict[str, float]) -> float:
    return float(sb.evaluate(x, values)) if isinstance(x, sb.Node) else float(x)


def numbers(a: Any, values: dict[str, float]) -> np.ndarray:
    a = np.asarray(a, dtype=object)
    return np.array([number(x, values) for x in a.flat]).reshape(a.shape)


def hat(v: np.ndarray) -> np.ndarray:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def axis_angle(u: np.ndarray, angle: complex) -> np.ndarray:
    k = hat(u)
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)


def quaternion(q: np.ndarray) -> np.ndarray:
    """Rotation of a unit quaternion (w, x, y, z), by v + 2 w (u x v) + 2 u x (u x v)."""
    k = hat(q[1:])
    return np.eye(3) + 2 * q[0] * k + 2 * k @ k


AXES = dict(x=np.array([1.0, 0, 0]), y=np.array([0, 1.0, 0]), z=np.array([0, 0, 1.0]))


class World:
    """A Mechanism with numbers for its parameters."""

    def __init__(self, mech: Mechanism, values: dict[str, float] | None = None) -> None:
        self.mech = mech
        self.values = {n: s.data.default for n, s in mech.parameters.items()}
        self.values.update(values or {})
        self.gravity = numbers(mech.gravity, self.values)
        self.rows = []  # parent, child, rotation, position, [(letter, axis, pitch, coordinate map)]
        self.nq, self.nv = 0, 0
        self.first: dict[str, tuple[int, int]] = {}
        for j in mech.joints:
            u = numbers(j.axis, self.values)
            pitch = number(j.pitch, self.values) if j.pitch is not None else 0.0
            motions = [(m.key, u if a == "u" else AXES.get(a), pitch) for m, a in KINDS[j.kind].motions(j)]
            if j.elastic is not None:
                motions.append(motions[-1])
            own = j.kind != "fixed" and j.mode != "locked" and j.mimic is None
            if own:
                self.first[j.name] = (self.nq, self.nv)
            entries = []
            for letter, axis, p in motions:
                if j.mode == "locked":
                    value = number(j.value, self.values) if j.value is not None else 0.0
                    entries.append((letter, axis, p, "locked", value, None))
                elif j.mimic is not None:
                    ratio, offset = number(j.mimic.ratio, self.values), number(j.mimic.offset, self.values)
                    entries.append((letter, axis, p, "mimic", (ratio, offset), self.first[j.mimic.joint]))
                else:
                    width_q, width_v = {"B": (4, 3), "F": (7, 6)}.get(letter, (1, 1))
                    entries.append((letter, axis, p, "own", None, (self.nq, self.nv)))
                    self.nq += width_q
                    self.nv += width_v
            self.rows.append(
                (j, numbers(j.placement.rotation, self.values), numbers(j.placement.position, self.values), entries)
            )

    def advance(self, q: np.ndarray, qd: np.ndarray, dt: complex) -> np.ndarray:
        """q moved along qd to first order in dt; quaternions by their kinematic equation."""
        out = np.array(q, dtype=complex)
        for _, _, _, entries in self.rows:
            for letter, _, _, how, _, place in entries:
                if how != "own":
                    continue
                iq, iv = place
                if letter in "BF":
                    w = qd[iv : iv + 3]
                    k = iq + (3 if letter == "F" else 0)
                    s, v = q[k], q[k + 1 : k + 4]
                    out[k] += dt * (-0.5 * v @ w)
                    out[k + 1 : k + 4] += dt * 0.5 * (s * w + np.cross(v, w))
                    if letter == "F":
                        out[iq : iq + 3] += dt * (quaternion(q[k : k + 4]) @ qd[iv + 3 : iv + 6])
                else:
                    out[iq] += dt * qd[iv]
        return out

    def poses(self, q: np.ndarray) -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], list]:
        """Pose of every body in world axes, and the unit twists of every velocity: (body, column, w, v, at point)."""
        bodies = {"world": (np.eye(3, dtype=complex), np.zeros(3, dtype=complex))}
        twists: dict[str, list] = {"world": []}
        self.rotor_frames = []
        for j, rotation, position, entries in self.rows:
            r0, p0 = bodies[j.parent]
            r, p = r0 @ rotation, p0 + r0 @ position
            mine = list(twists[j.parent])
            if j.rotor is not None and entries:
                letter, axis, _, how, value, place = entries[0]
                self.rotor_frames.append((j, r, p, axis, how, value, place, list(mine)))
            for letter, axis, pitch, how, value, place in entries:
                if letter in "BF":
                    if how == "locked":
                        continue
                    iq, iv = place
                    if letter == "F":
                        p = p + r @ q[iq : iq + 3]
                    r = r @ quaternion(q[iq + (3 if letter == "F" else 0) : iq + (7 if letter == "F" else 4)])
                    for k in range(3):
                        mine.append((iv + k, 1.0, r[:, k], np.zeros(3), p))
                    if letter == "F":
                        for k in range(3):
                            mine.append((iv + 3 + k, 1.0, np.zeros(3), r[:, k], p))
                    continue
                if how == "locked":
                    x, factor = value, None
                elif how == "mimic":
                    x, factor = value[0] * q[place[0]] + value[1], value[0]
                else:
                    x, factor = q[place[0]], 1.0
                u = r @ axis
                if letter in "TH":
                    p = p + u * x * (pitch if letter == "H" else 1.0)
                if letter in "RH":
                    r = r @ axis_angle(axis, x)
                if factor is not None:
                    w = u if letter in "RH" else np.zeros(3)
                    v = u * (pitch if letter == "H" else 1.0) if letter in "TH" else np.zeros(3)
                    mine.append((place[1], factor, w, v, p))
            bodies[j.child] = (r, p)
            twists[j.child] = mine
        return bodies, twists

    def jacobians(self, q: np.ndarray) -> list[tuple[Any, ...]]:
        """(body, rotation, origin, com, Jacobians of angle, com and origin) in world axes, for every body."""
        bodies, twists = self.poses(q)
        out = []
        for b in self.mech.bodies:
            if b.name not in bodies:
                continue
            r, p = bodies[b.name]
            com = p + r @ numbers(b.com, self.values)
            jw, jv = np.zeros((3, self.nv), dtype=complex), np.zeros((3, self.nv), dtype=complex)
            jo = np.zeros((3, self.nv), dtype=complex)
            for column, factor, w, v, at in twists[b.name]:
                jw[:, column] += factor * w
                jv[:, column] += factor * (v + np.cross(w, com - at))
                jo[:, column] += factor * (v + np.cross(w, p - at))
            out.append((b, r, p, com, jw, jv, jo))
        return out

    def equations(
        self, q: np.ndarray, qd: np.ndarray, wrenches: dict[str, np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(M, c) from the principle of virtual power, sum over bodies of J^T (inertia forces - gravity)."""
        h = 1e-30
        now, later = self.jacobians(q.astype(complex)), self.jacobians(self.advance(q, qd, 1j * h))
        mass, c = np.zeros((self.nv, self.nv)), np.zeros(self.nv)
        for (b, r, _, _, jw, jv, jo), (_, _, _, _, jw2, jv2, _) in zip(now, later):
            r, jw, jv, jo = r.real, jw.real, jv.real, jo.real
            m = number(b.mass, self.values)
            inertia = r @ numbers(b.inertia, self.values) @ r.T
            w, bias_w, bias_v = jw @ qd, (jw2.imag / h) @ qd, (jv2.imag / h) @ qd
            mass += m * jv.T @ jv + jw.T @ inertia @ jw
            c += jv.T @ (m * (bias_v - self.gravity)) + jw.T @ (inertia @ bias_w + np.cross(w, inertia @ w))
            if wrenches and b.name in wrenches:
                moment, force = r @ wrenches[b.name][:3], r @ wrenches[b.name][3:]
                c -= jo.T @ force + jw.T @ moment
        self._rotors(q, qd, mass, c)
        self._laws(q, qd, c)
        return mass, c

    def _rotors(self, q: np.ndarray, qd: np.ndarray, mass: np.ndarray, c: np.ndarray) -> None:
        """Reflected: ratio^2 I. Gyroscopic: the momentum I u (ratio qd) is carried by a parent that turns."""
        h = 1e-30

        def spin(at: np.ndarray) -> list[tuple[Any, np.ndarray, np.ndarray]]:
            self.poses(at)
            out = []
            for j, r, _, axis, how, value, place, twists in self.rotor_frames:
                if how == "locked":
                    continue
                carrier = np.zeros((3, self.nv), dtype=complex)
                for column, factor, w, _, _ in twists:
                    carrier[:, column] += factor * w
                row = np.zeros(self.nv)
                row[place[1]] = value[0] if how == "mimic" else 1.0
                out.append((j, r @ axis, carrier, row))
            return out

        for (j, u, carrier, row), (_, u2, carrier2, _) in zip(
            spin(q.astype(complex)), spin(self.advance(q, qd, 1j * h))
        ):
            inertia, ratio = number(j.rotor.inertia, self.values), number(j.rotor.ratio, self.values)
            if not j.rotor.gyroscopic or j.parent == "world":
                mass += inertia * ratio**2 * np.outer(row, row)
                continue

            # kinetic energy 1/2 I (u.w + ratio row qd)^2 - 1/2 I (u.w)^2: the rotor at rest is part of the parent
            def momentum(u: np.ndarray, carrier: np.ndarray) -> np.ndarray:
                return u @ carrier

            g = momentum(u, carrier).real
            gd = (momentum(u2, carrier2).imag) / h
            s = ratio * row
            mass += inertia * (np.outer(g, s) + np.outer(s, g) + np.outer(s, s))
            # spinning part: generalised force of d/dt (I u) spin on the carrier, and of I gd.qd on the joint
            spin_rate = s @ qd
            ud = u2.imag / h
            c += inertia * (carrier.real.T @ ud * spin_rate + s * (gd @ qd))

    def _laws(self, q: np.ndarray, qd: np.ndarray, c: np.ndarray) -> None:
        for j, _, _, entries in self.rows:
            if j.mode == "locked":
                continue
            for k, (letter, _, _, how, value, place) in enumerate(entries):
                elastic = j.elastic is not None and k == len(entries) - 1
                if elastic:
                    ks, ds = (number(x, self.values) for x in j.elastic)
                    c[place[1]] += ks * q[place[0]] + ds * qd[place[1]]
                    continue
                width = {"B": 3, "F": 6}.get(letter, 1)
                for i in range(width):
                    ratio = value[0] if how == "mimic" else 1.0
                    x = q[place[0] + i] * ratio + (value[1] if how == "mimic" else 0.0) if width == 1 else 0.0
                    v = ratio * qd[place[1] + i]
                    effort = 0.0
                    if j.stiffness is not None:
                        rest = number(j.rest, self.values) if j.rest is not None else 0.0
                        effort += number(j.stiffness, self.values) * (x - rest)
                    if j.viscous is not None:
                        effort += number(j.viscous, self.values) * v
                    if j.coulomb is not None:
                        effort += number(j.coulomb, self.values) * math.copysign(1.0, v) * (v != 0)
                    c[place[1] + i] += ratio * effort
