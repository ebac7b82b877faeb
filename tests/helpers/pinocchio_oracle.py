"""A Mechanism as a Pinocchio model: the oracle of kinematics, energies and inverse dynamics.

Every elementary motion becomes a Pinocchio joint; only the last of a joint carries the body. Pinocchio writes
quaternions (x, y, z, w) and free velocities linear first; `Peer` takes and gives symbody's orders.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symbody as sb
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import Mechanism

pin = pytest.importorskip("pinocchio")

AXES = {"x": np.eye(3)[0], "y": np.eye(3)[1], "z": np.eye(3)[2]}


class Peer:
    """The model, its data, and the permutations between the two orders of coordinates."""

    def __init__(self, mech: Mechanism) -> None:
        self.mech = mech
        self.values = {name: s.data.default for name, s in mech.parameters.items()}
        self.model = pin.Model()
        self.model.gravity.linear = self.array(mech.gravity)
        self.model.gravity.angular = np.zeros(3)
        self.q_order: list[int] = []  # Pinocchio's coordinate k is symbody's coordinate q_order[k]
        self.v_order: list[int] = []
        place = {"world": (0, pin.SE3.Identity())}
        armature: list[float] = []
        for joint in mech.joints:
            index, pose = place[joint.parent]
            pose = pose * pin.SE3(self.array(joint.placement.rotation), self.array(joint.placement.position))
            axis = self.array(joint.axis)
            for k, (motion, name) in enumerate(KINDS[joint.kind].motions(joint)):
                letter = motion.key
                u = axis if name == "u" else AXES.get(name)
                pitch = self.number(joint.pitch) if joint.pitch is not None else 0.0
                index = self.model.addJoint(index, _joint(letter, u, pitch), pose, f"{joint.name}.{k}")
                pose = pin.SE3.Identity()
                iq, iv = len(self.q_order), len(self.v_order)
                self.q_order += [iq + i for i in {"B": (1, 2, 3, 0), "F": (0, 1, 2, 4, 5, 6, 3)}.get(letter, (0,))]
                self.v_order += [iv + i for i in {"B": (0, 1, 2), "F": (3, 4, 5, 0, 1, 2)}.get(letter, (0,))]
                rotor = joint.rotor if k == 0 else None
                reflected = 0.0 if rotor is None else self.number(rotor.inertia) * self.number(rotor.ratio) ** 2
                armature += [reflected] * {"B": 3, "F": 6}.get(letter, 1)
            place[joint.child] = (index, pose)
            body = mech.body(joint.child)
            inertia = pin.Inertia(self.number(body.mass), self.array(body.com), self.array(body.inertia))
            self.model.appendBodyToJoint(index, inertia, pose)
            self._add_frame(joint.child, index, pose)
            for name, placement in body.frames.items():
                fixed = pin.SE3(self.array(placement.rotation), self.array(placement.position))
                self._add_frame(f"{joint.child}.{name}", index, pose * fixed)
        self.model.armature = np.array(armature)
        self.data = self.model.createData()

    def _add_frame(self, name: str, joint: int, pose: Any) -> None:
        self.model.addFrame(pin.Frame(name, joint, 0, pose, pin.FrameType.OP_FRAME), False)

    def number(self, x: Any) -> float:
        return float(sb.evaluate(x, self.values))

    def array(self, a: Any) -> np.ndarray:
        return np.array([self.number(x) for x in a.flat]).reshape(a.shape)

    def q(self, q: np.ndarray) -> np.ndarray:
        return np.asarray(q)[self.q_order]

    def v(self, v: np.ndarray) -> np.ndarray:
        return np.asarray(v)[self.v_order]

    def back(self, v: np.ndarray) -> np.ndarray:
        """Entries along the last axis, from Pinocchio's order of velocities to symbody's."""
        out = np.empty_like(v)
        out[..., self.v_order] = v
        return out

    def frame(self, name: str) -> int:
        return int(self.model.getFrameId(name, pin.FrameType.OP_FRAME))

    def torques(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return self.back(pin.rnea(self.model, self.data, self.q(q), self.v(qd), self.v(qdd)))

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Column by column from inverse dynamics: Pinocchio's own needs joints in depth-first order."""
        rest = np.zeros(self.model.nv)
        weight = self.torques(q, rest, rest)
        return np.stack([self.torques(q, rest, unit) - weight for unit in np.eye(self.model.nv)], axis=1)

    def motion(self, name: str, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> dict[str, np.ndarray]:
        """R, p, omega, v, alpha, a (classical), J, Jd of a frame, in world axes, angular first."""
        model, data, i = self.model, self.data, self.frame(name)
        aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        pin.forwardKinematics(model, data, self.q(q), self.v(qd), self.v(qdd))
        pin.updateFramePlacements(model, data)
        velocity = pin.getFrameVelocity(model, data, i, aligned)
        acceleration = pin.getFrameClassicalAcceleration(model, data, i, aligned)
        pin.computeJointJacobiansTimeVariation(model, data, self.q(q), self.v(qd))
        j = pin.getFrameJacobian(model, data, i, aligned)
        jd = pin.getFrameJacobianTimeVariation(model, data, i, aligned)
        return {
            "R": data.oMf[i].rotation.copy(), "p": data.oMf[i].translation.copy(),
            "omega": velocity.angular, "v": velocity.linear,
            "alpha": acceleration.angular, "a": acceleration.linear,
            "J": self.back(_angular_first(j)), "Jd": self.back(_angular_first(jd)),
        }  # fmt: skip


def _joint(letter: str, axis: Any, pitch: float) -> Any:
    if letter == "R":
        return pin.JointModelRevoluteUnaligned(axis)
    if letter == "T":
        return pin.JointModelPrismaticUnaligned(axis)
    if letter == "H":
        return pin.JointModelHelicalUnaligned(axis, pitch)
    return pin.JointModelSpherical() if letter == "B" else pin.JointModelFreeFlyer()


def _angular_first(jacobian: np.ndarray) -> np.ndarray:
    """Rows of a Jacobian, which Pinocchio gives without its second axis where there is one velocity."""
    rows = np.reshape(jacobian, (6, -1))
    return np.vstack([rows[3:], rows[:3]])
