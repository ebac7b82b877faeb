"""Implicit blocks: solutions, what is read at them, derivatives by the implicit function theorem."""

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ExpressionError, ShapeError, SolveError
from symbody.symbolic.expr.derivative import gradient, hessian, jacobian
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.walk import substitute


@pytest.fixture(autouse=True)
def own_graph():
    with sb.Graph():
        yield


def kepler():
    """Eccentric anomaly: E - e sin E = m."""
    unknown, m, e = sb.symbols("E m e")
    return sb.solve([unknown - e * sb.sin(unknown) - m], [unknown], [m], name="kepler"), unknown, m, e


def test_a_solution_solves():
    solution, _, _, _ = kepler()
    point = {"m": 1.1, "e": 0.6}
    value = evaluate(solution.x[0], point)
    assert value - 0.6 * np.sin(value) == pytest.approx(1.1, abs=1e-12)
    assert evaluate(solution.residual[0], point) == pytest.approx(0, abs=1e-12)
    assert evaluate(solution.jacobian[0, 0], point) == pytest.approx(1 - 0.6 * np.cos(value), rel=1e-12)


def test_derivatives_follow_the_implicit_function_theorem():
    solution, unknown, m, e = kepler()
    point = {m: 1.1, e: 0.6}
    x = evaluate(solution.x[0], point)
    by_m, by_e = jacobian([solution.x[0]], [m, e])[0]
    assert evaluate(by_m, point) == pytest.approx(1 / (1 - 0.6 * np.cos(x)), rel=1e-12)
    assert evaluate(by_e, point) == pytest.approx(np.sin(x) / (1 - 0.6 * np.cos(x)), rel=1e-12)
    area = solution.at(sb.sin(unknown) * m) * e
    forward = [evaluate(d, point) for d in jacobian([area], [m, e])[0]]
    reverse = [evaluate(d, point) for d in gradient(area, [m, e])]
    h = 1e-6
    for k, s in enumerate((m, e)):
        up, down = ({**point, s: point[s] + d} for d in (h, -h))
        slope = (evaluate(area, up) - evaluate(area, down)) / (2 * h)
        assert forward[k] == pytest.approx(slope, rel=1e-7)
        assert reverse[k] == pytest.approx(forward[k], rel=1e-12)


def test_second_derivatives_go_through_a_block():
    solution, _, m, e = kepler()
    point = {m: 1.1, e: 0.6}
    matrix = hessian(solution.x[0] ** 2, [m, e])
    h = 1e-5
    for i, a in enumerate((m, e)):
        first = gradient(solution.x[0] ** 2, [m, e])
        up, down = ({**point, a: point[a] + d} for d in (h, -h))
        for k in range(2):
            slope = (evaluate(first[k], up) - evaluate(first[k], down)) / (2 * h)
            assert evaluate(matrix[k, i], point) == pytest.approx(slope, rel=1e-6)


def test_several_unknowns_with_a_zero_on_the_diagonal():
    x = sb.symbols("x1:5")
    p = sb.symbols("p")
    residual = [x[1] - p, x[0] * x[1] - 2, x[3] + x[2] ** 3 - p, x[2] - x[0]]
    solution = sb.solve(residual, x, [1, 1, 1, 1], name="four")
    values = [evaluate(v, {"p": 1.5}) for v in solution.x]
    np.testing.assert_allclose(values, [2 / 1.5, 1.5, 2 / 1.5, 1.5 - (2 / 1.5) ** 3], rtol=1e-12)
    by_p = [float(evaluate(d, {"p": 1.5})) for d in jacobian(list(solution.x), [p])[:, 0]]
    np.testing.assert_allclose(by_p, [-2 / 2.25, 1, -2 / 2.25, 1 + 3 * (2 / 1.5) ** 2 * 2 / 2.25], rtol=1e-11)


