"""Every integration method, by its row: errors fall as its order says with the step, or with the tolerance."""

from __future__ import annotations

import math

import numpy as np
import pytest

import symbody as sb
from symbody import extend
from symbody.basics.errors import DefinitionError, ShapeError, SymbodyError
from symbody.extend import Diagonal, Method, RungeKutta

METHODS = extend.methods()
FIXED = [row for row in METHODS.values() if row.steps != "chosen"]
CHOSEN = [row for row in METHODS.values() if row.steps != "fixed"]
# steps at which the error is far from roundings and from the start of the asymptotic regime, by order
STEPS = {1: 0.01, 2: 0.02, 3: 0.05, 4: 0.05, 5: 0.1, 8: 0.25}


def pendulum() -> sb.Mechanism:
    """A point of 1 kg on a rod of 1 m with g = 1 m/s^2: q'' = -sin q."""
    make = sb.Mechanism.builder("pendulum", gravity=(0, 0, -1))
    make.body("bob", mass=1.0, com=(0, 0, -1))
    return make.joint("hinge", "revolute", "world", "bob", axis="y").done()


def swung(t: np.ndarray) -> np.ndarray:
    """q(t) of the pendulum released at rest from 1 rad: sin(q/2) = k sn(K - t), k = sin(1/2)."""
    from scipy.special import ellipj, ellipk

    k = math.sin(0.5)
    return 2 * np.arcsin(k * ellipj(ellipk(k * k) - t, k * k)[0])


def damped(t: np.ndarray) -> np.ndarray:
    """x'' + 0.2 x' + 4 x = 0 from x = 1 at rest."""
    w = math.sqrt(4 - 0.01)
    return np.exp(-0.1 * t) * (np.cos(w * t) + 0.1 / w * np.sin(w * t))


def oscillator() -> sb.Mechanism:
    make = sb.Mechanism.builder("oscillator", gravity=(0, 0, 0)).body("mass", mass=1.0)
    return make.joint("x", "prismatic", "world", "mass", axis="x", stiffness=4.0, viscous=0.2).done()


PROBLEMS = {"pendulum": (pendulum, swung), "oscillator": (oscillator, damped)}


def error(problem: str, **options: object) -> float:
    """The largest of the position in 2 s, beside the closed form."""
    model, exact = PROBLEMS[problem]
    motion = sb.simulate(model(), 2.0, q0=[1.0], formalism="base", **options)
    assert motion.outcome.ok
    return float(np.abs(motion.q[:, 0] - exact(motion.t)).max())


def observed(problem: str, method: str, h: float) -> float:
    """Order by halving the step."""
    return math.log2(error(problem, method=method, step=h) / error(problem, method=method, step=h / 2))


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("row", FIXED, ids=lambda row: row.name)
def test_error_falls_with_the_step_as_the_order_says(row, problem):
    assert observed(problem, row.name, STEPS[row.order]) > row.order - 0.35


@pytest.mark.parametrize("row", CHOSEN, ids=lambda row: row.name)
def test_error_falls_with_the_tolerance(row):
    if row.name in ("cvode", "ida"):
        pytest.importorskip("sksundae")
    loose, tight = (error("pendulum", method=row.name, rtol=rtol, samples=3) for rtol in (1e-4, 1e-8))
    assert tight < 1e-5
    assert tight < 0.05 * loose or loose < 1e-7


@pytest.mark.parametrize("row", METHODS.values(), ids=lambda row: row.name)
def test_a_row_says_what_simulate_and_the_command_line_show(row):
    assert METHODS[row.name] is row
    assert row.name in row_names()
    assert row.about
    assert row.steps in ("fixed", "chosen", "both")
    wrong = {"fixed": None, "chosen": 0.1, "both": -1.0}[row.steps]
    with pytest.raises(SymbodyError, match="step"):
        sb.simulate(oscillator(), 1.0, step=wrong, method=row.name)


def row_names() -> list[str]:
    """What the command line offers after --method."""
    from symbody.show.cli.completion import methods

    return [name for name, _ in methods("")]


def test_symbodys_own_rows_stay():
    with pytest.raises(DefinitionError, match="symbody's own"):
        extend.remove_method("rk4")
    with pytest.raises(SymbodyError, match="no method 'rk5'"):
        extend.remove_method("rk5")


# -- one row more


@pytest.fixture
def added():
    """Rows that a test adds are gone after it."""
    yield extend.add_method
    for name in set(extend.methods()) - set(METHODS):
        extend.remove_method(name)


