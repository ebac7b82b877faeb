"""Robots of the package example-robot-data, and their states in Pinocchio's order."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from helpers.mechanism_numbers import Numbers

# robots of the package example-robot-data, below share/example-robot-data/robots
DESCRIPTIONS = (
    "panda_description/urdf/panda.urdf", "ur_description/urdf/ur3_robot.urdf", "kinova_description/robots/kinova.urdf",
    "tiago_description/robots/tiago.urdf", "talos_data/robots/talos_full_v2.urdf", "icub_description/robots/icub.urdf",
    "romeo_description/urdf/romeo.urdf", "pr2_description/urdf/pr2.urdf", "baxter_description/urdf/baxter.urdf",
    "hyq_description/robots/hyq_no_sensors.urdf", "solo_description/robots/solo12.urdf",
    "so_arm_description/urdf/so101.urdf", "allegro_hand_description/urdf/allegro_left_hand.urdf",
    "simple_humanoid_description/urdf/simple_humanoid.urdf",
)  # fmt: skip


def descriptions() -> Path:
    """The folder of example-robot-data, wherever the package manager has put it."""
    spec = importlib.util.find_spec("pinocchio")
    for folder in Path(spec.origin).parents if spec and spec.origin else ():
        found = folder / "share" / "example-robot-data" / "robots"
        if found.is_dir():
            return found
    pytest.skip("the package example-robot-data is not installed")


def pinocchio_state(model, mech, q):
    """Pinocchio's configuration for q, and for each of its velocities the index of ours."""
    pin = pytest.importorskip("pinocchio")
    first = Numbers(mech, q).first
    out, order = pin.neutral(model), np.zeros(model.nv, dtype=int)
    for name, joint in list(zip(model.names, model.joints))[1:]:
        iq, iv = first[name]
        at = slice(joint.idx_q, joint.idx_q + joint.nq)
        order[joint.idx_v : joint.idx_v + joint.nv] = np.arange(iv, iv + joint.nv)
        if joint.nq == 7:  # ours: position, (w, x, y, z); angular velocity first
            out[at] = np.r_[q[iq : iq + 3], q[iq + 4 : iq + 7], q[iq + 3]]
            order[joint.idx_v : joint.idx_v + 6] = np.r_[iv + 3 : iv + 6, iv : iv + 3]
        elif joint.nq == 2 and joint.nv == 1:
            out[at] = np.cos(q[iq]), np.sin(q[iq])
        elif joint.nq == 4 and joint.nv == 3:  # planar
            out[at] = q[iq], q[iq + 1], np.cos(q[iq + 2]), np.sin(q[iq + 2])
        else:
            out[at] = q[iq]
    return out, order


def random_q(mech, rng):
    q = rng.uniform(-1, 1, mech.nq)
    at = 0
    for j in mech.joints:
        if j.kind == "free":
            q[at + 3 : at + 7] /= np.linalg.norm(q[at + 3 : at + 7])
            at += 7
        elif j.kind != "fixed" and j.mimic is None:
            at += 3 if j.kind == "planar" else 1
    return q
