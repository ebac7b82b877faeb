"""Nonlinear identification of any System, by sensitivities."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import DataError, DefinitionError, NameLookupError
from symbody.studies.identification import Series, fit_system, morris, profile, screen

TRUE = {"k": 4.0, "c": 0.3, "a": 1.7}
BOUNDS = {"k": (1.0, 10.0), "c": (0.0, 2.0), "a": (0.0, 5.0)}


@pytest.fixture(scope="module")
def duffing():
    with sb.Graph():
        x, v, u, k, c, a = sb.symbols("x v u k c a")
        system = sb.System(
            "duffing", inputs={"x": x, "v": v, "u": u}, parameters={"k": k, "c": c, "a": a},
            outputs={"x_dot": v, "v_dot": u - k * x - c * v - a * x**3}, states={"x": "x_dot", "v": "v_dot"},
        )  # fmt: skip
    t = np.linspace(0, 6, 241)
    u = np.sin(1.3 * t) + 0.5 * np.cos(3.1 * t)
    motion = sb.simulate(system, 6.0, parameters=TRUE, inputs={"u": (t, u)}, samples=t, states0={"x": 0.5})
    noise = 1e-3 * np.random.default_rng(0).normal(size=len(t))
    return system, Series(t, {"x": motion["x"] + noise, "u": u})


def test_parameters_of_a_nonlinear_spring_come_back_within_their_deviations(duffing):
    system, series = duffing
    fit = fit_system(system, series, BOUNDS, ("x",), inputs={"u": None}, states0={"x": 0.5})
    for n, v in TRUE.items():
        assert abs(fit[n] - v) < 4 * fit.std[fit.names.index(n)] < 0.1
    assert fit.sigma["x"] == pytest.approx(1e-3, rel=0.2)
    assert fit.converged
    _values, rise = profile(fit, "a", points=3, width=1.0)
    np.testing.assert_allclose(rise, [1, 0, 1], atol=0.15)  # a parabola: one at one deviation
    assert set(screen(fit)) == set(TRUE)
    means = morris(fit.problem, paths=2)
    assert all(m > 0 for m, _ in means.values())


def test_a_parameter_that_acts_on_nothing_is_said(duffing):
    _system, series = duffing
    with sb.Graph():
        x, v, u, k, c, z = sb.symbols("x v u k c z")
        idle = sb.System(
            "idle", inputs={"x": x, "v": v, "u": u}, parameters={"k": k, "c": c, "z": z},
            outputs={"x_dot": v, "v_dot": u - (k + z) * x - c * v}, states={"x": "x_dot", "v": "v_dot"},
        )  # fmt: skip
    bounds = {"k": (1.0, 10.0), "c": (0.0, 2.0), "z": (0.0, 5.0)}
    fit = fit_system(idle, series, bounds, ("x",), inputs={"u": None}, states0={"x": 0.5}, budget=10)
    assert "does not determine" in " ".join(fit.notes)
    assert {n for n, x in fit.weakest.items() if abs(x) > 0.2} == {"k", "z"}


def test_wrong_names_and_constant_signals_are_refused(duffing):
    system, series = duffing
    with pytest.raises(NameLookupError, match="no parameter 'kk'"):
        fit_system(system, series, {"kk": (0, 1)}, ("x",))
    with pytest.raises(DataError, match="constant"):
        fit_system(system, series.with_values(x=np.ones(241)), BOUNDS, ("x",))


def test_a_mechanism_is_identified_by_the_same_call():
    mech = sb.load("pendulum2")
    t = np.linspace(0, 2, 81)
    motion = sb.simulate(mech, 2.0, q0=[0.5, -0.3], parameters={"m2": 1.4}, samples=t)
    series = Series(t, {"q": motion["q"]})
    fit = fit_system(mech, series, {"m2": (0.5, 3.0)}, q0=[0.5, -0.3], start={"m2": 1.0})
    assert fit["m2"] == pytest.approx(1.4, abs=1e-4)


def test_parameters_may_be_held_and_what_the_fit_sets_itself_is_refused(duffing):
    system, series = duffing
    options = {"inputs": {"u": None}, "states0": {"x": 0.5}}
    fit = fit_system(system, series, {"k": (1.0, 10.0), "c": 0.3, "a": 1.7}, "x", **options)
    assert fit.names == ("k",)
    assert fit["k"] == pytest.approx(4.0, abs=0.01)
    mech, t = sb.load("pendulum2"), np.linspace(0, 1, 41)
    motion = sb.simulate(mech, 1.0, q0=[0.5, -0.3], parameters={"m1": 2.0, "m2": 1.4}, samples=t)
    held = fit_system(mech, Series(t, {"q": motion["q"]}), {"m1": 2.0, "m2": (0.5, 3.0)}, q0=[0.5, -0.3])
    assert held["m2"] == pytest.approx(1.4, abs=1e-4)
    for name, value in (("values", {"c": 0.3}), ("samples", series.t), ("duration", 3.0), ("t0", 0.0)):
        with pytest.raises(DefinitionError, match=f"sets '{name}' of the simulation itself"):
            fit_system(system, series, BOUNDS, ("x",), **{**options, name: value})
    with pytest.raises(DefinitionError, match="state -> first value"):
        fit_system(system, series, BOUNDS, ("x",), states0=[0.5, 0.0])
    for wrong in ((2.0, 1.0), (1.0,), "stiff"):
        with pytest.raises(DefinitionError, match="lower, upper"):
            fit_system(system, series, {"k": wrong}, ("x",), **options)


def test_the_error_of_integration_does_not_move_the_values():
    """x'' = -k x from x = 1 is cos(sqrt(k) t); a coarse step turns at another speed."""
    with sb.Graph():
        x, v, k = sb.symbols("x v k")
        system = sb.System(
            "spring", inputs={"x": x, "v": v}, parameters={"k": k}, outputs={"x_dot": v, "v_dot": -k * x},
            states={"x": "x_dot", "v": "v_dot"},
        )  # fmt: skip
    t = np.linspace(0, 10, 201)
    series = Series(t, {"x": np.cos(2 * t) + 1e-5 * np.random.default_rng(5).normal(size=len(t))})
    for accuracy in ({"step": 0.05, "method": "rk4"}, {"rtol": 1e-4}):
        fit = fit_system(system, series, {"k": (3.0, 5.0)}, ("x",), states0={"x": 1.0}, **accuracy)
        assert abs(fit["k"] - 4) < 4 * fit.std[0] < 1e-4
        assert "integration was made finer" in " ".join(fit.notes)
        assert fit.sigma["x"] == pytest.approx(1e-5, rel=0.2)


def test_lugre_friction_of_a_slide_is_found_from_its_motion():
    """Sliding, breakaway and bristles of a carriage, from a push that makes it stick and slip; the same call."""
    true = {"level": 3.0, "breakaway": 4.5, "bristles": 900.0, "coefficient": 0.6}
    b = sb.Mechanism.builder("carriage", gravity=(0, 0, 0))
    for name, value in true.items():
        b.parameter(name, value)
    b.body("body", 2.0)
    b.joint("slide", "prismatic", "world", "body", axis="x", mode="actuated")
    b.force(
        "rail", "lugre", joint="slide", level="level", breakaway="breakaway", stiffness="bristles", speed=0.05,
        damping=20.0, coefficient="coefficient",
    )  # fmt: skip
    mech = b.done()
    t = np.linspace(0, 3, 301)
    push = 7 * np.sin(2.3 * t) + 2 * np.sin(7.1 * t)
    motion = sb.simulate(mech, 3.0, inputs={"tau": (t, push[:, None])}, samples=t, rtol=1e-8, atol=1e-10)
    noise = 2e-5 * np.random.default_rng(1).normal(size=motion["q"].shape)
    series = Series(t, {"q": motion["q"] + noise, "tau": push[:, None]})
    bounds = {"level": (1.0, 6.0), "breakaway": (2.0, 9.0), "bristles": (300.0, 3000.0), "coefficient": (0.0, 3.0)}
    fit = fit_system(mech, series, bounds, inputs={"tau": None}, rtol=1e-8, atol=1e-10)
    for n, v in true.items():
        k = fit.names.index(n)
        assert abs(fit[n] - v) < 4 * fit.std[k], str(fit)
        assert fit.std[k] < 0.05 * v
    assert fit.sigma["q"] == pytest.approx(2e-5, rel=0.3)


def bouc_wen():
    """A mass on a hysteretic spring: m x'' + c x' + k x + z = u, z' = alpha x' - g |x'| z - d x' |z|."""
    with sb.Graph():
        x, v, z, u, c, k, alpha, g, d = sb.symbols("x v z u c k alpha g d")
        return sb.System(
            "bouc_wen", inputs={"x": x, "v": v, "z": z, "u": u},
            parameters={"c": c, "k": k, "alpha": alpha, "g": g, "d": d},
            outputs={"x_dot": v, "v_dot": (u - c * v - k * x - z) / 2,
                     "z_dot": alpha * v - g * abs(v) * z - d * v * abs(z)},
            states={"x": "x_dot", "v": "v_dot", "z": "z_dot"},
        )  # fmt: skip


