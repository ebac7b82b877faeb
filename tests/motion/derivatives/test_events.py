"""Derivatives through events: instants that move, resets, ends; and where there are none."""

import numpy as np
import pytest

import symbody as sb
from helpers.derivative_oracles import both_modes, close, differences
from helpers.simulation_models import ball
from symbody.basics.errors import DefinitionError, ModelError

BOUNCE = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"})


def test_a_ball_that_bounces_three_times():
    f = sb.differentiable(
        ball(), 1.9, ["q.z", "qd.z", "tau.z"], of=["q", "qd"], integrals={"s": "q.z^2"}, step=0.01, q0={"z": 1.0},
        events=[BOUNCE],
    )  # fmt: skip
    found = both_modes(f)
    close(found, differences(f, f.start), 1e-7)
    # in closed form: falls h, bounces with 0.8 of the speed; z(t) = 0.8 v (t - t1) - g (t - t1)^2 / 2 after the first
    early = sb.differentiable(ball(), 0.7, ["q.z"], of=["q"], step=1e-3, q0={"z": 1.0}, events=[BOUNCE])
    g, t1 = 9.81, np.sqrt(2 / 9.81)
    speed, since = g * t1, 0.7 - t1
    exact = 0.8 * g * since / speed + (-0.8 * speed + g * since) / speed
    np.testing.assert_allclose(both_modes(early)[0, 0], exact, rtol=1e-9)


def test_where_an_event_ends_the_run_its_instant_moves():
    stop = sb.When("low", "q.z - 0.3", direction=-1, stop=True)
    f = sb.differentiable(
        ball(), 2.0, ["q.z", "qd.z"], of=["q", "qd", {"T": "t"}], integrals={"s": "q.z"}, step=0.01, q0={"z": 1.0},
        events=[stop],
    )  # fmt: skip
    found = both_modes(f)
    close(found, differences(f, f.start), 1e-7)
    np.testing.assert_allclose(found[2, 0], 1 / np.sqrt(2 * 9.81 * 0.7), rtol=1e-9)


def test_a_switching_time_is_a_parameter_of_a_guard():
    x, v, s, t = sb.symbols("x v s t")
    T = sb.symbol("T", "parameter", default=0.437)
    pushed = sb.System(
        "pushed", inputs={"x": x, "v": v, "s": s, "t": t}, outputs={"x_dot": v, "v_dot": s - 0.3 * v},
        states={"x": "x_dot", "v": "v_dot"}, guards={"turn": t - T},
        resets={"turn.s": -1}, modes={"s": 1.0},
    )  # fmt: skip
    f = sb.differentiable(pushed, 1.0, ["T"], of=["x", "v"], step=0.01, states0={"s": 1.0})
    found = both_modes(f)
    close(found, differences(f, f.start), 1e-8)
    # v' = s - 0.3 v: a turn that comes later adds 2 for dT, which fades
    np.testing.assert_allclose(found[1, 0], 2 * np.exp(-0.3 * (1 - 0.437)), rtol=1e-8)


@pytest.mark.parametrize("period", [0.02, 0.013])
def test_a_sampled_controller_with_memory(period):
    """Ticks at ends of steps, and between them."""
    q, qd, s = sb.symbols("q1 qd1 s")
    control = sb.System(
        "control", inputs={"q.joint1": q, "qd.joint1": qd, "s": s}, states={"s": "s_next"}, clocks={"period": period},
        outputs={"tau.joint1": -8 * q - 1.5 * qd - 2 * s, "s_next": s + period * q * sb.cos(q)},
    )  # fmt: skip
    options = dict(step=0.01, q0={"joint1": 1.0}, inputs={"joint1": control})
    mech, names = sb.load("pendulum2"), ["m2", "l1", "q.joint1", "qd"]
    f = sb.differentiable(mech, 0.3, names, of=["q", "qd"], integrals={"c": "tau.joint1^2"}, **options)
    close(both_modes(f), differences(f, f.start), 1e-8)
    wanted, instants = ["q.joint1", {"power": "tau.joint1*qd.joint1"}], 0.01 * np.array([0, 10, 20, 30])
    along = sb.differentiable(mech, 0.3, names, of=wanted, at="samples", sampling=instants, **options)
    close(both_modes(along), differences(along, along.start), 1e-8)
    motion = sb.simulate(mech, 0.3, sampling=instants, outputs={"power": "tau.joint1*qd.joint1"}, **options)
    np.testing.assert_allclose(along().reshape(4, 2)[:, 1], motion["power"], rtol=1e-12)


def test_dry_friction_that_breaks_away_and_sticks():
    b = sb.Mechanism.builder("slider", gravity=[0, 0, 0])
    b.body("m", 1.0).joint("x", "prismatic", "world", "m", axis="x")
    dry = b.force("e", "stiction", joint="x", level=2.0, breakaway=3.0, stiffness=4e4, damping=100.0).done()
    f = sb.differentiable(
        dry, 0.8, ["q.x", "qd.x"], of=["q", "qd"], integrals={"s": "qd.x^2"}, step=1e-3, qd0={"x": 0.5},
        inputs={"x": "1.5*sin(9*t)"},
    )  # fmt: skip
    assert len(f.trajectory().events) >= 2
    close(both_modes(f), differences(f, f.start), 1e-6)


def test_grazing_is_said_with_its_time():
    # thrown up to touch the ceiling with next to no speed
    touch = sb.When("touch", "q.z - 1", direction=1, reset={"qd.z": "-0.5*qd.z"})
    v = np.sqrt(2 * 9.81 * (1 + 1e-11))
    with pytest.raises(ModelError, match=r"'touch' is grazing at t = 0\.4515"):
        sb.differentiable(ball(), 0.8, ["qd.z"], of=["q"], step=0.01, qd0={"z": v}, events=[touch]).jacobian()


def test_two_events_at_one_instant_have_no_derivative():
    again = sb.When("also", "2*q.z", direction=-1, reset={"qd.z": "-0.5*qd.z"})
    f = sb.differentiable(ball(), 0.7, ["q.z"], of=["q"], step=0.01, q0={"z": 1.0}, events=[BOUNCE, again])
    with pytest.raises(ModelError, match=r"same instant, t = 0\.4515"):
        f.jacobian(mode="adjoint")


def test_python_resets_and_controllers_are_refused():
    own = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": lambda t, values: 1.0})
    f = sb.differentiable(ball(), 0.7, ["q.z"], of=["q"], step=0.01, q0={"z": 1.0}, events=[own])
    with pytest.raises(DefinitionError, match="Python function, which has no derivative"):
        f.jacobian()
    with pytest.raises(DefinitionError, match="Python function that is asked at ticks"):
        sb.differentiable(ball(), 0.7, ["q.z"], of=["q"], step=0.01, inputs={"z": lambda t, q, qd: -q[0]})
