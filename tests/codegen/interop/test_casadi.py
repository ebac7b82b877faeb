"""The bridge to CasADi: values survive the way there and back."""

import math
import random

import numpy as np
import pytest

import symbody as sb
from helpers.random_nodes import ARITY, random_nodes
from symbody.basics.errors import ExpressionError, ShapeError
from symbody.codegen.interop.casadi_bridge import casadi_function, from_casadi, to_casadi
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.external import External
from symbody.symbolic.expr.functions import alias, extern, sin, table
from symbody.symbolic.expr.graph import Graph, symbols
from symbody.symbolic.expr.walk import free_symbols

casadi = pytest.importorskip("casadi")


@pytest.fixture(autouse=True)
def graph():
    with Graph() as g:
        yield g


@pytest.mark.parametrize("seed", range(20))
def test_values_survive_both_ways(graph, seed):
    rng = random.Random(seed)
    # mod of a rounded quotient may fall on the other side of a whole number
    nodes = random_nodes(seed, graph, functions=tuple(n for n in ARITY if n != "mod"))
    xs = free_symbols(nodes)
    point = [rng.uniform(0.3, 1.2) for _ in xs]
    expected = evaluate(nodes, dict(zip(xs, point)))
    f = casadi_function("f", nodes, xs)
    got = np.array(f(point)).ravel()
    (back,) = from_casadi(f, [np.array(xs, dtype=object)])
    again = evaluate(list(back[:, 0]), dict(zip(xs, point)))
    checked = 0
    for e, g, a in zip(expected, got, again):
        if math.isfinite(float(e)) and abs(float(e)) < 1e6:
            assert g == pytest.approx(float(e), rel=1e-9, abs=1e-9)
            assert float(a) == pytest.approx(float(e), rel=1e-9, abs=1e-9)
            checked += 1
    assert checked > 20


@pytest.mark.parametrize("values", [(5.5, 2.0), (-5.5, 2.0), (5.5, -2.0), (-5.5, -2.0)])
def test_remainders_keep_their_signs(values):
    x, y = symbols("x y")
    f = casadi_function("f", [call("mod", x, y)], [x, y])
    assert float(f(list(values))) == pytest.approx(values[0] % values[1])
    X, Y = casadi.SX.sym("x"), casadi.SX.sym("y")
    back = from_casadi(casadi.fmod(X, Y))[0, 0]
    assert float(evaluate(back, {x: values[0], y: values[1]})) == pytest.approx(math.fmod(*values))


def test_an_sx_is_read_by_the_names_of_its_symbols():
    x, y = symbols("x y")
    X, Y = casadi.SX.sym("x"), casadi.SX.sym("y")
    made = from_casadi(casadi.vertcat(X * casadi.sin(Y), X - 2))
    assert made.shape == (2, 1)
    assert made[0, 0] is x * sin(y)
    assert made[1, 0] is x - 2
    assert from_casadi(X + 1, {"x": y})[0, 0] is y + 1


