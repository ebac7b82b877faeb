"""Events: instants against closed forms, jumps, switches, accumulation, order and simultaneity."""

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ellipk

import symbody as sb
from helpers.hybrid_run import run_hybrid
from helpers.stretches import Held
from symbody.basics.errors import DefinitionError, NameLookupError, ShapeError
from symbody.motion.flow.event_rules import When, prepare, system_events
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.of_system import system_flow
from symbody.motion.flow.vector_field import VectorField
from symbody.motion.methods.implicit_stepper import ImplicitFixed
from symbody.motion.methods.locate import bracket, crossed, locate
from symbody.motion.methods.native_stepper import NativeAdaptive, NativeFixed
from symbody.motion.methods.scipy import SciPyStepper
from symbody.motion.methods.sundials import CvodeStepper
from symbody.motion.trajectory.outcome import Outcome

REFERENCE = Path(__file__).parents[3] / ".." / "shared" / "data" / "fmi_reference"
G = 9.81
NONE = np.zeros(0)


def make_driver(method, prepared, field, tolerance=1e-10):
    """Drivers of all kinds by name; native ones take flows without signals."""
    flow, guards = prepared.flow, {"directions": prepared.directions, "passive": prepared.passive}
    if method.startswith("cvode"):
        pytest.importorskip("sksundae")
        return CvodeStepper(field, method, rtol=tolerance, atol=tolerance, **guards)
    if method in ("dopri5", "dopri8"):
        return NativeAdaptive(flow, method, Held(), tolerance, tolerance, **guards)
    if method == "rk4":
        return NativeFixed(flow, method, Held(), 0.0, 0.01, **guards)
    if method in ("midpoint", "sdirk3", "generalized_alpha"):
        return ImplicitFixed(flow, method, Held(), 0.0, 0.01, **guards)
    return SciPyStepper(field, method, rtol=tolerance, atol=tolerance, **guards)


def run(flow, events, x0, end, times=NONE, method="dop853", signals=None, parameters=None, start=0.0, **options):
    prepared = prepare(flow, events)
    field = VectorField(prepared.flow, parameters, signals)
    driver = make_driver(method, prepared, field, options.pop("tolerance", 1e-10))
    return run_hybrid(driver, prepared, field, start, np.array(x0, dtype=float), end, np.asarray(times), **options)


def flow_of(name, rates, signals="", parameters=(), **more) -> Flow:
    """Flow of scalar states from texts."""
    with sb.Graph() as graph:
        made = {n: graph.symbol(n, "parameter", default=v) for n, v in dict(parameters).items()}
        symbols = {n: graph.symbol(n, "state") for n in rates}
        inputs = {n: graph.symbol(n, "input") for n in signals.split()}
        known = {**symbols, **inputs, **made, "t": graph.symbol("t", "time")}
        outputs = {f"{n}_dot": sb.parse(text, known, strict=True) for n, text in rates.items()}
        states = {n: f"{n}_dot" for n in rates}
        system = sb.System(name, inputs={**symbols, "t": known["t"], **inputs}, outputs=outputs, states=states)
        return system_flow(system).replace(**more)


@cache
def ball() -> Flow:
    return flow_of("ball", {"z": "v", "v": "-g"}, parameters={"g": G})


@cache
def oscillator() -> Flow:
    return flow_of("oscillator", {"q": "v", "v": "-q"}, second=(("q", "v"),))


ALL = ["radau", "bdf", "lsoda", "rk45", "dop853", "cvode_bdf", "cvode_adams", "dopri5", "dopri8", "rk4", "midpoint"]


# -- where


@settings(max_examples=60, deadline=None)
@given(st.floats(-3, 3), st.floats(0.1, 30), st.integers(0, 2))
def test_a_bracket_closes_on_the_crossing(root, steepness, kind):
    """It ends on the far side of the root, within the width asked for, in few evaluations."""
    shapes = [lambda x: x, lambda x: np.tanh(steepness * x), lambda x: x**3 + x / steepness]
    calls = []

    def f(t):
        calls.append(t)
        return float(shapes[kind](t - root))

    a, b, width = root - 1.7, root + 0.9, 1e-13
    found = bracket(f, a, f(a), b, f(b), width)
    assert f(found) >= 0
    assert found - root <= width + 2e-15
    assert len(calls) < 2 + 2 * 47


