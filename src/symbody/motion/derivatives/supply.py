"""How the signals of a run depend on what is differentiated by: constants, and points of tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from symbody.motion.derivatives.tape import Steps
from symbody.motion.derivatives.variables import Variables
from symbody.motion.flow.signals import InputSignals
from symbody.motion.flow.sources import TableSource
from symbody.motion.march.method_tables import RK4, RungeKutta
from symbody.motion.march.run import Signals
from symbody.motion.methods.step_grid import NEAR, stage_times


@dataclass(frozen=True, eq=False)
class _Entry:
    """A column of u, the table that fills it (None: a constant), and where in theta its value or values stand."""

    column: int
    table: TableSource | None
    places: np.ndarray


class Supply:
    """Signals during pieces of a run, and their derivatives by theta."""

    def __init__(
        self, signals: InputSignals, variables: Variables, table: RungeKutta | None, held: Sequence[int] = ()
    ) -> None:
        """held: columns that sampled controllers hold: their places come after those of theta."""
        self.signals, self.size = signals, variables.size + len(held)
        self.table = table or RK4  # maps are given functions of time where the classical method reads them
        self.entries: list[_Entry] = []
        for v, part in zip(variables.items, variables.slices().values(), strict=True):
            if v.kind != "input":
                continue
            # the equations keep only those inputs that something was given for
            line = next((line for line in signals.lines if line.text == v.key), None)
            if line is None:
                continue  # nothing reads it
            numbers = np.arange(part.start, part.stop).reshape(-1, len(v.places))
            for k, place in enumerate(v.within):
                self.entries.append(_Entry(int(line.columns[place]), v.table, numbers[:, k]))

        self.entries += [_Entry(c, None, np.array([variables.size + k])) for k, c in enumerate(held)]

    @property
    def constants(self) -> list[_Entry]:
        return [e for e in self.entries if e.table is None]

    @property
    def only_constants(self) -> bool:
        """Whether no point of a table is differentiated by."""
        return all(e.table is None for e in self.entries)

    def during(self, piece: Steps) -> Signals | None:
        """Signals as the march takes them."""
        signals = self.signals
        if not signals.size:
            return None
        if not signals.moving:
            return Signals([piece.t], piece.u if piece.u.ndim == 1 else piece.u[:, None, :])
        instants = stage_times(self.table, piece.t, piece.h, piece.count)
        times, values = signals.grid(piece.u, piece.t, piece.t_end, instants)
        return Signals(times, values)

    def at(self, t: float, u: np.ndarray) -> np.ndarray:
        """(nu,) signals at an instant of a piece that holds u."""
        return self.signals.at(t, u)

    def slope(self, t: float, before: float) -> np.ndarray:
        """(nu,) time derivative of the signals at an instant, on the side of `before`."""
        out = np.zeros(self.signals.size)
        for line in self.signals.moving:
            source = line.source
            if isinstance(source, TableSource) and len(source.times) > 1:
                side = "right" if before >= t else "left"
                k = int(np.searchsorted(source.times, t, side=side)) - 1  # type: ignore[call-overload]
                if 0 <= k < len(source.times) - 1:
                    change = (source.values[k + 1] - source.values[k]) / (source.times[k + 1] - source.times[k])
                    out[line.columns] = change
        return out

    def by_theta(self, t: float, begin: float) -> np.ndarray:
        """(nu, n) derivative of the signals at t by theta, in a piece that begins at `begin`."""
        out = np.zeros((self.signals.size, self.size))
        for e in self.entries:
            if e.table is None:
                out[e.column, e.places[0]] = 1.0
            else:
                for k, weight in _weights(e.table, t, begin):
                    out[e.column, e.places[k]] += weight
        return out

    def gathered(self, knots: Sequence[float], ubar: np.ndarray, begin: float) -> np.ndarray:
        """(..., n) adjoints of theta from those (..., k, nu) of signals at the knots of a piece."""
        out = np.zeros((*ubar.shape[:-2], self.size))
        for e in self.entries:
            part = ubar[..., e.column]
            if e.table is None:
                out[..., e.places[0]] += part.sum(axis=-1)
                continue
            for j, t in enumerate(knots):
                for k, weight in _weights(e.table, float(t), begin):
                    out[..., e.places[k]] += weight * part[..., j]
        return out


def _weights(table: TableSource, t: float, begin: float) -> list[tuple[int, float]]:
    """Points of a table that make up its value at t. begin: of the piece, over which a held value does not change."""
    times = table.times
    if table.hold:
        instant = begin + NEAR * max(abs(begin), 1e-3)
        return [(max(int(np.searchsorted(times, instant, side="right")) - 1, 0), 1.0)]
    k = int(np.searchsorted(times, t, side="right")) - 1
    if k < 0:
        return [(0, 1.0)]
    if k >= len(times) - 1:
        return [(len(times) - 1, 1.0)]
    w = float((t - times[k]) / (times[k + 1] - times[k]))
    return [(k, 1.0 - w), (k + 1, w)]
