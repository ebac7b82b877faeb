"""FMUs: valid by FMPy's rules, the motion of `sb.simulate`, the reference results of FMI, right derivatives."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import CompileError, DefinitionError, NameLookupError
from symbody.codegen.fmu.package import build_fmu

fmpy = pytest.importorskip("fmpy")
pytestmark = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler here")

REFERENCE = Path(__file__).parents[4] / "shared" / "data" / "fmi_reference"
VERSIONS = pytest.mark.parametrize("version", [2, 3])


def van_der_pol():
    x0, x1 = sb.symbol("x0", "state"), sb.symbol("x1", "state")
    mu = sb.symbol("mu", "parameter", default=1.0)
    rates = {"d0": x1, "d1": mu * ((1 - x0**2) * x1) - x0}
    return sb.System("VanDerPol", inputs={"x0": x0, "x1": x1}, outputs=rates, states={"x0": "d0", "x1": "d1"})


def dahlquist():
    x, k = sb.symbol("x", "state"), sb.symbol("k", "parameter", default=1.0)
    return sb.System("Dahlquist", inputs={"x": x}, outputs={"dx": -k * x}, states={"x": "dx"})


def bouncing_ball():
    """Falls, bounces, and lies still once it is slow: s is a mode that only the event changes."""
    h, v, s = sb.symbol("h", "state"), sb.symbol("v", "state"), sb.symbol("s")
    g, e, slow = (sb.symbol(n, "parameter", default=x) for n, x in (("g", -9.81), ("e", 0.7), ("v_min", 0.1)))
    up = -e * v
    return sb.System(
        "BouncingBall",
        inputs={"h": h, "v": v, "s": s},
        outputs={"dh": v, "dv": s * g},
        states={"h": "dh", "v": "dv"},
        guards={"bounce": h},
        resets={"bounce.h": 0 * h, "bounce.v": sb.select(up < slow, 0, up), "bounce.s": sb.select(up < slow, 0, s)},
        modes={"bounce.direction": "down", "s": 1.0},
        units={"h": "m", "v": "m/s"},
    )


def state_space():
    x, u = (np.array([sb.symbol(f"{n}{k}", r) for k in range(3)]) for n, r in (("x", "state"), ("u", "input")))
    return sb.System("StateSpace", inputs={"x": x, "u": u}, outputs={"dx": x + u, "y": x + u}, states={"x": "dx"})


CASES = {
    "VanDerPol": (van_der_pol, {"x0": 2.0}, 0.01, ("x0", "x1")),
    "Dahlquist": (dahlquist, {"x": 1.0}, 0.1, ("x",)),
    "BouncingBall": (bouncing_ball, {"h": 1.0}, 0.001, ("h", "v")),
    "StateSpace": (state_space, {"x": [1.0, 2.0, 3.0]}, 0.001, ("y",)),
}


def written(folder: Path, system: sb.System, version: int, **options) -> str:
    path = folder / f"{system.name}_{version}.fmu"
    path.write_bytes(build_fmu(system, version, **options))
    return str(path)


def components(result, names):
    """Columns of a result, arrays component by component; FMI 2 has y[1], y[2], ..."""
    columns = []
    for name in names:
        for found in [n for n in result.dtype.names if n == name or n.startswith(f"{name}[")]:
            columns.append(np.reshape(result[found], (len(result), -1)))
    return np.hstack(columns)


@VERSIONS
@pytest.mark.parametrize("name", CASES)
def test_explicit_euler_gives_the_reference_results(name, version, tmp_path):
    if not REFERENCE.exists():
        pytest.skip("the reference results are not here")
    make, start, step, shown = CASES[name]
    path = written(tmp_path, make(), version, method="euler", step=step, start=start)
    assert problems(path) == []
    rows = list(csv.reader((REFERENCE / f"{name}_out.csv").read_text().splitlines()))[1:]
    times = [float(row[0]) for row in rows]
    stored = np.array([[float(x) for cell in row[1:] for x in cell.split()] for row in rows])
    found = fmpy.simulate_fmu(path, fmi_type="CoSimulation", stop_time=times[-1], output_interval=times[1] - times[0])
    np.testing.assert_allclose(components(found, shown), stored, rtol=1e-9, atol=1e-9)


def problems(path):
    from fmpy.validation import validate_fmu

    return validate_fmu(path)


@VERSIONS
@pytest.mark.parametrize("kind", ["CoSimulation", "ModelExchange"])
def test_a_ball_bounces_when_and_as_high_as_it_must(version, kind, tmp_path):
    path = written(tmp_path, bouncing_ball(), version, start={"h": 1.0})
    assert problems(path) == []
    found = fmpy.simulate_fmu(path, fmi_type=kind, stop_time=1.5, output_interval=0.01, relative_tolerance=1e-10)
    t = np.array(found["time"])
    first = np.sqrt(2 / 9.81)
    second = first + 2 * 0.7 * np.sqrt(2 * 9.81) / 9.81
    flying = (t > first + 0.01) & (t < second - 0.01)
    height = 0.7 * np.sqrt(2 * 9.81) * (t - first) - 9.81 / 2 * (t - first) ** 2
    assert flying.sum() > 30
    np.testing.assert_allclose(found["h"][flying], height[flying], atol=1e-6)
    assert found["h"].min() > -1e-6


@VERSIONS
def test_parameters_and_inputs_act(version, tmp_path):
    path = written(tmp_path, dahlquist(), version, start={"x": 1.0})
    found = fmpy.simulate_fmu(path, fmi_type="CoSimulation", stop_time=1.0, start_values={"k": 3.0})
    assert found["x"][-1] == pytest.approx(np.exp(-3.0), rel=1e-8)
    path = written(tmp_path, state_space(), version)
    name, value = ("u[1]", 2.0) if version == 2 else ("u", [2.0, 0.0, 0.0])
    found = fmpy.simulate_fmu(path, fmi_type="CoSimulation", stop_time=1.0, start_values={name: value})
    assert components(found, ["x"])[-1] == pytest.approx([2.0 * (np.e - 1), 0.0, 0.0], rel=1e-8)


def test_directional_derivatives_are_those_of_differences(tmp_path):
    with sb.Graph():
        system = van_der_pol()
        path = written(tmp_path, system, 2, start={"x0": 2.0, "x1": 0.3})
    description = fmpy.read_model_description(path)
    folder = fmpy.extract(path, str(tmp_path / "unzipped"))
    fmu = fmpy.instantiate_fmu(folder, description, fmi_type="ModelExchange")
    fmu.setupExperiment()
    fmu.enterInitializationMode()
    fmu.exitInitializationMode()
    place = {v.name: v.valueReference for v in description.modelVariables}
    rates, states = [place["der(x0)"], place["der(x1)"]], [place["x0"], place["x1"]]
    for direction in ([1.0, 0.0], [0.2, -1.3]):
        found = fmu.getDirectionalDerivative(rates, states, direction)
        x = np.array([2.0, 0.3])
        f = lambda x: np.array([x[1], (1 - x[0] ** 2) * x[1] - x[0]])  # noqa: E731
        h = 1e-6
        expected = (f(x + h * np.array(direction)) - f(x - h * np.array(direction))) / (2 * h)
        np.testing.assert_allclose(found, expected, rtol=1e-8)
    fmu.freeInstance()


@pytest.mark.parametrize("version", [pytest.param(2, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize(
    ("model", "q0"), [("pendulum2", {"joint1": 0.5}), pytest.param("four_bar", {"crank": 0.5}, marks=pytest.mark.slow)]
)
def test_a_mechanism_moves_as_it_does_here(model, q0, version, tmp_path):
    from symbody.show.cli.motion_options import motion_source

    mech = sb.load(model)
    source = motion_source(mech, None, ["energy"], "auto", {"q": q0})
    path = written(tmp_path, source.system, version, labels=source.labels, units=source.units, start=source.start)
    assert problems(path) == []
    here = sb.simulate(mech, 0.3, q0=q0, rtol=1e-11, atol=1e-13, samples=[0, 0.3])
    for kind, bound in (("CoSimulation", 1e-8), ("ModelExchange", 1e-6)):
        found = fmpy.simulate_fmu(path, fmi_type=kind, stop_time=0.3, output_interval=0.03, relative_tolerance=1e-10)
        last = found["q"][-1] if version == 3 else [found[n][-1] for n in found.dtype.names if n.startswith("q.")]
        np.testing.assert_allclose(last, here.q[-1], atol=bound)


@pytest.mark.parametrize(
    ("method", "bound"), [("dopri5", 1e-7), pytest.param("rk4", 1e-9, marks=pytest.mark.slow), ("euler", 2e-2)]
)
def test_a_guard_of_either_direction_fires_once_a_bounce(method, bound, tmp_path):
    """Leaving the floor is no second crossing, and a roof above is met in the same step."""
    h, v = sb.symbol("h", "state"), sb.symbol("v", "state")
    ball = sb.System(
        "hall", inputs={"h": h, "v": v}, outputs={"dh": v, "dv": -9.81 + 0 * v}, states={"h": "dh", "v": "dv"},
        guards={"floor": h, "roof": 1.2 - h}, resets={"floor.v": -0.8 * v, "roof.v": -0.8 * v},
    )  # fmt: skip
    path = written(tmp_path, ball, 2, start={"h": 1.0, "v": 3.0}, method=method, step=1e-3)
    found = fmpy.simulate_fmu(path, fmi_type="CoSimulation", stop_time=1.6, output_interval=0.2)
    t, at, speed = 0.0, 1.0, 3.0  # by hand, from impact to impact
    heights = []
    for end in np.arange(0.0, 1.61, 0.2):
        while True:
            rise = speed**2 - 2 * 9.81 * (1.2 - at)
            above = speed > 0 and rise > 0
            hit = (speed - np.sqrt(rise) if above else speed + np.sqrt(speed**2 + 2 * 9.81 * at)) / 9.81
            if t + hit > end:
                break
            at = 1.2 if above else 0.0
            t, speed = t + hit, -0.8 * (speed - 9.81 * hit)
        rest = end - t
        heights.append(at + speed * rest - 9.81 / 2 * rest**2)
    np.testing.assert_allclose(found["h"], heights, atol=bound)


@pytest.mark.parametrize("q0", [None, {"crank": 1.0}])
def test_closed_loops_start_where_a_run_starts(q0):
    from symbody.show.cli.motion_options import motion_source

    mech = sb.load("slider_crank")
    source = motion_source(mech, None, None, "auto", {"q": q0, "qd": {"crank": 2.0}})
    here = sb.simulate(mech, 0.01, q0=q0, qd0={"crank": 2.0}, samples=[0.0])
    np.testing.assert_allclose(source.start["q"], here.q[0], atol=1e-12)
    np.testing.assert_allclose(source.start["qd"], here.qd[0], atol=1e-12)


def test_the_same_system_gives_the_same_archive():
    assert build_fmu(dahlquist(), 2, binary=False) == build_fmu(dahlquist(), 2, binary=False)


def test_what_cannot_be_exported_is_said_before_any_work():
    x, y = sb.symbol("x", "state"), sb.symbol("y")
    with pytest.raises(DefinitionError, match="no states"):
        build_fmu(sb.System("still", inputs={"x": x}, outputs={"z": x}), 2)
    with pytest.raises(DefinitionError, match="euler, rk4, dopri5"):
        build_fmu(dahlquist(), 2, method="heun")
    sampled = sb.System("held", inputs={"x": x}, outputs={"dx": -x}, states={"x": "dx"}, clocks={"period": 0.1})
    with pytest.raises(DefinitionError, match=r"'held' is sampled .* a timer"):
        build_fmu(sampled, 2)
    outer = sb.External("far_away", 1, 1, function=lambda a: a)
    called = sb.extern(outer, y)
    rate = called[0] if isinstance(called, (list, tuple, np.ndarray)) else called
    with pytest.raises(CompileError, match="far_away"):
        build_fmu(sb.System("outer", inputs={"x": x, "y": y}, outputs={"dx": rate}, states={"x": "dx"}), 3)


@pytest.mark.parametrize("name", ["bounce", "bounc.direction", "speed"])
def test_a_mode_that_nothing_has_is_refused(name, tmp_path):
    """Entries of modes are starts of inputs, or directions of guards: of an FMU and of a simulation alike."""
    ball = bouncing_ball().replace(modes={"bounce.direction": "down", "s": 1.0, name: -1})
    with pytest.raises(NameLookupError, match="neither an input nor the direction of a guard"):
        written(tmp_path, ball, 2, start={"h": 1.0})
    with pytest.raises(NameLookupError, match="neither an input nor the direction of a guard"):
        sb.simulate(ball, 1.0, states0={"h": 1.0})