def test_crossings_have_a_direction_and_zero_counts_once():
    before, after = np.array([1.0, 1.0, -1.0, 0.0, 1.0]), np.array([-1.0, 0.0, 2.0, -1.0, 2.0])
    assert crossed(before, after, np.zeros(5)).tolist() == [-1, -1, 1, 0, 0]
    assert crossed(before, after, np.ones(5)).tolist() == [0, 0, 1, 0, 0]


def test_the_first_of_several_crossings_in_a_step_is_found():
    path = lambda t: np.array([t])  # noqa: E731
    guards = lambda t, x: np.array([0.7 - x[0], x[0] - 0.3, 0.3 - x[0] ** 1])  # noqa: E731
    found = locate(path, guards, 0.0, 1.0, guards(0, [0.0]), guards(1, [1.0]), np.zeros(3))
    assert found.t == pytest.approx(0.3, abs=1e-12)
    assert found.events == (1, 2)


@pytest.mark.parametrize("method", [*ALL, "sdirk3"])
def test_events_lie_at_the_zeros_of_a_cosine(method):
    """q = cos t crosses zero at pi/2, 3 pi/2, ..., as accurately as the method goes."""
    accuracy = {
        "radau": 1e-9, "bdf": 1e-6, "lsoda": 1e-7, "rk45": 1e-8, "cvode_bdf": 1e-6, "cvode_adams": 1e-7,
        "rk4": 1e-8, "midpoint": 1e-3, "sdirk3": 2e-6, "dopri5": 1e-8, "dopri8": 1e-8, "dop853": 1e-8,
    }[method]  # fmt: skip
    found = run(oscillator(), [When("zero", "q")], [1.0, 0.0], 20.0, method=method)
    expected = np.pi * (np.arange(6) + 0.5)
    np.testing.assert_allclose([e.t for e in found.events], expected, atol=accuracy)
    assert found.outcome is Outcome.FINISHED
    assert found.t_end == 20


@pytest.mark.parametrize("method", ["rk4", "dop853", "dopri8"])
def test_an_event_of_exact_motion_lies_at_its_analytic_instant(method):
    """Free fall from 1 m: these methods have no error on a parabola, so only the location is measured."""
    found = run(ball(), [When("floor", "z", -1, stop=True)], [1.0, 0.0], 2.0, method=method)
    assert found.outcome is Outcome.STOPPED
    assert found.t_end == pytest.approx(np.sqrt(2 / G), abs=1e-13)
    assert found.x_end == pytest.approx([0.0, -np.sqrt(2 * G)], abs=1e-12)


def test_directions_choose_crossings():
    rising = run(oscillator(), [When("up", "q", 1)], [1.0, 0.0], 20.0)
    falling = run(oscillator(), [When("down", "q", -1)], [1.0, 0.0], 20.0)
    np.testing.assert_allclose([e.t for e in rising.events], np.pi * np.array([1.5, 3.5, 5.5]), atol=1e-8)
    np.testing.assert_allclose([e.t for e in falling.events], np.pi * np.array([0.5, 2.5, 4.5]), atol=1e-8)


def test_events_of_time_are_exact():
    found = run(oscillator(), [When("bell", "t - 0.3", reset={"v": 0})], [1.0, 0.0], 1.0)
    assert found.events[0].t == pytest.approx(0.3, abs=1e-13)
    assert found.x_end[0] == pytest.approx(np.cos(0.3) * np.cos(0.7), abs=1e-9)


# -- jumps


def bounces(count, restitution, height=1.0):
    """Instants of the first impacts, and heights between them."""
    first = np.sqrt(2 * height / G)
    k = np.arange(count)
    times = first * (1 + 2 * restitution * (1 - restitution**k) / (1 - restitution))
    return times, height * restitution ** (2 * k[1:])


