"""SciPy and SUNDIALS behind generated Jacobians: published stiff problems, closed forms, failures as outcomes."""

import sys
from functools import cache

import numpy as np
import pytest
from scipy.special import ellipkinc

import symbody as sb
from helpers.stretches import stretch
from symbody.basics.errors import DefinitionError, NameLookupError, ShapeError, SymbodyError
from symbody.model.build.builder import Builder
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.of_mechanism import mechanism_flow
from symbody.motion.flow.of_system import system_flow
from symbody.motion.flow.vector_field import VectorField
from symbody.motion.methods.implicit_form import implicit_form
from symbody.motion.methods.implicit_step import RATE
from symbody.motion.methods.implicit_stepper import balance_of
from symbody.motion.methods.scipy import METHODS, SciPyStepper
from symbody.motion.methods.sundials import CvodeStepper, IdaStepper
from symbody.motion.trajectory.outcome import Outcome

STIFF = ["radau", "bdf", "lsoda", "cvode_bdf"]
EVERY = [*METHODS, "cvode_bdf", "cvode_adams"]


def driver(field, method, **options):
    if method.startswith("cvode"):
        pytest.importorskip("sksundae")
        return CvodeStepper(field, method, **options)
    return SciPyStepper(field, method, **options)


def flow_of(name, rates, parameters=()) -> Flow:
    """Flow of scalar states from texts."""
    with sb.Graph() as graph:
        made = {n: graph.symbol(n, "parameter", default=v) for n, v in dict(parameters).items()}
        symbols = {n: graph.symbol(n, "state") for n in rates}
        t = graph.symbol("t", "time")
        outputs = {f"{n}_dot": sb.parse(text, {**symbols, **made, "t": t}) for n, text in rates.items()}
        states = {n: f"{n}_dot" for n in rates}
        return system_flow(sb.System(name, inputs={**symbols, "t": t}, outputs=outputs, states=states))


@cache
def van_der_pol() -> Flow:
    return flow_of("van_der_pol", {"x": "y", "y": "mu*(1 - x*x)*y - x"}, {"mu": 1000.0})


@cache
def hires() -> Flow:
    """High irradiance responses of photomorphogenesis, eight reactions (Schaefer 1975; Hairer and Wanner, IV.10)."""
    return flow_of(
        "hires",
        {
            "a": "-1.71*a + 0.43*b + 8.32*c + 0.0007",
            "b": "1.71*a - 8.75*b",
            "c": "-10.03*c + 0.43*d + 0.035*e",
            "d": "8.32*b + 1.71*c - 1.12*d",
            "e": "-1.745*e + 0.43*f + 0.43*g",
            "f": "-280*f*h + 0.69*d + 1.71*e - 0.43*f + 0.69*g",
            "g": "280*f*h - 1.81*g",
            "h": "-280*f*h + 1.81*g",
        },
    )


NONE = np.zeros(0)


# -- published problems


@pytest.mark.parametrize("method", STIFF)
def test_van_der_pol_with_mu_1000_ends_where_the_test_set_says(method):
    """Mazzia and Magherini, Test Set for IVP Solvers 2.4 (2008): x(2000), x'(2000) by a run in quadruple precision."""
    tolerance = {"radau": 1e-8, "bdf": 1e-9}.get(method, 1e-10)
    leg = stretch(
        driver(VectorField(van_der_pol()), method, rtol=tolerance, atol=1e-3 * tolerance),
        0.0,
        np.array([2.0, 0.0]),
        2000.0,
        np.array([1000.0, 2000.0]),
    )
    assert leg.outcome is Outcome.FINISHED
    np.testing.assert_allclose(leg.x_end, [1.706167732170483, -0.8928097010247975e-3], rtol=2e-7)
    np.testing.assert_array_equal(leg.x[-1], leg.x_end)


