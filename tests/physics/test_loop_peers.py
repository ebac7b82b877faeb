"""Motions of closed loops beside those of other programs: Pinocchio with multipliers, MuJoCo with stiff springs."""

from typing import Any

import numpy as np
import pytest

import symbody as sb
from symbody.model.files import mjcf

STEP = 1e-3


def pinocchio_dynamics(mech: sb.Mechanism) -> Any:
    """(q, qd) -> qdd by constrained dynamics with multipliers; cuts of points and welds."""
    pin = pytest.importorskip("pinocchio")
    from helpers.pinocchio_oracle import Peer

    peer = Peer(mech)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for cut in mech.cuts:
        ends = [peer.model.frames[peer.frame(f"{b}.{f}" if f else b)] for b, f in (cut.first, cut.second)]
        kind = pin.ContactType.CONTACT_6D if any(r > 2 for r in cut.rows) else pin.ContactType.CONTACT_3D
        joints, places = [e.parentJoint for e in ends], [e.placement for e in ends]
        local = pin.ReferenceFrame.LOCAL
        models.append(pin.RigidConstraintModel(kind, peer.model, joints[0], places[0], joints[1], places[1], local))
        datas.append(models[-1].createData())
    pin.initConstraintDynamics(peer.model, peer.data, models, datas)
    none, settings = np.zeros(mech.nv), pin.ProximalSettings(1e-14, 1e-10, 1000)

    def qdd(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        state = peer.q(q), peer.v(qd), none
        return peer.back(pin.constraintDynamics(peer.model, peer.data, *state, models, datas, settings))

    return qdd


MOTIONS = [
    ("four_bar", {"crank": 8.0}, 0.3),
    ("delta", {"platform.1": 0.4, "platform.3": 0.2}, 0.15),
    pytest.param("stewart", {"platform.1": 0.1, "platform.6": 0.5}, 0.1, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("name", "rates", "duration"), MOTIONS)
def test_motion_equals_that_of_pinocchio(name, rates, duration):
    """Runge-Kutta of the multiplier equations from the same start: after a short time the loops are still closed."""
    mech = sb.load(name).replace(forces=())
    traj = sb.simulate(mech, duration, STEP, qd0=rates)
    assert traj.outcome.ok
    f = pinocchio_dynamics(mech)
    n = mech.nq
    assert mech.nq == mech.nv

    def slope(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[n:], f(x[:n], x[n:])])

    x = np.concatenate([traj.q[0], traj.qd[0]])
    for _ in range(round(duration / STEP)):
        k1 = slope(x)
        k2 = slope(x + STEP / 2 * k1)
        k3 = slope(x + STEP / 2 * k2)
        k4 = slope(x + STEP * k3)
        x = x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    assert np.abs(traj.q[-1] - traj.q[0]).max() > 0.05
    np.testing.assert_allclose(traj.q[-1], x[:n], atol=1e-6)
    np.testing.assert_allclose(traj.qd[-1], x[n:], atol=1e-6 * np.abs(x[n:]).max())


def test_motion_is_near_that_of_mujoco(tmp_path):
    """Its loops are closed by stiff springs with damping (the same file is read by both): a loose comparison."""
    mujoco = pytest.importorskip("mujoco")
    bar = '<geom type="capsule" fromto="0 0 0 {0}" size=".02" mass="1" contype="0" conaffinity="0"/>'
    path = tmp_path / "four_bar.xml"
    path.write_text(
        f"""<mujoco><option timestep="0.0001" integrator="RK4"/><compiler angle="radian"/><worldbody>
        <body name="crank"><joint name="a" axis="0 1 0"/>{bar.format("0 0 .2")}
        <body name="coupler" pos="0 0 .2"><joint name="b" axis="0 1 0"/>{bar.format(".5 0 .1")}</body></body>
        <body name="rocker" pos=".5 0 0"><joint name="c" axis="0 1 0"/>{bar.format("0 0 .3")}</body></worldbody>
        <equality><connect body1="rocker" body2="coupler" anchor="0 0 .3" solref="0.0004 1" solimp="0.999 0.9999 0.001"
        /></equality></mujoco>""",
        encoding="utf-8",
    )
    traj = sb.simulate(mjcf.read(path), 0.4, 1e-3, qd0={"a": 3.0})
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = traj.q[0], traj.qd[0]
    for _ in range(4000):
        mujoco.mj_step(model, data)
    assert np.abs(traj.q[-1] - traj.q[0]).max() > 0.5
    np.testing.assert_allclose(traj.q[-1], data.qpos, atol=5e-3)
