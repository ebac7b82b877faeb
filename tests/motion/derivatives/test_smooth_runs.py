"""Derivatives of smooth runs of fixed step: exactly those of the steps as they are taken."""

import numpy as np
import pytest

import symbody as sb
from helpers.derivative_oracles import STEP, both_modes, close, complex_run, differences
from helpers.simulation_models import brick, crank
from symbody.basics.errors import DefinitionError, NameLookupError, ShapeError
from symbody.motion.flow.of_mechanism import mechanism_flow
from symbody.motion.methods import implicit_stepper as implicit
from symbody.motion.methods import native_stepper as native

METHODS = [
    "euler", "heun", "rk4", "dopri5", "semi_implicit_euler", "verlet", "symplectic4", "implicit_euler", "midpoint",
    "sdirk2", "generalized_alpha",
]  # fmt: skip


def complex_jacobian(flow, x0, step, count, parameters, u, names, starts):
    """(nx, n) by one complex run for each direction."""
    columns = []
    for name in names:
        moved = {**parameters, name: parameters[name] + 1j * STEP}
        columns.append(complex_run(flow, x0, step, count, moved, u).imag / STEP)
    for k in starts:
        x = np.asarray(x0, dtype=complex)
        x[k] += 1j * STEP
        columns.append(complex_run(flow, x, step, count, parameters, u).imag / STEP)
    return np.array(columns).T


def test_two_rods_against_complex_steps():
    mech = sb.load("pendulum2")
    flow = mechanism_flow(mech)
    q0, qd0 = np.array([1.0, -0.4]), np.array([0.2, 0.3])
    names = ["m1", "m2", "l1", "l2"]
    f = sb.differentiable(mech, 0.4, [*names, "q", "qd"], of=["q", "qd"], step=0.01, q0=q0, qd0=qd0)
    values = {n: float(flow.rates.default(n)[0]) for n in names}
    u = {n: np.zeros(flow.rates.inputs[n].shape) for n in flow.signals}
    wanted = complex_jacobian(flow, np.concatenate([q0, qd0]), 0.01, 40, values, u, names, range(4))
    close(both_modes(f), wanted, 1e-12)


