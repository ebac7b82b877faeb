"""The smallest program is compared with Newton-Euler by backward error; where it is worse the next one is taken."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.mechanics.verbs.smallest.auto import smallest
from symbody.mechanics.verbs.smallest.check_program import AGREE, Comparison, digits_lost, first_exact, magnitudes


def uneven_chain(masses, inertia=1e-9, seed=0):
    """Revolute and prismatic joints in turn, with masses of very different size and hardly any inertia."""
    rng = np.random.default_rng(seed)
    b, parent = sb.Mechanism.builder("uneven"), "world"
    for k, mass in enumerate(masses):
        com = (0.2 * rng.normal(size=3)).tolist()
        b.body(f"b{k}", mass=float(mass), com=com, inertia=[inertia, 1.2 * inertia, 1.1 * inertia])
        kind, rotation = "prismatic" if k % 3 == 1 else "revolute", {"rpy": rng.normal(size=3).tolist()}
        position = (0.3 * rng.normal(size=3)).tolist()
        b.joint(f"j{k}", kind, parent, f"b{k}", position, rotation, axis="xyz"[k % 3])
        parent = f"b{k}"
    return b.done()


HEAVY_FIRST = 10.0 ** np.linspace(3, -3, 5)


@pytest.mark.parametrize("masses", [HEAVY_FIRST, HEAVY_FIRST[::-1]], ids=["heavy first", "heavy last"])
@pytest.mark.parametrize("quantity", ["inverse", "semi_explicit", "forward"])
def test_uneven_masses_cost_few_digits(masses, quantity):
    found = smallest(uneven_chain(masses), quantity, budget=2, preset="standard")
    assert found.lost < 3
    assert not found.notes


def test_a_tree_with_fast_motions_is_not_refused():
    """Accelerations of 1e4 rad/s^2 stand beside efforts of some N m."""
    system = sb.forward_dynamics(sb.load("bogie"), loops=False, budget=1, preset="standard", finalists=1)
    assert float(system.origins["digits_lost"]) < 4
    assert "digits lost" in repr(system)


def test_a_wrong_effort_at_the_light_end_is_found():
    """It is a millionth of the largest effort, and one part in a million wrong."""
    mech = uneven_chain(HEAVY_FIRST)
    right = sb.inverse_dynamics(mech, "base")
    plain = Comparison(mech, "inverse", "setup", ())
    assert plain.error(right) < 1e-13
    efforts = right.outputs["tau"].copy()
    efforts[-1] = efforts[-1] * (1 + 1e-6)
    assert plain.error(right.replace(outputs={"tau": efforts})) > AGREE


def test_a_wrong_entry_of_the_mass_matrix_is_found():
    mech = uneven_chain(HEAVY_FIRST)
    right = sb.semi_explicit(mech, "base")
    plain = Comparison(mech, "semi_explicit", "setup", ())
    assert plain.error(right) < 1e-13
    mass = right.outputs["M"].copy()
    mass[-1, -1] = mass[-1, -1] * (1 + 1e-6)
    assert plain.error(right.replace(outputs={**right.outputs, "M": mass})) > AGREE


def test_the_next_program_is_taken_where_the_smallest_loses_digits(monkeypatch):
    mech = sb.load("patterns/pendulum5")
    least = smallest(mech, "inverse", preset="standard").cost.total
    error = Comparison.error

    def worse(self, system):
        return 1e-6 if system.count().total == least else error(self, system)

    monkeypatch.setattr(Comparison, "error", worse)
    found = smallest(mech, "inverse", preset="standard")
    assert found.cost.total > least
    assert found.error <= AGREE
    note = f"A program of {least} operations was not taken"
    assert note in found.system.origins["note"]
    assert note in repr(found.system)
    assert note in found.say()
    monkeypatch.setattr(Comparison, "error", lambda self, system: 1e-6)
    assert "the most exact one" in sb.inverse_dynamics(mech, preset="standard").origins["note"]


def test_the_most_exact_program_is_taken_where_none_agrees():
    best, error, notes = first_exact(["a", "b", "c"], {"a": 1e-3, "b": 1e-8, "c": np.inf}.get, len, "x")
    assert (best, error) == ("b", 1e-8)
    assert "the most exact one" in notes[-1]
    best, error, notes = first_exact(["a", "bb"], {"a": 1e-3, "bb": 1e-12}.get, len, "x")
    assert best == "bb"
    assert "1 operations was not taken" in notes[0]


def test_digits():
    assert digits_lost(0.0) == 0
    assert digits_lost(2.220446049250313e-16) == 0
    assert digits_lost(2.220446049250313e-10) == pytest.approx(6)
    assert digits_lost(np.inf) == np.inf


def test_magnitudes_add_what_does_not_cancel():
    with sb.Graph():
        x, y = sb.symbols("x y")
        assert magnitudes([x - y + 1, 3 * x * (y - x), sb.sin(x) - y**2], {x: 2.0, y: 2.0}) == pytest.approx(
            [5, 24, abs(np.sin(2.0)) + 4]
        )


def test_closed_mechanisms_say_their_digits():
    system = sb.forward_dynamics(sb.load("four_bar"))
    assert 0 <= float(system.origins["digits_lost"]) < 4
