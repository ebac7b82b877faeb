"""The linear tyre: stiffnesses for slip, slip angle and camber, with an optional friction limit.

ISO axes at the contact point: x forward, y left, z up. Slip kappa = -v_sx / |v_x| drives forward when positive; the
slip angle alpha is positive when the wheel slides to the left; camber is positive when its top leans to the right.
"""

from __future__ import annotations

from typing import Any

from symbody.model.library.law_functions import select, sqrt


def linear_tyre(
    load: Any,
    kappa: Any,
    alpha: Any,
    camber: Any = 0,
    *,
    slip_stiffness: Any = 0,
    cornering_stiffness: Any = 0,
    camber_stiffness: Any = 0,
    trail: Any = 0,
    rolling_resistance: Any = 0,
    radius: Any = 0,
    friction: Any = None,
) -> tuple[Any, Any, Any, Any, Any]:
    """(Fx, Fy, Mx, My, Mz) on the tyre at the contact point, N and N m; load > 0 is the force upward on the tyre.

    slip_stiffness (N), cornering_stiffness and camber_stiffness (N/rad, positive numbers), pneumatic trail (m),
    rolling_resistance (share of the load, forward rolling). friction bounds the size f of (Fx, Fy) by friction * load:
    both are divided by sqrt(1 + (f / (friction load))^2). Without friction they are there as soon as there is a load.
    """
    fx = slip_stiffness * kappa
    fy = -cornering_stiffness * alpha - camber_stiffness * camber
    if friction is not None:
        limit = friction * load
        # written without a division by the load, which is zero in the air
        share = limit / sqrt(limit * limit + fx * fx + fy * fy + 1e-12)
        fx, fy = share * fx, share * fy
    else:
        fx, fy = select(load > 0, fx, 0), select(load > 0, fy, 0)
    return fx, fy, 0, -rolling_resistance * radius * load, -trail * fy