@pytest.mark.parametrize("direction", [-1, 0])
@pytest.mark.parametrize("method", ALL)
def test_a_bouncing_ball_follows_its_closed_form(method, direction):
    """Impacts, and apexes between them, over eight rebounds."""
    times, heights = bounces(8, 0.8)
    events = [When("bounce", "z", direction, reset={"v": "-0.8*v"}, limit=8), When("apex", "v", -1)]
    found = run(ball(), events, [1.0, 0.0], 10.0, method=method)
    assert found.outcome is Outcome.STOPPED
    accuracy = {"bdf": 2e-5, "lsoda": 2e-6, "cvode_bdf": 2e-5, "cvode_adams": 2e-6}.get(method, 1e-9)
    np.testing.assert_allclose([e.t for e in found.events if e.name == "bounce"], times, atol=accuracy)
    apexes = [e.t for e in found.events if e.name == "apex"]
    np.testing.assert_allclose(apexes, (times[:-1] + times[1:]) / 2, atol=accuracy)
    # the energy after the last impact
    assert found.x_end[1] == pytest.approx(np.sqrt(2 * G) * 0.8**8, abs=10 * accuracy)
    assert len(heights) == 7


def test_samples_show_both_sides_of_a_jump():
    times = np.linspace(0, 0.9, 10)
    found = run(ball(), [When("bounce", "z", -1, reset={"v": "-0.5*v"})], [1.0, 0.0], 0.9, times)
    impact = np.sqrt(2 / G)
    k = int(np.searchsorted(found.t, impact - 1e-9))
    assert found.t[k] == found.t[k + 1] == pytest.approx(impact, abs=1e-12)
    np.testing.assert_allclose(found.x[k : k + 2, 1], [-np.sqrt(2 * G), 0.5 * np.sqrt(2 * G)], rtol=1e-10)
    np.testing.assert_allclose(np.setdiff1d(found.t, [found.t[k]]), times[1:])
    assert np.all(np.diff(found.t) >= 0)
    assert [leg.t_end for leg in found.legs] == [found.t[k], 0.9]


def test_the_reference_of_the_fmi_association_bounces_alike():
    """Their ball moves by Euler steps of 1 ms: until the second impact it stays within a few such steps of ours."""
    path = REFERENCE / "BouncingBall_out.csv"
    if not path.exists():
        pytest.skip("reference results are not here")
    with path.open() as file:
        rows = np.array([[float(v) for v in row] for row in list(csv.reader(file))[1:]])
    rows = rows[(rows[:, 0] > 0) & (rows[:, 0] < 1.0)]
    found = run(ball(), [When("bounce", "z", -1, reset={"v": "-0.7*v"})], [1.0, 0.0], 1.0, rows[:, 0])
    ours = {t: x[0] for t, x in zip(found.t, found.x)}
    gap = [abs(ours[t] - h) for t, h in rows[:, :2]]
    assert max(gap) < 3e-3 * np.sqrt(2 * G)


def test_a_pendulum_rebounds_from_a_stop_after_quarter_and_half_periods():
    """Elliptic integrals: from rest at 1 rad to the stop at 0 in K(k0), k0 = sin 1/2; back again in 2 K(e k0)."""
    flow = flow_of("pendulum", {"q": "v", "v": "-sin(q)"})
    found = run(flow, [When("stop", "q", -1, reset={"v": "-0.6*v"}, limit=4)], [1.0, 0.0], 50.0, tolerance=1e-12)
    k = np.sin(0.5) * 0.6 ** np.arange(4)
    expected = np.cumsum([ellipk(k[0] ** 2), *(2 * ellipk(k[1:] ** 2))])
    np.testing.assert_allclose([e.t for e in found.events], expected, atol=1e-10)


def test_python_functions_are_guards_and_resets():
    event = When("bounce", lambda t, x: float(x["z"]), -1, reset={"v": lambda t, x: -0.8 * x["v"]}, limit=5)
    for method in ("dop853", "dopri5"):
        found = run(ball(), [event], [1.0, 0.0], 10.0, method=method)
        np.testing.assert_allclose([e.t for e in found.events], bounces(5, 0.8)[0], atol=1e-9)


