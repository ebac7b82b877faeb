"""Formulas as they are written, computed by mpmath from Python's own reading of their text: nothing is symbody's."""

from __future__ import annotations

import ast
import itertools
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import mpmath

SMALLEST, LARGEST = sys.float_info.min, sys.float_info.max
DIGITS, MOST = 40, 700  # the latter hold the sum of any two doubles

OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b, ast.Pow: mpmath.power, ast.Mod: lambda a, b: a - b * mpmath.floor(a / b),
    ast.USub: lambda a: -a, ast.Lt: lambda a, b: a < b, ast.LtE: lambda a, b: a <= b, ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b, ast.Eq: lambda a, b: a == b,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": mpmath.fabs, "min": min, "max": max, "mod": OPERATORS[ast.Mod], "lt": OPERATORS[ast.Lt],
    "le": OPERATORS[ast.LtE], "eq": OPERATORS[ast.Eq], "ne": lambda a, b: a != b, "not": lambda a: a == 0,
    "and": lambda a, b: a != 0 and b != 0, "or": lambda a, b: a != 0 or b != 0,
    "select": lambda c, a, b: a if c != 0 else b, "pow": mpmath.power,
}  # fmt: skip


class NoRealValue(ArithmeticError):
    """Something in the formula is infinite, complex or undefined."""


@dataclass(frozen=True)
class Found:
    """value: the formula's; exact: every part of it is a double; in_range: no part leaves the range of doubles."""

    value: Any
    exact: bool
    in_range: bool


@cache
def read(text: str) -> ast.expr:
    return ast.parse(text.replace("^", "**"), mode="eval").body


def value_of(tree: ast.expr, values: Mapping[str, float], room: float = 1.0) -> Found:
    """The formula at doubles, with the digits that its cancellation needs; room: a factor to the ends of the range."""
    before = None
    for digits in (DIGITS, MOST):
        parts: list[Any] = []
        with mpmath.workdps(digits):
            value = _value(tree, values, parts)
            if not all(not p or SMALLEST * room <= abs(p) <= LARGEST / room for p in parts):
                return Found(value, False, False)
            if before is not None and abs(value - before) <= abs(value) * mpmath.mpf(10) ** (-DIGITS // 2):
                return Found(value, all(_is_double(p) for p in parts), True)
        before = value
    raise NoRealValue("more digits are lost than are computed with")


def _value(tree: ast.expr, values: Mapping[str, float], parts: list[Any]) -> Any:
    if isinstance(tree, ast.Constant):
        return mpmath.mpf(tree.value)
    if isinstance(tree, ast.Name):
        return mpmath.mpf(values[tree.id])
    if isinstance(tree, ast.UnaryOp):
        function, below = OPERATORS[type(tree.op)], [tree.operand]
    elif isinstance(tree, ast.BinOp):
        function, below = OPERATORS[type(tree.op)], [tree.left, tree.right]
    elif isinstance(tree, ast.Compare):
        function, below = OPERATORS[type(tree.ops[0])], [tree.left, tree.comparators[0]]
    elif isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        function, below = FUNCTIONS.get(tree.func.id) or getattr(mpmath, tree.func.id), tree.args
    else:
        raise TypeError(f"{ast.dump(tree)} is no formula")
    try:
        found = function(*[_value(b, values, parts) for b in below])
    except (ZeroDivisionError, ValueError) as error:
        raise NoRealValue(str(error)) from None
    found = mpmath.mpf(int(found)) if isinstance(found, bool) else found
    if isinstance(found, mpmath.mpc) or not mpmath.isfinite(found):
        raise NoRealValue(f"{found}")
    parts.append(found)
    return found


def _is_double(x: Any) -> bool:
    return bool(abs(x) <= LARGEST and mpmath.mpf(float(x)) == x)


def nearby(values: Mapping[str, float], ulps: int) -> list[dict[str, float]]:
    """The point, and those with each coordinate moved by some units in the last place, all combinations."""
    moved = [[_moved(x, -ulps), x, _moved(x, ulps)] for x in values.values()]
    return [dict(zip(values, column, strict=True)) for column in itertools.product(*moved)]


def _moved(x: float, ulps: int) -> float:
    for _ in range(abs(ulps)):
        x = math.nextafter(x, math.copysign(math.inf, ulps))
    return x