@pytest.mark.parametrize("method", STIFF)
def test_hires_ends_where_the_test_set_says(method):
    """Mazzia and Magherini 2008, problem HIRES."""
    expected = [
        0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2,
        0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2,
    ]  # fmt: skip
    start = np.array([1, 0, 0, 0, 0, 0, 0, 0.0057])
    leg = stretch(driver(VectorField(hires()), method, rtol=1e-9, atol=1e-13), 0.0, start, 321.8122, NONE)
    np.testing.assert_allclose(leg.x_end, expected, rtol=1e-6)


def test_stiff_methods_take_few_steps_where_explicit_ones_take_many():
    field = VectorField(van_der_pol())
    start = np.array([2.0, 0.0])
    stiff = stretch(driver(field, "radau"), 0.0, start, 10.0, NONE)
    plain = stretch(driver(field, "rk45"), 0.0, start, 10.0, NONE)
    assert 100 * stiff.statistics["steps"] < plain.statistics["steps"]


# -- closed forms


@pytest.mark.parametrize("method", EVERY)
def test_samples_lie_on_the_motion(method):
    """x' = -x + u(t) with u = sin t, a Python function: x = (sin t - cos t + 3 e^-t) / 2."""
    with sb.Graph():
        x, u = sb.symbol("x", "state"), sb.symbol("u")
        flow = system_flow(sb.System("lag", inputs={"x": x, "u": u}, outputs={"dx": u - x}, states={"x": "dx"}))
    times = np.linspace(0, 5, 23)
    made = driver(VectorField(flow, signals=lambda t, x: [np.sin(t)]), method, rtol=1e-9, atol=1e-11)
    leg = stretch(made, 0.0, np.array([1.0]), 5.0, times)
    np.testing.assert_array_equal(leg.t, times[1:])
    t = leg.t
    np.testing.assert_allclose(leg.x[:, 0], (np.sin(t) - np.cos(t) + 3 * np.exp(-t)) / 2, atol=2e-7)


@pytest.mark.parametrize("method", ["radau", "bdf"])
def test_large_sparse_matrices_are_factorised_as_such(method):
    """Heat in a rod of 60 cells: its first mode decays by the first eigenvalue of the second difference."""
    n = 60
    with sb.Graph():
        x = np.array(sb.symbols(f"x1:{n + 1}", role="state"))
        full = [0, *x, 0]
        rates = [(full[k - 1] - 2 * full[k] + full[k + 1]) * (n + 1) ** 2 for k in range(1, n + 1)]
        flow = system_flow(sb.System("rod", inputs={"x": x}, outputs={"dx": rates}, states={"x": "dx"}))
    made = driver(VectorField(flow), method, rtol=1e-8, atol=1e-12)
    assert made._sparse
    mode = np.sin(np.pi * np.arange(1, n + 1) / (n + 1))
    decay = 4 * (n + 1) ** 2 * np.sin(np.pi / (2 * (n + 1))) ** 2
    leg = stretch(made, 0.0, mode, 0.1, NONE)
    np.testing.assert_allclose(leg.x_end, np.exp(-0.1 * decay) * mode, atol=1e-7)


def test_the_generated_jacobian_is_the_derivative_of_the_rates():
    """Of a chain of three pendulums, by central differences."""
    flow = mechanism_flow(sb.load("pendulum3"))
    field = VectorField(flow, signals=np.array([0.1, 0.2, -0.3]))
    x, h = np.array([0.4, -0.7, 1.1, 0.5, -0.2, 0.9]), 1e-6
    columns = [(field.rates(0.0, x + h * e) - field.rates(0.0, x - h * e)) / (2 * h) for e in np.eye(6)]
    np.testing.assert_allclose(field.jacobian(0.0, x), np.array(columns).T, rtol=1e-7, atol=1e-8)
    assert len(field.pattern()[0]) == 3 + 18  # the rates of the coordinates are the velocities


