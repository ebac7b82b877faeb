"""sb.simulate against motions that are known in closed form, against itself, and on wrong questions."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from helpers.simulation_models import ball, brick, chain, crank, oscillator
from symbody.basics.errors import DefinitionError, ModelError, NameLookupError, ShapeError
from symbody.model.record.mechanism import Mechanism
from symbody.motion.flow.event_rules import When
from symbody.motion.run.simulate import resume, simulate
from symbody.motion.trajectory.outcome import Outcome
from symbody.symbolic.expr.graph import symbols
from symbody.symbolic.system.system import System

IFTOMM = Path(__file__).parents[3] / ".." / "shared" / "data" / "iftomm_mechanisms"


def damped(t: np.ndarray, m: float = 1.0, k: float = 4.0, d: float = 0.2, x0: float = 1.0) -> np.ndarray:
    """Free motion of the oscillator from rest at x0."""
    decay, omega = d / (2 * m), np.sqrt(k / m - (d / (2 * m)) ** 2)
    return x0 * np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t))


# -- motions that are known


def test_projectile_follows_its_parabola():
    traj = simulate(brick(), 2.0, 0.01, qd0={"base": [0, 0, 0, 1.0, 2.0, 5.0]}, outputs="p.brick")
    t = traj.t[:, None]
    assert np.abs(traj["p.brick"] - (t * [1, 2, 5] - 0.5 * t**2 * [0, 0, 9.81])).max() < 1e-12
    assert traj["p.brick.z"] == pytest.approx(traj["q"][:, 2])


def test_adaptive_and_fixed_steps_meet_the_damped_oscillation():
    for options in ({"step": 1e-3}, {}, {"method": "dopri5"}, {"method": "radau"}):
        traj = simulate(oscillator(), 10.0, q0=[1.0], **options)
        assert traj.outcome is Outcome.FINISHED
        assert traj.t[0] == 0
        assert traj.t[-1] == 10.0
        assert np.abs(traj["q.x"] - damped(traj.t)).max() < 1e-6


def test_driven_joint_follows_its_law_exactly():
    for options in ({"step": 0.01}, {"samples": 201}):
        traj = simulate(crank(), 2.0, q0={"swing": 0.2}, **options)
        s, c = np.sin(4 * traj.t), np.cos(4 * traj.t)
        assert traj["q.crank"] == pytest.approx(0.3 * s, abs=1e-15)
        assert traj["qd.crank"] == pytest.approx(1.2 * c, abs=4e-15)
        assert traj["qdd.crank"] == pytest.approx(-4.8 * s, abs=4e-15)


def test_pendulum_on_a_driven_crank_agrees_with_an_independent_model():
    """The bob on a base that turns about z: theta'' from the Lagrangian of a point that SymPy derives."""
    sympy = pytest.importorskip("sympy")
    t, theta_t, d_theta = sympy.Symbol("t"), sympy.Function("theta")(sympy.Symbol("t")), sympy.Symbol("d")
    phi = sympy.Rational(3, 10) * sympy.sin(4 * t)
    radial = sympy.Matrix([sympy.cos(phi), sympy.sin(phi), 0])
    across = sympy.Matrix([-sympy.sin(phi), sympy.cos(phi), 0])
    down = sympy.Matrix([0, 0, -1])
    centre = radial + (across * sympy.sin(theta_t) + down * sympy.cos(theta_t)) / 2
    velocity = centre.diff(t)
    # angular velocity in body axes: (theta', phi' sin theta, phi' cos theta), moments 0.05, 0.05, 0.01
    rate, turn = theta_t.diff(t), phi.diff(t)
    spin = (0.05 * rate**2 + 0.05 * (turn * sympy.sin(theta_t)) ** 2 + 0.01 * (turn * sympy.cos(theta_t)) ** 2) / 2
    lagrangian = velocity.dot(velocity) / 2 + spin - 9.81 * centre[2]
    theta, a = sympy.symbols("theta a")
    equation = lagrangian.diff(rate).diff(t) - lagrangian.diff(theta_t)
    equation = equation.subs(theta_t.diff(t, 2), a).subs(rate, d_theta).subs(theta_t, theta)
    # linear in the acceleration
    value = sympy.lambdify((t, theta, d_theta, a), equation)

    def function(t, theta, d):
        rest = value(t, theta, d, 0.0)
        return rest / (rest - value(t, theta, d, 1.0))

    from scipy.integrate import solve_ivp

    found = solve_ivp(lambda t, y: [y[1], function(t, *y)], (0, 3), [0.2, 0.0], method="DOP853", rtol=1e-11, atol=1e-12)
    traj = simulate(crank(), 3.0, q0={"swing": 0.2}, rtol=1e-11)
    assert traj["q.swing"][-1] == pytest.approx(found.y[0, -1], abs=1e-8)


@pytest.mark.skipif(not IFTOMM.is_dir(), reason="the shared data are not here")
def test_iftomm_simple_pendulum():
    """A01: point mass of 1 kg on 1 m, from the horizontal at rest; position error over 10 s at most 1e-5 m."""
    data = np.load(IFTOMM / "simple_pendulum.npz", allow_pickle=False)
    pendulum = (
        Mechanism.builder("pendulum", gravity=(0, -9.81, 0))
        .body("bob", mass=1.0, com=(-1, 0, 0), frames={"tip": (-1, 0, 0)})
        .joint("pivot", "revolute", "world", "bob", axis="z")
        .done()
    )
    names = {n.lower(): n for n in data.files}
    times = data[names["t"]]
    traj = simulate(pendulum, float(times[-1]), 1e-3, outputs="p.bob.tip", samples=times)
    reference = np.stack([data[names["x"]], data[names["y"]]], axis=-1)
    assert np.abs(traj["p.bob.tip"][:, :2] - reference).max() < 1e-5
    assert traj["p.bob.tip"][-1, :2] == pytest.approx([-0.275087463, -0.961419205], abs=1e-8)


def test_any_system_with_states_can_be_simulated():
    x, y, u, k = *symbols("x y u"), symbols("k", role="parameter", default=9.0)
    system = System("linear", inputs={"x": x, "y": y, "u": u}, outputs={"xd": y, "yd": u - k * x, "E": k * x**2 + y**2},
                    states={"x": "xd", "y": "yd"})  # fmt: skip
    traj = simulate(system, 2.0, 1e-3, states0={"x": 1.0}, inputs={"u": 0.0})
    assert traj["x"] == pytest.approx(np.cos(3 * traj.t), abs=1e-10)
    assert traj["E"] == pytest.approx(np.full(len(traj), 9.0), rel=1e-10)
    forced = simulate(system, 2.0, inputs={"u": 1.0}, parameters={"k": 1.0})
    assert forced["x"] == pytest.approx(1 - np.cos(forced.t), abs=1e-7)


def test_stiff_system_ends_with_an_implicit_method():
    """y' = -lambda (y - cos t) - sin t has the solution cos t; an explicit method would need 1e6 steps and more."""
    y, t = symbols("y"), symbols("t", role="time")
    from symbody.symbolic.expr.call import call

    rate = -1e7 * (y - call("cos", t)) - call("sin", t)
    system = System("stiff", inputs={"y": y, "t": t}, outputs={"yd": rate}, states={"y": "yd"})
    traj = simulate(system, 10.0, states0={"y": 1.0}, rtol=1e-6)
    assert traj.method == "lsoda"
    assert "lsoda" in traj.notes[0]
    assert traj["y"] == pytest.approx(np.cos(traj.t), abs=1e-5)


