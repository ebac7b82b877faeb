"""What every function of expressions must hold to, given its row: called for the listed rows and for added ones."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np

import symbody as sb
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.derivative import gradient, jacobian
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.expr.function_row import Function
from symbody.symbolic.expr.infix_text import to_text
from symbody.symbolic.expr.latex_form import to_latex
from symbody.symbolic.expr.node import CONST, Node
from symbody.symbolic.expr.parse import parse
from symbody.symbolic.system.save import fingerprint, from_record, record

STEP = 1e-30  # of the complex step: the derivative has no cancellation
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-310, 1e300, -1e300, np.inf, -np.inf, np.nan)


def samples(row: Function, count: int = 40, seed: int = 0) -> np.ndarray:
    """(arity, count) random arguments inside the domain, of moderate size; every other condition is zero."""
    rng = np.random.default_rng(seed)
    domain = row.domain or ((-np.inf, np.inf),) * row.arity
    out = np.array([rng.uniform(max(low, -3) + 1e-3, min(high, 4) - 1e-3, count) for low, high in domain])
    out[: row.conditions] *= rng.integers(0, 2, (row.conditions, count))
    return out


def symbols(row: Function) -> list[Node]:
    return [sb.symbol(f"a{k}") for k in range(row.arity)]


def system_of(row: Function) -> sb.System:
    xs = symbols(row)
    inputs = {f"a{k}": x for k, x in enumerate(xs)}
    return sb.System(f"of_{row.name}", inputs=inputs, outputs={"f": call(row.name, *xs)})


def units_apart(a: Any, b: Any) -> float:
    """Largest distance in units in the last place; NaN equals NaN, and nothing else does."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    assert np.array_equal(np.isnan(a), np.isnan(b)), "NaN at different places"
    differ = ~(np.isnan(a) | (a == b))
    if not differ.any():
        return 0.0
    return float(np.max(np.abs(a[differ] - b[differ]) / np.spacing(np.maximum(np.abs(a[differ]), np.abs(b[differ])))))


def check_partials(row: Function) -> None:
    """Derivatives, forward and reverse, are those of the complex step through `arrays`; conditions have none."""
    xs, points = symbols(row), samples(row)
    node = call(row.name, *xs)
    at = dict(zip(xs, points))
    forward, reverse = jacobian([node], xs)[0], gradient(node, xs)
    for k, (d, r) in enumerate(zip(forward, reverse, strict=True)):
        moved = [p + (1j * STEP if i == k else 0) for i, p in enumerate(points)]
        step = 0.0 if k < row.conditions else np.imag(row.arrays(*moved)) / STEP
        expected = np.broadcast_to(step, points[0].shape)
        for found in (d, r):
            value = np.broadcast_to(np.asarray(evaluate(found, at), float), expected.shape)
            np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-14, err_msg=f"d{row.name}/da{k}")


def check_folding(row: Function) -> None:
    """A call of numbers is folded to what it is at run time, and stays exact where it is rational."""
    for args in samples(row, 20).T.tolist():
        folded = call(row.name, *args)
        assert folded.op is CONST
        assert units_apart(float(folded.data), float(row.run(*args))) <= 1
    for x, value in row.exact_at.items():
        assert call(row.name, x).data == value
        assert call(row.name, x).data.__class__ is int
        assert float(row.run(float(x))) == float(value)
    if row.rational:
        # a rational power of a rational number need not be one
        numbers = [Fraction(7), Fraction(2)] if row.name == "pow" else [Fraction(7, 4), Fraction(-3, 8), Fraction(2)]
        for args in itertools.product(numbers, repeat=row.arity):
            folded = call(row.name, *args)
            assert folded.data.__class__ is not float
            assert float(folded.data) == float(row.run(*map(float, args)))
    elif row.fold is not None:
        exact = [Fraction(x).limit_denominator(97) for x in samples(row, 1)[:, 0].tolist()]
        assert call(row.name, *exact).op is not CONST
        assert isinstance(row.fold(*exact), float), "exact numbers stay exact: the row should say rational=True"


def check_symmetry(row: Function) -> None:
    """Parity and commutativity hold for nodes, by construction, and for numbers."""
    xs, points = symbols(row), samples(row)
    node = call(row.name, *xs)
    if row.parity:
        assert call(row.name, -2 * xs[0]) is (-1 if row.parity == "odd" else 1) * call(row.name, 2 * xs[0])
        sign = -1.0 if row.parity == "odd" else 1.0
        for x in points[0].tolist():
            assert row.run(-x) == sign * row.run(x)
    if row.commutative:
        assert call(row.name, *xs[::-1]) is node
        np.testing.assert_array_equal(row.arrays(*points), row.arrays(*points[::-1]))


def check_ranges(row: Function) -> None:
    """Truths, and only they, are 0 or 1; bounds are kept, and reached."""
    wide = samples(row, 4000) * (1 if row.domain else 8)
    assert row.truth == (set(np.unique(row.arrays(*wide))) <= {0.0, 1.0})
    if row.bound is not None:
        sizes = np.abs(row.arrays(*wide))
        assert 0.99 * row.bound < sizes.max() <= row.bound


def check_writing(row: Function) -> None:
    """Text is read back to the same node, LaTeX closes its braces, a file gives the same System."""
    xs = symbols(row)
    for node in (call(row.name, *xs), 1 - 2 * call(row.name, *(x - 1 for x in xs)) ** 2):
        assert parse(to_text(node)) is node
        latex = to_latex(node)
        assert latex.count("{") == latex.count("}")
        assert latex.count(r"\left") == latex.count(r"\right")
    system = system_of(row)
    assert fingerprint(from_record(json.loads(json.dumps(record(system))), {}, "memory")) == fingerprint(system)


def check_count(row: Function) -> None:
    """One call counts as one operation: trigonometric, arithmetic or other."""
    counts = system_of(row).count()
    expected = (1, 0, 0) if row.trig else (0, 0, 1) if row.operation else (0, 1, 0)
    assert (counts.trig, counts.other, counts.total) == expected


def check_decimals(row: Function) -> None:
    """Decimals of 40 digits, where the row has them, round to what floats give."""
    if row.decimal is None:
        return
    from decimal import Decimal

    for args in samples(row, 10).T.tolist():
        assert units_apart(float(row.decimal(*map(Decimal, args))), float(row.run(*args))) <= 2


def check_curve(row: Function) -> None:
    """The certificate's own form has the value and the derivatives of the row."""
    if row.curve is None:
        return
    (x,), points = symbols(row), samples(row)
    node = call(row.name, x)
    first = jacobian([node], [x])[0, 0]
    second = jacobian([first], [x])[0, 0]
    for found, expected in zip(row.curve(points[0]), (node, first, second), strict=True):
        np.testing.assert_allclose(found, evaluate(expected, {x: points[0]}), rtol=1e-12, atol=1e-14)


CHECKS = [
    check_partials,
    check_folding,
    check_symmetry,
    check_ranges,
    check_writing,
    check_count,
    check_decimals,
    check_curve,
]
