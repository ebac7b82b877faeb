"""Operation counts of the pattern models: programs are checked by numbers, counted, and compared with the targets.

The targets are the column "very good" of the operation-count study (section 8); a program may need fewer, never more.
"""

from __future__ import annotations

import numpy as np
import pytest

from mechanics.formalisms.patterns import random_state
from mechanics.formalisms.reference import World
from mechanics.formalisms.test_dynamics import agree
from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.formulation import Choice
from symbody.mechanics.verbs.dynamics import FORMALISMS, forward_dynamics, inverse_dynamics, semi_explicit
from symbody.mechanics.verbs.problem import problem_of
from symbody.mechanics.verbs.smallest.auto import smallest
from symbody.mechanics.verbs.smallest.check_program import check_against_newton_euler
from symbody.mechanics.verbs.smallest.growth import general_chain
from symbody.mechanics.verbs.smallest.tuned import pattern, tuned_choices
from symbody.model.load import FOLDER, bundled_names, load

MODELS = [*bundled_names(), *(f"patterns/{p.stem}" for p in sorted((FOLDER / "patterns").glob("*.yaml")))]

VERBS = dict(inverse=inverse_dynamics, semi_explicit=semi_explicit, forward=forward_dynamics)

TARGETS = [  # model, quantity, operations at most
    ("puma_robotran", "inverse", 225), ("puma_robotran", "semi_explicit", 318), ("puma_robotran", "forward", 452),
    ("puma_medusa", "inverse", 474), ("general_6r", "inverse", 660),
    ("pendulum5", "inverse", 107), ("pendulum5", "forward", 232),
    ("motorcycle_tree", "inverse", 609), ("motorcycle_tree", "forward", 1263),
    ("rx90", "inverse", 455), ("rx90_simple", "inverse", 247),
    ("stanford", "inverse", 424), ("stanford_simple", "inverse", 211),
]  # fmt: skip

# plain base parameters after the passes of "standard", without any search (the study's column "must")
PLAIN = [
    ("puma_robotran", "inverse", 243), ("puma_robotran", "semi_explicit", 361),
    ("puma_medusa", "inverse", 499), ("general_6r", "inverse", 709), ("pendulum5", "inverse", 114),
    ("motorcycle_tree", "inverse", 631), ("rx90", "inverse", 475), ("stanford", "inverse", 436),
]  # fmt: skip


def check_numbers(mech, quantity, system):
    """The program against virtual power in world axes, at two states."""
    for seed in (1, 2):
        q, qd, qdd = random_state(mech, seed)
        mass, bias = World(mech).equations(q, qd)
        kernel = system.compile("python")
        if quantity == "inverse":
            agree(kernel(q, qd, qdd), mass @ qdd + bias)
        elif quantity == "semi_explicit":
            found = kernel(q, qd)
            agree(found.M, mass)
            agree(found.c, bias)
        else:
            agree(mass @ kernel(q, qd, mass @ qdd + bias), mass @ qdd, 1e-9)


@pytest.mark.parametrize(("name", "quantity", "target"), TARGETS, ids=lambda x: str(x))
def test_smallest_programs_reach_the_targets(name, quantity, target):
    mech = load(f"patterns/{name}")
    system = VERBS[quantity](mech)
    check_numbers(mech, quantity, system)
    assert system.count().total <= target


@pytest.mark.parametrize(("name", "quantity", "target"), PLAIN, ids=lambda x: str(x))
def test_plain_base_parameters_need_no_search_for_the_lower_targets(name, quantity, target):
    mech = load(f"patterns/{name}")
    system = VERBS[quantity](mech, "base")
    check_numbers(mech, quantity, system)
    assert system.count().total <= target


@pytest.mark.slow
@pytest.mark.parametrize("key", sorted(tuned_choices()))
def test_choices_on_file_give_the_counts_on_file(key):
    name, quantity, _ = key.split("/")
    mech = next(
        m for m in (load(n) for n in MODELS if n.endswith(name)) if pattern(problem_of(m).tree, quantity) == key
    )
    found = smallest(mech, quantity)
    assert found.source == "tuned"
    assert found.cost.total <= tuned_choices()[key]["total"]