# -- samples, batches


def test_samples_between_steps_are_as_accurate_as_the_steps():
    at = np.array([0.0, 0.123456, 1.0, 1.000017, 2.0])
    traj = simulate(oscillator(), 2.0, 1e-2, q0=[1.0], samples=at)
    assert (traj.t == at).all()
    assert np.abs(traj["q.x"] - damped(at)).max() < 1e-8


def test_a_step_that_does_not_divide_the_duration_ends_with_a_shorter_one():
    traj = simulate(oscillator(), 1.0, 0.03, q0=[1.0])
    assert traj.t[-1] == 1.0
    assert traj.t[-2] == pytest.approx(0.99)
    assert traj["q.x"][-1] == pytest.approx(damped(1.0), abs=0.03**4)


def test_batch_of_states_equals_single_runs():
    q0 = np.random.default_rng(1).uniform(-1, 1, (9, 3))
    batch = simulate(chain(3), 1.0, 1e-3, q0=q0, samples=11, outputs="energy")
    assert batch.q.shape == (9, 11, 3)
    assert batch.energy.shape == (9, 11)
    for k in (0, 8):
        alone = simulate(chain(3), 1.0, 1e-3, q0=q0[k], samples=11, outputs="energy")
        assert (alone.q == batch.q[k]).all()
        assert (alone.qdd == batch.qdd[k]).all()
    adaptive = simulate(chain(3), 1.0, q0=q0, samples=11)
    assert adaptive.q == pytest.approx(batch.q, abs=1e-7)


