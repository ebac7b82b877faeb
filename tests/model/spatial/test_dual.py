"""Dual numbers: the ring, canonical extensions (MEDUSA, Table 1.1 and section 7), dual vectors and matrices."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ExpressionError, ShapeError
from symbody.model.spatial import scalar
from symbody.model.spatial.dual import (
    EPS,
    Dual,
    dual_part,
    extend,
    inverse,
    is_orthogonal,
    join,
    norm,
    parts,
    real,
    translation_of,
)
from symbody.model.spatial.rotations import about_axis
from symbody.model.spatial.stumpff import stumpff
from symbody.symbolic.expr.arrays import cross, dot, matmul

x1, x2 = 0.37, -1.3
x = Dual(x1, x2)


def assert_dual(value: Dual, re: float, du: float) -> None:
    assert real(value) == pytest.approx(re, rel=1e-14)
    assert dual_part(value) == pytest.approx(du, rel=1e-13)


def test_the_ring_has_a_nilpotent_unit():
    assert EPS * EPS == 0
    assert Dual(2, 3) * Dual(5, 7) == Dual(10, 29)
    assert Dual(2, 3) + 1 == Dual(3, 3)
    assert 1 - Dual(2, 3) == Dual(-1, -3)


def test_quotient_and_power():
    y = Dual(2.0, 0.5)
    assert_dual(x / y, x1 / 2, (2 * x2 - x1 * 0.5) / 4)
    assert_dual((x / y) * y, x1, x2)
    assert_dual(x**5, x1**5, 5 * x2 * x1**4)
    assert_dual(1 / x, 1 / x1, -x2 / x1**2)


def test_a_pure_dual_has_no_inverse():
    with pytest.raises(ExpressionError, match="no inverse"):
        1 / EPS


@pytest.mark.parametrize(
    ("name", "re", "slope"),
    [
        ("sin", math.sin(x1), math.cos(x1)),
        ("cos", math.cos(x1), -math.sin(x1)),
        ("asin", math.asin(x1), 1 / math.sqrt(1 - x1**2)),
        ("acos", math.acos(x1), -1 / math.sqrt(1 - x1**2)),
        ("sqrt", math.sqrt(x1), 1 / (2 * math.sqrt(x1))),
        ("tan", math.tan(x1), 1 / math.cos(x1) ** 2),
        ("atan", math.atan(x1), 1 / (1 + x1**2)),
        ("exp", math.exp(x1), math.exp(x1)),
        ("log", math.log(x1), 1 / x1),
    ],
)
def test_canonical_extensions_of_table_1_1(name, re, slope):
    assert_dual(scalar.function(name, x), re, x2 * slope)


def test_extensions_compose():
    """arccos o sin and cos o inverse o arcsin of Table 1.1."""
    value = scalar.acos(scalar.sin(x))
    assert_dual(value, math.acos(math.sin(x1)), -x2 * math.cos(x1) / math.sqrt(1 - math.sin(x1) ** 2))
    a = math.asin(x1)
    slope = math.sin(1 / a) / (a**2 * math.sqrt(1 - x1**2))
    assert_dual(scalar.cos(1 / scalar.asin(x)), math.cos(1 / a), x2 * slope)


def test_extension_of_a_function_given_with_its_derivative():
    """g = exp o arcsin o f o sin + log at pi/4 + eps c (MEDUSA, section 7.)"""
    f, df = (lambda t: t**3 / 2), (lambda t: 3 * t**2 / 2)
    c, at = 0.7, math.pi / 4
    g = scalar.exp(scalar.asin(extend(f, df)(scalar.sin(Dual(at, c))))) + scalar.log(Dual(at, c))
    s, inner = math.sin(at), f(math.sin(at))
    du = math.cos(at) * df(s) * math.exp(math.asin(inner)) / math.sqrt(1 - inner**2) + 4 / math.pi
    assert_dual(g, math.exp(math.asin(inner)) + math.log(at), c * du)


def test_dual_numbers_of_nodes_give_derivatives():
    with sb.Graph():
        t = sb.symbol("t")
        value = scalar.sin(Dual(t, t.graph.one)) / Dual(t, t.graph.one)
        d = sb.evaluate(dual_part(value), {"t": 0.8})
    assert d == pytest.approx((0.8 * math.cos(0.8) - math.sin(0.8)) / 0.8**2, rel=1e-14)


def test_stumpff_functions_agree_with_exact_sums():
    for k in range(7):
        for at in (0.0, 1e-12, 1e-3, 0.3, 0.99, 1.01, 4.0, 30.0):
            exact = sum((-Fraction(at)) ** n / math.factorial(k + 2 * n) for n in range(40))
            assert stumpff(k, at) == pytest.approx(float(exact), rel=3e-14, abs=1e-15)


def test_stumpff_functions_extend_to_dual_numbers():
    for k in range(5):
        for at in (1e-9, 0.5, 3.0):
            h = 1e-30
            step = stumpff(k, complex(at, h)).imag / h
            assert dual_part(stumpff(k, Dual(at, 2.0))) == pytest.approx(2 * step, rel=1e-12)


rng = np.random.default_rng(3)


def random_dual_vector():
    return join(rng.normal(size=3), rng.normal(size=3))


def numbers(a):
    return np.array([np.asarray(p, dtype=float) for p in parts(a)])


def test_dual_vectors_obey_the_identities_of_space():
    u, v, w = (random_dual_vector() for _ in range(3))
    double = cross(cross(u, v), w)
    expected = dot(u, w) * v - dot(v, w) * u
    np.testing.assert_allclose(numbers(double), numbers(expected), atol=1e-13)
    jacobi = cross(u, cross(v, w)) + cross(v, cross(w, u)) + cross(w, cross(u, v))
    np.testing.assert_allclose(numbers(jacobi), 0, atol=1e-13)
    mixed = dot(u, cross(v, w))
    assert_dual(dot(cross(u, v), w), mixed.re, mixed.du)


def test_norm_of_a_dual_vector():
    u = random_dual_vector()
    re, du = numbers(u)
    size = np.linalg.norm(re)
    assert_dual(norm(u), size, re @ du / size)
    assert norm(join([0, 0, 0], [0, 0, 0])) == 0
    with pytest.raises(ExpressionError, match="couple"):
        norm(join([0, 0, 0], [1, 0, 0]))


def test_dual_matrices_invert():
    a = join(rng.normal(size=(3, 3)), rng.normal(size=(3, 3)))
    product = numbers(matmul(a, inverse(a)))
    np.testing.assert_allclose(product[0], np.eye(3), atol=1e-12)
    np.testing.assert_allclose(product[1], 0, atol=1e-12)


def test_orthogonal_dual_matrix_hides_a_translation():
    a = matmul(about_axis("z", Dual(0.4, 0.2)), about_axis("x", Dual(-1.1, 0.7)))
    assert is_orthogonal(a)
    c, s = math.cos(0.4), math.sin(0.4)
    # shift by 0.2 along z, then 0.7 along the x axis that has been turned by 0.4
    np.testing.assert_allclose(np.asarray(translation_of(a), float), [0.7 * c, 0.7 * s, 0.2], atol=1e-15)


def test_dual_rotation_of_the_thesis():
    """RD3(pi/2 + eps c) = [[-eps c, -1, 0], [1, -eps c, 0], [0, 0, 1]] (MEDUSA, section 7)."""
    c = 0.3
    re, du = numbers(about_axis("z", Dual(math.pi / 2, c)))
    np.testing.assert_allclose(re, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    np.testing.assert_allclose(du, [[-c, 0, 0], [0, -c, 0], [0, 0, 0]], atol=1e-15)


def test_parts_of_unequal_shape_are_refused():
    with pytest.raises(ShapeError, match="equal shapes"):
        join([1, 2], [1, 2, 3])