THREE_EIGHTHS = RungeKutta(  # Kutta 1901
    "three_eighths", 4, a=((), (1 / 3,), (-1 / 3, 1.0), (1.0, -1.0, 1.0)), b=(1 / 8, 3 / 8, 3 / 8, 1 / 8),
    c=(0.0, 1 / 3, 2 / 3, 1.0), about="the 3/8 rule, order 4",
)  # fmt: skip


def test_an_explicit_method_is_one_row_and_runs_natively(added, tmp_path):
    """Batches, sampled controllers, resumed runs and checkpoints come with the table."""
    added(THREE_EIGHTHS)
    assert observed("pendulum", "three_eighths", 0.05) > 3.65
    chain = sb.load("pendulum2")
    run = dict(step=0.01, method="three_eighths", formalism="base")
    starts = np.array([[0.1, 0.2], [0.5, -0.3]])
    many = sb.simulate(chain, 0.5, q0=starts, **run)
    one = sb.simulate(chain, 0.5, q0=starts[1], checkpoint=tmp_path / "run.ckpt", **run)
    assert np.array_equal(many.q[1], one.q)
    assert one.statistics["evaluations"] == 4 * one.statistics["steps"]
    assert np.array_equal(sb.resume(tmp_path / "run.ckpt", 0.5).q, sb.resume(one, 0.5).q)
    # the native loop does what the table says: one step by hand
    rates = sb.forward_dynamics(chain, "base").compile()
    x = np.concatenate([starts[1], [0.0, 0.0]])
    slopes: list[np.ndarray] = []
    for row in THREE_EIGHTHS.a:
        y = x + 0.01 * sum((a * k for a, k in zip(row, slopes)), start=np.zeros(4))
        slopes.append(np.concatenate([y[2:], rates(y[:2], y[2:], np.zeros(2))]))
    after = x + 0.01 * sum(b * k for b, k in zip(THREE_EIGHTHS.b, slopes))
    assert np.concatenate([one.q[1], one.qd[1]]) == pytest.approx(after, abs=1e-15)


def test_a_diagonally_implicit_method_is_one_row(added):
    """Crouzeix 1975: two stages, order 3, A-stable."""
    g = 0.5 + 3**0.5 / 6
    added(Diagonal("crouzeix3", 3, ((g,), (1 - 2 * g, g)), (0.5, 0.5), "two stages, order 3"))
    assert observed("pendulum", "crouzeix3", 0.05) > 2.65


def test_a_method_of_another_kind_is_one_row_with_its_driver(added):
    """Explicit Euler in a hundred times smaller steps, made from the Stepper of another row."""
    from dataclasses import replace

    euler = METHODS["euler"]
    added(Method("fine_euler", "Euler in small steps", 1, lambda s: euler.make(replace(s, step=s.step / 100)), "fixed"))
    fine = sb.simulate(pendulum(), 1.0, step=0.1, q0=[1.0], method="fine_euler", formalism="base")
    plain = sb.simulate(pendulum(), 1.0, step=0.001, q0=[1.0], method="euler", formalism="base", samples=11)
    assert fine.q == pytest.approx(plain.q, abs=1e-12)


def test_rows_that_are_wrong_are_refused(added):
    with pytest.raises(DefinitionError, match="'rk4' already"):
        added(RungeKutta("rk4", 1, a=((),), b=(1.0,), c=(0.0,)))
    with pytest.raises(ShapeError, match="rows of"):
        added(RungeKutta("short", 2, a=((), ()), b=(0.5, 0.5), c=(0.0, 1.0)))
    with pytest.raises(DefinitionError, match="sum of row 1"):
        added(RungeKutta("skew", 2, a=((), (1.0,)), b=(0.5, 0.5), c=(0.0, 0.9)))
    with pytest.raises(DefinitionError, match="whose sum is"):
        added(RungeKutta("heavy", 1, a=((),), b=(1.1,), c=(0.0,)))
    with pytest.raises(DefinitionError, match="continuous extension"):
        added(RungeKutta("blind", 1, a=((),), b=(1.0,), c=(0.0,), error=((0.5, -0.5),), error_order=1))
    with pytest.raises(DefinitionError, match="letters"):
        added(RungeKutta("two words", 1, a=((),), b=(1.0,), c=(0.0,)))
    with pytest.raises(DefinitionError, match="expected a RungeKutta"):
        added("rk4")
    with pytest.raises(AttributeError, match="add_method"):
        extend.add_metod
