"""Members of a batch that are simulated one by one: what Python must be asked for, and methods for one state.

Each is the very run that `simulate` makes of its values alone; their samples at common instants are put side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbody.basics.errors import ShapeError
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.sources import Assignment, Constant
from symbody.motion.trajectory.outcome import worst
from symbody.motion.trajectory.trajectory import EventRecord, Trajectory
from symbody.symbolic.system.names import components

SHOWN = 20  # notes of members that are kept


@dataclass(frozen=True, eq=False)
class SideBySide:
    """A batch whose members go apart: how many, the Flow that names their states, and what was assigned."""

    count: int
    flow: Flow
    assignments: Sequence[Assignment]

    def given(self, values: Mapping[str, Any], k: int | slice) -> dict[str, Any]:
        """Initial values of member k, or of some members, as they were given."""
        return {n: self._state(n, v, k) for n, v in values.items()}

    def _state(self, name: str, value: Any, k: int | slice) -> Any:
        if value is None or name not in self.flow.states:
            return value
        symbols = self.flow.rates.inputs[name]
        if not isinstance(value, Mapping):
            return np.asarray(value)[k] if np.ndim(value) > symbols.ndim else value
        labels, out = self.flow.labels.get(name, ()), {}
        for key, part in value.items():
            single = len(components(labels, symbols.size, str(key))) == 1
            many = np.ndim(part) == 2 or (single and np.ndim(part) == 1 and np.shape(part) != (1,))
            out[key] = np.asarray(part)[k] if many else part
        return out

    def parameters(self, values: Mapping[str, Any], k: int | slice) -> dict[str, Any]:
        """Their parameters."""
        core = {n: np.ndim(self.flow.parameters.get(n, 0.0)) for n in values}
        return {n: np.asarray(v)[k] if np.ndim(v) > core[n] else v for n, v in values.items()}

    def inputs(self, values: Any, k: int | slice) -> Any:
        """Their inputs: rows of constants that differ."""
        constants = [(a.key, a.source) for a in self.assignments if isinstance(a.source, Constant)]
        own = {key: source.values[k] for key, source in constants if source.values.ndim == 2}
        if not own:
            return values
        return {**values, **own} if isinstance(values, Mapping) else own


def side_by_side(count: int, run: Callable[[int], Trajectory], wanted: np.ndarray) -> Trajectory:
    """The Trajectories of `count` members at the instants that were asked for; NaN from where one ended."""
    rows: dict[str, list[np.ndarray]] = {}
    outcomes = np.empty(count, dtype=object)
    events: list[EventRecord] = []
    notes: list[str] = []
    statistics: dict[str, float] = {}
    first: Trajectory | None = None
    if not count:
        raise ShapeError("the batch has no members; expected at least one, as these run one by one.")
    for k in range(count):
        one = run(k)
        first = first or one
        outcomes[k] = one.outcome
        events += [replace(e, member=k) for e in one.events]
        notes += [f"member {k}: {note}" for note in one.notes]
        for name, number in one.statistics.items():
            statistics[name] = statistics.get(name, 0) + number
        for name, values in at_instants(one, wanted).items():
            rows.setdefault(name, []).append(values)
    assert first is not None
    return first.replace(
        t=wanted,
        values={name: np.stack(found) for name, found in rows.items()},
        outcome=worst(outcomes),
        outcomes=outcomes,
        statistics=statistics,
        events=tuple(events),
        notes=_shortened(notes),
        run=None,
    )


def _shortened(notes: list[str]) -> tuple[str, ...]:
    return (*notes[:SHOWN], f"and {len(notes) - SHOWN} more notes of members.") if len(notes) > SHOWN else tuple(notes)


def at_instants(one: Trajectory, wanted: np.ndarray) -> dict[str, np.ndarray]:
    """Values of a Trajectory at instants that it may not have reached, or recorded twice: before a jump, and after."""
    place = np.searchsorted(one.t, wanted, side="left")
    inside = np.minimum(place, max(len(one.t) - 1, 0))
    there = (place < len(one.t)) & (one.t[inside] == wanted) if len(one.t) else np.zeros(len(wanted), dtype=bool)
    out = {}
    for name, values in one.values.items():
        found = np.full((len(wanted), *values.shape[1:]), np.nan)
        found[there] = values[inside[there]]
        out[name] = found
    return out