def test_batch_of_parameters_and_inputs():
    stiffness, push = np.array([1.0, 4.0, 9.0]), np.array([0.0, 2.0, 3.0])
    traj = simulate(oscillator(), 4.0, 1e-3, parameters={"k": stiffness, "d": 0.0}, inputs={"x": push}, samples=41)
    omega = np.sqrt(stiffness)[:, None]
    assert traj["q.x"] == pytest.approx((push / stiffness)[:, None] * (1 - np.cos(omega * traj.t)), abs=1e-9)
    assert traj.tau[:, 5, 0] == pytest.approx(push)


def test_implicit_batch_equals_single_runs():
    q0 = np.array([[0.1, 0.2], [0.5, -0.5], [1.0, 0.0]])
    batch = simulate(chain(2), 0.5, 1e-2, q0=q0, method="generalized_alpha")
    for k in range(3):
        assert (simulate(chain(2), 0.5, 1e-2, q0=q0[k], method="generalized_alpha").q == batch.q[k]).all()
    apart = simulate(chain(2), 0.5, q0=q0, method="radau", samples=11)  # one by one
    for k in range(3):
        assert (simulate(chain(2), 0.5, q0=q0[k], method="radau", samples=11).q == apart.q[k]).all()


def test_a_member_that_fails_does_not_stop_the_others():
    x = symbols("x")
    system = System("explosion", inputs={"x": x}, outputs={"xd": x**2}, states={"x": "xd"})
    traj = simulate(system, 2.0, 1e-2, states0={"x": np.array([0.1, 1.0])})
    assert traj.outcomes[0] is Outcome.FINISHED
    assert traj.outcomes[1] is Outcome.NOT_FINITE
    assert traj.outcome is Outcome.NOT_FINITE
    assert traj.x[0, -1] == pytest.approx(0.1 / (1 - 0.2), rel=1e-9)
    assert np.isnan(traj.x[1, -1])


# -- recorded quantities


def test_recorded_quantities_agree_with_their_meaning():
    wanted = ["reaction.j1", "v.rod2", {"speed": "sqrt(qd.j1^2)", "s": "q.j1 + q.j2"}, "com"]
    traj = simulate(chain(2), 1.0, 1e-3, q0=[0.3, 0.4], outputs=wanted)
    assert traj["speed"] == pytest.approx(np.abs(traj["qd.j1"]))
    assert traj["s"] == pytest.approx(traj.q.sum(axis=1))
    # the reaction in the first joint, turned to world axes, carries weight and acceleration of the centre of mass
    dt = traj.t[1]
    com = np.gradient(np.gradient(traj["com"], dt, axis=0), dt, axis=0)[5:-5]
    q1, force = traj["q.j1"][5:-5], traj["reaction.j1"][5:-5, 3:]
    world = np.stack([np.cos(q1) * force[:, 0] + np.sin(q1) * force[:, 2],
                      -np.sin(q1) * force[:, 0] + np.cos(q1) * force[:, 2]], axis=1)  # fmt: skip
    assert world == pytest.approx(2.0 * (com[:, [0, 2]] + [0, 9.81]), abs=1e-3)


# -- events, interrupts, failures


@pytest.mark.parametrize("options", [{"step": 0.01}, {}, {"method": "lsoda"}])
def test_bouncing_ball_meets_the_ground_when_it_should(options):
    bounce = When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"})
    traj = simulate(ball(), 2.0, q0={"z": 1.0}, events=[bounce], **options)
    first = np.sqrt(2 / 9.81)
    expected = first * np.array([1, 1 + 1.6, 1 + 1.6 + 1.28])
    assert [e.t for e in traj.events] == pytest.approx(expected, abs=1e-6)
    assert traj["q.z"].min() > -1e-9


