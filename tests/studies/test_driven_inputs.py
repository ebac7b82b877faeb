"""Prescribed motions as inputs of linear models: position and rates of a driven joint are one input."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import DefinitionError
from symbody.studies.control.discretize import discretize
from symbody.studies.control.frequency import frequency_response
from symbody.studies.control.time_response import step_response, time_response
from symbody.studies.control.transfer import transfer
from symbody.studies.linear.linearize import linearize

M, D, K = 2.0, 3.0, 50.0
OMEGA = np.array([0.0, 0.5, 3.0, 5.0, 20.0])
S = 1j * OMEGA


def oscillator(law="0*t"):
    """A mass on spring and damper upon a support that moves by y(t); its joint measures x - y."""
    b = sb.Mechanism.builder("base_excited", gravity=[0, 0, 0])
    b.body("support", mass=1).joint("y", "prismatic", "world", "support", axis="x", mode="driven", value=law)
    b.body("mass", mass=M)
    b.joint("spring", "prismatic", "support", "mass", axis="x", stiffness=K, viscous=D, mode="passive")
    return b.done()


def relative(s):
    """(x - y) / y of m x'' + d (x' - y') + k (x - y) = 0."""
    return -M * s**2 / (M * s**2 + D * s + K)


def test_base_excited_oscillator():
    linear = linearize(oscillator(), driven="input", outputs=["q.spring", "p.mass", "v.mass", "a.mass", "qd.spring"])
    assert linear.inputs == ("q.y",)
    g = frequency_response(linear, OMEGA)
    absolute = 1 + relative(S)
    for output, want in [
        ("q.spring", relative(S)), ("p.mass.x", absolute), ("v.mass.x", S * absolute), ("a.mass.x", S**2 * absolute),
        ("qd.spring", S * relative(S)),
    ]:  # fmt: skip
        np.testing.assert_allclose(g.channel(output), want, atol=1e-12 * np.abs(want).max())


def test_transfer_functions_of_the_position():
    linear = linearize(oscillator(), driven="input", outputs=["p.mass", "v.mass", "a.mass"])
    for k, name in enumerate(("p.mass.x", "v.mass.x", "a.mass.x")):
        found = transfer(linear, "q.y", name)
        np.testing.assert_allclose(found(1j * 3.0), (3j) ** k * (1 + relative(3j)), rtol=1e-9)


def test_a_step_of_the_support_is_followed_by_positions():
    """x of m x'' + d x' + k x = d y' + k y after a step of y from rest: x(0) = 0, x'(0) = d / m."""
    linear = linearize(oscillator(), driven="input", outputs=["p.mass"])
    t = np.linspace(0, 3, 301)
    y = step_response(linear, t).values["y"][:, 0]
    decay, swing = D / (2 * M), np.sqrt(K / M - (D / (2 * M)) ** 2)
    free = np.exp(-decay * t) * (np.cos(swing * t) + (decay - D / M) / swing * np.sin(swing * t))
    np.testing.assert_allclose(y, 1 - free, atol=1e-12)


def test_what_follows_a_rate_at_once_is_refused_by_name():
    linear = linearize(oscillator(), driven="input", outputs=["v.mass", "qd.spring"])
    assert not linear.D1[:3].any()  # spring and damper move the mass, not the support
    for verb in (lambda: step_response(linear, [0, 1]), lambda: discretize(linear, 0.1)):
        with pytest.raises(DefinitionError, match=r"'qd.spring' follows that of 'q.y'.*driven='parts'"):
            verb()


