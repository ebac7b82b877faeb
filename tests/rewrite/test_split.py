"""Long sums and products are nested; values and cost stay."""

import pytest
from evaluate import same_values

from symbody.errors import ExpressionError
from symbody.expr.arithmetic import add_all, multiply_all
from symbody.expr.graph import Graph
from symbody.expr.walk import topological
from symbody.rewrite.cost import cost
from symbody.rewrite.split import split_long


@pytest.mark.parametrize("shape", ["balanced", "chained"])
@pytest.mark.parametrize("limit", [2, 3, 20])
def test_split_keeps_value_and_adds_no_cost(shape, limit):
    with Graph() as graph:
        xs = [graph.symbol(f"x{k}") for k in range(50)]
        ps = [graph.symbol(f"p{k}", "parameter") for k in range(5)]
        roots = [
            add_all([*xs, *ps, graph.number(3), *(-2 * x * xs[0] for x in xs[:7])], graph),
            multiply_all([*xs[:30], *ps, xs[40] ** -1, xs[41] ** -1], graph),
        ]
        after = split_long(roots, limit, shape)
        assert same_values(roots, after)
        before, now = cost(roots), cost(after)
        # a coefficient that all terms of a part have moves outside, and costs less there
        assert (now.add, now.div) == (before.add, before.div)
        assert now.mul <= before.mul
        bound = max(limit, 4)  # two divisors and what they divide stay together
        assert all(len(n.args) <= bound for n in topological(after))


def test_what_cannot_be_asked_for():
    with pytest.raises(ExpressionError, match="limit=1"):
        split_long([], 1)
    with pytest.raises(ExpressionError, match="balanced, chained"):
        split_long([], 5, "round")
