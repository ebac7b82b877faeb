"""Numbers of the step size control, for the native march and the one in NumPy (Hairer, Norsett, Wanner I, II.4)."""

from __future__ import annotations

from symbody.motion.march.method_tables import RungeKutta

# the next step aims at this part of what the error allows; it changes by these factors at most
SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0
# factor for steps that cannot be judged: not finite, or a solve block that failed
BACK = 0.25
# below 10 roundings of t a step cannot be resolved
ROUNDING = 2.0**-53
# the error of the step before, as the PI controller remembers it, is at least this
SMALLEST_MEMORY = 1e-4


def exponents(method: RungeKutta) -> tuple[float, float]:
    """(of the error, of the error before): beta = 0.2/k as in dopri5, where it is 0.04."""
    beta = 0.2 / method.error_order
    return 1.0 / method.error_order - 0.75 * beta, beta
