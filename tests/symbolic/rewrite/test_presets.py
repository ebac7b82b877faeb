"""Presets: they terminate, repeat themselves, do not recurse and touch nothing that is not arithmetic."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from evaluate import random_graph, same_fractions, same_values, serialise

from symbody.basics.errors import NameLookupError
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.functions import cos, extern, sin, table
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.walk import topological
from symbody.symbolic.rewrite.cost import cost
from symbody.symbolic.rewrite.presets import PASSES, PRESETS, optimize


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seed", range(15))
def test_preset_keeps_values_and_lowers_cost(preset, seed):
    roots = random_graph(seed, size=80)
    after, report = optimize(roots, preset)
    assert same_values(roots, after)
    assert cost(after).rank <= cost(roots).rank
    assert report.after == cost(after)
    assert report.before == cost(roots)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seed", range(100, 110))
def test_preset_is_exact_on_rational_expressions(preset, seed):
    roots = random_graph(seed, size=80, kind="rational")
    assert same_fractions(roots, optimize(roots, preset)[0])


@pytest.mark.parametrize("seed", range(20))
def test_standard_has_nothing_to_gain_from_a_second_run(seed):
    once, _ = optimize(random_graph(seed, size=60))
    twice, _ = optimize(once)
    assert cost(twice).total == cost(once).total


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seed", range(200, 206))
def test_outputs_that_repeat_also_with_the_other_sign_come_back_in_their_places(preset, seed):
    roots = random_graph(seed, size=60, kind="rational")
    zero = roots[0].graph.zero
    several = [*roots, zero, *[-r for r in roots], *reversed(roots), zero]
    after, _ = optimize(several, preset)
    assert same_fractions(several, after)


def test_unknown_preset_is_refused():
    with pytest.raises(NameLookupError, match="standard"):
        optimize([], "standart")


def test_report_is_a_table():
    _, report = optimize(random_graph(3), "full")
    text = str(report)
    assert "merge nested sums and products" in text
    assert "search at random" in text
    assert report.saved == report.before.total - report.after.total


def test_numbers_and_symbols_are_roots_too():
    with Graph() as graph:
        x, p = graph.symbol("x"), graph.symbol("p", "parameter")
        roots = [graph.zero, x, -x, p, -p, p * p, graph.number(-2.5), 2 * x]
        for preset in PRESETS:
            assert optimize(roots, preset)[0] == roots


@pytest.mark.parametrize("depth", [100_000])
@pytest.mark.parametrize("one", list(PASSES.values()), ids=lambda p: p.name)
def test_depth_does_not_matter(one, depth):
    """A chain x <- a x + b is as deep as it is long."""
    with Graph() as graph:
        a, b, node = graph.symbol("a"), graph.symbol("b"), graph.symbol("x")
        for k in range(depth // 2):
            node = a * node + b if k % 3 else sin(node) + a
        assert len(topological([node])) > depth
        one.apply([node])


def test_what_is_not_arithmetic_passes_through():
    double = External("double", 1, 1, function=lambda x: 2 * x)
    with Graph() as graph:
        x, y, z = (graph.symbol(n) for n in "xyz")
        inside = x * y + x * z
        roots = [
            call("select", call("lt", inside, y), inside, -inside),
            table(inside, [0, 1, 2], [0, 1, 4]),
            extern(double, inside),
            call("max", inside, cos(inside)),
        ]
        for preset in ("standard", "full"):
            after, _ = optimize(roots, preset)
            assert cost(after).total == 2
            factored = x * (y + z)
            assert after[0] is call("select", call("lt", factored, y), factored, -factored)
            assert after[1] is table(factored, [0, 1, 2], [0, 1, 4])
            assert after[2] is extern(double, factored)


def test_implicit_blocks_keep_their_scope():
    from symbody.symbolic.expr.implicit import solve

    with Graph() as graph:
        x, p = graph.symbol("x"), graph.symbol("p", "parameter")
        u = graph.symbol("u", "unknown")
        block = solve([u * u * p + u * p - x * x - x * p], [u], [graph.one])
        roots = [block.at(u) * x + block.at(u * p), x * p]
        for preset in ("standard", "full"):
            after, _ = optimize(roots, preset)
            assert cost(after).rank <= cost(roots).rank
            for node in after:
                assert not node.flags & 4


SCRIPT = """
import sys
sys.path[:0] = [{src!r}, {here!r}]
from evaluate import random_graph, serialise
from symbody.symbolic.rewrite.presets import optimize
for seed in range(6):
    print(serialise(optimize(random_graph(seed, size=80), "full", trials=200)[0]))
"""


def test_result_does_not_depend_on_the_process():
    here = Path(__file__).parent
    script = SCRIPT.format(src=str(here.parents[2] / "src"), here=str(here))
    texts = []
    for hash_seed in ("0", "4711"):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
        texts.append(done.stdout)
    assert texts[0] == texts[1]
    assert len(texts[0]) > 1000


def test_serialisation_shows_sharing():
    with Graph() as graph:
        x, y = graph.symbol("x"), graph.symbol("y")
        assert serialise([x + y, x + y]) != serialise([x + y, x - y])
