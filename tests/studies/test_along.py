"""Inverse dynamics along motions: Pinocchio, energies, and the way back by simulation; synchronised joint motions."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import SymbodyError
from symbody.motion.run.simulate import simulate
from symbody.studies.inverse.inverse_along import inverse_along
from symbody.studies.inverse.point_to_point import limits, point_to_point, through


@pytest.fixture(scope="module")
def ur5():
    return sb.load("ur5")


GOAL = np.array([0.5, -1.0, 0.7, 0.2, 0.3, -0.4])


def test_efforts_are_those_of_pinocchio(ur5):
    from helpers.pinocchio_oracle import Peer

    motion = point_to_point(ur5, np.zeros(6), GOAL, "quintic", 2.0, samples=41)
    made = inverse_along(ur5, motion)
    peer = Peer(ur5)
    for k in range(0, 41, 5):
        wanted = peer.torques(motion["q"][k], motion["qd"][k], motion["qdd"][k])
        assert made["tau"][k] == pytest.approx(wanted, abs=1e-10)


def test_work_of_the_motors_is_the_gain_of_energy(ur5):
    motion = point_to_point(ur5, np.zeros(6), GOAL, "quintic", 2.0, samples=401)
    made = inverse_along(ur5, motion, outputs=["energy", "kinetic"])
    gain = made["energy"] - made["energy"][0]
    assert np.allclose(made["work"].sum(axis=1), gain, atol=1e-6 * np.abs(gain).max())
    assert np.allclose(made["power"], made["tau"] * made["qd"])
    assert made.units["work"] == "J"
    assert made.labels["power"] == made.labels["tau"]


def test_simulation_with_these_efforts_comes_back_to_the_motion(ur5):
    gaps = []
    for samples in (251, 1001):
        motion = point_to_point(ur5, np.zeros(6), GOAL, "quintic", 1.0, samples=samples)
        made = inverse_along(ur5, motion)
        back = simulate(ur5, 1.0, q0=motion["q"][0], inputs={"tau": (made.t, made["tau"])}, samples=11, rtol=1e-9)
        gaps.append(np.abs(back["q"] - motion["q"][:: (samples - 1) // 10]).max())
    assert gaps[1] < 1e-4
    assert gaps[0] / gaps[1] == pytest.approx(16, rel=0.2)  # all that is left is the table, linear between samples


def test_rates_from_samples_are_those_of_the_law_and_a_note_says_so(ur5):
    motion = point_to_point(ur5, np.zeros(6), GOAL, "quintic", 2.0, samples=201)
    exact, made = inverse_along(ur5, motion), inverse_along(ur5, motion.t, motion["q"])
    assert np.allclose(made["tau"], exact["tau"], atol=1e-6)  # a quintic is its own spline
    assert "splines" in made.notes[0]
    assert not exact.notes


def test_tumbling_body_needs_no_effort_whatever_the_signs_of_its_quaternion():
    build = sb.Mechanism.builder("tumbler", gravity=[0, 0, 0])
    build.body("stone", mass=2.0, com=[0.1, 0, 0], inertia=[0.2, 0.5, 0.6])
    build.joint("free", "free", "world", "stone")
    mech = build.done()
    flown = simulate(mech, 2.0, qd0=[1.0, 2.0, 0.5, 0.1, 0, 0.3], samples=801, rtol=1e-12, atol=1e-12)
    q = flown["q"].copy()
    q[::3, 3:] *= -1
    made = inverse_along(mech, flown.t, q)
    inner = slice(20, -20)
    assert np.allclose(made["qd"], flown["qd"], atol=1e-8)
    assert np.abs(made["tau"][inner]).max() < 1e-5


def test_closed_mechanism_is_driven_by_its_crank():
    mech = sb.load("four_bar")
    t = np.linspace(0, 1.0, 201)
    q = np.zeros((201, 3))
    q[:, 0] = 0.6 + 0.4 * np.sin(3 * t) ** 2
    qd, qdd = np.zeros((201, 3)), np.zeros((201, 3))
    qd[:, 0], qdd[:, 0] = 1.2 * np.sin(6 * t), 7.2 * np.cos(6 * t)
    made = inverse_along(mech, t, q, qd, qdd, outputs=["energy"])
    assert np.array_equal(made["tau"][:, 1:], np.zeros((201, 2)))
    gain = made["energy"] - made["energy"][0]
    assert np.allclose(made["work"].sum(axis=1), gain, atol=1e-6)


def test_inertial_parameter_changes_the_efforts():
    mech = sb.load("pendulum2")
    name = next(n for n in mech.parameters if n.startswith("m"))
    t, q = np.linspace(0, 1, 11), np.zeros((11, 2)) + 0.4
    rest = np.zeros((11, 2))
    light = inverse_along(mech, t, q, rest, rest)
    heavy = inverse_along(mech, t, q, rest, rest, parameters={name: 5.0})
    assert not np.allclose(light["tau"], heavy["tau"])


@pytest.mark.parametrize("law", ["bang_bang", "trapezoid", "cubic", "quintic"])
def test_joints_move_together_and_the_slowest_attains_its_limit(ur5, law):
    velocity, acceleration = np.array([1, 1, 1, 2, 2, 2.0]), np.full(6, 3.0)
    made = point_to_point(ur5, np.zeros(6), GOAL, law, velocity=velocity, acceleration=acceleration, samples=20001)
    assert made["q"][0] == pytest.approx(np.zeros(6))
    assert made["q"][-1] == pytest.approx(GOAL)
    assert made["qd"][[0, -1]] == pytest.approx(np.zeros((2, 6)), abs=1e-9)
    shares = made["q"][1:-1] / GOAL
    assert np.abs(shares - shares[:, :1]).max() < 1e-12  # on the straight line
    use_v, use_a = np.abs(made["qd"]).max(axis=0) / velocity, np.abs(made["qdd"]).max(axis=0) / acceleration
    assert use_v.max() <= 1 + 1e-9
    assert use_a.max() <= 1 + 1e-9
    assert max(use_v.max(), use_a.max()) == pytest.approx(1.0, abs=1e-6)


def test_spline_visits_its_configurations(ur5):
    times, points = [0.0, 0.5, 1.5, 2.0], np.array([np.zeros(6), GOAL, -GOAL, 0.5 * GOAL])
    made = through(ur5, times, points, samples=401)
    assert np.allclose(made["q"][[0, 100, 300, 400]], points, atol=1e-9)
    assert made["qd"][[0, -1]] == pytest.approx(np.zeros((2, 6)), abs=1e-9)
    numeric = np.gradient(made["q"], made.t, axis=0)[2:-2]
    assert np.abs(numeric - made["qd"][2:-2]).max() < 2e-3


def test_limits_of_the_joints_are_used_where_none_are_given(ur5):
    own = [j.limits.velocity or np.inf for j in ur5.joints if j.kind != "fixed"]
    assert limits(ur5, "velocity", None) == pytest.approx(own)
    assert limits(ur5, "velocity", {"elbow": 0.5})[2] == 0.5


def test_senseless_motions_are_refused(ur5):
    with pytest.raises(SymbodyError, match="too short"):
        point_to_point(ur5, np.zeros(6), GOAL, "cubic", 0.1, velocity=1.0)
    with pytest.raises(SymbodyError, match="limits"):
        point_to_point(ur5, np.zeros(6), GOAL, "trapezoid", velocity=1.0)
    with pytest.raises(SymbodyError, match="shape"):
        inverse_along(ur5, np.linspace(0, 1, 5), np.zeros((4, 6)))
    with pytest.raises(SymbodyError, match="ascending"):
        inverse_along(ur5, [0, 0, 1], np.zeros((3, 6)))
    with pytest.raises(SymbodyError, match="input"):
        inverse_along(ur5, np.linspace(0, 1, 9), np.zeros((9, 6)), inputs={"u_wind": 1.0})
