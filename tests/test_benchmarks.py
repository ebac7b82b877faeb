"""The benchmarks compare like with like: every library computes the same numbers, and counts follow one rule."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import construction, peers, run, same_results, simulation, simulation_peers
from benchmarks.record import Claim, Missing, Section, shown
from benchmarks.simulation_models import GRAVITY, ROD_LENGTH, ROD_MASS, ROD_RADIUS, rods
from benchmarks.tally import TreeTally
from benchmarks.timing import TooSlow
from benchmarks.workloads import by_name, written_operations

WORKLOADS = ("pendulum", "matrix4", "random60", "arm1", "arm2p")
NAMES = [library.name for library in peers.LIBRARIES]


def library_named(name: str) -> peers.Library:
    library = peers.by_name(name)
    if not library.available():
        pytest.skip(f"{name} is not installed")
    return library


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("name", NAMES)
def test_library_gives_the_numbers_of_numpy(name, workload):
    library = library_named(name)
    w = by_name(workload)
    values = w.sample(4)
    assert peers.agrees(library.function(library.build(w))(values), w.expected(values))


@pytest.mark.parametrize("name", NAMES)
def test_nobody_counts_more_operations_than_were_written(name):
    library = library_named(name)
    for workload in ("matrix4", "random60", "arm1"):
        w = by_name(workload)
        tally = library.tally(library.build(w))
        assert 0 < tally.total + tally.trig <= written_operations(w)


def test_inverse_of_a_matrix_is_its_inverse():
    w = by_name("matrix4")
    values = w.sample(3)
    found = w.expected(values)
    a, b = (values[n].reshape(3, 4, 4) for n in "AB")
    np.testing.assert_allclose(found[:, :16].reshape(3, 4, 4), a @ b, atol=1e-14)
    np.testing.assert_allclose(found[:, 16:].reshape(3, 4, 4), np.linalg.inv(a + 4 * np.eye(4)), atol=1e-14)


def test_arm_at_rest_carries_its_weight():
    """Without motion the efforts are linear in the acceleration of the base."""
    w = by_name("arm3")
    values = {n: x * (n in ("q", "a0")) for n, x in w.sample(2).items()}
    doubled = values | {"a0": 2 * values["a0"]}
    np.testing.assert_allclose(w.expected(doubled), 2 * w.expected(values), rtol=1e-12)


def test_arm_power_is_the_rate_of_its_kinetic_energy():
    """On a base at rest, qd . tau = dT/dt, with T = qd . M qd / 2 taken from the efforts themselves."""
    w = by_name("arm2")
    v = {n: x * (n in ("q", "qd", "qdd")) for n, x in w.sample(1).items()}

    def kinetic(q: np.ndarray, qd: np.ndarray) -> float:
        # efforts of the acceleration qd from rest are M qd
        momentum = w.expected({**v, "q": q, "qd": 0 * qd, "qdd": qd})
        return float(np.sum(momentum * qd)) / 2

    h = 1e-5
    ahead, behind = (kinetic(v["q"] + s * v["qd"], v["qd"] + s * v["qdd"]) for s in (h, -h))
    assert np.sum(w.expected(v) * v["qd"]) == pytest.approx((ahead - behind) / (2 * h), rel=1e-7)


def test_tree_counts_follow_the_rule():
    sympy = pytest.importorskip("sympy")
    x, y, p, q = sympy.symbols("x y p q")

    def tally(e):
        t = TreeTally([x, y]).program([], [e])
        return t.mul, t.add, t.div

    assert tally(x - y) == (0, 1, 0)  # signs are free
    assert tally(p * q * x) == (1, 0, 0)  # parameters are one factor
    assert tally(x + p + q) == (0, 1, 0)  # and one term
    assert tally(p / x) == (0, 0, 1)
    assert tally(x * y / (x + y)) == (1, 1, 1)
    assert tally(x**5) == (3, 0, 0)
    assert tally(p * q + p) == (0, 0, 0)  # runs once


def test_wrong_values_are_refused():
    w = by_name("matrix4")
    with pytest.raises(AssertionError, match="not timed"):
        peers.check("a peer", w, lambda values: w.expected(values) * (1 + 1e-6))


def test_empty_cells_say_why():
    section = Section("s", "t", ["a", "b"], [{"a": 1, "b": Missing("too slow")}])
    assert section.reasons() == ["- in b: too slow"]
    assert [shown(c) for c in (None, True, 12345, 0.01234, 1234.5)] == ["-", "yes", "12 345", "0.0123", "1 234"]
    assert Claim("ratio", 2.0, 1.0, at_least=True).holds
    assert not Claim("seconds", 2.0, 1.0).holds


def test_quick_run_writes_its_figures(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(construction, "QUICK", ("matrix4",))
    path = tmp_path / "out" / "results.json"
    assert run.main(["--quick", "--only", "construction", "--budget", "0.5", "--json", str(path)]) == 0
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["machine"]["python"]
    (section,) = content["sections"]
    assert section["name"] == "construction"
    assert all(row["symbody us/node"] > 0 for row in section["rows"])
    assert "Construction" in capsys.readouterr().out


# -- simulation

PROGRAMS = {
    "symbody": lambda model, method, step: simulation_peers.Symbody(model.mechanism, method, step),
    "python": lambda model, method, step: simulation_peers.Stepped(
        simulation_peers.Symbody(model.mechanism, method, step).field().rates, method, step
    ),
    "mujoco": simulation_peers.mujoco_steps,
    "mujoco_stages": simulation_peers.mujoco_stages,
    "pinocchio": lambda model, method, step: simulation_peers.pinocchio_steps(model, method, step, limit=1.0),
    "exudyn": simulation_peers.Exudyn,
}


def slowest_swing() -> tuple[float, np.ndarray]:
    """Period (s) and shape (2,) in joint angles of small swings of two rods, by their linear equations."""
    m, a = ROD_MASS, ROD_LENGTH
    about_end = m * (ROD_RADIUS**2 / 4 + a**2 / 3)
    mass = np.array([[about_end + m * a**2, m * a**2 / 2], [m * a**2 / 2, about_end]])  # in angles to the vertical
    stiffness = -GRAVITY[2] * m * a * np.diag([1.5, 0.5])
    squares, shapes = np.linalg.eig(np.linalg.solve(mass, stiffness))
    k = np.argmin(squares)
    first, second = shapes[:, k] / shapes[0, k]
    return 2 * np.pi / np.sqrt(squares[k]), np.array([first, second - first])


@pytest.mark.parametrize("method", [simulation_peers.RK4, simulation_peers.EULER])
@pytest.mark.parametrize("name", PROGRAMS)
def test_simulated_rods_swing_with_the_period_of_their_slowest_mode(name, method):
    period, shape = slowest_swing()
    try:
        program = PROGRAMS[name](rods(2), method, period / 2000)
    except TooSlow as why:
        pytest.skip(str(why))
    size = 1e-5  # rad
    start = np.concatenate([shape, np.zeros(2)])
    below = np.concatenate([np.zeros(2), -2 * np.pi / period * shape])  # a quarter of the period later
    # semi-implicit Euler is half a step, pi/2000 of the largest entry, off
    tolerance = 1e-8 if method == simulation_peers.RK4 else 2 * np.pi / 2000 * np.abs(below).max()
    for steps, expected in ((500, below), (1000, -start), (2000, start)):
        np.testing.assert_allclose(program.end(size * start, steps) / size, expected, atol=tolerance)


def test_other_motions_are_refused():
    with pytest.raises(AssertionError, match="not timed"):
        simulation.check("a peer", "rods2", np.ones(4) * (1 + 1e-6), np.ones(4))


def test_quick_simulation_writes_its_figures(tmp_path, monkeypatch):
    monkeypatch.setattr(simulation, "QUICK", ("rods2",))
    monkeypatch.setattr(simulation, "BATCH", 160)
    monkeypatch.setattr(simulation, "BATCH_STEPS", 100)
    path = tmp_path / "results.json"
    assert run.main(["--quick", "--only", "simulation", "--budget", "0.5", "--json", str(path)]) == 0
    speed, accuracy, batch = json.loads(path.read_text(encoding="utf-8"))["sections"]
    assert [row["method"] for row in speed["rows"]] == ["RK4", "Euler", "dopri8"]
    assert all(row["symbody"] > 0 for row in speed["rows"])
    # the method's own error at 1 ms, and nobody departs from it
    rk4 = accuracy["rows"][0]
    found = [v for n, v in rk4.items() if n not in ("model", "method", "s") and isinstance(v, float)]
    assert len(found) >= 2
    np.testing.assert_allclose(found, rk4["symbody"], rtol=1e-2)
    assert all(row["as one by one"] for row in batch["rows"])


# -- recorded results


def test_recorded_results_are_the_same_until_one_is_changed(tmp_path, capsys):
    """One bit of a run with fixed steps, one word or one operation more is told; an adaptive run has its tolerance."""
    names = ("bouncing ball by rk4", "bouncing ball, words", "operations of pendulum2", "bouncing ball by dopri8")
    chosen = [r for r in same_results.results() if r.name in names]
    assert len(same_results.results()) > 100
    paths = [tmp_path / f"{k}.npz" for k in range(3)]
    same_results.write(paths[0], chosen)
    same_results.write(paths[1], chosen)
    assert same_results.compare(*paths[:2]) == 0

    def off(r):
        value = r.make() if r.kind == "words" else np.asarray(r.make(), dtype=float)
        change = {"words": "?", "count": 1, "bits": 1e-15, "tolerance": 1e-3 * r.rtol}[r.kind]
        return same_results.Result(r.name, r.kind, lambda: value + change, r.rtol)

    same_results.write(paths[2], [off(r) for r in chosen])
    assert same_results.compare(paths[0], paths[2]) == 3
    said = capsys.readouterr().out
    assert "dopri8" not in said
    assert same_results.compare(paths[2], paths[0]) == 2  # fewer operations are no fault
