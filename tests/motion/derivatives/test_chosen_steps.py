"""Derivatives of runs whose steps a tolerance chooses: of the steps that were accepted, explicit and implicit ones."""

import numpy as np
import pytest

import symbody as sb
from helpers.derivative_oracles import both_modes, close, differences
from helpers.simulation_models import ball
from symbody.basics.errors import DefinitionError, ModelError

BOUNCE = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"})
STIFF = ["radau", *(pytest.param(m, marks=pytest.mark.slow) for m in ("bdf", "lsoda", "cvode", "ida"))]


@pytest.mark.parametrize("method", ["dopri5", "dopri8"])
def test_accepted_steps_approach_the_derivative_of_the_motion(method):
    mech, names = sb.load("pendulum2"), ["m2", "q.joint1", "tau.joint2"]
    options = dict(q0={"joint1": 1.0}, inputs={"joint1": ([0.0, 0.5], [0.0, 1.0])})
    chosen = sb.differentiable(mech, 0.5, names, of=["q", "qd"], method=method, tolerance=1e-11, **options)
    found = both_modes(chosen)
    fine = sb.differentiable(mech, 0.5, names, of=["q", "qd"], method="dopri8", step=1e-2, **options)
    close(found, both_modes(fine), 1e-7)
    close(found, differences(chosen, chosen.start, 1e-5), 1e-6)
    assert any("tolerance chose" in note for note in chosen.linearise().notes)


def test_a_ball_that_bounces():
    """In closed form after the first: z(t) = 0.8 v (t - t1) - g (t - t1)^2 / 2."""
    options = dict(q0={"z": 1.0}, events=[BOUNCE], tolerance=1e-11)
    f = sb.differentiable(
        ball(), 1.9, ["q.z", "qd.z", "tau.z"], of=["q", "qd"], integrals={"s": "q.z^2"}, **options
    )  # fmt: skip
    close(both_modes(f), differences(f, f.start), 1e-7)
    early = sb.differentiable(ball(), 0.7, ["q.z"], of=["q"], **options)
    g, t1 = 9.81, np.sqrt(2 / 9.81)
    speed, since = g * t1, 0.7 - t1
    exact = 0.8 * g * since / speed + (-0.8 * speed + g * since) / speed
    np.testing.assert_allclose(both_modes(early)[0, 0], exact, rtol=1e-9)


def test_where_an_event_ends_the_run():
    stop = sb.When("low", "q.z - 0.3", direction=-1, stop=True)
    options = dict(q0={"z": 1.0}, events=[stop], tolerance=1e-10)
    f = sb.differentiable(
        ball(), 2.0, ["q.z", "qd.z"], of=["q", "qd", {"T": "t"}], integrals={"s": "q.z"}, **options
    )  # fmt: skip
    found = both_modes(f)
    close(found, differences(f, f.start, 1e-5), 1e-7)
    np.testing.assert_allclose(found[2, 0], 1 / np.sqrt(2 * 9.81 * 0.7), rtol=1e-9)


def test_a_sampled_controller_between_chosen_steps():
    q, qd, s = sb.symbols("q1 qd1 s")
    control = sb.System(
        "control", inputs={"q.joint1": q, "qd.joint1": qd, "s": s}, states={"s": "s_next"}, clocks={"period": 0.013},
        outputs={"tau.joint1": -8 * q - 1.5 * qd - 2 * s, "s_next": s + 0.013 * q * sb.cos(q)},
    )  # fmt: skip
    f = sb.differentiable(
        sb.load("pendulum2"), 0.3, ["m2", "l1", "q.joint1", "qd"], of=["q", "qd"], integrals={"c": "tau.joint1^2"},
        tolerance=1e-11, q0={"joint1": 1.0}, inputs={"joint1": control},
    )  # fmt: skip
    close(both_modes(f), differences(f, f.start, 1e-5), 1e-8)


def test_samples_between_chosen_steps_and_events():
    """Quantities at samples are those of a shorter step that ends there: the recorded ones, to the tolerance."""
    options = dict(q0={"z": 1.0}, events=[BOUNCE], tolerance=1e-11, sampling=8)
    f = sb.differentiable(ball(), 0.7, ["q.z", "qd.z", "tau.z"], of=["q", "qd"], at="samples", **options)
    close(both_modes(f), differences(f, f.start), 1e-7)
    motion = f.trajectory()
    wanted = motion.q[np.isin(motion.t, np.linspace(0, 0.7, 8))]
    np.testing.assert_allclose(f(f.start).reshape(8, 2)[:, 0], wanted[:, 0], atol=1e-9)


@pytest.mark.parametrize("method", ["auto", pytest.param("radau", marks=pytest.mark.slow)])
def test_dry_friction_that_breaks_away_and_sticks(method):
    b = sb.Mechanism.builder("slider", gravity=[0, 0, 0])
    b.body("m", 1.0).joint("x", "prismatic", "world", "m", axis="x")
    dry = b.force("e", "stiction", joint="x", level=2.0, breakaway=3.0, stiffness=4e4, damping=100.0).done()
    f = sb.differentiable(
        dry, 0.8, ["q.x", "qd.x"], of=["q", "qd"], integrals={"s": "qd.x^2"}, tolerance=1e-10, qd0={"x": 0.5},
        inputs={"x": "1.5*sin(9*t)"}, method=method,
    )  # fmt: skip
    assert len(f.trajectory().events) >= 2
    close(both_modes(f), differences(f, f.start), 1e-6)


