"""Signals of a Flow during a run: constants, tables, functions of time, controllers held between their ticks.

`InputSignals` says where they come from and never changes; what is held between ticks is a `Held`, part of a run's
state.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, Named, NameLookupError, ShapeError, nearest, real_argument
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.motion.flow.connect import Connected, Line, feedback_arguments, is_sampled
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.sources import Constant, Control, Feedback, OfTime, TableSource, checked_values
from symbody.symbolic.system.names import components
from symbody.symbolic.system.system import System

NEAR = 1e-9  # of a period: instants closer than this are the same


@dataclass(frozen=True)
class Clock:
    """Ticks at start + j period; where the period is a whole number of steps, on the very instants of the steps."""

    start: float
    period: float
    step: float | None

    @cached_property
    def steps(self) -> int:
        """Steps in a period; 0 where it is no whole number of them."""
        ratio = self.period / self.step if self.step else 0.0
        whole = round(ratio)
        return whole if self.step and whole >= 1 and abs(ratio - whole) < NEAR * ratio else 0

    def time(self, j: int) -> float:
        if self.steps:
            assert self.step is not None
            return self.start + (j * self.steps) * self.step
        return self.start + j * self.period

    def times(self, j: int, end: float) -> np.ndarray:
        """All ticks from number j on that lie before `end`."""
        last = j + max(int((end - self.time(j)) / self.period) + 2, 0)
        numbers = np.arange(j, last)
        if self.steps:
            assert self.step is not None
            ticks = self.start + (numbers * self.steps) * self.step
        else:
            ticks = self.start + numbers * self.period
        return np.asarray(ticks[ticks < end])

    def waits_for(self, j: int, t: float) -> bool:
        """Whether tick j is the first that has not passed at t."""
        near = 1e-6 * self.period + NEAR * abs(t)
        return self.time(j) >= t - near and (j == 0 or self.time(j - 1) <= t + near)

    def due(self, j: int, t: float) -> bool:
        """Whether tick j is now."""
        return self.time(j) <= t + NEAR * self.period


@dataclass(frozen=True, eq=False)
class Held:
    """What is held at an instant.

    values    (nu,), or (b, nu) of a batch: all signals; those that move with time hold their defaults
    ticks     of each sampled controller: the number of its next tick
    memories  of each sampled controller: its states by name
    """

    values: np.ndarray
    ticks: tuple[int, ...] = ()
    memories: tuple[Mapping[str, np.ndarray], ...] = ()


class InputSignals:
    """Where the signals u of a Flow come from.

    `refreshed(held, t, x)` asks the controllers that are due; until `stop(held, t)` nothing that is held jumps.
    """

    def __init__(
        self, connected: Connected, start: float, step: float | None, period: float | None, batch: int | None = None
    ) -> None:
        self.flow: Flow = connected.flow
        self.lines = connected.lines
        self.batch = batch
        self._defaults = connected.defaults
        self.moving = [line for line in self.lines if _moves(line)]
        tables = [(line, line.source) for line in self.lines if isinstance(line.source, TableSource)]
        self.tables = [(line, table) for line, table in tables if table.hold]
        self.sampled = [Sampled(line, self.flow, start, step, period) for line in self.lines if is_sampled(line.source)]

    @property
    def size(self) -> int:
        """nu"""
        return len(self._defaults)

    @property
    def jumps(self) -> bool:
        """Whether anything is held between ticks."""
        return bool(self.tables or self.sampled)

    # -- what is held

    def start(self) -> Held:
        """Before the first tick: constants, and defaults of all others."""
        shape = self._defaults.shape if self.batch is None else (self.batch, len(self._defaults))
        values = np.array(np.broadcast_to(self._defaults, shape))
        for line in self.lines:
            if isinstance(line.source, Constant):
                values[..., line.columns] = line.source.values
        return Held(values, (0,) * len(self.sampled), tuple(one.memory for one in self.sampled))

    def refreshed(self, held: Held, t: float, x: np.ndarray) -> Held:
        """What is held from t on; x (nx,) or (b, nx) is the state at t. The same record where nothing changes."""
        due = [k for k, one in enumerate(self.sampled) if one.clock.due(held.ticks[k], t)]
        if not due and not self.tables:
            return held
        values, ticks, memories = held.values.copy(), list(held.ticks), list(held.memories)
        for line, table in self.tables:
            values[..., line.columns] = table_value(table, t)
        for k in due:
            ticks[k] += 1
            values[..., self.sampled[k].line.columns], memories[k] = self.sampled[k].values(memories[k], t, x)
        return Held(values, tuple(ticks), tuple(memories))

    def stop(self, held: Held, t: float) -> float:
        """The next instant after t at which something that is held may change."""
        times = [one.clock.time(j) for one, j in zip(self.sampled, held.ticks, strict=True)]
        for _, table in self.tables:
            k = int(np.searchsorted(table.times, t, side="right"))
            times += [float(table.times[k])] if k < len(table.times) else []
        return min(times, default=math.inf)

    def skipped(self, held: Held, t: float) -> Held:
        """Without the ticks before t, but for the last of them."""
        ticks = list(held.ticks)
        for k, one in enumerate(self.sampled):
            while one.clock.time(ticks[k] + 1) <= t:
                ticks[k] += 1
        return replace(held, ticks=tuple(ticks))

    # -- in time, with what is held: values (..., nu)

    def at(self, t: float, values: np.ndarray) -> np.ndarray:
        """All signals at time t."""
        if not self.moving:
            return values
        out = values.copy()
        for line in self.moving:
            out[..., line.columns] = moving_values(line, np.array([t]))[0]
        return out

    def at_times(self, t: Any, values: np.ndarray) -> np.ndarray:
        """All signals at times (k,), (..., k, nu); at one time, (..., nu)."""
        if np.ndim(t) == 0:
            return self.at(float(t), values)
        if not self.moving:
            return values[..., None, :]
        if not len(t):
            return np.zeros((*values.shape[:-1], 0, values.shape[-1]))
        return np.stack([self.at(float(s), values) for s in np.asarray(t)], axis=-2)

    def grid(self, values: np.ndarray, start: float, end: float, instants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(times (k,), values (k, nu) or (b, k, nu)) whose linear interpolation gives the signals on [start, end].

        instants: where functions of time are sampled; breaks of tables are added.
        """
        times = [np.array([start, end])]
        if any(isinstance(line.source, OfTime) for line in self.moving):
            times.append(instants)
        for line in self.moving:
            if isinstance(line.source, TableSource):
                t = line.source.times
                times.append(t[(t > start) & (t < end)])
        grid = np.unique(np.concatenate(times))
        out = np.repeat(values[..., None, :], len(grid), axis=-2)
        for line in self.moving:
            out[..., line.columns] = moving_values(line, grid)
        return grid, out

    def recorded(self, times: np.ndarray, log: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """(..., k, nu) signals at the instants of samples; at a tick, the value from then on.

        log: (instants (n,), values (n, ..., nu)) of all that was held, in order.
        """
        starts, values = (np.concatenate(parts) for parts in zip(*log, strict=True))
        out = np.moveaxis(values[np.searchsorted(starts, times, side="right") - 1], 0, -2).copy()
        for line in self.moving:
            out[..., line.columns] = moving_values(line, times)
        return out


def _moves(line: Line) -> bool:
    return isinstance(line.source, OfTime) or (isinstance(line.source, TableSource) and not line.source.hold)


def table_value(table: TableSource, t: float) -> np.ndarray:
    """(n,) what a table holds at t."""
    k = int(np.searchsorted(table.times, t, side="right")) - 1
    found: np.ndarray = table.values[max(k, 0)]
    return found


def moving_values(line: Line, times: np.ndarray) -> np.ndarray:
    """(k, n) values of a table or of a function of time."""
    source = line.source
    if isinstance(source, TableSource):
        return np.stack([np.interp(times, source.times, column) for column in source.values.T], axis=-1)
    assert isinstance(source, OfTime)
    return np.stack([checked_values(source.function(float(t)), len(line.columns), line.text, t) for t in times])


class Sampled:
    """A controller that is asked at the ticks of its clock: a Python function, or a System with memory of its own.

    memory: its states at the start.
    """

    def __init__(self, line: Line, flow: Flow, start: float, step: float | None, period: float | None) -> None:
        self.line, self.flow = line, flow
        source = line.source
        own = _period_of(source.system) if isinstance(source, Control) else None
        period = own or period or step
        if period is None:
            raise DefinitionError(
                f"the input for {line.text} is a function of the state: it is asked at ticks and held in between. "
                "Give ",
                Named("period", "..."),
                " in seconds, or a step.",
            )
        real_argument("period", period, "a positive number of seconds", above=0.0)
        self.clock = Clock(start, period, step)
        self.memory: Mapping[str, np.ndarray] = {}
        if isinstance(source, Control):
            self.kernel = kernel_of(source.system)
            self.memory = {n: np.zeros(source.system.inputs[n].shape) for n in source.system.states}

    def values(
        self, memory: Mapping[str, np.ndarray], t: float, x: np.ndarray
    ) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
        """(n,) or (b, n) new values at a tick, and the memory after it."""
        source = self.line.source
        if isinstance(source, Control):
            return self._step(source, memory, t, x)
        assert isinstance(source, Feedback)
        rows = [self._called(source, t, row) for row in np.atleast_2d(x)]
        return (rows[0] if x.ndim == 1 else np.stack(rows)), memory

    def _called(self, source: Feedback, t: float, x: np.ndarray) -> np.ndarray:
        states = {n: a.copy() for n, a in self.flow.layout.split(x).items()}
        value = source.function(t, *feedback_arguments(source, t, states))
        return checked_values(value, len(self.line.columns), self.line.text, t)

    def _step(
        self, source: Control, memory: Mapping[str, np.ndarray], t: float, x: np.ndarray
    ) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
        """Outputs of a sampled System; what stands as the rate of a state is its next value."""
        system = source.system
        states = self.flow.layout.split(x)
        given: dict[str, Any] = {}
        for n in system.inputs:
            given[n] = memory[n] if n in memory else measured(self.flow, states, t, n, system.name)
        named = self.kernel.call_named(**given)
        after = {n: np.asarray(named[rate]) for n, rate in system.states.items()}
        out = np.asarray(named[source.output], dtype=float)
        return out.reshape((*x.shape[:-1], len(self.line.columns))), after


def _period_of(system: System) -> float:
    """The period of a System's clock, s."""
    numbers = [v for v in system.clocks.values() if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if len(numbers) != 1:
        raise DefinitionError(
            f"controller {system.name!r} has clocks {dict(system.clocks)}; expected one, its period in seconds."
        )
    return float(real_argument("period", numbers[0], "a positive number of seconds", above=0.0, owner=system.name))


def measured_place(flow: Flow, name: str, size: int, who: str) -> int:
    """Where in x a controller's input of so many components stands: a state, or a component of one."""
    head, _, part = name.partition(".")
    if name in flow.slices:
        at = flow.slices[name]
        if at.stop - at.start != size:
            raise ShapeError(f"controller {who!r} reads {name!r} as {size} numbers; it has {at.stop - at.start}.")
        return int(at.start)
    if head in flow.slices:
        at = flow.slices[head]
        found = components(flow.labels.get(head, ()), at.stop - at.start, part)
        if len(found) == 1:
            return int(at.start) + int(found[0])
    known = [*flow.slices, *(f"{n}.{label}" for n in flow.slices for label in flow.labels.get(n, ()))]
    raise NameLookupError(f"controller {who!r} reads {name!r}. {nearest(name, known)}")


def measured(flow: Flow, states: Mapping[str, np.ndarray], t: float, name: str, who: str) -> Any:
    """t, a state, or a component of one, by name."""
    if name == "t":
        return float(t)
    if name in states:
        return states[name]
    head, _, part = name.partition(".")
    if head in states:
        found = components(flow.labels.get(head, ()), states[head].shape[-1], part)
        if len(found) == 1:
            return states[head][..., found[0]]
    known = [*states, *(f"{n}.{label}" for n in states for label in flow.labels.get(n, ()))]
    raise NameLookupError(f"controller {who!r} reads {name!r}. {nearest(name, known)}")
