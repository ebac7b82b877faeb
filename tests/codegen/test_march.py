"""The native march: orders of methods, tolerances, lanes and threads, signals, guards, projection, ends of runs.

Judges: closed solutions, scipy's integrators, and the march in NumPy (PlainMarch), which must agree bit for bit when it
runs over the same Kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import symbody as sb
from codegen.plain_march import PlainMarch
from symbody.basics.errors import NameLookupError, ShapeError
from symbody.motion.march.march import March, Run, Signals
from symbody.motion.march.march_ports import STEP_LENGTH
from symbody.motion.march.method_tables import METHODS, RungeKutta, Splitting
from symbody.motion.march.run import LogStep
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.functions import extern
from symbody.symbolic.expr.implicit import solve

EXPLICIT = [n for n, m in METHODS.items() if isinstance(m, RungeKutta)]
ADAPTIVE = [n for n, m in METHODS.items() if isinstance(m, RungeKutta) and m.error]
SPLITTING = [n for n, m in METHODS.items() if isinstance(m, Splitting)]
OSCILLATOR = {"x": "xd", "v": "vd"}


def same(a: Run, b: Run) -> None:
    """Every field to the last bit."""
    assert len(a.log) == len(b.log)
    for one, other in zip(a.log, b.log):
        for f in fields(LogStep):
            assert np.array_equal(getattr(one, f.name), getattr(other, f.name)), f.name
    for f in fields(Run)[:-1]:
        left, right = getattr(a, f.name), getattr(b, f.name)
        assert np.shape(left) == np.shape(right), f.name
        assert np.array_equal(left, right, equal_nan=True), f.name


def member(run: Run, i: int) -> dict[str, np.ndarray]:
    """What a run of this member alone gives."""
    k = int(run.samples[i])
    t = run.t[i] if run.t.ndim == 2 else run.t
    values = {f.name: getattr(run, f.name)[i] for f in fields(Run) if f.name not in ("t", "x", "log")}
    return {**values, "t": t[:k], "x": run.x[i, :k]}


@cache
def oscillator() -> sb.System:
    """A damped, driven oscillator with a cubic spring and three parameters; no closed solution."""
    x, v, t, u = sb.symbols("x v t u")
    k, d, w = (sb.symbols(n, role="parameter", default=value) for n, value in (("k", 1.0), ("d", 0.1), ("w", 1.2)))
    force = -k * x - x**3 - d * v + 0.3 * sb.cos(w * t) + u
    return sb.System("oscillator", inputs={"x": x, "v": v, "t": t, "u": u}, outputs={"xd": v, "vd": force})


@cache
def circle() -> sb.System:
    """x' = -y (1 + t) (x^2 + y^2), y' = x (1 + t) (x^2 + y^2): a circle, at the angle (t + t^2/2) radius^2."""
    x, y, t = sb.symbols("x y t")
    s = (1 + t) * (x**2 + y**2)
    return sb.System("circle", inputs={"x": x, "y": y, "t": t}, outputs={"xd": -y * s, "yd": x * s})


@cache
def kernel(make: Callable[[], sb.System]) -> Any:
    return make().compile()


def march(make: Callable[[], sb.System], states: dict[str, str], kind: Any = March, **options: Any) -> Any:
    return kind(kernel(make), states, **options)


CIRCLE = {"x": "xd", "y": "yd"}


def on_circle(t: Any) -> np.ndarray:
    angle = np.asarray(t) + np.asarray(t) ** 2 / 2
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def order(error: Callable[[int], float], steps: tuple[int, ...]) -> float:
    """Slope of log error over log h."""
    errors = [error(n) for n in steps]
    return float(np.polyfit(np.log([1 / n for n in steps]), np.log(errors), 1)[0])


# -- orders


@pytest.mark.parametrize("name", EXPLICIT)
def test_runge_kutta_method_reaches_its_declared_order(name: str) -> None:
    run = march(circle, CIRCLE)
    steps = {8: (8, 12, 16, 20)}.get(METHODS[name].order, (40, 60, 80, 120))

    def error(n: int) -> float:
        return float(abs(run.fixed(name, [1.0, 0.0], 0.0, 1.0 / n, n).x_end - on_circle(1.0)).max())

    # more than declared happens (dopri5), where the leading error term is small for a problem
    assert order(error, steps) > METHODS[name].order - 0.25


@pytest.mark.parametrize("name", EXPLICIT)
def test_an_eccentric_orbit_closes_with_the_order_of_the_method(name: str) -> None:
    run = march(kepler, {"q": "qd", "v": "vd"})
    eccentricity = 0.1 if name == "euler" else 0.5
    speed = math.sqrt((1 + eccentricity) / (1 - eccentricity))
    start = np.array([1 - eccentricity, 0.0, 0.0, speed])
    steps = {1: (20_000, 40_000), 8: (150, 200, 300)}.get(METHODS[name].order, (400, 600, 800))

    def error(n: int) -> float:
        return float(np.linalg.norm(run.fixed(name, start, 0.0, 2 * math.pi / n, n, n).x_end - start))

    assert order(error, steps) == pytest.approx(METHODS[name].order, abs=0.5 if name == "dopri8" else 0.25)


@cache
def kepler() -> sb.System:
    """Two bodies: forces depend on the position alone."""
    q, v = sb.symbols("q0 q1"), sb.symbols("v0 v1")
    r3 = (q[0] ** 2 + q[1] ** 2) ** 1.5
    return sb.System("kepler", inputs={"q": q, "v": v}, outputs={"qd": v, "vd": [-q[0] / r3, -q[1] / r3]})


@cache
def damped() -> sb.System:
    """x'' = -x - x'/2, with z' = v - z besides: forces that depend on velocities, and a state that is neither."""
    x, v, z = sb.symbols("x v z")
    return sb.System("damped", inputs={"x": x, "v": v, "z": z}, outputs={"xd": v, "vd": -x - 0.5 * v, "zd": v - z})


@pytest.mark.parametrize("name", SPLITTING)
@pytest.mark.parametrize("drift", ["velocities", None])
def test_splitting_method_reaches_its_declared_order(name: str, drift: Any) -> None:
    orbit = march(kepler, {"q": "qd", "v": "vd"}, second=[("q", "v")], drift=drift)

    def around(n: int) -> float:
        end = orbit.fixed(name, [1.0, 0.0, 0.0, 1.0], 0.0, 2.0 / n, n).x_end
        return float(abs(end - [math.cos(2), math.sin(2), -math.sin(2), math.cos(2)]).max())

    assert order(around, (40, 60, 80, 120)) == pytest.approx(METHODS[name].order, abs=0.3)


@pytest.mark.parametrize("name", SPLITTING)
def test_splitting_keeps_its_order_with_forces_of_velocity_and_further_states(name: str) -> None:
    run = march(damped, {"x": "xd", "v": "vd", "z": "zd"}, second=[("x", "v")], drift="velocities")
    matrix = np.array([[0, 1, 0], [-1, -0.5, 0], [0, 1, -1.0]])
    values, vectors = np.linalg.eig(matrix)
    start = np.array([1.0, 0.2, -0.3])
    exact = (vectors @ np.diag(np.exp(values * 1.5)) @ np.linalg.solve(vectors, start)).real

    def error(n: int) -> float:
        return float(abs(run.fixed(name, start, 0.0, 1.5 / n, n).x_end - exact).max())

    assert order(error, (40, 60, 80, 120)) == pytest.approx(METHODS[name].order, abs=0.3)


def test_symplectic_methods_keep_the_energy_of_an_orbit_bounded() -> None:
    run = march(kepler, {"q": "qd", "v": "vd"}, second=[("q", "v")], drift="velocities")

    def drift(name: str) -> float:
        x = run.fixed(name, [1.0, 0.0, 0.0, 1.2], 0.0, 0.05, 20_000, 50).x
        energy = (x[:, 2:] ** 2).sum(1) / 2 - 1 / np.hypot(x[:, 0], x[:, 1])
        return float(np.ptp(energy))

    assert drift("verlet") < 1e-3
    assert drift("symplectic4") < 1e-5
    assert drift("rk4") > drift("symplectic4")


@cache
def spinning() -> sb.System:
    """A unit quaternion with constant angular velocity w: positions whose rates are N(q) w."""
    q, w = sb.symbols("q0 q1 q2 q3"), sb.symbols("w0 w1 w2")
    rates = [
        -(q[1] * w[0] + q[2] * w[1] + q[3] * w[2]) / 2,
        (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]) / 2,
        (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]) / 2,
        (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]) / 2,
    ]
    # asymmetric body: Euler's equations with inertias 1, 2, 3
    spins = [-w[1] * w[2], w[0] * w[2], -w[0] * w[1] / 3]
    return sb.System("spinning", inputs={"q": q, "w": w}, outputs={"qd": rates, "wd": spins})


@cache
def unit() -> sb.System:
    q, w = sb.symbols("q0 q1 q2 q3"), sb.symbols("w0 w1 w2")
    size = sb.sqrt(q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2)
    return sb.System("unit", inputs={"q": q, "w": w}, outputs={"q": [c / size for c in q]})


@cache
def turning() -> sb.System:
    return sb.System("turning", inputs=spinning().inputs, outputs={"qd": spinning().outputs["qd"]})


SPIN = {"q": "qd", "w": "wd"}
SPIN_START = [1.0, 0.0, 0.0, 0.0, 0.4, 1.1, -0.7]


@pytest.mark.parametrize("name", SPLITTING)
def test_quaternions_drift_with_the_order_of_the_method(name: str) -> None:
    run = march(spinning, SPIN, second=[("q", "w")], drift=kernel(turning))
    # the split method is judged by one of order 8 and tiny steps
    exact = march(spinning, SPIN).fixed("dopri8", SPIN_START, 0.0, 1e-2, 100).x_end

    def error(n: int) -> float:
        return float(abs(run.fixed(name, SPIN_START, 0.0, 1.0 / n, n).x_end - exact).max())

    assert order(error, (20, 30, 40, 60)) == pytest.approx(METHODS[name].order, abs=0.3)


# -- the native march against the one in NumPy


@pytest.mark.parametrize("name", list(METHODS))
def test_fixed_steps_agree_with_numpy_to_the_last_bit(name: str) -> None:
    options = dict(second=[("x", "v")])
    signals = Signals([0.0, 0.3, 0.9], [[0.0], [1.0], [-0.5]])
    args = (name, [1.0, 0.2], 0.1, 0.013, 57, 10)
    native = march(oscillator, OSCILLATOR, **options).fixed(*args, signals=signals)
    same(native, march(oscillator, OSCILLATOR, PlainMarch, **options).fixed(*args, signals=signals))


@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("times", [None, np.linspace(0.1, 4.9, 30)])
@pytest.mark.parametrize("hold", [False, True])
def test_adaptive_steps_agree_with_numpy_to_the_last_bit(name: str, times: Any, hold: bool) -> None:
    signals = Signals([0.0, 1.0, 2.5], [[0.0], [1.0], [-0.5]], hold)
    args = dict(rtol=1e-6, atol=[1e-8, 1e-7], signals=signals)
    native = march(oscillator, OSCILLATOR).adaptive(name, [1.0, 0.2], 0.05, 5.0, times, **args)
    plain = march(oscillator, OSCILLATOR, PlainMarch).adaptive(name, [1.0, 0.2], 0.05, 5.0, times, **args)
    same(native, plain)
    assert native.status == 0
    assert native.t_end == 5.0


@pytest.mark.parametrize("name", ["rk4", "verlet"])
def test_interpreted_kernels_give_the_same_motion(name: str) -> None:
    plain = PlainMarch(oscillator().compile("python"), OSCILLATOR, second=[("x", "v")])
    signals = Signals([0.0], [0.25])
    ours = march(oscillator, OSCILLATOR, second=[("x", "v")]).fixed(name, [1.0, 0.2], 0.0, 0.01, 50, signals=signals)
    theirs = plain.fixed(name, [1.0, 0.2], 0.0, 0.01, 50, signals=signals)
    assert np.allclose(ours.x, theirs.x, rtol=1e-14, atol=1e-14)


# -- tolerances and dense output


@pytest.mark.parametrize(("name", "peer"), [("bogacki_shampine", "RK23"), ("dopri5", "RK45"), ("dopri8", "DOP853")])
def test_adaptive_runs_agree_with_scipy_at_tight_tolerance(name: str, peer: str) -> None:
    def rates(t: float, y: np.ndarray) -> list[float]:
        return [y[1], -y[0] - y[0] ** 3 - 0.1 * y[1] + 0.3 * math.cos(1.2 * t) + 0.2]

    tight = 1e-7 if name == "bogacki_shampine" else 1e-11
    times = np.linspace(0.25, 6.0, 24)
    theirs = solve_ivp(rates, (0, 6), [1.0, 0.2], method=peer, rtol=tight, atol=tight, t_eval=times)
    run = march(oscillator, OSCILLATOR).adaptive(
        name, [1.0, 0.2], 0.0, 6.0, times, rtol=tight, atol=tight, signals=Signals([0.0], [0.2])
    )
    assert abs(run.x - theirs.y.T).max() < 200 * tight
    # the same method with the same tolerance takes a similar number of evaluations
    assert 0.7 < run.evaluations / theirs.nfev < 1.4


@pytest.mark.parametrize("name", ADAPTIVE)
def test_errors_follow_the_tolerance(name: str) -> None:
    run = march(circle, CIRCLE)
    for tolerance in (1e-4, 1e-6, 1e-8):
        found = run.adaptive(name, [1.0, 0.0], 0.0, 2.0, rtol=tolerance, atol=tolerance)
        assert abs(found.x - on_circle(found.t)).max() < 100 * tolerance
        assert found.t_end == 2.0
        assert found.t[-1] == 2.0


@pytest.mark.parametrize("name", ADAPTIVE)
def test_dense_output_reaches_its_order(name: str) -> None:
    method = METHODS[name]
    assert isinstance(method, RungeKutta)
    run = march(circle, CIRCLE)

    def error(n: int) -> float:
        h = 1.0 / n
        times = h * np.linspace(0.05, 0.95, 19)
        # one step of length h: huge tolerances
        found = run.adaptive(name, [1.0, 0.0], 0.0, h, times, rtol=1e3, atol=1e3, first_step=h)
        assert found.steps == 1
        return float(abs(found.x - on_circle(times)).max())

    steps = (6, 8, 10, 12) if method.dense_order > 5 else (8, 12, 16, 24)
    assert order(error, steps) == pytest.approx(method.dense_order + 1, abs=0.4)


def test_a_run_goes_back_in_time() -> None:
    run = march(circle, CIRCLE).adaptive("dopri5", on_circle(1.0), 1.0, 0.0, [0.7, 0.2], rtol=1e-10, atol=1e-10)
    assert np.allclose(run.x, on_circle([0.7, 0.2]), atol=1e-8)
    assert np.allclose(run.x_end, [1.0, 0.0], atol=1e-8)
    assert run.h_next < 0


def test_all_accepted_steps_are_recorded_however_many_there_are() -> None:
    run = march(circle, CIRCLE)
    args = dict(rtol=1e-6, atol=1e-6, max_step=1e-3)
    found = run.adaptive("bogacki_shampine", [1.0, 0.0], 0.0, 2.0, **args)
    assert found.t.shape == (int(found.steps),)
    assert found.steps >= 2000
    assert np.all(np.diff(found.t) > 0)
    same(found, march(circle, CIRCLE, PlainMarch).adaptive("bogacki_shampine", [1.0, 0.0], 0.0, 2.0, **args))


def test_a_second_run_with_the_proposed_step_needs_no_search() -> None:
    run = march(circle, CIRCLE)
    first = run.adaptive("dopri5", [1.0, 0.0], 0.0, 1.0, rtol=1e-9, atol=1e-9)
    second = run.adaptive("dopri5", first.x_end, 1.0, 2.0, rtol=1e-9, atol=1e-9, first_step=first.h_next)
    assert second.rejected == 0
    assert second.t[0] - 1.0 == pytest.approx(float(first.h_next))


# -- batches


def crowd(count: int) -> tuple[np.ndarray, dict[str, np.ndarray], Signals]:
    """States, parameters and signals that differ from member to member."""
    rng = np.random.default_rng(5)
    times = np.array([0.0, 0.4, 1.1])
    parameters = {"k": rng.uniform(0.5, 40.0, count), "w": rng.uniform(0.5, 2.0, count)}
    return rng.normal(size=(count, 2)), parameters, Signals(times, rng.normal(size=(count, 3, 1)))


@pytest.mark.parametrize("name", ["rk4", "semi_implicit_euler", "symplectic4", "dopri8"])
@pytest.mark.parametrize("count", [2, 45, 130])
def test_fixed_batch_equals_single_runs_bit_for_bit(name: str, count: int) -> None:
    x, parameters, signals = crowd(count)
    run = march(oscillator, OSCILLATOR, second=[("x", "v")], drift="velocities")
    batch = run.fixed(name, x, 0.2, 0.01, 33, 7, signals=signals, parameters=parameters)
    for i in range(0, count, 11):
        own = Signals(signals.times, signals.values[i])
        one = run.fixed(name, x[i], 0.2, 0.01, 33, 7, signals=own, parameters={n: v[i] for n, v in parameters.items()})
        for key, value in member(batch, i).items():
            assert np.array_equal(getattr(one, key), value), key
    same(batch, run.fixed(name, x, 0.2, 0.01, 33, 7, signals=signals, parameters=parameters, threads=2))


@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("times", [None, np.linspace(0.3, 2.0, 9)])
def test_adaptive_batch_equals_single_runs_bit_for_bit(name: str, times: Any) -> None:
    x, parameters, signals = crowd(70)
    run = march(oscillator, OSCILLATOR)
    args = dict(rtol=1e-6, atol=1e-8)
    batch = run.adaptive(name, x, 0.2, 2.0, times, signals=signals, parameters=parameters, **args)
    assert len(set(batch.steps.tolist())) > 3
    for i in range(0, 70, 9):
        own = Signals(signals.times, signals.values[i])
        mine = {n: v[i] for n, v in parameters.items()}
        one = run.adaptive(name, x[i], 0.2, 2.0, times, signals=own, parameters=mine, **args)
        for key, value in member(batch, i).items():
            assert np.array_equal(getattr(one, key), value), key
    same(batch, run.adaptive(name, x, 0.2, 2.0, times, signals=signals, parameters=parameters, threads=3, **args))


def test_members_may_have_their_own_times_and_steps() -> None:
    run = march(circle, CIRCLE)
    t = np.array([0.0, 0.5, 1.0])
    h = np.array([0.01, 0.02, -0.01])
    batch = run.fixed("rk4", on_circle(t), t, h, 50)
    assert batch.t.shape == (3, 50)
    assert np.allclose(batch.x_end, on_circle(t + 50 * h), atol=1e-5)
    assert np.allclose(batch.t_end, t + 50 * h)


def test_one_state_with_many_parameters_is_a_batch() -> None:
    run = march(oscillator, OSCILLATOR)
    d = np.linspace(0.0, 1.0, 5)
    batch = run.fixed("rk4", [1.0, 0.0], 0.0, 0.01, 100, signals=Signals([0.0], [0.0]), parameters={"d": d})
    assert batch.x_end.shape == (5, 2)
    assert len(np.unique(batch.x_end[:, 0])) == 5


# -- signals


@cache
def integrator() -> sb.System:
    x, u = sb.symbols("x"), sb.symbols("u0 u1")
    return sb.System("integrator", inputs={"x": x, "u": u}, outputs={"xd": u[0] + 2 * u[1]})


@pytest.mark.parametrize("name", ["rk4", "heun", "dopri8"])
def test_linear_signals_are_integrated_exactly(name: str) -> None:
    times = np.array([0.0, 0.5, 1.5, 2.0])
    values = np.array([[0.0, 1.0], [2.0, -1.0], [1.0, 0.0], [4.0, 3.0]])
    found = march(integrator, {"x": "xd"}).fixed(name, [0.0], -0.5, 0.125, 24, signals=Signals(times, values))
    u = values[:, 0] + 2 * values[:, 1]
    # constant before the first and after the last time
    exact = 0.5 * u[0] + np.sum(np.diff(times) * (u[1:] + u[:-1]) / 2) + 0.5 * u[-1]
    assert found.x_end[0] == pytest.approx(exact, abs=1e-13)


@pytest.mark.parametrize("name", ["euler", "rk4", "dopri8"])
@pytest.mark.parametrize("h", [0.1, 0.05])
def test_held_signals_that_change_between_steps_are_integrated_exactly(name: str, h: float) -> None:
    """Knots such as 0.3 are no multiples of the step in binary numbers; the step still sees one value alone."""
    times = np.arange(10) * 0.1
    values = np.random.default_rng(1).normal(size=(10, 2))
    steps = round(1.0 / h)
    found = march(integrator, {"x": "xd"}).fixed(name, [0.0], 0.0, h, steps, signals=Signals(times, values, hold=True))
    assert found.x_end[0] == pytest.approx(0.1 * (values[:, 0] + 2 * values[:, 1]).sum(), abs=1e-13)


def test_a_jump_belongs_to_the_step_that_follows_it() -> None:
    times, values = [0.0, 1.0, 1.0, 2.0], [[0.0, 0.0], [1.0, 0.0], [-3.0, 0.0], [-3.0, 0.0]]
    run = march(integrator, {"x": "xd"})
    found = run.fixed("rk4", [0.0], 0.0, 0.25, 8, signals=Signals(times, values))
    assert found.x_end[0] == pytest.approx(0.5 - 3.0, abs=1e-13)
    assert found.x[3, 0] == pytest.approx(0.5, abs=1e-13)


# -- guards


@cache
def falling() -> sb.System:
    x, v, t = sb.symbols("x v t")
    return sb.System("falling", inputs={"x": x, "v": v, "t": t}, outputs={"xd": v, "vd": 0 * x - 10})


@cache
def heights() -> sb.System:
    x, v, t = sb.symbols("x v t")
    return sb.System("heights", inputs={"x": x, "v": v, "t": t}, outputs={"guard": [x, v, t - 0.55]})


@pytest.mark.parametrize("kind", [March, PlainMarch])
def test_a_run_stops_after_the_step_in_which_a_guard_changes_its_sign(kind: Any) -> None:
    run = march(falling, OSCILLATOR, kind, guards=kernel(heights))
    found = run.fixed("heun", [1.0, 1.25], 0.0, 0.125, 100)
    # the velocity 1.25 - 10 t is zero after the first step, exactly: zero after counts
    assert found.status == 1
    assert found.crossed.tolist() == [0, -1, 0]
    assert (found.t_before, found.t_end) == (0.0, 0.125)
    assert np.allclose(found.x_before, [1.0, 1.25])
    assert found.samples == 0
    again = run.fixed("heun", found.x_end, found.t_end, 0.125, 100, directions=[0, 0, -1])
    # it starts on the event, which is not found again; the ground comes next
    assert again.crossed.tolist() == [-1, 0, 0]
    assert again.t_before < 0.125 + math.sqrt(2 * found.x_end[0] / 10) < again.t_end


@pytest.mark.parametrize("kind", [March, PlainMarch])
def test_directions_select_crossings(kind: Any) -> None:
    run = march(falling, OSCILLATOR, kind, guards=kernel(heights))
    found = run.fixed("rk4", [1.0, 1.0], 0.0, 0.03, 100, directions=[1, 1, -1])
    assert found.status == 0
    found = run.adaptive("dopri5", [1.0, 1.0], 0.0, 3.0, rtol=1e-8, atol=1e-8, directions=[-1, 1, -1], max_step=0.05)
    assert found.status == 1
    assert found.crossed.tolist() == [-1, 0, 0]
    fall = 0.1 + math.sqrt(2 * 1.05 / 10)
    assert found.t_before < fall <= found.t_end


@pytest.mark.parametrize("method", ["rk4", "verlet", "dopri5", "dopri8"])
def test_passive_guards_are_logged_and_change_nothing(method: str) -> None:
    """Without events, with them, and in NumPy: the same steps; the one that acts ends the run as it does alone."""
    adaptive = method.startswith("dopri")
    args: Any = ([1.0, 2.0], 0.0, 3.0) if adaptive else ([1.0, 2.0], 0.0, 0.03, 100)
    more: Any = dict(rtol=1e-6, atol=1e-6, max_step=0.1) if adaptive else {}

    def go(kind: Any, guards: Any, **options: Any) -> Run:
        run = march(falling, OSCILLATOR, kind, second=[("x", "v")], drift="velocities", guards=guards)
        return (run.adaptive if adaptive else run.fixed)(method, *args, **more, **options)

    alone, found = go(March, None), go(March, kernel(heights), passive=[1, 1, 1])
    assert found.status == 0
    assert np.array_equal(found.x, alone.x)
    assert found.h_next == alone.h_next
    assert [step.crossed.tolist() for step in found.log] == [[0, -1, 0], [0, 0, 1], [-1, 0, 0]]
    for step, instant in zip(found.log, (0.2, 0.55, 0.2 + math.sqrt(0.24))):
        assert step.t_before < instant <= step.t_end + 1e-9
    same(found, go(PlainMarch, kernel(heights), passive=[1, 1, 1]))
    ended = go(March, kernel(heights), directions=[-1, 1, -1])
    both = go(March, kernel(heights), passive=[0, 1, 1])
    assert (ended.status, both.status) == (1, 1)
    assert np.array_equal(ended.x_end, both.x_end)
    assert len(both.log) == 2
    same(both, go(PlainMarch, kernel(heights), passive=[0, 1, 1]))


def test_members_of_a_batch_meet_their_guards_one_by_one() -> None:
    run = march(falling, OSCILLATOR, guards=kernel(heights))
    plain = march(falling, OSCILLATOR, PlainMarch, guards=kernel(heights))
    x = np.stack([np.linspace(0.1, 30.0, 12), np.zeros(12) - 1], axis=1)
    args = (x, 0.6, 0.02, 75, 10)
    batch = run.fixed("rk4", *args)
    same(batch, plain.fixed("rk4", *args))
    hits = 0.6 + (-1 + np.sqrt(1 + 20 * x[:, 0])) / 10
    hit = hits < 2.1
    assert np.array_equal(batch.status == 1, hit)
    assert np.all((batch.t_before < hits)[hit] & (hits <= batch.t_end + 1e-12)[hit])
    free = dict(rtol=1e-6, atol=1e-6, max_step=0.2)
    times = np.linspace(0.7, 2.0, 8)
    found = run.adaptive("dopri5", x, 0.6, 2.1, times, **free)
    same(found, plain.adaptive("dopri5", x, 0.6, 2.1, times, **free))
    assert np.array_equal(found.status == 1, hit)


# -- projection


@pytest.mark.parametrize("kind", [March, PlainMarch])
@pytest.mark.parametrize("name", ["rk4", "verlet"])
def test_projection_keeps_quaternions_of_unit_size(kind: Any, name: str) -> None:
    run = march(spinning, SPIN, kind, project=kernel(unit), second=[("q", "w")], drift=kernel(turning))
    found = run.fixed(name, SPIN_START, 0.0, 0.05, 100, 10)
    assert abs(np.linalg.norm(found.x[:, :4], axis=1) - 1).max() < 1e-15
    free = march(spinning, SPIN, kind, second=[("q", "w")], drift=kernel(turning))
    assert abs(np.linalg.norm(free.fixed(name, SPIN_START, 0.0, 0.05, 100, 10).x[-1, :4]) - 1) > 1e-9


def test_projection_after_adaptive_steps_agrees_with_numpy() -> None:
    args = dict(rtol=1e-5, atol=1e-7)
    start = np.tile(SPIN_START, (5, 1)) * np.linspace(1.0, 3.0, 5)[:, None] ** np.array([0, 0, 0, 0, 1, 1, 1])
    found = march(spinning, SPIN, project=kernel(unit)).adaptive("dopri5", start, 0.0, 3.0, **args)
    same(found, march(spinning, SPIN, PlainMarch, project=kernel(unit)).adaptive("dopri5", start, 0.0, 3.0, **args))
    assert abs(np.linalg.norm(found.x_end[:, :4], axis=1) - 1).max() < 1e-15


# -- runs that end badly


@cache
def explosion() -> sb.System:
    """x' = x^2: infinite at t = 1/x0."""
    x = sb.symbols("x")
    return sb.System("explosion", inputs={"x": x}, outputs={"xd": x * x})


