"""Feed: the signals of a Flow during a run: constants, tables, functions of time, controllers held between ticks."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.derived.kernels import kernel_of
from symbody.errors import DefinitionError, Named, NameLookupError, nearest, real_argument
from symbody.flow.connect import Connected, Line, feedback_arguments, is_sampled
from symbody.flow.flow import Flow
from symbody.flow.sources import Constant, Control, Feedback, OfTime, Table, checked_values
from symbody.system.names import components
from symbody.system.system import System

NEAR = 1e-9  # of a period: instants closer than this are the same


class Clock:
    """Ticks at start + j period; where the period is a whole number of steps, on the very instants of the steps."""

    def __init__(self, start: float, period: float, step: float | None) -> None:
        self.start, self.period = start, period
        ratio = period / step if step else 0.0
        self.steps = round(ratio) if step and round(ratio) >= 1 and abs(ratio - round(ratio)) < NEAR * ratio else 0
        self.step = step or 0.0
        self.next = 0  # index of the next tick

    def time(self, j: int) -> float:
        return self.start + (j * self.steps) * self.step if self.steps else self.start + j * self.period

    def due(self, t: float) -> bool:
        """Whether the next tick is now."""
        return self.time(self.next) <= t + NEAR * self.period


class Feed:
    """Signals u (nu,), or (b, nu) for a batch, over time.

    `refresh(t, x)` at the start of a stretch asks the controllers that are due; until `stop(t)` nothing jumps.
    """

    def __init__(
        self, connected: Connected, start: float, step: float | None, period: float | None, batch: int | None = None
    ) -> None:
        self.flow: Flow = connected.flow
        self.lines = connected.lines
        self.batch = batch
        shape = connected.defaults.shape if batch is None else (batch, len(connected.defaults))
        self.held = np.array(np.broadcast_to(connected.defaults, shape))
        self.moving = [line for line in self.lines if _moves(line)]
        self.tables = [line for line in self.lines if isinstance(line.source, Table) and line.source.hold]
        self.sampled = [
            _Sampled(line, self.flow, start, step, period) for line in self.lines if is_sampled(line.source)
        ]
        for line in self.lines:
            if isinstance(line.source, Constant):
                self.held[..., line.columns] = line.source.values
        self.log: list[tuple[float, np.ndarray]] = [(-math.inf, self.held.copy())]

    @property
    def size(self) -> int:
        return int(self.held.shape[-1])

    @property
    def jumps(self) -> bool:
        """Whether anything is held between ticks."""
        return bool(self.tables or self.sampled)

    # -- in time

    def refresh(self, t: float, x: np.ndarray) -> None:
        """Values of what is held from t on; x (nx,) or (b, nx) is the state at t."""
        changed = False
        for line in self.tables:
            assert isinstance(line.source, Table)
            k = int(np.searchsorted(line.source.times, t, side="right")) - 1
            self.held[..., line.columns] = line.source.values[max(k, 0)]
            changed = True
        for one in self.sampled:
            if one.clock.due(t):
                one.clock.next += 1
                self.held[..., one.line.columns] = one.values(t, x)
                changed = True
        if changed:
            self.log.append((t, self.held.copy()))

    def stop(self, t: float) -> float:
        """The next instant after t at which something that is held may change."""
        times = [one.clock.time(one.clock.next) for one in self.sampled]
        for line in self.tables:
            assert isinstance(line.source, Table)
            k = int(np.searchsorted(line.source.times, t, side="right"))
            times += [float(line.source.times[k])] if k < len(line.source.times) else []
        return min(times, default=math.inf)

    def skip(self, t: float) -> None:
        """Leave out ticks before t, but for the last of them."""
        for one in self.sampled:
            while one.clock.time(one.clock.next + 1) <= t:
                one.clock.next += 1

    def at(self, t: float) -> np.ndarray:
        """All signals at time t, with what is held as it is now."""
        if not self.moving:
            return self.held
        out = self.held.copy()
        for line in self.moving:
            out[..., line.columns] = moving_values(line, np.array([t]))[0]
        return out

    def grid(self, start: float, end: float, instants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(times (k,), values (k, nu) or (b, k, nu)) whose linear interpolation gives the signals on [start, end].

        instants: where functions of time are sampled; breaks of tables are added.
        """
        times = [np.array([start, end])]
        if any(isinstance(line.source, OfTime) for line in self.moving):
            times.append(instants)
        for line in self.moving:
            if isinstance(line.source, Table):
                t = line.source.times
                times.append(t[(t > start) & (t < end)])
        grid = np.unique(np.concatenate(times))
        values = np.repeat(self.held[..., None, :], len(grid), axis=-2)
        for line in self.moving:
            values[..., line.columns] = moving_values(line, grid)
        return grid, values

    def copied(self) -> Feed:
        """A Feed at the same instant that goes its own way."""
        twin = copy.copy(self)
        twin.held, twin.log = self.held.copy(), list(self.log)
        twin.sampled = [one.copied() for one in self.sampled]
        return twin

    # -- afterwards

    def recorded(self, times: np.ndarray) -> np.ndarray:
        """(..., k, nu) signals at the instants of samples; at a tick, the value from then on."""
        starts = np.array([t for t, _ in self.log])
        values = np.stack([v for _, v in self.log], axis=-2)
        out = values[..., np.searchsorted(starts, times, side="right") - 1, :].copy()
        for line in self.moving:
            out[..., line.columns] = moving_values(line, times)
        return out

    def mark(self) -> dict[str, np.ndarray]:
        """Where the run stands: what is held, ticks, memories, and the length of the log."""
        out = {"held": self.held.copy(), "log": np.array(len(self.log))}
        for i, one in enumerate(self.sampled):
            out[f"tick{i}"] = np.array(one.clock.next)
            out.update({f"memory{i}.{n}": a.copy() for n, a in one.memory.items()})
        return out

    def rewind(self, mark: Mapping[str, np.ndarray]) -> None:
        """Back to where `mark` was taken."""
        self.held = np.array(mark["held"])
        del self.log[int(mark["log"]) :]
        for i, one in enumerate(self.sampled):
            one.clock.next = int(mark[f"tick{i}"])
            one.memory = {n: np.array(mark[f"memory{i}.{n}"]) for n in one.memory}


