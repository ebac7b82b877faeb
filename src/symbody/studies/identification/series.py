"""Series: measured signals over time, with units and labels; frozen, so that what was measured stays what it was.

Filtering, decimation and repair of outliers each give another Series. Breaks divide it into pieces, and nothing is
filtered or differentiated across them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from dataclasses import replace as _replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from symbody.basics.errors import (
    DataError,
    NameLookupError,
    ShapeError,
    floats,
    nearest,
    real_argument,
    whole_argument,
    wrong_argument,
)

JITTER = 0.02  # of the sampling period: below it instants count as equidistant


@dataclass(frozen=True, eq=False)
class Series:
    """Signals at instants t.

    t        (N,) s, ascending
    values   name -> (N, n): "q" rad or m, "qd", "qdd", "tau" N m or N, and whatever else was measured
    labels   names of the n components, such as the joints
    units    name -> unit
    source   where it was measured: the file
    notes    what was done to it, one sentence each
    breaks   indices of samples that do not follow the one before: windows were taken out there
    cutoff   Hz, at which q was filtered; None: it was not
    """

    t: np.ndarray
    values: Mapping[str, np.ndarray]
    labels: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    notes: tuple[str, ...] = ()
    breaks: tuple[int, ...] = ()
    cutoff: float | None = None

    def __post_init__(self) -> None:
        t = _numbers(self._name, "t", self.t)
        if t.ndim != 1 or len(t) < 2:
            raise ShapeError(f"{self._name}t has the shape {t.shape}; expected at least two instants (N,).")
        if not isinstance(self.values, Mapping):
            raise wrong_argument("values", self.values, "signals by name, in a dict", owner="Series")
        values = {}
        for name, value in dict(self.values).items():
            array = _numbers(self._name, name, value)
            array = array[:, None] if array.ndim == 1 else array
            if array.ndim != 2 or len(array) != len(t):
                raise DataError(
                    f"{self._name}{name!r} has {len(array)} rows, but t has {len(t)}; expected one row for each "
                    "instant. Cut both to the time that they share, or interpolate one at the instants of the other."
                )
            array.flags.writeable = False
            values[name] = array
        t.flags.writeable = False
        object.__setattr__(self, "t", t)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "labels", tuple(self.labels))

    def __reduce__(self) -> tuple[type[Series], tuple[Any, ...]]:
        """For pickle and copy: made again, so that arrays are read-only there too."""
        return self.__class__, tuple(getattr(self, f.name) for f in fields(self))

    @property
    def _name(self) -> str:
        return f"{self.source}: " if self.source else ""

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, name: str) -> np.ndarray:
        """(N, n) values of a signal."""
        if name not in self.values:
            raise NameLookupError(f"{self._name}there is no signal {name!r}. {nearest(name, self.values)}")
        return self.values[name]

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def __repr__(self) -> str:
        signals = ", ".join(f"{n} ({a.shape[1]})" for n, a in self.values.items())
        rate = f"{1 / self.period:.6g} Hz" if self.period > 0 and self.is_even else "uneven sampling"
        return f"Series({self.source or 'measured'}: {len(self)} samples, {self.duration:.6g} s, {rate}; {signals})"

    # -- sampling

    @property
    def duration(self) -> float:
        """s"""
        return float(self.t[-1] - self.t[0])

    @property
    def period(self) -> float:
        """The median time between samples, s."""
        return float(np.median(np.diff(self.t)))

    @property
    def is_even(self) -> bool:
        """Whether samples are equidistant."""
        steps = np.diff(self.t)
        steps = np.delete(steps, [b - 1 for b in self.breaks])
        return bool(np.all(np.abs(steps - self.period) <= JITTER * self.period))

    @property
    def pieces(self) -> list[slice]:
        """Stretches without a break."""
        ends = [0, *self.breaks, len(self)]
        return [slice(a, b) for a, b in pairwise(ends) if b > a]

    # -- other Series

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return _replace(self, **changes)

    def with_values(self, note: str = "", **values: Any) -> Self:
        """With other or further signals."""
        notes = (*self.notes, note) if note else self.notes
        return self.replace(values={**self.values, **values}, notes=notes)

    def window(self, start: float, stop: float) -> Self:
        """The samples with start <= t <= stop, s."""
        real_argument("start", start, "a time in s")
        real_argument("stop", stop, f"a time in s after start={start:g}", above=start)
        first, last = np.searchsorted(self.t, start, "left"), np.searchsorted(self.t, stop, "right")
        if last - first < 2:
            raise DataError(
                f"{self._name}the window from {start:g} to {stop:g} s holds {last - first} samples; the record goes "
                f"from {self.t[0]:g} to {self.t[-1]:g} s."
            )
        return self.rows(slice(int(first), int(last)))

    def rows(self, chosen: Any) -> Self:
        """The samples that a slice, a mask or indices choose, in their order; gaps between them become breaks."""
        index = np.arange(len(self))[chosen]
        if len(index) < 2:
            raise DataError(f"{self._name}{len(index)} of {len(self)} samples are left; expected at least 2.")
        old = set(self.breaks)
        gaps = np.diff(index)
        inside = np.flatnonzero((gaps != 1) | np.array([int(b) in old for b in index[1:]])) + 1
        return self.replace(
            t=self.t[index], values={n: a[index] for n, a in self.values.items()}, breaks=tuple(inside.tolist())
        )

    def split(self, share: float = 0.7) -> tuple[Self, Self]:
        """(for identification, for validation): the first `share` of the samples, and the rest."""
        real_argument("share", share, "a share between 0 and 1", above=0.0)
        cut = round(share * len(self))
        if not 2 <= cut <= len(self) - 2:
            raise DataError(f"{self._name}share={share:g} of {len(self)} samples leaves less than two for one part.")
        return self.rows(slice(0, cut)), self.rows(slice(cut, None))

    def folds(self, count: int = 5) -> list[tuple[Self, Self]]:
        """Pairs (all but one block, that block) for cross-validation; blocks are stretches of time, not single rows:
        neighbouring samples are alike, and would tell the fit about each other."""
        whole_argument("count", count, 2)
        edges = np.linspace(0, len(self), count + 1).astype(int)
        out = []
        for a, b in pairwise(edges):
            held = np.zeros(len(self), dtype=bool)
            held[a:b] = True
            out.append((self.rows(~held), self.rows(held)))
        return out

    def resampled(self, period: float | None = None) -> Self:
        """At equidistant instants, linear in between; None: the median period. A break is never bridged."""
        step = self.period if period is None else real_argument("period", period, "a time in s", above=0.0)
        times: list[np.ndarray] = []
        found: list[dict[str, np.ndarray]] = []
        breaks: list[int] = []
        for piece in self.pieces:
            t = self.t[piece]
            if len(t) < 2:
                continue
            new = t[0] + step * np.arange(int(np.floor((t[-1] - t[0]) / step * (1 + 1e-12))) + 1)
            breaks.append(sum(len(x) for x in times))
            times.append(new)
            found.append({n: _interpolated(new, t, a[piece]) for n, a in self.values.items()})
        if not times:
            raise DataError(f"{self._name}no stretch has two samples; nothing can be interpolated.")
        return self.replace(
            t=np.concatenate(times),
            values={n: np.concatenate([f[n] for f in found]) for n in self.values},
            breaks=tuple(breaks[1:]),
            notes=(*self.notes, f"interpolated at a period of {step:g} s"),
        )


def joined(parts: Sequence[Series]) -> Series:
    """Records one after the other, with a break between them; time goes on where the last one ended."""
    if not parts:
        raise DataError("joined was given no Series; expected at least one.")
    first = parts[0]
    names = [n for n in first.values if all(n in p for p in parts)]
    for p in parts[1:]:
        if p.labels != first.labels:
            raise DataError(
                f"{p.source or 'a record'} has the labels {p.labels}; expected {first.labels} of the first."
            )
    times, breaks, end = [], [], 0.0
    for k, p in enumerate(parts):
        begin = p.t[0] if k == 0 else end + p.period
        times.append(p.t - p.t[0] + begin)
        end = times[-1][-1]
        at = sum(map(len, times[:-1]))
        breaks += [at, *(at + b for b in p.breaks)]
    return first.replace(
        t=np.concatenate(times),
        values={n: np.concatenate([p[n] for p in parts]) for n in names},
        breaks=tuple(breaks[1:]),
        source=", ".join(dict.fromkeys(p.source for p in parts if p.source)),
        notes=tuple(dict.fromkeys(n for p in parts for n in p.notes)),
    )


def _numbers(owner: str, name: str, value: Any) -> np.ndarray:
    try:
        return np.array(floats(value))
    except (TypeError, ValueError):
        raise DataError(f"{owner}{name!r} holds something else than numbers; expected (N, n) numbers.") from None


def _interpolated(new: np.ndarray, t: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.column_stack([np.interp(new, t, column) for column in values.T])
