"""Every rule of rewriting, construction and lowering on its whole real domain, against mpmath.

RULES joins row by row: a new rule is tried by being listed there. What is built in at construction and lowering has its
texts below. All rows are outputs of one System, so that their parts are shared as well.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from many_digits import LARGEST, SMALLEST, NoRealValue, nearby, read, value_of

import symbody as sb
from symbody.codegen.targets import TARGETS
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.function_row import FUNCTIONS
from symbody.symbolic.expr.infix_text import to_text
from symbody.symbolic.expr.node import Node
from symbody.symbolic.rewrite.rules import RULES, Rule

CONSTRUCTION = """
    x + y + x - 3*y;  x - x + y;  2*x - 2*y;  x/3 + y/3;  x*y + y*x;  (x + y) + (x - y)
    x**2*x**3;  x**3/x**2;  x/x;  x*y/x;  (x**2)**3;  (x**-1)**-1;  x**0.5*x**1.5;  x**2.0
    sqrt(x**2);  sqrt(x**4);  sqrt(x)*sqrt(x);  sqrt(x)**2;  sqrt(x)/sqrt(x);  1/sqrt(x)**2
    (3*x)**2;  (x/3)**3;  (1000*x)**8;  (1000000*x)**40;  (-2*x)**3;  (-x)**2;  abs(x)**2;  1/(3*x);  (x/49.0)**2
    cos(-x);  sin(-2*x) + y;  atan(-x);  abs(-x);  abs(abs(x));  tan(-x)
    sin(x)**2 + cos(x)**2;  2*sin(x)**2 + 2*cos(x)**2;  sin(x)*cos(y) + cos(x)*sin(y);  sin(x)*cos(y) - cos(x)*sin(y)
    cos(x)*cos(y) - sin(x)*sin(y);  cos(x)*cos(y) + sin(x)*sin(y)
    min(x, x);  max(y, x);  select(x < y, 2*x, 2*x);  select(x < x, x, y);  x*0;  x*1;  0*x + y;  x**0
"""
NUMBERS = """
    x*1e-200*1e-200;  x*1e200*1e200;  x*1e-160*1e-160*1e160*1e160;  x/1e200/1e200;  x/1e-200/1e-200;  x/1e-320
    x + 1e308 + 1e308;  x - 1e308 - 1e308 + y;  x*1e308 + x*1e308;  -(x*1e-200)*1e-150;  x*1e-300/1e-20*1e-15
    (x + y)*1e-200*1e-200;  x*y*1e-200*1e-200;  (x*1e-200)**2*1e200
    x/49;  x/49.0;  x/0.3;  2.5*(x/0.3);  x/3/0.7;  x/0.3/0.7;  10*x/0.3;  x*0.1/3;  x/-49.0;  3*(x/49) - y/7.0
"""
STEPS = """
    floor(x/49);  floor(x/49.0);  ceil(x/7);  ceil(-x/7.0);  floor(3*x/49);  floor(x*3/49.0);  floor(x/49 + 0.5)
    floor(x/y);  ceil(x/y);  floor(x*z/y);  floor(x/y + z);  floor(x/y/z);  floor(x/y*z)
    floor(x/n);  ceil(x/n);  floor(x*z/n);  n - x/n >= 0;  mod(x/n, 1);  floor(n/y)
    x/49 - floor(x/49);  x/y - floor(x/y);  mod(x/7, 1);  mod(x, y/7);  floor(x/0.3);  floor(2.5*(x/0.3));  floor(x/-7)
    sign(x/y - 1);  sign(x/49 - 1);  select(x/49 >= 1, 1, 0);  x/y < z;  x/y <= z;  x/y >= z;  x/y > z;  eq(x/y, z)
    floor(sqrt(x/y));  floor(min(x/49, y/7));  floor(abs(x)/7);  floor((x/y)**2);  floor(1/y)
    floor(select(x/y > z, x/7, y/7));  floor(max(x/y, z/y));  select(x/y - 1, x, y);  floor(floor(x/7)/3)
    not_(x/y - 1);  x**2 - y**2 >= 0;  sign(x*y - z*z);  x*y - z*x < 0;  z/y;  1/y;  x/y
"""
# equal products cancel in every order of equal roundings: 0 at x = y
CANCEL = """
    sqrt(x**2 - y**2);  sign(x**2 - y**2);  sqrt(x**2 - 2*x*y + y**2);  sqrt(2.5*(x**2 - y**2));  log(x**2 - y**2 + 1)
    sign(x**4 - y**4);  sqrt(x*z - z*y);  sqrt(x**2/3 - y**2/3)
    sqrt(n*x**2 - n*y**2)
