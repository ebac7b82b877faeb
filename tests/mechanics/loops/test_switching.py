"""Motion through dead points and singular positions: partitions that change on the way, and passages by inertia."""

import numpy as np
import pytest

import symbody as sb
from symbody.mechanics.assembly.choices import best_choices
from symbody.mechanics.assembly.conditioning import Conditioning
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.partition.measures import measures, partition_of
from symbody.mechanics.loops.partition.partition import choose_partition
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.motion.trajectory.outcome import Outcome

TURNING = {"crank": 20.0}  # rad/s: the cranks of four_bar and slider_crank turn fully


def changes(traj: sb.Trajectory) -> list[str]:
    return [e.text for e in traj.events if e.name == "partition"]


def parallelogram(width: float = 0.5) -> sb.Mechanism:
    """Two bars of 0.3 m on the ground, `width` apart, and a third across their ends; no gravity."""
    b = sb.Mechanism.builder("parallelogram", gravity=[0, 0, 0])
    b.body("left", mass=1.0, com=[0, 0.15, 0], inertia=[0, 0, 0.01])
    b.body("across", mass=1.0, com=[width / 2, 0, 0], inertia=[0, 0, 0.02], frames={"end": [width, 0, 0]})
    b.body("right", mass=1.0, com=[0, 0.15, 0], inertia=[0, 0, 0.01], frames={"end": [0, 0.3, 0]})
    b.joint("left", "revolute", "world", "left")
    b.joint("across", "revolute", "left", "across", position=[0, 0.3, 0], mode="passive")
    b.joint("right", "revolute", "world", "right", position=[width, 0, 0], mode="passive")
    return b.cut("loop", "rows", "right.end", "across.end", rows=["x", "y"]).done()


# -- another partition takes over


@pytest.mark.parametrize(("name", "independent"), [("slider_crank", ["slide"]), ("four_bar", ["rocker"])])
def test_a_partition_with_dead_points_gives_way_to_the_crank(name, independent):
    """At a dead point slider and rocker rest while the crank turns; the motion is that of the crank as independent."""
    mech = sb.load(name)
    options = {"qd0": TURNING, "rtol": 1e-11, "samples": 501, "outputs": ["energy"]}
    plain = sb.simulate(mech, 1.0, partition=["crank"], **options)
    traj = sb.simulate(mech, 1.0, partition=independent, **options)
    assert plain.outcome.ok
    assert traj.outcome.ok
    assert not plain.events
    assert changes(traj)[0].startswith("From here on crank independent")
    assert np.abs(plain["q.crank"])[-1] > 15
    np.testing.assert_allclose(traj.q, plain.q, atol=2e-7)
    np.testing.assert_allclose(traj.qdd, plain.qdd, rtol=1e-5, atol=1e-5 * np.abs(plain.qdd).max())
    assert np.ptp(traj["energy"]) < 1e-9 * np.abs(traj["energy"]).max()


@pytest.mark.slow
def test_a_platform_falls_through_positions_with_a_stretched_arm():
    """3-RRR: two models of one mechanism, with other joints and cuts, move alike; each changes its partition."""
    found = {}
    for model in ("three_rrr_3", "three_rrr_4"):
        traj = sb.simulate(sb.load(model), 0.5, rtol=1e-12, outputs=["energy"], samples=51)
        assert traj.outcome.ok
        assert changes(traj)
        assert np.ptp(traj["energy"]) < 1e-9 * np.abs(traj["energy"]).max()
        found[model] = np.stack([traj["q.q1"], traj["q.q2"]], axis=1)  # the first arm, which is the same in both
    np.testing.assert_allclose(found["three_rrr_3"], found["three_rrr_4"], atol=1e-6)


@pytest.mark.slow
def test_a_delta_robot_without_torques_goes_on():
    traj = sb.simulate(sb.load("delta"), 1.0, rtol=1e-10, outputs=["energy"])
    assert traj.outcome.ok
    assert changes(traj)
    assert np.ptp(traj["energy"]) < 1e-8 * np.abs(traj["energy"]).max()
    assert np.isfinite(traj.qdd).all()


SLOW = pytest.mark.slow
METHODS = [
    "rk4",
    "dopri5",
    pytest.param("radau", marks=SLOW),
    pytest.param("lsoda"),
    pytest.param("sdirk3", marks=SLOW),
]