def _moves(line: Line) -> bool:
    return isinstance(line.source, OfTime) or (isinstance(line.source, Table) and not line.source.hold)


def moving_values(line: Line, times: np.ndarray) -> np.ndarray:
    """(k, n) values of a table or of a function of time."""
    source = line.source
    if isinstance(source, Table):
        return np.stack([np.interp(times, source.times, column) for column in source.values.T], axis=-1)
    assert isinstance(source, OfTime)
    return np.stack([checked_values(source.function(float(t)), len(line.columns), line.text, t) for t in times])


class _Sampled:
    """A controller that is asked at the ticks of its clock: a Python function, or a System with memory of its own."""

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
        self.memory: dict[str, np.ndarray] = {}
        if isinstance(source, Control):
            self.kernel = kernel_of(source.system)
            self.memory = {n: np.zeros(source.system.inputs[n].shape) for n in source.system.states}

    def copied(self) -> _Sampled:
        twin = copy.copy(self)
        twin.clock, twin.memory = copy.copy(self.clock), dict(self.memory)
        return twin

    def values(self, t: float, x: np.ndarray) -> np.ndarray:
        """(n,) or (b, n) new values at a tick."""
        source = self.line.source
        if isinstance(source, Control):
            return self._step(source, t, x)
        assert isinstance(source, Feedback)
        rows = [self._called(source, t, row) for row in np.atleast_2d(x)]
        return rows[0] if x.ndim == 1 else np.stack(rows)

    def _called(self, source: Feedback, t: float, x: np.ndarray) -> np.ndarray:
        states = {n: a.copy() for n, a in self.flow.split(x).items()}
        value = source.function(t, *feedback_arguments(source, t, states))
        return checked_values(value, len(self.line.columns), self.line.text, t)

    def _step(self, source: Control, t: float, x: np.ndarray) -> np.ndarray:
        """Outputs of a sampled System; what stands as the rate of a state is its next value."""
        system = source.system
        states = self.flow.split(x)
        given: dict[str, Any] = {}
        for n in system.inputs:
            given[n] = self.memory[n] if n in self.memory else measured(self.flow, states, t, n, system.name)
        found = self.kernel(**given)
        named = found._asdict() if len(system.outputs) > 1 else {next(iter(system.outputs)): found}
        self.memory = {n: np.asarray(named[rate]) for n, rate in system.states.items()}
        out = np.asarray(named[source.output], dtype=float)
        return out.reshape((*x.shape[:-1], len(self.line.columns)))


def _period_of(system: System) -> float:
    """The period of a System's clock, s."""
    numbers = [v for v in system.clocks.values() if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if len(numbers) != 1:
        raise DefinitionError(
            f"controller {system.name!r} has clocks {dict(system.clocks)}; expected one, its period in seconds."
        )
    return float(numbers[0])


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
