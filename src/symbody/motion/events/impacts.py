"""Loops that open and close on the way: closing is an impact, perfectly inelastic; opening needs nothing.

    M (qd+ - qd-) = J^T Lambda        J qd+ + ht = 0

over all rows that are closed afterwards. Where rows follow from others, Lambda is one of many, and qd+ still one. The
coordinates are put on the closed rows first, which is legal only where the ends of the loop have met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError
from symbody.motion.events.plan import Plan
from symbody.motion.events.state import RunState
from symbody.motion.flow.connect import is_sampled
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.signals import Held, InputSignals, table_value
from symbody.motion.flow.sources import Assignment, Constant, TableSource
from symbody.motion.flow.vector_field import VectorField
from symbody.motion.methods.stretch_parts import reading
from symbody.motion.trajectory.trajectory import EventRecord

Rows = Callable[[float, np.ndarray], dict[str, np.ndarray]]  # (t, x) -> gap, J, ht, s, M

NEAR = 1e-3  # m, rad: farther apart the ends of a loop do not meet
DEPENDENT = 1e-10  # singular values of J M^-1/2, beside the largest, that count as none
ROUNDING = 1e-11  # of kinetic energy
CLOSED = 1e-7  # speed, beside the largest, that a closed row may keep


def switched_loops(flow: Flow) -> dict[str, str]:
    """Cuts and couplings that open and close -> the name of their switch: a state, a signal, or closed for good."""
    return {n: f"s_{n}" for n in dict.fromkeys(flow.labels.get("gap", ())) if f"s_{n}" in flow.start}


def check_switches(flow: Flow, assignments: Sequence[Assignment]) -> None:
    """Switches are 0 or 1, and jump at instants that the run knows."""
    loops = {s: n for n, s in switched_loops(flow).items()}
    for a in assignments:
        if a.name not in loops:
            continue
        source = a.source
        held = isinstance(source, TableSource) and source.hold
        if not (isinstance(source, Constant) or held or is_sampled(source)):
            raise DefinitionError(
                f"input {a.key!r} opens and closes the loop {loops[a.name]!r}, whose instants must be known. Expected "
                f"0 or 1, (times, values, 'hold'), a sampled controller, or an event that sets it: "
                f"When(..., reset={{{a.name!r}: 1}})."
            )
        if isinstance(source, (Constant, TableSource)) and not np.isin(source.values, (0, 1)).all():
            raise DefinitionError(f"input {a.key!r} has {_odd(source.values):g}; expected 1 (closed) or 0 (open).")


def _odd(values: np.ndarray) -> float:
    return float(values[~np.isin(values, (0, 1))][0])


def make_ready(flow: Flow, signals: InputSignals, held: Held, t: float) -> Held:
    """Switches as they are before the first stretch: of controllers, which have not been asked yet, open."""
    columns = flow.layout.columns
    names = [s for s in switched_loops(flow).values() if s in columns]
    mine = {c for s in names for c in range(columns[s].start, columns[s].stop)}
    values = held.values.copy()
    for line in signals.lines:
        if mine.issuperset(line.columns.tolist()):
            if isinstance(line.source, TableSource):
                values[..., line.columns] = table_value(line.source, t)
            elif is_sampled(line.source):
                values[..., line.columns] = 0.0
    return replace(held, values=values)


def closed_loops(flow: Flow, x: np.ndarray, u: np.ndarray) -> list[str]:
    """Switched loops that are closed at the state x (nx,) with the signals u (nu,)."""
    return [n for n, value in _values(flow, x, u).items() if value > 0.5]


def _values(flow: Flow, x: np.ndarray, u: np.ndarray) -> dict[str, float]:
    layout = flow.layout
    out = {}
    for loop, s in switched_loops(flow).items():
        if s in layout.states:
            found = x[layout.slices[s]]
        else:
            found = u[layout.columns[s]] if s in layout.columns else flow.start[s]
        out[loop] = float(np.ravel(found)[0])
    return out


class Gates:
    """Looks at the switches of a run after every jump, and closes the loops that were told to."""

    def __init__(self, flow: Flow, parameters: Mapping[str, Any]) -> None:
        self.flow, self.parameters = flow, parameters
        self.always = len(switched_loops(flow)) < len(set(flow.labels.get("gap", ())))  # some loop never opens
        self._ready: tuple[VectorField, Any] | None = None

    def look(self, x: np.ndarray, u: np.ndarray) -> dict[str, float]:
        """The switches as they should be: loop -> 1 (closed) or 0."""
        return _values(self.flow, x, u)

    def answer(
        self, plan: Plan, state: RunState, x: np.ndarray, jumped: bool
    ) -> tuple[np.ndarray, list[EventRecord], str, Mapping[str, float]]:
        """(state after, loops that closed, why that is impossible, switches now), of the state x at state.t.

        jumped: x has changed, velocities may not fit.
        """
        t = state.t
        closed: Mapping[str, float] = state.marks.get("impacts", {})
        now = self.look(x, plan.signals.at(t, state.held.values))
        odd = next((n for n, value in now.items() if value not in (0.0, 1.0)), None)
        if odd is not None:
            why = f"the switch of loop {odd!r} was set to {now[odd]:g}; expected 1 (closed) or 0 (open)."
            return x, [], why, closed
        new = [n for n, value in now.items() if value > closed.get(n, 0.0)]
        if not new and not (jumped and (self.always or any(now.values()))):
            return x, [], "", now
        field, rows = self._functions(plan, state)
        return *self._close(field, rows, t, x, new), now

    def _functions(self, plan: Plan, state: RunState) -> tuple[VectorField, Rows]:
        """The Flow's functions with the signals of the instant; (t, x) -> gap, J, ht, s and M."""
        if self._ready is None:
            assert self.flow.impact is not None
            field = VectorField(self.flow, self.parameters, np.zeros(self.flow.layout.nu))
            self._ready = field, field.function(self.flow.impact, target="python")
        field, impact = reading(self._ready[0], plan.signals, state.begin()), self._ready[1]

        def rows(t: float, x: np.ndarray) -> dict[str, np.ndarray]:
            found = impact(t, x, field.signals(t, x))
            return {n: np.asarray(a) for n, a in found._asdict().items()}

        return field, rows

    def _close(
        self, field: VectorField, rows: Rows, t: float, x: np.ndarray, new: list[str]
    ) -> tuple[np.ndarray, list[EventRecord], str]:
        found = rows(t, x)
        why = self._gap_sentence(t, found["gap"], new)
        if why:
            return x, [], why
        flow = self.flow
        at = flow.slices["qd"]
        after = field.project(t, x)
        if not np.isfinite(after).all():
            return (
                x,
                [],
                f"at t = {t:.6g} s {_loops_text(new)} cannot close together with the loops that are closed already.",
            )
        found = rows(t, after)
        closed = found["s"] > 0.5
        J, ht, M = found["J"][closed], found["ht"][closed], found["M"]
        before = x[at]
        free = np.array([k for k in range(len(before)) if k not in set(flow.prescribed.get("qd", ()))], dtype=int)
        qd = before.copy()
        qd[free] += impulse(M[np.ix_(free, free)], J[:, free], J @ before + ht)
        left = np.abs(J @ qd + ht).max(initial=0.0)
        if left > CLOSED * max(1.0, np.abs(before).max(initial=0.0)):
            why = (
                f"at t = {t:.6g} s {_loops_text(new)} cannot close: its ends keep moving apart at {left:.3g} per s, as "
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
        return after, [EventRecord(t, f"closed {names}", text)] if new else [], ""

    def _gap_sentence(self, t: float, gap: np.ndarray, new: list[str]) -> str:
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


def _loops_text(loops: Sequence[str]) -> str:
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
