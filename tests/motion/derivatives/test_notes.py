"""What is told with derivatives: no dependence, a corner, a jump without an event, steps that chatter; wrong names."""

import numpy as np
import pytest

import symbody as sb
from helpers.derivative_oracles import differences
from symbody.basics.errors import NameLookupError


def told(inputs=None, duration=1.0, by=("m2", "q.joint1"), of=("q",), **options):
    """Notes of a swing of two rods from rest."""
    given = {"step": 0.01, "q0": {"joint1": 1.0}, **options}
    return sb.sensitivity(
        sb.load("pendulum2"), duration, list(by), mode="adjoint", outputs=list(of), inputs=inputs, **given
    ).notes


def test_smooth_runs_and_smooth_products_of_corners_have_no_note():
    assert told() == ()
    assert told({"joint1": "-0.3*abs(qd.joint1)*qd.joint1"}) == ()  # from rest: it has a derivative there
    assert told({"joint1": "max(0, q.joint1 - 0.5)"}) == ()  # its corner is passed between two steps
    assert told({"joint1": "floor(4*t)"}) == ()  # jumps at instants that nothing moves


@pytest.mark.parametrize(
    ("law", "what"), [("-0.3*abs(qd.joint1)", "abs"), ("max(0, q.joint1 - 1)", "max"), ("-sign(qd.joint1)", "sign")]
)
def test_a_run_that_stands_at_a_corner(law, what):
    (note,) = told({"joint1": law}, 0.1)
    assert note.startswith(f"at t = 0 s the run stands at a corner of {what}")
    assert "derivatives on its two sides differ" in note


def test_the_two_sides_of_a_corner_differ():
    """What the note says is so: differences on both sides are two numbers, and the derivative lies between."""
    f = sb.differentiable(
        sb.load("pendulum2"), 0.1, ["qd.joint1"], of=["qd.joint1"], step=0.01, inputs={"joint1": "-2*abs(qd.joint1)"}
    )
    found, size = f.jacobian(f.start)[0, 0], 1e-6
    low, high = ((f(f.start + e)[0] - f(f.start)[0]) / e for e in (-size, size))
    assert abs(high - low) > 0.1
    assert min(low, high) < found < max(low, high)
    assert any("corner of abs" in note for note in f.linearise().notes)


def test_a_law_that_jumps_between_two_steps():
    (note,) = told({"joint1": "-1.0*select(q.joint1 > 0.7, 1, 0)"})
    assert "jumps at t = 0.233" in note
    assert "sb.When" in note
    corner, jump = told({"joint1": "-0.3*sign(qd.joint1)"}, 3.0)
    assert "corner of sign" in corner
    assert "t = 1.189" in jump
    assert "t = 2.419" in jump


def test_a_switching_time_that_is_a_parameter_moves():
    t, x = sb.symbols("t x")
    T = sb.symbol("T", "parameter", default=0.503)
    rate = sb.select(t < T, 1.0, -2.0) - 0.1 * x
    system = sb.System("switched", inputs={"x": x, "t": t}, outputs={"x_dot": rate}, states={"x": "x_dot"})
    f = sb.differentiable(system, 1.0, ["T"], of=["x"], step=0.01)
    assert any("jumps at t = 0.503" in note for note in f.linearise().notes)
    assert not sb.differentiable(system, 1.0, ["x"], of=["x"], step=0.01).linearise().notes


def test_corners_of_what_is_asked_for():
    f = sb.differentiable(sb.load("pendulum2"), 0.1, ["m2"], of=[{"size": "abs(q.joint2)"}], step=0.01)
    (note,) = f.linearise().notes
    assert note.startswith("at t = 0.1 s abs(")
    g = sb.differentiable(sb.load("pendulum2"), 0.1, ["m2"], of=[{"size": "abs(q.joint2 - 1)"}], step=0.01)
    assert not g.linearise().notes


