"""What each operation of a Program does to numbers.

A value is a Python float, a NumPy array over the loop dimensions, a complex number of either kind, or a Fraction.
Floats use the C library through `math`, so a compiled C target agrees bit for bit; whatever `math` refuses (log of
zero, overflow) and all arrays go through NumPy, which gives inf and nan.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from symbody.basics.errors import ExpressionError
from symbody.symbolic.expr.evaluate import exact_value
from symbody.symbolic.expr.external import Piecewise
from symbody.symbolic.expr.function_row import Function, row_of
from symbody.symbolic.lower.fma import fused


def divide(a: Any, b: Any) -> Any:
    try:
        return a / b
    except ZeroDivisionError:
        return float(np.divide(a, b))


def _exact_divide(a: Fraction, b: Fraction) -> Fraction:
    if b == 0:
        raise ExpressionError(f"{a} is divided by zero: exact numbers have no infinity; use float inputs.")
    return a / b


# what is arithmetic: the functions have rows, see `operation`
FLOATS: dict[str, Callable[..., Any]] = {
    "div": divide,
    "neg": lambda a: -a,
    "fma": lambda a, b, c, sp, sc: fused(a if sp > 0 else -a, b, c if sc > 0 else -c),
}
EXACT: dict[str, Callable[..., Any]] = {
    "div": _exact_divide,
    "neg": lambda a: -a,
    "fma": lambda a, b, c, sp, sc: sp * a * b + sc * c,
}


def operation(op: str, exact: bool) -> Callable[..., Any]:
    """What an operation of a Program does to numbers."""
    found = (EXACT if exact else FLOATS).get(op)
    if found is not None:
        return found
    row = row_of(op)
    if not exact:
        return row.run
    if not row.rational:
        raise ExpressionError(f"'{op}' of an exact number is not rational; use float inputs.")
    return partial(_exact_call, row)


def _exact_call(row: Function, *args: Fraction) -> Fraction:
    return exact_value(row, args)


def table_value(table: Piecewise, x: Any) -> Any:
    """The piecewise polynomial at x, by Horner's rule in x - x[i]."""
    last = len(table.x) - 2
    if np.ndim(x) == 0:
        at = x if isinstance(x, Fraction) else float(np.real(x))
        i = min(max(bisect.bisect_right(table.x, at) - 1, 0), last)
        convert = Fraction if isinstance(x, Fraction) else float
        t = x - convert(table.x[i])
        value: Any = convert(table.c[-1][i])
        for row in table.c[-2::-1]:
            value = value * t + convert(row[i])
        return value
    i = np.clip(np.searchsorted(table.x, np.real(x), side="right") - 1, 0, last)
    rows = np.asarray(table.c)
    t = x - np.asarray(table.x)[i]
    value = rows[-1][i]
    for row in rows[-2::-1]:
        value = value * t + row[i]
    return value