@pytest.mark.parametrize("method", METHODS)
def test_every_kind_of_method_changes_partitions(method):
    mech = sb.load("slider_crank")
    step = 2e-4 if method in ("rk4", "sdirk3") else None
    options = {"qd0": TURNING, "step": step, "rtol": 1e-9, "method": method, "samples": 41}
    traj = sb.simulate(mech, 0.2, partition=["slide"], **options)
    plain = sb.simulate(mech, 0.2, partition=["crank"], **options)
    assert changes(traj)
    assert traj.statistics["partitions"] == len(changes(traj))
    np.testing.assert_allclose(traj.q, plain.q, atol=1e-4)


def test_samples_controllers_and_events_do_not_notice_the_change():
    """A brake that is asked every five milliseconds, an event in every turn, few samples."""
    mech = sb.load("slider_crank")
    rule = sb.When("top", "sin(q.crank)", direction=1)
    options = {"qd0": TURNING, "inputs": {"crank": lambda t, q, qd: -0.002 * qd[0]}, "events": [rule], "samples": 7}
    options["period"] = 5e-3
    plain = sb.simulate(mech, 1.0, 1e-3, partition=["crank"], **options)
    traj = sb.simulate(mech, 1.0, 1e-3, partition=["slide"], **options)
    assert changes(traj)
    np.testing.assert_allclose(traj.t, plain.t, atol=0)
    np.testing.assert_allclose(traj.q, plain.q, atol=1e-4)
    tops = [[e.t for e in found.events if e.name == "top"] for found in (plain, traj)]
    assert len(tops[0]) >= 2
    np.testing.assert_allclose(tops[1], tops[0], atol=1e-5)


def test_a_run_that_changed_its_partition_is_resumed_with_the_same_bits(tmp_path):
    mech = sb.load("four_bar")
    whole = sb.simulate(mech, 0.4, 1e-3, qd0=TURNING, partition=["rocker"])
    half = sb.simulate(mech, 0.2, 1e-3, qd0=TURNING, partition=["rocker"], checkpoint=tmp_path / "half.npz")
    assert changes(half)
    for source in (half, tmp_path / "half.npz"):
        again = sb.resume(source, 0.2)
        assert np.array_equal(again.q, whole.q)
        assert np.array_equal(again.qd, whole.qd)
        assert again.events == whole.events
        assert np.array_equal(again.qdd, whole.qdd)


def test_a_start_at_a_dead_point_takes_a_partition_that_suits_it():
    """Rod and crank in one line: the loops cannot be solved for crank and rod, but for rod and slide."""
    mech = sb.load("slider_crank")
    start = {"crank": -np.pi / 2, "rod": np.pi / 2}
    for chosen in ("auto", "pivoting"):
        traj = sb.simulate(mech, 0.1, 1e-3, q0=start, qd0=TURNING, partition=None if chosen == "auto" else chosen)
        assert traj.outcome.ok
        assert traj["q.crank"][-1] > -1  # it has turned on


# -- through singular positions of the mechanism


@pytest.mark.parametrize(
    "options", [{"step": 1e-3}, {"step": 1.7e-3}, {"rtol": 1e-10}], ids=["1ms", "1.7ms", "adaptive"]
)
def test_a_parallelogram_stays_one_through_its_flat_positions(options):
    """Where all bars lie in one line it could become crossed; by inertia opposite bars stay parallel, at 10 rad/s."""
    mech = parallelogram()
    rates = {"left": 10.0, "across": -10.0, "right": 10.0}
    traj = sb.simulate(mech, 2.0, qd0=rates, **options)
    assert traj.outcome.ok
    assert [e.name for e in traj.events].count("singular position") == 6  # at pi/2 + k pi of 20 rad
    expected = 10.0 * traj.t
    np.testing.assert_allclose(traj.q, np.stack([expected, -expected, expected], axis=1), atol=1e-7)
    assert np.abs(traj.qdd).max() < 1e-4


