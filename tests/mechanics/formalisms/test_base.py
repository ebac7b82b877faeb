"""Regrouping of inertial parameters: the joints feel no difference, and the entries that were to vanish are gone."""

from __future__ import annotations

import numpy as np
import pytest

from mechanics.formalisms.patterns import Maker, p1, p3, p5, random_state, random_tree
from mechanics.formalisms.reference import World
from mechanics.formalisms.test_dynamics import agree, numbers
from symbody.mechanics.formalisms.formulation import Choice, equations, placed
from symbody.mechanics.formalisms.length_units import slide_steps, unit_lengths
from symbody.mechanics.formalisms.regrouping import (
    Regrouping,
    clear_targets,
    divides_safely,
    inertia_of,
    pseudo_inertia,
    regroup,
)
from symbody.mechanics.formalisms.tree import build_tree
from symbody.symbolic.expr.arrays import is_zero


def torques(mech, choice, state):
    tree = build_tree(mech)
    return numbers(tree, equations(tree, "inverse", choice)["tau"], *state)


def expected(mech, state):
    mass, bias = World(mech).equations(*state[:2])
    return mass @ state[2] + bias


@pytest.mark.parametrize("keep", ["lamina", "first", "second"])
def test_any_share_of_the_transverse_inertia_may_move_to_the_parent(keep):
    mech = random_tree(12, 10)
    state = random_state(mech, 1)
    revolute = [k.index for k in build_tree(mech).links if k.motion.is_turn]
    choice = Choice(grouping="base", keep=tuple((k, keep) for k in revolute))
    agree(torques(mech, choice, state), expected(mech, state))


@pytest.mark.parametrize("make", [p1, p3, p5])
def test_every_entry_of_a_parent_that_may_be_cleared_is_cleared_and_changes_no_torque(make):
    mech = make()
    state = random_state(mech, 2)
    want = expected(mech, state)
    tree = build_tree(mech)
    for link in tree.links:
        for which, targets in enumerate(clear_targets(tree, link)):
            for target in targets:
                entry = tuple(target if k == which else None for k in range(3))
                choice = Choice(grouping="base", clear=((link.index, entry),))
                agree(torques(mech, choice, state), want)
                if isinstance(target, tuple):
                    cleared = regroup(tree, Regrouping(clear={link.index: entry})).links[link.parent]
                    i, k = target
                    value = cleared.spread[i] if i == k < 3 else pseudo_inertia(cleared.inertia)[i][k]
                    assert is_zero(value)


@pytest.mark.parametrize("make", [p1, p3, p5])
def test_every_unit_length_gives_the_same_torques(make):
    mech = make()
    state = random_state(mech, 3)
    for length in unit_lengths(build_tree(mech)):
        agree(torques(mech, Choice(grouping="base", unit=str(length)), state), expected(mech, state))


@pytest.mark.parametrize("seed", range(4))
def test_origins_may_slide_along_their_axes(seed):
    mech = random_tree(seed + 60, 8)
    state = random_state(mech, 4)
    steps = slide_steps(build_tree(mech))
    choice = Choice(grouping="base", slide=tuple((k, len(found) - 1) for k, found in sorted(steps.items())))
    agree(torques(mech, choice, state), expected(mech, state))


def test_sliding_leaves_two_components_of_a_denavit_hartenberg_offset():
    m = Maker("dh")
    c, s, d, r = (m.parameter(x) for x in ("c1", "s1", "d1", "r1"))
    m.body("a", "revolute", "world", "z", mass=1, inertia=np.eye(3, dtype=int))
    twist = [[1, 0, 0], [0, c, -s], [0, s, c]]
    m.body("b", "revolute", "a", "z", (d, -r * s, r * c), twist, mass=1, inertia=np.eye(3, dtype=int))
    tree = build_tree(m.done())
    slid = placed(tree, Choice(slide=((1, 0),)))
    assert sum(not is_zero(x) for x in slid.links[1].offset) < 3


def test_pseudo_inertia_holds_the_same_as_mass_moment_and_tensor():
    tree = build_tree(random_tree(2, 3))
    for link in tree.links:
        back = inertia_of(pseudo_inertia(link.inertia))
        state = (np.zeros(len(tree.q)), np.zeros(len(tree.qd)))
        for name in ("moment", "tensor"):
            agree(numbers(tree, getattr(back, name), *state), numbers(tree, getattr(link.inertia, name), *state), 1e-13)


def test_base_parameters_of_a_revolute_body_are_seven():
    """Mass, axial first moment and one transverse inertia are gone: ten less three (Gautier and Khalil 1990)."""
    tree = regroup(build_tree(p3()))
    for link in tree.links[1:]:
        inertia = link.inertia
        assert is_zero(inertia.mass)
        assert is_zero(inertia.moment[link.axis])
        assert is_zero(link.spread[link.axis])


def test_a_divisor_is_safe_only_if_declared_nonzero_and_not_small():
    m = Maker("d")
    safe = m.graph.symbol("x", "parameter", default=0.5, nonzero=True)
    unknown = m.graph.symbol("y", "parameter", default=0.5)
    tiny = m.graph.symbol("z", "parameter", default=1e-9, nonzero=True)
    assert divides_safely(safe)
    assert divides_safely(2 * safe / safe**3)
    assert not divides_safely(unknown)
    assert not divides_safely(safe + 1)
    assert not divides_safely(tiny)
    assert divides_safely(1)
    assert not divides_safely(0)
