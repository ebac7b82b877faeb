"""Inputs of a simulation: numbers, laws, tables, functions, controllers; each against another way to say the same."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.simulation_models import brick, chain, oscillator
from symbody.basics.errors import DefinitionError, ModelError, NameLookupError, ParseError, ShapeError
from symbody.motion.run.simulate import simulate
from symbody.symbolic.expr.arrays import symbol_array
from symbody.symbolic.expr.graph import symbols
from symbody.symbolic.system.system import System

Q0 = [0.5, -0.3, 0.2]


def pd(t, q, qd):
    return -5.0 * q - qd


def pd_system() -> System:
    q, qd = symbol_array("q", 3), symbol_array("qd", 3)
    return System("pd", inputs={"q": q, "qd": qd}, outputs={"tau": [-5 * a - b for a, b in zip(q, qd)]})


def pd_laws() -> dict[str, str]:
    return {f"tau.j{k}": f"-5*q.j{k} - qd.j{k}" for k in (1, 2, 3)}


def test_a_law_a_system_and_a_function_are_the_same_controller():
    law = simulate(chain(3), 2.0, 1e-3, q0=Q0, inputs=pd_laws())
    system = simulate(chain(3), 2.0, 1e-3, q0=Q0, inputs=pd_system())
    assert (system.q == law.q).all()
    assert law.tau == pytest.approx(-5 * law.q - law.qd)
    continuous = simulate(chain(3), 2.0, q0=Q0, inputs=pd, period=0, rtol=1e-9)
    assert continuous.q[-1] == pytest.approx(law.q[-1], abs=1e-7)
    # a sampled controller differs by its delay of half a period, so ten times less with a tenth of the period
    errors = []
    for step in (1e-2, 1e-3):
        sampled = simulate(chain(3), 2.0, step, q0=Q0, inputs=pd)
        assert sampled.tau[0] == pytest.approx(pd(0, np.array(Q0), 0))
        errors.append(np.abs(sampled.q[-1] - law.q[-1]).max())
    assert 7 < errors[0] / errors[1] < 14


def test_sampled_controller_is_held_between_its_ticks():
    asked = []

    def control(t, state):
        asked.append(t)
        return -2.0 * state["q"] - state["qd"]

    traj = simulate(oscillator(), 1.0, 0.01, q0=[1.0], inputs={"x": control}, period=0.1)
    assert asked == pytest.approx(np.arange(10) * 0.1)
    steps = traj.tau[:-1, 0].reshape(10, 10)
    assert (steps == steps[:, :1]).all()
    assert len(set(steps[:, 0])) == 10
    # with a period, adaptive steps stop at the ticks and meet the same motion
    adaptive = simulate(oscillator(), 1.0, q0=[1.0], inputs={"x": control}, period=0.1)
    assert adaptive.q[-1] == pytest.approx(traj.q[-1], abs=1e-8)


def test_single_steps_between_ticks_have_the_bits_of_the_native_loop():
    held = np.array([0.3, -0.2, 0.1, 1.0, 0.5, -1.0])
    ticked = simulate(brick(), 0.2, 1e-3, qd0=np.arange(6.0), inputs=lambda t, q, qd: held)
    native = simulate(brick(), 0.2, 1e-3, qd0=np.arange(6.0), inputs=held)
    assert (ticked.q == native.q).all()
    assert (ticked.qd == native.qd).all()


def test_controller_with_states_of_its_own():
    """Integral action: the error of position vanishes, the state of the controller carries the load."""
    q, qd, i = symbols("q qd i")
    system = System("pid", inputs={"q.x": q, "qd.x": qd, "i": i},
                    outputs={"x": -20 * (q - 1) - 8 * qd - 15 * i, "i_dot": q - 1}, states={"i": "i_dot"})  # fmt: skip
    traj = simulate(oscillator(), 20.0, 1e-2, inputs=system)
    assert traj["q.x"][-1] == pytest.approx(1.0, abs=1e-4)
    assert traj["i"][-1] == pytest.approx(-4.0 / 15, abs=1e-4)  # the spring pulls with k = 4


def test_sampled_system_counts_its_own_steps():
    n, q = symbols("n q")
    system = System("counter", inputs={"n": n, "q.x": q}, outputs={"x": n, "n_next": n + 1}, states={"n": "n_next"},
                    clocks={"period": 0.25})  # fmt: skip
    traj = simulate(oscillator(), 1.0, 0.05, inputs={"x": system})
    assert traj.tau[:, 0] == pytest.approx([0] * 5 + [1] * 5 + [2] * 5 + [3] * 6)


def test_controller_may_read_a_frame_but_not_what_it_commands():
    p = symbol_array("p", 3)
    aim = System("aim", inputs={"p.rod2": p}, outputs={"tau.j1": -10 * p[0]})
    traj = simulate(chain(2), 1.0, 1e-3, q0=[0.4, 0.0], inputs=aim)
    assert traj["tau.j1"] == pytest.approx(-10 * traj["p.rod2.x"])
    law = simulate(chain(2), 1.0, 1e-3, q0=[0.4, 0.0], inputs={"tau.j1": "10*sin(q.j1)"})
    assert traj.q == pytest.approx(law.q, abs=1e-9)


def test_tables_are_linear_or_held():
    times, values = np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 0.0])
    linear = simulate(oscillator(), 2.0, 1e-3, inputs={"x": (times, values)})
    law = simulate(oscillator(), 2.0, 1e-3, inputs={"x": "2*t*(t < 1) + (4 - 2*t)*(t >= 1)"})
    assert linear.q == pytest.approx(law.q, abs=1e-9)
    assert linear["tau.x"][[0, 500, 1000, 1500]] == pytest.approx([0, 1, 2, 1])
    # a held table is a sequence of constant inputs: exact, since runs stop where it changes
    held = simulate(oscillator(), 1.5, 7e-4, inputs={"x": ([0.0, 0.5], [1.0, -1.0], "hold")}, parameters={"d": 0.0})
    t = held.t
    steps = (1 - np.cos(2 * t)) / 4 - 2 * np.where(t > 0.5, 1 - np.cos(2 * (t - 0.5)), 0) / 4
    assert held["q.x"] == pytest.approx(steps, abs=1e-11)
    assert held["tau.x"][-1] == -1.0


def test_functions_of_time_are_exact_at_the_stages():
    law = simulate(oscillator(), 2.0, 1e-2, inputs={"x": "sin(5*t)"})
    for options in ({"step": 1e-2}, {"step": 1e-2, "method": "symplectic4"}, {}):
        traj = simulate(oscillator(), 2.0, inputs={"x": lambda t: np.sin(5 * t)}, **options)
        assert traj.q[-1] == pytest.approx(law.q[-1], abs=1e-7)
    same = simulate(oscillator(), 2.0, 1e-2, inputs={"x": lambda t: np.sin(5 * t)})
    assert same.q == pytest.approx(law.q, abs=1e-14)


def test_numbers_for_all_or_for_one_joint():
    whole = simulate(chain(3), 0.5, 1e-2, inputs=[0.0, 2.0, 0.0])
    named = simulate(chain(3), 0.5, 1e-2, inputs={"j2": 2.0})
    dotted = simulate(chain(3), 0.5, 1e-2, inputs={"tau.j2": "2"})
    assert named.q == pytest.approx(whole.q, abs=1e-14)
    assert dotted.q == pytest.approx(whole.q, abs=1e-14)
    assert named.tau[3] == pytest.approx([0, 2, 0])


@pytest.mark.parametrize(
    ("inputs", "error", "text"),
    [
        ({"tau.j9": 1.0}, NameLookupError, "j1"),
        ({"torque": 1.0}, NameLookupError, "tau"),
        ([1.0, 2.0], ShapeError, r"\(3,\)"),
        ({"tau": np.array([1, np.nan, 0])}, ModelError, "nan"),
        ({"j1": "5*q.j9"}, NameLookupError, "q.j1"),
        ({"j1": "5*("}, ParseError, "expected"),
        ({"j1": ([0, 1], [1, 2, 3])}, ShapeError, "2 times"),
        ({"j1": ([0, 0], [1, 2])}, DefinitionError, "ascending"),
        ({"j1": ([0, 1], [1, 2], "cubic")}, NameLookupError, "linear"),
        ({"tau": 1.0, "j1": 2.0}, DefinitionError, "tau.j1"),
        (lambda t, q, qd: np.zeros(2), ShapeError, r"\(3,\)"),
        (lambda t, q, qd: np.full(3, np.nan), ModelError, "finite"),
        (lambda t, q, qd, more: 0, DefinitionError, "more"),
        ({"j1": object()}, DefinitionError, "expected numbers"),
    ],
)
def test_wrong_inputs_are_refused_by_name(inputs, error, text):
    with pytest.raises(error, match=text):
        simulate(chain(3), 0.1, 0.01, inputs=inputs)


def test_feedback_without_a_step_needs_a_period():
    with pytest.raises(DefinitionError, match="period"):
        simulate(chain(3), 0.1, inputs=pd)
