"""Trigonometric identities, tried on sums that are full of them."""

from random import Random

import pytest
from evaluate import same_values

from symbody.symbolic.expr.functions import cos, sin
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.rewrite.cost import cost
from symbody.symbolic.rewrite.presets import PASSES, optimize


def random_sums(seed):
    """Sums of k X f(x) g(y) with few angles, so that addition theorems and squares abound; some products are shared."""
    random = Random(seed)
    with Graph() as graph:
        angles = [graph.symbol(f"q{k}", "coordinate") for k in range(3)]
        angles.append(angles[0] + angles[1])
        weights = [graph.one, graph.symbol("p", "parameter"), graph.symbol("r", "parameter"), graph.symbol("u")]
        roots = []
        for _ in range(4):
            total = graph.zero
            for _ in range(random.randint(2, 7)):
                x, y = random.choice(angles), random.choice(angles)
                first = random.choice((sin, cos))(x) * random.choice(weights)
                term = first * random.choice((sin, cos))(y)
                total = total + random.choice((1, -1, 1, -1, 2)) * term
                if random.random() < 0.15:
                    roots.append(first)
            roots.append(total)
        return roots


@pytest.mark.parametrize("seed", range(120))
def test_identities_keep_values(seed):
    roots = random_sums(seed)
    after = PASSES["trigonometry"].apply(roots)
    assert same_values(roots, after)
    assert cost(after).total <= cost(roots).total


@pytest.mark.parametrize("seed", range(120, 150))
@pytest.mark.parametrize("preset", ["standard", "full"])
def test_presets_keep_values(seed, preset):
    roots = random_sums(seed)
    after, _ = optimize(roots, preset, trials=100)
    assert same_values(roots, after)
    assert cost(after).rank <= cost(roots).rank


@pytest.mark.parametrize(("first", "second", "sign", "expected"), [
    ((sin, cos), (cos, sin), 1, lambda x, y: sin(x + y)),
    ((sin, cos), (cos, sin), -1, lambda x, y: sin(x - y)),
    ((cos, cos), (sin, sin), -1, lambda x, y: cos(x + y)),
    ((cos, cos), (sin, sin), 1, lambda x, y: cos(x - y)),
])  # fmt: skip
def test_addition_theorems_with_a_cofactor(first, second, sign, expected):
    with Graph() as graph:
        x, y = (graph.symbol(n, "coordinate") for n in ("x", "y"))
        u, w, p = graph.symbol("u"), graph.symbol("w"), graph.symbol("p", "parameter")
        one = u * first[0](x) * first[1](y) * p * w
        two = u * second[0](x) * second[1](y) * p * w
        for total, wanted in ((one + sign * two, 1), (-one - sign * two, -1)):
            (after,), _ = optimize([total])
            assert after is PASSES["flatten"].apply([wanted * u * w * p * expected(x, y)])[0]


def test_one_minus_a_square():
    with Graph() as graph:
        x, u = graph.symbol("x"), graph.symbol("u")
        assert optimize([u - u * sin(x) ** 2, cos(x)])[0][0] is u * cos(x) ** 2


def test_new_angles_may_be_made_dear():
    with Graph() as graph:
        x, y = (graph.symbol(n, "coordinate") for n in ("x", "y"))
        u = graph.symbol("u")
        roots = [u * sin(x), u * cos(x), sin(y), cos(y), u * sin(x) * cos(y) + u * cos(x) * sin(y)]
        cheap, _ = optimize(roots)
        dear, _ = optimize(roots, call_weight=10)
        assert cost(cheap).trig == 5
        assert cost(dear).trig == 4
        assert cost(cheap).total < cost(dear).total
