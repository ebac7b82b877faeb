"""Arrays of any scalar: the float run is the oracle of the symbolic one, zeros and ones make no operations."""

from fractions import Fraction

import numpy as np
import pytest

from symbody.basics.errors import ExpressionError, ShapeError
from symbody.symbolic.expr import arrays as ar
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.functions import cos
from symbody.symbolic.expr.graph import Graph, symbols
from symbody.symbolic.expr.node import Node
from symbody.symbolic.rewrite.cost import cost

ROTATIONS = (ar.rotation_x, ar.rotation_y, ar.rotation_z)


@pytest.fixture(autouse=True)
def graph():
    with Graph() as g:
        yield g


def numbers(array, values):
    array = np.asarray(array, dtype=object)
    flat = [float(evaluate(v, values)) if isinstance(v, Node) else float(v) for v in array.flat]
    return np.array(flat).reshape(array.shape)


def test_symbols_are_named_by_their_place():
    assert [s.name for s in ar.symbol_array("q", 3, role="coordinate")] == ["q1", "q2", "q3"]
    assert ar.symbol_matrix("M", 2)[0, 1].name == "M12"
    assert ar.symbol_matrix("M", 10, 11)[0, 10].name == "M1_11"
    s = ar.symbol_matrix("S", 3, symmetric=True)
    assert s[2, 0] is s[0, 2]


def test_floats_stay_float_arrays_and_integers_stay_exact():
    assert ar.vector(1.0, 2).dtype == float
    assert ar.vector(1, Fraction(1, 2)).dtype == object
    assert ar.matmul(ar.identity(3), ar.vector(1, 2, 3)).tolist() == [1, 2, 3]
    assert ar.rotation_x(0.3).dtype == float


@pytest.mark.parametrize("name", ["matmul", "dot", "cross", "outer", "skew"])
def test_symbolic_run_agrees_with_the_float_run(name):
    rng = np.random.default_rng(3)
    a, b = ar.symbol_array("a", 3), ar.symbol_array("b", 3)
    if name == "matmul":
        a = ar.symbol_matrix("A", 3)
    values = {s: rng.normal() for s in [*a.flat, *b.flat]}
    function = getattr(ar, name)
    args = (a,) if name == "skew" else (a, b)
    got = numbers(function(*args), values)
    expected = function(*(numbers(x, values) for x in args))
    assert np.allclose(got, expected, rtol=1e-14)


def test_products_agree_with_numpy():
    rng = np.random.default_rng(0)
    a, b, v = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
    mixed = a.astype(object)
    assert np.allclose(ar.matmul(mixed, b, v).astype(float), a @ b @ v)
    assert np.allclose(ar.matmul(v, mixed).astype(float), v @ a)
    assert ar.matmul(v.astype(object), v) == pytest.approx(v @ v)
    assert np.allclose(ar.cross(v, a[0]), np.cross(v, a[0]))
    assert np.allclose(ar.skew(v) @ b[0], np.cross(v, b[0]))
    assert np.allclose(ar.unskew(ar.skew(v)), v)
    assert np.allclose(ar.outer(v, a[0]), np.outer(v, a[0]))
    assert ar.norm_squared(v) == pytest.approx(v @ v)
    assert np.allclose(ar.transpose(a), a.T)


def test_zeros_and_ones_make_no_operations():
    x, y = symbols("x y")
    a = ar.matrix([[1, 0, x], [0, 1, 0], [0, 0, 1]])
    b = ar.matrix([[1, 0, y], [0, 1, 0], [0, 0, 1]])
    product = ar.matmul(a, b)
    assert product[0, 2] is x + y
    assert product[1].tolist() == [0, 1, 0]
    assert ar.dot([0, x, 0], [y, 1, 0]) is x
    assert ar.cross([1, 0, 0], [0, x, 0]).tolist() == [0, 0, x]


def test_elementary_rotations_turn_the_next_axis_toward_the_one_after_it():
    for axis, rotation in enumerate(ROTATIONS):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        r = rotation(0.3)
        unit = np.eye(3)
        assert np.allclose(r @ unit[axis], unit[axis])
        assert np.allclose(r @ unit[i], np.cos(0.3) * unit[i] + np.sin(0.3) * unit[j])
        assert np.allclose(r @ r.T, unit)
        assert rotation(0).tolist() == ar.identity(3).tolist()


def test_rotations_about_one_axis_add_their_angles():
    a, b = symbols("a b")
    product = ar.matmul(ar.rotation_z(a), ar.rotation_z(b))
    assert product[0, 0] is cos(a + b)
    assert product[2].tolist() == [0, 0, 1]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rotated_vector_and_tensor_agree_with_matrix_products(axis):
    rng = np.random.default_rng(axis)
    r = ROTATIONS[axis](0.7)
    c, s = np.cos(0.7), np.sin(0.7)
    v, t = rng.normal(size=3), rng.normal(size=(3, 3))
    t = t + t.T
    assert np.allclose(ar.rotate_vector(axis, c, s, v), r @ v)
    assert np.allclose(ar.rotate_symmetric(axis, c, s, t), r @ t @ r.T)


def test_the_rotated_tensor_costs_ten_operations_a_block():
    c, s, xx, xy, yy = symbols("c s xx xy yy")
    assert cost(ar.rotate_plane_symmetric(c, s, xx, xy, yy)).total == 10
    tensor = ar.symbol_matrix("I", 3, symmetric=True)
    assert cost(list(ar.rotate_symmetric(2, c, s, tensor).flat)).total == 16
    assert cost(ar.rotate_plane(c, s, xx, yy)).total == 6


def test_shapes_are_checked():
    with pytest.raises(ShapeError, match="unequal length"):
        ar.matrix([[1, 2], [3]])
    with pytest.raises(ShapeError, match="length 2 and 3"):
        ar.dot([1, 2], [1, 2, 3])
    with pytest.raises(ShapeError, match="inner sizes"):
        ar.matmul(ar.zeros(2, 3), ar.zeros(2, 3))
    with pytest.raises(ShapeError, match="expected 3"):
        ar.skew([1, 2])
    with pytest.raises(ExpressionError, match="expected 0, 1 or 2"):
        ar.rotate_vector(3, 1, 0, [1, 2, 3])
