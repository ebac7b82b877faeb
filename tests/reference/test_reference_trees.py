"""The reference for trees: against Pinocchio, MuJoCo and formulas from textbooks, and by conservation of energy."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.reference.bodies import NumericModel, coordinates
from symbody.reference.body_dynamics import BodyMotion
from symbody.reference.closures import Closures
from symbody.reference.energies import energies
from symbody.reference.frame_motion import prescribed, seen
from symbody.reference.maximal import solve

KINDS = (
    "revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "translation2", "translation3",
    "spherical", "ball", "y", "schoenflies", "floating", "free",
)  # fmt: skip
TENSOR = ((0.2, 0.01, 0.02), (0.01, 0.3, -0.03), (0.02, -0.03, 0.25))


def chain(kind):
    """A hinge, a joint of the kind on a skew axis, and a hinge behind it."""
    b = sb.Mechanism.builder(f"chain_{kind}", gravity=(0.3, -1.0, -9.81))
    for name in ("a", "b", "c"):
        b.body(name, mass=1.7, com=(0.1, 0.3, -0.2), inertia=TENSOR, frames={"end": (0.3, -0.5, 0.2)})
    options = {"axis": (1, 2, 2)} if kind in ("revolute", "prismatic", "helical", "cylindrical") else {}
    options |= {"pitch": 0.13} if kind in ("helical", "y") else {}
    b.joint("first", "revolute", "world", "a", (0.1, 0.2, 0.3), axis="y", rotor=(0.002, 12))
    b.joint("tried", kind, "a", "b", (0.2, -0.1, 0.4), rotation=("x", 0.4), **options)
    return b.joint("last", "revolute", "b", "c", (0.3, 0.1, 0), rotation=("z", 0.7), axis="-x").done()


def state(model, seed=3):
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-1, 1, (1, model.nq)), *rng.uniform(-1, 1, (2, 1, model.nv))
    return model.normalised(q), qd, qdd


@pytest.mark.parametrize("kind", KINDS)
def test_every_joint_moves_and_loads_as_in_pinocchio(kind):
    oracle = pytest.importorskip("pinocchio") and pytest.importorskip("helpers.pinocchio_oracle")
    mech = chain(kind)
    model, peer = NumericModel(mech), oracle.Peer(mech)
    q, qd, qdd = state(model)
    motion = BodyMotion(model, q, qd, qdd)
    np.testing.assert_allclose(motion.efforts()[0], peer.torques(q[0], qd[0], qdd[0]), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(motion.mass_matrix[0], peer.mass_matrix(q[0]), rtol=1e-11, atol=1e-11)
    (found,) = seen(motion, [("c", "end")])
    for name, wanted in peer.motion("c.end", q[0], qd[0], qdd[0]).items():
        np.testing.assert_allclose(getattr(found, name)[0], wanted, rtol=1e-11, atol=1e-11, err_msg=name)


def test_efforts_equal_those_of_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><option gravity="0 0.4 -9.81"/><compiler angle="radian"/><worldbody>
      <body pos="0 0.1 0.2" quat="0.9 0.1 -0.3 0.2"><freejoint name="f"/>
        <inertial pos="0.1 0 0.2" mass="2" fullinertia="0.3 0.2 0.25 0.01 0.02 -0.01"/>
        <body pos="0.3 0 0.1" euler="0.3 0.2 0.1"><joint name="h" type="hinge" axis="1 2 2" pos="0.1 0.05 0"/>
          <inertial pos="0 0.2 0" mass="1" diaginertia="0.03 0.02 0.025"/>
          <body pos="0 0.3 0"><joint name="s" type="slide" axis="0 1 1"/>
            <inertial pos="0 0 0.1" mass="0.5" diaginertia="0.01 0.02 0.015"/></body></body></body>
      </worldbody></mujoco>"""
    path = tmp_path / "arm.xml"
    path.write_text(text)
    mech = sb.load(str(path))
    peer = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(peer)
    model = NumericModel(mech)
    q, qd, qdd = state(model)
    data.qpos[:], turn = q[0], slice(0, 3)
    # MuJoCo's free joint has its linear velocity first, in world axes, the angular one in body axes
    rate = coordinates(model, q, qd, qdd)
    data.qvel[:] = np.concatenate([rate.x1[0, :3], qd[0, turn], qd[0, 6:]])
    data.qacc[:] = np.concatenate([rate.x2[0, :3], qdd[0, turn], qdd[0, 6:]])
    mujoco.mj_inverse(peer, data)
    found = BodyMotion(model, q, qd, qdd).efforts()[0]
    rotation = seen(BodyMotion(model, q, qd, qdd), [(mech.bodies[0].name, "")])[0].R[0]
    wanted = np.concatenate([data.qfrc_inverse[3:6], rotation.T @ data.qfrc_inverse[:3], data.qfrc_inverse[6:]])
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


