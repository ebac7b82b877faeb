"""Closed positions and velocities: Newton's iteration block by block, judged by the geometry of world poses."""

import numpy as np
import pytest

import symbody as sb
from mechanics.loops.closed_models import (
    closed_position,
    four_bar,
    geared_arms,
    held_body,
    rrr,
    slider_crank,
    spatial_four_bar,
)
from mechanics.loops.reference import LoopWorld
from symbody.basics.errors import ModelError, SolveError
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.closing.closure import close
from symbody.mechanics.loops.closing.factors import factors
from symbody.mechanics.loops.partition.partition import choose_partition
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.mechanics.verbs.closed_dynamics import closure
from symbody.symbolic.lower.interpret import run
from symbody.symbolic.lower.lowering import lower


def closed(mech, partition="auto", preset="none", **options):
    return closure(mech, partition, preset=preset, **options).compile("python")


CASES = [
    (four_bar, ["a"]), (four_bar, ["c"]), (slider_crank, ["crank"]), (slider_crank, ["slider"]),
    (lambda: rrr(1), ["q1", "q2", "q3"]), (lambda: rrr(1), ["q1", "q6", "q9"]), (lambda: rrr(2), ["q1", "q4", "q7"]),
    (lambda: rrr(3, "centre"), ["q10", "q11", "q12"]), (lambda: rrr(4), ["q7", "q8", "q9"]),
    (geared_arms, ["a"]), (geared_arms, ["b"]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "independent"), CASES, ids=lambda x: "-".join(x) if isinstance(x, list) else "")
def test_loops_close_from_a_poor_guess_without_moving_independent_joints(make, independent):
    mech = make()
    world, q = closed_position(mech)
    rng = np.random.default_rng(3)
    free = [world.first[name][1] for name in independent]
    error = rng.uniform(-0.08, 0.08, mech.nv)
    error[free] = 0
    found, qd = closed(mech, independent)(q + error, rng.normal(size=mech.nv))
    assert np.max(np.abs(world.residual(found))) < 1e-12
    np.testing.assert_allclose(found[free], q[free], rtol=0, atol=0)
    np.testing.assert_allclose(world.jacobian(found) @ qd, 0, atol=1e-12)


@pytest.mark.parametrize("name", ["four_bar", "n_four_bar", "delta_light", "delta"])
def test_checks_of_small_programs_are_a_tenth_of_their_operations_at_most(name):
    counts = sb.closure(sb.load(name)).count()
    assert 0 < counts.checks <= 0.1 * (counts.total + sum(block.total for block in counts.blocks))


@pytest.mark.parametrize("make", [four_bar, slider_crank, lambda: rrr(1)])
def test_a_good_status_means_closed_from_any_guess(make):
    """Small blocks have no check of their own of h: the size of the last step says the same, dead points included."""
    mech = make()
    world, q = closed_position(mech)
    kernel = sb.closure(mech).compile("native")
    rng = np.random.default_rng(5)
    guesses = q + rng.uniform(-3, 3, size=(400, mech.nq)) * rng.choice([0.01, 0.3, 1.0], size=(400, 1))
    (found, _), status = kernel.call_with_status(q=guesses, qd=np.zeros((400, mech.nv)))
    good = (np.asarray(status) >= 0).all(axis=1)
    assert good.sum() > 100
    assert max(float(np.abs(world.residual(x)).max()) for x in np.asarray(found)[good]) < 1e-9


@pytest.mark.parametrize("target", ["native", "python"])
@pytest.mark.parametrize("turns", [1, 1e2, 1e4])
def test_loops_stay_closed_after_many_turns(turns, target):
    """Steps are small as angles are, however often these have turned; rounding of q alone opens the loop."""
    mech = four_bar()
    world, q = closed_position(mech)
    kernel = sb.closure(mech).compile(target)
    guesses = q + 2 * np.pi * turns + np.random.default_rng(7).uniform(-0.2, 0.2, size=(40, mech.nq))
    (found, _), status = kernel.call_with_status(q=guesses, qd=np.zeros((40, mech.nv)))
    assert (status > 0).all()
    assert max(np.abs(world.residual(x)).max() for x in found) < 3e-10


def test_more_turns_than_doubles_can_tell_apart_are_a_status():
    mech = four_bar()
    world, q = closed_position(mech)
    kernel = sb.closure(mech).compile("native")
    guesses = q + 2 * np.pi * 1e7 + np.random.default_rng(7).uniform(-0.2, 0.2, size=(40, mech.nq))
    (found, _), status = kernel.call_with_status(q=guesses, qd=np.zeros((40, mech.nv)))
    good = (status > 0).all(axis=-1)
    assert not good.all()
    assert all(np.abs(world.residual(x)).max() < 1e-9 for x in found[good])
    with pytest.raises(SolveError, match="take whole turns off"):
        kernel(q=guesses[~good][0], qd=np.zeros(mech.nv))


def test_the_velocity_map_is_the_derivative_of_the_closed_position():
    mech = rrr(4)
    world, q = closed_position(mech)
    free = [world.first[name][1] for name in ("q7", "q8", "q9")]
    kernel = closed(mech, ["q7", "q8", "q9"], velocities=True)
    mapping = kernel(q, np.zeros(9)).B
    for j, k in enumerate(free):
        h = 1e-4
        moved = [kernel(q + s * h * np.eye(9)[k], np.zeros(9)).q for s in (-2, -1, 1, 2)]
        slope = (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * h)
        np.testing.assert_allclose(mapping[:, j], slope, atol=1e-9)


