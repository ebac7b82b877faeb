"""What each operation of a Program does to numbers: one table for floats and arrays, one for exact numbers.

A value is a Python float, a NumPy array over the loop dimensions, a complex number of either kind, or a Fraction.
Floats use the C library through `math`, so a compiled C target agrees bit for bit; whatever `math` refuses (log of
zero, overflow) and all arrays go through NumPy, which gives inf and nan. Complex numbers choose branches by their
real parts, as the complex-step derivative needs.
"""

from __future__ import annotations

import bisect
import ctypes
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from symbody.errors import CompileError, ExpressionError
from symbody.expr.external import External, Piecewise
from symbody.lower.fma import fused


def real(x: Any) -> Any:
    return x if type(x) is float else np.real(x)


def choose(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b; for floats one of the two objects themselves."""
    if isinstance(condition, (bool, np.bool_)) and np.ndim(a) == 0 and np.ndim(b) == 0:
        return a if condition else b
    return np.where(condition, a, b)


def truth(condition: Any) -> Any:
    """1.0 or 0.0."""
    return np.asarray(condition, dtype=float) if np.ndim(condition) else float(condition)


def divide(a: Any, b: Any) -> Any:
    try:
        return a / b
    except ZeroDivisionError:
        return float(np.divide(a, b))


def either(on_floats: Callable[..., float], on_arrays: Callable[..., Any]) -> Callable[..., Any]:
    """A function that uses `on_floats` on Python floats and `on_arrays` on the rest and where the former refuses."""

    def function(*args: Any) -> Any:
        for x in args:
            if type(x) is not float:
                return on_arrays(*args)
        try:
            return on_floats(*args)
        except (ValueError, OverflowError, ZeroDivisionError):
            return float(on_arrays(*args))

    return function


def _atan2(y: Any, x: Any) -> Any:
    if np.result_type(y, x).kind != "c":
        return np.arctan2(y, x)
    # turn by the real angle first: the rest is a small complex angle, exact to the last bit of a tiny imaginary part
    angle = np.arctan2(np.real(y), np.real(x))
    c, s = np.cos(angle), np.sin(angle)
    return angle + np.arctan((y * c - x * s) / (x * c + y * s))


def _hypot(a: Any, b: Any) -> Any:
    return np.sqrt(a * a + b * b) if np.result_type(a, b).kind == "c" else np.hypot(a, b)


def _mod(a: Any, b: Any) -> Any:
    if np.result_type(a, b).kind == "c":
        return a - np.floor(np.real(a) / np.real(b)) * b
    return np.mod(a, b)


def _minimum(a: Any, b: Any) -> Any:
    x = real(a)
    return choose((x < real(b)) | (x != x), a, b)


def _maximum(a: Any, b: Any) -> Any:
    x = real(a)
    return choose((x > real(b)) | (x != x), a, b)


def _absolute(x: Any) -> Any:
    return np.where(np.real(x) < 0, -x, x) if np.iscomplexobj(x) else np.abs(x)


def _sign(x: Any) -> Any:
    x = real(x)
    return choose(x > 0.0, 1.0, choose(x < 0.0, -1.0, x))


FLOATS: dict[str, Callable[..., Any]] = {
    "div": divide,
    "neg": lambda a: -a,
    "fma": lambda a, b, c, sp, sc: fused(a if sp > 0 else -a, b, c if sc > 0 else -c),
    "sqrt": either(math.sqrt, np.sqrt),
    "exp": either(math.exp, np.exp),
    "log": either(math.log, np.log),
    "sin": either(math.sin, np.sin),
    "cos": either(math.cos, np.cos),
    "tan": either(math.tan, np.tan),
    "asin": either(math.asin, np.arcsin),
    "acos": either(math.acos, np.arccos),
    "atan": either(math.atan, np.arctan),
    "sinh": either(math.sinh, np.sinh),
    "cosh": either(math.cosh, np.cosh),
    "tanh": either(math.tanh, np.tanh),
    "asinh": either(math.asinh, np.arcsinh),
    "acosh": either(math.acosh, np.arccosh),
    "atanh": either(math.atanh, np.arctanh),
    "abs": either(abs, _absolute),
    "sign": _sign,
    "floor": lambda a: np.floor(real(a)) if type(a) is not float else float(np.floor(a)),
    "ceil": lambda a: np.ceil(real(a)) if type(a) is not float else float(np.ceil(a)),
    "not": lambda a: truth(a == 0.0),
    "atan2": either(math.atan2, _atan2),
    "pow": either(math.pow, np.power),
    "min": _minimum,
    "max": _maximum,
    "hypot": either(lambda a, b: float(np.hypot(a, b)), _hypot),  # math.hypot is not the C library's
    "mod": either(lambda a, b: a % b, _mod),
    "lt": lambda a, b: truth(real(a) < real(b)),
    "le": lambda a, b: truth(real(a) <= real(b)),
    "eq": lambda a, b: truth(real(a) == real(b)),
    "ne": lambda a, b: truth(real(a) != real(b)),
    "and": lambda a, b: truth((a != 0.0) & (b != 0.0)),
    "or": lambda a, b: truth((a != 0.0) | (b != 0.0)),
    "select": lambda c, a, b: choose(c != 0.0, a, b),
}


def _exact_power(a: Fraction, b: Fraction) -> Fraction:
    if b.denominator != 1:
        raise ExpressionError(f"The power {b} of an exact number is not rational; use float inputs.")
    return _exact_divide(Fraction(1), a**-b.numerator) if b < 0 else a**b.numerator


def _exact_divide(a: Fraction, b: Fraction) -> Fraction:
    if b == 0:
        raise ExpressionError(f"{a} is divided by zero: exact numbers have no infinity; use float inputs.")
    return a / b


def _exact_truth(condition: bool) -> Fraction:
    return Fraction(int(condition))


EXACT: dict[str, Callable[..., Any]] = {
    "div": _exact_divide,
    "neg": lambda a: -a,
    "fma": lambda a, b, c, sp, sc: sp * a * b + sc * c,
    "abs": abs,
    "sign": lambda a: Fraction((a > 0) - (a < 0)),
    "floor": lambda a: Fraction(math.floor(a)),
    "ceil": lambda a: Fraction(math.ceil(a)),
    "not": lambda a: _exact_truth(a == 0),
    "pow": _exact_power,
    "min": min,
    "max": max,
    "mod": lambda a, b: a - b * math.floor(_exact_divide(a, b)),
    "lt": lambda a, b: _exact_truth(a < b),
    "le": lambda a, b: _exact_truth(a <= b),
    "eq": lambda a, b: _exact_truth(a == b),
    "ne": lambda a, b: _exact_truth(a != b),
    "and": lambda a, b: _exact_truth(a != 0 and b != 0),
    "or": lambda a, b: _exact_truth(a != 0 or b != 0),
    "select": lambda c, a, b: a if c != 0 else b,
}


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


def call_external(external: External, args: list[Any]) -> tuple[Any, ...]:
    """The results of an external function; one that takes only single numbers is called lane by lane."""
    function = external.function or _function_at(external)
    if not any(np.ndim(a) for a in args):
        return _results(external, function(*args))
    lanes = np.broadcast_arrays(*args)
    try:
        return _results(external, function(*lanes))
    except (TypeError, ValueError):
        flat = [a.ravel().tolist() for a in lanes]
        rows = np.asarray([_results(external, function(*lane)) for lane in zip(*flat)])
        return tuple(rows[:, k].reshape(lanes[0].shape) for k in range(external.results))


def _results(external: External, returned: Any) -> tuple[Any, ...]:
    if external.results == 1 and not isinstance(returned, (tuple, list)):
        returned = (returned,)
    # plain floats for one state: NumPy scalars would leave the tables above
    results = tuple(float(r) if isinstance(r, (int, np.floating)) else r for r in returned)
    if len(results) != external.results:
        raise ExpressionError(f"External '{external.name}' gave {len(results)} results; expected {external.results}.")
    return results


def _function_at(external: External) -> Callable[..., Any]:
    """A Python function around a C function `void f(const double *in, double *out)`."""
    if external.address is None:
        raise CompileError(f"External '{external.name}' has neither a Python function nor an address to call.")
    pointer = ctypes.POINTER(ctypes.c_double)
    native = ctypes.CFUNCTYPE(None, pointer, pointer)(external.address)

    def function(*args: float) -> tuple[float, ...]:
        results = (ctypes.c_double * max(external.results, 1))()
        native((ctypes.c_double * max(len(args), 1))(*args), results)
        return tuple(results[: external.results])

    return function