def test_points_of_a_table_with_steps_across_them():
    """Differences of runs that choose their steps anew are too coarse at corners: a fine fixed step judges."""
    options = dict(of=["q", "qd"], inputs={"joint1": ([0.0, 0.1, 0.2049, 0.3, 0.45], np.sin(np.arange(5.0)))})
    f = sb.differentiable(sb.load("pendulum2"), 0.5, ["joint1", "m2"], **options, tolerance=1e-11)
    fine = sb.differentiable(sb.load("pendulum2"), 0.5, ["joint1", "m2"], **options, step=1e-4)
    close(both_modes(f), fine.jacobian(mode="adjoint"), 1e-6)


def test_grazing_is_said_with_its_time():
    touch = sb.When("touch", "q.z - 1", direction=1, reset={"qd.z": "-0.5*qd.z"})
    v = np.sqrt(2 * 9.81 * (1 + 1e-11))
    with pytest.raises(ModelError, match=r"'touch' is grazing at t = 0\.4515|'touch' at t = 0\.4515.* is grazing"):
        sb.differentiable(ball(), 0.8, ["qd.z"], of=["q"], tolerance=1e-9, qd0={"z": v}, events=[touch]).jacobian()


@pytest.mark.parametrize("method", STIFF)
def test_implicit_methods_of_others_by_collocation(method):
    if method in ("cvode", "ida"):
        pytest.importorskip("sksundae")
    mech, names = sb.load("pendulum2"), ["m2", "q.joint1", "tau.joint1"]
    options = dict(
        of=["q", "energy"], integrals={"c": "q.joint1^2"}, q0={"joint1": 1.0},
        inputs={"joint1": 0.1, "joint2": "-0.2*qd.joint2 + 0.1*t"},
    )  # fmt: skip
    f = sb.differentiable(mech, 0.2, names, **options, method=method, tolerance=1e-9)
    exact = sb.differentiable(mech, 0.2, names, **options, method="dopri8", step=1e-2)
    close(both_modes(f), both_modes(exact), 1e-6)
    if method == "radau":  # as it steps
        close(both_modes(f), differences(f, f.start, 1e-4), 1e-7)


@pytest.mark.parametrize("method", STIFF)
def test_implicit_methods_of_others_through_events(method):
    if method in ("cvode", "ida"):
        pytest.importorskip("sksundae")
    options = dict(q0={"z": 1.0}, events=[BOUNCE], tolerance=1e-8, method=method)
    f = sb.differentiable(ball(), 1.0, ["q.z", "qd.z", "tau.z"], of=["q", "qd"], integrals={"s": "q.z^2"}, **options)
    close(both_modes(f), differences(f, f.start, 1e-4), 1e-6)


@pytest.mark.slow
def test_a_run_that_goes_on_by_an_implicit_method():
    make = sb.Mechanism.builder("stiff", gravity=[0, 0, 0])
    for name, value in (("k", 100.0), ("d", 2e4)):
        make.parameter(name, value)
    make.body("a", 1.0).body("b", 1.0)
    make.joint("x", "prismatic", "world", "a", axis="x", stiffness="k", viscous=0.5)
    mech = make.joint("y", "prismatic", "a", "b", axis="x", viscous="d", stiffness=1e3).done()
    options = dict(of=["q.x", "qd.x"], q0={"x": 1.0, "y": 0.01})
    f = sb.differentiable(mech, 12.0, ["k", "d", "q.x"], **options, tolerance=1e-8)
    run = f.linearise()
    assert any("gave way" in note for note in run.notes)
    found = np.array([run.vjp(w) for w in np.eye(2)])
    exact = sb.differentiable(mech, 12.0, ["k", "d", "q.x"], **options, method="sdirk3", step=1e-3)
    close(found, exact.jacobian(), 1e-5)


def test_what_is_not_differentiated_says_so():
    with pytest.raises(DefinitionError, match=r"'verlet' .* constant inputs"):
        sb.differentiable(ball(), 1.0, ["q.z"], of=["q"], method="verlet", step=0.01, inputs={"z": ([0, 1], [0, 1])})
    f = sb.differentiable(ball(), 1.0, ["q.z"], of=["q"], q0={"z": 1.0}, events=[BOUNCE], method="verlet", step=0.01)
    with pytest.raises(DefinitionError, match=r"'verlet' .* events"):
        f(f.start)
    between = np.array([0.0, 0.033, 0.1])
    sampled = sb.differentiable(sb.load("pendulum2"), 0.1, ["m2"], of=["q"], at="samples", sampling=between, step=0.01)
    with pytest.raises(DefinitionError, match="between two steps"):
        sampled(np.ones(1))
    little = sb.differentiable(sb.load("pendulum2"), 0.1, ["m2"], of=["q"], tolerance=1e-9, memory=100)
    with pytest.raises(DefinitionError, match="memory"):
        little(np.ones(1))
