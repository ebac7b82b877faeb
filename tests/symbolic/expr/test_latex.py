"""LaTeX of expressions."""

import pytest

from helpers.random_nodes import random_nodes
from symbody.symbolic.expr.arithmetic import add_all
from symbody.symbolic.expr.functions import sin
from symbody.symbolic.expr.graph import Graph, symbols
from symbody.symbolic.expr.latex_form import latex_name, to_latex
from symbody.symbolic.expr.parse import parse


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("m1", "m_{1}"),
        ("q_1", "q_{1}"),
        ("qd1", r"\dot{q}_{1}"),
        ("qdd12", r"\ddot{q}_{12}"),
        ("theta", r"\theta"),
        ("thetad2", r"\dot{\theta}_{2}"),
        ("omega_x", r"\omega_{x}"),
        ("lam1", r"\lambda_{1}"),
        ("mass2", r"\mathrm{mass}_{2}"),
        ("Ixx3", "I_{xx, 3}"),
        ("50 %", r"\mathrm{50 \%}"),
    ],
)
def test_names(name, expected):
    assert latex_name(name) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x/y", r"\frac{x}{y}"),
        ("3/2*x", r"\frac{3\,x}{2}"),
        ("-x*y/2", r"-\frac{x\,y}{2}"),
        ("(x + y)/(x - y)", r"\frac{x + y}{x - y}"),
        ("1/x/y**2", r"\frac{1}{x\,y^{2}}"),
        ("sqrt(x) + x**(1/3)", r"\sqrt{x} + \sqrt[3]{x}"),
        ("sin(x)**2", r"\sin^{2}\left(x\right)"),
        ("(x + y)**2", r"\left(x + y\right)^{2}"),
        ("x**y", "x^{y}"),
        ("exp(-x)", "e^{-x}"),
        ("1e-7*x", r"1 \cdot 10^{-7}\,x"),
        ("abs(x)", r"\left|x\right|"),
        ("select(x < y, x, -y)", r"\begin{cases} x & \text{if } x < y \\ -y & \text{otherwise} \end{cases}"),
    ],
)
def test_expressions(text, expected):
    with Graph():
        assert to_latex(parse(text)) == expected


def balanced(text):
    depth = 0
    for k, c in enumerate(text):
        if c in "{}" and text[k - 1 : k] != "\\":
            depth += 1 if c == "{" else -1
            assert depth >= 0
    return depth == 0 and text.count(r"\left") - text.count(r"\right") == 0


@pytest.mark.parametrize("seed", range(30))
def test_braces_are_balanced_for_every_operation_and_limit(seed):
    with Graph() as g:
        for node in random_nodes(seed, g):
            assert balanced(to_latex(node, limit=40))
            assert balanced(to_latex(node))


def test_long_expressions_end_in_dots():
    with Graph() as g:
        x, y = symbols("x y")
        e = x
        for _ in range(300):
            e = e * (e + y)
        text = to_latex(e, limit=500)
        assert balanced(text)
        assert r"\ldots" in text
        assert len(text) < 2000
        wide = add_all(symbols("x1:100000"), g)
        assert to_latex(wide, limit=20) == r"x_{1} + x_{2} + x_{3} + \ldots"
        for _ in range(100_000):
            e = sin(e) + y
        assert len(to_latex(e)) < 20_000
