"""Elementary functions of any scalar: floats, complex numbers, Fractions, Nodes, and dual numbers over any of these.

A type that knows its own extension offers `extend(f, df)`, where df is the derivative; `dual.Dual` does. So every chart
of rotations written with these functions also holds for dual angles (transfer principle, Kotelnikov and Study).
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from symbody.basics.errors import ExpressionError, nearest
from symbody.symbolic.expr.arrays import is_zero, square_root
from symbody.symbolic.expr.call import call
from symbody.symbolic.expr.node import Node

# name -> derivative
DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "sin": lambda x: cos(x),
    "cos": lambda x: -sin(x),
    "tan": lambda x: 1 + tan(x) ** 2,
    "asin": lambda x: 1 / sqrt(1 - x * x),
    "acos": lambda x: -1 / sqrt(1 - x * x),
    "atan": lambda x: 1 / (1 + x * x),
    "sinh": lambda x: function("cosh", x),
    "cosh": lambda x: function("sinh", x),
    "tanh": lambda x: 1 - function("tanh", x) ** 2,
    "exp": lambda x: exp(x),
    "log": lambda x: 1 / x,
    "sqrt": lambda x: 1 / (2 * sqrt(x)),
}


def function(name: str, x: Any) -> Any:
    """The elementary function of this name at a scalar of any type."""
    if name not in DERIVATIVES:
        raise ExpressionError(f"function {name!r} is not known over every scalar. {nearest(name, DERIVATIVES)}")
    if x.__class__ is Node:
        return call(name, x)
    if hasattr(x, "extend"):
        return x.extend(lambda t: function(name, t), DERIVATIVES[name])
    if isinstance(x, complex):
        return getattr(cmath, name)(x)
    if name == "sqrt":
        return square_root(x)
    if is_zero(x) and name in ("sin", "tan", "asin", "atan", "sinh", "tanh"):
        return 0  # exact, so that it makes no operation
    return 1 if is_zero(x) and name in ("cos", "cosh", "exp") else getattr(math, name)(x)


def sin(x: Any) -> Any:
    return function("sin", x)


def cos(x: Any) -> Any:
    return function("cos", x)


def tan(x: Any) -> Any:
    return function("tan", x)


def asin(x: Any) -> Any:
    return function("asin", x)


def acos(x: Any) -> Any:
    return function("acos", x)


def atan(x: Any) -> Any:
    return function("atan", x)


def exp(x: Any) -> Any:
    return function("exp", x)


def log(x: Any) -> Any:
    return function("log", x)


def sqrt(x: Any) -> Any:
    return function("sqrt", x)


def atan2(y: Any, x: Any) -> Any:
    """Angle of the point (x, y), rad; of complex numbers the branch of their real parts (for complex steps)."""
    if hasattr(y, "extend_two") or hasattr(x, "extend_two"):
        owner = y if hasattr(y, "extend_two") else x
        return owner.extend_two(atan2, _atan2_partials, y, x)
    if y.__class__ is Node or x.__class__ is Node:
        return call("atan2", y, x)
    if isinstance(y, complex) or isinstance(x, complex):
        y, x = complex(y), complex(x)
        at = math.atan2(y.real, x.real)
        c, s = math.cos(at), math.sin(at)
        return at + cmath.atan((c * y - s * x) / (c * x + s * y))  # the rest is a small angle
    return math.atan2(y, x)


def _atan2_partials(y: Any, x: Any) -> tuple[Any, Any]:
    square = x * x + y * y
    return x / square, -y / square


def choose(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b: a select node where the condition is symbolic."""
    return branch(condition, lambda: a, lambda: b)


def branch(condition: Any, a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """`choose` for values not yet formed: of numbers only the one that is taken is computed."""
    if isinstance(condition, Node):
        return call("select", condition, a(), b())
    return a() if condition else b()


def real_part(x: Any) -> Any:
    """What comparisons look at: the real part of a complex or dual number, any other scalar itself."""
    return real_part(x.re) if hasattr(x, "extend") else x.real if isinstance(x, complex) else x
