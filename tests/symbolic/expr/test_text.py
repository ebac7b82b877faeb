"""Text of expressions: readable, with as few parentheses as possible, and bounded."""

from fractions import Fraction

import pytest

from symbody.basics.errors import ExpressionError
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.functions import alias, extern, select, sin, sqrt, table
from symbody.symbolic.expr.graph import Graph, symbols
from symbody.symbolic.expr.infix_text import to_assignments, to_text


@pytest.fixture
def xyz():
    with Graph():
        yield symbols("x y z")


def test_signs_and_fractions_are_readable(xyz):
    x, y, z = xyz
    assert to_text(x - y) == "x - y"
    assert to_text(y - x) == "-(x - y)"
    assert to_text(-x * y) == "-x*y"
    assert to_text(x / y) == "x/y"
    assert to_text(1 / (x * y)) == "1/(x*y)"
    assert to_text(Fraction(3, 2) * x) == "3/2*x"
    assert to_text(x / 2) == "x/2"
    assert to_text(2 * x - 2 * y) == "2*(x - y)"
    assert to_text(x - 2) == "x - 2"
    assert to_text(x + (y + z)) == "x + (y + z)"


def test_powers_and_roots(xyz):
    x, y, _ = xyz
    assert to_text(x**2) == "x**2"
    assert to_text((x + y) ** 2) == "(x + y)**2"
    assert to_text(sqrt(x)) == "sqrt(x)"
    assert to_text(1 / sqrt(x)) == "1/sqrt(x)"
    assert to_text(1 / x**2) == "1/x**2"
    assert to_text(x ** Fraction(1, 3)) == "x**(1/3)"
    assert to_text(2**x) == "2**x"
    assert to_text(x**y) == "x**y"


def test_conditions(xyz):
    x, y, z = xyz
    assert to_text(select((x < y) & (y <= z), x, -y)) == "select(x < y and y <= z, x, -y)"
    assert to_text(~(x < y) | (z > 1)) == "not x < y or 1 < z"


def test_numbers_by_repr(xyz):
    x, _, _ = xyz
    assert to_text(0.1 * x + 1e-7) == "0.1*x + 1e-07"
    assert to_text(x.graph.number(-0.0)) == "-0.0"
    assert to_text(x.graph.number(True)) == "True"


def test_names_that_are_no_words_stand_in_backticks():
    with Graph() as g:
        assert to_text(2 * g.symbol("M[1,2]")) == "2*`M[1,2]`"
        assert to_text(g.symbol("sin")) == "`sin`"
        assert to_text(g.symbol("arm.m1")) == "arm.m1"


def test_stages_and_external_functions_stand_by_name(xyz):
    x, y, _ = xyz
    assert to_text(alias(x + y, "s1") * 2) == "2*s1"
    f = External("force", 2, results=2)
    assert to_text(extern(f, x, y)[1]) == "force(x, y)[1]"
    assert to_text(table(x, [0, 1], [0, 2])) == "piecewise(x, [0.0, 1.0], [0.0], [2.0])"


def test_a_limit_cuts_a_text_that_would_explode(xyz):
    x, y, _ = xyz
    e = x
    for _ in range(300):
        e = e * (e + y)
    text = to_text(e, limit=100)
    assert len(text) == 100
    assert text.endswith("...")
    assert repr(e).endswith("...")


def test_a_text_beyond_all_bounds_is_refused(xyz, monkeypatch):
    import symbody.symbolic.expr.infix_text as module

    monkeypatch.setattr(module, "LONGEST", 1000)
    x, y, _ = xyz
    e = x
    for _ in range(60):
        e = e * (e + y)
    with pytest.raises(ExpressionError, match="to_assignments"):
        to_text(e)
    assert len(to_assignments([e])) == 60


def test_depth_is_harmless(xyz):
    x, y, _ = xyz
    e = x
    for _ in range(200_000):
        e = sin(e) + y
    assert len(to_text(e)) > 1_000_000
    assert len(to_assignments([e])) == 1


def test_assignments_name_what_is_shared(xyz):
    x, y, _ = xyz
    s = x + y
    lines = to_assignments({"f": sin(s) * s - s**2, "g": -sin(s)})
    assert lines == ["t1 = x + y", "t2 = sin(t1)", "f = t1*t2 - t1**2", "g = -t2"]


def test_assignments_keep_the_names_of_stages_and_avoid_taken_ones():
    with Graph():
        t1, y = symbols("t1 y")
        stage = alias(t1 + y, "u")
        product = stage * y
        assert to_assignments([product + sin(product)]) == ["u = t1 + y", "t2 = y*u", "f1 = t2 + sin(t2)"]
