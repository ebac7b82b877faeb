"""Contact of a point with the ground: a penalty force along the normal and regularised Coulomb friction across it."""

from __future__ import annotations

from typing import Any

from symbody.model.library.law_functions import maximum, select, smooth_positive, sqrt
from symbody.symbolic.expr.arrays import is_zero


def normal_force(depth: Any, rate: Any, stiffness: Any, damping: Any = 0, width: Any = 0) -> Any:
    """Force that pushes out of the ground, N; depth (m) > 0 inside, rate its derivative (m/s); never pulls.

    Without width: max(0, stiffness depth + damping rate) inside, 0 outside; the damper makes a jump at touch.
    With width (m) it is smooth: the corner of the depth is rounded over it, and the damper comes in with depth, as
    d / (d + width) (after Hunt and Crossley 1975).
    """
    if is_zero(width):
        return select(depth > 0, maximum(stiffness * depth + damping * rate, 0), 0)
    d = smooth_positive(depth, width)
    return d * smooth_positive(stiffness + damping * rate / (d + width), stiffness / 100)


def friction_gain(speed_squared: Any, normal: Any, coefficient: Any, slowest: Any) -> Any:
    """Factor of the sliding velocity v in the friction force, N s/m: -coefficient normal / sqrt(v^2 + slowest^2).

    At the speed `slowest` (m/s) the force has 71 % of the sliding level; rest needs no case of its own.
    """
    return -coefficient * normal / sqrt(speed_squared + slowest * slowest)
