"""Every function walks with a stack of its own: an expression nested 10^6 deep works everywhere."""

import json

import pytest

import symbody as sb
from symbody.codegen.c.c_source import emit_c
from symbody.symbolic.expr.derivative import gradient, jacobian
from symbody.symbolic.expr.evaluate import evaluate, transplant
from symbody.symbolic.expr.infix_text import to_assignments, to_text
from symbody.symbolic.expr.latex_form import to_latex
from symbody.symbolic.expr.walk import free_symbols, substitute, topological, uses
from symbody.symbolic.lower.count import count_program
from symbody.symbolic.lower.fuse import fuse_multiply_add
from symbody.symbolic.lower.interpret import interpret
from symbody.symbolic.lower.lowering import lower
from symbody.symbolic.rewrite.cost import cost
from symbody.symbolic.rewrite.presets import optimize
from symbody.symbolic.system.save import fingerprint, from_record, record

DEPTHS = [20_000, pytest.param(500_000, marks=pytest.mark.slow)]  # two nodes a level


def deep(levels):
    """((x y + x) y + x) y + ... with y = 1/2 near its fixed point 2 x."""
    x, y = sb.symbols("x y")
    e = x
    for _ in range(levels):
        e = e * y + x
    return e, x, y


def value_of(node, x, y):
    return float(evaluate(node, {x: 1.0, y: 0.5}))


def check_text(e, x, y):
    assert len(to_text(e, limit=200)) <= 210
    assert len(to_latex(e, limit=200)) <= 400
    assert len(to_assignments([e * e])) >= 1


def check_substitution(e, x, y):
    (swapped,) = substitute([e], {x: y, y: x})
    assert float(evaluate(swapped, {x: 0.5, y: 1.0})) == pytest.approx(2.0)
    assert len(topological([e])) == len(uses([e]))
    assert free_symbols([e]) == [x, y]


def check_transplant(e, x, y):
    with sb.Graph() as other:
        a, b = sb.symbols("a b")
        (moved,) = transplant([e], {x: a, y: b}, other)
        assert value_of(moved, a, b) == pytest.approx(2.0)


def check_derivatives(e, x, y):
    assert value_of(jacobian([e], [x])[0, 0], x, y) == pytest.approx(2.0)
    assert value_of(gradient(e, [x])[0], x, y) == pytest.approx(2.0)


def check_rewriting(e, x, y):
    (smaller,), report = optimize([e], "standard")
    assert report.after.total <= cost([e]).total
    assert value_of(smaller, x, y) == pytest.approx(2.0)


def check_program(e, x, y):
    system = sb.System("deep", inputs={"x": x, "y": y}, outputs={"f": e})
    program = lower(system)
    assert count_program(program).total == cost([e]).total
    assert float(interpret(fuse_multiply_add(program), [1.0, 0.5])["f"]) == pytest.approx(2.0)
    assert sum(len(text) for text in emit_c(program).values()) > 1000


def check_saving(e, x, y):
    system = sb.System("deep", inputs={"x": x, "y": y}, outputs={"f": e})
    back = from_record(json.loads(json.dumps(record(system))), {}, "memory")
    assert fingerprint(back) == fingerprint(system)


CHECKS = [
    check_text,
    check_substitution,
    check_transplant,
    check_derivatives,
    check_rewriting,
    check_program,
    check_saving,
]


@pytest.mark.parametrize("levels", DEPTHS)
@pytest.mark.parametrize("check", CHECKS, ids=[c.__name__ for c in CHECKS])
def test_depth_is_harmless(check, levels):
    with sb.Graph():
        check(*deep(levels))