def test_guards_and_resets_of_a_system_are_its_events():
    with sb.Graph():
        z, v = sb.symbols("z v", role="state")
        system = sb.System(
            "ball", inputs={"z": z, "v": v}, outputs={"dz": v, "dv": -G}, states={"z": "dz", "v": "dv"},
            guards={"impact": z}, resets={"impact.v": -0.8 * v}, modes={"impact.direction": -1},
        )  # fmt: skip
    flow = system_flow(system)
    found = run(flow.replace(guards=None), system_events(system), [1.0, 0.0], 3.0)
    np.testing.assert_allclose([e.t for e in found.events], bounces(len(found.events), 0.8)[0], atol=1e-9)
    # without its events, the guard of the Flow is only recorded
    seen = run(flow, [], [1.0, 0.0], 1.0)
    assert [e.name for e in seen.events] == ["guard_1"]
    assert seen.x_end[0] == pytest.approx(1 - G / 2, abs=1e-9)


@pytest.mark.parametrize("wrong", ["x", None, 2, 0.5, [1, 2], np.nan, 10**400], ids=lambda x: f"{x!r:.9}")
def test_wrong_modes_of_a_system_are_told(wrong):
    x, m = sb.symbols("x m")
    rates = dict(inputs={"x": x, "m": m}, outputs={"x_dot": -x * m}, states={"x": "x_dot"})
    events = dict(guards={"low": x - 0.5}, resets={"low.m": 2 * m})
    start = [] if wrong in (2, 0.5) else ["m"]
    for name in ("low.direction", *start):
        system = sb.System("decay", **rates, **events, modes={"m": 1.0, name: wrong})
        with pytest.raises(DefinitionError, match=r"direction|modes"):
            sb.simulate(system, 1.0, 0.01, states0={"x": 1.0})


def test_parameters_are_read_by_guards_and_resets():
    events = [When("bounce", "z - g/100", -1, reset={"v": "g"}, limit=2)]
    found = run(ball(), events, [1.0, 0.0], 5.0, parameters={"g": 4.0})
    first = np.sqrt(2 * (1 - 0.04) / 4)
    np.testing.assert_allclose([e.t for e in found.events], [first, first + 2], atol=1e-9)


# -- several at once


def test_simultaneous_events_happen_together():
    """Two balls from the same height."""
    flow = flow_of("balls", {"a": "va", "va": "-9.81", "b": "vb", "vb": "-9.81"})
    events = [When("one", "a", -1, reset={"va": "-0.8*va"}), When("two", "b", -1, reset={"vb": "-0.5*vb"})]
    found = run(flow, events, [1.0, 0.0, 1.0, 0.0], 0.6)
    assert [e.name for e in found.events] == ["one", "two"]
    assert found.events[0].t == found.events[1].t
    assert len(found.legs) == 2


def test_events_in_one_step_happen_in_the_order_of_time():
    """Balls from 1 m and 1.001 m: their impacts lie 0.2 ms apart, within one step of 10 ms."""
    flow = flow_of("balls", {"a": "va", "va": "-9.81", "b": "vb", "vb": "-9.81"})
    events = [When("one", "a", -1, reset={"va": "-va"}), When("two", "b", -1, reset={"vb": "-vb"})]
    for method in ("rk4", "dop853"):
        found = run(flow, events, [1.001, 0.0, 1.0, 0.0], 0.6, method=method)
        assert [e.name for e in found.events] == ["two", "one"]
        np.testing.assert_allclose([e.t for e in found.events], np.sqrt([2 / G, 2.002 / G]), atol=1e-12)


def test_a_guard_that_is_zero_at_the_start_is_met_when_it_comes_back():
    """Thrown upward from the floor: the first event is the landing, in either direction."""
    for direction in (-1, 0):
        found = run(ball(), [When("land", "z", direction, stop=True)], [0.0, 3.0], 2.0)
        assert found.t_end == pytest.approx(6 / G, abs=1e-12)


def test_a_grazing_motion_is_no_event():
    """q - 1 touches zero from below at every top of a cosine, and never crosses."""
    found = run(oscillator(), [When("touch", "q - 1 - 1e-9")], [1.0, 0.0], 20.0)
    assert not found.events


# -- accumulation