@pytest.mark.parametrize("kind", [March, PlainMarch])
def test_a_state_that_is_not_finite_ends_its_run_alone(kind: Any) -> None:
    run = march(explosion, {"x": "xd"}, kind)
    x = np.array([[1.0], [-1.0], [0.2], [4.0]])
    found = run.fixed("rk4", x, 0.0, 0.05, 200)
    assert found.status.tolist() == [2, 0, 2, 2]
    assert np.isfinite(found.x_end).all()
    assert np.array_equal(found.t_before[[0, 3]], found.t_end[[0, 3]])
    assert found.t_end[3] < found.t_end[0] < found.t_end[2]
    assert np.isnan(found.x[0, found.samples[0] :]).all()
    assert np.isfinite(found.x[0, : found.samples[0]]).all()
    same(found, march(explosion, {"x": "xd"}, PlainMarch).fixed("rk4", x, 0.0, 0.05, 200))


def test_a_pole_makes_adaptive_steps_too_small_or_not_finite() -> None:
    found = march(explosion, {"x": "xd"}).adaptive("dopri5", [[1.0], [-1.0]], 0.0, 2.0, rtol=1e-8, atol=1e-8)
    assert found.status[0] in (2, 3)
    assert found.t_end[0] == pytest.approx(1.0, abs=1e-6)
    assert found.status[1] == 0
    assert found.x_end[1, 0] == pytest.approx(-1 / 3, abs=1e-7)
    plain = march(explosion, {"x": "xd"}, PlainMarch)
    same(found, plain.adaptive("dopri5", [[1.0], [-1.0]], 0.0, 2.0, rtol=1e-8, atol=1e-8))


