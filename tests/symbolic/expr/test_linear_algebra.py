"""Linear systems: one code for floats, Fractions and Nodes; counts are those of the formulas and below Table 1.3."""

from fractions import Fraction

import numpy as np
import pytest

from symbody.basics.errors import ExpressionError, ShapeError
from symbody.symbolic.expr import linear_algebra as la
from symbody.symbolic.expr.arrays import symbol_array, symbol_matrix, vector
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.graph import Graph, symbols
from symbody.symbolic.expr.node import Node
from symbody.symbolic.rewrite.cost import cost

ORDERS = ("natural", "from_last", "minimum_degree")
# robotran, Table 1.3: factorisation and solution of a full system
TABLE = {5: 113, 10: 628, 20: 3858, 50: 49148, 100: 363298}


def ldlt_count(n):
    """Operations of `solve_ldlt` for a full symmetric matrix and one right-hand side.

    With m = n - 1 .. 0 rows below the pivot, each step costs 1 division, m products for l, m (m + 1) for the rest of A,
    2 m for the right-hand side, 2 m + 1 for the back substitution; the last division takes its numerator along.
    """
    return n * (n - 1) * (2 * n - 1) // 6 + 3 * n * (n - 1) + 2 * n - 1


COUNTS = {la.solve_ldlt: ldlt_count, la.solve_lu: la.lu_count}


@pytest.fixture(autouse=True)
def graph():
    with Graph() as g:
        yield g


def tree_matrix(parents, rng):
    """A positive definite matrix with the zeros of the mass matrix of a tree: i, j related only along one branch."""
    n = len(parents)
    path = [{i} for i in range(n)]
    for i, p in enumerate(parents):
        if p >= 0:
            path[i] |= path[p]
    keep = np.array([[i in path[j] or j in path[i] for j in range(n)] for i in range(n)])
    a = rng.normal(size=(n, n))
    return np.where(keep, a + a.T, 0.0) + 4 * n * np.eye(n)


def symbolic_like(a, name="a", symmetric=True):
    """Symbols in the places where a is not zero, and their values."""
    s = symbol_matrix(name, len(a), symmetric=symmetric)
    values = {v: a[i, j] for (i, j), v in np.ndenumerate(s) if a[i, j] != 0}
    s[a == 0] = 0
    return s, values


def evaluated(array, values):
    return np.array([float(evaluate(v, values)) if isinstance(v, Node) else float(v) for v in array.flat]).reshape(
        array.shape
    )


@pytest.mark.parametrize("solve", [la.solve_ldlt, la.solve_lu])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 20])
def test_full_systems_cost_what_the_formula_says(solve, n):
    a = symbol_matrix("a", n, symmetric=solve is not la.solve_lu)
    spent = cost(list(solve(a, symbol_array("b", n))))
    assert spent.total + spent.other == COUNTS[solve](n)
    assert spent.div == n
    if solve is la.solve_ldlt and n in TABLE:
        assert spent.total + spent.other <= TABLE[n]


@pytest.mark.parametrize("n", [50, 100])
def test_large_full_systems_cost_what_the_formula_says(n):
    spent = cost(list(la.solve_ldlt(symbol_matrix("a", n, symmetric=True), symbol_array("b", n))))
    assert spent.total + spent.other == ldlt_count(n) <= TABLE[n]


@pytest.mark.parametrize("order", ORDERS)
def test_symmetric_solution_over_floats_nodes_and_fractions(order):
    rng = np.random.default_rng(1)
    a = tree_matrix([-1, 0, 1, 1, 3, 0], rng)
    b = rng.normal(size=6)
    x = la.solve_ldlt(a, b, order)
    assert np.allclose(a @ x, b, rtol=1e-12)
    s, values = symbolic_like(a)
    y = la.solve_ldlt(s, vector(list(b)), order)
    assert np.allclose(evaluated(y, values), x, rtol=1e-12)
    many = la.solve_ldlt(a, rng.normal(size=(6, 3)), order)
    assert many.shape == (6, 3)
    exact = [[Fraction(int(10 * v)) for v in row] for row in a]
    z = la.solve_ldlt(exact, [1, 0, 0, 2, 0, Fraction(1, 3)], order)
    back = [sum(exact[max(i, j)][min(i, j)] * z[j] for j in range(6)) for i in range(6)]
    assert back == [1, 0, 0, 2, 0, Fraction(1, 3)]


@pytest.mark.parametrize("order", ORDERS)
def test_factors_multiply_to_the_matrix(order):
    a = tree_matrix([-1, 0, 1, 1, 3, 0], np.random.default_rng(2))
    made = la.ldlt(a, order)
    p = list(made.order)
    l = np.eye(len(a))
    for k, column in enumerate(made.lower):
        for row, value in column.items():
            l[p.index(row), k] = value
    assert np.allclose(l @ np.diag(np.array(made.pivots, dtype=float)) @ l.T, a[np.ix_(p, p)])


def test_elimination_from_the_last_makes_no_fill_in_a_tree():
    rng = np.random.default_rng(4)
    parents = [-1, *(int(rng.integers(0, k)) for k in range(1, 20))]
    s, _ = symbolic_like(tree_matrix(parents, rng))
    below = sum(1 for i in range(20) for j in range(i) if isinstance(s[i, j], Node))
    entries = {order: sum(map(len, la.ldlt(s, order).lower)) for order in ORDERS}
    assert entries["from_last"] == below
    assert entries["natural"] > below
    assert entries["minimum_degree"] <= entries["natural"]


def test_structural_zeros_make_no_operations():
    a, b, c, d = symbols("a b c d")
    x = la.solve_ldlt([[a, 0], [0, b]], [c, d])
    assert x[0] is c / a
    assert x[1] is d / b
    assert la.solve_lu([[0, a], [1, 0]], [c, 0]).tolist() == [0, c / a]


