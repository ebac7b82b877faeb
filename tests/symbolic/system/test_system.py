"""Systems: checks, access, application across Graphs, derivatives."""

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import DefinitionError, ExpressionError, NameLookupError, ShapeError
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.system.differentiate import vjp_system


@pytest.fixture(autouse=True)
def own_graph():
    with sb.Graph():
        yield


def test_shapes_follow_what_is_given():
    x, y = sb.symbols("x y")
    system = sb.System("s", inputs={"x": x, "v": [y]}, outputs={"a": x * y, "b": [[x, 1], [0, y]]})
    assert system.inputs["x"].shape == ()
    assert system.inputs["v"].shape == (1,)
    assert system.outputs["b"].shape == (2, 2)
    assert repr(system) == "System s: (x, v[1]) -> a, b[2, 2]"


def test_parameters_declare_themselves_by_their_role():
    x = sb.symbols("x")
    m = sb.symbol("m", "parameter", default=2.5, unit="kg")
    system = sb.System("s", inputs={"x": x}, outputs={"f": m * x})
    assert list(system.parameters) == ["m"]
    assert system.default("m") == (2.5,)


def test_defaults_may_be_given_by_name():
    x = sb.symbols("x")
    v = sb.symbols("a b", role="parameter")
    system = sb.System(
        "s", inputs={"x": x}, outputs={"f": v[0] * x + v[1]}, parameters={"v": v}, defaults={"v": [1, 2]}
    )
    assert system.default("v") == (1.0, 2.0)
    with pytest.raises(NameLookupError, match="'v'"):
        system.replace(defaults={"w": 1})
    with pytest.raises(ShapeError, match=r"\(3,\).*\(2,\)"):
        system.replace(defaults={"v": [1, 2, 3]})


def test_free_symbols_are_named():
    x, y = sb.symbols("x y")
    with pytest.raises(DefinitionError, match=r"'y'.*inputs="):
        sb.System("s", inputs={"x": x}, outputs={"f": x + y})
    other = sb.symbol("x", "coordinate")
    with pytest.raises(DefinitionError, match="same name"):
        sb.System("s", inputs={"x": x}, outputs={"f": x + other})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(name="two words"), "letters"),
        (dict(outputs={}), "no outputs"),
        (dict(inputs={"x": "x + 1"}), "neither"),
        (dict(parameters={"x": "symbol"}), "neither"),
    ],
)
def test_wrong_definitions_are_refused(change, message):
    x = sb.symbols("x")
    fields = {"name": "s", "inputs": {"x": x}, "outputs": {"f": x}, **change}
    with pytest.raises((DefinitionError, ExpressionError), match=message):
        sb.System(fields.pop("name"), **fields)


def test_an_input_must_be_a_symbol_and_stand_once():
    x, y = sb.symbols("x y")
    with pytest.raises(DefinitionError, match="symbols only"):
        sb.System("s", inputs={"x": x + 1}, outputs={"f": x})
    with pytest.raises(DefinitionError, match="'a' and in 'b'"):
        sb.System("s", inputs={"a": x, "b": [x, y]}, outputs={"f": x})
    with pytest.raises(ShapeError, match="rows"):
        sb.System("s", inputs={"x": x}, outputs={"f": [[x, 1], [2]]})


def test_unknown_names_propose_the_nearest():
    x = sb.symbols("x")
    system = sb.System("s", inputs={"speed": x}, outputs={"torque": x**2})
    with pytest.raises(NameLookupError, match="'torque'"):
        system.jacobian("torqe", "speed")
    with pytest.raises(NameLookupError, match="'speed'"):
        system.jacobian("torque", "sped")
    with pytest.raises(NameLookupError, match="'native'"):
        system.compile("nativ")


def test_apply_inserts_a_system_into_another_graph():
    q, qd = sb.symbols("q qd")
    b = sb.symbol("b", "parameter", default=0.1)
    friction = sb.System("friction", inputs={"q": q, "qd": qd}, outputs={"f": b * qd + sb.sin(q)})
    with sb.Graph():
        a = sb.symbols("a1:4")
        force = friction.apply(q=a[0] * a[1], qd=a[2])
        twice = friction.apply(q=a[0], qd=1, b=2 * a[1])
        whole = sb.System("whole", inputs={"a": a}, outputs={"f": [force, twice]})
        assert list(whole.parameters) == ["b"]
        values = evaluate(list(whole.outputs["f"].flat), {"a1": 0.5, "a2": 2.0, "a3": 3.0, "b": 0.1})
    np.testing.assert_allclose(np.array(values, dtype=float), [0.3 + np.sin(1.0), 4.0 + np.sin(0.5)])