def test_a_start_that_is_not_a_number_is_reported() -> None:
    run = march(explosion, {"x": "xd"})
    assert run.fixed("rk4", [math.nan], 0.0, 0.1, 5).status == 2
    assert run.adaptive("dopri5", [math.nan], 0.0, 1.0, rtol=1e-6, atol=1e-6).status == 2


@pytest.mark.parametrize("kind", [March, PlainMarch])
def test_the_number_of_steps_is_limited(kind: Any) -> None:
    run = march(circle, CIRCLE, kind)
    found = run.adaptive("dopri5", [1.0, 0.0], 0.0, 100.0, rtol=1e-10, atol=1e-10, max_steps=20)
    assert found.status == 4
    assert found.steps + found.rejected == 20
    assert np.allclose(found.x_end, on_circle(found.t_end), atol=1e-8)


@cache
def rooted() -> sb.System:
    """x' = -y with y^2 = x by a solve block: no solution once x is negative, which x' = -1 - y brings about."""
    x, y = sb.symbols("x y")
    (root,) = solve([y * y - x], [y], [1.0], name="root", max_iterations=20)
    return sb.System("rooted", inputs={"x": x}, outputs={"xd": -1 - root})


@pytest.mark.parametrize("kind", [March, PlainMarch])
def test_a_solve_block_that_fails_ends_its_run(kind: Any) -> None:
    run = march(rooted, {"x": "xd"}, kind)
    found = run.fixed("rk4", [[4.0], [0.25], [9.0]], 0.0, 0.05, 20)
    assert found.status.tolist() == [0, 5, 0]
    # x' = -1 - sqrt(x): t = 2 (s0 - s) - 2 log((1 + s0)/(1 + s)), s = sqrt(x)
    s0, s = 2.0, math.sqrt(found.x_end[0, 0])
    assert 2 * (s0 - s) - 2 * math.log((1 + s0) / (1 + s)) == pytest.approx(1.0, abs=1e-6)
    found = run.adaptive("dopri5", [0.25], 0.0, 1.0, rtol=1e-6, atol=1e-6)
    assert found.status == 5
    assert found.t_end == pytest.approx(1.0 - 2 * math.log(1.5), abs=1e-3)


