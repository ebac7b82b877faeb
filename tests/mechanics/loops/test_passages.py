"""Runs through dead points and positions where branches meet: one motion, whatever is recorded; energy; open loops."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import symbody as sb
from helpers.passage_models import (
    CRANK,
    PLATFORM,
    crossed,
    five_bar,
    four_bar,
    pantograph,
    parallelogram,
    slider_crank,
    three_cranks,
    watt,
)
from symbody.mechanics.assembly import conditioning
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.partition.partition import Partition, choose_partition
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.mechanics.memoised import partitions
from symbody.motion.events import partition_watch
from symbody.motion.trajectory.outcome import Outcome

RTOL = 1e-9
RECORDINGS = ({"samples": 21}, {"samples": None}, {"samples": [0.31, 0.6], "outputs": ["energy"]})
COUNTS = ("steps", "rejected", "partitions", "passages")


def five_bar_start() -> tuple[sb.Mechanism, np.ndarray, np.ndarray]:
    """A start whose run once ended or not, depending on the number of samples."""
    mech = five_bar()
    q = sb.assemble(mech, [2.2, -1.53337591, 0.9, 1.56706369], fixed=["a1", "b1"])
    qd = sb.closure(mech, partition=["a1", "b1"]).compile()(q, [1.66940919, 0, -0.79089627, 0]).qd
    return mech, q, qd


def drift(run: sb.Trajectory) -> float:
    """Largest change of the energy beside what kinetic and potential energy exchange."""
    return float(np.ptp(run["energy"]) / max(np.ptp(run["kinetic"]), np.ptp(run["potential"])))


def simulated(mech, duration, **options) -> sb.Trajectory:
    return sb.simulate(mech, duration, outputs=["energy", "kinetic", "potential"], **{"rtol": RTOL, **options})


# -- what is recorded changes nothing


def recorded_alike(mech, duration, **options) -> sb.Trajectory:
    runs = [sb.simulate(mech, duration, **options, **recording) for recording in RECORDINGS]
    for run in runs[1:]:
        assert run.outcome is runs[0].outcome
        assert run.events == runs[0].events
        assert [run.statistics.get(n) for n in COUNTS] == [runs[0].statistics.get(n) for n in COUNTS]
        assert np.array_equal(run.q[-1], runs[0].q[-1])
        assert np.array_equal(run.qd[-1], runs[0].qd[-1])
    return runs[0]


METHODS = [
    {},
    {"step": 2e-3},
    {"method": "dopri5"},
    {"method": "lsoda"},
    pytest.param({"method": "radau"}, marks=pytest.mark.slow),
    pytest.param({"method": "sdirk3", "step": 2e-3}, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("options", METHODS)
def test_samples_and_outputs_do_not_change_a_motion_with_passages_and_partitions(options):
    flat = parallelogram()
    assert recorded_alike(flat, 0.6, q0=[1.0, -1.0, 1.0], qd0=[14.0, -14.0, 14.0], **options).statistics["passages"]
    assert recorded_alike(watt(), 0.6, q0={"left": 0.3}, qd0={"left": 3.0}, **options).outcome.ok


@pytest.mark.parametrize("options", METHODS)
def test_recorded_events_do_not_change_a_motion_with_passages(options):
    """Clocks that strike before, while and after singular positions are passed."""
    start = {"q0": [1.0, -1.0, 1.0], "qd0": [14.0, -14.0, 14.0], "samples": 21, **options}
    plain = sb.simulate(parallelogram(), 0.6, **start)
    instants = [e.t for e in plain.events if e.name == "singular position"]
    struck = [t + shift for t in instants for shift in (-0.05, -4e-3, -1e-3, 1e-3, 4e-3)]
    events = [sb.When(f"clock{k}", f"t - {t!r}") for k, t in enumerate(struck)]
    run = sb.simulate(parallelogram(), 0.6, events=events, **start)
    assert len(instants) == run.statistics["passages"] >= 3
    assert [run.statistics.get(n) for n in COUNTS] == [plain.statistics.get(n) for n in COUNTS]
    assert np.array_equal(run.q, plain.q)
    assert np.array_equal(run.qd, plain.qd)
    np.testing.assert_allclose([e.t for e in run.events if e.name.startswith("clock")], struck, rtol=1e-12)


@pytest.mark.parametrize("options", [{}, {"step": 2e-3}, {"method": "bdf"}])
def test_samples_and_outputs_do_not_change_the_motion_of_a_tree(options):
    recorded_alike(sb.load("puma560"), 0.6, q0=[0.1] * 6, **options)


def test_a_five_bar_moves_on_with_any_number_of_samples():
    mech, q, qd = five_bar_start()
    runs = [simulated(mech, 1.0, q0=q, qd0=qd, rtol=1e-10, samples=n) for n in (21, 101, None)]
    for run in runs:
        assert run.outcome.ok
        assert drift(run) < 1e-8
        assert np.array_equal(run.q[-1], runs[0].q[-1])


# -- energy through passages


STARTS = [
    (slider_crank(0.2, 0.2), {"crank": 0.3, "rod": -0.6, "slide": 0.38}, {"crank": 15.0}),
    (slider_crank(0.2, 0.2), {"crank": 1.2, "rod": -2.4, "slide": 0.14}, {"crank": -9.0}),
    (parallelogram(), [1.0, -1.0, 1.0], [14.0, -14.0, 14.0]),
    (parallelogram(), [-1.0, 1.0, -1.0], [-20.0, 20.0, -20.0]),
    (*crossed(1.0), {"crank": 14.0}),
    (*crossed(-2.0), {"crank": 9.0}),
    (pantograph(), [-0.5, -2.0, -2.0, math.pi + 2.0], {"a": 3.0, "c": 6.0}),
    (pantograph(), [0.4, 1.0, 1.0, math.pi - 1.0], {"a": -8.0, "c": 2.0}),
]


@pytest.mark.parametrize(("mech", "q0", "qd0"), STARTS, ids=[f"{m.name}{k}" for k, (m, _, _) in enumerate(STARTS)])
def test_energy_holds_through_every_singular_position(mech, q0, qd0):
    """Whether joints are solved for or multipliers."""
    for formulation in ("auto", "augmented"):
        run = simulated(mech, 1.0, q0=q0, qd0=qd0, formulation=formulation)
        assert run.outcome.ok
        assert run.statistics["passages"] >= 1
        assert drift(run) < 100 * RTOL


def test_changes_of_energy_add_up_over_passages_and_are_told(monkeypatch):
    """None of the passages changes the energy by as much as all of them do."""
    start = {"q0": [-0.5, -2.0, -2.0, math.pi + 2.0], "qd0": {"a": 3.0, "c": 6.0}}
    plain = simulated(pantograph(), 3.0, **start)
    assert plain.statistics["passages"] >= 7
    assert not plain.notes
    ends = [float(e.t) for e in plain.events if e.name == "singular position"]
    changed = abs(plain["energy"][-1] - plain["energy"][0])
    shares = np.abs(np.diff(np.interp([0.0, *(t + 0.05 for t in ends)], plain.t, plain["energy"])))
    limit = changed / 2 / plain["kinetic"].max()
    assert shares.max() < 0.6 * changed
    monkeypatch.setattr(partition_watch, "MOST", limit / RTOL)
    run = simulated(pantograph(), 3.0, **start)
    (told,) = [note for note in run.notes if "in all" in note]
    assert f"through {len(ends)} singular positions" in told
    assert np.array_equal(run.q, plain.q)


def test_inertia_takes_the_branch_that_goes_straight_on():
    """Rod and crank of equal length: the rod turns twice as fast the other way, before and behind the meeting."""
    run = simulated(slider_crank(0.2, 0.2), 1.0, q0={"crank": 0.3, "rod": -0.6, "slide": 0.38}, qd0={"crank": 15.0})
    assert run.statistics["passages"] >= 3
    np.testing.assert_allclose(run["q.rod"], -2 * run["q.crank"], atol=1e-9)
    np.testing.assert_allclose(run["q.slide"], 0.4 * np.cos(run["q.crank"]), atol=1e-9)


def test_fixed_steps_pass_too():
    for step in (1e-3, 2.3e-3):
        run = simulated(parallelogram(), 1.0, step=step, q0=[1.0, -1.0, 1.0], qd0=[14.0, -14.0, 14.0])
        assert run.outcome.ok
        assert run.statistics["passages"] >= 4
        np.testing.assert_allclose(run["q.rocker"], run["q.crank"], atol=1e-6)


# -- partitions that change


def test_dead_points_cost_few_changes_and_steps():
    """Turns of a slider-crank from its slider: one change, and no more steps than by its crank from the start."""
    mech = slider_crank(0.1, 0.3)
    runs = [simulated(mech, 1.0, qd0={"crank": 25.0}, q0={"crank": 1.0}, partition=[n]) for n in ("crank", "slide")]
    work = [r.statistics["steps"] + r.statistics["rejected"] for r in runs]
    assert runs[1].statistics["partitions"] == 1
    assert work[1] <= 1.1 * work[0]
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-6)


def test_a_watt_linkage_changes_its_partition_at_a_tenth_of_its_steps_at_most():
    """Beside the steps with multipliers, which need no partition."""
    mech, options = watt(), {"q0": {"left": 0.0, "coupler": 1.57, "right": math.pi}, "qd0": {"left": 4.0}}
    run = simulated(mech, 3.0, **options)
    free = simulated(mech, 3.0, formulation="augmented", **options)
    assert 2 <= run.statistics["partitions"] <= 8
    work = [r.statistics["steps"] + r.statistics["rejected"] for r in (run, free)]
    assert work[0] <= 1.1 * work[1]
    assert drift(run) < 100 * RTOL
    np.testing.assert_allclose(run.q[-1], free.q[-1], atol=1e-5)


# -- rows that change


def turned(angle: float, speed: float, duration: float) -> tuple[float, float]:
    """Angle and speed of the cranks of `three_cranks`, as of one pendulum: cranks of 1 kg turn, the platform slides."""
    inertia = 3 * CRANK**2 / 3 + PLATFORM * CRANK**2
    moment = 9.81 * CRANK * (3 / 2 + PLATFORM)

    def rates(_: float, x: np.ndarray) -> tuple[float, float]:
        return x[1], -moment / inertia * math.cos(x[0])

    end = solve_ivp(rates, (0, duration), (angle, speed), "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    return float(end[0]), float(end[1])


@pytest.mark.parametrize("options", [{}, {"formulation": "augmented"}, {"method": "dopri5"}])
def test_constraints_that_follow_from_others_change_places_on_the_way(options):
    """No row of the three cranks can be left out in all positions; the rows that are kept change with the partition."""
    mech, angle, speed = three_cranks(), 0.7, 9.0
    q0 = [angle, angle, angle, -angle]
    names = [joint.name for joint in mech.joints]
    assert names == ["crank0", "crank1", "crank2", "platform"]
    run = simulated(mech, 1.5, q0=q0, qd0=[speed, speed, speed, -speed], rtol=1e-11, **options)
    assert run.outcome.ok
    assert drift(run) < 1e-9
    end, rate = turned(angle, speed, 1.5)
    # forces along the cranks balance each other: rows in x can be left out where the cranks lie along x, those in y
    # where they stand
    assert 5 < (end - angle) / (math.pi / 2) <= run.statistics["partitions"] + 1
    assert run.statistics["partitions"] <= (end - angle) / (math.pi / 2) + 1
    np.testing.assert_allclose(run.q[-1], [end, end, end, -end], atol=1e-8)
    np.testing.assert_allclose(run.qd[-1], [rate, rate, rate, -rate], atol=1e-7)


def test_rows_that_change_are_recorded_alike_and_told():
    angle, options = 0.7, {"qd0": [9.0, 9.0, 9.0, -9.0], "formulation": "augmented"}
    run = recorded_alike(three_cranks(), 0.6, q0=[angle, angle, angle, -angle], **options)
    told = [e.text for e in run.events if e.name == "partition"]
    assert told
    assert all("left out as redundant" in text and "loop" in text for text in told)


# -- loops that open


def without_a_row(mech: sb.Mechanism, redundant: tuple[int, ...] = (1,)) -> Partition:
    """As if the second row of the only loop followed from the first, which it does not."""
    found = constraints(build_tree(mech))
    part = choose_partition(found.select([0]), ["crank", "coupler"])
    return replace(part, redundant=redundant, names=(found.names, part.names[1]))


@pytest.fixture
def unjudged(monkeypatch):
    """Partitions are believed at the start of a run."""
    for module in (conditioning, partitions):
        monkeypatch.setattr(module, "holding", lambda found, rows, q, *_: np.ones(len(q), dtype=bool))


def test_a_partition_without_a_needed_row_is_refused_at_the_start():
    mech = four_bar(0.1, 0.4, 0.3, 0.4)
    with pytest.raises(sb.errors.ModelError, match="solves 1 constraints"):
        sb.simulate(mech, 1.0, q0=[0.3, 0, 0], partition=without_a_row(mech))


def test_its_program_refuses_too(unjudged):
    mech = four_bar(0.1, 0.4, 0.3, 0.4)
    kernel = sb.forward_dynamics(mech, partition=without_a_row(mech)).compile()
    with pytest.raises(sb.errors.SolveError, match="left out as redundant"):
        kernel(sb.assemble(mech, [0.3, 0, 0]), np.zeros(3), np.zeros(3))


@pytest.mark.parametrize(
    "options",
    [{}, {"step": 1e-3}, {"method": "lsoda"}, {"method": "sdirk2", "step": 1e-3},
     pytest.param({"method": "radau"}, marks=pytest.mark.slow)],
)  # fmt: skip
def test_a_needed_row_that_was_left_out_ends_the_run_with_a_sentence(options, unjudged):
    """Of a partition that says nothing of the row, so that its program does not look at it."""
    mech = four_bar(0.1, 0.4, 0.3, 0.4)
    run = sb.simulate(mech, 1.0, q0=[0.3, 0, 0], qd0={"crank": 3.0}, partition=without_a_row(mech, ()), **options)
    assert run.outcome is Outcome.LOOP_OPENED
    assert run.t[-1] < 0.1
    for word in ("'pin' has opened", " m (allowed", f"t = {run.t[-1]:.6g} s", "partition"):
        assert word in run.notes[-1]


def test_members_of_a_batch_are_watched_too(unjudged):
    mech = four_bar(0.1, 0.4, 0.3, 0.4)
    q0 = np.array([sb.assemble(mech, [0.3, 0, 0])] * 2)
    run = sb.simulate(mech, 0.1, 1e-3, q0=q0, qd0=[[1.0, 0, 0], [3.0, 0, 0]], partition=without_a_row(mech, ()))
    assert list(run.outcomes) == [Outcome.LOOP_OPENED] * 2
    assert "member 1: at t = 0.001 s loop 'pin' has opened" in run.notes[-1]
    good = sb.simulate(mech, 0.1, 1e-3, q0=q0, qd0=[[1.0, 0, 0], [3.0, 0, 0]])
    assert good.outcome.ok


def test_loops_that_drift_apart_end_the_run():
    """Without a correction, and with terms that cannot hold them at that step."""
    mech = four_bar(0.1, 0.4, 0.3, 0.4)
    options = {"qd0": {"crank": 40.0}, "formulation": "augmented", "method": "euler", "step": 1e-3}
    run = sb.simulate(mech, 2.0, alpha=0.1, beta=0.1, **options)
    assert run.outcome is Outcome.LOOP_OPENED
    assert sb.simulate(mech, 0.1, **options).outcome.ok  # projected
