"""Dry friction of joints: a slope in place of the jump, which adaptive methods can follow, and which sticks."""

import numpy as np
import pytest
from scipy.integrate import simpson

import symbody as sb
from symbody.motion.trajectory.outcome import Outcome


def sledge(friction=0.5):
    """A mass of 2 kg on rails with dry friction, N."""
    make = sb.Mechanism.builder("sledge", gravity=(0, 0, 0))
    make.body("block", mass=2, com=(0, 0, 0), inertia=(1, 1, 1))
    make.joint("rail", "prismatic", "world", "block", axis="x", coulomb=friction)
    return make.done()


def test_a_sliding_block_stops_where_its_energy_is_spent():
    run = sb.simulate(sledge(), 12.0, qd0=[2.0])
    assert run.outcome is Outcome.FINISHED
    assert run.q[-1, 0] == pytest.approx(2.0 * 2.0**2 / 2 / 0.5, abs=2e-3)  # m v^2 / 2 = F s
    assert abs(run.qd[-1, 0]) < 1e-6


def test_a_push_below_the_friction_makes_it_creep_as_the_slope_says():
    run = sb.simulate(sledge(), 5.0, inputs={"tau": 0.4}, rtol=1e-10)
    assert run.qd[-1, 0] == pytest.approx(1e-3 * 4 / 3, rel=1e-6)  # v / sqrt(v^2 + s^2) = 0.4 / 0.5


def test_at_speed_it_is_the_friction_of_the_law():
    smooth = sb.simulate(sledge(), 1.0, qd0=[2.0], rtol=1e-10)
    jump = sb.simulate(sledge(), 1.0, qd0=[2.0], rtol=1e-10, slow=0)
    np.testing.assert_allclose(smooth.q, jump.q, atol=1e-6)


@pytest.mark.parametrize(
    "choice", [{}, {"step": 1e-3}, {"step": 1e-3, "method": "generalized_alpha"}, {"method": "radau"}]
)
def test_an_arm_with_dry_friction_falls_the_same_way_by_every_method(choice):
    run = sb.simulate(sb.load("puma560"), 1.0, q0={"joint2": 0.4, "joint3": -0.8}, **choice)
    assert run.outcome is Outcome.FINISHED
    assert run.statistics["steps"] < 20_000
    fine = sb.simulate(sb.load("puma560"), 1.0, 1e-4, q0={"joint2": 0.4, "joint3": -0.8})
    np.testing.assert_allclose(run.q[-1], fine.q[-1], atol=1e-3)


@pytest.mark.parametrize(("slow", "push"), [(1e-3, 0.4), (0.1, 0.4), (0.1, 0.9), (0.0, 0.9)])
def test_energies_have_the_slope_of_the_motion(slow, push):
    """Of 2 kg with 0.5 N of friction: what is lost is 0.5 v^2 / sqrt(v^2 + slow^2), and the balance closes."""
    outputs = ["energy", "power", "dissipated"]
    run = sb.simulate(sledge(), 2.0, 1e-4, qd0=[0.3], inputs={"tau": push}, slow=slow, outputs=outputs)
    v = run.qd[:, 0]
    lost = 0.5 * v * v / np.hypot(v, slow)
    np.testing.assert_allclose(run["dissipated"], lost, rtol=1e-12, atol=1e-18)
    np.testing.assert_allclose(run["energy"], v * v, rtol=1e-12)
    np.testing.assert_allclose(run["power"], push * v, rtol=1e-12)
    gained = simpson(push * v - lost, x=run.t)
    assert run["energy"][-1] - run["energy"][0] == pytest.approx(gained, rel=1e-6, abs=1e-9)


def test_followers_and_multipliers_have_the_slope_of_the_motion():
    """Blocks of 2 and 3 kg held by y = x: the multiplier moves the second, which has no friction of its own."""
    make = sb.Mechanism.builder("pair", gravity=(0, 0, 0))
    make.body("a", mass=2).joint("x", "prismatic", "world", "a", axis="x", coulomb=0.5)
    make.body("b", mass=3).joint("y", "prismatic", "world", "b", axis="x")
    pair = make.coupling("tie", "q.y - q.x").done()
    outputs = ["lam", "energy", "dissipated"]
    options = {"inputs": {"x": 0.4}, "slow": 0.1, "outputs": outputs, "closing": sb.Augmented()}
    run = sb.simulate(pair, 1.0, 1e-3, qd0={"x": 0.05, "y": 0.05}, **options)
    v = run.qd[:, 0]
    friction = 0.5 * v / np.hypot(v, 0.1)
    np.testing.assert_allclose(run.qdd[:, 0], (0.4 - friction) / 5, rtol=1e-9)
    np.testing.assert_allclose(np.abs(run["lam"][:, 0]), np.abs(3 * (0.4 - friction) / 5), rtol=1e-9)
    np.testing.assert_allclose(run["dissipated"], friction * v, rtol=1e-12)