# -- one-step maps


@cache
def backward_euler() -> sb.System:
    """x' = -u x by the implicit Euler method, solved by hand."""
    x, t, h, u = sb.symbols("x t h u")
    return sb.System("backward_euler", inputs={"x": x, "t": t, STEP_LENGTH: h, "u": u}, outputs={"x": x / (1 + h * u)})


@pytest.mark.parametrize("kind", [March, PlainMarch])
def test_a_one_step_map_is_iterated(kind: Any) -> None:
    run = kind(None, {"x": ""}, step=kernel(backward_euler), step_node=1.0)
    found = run.fixed(None, [[1.0], [2.0]], 0.0, 0.1, 10, signals=Signals([0.0, 0.5], [[1.0], [3.0]], hold=True))
    exact = 1 / (1.1**5 * 1.3**5)
    assert np.allclose(found.x_end[:, 0], [exact, 2 * exact], rtol=1e-13)
    with pytest.raises(NameLookupError, match="one-step map"):
        run.adaptive("dopri5", [1.0], 0.0, 1.0, rtol=1e-6, atol=1e-6, signals=Signals([0.0], [1.0]))


# -- functions written in Python, tiers, mistakes


def with_external(function: Any) -> sb.System:
    x = sb.symbols("x")
    return sb.System("outside", inputs={"x": x}, outputs={"xd": extern(External("outside_rate", 1, 1, function), x)})


