"""Stages say which graphs are legal."""

import pytest

from symbody.basics.errors import ExpressionError
from symbody.symbolic.expr.arithmetic import add_all, multiply_all
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.rewrite.stages import CANONICAL, FLAT, problems, verify


def test_nested_sums_are_canonical_but_not_flat():
    with Graph() as graph:
        x, y, z = (graph.symbol(n) for n in "xyz")
        nested = [add_all([z, add_all([x, y], graph)], graph), multiply_all([z, x * y], graph)]
        verify(nested, CANONICAL)
        assert len(problems(nested, FLAT)) == 1 + (x * y in nested[1].args)
        with pytest.raises(ExpressionError, match="flat"):
            verify(nested, FLAT)


def test_a_shared_sum_may_stay_closed():
    with Graph() as graph:
        x, y, z = (graph.symbol(n) for n in "xyz")
        shared = x + y
        verify([z + shared, shared * z], FLAT)
