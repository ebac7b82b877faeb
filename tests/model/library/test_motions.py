"""Motion laws and waveforms: boundary conditions, limits, derivatives, and the same law as an expression of time."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import SymbodyError
from symbody.model.library import motions, waveforms

LAWS = {
    "bang_bang": motions.bang_bang(0.3, 1.7, 2.0, t0=0.5),
    "trapezoid": motions.trapezoid(0.3, -1.7, 1.0, 2.5, t0=-0.5),
    "short trapezoid": motions.trapezoid(0.0, 0.1, 5.0, 2.0),
    "slow trapezoid": motions.trapezoid(0.0, 1.0, 2.0, 4.0, duration=3.0),
    "cubic": motions.cubic(1.0, -1.0, 1.5, (0.4, -0.2)),
    "quintic": motions.quintic(1.0, -1.0, 1.5, (0.4, -0.2), (3.0, -2.0)),
    "spline": motions.spline([0.0, 0.4, 1.0, 1.1], [0.0, 1.0, -1.0, 0.5]),
    "natural spline": motions.spline([0.0, 0.4, 1.0, 1.1], [0.0, 1.0, -1.0, 0.5], None),
    "fourier": motions.fourier(0.2, [0.5, -0.3], [0.1, 0.7], 0.8),
}


def inner_times(law):
    """Instants within the motion and away from breakpoints."""
    first, last = getattr(law, "start", 0.0), getattr(law, "end", 1.0)
    t = np.linspace(first, last, 202)[1:-1]
    return t[[min((abs(x - b) for b in getattr(law, "breakpoints", ())), default=1.0) > 1e-3 for x in t]]


@pytest.mark.parametrize("name", LAWS)
def test_rates_are_derivatives_by_complex_step(name):
    law, step = LAWS[name], 1e-30
    t = inner_times(law)
    assert np.allclose(np.imag(law(t + step * 1j)) / step, law.qd(t), rtol=1e-12, atol=1e-12)
    assert np.allclose(np.imag(law.qd(t + step * 1j)) / step, law.qdd(t), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", LAWS)
def test_expression_of_time_equals_the_numbers_with_its_derivatives(name):
    law = LAWS[name]
    with sb.Graph():
        t = sb.symbols("t")
        system = sb.System("law", inputs={"t": t}, outputs={"q": law(t)})
        rate = system.jacobian("q", "t")
        second = rate.jacobian(next(iter(rate.outputs)), "t")
        times = inner_times(law)
        made = [np.ravel(s.compile()(times)) for s in (system, rate, second)]
    for values, function in zip(made, (law, law.qd, law.qdd)):
        assert np.allclose(values, function(times), rtol=1e-11, atol=1e-11)


def test_laws_keep_their_boundary_conditions():
    q = LAWS["quintic"]
    assert (q(0.0), q.qd(0.0), q.qdd(0.0)) == pytest.approx((1.0, 0.4, 3.0))
    last = np.nextafter(1.5, 0)
    assert (q(last), q.qd(last), q.qdd(last)) == pytest.approx((-1.0, -0.2, -2.0))
    c = LAWS["cubic"]
    assert (c(0.0), c.qd(0.0), c(last), c.qd(last)) == pytest.approx((1.0, 0.4, -1.0, -0.2))
    for law in (LAWS["bang_bang"], LAWS["trapezoid"], LAWS["short trapezoid"], LAWS["slow trapezoid"]):
        ends = np.array([law.start, np.nextafter(law.end, law.start)])
        assert law.qd(ends) == pytest.approx([0, 0], abs=1e-12)


def test_laws_are_continuous_and_rest_outside():
    for name, law in LAWS.items():
        if name == "fourier":
            continue
        edges = np.array(law.breakpoints)
        assert law(np.nextafter(edges, -9)) == pytest.approx(law(edges), abs=1e-9), name
        assert law(law.end + 7.0) == pytest.approx(law(law.end))
        assert law.qd(law.end + 7.0) == law.qd(law.start - 1.0) == law.qdd(law.end + 7.0) == 0


def test_trapezoid_attains_its_limits_in_the_least_time():
    law = motions.trapezoid(0.0, 3.0, 1.2, 2.0)
    t = np.linspace(0, law.end, 5001)[:-1]
    assert np.abs(law.qd(t)).max() == pytest.approx(1.2, rel=1e-12)
    assert np.abs(law.qdd(t)).max() == pytest.approx(2.0, rel=1e-12)
    assert law.duration == pytest.approx(3.0 / 1.2 + 1.2 / 2.0)  # Biagiotti and Melchiorri 2008, 3.2
    short = LAWS["short trapezoid"]
    assert short.duration == pytest.approx(2 * np.sqrt(0.1 / 2.0))
    slow = LAWS["slow trapezoid"]
    assert slow.duration == pytest.approx(3.0)
    assert np.abs(slow.qdd(np.linspace(0, 2.99, 999))).max() == pytest.approx(4.0)


def test_bang_bang_is_the_quickest_under_its_acceleration():
    law = motions.bang_bang(1.0, -1.0, acceleration=3.0)
    assert law.duration == pytest.approx(2 * np.sqrt(2 / 3))
    assert np.abs(law.qdd(np.linspace(0, law.end, 99)[:-1])) == pytest.approx(np.full(98, 3.0))
    with pytest.raises(SymbodyError, match="too short"):
        motions.bang_bang(1.0, -1.0, duration=0.5, acceleration=3.0)


@pytest.mark.parametrize("name", ["bang_bang", "cubic", "quintic"])
def test_peaks_of_a_unit_move_are_the_published_ones(name):
    law = getattr(motions, name)(0.0, 1.0, 1.0)
    t = np.linspace(0, 1, 200_001)[:-1]
    found = np.abs(law.qd(t)).max(), np.abs(law.qdd(t)).max()
    assert found == pytest.approx(motions.PEAKS[name], rel=1e-8)


def test_spline_passes_its_points_and_agrees_with_scipy():
    interpolate = pytest.importorskip("scipy.interpolate")
    x, y = [0.0, 0.4, 1.0, 1.1], [0.0, 1.0, -1.0, 0.5]
    t = np.linspace(0, 1.1, 50)[:-1]
    for law, kind in ((LAWS["spline"], "clamped"), (LAWS["natural spline"], "natural")):
        assert np.allclose(law(t), interpolate.CubicSpline(x, y, bc_type=kind)(t), atol=1e-12)


def test_fourier_is_periodic_without_drift():
    law = LAWS["fourier"]
    t = np.linspace(0, 3, 31)
    assert np.allclose(law(t + law.duration), law(t))
    fine = np.linspace(0, law.duration, 1001)[:-1]
    assert np.mean(law(fine)) == pytest.approx(0.2)


def test_motion_law_drives_a_joint():
    law = motions.quintic(0.0, 1.0, 2.0)
    build = sb.Mechanism.builder("arm")
    build.body("arm", mass=1.0, com=[0.5, 0, 0], inertia=[0.1, 0.1, 0.1])
    build.joint("hinge", "revolute", "world", "arm", axis="y", mode="driven", value=law(build.time))
    mech = build.done()
    from symbody.studies.linear.operating_point import driven_motion

    q, qd, qdd = driven_motion(mech, 0.7, {})
    assert (q[0], qd[0], qdd[0]) == pytest.approx((law(0.7), law.qd(0.7), law.qdd(0.7)))


WAVES = {
    "square": lambda t: waveforms.square(t, 2.0, 0.3),
    "sawtooth": lambda t: waveforms.sawtooth(t, 2.0),
    "triangle": lambda t: waveforms.triangle(t, 2.0, 0.2),
    "trapezoidal": lambda t: waveforms.trapezoidal(t, 2.0, 0.1, 0.6),
    "quarter_sine": lambda t: waveforms.quarter_sine(t, 2.0, 0.7),
    "parabolic": lambda t: waveforms.parabolic(t, 2.0, 0.4),
    "free_signal": lambda t: waveforms.free_signal(t, 2.0, [0.2, 1.0, -0.3, 0.4, 0.1]),
}
MEANS = {
    "square": 0.3,
    "sawtooth": 0.5,
    "triangle": 0.5,
    "trapezoidal": 0.8,
    "quarter_sine": 2 / np.pi,
    "parabolic": 1 / 3,
}


@pytest.mark.parametrize("name", WAVES)
def test_waveforms_are_periodic_and_the_same_as_expressions(name):
    wave = WAVES[name]
    t = np.linspace(0.0103, 0.99, 197)  # away from jumps
    assert np.allclose(wave(t + 1.5), wave(t))
    with sb.Graph():
        time = sb.symbols("t")
        kernel = sb.System("w", inputs={"t": time}, outputs={"w": wave(time)}).compile()
        assert np.allclose(kernel(t), wave(t), atol=1e-13)


@pytest.mark.parametrize("name", MEANS)
def test_waveforms_have_the_means_of_their_shapes(name):
    t = (np.arange(200_000) + 0.5) / 400_000
    assert np.mean(WAVES[name](t)) == pytest.approx(MEANS[name], abs=1e-5)


@pytest.mark.parametrize("name", ["triangle", "trapezoidal", "quarter_sine", "parabolic", "free_signal"])
def test_smooth_waveforms_start_and_end_at_zero(name):
    ends = WAVES[name](np.array([0.0, 0.5 - 1e-12]))
    assert ends == pytest.approx([0, 0], abs=1e-9)


def test_free_signal_passes_its_points():
    points = [0.2, 1.0, -0.3, 0.4, 0.1]
    t = np.arange(1, 6) / 6 / 2.0
    assert WAVES["free_signal"](t) == pytest.approx(points)


def test_senseless_laws_are_refused():
    for make in (
        lambda: motions.cubic(0, 1, -1.0),
        lambda: motions.bang_bang(0, 1),
        lambda: motions.spline([0, 0], [1, 2]),
        lambda: motions.fourier(0, [1], [], 1.0),
        lambda: waveforms.square(0.1, 1.0, 1.5),
    ):
        with pytest.raises(SymbodyError):
            make()