def test_blocks_in_cascade_and_nested():
    x, y, p = sb.symbols("x y p")
    first = sb.solve([x**2 - p], [x], [1.0], name="root")
    second = sb.solve([y**3 + y - first.x[0]], [y], [0.5], name="cubic")
    assert evaluate(second.x[0], {"p": 4.0}) == pytest.approx(1.0, rel=1e-12)
    inner = sb.solve([y**2 - x], [y], [1.0], name="inner")
    outer = sb.solve([x + inner.x[0] - p], [x], [1.0], name="outer")
    assert evaluate(outer.x[0], {"p": 6.0}) == pytest.approx(4.0, rel=1e-12)
    (slope,) = jacobian([outer.x[0]], [p])[0]
    assert evaluate(slope, {"p": 6.0}) == pytest.approx(1 / (1 + 1 / (2 * 2)), rel=1e-11)


def test_a_block_survives_substitution():
    solution, _, m, e = kepler()
    z = sb.symbols("z")
    (moved,) = substitute([solution.x[0]], {m: z**2, e: 0.3})
    value = evaluate(moved, {"z": 1.2})
    assert value - 0.3 * np.sin(value) == pytest.approx(1.44, abs=1e-12)
    both = solution.x[0] - moved
    assert evaluate(both, {"m": 1.44, "e": 0.3, "z": 1.2}) == pytest.approx(0, abs=1e-12)


def test_a_block_that_cannot_converge_says_which():
    x, p = sb.symbols("x p")
    solution = sb.solve([x**2 + p], [x], [0.3], name="no_root")
    with pytest.raises(SolveError, match="no_root"):
        evaluate(solution.x[0], {"p": 1.0})


def test_wrong_numbers_and_guesses_are_refused():
    x, y = sb.symbols("x y")
    with pytest.raises(ShapeError, match="2 residuals, 1 unknowns"):
        sb.solve([x, y], [x], [0])
    with pytest.raises(ExpressionError, match="guess"):
        sb.solve([x - y], [x], [x + 1])
    with pytest.raises(ExpressionError, match="symbols"):
        sb.solve([x - y], [x + 1], [0])


def cubic_root():
    """The System a -> u with u^3 + u = a."""
    a, u = sb.symbols("a u")
    return sb.System("root", inputs={"a": a}, outputs={"u": sb.solve([u**3 + u - a], [u], [0.5]).x[0]})


def slope_of(node, symbol, at, h=1e-6):
    return (evaluate(node, {symbol: at + h}) - evaluate(node, {symbol: at - h})) / (2 * h)


def test_copies_of_a_block_have_unknowns_of_their_own():
    """A block applied to itself: inside the outer copy, the inner unknown must not stand for the outer one."""
    root = cubic_root()
    with sb.Graph():
        a = sb.symbols("a")
        first, second = root.apply(a=a), root.apply(a=2 * a)
        for node in (root.apply(a=first), root.apply(a=first) + first, root.apply(a=first * second), first - second):
            expected = slope_of(node, a, 0.7)
            assert float(evaluate(jacobian([node], [a])[0, 0], {a: 0.7})) == pytest.approx(expected, rel=1e-7)
            assert float(evaluate(gradient(node, [a])[0], {a: 0.7})) == pytest.approx(expected, rel=1e-7)
        assert root.apply(a=a) is first  # the same block again is shared


def test_a_block_substituted_into_itself_differentiates_right():
    a, u = sb.symbols("a u")
    x = sb.solve([u**3 + u - a], [u], [0.5]).x[0]
    (nested,) = substitute([x], {a: x})
    assert float(evaluate(jacobian([nested], [a])[0, 0], {a: 0.7})) == pytest.approx(slope_of(nested, a, 0.7), rel=1e-7)
    w = sb.symbols("w")
    root = cubic_root()
    outer = sb.solve([w + root.apply(a=root.apply(a=w)) - a], [w], [0.3])
    value = evaluate(outer.x[0], {a: 0.7})
    assert value + evaluate(nested, {a: value}) == pytest.approx(0.7, rel=1e-12)


