"""Driven joints of several coordinates: a base that moves by laws of time, and what it carries."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from helpers.pinocchio_oracle import Peer
from symbody.basics.errors import ModelError
from symbody.model.build.builder import Builder
from symbody.model.record.mechanism import Mechanism
from symbody.motion.run.simulate import simulate
from symbody.studies.linear.operating_point import driven_motion

LAWS = ["0.2*sin(3*t)", "0.1*t^2", "0.3*cos(2*t)", "0.4*sin(2*t)", "0.3*t", "0.5*sin(t)"]


def swing(b: Builder) -> Mechanism:
    """A pendulum about x on the body "base"."""
    b.body("bob", mass=0.8, com=(0.1, 0, -0.5), inertia=(0.05, 0.06, 0.01))
    return b.joint("swing", "revolute", "base", "bob", position=(0.2, 0, 0.1), axis="x").done()


def carried(kind: str, value, **details) -> Mechanism:
    b = Builder("moving").body("base", mass=2, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.25))
    return swing(b.joint("base", kind, "world", "base", mode="driven", value=value, **details))


def chain() -> Mechanism:
    """The same base on six joints of one axis each."""
    b, parent = Builder("chain"), "world"
    for k, law in enumerate(LAWS):
        name = "base" if k == 5 else f"s{k}"
        b.body(name, **({"mass": 2, "com": (0.1, 0, 0), "inertia": (0.1, 0.2, 0.25)} if k == 5 else {}))
        kind = "prismatic" if k < 3 else "revolute"
        b.joint(f"j{k}", kind, parent, name, axis="xyz"[k % 3], mode="driven", value=law)
        parent = name
    return swing(b)


def test_a_base_that_moves_by_six_laws_is_a_chain_of_six_driven_joints():
    one, six = (simulate(m, 2.0, rtol=1e-10, q0={"swing": 0.3}) for m in (carried("floating", LAWS), chain()))
    np.testing.assert_allclose(one.q[-1], six.q[-1], atol=1e-8)
    np.testing.assert_allclose(one.qd[-1], six.qd[-1], atol=1e-8)
    t = one.t
    np.testing.assert_allclose(one["q.base.1"], 0.2 * np.sin(3 * t), atol=1e-14)
    np.testing.assert_allclose(one["qd.base.2"], 0.2 * t, atol=1e-14)
    np.testing.assert_allclose(one["qdd.base.4"], -1.6 * np.sin(2 * t), atol=1e-13)


@pytest.mark.parametrize("kind", ["floating", "free"])
def test_efforts_of_a_moving_base_are_those_of_pinocchio(kind):
    value = LAWS if kind == "floating" else [*LAWS[:3], "cos(0.3*t)", "0.2*t", "0.5*sin(t)", "0.1"]
    mech, t = carried(kind, value), 0.7
    q, qd, qdd = driven_motion(mech, t, {})
    q[-1], qd[-1], qdd[-1] = 0.3, -0.5, 1.1
    tau = sb.inverse_dynamics(mech, "base").compile("python")(q, qd, qdd)
    np.testing.assert_allclose(tau, Peer(mech).torques(q, qd, qdd), rtol=1e-12, atol=1e-12)


def test_velocities_of_quaternion_laws_are_the_rates_of_the_pose():
    """omega and the velocity of the origin in body axes, by central differences of the pose of SciPy's rotations."""
    rotation_of = pytest.importorskip("scipy.spatial.transform").Rotation
    mech = carried("free", ["sin(t)", "t^2", "0.3", "cos(t)", "0.4*t", "0.2", "sin(t)"])  # of no constant length

    def pose(t):
        w, x, y, z = np.cos(t), 0.4 * t, 0.2, np.sin(t)
        return rotation_of.from_quat([x, y, z, w]), np.array([np.sin(t), t**2, 0.3])

    def velocity(t, h=1e-5):
        (r1, p1), (r0, p0) = pose(t + h), pose(t - h)
        here = pose(t)[0]
        return np.concatenate([(r0.inv() * r1).as_rotvec(), here.inv().apply(p1 - p0)]) / (2 * h)

    t = 0.9
    q, qd, qdd = driven_motion(mech, t, {})
    turn, place = pose(t)
    x, y, z, w = turn.as_quat()
    np.testing.assert_allclose(q[:3], place, atol=1e-15)
    np.testing.assert_allclose(q[3:7] * np.sign(q[3]), np.array([w, x, y, z]) * np.sign(w), atol=1e-15)
    np.testing.assert_allclose(qd[:6], velocity(t), atol=1e-8)
    np.testing.assert_allclose(qdd[:6], (velocity(t + 1e-3) - velocity(t - 1e-3)) / 2e-3, atol=1e-5)


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_a_base_turned_by_a_quaternion_moves_as_by_an_angle(kind):
    angle = "0.8*sin(2*t)"
    turn = [f"3*cos(({angle})/2)", 0, 0, f"3*sin(({angle})/2)"]
    if kind == "ball":
        pair = carried("ball", turn), carried("spherical", [0, 0, angle])
    else:
        pair = carried("free", ["0.1*t", 0, "sin(t)", *turn]), carried("floating", ["0.1*t", 0, "sin(t)", 0, 0, angle])
    one, two = (simulate(m, 1.5, rtol=1e-10, q0={"swing": 0.3}) for m in pair)
    assert one["q.swing"][-1] == pytest.approx(two["q.swing"][-1], abs=1e-8)
    assert one["qd.swing"][-1] == pytest.approx(two["qd.swing"][-1], abs=1e-8)


def test_loops_close_on_a_base_of_several_driven_coordinates():
    """A rod from the world to a pendulum on a planar base: its end stays on the circle, start and end."""
    b = Builder("loop").body("base", mass=1, inertia=(0, 0, 0.1)).body("arm", mass=1, com=(0.5, 0, 0))
    b.body("ground", frames={"pin": (1.2, 0.5, 0)}).joint("ground", "fixed", "world", "ground")
    b.body("link", mass=0.5, com=(0.2, 0, 0), inertia=(0, 0.01, 0.01), frames={"tip": (0.6, 0, 0)})
    b.joint("base", "planar", "world", "base", mode="driven", value=["0.1*sin(t)", "0.1*t", "0.2*sin(2*t)"])
    b.joint("arm", "revolute", "base", "arm").joint("link", "revolute", "arm", "link", position=(1, 0, 0))
    mech = b.cut("rod", "rod", "ground.pin", "link.tip", length=0.7).done()
    traj = simulate(mech, 0.5, 1e-3, q0={"arm": 0.2, "link": -0.4})
    for k in (0, -1):
        x, y, base, arm, link = traj.q[k]
        tip = np.array([x + np.cos(base + arm), y + np.sin(base + arm)])
        tip += 0.6 * np.array([np.cos(base + arm + link), np.sin(base + arm + link)])
        assert np.hypot(*(tip - [1.2, 0.5])) == pytest.approx(0.7, abs=1e-7)
    np.testing.assert_allclose(traj.qd[0][:3], [0.1, 0.1, 0.4], atol=1e-12)


@pytest.mark.parametrize("given", [{"base": [1, 0, 0.3, 0, 0, 0]}, {"base.1": 1}])
def test_a_start_that_contradicts_one_of_the_laws_is_refused(given):
    with pytest.raises(ModelError, match=r"driven and its law gives 0 for 'base.1'"):
        simulate(carried("floating", LAWS), 0.1, q0=given)


def test_verify_accepts_a_driven_base():
    assert sb.verify(carried("cylindrical", ["0.1*t", "sin(t)"]), states=2).passed
