"""The bridge to SymPy: values and structure survive the way there and back."""

import math
import random

import numpy as np
import pytest

from helpers.random_nodes import random_nodes
from symbody.basics.errors import ExpressionError, SymbodyError
from symbody.codegen.interop import peers
from symbody.codegen.interop.sympy_bridge import from_sympy, to_sympy
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.functions import alias, cos, extern, select, sin, sqrt, table
from symbody.symbolic.expr.graph import Graph, symbols
from symbody.symbolic.expr.walk import free_symbols

sympy = pytest.importorskip("sympy")

# SymPy decides some of the others exactly where floats cannot (mod, floor of a rounded value)
SMOOTH = (
    "exp", "sin", "cos", "atan", "tanh", "asinh", "sinh", "abs", "min", "max", "atan2", "hypot", "lt", "le", "and",
    "or", "not", "select", "sign",
)  # fmt: skip


@pytest.fixture(autouse=True)
def graph():
    with Graph() as g:
        yield g


def close(a, b):
    return a == pytest.approx(b, rel=1e-9, abs=1e-9) or (math.isnan(a) and math.isnan(b))


@pytest.mark.parametrize("seed", range(12))
def test_values_survive_both_ways(graph, seed):
    rng = random.Random(seed)
    checked = 0
    for node in random_nodes(seed, graph, size=14, functions=SMOOTH):
        values = {s: rng.uniform(0.3, 1.2) for s in free_symbols([node])}
        expected = float(evaluate(node, values))
        if not math.isfinite(expected) or abs(expected) > 1e6:
            continue
        back = from_sympy(to_sympy(node))
        assert close(float(evaluate(back, values)), expected)
        checked += 1
    assert checked > 8


def test_structure_of_common_forms():
    x, y, z = symbols("x y z")
    X, Y, Z = sympy.symbols("x y z")
    assert to_sympy(x * sin(y) / z - sqrt(x) / 2) == X * sympy.sin(Y) / Z - sympy.sqrt(X) / 2
    assert to_sympy(select(x < y, x, z)) == sympy.Piecewise((X, X < Y), (Z, True))
    for node in (x * y * 2, x - y, x / y, x**2, sqrt(x), sin(x + y), 2**x, select((x < y) & (y <= z), x, -y)):
        assert from_sympy(to_sympy(node)) is node
    assert to_sympy(alias(x + y, "s")) == X + Y
    assert to_sympy((x < y) * 2) == 2 * sympy.Piecewise((1, X < Y), (0, True))


def test_numbers_stay_exact():
    assert from_sympy(sympy.Rational(2, 3)).data.denominator == 3
    assert from_sympy(sympy.Integer(5)).data.__class__ is int
    assert from_sympy(sympy.Float(0.1)).data == 0.1
    assert from_sympy(sympy.pi).data == math.pi
    assert from_sympy(sympy.true).data is True


def test_other_functions_of_sympy():
    x = symbols("x")
    X = sympy.Symbol("x")
    for e in (sympy.cot(X), sympy.sec(X), sympy.exp(X), sympy.E**X, sympy.Max(X, 1, 2), sympy.Mod(X, 2), X > 1, X >= 1):
        number = sympy.Piecewise((1, e), (0, True)) if e.is_Relational else e
        assert float(evaluate(from_sympy(e), {x: 0.7})) == pytest.approx(float(number.subs(X, 0.7)))


def test_dynamic_symbols_are_named_by_the_caller():
    q, qd = symbols("q qd")
    t = sympy.Symbol("t")
    Q = sympy.Function("q")(t)
    assert from_sympy(Q.diff(t) * sympy.sin(Q), names={Q: q, Q.diff(t): qd}) is qd * sin(q)
    with pytest.raises(ExpressionError, match=r"q\(t\) is a q, which has no counterpart"):
        from_sympy(Q)


def test_matrices():
    x, y = symbols("x y")
    m = to_sympy(np.array([[x, 0], [1, y]], dtype=object))
    assert m.shape == (2, 2)
    back = from_sympy(m)
    assert back[0, 0] is x
    assert back[0, 1].data == 0


def test_tables_become_pieces():
    x = symbols("x")
    node = table(x, [0, 1, 3], [0, 2, -1], "cubic")
    e = to_sympy(node)
    for value in (-0.5, 0.5, 1.0, 2.0, 4.0):
        assert float(e.subs("x", value)) == pytest.approx(float(evaluate(node, {x: value})))


def test_what_sympy_lacks_is_refused_by_name():
    x = symbols("x")
    node = extern(External("force", 1), x)
    with pytest.raises(ExpressionError, match="'extern'"):
        to_sympy(node + 1)
    F = sympy.Symbol("F")
    assert to_sympy(node + 1, symbols={node: F}) == F + 1
    with pytest.raises(ExpressionError, match="besselj"):
        from_sympy(sympy.besselj(1, sympy.Symbol("x")))
    with pytest.raises(ExpressionError, match="last piece"):
        from_sympy(sympy.Piecewise((1, sympy.Symbol("x") < 0)))


def test_a_missing_package_is_named(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(peers, "import_module", missing)
    with pytest.raises(SymbodyError, match=r"SymPy is needed.*pip install symbody\[peers\]"):
        to_sympy(symbols("x"))


def test_sympy_takes_expressions_as_they_are():
    x = symbols("x")
    assert sympy.simplify(sin(x) ** 2 + cos(x) ** 2) == 1
    assert sympy.Symbol("a") * x == sympy.Symbol("a") * sympy.Symbol("x") == x * sympy.Symbol("a")