@pytest.mark.parametrize("method", EVERY)
def test_quaternions_keep_their_length(method):
    """A free body without torque, in samples and at the end."""
    mech = Builder("top").body("a", mass=1, inertia=[0.1, 0.2, 0.28]).joint("j", "ball", "world", "a").done()
    flow = mechanism_flow(mech)
    made = driver(VectorField(flow, signals=np.zeros(3)), method, rtol=1e-5, atol=1e-7)
    leg = stretch(made, 0.0, np.array([1.0, 0, 0, 0, 0.3, 4.0, 0.2]), 10.0, np.linspace(0, 10, 17))
    for x in (*leg.x, leg.x_end):
        assert np.linalg.norm(x[:4]) == pytest.approx(1, abs=1e-14)


def test_parameters_are_those_given():
    field = VectorField(van_der_pol(), {"mu": 0.0})
    leg = stretch(driver(field, "dop853", rtol=1e-11, atol=1e-12), 0.0, np.array([1.0, 0.0]), 1.0, NONE)
    np.testing.assert_allclose(leg.x_end, [np.cos(1), -np.sin(1)], atol=1e-9)


# -- failures are outcomes


@pytest.mark.parametrize("method", EVERY)
def test_a_pole_ends_the_run_before_it(method):
    """x' = x^2 from 1 is infinite at t = 1."""
    made = driver(VectorField(flow_of("pole", {"x": "x*x"})), method)
    leg = stretch(made, 0.0, np.array([1.0]), 2.0, np.array([0.5, 1.5]))
    assert leg.outcome in (Outcome.STEP_TOO_SMALL, Outcome.NOT_FINITE)
    assert leg.t_end == pytest.approx(1, abs=1e-3)
    np.testing.assert_array_equal(leg.t, [0.5])
    assert leg.x[0, 0] == pytest.approx(2, rel=1e-4)


@pytest.mark.parametrize("method", ["radau", "rk45", "lsoda"])
def test_rates_that_are_no_numbers_are_said_so(method):
    leg = stretch(driver(VectorField(flow_of("root", {"x": "sqrt(x)"})), method), 0.0, np.array([-1.0]), 1.0, NONE)
    assert leg.outcome is Outcome.NOT_FINITE
    assert leg.t_end == 0


@pytest.mark.parametrize("method", EVERY)
def test_a_loop_that_opens_is_not_converged(method):
    """y^2 = 1 - t has no solution after t = 1."""
    with sb.Graph():
        x, y, t = sb.symbol("x", "state"), sb.symbol("y"), sb.symbol("t", "time")
        found = sb.solve([y * y - (1 - t)], [y], [1.0])
        flow = system_flow(sb.System("loop", inputs={"x": x, "t": t}, outputs={"dx": found[0]}, states={"x": "dx"}))
    leg = stretch(driver(VectorField(flow), method), 0.0, np.array([0.0]), 2.0, NONE)
    assert leg.outcome is Outcome.NOT_CONVERGED
    assert leg.t_end == pytest.approx(1, abs=0.01)


def test_too_many_steps_are_an_outcome():
    leg = stretch(driver(VectorField(van_der_pol()), "rk45", max_steps=50), 0.0, np.array([2.0, 0.0]), 10.0, NONE)
    assert leg.outcome is Outcome.TOO_MANY_STEPS
    assert leg.statistics["steps"] == 50