def test_unknowns_that_do_not_depend_on_a_parameter():
    a, u, v = sb.symbols("a u v")
    block = sb.solve([u + 0.1 * u**3 - a, v + 0.1 * v**3 - 0.2], [u, v], [0, 0])
    rows = jacobian(list(block.x), [a])[:, 0]
    assert evaluate(rows[1], {a: 0.4}) == 0
    assert float(evaluate(rows[0], {a: 0.4})) == pytest.approx(slope_of(block.x[0], a, 0.4), rel=1e-7)


@pytest.mark.parametrize("n", [4, 5, 6])
def test_pivots_are_sound_at_the_guess(n):
    """The Jacobian is a permutation at the guess: pivots chosen by structure alone would be zero."""
    a = sb.symbols("a")
    u = sb.symbols(f"u1:{n + 1}")
    residual = [0.3 * sb.exp(-(u[i] ** 2)) + sb.sinh(u[(i + 1) % n]) - a for i in range(n)]
    block = sb.solve(residual, u, [0] * n)
    values = [evaluate(x, {a: 0.5}) for x in block.x]
    np.testing.assert_allclose(values, values[0], rtol=1e-12)
    assert 0.3 * np.exp(-(values[0] ** 2)) + np.sinh(values[0]) == pytest.approx(0.5, rel=1e-12)


def test_gradients_go_through_nested_blocks():
    x, y, p, q = sb.symbols("x y p q")
    inner = sb.solve([y**3 + y - x * q], [y], [0.5], name="inner")
    outer = sb.solve([x + inner.x[0] - p], [x], [0.5], name="outer")
    read = outer.at(inner.x[0] * sb.sin(x) * q)
    point = {p: 1.3, q: 0.8}
    for node in (outer.x[0], read, read * outer.x[0]):
        forward = [float(evaluate(d, point)) for d in jacobian([node], [p, q])[0]]
        reverse = [float(evaluate(d, point)) for d in gradient(node, [p, q])]
        np.testing.assert_allclose(reverse, forward, rtol=1e-11)
        for k, s in enumerate((p, q)):
            up, down = ({**point, s: point[s] + d} for d in (1e-6, -1e-6))
            assert forward[k] == pytest.approx((evaluate(node, up) - evaluate(node, down)) / 2e-6, rel=1e-6)


def test_an_angle_that_ran_away_is_no_solution():
    x, guess = sb.symbols("x guess")
    solution = sb.solve([sb.sin(x) - 0.5], [x], [guess], name="angle")
    assert np.sin(evaluate(solution.x[0], {"guess": 1.0})) == pytest.approx(0.5)
    with pytest.raises(SolveError, match="'angle'"):
        evaluate(solution.x[0], {"guess": np.pi / 2})  # the first step is of 1e16 rad


@pytest.mark.parametrize("size", [1e3, 1e8])
def test_a_force_far_from_its_guess_is_found(size):
    # x^3 + x = b^3 + b: many steps from 1 to b, the last ones of rounding size
    x, b = sb.symbols("x b")
    solution = sb.solve([x**3 + x - b**3 - b], [x], [1.0], name="spring", max_iterations=99)
    assert evaluate(solution.x[0], {"b": size}) == pytest.approx(size, rel=1e-14)


def test_a_chain_of_blocks_takes_time_by_its_length() -> None:
    """Each block is differentiated once: the J of one passes those below no second time, at every one."""
    with sb.Graph():
        x = sb.symbols("x")
        y = x
        for k in range(60):
            u = sb.symbols(f"u{k}")
            y = sb.solve([u**3 + u - y], [u], [0.5], name=f"c{k}").x[0]
        system = sb.System("chain", inputs={"x": x}, outputs={"y": y})
    step = 1e-6
    value = system.compile("python")
    slope = system.jacobian("y", "x").compile("python")(0.3)
    np.testing.assert_allclose(slope, (value(0.3 + step) - value(0.3 - step)) / (2 * step), rtol=1e-6)
