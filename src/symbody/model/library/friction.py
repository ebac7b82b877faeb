"""Friction against sliding or turning: the effort opposes the speed v, so that its power is never positive.

v in m/s or rad/s, levels in N or N m. `width` is the speed over which a sign is smoothed (tanh); 0 keeps the jump.
"""

from __future__ import annotations

from typing import Any

from symbody.model.library.law_functions import absolute, exp, sign, tanh
from symbody.symbolic.expr.arrays import is_zero


def direction(v: Any, width: Any = 0) -> Any:
    """sign(v), or tanh(v / width) where a width is given."""
    return sign(v) if is_zero(width) else tanh(v / width)


def viscous(v: Any, coefficient: Any) -> Any:
    """-coefficient v; coefficient in N s/m or N m s."""
    return -coefficient * v


def coulomb(v: Any, level: Any, width: Any = 0) -> Any:
    """-level sign(v)."""
    return -level * direction(v, width)


def stribeck(
    v: Any, level: Any, breakaway: Any, speed: Any, coefficient: Any = 0, width: Any = 0, shape: Any = 2
) -> Any:
    """Coulomb level, raised to `breakaway` near rest, and viscous friction (Armstrong-Helouvry, Dupont, Canudas 1994).

    -(level + (breakaway - level) exp(-|v/speed|^shape)) sign(v) - coefficient v
    """
    x = absolute(v) / speed
    fading = exp(-(x * x)) if isinstance(shape, (int, float)) and shape == 2 else exp(-(x**shape))
    return -(level + (breakaway - level) * fading) * direction(v, width) - coefficient * v
