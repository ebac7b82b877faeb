"""Laws of actuators: lags, limits, and the direct-current motor."""

from __future__ import annotations

from typing import Any

from symbody.model.library.law_functions import maximum, minimum, tanh


def first_order(x: Any, command: Any, time_constant: Any) -> Any:
    """Rate of a first-order lag: (command - x) / time_constant (s)."""
    return (command - x) / time_constant


def soft_limit(x: Any, limit: Any) -> Any:
    """limit tanh(x / limit): slope 1 at 0, never beyond the limit."""
    return limit * tanh(x / limit)


def hard_limit(x: Any, lower: Any, upper: Any) -> Any:
    """x, held between lower and upper."""
    return minimum(maximum(x, lower), upper)


def motor_current_rate(current: Any, voltage: Any, speed: Any, resistance: Any, inductance: Any, constant: Any) -> Any:
    """di/dt of a direct-current motor, A/s: (voltage - resistance i - constant speed) / inductance.

    voltage V, speed rad/s, resistance ohm, inductance H, constant N m/A = V s.
    """
    return (voltage - resistance * current - constant * speed) / inductance


def motor_torque(current: Any, constant: Any) -> Any:
    """Torque of a direct-current motor, N m: constant (N m/A) times current (A)."""
    return constant * current
