"""Dry friction of joints: a slope in place of the jump, which adaptive methods can follow, and which sticks."""

import numpy as np
import pytest

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
