"""The cost of a graph follows docs/decisions/0004."""

from fractions import Fraction

import pytest

from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.rewrite.cost import Cost, cost, power_chain


@pytest.fixture
def graph():
    with Graph() as g:
        yield g


@pytest.fixture
def xyz(graph):
    return [graph.symbol(n) for n in "xyz"]


@pytest.fixture
def pqr(graph):
    return [graph.symbol(n, "parameter") for n in "pqr"]


def test_a_sign_is_free(xyz):
    x, y, _ = xyz
    assert cost([-x, x - y, y - x]) == Cost(add=1)


def test_a_coefficient_costs_once_for_each_size(xyz):
    x, y, _ = xyz
    assert cost([2 * x, -2 * x, 3 * x]) == Cost(mul=2)
    assert cost([2 * x * y]) == Cost(mul=2)


def test_a_coefficient_joins_the_setup_factor_of_a_product_used_once(xyz, pqr):
    x, p = xyz[0], pqr[0]
    assert cost([2 * (p * x)]) == Cost(mul=1, setup=1)
    assert cost([2 * (p * x), p * x]) == Cost(mul=2)


def test_setup_terms_are_one_term(xyz, pqr):
    (x, y, _), (p, q, _) = xyz, pqr
    from symbody.symbolic.expr.arithmetic import add_all

    assert cost([add_all([x, y, p, q], x.graph)]) == Cost(add=2, setup=1)
    assert cost([add_all([x, p], x.graph)]) == Cost(add=1)


def test_setup_factors_are_one_factor(xyz, pqr):
    (x, y, _), (p, q, _) = xyz, pqr
    from symbody.symbolic.expr.arithmetic import multiply_all

    assert cost([multiply_all([x, y, p, q], x.graph)]) == Cost(mul=2, setup=1)


def test_a_divisor_used_once_is_a_division(xyz):
    x, y, z = xyz
    assert cost([x / y]) == Cost(div=1)
    from symbody.symbolic.expr.arithmetic import multiply_all

    assert cost([multiply_all([x, y**-1, z**-1], x.graph)]) == Cost(mul=1, div=1)
    assert cost([multiply_all([x**-1, y**-1], x.graph)]) == Cost(mul=1, div=1)


def test_a_shared_reciprocal_is_kept(xyz):
    x, y, z = xyz
    assert cost([x / z, y / z]) == Cost(mul=2, div=1)
    assert cost([1 / x]) == Cost(div=1)


def test_powers_of_one_base_share_a_chain(xyz):
    x, y, _ = xyz
    assert cost([x**2, x**3]) == Cost(mul=2)
    assert cost([x**15]) == Cost(mul=len(power_chain([15])))
    assert cost([x**-2]) == Cost(mul=1, div=1)
    assert cost([y * x**-2]) == Cost(mul=1, div=1)


def test_roots_and_other_exponents_are_other(xyz):
    x = xyz[0]
    assert cost([call("sqrt", x)]) == Cost(other=1)
    assert cost([x ** Fraction(3, 2)]) == Cost(mul=1, other=1)
    assert cost([x ** Fraction(-1, 2)]) == Cost(div=1, other=1)
    assert cost([x**0.3]) == Cost(other=1)


def test_functions_cost_no_arithmetic(xyz):
    x, y, _ = xyz
    assert cost([call("sin", x), call("cos", x), call("exp", y)]) == Cost(trig=2, other=1)


def test_setup_is_free_at_every_call(pqr):
    p, q, r = pqr
    assert cost([p * q + r]) == Cost(setup=2)


@pytest.mark.parametrize(("exponent", "length"), [(2, 1), (3, 2), (4, 2), (7, 4), (8, 3), (15, 6)])
def test_power_chain_lengths_of_the_thesis(exponent, length):
    """symofros 3.3: x^15 takes 6 products, x^8 3, x^7 4."""
    assert len(power_chain([exponent])) == length


@pytest.mark.parametrize("exponents", [[2], [3, 5], [2, 4, 8], [9, 10, 11], [100], [6, 7, 13, 20]])
def test_power_chain_is_a_chain(exponents):
    have = {1}
    for e, a, b in power_chain(exponents):
        assert e == a + b
        assert a in have and b in have  # noqa: PT018
        have.add(e)
    assert have >= set(exponents)