def test_order_n_needs_fewer_operations_than_the_study_on_the_thesis_puma():
    mech = load("patterns/puma_robotran")
    system = forward_dynamics(mech, "order_n")
    check_numbers(mech, "forward", system)
    assert system.count().total <= 503


def test_regrouping_pays_in_every_pattern_model():
    for name in ("puma_robotran", "pendulum5", "stanford_simple"):
        mech = load(f"patterns/{name}")
        totals = [inverse_dynamics(mech, f).count().total for f in ("newton_euler", "barycentric", "base")]
        assert totals == sorted(totals, reverse=True)


def test_growth_of_a_general_chain_is_linear_and_below_khalil_and_kleinfinger():
    """92 N - 127 multiplications and 81 N - 117 additions, as quoted in the study (4.1)."""
    counts = {n: inverse_dynamics(general_chain(n), "base").count() for n in (4, 6, 8)}
    for n, c in counts.items():
        assert c.mul <= 92 * n - 127
        assert c.add <= 81 * n - 117
    assert counts[8].total - counts[6].total == counts[6].total - counts[4].total


# -- the search


def test_a_search_is_reproducible_and_stays_in_its_budget():
    mech = load("patterns/stanford_simple")
    first, second = (smallest(mech, "inverse", budget=12, preset="standard", tuned=False) for _ in range(2))
    assert first.choice == second.choice
    assert first.cost == second.cost
    assert first.candidates <= 12
    assert first.cost.total < inverse_dynamics(mech, "base").count().total
    assert "base parameters" in first.say()


def test_a_choice_survives_its_file():
    choice = Choice(
        grouping="base", keep=((1, "first"),), clear=((3, ((2, 3), None, "even")),), slide=((1, 0),), unit="d33"
    )
    assert Choice.from_dict(choice.as_dict()) == choice


def test_a_choice_on_file_is_not_used_where_its_divisor_is_small(tmp_path):
    """The length that is the unit of the thesis PUMA's program shrinks to a micrometre: dividing by it costs digits."""
    mech = load("patterns/puma_robotran")
    unit = smallest(mech, "inverse", preset="standard").choice.unit
    assert unit in ("d33", "d34")
    small = shrink(mech, unit, 1e-6, tmp_path)
    found = smallest(small, "inverse", budget=3)
    assert found.choice.unit != unit
    check_numbers(small, "inverse", found.system)


def shrink(mech, name, value, folder):
    """The same Mechanism with another default of one parameter, read from changed text."""
    text = (FOLDER / "patterns" / f"{mech.name}.yaml").read_text(encoding="utf-8")
    path = folder / "small.yaml"
    path.write_text(text.replace(f"{name}: {{default: 0.43", f"{name}: {{default: {value}"), encoding="utf-8")
    return load(path)


@pytest.mark.parametrize("formalism", [f for f in FORMALISMS if f not in ("auto", "lagrange", "screw")])
def test_time_to_generate_is_linear_in_the_number_of_bodies(formalism):
    """Nodes are counted, not seconds: a chain of twice the length may make at most 2.2 times the nodes."""
    sizes = []
    for n in (15, 30):
        problem = problem_of(general_chain(n))
        problem.outputs("inverse", formalism)
        sizes.append(len(problem.tree.graph))
    assert sizes[1] < 2.2 * sizes[0]
    if formalism == "order_n":
        forward = []
        for n in (15, 30):
            problem = problem_of(general_chain(n))
            problem.outputs("forward", formalism)
            forward.append(len(problem.tree.graph))
        assert forward[1] < 2.2 * forward[0]


def test_the_check_finds_a_wrong_program():
    mech = load("patterns/pendulum5")
    right = inverse_dynamics(mech, "base")
    wrong = right.replace(
        outputs={"tau": np.array([*right.outputs["tau"][:-1], right.outputs["tau"][0]], dtype=object)}
    )
    assert check_against_newton_euler(mech, "inverse", "setup", (), right) < 1e-12
    with pytest.raises(ModelError, match="differs from Newton-Euler"):
        check_against_newton_euler(mech, "inverse", "setup", (), wrong)
