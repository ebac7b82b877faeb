"""The cutoff of a record's filter: where motion ends and noise begins, by the spectrum of the accelerations.

Second differences of q, behind a Hann window, hold the motion's accelerations, whose spectrum falls, and the noise of q
times (2 pi f)^4. The noise is known where it is alone: beyond the valley between the two. Below the valley its level in
q is taken to be that of the octave behind it, which is right for white noise, and for noise that a filter of the sensor
has taken off at higher frequencies. For every cutoff, with motion S(f) and noise N(f) in parts of the motion's power:

  lost    sum of (1 - H)^2 S: H is the gain of the filter of q
  heard   sum of (H D)^2 N: D is the gain of decimation, through which all equations go
  error   lost + SCATTER heard / samples + heard^2

What is lost is wrong in every equation. What is heard scatters, so that many samples take it out, but shrinks what
least squares finds by its own power (errors in variables), which no number of samples does. The cutoff of the least
error is taken; where smaller ones are as good as the differences themselves allow, the smallest of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from symbody.basics.errors import DataError
from symbody.studies.identification.series import Series

ORDER = 4  # of the Butterworth filter, in each direction
HIGHEST = 0.4  # cutoff / sampling frequency
LEAST = 200  # samples that decimation leaves
PASSED = 0.4  # cutoff of the filter of decimation / sampling frequency behind it
SCATTER = 0.1  # measured on arms of seven joints, see tests/studies/identification/test_cutoff.py
NEGLIGIBLE = 0.01  # of the error that second differences make themselves
EDGES = 20.0  # cutoff * duration of the longest stretch, at least: what edges of 3 / cutoff cost stays below a third
FEW = 16  # samples of a stretch without a spectrum
SURE = 20.0  # times the mean level of white noise: what is motion in any case
STILL = 1e-6  # of the power of the accelerations of the component that moves most: below it a component stands
MOTION = 0.999  # of the power of q: the motion reaches at least as far as this
TONE = 40.0  # times the median of its band: what no noise reaches
RISE = 10.0  # times the least power of a band: noise has begun
GRID = 60  # cutoffs that are tried


@dataclass(frozen=True)
class CutoffChoice:
    """A cutoff, and why.

    cutoff  Hz
    noise   largest standard deviation of the noise of a component of q, rad or m
    heard   noise of the accelerations that the equations see, relative to their motion
    valley  Hz, where noise begins to outweigh motion in the accelerations
    """

    cutoff: float
    noise: float
    heard: float
    valley: float

    def __str__(self) -> str:
        return (
            f"the cutoff of {self.cutoff:.3g} Hz was chosen: noise of q ({self.noise:.2g}) outweighs motion in qdd "
            f"from {self.valley:.3g} Hz on, and {self.heard:.2g} of qdd stays noise"
        )


def gain(frequency: np.ndarray, cutoff: float, rate: float) -> np.ndarray:
    """Of a Butterworth filter, forward and backward, made by the bilinear transformation."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + (np.tan(np.pi * frequency / rate) / np.tan(np.pi * cutoff / rate)) ** (2 * ORDER)))