def test_functions_written_in_python_take_part() -> None:
    run = March(with_external(lambda x: -2 * x).compile(), {"x": "xd"})
    found = run.fixed("rk4", [[1.0], [2.0]], 0.0, 0.01, 100)
    assert np.allclose(found.x_end[:, 0], [math.exp(-2), 2 * math.exp(-2)], rtol=1e-8)


def test_an_exception_of_such_a_function_is_raised() -> None:
    def broken(x: float) -> float:
        raise ZeroDivisionError("no rate today")

    run = March(with_external(broken).compile(), {"x": "xd"})
    with pytest.raises(ZeroDivisionError, match="no rate today"):
        run.fixed("rk4", [1.0], 0.0, 0.01, 100)


def test_quickly_made_code_gives_the_same_bits() -> None:
    quick = March(circle().compile(level="quick", cache=False), CIRCLE)
    x = np.random.default_rng(0).normal(size=(9, 2))
    same(quick.fixed("rk4", x, 0.0, 0.01, 40), march(circle, CIRCLE).fixed("rk4", x, 0.0, 0.01, 40))


def test_mistakes_are_named() -> None:
    run = march(oscillator, OSCILLATOR)
    signals = Signals([0.0], [0.0])
    with pytest.raises(NameLookupError, match="rk4"):
        run.fixed("rk5", [1.0, 0.0], 0.0, 0.1, 1, signals=signals)
    with pytest.raises(NameLookupError, match="no error estimate"):
        run.adaptive("rk4", [1.0, 0.0], 0.0, 1.0, rtol=1e-6, atol=1e-6, signals=signals)
    with pytest.raises(ShapeError, match="second"):
        run.fixed("verlet", [1.0, 0.0], 0.0, 0.1, 1, signals=signals)
    with pytest.raises(NameLookupError, match="depend on u"):
        run.fixed("rk4", [1.0, 0.0], 0.0, 0.1, 1)
    with pytest.raises(ShapeError, match="expected"):
        run.fixed("rk4", [1.0, 0.0, 0.0], 0.0, 0.1, 1, signals=signals)
    with pytest.raises(ShapeError, match="members"):
        run.fixed("rk4", np.zeros((3, 2)), 0.0, 0.1, 1, signals=signals, parameters={"k": np.ones(4)})
    with pytest.raises(NameLookupError, match="no parameter"):
        run.fixed("rk4", [1.0, 0.0], 0.0, 0.1, 1, signals=signals, parameters={"kk": 1.0})
    with pytest.raises(NameLookupError, match="no output"):
        march(oscillator, {"x": "xdot"})