def test_a_hysteretic_spring_is_found_though_its_inner_state_is_not_measured():
    """Bouc and Wen's law with the benchmark's true values (in mm, N): within 1 % of them from the motion alone."""
    true = {"c": 10.0, "k": 5e4, "alpha": 5e4, "g": 800.0, "d": -1100.0}
    system = bouc_wen()
    t = np.arange(0, 0.8, 1 / 750)
    u = 40 * np.sin(2 * np.pi * 21 * t) + 30 * np.sin(2 * np.pi * 33 * t + 1)
    options = {"step": 1 / 7500, "method": "rk4"}
    motion = sb.simulate(system, t[-1], parameters=true, inputs={"u": (t, u)}, samples=t, **options)
    noise = 1e-6 * np.random.default_rng(2).normal(size=len(t))
    series = Series(t, {"x": np.ravel(motion["x"]) + noise, "u": u})
    bounds = {"c": (2.0, 30.0), "k": (2e4, 1e5), "alpha": (2e4, 1e5), "g": (100.0, 2000.0), "d": (-3000.0, 0.0)}
    fit = fit_system(system, series, bounds, ("x",), inputs={"u": None}, **options)
    for n, v in true.items():
        assert fit[n] == pytest.approx(v, rel=0.01), str(fit)
    assert fit.sigma["x"] == pytest.approx(1e-6, rel=0.3)
