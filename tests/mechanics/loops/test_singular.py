"""Positions in which branches of motion meet: told from regular ones and from redundant constraints, by every verb."""

import math

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError, SolveError
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.partition.singular import say_singular, say_unsolved
from symbody.mechanics.loops.rows.constraint_rows import constraints

FLAT = np.array([1, 1, 1, -1, -1]) * math.pi / 2  # all bars of the n_four_bar in one line
CLOSED = ["andrews_squeezer", "bricard", "delta", "four_bar", "multi_link_suspension", "n_four_bar", "slider_crank",
          "stewart", "three_loops", "three_rrr_1", "three_rrr_3", "whipple_bicycle"]  # fmt: skip


def four_bar(crank=0.1, coupler=0.4, rocker=0.3, ground=0.4, kind="rows", size=1.0, switched=False) -> sb.Mechanism:
    """Bars along the x axes of their frames, lengths in m times `size`."""
    b = sb.Mechanism.builder("linkage", gravity=[0, -9.81, 0])
    for name, length in (("crank", crank), ("coupler", coupler), ("rocker", rocker)):
        b.body(name, mass=1, com=[length * size / 2, 0, 0], inertia=[0, 0, 0.01], frames={"end": [length * size, 0, 0]})
    b.joint("crank", "revolute", "world", "crank")
    b.joint("coupler", "revolute", "crank", "coupler", position=[crank * size, 0, 0], mode="passive")
    b.joint("rocker", "revolute", "world", "rocker", position=[ground * size, 0, 0], mode="passive")
    rows = ["x", "y"] if kind == "rows" else ()
    return b.cut("hinge", kind, "rocker.end", "coupler.end", rows=rows, switched=switched).done()


def parallelogram(**options) -> sb.Mechanism:
    return four_bar(0.2, 0.4, 0.2, 0.4, **options)


def rodded(length: float) -> sb.Mechanism:
    """Two levers of 0.2 m, 0.5 m apart: a rod between their ends is 0.1 m to 0.9 m long."""
    b = sb.Mechanism.builder("rodded")
    for name, x in (("a", 0.0), ("b", 0.5)):
        b.body(name, mass=1, com=[0.1, 0, 0], inertia=[0.01] * 3, frames={"end": [0.2, 0, 0]})
        b.joint(f"j{name}", "revolute", "world", name, position=[x, 0, 0])
    return b.cut("bar", "rod", "a.end", "b.end", length=length).done()


def dead_point() -> np.ndarray:
    """Crank and coupler in one line: 0.5, 0.4, 0.3 m make a right angle at the rocker's pivot."""
    return np.array([math.acos(0.8), 0.0, math.pi / 2])


def judged(mech: sb.Mechanism, q=None) -> str:
    return say_singular(constraints(build_tree(mech)), sb.assemble(mech, q))


def told(error, call, *words: str) -> str:
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    for word in words:
        assert word in text, text
    return text


# -- which positions are singular


@pytest.mark.parametrize("name", CLOSED)
def test_bundled_mechanisms_start_in_regular_positions(name):
    """That of bricard too, whose constraints are redundant everywhere."""
    assert judged(sb.load(name)) == ""


@pytest.mark.parametrize("kind", ["rows", "revolute"])
def test_a_parallelogram_is_singular_where_it_is_flat(kind):
    """As a hinge in space it has three redundant constraints besides, everywhere."""
    for angle in (0.0, math.pi):
        text = judged(parallelogram(kind=kind), [angle, -angle, angle])
        assert "'hinge'" in text
        assert "crank, coupler, rocker" in text
    for angle in (0.01, 1.0):
        assert judged(parallelogram(kind=kind), [angle, -angle, angle]) == ""


@pytest.mark.parametrize("kind", ["rows", "revolute"])
@pytest.mark.parametrize("size", [1.0, 0.01])
def test_bars_that_just_reach_are_singular_whatever_their_size(kind, size):
    """0.1 + 0.4 + 0.3 m span 0.8 m in one position only, though its velocities seem free."""
    assert "'hinge'" in judged(four_bar(ground=0.8, kind=kind, size=size))
    assert judged(four_bar(ground=0.79, kind=kind, size=size)) == ""


def test_a_rod_of_the_greatest_and_of_the_least_length_is_singular():
    """So is one of 0.5 m at q = 0: a flat parallelogram, which may go on with parallel or with crossed levers."""
    for length, expected in ((0.9, True), (0.1, True), (0.899, False), (0.101, False), (0.6, False), (0.5, True)):
        assert bool(judged(rodded(length))) == expected, length


def test_dead_points_are_regular_but_not_for_every_partition():
    found = constraints(build_tree(four_bar()))
    q = dead_point()
    assert say_singular(found, q) == ""
    assert say_unsolved(found, [0], q) == ""
    assert "'hinge' cannot be solved for crank, coupler" in say_unsolved(found, [2], q)


# -- linear models


@pytest.mark.parametrize("verb", [sb.linearize, sb.modes])
def test_no_linear_model_where_branches_meet(verb):
    words = ("singular position", "'window1', 'window2'", "upright0", "across2", "branches of motion meet", "another")
    told(ModelError, lambda: verb(sb.load("n_four_bar"), q0=FLAT), "n_four_bar", *words)
    told(ModelError, lambda: verb(sb.load("n_four_bar"), q0={"upright0": math.pi / 2}), *words)
    told(ModelError, lambda: verb(parallelogram(), q0=[0, 0, 0]), "'hinge'", "crank, coupler, rocker")
    told(ModelError, lambda: verb(rodded(0.9)), "'bar'", "ja, jb")