def test_parts_are_three_inputs_of_one_motion():
    """Given together they are right; each alone is a share of the motion."""
    whole, parts = (linearize(oscillator(), driven=d, outputs=["p.mass"]) for d in ("input", "parts"))
    assert parts.inputs == ("q.y", "qd.y", "qdd.y")
    g = frequency_response(parts, OMEGA).values[:, 0, :]
    np.testing.assert_allclose(g @ [1, 0, 0] + S * g[:, 1] + S**2 * g[:, 2], frequency_response(whole, OMEGA).channel(),
                               atol=1e-12)  # fmt: skip
    t = np.linspace(0, 2, 2001)
    u = np.stack([t**3, 3 * t**2, 6 * t], axis=1)
    a = time_response(parts, t, u, between="straight").values["y"][:, 0]
    b = time_response(whole, t, t**3, between="straight").values["y"][:, 0]
    np.testing.assert_allclose(a, b, atol=1e-5)


def swinging(law):
    """A driven crank in a slider-crank with a spring and a damped pendulum on the slider: a loop with driven motion."""
    b = sb.Mechanism.builder("driven_loop", gravity=[0, -9.81, 0])
    b.body("crank", mass=1, inertia=[0, 0, 0.01])
    b.body("rod", mass=0.5, com=[0.1, 0, 0], inertia=[0, 0, 2e-3], frames={"pin": [0.3, 0, 0]})
    b.body("slider", mass=0.4)
    b.body("bob", mass=0.3, com=[0, -0.2, 0], inertia=[0, 0, 1e-3])
    b.joint("crank", "revolute", "world", "crank", mode="driven", value=law)
    b.joint("rod", "revolute", "crank", "rod", position=[0.1, 0, 0], mode="passive")
    b.joint("slider", "prismatic", "world", "slider", axis="x", mode="passive")
    b.joint("bob", "revolute", "slider", "bob", viscous=0.03, mode="passive")
    b.cut("pin", "rows", "slider", "rod.pin", rows=["x", "y"])
    return b.done()


def nutating(law):
    """A driven ball joint, turned about x by a law, that carries a damped pendulum whose axis is turned."""
    b = sb.Mechanism.builder("driven_ball")
    b.body("head", mass=1, inertia=[0.1, 0.1, 0.1])
    b.joint("neck", "ball", "world", "head", mode="driven", value=["1", f"({law})/2", "0", "0"])
    b.body("bob", mass=0.3, com=[0, 0.05, -0.3], inertia=[2e-3, 2e-3, 1e-3])
    b.joint("bob", "revolute", "head", "bob", axis=[0.8, 0.6, 0], position=[0.1, 0.2, 0], viscous=0.05, stiffness=0.4)
    return b.done()


@pytest.mark.parametrize(
    ("make", "start", "given", "shown"),
    [(swinging, "1.1", "q.crank", "q.bob"), (nutating, "0", "q.neck.1", "q.bob")],
    ids=["loop", "ball"],
)
def test_small_sine_of_a_driven_joint(make, start, given, shown):
    """The response of a simulation in its steady state, taken by correlation, is that of the linear model."""
    size, omega = 1e-4, 6.0
    still = make(f"{start} + 0*t")
    point = sb.equilibrium(still, loops="closed").point
    linear = linearize(still, driven="input", **point)
    want = frequency_response(linear, omega, given, shown).channel()[0]
    period = 2 * np.pi / omega
    rounds = 24
    t = np.linspace(0, rounds * period, rounds * 64 + 1)
    moved = make(f"{start} + {size}*sin({omega}*t)")
    m = sb.simulate(moved, t[-1], q0=point["q0"], samples=t, rtol=1e-11)
    joint = shown.partition(".")[2]
    q = m[f"q.{joint}"] - point["q0"][m.labels["q"].index(joint)]
    last = slice(-65, -1)
    found = 2 * np.mean(q[last] * np.exp(-1j * omega * t[last])) * 1j / size
    assert abs(found - want) < 2e-3 * abs(want)


def test_the_effort_of_a_driven_joint_is_an_output():
    """F / y of the support of mass 1: s^2 + m s^2 x / y."""
    linear = linearize(oscillator(), driven="input", outputs=["tau.y"])
    want = S**2 * (1 + M * (1 + relative(S)))
    np.testing.assert_allclose(frequency_response(linear, OMEGA).channel(), want, atol=1e-9)
