"""Nodes evaluated in an order that is found once give the bits of `evaluate`."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from helpers.expressions import random_expressions
from symbody.basics.errors import NameLookupError
from symbody.symbolic.expr.evaluate import Evaluation, evaluate


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_equal_bits_for_numbers_and_arrays(seed: int, shape: tuple[int, ...]) -> None:
    with sb.Graph():
        outputs, xs, ps = random_expressions(seed, size=60)
        rng = np.random.default_rng(seed)
        values = {s: rng.uniform(0.1, 1.5, shape) for s in (*np.ravel(xs), *np.ravel(ps))}
        nodes = list(np.ravel(outputs))
        for a, b in zip(Evaluation(nodes)(values), evaluate(nodes, values), strict=True):
            np.testing.assert_array_equal(a, b)


def test_implicit_blocks_are_solved_and_missing_symbols_named() -> None:
    with sb.Graph():
        x, y = sb.symbols("x y")
        block = sb.solve([y**3 + y - x], [y], [0.5], name="cubic")
        assert Evaluation([block.x[0] + x])({x: 2.0}) == evaluate([block.x[0] + x], {x: 2.0})
        with pytest.raises(NameLookupError, match="'x'"):
            Evaluation([sb.sin(x)])({y: 1.0})


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])
def test_values_of_other_precision_are_computed_in_doubles(kind: type) -> None:
    with sb.Graph() as graph:
        x = graph.symbol("x")
        node = x * x / 3 + 0.1
        given = kind(0.7)
        expected = evaluate(node, {x: float(given)})
        for value in (given, np.array([given], kind), [given]):
            found = np.asarray(evaluate(node, {x: value}))
            assert found.dtype == np.float64
            assert found == expected
            assert np.asarray(Evaluation([node])({x: value})[0]) == expected
    assert np.asarray(evaluate(node, {x: np.array([1j], np.complex64)})).dtype == np.complex128