@pytest.mark.parametrize("method", ["radau", "bdf", "dop853", "lsoda", "cvode_bdf", "dopri5", "midpoint"])
def test_rebounds_that_die_out_end_the_run(method):
    """Zeno: infinitely many impacts before t = 2.5586 s; none is missed, the ball never falls through the floor."""
    found = run(ball(), [When("bounce", "z", -1, reset={"v": "-0.7*v"})], [1.0, 0.0], 3.0, method=method)
    assert found.outcome is Outcome.TOO_MANY_EVENTS
    assert found.t_end == pytest.approx(np.sqrt(2 / G) * (1 + 1.4 / 0.3), abs=1e-4)
    assert found.x_end[0] > -1e-9
    assert len(found.events) > 25


def test_a_smallest_speed_brings_the_ball_to_rest():
    """The weight is switched off where the rebound is slower than 1 mm/s: the signal w has become a switch."""
    flow = flow_of("ball", {"z": "v", "v": "-9.81*w"}, signals="w")
    event = When("bounce", "z", -1, reset={"v": "-0.7*v"}, slowest=1e-3, rest={"z": 0, "v": 0, "w": 0})
    prepared = prepare(flow, [event])
    assert prepared.switches == ("w",)
    assert prepared.flow.states == ("z", "v", "w")
    found = run(flow, [event], [1.0, 0.0, 1.0], 5.0, np.array([4.0, 5.0]))
    assert found.outcome is Outcome.FINISHED
    np.testing.assert_array_equal(found.x[-2:], np.zeros((2, 3)))
    impacts = int(np.ceil(np.log(1e-3 / np.sqrt(2 * G)) / np.log(0.7)))
    assert len(found.events) == impacts
    assert "rests" in found.events[-1].text


def test_without_a_way_to_rest_the_run_stops_there():
    event = When("bounce", "z", -1, reset={"v": "-0.7*v"}, slowest=1e-3)
    found = run(ball(), [event], [1.0, 0.0], 5.0)
    assert found.outcome is Outcome.STOPPED
    assert abs(found.x_end[1]) < 1e-3


def test_the_number_of_events_has_a_limit():
    found = run(oscillator(), [When("zero", "q", reset={"v": "v"})], [1.0, 0.0], 1000.0, max_events=7)
    assert found.outcome is Outcome.TOO_MANY_EVENTS
    assert len(found.events) == 7


# -- modes and switches


@pytest.mark.parametrize("method", ["dop853", "radau", "dopri8"])
def test_a_block_on_a_belt_sticks_and_slips_for_the_times_of_the_closed_form(method):
    """Coulomb friction, static 2 N and kinetic 1.2 N, belt 0.3 m/s, spring 40 N/m, 1 kg, no damping.

    Slip lasts 2 (pi - atan(A w / vb)) / w, stick 2 A / vb, with A = (Fs - Fk) / k and w^2 = k / m.
    """
    fs, fk, vb, k = 2.0, 1.2, 0.3, 40.0
    flow = flow_of(
        "belt",
        {"x": "select(slip > 0.5, v, vb)", "v": "select(slip > 0.5, fk - k*x, 0)", "slip": "0"},
        parameters={"fk": fk, "vb": vb, "k": k},
    )
    events = [
        When("slip", "select(slip > 0.5, -1, k*x - 2)", 1, reset={"slip": 1, "v": "vb"}),
        When("stick", "select(slip > 0.5, v - vb, -1)", 1, reset={"slip": 0, "v": "vb"}),
    ]
    found = run(flow, events, [0.0, vb, 0.0], 5.0, method=method, tolerance=1e-11)
    a, w = (fs - fk) / k, np.sqrt(k)
    slip, stick = 2 * (np.pi - np.arctan(a * w / vb)) / w, 2 * a / vb
    assert [e.name for e in found.events[:4]] == ["slip", "stick", "slip", "stick"]
    instants = np.array([e.t for e in found.events])
    assert instants[0] == pytest.approx(fs / k / vb, abs=1e-10)
    np.testing.assert_allclose(np.diff(instants)[::2], slip, atol=1e-8)
    np.testing.assert_allclose(np.diff(instants)[1::2], stick, atol=1e-8)


