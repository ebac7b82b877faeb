"""Sensitivities of motions: closed forms, and differences of runs with changed parameters."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import symbody as sb
from symbody.basics.errors import DefinitionError, NameLookupError
from symbody.motion.flow.of_mechanism import mechanism_flow
from symbody.motion.flow.of_system import system_flow
from symbody.motion.run.simulate import simulate
from symbody.studies.inverse.sensitivity import sensitivity, sensitivity_flow, sensitivity_start


def oscillator():
    """x'' = -(k/m) x, and the energy as a recorded quantity."""
    x, v = sb.symbols("x v")
    k, m = sb.symbol("k", "parameter", default=8.0), sb.symbol("m", "parameter", default=2.0)
    return system_flow(
        sb.System(
            "oscillator",
            inputs={"x": x, "v": v},
            outputs={"x_dot": v, "v_dot": -k / m * x, "energy": (m * v * v + k * x * x) / 2},
            states={"x": "x_dot", "v": "v_dot"},
        )
    )


def integrated(flow, start, t, parameters=None):
    """States by name at the instants t, by SciPy."""
    kernel, names = flow.rates.compile(), list(flow.states)

    def f(time, x):
        given = flow.layout.split(x)
        made = kernel(**given, t=time, parameters=parameters)
        return np.concatenate([np.ravel(getattr(made, flow.rates.states[n])) for n in names])

    x0 = np.concatenate([np.ravel(start.get(n, np.zeros(flow.rates.inputs[n].shape))) for n in names])
    found = solve_ivp(f, (t[0], t[-1]), x0, t_eval=t, rtol=1e-11, atol=1e-12).y.T
    return flow.layout.split(found)


def test_oscillator_in_closed_form():
    """x = cos(w t): dx/dk = -sin(w t) t w / (2 k), dx/dm = +..., dx/dx0 = cos(w t)."""
    names = ["k", "m", "x"]
    flow = sensitivity_flow(oscillator(), names)
    assert flow.nx == 2 + 3 * 2
    t = np.linspace(0, 4, 30)
    found = integrated(flow, {"x": np.array(1.0), **sensitivity_start(oscillator(), names)}, t)
    w, k, m = 2.0, 8.0, 2.0
    np.testing.assert_allclose(found["S_x_k"], -np.sin(w * t) * t * w / (2 * k), atol=1e-8)
    np.testing.assert_allclose(found["S_x_m"], np.sin(w * t) * t * w / (2 * m), atol=1e-8)
    np.testing.assert_allclose(found["S_x_x"], np.cos(w * t), atol=1e-8)
    np.testing.assert_allclose(found["S_v_x"], -w * np.sin(w * t), atol=1e-8)
    # the energy k x0^2 / 2 stays: its derivative by k is x0^2 / 2 at all times, by m zero
    kernel = flow.record.compile()
    energy = [kernel(**{n: a[i] for n, a in found.items()}, t=t[i]) for i in range(len(t))]
    np.testing.assert_allclose([e.d_energy_k for e in energy], 0.5, atol=1e-8)
    np.testing.assert_allclose([e.d_energy_m for e in energy], 0, atol=1e-8)
    np.testing.assert_allclose([e.d_energy_x for e in energy], k, atol=1e-7)


def differences(mech, name, value, duration, quantity, **options):
    """Central difference of two runs."""
    h = 1e-4 * abs(value)
    plus, minus = (
        simulate(mech, duration, parameters={name: value + s * h}, rtol=1e-11, samples=11, **options)[quantity]
        for s in (1, -1)
    )
    return (plus - minus) / (2 * h)


def test_pendulum_against_runs_with_changed_parameters():
    mech = sb.load("pendulum2")
    names = [n for n in mech.parameters if n in mechanism_flow(mech).parameters][:2]
    options = {"q0": [0.8, -0.3], "qd0": [0.2, 0.1]}
    joint = mech.joints[0].name
    found = sensitivity(mech, 1.5, [*names, f"q.{joint}"], rtol=1e-11, samples=11, **options)
    for name in names:
        value = found.values[name]
        slope = differences(mech, name, value, 1.5, "q", **options)
        assert np.abs(slope).max() > 1e-3
        np.testing.assert_allclose(found.of("q", name), slope, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.relative("q", name), value * found.of("q", name))
        slope = differences(mech, name, value, 1.5, "qdd", **options)
        np.testing.assert_allclose(found.of("qdd", name), slope, rtol=1e-5, atol=1e-5)
    h = 1e-5
    plus, minus = (
        simulate(mech, 1.5, q0=[0.8 + s * h, -0.3], qd0=[0.2, 0.1], rtol=1e-11, samples=11)["qd"] for s in (1, -1)
    )
    np.testing.assert_allclose(found.of("qd", f"q.{joint}"), (plus - minus) / (2 * h), rtol=1e-5, atol=1e-6)


def test_quaternions_keep_their_length_in_every_direction():
    builder = sb.Mechanism.builder("top")
    builder.parameter("m", 2.0)
    builder.body("top", mass="m", com=[0, 0, 0.3], inertia=[0.2, 0.25, 0.1])
    builder.joint("pivot", "ball", "world", "top", mode="passive")
    mech = builder.done()
    options = {"q0": [1.0, 0, 0, 0], "qd0": [0.3, 0.1, 5.0]}
    found = sensitivity(mech, 1.0, ["m"], rtol=1e-11, samples=11, **options)
    q = found.trajectory["q"]
    # |q|^2 = 1 for every m, so that q . dq/dm = 0
    np.testing.assert_allclose((q * found.of("q", "m")).sum(axis=1), 0, atol=1e-7)
    np.testing.assert_allclose(
        found.of("q", "m"), differences(mech, "m", 2.0, 1.0, "q", **options), rtol=1e-5, atol=1e-7
    )


def test_recorded_quantities_have_derivatives():
    mech = sb.load("pendulum2")
    name = next(n for n in mech.parameters if n in mechanism_flow(mech).parameters)
    body = mech.bodies[-1].name
    options = {"q0": [0.8, -0.3]}
    found = sensitivity(mech, 0.8, [name], outputs=[f"p.{body}"], rtol=1e-11, samples=11, **options)
    quantity = next(q for q in found.trajectory.values if body in q and not q.startswith(("d_", "S_")))
    value = found.values[name]
    slope = differences(mech, name, value, 0.8, quantity, outputs=[f"p.{body}"], **options)
    np.testing.assert_allclose(found.of(quantity, name), slope, rtol=1e-5, atol=1e-6)


def test_closed_loops_against_runs_with_changed_parameters():
    mech = sb.load("four_bar")
    options = {"qd0": {"crank": 2.0}}
    found = sensitivity(mech, 0.5, ["m2"], rtol=1e-11, samples=11, **options)
    slope = differences(mech, "m2", found.values["m2"], 0.5, "q", **options)
    assert np.abs(slope).max() > 1e-3
    np.testing.assert_allclose(found.of("q", "m2"), slope, rtol=1e-4, atol=1e-6)


def test_unknown_names_are_refused():
    with pytest.raises(NameLookupError, match="'kk' to differentiate by"):
        sensitivity_flow(oscillator(), ["kk"])
    found = sensitivity(sb.load("pendulum2"), 0.1, ["q.1"], samples=3)
    with pytest.raises(NameLookupError, match="no derivative of 'energy'"):
        found.of("energy", "q.1")


def test_a_closed_mechanism_starts_as_simulate_starts_it():
    four_bar = sb.load("four_bar")
    start = {"q0": {"rocker": 0.3}, "qd0": {"rocker": 2.0}}
    found = sb.sensitivity(four_bar, 0.2, ["a"], samples=4, **start)
    plain = sb.simulate(four_bar, 0.2, samples=4, **start)
    np.testing.assert_allclose(found.trajectory.q, plain.q, atol=1e-7)
    np.testing.assert_allclose(found.trajectory.qd, plain.qd, atol=1e-6)


def lever():
    """A pendulum with a frame whose place no equation of motion reads, and with a named state."""
    b = sb.Mechanism.builder("lever")
    b.parameter("tip", 2.0)
    b.body("arm", mass=1, com=[0, 0, -0.5], inertia=[0.1, 0.1, 0.1], frames={"eye": [0, 0, "-tip"]})
    b.joint("j", "revolute", "world", "arm", axis="y").keyframe("lifted", {"j": 1.0}, {"j": 0.5})
    return b.done()


def test_values_are_no_names():
    """`parameters` are names to differentiate by; values stand under `values`."""
    mech = lever()
    for options in ({}, {"mode": "auto", "step": 0.01}):
        with pytest.raises(DefinitionError, match=r"Give values of parameters as values="):
            sensitivity(mech, 0.1, {"tip": 3.0}, **options)
    with pytest.raises(DefinitionError, match=r"given twice.* values"):
        sensitivity(mech, 0.1, ["tip"], parameters={"tip": 3.0})
    with pytest.raises(DefinitionError, match="Give values of parameters as parameters="):
        sb.differentiable(mech, 0.1, {"tip": 3.0}, of=["q"], step=0.01)


def test_a_parameter_that_no_equation_reads_moves_what_is_recorded_alone():
    """p.eye = -tip (sin q, 0, cos q): its derivative by tip is exact, and that of the motion is zero."""
    mech, options = lever(), {"step": 0.01, "outputs": ["p.eye"], "q0": {"j": 1.0}}
    found = sensitivity(mech, 0.5, ["tip"], values={"tip": 3.0}, **options)
    q = found.trajectory.q[:, 0]
    assert not found.of("q", "tip").any()
    unit = np.stack([-np.sin(q), 0 * q, -np.cos(q)], axis=1)
    np.testing.assert_allclose(found.of("p.eye", "tip"), unit, atol=1e-12)
    np.testing.assert_allclose(found.trajectory["p.eye"], 3 * unit, atol=1e-12)
    plain = sensitivity(mech, 0.5, ["tip"], values={"tip": 3.0}, step=0.01)
    assert not plain.of("qd", "tip").any()
    start = sensitivity(mech, 0.5, ["q.j"], values={"tip": 3.0}, step=0.01)
    np.testing.assert_array_equal(start.trajectory.q, simulate(mech, 0.5, 0.01).q)


def test_keyframes_are_starts():
    mech = lever()
    named, numbers = (
        sensitivity(mech, 0.2, ["q.j"], step=0.01, q0=q0, qd0=qd0) for q0, qd0 in (("lifted",) * 2, ([1.0], [0.5]))
    )
    np.testing.assert_array_equal(named.of("q", "q.j"), numbers.of("q", "q.j"))
    assert named.trajectory.q[0, 0] == 1.0
    drawn, same, rest = (
        np.concatenate([np.ravel(line.get_xydata()) for line in mech.show(q).axes[0].lines])
        for q in ("lifted", [1.0], None)
    )
    np.testing.assert_array_equal(drawn, same)
    assert not np.array_equal(drawn, rest)