def decimation(cutoff: float, period: float, samples: int, shortest: int) -> int:
    """The factor that puts the new Nyquist frequency at half the cutoff, and leaves samples enough."""
    return max(1, min(round(1 / (period * cutoff)), samples // LEAST, shortest // 4))


def chosen_cutoff(series: Series) -> CutoffChoice:
    """By the rule in the head of this file."""
    longest = max(p.stop - p.start for p in series.pieces)
    # of a short stretch the spectrum is that of its ends
    pieces = [p for p in series.pieces if 2 * (p.stop - p.start) >= longest]
    found = [c for c in (_of_stretch(series, p) for p in pieces if longest >= FEW) if c is not None]
    if not found:
        raise DataError(
            f"{series.source or 'the record'}: no joint moves more than noise does; expected a record of motion. Give "
            "cutoff= where it is one."
        )
    # every stretch goes through one filter: the one that loses no motion of any
    return max(found, key=lambda c: c.cutoff)


def _of_stretch(series: Series, piece: slice) -> CutoffChoice | None:
    """None: no motion stands out of the noise."""
    h = series.period
    frequency, power = _acceleration_spectrum(series["q"][piece], h)
    shape = ((2 * np.sin(np.pi * frequency * h) / h) ** 4)[:, None]  # of second differences, squared
    floor = np.median((power / shape)[len(power) // 2 :], axis=0) / np.log(2)  # means, by medians of exponential spread
    sure = np.where(power > SURE * floor * shape, power, 0.0)
    size = sure.sum(axis=0)
    moving = size > STILL * size.max()
    if not moving.any():
        return None
    power, sure, floor = power[:, moving] / size[moving], sure[:, moving] / size[moving], floor[moving] / size[moving]
    bands = _bands(frequency)
    top = _motion_top(power, sure, shape, bands)
    valley = _valley(power, [b for b in bands if b.start > top] or [slice(top + 1, len(power))])
    octave = (frequency >= frequency[valley]) & (frequency <= max(2 * frequency[valley], frequency[-1] / 2))
    floor = np.maximum(floor, np.median((power / shape)[octave], axis=0) / np.log(2))
    noise = np.where(np.arange(len(power))[:, None] < valley, floor * shape, power)
    deviation = np.sqrt(np.sum(np.minimum(power / shape, floor), axis=0) * size[moving])
    cutoff, heard = _least_error(series, frequency, (power - noise).mean(axis=1), noise.mean(axis=1), len(power) * 2)
    return CutoffChoice(cutoff, float(deviation.max()), heard, float(frequency[valley]))


def _least_error(
    series: Series, frequency: np.ndarray, motion: np.ndarray, noise: np.ndarray, samples: int
) -> tuple[float, float]:
    """(cutoff Hz, relative noise that is heard there) by the rule in the head of this file; (K,) spectra."""
    h, rate = series.period, 1 / series.period
    shortest = min(p.stop - p.start for p in series.pieces)
    error, heard = [], []
    grid = np.geomspace(min(EDGES / (samples * h), HIGHEST * rate), HIGHEST * rate, GRID)
    for cutoff in grid:
        factor = decimation(cutoff, h, len(series), shortest)
        kept = gain(frequency, cutoff, rate)
        seen = kept if factor == 1 else kept * gain(frequency, PASSED * rate / factor, rate)
        heard.append(float(seen**2 @ noise))
        lost = float((1 - kept) ** 2 @ motion)
        error.append(lost + SCATTER * factor / samples * heard[-1] + heard[-1] ** 2)
    # second differences take (2 pi f h)^2/12 off what has the frequency f
    own = float(((2 * np.pi * frequency * h) ** 2 / 12) ** 2 @ np.maximum(motion, 0.0))
    best = int(np.argmax(np.array(error) <= min(error) + NEGLIGIBLE * own))
    return float(grid[best]), float(np.sqrt(heard[best]))


def _acceleration_spectrum(q: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """(frequencies (K,) Hz above 0, power (K, n) of second differences); the powers sum to the mean square."""
    rates = np.diff(q, 2, axis=0) / period**2
    count = len(rates)
    window = np.hanning(count)
    window /= np.sqrt(np.mean(window**2))
    power = 2 * np.abs(np.fft.rfft(rates * window[:, None], axis=0)) ** 2 / count**2
    return np.fft.rfftfreq(count, period)[1:], power[1:]


def _bands(frequency: np.ndarray) -> list[slice]:
    """Quarter octaves."""
    octaves = float(np.log2(frequency[-1] / frequency[0]))
    edges = np.searchsorted(frequency, frequency[0] * 2.0 ** np.arange(0.0, octaves + 0.25, 0.25))
    edges = np.unique([*edges, len(frequency)])
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def _motion_top(power: np.ndarray, sure: np.ndarray, shape: np.ndarray, bands: list[slice]) -> int:
    """The frequency (its index) that motion reaches at least: nearly all of q, and tones that matter in qdd."""
    place = np.arange(len(power))[:, None]
    top = _reached(sure / shape)
    tones = np.zeros_like(power)
    for band in bands:
        part = power[band]
        tones[band] = np.where(part > TONE * np.median(part, axis=0), part, 0.0)
    top = max(top, _reached(np.where(place <= top, sure, tones)))
    return min(top, len(power) - 2)


def _valley(power: np.ndarray, bands: list[slice]) -> int:
    """Index where the band of least power begins, before the power rises for the first time."""
    least, at = float("inf"), bands[0].start
    for band in bands:
        mean = float(np.mean(power[band]))
        if mean > RISE * least:
            break
        if mean < least:
            least, at = mean, band.start
    return at


def _reached(power: np.ndarray) -> int:
    """Index below which MOTION of the power lies, of the component that reaches furthest."""
    return max(int(np.searchsorted(x, MOTION * x[-1])) for x in np.cumsum(power, axis=0).T)