def test_a_guess_at_a_dead_point_is_no_closed_position():
    """The crank upright and the rod level: Newton's matrix is singular but for rounding, the first step of 1e16 rad."""
    kernel = sb.closure(sb.load("slider_crank")).compile("python")
    with pytest.raises(SolveError, match="close_wrist"):
        kernel([-np.pi / 2, 0, 0], np.zeros(3))


def test_derivatives_go_through_the_closure():
    """The implicit function theorem gives the velocity map again."""
    mech = four_bar()
    _, q = closed_position(mech)
    system = closure(mech, ["a"], velocities=True)
    slope = system.jacobian("q", "q").compile("python")(q, np.zeros(3))
    slope = slope[0] if isinstance(slope, tuple) else slope
    np.testing.assert_allclose(slope[:, 0], system.compile("python")(q, np.zeros(3)).B[:, 0], rtol=1e-12)


@pytest.mark.parametrize("kind", ["solid", "revolute", "ball", "universal", "cylindrical", "prismatic"])
def test_bodies_on_quaternions_are_brought_to_their_cut(kind):
    """From errors of 0.1 rad and 0.1 m (robotran T8)."""
    mech = held_body(kind)
    world = LoopWorld(mech)
    q = world.assemble()
    rng = np.random.default_rng(5)
    start = world.moved(q, np.array([0, *rng.uniform(-0.1, 0.1, 6)]))
    found, qd = closed(mech, "pivoting")(start, rng.normal(size=7))
    assert np.max(np.abs(world.residual(found))) < 1e-12
    assert np.linalg.norm(found[4:8]) == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(world.jacobian(found) @ qd, 0, atol=1e-12)


def test_a_ball_joint_inside_a_loop_closes():
    mech = spatial_four_bar()
    world = LoopWorld(mech)
    q = world.assemble()
    start = world.moved(q, np.array([0, 0, 0.1, -0.08, 0.05]))
    found, _ = closed(mech, ["crank", "coupler.1"])(start, np.zeros(5))
    assert np.max(np.abs(world.residual(found))) < 1e-12
    assert found[0] == q[0]


def test_a_condition_on_time_is_kept():
    mech = geared_arms("2*q.a - q.b + 0.3*sin(4*t)")
    kernel = closed(mech, ["a"])
    q, qd = kernel([0.4, 0.0], [1.5, 0.0], 0.7)
    assert q[1] == pytest.approx(0.8 + 0.3 * np.sin(2.8), abs=1e-14)
    assert qd[1] == pytest.approx(3.0 + 1.2 * np.cos(2.8), abs=1e-14)


def test_native_iterations_agree_with_the_interpreter():
    mech = rrr(2)
    _, q = closed_position(mech)
    system = closure(mech, ["q1", "q4", "q7"])
    start = q + 0.05 * np.array([0, 1, -1, 0, 1, 1, 0, -1, 1])
    native, plain = system.compile()(start, np.ones(9)), system.compile("python")(start, np.ones(9))
    np.testing.assert_allclose(native.q, plain.q, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(native.qd, plain.qd, rtol=1e-13)


def test_what_the_iteration_computes_is_not_computed_again():
    """At the solution only the velocities are left to compute."""
    counts = closure(four_bar(), ["a"]).count()
    assert len(counts.blocks) == 1
    assert counts.total < counts.blocks[0].total


def test_a_singular_partition_is_refused():
    mech = held_body("revolute")
    with pytest.raises(ModelError, match="singular"):
        closure(mech, "heuristic")


def test_factors_solve_blocks_of_any_size_both_ways():
    rng = np.random.default_rng(0)
    for n in range(1, 8):
        a = rng.normal(size=(n, n))
        if n > 2:
            a[1, 0] = a[0, 1] = 0.0
        b = rng.normal(size=n)
        made = factors(a.astype(object))
        np.testing.assert_allclose(np.array(made.solve(b), dtype=float), np.linalg.solve(a, b), rtol=1e-9)
        np.testing.assert_allclose(np.array(made.solve_transposed(b), dtype=float), np.linalg.solve(a.T, b), rtol=1e-9)


def test_numbers_among_expressions_are_pivots_first():
    """A row of ones, as rotations about parallel axes give, costs no division."""
    with sb.Graph():
        a, b, c, d = sb.symbols("a b c d")
        made = factors(np.array([[a, b, 0], [c, d, 0], [1, 1, 1]], dtype=object))
    assert [(s.rows, s.columns) for s in made.steps] == [((2,), (2,))]
    assert made.rows == (0, 1)


def test_only_diagonal_blocks_are_iterated():
    mech = rrr(1)
    found = constraints(build_tree(mech))
    made = close(found, choose_partition(found, ["q1", "q2", "q3"]))
    assert sorted(len(b.rows) for b in made.blocks) == [1, 1, 2, 2]
    plan = made.plan({"q": found.tree.q}, "none")
    assert [len(mine.symbols) for _, mine in plan.solved] == [len(b.rows) for b in made.blocks]


def test_two_steps_close_a_loop_from_the_integrated_guess():
    """robotran T15: at most two Newton steps and their confirmation; none from a closed position."""
    mech = rrr(4)
    world, q = closed_position(mech)
    qd = world.project(q, np.random.default_rng(2).normal(size=9))
    program = lower(closure(mech, ["q7", "q8", "q9"]))
    qdd, _ = world.acceleration(q, qd)
    h = 1e-3
    guess = q + h * qd + 0.5 * h * h * qdd  # a step of second order
    values = [np.array([p.default[0]]).reshape(p.shape) for p in program.parameters]
    results, outcome = run(program, [guess, qd], values)
    assert np.all((outcome > 0) & (outcome <= 3))
    assert np.max(np.abs(world.residual(results["q"]))) < 1e-10
    _, again = run(program, [results["q"], qd], values)
    np.testing.assert_array_equal(again, 1)
