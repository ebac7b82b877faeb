"""Every pass keeps values; run by the runner it never raises the cost."""

import pytest
from evaluate import random_graph, same_fractions, same_values
from network_check import check

from symbody.symbolic.rewrite.cost import cost
from symbody.symbolic.rewrite.network_of_nodes import load, store
from symbody.symbolic.rewrite.presets import PASSES, searching
from symbody.symbolic.rewrite.runner import run
from symbody.symbolic.rewrite.stages import CANONICAL, FLAT, problems

ALL = [*PASSES.values(), searching(150)]


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("one", ALL, ids=lambda p: p.name)
def test_pass_keeps_values(one, seed):
    roots = random_graph(seed)
    after = one.apply(roots)
    assert same_values(roots, after)
    assert not problems(after, CANONICAL)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("one", ALL, ids=lambda p: p.name)
def test_pass_is_exact_on_rational_expressions(one, seed):
    roots = random_graph(1000 + seed, kind="rational")
    assert same_fractions(roots, one.apply(roots))


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("one", ALL, ids=lambda p: p.name)
def test_pass_never_raises_the_cost(one, seed):
    roots = random_graph(2000 + seed)
    after, report = run(roots, [one], debug=True)
    assert cost(after).rank <= cost(roots).rank
    assert report.after == cost(after)


@pytest.mark.parametrize("seed", range(40))
def test_network_is_the_same_expression(seed):
    roots = random_graph(seed, size=60)
    net = load(roots)
    check(net)
    assert same_values(roots, store(net))


@pytest.mark.parametrize("seed", range(40))
def test_network_counts_what_the_cost_counts(seed):
    """Nearly: a Node takes a product over a factor that is scaled anyway, which the Network does not see."""
    net = load(random_graph(seed, size=60))
    PASSES["flatten"].on_network(net)
    check(net)
    assert net.total - 4 <= cost(store(net)).total <= net.total + 1


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("one", [p for p in ALL if p.on_network], ids=lambda p: p.name)
def test_network_books_stay_right(one, seed):
    net = load(random_graph(3000 + seed))
    total = net.total
    mark = net.mark()
    one.on_network(net)
    net.clean()
    check(net)
    net.undo(mark)
    check(net)
    assert net.total == total


@pytest.mark.parametrize("seed", range(20))
def test_flatten_reaches_its_stage(seed):
    assert not problems(PASSES["flatten"].apply(random_graph(seed)), FLAT)
