"""Automatic cuts and partitions beside all other choices, or random ones, by the operations of their programs.

Every admissible choice is counted without rewriting; of the best by that the programs of the verb decide.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

import symbody as sb
from mechanics.loops.closed_models import operations
from symbody.basics.errors import ModelError
from symbody.mechanics.assembly.assembly import closed_samples
from symbody.mechanics.formalisms.tree import build_tree
from symbody.mechanics.loops.cutting.cutting import recut
from symbody.mechanics.loops.cutting.joint_graph import joint_graph, spanning
from symbody.mechanics.loops.partition.counted import cheapest_partition, counted_operations, plain_equations
from symbody.mechanics.loops.partition.partition import CONDITION, choose_partition
from symbody.mechanics.loops.rows.constraint_rows import constraints
from symbody.model.build.builder import Builder
from symbody.model.record.coordinates import velocity_labels

LIMIT = 1.05  # of the best count
PROGRAMS = 4  # of the best by the rough count, whose programs are made
DRAWN = 300


def forward(mech, partition="auto"):
    return operations(sb.forward_dynamics(mech, formalism="base", preset="standard", partition=partition))


def admissible(mech, drawn=None):
    """(rough count, mechanism, partition) by all sets of independent joints, or `drawn` random ones, for which J_v is
    regular and well conditioned."""
    tree = build_tree(mech)
    found, m_c = constraints(tree), plain_equations(tree)
    samples = closed_samples(found)
    names = velocity_labels(found.tree.mechanism)
    columns = [names[k] for k in np.flatnonzero(found.pattern.any(axis=0))]
    free = len(columns) - len(found.rows)
    if drawn is None or comb(len(columns), free) <= drawn:
        sets = combinations(columns, free)
    else:
        rng = np.random.default_rng(0)
        sets = ([columns[i] for i in rng.choice(len(columns), free, replace=False)] for _ in range(2 * drawn))
    out = []
    for independent in sets:
        try:
            made = choose_partition(found, list(independent), samples=samples)
        except ModelError:
            continue
        if made.condition <= CONDITION:
            out.append((counted_operations(found, made, m_c, "none"), mech, made))
        if len(out) == drawn:
            break
    return out


def modellings(mech):
    """Every spanning tree of the joints."""
    graph = joint_graph(mech)
    cuttable = [e.name for e in graph.edges if e.cut is not None]
    made = [spanning(graph, opened) for opened in combinations(cuttable, len(graph.open))]
    return [m for m in made if m is not None]


def best_count(choices):
    """Fewest operations of the programs of `admissible` choices."""
    ranked = sorted(choices, key=lambda x: x[0])
    return min(forward(mech, p) for _, mech, p in ranked[:PROGRAMS])


# -- partitions


@pytest.mark.parametrize("name", ["four_bar", "three_rrr_4"])
def test_no_partition_is_much_cheaper_than_the_automatic_one(name):
    mech = sb.load(name)
    choices = admissible(mech)
    assert len(choices) > 2
    assert forward(mech) <= LIMIT * best_count(choices)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["three_rrr_1", "three_rrr_2", "three_rrr_3", "three_loops"])
def test_no_partition_of_larger_mechanisms_is_much_cheaper(name):
    mech = sb.load(name)
    assert forward(mech) <= LIMIT * best_count(admissible(mech))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["multi_link_suspension", "stewart"])
def test_random_partitions_are_not_much_cheaper(name):
    mech = sb.load(name)
    assert forward(mech) <= LIMIT * best_count(admissible(mech, DRAWN))


@pytest.mark.parametrize("name", ["three_loops", "three_rrr_4"])
@pytest.mark.parametrize("method", ["heuristic", "auto"])
def test_blocks_are_as_small_as_published(name, method):
    """robotran 4.5: 2 + 2 + 2 instead of 6; 4.6, modelling 4: three blocks of 2."""
    found = constraints(build_tree(sb.load(name)))
    chosen = cheapest_partition(found) if method == "auto" else choose_partition(found, method)
    assert [b.size for b in chosen.blocks] == [2, 2, 2]
    assert "blocks of size 2, 2, 2" in chosen.explanation


def test_the_automatic_partition_says_why():
    text = cheapest_partition(constraints(build_tree(sb.load("three_rrr_4")))).explanation
    assert "choices compared by predicted operations" in text
    assert "condition of J_v" in text
    assert "Counted programs" in text


# -- cuts


def test_no_cut_of_the_four_bar_is_cheaper_than_the_automatic_one():
    """Three hinges may be cut, and for each of them one of three joints is independent."""
    mech = sb.load("four_bar")
    choices = [x for m in modellings(mech) for x in admissible(m)]
    assert len(choices) == 9
    assert forward(recut(mech).mechanism) <= LIMIT * best_count(choices)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["three_rrr_1", "three_rrr_2", "three_rrr_4"])
def test_no_cuts_of_the_manipulator_are_much_cheaper_than_the_automatic_ones(name):
    mech = sb.load(name)
    choices = [x for m in modellings(mech) for x in admissible(m)]
    assert len(choices) > 200
    assert forward(recut(mech).mechanism) <= LIMIT * best_count(choices)


@pytest.mark.slow
def test_absolute_coordinates_of_the_platform_are_taken_where_they_pay():
    """robotran 4.6: modelling 4 beats modelling 2, from which it is found here."""
    found = recut(sb.load("three_rrr_2"), absolute={"platform": "planar"})
    assert [c.name for c in found.mechanism.cuts] == ["q3", "q6", "q9"]
    assert forward(found.mechanism) <= LIMIT * forward(sb.load("three_rrr_4"))


def test_rows_chosen_by_hand_are_understood_as_the_joint_that_was_cut():
    """Two displacements in the plane are a hinge, with the turn they are a weld; a rod is no joint."""
    edges = {e.name: e for e in joint_graph(sb.load("four_bar")).edges}
    assert edges["loop"].joint.kind == "revolute"
    edges = {e.name: e for e in joint_graph(sb.load("three_rrr_2")).edges}
    assert edges["hand2"].joint.kind == "fixed"
    graph = joint_graph(sb.load("multi_link_suspension"))
    assert [c.name for c in graph.kept] == ["rod"]


def test_cuts_with_the_names_of_joints_can_be_exchanged():
    """The cut bar2 of the suspension closes and the joint bar2 is cut."""
    mech = sb.load("multi_link_suspension")
    graph = joint_graph(mech)
    assert graph.open == {"bar2_cut", "bar3_cut", "bar4_cut"}
    made = spanning(graph, {"bar2", "bar3_cut", "bar4_cut"})
    assert {c.name for c in made.cuts} == {"bar2", "bar3_cut", "bar4_cut", "rod"}
    assert recut(mech, rounds=0).mechanism is mech


# -- dead points


def parallel_cranks():
    """Three equal cranks under one bar, all in line at q = 0: one freedom, one equation too many, and a dead point."""
    b = Builder("cranks", gravity=(0, -9.81, 0))
    for k in range(3):
        b.body(f"c{k}", 1, (0.25, 0, 0), (0, 0, 0.1), frames={"tip": (0.5, 0, 0)})
        b.joint(f"c{k}", "revolute", "world", f"c{k}", position=(k, 0, 0), mode="passive" if k else "actuated")
    b.body("bar", 2, (1, 0, 0), (0, 0, 0.2), frames={"mid": (1, 0, 0), "end": (2, 0, 0)})
    b.joint("bar", "revolute", "c0", "bar", position=(0.5, 0, 0), mode="passive")
    return b.cut("p1", "ball", "bar.mid", "c1.tip").cut("p2", "ball", "bar.end", "c2.tip").done()


def test_a_home_position_at_a_dead_point_does_not_hide_the_freedom():
    found = constraints(build_tree(parallel_cranks()))
    for method in ("auto", "pivoting"):
        p = choose_partition(found, method)
        assert (len(p.independent), len(p.redundant)) == (1, 1)
        assert p.condition < 100
        assert "is singular: constraints depend on each other there" in p.explanation
    system = sb.forward_dynamics(parallel_cranks(), formalism="base")
    a = 0.8  # all cranks stand alike, the bar stays level
    qdd = np.ravel(system.compile()(np.array([a, a, a, -a]), np.zeros(4), np.zeros(4)))
    # a pendulum: 3 cranks about their hinges, and the bar's mass at their tips
    inertia = 3 * (0.1 + 0.25**2) + 2 * 0.5**2
    weight = -9.81 * np.cos(a) * (3 * 0.25 + 2 * 0.5)
    assert qdd == pytest.approx(weight / inertia * np.array([1, 1, 1, -1]), rel=1e-9)
