"""Limits of joints: silent by themselves but noted, and acting on request."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import NameLookupError
from symbody.mechanics.verbs.limits import saturated, with_limits


def arm(**limits):
    b = sb.Mechanism.builder("arm")
    b.body("link", 2.0, (0.3, 0, 0), (0.01, 0.02, 0.02))
    b.joint("hinge", "revolute", "world", "link", axis="y", limits=limits)
    return b.done()


def test_a_motion_that_passes_limits_says_so():
    motion = sb.simulate(arm(lower=-0.5, upper=0.5, velocity=2.0, effort=1.0), 1.0, inputs={"hinge": 3.0})
    notes = " ".join(motion.notes)
    assert "position of joint 'hinge' reached" in notes
    assert "velocity of joint 'hinge' reached" in notes
    assert "effort of joint 'hinge' reached 3 N m; its limits are -1 to 1 N m." in notes
    assert not sb.simulate(arm(lower=-9, upper=9), 0.1).notes


def test_a_stop_holds_a_falling_arm():
    """It comes to rest a little behind the stop, where the spring of the stop carries the weight."""
    mech = with_limits(arm(upper=0.5))
    motion = sb.simulate(mech, 6.0)
    stiffness = (0.02 + 2 * 0.3**2) * (2 * np.pi * 30) ** 2
    depth = 2 * 9.81 * 0.3 * np.cos(0.5) / stiffness
    assert motion.q[-1, 0] == pytest.approx(0.5 + depth, abs=2e-4)
    assert motion.q.max() < 0.56
    assert motion.outcome.ok


def test_a_stop_takes_energy_and_never_gives():
    mech = with_limits(arm(upper=0.5), dissipation=2.0)
    motion = sb.simulate(mech, 2.0, outputs=["energy"])
    assert np.all(np.diff(motion["energy"]) < 1e-7)
    assert np.ptp(motion["energy"]) > 0.1
    elastic = sb.simulate(with_limits(arm(upper=0.5), dissipation=0.0), 2.0, rtol=1e-10, outputs=["energy"])
    assert np.ptp(elastic["energy"]) < 1e-5


def test_speeds_are_braked():
    free = sb.simulate(arm(velocity=1.0), 0.5, inputs={"hinge": -2.0})
    held = sb.simulate(with_limits(arm(velocity=1.0)), 0.5, inputs={"hinge": -2.0})
    assert np.abs(free.qd).max() > 3 > 1.5 > np.abs(held.qd).max()


def test_the_certificate_knows_stops():
    assert sb.verify(with_limits(arm(lower=-0.2, upper=0.1, velocity=0.3)), states=5).passed


def test_limits_act_on_chosen_joints_only():
    mech = sb.load("panda") if any(j.limits.lower is not None for j in sb.load("panda").joints) else arm(upper=1.0)
    name = next(j.name for j in mech.joints if j.limits.upper is not None)
    assert [f.name for f in with_limits(mech, [name]).forces] == [f"limit_{name}"]
    assert with_limits(with_limits(mech)).forces == with_limits(mech).forces or len(
        with_limits(with_limits(mech)).forces
    ) == len(with_limits(mech).forces)
    with pytest.raises(NameLookupError, match="no limits"):
        with_limits(mech, ["nothing"])


@pytest.mark.parametrize(
    "given",
    [
        {"hinge": 3.0},
        {"tau": [3.0]},
        {"hinge": "3 + 0*t"},
        {"hinge": lambda t: 3.0},
        {"tau.hinge": ([0.0, 1.0], [3.0, 3.0])},
        [3.0],
        {"hinge": sb.System("c", inputs={"t": sb.symbol("t")}, outputs={"tau": [3 + 0 * sb.symbol("t")]})},
    ],
    ids=["number", "vector", "expression", "function", "table", "plain", "System"],
)
def test_efforts_saturate_however_they_are_given(given):
    mech = arm(effort=1.0)
    motion = sb.simulate(mech, 0.2, step=0.01, inputs=saturated(mech, given))
    np.testing.assert_allclose(motion.tau, 1.0)
    assert not motion.notes


def test_a_controller_saturates():
    mech = arm(effort=2.0)
    q, qd = sb.symbols("q"), sb.symbols("qd")
    pd = sb.System("pd", inputs={"q": [q], "qd": [qd]}, outputs={"tau": [100 * (1 - q) - 5 * qd]})
    motion = sb.simulate(mech, 1.0, inputs=saturated(mech, pd))
    assert np.abs(motion.tau).max() == pytest.approx(2.0)
