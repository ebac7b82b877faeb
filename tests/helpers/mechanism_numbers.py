"""A Mechanism in numbers: poses of its bodies and its mass matrix by the definition, to compare with other programs.

Nothing of `symbody.mechanics.formalisms` is used: poses outward, Jacobians from the twist of each motion, M = sum J' I
J.
"""

from __future__ import annotations

import numpy as np

import symbody as sb
from symbody.model.record.coordinates import has_coordinates
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import WORLD, Mechanism

AXES = {"x": np.array([1.0, 0, 0]), "y": np.array([0, 1.0, 0]), "z": np.array([0, 0, 1.0])}


def hat(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def turn(axis, angle):
    k = hat(axis)
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def quaternion(q):
    """Rotation of (w, x, y, z)."""
    k = hat(q[1:])
    return np.eye(3) + 2 * q[0] * k + 2 * k @ k


class Numbers:
    """The Mechanism at one configuration: `poses[body]` (R, p), `jacobians[body]` (6, nv) angular first; world axes."""

    def __init__(self, mech: Mechanism, q) -> None:
        self.mech = mech
        self.defaults = {name: s.data.default for name, s in mech.parameters.items()}
        self.first = {}
        iq = iv = 0
        for j in mech.joints:
            if has_coordinates(j):
                self.first[j.name] = (iq, iv)
                iq, iv = iq + KINDS[j.kind].nq(j), iv + KINDS[j.kind].nv(j)
        self.nv = iv
        self.poses = {WORLD: (np.eye(3), np.zeros(3))}
        self.jacobians = {WORLD: np.zeros((6, iv))}
        for j in mech.joints:
            self._joint(j, np.asarray(q, dtype=float))

    def value(self, x) -> np.ndarray:
        a = np.asarray(x, dtype=object)
        flat = [float(sb.evaluate(e, self.defaults)) if isinstance(e, sb.Node) else float(e) for e in a.flat]
        return np.array(flat).reshape(a.shape)

    def _joint(self, j, q) -> None:
        r0, p0 = self.poses[j.parent]
        jac = self.jacobians[j.parent].copy()
        r, arm = r0 @ self.value(j.placement.rotation), r0 @ self.value(j.placement.position)
        p = p0 + arm
        jac[3:] -= hat(arm) @ jac[:3]
        axis = self.value(j.axis)
        moving = j.mode != "locked"
        iq, iv = self.first.get(j.name, (0, 0))
        for k, (motion, name) in enumerate(KINDS[j.kind].motions(j)):
            letter = motion.key
            if letter in "BF":
                if letter == "F":
                    step = r @ q[iq : iq + 3]
                    jac[3:] -= hat(step) @ jac[:3]
                    p, iq = p + step, iq + 3
                r = r @ quaternion(q[iq : iq + 4])
                jac[:3, iv : iv + 3] += r
                if letter == "F":
                    jac[3:, iv + 3 : iv + 6] += r
                continue
            u = axis if name == "u" else AXES[name]
            angle, columns = self._coordinate(j, q, iq + k, iv + k, moving)
            if letter == "R":
                r = r @ turn(u, angle)
                for c, f in columns:
                    jac[:3, c] += f * r @ u
            else:
                step = r @ u * angle
                jac[3:] -= hat(step) @ jac[:3]
                p = p + step
                for c, f in columns:
                    jac[3:, c] += f * r @ u
        self.poses[j.child], self.jacobians[j.child] = (r, p), jac

    def _coordinate(self, j, q, iq, iv, moving):
        if not moving:
            return float(self.value(j.value)), ()
        if j.mimic is None:
            return q[iq], ((iv, 1.0),)
        jq, jv = self.first[j.mimic.joint]
        ratio, offset = float(self.value(j.mimic.ratio)), float(self.value(j.mimic.offset))
        return ratio * q[jq] + offset, ((jv, ratio),)

    def frame(self, body: str, frame: str = ""):
        """(R, p) of a named frame in the world."""
        r, p = self.poses[body]
        if not frame:
            return r, p
        place = self.mech.body(body).frames[frame]
        return r @ self.value(place.rotation), p + r @ self.value(place.position)

    def total_mass(self, bodies=None) -> float:
        return sum(float(self.value(b.mass)) for b in bodies or self.mech.bodies)

    def centre_of_mass(self, bodies=None):
        bodies = bodies or self.mech.bodies
        total = np.zeros(3)
        for b in bodies:
            r, p = self.poses[b.name]
            total += float(self.value(b.mass)) * (p + r @ self.value(b.com))
        return total / self.total_mass(bodies)

    def mass_matrix(self):
        """(nv, nv), with the reflected inertia of rotors."""
        out = np.zeros((self.nv, self.nv))
        for b in self.mech.bodies:
            r, _ = self.poses[b.name]
            jac = self.jacobians[b.name]
            linear = jac[3:] - hat(r @ self.value(b.com)) @ jac[:3]
            tensor = r @ self.value(b.inertia) @ r.T
            out += float(self.value(b.mass)) * linear.T @ linear + jac[:3].T @ tensor @ jac[:3]
        for j in self.mech.joints:
            if j.rotor is not None and j.name in self.first:
                iv = self.first[j.name][1]
                out[iv, iv] += float(self.value(j.rotor.inertia)) * float(self.value(j.rotor.ratio)) ** 2
        return out
