"""Derivatives against complex steps, differences and each other."""

import numpy as np
import pytest

import symbody as sb
from helpers.expressions import random_expressions
from symbody.basics.errors import ExpressionError, ShapeError
from symbody.symbolic.expr.derivative import gradient, hessian, jacobian, jvp, vjp
from symbody.symbolic.expr.evaluate import evaluate


@pytest.fixture(autouse=True)
def own_graph():
    with sb.Graph():
        yield


def point_for(symbols, seed=0):
    rng = np.random.default_rng(seed)
    return dict(zip(symbols, rng.uniform(0.5, 1.5, len(symbols)), strict=True))


def complex_step(nodes, point, symbol, h=1e-200):
    shifted = {**point, symbol: point[symbol] + 1j * h}
    return np.array([np.imag(v) / h for v in evaluate(nodes, shifted)])


@pytest.mark.parametrize("seed", range(12))
def test_jacobian_equals_complex_step(seed):
    outputs, xs, ps = random_expressions(seed)
    point = point_for([*xs, *ps], seed)
    matrix = np.array(evaluate(list(jacobian(outputs, xs).flat), point), dtype=float).reshape(len(outputs), len(xs))
    for k, x in enumerate(xs):
        np.testing.assert_allclose(matrix[:, k], complex_step(outputs, point, x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_reverse_equals_forward(seed):
    outputs, xs, ps = random_expressions(seed)
    point = point_for([*xs, *ps], seed)
    weights = [x.graph.number(w) for x, w in zip(outputs, (0.3, -1.2, 0.7, 2.0), strict=True)]
    forward = np.array(evaluate(list(jacobian(outputs, xs).flat), point), dtype=float).reshape(len(outputs), len(xs))
    reverse = np.array(evaluate(vjp(outputs, weights, xs), point), dtype=float)
    np.testing.assert_allclose(reverse, forward.T @ [0.3, -1.2, 0.7, 2.0], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_jvp_is_the_jacobian_times_a_direction(seed):
    outputs, xs, ps = random_expressions(seed)
    point = point_for([*xs, *ps], seed)
    direction = [x.graph.number(d) for x, d in zip(xs, (1.0, -2.0, 0.0, 0.5), strict=True)]
    matrix = np.array(evaluate(list(jacobian(outputs, xs).flat), point), dtype=float).reshape(len(outputs), len(xs))
    along = np.array(evaluate(jvp(outputs, xs, direction), point), dtype=float)
    np.testing.assert_allclose(along, matrix @ [1.0, -2.0, 0.0, 0.5], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_hessian_is_the_derivative_of_the_gradient_and_symmetric(seed):
    outputs, xs, ps = random_expressions(seed, size=25)
    point = point_for([*xs, *ps], seed)
    matrix = np.array(evaluate(list(hessian(outputs[0], xs).flat), point), dtype=float).reshape(len(xs), len(xs))
    for k, x in enumerate(xs):
        np.testing.assert_allclose(
            matrix[:, k], complex_step(gradient(outputs[0], xs), point, x), rtol=1e-9, atol=1e-11
        )
    np.testing.assert_array_equal(matrix, matrix.T)


def test_table_of_symofros_examples():
    """E4 and E5 of the SYMOFROS report: total derivatives of a table of temporaries."""
    q, length = sb.symbols("q L")
    z1 = q**2
    assert jacobian([length * z1], [q])[0, 0] is 2 * length * q or evaluate(
        jacobian([length * z1], [q])[0, 0] - 2 * length * q, {"q": 1.7, "L": 0.3}
    ) == pytest.approx(0)
    z2 = q * z1
    z3 = q * z1 * z2
    d1, d2, d3 = jacobian([z1, z2, z3], [q])[:, 0]
    for node, value in ((d1, 2 * 1.3), (d2, 3 * 1.3**2), (d3, 6 * 1.3**5)):
        assert evaluate(node, {"q": 1.3}) == pytest.approx(value, rel=1e-14)


def test_the_branch_not_taken_may_be_infinite():
    x = sb.symbols("x")
    node = sb.select(x > 0, sb.sqrt(abs(x)), 0 * x)
    assert evaluate(jacobian([node], [x])[0, 0], {"x": 0.0}) == 0


def test_tables_differentiate_piece_by_piece():
    x = sb.symbols("x")
    knots, values = [0.0, 1.0, 2.5, 3.0], [0.0, 2.0, 1.0, 4.0]
    linear, cubic = sb.table(x, knots, values), sb.table(x, knots, values, kind="cubic")
    assert evaluate(jacobian([linear], [x])[0, 0], {"x": 0.4}) == pytest.approx(2.0)
    for at in (0.3, 1.7, 2.9):
        h = 1e-6
        slope = (evaluate(cubic, {"x": at + h}) - evaluate(cubic, {"x": at - h})) / (2 * h)
        assert evaluate(jacobian([cubic], [x])[0, 0], {"x": at}) == pytest.approx(slope, rel=1e-6)
        # continuous first and second derivatives at an inner knot
    second = jacobian([jacobian([cubic], [x])[0, 0]], [x])[0, 0]
    assert evaluate(second, {"x": 1 - 1e-9}) == pytest.approx(evaluate(second, {"x": 1.0}), abs=1e-6)


def test_external_functions_use_the_derivative_of_their_author():
    x, y = sb.symbols("x y")
    f = sb.External("f", 2, 2, function=lambda a, b: (a * b, a + b**2), derivative=lambda a, b: [[b, a], [1, 2 * b]])
    first, second = sb.extern(f, sb.sin(x), y)
    point = {"x": 0.4, "y": 1.2}
    rows = jacobian([first * second], [x, y])
    exact = sb.sin(x) * y * (sb.sin(x) + y**2)
    for d, e in zip(rows[0], jacobian([exact], [x, y])[0], strict=True):
        assert evaluate(d, point) == pytest.approx(evaluate(e, point), rel=1e-12)
    for d, e in zip(gradient(first * second, [x, y]), gradient(exact, [x, y]), strict=True):
        assert evaluate(d, point) == pytest.approx(evaluate(e, point), rel=1e-12)


def test_an_external_function_without_derivative_says_what_to_give():
    x = sb.symbols("x")
    f = sb.External("wind", 1, function=lambda a: a)
    with pytest.raises(ExpressionError, match=r"wind.*derivative="):
        jacobian([sb.extern(f, x)], [x])
    g = sb.External("gust", 1, function=lambda a: a, derivative=lambda a: [1, 2])
    with pytest.raises(ShapeError, match="1 x 1"):
        jacobian([sb.extern(g, x)], [x])


def test_a_derivative_by_an_expression_is_refused():
    x = sb.symbols("x")
    with pytest.raises(ExpressionError, match="symbol"):
        jacobian([x**2], [x + 1])


def test_the_cost_of_a_gradient_does_not_grow_with_the_number_of_variables():
    sizes = []
    for n in (50, 400):
        graph = sb.Graph()
        with graph:
            xs = sb.symbols(f"x1:{n + 1}")
            f = xs[0]
            for x in xs[1:]:
                f = sb.sin(f * x) + x
            before = graph.size
            gradient(f, xs)
            sizes.append((graph.size - before) / n)
    assert sizes[1] < 1.2 * sizes[0]


def test_depth_is_harmless_to_derivatives():
    x, y = sb.symbols("x y")
    e = x
    for _ in range(50_000):
        e = sb.sin(e) * y + x
    assert np.isfinite(float(evaluate(jacobian([e], [x])[0, 0], {"x": 0.3, "y": 0.2})))
    assert np.isfinite(float(evaluate(gradient(e, [x])[0], {"x": 0.3, "y": 0.2})))


def test_expressions_have_derivatives_and_take_values_as_in_sympy():
    x, y = sb.symbols("x y")
    assert (x**2 * sb.sin(y)).diff(x) is 2 * x * sb.sin(y)
    assert (x**2 * sb.sin(y)).diff(x, y) is 2 * x * sb.cos(y)
    assert (x**2 / y).subs({x: y, y: x}) is y**2 / x
    assert (x * y).subs(x, 3) is 3 * y
    for wrong in (lambda: x.diff("x"), lambda: x.diff(x * y), lambda: x.subs("x", 1), lambda: x.subs(x)):
        with pytest.raises(ExpressionError, match="expected"):
            wrong()
