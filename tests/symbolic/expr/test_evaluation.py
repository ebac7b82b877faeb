"""Nodes evaluated in an order that is found once give the bits of `evaluate`."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import symbody as sb
from helpers.expressions import random_expressions
from symbody.basics.errors import ExpressionError, NameLookupError, ShapeError
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


def test_functions_of_arrays_give_nan_and_infinity():
    """As NumPy does, by the same rows as one number; what is no number is refused in a sentence."""
    found = sb.log(np.array([1.0, -1.0, 0.0, math.inf]))
    np.testing.assert_array_equal(found, [0.0, math.nan, -math.inf, math.inf])
    np.testing.assert_array_equal(sb.sqrt([4, -1]), [2.0, math.nan])
    np.testing.assert_array_equal(sb.exp([1000.0, -1000.0]), [math.inf, 0.0])
    np.testing.assert_array_equal(sb.floor([math.nan, math.inf, -1.5]), [math.nan, math.inf, -2.0])
    np.testing.assert_array_equal(sb.acosh(np.full((2, 2), 0.5)), np.full((2, 2), math.nan))
    assert sb.log(np.array([1j]))[0] == pytest.approx(0.5j * math.pi)
    assert sb.sin([]).shape == (0,)
    for name in ("sin", "exp", "tanh", "acosh"):
        numbers = [1.3, 1.7, 25.0]
        assert getattr(sb, name)(numbers).tolist() == [getattr(math, name)(x) for x in numbers]
    with pytest.raises(ExpressionError, match="'a' is neither"):
        sb.log(np.array(["a"]))
    with pytest.raises(ShapeError, match="different lengths"):
        sb.log([[1], [1, 2]])


def test_exact_choices_need_only_the_branch_that_is_taken():
    x, y = sb.symbols("x y")
    f = sb.select(x > 0, 1 / x, sb.select(y > 0, sb.sqrt(y), 2 * y)) + 1
    assert evaluate(f, {x: Fraction(1, 3), y: 2}, exact=True) == 4
    assert evaluate(f, {x: 0, y: Fraction(-1, 2)}, exact=True) == 0
    assert evaluate([sb.select(x < 1, y, 1 / x)], {x: 0, y: 5}, exact=True) == [Fraction(5)]
    with pytest.raises(ExpressionError, match="power has no exact"):
        evaluate(f, {x: 0, y: 2}, exact=True)
    with pytest.raises(ExpressionError, match=r"quotient\(1, 0\) divides by zero: exact numbers have no infinity"):
        evaluate(sb.select(1 / x > 0, y, 1), {x: 0, y: 2}, exact=True)
    with pytest.raises(ExpressionError, match="0 is raised to -2"):
        evaluate(y + x**-2, {x: 0, y: 2}, exact=True)


def test_what_python_decided_is_no_condition():
    x, y = sb.symbols("x y")
    for condition in (x == y, x != y, True, np.bool_(True), np.float64(1.0) > 0):
        with pytest.raises(ExpressionError, match=r"Python decided.*sb\.equal"):
            sb.select(condition, x, y)
        for combined in (lambda c: (x > 0) & c, lambda c: c & (x > 0), lambda c: (x > 0) | c, lambda c: c | (x > 0)):
            with pytest.raises(ExpressionError, match="Python decided"):
                combined(condition)
    assert sb.select(1, x, y) is x
    assert sb.select(sb.equal(x, y), 1, 2).op == "select"
    assert sb.parse("select(True, x, y)") is x


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
