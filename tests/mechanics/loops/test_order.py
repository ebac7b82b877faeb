"""Orders by hand: rows, columns and pivots of the blocks that closed loops are solved in, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import symbody as sb
from mechanics.loops.loop_models import three_rrr
from symbody.basics.errors import ModelError, NameLookupError
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.partition.measures import measures
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.mechanics.verbs.partition_record import partition
from symbody.model.build.builder import Builder

INDEPENDENT = ["q1", "q4", "q7"]  # of three_rrr(2): a block of four, then two of one


@pytest.fixture(scope="module")
def rrr():
    return three_rrr(2)


@pytest.fixture(scope="module")
def chosen(rrr):
    return partition(rrr, INDEPENDENT)


def motion(mech, given, formalism="base"):
    """qdd at a closed state with efforts, from the program that a partition leads to."""
    system = sb.forward_dynamics(mech, formalism, partition=given)
    q = sb.assemble(mech)
    rng = np.random.default_rng(3)
    q, qd = sb.closure(mech, given).compile()(q, rng.normal(size=mech.nv))
    return system, system.compile()(q, qd, np.linspace(-1, 1, mech.nv)), (q, qd)


def program(system):
    """Operations of one call, and the text of the outputs: what differs between two programs."""
    return system.count(), [str(x) for a in system.outputs.values() for x in a.flat]


def agrees_with_multipliers(mech, given):
    system, qdd, (q, qd) = motion(mech, given)
    reference = sb.forward_dynamics(mech, "base", formulation="augmented").compile()
    assert qdd == pytest.approx(reference(q, qd, np.linspace(-1, 1, mech.nv)), rel=1e-8, abs=1e-8)
    return system


# -- what was chosen can be read, and given back


def test_the_record_names_rows_columns_and_the_pivots_that_are_used(chosen):
    assert [b.size for b in chosen.blocks] == [4, 1, 1]
    assert set(chosen.row_order) == {f"hold{k}.{x}" for k in (2, 3) for x in ("x", "y", "rz")}
    assert set(chosen.column_order) == {"q2", "q3", "q5", "q6", "q8", "q9"}
    assert len(chosen.pivot_order) == 2  # the last two unknowns of four, and blocks of one, need none


def test_the_chosen_pivots_given_by_hand_are_taken_one_by_one(rrr, chosen):
    """Chosen ones may be eliminated together, or have rows in reserve; those by hand stay as given."""
    again = partition(rrr, INDEPENDENT, pivots=chosen.pivot_order)
    assert again.pivot_order == chosen.pivot_order
    assert again.spare == {}
    agrees_with_multipliers(rrr, again)
    plain = replace(chosen, spare={}, position_spare={})
    first, second = (sb.forward_dynamics(rrr, "base", partition=p) for p in (plain, again))
    assert first.count() == second.count()


def test_verbs_take_the_record_as_they_take_names(rrr, chosen):
    by_names = sb.forward_dynamics(rrr, "base", partition=INDEPENDENT)
    assert program(sb.forward_dynamics(rrr, "base", partition=chosen)) == program(by_names)


# -- orders are honoured


def other_pivots(chosen):
    """The block of four by other pivots: all of them, none left to a formula."""
    return [("hold3.y", "q8"), ("hold2.y", "q5"), ("hold3.x", "q3"), ("hold2.x", "q2")]


def test_given_pivots_of_a_large_block_are_used_and_right(rrr, chosen):
    given = partition(rrr, INDEPENDENT, pivots=other_pivots(chosen))
    assert list(given.pivot_order) == other_pivots(chosen)
    assert "Pivots by hand: hold3.y for q8, hold2.y for q5" in given.explanation
    system = agrees_with_multipliers(rrr, given)
    assert program(system) != program(sb.forward_dynamics(rrr, "base", partition=chosen))
    assert "Pivots by hand" in system.origins["partition"]


@pytest.mark.parametrize("flipped", [False, True])
def test_given_pivots_of_a_block_of_two_are_used_and_right(flipped):
    mech = sb.load("four_bar")
    plain = partition(mech, ["crank"])
    assert plain.pivot_order == ()
    (a, b), (u, v) = plain.row_order, plain.column_order
    pivots = [(a, v), (b, u)] if flipped else [(a, u), (b, v)]
    given = partition(mech, ["crank"], pivots=pivots)
    assert list(given.pivot_order) == pivots
    assert program(agrees_with_multipliers(mech, given)) != program(sb.forward_dynamics(mech, "base", partition=plain))


def test_either_order_of_pivots_makes_its_own_program():
    mech = sb.load("three_rrr_4")
    plain = partition(mech, "heuristic")
    block = next(b for b in plain.blocks if b.size == 2)
    (a, b), (u, v) = [plain.names[0][r] for r in block.rows], [plain.names[1][c] for c in block.columns]
    first, second = (partition(mech, plain, pivots=p) for p in ([(a, u), (b, v)], [(b, v), (a, u)]))
    programs = [program(agrees_with_multipliers(mech, p)) for p in (first, second)]
    assert programs[0] != programs[1]


def test_some_pivots_leave_the_rest_to_a_formula(rrr, chosen):
    given = partition(rrr, INDEPENDENT, pivots=other_pivots(chosen)[:1])
    assert len(given.pivot_order) == 1
    agrees_with_multipliers(rrr, given)


def test_rows_and_columns_say_the_same_as_pivots(rrr, chosen):
    pivots = other_pivots(chosen)
    by_pairs = partition(rrr, INDEPENDENT, pivots=pivots)
    by_lists = partition(rrr, INDEPENDENT, rows=[r for r, _ in pivots], columns=[c for _, c in pivots])
    assert by_lists.row_order[:4] == tuple(r for r, _ in pivots)
    assert by_lists.column_order[:4] == tuple(c for _, c in pivots)
    assert by_lists.blocks == by_pairs.blocks
    assert by_lists.pivots == by_pairs.pivots


def test_rows_alone_keep_their_joints_and_columns_alone_their_rows(rrr, chosen):
    partner = dict(zip(chosen.row_order, chosen.column_order, strict=True))
    rows = list(reversed(chosen.row_order[:4]))
    by_rows = partition(rrr, INDEPENDENT, rows=rows)
    assert list(by_rows.pivot_order) == [(r, partner[r]) for r in rows]
    by_columns = partition(rrr, INDEPENDENT, columns=[partner[r] for r in rows])
    assert by_columns.blocks == by_rows.blocks
    agrees_with_multipliers(rrr, by_rows)


def test_blocks_come_in_the_order_in_which_they_are_named(rrr, chosen):
    assert chosen.row_order[4:] == ("hold2.rz", "hold3.rz")
    swapped = partition(rrr, INDEPENDENT, rows=["hold3.rz", "hold2.rz"])
    assert swapped.row_order[4:] == ("hold3.rz", "hold2.rz")
    assert swapped.pivots[0] == chosen.pivots[0]
    agrees_with_multipliers(rrr, swapped)


def test_an_order_by_hand_holds_for_every_verb(rrr, chosen):
    given = partition(rrr, INDEPENDENT, pivots=other_pivots(chosen))
    _, _, (q, qd) = motion(rrr, given)
    efforts = np.linspace(-1, 1, rrr.nv)
    by_hand, by_choice = (sb.energy(rrr, partition=p).compile()(q, qd, efforts) for p in (given, chosen))
    for x, y in zip(by_hand, by_choice, strict=True):
        assert x == pytest.approx(y)
    first, second = (sb.simulate(rrr, 0.1, partition=p) for p in (given, chosen))
    assert first.outcome.ok
    assert first["q"] == pytest.approx(second["q"], abs=1e-12)


def test_what_a_given_order_divides_by_is_watched(rrr, chosen):
    """Four pivots in place of two determinants; their product is the determinant of the block all the same."""
    found = constraints(build_tree(rrr))
    given = partition(rrr, INDEPENDENT, pivots=other_pivots(chosen))
    q = sb.assemble(rrr)
    by_hand, by_choice = (np.asarray(measures(found, p).compile()(q)) for p in (given, chosen))
    assert len(by_hand) == 4
    assert len(by_choice) == 2
    assert abs(np.prod(by_hand)) == pytest.approx(abs(np.prod(by_choice)))


def test_parts_of_a_quaternion_are_found_together_in_the_order_given():
    """A body on a ball joint, held by two rods: one row for each of two velocities, solved together for the turn."""
    b = Builder("held")
    b.body("body", 1.0, (0.4, 0, 0), (0.3, 0.3, 0.3), frames={"x": (1, 0, 0), "y": (0, 1, 0)})
    b.joint("ball", "ball", "world", "body")
    b.body("left", 1.0).joint("left", "prismatic", "world", "left", axis="x", position=(1, 0.2, 1))
    b.body("right", 1.0).joint("right", "prismatic", "world", "right", axis="y", position=(0.1, 1, 1))
    b.cut("first", "rod", "body.x", "left", length=1.05).cut("second", "rod", "body.y", "right", length=1.1)
    mech = b.done()
    plain = partition(mech, ["left", "right", "ball.3"])
    assert [block.size for block in plain.blocks] == [1, 1]
    pairs = list(zip(plain.row_order, plain.column_order, strict=True))
    given = partition(mech, plain, pivots=pairs[::-1])
    assert list(given.pivot_order) == pairs[::-1]
    agrees_with_multipliers(mech, given)


def test_rolling_and_a_loop_in_one_block_take_an_order_too():
    """A rod and a wheel that rolls: velocities come from the order given, the position from the rod alone."""
    b = Builder("trailer", gravity=(0, 0, 0))
    b.body("a", 1.0, inertia=(0, 0, 0.2), frames={"tip": (1, 0, 0)}).joint("a", "planar", "world", "a")
    b.body("b", 2.0, inertia=(0, 0, 0.3)).joint("b", "planar", "world", "b")
    b.cut("rod", "rod", "a.tip", "b", length=1.5)
    b.coupling("across", "cos(q.b.3)*qd.b.2 - sin(q.b.3)*qd.b.1", kind="velocity")
    mech = b.done()
    plain = partition(mech, ["a", "b.3"])
    assert [block.size for block in plain.blocks] == [2]
    given = partition(mech, plain, pivots=[("across", "b.2"), ("rod.rod", "b.1")])
    q, qd = sb.closure(mech, given).compile()([0, 0, 0.3, 2.3, 0.2, 0.1], [0.5, -0.2, 0.3, 0, 0, 0.4])
    assert np.hypot(np.cos(0.3) - q[3], np.sin(0.3) - q[4]) == pytest.approx(1.5)
    assert np.cos(q[5]) * qd[4] == pytest.approx(np.sin(q[5]) * qd[3])
    by_hand, by_choice, reference = (
        sb.forward_dynamics(mech, "base", **way).compile()(q, qd, np.ones(6))
        for way in ({"partition": given}, {"partition": plain}, {"formulation": "augmented"})
    )
    assert by_hand == pytest.approx(by_choice)
    assert by_hand == pytest.approx(reference)


def test_a_run_goes_over_to_other_pivots_where_a_given_one_vanishes():
    """A pivot is a component of a bar, which is zero twice in a turn; the formula never divides by it."""
    mech = sb.load("four_bar")
    plain = partition(mech, ["crank"])
    found = constraints(build_tree(mech))
    runs, start = {}, {"q0": {"crank": 0.7}, "qd0": {"crank": 20.0}, "outputs": ["energy"]}
    reference = sb.simulate(mech, 1.0, partition=plain, **start)
    for pair in product(plain.row_order, plain.column_order):
        given = partition(mech, plain, pivots=[pair])
        measured = measures(found, given).compile()(reference["q"])
        vanishes = np.abs(measured[0, 0]) > 1e-12 and (measured[:, 0] * measured[0, 0]).min() < 0
        if vanishes:
            runs[pair] = sb.simulate(mech, 1.0, partition=given, **start)
    assert runs
    for run in runs.values():
        assert run.outcome.ok
        assert np.ptp(run["energy"]) < 1e-5
        assert run["q"][-1] == pytest.approx(reference["q"][-1], abs=1e-5)
        assert run.statistics["partitions"] >= 1


def test_a_run_cannot_start_where_a_given_pivot_vanishes():
    mech = sb.load("four_bar")
    pivots = [("loop.y", "rocker"), ("loop.x", "coupler")]
    with pytest.raises(
        ModelError, match=r"the pivot of row loop\.y and joint rocker, which was given by hand, is \S+ "
    ):
        sb.simulate(mech, 0.1, partition=partition(mech, ["crank"], pivots=pivots))


# -- what is refused, before anything is generated


def test_a_pivot_that_is_zero_by_structure_is_named_with_its_block(rrr, chosen):
    found = constraints(build_tree(rrr))
    block = chosen.blocks[0]
    there = found.pattern[np.ix_(block.rows, block.columns)]
    r, c = next(zip(*np.nonzero(~there)))
    pair = chosen.names[0][block.rows[r]], chosen.names[1][block.columns[c]]
    words = rf"pivot of row {pair[0]} and joint {pair[1]}, number 1 of block 0 \(rows .*\), is zero by structure"
    with pytest.raises(ModelError, match=words):
        partition(rrr, INDEPENDENT, pivots=[pair])


def test_a_pivot_that_an_earlier_one_makes_zero_is_refused():
    """x + y and x + y + z: after x by the first row nothing of y is left in the second."""
    b = Builder("sums", gravity=(0, 0, 0))
    for name in "xyz":
        b.body(name, 1.0).joint(name, "prismatic", "world", name, axis="x")
    b.coupling("two", "q.x + q.y - q.z").coupling("three", "q.x + q.y + q.z + q.x*q.x*q.y")
    mech = b.done()
    partition(mech, ["y"], pivots=[("two", "z"), ("three", "x")])
    flat = Builder("flat", gravity=(0, 0, 0))
    for name in "xyz":
        flat.body(name, 1.0).joint(name, "prismatic", "world", name, axis="x")
    flat.coupling("two", "q.x + q.y + q.z").coupling("three", "q.x + q.y + 2*q.z")
    with pytest.raises(ModelError, match=r"block 0 .* cannot be solved in the order given: .*cancels"):
        partition(flat.done(), ["z"], pivots=[("two", "x"), ("three", "y")])


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ({"rows": ["hold9.x"]}, "names row 'hold9.x', which is no constraint. Did you mean"),
        ({"columns": ["q99"]}, "names 'q99', which is no velocity of a joint"),
        ({"columns": ["q1"]}, "names 'q1', which is independent; expected some of q2, q3"),
        ({"rows": ["hold2.x", "hold2.y"]}, r"rows names hold2.x, hold2.y of block 0 .*; expected each of hold2.x, "),
        ({"rows": ["hold2.x"] * 4}, "expected each of hold2.x, hold2.y, hold3.x, hold3.y once"),
        ({"pivots": [("hold2.x", "q6")]}, r"pivot \(hold2.x, q6\) lies outside the blocks: the row belongs to block 0"),
        ({"pivots": [("hold2.x", "q5"), ("hold2.x", "q2")]}, "row hold2.x is in two pivots of block 0"),
        ({"pivots": ["q5"]}, r"a pivot is 'q5'; expected a pair \(constraint, joint\)"),
        ({"rows": ["hold2.rz"], "pivots": [("hold2.rz", "q6")]}, "both pivots and rows or columns name block 1"),
        ({"rows": ["hold2.rz", "hold2.x", "hold2.y", "hold3.x", "hold3.y"]}, r"names block 1 .* too early: it needs"),
    ],
)
def test_wrong_orders_are_refused_with_the_entry_that_is_wrong(rrr, order, words):
    with pytest.raises((ModelError, NameLookupError), match=words):
        partition(rrr, INDEPENDENT, **order)


def test_too_few_pivots_of_a_large_block():
    rrr = three_rrr(2)
    six = partition(rrr, ["q3", "q6", "q9"])
    assert [b.size for b in six.blocks] == [6]
    with pytest.raises(
        ModelError, match=r"1 pivots are given for block 0 .*, which leaves 5; a formula solves up to 3"
    ):
        partition(rrr, six, pivots=six.pivot_order[:1])
    partition(rrr, six, pivots=six.pivot_order[:3])


def test_a_redundant_row_has_no_place_in_an_order():
    mech = three_rrr(4)
    twice = mech.replace(cuts=(*mech.cuts, replace(mech.cuts[0], name="again")))
    with pytest.raises(ModelError, match=r"names row 'again\.x', which is redundant and not solved"):
        partition(twice, rows=["again.x"])


def test_a_partition_of_another_mechanism_is_refused(rrr, chosen):
    with pytest.raises(ModelError, match="made for other constraints"):
        sb.forward_dynamics(three_rrr(4), "base", partition=chosen)
    with pytest.raises(ModelError, match="made for other constraints"):
        partition(sb.load("four_bar"), chosen)
    with pytest.raises(ModelError, match="has no loops"):
        partition(sb.load("pendulum2"))


def test_a_record_that_was_changed_by_hand_is_checked(rrr, chosen):
    with pytest.raises(ModelError, match="do not hold each dependent joint and each row once"):
        sb.closure(rrr, replace(chosen, blocks=chosen.blocks[:-1]))
    wrong = replace(chosen, pivots={**chosen.pivots, 0: ((0, 0), (0, 1))}, given=frozenset({0}))
    with pytest.raises(ModelError, match="is in two pivots of block 0"):
        sb.closure(rrr, wrong)
