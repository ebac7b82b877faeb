"""Steady motions against closed forms: conical pendulum, vehicles straight and in a turn, a crank at constant speed."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import SymbodyError
from symbody.studies.steady.equilibrium import equilibrium
from symbody.studies.steady.steady_solver import SteadyOutcome
from symbody.studies.steady.trim import trim

G = 9.81


def conical_pendulum():
    build = sb.Mechanism.builder("conical")
    build.parameter("l", 0.8)
    build.body("arm", inertia=[0.1, 0.1, 0.1])
    build.body("bob", mass=1.5, com=[0, 0, "-l"])
    build.joint("spin", "revolute", "world", "arm", axis="z")
    build.joint("tilt", "revolute", "arm", "bob", axis="y", mode="passive")
    return build.done()


def test_conical_pendulum_tilts_by_its_spin():
    found = trim(conical_pendulum(), {"tilt": 0.8}, qd0={"spin": 5.0})
    assert found.ok
    assert np.cos(found["tilt"]) == pytest.approx(G / (0.8 * 25.0), rel=1e-12)
    assert found.tau == pytest.approx([0, 0], abs=1e-10)


def test_speed_or_length_that_keeps_an_angle_can_be_unknown():
    mech = conical_pendulum()
    by_speed = trim(mech, {"qd.spin": 4.0}, q0={"tilt": 0.5})
    assert by_speed["qd.spin"] ** 2 == pytest.approx(G / (0.8 * np.cos(0.5)))
    by_length = trim(mech, ["l"], q0={"tilt": 0.5}, qd0={"spin": 4.0})
    assert by_length["l"] == pytest.approx(G / (16.0 * np.cos(0.5)))
    assert by_length.parameters["l"] == by_length["l"]


def test_chosen_accelerations_vanish_and_the_others_are_results():
    # a force along a cart keeps its pendulum at an angle: both accelerate with g tan(angle)
    build = sb.Mechanism.builder("cart")
    build.body("cart", mass=3.0)
    build.body("bob", mass=1.0, com=[0, 0, 0.7])
    build.joint("x", "prismatic", "world", "cart", axis="x")
    build.joint("angle", "revolute", "cart", "bob", axis="y", mode="passive")
    found = trim(build.done(), ["tau.x"], ["qdd.angle"], q0={"angle": 0.3})
    assert found.ok
    assert found.qdd[0] == pytest.approx(G * np.tan(0.3))
    assert found["tau.x"] == pytest.approx(4.0 * G * np.tan(0.3))


def test_output_can_be_a_condition():
    mech = conical_pendulum()
    found = trim(mech, {"tilt": 0.6, "qd.spin": 4.0}, {"l*cos(q.tilt)": 0.5})
    assert found.ok
    assert np.cos(found["tilt"]) == pytest.approx(0.5 / 0.8)
    assert found["qd.spin"] ** 2 == pytest.approx(G / 0.5)


def test_more_conditions_than_unknowns_are_met_as_well_as_they_can():
    found = trim(conical_pendulum(), ["tau.spin"], q0={"tilt": 0.5})
    assert found.outcome is SteadyOutcome.LEAST_SQUARES
    assert not found.ok
    assert "tilt" in found.sentence
    impossible = trim(conical_pendulum(), {"tilt": 0.2}, {"qdd.tilt": 0, "qdd.spin": 3.0}, qd0={"spin": 1.0})
    assert not impossible.ok
    assert "spin" in impossible.sentence


def test_crank_at_constant_speed_needs_the_torque_of_inverse_dynamics():
    mech = sb.load("four_bar")
    found = trim(mech, ["tau.crank"], q0={"crank": 0.7}, qd0={"crank": 5.0})
    assert found.ok
    kernel = sb.inverse_dynamics(mech, "newton_euler").compile()
    wanted = kernel(found.q, found.qd, np.zeros(3))
    assert found.tau == pytest.approx(wanted, abs=1e-9)
    assert found.qd[0] == 5.0
    assert found.qdd[0] == 0.0


@pytest.fixture(scope="module")
def standing():
    mech = sb.load("motorcycle")
    return mech, equilibrium(mech, eigenvalues=False)


SYMMETRIC = ("z", "pitch", "swing", "fork", "qd.rear_spin", "qd.front_spin", "tau.rear_spin")


def straight(standing, speed=20.0):
    mech, rest = standing
    guess = {"x": speed, "rear_spin": speed / 0.3, "front_spin": speed / 0.3}
    return trim(mech, SYMMETRIC, q0=rest.q, qd0=guess)


def test_motorcycle_runs_straight_with_its_wheels_rolling(standing):
    mech, rest = standing
    found = straight(standing)
    assert found.ok
    # nothing resists it: no torque, the static attitude, and no slip of the wheels at their loaded radii
    assert found["tau.rear_spin"] == pytest.approx(0, abs=1e-8)
    assert found.q[2:] == pytest.approx(rest.q[2:], abs=1e-8)
    motion = sb.forward_dynamics(mech, "base").compile()
    assert motion(found.q, found.qd, found.tau) == pytest.approx(np.zeros(mech.nv), abs=1e-7)


def test_motorcycle_leans_into_a_steady_turn(standing):
    mech, _ = standing
    speed, rate = 20.0, 0.2
    start = straight(standing)
    unknowns = {n: start[n] for n in SYMMETRIC}
    unknowns |= dict.fromkeys(("roll", "rider_lean", "torsion", "steer", "tau.steer", "qd.y"), 0.0)
    found = trim(mech, unknowns, q0=start.q, qd0={"x": speed, "yaw": rate}, qdd0={"y": speed * rate})
    assert found.ok
    motion = sb.forward_dynamics(mech, "base").compile()
    assert motion(found.q, found.qd, found.tau) == pytest.approx(found.qdd, abs=1e-7)
    assert found.qdd[1] == pytest.approx(speed * rate)
    # a thin-wheeled machine leans by atan(v r / g); wheels of finite section and their spin ask for a little more
    ideal = np.arctan(speed * rate / G)
    assert -found["roll"] == pytest.approx(ideal, rel=0.05)
    assert -found["roll"] > ideal
    assert found["tau.rear_spin"] > 0  # cornering drags


@pytest.mark.slow
def test_car_runs_straight_with_loops_closed():
    mech = sb.load("car")
    rest = equilibrium(mech, eigenvalues=False)
    spins = [n for n in rest.labels if n.endswith("_spin")]
    still = {"chassis.1", "chassis.2", "chassis.4", *spins}
    unknowns = [f"q.{n}" for n in rest.labels if n not in still]
    unknowns += [*(f"qd.{n}" for n in spins), "tau.rl_spin", "tau.rr_spin"]
    found = trim(mech, unknowns, q0=rest.q, qd0={"chassis.1": 30.0, **dict.fromkeys(spins, 95.0)})
    assert found.ok
    assert found.q == pytest.approx(rest.q, abs=1e-5)  # nothing lifts or drags it
    assert found["qd.fl_spin"] == pytest.approx(found["qd.fr_spin"])
    assert found["tau.rl_spin"] == pytest.approx(0, abs=1e-6)


def test_unknown_unknowns_are_refused():
    with pytest.raises(SymbodyError, match="tilt"):
        trim(conical_pendulum(), ["tilz"])
    with pytest.raises(SymbodyError, match="output"):
        trim(conical_pendulum(), ["tilt"], {"nothing": 1.0})


def test_unknown_quaternions_are_told_as_rotation_vectors():
    """A weight on a ball joint held at an angle by a constant moment about y: m g l sin(angle) = moment."""
    build = sb.Mechanism.builder("swing")
    build.body("bob", mass=2.0, com=[0, 0, -0.5], inertia=[0.1, 0.1, 0.1])
    build.joint("ball", "ball", "world", "bob")
    angle = 0.4
    moment = 2.0 * 9.81 * 0.5 * np.sin(angle)
    found = trim(build.done(), ["q.ball"], inputs={"tau": [0.0, moment, 0.0]})
    assert found.ok
    assert [found[f"q.ball.{k}"] for k in (1, 2, 3)] == pytest.approx([0, angle, 0], abs=1e-9)


def test_unknown_place_of_a_free_body_is_told():
    """A block on a spring of 100 N/m that hangs from a free joint's world point, 1 m long: it sinks by m g / k."""
    build = sb.Mechanism.builder("hanging")
    build.body("block", mass=1.0, inertia=[0.1, 0.1, 0.1])
    build.joint("base", "free", "world", "block", mode="passive")
    build.force("spring", "spring_damper", points=("world", "block"), stiffness=100.0, length=1.0)
    found = trim(build.done(), ["q.base.6"], q0={"base": [0, 0, -1.05, 1, 0, 0, 0]})
    assert found.ok
    assert found["q.base.6"] == pytest.approx(-1.0 - 9.81 / 100)
