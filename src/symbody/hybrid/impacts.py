"""Loops that open and close on the way: closing is an impact, perfectly inelastic; opening needs nothing.

    M (qd+ - qd-) = J^T Lambda        J qd+ + ht = 0

over all rows that are closed afterwards. Where rows follow from others, Lambda is one of many, and qd+ still one. The
coordinates are put on the closed rows first, which is legal only where the ends of the loop have met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from symbody.errors import DefinitionError
from symbody.flow.connect import is_sampled
from symbody.flow.field import Field
from symbody.flow.flow import Flow
from symbody.flow.signals import Feed
from symbody.flow.sources import Assignment, Constant, Table
from symbody.trajectory.trajectory import Event

NEAR = 1e-3  # m, rad: farther apart the ends of a loop do not meet
DEPENDENT = 1e-10  # singular values of J M^-1/2, beside the largest, that count as none
ROUNDING = 1e-11  # of kinetic energy
CLOSED = 1e-7  # speed, beside the largest, that a closed row may keep


def switched_loops(flow: Flow) -> dict[str, str]:
    """Cuts and couplings that open and close -> the name of their switch: a state, a signal, or closed for good."""
    return {n: f"s_{n}" for n in dict.fromkeys(flow.labels.get("gap", ())) if f"s_{n}" in flow.start}


def check_switches(flow: Flow, assignments: Sequence[Assignment], batch: int | None) -> None:
    """Switches are 0 or 1, and jump at instants that the run knows."""
    loops = {s: n for n, s in switched_loops(flow).items()}
    for a in assignments:
        if a.name not in loops:
            continue
        source = a.source
        held = isinstance(source, Table) and source.hold
        if not (isinstance(source, Constant) or held or is_sampled(source)):
            raise DefinitionError(
                f"input {a.key!r} opens and closes the loop {loops[a.name]!r}, whose instants must be known. Expected "
                f"0 or 1, (times, values, 'hold'), a sampled controller, or an event that sets it: "
                f"When(..., reset={{{a.name!r}: 1}})."
            )
        if batch is not None and not isinstance(source, Constant):
            raise DefinitionError(
                f"input {a.key!r} closes the loop {loops[a.name]!r} on the way, which is an impact; in a batch "
                "switches stay as they are. Simulate the members apart."
            )
        if isinstance(source, (Constant, Table)) and not np.isin(source.values, (0, 1)).all():
            raise DefinitionError(f"input {a.key!r} has {_odd(source.values):g}; expected 1 (closed) or 0 (open).")


def _odd(values: np.ndarray) -> float:
    return float(values[~np.isin(values, (0, 1))][0])


def make_ready(flow: Flow, feed: Feed, t: float) -> None:
    """Switches as they are before the first stretch: of controllers, which have not been asked yet, open."""
    columns = _columns(flow)
    mine = {c for s in switched_loops(flow).values() if s in columns for c in columns[s]}
    for line in feed.lines:
        if mine.issuperset(line.columns.tolist()):
            if isinstance(line.source, Table):
                k = int(np.searchsorted(line.source.times, t, side="right")) - 1
                feed.held[..., line.columns] = line.source.values[max(k, 0)]
            elif is_sampled(line.source):
                feed.held[..., line.columns] = 0.0


def closed_loops(flow: Flow, x: np.ndarray, u: np.ndarray) -> list[str]:
    """Switched loops that are closed at the state x (nx,) with the signals u (nu,)."""
    return [n for n, value in _values(flow, x, u).items() if value > 0.5]


def _values(flow: Flow, x: np.ndarray, u: np.ndarray) -> dict[str, float]:
    columns = _columns(flow)
    out = {}
    for loop, s in switched_loops(flow).items():
        found = x[flow.slices[s]] if s in flow.states else u[columns[s]] if s in columns else flow.start[s]
        out[loop] = float(np.ravel(found)[0])
    return out


def _columns(flow: Flow) -> dict[str, range]:
    """Places of the signals in u."""
    out, at = {}, 0
    for name in flow.signals:
        size = flow.rates.inputs[name].size
        out[name] = range(at, at + size)
        at += size
    return out


class Gates:
    """Looks at the switches of a run after every jump, and closes the loops that were told to.

    signals  (t) -> u (nu,)
    """

    def __init__(self, flow: Flow, parameters: Mapping[str, Any], signals: Callable[[float], np.ndarray]) -> None:
        self.flow, self.parameters, self.signals = flow, parameters, signals
        self.closed: dict[str, float] = {}
        self.always = len(switched_loops(flow)) < len(set(flow.labels.get("gap", ())))  # some loop never opens
        self._field: Field | None = None
        self._impact: Any = None

    def look(self, t: float, x: np.ndarray) -> None:
        """The switches are as they should be."""
        self.closed = _values(self.flow, x, self.signals(t))

    def answer(self, t: float, x: np.ndarray, jumped: bool) -> tuple[np.ndarray, list[Event], str]:
        """(state after, loops that closed, why that is impossible). jumped: x has changed, velocities may not fit."""
        now = _values(self.flow, x, self.signals(t))
        odd = next((n for n, value in now.items() if value not in (0.0, 1.0)), None)
        if odd is not None:
            return x, [], f"the switch of loop {odd!r} was set to {now[odd]:g}; expected 1 (closed) or 0 (open)."
        new = [n for n, value in now.items() if value > self.closed.get(n, 0.0)]
        self.closed = now
        if not new and not (jumped and (self.always or any(now.values()))):
            return x, [], ""
        return self._close(t, x, new)

    def _close(self, t: float, x: np.ndarray, new: list[str]) -> tuple[np.ndarray, list[Event], str]:
        found = self._rows(t, x)
        why = self._apart(t, found["gap"], new)
        if why:
            return x, [], why
        flow = self.flow
        at = flow.slices["qd"]
        assert self._field is not None
        after = self._field.project(t, x)
        if not np.isfinite(after).all():
            return x, [], f"at t = {t:.6g} s {_told(new)} cannot close together with the loops that are closed already."
        found = self._rows(t, after)
        closed = found["s"] > 0.5
        J, ht, M = found["J"][closed], found["ht"][closed], found["M"]
        before = x[at]
        free = np.array([k for k in range(len(before)) if k not in set(flow.prescribed.get("qd", ()))], dtype=int)
        qd = before.copy()
        qd[free] += impulse(M[np.ix_(free, free)], J[:, free], J @ before + ht)
        left = np.abs(J @ qd + ht).max(initial=0.0)
        if left > CLOSED * max(1.0, np.abs(before).max(initial=0.0)):
            why = (
                f"at t = {t:.6g} s {_told(new)} cannot close: its ends keep moving apart at {left:.3g} per s, as "
                "driven joints or other loops prescribe. Open those, or close it where its ends move together."
            )
            return x, [], why
        after[at] = qd
        lost = float(before @ M @ before - qd @ M @ qd) / 2
        if abs(lost) < ROUNDING * max(1.0, float(before @ M @ before)):
            text = "No energy was lost."
        else:
            text = f"The impact {'took' if lost > 0 else 'brought'} {abs(lost):.6g} J of kinetic energy."
        names = ", ".join(map(repr, new))
        return after, [Event(t, f"closed {names}", text)] if new else [], ""

    def _rows(self, t: float, x: np.ndarray) -> dict[str, np.ndarray]:
        """gap, J, ht, s and M at a state."""
        if self._impact is None:
            assert self.flow.impact is not None
            self._field = Field(self.flow, self.parameters, lambda t, x: self.signals(t))
            self._impact = self._field.function(self.flow.impact, target="python")
        found = self._impact(t, x, self.signals(t))
        return {n: np.asarray(a) for n, a in found._asdict().items()}

    def _apart(self, t: float, gap: np.ndarray, new: list[str]) -> str:
        labels, units = self.flow.labels["gap"], self.flow.units["gap"]
        for loop in new:
            rows = [k for k, n in enumerate(labels) if n == loop]
            worst = max(rows, key=lambda k: abs(gap[k]))
            if not abs(gap[worst]) <= NEAR:
                return (
                    f"at t = {t:.6g} s loop {loop!r} is told to close while its ends are {abs(gap[worst]):.3g} "
                    f"{units[worst]} apart (at most {NEAR:g} can be bridged). Close it by an event whose guard is zero "
                    "where they meet, or change what brings them there."
                )
        return ""


def _told(loops: Sequence[str]) -> str:
    return f"loop {', '.join(map(repr, loops))}" if loops else "what was reset"


def impulse(mass: np.ndarray, J: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """(n,) change of velocities of least kinetic energy that takes the speeds `speed` (m,) of the rows J (m, n) away.

    Gauss: -M^-1 J^T (J M^-1 J^T)^+ speed, without forming the products.
    """
    try:
        lower = np.linalg.cholesky(mass)
    except np.linalg.LinAlgError:
        # joints that move no mass: the rows must hold them
        n, m = len(mass), len(J)
        matrix = np.block([[mass, J.T], [J, np.zeros((m, m))]])
        found = np.linalg.lstsq(matrix, np.concatenate([np.zeros(n), -speed]), rcond=DEPENDENT)[0]
        return np.asarray(found[:n])
    scaled = np.linalg.solve(lower, J.T).T  # J L^-T
    z = np.linalg.lstsq(scaled, -speed, rcond=DEPENDENT)[0]
    return np.asarray(np.linalg.solve(lower.T, z))
