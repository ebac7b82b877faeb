"""The same model and texts again, with other numbers: nothing symbolic is done a second time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import numpy as np
import pytest

import symbody as sb
from helpers.passage_models import slider_crank

ROOT = os.path.dirname(os.path.abspath(sb.__file__)) + os.sep
SYMBOLIC = ("expr", "rewrite", "formalisms", "loops", "lower")


def entered(call: Callable[[], object]) -> set[str]:
    """Functions of symbody that a call enters, as folder/file:function."""
    found = set()

    def note(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT):
            found.add(f"{code.co_filename[len(ROOT) :]}:{code.co_qualname}")

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def ball() -> sb.System:
    with sb.Graph() as graph:
        z, v = (graph.symbol(n, "state") for n in "zv")
        g = graph.symbol("g", "parameter", default=9.81)
        return sb.System(
            "ball", inputs={"z": z, "v": v}, outputs={"z_dot": v, "v_dot": -g}, states={"z": "z_dot", "v": "v_dot"}
        )


def bounce() -> list[sb.When]:
    return [sb.When("bounce", "z", direction=-1, reset={"v": "-0.8*v"})]


RUNS = {
    "four_bar": lambda m, a: sb.simulate(m, 0.1 + a, 1e-3, q0={m.joints[0].name: a}, parameters={"m1": 0.5 + a}),
    "four_bar, without numbers first": lambda m, a: sb.simulate(
        m, 0.1 + a, 1e-3, q0={m.joints[0].name: a}, parameters={"m1": 0.5 + a} if a else None
    ),
    "four_bar, adaptive": lambda m, a: sb.simulate(m, 0.1 + a, q0={m.joints[0].name: a}, outputs="energy"),
    "puma560": lambda m, a: sb.simulate(m, 0.1 + a, 1e-3, q0=np.full(6, a), parameters={"m2": 17.0 + a}),
    "puma560, a law": lambda m, a: sb.simulate(
        m, 0.1 + a, 1e-3, q0=np.full(6, a), inputs={"tau": ["-3*q.1 - qd.1", 0, 0, 0, 0, 0]}, outputs="energy"
    ),
    "puma560, a table": lambda m, a: sb.simulate(
        m, 0.1 + a, 1e-3, inputs={"tau": ([0.0, 1.0], np.full((2, 6), a), "hold")}
    ),
    "ball": lambda m, a: sb.simulate(
        m, 1.0 + a, events=bounce(), states0={"z": 1.0 + a, "v": 0.0}, parameters={"g": 9.0 + a}
    ),
    "ball, in steps": lambda m, a: sb.simulate(m, 1.0 + a, 1e-2, events=bounce(), states0={"z": 1.0 + a}),
}


def symbols_of(found: set[str]) -> list[str]:
    """What of it belongs to symbols."""
    made = ("Graph.__init__", "System.__init__", "System.__post_init__", "Program.__init__")
    return sorted(f for f in found if f.split(os.sep)[0] in SYMBOLIC or f.endswith(made))


@pytest.mark.parametrize("name", RUNS)
def test_a_run_with_other_numbers_makes_no_symbols(name: str) -> None:
    model = ball() if name.startswith("ball") else sb.load(name.partition(",")[0])
    RUNS[name](model, 0.0)
    assert not symbols_of(entered(lambda: RUNS[name](model, 0.05)))


@pytest.mark.parametrize("members", [1, 3])
def test_partitions_that_a_run_came_to_before_need_no_symbols(members: int) -> None:
    mech = slider_crank(0.2, 0.5)

    def run(more: float) -> sb.Trajectory:
        speeds = 5.0 + more if members == 1 else np.linspace(5.0, 6.0, members) + more
        return sb.simulate(mech, 0.5, q0={"crank": 1.0}, qd0={"crank": speeds}, closing=["slide"], samples=2)

    assert run(0.0).statistics["partitions"] == members
    assert not symbols_of(entered(lambda: run(1e-3)))


def test_runs_with_other_numbers_are_those_of_a_fresh_model() -> None:
    """What is kept depends on no number."""
    mech = sb.load("four_bar")
    RUNS["four_bar"](mech, 0.0)
    again, fresh = RUNS["four_bar"](mech, 0.05), RUNS["four_bar"](sb.load("four_bar"), 0.05)
    np.testing.assert_array_equal(again.q, fresh.q)
    np.testing.assert_array_equal(again["qdd"], fresh["qdd"])


def test_a_closed_run_that_is_resumed_again_makes_its_equations_once(tmp_path):
    sb.simulate(slider_crank(0.2, 0.5), 0.1, 1e-3, qd0={"crank": 5.0}, checkpoint=tmp_path / "run")
    first = sb.resume(tmp_path / "run", 0.05)
    again: list[sb.Trajectory] = []
    called = entered(lambda: again.append(sb.resume(tmp_path / "run", 0.05)))
    assert not [name for name in called if name.startswith(("formalisms", "loops", "rewrite"))]
    assert np.array_equal(again[0].q, first.q)