def test_a_stop_condition_ends_the_run_there():
    traj = simulate(ball(), 5.0, q0={"z": 1.0}, events=[When("ground", "q.z", stop=True)])
    assert traj.outcome is Outcome.STOPPED
    assert traj.t[-1] == pytest.approx(np.sqrt(2 / 9.81), abs=1e-9)
    assert traj["q.z"][-1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("options", [{"step": 0.01}, {}, {"step": 0.01, "method": "midpoint"}])
def test_an_event_may_set_an_input(options):
    """A push of 1 N on 1 kg that ends at t = 1 s, without spring and damper: 1/2 m, then 1 m/s."""
    off = When("off", "t - 1", reset={"tau.x": 0.0})
    none = {"k": 0.0, "d": 0.0}
    traj = simulate(oscillator(), 2.0, inputs={"x": 1.0}, events=[off], parameters=none, **options)
    assert traj["q.x"][-1] == pytest.approx(1.5, abs=1e-9)
    assert traj["tau.x"][[0, -1]] == pytest.approx([1, 0])
    with pytest.raises(DefinitionError, match="number"):
        simulate(oscillator(), 2.0, inputs={"x": "t"}, events=[off], **options)


def interrupting(after: int):
    calls = [0]

    def control(t, q, qd):
        calls[0] += 1
        if calls[0] == after:
            os.kill(os.getpid(), signal.SIGINT)
        return -2.0 * q - qd

    return control


def test_ctrl_c_keeps_what_was_computed_and_resume_finishes_it():
    full = simulate(oscillator(), 1.0, 1e-2, q0=[1.0], inputs=interrupting(0))
    part = simulate(oscillator(), 1.0, 1e-2, q0=[1.0], inputs=interrupting(40))
    assert part.outcome is Outcome.INTERRUPTED
    assert 30 < len(part) < 60
    assert (part.q == full.q[: len(part)]).all()
    whole = resume(part)
    assert whole.outcome is Outcome.FINISHED
    assert (whole.q == full.q).all()


def test_an_interrupted_run_ends_with_the_state_it_reached():
    full = simulate(oscillator(), 1.0, 1e-2, q0=[1.0], inputs=interrupting(0))
    part = simulate(oscillator(), 1.0, 1e-2, q0=[1.0], inputs=interrupting(40), samples=2)
    assert part.outcome is Outcome.INTERRUPTED
    assert len(part) == 2
    assert 0.3 < part.t[-1] < 0.5
    assert part.q[-1] == full.q[np.searchsorted(full.t, part.t[-1] - 1e-9)]
    whole = resume(part)
    assert whole.t.tolist() == [0.0, 1.0]
    assert (whole.q[-1] == full.q[-1]).all()


def test_a_run_with_too_many_steps_ends_with_the_state_it_reached():
    part = simulate(oscillator(), 100.0, q0=[1.0], samples=2, max_steps=50)
    assert part.outcome is Outcome.TOO_MANY_STEPS
    assert part.q[-1] == pytest.approx(damped(part.t[-1:]), abs=1e-6)
    assert 0 < part.t[-1] < 100


def test_simulate_works_outside_of_the_main_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(simulate(oscillator(), 1.0, 0.01, q0=[1.0])))
    thread.start()
    thread.join()
    assert found[0].outcome.ok


def test_blow_up_is_an_outcome_with_the_samples_before_it():
    x = symbols("x")
    system = System("explosion", inputs={"x": x}, outputs={"xd": x**2}, states={"x": "xd"})
    adaptive = simulate(system, 2.0, states0={"x": 1.0})
    assert adaptive.outcome in (Outcome.STEP_TOO_SMALL, Outcome.NOT_FINITE)
    assert 0.99 < adaptive.t[-1] < 1.01
    assert "step" in adaptive.outcome.value


def test_progress_bar_leaves_stdout_to_results(capsys):
    traj = simulate(oscillator(), 1.0, 1e-3, q0=[1.0], progress=True)
    assert traj.outcome.ok
    assert capsys.readouterr().out == ""


def test_a_parameter_that_cancels_from_the_motion_may_be_given():
    builder = Mechanism.builder("stone")
    builder.parameter("m", 1.0)
    builder.body("stone", mass="m")
    stone = builder.joint("z", "prismatic", "world", "stone", axis="z", mode="passive").done()
    fall = simulate(stone, 1.0, 0.01, outputs="kinetic", parameters={"m": 7.0})
    assert fall["q.z"][-1] == pytest.approx(-9.81 / 2)
    assert fall["kinetic"][-1] == pytest.approx(7.0 * 9.81**2 / 2)  # which needs it
    alone = simulate(stone, 1.0, 0.01, parameters={"m": 7.0})
    assert (alone.q == fall.q).all()
    batch = simulate(stone, 1.0, 0.01, parameters={"m": np.array([1.0, 2.0, 3.0])})
    assert batch.q[:, -1, 0] == pytest.approx([-9.81 / 2] * 3)
    with pytest.raises(NameLookupError, match="'n'"):
        simulate(stone, 1.0, 0.01, parameters={"n": 7.0})
    with pytest.raises(ModelError, match="'m'"):
        simulate(stone, 1.0, 0.01, parameters={"m": np.nan})


