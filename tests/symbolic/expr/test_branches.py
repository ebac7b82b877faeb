"""Derivatives behind branches that are not taken, against an oracle that computes only the branch taken."""

import math
import random

import numpy as np
import pytest

import symbody as sb
from lazy_jets import GUARDED, Tree, holds, jet, node_of, random_tree
from symbody.basics.errors import ExpressionError
from symbody.extend import Function, add_function, remove_function
from symbody.symbolic.expr.derivative import gradient, hessian, jacobian, vjp
from symbody.symbolic.expr.evaluate import Evaluation, evaluate

POINTS = 40


@pytest.fixture(autouse=True)
def own_graph():
    with sb.Graph():
        yield


def hides(tree: Tree, point: np.ndarray) -> bool:
    """Whether a function stands behind a branch that is not taken there."""
    op, *args = tree
    if op == "select":
        left = args[2 if holds(args[0], point) else 1]
        if left[0] in GUARDED or (left[0] == "*" and left[1][0] in GUARDED):
            return True
    return any(hides(a, point) for a in args if isinstance(a, tuple) and a[0] not in ("x", "number"))


def compare(seed: int) -> tuple[int, int]:
    """Both modes, both second derivatives and the weighted sum at random points; (compared, of these hidden)."""
    tree = random_tree(random.Random(seed), 5 + seed % 11)
    points = np.random.default_rng(seed).uniform(-1.5, 1.5, (POINTS, 3))
    with sb.Graph():
        xs = sb.symbols("x y z")
        try:
            f = node_of(tree, xs, {})
        except ExpressionError:  # the divisor x - x, which no expression may have
            return 0, 0
        forward, reverse = list(jacobian([f], xs)[0]), gradient(f, xs)
        weighted = vjp([f, f * xs[0]], [f.graph.number(2), f.graph.one], xs)  # (2 + x) grad f + f grad x
        second = [*hessian(f, xs).flat, *(d for g in reverse for d in gradient(g, xs))]
        found = Evaluation([f, *forward, *reverse, *weighted, *second])(dict(zip(xs, points.T, strict=True)))
    compared = hidden = 0
    for point, numbers in zip(points, np.transpose([np.broadcast_to(n, POINTS) for n in found]), strict=True):
        with np.errstate(all="ignore"):
            try:
                wanted, behind = jet(tree, point), hides(tree, point)
            except ArithmeticError:
                continue  # overflow, or roundings decide which branch is taken
        if not np.max(wanted.hs) < 1e8:
            continue  # next to a pole
        assert numbers[0] == pytest.approx(wanted.v, rel=1e-9, abs=1e-9)
        mixed = (2 + point[0]) * wanted.g + wanted.v * np.array([1.0, 0.0, 0.0])
        for k, (g, size) in enumerate([(wanted.g, wanted.gs)] * 2 + [(mixed, 4 * wanted.gs + abs(wanted.v))]):
            assert np.all(np.abs(numbers[1 + 3 * k : 4 + 3 * k] - g) <= 1e-8 * (size + 1e-3)), (seed, k, point)
        for rows in (numbers[10:19], numbers[19:28]):
            off = np.abs(rows.reshape(3, 3) - wanted.h)
            assert np.all(off <= 1e-7 * (wanted.hs + 1e-3)), (seed, point)
        compared += 1
        hidden += behind
    return compared, hidden


def test_both_modes_look_only_into_the_branch_that_is_taken():
    compared, hidden = np.sum([compare(seed) for seed in range(40)], axis=0)
    assert compared > 0.9 * 40 * POINTS
    assert hidden > 0.5 * compared


@pytest.mark.slow
def test_both_modes_look_only_into_the_branch_that_is_taken_at_many_points():
    compared, hidden = np.sum([compare(seed) for seed in range(1000, 3700)], axis=0)
    assert compared > 100_000
    assert hidden > 0.5 * compared


def slopes(f, xs, values):
    """Gradient by both modes, which are equal, and the second derivatives."""
    point = dict(zip(xs, values, strict=True))
    forward = np.array(evaluate(list(jacobian([f], xs)[0]), point), dtype=float)
    np.testing.assert_array_equal(np.array(evaluate(gradient(f, xs), point), dtype=float), forward)
    second = np.array(evaluate(list(hessian(f, xs).flat), point), dtype=float)
    return forward.tolist(), second.reshape(len(xs), len(xs)).tolist()


def test_powers_at_zero_have_their_limits():
    """d x^p/dx = p x^(p-1), d x^p/dp = x^p log x, d2 x^p/dx dp = x^(p-1) (1 + p log x), at x = 0."""
    x, p = sb.symbols("x p")
    for at, first, mixed in (
        (2.0, [0.0, 0.0], 0.0), (1.5, [0.0, 0.0], 0.0), (1.0, [1.0, 0.0], -math.inf), (0.5, [math.inf, 0.0], -math.inf),
    ):  # fmt: skip
        found, second = slopes(x**p, [x, p], [0.0, at])
        assert found == first
        assert second[0][1] == second[1][0] == mixed
        assert second[1][1] == 0.0
    assert slopes(x**p, [x, p], [0.0, 0.0])[0] == [0.0, -math.inf]
    assert evaluate((2**p).diff(p), {p: 3.0}) == pytest.approx(8 * math.log(2), rel=1e-15)
    assert math.isnan(evaluate((sb.maximum(-2, p - 5) ** p).diff(p), {p: 2.0}))  # of a negative base: none
    assert evaluate((x**p).diff(x, p), {x: 2.0, p: 0.0}) == pytest.approx(0.5, rel=1e-15)  # x^(p-1) at p = 0


