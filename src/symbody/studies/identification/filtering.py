"""From raw records to what the inverse model needs: zero-phase filtering, central differences, parallel decimation.

The usual chain of robot identification (Gautier, Janot, Vandanjon 2013): q is filtered forward and backward, so that no
phase is lost, and differentiated by central differences; the efforts and all columns of the regressor then go through
one and the same low-pass filter and are thinned out, which keeps the equations exact and makes their errors whiter.

Defaults, which depend on the record alone:
  cutoff     where motion ends and noise begins, see `cutoff_choice.py`; the notes say which, and why
  factor     of decimation: what puts the new Nyquist frequency at half the cutoff, and leaves at least 200 samples
  edges      three over the cutoff are cut off at both ends of each stretch, and at least 5 samples: filters ring there
"""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import DataError, real_argument, whole_argument
from symbody.studies.identification.cutoff_choice import ORDER, PASSED, chosen_cutoff, decimation
from symbody.studies.identification.data_checks import check_signals, label_of
from symbody.studies.identification.series import Series

OUTLIER = 8.0  # standard deviations (by the median) of a sample from the median of its neighbours
STRAIGHT = 0.1  # of a period of the cutoff: a span in which motion is nearly straight
SOME = 4000  # second differences that tell noise
GROWN = 1.3  # times those over half the span: second differences that grow
FAR = 0.5  # of a signal's range: outliers beyond are said, though nobody asked


def low_pass(values: np.ndarray, cutoff: float, period: float, order: int = ORDER) -> np.ndarray:
    """(N, n) filtered forward and backward by a Butterworth filter; cutoff Hz (of one pass, -3 dB)."""
    from scipy.signal import butter, sosfiltfilt

    nyquist = 0.5 / period
    if not 0 < cutoff < nyquist:
        raise DataError(f"cutoff={cutoff:g} Hz; expected less than half the sampling frequency, {nyquist:g} Hz.")
    sos = butter(order, cutoff / nyquist, output="sos")
    # what a filter rings before it settles is covered by an odd reflection of the ends
    pad = min(len(values) - 1, int(np.ceil(3 * nyquist / cutoff)) * order)
    return np.asarray(sosfiltfilt(sos, values, axis=0, padtype="odd", padlen=pad))


def filtered(series: Series, cutoff: float, names: tuple[str, ...] = ("q",)) -> Series:
    """The Series with some signals filtered without phase."""
    _check_even(series)
    new = {n: np.array(series[n]) for n in names}
    for piece in series.pieces:
        for n in names:
            new[n][piece] = low_pass(series[n][piece], cutoff, series.period)
    told = f"{', '.join(names)} filtered at {cutoff:g} Hz, forward and backward"
    return series.with_values(told, **new).replace(cutoff=cutoff)


def differentiated(series: Series, velocity: bool = True) -> Series:
    """With qd and qdd by central differences of q; velocity=False keeps a qd that was measured, and takes its slope."""
    _check_even(series)
    h = series.period
    q = series["q"]
    qd = np.zeros_like(q) if velocity else np.array(series["qd"])
    qdd = np.zeros_like(qd)
    for piece in series.pieces:
        if piece.stop - piece.start < 3:
            raise DataError(f"a stretch of {piece.stop - piece.start} samples cannot be differentiated; expected 3.")
        if velocity:
            qd[piece] = np.gradient(q[piece], h, axis=0)
            inner = np.diff(q[piece], 2, axis=0) / h**2
            qdd[piece] = np.vstack([inner[:1], inner, inner[-1:]])
        else:
            qdd[piece] = np.gradient(qd[piece], h, axis=0)
    told = "qd and qdd are central differences of q" if velocity else "qdd is the central difference of qd"
    return series.with_values(told, qd=qd, qdd=qdd)


def trimmed(series: Series, edge: float) -> Series:
    """Without the first and last `edge` seconds of every stretch."""
    cut = int(np.ceil(edge / series.period))
    keep = np.zeros(len(series), dtype=bool)
    for piece in series.pieces:
        keep[piece.start + cut : max(piece.stop - cut, piece.start)] = True
    if keep.sum() < 2:
        raise DataError(f"stretches of {series.duration:g} s in all are shorter than two edges of {edge:g} s.")
    return series.rows(keep)


@declared
def prepare(
    series: Series,
    cutoff: float | None = None,
    period: float | None = None,
    velocity: bool = True,
    edge: float | None = None,
) -> Series:
    """A raw record with q (and tau) as the inverse model takes it: even in time, q filtered, qd and qdd.

    cutoff    Hz of the filter of q; None: chosen by the record, see the head of this file; the notes say what was taken
    period    s, of the new instants; None: as they are, or the median where they are uneven
    velocity  whether qd comes from q; False: from the record, filtered as q is
    edge      s, cut off at both ends of each stretch
    """
    series = check_signals(series)
    series = series.replace(notes=(*series.notes, *_outlier_notes(series)))
    if period is not None or not series.is_even:
        series = series.resampled(period)
    if cutoff is None:
        choice = chosen_cutoff(series)
        at, series = choice.cutoff, series.replace(notes=(*series.notes, str(choice)))
    else:
        at = real_argument("cutoff", cutoff, "a frequency in Hz", above=0.0)
    series = filtered(series, at, ("q",) if velocity else ("q", "qd"))
    series = differentiated(series, velocity)
    least = 5 * series.period
    return trimmed(series, max(3 / at, least) if edge is None else max(edge, least))


def default_factor(series: Series) -> int:
    """Factor of decimation by the rule in the head of this file; 1 for a record that was not filtered."""
    if series.cutoff is None:
        return 1
    shortest = min(p.stop - p.start for p in series.pieces)
    return decimation(series.cutoff, series.period, len(series), shortest)