def test_dry_friction_is_left_where_its_force_jumps():
    """m v' = -mu g sign v: it comes to rest at v0 / (mu g), where the rates push back from either side."""
    flow = flow_of("slide", {"x": "v", "v": "-2*sign(v)*on"}, signals="on")
    found = run(flow, [When("rest", "v", reset={"v": 0, "on": 0})], [0.0, 3.0, 1.0], 5.0)
    assert [e.t for e in found.events] == [pytest.approx(1.5, abs=1e-8)]
    assert found.outcome is Outcome.FINISHED
    np.testing.assert_allclose(found.x_end, [9 / 4, 0, 0], atol=1e-8)


@pytest.mark.parametrize("method", ["dop853", "bdf", "dopri8", "generalized_alpha"])
def test_a_spring_that_is_switched_on_at_contact_returns_the_mass(method):
    """Contact lasts half a period, pi / w; the mass leaves as fast as it came."""
    flow = flow_of("contact", {"x": "v", "v": "-400*s*x"}, signals="s", second=(("x", "v"),))
    events = [When("touch", "x", -1, reset={"s": 1}), When("leave", "x", 1, reset={"s": 0})]
    found = run(flow, events, [0.5, -2.0, 0.0], 1.0, method=method)
    accuracy = {"generalized_alpha": 5e-3, "bdf": 1e-5}.get(method, 1e-8)
    assert [e.name for e in found.events] == ["touch", "leave"]
    np.testing.assert_allclose([e.t for e in found.events], [0.25, 0.25 + np.pi / 20], atol=accuracy)
    np.testing.assert_allclose(found.x_end, [2 * (0.75 - np.pi / 20), 2.0, 0.0], atol=4 * accuracy)


def test_labels_name_components():
    with sb.Graph():
        q, qd = (np.array(sb.symbols(f"{n}1:3", role="state")) for n in ("q", "qd"))
        system = sb.System(
            "two", inputs={"q": q, "qd": qd}, outputs={"a": qd, "b": [0, -G]}, states={"q": "a", "qd": "b"}
        )
    flow = system_flow(system).replace(labels={"q": ("x", "z"), "qd": ("x", "z")})
    event = When("bounce", "q.z", -1, reset={"qd.z": "-0.8*qd.z", "qd.x": "0.5*qd.x"}, limit=3)
    found = run(flow, [event], [0.0, 1.0, 2.0, 0.0], 5.0)
    times = bounces(3, 0.8)[0]
    np.testing.assert_allclose([e.t for e in found.events], times, atol=1e-9)
    assert found.x_end[0] == pytest.approx(2 * times[0] + (times[1] - times[0]) + (times[2] - times[1]) / 2, abs=1e-9)
    whole = run(flow, [When("floor", "q.z", -1, reset={"qd": [0, 7]})], [0.0, 1.0, 2.0, 0.0], 0.5)
    assert whole.legs[1].t_end == 0.5
    assert whole.x_end[3] == pytest.approx(7 - G * (0.5 - np.sqrt(2 / G)), abs=1e-9)


# -- refusals


def test_wrong_events_are_named():
    with pytest.raises(DefinitionError, match="direction"):
        When("a", "z", 2)
    with pytest.raises(DefinitionError, match="two events"):
        prepare(ball(), [When("a", "z"), When("a", "v")])
    with pytest.raises(NameLookupError, match="height"):
        prepare(ball(), [When("a", "height")])
    with pytest.raises(NameLookupError, match="speed"):
        run(ball(), [When("a", "z", reset={"speed": 1})], [1.0, 0.0], 1.0)
    with pytest.raises(ShapeError, match="expected 1"):
        run(ball(), [When("a", "z", reset={"v": [1, 2]})], [1.0, 0.0], 1.0)
    with pytest.raises(DefinitionError, match="limit"):
        When("a", "z", limit=0)


@pytest.mark.parametrize("instant", [0.7, 1.1, 1.3, 1.7])
def test_events_at_the_instants_of_steps_are_not_lost(instant):
    """k h and (k - 1) h + h differ by a rounding: the crossing lies between two steps."""
    ball = sb.Mechanism.builder("ball").body("ball", mass=1).joint("z", "prismatic", "world", "ball", axis="z").done()
    run = sb.simulate(ball, 2.0, step=1e-3, events=[sb.When("tick", f"t - {instant}", direction=1)])
    (event,) = run.events
    assert event.t == pytest.approx(instant, abs=1e-12)
