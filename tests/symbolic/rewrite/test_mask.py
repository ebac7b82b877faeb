"""Masking: names hide definitions from rewriting, and open again stage by stage (medusa 3.10, 4.6)."""

import numpy as np
import pytest
from evaluate import same_values

from symbody.symbolic.expr.functions import sin
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.rewrite.cost import cost
from symbody.symbolic.rewrite.mask import definitions, mask, unmask
from symbody.symbolic.rewrite.presets import PASSES, optimize


@pytest.fixture
def example():
    """A = [[0, 2, a x + b], [1, sin x, c], [0, -1, 0]], V = (0, 2.55, -1), W = A V."""
    with Graph() as graph:
        a, b, c, x = (graph.symbol(n) for n in "abcx")
        matrix = mask([[0, 2, a * x + b], [1, sin(x), c], [0, -1, 0]], "A")
        vector = mask([graph.zero, 2.55, -1], "V")
        product = [sum((matrix[i, j] * vector[j] for j in range(3)), graph.zero) for i in range(3)]
        yield (a, b, c, x), product


def test_components_0_1_and_minus_1_stay(example):
    _, (w1, w2, w3) = example
    names = dict(definitions([w1, w2, w3]))
    assert sorted(names) == ["A12", "A13", "A22", "A23", "V2"]
    by_name = {n.name: n for w in (w1, w2, w3) for n in _aliases(w)}
    assert w1 is by_name["A12"] * by_name["V2"] - by_name["A13"]
    assert w2 is by_name["A22"] * by_name["V2"] - by_name["A23"]
    assert w3 is -by_name["V2"]


def _aliases(root):
    from symbody.symbolic.expr.walk import topological

    return [n for n in topological([root]) if n.op == "alias"]


def test_products_and_sums_of_the_masked_form(example):
    """The thesis counts 2 products and 2 sums. A12 V2 is a product of constants: here it belongs to the setup run."""
    _, w = example
    found = cost(w)
    a13 = cost([w[0].args[0]])  # a x + b, the definition of A13, is counted too
    assert (found.add - 1, found.mul + found.setup - 1) == (2, 2)
    assert a13.total <= found.total


def test_unmasking_restores_the_definitions(example):
    (a, b, c, x), w = example
    opened = unmask(w)
    flat = PASSES["flatten"].apply(list(opened))
    assert flat[0] is PASSES["flatten"].apply([5.10 - a * x - b])[0]
    assert flat[1] is 2.55 * sin(x) - c
    assert flat[2].data == -2.55
    assert same_values(w, flat)


def test_stages_count_themselves_and_open_one_by_one():
    with Graph() as graph:
        x, y = graph.symbol("x"), graph.symbol("y")
        first = mask(x + y, "s")
        second = mask([first * x, first + 1], "t")
        last = mask(second[0] * second[1], "u")
        assert [n.data.stage for n in (first, second[0], last)] == [1, 2, 3]
        assert unmask(last, depth=1) is second[0] * second[1]
        assert unmask(last, depth=2) is (first * x) * (first + 1)
        assert unmask(last) is ((x + y) * x) * (x + y + 1)
        assert [name for name, _ in definitions([last])] == ["s", "t1", "t2", "u"]


def test_large_arrays_get_separated_indices():
    with Graph() as graph:
        entries = np.array([[graph.symbol(f"x{i}_{j}") for j in range(12)] for i in range(2)], dtype=object)
        masked = mask(entries, "A")
        assert masked[0, 11].name == "A_1_12"


def test_rewriting_does_not_look_into_a_name():
    with Graph() as graph:
        x, y, z = (graph.symbol(n) for n in "xyz")
        hidden = mask(x * y, "h")
        root = hidden + x * z
        for preset in ("standard", "full"):
            (after,), _ = optimize([root], preset)
            assert after is root