def test_puma_by_all_its_parameters_against_complex_steps():
    mech = sb.load("puma560")
    q0, qd0 = 0.3 * np.ones(6), np.array([0.8, -0.7, 0.9, 1.1, -0.8, 0.7])
    names = [n for n in mech.parameters if n in mechanism_flow(mech, slow=0.5).parameters]
    assert len(names) == 56
    f = sb.differentiable(mech, 0.02, names, of=["q", "qd"], step=1e-3, q0=q0, qd0=qd0, slow=0.5)
    flow = mechanism_flow(mech, slow=0.5)
    values = {n: float(flow.rates.default(n)[0]) for n in names}
    u = {n: np.zeros(flow.rates.inputs[n].shape) for n in flow.signals}
    wanted = complex_jacobian(flow, np.concatenate([q0, qd0]), 1e-3, 20, values, u, names, [])
    close(both_modes(f), wanted, 1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_differentiated_as_it_steps(method):
    f = sb.differentiable(
        sb.load("pendulum2"), 0.3, ["m2", "q.joint1", "qd.joint2", "tau.joint1"], of=["q", "energy"],
        integrals={"cost": "q.joint1^2 + 0.1*tau.joint1*qd.joint2"}, step=0.01, q0={"joint1": 1.0}, method=method,
        inputs={"joint1": 0.1, "joint2": "-0.2*qd.joint2 + 0.1*t"},
    )  # fmt: skip
    close(both_modes(f), differences(f, f.start), 1e-8)


def test_some_of_the_inputs():
    mech = sb.load("pendulum2")
    last = sb.differentiable(mech, 0.2, ["tau.joint2"], of=["q"], step=0.01)
    close(both_modes(last), differences(last, last.start), 1e-8)
    together = sb.differentiable(mech, 0.2, ["tau.joint2"], of=["q"], step=0.01, inputs={"tau": [0.3, 0.4]})
    assert together.start == [0.4]
    close(both_modes(together), differences(together, together.start), 1e-8)


def test_a_four_bar_keeps_its_crank_and_the_others_follow():
    mech = sb.load("four_bar")
    f = sb.differentiable(
        mech, 0.1, [*mech.parameters, "q.crank", "qd.crank", "q.coupler"], of=["q", "qd"],
        integrals={"s": "q.rocker^2"}, step=1e-3, q0={"crank": 0.8}, qd0={"crank": 1.0},
    )  # fmt: skip
    found = both_modes(f)
    close(found, differences(f, f.start), 2e-8)
    assert not found[:, -1].any()  # the loop determines it


def test_free_bodies_and_driven_joints():
    turning = sb.differentiable(brick(), 0.5, ["qd"], of=["q", "qd"], step=0.01, qd0=[1.0, 2.0, 0.5, 0.1, 0.0, 0.3])
    close(both_modes(turning), differences(turning, turning.start), 1e-8)
    swinging = sb.differentiable(crank(), 0.5, ["q.swing", "qd.swing"], of=["q"], step=0.01, q0={"swing": 0.4})
    close(both_modes(swinging), differences(swinging, swinging.start), 1e-8)


@pytest.mark.parametrize("kind", ["linear", "hold"])
def test_points_of_a_table_of_torques(kind):
    times = [0.0, 0.1, 0.2049, 0.3, 0.4, 0.45]  # one of them between two steps
    table = (times, np.sin(np.arange(6.0)), kind)
    f = sb.differentiable(
        sb.load("pendulum2"), 0.5, ["joint1", "m2"], of=["q", "qd"], integrals={"w": "tau.joint1*qd.joint1"}, step=0.01,
        inputs={"joint1": table},
    )  # fmt: skip
    close(both_modes(f), differences(f, f.start, 1e-5), 1e-8)
    assert f.start.shape == (7,)


@pytest.mark.parametrize("method", ["implicit_euler", "midpoint", "generalized_alpha"])
def test_implicit_steps_read_a_table_where_they_read_signals(method):
    f = sb.differentiable(
        sb.load("pendulum2"), 0.3, ["joint1", "m2"], of=["q"], step=0.01, method=method,
        inputs={"joint1": ([0.0, 0.1, 0.2049, 0.3], [0.1, 0.2, 0.0, 0.4])},
    )  # fmt: skip
    close(both_modes(f), differences(f, f.start, 1e-4), 1e-8)


def test_points_of_a_spline_are_parameters_of_a_law():
    t, times = sb.symbol("t", "time"), [0.0, 0.1, 0.25, 0.4, 0.5]
    points = [sb.symbol(f"p{k}", "parameter", default=float(np.sin(k))) for k in range(5)]
    unit = np.eye(5)
    spline = sum((p * sb.table(t, times, unit[k], "cubic") for k, p in enumerate(points)), start=0 * t)
    law = sb.System("spline", inputs={"t": t}, outputs={"tau.joint1": spline})
    names = [f"p{k}" for k in range(5)]
    f = sb.differentiable(sb.load("pendulum2"), 0.5, names, of=["q", "qd"], step=0.01, inputs={"joint1": law})
    close(both_modes(f), differences(f, f.start, 1e-4), 1e-7)


@pytest.mark.parametrize("method", ["verlet", "generalized_alpha"])
def test_what_a_method_carries_begins_anew_where_the_run_begins_a_stretch(method, monkeypatch):
    """Stretches of 16 steps. Where forces depend on velocities, rates that are carried are not those at the state."""
    for module in (native, implicit):
        monkeypatch.setattr(module, "WORK", 1.0)
    f = sb.differentiable(
        sb.load("pendulum2"), 0.5, ["m2", "q.joint1"], of=["q", "qd"], integrals={"c": "q.joint1^2"}, step=0.01,
        q0={"joint1": 1.0}, method=method, inputs={"joint2": "-0.9*qd.joint2"},
    )  # fmt: skip
    assert len(f.linearise().tape.pieces) == 4
    close(both_modes(f), differences(f, f.start), 1e-8)


@pytest.mark.parametrize("method", ["verlet", pytest.param("generalized_alpha", marks=pytest.mark.slow)])
def test_methods_that_carry_rates_with_quaternions_and_driven_joints(method):
    turning = sb.differentiable(
        brick(), 0.1, ["qd"], of=["q", "qd"], step=0.01, qd0=[1, 2, 0.5, 0.1, 0, 0.3], method=method
    )
    close(both_modes(turning), differences(turning, turning.start, 1e-5), 1e-8)
    swinging = sb.differentiable(
        crank(), 0.3, ["q.swing", "qd.swing"], of=["q"], step=0.01, q0={"swing": 0.4}, method=method
    )
    close(both_modes(swinging), differences(swinging, swinging.start), 1e-8)


def test_quantities_at_samples_and_states_that_are_computed_again():
    options = dict(step=0.01, q0={"joint1": 1.0}, sampling=6, inputs={"joint1": 0.1})
    wanted = {"of": ["q.joint1", {"tip": "q.joint1 + q.joint2"}], "integrals": {"c": "q.joint1^2"}, "at": "samples"}
    kept = sb.differentiable(sb.load("pendulum2"), 0.5, ["m2", "q.joint1"], **wanted, **options)
    again = sb.differentiable(sb.load("pendulum2"), 0.5, ["m2", "q.joint1"], **wanted, **options, memory=300)
    found = both_modes(kept)
    assert found.shape == (6 * 2 + 1, 2)
    close(found, differences(kept, kept.start), 1e-8)
    assert max(piece.every for piece in again.linearise().tape.pieces) > 1
    close(both_modes(again), found, 1e-13)


def test_expressions_read_what_a_run_records():
    f = sb.differentiable(
        sb.load("pendulum2"), 0.2, ["q", "m2"], of=[{"e": "energy*q.joint1"}], integrals={"a": "energy^2"}, step=0.01,
        q0={"joint1": 1.0},
    )  # fmt: skip
    close(both_modes(f), differences(f, f.start), 1e-8)
    with pytest.raises(NameLookupError, match="enregy"):
        sb.differentiable(sb.load("pendulum2"), 0.2, ["q"], of=[{"e": "enregy*q.joint1"}], step=0.01)


def test_a_system_with_states():
    x, v = sb.symbols("x v")
    k, m = sb.symbol("k", "parameter", default=8.0), sb.symbol("m", "parameter", default=2.0)
    spring = sb.System(
        "spring",
        inputs={"x": x, "v": v},
        outputs={"x_dot": v, "v_dot": -k / m * x},
        states={"x": "x_dot", "v": "v_dot"},
    )
    f = sb.differentiable(spring, 2.0, ["k", "m", "x"], of=["x"], step=1e-3, states0={"x": 1.0})
    t, w = 2.0, 2.0
    exact = [-np.sin(w * t) * t * w / 16, np.sin(w * t) * t * w / 4, np.cos(w * t)]
    np.testing.assert_allclose(both_modes(f)[0], exact, atol=1e-10)


def test_sensitivity_with_a_mode_is_labelled():
    found = sb.sensitivity(
        sb.load("pendulum2"), 0.3, ["m2", "q"], outputs=["q", "energy"], integrals={"s": "q.joint1^2"}, mode="adjoint",
        step=0.01, q0={"joint1": 1.0},
    )  # fmt: skip
    assert found.of("q", "m2").shape == (2,)
    assert found.of("q", "q").shape == (2, 2)
    assert found.of("s", "q").shape == (2,)
    forward = sb.sensitivity(
        sb.load("pendulum2"), 0.3, ["m2", "q"], outputs=["q"], mode="forward", at="samples", step=0.01,
        q0={"joint1": 1.0}, sampling=4,
    )  # fmt: skip
    assert forward.of("q", "q").shape == (4, 2, 2)
    np.testing.assert_allclose(forward.of("q", "m2")[-1], found.of("q", "m2"), rtol=1e-12)
    np.testing.assert_allclose(found.value("q"), found.trajectory.q[-1], rtol=1e-13)


def test_wrong_names_are_told_with_the_nearest():
    mech = sb.load("pendulum2")
    with pytest.raises(NameLookupError, match=r"m22.*Did you mean 'm2'"):
        sb.differentiable(mech, 0.1, ["m22"], of=["q"], step=0.01)
    with pytest.raises(NameLookupError, match="enrgy"):
        sb.differentiable(mech, 0.1, ["m2"], of=["enrgy"], step=0.01)
    with pytest.raises(DefinitionError, match="nothing is asked for"):
        sb.differentiable(mech, 0.1, ["m2"], step=0.01)
    with pytest.raises(DefinitionError, match="twice"):
        sb.differentiable(mech, 0.1, ["m2", "m2"], of=["q"], step=0.01)
    with pytest.raises(DefinitionError, match="function or a law"):
        sb.differentiable(mech, 0.1, ["joint1"], of=["q"], step=0.01, inputs={"joint1": "-q.joint1"})
    with pytest.raises(ShapeError, match="theta has shape"):
        sb.differentiable(mech, 0.1, ["m2"], of=["q"], step=0.01)(np.zeros(3))


def hertz_run(theta, step=0.01, count=100):
    """(position, speed) after a flight, a contact of Hertz and a flight, by an own Runge-Kutta loop. theta: k, start"""
    k, *y = theta
    y = np.array(y)

    def rates(y):
        return np.array([y[1], -k * (y[0] - 0.1) ** 1.5 if y[0].real > 0.1 else 0.0])

    for _ in range(count):
        a = rates(y)
        b = rates(y + step / 2 * a)
        c = rates(y + step / 2 * b)
        d = rates(y + step * c)
        y = y + step * (a / 6 + b / 3 + c / 3 + d / 6)
    return y


def test_a_law_that_is_undefined_behind_its_branch():
    """A Hertz contact as a text: (q - 0.1)**1.5 has no value in flight, where the force is 0."""
    q, v = sb.symbols("q v", "state")
    k = sb.symbol("k", "parameter", default=300.0)
    force = sb.parse("select(q > 0.1, -k*(q - 0.1)**1.5, 0)", names={"q": q, "k": k})
    wall = sb.System("wall", inputs={"q": q, "v": v}, outputs={"qr": v, "vr": force}, states={"q": "qr", "v": "vr"})
    start = np.array([300.0, -0.503, 1.0])
    f = sb.differentiable(
        wall, 1.0, ["k", "q", "v"], of=["q", "v"], step=0.01, method="rk4", states0={"q": start[1], "v": start[2]}
    )

    def slopes(theta):
        return np.array([hertz_run(theta + 1j * STEP * e).imag / STEP for e in np.eye(3)]).T

    close(both_modes(f), slopes(start), 1e-10)
    w = np.array([1.0, 0.5])
    close(f.hessian(weights=w), differences(lambda theta: w @ slopes(theta), start, 1e-7), 1e-4)
