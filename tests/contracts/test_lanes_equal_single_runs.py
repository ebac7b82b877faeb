"""The members of a batch have the very bits of their own runs, with events, clocks and held tables, by every method."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from helpers.passage_models import five_bar, parallelogram
from helpers.simulation_models import ball, oscillator
from symbody.motion.methods.methods import METHODS
from symbody.motion.run.side_by_side import at_instants
from symbody.motion.trajectory.outcome import Outcome

BOUNCE = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": "-0.8*qd.z"})
APEX = sb.When("apex", "qd.z", direction=-1)
TOGETHER = [name for name, row in METHODS.items() if row.lanes]
APART = [name for name, row in METHODS.items() if not row.lanes and name not in ("cvode", "ida")]


def alike(many: sb.Trajectory, k: int, one: sb.Trajectory) -> None:
    """Member k of a batch is this single run: samples, events and outcome."""
    own = at_instants(one, many.t)
    for name, values in many.values.items():
        assert np.array_equal(values[k], own[name], equal_nan=True), name
    told = [(e.t, e.name, e.text) for e in many.events if e.member == k]
    assert told == [(e.t, e.name, e.text) for e in one.events]
    assert many.outcomes[k] is one.outcome


def settings(method: str) -> list[dict]:
    """With a step where the method takes one, without where it chooses its own."""
    steps = METHODS[method].steps
    fixed = [{"method": method, "step": 0.013}] if steps != "chosen" else []
    return fixed + ([{"method": method}] if steps != "fixed" else [])


@pytest.mark.parametrize("method", [*TOGETHER, *APART])
def test_bouncing_balls(method):
    """More of them than a block has lanes, where they go together."""
    count = 35 if method in TOGETHER else 2
    heights = np.linspace(0.3, 1.5, count)[:, None]
    for more in settings(method):
        more |= {"events": [BOUNCE, APEX], "samples": 14}
        many = sb.simulate(ball(), 1.1, q0=heights, **more)
        for k in {0, count // 2, count - 1}:
            alike(many, k, sb.simulate(ball(), 1.1, q0=heights[k], **more))


@pytest.mark.parametrize("options", [{"step": 0.02}, {"step": 0.02, "method": "verlet"}, {}])
def test_a_sampled_controller_and_a_held_table(options):
    """The controller counts its own ticks; parameters differ by member."""
    n, q = sb.symbols("n q")
    outputs = {"x": 0.1 * n - q, "n_next": n + 1}
    clock = sb.System(
        "counter", inputs={"n": n, "q.x": q}, outputs=outputs, states={"n": "n_next"}, clocks={"period": 0.15}
    )
    stiffness, table = np.linspace(1, 9, 5), ([0.0, 0.31, 0.7], [0.0, 1.0, -1.0], "hold")
    kick = sb.When("kick", "q.x", direction=-1, reset={"qd.x": "qd.x - 0.1"})
    for inputs in ({"x": clock}, {"x": table}):
        for events in ([], [kick]):
            common = {"q0": [1.0], "inputs": inputs, "events": events, "samples": 12, **options}
            many = sb.simulate(oscillator(), 1.1, parameters={"k": stiffness}, **common)
            for k in range(5):
                alike(many, k, sb.simulate(oscillator(), 1.1, parameters={"k": stiffness[k]}, **common))


def test_each_member_has_its_own_end():
    """Some stop, some have events without end, the others go on."""
    stop = sb.When("deep", "q.z + 0.5", stop=True)
    heights = np.array([[0.4], [1.0]])
    many = sb.simulate(ball(), 2.2, 0.01, q0=heights, events=[BOUNCE, stop], samples=23)
    zeno = sb.simulate(ball(), 6.0, 0.01, q0=heights, events=[BOUNCE], samples=23)
    assert list(zeno.outcomes) == [Outcome.TOO_MANY_EVENTS] * 2
    fall = sb.simulate(ball(), 1.0, 0.01, q0=np.array([[0.0], [5.0]]), events=[stop], samples=11)
    assert list(fall.outcomes) == [Outcome.STOPPED, Outcome.FINISHED]
    assert np.isnan(fall.q[0, -1]).all()
    assert not np.isnan(fall.q[1]).any()
    for run, options in ((many, {"events": [BOUNCE, stop]}), (zeno, {"events": [BOUNCE]})):
        for k in range(2):
            alike(run, k, sb.simulate(ball(), run.t[-1], 0.01, q0=heights[k], samples=23, **options))


def test_python_functions_are_asked_member_by_member():
    """Resets and inputs that are functions, which the native march does not follow."""
    reset = sb.When("bounce", "q.z", direction=-1, reset={"qd.z": lambda t, values: -0.8 * values["qd"][0]})
    heights = np.array([[0.5], [1.0], [1.4]])
    many = sb.simulate(ball(), 1.1, 0.01, q0=heights, events=[reset], samples=12)
    for k in range(3):
        alike(many, k, sb.simulate(ball(), 1.1, 0.01, q0=heights[k], events=[reset], samples=12))
        native = sb.simulate(ball(), 1.1, 0.01, q0=heights[k], events=[BOUNCE], samples=12)
        assert np.array_equal(native.q[-1], many.q[k, -1])


CLOSED = {
    "partitions change": (five_bar, {}),
    "in steps of fixed length": (five_bar, {"step": 2e-3}),
    "with multipliers": (five_bar, {"closing": sb.Augmented(), "step": 2e-3}),
    "and with an event": (five_bar, {"events": [sb.When("up", "q.a1 - 1.5")]}),
    "through positions where branches meet": (parallelogram, {}),
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_loops(name):
    """Each member has a partition of its own, which it changes where its own run does; positions, masses differ."""
    make, options = CLOSED[name]
    mech, rng = make(), np.random.default_rng(1)
    count, start = 4, np.array({5: [2.2, -1.53337591, 0.9, 1.56706369], 4: [1.0, -1.0, 1.0]}[len(mech.joints) + 1])
    q0 = np.array([sb.assemble(mech, start + rng.uniform(-0.1, 0.1, len(start))) for _ in range(count)])
    speed = {mech.joints[0].name: rng.uniform(-5, -3, count)}
    common = {"samples": 5, **options}
    many = sb.simulate(mech, 0.4, q0=q0, qd0=speed, **common)
    words = []
    for k in range(count):
        one = sb.simulate(mech, 0.4, q0=q0[k], qd0={n: v[k] for n, v in speed.items()}, **common)
        alike(many, k, one)
        words += [e.name for e in one.events]
        assert [n for n in many.notes if n.startswith(f"member {k}: ")] == [f"member {k}: {n}" for n in one.notes]
    wanted = "singular position" if make is parallelogram else "up" if "events" in options else "partition"
    assert wanted in words or "closing" in options


def test_closed_loops_with_other_parameters():
    """Lengths differ, so that the members assemble, and are singular, elsewhere; one does not get to the end."""
    mech = sb.load("four_bar")
    masses, angles = np.linspace(0.3, 0.7, 5), np.linspace(0.0, 2.0, 5)
    for options in ({}, {"step": 1e-3}):
        many = sb.simulate(mech, 0.3, q0={mech.joints[0].name: angles}, parameters={"m1": masses}, samples=4, **options)
        for k in range(5):
            q0 = {mech.joints[0].name: angles[k]}
            alike(many, k, sb.simulate(mech, 0.3, q0=q0, parameters={"m1": masses[k]}, samples=4, **options))


def test_marks_beyond_their_room_do_not_change_a_run(monkeypatch):
    """The native march hands its marks over whenever they are many, and goes on."""
    from symbody.motion.march import lane_march as lanes

    low = [sb.When(f"low{k}", f"q.z - 0.{k}") for k in range(1, 8)]
    for options in ({"step": 0.01}, {"step": 0.01, "method": "verlet"}, {}):
        whole = sb.simulate(ball(), 2.0, q0={"z": 1.0}, events=[BOUNCE, *low], **options)
        with monkeypatch.context() as patch:
            patch.setattr(lanes, "MARK_BYTES", 1)
            patch.setattr(lanes, "LEAST_MARKS", 1)
            small = sb.simulate(ball(), 2.0, q0={"z": 1.0}, events=[BOUNCE, *low], **options)
        assert len(whole.events) > 30
        assert whole.events == small.events
        assert np.array_equal(whole.q, small.q)
