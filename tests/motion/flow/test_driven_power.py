"""What drives a mechanism brings its energy: dE/dt + dissipated = power, with the efforts of driven joints in tau."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb


def balance(mech, duration=0.5, samples=2001, **options):
    """The largest |dE/dt + dissipated - power| beside the largest power, by differences of fourth order in time."""
    m = sb.simulate(mech, duration, outputs=["energy", "power", "dissipated"], samples=samples, rtol=1e-11, **options)
    e, dt = m["energy"], m.t[1] - m.t[0]
    rate = (e[:-4] - 8 * e[1:-3] + 8 * e[3:-1] - e[4:]) / (12 * dt)
    power = m["power"][2:-2]
    assert np.abs(power).max() > 1e-3
    return float(np.abs(rate + m["dissipated"][2:-2] - power).max() / np.abs(power).max()), m


def pendulum_on_a_shaken_cart():
    b = sb.Mechanism.builder("shaken", gravity=[0, -9.81, 0])
    b.body("cart", mass=3)
    b.joint("cart", "prismatic", "world", "cart", axis="x", mode="driven", value="0.1*sin(20*t)", viscous=4, coulomb=2)
    b.body("bob", mass=0.7, com=[0, -0.4, 0], inertia=[0.01, 0.01, 0.02])
    b.joint("swing", "revolute", "cart", "bob", viscous=0.05, stiffness=1.5)
    return b.done()


def test_a_shaken_support_brings_what_the_pendulum_takes():
    error, _ = balance(pendulum_on_a_shaken_cart(), q0={"swing": 0.4}, slow=0.0)
    assert error < 1e-6


def test_the_effort_of_a_driven_joint_is_recorded_as_its_tau():
    """Cart and bob by Newton: F = 3 a + 4 v + 2 sign(v) + 0.7 (acceleration of the bob along x)."""
    mech = pendulum_on_a_shaken_cart()
    m = sb.simulate(
        mech, 0.5, q0={"swing": 0.4}, inputs={"swing": 0.3}, outputs={"F": "tau.cart"}, samples=101, slow=0.0
    )
    q, qd, qdd = m["q"], m["qd"], m["qdd"]
    bob = qdd[:, 0] + 0.4 * (np.cos(q[:, 1]) * qdd[:, 1] - np.sin(q[:, 1]) * qd[:, 1] ** 2)
    want = 3 * qdd[:, 0] + 4 * qd[:, 0] + 2 * np.sign(qd[:, 0]) + 0.7 * bob
    assert np.allclose(m["tau"][:, 0], want, rtol=1e-12, atol=1e-12)
    assert np.array_equal(m["F"], m["tau"][:, 0])
    assert np.allclose(m["tau"][:, 1], 0.3)


def test_a_driven_ball_joint_balances():
    b = sb.Mechanism.builder("nutating")
    b.body("head", mass=1.5, com=[0.1, 0, 0.2], inertia=[0.02, 0.03, 0.025])
    b.joint("neck", "ball", "world", "head", mode="driven",
            value=["1", "0.3*sin(5*t)", "0.2*cos(4*t)", "0.4*sin(3*t)"])  # fmt: skip
    b.body("arm", mass=0.4, com=[0, 0, -0.3], inertia=[0.003, 0.003, 0.001])
    b.joint("arm", "revolute", "head", "arm", axis="y", viscous=0.01)
    error, _ = balance(b.done())
    assert error < 1e-6


def engine(**piston):
    b = sb.Mechanism.builder("engine", gravity=[0, -9.81, 0])
    b.body("crank", mass=2, inertia=[0, 0, 0.004])
    b.body("rod", mass=0.5, com=[0, 0.04, 0], inertia=[0, 0, 7e-4], frames={"pin": [0, 0.13, 0]})
    b.body("piston", mass=0.4)
    b.joint("crank", "revolute", "world", "crank", mode="driven", value="30*t + 0.2*sin(40*t)")
    b.joint("rod", "revolute", "crank", "rod", position=[0, 0.04, 0], mode="passive")
    b.joint("piston", "prismatic", "world", "piston", axis="y", position=[0, 0.17, 0], **piston)
    b.cut("pin", "rows", "piston", "rod.pin", rows=["x", "y"])
    return b.done()


@pytest.mark.parametrize("options", [{}, {"formulation": "augmented"}], ids=["reduced", "augmented"])
def test_a_driven_crank_brings_what_the_engine_takes(options):
    error, m = balance(engine(viscous=3), inputs={"piston": -50.0}, **options)
    assert error < 1e-5
    # virtual power: crank and piston work on one motion
    slope = m["qd"][:, 2] / m["qd"][:, 0]
    fixed = sb.simulate(engine(viscous=3), 0.5, samples=2001, rtol=1e-11)
    assert np.allclose(m["tau"][:, 0] - fixed["tau"][:, 0], 50.0 * slope, atol=1e-6)


def cylinder(length):
    b = sb.Mechanism.builder("jack")
    b.body("base", frames={"foot": [0.5, 0, 0]}).joint("ground", "fixed", "world", "base")
    b.body("boom", mass=4, com=[0.6, 0, 0], inertia=[0.01, 0.4, 0.4], frames={"eye": [0.7, 0, 0]})
    b.joint("boom", "revolute", "world", "boom", axis="y", mode="passive", viscous=2)
    b.cut("jack", "rod", "base.foot", "boom.eye", length=length)
    return b.done()


def test_a_rod_of_prescribed_length_brings_its_power():
    error, _ = balance(cylinder("0.6 + 0.05*sin(7*t)"), q0={"boom": -1.0})
    assert error < 1e-5


def test_a_coupling_that_depends_on_time_brings_its_power():
    b = sb.Mechanism.builder("winch", gravity=[0, 0, -9.81])
    b.body("drum", mass=1, inertia=[0.02, 0.02, 0.02]).joint("drum", "revolute", "world", "drum", axis="y")
    b.body("load", mass=5).joint("load", "prismatic", "world", "load", axis="z", mode="passive")
    b.coupling("rope", "q.load - 0.1*q.drum - 0.05*sin(6*t)")
    error, _ = balance(b.done(), inputs={"drum": 4.0})
    assert error < 1e-5


def test_driven_and_moving_in_time_together():
    b = sb.Mechanism.builder("both")
    b.body("slide", mass=1).joint("slide", "prismatic", "world", "slide", axis="x", mode="driven", value="0.2*sin(3*t)")
    b.body("base", frames={"foot": [0.5, 0, 0]}).joint("ground", "fixed", "slide", "base")
    b.body("boom", mass=4, com=[0.6, 0, 0], inertia=[0.01, 0.4, 0.4], frames={"eye": [0.7, 0, 0]})
    b.joint("boom", "revolute", "slide", "boom", axis="y", mode="passive")
    b.cut("jack", "rod", "base.foot", "boom.eye", length="0.6 + 0.05*sin(7*t)")
    error, _ = balance(b.done(), q0={"boom": -1.0})
    assert error < 1e-5