def test_a_zero_pivot_is_refused_by_row_before_anything_is_made(graph):
    a, b = symbols("a b")
    before = graph.size
    with pytest.raises(ExpressionError, match="row 0, column 0 is structurally zero at step 1"):
        la.ldlt([[0, a], [a, b]])
    with pytest.raises(ExpressionError, match=r"structurally zero in all rows that are left: \[0, 1\]"):
        la.ldlt([[0, a], [a, 0]], "minimum_degree")
    with pytest.raises(ExpressionError, match="row 1, column 1 is structurally zero at step 2 of 2"):
        la.lu([[a, b], [0, 0]], "natural")
    with pytest.raises(ExpressionError, match=r"nothing but zeros is left in rows \[1\], columns \[1\]"):
        la.lu([[a, b], [0, 0]])
    assert graph.size == before
    assert la.solve_ldlt([[0, a], [a, b]], [1, 2], "minimum_degree")[0] is not None


def test_a_pivot_that_cancels_is_avoided_or_named():
    x, y, z, w, v = symbols("x y z w v")
    matrix = [[1, 1, x], [1, 1, y], [z, w, v]]
    with pytest.raises(ExpressionError, match="row 1, column 1 cancels exactly at step 2"):
        la.lu(matrix, "natural")
    values = {x: 0.3, y: 1.7, z: -0.4, w: 2.0, v: 0.9}
    b = np.array([1.0, 2.0, 3.0])
    got = evaluated(la.solve_lu(matrix, b), values)
    numeric = evaluated(np.array(matrix, dtype=object), values)
    assert np.allclose(numeric @ got, b)
    with pytest.raises(ExpressionError, match="cancels exactly"):
        la.ldlt([[x, x], [x, x]])


@pytest.mark.parametrize("seed", range(12))
def test_lu_of_sparse_matrices_over_floats_and_nodes(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    a = np.where(rng.random((n, n)) < 0.4, rng.normal(size=(n, n)), 0.0)
    a[np.arange(n), rng.permutation(n)] = rng.uniform(1, 2, size=n)  # structurally regular
    if np.linalg.cond(a) > 1e8:
        a += np.eye(n)
    b = rng.normal(size=(n, 2))
    x = la.solve_lu(a, b, sample=a)
    assert np.allclose(a @ x, b, atol=1e-9)
    s, values = symbolic_like(a, symmetric=False)
    factors = la.lu(s, sample=np.stack([a, a * 1.1]))
    assert np.allclose(a @ evaluated(la.solve_lu(factors, b), values), b, atol=1e-8)
    again = la.lu(a, pivots=factors.pivots)
    assert again.pivots == factors.pivots


def test_samples_keep_small_numbers_from_being_pivots():
    a, b, c, d = symbols("a b c d")
    sample = np.array([[1e-9, 1.0], [1.0, 1.0]])
    assert la.lu([[a, b], [c, d]]).pivots[0] == (0, 0)
    assert la.lu([[a, b], [c, d]], sample=sample).pivots[0] != (0, 0)


def test_pivots_are_chosen_for_little_fill():
    n = 8
    arrow = np.eye(n) * 3.0
    arrow[0, :] = arrow[:, 0] = 1.0
    arrow[0, 0] = 20.0
    s, _ = symbolic_like(arrow)
    filled = sum(len(step.lower) + len(step.upper) for step in la.lu(s, "natural").steps)
    kept = sum(len(step.lower) + len(step.upper) for step in la.lu(s).steps)
    assert kept == 2 * (n - 1)
    assert filled == n * (n - 1)
    b = symbol_array("b", n)
    assert cost(list(la.solve_ldlt(s, b, "minimum_degree"))).total < cost(list(la.solve_ldlt(s, b))).total


def test_closed_forms_agree_with_numpy_and_cost_what_they_say():
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(3, 3)), rng.normal(size=3)
    assert np.allclose(la.inverse_3x3(a) @ a, np.eye(3))
    assert np.allclose(a @ la.solve_3x3(a, b), b)
    assert np.allclose(a[:2, :2] @ la.solve_2x2(a[:2, :2], b[:2]), b[:2])
    assert la.determinant_3x3(a) == pytest.approx(np.linalg.det(a))
    assert la.determinant_2x2(a[:2, :2]) == pytest.approx(np.linalg.det(a[:2, :2]))
    m, r = symbol_matrix("m", 3), symbol_array("r", 3)
    assert cost([la.determinant_3x3(m)]).total == 14
    assert cost(list(la.inverse_3x3(m).flat)).total == 42
    assert cost(list(la.solve_3x3(m, r))).total == 42
    assert cost(list(la.solve_2x2(m[:2, :2], r[:2]))).total == 12
    with pytest.raises(ExpressionError, match="structurally zero"):
        la.inverse_3x3([[1, 2, 3], [2, 4, 6], [0, 0, 1]])


def test_shapes_and_orders_are_checked():
    with pytest.raises(ShapeError, match=r"shape \(2, 3\); expected a square"):
        la.ldlt([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(ShapeError, match=r"shape \(3,\)"):
        la.solve_ldlt([[1, 0], [0, 1]], [1, 2, 3])
    with pytest.raises(ExpressionError, match="expected 'natural'"):
        la.ldlt([[1]], "backwards")
    with pytest.raises(ExpressionError, match=r"each row number 0 \.\. 1 once"):
        la.ldlt([[1, 0], [0, 1]], [0, 0])
    with pytest.raises(ExpressionError, match="each row and each column"):
        la.lu([[1, 0], [0, 1]], [(0, 0), (1, 0)])
