"""MeasuredEquations: a linear system Y x = z of measured rows, which know to which joint and instant they belong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as _replace
from typing import Any, Self

import numpy as np

from symbody.basics.errors import DataError, ShapeError


@dataclass(frozen=True, eq=False)
class MeasuredEquations:
    """y (N, n, b) columns, z (N, n) measured: N instants, n rows each, b unknowns.

    t, rows     instants (N,) and labels (n,) of the rows: joints
    names       (b,) of the unknowns; units: theirs
    notes       what was said of the record
    breaks      indices of instants that do not follow the one before
    keep        (N, n) which rows count; None: all
    noise       (n,) standard deviation of the noise of z, as far as the record tells it; None: not known
    """

    y: np.ndarray
    z: np.ndarray
    t: np.ndarray
    rows: tuple[str, ...]
    names: tuple[str, ...]
    units: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    breaks: tuple[int, ...] = ()
    source: str = ""
    keep: np.ndarray | None = None
    noise: np.ndarray | None = None

    @property
    def mask(self) -> np.ndarray:
        """(N, n) rows that count."""
        return np.ones(self.z.shape, dtype=bool) if self.keep is None else self.keep

    @property
    def count(self) -> int:
        """Number of rows that count."""
        return int(self.mask.sum())

    def stacked(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(Y (m, b), z (m,), row (m,) the number of the joint), rows of one joint together, in time."""
        keep = self.mask.T.ravel()
        y = self.y.transpose(1, 0, 2).reshape(-1, self.y.shape[2])[keep]
        row = np.repeat(np.arange(self.z.shape[1]), len(self.z))[keep]
        return y, self.z.T.ravel()[keep], row

    def without_slow(self, qd: np.ndarray, least: np.ndarray) -> Self:
        """Without rows whose joint moves more slowly than (n,) `least`."""
        if qd.shape != self.z.shape:
            raise ShapeError(f"qd has the shape {qd.shape}; expected {self.z.shape}, one for each row.")
        keep = self.mask & (np.abs(qd) >= least)
        empty = [self.rows[k] for k in np.flatnonzero(~keep.any(axis=0))]
        if empty:
            raise DataError(f"least_speed leaves no sample of {', '.join(empty)}; expected a lower one.")
        share = keep.mean()
        return _replace(self, keep=keep, notes=(*self.notes, f"{share:.0%} of the rows are faster than least_speed"))

    def chosen(self, columns: Sequence[int]) -> Self:
        """With some of the unknowns alone."""
        at = list(columns)
        units = tuple(self.units[k] for k in at) if self.units else ()
        return _replace(self, y=self.y[:, :, at], names=tuple(self.names[k] for k in at), units=units)

    def instants(self, index: Any) -> Self:
        """Some of the instants."""
        return _replace(
            self,
            y=self.y[index],
            z=self.z[index],
            t=self.t[index],
            breaks=(),
            keep=None if self.keep is None else self.keep[index],
        )


def plain_equations(x: Any, y: Any, names: Sequence[str] = ()) -> MeasuredEquations:
    """Equations of a matrix (N, b) and a right side (N,), one row an instant."""
    matrix, right = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if right.ndim == 2 and right.shape[1] == 1:
        right = right[:, 0]
    if matrix.ndim != 2 or right.shape != (len(matrix),):
        raise ShapeError(f"X has the shape {matrix.shape} and y {right.shape}; expected (N, b) and (N,).")
    for what, a in (("X", matrix), ("y", right)):
        if not np.all(np.isfinite(a)):
            raise DataError(
                f"{what} holds {int((~np.isfinite(a)).sum())} entries that are no numbers (NaN or infinity)."
            )
    known = tuple(names) or tuple(f"x{k + 1}" for k in range(matrix.shape[1]))
    return MeasuredEquations(matrix[:, None, :], right[:, None], np.arange(len(matrix), dtype=float), ("row",), known)


def joined_equations(parts: Sequence[MeasuredEquations]) -> MeasuredEquations:
    """Equations of several records with the same unknowns, one below the other."""
    first = parts[0]
    for p in parts[1:]:
        if p.names != first.names or p.rows != first.rows:
            raise DataError("the equations have other unknowns or rows; expected those of one model.")
    lengths = np.cumsum([len(p.z) for p in parts])[:-1]
    breaks = [*lengths.tolist(), *(b + o for p, o in zip(parts, [0, *lengths.tolist()]) for b in p.breaks)]
    noise = [p.noise for p in parts if p.noise is not None]
    return _replace(
        first,
        y=np.concatenate([p.y for p in parts]),
        z=np.concatenate([p.z for p in parts]),
        t=np.concatenate([p.t for p in parts]),
        keep=np.concatenate([p.mask for p in parts]),
        breaks=tuple(sorted(breaks)),
        notes=tuple(dict.fromkeys(n for p in parts for n in p.notes)),
        source=", ".join(dict.fromkeys(p.source for p in parts if p.source)),
        noise=np.max(noise, axis=0) if len(noise) == len(parts) else None,
    )