def test_the_double_pendulum_has_the_equations_of_textbooks():
    """Two point masses on massless rods, angles from the vertical, the second relative to the first."""
    m1, m2, l1, l2, g = 1.2, 0.7, 0.5, 0.8, 9.81
    b = sb.Mechanism.builder("double", gravity=(0, -g, 0))
    b.body("a", mass=m1, com=(0, -l1, 0)).body("b", mass=m2, com=(0, -l2, 0))
    b.joint("one", "revolute", "world", "a").joint("two", "revolute", "a", "b", (0, -l1, 0))
    model = NumericModel(b.done())
    (q,), (qd,), (qdd,) = state(model)
    u, w, a1, a2 = qd[0], qd[0] + qd[1], qdd[0], qdd[0] + qdd[1]
    t1, t2, d = q[0], q[0] + q[1], q[1]
    second = m2 * l2 * (l2 * a2 + l1 * a1 * np.cos(d) + l1 * u * u * np.sin(d) + g * np.sin(t2))
    first = (m1 + m2) * l1 * (l1 * a1 + g * np.sin(t1)) + m2 * l1 * l2 * (a2 * np.cos(d) - w * w * np.sin(d))
    found = BodyMotion(model, q, qd, qdd).efforts()[0]
    np.testing.assert_allclose(found, [first + second, second], rtol=1e-13)


def test_a_spinning_rotor_makes_its_carrier_precess():
    """A flywheel of angular momentum H on a turning platform needs the torque omega x H."""
    b = sb.Mechanism.builder("gyro", gravity=(0, 0, 0))
    b.body("table", mass=1, inertia=(1, 1, 1)).body("wheel", mass=0).body("post", mass=0)
    b.joint("turn", "revolute", "world", "table", axis="z")
    b.joint("spin", "revolute", "table", "wheel", axis="x", rotor=(0.01, 50, True))
    model = NumericModel(b.joint("f", "fixed", "wheel", "post").done())
    motion = BodyMotion(model, [0, 0], [2.0, 3.0], [0, 0])
    np.testing.assert_allclose(
        motion.joint_wrenches()[0, 0, :3], np.cross([0, 0, 2], [0.01 * 50 * 3, 0, 0]), atol=1e-14
    )


def test_energy_changes_by_the_power_of_the_efforts():
    """Springs, friction, rotors, elastic gears and followers included, by a small step along the motion."""
    b = sb.Mechanism.builder("all")
    for name in ("a", "b", "c"):
        b.body(name, mass=1.7, com=(0.1, 0.3, -0.2), inertia=TENSOR)
    b.joint("one", "revolute", "world", "a", axis="y", rotor=(0.001, 30), elastic=(40, 0.3), viscous=0.2)
    b.joint("two", "revolute", "a", "b", (0.3, 0, 0), axis="x", rotor=(0.001, 20, True), stiffness=3, rest=0.2)
    b.joint("three", "revolute", "b", "c", (0, 0.4, 0), axis="z", mimic=("two", -0.5, 0.1), coulomb=0.4, stiffness=2)
    model = NumericModel(b.done())
    q, qd, qdd = state(model)
    motion = BodyMotion(model, q, qd, qdd)
    tau = motion.efforts()

    def total(h):
        moved = BodyMotion(model, q + h * qd + h * h / 2 * qdd, qd + h * qdd)
        found = energies(moved, tau)
        return found.kinetic + found.potential

    here = energies(motion, tau)
    rate = (total(1e-5) - total(-1e-5)) / 2e-5
    np.testing.assert_allclose(rate, here.power - here.dissipated, rtol=1e-8)


def test_its_own_accelerations_conserve_energy():
    """A swinging four-bar linkage, integrated by maximal coordinates alone."""
    model = NumericModel(sb.load("four_bar"))
    closures = Closures(model)

    def rate(x):
        motion = BodyMotion(model, x[:3], x[3:])
        return np.concatenate([x[3:], solve(motion, closures, np.zeros((1, 3))).qdd[0]])

    def energy(x):
        found = energies(BodyMotion(model, x[:3], x[3:]), np.zeros((1, 3)))
        return float((found.kinetic + found.potential)[0])

    from symbody.reference.closed_search import consistent_velocities

    x = np.concatenate([np.zeros(3), consistent_velocities(closures, np.zeros((1, 3)), np.array([[3.0, 0, 0]]))[0]])
    start, h = energy(x), 2e-3
    for _ in range(60):
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))
    assert abs(energy(x) - start) < 1e-7 * abs(start)
    assert np.abs(closures.gap(x[None, :3])).max() < 1e-7


def test_a_driven_quaternion_turns_as_its_laws_say():
    """A quaternion of any length about a fixed axis: half the angle stands in it."""
    b = sb.Mechanism.builder("ship").body("hull", mass=1, inertia=(1, 1, 1))
    laws = ["t", "0", "t^2", "2*cos(t^2/2)", "0", "0", "2*sin(t^2/2)"]
    mech = b.joint("j", "free", "world", "hull", mode="driven", value=laws).done()
    q, qd, qdd = prescribed(NumericModel(mech).number, mech.joints[0], 0.5)
    np.testing.assert_allclose(q, [0.5, 0, 0.25, np.cos(0.125), 0, 0, np.sin(0.125)], atol=1e-14)
    np.testing.assert_allclose(qd[:3], [0, 0, 1.0], atol=1e-14)
    np.testing.assert_allclose(qdd[:3], [0, 0, 2.0], atol=1e-14)
    c, s = np.cos(0.25), np.sin(0.25)
    np.testing.assert_allclose(qd[3:], [c, -s, 1.0], atol=1e-14)  # world velocity (1, 0, 1) in body axes
