"""Events that only record: the motion has the same bits with and without them, and they are found where they are."""

import numpy as np
import pytest

import symbody as sb
from helpers.passage_models import five_bar
from helpers.simulation_models import ball, oscillator
from symbody.motion.trajectory.outcome import Outcome

COUNTS = ("steps", "rejected", "evaluations", "partitions", "passages")
CLOCK = sb.When("clock", "sin(40*t)")
METHODS = [
    {},
    {"method": "dopri5"},
    {"step": 5e-3},
    {"step": 5e-3, "method": "verlet"},
    {"step": 5e-3, "method": "sdirk2"},
    {"method": "radau"},
    {"method": "bdf"},
    {"method": "lsoda"},
]


def guards(joint: str) -> list[sb.When]:
    """Turning points, two levels a step apart or less, one way, and a clock: mostly several of them in one step."""
    levels = [sb.When(f"level{k}", f"q.{joint} - {0.3 + 1e-4 * k}", direction=k) for k in (0, 1)]
    return [sb.When("turn", f"qd.{joint}"), *levels, CLOCK]


def times(run: sb.Trajectory, name: str) -> np.ndarray:
    return np.array([e.t for e in run.events if e.name == name])


def alike(mech, duration, events, acting=(), **options) -> sb.Trajectory:
    """The run with the events, which is the one without them to the bit."""
    plain = sb.simulate(mech, duration, events=acting, **options)
    run = sb.simulate(mech, duration, events=[*events, *acting], **options)
    assert run.outcome is plain.outcome
    assert [run.statistics.get(n) for n in COUNTS] == [plain.statistics.get(n) for n in COUNTS]
    for one, other in ((run.t, plain.t), (run.q, plain.q), (run.qd, plain.qd)):
        assert np.array_equal(one, other)
    own = {e.name for e in events}
    assert [e for e in run.events if e.name not in own] == list(plain.events)
    assert [e.t for e in run.events] == sorted(e.t for e in run.events)
    return run


def check_clock(run: sb.Trajectory, end: float) -> None:
    """Each zero of sin(40 t) after the start, once."""
    np.testing.assert_allclose(times(run, "clock"), np.pi / 40 * np.arange(1, int(end * 40 / np.pi) + 1), atol=1e-12)


@pytest.mark.parametrize("options", METHODS, ids=lambda o: "-".join(map(str, o.values())) or "auto")
def test_a_pendulum_at_rest_moves_alike_with_and_without_recorded_events(options):
    """At the start a guard is zero: it moves nothing then either."""
    run = alike(sb.load("pendulum2"), 1.5, guards("joint1"), q0={"joint1": 0.8}, **options)
    check_clock(run, 1.5)
    turns = np.count_nonzero(np.diff(np.sign(run["qd.joint1"][1:])))
    assert len(times(run, "turn")) == turns
    levels = times(run, "level0")
    assert len(levels) == np.count_nonzero(np.diff(np.sign(run["q.joint1"] - 0.3)))
    one_way = np.count_nonzero(np.diff(np.sign(run["q.joint1"] - 0.3001)) > 0)
    assert len(times(run, "level1")) == one_way


@pytest.mark.parametrize("options", [{}, {"step": 5e-3}, {"method": "lsoda"}])
def test_a_robot_moves_alike_with_and_without_recorded_events(options):
    check_clock(alike(sb.load("puma560"), 0.5, guards("joint2"), q0=[0.1] * 6, **options), 0.5)


@pytest.mark.parametrize("method", ["cvode", "ida"])
def test_sundials_moves_alike_with_and_without_recorded_events(method):
    pytest.importorskip("sksundae")
    check_clock(alike(sb.load("pendulum2"), 0.5, guards("joint1"), q0={"joint1": 0.8}, method=method), 0.5)


@pytest.mark.parametrize("method", ["cvode", "ida"])
@pytest.mark.parametrize("direction", [-1, 0])
def test_sundials_interpolates_up_to_a_bounce(method, direction):
    """Samples and recorded events in the step that an event ends."""
    pytest.importorskip("sksundae")
    bounce = sb.When("bounce", "q.z", direction=direction, reset={"qd.z": "-0.8*qd.z"})
    low = sb.When("low", "q.z - 1e-4", direction=-1)
    run = alike(ball(), 0.6, [low], [bounce], q0={"z": 1.0}, method=method, samples=601)
    np.testing.assert_allclose(times(run, "low"), np.sqrt(2 * (1 - 1e-4) / 9.81), atol=1e-6)
    before = run.t < times(run, "bounce")[0]
    np.testing.assert_allclose(run["q.z"][before], 1 - 9.81 / 2 * run.t[before] ** 2, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"method": "dopri5"}, {"step": 5e-3}, {"method": "radau"}])