def test_the_opened_tree_has_a_linear_model_there():
    assert sb.linearize(parallelogram(), q0=[0, 0, 0], loops="open").size == 3
    assert sb.linearize(parallelogram(), q0=[1, -1, 1]).size == 1


def test_a_switched_loop_counts_where_it_is_closed():
    mech = parallelogram(switched=True)
    told(ModelError, lambda: sb.linearize(mech, q0=[0, 0, 0]), "'hinge'")
    assert sb.linearize(mech, q0=[0, 0, 0], loops="permanent").size == 3


@pytest.mark.parametrize("kind", ["rows", "revolute"])
def test_independent_increments_that_determine_no_others(kind):
    mech = four_bar(kind=kind)
    words = ("increments rocker", "'hinge'", "crank, coupler", "Name other increments")
    told(ModelError, lambda: sb.linearize(mech, q0=dead_point(), independent=["rocker"]), *words)
    assert sb.linearize(mech, q0=dead_point(), independent=["crank"]).size == 1
    assert sb.linearize(mech, q0=dead_point()).coordinates != ("rocker",)


def test_an_equilibrium_in_a_singular_position_is_not_called_stable():
    found = sb.equilibrium(rodded(0.9))
    assert found.ok
    assert found.stable is None
    assert "'bar'" in found.sentence


# -- starts of a simulation

START = ("starts in a singular position", "Give q0 of another position")


@pytest.mark.parametrize("options", [{}, {"step": 1e-3}, {"formulation": "augmented"}])
def test_a_start_that_assembly_cannot_tell_from_a_singular_one(options):
    """Loops that are closed to 1e-12 m are within 1e-6 rad of the flat position."""
    mech = sb.load("n_four_bar")
    q = sb.assemble(mech, {"upright0": math.pi / 2})
    for speed in (0.0, 1.0):
        told(
            ModelError, lambda v=speed: sb.simulate(mech, 0.1, q0=q, qd0={"upright0": v}, **options),
            *START, "'window1', 'window2'", "upright0, upright1",
        )  # fmt: skip


@pytest.mark.parametrize("formulation", ["reduced", "augmented"])
def test_mechanisms_that_have_no_other_position(formulation):
    told(
        ModelError, lambda: sb.simulate(rodded(0.9), 0.1, formulation=formulation), *START, "'bar'", "ja, jb", "lengths"
    )
    told(
        ModelError, lambda: sb.simulate(four_bar(ground=0.8), 0.1, formulation=formulation), *START, "'hinge'", "crank"
    )


def test_a_switched_loop_that_starts_closed_and_singular():
    mech = parallelogram(switched=True)
    told(ModelError, lambda: sb.simulate(mech, 0.1, q0=[0, 0, 0], inputs={"s_hinge": 1.0}), *START, "'hinge'")
    assert sb.simulate(mech, 0.01, 1e-3, q0=[0, 0, 0], inputs={"s_hinge": 0.0}).outcome.ok


def test_a_start_near_a_singular_position_is_noted_and_runs():
    """From 1e-3 rad on either side of it gravity leads to the same motion but for that much."""
    mech = sb.load("n_four_bar")
    runs = [sb.simulate(mech, 0.3, q0=FLAT * (1 + 2 * e / math.pi)) for e in (1e-3, -1e-3)]
    for run in runs:
        assert run.outcome.ok
        assert run.notes[0].startswith("the start is almost a singular position")
        assert "'window1', 'window2'" in run.notes[0]
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=5e-3)
    assert sb.simulate(mech, 0.01, q0=FLAT * 0.9).notes == ()


@pytest.mark.parametrize("formulation", ["reduced", "augmented"])
def test_a_singular_member_of_a_batch(formulation):
    q0 = np.array([[0.5, -0.5, 0.5], [0.0, 0.0, 0.0]])
    text = told(ModelError, lambda: sb.simulate(parallelogram(), 0.1, 1e-3, q0=q0, formulation=formulation), "'hinge'")
    assert "singular" in text or "branches of motion meet" in text


# -- programs that are called at such a position


def test_a_kernel_names_what_it_solves_for_and_the_partition():
    words = ("close_hinge", "'hinge'", "crank, coupler", "another partition=")
    q, qd = dead_point(), np.array([1.0, -1.25, 0.0])
    dynamics = sb.forward_dynamics(four_bar(), "base", partition=["rocker"])
    told(SolveError, lambda: dynamics.compile()(q, qd, np.zeros(3)), *words)
    told(SolveError, lambda: dynamics.compile("python")(q, qd, np.zeros(3)), *words)
    flat = sb.forward_dynamics(parallelogram(), "base", partition=["crank"]).compile()
    told(SolveError, lambda: flat(np.zeros(3), np.zeros(3), np.zeros(3)), "coupler, rocker", "singular here")


def test_the_sentence_of_a_block_is_saved_with_its_system(tmp_path):
    path = tmp_path / "closure.json"
    sb.closure(four_bar(), partition=["rocker"]).save(path)
    told(SolveError, lambda: sb.System.load(path).compile()(dead_point(), np.zeros(3)), "'hinge'", "crank, coupler")


def test_multipliers_are_not_determined_where_constraints_depend_on_each_other():
    """The augmented program has no iteration that could fail, but its pivots tell."""
    kernel = sb.forward_dynamics(parallelogram(), "base", formulation="augmented").compile()
    state = np.zeros(3), np.array([1.0, -1.0, 1.0]), np.zeros(3)
    told(SolveError, lambda: kernel(*state), "a pivot vanishes: hinge.", "Branches of motion meet here")
    qdd, status = kernel.call_with_status(*state)
    assert np.isnan(qdd).all()
    assert (status < 0).any()