def test_what_a_choice_makes_zero_is_zero_under_a_root():
    """sqrt(max(x, 0) y) is 0 on a whole half plane."""
    x, y = sb.symbols("x y")
    shifted = sb.select(x > 0, x, 0) * y + sb.minimum(x, 0) * 0 * y
    for f in (sb.sqrt(sb.maximum(x, 0) * y), sb.sqrt(3 * shifted), sb.atan2(sb.maximum(x, 0), sb.maximum(x - y, 0))):
        assert slopes(f, [x, y], [-1.0, 2.0]) == ([0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]])


def test_a_chain_of_nested_choices_keeps_its_size():
    x, y = sb.symbols("x y")
    sizes = []
    for n in (100, 400):
        f = sb.sin(x)
        for k in range(n):
            f = sb.select(x > k, sb.sqrt(x - k) * f, f * y if k % 2 else 0)
        before = len(f.graph)
        reverse = gradient(f, [x, y])
        sizes.append((len(f.graph) - before) / n)
        # behind the last branch: of x > 0 alone
        assert evaluate(reverse, {x: 0.25, y: 1.0})[1] == 0.0
    assert sizes[1] < 1.2 * sizes[0]


def test_branches_inside_of_implicit_blocks():
    """u solves u + select(u > 1, sqrt(p) u, 0) = q: with q < 1 it is q, and p may be negative."""
    u, p, q = sb.symbols("u p q")
    block = sb.solve([u + sb.select(u > 1, sb.sqrt(p) * u, 0) - q], [u], [q])
    f = block.x[0] * q
    for mode in (gradient(f, [p, q]), list(jacobian([f], [p, q])[0])):
        assert evaluate(mode, {p: -2.0, q: 0.5}) == [0.0, 1.0]
        # u (1 + s) = q with s = sqrt(p): f = q^2/(1 + s)
        assert evaluate(mode, {p: 4.0, q: 6.0}) == pytest.approx([-36 / (9 * 4), 12 / 3], rel=1e-12)


def test_a_block_in_a_block_whose_branch_reads_outside():
    """v solves v + select(v > 1, log(p), 0) = u, and u solves u + v = q: both are q/2 below the branch."""
    u, v, p, q = sb.symbols("u v p q")
    inner = sb.solve([v + sb.select(v > 1, sb.log(p), 0) - u], [v], [u])
    f = sb.solve([u + inner.x[0] - q], [u], [q]).x[0]
    for mode in (gradient(f, [p, q]), list(jacobian([f], [p, q])[0])):
        assert evaluate(mode, {p: -2.0, q: 1.0}) == pytest.approx([0.0, 0.5], abs=1e-15)
        assert evaluate(mode, {p: 2.0, q: 8.0}) == pytest.approx([0.25, 0.5], rel=1e-12)  # u = (q + log p)/2


def test_external_and_added_functions_behind_a_branch():
    x, y = sb.symbols("x y")
    wind = sb.External("wind", 1, function=lambda a: a**0.5, derivative=lambda a: [0.5 / sb.sqrt(a)])
    assert slopes(sb.select(x > 0, sb.extern(wind, x) * y, y), [x, y], [-1.0, 3.0])[0] == [0.0, 1.0]
    ramp = add_function(
        Function(
            name="soft_ramp", arity=1, about="x sqrt(x) above 0, else 0.", arrays=lambda a: np.maximum(a, 0) ** 1.5,
            tangent=lambda n, a, d: sb.select(a[0] > 0, 1.5 * sb.sqrt(a[0]) * d[0], 0),
        )
    )  # fmt: skip
    try:
        assert slopes(ramp(sb.select(x < 0, sb.log(-x), y)), [x, y], [2.0, 4.0])[0] == [0.0, 3.0]
        assert slopes(ramp(x) * y, [x, y], [-4.0, 1.0])[0] == [0.0, 0.0]
    finally:
        remove_function("soft_ramp")


def test_systems_and_kernels_agree_behind_a_branch():
    """A Hertz contact as a text, in native code: lanes on both sides of the branch."""
    x = np.array(sb.symbols("q k"))
    law = sb.parse("select(q > 0.1, -k*(q - 0.1)**1.5, 0)", names={"q": x[0], "k": x[1]})
    system = sb.System("law", inputs={"x": x}, outputs={"f": law})
    points = np.array([[-0.3, 2.0], [0.1, 2.0], [0.35, 2.0]])
    rows = np.array([[0.0, 0.0], [0.0, 0.0], [-1.5 * 2.0 * 0.5, -(0.25**1.5)]])
    for derived in (system.gradient("f", "x"), system.jacobian("f", "x")):
        for target in ("native", "python"):
            np.testing.assert_allclose(derived.compile(target)(points), rows, rtol=1e-14)
    second = system.hessian("f", "x").compile()(points)
    np.testing.assert_allclose(second[2], [[-0.75 * 2.0 / 0.5, -0.75], [-0.75, 0.0]], rtol=1e-13)
    assert not second[:2].any()