def test_exceptions_of_signals_come_through():
    with sb.Graph():
        x, u = sb.symbol("x", "state"), sb.symbol("u")
        flow = system_flow(sb.System("lag", inputs={"x": x, "u": u}, outputs={"dx": u - x}, states={"x": "dx"}))

    def broken(t, x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        stretch(driver(VectorField(flow, signals=broken), "radau"), 0.0, np.array([1.0]), 1.0, NONE)


def test_missing_and_unknown_things_are_named():
    with sb.Graph():
        x, u = sb.symbol("x", "state"), sb.symbol("u")
        flow = system_flow(sb.System("lag", inputs={"x": x, "u": u}, outputs={"dx": u - x}, states={"x": "dx"}))
    with pytest.raises(DefinitionError, match="u"):
        VectorField(flow)
    with pytest.raises(ShapeError, match="expected 1"):
        VectorField(flow, signals=np.zeros(2))
    with pytest.raises(NameLookupError, match="radau"):
        SciPyStepper(VectorField(flow, signals=np.zeros(1)), "rado")


# -- SUNDIALS


def test_without_the_package_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sksundae", None)
    with pytest.raises(SymbodyError, match=r"symbody\[sundials\]"):
        CvodeStepper(VectorField(van_der_pol()))


@cache
def robertson() -> sb.System:
    """Robertson 1966 with the third balance as a constraint."""
    with sb.Graph():
        y, z = (np.array(sb.symbols(f"{n}1:4")) for n in "yz")
        fast, slow = 1e4 * y[1] * y[2], 0.04 * y[0]
        equations = [z[0] + slow - fast, z[1] - slow + fast + 3e7 * y[1] ** 2, y[0] + y[1] + y[2] - 1]
        return sb.System("robertson", inputs={"y": y, "y_dot": z}, outputs={"residual": equations})


def test_ida_solves_robertsons_problem_over_eleven_decades():
    """Mazzia and Magherini 2008: values at t = 1e11."""
    pytest.importorskip("sksundae")
    made = IdaStepper(robertson(), {"y": "y_dot"}, rtol=1e-9, atol=1e-14)
    assert made.algebraic.tolist() == [2]
    leg = stretch(made, 0.0, np.array([1.0, 0.0, 0.0]), 1e11, np.array([40.0, 1e11]))
    assert leg.outcome is Outcome.FINISHED
    expected = [0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050]
    np.testing.assert_allclose(leg.x_end, expected, rtol=1e-6)
    assert leg.x[0].sum() == pytest.approx(1, abs=1e-12)


def rod(stabilised: bool) -> tuple[sb.System, dict]:
    """A point on a rod in coordinates x, y: the constraint as acceleration, or as velocity and position."""
    with sb.Graph():
        q, v, q_dot, v_dot = (np.array(sb.symbols(f"{n}1:3")) for n in ("q", "v", "qp", "vp"))
        lam, mu = sb.symbols("lam mu")
        force = np.array([0, -9.81]) + lam * q
        if stabilised:  # Gear, Gupta and Leimkuhler 1985
            equations = [*(q_dot - v - mu * q), *(v_dot - force), q @ v, (q @ q - 1) / 2]
            inputs, states = {"lam": lam, "mu": mu}, {"lam": None, "mu": None}
        else:
            equations = [*(q_dot - v), *(v_dot - force), v @ v + q @ force]
            inputs, states = {"lam": lam}, {"lam": None}
        inputs = {"q": q, "v": v, "q_dot": q_dot, "v_dot": v_dot, **inputs}
        system = sb.System("rod", inputs=inputs, outputs={"residual": equations})
    return system, {"q": "q_dot", "v": "v_dot", **states}


@pytest.mark.parametrize("stabilised", [False, True])
def test_ida_moves_a_pendulum_in_cartesian_coordinates(stabilised):
    """Released from the horizontal, it passes the vertical after K(1/sqrt 2) / w (elliptic integral)."""
    pytest.importorskip("sksundae")
    system, states = rod(stabilised)
    made = IdaStepper(
        system, states, index=1 + stabilised, rtol=1e-9, atol=1e-10,
        guards=lambda t, y: np.array([y[0]]), directions=[-1],
    )  # fmt: skip
    assert len(made.algebraic) == (2 if stabilised else 1)
    start = np.array([1.0, 0, 0, 0, 0, *([0.0] if stabilised else [])])
    leg = stretch(made, 0.0, start, 2.0, NONE)
    assert leg.events == (0,)
    assert leg.t_end == pytest.approx(ellipkinc(np.pi / 2, 0.5) / np.sqrt(9.81), abs=1e-7)
    assert leg.x_end[1] == pytest.approx(-1, abs=1e-7)
    assert leg.x_end[2] == pytest.approx(-np.sqrt(2 * 9.81), abs=1e-6)


@pytest.mark.parametrize("form", ["rates", "residual"])
def test_ida_moves_a_tree_in_implicit_form(form):
    """M qdd + c = tau of three pendulums, never solved for qdd, against DOP853 on the rates."""
    pytest.importorskip("sksundae")
    mech = sb.load("pendulum3")
    flow = mechanism_flow(mech)
    x0, tau = np.array([0.4, -0.7, 1.1, 0.5, -0.2, 0.9]), np.array([0.1, 0.2, -0.3])
    unsolved = balance_of(mechanism_flow(mech, balance=True)) if form == "residual" else None
    system, states = implicit_form(flow, unsolved)
    assert states == {"q": "q" + RATE, "qd": "qd" + RATE}
    leg = stretch(IdaStepper(system, states, signals=tau, rtol=1e-9, atol=1e-10), 0.0, x0, 1.0, NONE)
    reference = stretch(driver(VectorField(flow, signals=tau), "dop853", rtol=1e-12, atol=1e-12), 0.0, x0, 1.0, NONE)
    np.testing.assert_allclose(leg.x_end, reference.x_end, atol=1e-6)


def test_ida_counts_its_equations():
    with sb.Graph():
        y, z = sb.symbols("y z")
        system = sb.System("short", inputs={"y": y, "z": z}, outputs={"residual": [z + y, y]})
    with pytest.raises(ShapeError, match="2 residuals for 1"):
        IdaStepper(system, {"y": "z"})


@pytest.mark.parametrize("method", ["cvode_bdf", "cvode_adams"])
def test_steps_of_sundials_are_counted_as_it_makes_them(method):
    """Against CVODE itself, asked for one step at a time."""
    cvode = pytest.importorskip("sksundae").cvode
    field = VectorField(van_der_pol(), {"mu": 5.0})
    leg = stretch(driver(field, method, rtol=1e-5, atol=1e-8), 0.0, np.array([2.0, 0.0]), 20.0, NONE)

    def rates(t, y, out):
        out[:] = [y[1], 5.0 * (1 - y[0] ** 2) * y[1] - y[0]]

    def slope(t, y, rate, out):
        out[:, :] = [[0, 1], [-10 * y[0] * y[1] - 1, 5 * (1 - y[0] ** 2)]]

    solver = cvode.CVODE(rates, method={"cvode_bdf": "BDF", "cvode_adams": "Adams"}[method], rtol=1e-5, atol=1e-8,
                         jacfn=slope, max_num_steps=10**6)  # fmt: skip
    solver.init_step(0.0, np.array([2.0, 0.0]))
    count, t = 0, 0.0
    while t < 20.0:
        t, count = solver.step(20.0, method="onestep", tstop=20.0).t, count + 1
    assert leg.statistics["steps"] == pytest.approx(count, rel=0.01, abs=2)


@pytest.mark.parametrize("method", ["cvode", "ida"])
def test_runs_of_sundials_tell_their_steps(method):
    pytest.importorskip("sksundae")
    build = Builder("swing").body("bob", mass=1.0, com=(0, 0, -0.5))
    swing = build.joint("hinge", "revolute", "world", "bob", axis="y").done()
    run = sb.simulate(swing, 2.0, q0=[1.0], method=method, rtol=1e-6)
    assert 20 < run.statistics["steps"] <= run.statistics["evaluations"]


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
def test_samples_of_radau_meet_the_tolerance_between_its_steps(rtol):
    """y' = -1e6 (y - sin t) + cos t, y = sin t (Prothero and Robinson 1974): its steps are long and exact, not so the
    cubic between them."""
    flow = flow_of("follower", {"y": "-1e6*(y - sin(t)) + cos(t)"})
    times = np.linspace(0.01, 10.0, 1000)
    leg = stretch(driver(VectorField(flow), "radau", rtol=rtol, atol=rtol), 0.0, np.zeros(1), 10.0, times)
    assert leg.statistics["steps"] < 100
    assert np.abs(leg.x[:, 0] - np.sin(times)).max() < 4 * rtol
