"""Laws of actuators: lags, limits, and the direct-current motor."""

from __future__ import annotations

from typing import Any

from symbody.model.library.law_functions import tanh


def first_order(x: Any, command: Any, time_constant: Any) -> Any:
    """Rate of a first-order lag: (command - x) / time_constant (s)."""
    return (command - x) / time_constant


def soft_limit(x: Any, limit: Any) -> Any:
    """limit tanh(x / limit): slope 1 at 0, never beyond the limit."""
    return limit * tanh(x / limit)
