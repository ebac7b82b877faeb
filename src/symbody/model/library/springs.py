"""Forces of springs and dampers between two points: F > 0 pushes them apart; Z distance (m), Zd its rate (m/s)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symbody.model.library.law_functions import apply, maximum, minimum, select, smooth_positive, sqrt
from symbody.symbolic.expr.arrays import is_zero


def spring_damper(Z: Any, Zd: Any, stiffness: Any, damping: Any = 0, length: Any = 0) -> Any:
    """Linear, N: -stiffness (Z - length) - damping Zd; stiffness N/m, damping N s/m, free length m."""
    return -stiffness * (Z - length) - damping * Zd


def cubic_spring(Z: Any, Zd: Any, stiffness: Any, damping: Any = 0, length: Any = 0, cubic: Any = 0) -> Any:
    """Duffing's spring, hardening if cubic (N/m^3) > 0, N: -(stiffness d + cubic d^3) - damping Zd, d = Z - length."""
    d = Z - length
    return -(stiffness + cubic * d * d) * d - damping * Zd


def rope(Z: Any, Zd: Any, stiffness: Any, damping: Any = 0, length: Any = 0) -> Any:
    """Pulls when longer than its length, and never pushes, N."""
    return select(length < Z, minimum(spring_damper(Z, Zd, stiffness, damping, length), 0), 0)


def buffer(Z: Any, Zd: Any, stiffness: Any, damping: Any = 0, length: Any = 0) -> Any:
    """Pushes when shorter than its length, and never pulls, N."""
    return select(length > Z, maximum(spring_damper(Z, Zd, stiffness, damping, length), 0), 0)


def bump_stop(x: Any, lower: Any, upper: Any, stiffness: Any, exponent: float = 1, width: Any = 0) -> Any:
    """Effort that keeps a coordinate x in [lower, upper]: stiffness (lower - x)^exponent below, the opposite above.

    N or N m. width rounds the onset (same unit as x); 0 leaves a corner.
    """

    def depth(d: Any) -> Any:
        return maximum(d, 0) if is_zero(width) else smooth_positive(d, width)

    below, above = depth(lower - x), depth(x - upper)
    if exponent != 1:
        below, above = below**exponent, above**exponent
    return stiffness * (below - above)


def limit(
    x: Any, v: Any, lower: Any, upper: Any, stiffness: Any, dissipation: Any = 0, speed: Any = None, braking: Any = 0
) -> Any:
    """Effort at the limits of a joint, N or N m: stops of Hunt and Crossley (1975), and a brake above a speed.

    At depth d behind a stop: stiffness d (1 + dissipation d'), never pulling; dissipation in s/rad or s/m. Above
    `speed` (rad/s, m/s): braking times the excess.
    """
    effort = stiffness * maximum(lower - x, 0) * maximum(1 - dissipation * v, 0)
    effort = effort - stiffness * maximum(x - upper, 0) * maximum(1 + dissipation * v, 0)
    if speed is None or is_zero(braking):
        return effort
    return effort - braking * (maximum(v - speed, 0) - maximum(-v - speed, 0))


def energy(Z: Any, stiffness: Any, length: Any = 0, cubic: Any = 0) -> Any:
    """Energy stored in the spring, J: stiffness d^2/2 + cubic d^4/4, d = Z - length."""
    d2 = (Z - length) ** 2
    return (stiffness / 2 + cubic / 4 * d2) * d2


def ramp_energy(x: Any, width: Any = 0) -> Any:
    """Integral of max(x, 0), or with a width of `smooth_positive`: (x^2 + x s + width^2 asinh(x / width)) / 4.

    s = sqrt(x^2 + width^2). The slope in x is the ramp itself, so this is the energy of a one-sided unit spring.
    """
    if is_zero(width):
        return maximum(x, 0) ** 2 / 2
    s = sqrt(x * x + width * width)
    return (x * x + x * s + width * width * apply("asinh", x / width)) / 4


LAWS: dict[str, Callable[..., Any]] = {"linear": spring_damper, "cubic": cubic_spring, "pull": rope, "push": buffer}