def test_apply_checks_names_and_shapes():
    x = sb.symbols("x1:4")
    system = sb.System("s", inputs={"x": x}, outputs={"f": x[0]})
    with pytest.raises(ShapeError, match=r"\(2,\).*\(3,\)"):
        system.apply(x=x[:2])
    with pytest.raises(DefinitionError, match="not given x"):
        system.apply()
    with pytest.raises(NameLookupError):
        system.apply(x=x, z=1)


def test_derivative_systems_have_the_shape_of_output_by_input():
    x = sb.symbols("x1:4")
    p = sb.symbol("p", "parameter", default=1.0)
    f = [x[0] * x[1], sb.sin(x[2]) * p]
    system = sb.System("s", inputs={"x": x}, outputs={"f": f, "g": p * x[0] * x[1] * x[2]})
    assert system.jacobian("f", "x").outputs["df_dx"].shape == (2, 3)
    assert system.jacobian("f", "p").outputs["df_dp"].shape == (2,)
    assert system.gradient("g", "x").outputs["dg_dx"].shape == (3,)
    assert system.hessian("g", "x").outputs["d2g_dx2"].shape == (3, 3)
    along = system.jvp("f", "x")
    assert along.inputs["v_x"].shape == (3,)
    with pytest.raises(ShapeError, match="jacobian"):
        system.gradient("f", "x")


def test_cyclic_definitions_name_the_circle():
    done = sb.define({"area": "width**2", "width": "2*r"})
    assert evaluate(done["area"], {"r": 1.5}) == pytest.approx(9.0)
    with pytest.raises(ExpressionError, match="a -> b -> c -> a"):
        sb.define({"a": "b + 1", "b": "2*c", "c": "a - x"})


def test_a_symbol_listed_as_parameter_becomes_one():
    x, m = sb.symbols("x m")
    system = sb.System("s", inputs={"x": x}, parameters={"m": m}, outputs={"f": (m + 1) * x}, defaults={"m": 3})
    assert system.parameters["m"][()].role == "parameter"
    assert system.count().setup == 1
    assert system.compile("python")(2.0) == 8.0


def test_a_symbol_is_an_input_or_a_parameter():
    x, p = sb.symbol("x"), sb.symbol("p", "parameter")
    with pytest.raises(DefinitionError, match="symbol x is in 'x' and in 'q'"):
        sb.System("s", inputs={"x": x}, parameters={"q": x}, outputs={"f": 2 * x})
    with pytest.raises(DefinitionError, match="input 'p' has the symbol p of role 'parameter'"):
        sb.System("s", inputs={"p": p, "x": x}, outputs={"f": sb.sin(p) * x})


def test_new_inputs_of_derivatives_have_names_and_symbols_of_their_own():
    """f = x v_x and g = x w_f: directions and weights never share a name or a symbol with what the System has."""
    x, v, w = sb.symbols("x v_x w_f_1")
    k = sb.symbol("v_k", "parameter", default=5.0)
    system = sb.System("s", inputs={"x": x, "v_x": v, "w_f": w}, outputs={"f": x * v * k, "g": x * w})
    along = system.jvp("f", "x")
    assert list(along.inputs) == ["x", "v_x", "w_f", "v_x_"]
    assert along.compile()(2.0, 3.0, 7.0, 0.5) == 3.0 * 5.0 * 0.5
    back = vjp_system(system, ["x", "w_f", "v_k"])
    assert list(back.inputs) == ["x", "v_x", "w_f", "w_f_", "w_g"]
    found = back.compile()(2.0, 3.0, 7.0, 0.5, 0.25)
    assert list(found) == [0.5 * 15.0 + 0.25 * 7.0, 0.25 * 2.0, 0.5 * 6.0]
    # a name that is free, whose symbol stands under another one, and a parameter of the name
    other = sb.System("s", inputs={"x": x, "speed": v}, parameters={"v_y": k}, outputs={"f": x * v})
    assert other.jvp("f", "x").compile()(x=2.0, speed=3.0, v_x=0.5) == 1.5
    assert list(sb.System("s", inputs={"y": x}, parameters={"v_y": k}, outputs={"f": x * k}).jvp("f", "y").inputs) == [
        "y",
        "v_y_",
    ]


def test_runs_with_inputs_called_as_weights_are_differentiated():
    """x' = w_1 x from x = 1: d x(1)/d w_1 = e^w_1."""
    x, w = sb.symbol("x", "state"), sb.symbol("w_1")
    system = sb.System("growth", inputs={"x": x, "w_1": w}, outputs={"r": w * x}, states={"x": "r"})
    f = sb.differentiable(
        system, 1.0, ["w_1"], of=["x"], step=0.01, method="rk4", states0={"x": 1.0}, inputs={"w_1": 0.5}
    )
    assert f.jacobian()[0, 0] == pytest.approx(np.exp(0.5), rel=1e-8)
