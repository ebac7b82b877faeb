"""Numbers for parameters: which ones a parameter can have. Asked when they are given, not at every evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.errors import ModelError, ShapeError, floats, shown


def real_number(name: str, value: Any) -> np.ndarray:
    """The value of a parameter, or an array of them, as floats."""
    try:
        return floats(value)
    except (TypeError, ValueError):
        raise ModelError(f"parameter {name!r} is {shown(value)}; expected a number.") from None


def check_number(name: str, array: np.ndarray, nonzero: bool) -> None:
    """Refuse what is not finite, and 0 where the parameter is declared nonzero."""
    exact = array.dtype == object  # integers and fractions, which are finite
    try:
        finite = exact or bool(np.isfinite(array).all())
        zero = nonzero and bool(np.any(array == 0))
    except MemoryError:
        raise ShapeError(
            f"parameter {name!r} has shape {array.shape}, which does not fit into memory; run it in parts."
        ) from None
    if not finite:
        wrong = array[~np.isfinite(array)].flat[0]
        raise ModelError(
            f"parameter {name!r} is {wrong:g}; expected a finite number. Give another one, or none for its default."
        )
    if zero:
        raise ModelError(
            f"parameter {name!r} is 0; expected another number, because it is declared nonzero and programs divide by "
            f"it. Give one that is not 0, or declare {name!r} without nonzero."
        )
