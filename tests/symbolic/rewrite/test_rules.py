"""Each row of the table of identities holds; matching finds direct structure in any order."""

import math
from random import Random

import pytest
from evaluate import doubles

import symbody as sb
from symbody.basics.errors import ExpressionError
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.walk import topological
from symbody.symbolic.rewrite.rules import RULES, apply_rules, instantiate, match


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_rule_holds_wherever_its_left_side_is_real(rule):
    random = Random(rule.name)
    tried = 0
    for _ in range(400):
        values = {n.name: random.choice((random.uniform(-1, 1), random.uniform(-6, 6))) for n in _symbols(rule)}
        values["c"] = float(random.random() < 0.5)
        left = _value(rule.pattern, values)
        if left is None:
            continue
        right = _value(rule.replacement, values)
        assert right is not None
        assert math.isclose(left, right, rel_tol=1e-7, abs_tol=1e-7 * max(1, *map(abs, values.values())) ** 2)
        tried += 1
    assert tried > 20


def _symbols(rule):
    return [n for n in topological([rule.pattern]) if n.op == "symbol"]


def _value(node, values):
    try:
        value = doubles([node], values)[0][0]
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return value if isinstance(value, float) and math.isfinite(value) else None


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_rule_matches_its_own_pattern(rule):
    with Graph() as graph:
        stand_in = {n: graph.symbol(f"{n.name}_", nonzero=True) for n in _symbols(rule)}
        node = instantiate(rule.pattern, stand_in, graph)
        found = match(rule.pattern, node)
        assert found is not None
        assert apply_rules([node]) == [instantiate(rule.replacement, found, graph)]


def test_atan2_needs_a_nonzero_radius():
    with Graph() as graph:
        x, y = graph.symbol("x"), graph.symbol("y")
        node = call("sin", call("atan2", y, x))
        assert apply_rules([node]) == [node]


def test_a_rule_applies_below_a_rewritten_node():
    with Graph() as graph:
        x = graph.symbol("x")
        assert apply_rules([call("exp", call("log", call("sin", call("asin", x))))]) == [x]


def test_absolute_value_squared_is_made_at_construction():
    with Graph() as graph:
        x, c = graph.symbol("x"), graph.symbol("c")
        assert abs(x) ** 2 is x**2
        assert call("select", ~c, x, 2 * x) is call("select", c, 2 * x, x)


def test_a_divisor_that_a_rule_shows_to_be_zero_may_stand_in_a_branch_that_is_never_taken():
    with Graph() as graph:
        x, y, p = graph.symbol("x"), graph.symbol("y"), graph.symbol("p", "parameter")
        none = call("cosh", x) ** 2 - call("sinh", x) ** 2 - 1
        squares = p * call("sin", x) ** 2 + p * call("cos", x) ** 2 - p
        for divisor in (none, none**2, squares, (none + squares) ** 3):
            system = sb.System(
                "s",
                inputs={"x": x, "y": y},
                parameters={"p": p},
                outputs={"f": call("select", y > 0, x / divisor, 2), "g": x + y},
            )
            for preset in ("standard", "full"):
                assert tuple(system.optimize(preset).compile()(1.5, -2.0, parameters={"p": 3.0})) == (2.0, -0.5)


def test_a_substituted_zero_is_refused_outside_of_choices():
    with Graph() as graph:
        x, p = graph.symbol("x"), graph.symbol("p", "parameter")
        assert (call("select", p > 0, x / p, 0) + x).subs({p: 0}) is x
        with pytest.raises(ExpressionError, match="structurally zero"):
            (x / p + call("select", p > 0, 1 / p, 0)).subs({p: 0})
        with pytest.raises(ExpressionError, match="structurally zero"):
            1 / graph.number(0)