def test_a_function_of_mx_is_expanded():
    A, b = casadi.MX.sym("A", 2, 2), casadi.MX.sym("b", 2)
    f = casadi.Function("f", [A, b], [A @ b, casadi.norm_2(b) ** 2], ["A", "b"], ["y", "n"])
    y, n = from_casadi(f)
    a = {s.name: s for s in free_symbols(list(y.flat))}
    assert list(a) == ["A1", "A2", "A3", "A4", "b1", "b2"]
    values = dict(zip(a, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    expected = f(np.array([[1.0, 3.0], [2.0, 4.0]]), [5.0, 6.0])
    assert np.allclose([float(evaluate(v, values)) for v in y.flat], np.array(expected[0]).ravel())
    assert float(evaluate(n[0, 0], values)) == pytest.approx(61.0)


def test_sparse_inputs_and_outputs():
    X = casadi.SX.sym("X", casadi.Sparsity.diag(2))
    f = casadi.Function("f", [X], [2 * X])
    a, b = symbols("a b")
    (made,) = from_casadi(f, [np.array([[a, 0], [0, b]], dtype=object)])
    assert made[0, 0] is 2 * a
    assert made[1, 1] is 2 * b
    assert made[0, 1].data == 0


def test_given_symbols_are_used_and_stages_opened():
    x, y = symbols("x y")
    X = casadi.SX.sym("X")
    made = to_casadi([alias(x + y, "s"), x * 2], {x: X})
    assert {v.name() for v in casadi.symvar(made[0])} == {"X", "y"}
    assert casadi.symvar(to_casadi(x))[0].name() == "x"


def test_what_casadi_lacks_is_refused_by_name():
    x = symbols("x")
    with pytest.raises(ExpressionError, match="'table'"):
        to_casadi(table(x, [0, 1], [0, 1]))
    with pytest.raises(ExpressionError, match="'extern'"):
        to_casadi(extern(External("force", 1), x))
    with pytest.raises(ExpressionError, match="OP_ERF"):
        from_casadi(casadi.erf(casadi.SX.sym("x")))
    with pytest.raises(ExpressionError, match="expected an SX"):
        from_casadi(casadi.MX.sym("x"))
    with pytest.raises(ShapeError, match="1 inputs; 2 arrays"):
        from_casadi(casadi_function("f", [x], [x]), [[x], [x]])


def test_a_system_is_a_function_with_its_names_and_defaults():
    """CasADi's own virtual machine against the compiled program; M is symmetric only if rows and columns are right."""
    arm = sb.load("pendulum2")
    program = sb.semi_explicit(arm)
    f = to_casadi(program)
    assert (f.name_in(), f.name_out()) == (["q", "qd", *program.parameters], ["M", "c"])
    q, qd = [0.3, -0.8], [1.1, 0.4]
    made, expected = f(q=q, qd=qd, m2=1.7), program.compile()(q, qd, parameters={"m2": 1.7})
    assert np.allclose(np.array(made["M"]), expected.M, rtol=1e-14)
    assert np.allclose(np.array(made["c"]).ravel(), expected.c, rtol=1e-13)
    seen = sb.kinematics(sb.load("ur5"), "wrist_3", order=2)
    q = np.linspace(-1, 1, 6)
    jacobian = np.array(to_casadi(seen)(q=q, qd=q)["Jd_wrist_3"])
    assert np.allclose(jacobian, seen.compile()(q, q, 0 * q)["Jd_wrist_3"], atol=1e-13)


def test_names_of_a_function_are_those_that_casadi_takes():
    a, b, c = symbols("a b c")
    system = sb.System("_odd__name", inputs={"a.b": a, "a_b": b}, parameters={"_k__": c}, outputs={"y.x": a * b + c})
    f = to_casadi(system)
    assert (f.name(), f.name_in(), f.name_out()) == ("odd_name", ["a_b", "a_b_2", "k"], ["y_x"])
    assert math.isnan(float(f(a_b=1)["y_x"]))  # k has no default
    assert float(f(a_b=2, a_b_2=3, k=1)["y_x"]) == 7


@pytest.mark.parametrize("kind", ["SX", "MX", "DM"])
def test_emitted_min_and_max_keep_nan(kind):
    """As in every target: NaN in either operand is the result."""
    x, y = sb.symbols("x y")
    system = sb.System("s", inputs={"x": x, "y": y}, outputs={"f": [sb.minimum(x, y), sb.maximum(x, y), abs(x)]})
    module: dict = {}
    exec(system.emit("casadi"), module)
    nan, inf = math.nan, math.inf
    for a, b in ((nan, 1.0), (1.0, nan), (nan, nan), (inf, nan), (inf, -inf), (-inf, 2.0), (2.0, 1.0), (1.0, 1.0)):
        if kind == "DM":
            found = module["s"](casadi.DM(a), casadi.DM(b), [])[0]
        else:
            X, Y = (getattr(casadi, kind).sym(n) for n in "xy")
            found = casadi.Function("f", [X, Y], [module["s"](X, Y, [])[0]])(a, b)
        smaller, larger = (nan, nan) if a != a or b != b else (min(a, b), max(a, b))
        np.testing.assert_array_equal(np.array(found).ravel(), [smaller, larger, abs(a)])
