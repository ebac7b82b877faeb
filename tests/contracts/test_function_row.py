"""Every function keeps what its row says: derivative, folding, parity, bounds, text, cost; all targets agree on it."""

import mpmath
import numpy as np
import pytest

import symbody as sb
from helpers.function_contract import CHECKS, SPECIAL, samples, symbols, units_apart
from symbody.codegen.targets import TARGETS
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.expr.ops import ROWS

# the same functions by a program of many digits; others have their own name there
ORACLE = {
    "abs": mpmath.fabs, "pow": mpmath.power, "min": min, "max": max, "quotient": lambda a, b: a / b,
    "mod": lambda a, b: a - b * mpmath.floor(a / b), "not": lambda a: a == 0,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "and": lambda a, b: a != 0 and b != 0, "or": lambda a, b: a != 0 or b != 0, "select": lambda c, a, b: a if c else b,
}  # fmt: skip


@pytest.fixture(autouse=True)
def own_graph():
    with sb.Graph():
        yield


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_function_keeps_what_its_row_says(check, row):
    check(row)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_values_are_those_of_many_digits(row):
    oracle = ORACLE.get(row.name) or getattr(mpmath, row.name)
    for args in samples(row).T.tolist():
        with mpmath.workdps(40):
            expected = float(oracle(*map(mpmath.mpf, args)))
        assert units_apart(row.run(*args), expected) <= 2
        assert units_apart(row.arrays(*map(np.asarray, args)), expected) <= 4


def test_published_counts_call_these_trigonometric():
    assert {row.name for row in ROWS if row.trig} == {"sin", "cos", "tan", "asin", "acos", "atan", "atan2"}


# -- targets: one System of all functions, so that each target is built once


def arguments():
    """(3, n): special values in all pairs, then samples inside the domain of every function."""
    pairs = [(a, b, a) for a in SPECIAL for b in SPECIAL]
    inside = [[*column, *column, *column][:3] for row in ROWS for column in samples(row, 4).T.tolist()]
    return np.array([*pairs, *inside]).T


@pytest.fixture(scope="module")
def results():
    """target -> (for one state after the other, for the batch), each function -> values."""
    with sb.Graph():
        xs = [sb.symbol(f"a{k}") for k in range(3)]
        outputs = {name: call(name, *xs[: row.arity]) for name, row in FUNCTIONS.items()}
        system = sb.System("functions", inputs={f"a{k}": x for k, x in enumerate(xs)}, outputs=outputs)
        points = arguments()
        found = {}
        for name, target in TARGETS.items():
            if target.build is not None and not target.lacks():
                kernel = system.compile(name)
                ones = [kernel.call_named(*column) for column in points.T.tolist()]
                one = {n: np.array([float(r[n]) for r in ones]) for n in outputs}
                found[name] = one, kernel.call_named(*points)
        return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("target", [n for n, t in TARGETS.items() if t.build])
def test_targets_agree_on_every_value_and_on_those_that_are_no_numbers(results, target, row):
    if target not in results:
        pytest.skip(TARGETS[target].lacks())
    expected = results["python"][0][row.name]
    one, batch = results[target][0][row.name], results[target][1][row.name]
    # NumPy's own vector functions, and sines and cosines of native code, may differ in the last place
    assert units_apart(one, expected) <= (0 if TARGETS[target].bits else 1)
    assert units_apart(batch, expected) <= (4 if target == "python" else 1)


def test_symbols_of_the_contract_are_enough():
    assert max(row.arity for row in ROWS) <= len(arguments())
    assert all(len(symbols(row)) == row.arity for row in ROWS)