def decimated(values: np.ndarray, factor: int, pieces: list[slice]) -> tuple[np.ndarray, np.ndarray]:
    """((K, n) values behind a low-pass filter and thinned out, (K,) which samples they are), stretch by stretch.

    All that belongs to one equation must go through this with the same factor. The filter is a Butterworth filter of
    order 4 in each direction, at 0.8 of the new Nyquist frequency.
    """
    whole_argument("factor", factor, 1)
    index = np.concatenate([np.arange(p.start, p.stop)[factor // 2 :: factor] for p in pieces])
    if factor == 1:
        return values, index
    out = []
    for piece in pieces:
        if piece.stop - piece.start > 3 * factor:
            out.append(low_pass(values[piece], PASSED / factor, 1.0)[factor // 2 :: factor])
        else:
            raise DataError(
                f"a stretch of {piece.stop - piece.start} samples is too short for decimation by {factor}; take a "
                "smaller factor, or leave the stretch out."
            )
    return np.concatenate(out), index


def noise_of_equations(z: np.ndarray, factor: int, series: Series) -> np.ndarray:
    """(n,) standard deviation of the noise that decimation leaves of efforts z (N, n).

    By the median of second differences over one, two, four ... samples, which a few steps of dry friction do not move.
    Of white noise all are alike; of noise that a sensor has filtered they grow until its errors no longer follow each
    other, of motion they always do: the first count that hardly grow, over spans in which motion is nearly straight.
    """
    longest = max(series.pieces, key=lambda p: p.stop - p.start)
    values = z[longest]
    most = 1 if series.cutoff is None else max(1, int(STRAIGHT / (series.cutoff * series.period)))
    lags = [k for k in (1, 2, 4, 8, 16, 32) if k <= most and 2 * k < len(values)]
    if not lags:
        return np.full(z.shape[1], np.inf)
    some = slice(None, None, max(1, len(values) // SOME))
    bends = [values[2 * k :][some] - 2 * values[k:-k][some] + values[: -2 * k][some] for k in lags]
    spread = np.array([1.4826 * np.median(np.abs(b), axis=0) / np.sqrt(6) for b in bends])  # of normal errors
    if len(lags) == 1:
        chosen = np.zeros(z.shape[1], dtype=int)
    else:
        growth = spread[1:] / np.maximum(spread[:-1], 1e-300)
        chosen = np.argmax(growth < np.maximum(GROWN, 1.001 * growth.min(axis=0)), axis=0)
    # errors that are alike over a span pass decimation as those of as many samples fewer
    passed = np.minimum(1.0, 2 * PASSED * np.array(lags)[chosen] / factor) if factor > 1 else 1.0
    return np.asarray(spread[chosen, np.arange(z.shape[1])] * np.sqrt(passed))


def without_outliers(series: Series, names: tuple[str, ...] = ("q", "tau"), width: int = 11) -> Series:
    """Single samples far from the median of their neighbours are replaced by it, and counted in the notes (Hampel)."""
    new: dict[str, Any] = {}
    notes = []
    for n in (n for n in names if n in series):
        smooth, bad = _outliers(series, n, width)
        new[n] = np.where(bad, smooth, series[n])
        for k in np.flatnonzero(bad.any(axis=0)).tolist():
            told = f"{int(bad[:, k].sum())} outliers were replaced by the median around them"
            notes.append(f"{n} of {label_of(series, k)}: {told}")
    out = series.with_values(**new)
    return out.replace(notes=(*series.notes, *notes))


def _outliers(series: Series, name: str, width: int = 11) -> tuple[np.ndarray, np.ndarray]:
    """((N, n) medians of the neighbours, (N, n) which samples are far from them)."""
    from scipy.ndimage import maximum_filter, median_filter, minimum_filter

    values = np.asarray(series[name])
    medians, bad = np.array(values), np.zeros(values.shape, dtype=bool)
    for piece in series.pieces:
        smooth = medians[piece] = median_filter(values[piece], size=(width, 1), mode="nearest")
        # noise shows in second differences, which a smooth signal does not have
        spread = 1.4826 * np.median(np.abs(np.diff(values[piece], 2, axis=0)), axis=0) / np.sqrt(6)
        change = maximum_filter(smooth, (width, 1)) - minimum_filter(smooth, (width, 1))
        bad[piece] = np.abs(values[piece] - smooth) > OUTLIER * spread + change + 1e-9 * np.ptp(smooth, axis=0)
    return medians, bad


def _outlier_notes(series: Series) -> list[str]:
    """What `without_outliers` would replace, by the largest distance in ranges of the signal."""
    out = []
    for n in (n for n in ("q", "tau") if n in series and len(series) > 11):
        smooth, bad = _outliers(series, n)
        off = np.where(bad, np.abs(series[n] - smooth), 0.0)
        for k in np.flatnonzero(off.max(axis=0) > FAR * np.ptp(smooth, axis=0)).tolist():
            out.append(
                f"{n} of {label_of(series, k)}: {int(bad[:, k].sum())} outliers, up to {off[:, k].max():.3g} away from "
                f"their neighbours; without_outliers(series) replaces them, Huber gives them less weight"
            )
    return out


def _check_even(series: Series) -> None:
    for piece in series.pieces:
        steps = np.diff(series.t[piece])
        if len(steps) and np.any(np.abs(steps - series.period) > 0.02 * series.period):
            raise DataError(
                f"{series.source or 'the record'}: samples are {steps.min():g} to {steps.max():g} s apart; filters "
                "and differences need equidistant ones. Take series.resampled() first, or prepare(series)."
            )
