"""Vectors and tensors as mathematics, held against NumPy on fractions; an exact 0 or 1 makes no operation."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest

import symbody as sb
from symbody.mechanics.formalisms.vec3 import (
    OTHERS,
    ZERO,
    Mat,
    Vec,
    axis_vector,
    columns_matrix,
    cross,
    dot,
    mat,
    rotate,
    rotate_tensor,
    skew,
    turn_tensor,
    unit_matrix,
    vec,
)  # fmt: skip
from symbody.symbolic.expr.fork import carried, fork


def numbers(*shape):
    rng = np.random.default_rng(len(shape))
    flat = [Fraction(int(a), int(b)) for a, b in zip(rng.integers(-9, 9, 27), rng.integers(1, 9, 27))]
    return np.array(flat[: int(np.prod(shape))], dtype=object).reshape(shape)


def test_operators_are_those_of_linear_algebra():
    (a, b), (m, n), k = numbers(2, 3), numbers(2, 3, 3), Fraction(2, 7)
    u, v, p, q = vec(a), vec(b), mat(m), mat(n)
    pairs = [
        (u + v, a + b), (u - v, a - b), (-u, -a), (k * u, k * a), (np.float64(2) * u, 2 * a),
        (p @ u, m @ a), (p.T @ u, a @ m), (p @ q, m @ n), (p + q, m + n), (p - q, m - n), (-p, -m), (p.T, m.T),
        (cross(u, v), np.cross(a, b)), (skew(u) @ v, np.cross(a, b)), (columns_matrix(p), m.T),
        (turn_tensor(p, q, symmetric=False), m @ n @ m.T), (turn_tensor(p, q + q.T), m @ (n + n.T) @ m.T),
    ]  # fmt: skip
    for found, expected in pairs:
        assert isinstance(found, Vec if expected.ndim == 1 else Mat)
        assert all(isinstance(row, Vec) for row in found if expected.ndim == 2)
        assert np.array_equal(np.array(found, dtype=object), expected)
    assert dot(u, v) == a @ b
    assert unit_matrix() == mat(np.eye(3, dtype=int))


@pytest.mark.parametrize("axis", range(3))
def test_elementary_rotations_are_products_with_a_matrix(axis):
    i, j = OTHERS[axis]
    c, s = Fraction(3, 5), Fraction(4, 5)
    r = np.eye(3, dtype=int).astype(object)
    r[i, i] = r[j, j] = c
    r[j, i], r[i, j] = s, -s
    a, n = numbers(3), numbers(3, 3)
    assert np.array_equal(np.array(rotate(axis, c, s, vec(a)), dtype=object), r @ a)
    for t, symmetric in ((n, False), (n + n.T, True)):
        found = rotate_tensor(axis, c, s, mat(t), symmetric)
        assert np.array_equal(np.array(found, dtype=object), r @ t @ r.T)


def test_exact_zeros_and_ones_make_no_operation():
    with sb.Graph() as graph:
        x, y, z = sb.symbols("x y z")
        v, before = Vec((x, y, z)), graph.size
        assert v + ZERO == ZERO + v == v - ZERO == 1 * v == unit_matrix() @ v == v
        assert x * axis_vector(1, 1) == (0, x, 0)
        assert 0 * v == ZERO
        assert dot(v, axis_vector(2, 1)) is z
        assert cross(v, ZERO) == ZERO
        assert graph.size == before
        assert cross(axis_vector(0, 1), v) == (0, -z, y)


def test_what_joins_or_repeats_tuples_is_refused():
    u, m, plain = vec((1, 2, 3)), unit_matrix(), (1, 2, 3)
    for make in (
        lambda: plain + u, lambda: plain - u, lambda: u * 2, lambda: 2 * m, lambda: m * 2, lambda: plain + m,
    ):  # fmt: skip
        with pytest.raises(TypeError):
            make()


def test_a_vector_survives_a_pickle_and_a_copy_of_its_graph():
    u = vec((1, Fraction(1, 3), 2.5))
    back = pickle.loads(pickle.dumps(u))
    assert back == u
    assert type(back) is Vec
    with sb.Graph() as graph:
        x, y = sb.symbols("x y")
    other, made = fork(graph)
    again = carried(Vec((x, y, 1)), made, {})
    assert type(again) is Vec
    assert again == (made[x], made[y], 1)
    assert again[0].graph is other
