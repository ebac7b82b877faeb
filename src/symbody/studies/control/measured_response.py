"""Frequency response from a record of input and output: spectra averaged over windows, with the coherence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import (
    DefinitionError,
    ShapeError,
    array_argument,
    real_argument,
    whole_argument,
    word_argument,
)

ESTIMATORS = ("H1", "H2", "Hv")


@dataclass(frozen=True, eq=False)
class MeasuredResponse:
    """An estimate of y / u.

    omega      (k,) rad/s
    values     (k,) or (k, ny) complex
    coherence  likewise, in [0, 1]: share of the output's power that the input explains linearly; 1 for a single window
    """

    omega: np.ndarray
    values: np.ndarray
    coherence: np.ndarray
    estimator: str
    windows: int

    @property
    def frequency(self) -> np.ndarray:
        """(k,) Hz."""
        return self.omega / (2 * np.pi)


@declared
def experimental_response(
    u: Any,
    y: Any,
    dt: float,
    estimator: str = "H1",
    window: str = "hann",
    segment: int | None = None,
    overlap: float = 0.5,
    detrend: bool = False,
) -> MeasuredResponse:
    """y / u over frequency from samples u (n,) and y (n,) or (n, ny), dt s apart.

    estimator   H1 = S_uy / S_uu (noise on the output averages out), H2 = S_yy / S_yu (noise on the input), Hv between
    window      any window of scipy.signal; "boxcar" with one segment is the plain quotient of Fourier transforms, right
                for an impulse (or any record that is at rest at both ends)
    segment     samples in a window; None: an eighth of the record; overlap: share that neighbours have in common
    detrend     take the mean out of each window first (Welch's method, scipy.signal.csd)
    """
    from scipy.signal import csd, get_window

    given, out = array_argument("u", u, "samples (n,)"), array_argument("y", y, "samples (n,) or (n, ny)")
    single = out.ndim == 1
    out = out[:, None] if single else out
    if given.ndim != 1 or out.ndim != 2 or len(out) != len(given) or len(given) < 4:
        raise ShapeError(
            f"u has shape {given.shape} and y {np.shape(y)}; expected (n,) and (n,) or (n, ny), n at least 4."
        )
    real_argument("dt", dt, "a positive sampling period in s", above=0.0)
    word_argument("estimator", estimator, ESTIMATORS)
    if not (np.all(np.isfinite(given)) and np.all(np.isfinite(out))):
        raise DefinitionError("the record holds values that are not finite; leave the instants out, or repair them.")
    if segment is not None:
        whole_argument("segment", segment, 4)
    real_argument("overlap", overlap, "a share from 0, below 1", least=0.0)
    n = len(given)
    length = max(4, n // 8) if segment is None else int(segment)
    if not 4 <= length <= n or not 0 <= overlap < 1:
        raise DefinitionError(f"segment={length}, overlap={overlap}; expected 4 to {n} samples and a share below 1.")
    shared = round(overlap * length)
    options: dict[str, Any] = {
        "fs": 1 / dt,
        "window": get_window(window, length),
        "nperseg": length,
        "noverlap": shared,
        "detrend": "constant" if detrend else False,
    }
    f, Suu = csd(given, given, **options)
    with np.errstate(divide="ignore", invalid="ignore"):
        columns, coherences = [], []
        for k in range(out.shape[1]):
            Suy, Syy = csd(given, out[:, k], **options)[1], csd(out[:, k], out[:, k], **options)[1].real
            H1, H2 = Suy / Suu.real, Syy / Suy.conj()
            columns.append(
                {"H1": H1, "H2": H2, "Hv": np.sqrt(np.abs(H1) * np.abs(H2)) * np.exp(1j * np.angle(Suy))}[estimator]
            )
            coherences.append(np.abs(Suy) ** 2 / (Suu.real * Syy))
    values, coherence = np.stack(columns, axis=1), np.stack(coherences, axis=1)
    windows = 1 + (n - length) // max(length - shared, 1)
    if single:
        values, coherence = values[:, 0], coherence[:, 0]
    return MeasuredResponse(2 * np.pi * f, values, coherence, estimator, windows)
