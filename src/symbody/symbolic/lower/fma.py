"""Multiply and add with one rounding, for Python floats and NumPy arrays, without hardware or C library support.

Boldo, Melquiond 2008, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", fig. 3.
Where the error-free transformations may overflow or underflow, and for values that are not finite, exact fractions or
plain arithmetic decide.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

_SPLIT = 134217729.0  # 2^27 + 1: Veltkamp's factor for 53-bit numbers
_SMALL, _LARGE = 2.0**-450, 2.0**450  # factors and addend within these keep every intermediate step exact


def fused(a: Any, b: Any, c: Any) -> Any:
    """a*b + c rounded once; complex numbers are rounded as usual, exact numbers not at all."""
    if type(a) is float and type(b) is float and type(c) is float:
        return _fused_floats(a, b, c)
    if isinstance(a, Fraction) or isinstance(b, Fraction) or isinstance(c, Fraction):
        return a * b + c
    a, b, c = np.broadcast_arrays(a, b, c)
    if np.result_type(a, b, c).kind == "c":
        return a * b + c
    return _fused_arrays(a, b, c)


def _fused_floats(a: float, b: float, c: float) -> float:
    p = a * b
    if a == 0.0 or b == 0.0 or not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return p + c
    if not (_SMALL < abs(a) < _LARGE and _SMALL < abs(b) < _LARGE and (c == 0.0 or _SMALL < abs(c) < _LARGE)):
        return _fused_fractions(a, b, c)
    high, tail = _sum_parts(p, _product_error(a, b, p), c)
    odd = tail[0]
    if tail[1] != 0.0 and _even(odd):
        odd = math.nextafter(odd, math.copysign(math.inf, tail[1]))
    return high + odd


@np.errstate(all="ignore")
def _fused_arrays(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    p = a * b
    high, (odd, error) = _sum_parts(p, _product_error(a, b, p), c)
    even = (odd.view(np.int64) & 1) == 0
    odd = np.where((error != 0.0) & even, np.nextafter(odd, np.copysign(np.inf, error)), odd)
    result = high + odd
    size_a, size_b, size_c = np.abs(a), np.abs(b), np.abs(c)
    safe = (size_a > _SMALL) & (size_a < _LARGE) & (size_b > _SMALL) & (size_b < _LARGE)
    safe &= (size_c == 0.0) | ((size_c > _SMALL) & (size_c < _LARGE))
    plain = (a == 0.0) | (b == 0.0) | ~(np.isfinite(a) & np.isfinite(b) & np.isfinite(c))
    result = np.where(plain, p + c, result)
    safe |= plain
    for i in zip(*np.nonzero(~safe)):  # rare: one lane at a time
        result[i] = _fused_floats(float(a[i]), float(b[i]), float(c[i]))
    return result


def _product_error(a: Any, b: Any, p: Any) -> Any:
    """a*b - p exactly (Dekker 1971)."""
    t = _SPLIT * a
    a1 = t - (t - a)
    a2 = a - a1
    t = _SPLIT * b
    b1 = t - (t - b)
    b2 = b - b1
    return a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2)


def _sum_parts(p: Any, error: Any, c: Any) -> tuple[Any, tuple[Any, Any]]:
    """p + error + c as a head and a tail; the tail is a pair (value, its rounding error)."""
    t, t_error = _two_sum(c, error)
    high, high_error = _two_sum(p, t)
    return high, _two_sum(t_error, high_error)


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)


def _even(x: float) -> bool:
    """Whether the last bit of x's mantissa is zero."""
    mantissa, _ = math.frexp(x)
    return int(mantissa * 2.0**53) % 2 == 0


def _fused_fractions(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # the sign of zero follows the plain rule
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
