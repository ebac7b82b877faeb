"""The interpreter: one state, batches, exact and complex numbers, IEEE rules, solve blocks, argument checks."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symbody as sb
from helpers.programs import Builder, arcsine, nested_roots, pendulum, random_inputs, random_program, square_root
from symbody.basics.errors import ExpressionError, NameLookupError, ShapeError, SolveError
from symbody.codegen.kernel.interpreted import InterpretedKernel
from symbody.symbolic.expr.external import External, Piecewise
from symbody.symbolic.lower.fma import fused
from symbody.symbolic.lower.interpret import LANES, interpret
from symbody.symbolic.lower.program import Program


def evaluate(op: str, *numbers: float) -> float:
    """One operation on floats, as the interpreter sees it."""
    b = Builder()
    values = [b.input(f"x{k}")[0] for k in range(len(numbers))]
    b.output("y", [b.make(op, *values)], ())
    return float(interpret(b.program(), numbers)["y"])


def test_pendulum_torque_is_its_formula() -> None:
    tau = interpret(pendulum(), {"q": 0.3, "qdd": 2.0})["tau"]
    assert tau == pytest.approx(2.0 * 0.25 * 2.0 + 2.0 * 9.81 * 0.5 * math.sin(0.3), rel=1e-15)


def test_parameters_come_from_defaults_mapping_or_vector() -> None:
    p, x = pendulum(), [0.3, 2.0]
    by_name = interpret(p, x, {"m": 3.0})["tau"]
    assert by_name == interpret(p, x, np.array([3.0, 0.5, 9.81]))["tau"]
    assert by_name == pytest.approx(1.5 * interpret(p, x)["tau"])


@pytest.mark.parametrize("seed", range(30))
def test_batch_agrees_with_single_states(seed: int) -> None:
    p = random_program(seed)
    batch = random_inputs(p, seed, (2, 3))
    many = interpret(p, batch)
    for lane in np.ndindex(2, 3):
        one = interpret(p, [a[lane] for a in batch])
        for name, value in one.items():
            np.testing.assert_allclose(many[name][lane], value, rtol=1e-9, atol=1e-9)


def test_loop_dimensions_broadcast_and_parameters_may_be_batched() -> None:
    q, qdd = np.linspace(-1, 1, 3)[:, None], np.linspace(0, 1, 4)
    tau = interpret(pendulum(), [q, qdd], {"m": np.array([1.0, 2.0])[:, None, None]})["tau"]
    assert tau.shape == (2, 3, 4)
    np.testing.assert_allclose(tau[1], 2 * tau[0])
    assert tau[1, 2, 3] == interpret(pendulum(), [q[2, 0], qdd[3]])["tau"]


def test_large_batches_run_in_pieces() -> None:
    q = np.linspace(-3, 3, 2 * LANES + 5)
    tau = interpret(pendulum(), [q, 0.0])["tau"]
    np.testing.assert_array_equal(tau[LANES : LANES + 9], interpret(pendulum(), [q[LANES : LANES + 9], 0.0])["tau"])


def test_division_by_zero_and_domain_errors_follow_ieee_silently() -> None:
    inf, nan = math.inf, math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert evaluate("div", 1.0, 0.0) == inf
        assert evaluate("div", -1.0, 0.0) == -inf
        assert math.isnan(evaluate("div", 0.0, 0.0))
        assert evaluate("log", 0.0) == -inf
        assert evaluate("exp", 1000.0) == inf
        assert evaluate("pow", 0.0, -1.0) == inf
        for op, x in (("sqrt", -1.0), ("asin", 2.0), ("sin", inf), ("floor", nan), ("sign", nan), ("log", -1.0)):
            assert math.isnan(evaluate(op, x)), op


def test_minimum_and_maximum_propagate_nan() -> None:
    for op in ("min", "max"):
        assert math.isnan(evaluate(op, math.nan, 1.0))
        assert math.isnan(evaluate(op, 1.0, math.nan))
    assert evaluate("min", 1.0, 2.0) == 1.0
    assert evaluate("max", 1.0, 2.0) == 2.0


def test_modulo_has_the_sign_of_the_divisor() -> None:
    assert evaluate("mod", -1.0, 3.0) == 2.0
    assert evaluate("mod", 1.0, -3.0) == -2.0
    assert math.isnan(evaluate("mod", 1.0, 0.0))


def test_comparisons_and_logic_give_one_or_zero() -> None:
    assert [evaluate(op, 1.0, 2.0) for op in ("lt", "le", "eq", "ne", "and", "or")] == [1, 1, 0, 1, 1, 1]
    assert [evaluate(op, 0.0, math.nan) for op in ("lt", "le", "eq", "ne")] == [0, 0, 0, 1]
    assert (evaluate("not", 0.0), evaluate("not", -3.0)) == (1.0, 0.0)
    assert (evaluate("sign", -0.2), evaluate("sign", 0.0), evaluate("sign", 5.0)) == (-1.0, 0.0, 1.0)


def test_tables_take_their_pieces_and_extend_outward() -> None:
    b = Builder()
    (x,) = b.input("x")
    b.output("y", [b.table(Piecewise((0.0, 1.0, 2.0), ((0.0, 1.0), (1.0, 2.0))), x)], ())
    p = b.program()
    at = np.array([-1.0, 0.0, 0.5, 1.0, 1.5, 3.0])
    expected = [-1.0, 0.0, 0.5, 1.0, 2.0, 5.0]
    np.testing.assert_array_equal(interpret(p, [at])["y"], expected)
    assert [float(interpret(p, [x])["y"]) for x in at] == expected


def test_externals_that_take_one_number_only_are_called_lane_by_lane() -> None:
    b = Builder()
    (x,) = b.input("x")
    only = External("gamma", 1, 1, function=lambda a: math.gamma(a) if a > 0 else 0.0)
    b.output("y", b.call(only, x), ())
    np.testing.assert_array_equal(interpret(b.program(), [np.array([1.0, -1.0, 5.0])])["y"], [1.0, 0.0, 24.0])


def test_externals_that_take_one_real_number_are_evaluated_on_arrays_and_along_complex_steps() -> None:
    only = External("sine", 1, 1, function=lambda a: math.sin(a) if a > -1e9 else 0.0)
    x = sb.symbol("x")
    at = np.array([[0.3, -1.2], [2.0, 5.0]])
    node = sb.extern(only, x) * x
    np.testing.assert_allclose(sb.evaluate([node], {x: at})[0], np.sin(at) * at, rtol=1e-15)
    b = Builder()
    b.output("y", b.call(only, b.input("x")[0]), ())
    along = np.asarray(interpret(b.program(), [at.ravel() + 1e-30j])["y"])
    np.testing.assert_allclose(along.imag / 1e-30, np.cos(at.ravel()), rtol=1e-10)
    np.testing.assert_allclose(along.real, np.sin(at.ravel()), rtol=1e-15)


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, finite, finite)
def test_fused_multiply_add_rounds_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        expected = float(exact)
    except OverflowError:
        expected = math.copysign(math.inf, 1 if exact > 0 else -1)
    assert fused(a, b, c) == expected
    assert fused(np.array([a]), b, c)[0] == expected


def test_fused_multiply_add_of_arrays_rounds_once_in_cancellation() -> None:
    r = np.random.default_rng(1)
    a, b = r.normal(size=500), r.normal(size=500)
    c = -a * b * (1 + r.integers(-2, 3, 500) * 2.0**-52)
    exact = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a, b, c)]
    np.testing.assert_array_equal(fused(a, b, c), exact)


def test_fractions_stay_exact() -> None:
    p = random_program(3, functions=False, externals=False, blocks=0)
    r = np.random.default_rng(0)
    x = [np.vectorize(lambda k: Fraction(int(k), 7), otypes=[object])(r.integers(-9, 9, q.shape)) for q in p.inputs]
    exact, rounded = interpret(p, x), interpret(p, [a.astype(float) for a in x])
    for name, value in exact.items():
        assert all(isinstance(v, Fraction) for v in value.ravel())
        np.testing.assert_allclose(value.astype(float), rounded[name], rtol=1e-12, atol=1e-12)


def test_fractions_in_batches_and_constants() -> None:
    b = Builder()
    (x,) = b.input("x")
    b.output("y", [b.make("mul", x, b.const(Fraction(1, 3)))], ())
    y = interpret(b.program(), [[Fraction(1), Fraction(1, 2)]])["y"]
    assert list(y) == [Fraction(1, 3), Fraction(1, 6)]
    assert interpret(b.program(), [1.0])["y"] == 1 / 3


def test_an_irrational_function_of_a_fraction_is_refused() -> None:
    with pytest.raises(ExpressionError, match="'sin' of an exact number"):
        interpret(pendulum(), [Fraction(1, 2), Fraction(1)])


@pytest.mark.parametrize("seed", range(12))
def test_complex_step_is_the_derivative(seed: int) -> None:
    """Against central differences, through functions, blocks and tables."""
    p = random_program(seed, externals=False)
    x = random_inputs(p, seed)
    step = [np.full(q.shape, 1.0) for q in p.inputs]
    slope = interpret(p, [a + 1e-200j * d for a, d in zip(x, step)])
    high = interpret(p, [a + 1e-6 * d for a, d in zip(x, step)])
    low = interpret(p, [a - 1e-6 * d for a, d in zip(x, step)])
    for name, value in slope.items():
        secant = (high[name] - low[name]) / 2e-6
        np.testing.assert_allclose(value.imag / 1e-200, secant, rtol=1e-5, atol=1e-5)


def test_complex_step_through_a_solve_block_is_exact() -> None:
    x = interpret(square_root(), [2.0 + 1e-200j])["x"]
    assert x.imag / 1e-200 == pytest.approx(0.5 / math.sqrt(2.0), rel=1e-14)


def test_solve_block_gives_solution_and_body_values_that_belong_together() -> None:
    out, status = interpret(square_root(), [2.0], status=True)
    assert out["x"] == pytest.approx(math.sqrt(2.0), rel=1e-12)
    assert out["slope"] == 2 * out["x"]
    assert 4 <= status[0] <= 10


def test_a_failed_block_raises_for_one_state() -> None:
    with pytest.raises(SolveError, match=r"'root'.*evaluations"):
        interpret(square_root(), [-1.0])
    out, status = interpret(square_root(), [-1.0], status=True)
    assert status[0] < 0
    assert np.isnan(out["echo"])


def test_an_angle_that_ran_away_is_no_solution() -> None:
    a = np.array([0.3, math.pi / 2, -math.pi / 2, 1.0, 700.0])
    out, status = interpret(arcsine(), [a], status=True)
    np.testing.assert_array_equal(status[:, 0] > 0, [True, False, False, True, True])
    np.testing.assert_allclose(np.sin(out["x"][[0, 3, 4]]), 0.5, rtol=1e-12)
    for k, guess in enumerate(a):
        assert interpret(arcsine(), [guess], status=True)[1][0] == status[k, 0]


def test_a_failed_block_spoils_its_own_lane_only() -> None:
    a = np.array([4.0, -1.0, 9.0, math.nan])
    out, status = interpret(square_root(), [a], status=True)
    for name in ("x", "slope", "echo"):
        np.testing.assert_array_equal(np.isnan(out[name]), [False, True, False, True])
    assert (status[[0, 2], 0] > 0).all()
    assert status[1, 0] < 0
    assert status[3, 0] == -1
    alone = interpret(square_root(), [4.0], status=True)
    assert (out["x"][0], status[0, 0]) == (alone[0]["x"], alone[1][0])


def test_blocks_nest() -> None:
    a = np.array([1.0, 5.0, -20.0])
    out = interpret(nested_roots(), [a])
    np.testing.assert_allclose(out["y"][:2] ** 4, a[:2] + out["y"][:2], rtol=1e-9)
    assert np.isnan(out["y"][2])
    assert interpret(nested_roots(), [5.0])["y"] == out["y"][1]


def test_kernel_takes_positional_and_named_arguments_and_out() -> None:
    kernel = InterpretedKernel(pendulum())
    out = np.empty(5)
    tau = kernel(np.zeros(5), qdd=1.0, out=out)
    assert tau is out
    np.testing.assert_array_equal(kernel(q=np.zeros(5), qdd=np.ones(5)), out)
    assert "rad/s^2" in repr(kernel)


def test_bound_kernel_equals_a_call_with_parameters() -> None:
    p = random_program(5)
    kernel, x = InterpretedKernel(p), random_inputs(p, 1, (4,))
    given = {"m": [1.1, 0.7]}
    for a, b in zip(kernel.bind(given)(*x), kernel(*x, parameters=given)):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(kernel.bind({"m": [0.6, 0.6]})(*x, parameters=given), kernel(*x, parameters=given)):
        np.testing.assert_array_equal(a, b)


def test_several_outputs_come_as_a_named_tuple() -> None:
    result = InterpretedKernel(square_root())(4.0)
    assert result._fields == ("x", "slope", "echo")
    assert result.slope == 2 * result.x


def expect(error: type[Exception], text: str, p: Program, *args: object, **named: object) -> None:
    with pytest.raises(error, match=text):
        InterpretedKernel(p)(*args, **named)


def test_wrong_arguments_are_refused_with_both_sizes_or_the_nearest_name() -> None:
    p = random_program(0)
    q, qd, t, u = random_inputs(p)
    expect(ShapeError, r"'q' has shape \(4,\); expected \(\.\.\., 3\)", p, np.zeros(4), qd, t, u)
    expect(ShapeError, "do not broadcast", p, np.zeros((4, 3)), np.zeros((5, 3)), t, u)
    expect(ShapeError, "5 arguments were given", p, q, qd, t, u, u)
    expect(NameLookupError, "Did you mean 'qd'", p, q, qdd=qd, t=t, u=u)
    expect(NameLookupError, "Missing input: u", p, q, qd, t)
    expect(NameLookupError, "given twice", p, q, qd, t, u, q=q)
    expect(NameLookupError, "Did you mean 'length'", p, q, qd, t, u, parameters={"lenght": 1.0})
    expect(ShapeError, r"shape \(2,\); expected \(\.\.\., 3\)", p, q, qd, t, u, parameters=np.zeros(2))
    expect(ShapeError, r"out for 'tau' has shape \(3,\); expected \(4,\)", pendulum(), np.zeros(4), 0, out=np.zeros(3))
