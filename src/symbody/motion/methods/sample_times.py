"""Which instants a simulation records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, Named, ShapeError, floats, wrong_argument
from symbody.motion.flow.sources import check_finite

MOST = 20_000_000  # samples that a run may have
MANY = 1001  # samples of a run whose steps the tolerances choose, unless others are asked for


@dataclass(frozen=True, eq=False)
class SampleTimes:
    """Every step (spacing None and no instants), equal distances (spacing, s), or given instants.

    A longer run goes on with the same spacing.
    """

    spacing: float | None = None
    instants: np.ndarray | None = None

    def times(self, start: float, end: float, step: float | None) -> np.ndarray:
        """(k,) ascending instants in [start, end]."""
        if self.instants is not None:
            return self.instants[self.instants <= end]
        distance = self.spacing if self.spacing is not None else step
        assert distance is not None
        places = (end - start) / distance
        if not places <= MOST:
            raise DefinitionError(
                f"{end - start:g} s with a sample every {distance:g} s are {places:.3g} samples; expected at most "
                f"{MOST:g}."
            )
        whole = round(places)
        slack = max(1e-9, 8 * np.finfo(float).eps * abs(end) / distance)
        if abs(places - whole) <= slack:
            out = start + np.arange(whole + 1) * distance
            out[-1] = end  # but for roundings: the last sample is the state where the run ends
            return np.minimum(out, end)
        return np.append(start + np.arange(math.floor(places) + 1) * distance, end)


def read_samples(samples: Any, start: float, duration: float, step: float | None) -> SampleTimes:
    """None: every step of a fixed length, else `MANY`; a number of them, both ends included; or their instants."""
    if samples is None:
        if step is not None and duration / step > MOST:
            raise DefinitionError(
                f"{duration:g} s in steps of {step:g} s are {duration / step:.3g} samples; expected at most {MOST:g}. "
                "Give ",
                Named("samples", "..."),
                " to record fewer of them.",
            )
        return SampleTimes() if step is not None else SampleTimes(spacing=duration / (MANY - 1))
    if isinstance(samples, (int, np.integer)) and not isinstance(samples, bool):
        if samples > MOST:
            raise DefinitionError(f"samples={samples}; expected at most {MOST:g}.")
        if samples < 2:
            raise wrong_argument("samples", samples, "at least 2: the beginning and the end")
        return SampleTimes(spacing=duration / (int(samples) - 1))
    if isinstance(samples, np.ndarray) and samples.size > MOST:
        raise DefinitionError(f"samples has {samples.size} instants; expected at most {MOST:g}.")
    try:
        times = np.array(floats(samples))
    except (TypeError, ValueError):
        raise wrong_argument("samples", samples, "a whole number, or instants in s") from None
    if times.ndim != 1:
        raise ShapeError(f"samples has shape {times.shape}; expected a whole number, or instants (k,) in s.")
    check_finite(times, "samples")
    slack = 1e-9 * max(duration, abs(start))
    within = np.clip(times, start, start + duration)
    if (np.diff(within) <= 0).any() or (abs(times - within) > slack).any():
        raise DefinitionError(f"samples must be ascending instants from {start:g} to {start + duration:g} s.")
    return SampleTimes(instants=within)