# -- wrong questions


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"q0": {"swng": 1}}, NameLookupError, "swing"),
        ({"q0": [1, 2, 3]}, ShapeError, "crank, swing"),
        ({"q0": [0.0, np.nan]}, ModelError, "swing"),
        ({"qd0": [0.0, np.inf]}, ModelError, "swing"),
        ({"q0": {"swing": "far"}}, ModelError, "swing"),
        ({"q0": {"crank": 1.0}}, ModelError, "driven"),
        ({"method": "rk5"}, NameLookupError, "rk4"),
        ({"outputs": "enrgy"}, NameLookupError, "energy"),
        ({"parameters": {"m": 1}}, NameLookupError, "'m'"),
        ({"step": -1.0}, DefinitionError, "step"),
        ({"step": 3.0}, DefinitionError, "longer"),
        ({"samples": 1}, DefinitionError, "2"),
        ({"samples": [0.0, 9.0]}, DefinitionError, "samples"),
        ({"states0": {"z": 1}}, NameLookupError, "'z'"),
        ({"max_steps": 0}, DefinitionError, "max_steps"),
        ({"slow": -1.0}, DefinitionError, "slow"),
        ({"method": "radau", "step": 0.1}, DefinitionError, "leave step out"),
    ],
)
def test_wrong_questions_are_answered_by_name(options, error, text):
    with pytest.raises(error, match=text):
        simulate(crank(), 1.0, **{"step": 0.01, **options})


def test_methods_of_fixed_step_ask_for_the_step():
    with pytest.raises(DefinitionError, match="give step"):
        simulate(crank(), 1.0, method="verlet")
    with pytest.raises(DefinitionError, match="duration"):
        simulate(crank(), 0.0)
    with pytest.raises(ModelError, match="Mechanism"):
        simulate("crank", 1.0)


def test_value_against_a_law_in_an_array_is_set_with_a_note():
    traj = simulate(crank(), 0.1, 0.01, q0=[0.5, 0.2])
    assert traj.q[0] == pytest.approx([0, 0.2])
    assert "crank" in traj.notes[0]


def test_trajectory_finds_components_by_joint_and_number():
    traj = simulate(brick(), 0.1, 0.01)
    assert traj["q.base"].shape == (11, 7)
    assert traj["q.base.4"] == pytest.approx(1.0)
    assert (traj["qd.1"] == traj.qd[:, 0]).all()
    with pytest.raises(NameLookupError, match="base"):
        traj["q.bse"]


# -- closed loops


def test_four_bar_keeps_its_energy_and_its_loop():
    """Released with a moving crank; named joints keep their values, the others close the loop."""
    from symbody.mechanics.assembly.numeric import Numeric
    from symbody.mechanics.formalisms.tree import build_tree
    from symbody.mechanics.loops.rows.constraint_rows import constraints
    from symbody.model.load import load

    mech = load("four_bar")
    for options in ({"step": 1e-3}, {}):
        traj = simulate(mech, 2.0, q0={"crank": 0.4}, qd0={"coupler": 1.0}, outputs="energy", **options)
        assert traj["q.crank"][0] == pytest.approx(0.4, abs=1e-12)
        assert traj["qd.coupler"][0] == pytest.approx(1.0, abs=1e-12)
        assert np.ptp(traj.energy) < 1e-6
        numeric = Numeric(constraints(build_tree(mech)))
        assert np.abs(numeric.h(traj.q)).max() < 1e-10
        assert np.abs(np.einsum("nij,nj->ni", numeric.J(traj.q), traj.qd)).max() < 1e-9
    with pytest.raises(ModelError, match="together"):
        simulate(mech, 1.0, qd0={"crank": 1.0, "coupler": 1.0, "rocker": 1.0})


@pytest.mark.parametrize("options", [{}, {"sampling": 7}, {"events": [When("pass", "t - 0.3")]}])
@pytest.mark.parametrize("method", ["rk4", "dopri5", "radau"])
def test_a_batch_of_nobody_has_no_rows_or_is_refused_in_a_sentence(method, options):
    given = dict(step=0.5 if method == "rk4" else None, method=method, q0=np.zeros((0, 1)), **options)
    if method == "radau":
        with pytest.raises(ShapeError, match="no members"):
            simulate(oscillator(), 2.0, **given)
    else:
        assert simulate(oscillator(), 2.0, **given).q.shape[::2] == (0, 1)