def test_a_run_ends_with_a_sentence_where_a_driven_joint_asks_too_much():
    """The rocker of a four-bar linkage cannot turn fully: the loop cannot follow beyond the dead point."""
    b = sb.Mechanism.builder("driven", gravity=[0, 0, 0])
    b.body("crank", mass=1.0, inertia=[0, 0, 0.1])
    b.body("coupler", mass=1.0, inertia=[0, 0, 0.1], frames={"end": [0.4, 0.2, 0]})
    b.body("rocker", mass=1.0, inertia=[0, 0, 0.1], frames={"end": [0, 0.3, 0]})
    b.joint("crank", "revolute", "world", "crank")
    b.joint("coupler", "revolute", "crank", "coupler", position=[0, 0.1, 0], mode="passive")
    b.joint("rocker", "revolute", "world", "rocker", position=[0.4, 0, 0], mode="driven", value="t")
    mech = b.cut("loop", "rows", "rocker.end", "coupler.end", rows=["x", "y"]).done()
    for options in ({"step": 1e-3}, {}, {"formulation": "augmented"}):
        traj = sb.simulate(mech, 3.0, **options)
        assert traj.outcome in (Outcome.NOT_CONVERGED, Outcome.STEP_TOO_SMALL)
        assert 0.1 < traj.t[-1] < 1.0
        assert "'loop'" in traj.notes[-1]
        assert "crank" in traj.notes[-1]
        assert "coupler" in traj.notes[-1]
        assert np.isfinite(traj.q).all()


# -- measures


def test_measures_are_the_determinants_of_the_blocks():
    found = constraints(build_tree(sb.load("four_bar")))
    partition = choose_partition(found, ["crank"])
    conditioning = Conditioning(found, 2)
    kernel = measures(found, partition).compile()
    q = np.array([0.3, -0.2, 0.5])
    (block,) = partition.blocks
    J = conditioning.numeric(0.0).J(q)[np.ix_(block.rows, block.columns)]
    assert float(np.ravel(kernel(q))[0]) == pytest.approx(np.linalg.det(J), rel=1e-12)


def test_the_mechanism_is_told_apart_from_the_partition():
    """Flat, a parallelogram is singular itself; at its dead point a slider-crank is not."""
    flat = np.array([-np.pi / 2, np.pi / 2, -np.pi / 2])
    mech = parallelogram()
    found = constraints(build_tree(mech))
    conditioning = Conditioning(found, 2)
    start = conditioning.of_mechanism(conditioning.jacobian(np.zeros(3)))
    assert start > 0.1
    assert conditioning.of_mechanism(conditioning.jacobian(flat)) < 1e-12
    found = constraints(build_tree(sb.load("slider_crank")))
    conditioning = Conditioning(found, 2)
    J = conditioning.jacobian(np.array([-np.pi / 2, np.pi / 2, 0.08]))
    given = choose_partition(found, ["slide"])
    assert conditioning.of_mechanism(J) > 0.1
    assert conditioning.of_partition(J, given) < 1e-12
    choice, size = best_choices(conditioning, J[None])[0]
    assert size > 0.1
    assert 2 in choice.dependent
    made = partition_of(conditioning, choice, np.array([-np.pi / 2, np.pi / 2, 0.08]))
    assert (tuple(sorted(made.rows)), made.dependent) == choice


def dead_point(mode="actuated"):
    """A planar four-bar whose third bar lies along the ground line: there the second angle cannot be independent."""
    make = sb.Mechanism.builder("dead_point", gravity=(0, -9.81, 0))
    for name, length in (("a", 1.0), ("b", 0.8), ("c", 0.8)):
        make.body(name, mass=1, com=(length / 2, 0, 0), inertia=(0.01, 0.1, 0.1), frames={"end": (length, 0, 0)})
    make.joint(
        "a", "revolute", "world", "a", axis="z", mode=mode, **({"value": "0.9 + 0.3*t"} if mode == "driven" else {})
    )
    make.joint("b", "revolute", "a", "b", axis="z", position=(1.0, 0, 0))
    make.joint("c", "revolute", "world", "c", axis="z", position=(1.2, 0, 0))
    make.cut("k", "ball", "b.end", "c.end")
    return make.done()


def test_multipliers_and_reactions_are_finite_where_the_usual_partition_is_singular():
    angle = np.arccos(0.65)
    mech = dead_point()
    q0 = sb.assemble(mech, [angle, -1.8, np.pi], fixed=["c"])
    run = sb.simulate(mech, 0.05, 1e-3, q0=q0, outputs=["lam", "reaction.k", "energy"])
    for name in ("lam", "reaction.k", "energy"):
        assert np.isfinite(run[name]).all(), name
    batch = sb.simulate(mech, 0.05, 1e-3, q0=np.array([q0, q0]))
    assert batch.outcome.ok
    np.testing.assert_allclose(batch.q[0], run.q, atol=1e-9)


def test_reactions_of_a_loop_with_a_driven_joint():
    run = sb.simulate(dead_point("driven"), 0.05, 1e-3, q0={"b": -1.8, "c": 2.0}, outputs=["reaction.k", "lam"])
    assert np.isfinite(run["reaction.k"]).all()
