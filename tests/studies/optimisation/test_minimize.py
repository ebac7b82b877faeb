"""sb.minimize: every method on known minima, constraints, budgets, several starts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from symbody.basics.errors import DefinitionError, SymbodyError
from symbody.studies.optimisation import (
    METHODS,
    Constraint,
    SearchMethod,
    SearchOutcome,
    add_method,
    remove_method,
)
from symbody.studies.optimisation.minimum_search import minimize


def bowl(x):
    return float((x[0] - 0.3) ** 2 + 2 * (x[1] + 0.2) ** 2)


def slope(x):
    return np.array([2 * (x[0] - 0.3), 4 * (x[1] + 0.2)])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_bottom_of_a_bowl(method):
    found = minimize(bowl, {"a": (-1, 1), "b": (-1, 1)}, method, budget=1500)
    np.testing.assert_allclose(found.x, [0.3, -0.2], atol=2e-3)
    assert found.evaluations <= 1500
    assert set(found.as_dict()) == {"a", "b"}


@pytest.mark.parametrize("method", [n for n, m in METHODS.items() if m.constraints])
def test_constraints_hold_at_the_minimum(method):
    wall = Constraint(lambda x: np.array([x[1] - 0.1]))
    found = minimize(bowl, [(-1, 1)] * 2, method, constraints=[wall], budget=3000)
    assert found.violation <= 1e-6
    np.testing.assert_allclose(found.x, [0.3, 0.1], atol=1e-2)


def test_gradients_save_evaluations_and_the_budget_is_kept():
    with_slope = minimize(bowl, [(-1, 1)] * 2, gradient=slope)
    assert with_slope.outcome is SearchOutcome.CONVERGED
    assert with_slope.evaluations < minimize(bowl, [(-1, 1)] * 2, "slsqp").evaluations
    short = minimize(bowl, [(-1, 1)] * 2, "nelder_mead", budget=5)
    assert (short.outcome, short.evaluations) == (SearchOutcome.BUDGET, 5)
    assert "larger budget" in str(short.outcome)
    stopped = minimize(bowl, [(-1, 1)] * 2, progress=lambda k, v: k > 3)
    assert stopped.outcome is SearchOutcome.STOPPED


def waves(x):
    return float(np.sin(5 * x[0]) + 0.1 * x[0] ** 2)


def test_several_starts_find_the_deeper_valley_also_at_the_same_time():
    one, many = minimize(waves, [(-4, 4)], start=[3.4]), minimize(waves, [(-4, 4)], start=[3.4], starts=8)
    assert many.fun < one.fun
    assert len(many.starts) == 8
    with ThreadPoolExecutor(2) as pool:
        assert minimize(waves, [(-4, 4)], start=[3.4], starts=8, executor=pool).fun == many.fun


def test_what_is_wrong_is_said():
    with pytest.raises(SymbodyError, match="nelder_mead"):
        minimize(bowl, [(-1, 1)] * 2, "nelder_mede")
    with pytest.raises(DefinitionError, match="takes no constraints"):
        minimize(bowl, [(-1, 1)] * 2, "powell", constraints=[Constraint(slope)])
    with pytest.raises(DefinitionError, match="lower <= upper"):
        minimize(bowl, [(1, -1)] * 2)
    row = add_method(
        SearchMethod("middle", "the middle of the bounds", lambda p, r, s: (bool(r.function(p.lower) < 99), ""))
    )
    assert minimize(bowl, [(-1, 1)] * 2, row.name).evaluations == 1
    remove_method("middle")


@pytest.mark.parametrize("method", [n for n, m in METHODS.items() if m.constraints])
@pytest.mark.parametrize("more", [(), (Constraint(lambda x: np.array([2.0 - x[1]])),)])
def test_constraints_that_no_point_meets_end_with_the_least_violated_one(method, more):
    wall = Constraint(lambda x: np.array([x[0] - 5.0]))
    found = minimize(bowl, [(-1, 1)] * 2, method, constraints=[wall, *more], budget=600)
    assert found.outcome is SearchOutcome.INFEASIBLE
    assert found.violation == pytest.approx(5.0 - found.x[0])
    assert found.x[0] == pytest.approx(1.0, abs=0.05)
    assert found.fun == bowl(found.x)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [ValueError, TypeError, KeyError])
def test_an_error_of_the_function_arrives_as_it_is(method, kind):
    def fails(x):
        raise kind("of the caller")

    with pytest.raises(kind, match="of the caller"):
        minimize(fails, [(-1, 1)] * 2, method, budget=50)


@pytest.mark.parametrize("method", ["differential_evolution", "slsqp", "direct"])
def test_what_is_no_number_is_told_and_one_entry_is_one(method):
    for value in ("abc", np.ones(2), None):
        with pytest.raises(DefinitionError, match="expected one number"):
            minimize(lambda x, value=value: value, [(-1, 1)] * 2, method, budget=50)
    assert minimize(lambda x: np.array([bowl(x)]), [(-1, 1)] * 2, method, budget=1500).fun < 1e-3
