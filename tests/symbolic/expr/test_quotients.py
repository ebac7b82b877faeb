"""Quotients that decide a step are divisions, in every preset, text, file and derivative; others are not touched."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import symbody as sb
from symbody.model.record.units import dimension
from symbody.symbolic.expr.coefficients import factors, over
from symbody.symbolic.expr.infix_text import to_text
from symbody.symbolic.expr.parse import parse
from symbody.symbolic.system.save import from_record, record


@pytest.fixture(autouse=True)
def own_graph():
    with sb.Graph():
        yield


def test_whole_quotients_of_whole_numbers() -> None:
    """10 000 pairs, by a parameter, an input and beside another quotient by the same; native and in each preset."""
    x, y, z = sb.symbols("x y z")
    p = sb.symbol("p", role="parameter")
    outputs = {"p": sb.floor(x / p), "y": sb.ceil(x / y), "z": z / y, "sum": sb.floor(x / y + z), "one": x / y >= 1}
    system = sb.System("s", inputs={"x": x, "y": y, "z": z}, parameters={"p": p}, outputs=outputs)
    n, k = (a.ravel() for a in np.meshgrid(np.arange(1.0, 101.0), np.arange(1.0, 101.0)))
    for preset in ("none", "standard", "full"):
        found = system.optimize(preset).compile()(n * k, n, 1.0, parameters={"p": n})
        np.testing.assert_array_equal(found.p, k)
        np.testing.assert_array_equal(found.y, k)
        np.testing.assert_array_equal(found.sum, k + 1)
        np.testing.assert_array_equal(found.one, 1.0)


def test_only_steps_take_divisions() -> None:
    x, y = sb.symbols("x y")
    p = sb.symbol("p", role="parameter")
    inputs = {"x": x, "y": y}

    def divisions(**outputs: object) -> int:
        return sb.System("s", inputs=inputs, parameters={"p": p}, outputs=outputs).count().div

    assert divisions(a=x / 49, b=sb.sin(x / p), c=x / p + y / p) == 0
    assert divisions(a=x / y, b=p / y, c=sb.sqrt(2 / y)) == 1
    assert divisions(a=sb.floor(x / 49)) == 1
    assert divisions(a=sb.floor(x / 49), b=x / 49, c=3 - x / 49) == 1  # the same division
    assert divisions(a=sb.floor(x / 32), b=sb.select(x > y, x / 49, 0)) == 0


def test_texts_are_those_that_were_written_and_are_read_back() -> None:
    x, y, p = sb.symbols("x y p")
    for text in ("floor(x/49)", "floor(x/0.3)", "floor(3/49*x + 1/2)", "select(1 <= x/y, x/y, 0)", "mod(x*p/y, 1)"):
        node = parse(text)
        assert to_text(node) == text
        assert parse(to_text(node)) is node
    step = sb.floor(2.5 * (x / 0.3) - 1 / y)
    assert parse(to_text(step)) is step
    assert step.subs({y: 3}) is sb.floor(2.5 * (x / 0.3) - Fraction(1, 3))
    (quotient,) = sb.floor(x / p).args
    assert quotient.op == "quotient"
    assert parse(to_text(quotient)) is quotient  # quotient(x, p)


def test_files_and_derivatives_keep_them() -> None:
    x, y = sb.symbols("x y")
    system = sb.System("s", inputs={"x": x, "y": y}, outputs={"f": (x / y) % 1, "g": x / 49 - sb.floor(x / 49)})
    again = from_record(record(system), {}, "memory")
    points = np.array([[49.0, 98, 147, 50], [49, 7, 49, 49]])
    np.testing.assert_array_equal(again.compile()(*points).f, system.compile()(*points).f)
    assert not again.compile()(*points).f[:3].any()
    np.testing.assert_array_equal(again.compile()(*points).g[:3], 0.0)
    f = system.outputs["f"].item()
    assert sb.evaluate(f.diff(x), {x: 3.0, y: 4.0}) == 0.25
    assert sb.evaluate(f.diff(y), {x: 3.0, y: 4.0}) == -3 / 16


def test_units_of_a_quotient_below_a_step() -> None:
    way, time = sb.symbol("s", unit="m"), sb.symbol("T", unit="s")
    (quotient,) = sb.floor(way / time).args
    assert dimension(quotient) == dimension(way / time)


@pytest.mark.parametrize("value", [1 / Fraction(0.3), 10 / Fraction(0.7), Fraction(3, 49), 1 / Fraction(1e-300)])
def test_a_coefficient_is_the_quotient_of_two_doubles(value: Fraction) -> None:
    n, d = over(value)
    assert Fraction(n) / Fraction(d) == value
    assert float(n) == n
    assert float(d) == d
    assert over(Fraction(3, 8)) is None


@pytest.mark.parametrize("value", [Fraction(10) ** 400, -Fraction(7, 10**330), Fraction(1, 10**700)])
def test_factors_of_numbers_beyond_doubles(value: Fraction) -> None:
    exact = Fraction(1)
    for c in factors(value):
        exact *= Fraction(c)
    assert abs(exact / value - 1) < Fraction(1, 2**52)
