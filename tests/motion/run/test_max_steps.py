"""`max_steps`: how many steps one call may take, whatever the method, and that `resume` takes as many again."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import DefinitionError
from symbody.motion.methods.methods import METHODS
from symbody.motion.trajectory.outcome import Outcome

START = [0.3, 0.1]
BOUNCE = sb.When("turn", "q.joint1", direction=-1, reset={"qd.joint1": "-qd.joint1"})
STEPPED = [n for n, row in METHODS.items() if row.steps != "chosen"]


def cut_and_whole(model, tmp_path, **options):
    """A run of at most ten steps of 1 ms, and of as many again from itself and from its file, and the run of 30 ms."""
    path = tmp_path / "run.checkpoint"
    part = sb.simulate(model, 0.03, 1e-3, max_steps=10, checkpoint=path, **options)
    return part, sb.resume(part), sb.resume(path), sb.simulate(model, 0.03, 1e-3, **options)


@pytest.mark.parametrize("method", STEPPED)
def test_a_fixed_step_is_taken_so_often_and_no_more(method, tmp_path):
    part, more, again, whole = cut_and_whole(sb.load("pendulum2"), tmp_path, q0=START, method=method)
    assert part.outcome is more.outcome is again.outcome is Outcome.TOO_MANY_STEPS
    assert whole.outcome is Outcome.FINISHED
    for run, count in ((part, 10), (more, 20), (again, 20)):
        assert run.statistics["steps"] == count
        np.testing.assert_allclose(run.t, np.arange(count + 1) * 1e-3, atol=1e-15)
        np.testing.assert_array_equal(run.q, whole.q[: count + 1])
    end = sb.resume(more)
    assert end.outcome is Outcome.FINISHED
    np.testing.assert_array_equal(end.q, whole.q)


CASES = {
    "events": {"q0": START, "events": [BOUNCE]},
    "a batch": {"q0": [START, [0.2, -0.1]]},
    "a batch with events": {"q0": [START, [0.2, -0.1]], "events": [BOUNCE]},
    "a table": {"q0": START, "inputs": {"joint1": (np.linspace(0, 1, 5), np.linspace(0, 1, 5))}},
}


@pytest.mark.parametrize("case", CASES)
def test_so_with_events_batches_and_tables(case, tmp_path):
    part, more, again, whole = cut_and_whole(sb.load("pendulum2"), tmp_path, **CASES[case])
    for run, count in ((part, 10), (more, 20), (again, 20)):
        assert run.outcome is Outcome.TOO_MANY_STEPS
        assert run.t[-1] == pytest.approx(count * 1e-3, abs=1e-12)
        np.testing.assert_array_equal(run.q, whole.q[..., : count + 1, :])
        assert run.outcomes is None or (run.outcomes == Outcome.TOO_MANY_STEPS).all()


def test_so_with_closed_loops_and_python_controllers(tmp_path):
    loop = cut_and_whole(sb.load("four_bar"), tmp_path, qd0={"crank": 2.0})
    for run, count in zip(loop[:3], (10, 20, 20)):
        assert run.outcome is Outcome.TOO_MANY_STEPS
        np.testing.assert_array_equal(run.q, loop[3].q[: count + 1])
    options = {"q0": START, "inputs": {"joint1": lambda t, q, qd: -q[0]}}
    part = sb.simulate(sb.load("pendulum2"), 0.03, 1e-3, max_steps=10, **options)
    whole = sb.simulate(sb.load("pendulum2"), 0.03, 1e-3, **options)
    np.testing.assert_array_equal(sb.resume(part).q, whole.q[:21])


def test_steps_of_a_batch_are_those_of_its_members():
    """40 members of 6000 steps are 240 000 steps, and none takes more than 6000; chunk after chunk."""
    runs = sb.simulate(sb.load("pendulum2"), 6.0, 1e-3, q0=np.full((40, 2), 0.3), sampling=2, max_steps=6000)
    assert runs.outcome is Outcome.FINISHED
    assert runs.t[-1] == 6.0


@pytest.mark.parametrize("method", [n for n, row in METHODS.items() if row.steps != "fixed"])
def test_chosen_steps_are_counted_and_go_on_from_the_same_place(method, tmp_path):
    if method in ("cvode", "ida"):
        pytest.importorskip("sksundae")
    mech, path = sb.load("pendulum2"), tmp_path / "run.checkpoint"
    whole = sb.simulate(mech, 1.0, method=method, q0=START, sampling=11)
    most = int(whole.statistics["steps"] // 3)
    run = sb.simulate(mech, 1.0, method=method, q0=START, sampling=11, max_steps=most, checkpoint=path)
    assert run.outcome is Outcome.TOO_MANY_STEPS
    assert (
        run.statistics["steps"] + run.statistics.get("rejected", 0) <= 1.05 * most
    )  # SUNDIALS counts to one in a hundred
    reached = 0.0
    while run.outcome is Outcome.TOO_MANY_STEPS:
        assert run.t[-1] > reached
        reached = run.t[-1]
        run = sb.resume(path, checkpoint=path)
    assert run.outcome is Outcome.FINISHED
    np.testing.assert_array_equal(run.q, whole.q)


@pytest.mark.parametrize("t0", [1e16, -1e16, 3e15, 1e13])
def test_time_must_pass(t0):
    with pytest.raises(DefinitionError, match="begin at an earlier time"):
        sb.simulate(sb.load("pendulum2"), 1.0, t0=t0)
    with pytest.raises(DefinitionError, match="begin at an earlier time"):
        sb.resume(sb.simulate(sb.load("pendulum2"), 0.1, 0.01, t0=1e3), 1e-14)


def test_late_times_are_times():
    """A pendulum does not read the time: begun at 1e6 s it moves as begun at 0."""
    early, late = (sb.simulate(sb.load("pendulum2"), 1.0, 0.01, q0=START, t0=t0) for t0 in (0.0, 1e6))
    np.testing.assert_allclose(late.q, early.q, atol=1e-9)
