"""Functions of NumPy arrays and of single numbers, real or complex, where NumPy's own do not do.

Complex numbers choose branches by their real parts, as the complex-step derivative needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np


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


def atan2(y: Any, x: Any) -> Any:
    if np.result_type(y, x).kind != "c":
        return np.arctan2(y, x)
    # turn by the real angle first: the rest is a small complex angle, exact to the last bit of a tiny imaginary part
    angle = np.arctan2(np.real(y), np.real(x))
    c, s = np.cos(angle), np.sin(angle)
    return angle + np.arctan((y * c - x * s) / (x * c + y * s))


def hypot(a: Any, b: Any) -> Any:
    if np.result_type(a, b).kind == "c":
        return np.sqrt(a * a + b * b)
    found = np.hypot(a, b)  # math.hypot is not the C library's
    return float(found) if type(a) is float and type(b) is float else found


def mod(a: Any, b: Any) -> Any:
    if np.result_type(a, b).kind == "c":
        return a - np.floor(np.real(a) / np.real(b)) * b
    return np.mod(a, b)


def minimum(a: Any, b: Any) -> Any:
    x = real(a)
    return choose((x < real(b)) | (x != x), a, b)


def maximum(a: Any, b: Any) -> Any:
    x = real(a)
    return choose((x > real(b)) | (x != x), a, b)


def absolute(x: Any) -> Any:
    return np.where(np.real(x) < 0, -x, x) if np.iscomplexobj(x) else np.abs(x)


def sign(x: Any) -> Any:
    x = real(x)
    return choose(x > 0.0, 1.0, choose(x < 0.0, -1.0, x))


def floor(x: Any) -> Any:
    return float(np.floor(x)) if type(x) is float else np.floor(real(x))


def ceil(x: Any) -> Any:
    return float(np.ceil(x)) if type(x) is float else np.ceil(real(x))