def test_a_four_bar_moves_alike_with_and_without_recorded_events(options):
    check_clock(alike(sb.load("four_bar"), 0.5, guards("crank"), qd0={"crank": 1.0}, **options), 0.5)


@pytest.mark.parametrize("options", [{}, {"step": 2e-3}, {"method": "lsoda"}])
def test_partitions_change_alike_with_and_without_recorded_events(options):
    """Also where a step is done again with other equations: its events are counted once."""
    mech = five_bar()
    q = sb.assemble(mech, [2.2, -1.53337591, 0.9, 1.56706369], fixed=["a1", "b1"])
    qd = sb.closure(mech, partition=["a1", "b1"]).compile()(q, [1.66940919, 0, -0.79089627, 0]).qd
    run = alike(mech, 0.7, guards("a1"), q0=q, qd0=qd, rtol=1e-9, **options)
    assert run.statistics["partitions"] >= 3
    check_clock(run, 0.7)


def test_many_guards_cross_in_one_step_in_order():
    """A step of 0.2 s of a falling ball, and twenty heights in it."""
    heights = 1.0 - 9.81 / 2 * np.linspace(0.205, 0.395, 20) ** 2
    events = [sb.When(f"h{k}", f"q.z - {float(h)!r}") for k, h in enumerate(heights)]
    run = alike(ball(), 1.0, events[::-1], q0={"z": 1.0}, step=0.2)
    assert [e.name for e in run.events] == [e.name for e in events]
    np.testing.assert_allclose([e.t for e in run.events], np.linspace(0.205, 0.395, 20), atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"method": "dopri5"}, {"step": 0.02}, {"method": "radau"}, {"method": "bdf"}])
def test_a_ball_bounces_alike_whatever_is_recorded(options):
    """Apexes between the bounces, and the ground itself, which is met at the instant of the bounce."""
    bounce = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"})
    events = [sb.When("apex", "qd.z", direction=-1), sb.When("ground", "q.z", direction=-1)]
    run = alike(ball(), 1.95, events, [bounce], q0={"z": 1.0}, **options)
    hits = times(run, "bounce")
    assert len(hits) == 3
    np.testing.assert_allclose(times(run, "apex"), (hits[1:] + hits[:-1]) / 2, atol=1e-6)
    np.testing.assert_allclose(times(run, "ground"), hits, rtol=1e-12)


def test_events_of_the_old_course_behind_a_jump_are_not_recorded():
    """In the step of the bounce the ball would have fallen below the ground."""
    bounce = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"})
    below = sb.When("below", "q.z + 1e-3")
    above = sb.When("above", "q.z - 1e-3", direction=-1)
    run = alike(ball(), 1.0, [below, above], [bounce], q0={"z": 1.0}, step=0.1)
    assert [e.name for e in run.events] == ["above", "bounce"]


def test_a_stop_keeps_what_was_recorded_before_it():
    stop = sb.When("stop", "q.z - 0.5", stop=True)
    run = alike(ball(), 1.0, [sb.When("before", "q.z - 0.51"), sb.When("after", "q.z - 0.49")], [stop], q0={"z": 1.0})
    assert run.outcome is Outcome.STOPPED
    assert [e.name for e in run.events] == ["before", "stop"]


def test_a_controller_is_asked_alike():
    """Held inputs, which end stretches; guards that read them."""
    options = {"inputs": {"x": lambda t, q, qd: -3.0 * q[0] - qd[0]}, "period": 0.05, "q0": [1.0], "samples": 41}
    events = [sb.When("push", "tau.x"), sb.When("zero", "q.x"), CLOCK]
    for more in ({}, {"step": 0.01}, {"step": 0.05, "samples": None}):
        check_clock(alike(oscillator(), 2.0, events, **{**options, **more}), 2.0)


def test_however_many_they_are_recorded_events_end_no_run():
    """Twenty events at one instant would be an accumulation if they acted."""
    events = [sb.When(f"e{k}", f"q.z - 0.5 - {k}e-13") for k in range(30)]
    assert len(alike(ball(), 0.4, events, q0={"z": 1.0}).events) == 30


@pytest.mark.parametrize("options", [{}, {"step": 5e-3}, {"step": 5e-3, "method": "generalized_alpha"}])
def test_a_resumed_run_records_the_same_events(options, tmp_path):
    mech, events = sb.load("pendulum2"), [*guards("joint1"), *(sb.When(f"w{k}", f"t - 0.{k}1") for k in range(1, 10))]
    whole = sb.simulate(mech, 1.5, q0={"joint1": 0.8}, events=events, samples=31, **options)
    first = sb.simulate(
        mech, 1.0, q0={"joint1": 0.8}, events=events, samples=21, checkpoint=tmp_path / "run.npz", **options
    )
    for again in (sb.resume(first, 0.5), sb.resume(tmp_path / "run.npz", 0.5)):
        assert again.events == whole.events
        assert np.array_equal(again.q, whole.q)
