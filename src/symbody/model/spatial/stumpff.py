"""Stumpff functions c_k(x) = sum over n of (-x)^n / (k + 2 n)!, over any scalar.

With x the square of an angle t they are cos t, sin t / t, (1 - cos t) / t^2, (t - sin t) / t^3, ...: entire functions
of x, so that the exponential map and its tangent need no case for a vanishing angle, nor dual numbers one for couples.
"""

from __future__ import annotations

from math import factorial
from typing import Any

from symbody.basics.errors import ExpressionError
from symbody.model.spatial.scalar import branch, cos, real_part, sin, sqrt
from symbody.symbolic.expr.arrays import is_zero, reciprocal

TERMS = 10  # below x = 1 the first term left out is less than 1e-18 of the sum


def stumpff(k: int, x: Any) -> Any:
    """c_k(x) for k = 0 .. 6 and x >= 0 (rad^2); exactly 1/k! where x is exactly zero."""
    if not 0 <= k <= 6:
        raise ExpressionError(f"Stumpff function of index {k} was asked for; expected 0 to 6.")
    if is_zero(x):
        return reciprocal(factorial(k))
    if hasattr(x, "extend"):
        return x.extend(lambda t: stumpff(k, t), lambda t: stumpff_derivative(k, t))
    return branch(real_part(x) < 1, lambda: _series(k, x), lambda: _closed(k, x))


def stumpff_derivative(k: int, x: Any) -> Any:
    """dc_k/dx = (k c_(k+2) - c_(k+1)) / 2."""
    if k == 0:
        return -stumpff(1, x) / 2
    return (k * stumpff(k + 2, x) - stumpff(k + 1, x)) / 2


def _series(k: int, x: Any) -> Any:
    """Horner's scheme."""
    total: Any = 1.0 / factorial(k + 2 * TERMS)
    for n in range(TERMS - 1, -1, -1):
        total = 1.0 / factorial(k + 2 * n) - x * total
    return total


def _closed(k: int, x: Any) -> Any:
    """From cosine and sine by x c_(k+2) = 1/k! - c_k."""
    t = sqrt(x)
    value = cos(t) if k % 2 == 0 else sin(t) / t
    for j in range(k % 2, k, 2):
        value = (1.0 / factorial(j) - value) / x
    return value
