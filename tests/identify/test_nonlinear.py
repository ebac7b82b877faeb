"""Nonlinear identification of any System, by sensitivities."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.errors import DataError, NameLookupError
from symbody.identify import Series, fit_system, morris, profile, screen

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