def test_corners_between_states_that_were_not_kept():
    options = dict(of=["q"], step=0.01, q0={"joint1": 1.0}, inputs={"joint1": "-0.3*sign(qd.joint1 + 0.1)"})
    kept = sb.differentiable(sb.load("pendulum2"), 2.0, ["m2"], **options)
    again = sb.differentiable(sb.load("pendulum2"), 2.0, ["m2"], memory=500, **options)
    assert kept.linearise().notes == again.linearise().notes != []


@pytest.mark.parametrize(("method", "rate"), [("rk4", 300.0), ("euler", 210.0), ("heun", 210.0)])
def test_steps_that_chatter(method, rate):
    x, k = sb.symbol("x"), sb.symbol("k", "parameter", default=rate)
    decay = sb.System("decay", inputs={"x": x}, outputs={"x_dot": -k * x}, states={"x": "x_dot"})
    f = sb.differentiable(decay, 0.2, ["k", "x"], of=["x"], step=0.01, states0={"x": 1.0}, method=method)
    (note,) = f.linearise().notes
    assert f"time constant of {1 / rate:.3g} s" in note
    assert "chatter" in note
    shorter = sb.differentiable(decay, 0.2, ["k", "x"], of=["x"], step=0.005, states0={"x": 1.0}, method=method)
    assert not shorter.linearise().notes
    stable = sb.differentiable(decay, 0.2, ["k", "x"], of=["x"], step=0.01, states0={"x": 1.0}, method="sdirk2")
    assert not stable.linearise().notes


def test_friction_of_a_robot_at_rest_chatters():
    """At 1 ms the derivative of the steps is 1e7 times that of the motion; it is told, with a step that follows it."""
    robot = sb.load("puma560")
    coarse = sb.sensitivity(robot, 0.05, ["m2"], mode="adjoint", outputs=["q"], step=1e-3)
    (note,) = coarse.notes
    assert note.startswith("at t = 0 s puma560 decays with a time constant of 0.000123 s")
    assert "steps below 0.00034 s" in note
    fine = sb.differentiable(robot, 0.05, ["m2"], of=["q"], step=1e-4)
    assert not fine.linearise().notes
    wanted = differences(fine, fine.start, 1e-5)
    np.testing.assert_allclose(fine.jacobian(), wanted, atol=1e-5 * np.abs(wanted).max())
    assert np.abs(coarse.of("q", "m2")).max() > 1e5 * np.abs(wanted).max()


def test_what_nothing_depends_on_is_zero_and_said():
    found = sb.sensitivity(sb.load("puma560"), 0.01, ["d1", "m2"], mode="auto", step=1e-4, outputs=["q"])
    assert not found.of("q", "d1").any()
    (note,) = found.notes
    assert "'d1'" in note
    assert "zero" in note
    ball = sb.sensitivity(sb.load("pendulum2"), 0.1, ["m2"], mode="auto", step=0.01, outputs={"time": "t"})
    assert any("'time' does not depend on 'm2'" in note for note in ball.notes)
    f = sb.differentiable(sb.load("puma560"), 0.01, ["d1", "m2"], of=["q"], step=1e-4)
    assert f.gradient(f.start, np.ones(6))[1][0] == 0.0


def test_wrong_names_are_told_with_the_nearest():
    with pytest.raises(NameLookupError, match=r"m22.*Did you mean 'm2'"):
        told(by=["m22"])
    with pytest.raises(NameLookupError, match=r"q\.joint3.*Did you mean"):
        told(by=["q.joint3"])
    with pytest.raises(NameLookupError, match=r"enrgy.*energy"):
        told(of=["enrgy"])
    found = sb.sensitivity(sb.load("pendulum2"), 0.1, ["m2"], mode="adjoint", outputs=["q"], step=0.01)
    with pytest.raises(NameLookupError, match=r"m1.*m2"):
        found.of("q", "m1")
    with pytest.raises(NameLookupError, match="nothing was asked about 'qd'"):
        found.of("qd", "m2")