"""
NAMES = ("x", "y", "z", "n")
DENORMAL = 64 * 5e-324
ROOM = (
    2.0**64
)  # a coefficient up to this size is taken out of a power, which then comes nearer to the ends of the range
ROUNDINGS = 64  # units in the last place that a result may be off, beside what moves it when its arguments move by two
ENGINES = [name for name in ("python", "native", "c") if not TARGETS[name].lacks()]
SPECIAL = (0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 7.0, 49.0, 98.0, math.pi, math.pi / 2, 5e-324, SMALLEST, 1e-300, 1e-160,
           1e154, 1e160, -1e200, 1e300, LARGEST, -LARGEST, math.nextafter(1, 0), math.nextafter(1, 2))  # fmt: skip
NO_NUMBERS = (0.0, -0.0, 1.0, -2.5, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan)


def texts(rows: str) -> list[str]:
    return [part.strip() for line in rows.strip().splitlines() for part in line.split(";")]


def _text_of(rule: Rule) -> str:
    """The left side of a rule; x is a parameter that is not zero where the rule asks for that."""
    text = to_text(rule.pattern).replace("c,", "z,")
    return text if rule.condition is None else re.sub(r"\bx\b", "n", text)


POWERS = frozenset(text for text in texts(CONSTRUCTION) if "**" in text)
RULE_TEXTS = {_text_of(rule): rule for rule in RULES}
ROWS = [*RULE_TEXTS, *texts(CONSTRUCTION), *texts(NUMBERS), *texts(STEPS)]


def built(text: str, symbols: Mapping[str, Node]) -> Node:
    """The expression as Python builds it from its text."""
    functions = {name: (lambda *a, name=name: call(name, *a)) for name in FUNCTIONS}
    functions["not_"] = functions["not"]
    return eval(text, {**functions, **symbols})


@cache
def kernels(rows: tuple[str, ...]) -> dict[tuple[str, str], Any]:
    """(preset, target) -> Kernel of one System of all rows."""
    with sb.Graph():
        symbols = {name: sb.symbol(name) for name in NAMES[:3]}
        symbols["n"] = sb.symbol("n", role="parameter", nonzero=True)
        outputs = {f"f{k}": built(text, symbols) for k, text in enumerate(rows)}
        inputs = {name: symbols[name] for name in NAMES[:3]}
        system = sb.System("rows", inputs=inputs, parameters={"n": symbols["n"]}, outputs=outputs)
        made = {preset: system.optimize(preset) for preset in ("none", "standard", "full")}
        return {(preset, target): s.compile(target) for preset, s in made.items() for target in ENGINES}


def points(count: int, seed: int) -> np.ndarray:
    """(count, 4) numbers: of size 1, of every size, special, with whole quotients, equal, near whole; n is not 0."""
    rng = np.random.default_rng(seed)
    kinds = np.arange(count) % 6
    out = rng.uniform(-3, 3, (count, 4))
    every = rng.choice([-1.0, 1.0], (count, 4)) * 10.0 ** rng.uniform(-307, 307, (count, 4))
    out = np.where((kinds == 1)[:, None], every, out)
    out = np.where((kinds == 2)[:, None], rng.choice(SPECIAL, (count, 4)), out)
    whole, times = rng.integers(1, 1 << 20, (2, count)).astype(float)
    shift = 2.0 ** rng.integers(-30, 30, count)
    divisor = np.where(rng.random(count) < 0.5, rng.choice([1.0, 3, 7, 49, 147, 441], count), whole)
    exact = np.array([divisor * times * shift, divisor * shift, rng.integers(1, 9, count), divisor]).T
    out = np.where((kinds == 3)[:, None], exact, out)
    out[kinds == 4, 1] = out[kinds == 4, 0]
    near = np.nextafter(exact[:, 0], rng.choice([-np.inf, np.inf], count))
    out[kinds == 5] = np.array([near, exact[:, 1], exact[:, 2], exact[:, 3]]).T[kinds == 5]
    out[:, 3] = np.where(out[:, 3] == 0, 1.0, out[:, 3])
    return out


def results(rows: tuple[str, ...], at: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """(preset, target) -> (rows, points), for all points together."""
    x, y, z, n = at.T
    return {key: np.array(list(kernel(x, y, z, parameters={"n": n}))) for key, kernel in kernels(rows).items()}


def rejected(text: str, values: Mapping[str, float], found: set[float]) -> list[float]:
    """Doubles that are not the value of the formula, to rounding and conditioning; none where it has no value."""
    tree = read(text.replace("not_(", "eq(0, "))
    used = {name: values[name] for name in NAMES if name in _names(tree)}
    try:
        true = value_of(tree, used, ROOM if text in POWERS else 1.0)
    except NoRealValue:
        return []
    if not true.in_range:
        return []
    steps = any(word in text for word in ("floor", "ceil", "sign(", "<", ">", "eq(", "not_(", "mod("))
    if steps and true.exact:
        return [x for x in found if not (math.isfinite(x) and mpmath.mpf(x) == true.value)]
    if any(word in text for word in ("mod(", "- floor(", "eq(", "not_(", "x/y - 1, x, y")):
        return []  # fractions of steps, and equality, have no limit where something is rounded
    allowed = 0 if steps else ROUNDINGS * 2.0**-52 * abs(true.value)
    far = [x for x in found if not (math.isfinite(x) and abs(mpmath.mpf(x) - true.value) <= allowed + DENORMAL)]
    if not far:
        return []
    around = [true.value]
    for moved in nearby(used, 2):
        try:
            around.append(value_of(tree, moved).value)
        except NoRealValue:
            return []  # at the edge of the domain
    slack = (max(around) - min(around)) * (1 if steps else ROUNDINGS) + allowed + DENORMAL
    return [x for x in far if not (math.isfinite(x) and min(around) - slack <= x <= max(around) + slack)]


@cache
def _names(tree: ast.expr) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name))


def wrong(rows: tuple[str, ...], at: np.ndarray) -> list[str]:
    by_all = results(rows, at)
    out = []
    for k, text in enumerate(rows):
        for i, point in enumerate(at.tolist()):
            # a rule is judged by what it writes; its left side loses digits inside, as cos(atan(x)) does
            found = {
                key: float(values[k, i]) for key, values in by_all.items() if text not in RULE_TEXTS or key[0] != "none"
            }
            for bad in rejected(text, dict(zip(NAMES, point, strict=True)), set(found.values())):
                keys = [key for key, x in found.items() if x == bad or (x != x and bad != bad)]
                out.append(f"{text} at {point}: {bad!r} by {keys}")
    return out


def agreement(rows: tuple[str, ...], at: np.ndarray) -> list[str]:
    """NaN and infinities are at the same points, one by one and in lanes, in each preset."""
    out = []
    by_all = results(rows, at)
    for preset in ("none", "standard", "full"):
        expected = by_all[preset, "python"]
        for target in ENGINES:
            kernel = kernels(rows)[preset, target]
            one = np.array([list(kernel(*p[:3], parameters={"n": p[3]})) for p in at.tolist()]).T
            for how, values in ((target, by_all[preset, target]), (f"{target}, one by one", one)):
                same = (np.isnan(values) == np.isnan(expected)) & (
                    np.where(np.isinf(values), values, 0) == np.where(np.isinf(expected), expected, 0)
                )
                for k, i in np.argwhere(~same)[:20]:
                    out.append(f"{rows[k]} at {at[i]} by {how} ({preset}): {values[k, i]}, not {expected[k, i]}")
    return out


def test_every_row_is_right_on_its_whole_domain() -> None:
    found = wrong(tuple(ROWS), points(24, 0))
    assert not found, f"{len(found)} are wrong:\n" + "\n".join(found[:30])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 21))
def test_every_row_is_right_at_50_000_values(seed: int) -> None:
    count = 50_000 // len(ROWS) + 1
    found = wrong(tuple(ROWS), points(count, seed))
    assert not found, f"{len(found)} are wrong:\n" + "\n".join(found[:30])


def test_nan_and_infinities_are_the_same_in_all_engines() -> None:
    rng = np.random.default_rng(0)
    at = rng.choice(NO_NUMBERS, (150, 4))
    at[:, 3] = rng.choice([1.0, -2.5, 1e308, 5e-324], 150)  # a parameter is finite
    # at the end of the range NumPy's own functions overflow one unit in the last place before those of C
    found = agreement(tuple(ROWS), np.concatenate([at, np.clip(points(60, 7), -1e307, 1e307)]))
    assert not found, f"{len(found)} differ:\n" + "\n".join(found[:30])


def test_equal_products_cancel() -> None:
    rows = tuple(texts(CANCEL))
    x, z = np.random.default_rng(3).uniform(0.1, 3, (2, 500))
    for (preset, target), kernel in kernels(rows).items():
        for text, values in zip(rows, kernel(x, x, z, parameters={"n": 1.3}), strict=True):
            assert not np.any(values), f"{text} by {target} ({preset})"


def test_rules_are_applied_where_they_are_listed() -> None:
    assert len(RULE_TEXTS) == len(RULES)
