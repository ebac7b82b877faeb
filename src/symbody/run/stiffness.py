"""Whether the steps of an explicit method are limited by stability: then an implicit one is cheaper."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.run.session import Session

BOUNDARY = 2.5  # h |lambda| near the edge of the stability regions of dopri5 (3.3) and dopri8 (6.1)
FEW = 500  # steps before the question is asked
MANY_LEFT = 2000  # steps that must be left for a change to pay
LARGEST = 200  # states beyond which the eigenvalues are not worth their cost


def is_stiff(session: Session) -> bool:
    """By the spectrum of the Jacobian: strongly damped modes for which the mean step is already too long.

    Accuracy keeps h |lambda| of modes that matter well below 1 at usual tolerances (Hairer and Wanner II, IV.2).
    """
    steps, t, start = session.statistics.get("steps", 0), session.t, session.settings.start
    if steps < FEW or session.x.ndim != 1 or len(session.x) > LARGEST or t <= start:
        return False
    h = (t - start) / steps
    if (session.end - t) / h < MANY_LEFT:
        return False
    damped = -np.linalg.eigvals(_jacobian(session.driver, t, session.x)).real
    return bool(h * np.max(damped, initial=0.0) > BOUNDARY)


def _jacobian(driver: Any, t: float, x: np.ndarray) -> np.ndarray:
    """(nx, nx) by central differences, all columns in one native call."""
    size = 1e-6 * np.maximum(1.0, np.abs(x))
    shifts = np.diag(size)
    states = np.concatenate([x + shifts, x - shifts])
    rates = driver.rates(np.full(len(states), t), states)
    n = len(x)
    slopes = (rates[:n] - rates[n:]) / (2 * size[:, None])
    return np.nan_to_num(np.asarray(slopes.T))
