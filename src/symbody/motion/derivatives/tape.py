"""Tape: a run as the pieces that its derivatives pass, one after the other: equal steps, single steps, jumps, bridges.

It is read off from what the run recorded, which every step of it is part of; nothing of the run is done differently.
Where the states of all steps would not fit into the memory that is allowed, only every m-th is kept, and those between
are computed again when they are needed (checkpointing: Griewank and Walther 2008, ch. 12).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from symbody.basics.errors import DefinitionError, ModelError
from symbody.mechanics.assembly.conditioning import Conditioning
from symbody.mechanics.loops.partition.partition import Partition
from symbody.motion.derivatives.ticks import Controllers, Tick
from symbody.motion.events.crossings import settled
from symbody.motion.events.plan import Plan
from symbody.motion.events.singular_passage import Gap
from symbody.motion.events.state import RunState
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.signals import InputSignals, table_value
from symbody.motion.flow.vector_field import VectorField
from symbody.motion.methods.sample_times import SampleTimes
from symbody.motion.methods.step_grid import NEAR, step_index
from symbody.motion.run.loop import Reached, advance
from symbody.motion.trajectory.outcome import Outcome
from symbody.motion.trajectory.trajectory import EventRecord


@dataclass(frozen=True, eq=False)
class Steps:
    """`count` steps of length h from t; x (..., k, nx): the first state, those after every `every` steps, the last.

    u: (..., nu) what is held during them. odd: one step whose instants may depend on events
    method: by which they were made, where it is not that of the run; rtol: relative tolerance that they had to meet
    fresh: whether a method that carries more than the state begins anew
    """

    flow: Flow
    t: float
    h: float
    count: int
    x: np.ndarray
    u: np.ndarray
    every: int = 1
    odd: bool = False
    method: str = ""
    rtol: float = 0.0
    fresh: bool = True

    @property
    def t_end(self) -> float:
        return self.t + self.count * self.h


@dataclass(frozen=True, eq=False)
class Jump:
    """An instant at which states jumped, what was there before and after, and the events in the order they happened."""

    flow: Flow
    t: float
    before: np.ndarray
    after: np.ndarray
    u: np.ndarray
    events: tuple[EventRecord, ...]


@dataclass(frozen=True, eq=False)
class Bridge:
    """Across a singular position by polynomials of time. conditioning: of the constraints that meet there."""

    flow: Flow
    gap: Gap
    u: np.ndarray
    conditioning: Conditioning

    @property
    def t(self) -> float:
        return self.gap.t


Piece = Steps | Jump | Tick | Bridge


@dataclass(frozen=True, eq=False)
class Tape:
    """A run that has ended: its pieces in order, the state at the start, and where it ended."""

    plan: Plan
    start: np.ndarray
    pieces: tuple[Piece, ...]
    t_end: float
    x_end: np.ndarray
    outcome: Outcome
    notes: tuple[str, ...]
    members: np.ndarray | None = None
    branches: Mapping[int, Partition] = field(
        default_factory=dict
    )  # id of a Flow with multipliers -> whose rows it keeps

    @property
    def u_end(self) -> np.ndarray:
        """(..., nu) what is held at the end."""
        return self.pieces[-1].u if self.pieces else self.plan.signals.start().values


# one step of a Flow: (flow, t, h, x, u) -> x after it
Step = Callable[[Flow, float, float, np.ndarray, np.ndarray], np.ndarray]


def equal_steps(plan: Plan, state: RunState, memory: float, step: Step) -> Tape | None:
    """Run to the end with steps of equal length, and read off the pieces; None where a singular position was passed.

    memory: bytes that states may take; step: one by the same method
    """
    settings = plan.settings
    assert settings.step is not None
    members = 1 if state.x.ndim == 1 else len(state.x)
    steps = (state.end - settings.start) / settings.step
    every = spacing(steps, members * plan.flow.nx, memory)
    settings = replace(settings, sampling=SampleTimes(spacing=every * settings.step))
    plan = replace(plan, settings=settings)
    start = state.x
    stretches: list[tuple[Plan, int]] = []  # equations, and the number of chunks of samples at their end
    last = Reached(plan, state)
    for reached in advance(plan, state):
        stretches.append((last.plan, len(reached.state.samples)))
        last = reached
    check_outcome(last, plan)
    if any(segment.passage is not None for segment in last.state.segments):
        return None
    first = last.state.samples[0][1][..., 0, :] if last.state.samples else start
    pieces = _StepReading(last, every, step).pieces(stretches)
    pieces = stopped(pieces, last, step)
    outcome = last.outcome or Outcome.FINISHED
    return Tape(
        last.plan,
        np.asarray(first),
        tuple(pieces),
        float(last.state.t),
        last.state.x,
        outcome,
        tuple(last.state.notes),
        last.state.outcomes,
        branches(last.state),
    )


def branches(state: RunState) -> dict[int, Partition]:
    """Partitions by id of the Flow, of a run with closed loops: which redundant rows its equations leave out."""
    mark = state.marks.get("loops")
    return {} if mark is None else {id(way.connected.flow): way.partition for way in mark.choices}


def spacing(steps: float, numbers: int, memory: float) -> int:
    """Every how many steps a state of so many numbers is kept, so that all of them take so many bytes.

    States stand in memory up to three times: as they are recorded, gathered, and with their integrals. Where some are
    computed again, stretches of sqrt(steps) need the least of it, and are long enough for native calls.
    """
    needed = 3 * 8 * steps * numbers
    return 1 if needed <= memory else max(math.ceil(needed / memory), math.isqrt(math.ceil(steps)))


def stopped(pieces: list[Piece], last: Reached, step: Step | None = None) -> list[Piece]:
    """With the end of a run that an event stopped: its instant moves."""
    if last.outcome is not Outcome.STOPPED or (pieces and isinstance(pieces[-1], Jump)):
        return pieces
    events = tuple(e for e in last.state.events if e.t == last.state.t)
    u = pieces[-1].u if pieces else last.state.held.values
    if pieces and isinstance(pieces[-1], Steps):
        pieces = [*pieces[:-1], *_split_last_step(pieces[-1], step)]
    return [*pieces, Jump(last.plan.flow, float(last.state.t), last.state.x, last.state.x, u, events)]


def _split_last_step(piece: Steps, step: Step | None) -> list[Piece]:
    """The steps of a piece, with the last one as a piece by itself."""
    if piece.odd:
        return [piece]
    states = piece.x
    if piece.every > 1:
        assert step is not None
        first = (piece.count - 1) // piece.every * piece.every
        x = states[first // piece.every]
        for k in range(first, piece.count - 1):
            x = step(piece.flow, piece.t + k * piece.h, piece.h, x, piece.u)
        kept = np.concatenate([states[: first // piece.every + 1], x[None]]) if piece.count - 1 > first else states[:-1]
    else:
        kept, x = states[:-1], states[-2]
    last = Steps(
        piece.flow, piece.t + (piece.count - 1) * piece.h, piece.h, 1, np.stack([x, states[-1]]), piece.u, odd=True
    )
    return [replace(piece, count=piece.count - 1, x=kept), last] if piece.count > 1 else [last]


def check_outcome(last: Reached, plan: Plan) -> None:
    """A run that failed has no derivatives."""
    outcome = last.outcome or Outcome.FINISHED
    if not outcome.ok:
        raise ModelError(
            f"the run of {plan.flow.name} that is to be differentiated ends at t = {last.state.t:g} s as "
            f"{outcome.name}: {outcome.value if isinstance(outcome.value, str) else ''}"
        )


def check_solved(failed: np.ndarray, piece: Steps) -> None:
    """Steps whose equations were not solved have no derivatives."""
    if np.any(failed):
        raise DefinitionError(
            f"an implicit block of {piece.flow.name} does not converge between t = {piece.t:g} s and "
            f"{piece.t_end:g} s, so that there is no derivative. Take a smaller step."
        )


class Ticking:
    """Ticks of sampled controllers, in the order in which a run meets them."""

    def __init__(self, signals: InputSignals) -> None:
        self.sampled, self.controllers = signals.sampled, Controllers(signals)
        self.ticks = [0] * len(signals.sampled)
        self.memories = [dict(one.memory) for one in signals.sampled]
        self.given: dict[int, float] = {}  # columns of u -> what controllers hold now

    def due(self, flow: Flow, t: float, x: np.ndarray, u: np.ndarray) -> list[Piece]:
        """Ticks that are due at t, in the state x, with the signals u as they are held."""
        out: list[Piece] = []
        due = [k for k, one in enumerate(self.sampled) if one.clock.due(self.ticks[k], t)]
        for k in due:
            memory = self.controllers.flat(k, self.memories[k])
            out.append(Tick(flow, t, x, u, k, memory))
            values, after = self.sampled[k].values(self.memories[k], t, x)
            self.memories[k], self.ticks[k] = dict(after), self.ticks[k] + 1
            self.given |= dict(zip(self.controllers.columns[k], np.ravel(values).tolist(), strict=True))
        return out


def _equal(values: np.ndarray, a: int, b: int) -> bool:
    return np.array_equal(values[a], values[b])


class _StepReading:
    """What a run with steps of equal length recorded, as pieces."""

    def __init__(self, last: Reached, every: int, step: Step) -> None:
        settings = last.plan.settings
        assert settings.step is not None
        self.last, self.every, self.step = last, every, step
        self.start, self.h = settings.start, settings.step
        signals = last.plan.signals
        self.ticking = Ticking(signals)
        ticks = [one.clock.times(0, last.state.t + self.h) for one in signals.sampled]
        self.stops = np.unique(np.concatenate([np.zeros(0), *(t.times for _, t in signals.tables), *ticks]))
        self.held_t, self.held_u = (np.concatenate(parts) for parts in zip(*last.state.inputs, strict=True))

    def pieces(self, stretches: Sequence[tuple[Plan, int]]) -> list[Piece]:
        """stretches: equations, and the number of chunks of samples at the end of each."""
        state = self.last.state
        chunks, done, owners = list(state.samples), 0, []
        flows: list[Flow] = []
        for plan, upto in stretches:
            if not flows or flows[-1] is not plan.flow:
                flows.append(plan.flow)
            owners += [len(flows) - 1] * sum(len(t) for t, _ in chunks[done:upto])
            done = max(done, upto)
        t, x = np.concatenate([c[0] for c in chunks]), np.concatenate([c[1] for c in chunks], axis=-2)
        owner = np.array(owners)[1:]  # of the interval that ends with each sample
        held = np.searchsorted(self.held_t, t[:-1], side="right") - 1
        places = (t - self.start) / self.h
        near = np.abs(places - np.rint(places)) <= np.maximum(NEAR, 8 * np.finfo(float).eps * np.abs(t) / self.h)
        whole = np.rint(np.diff(places)).astype(int)
        plain = near[:-1] & near[1:] & (whole > 0)
        jumps = np.diff(t) == 0
        # the steps on both sides of a jump end and begin at its instant, which may move
        beside = np.zeros(len(plain), dtype=bool)
        beside[:-1] |= jumps[1:]
        beside[1:] |= jumps[:-1]
        plain &= ~beside & ~jumps & ~self._stopped(t)
        same = np.ones(len(plain), dtype=bool)
        same[1:] = plain[1:] & plain[:-1] & (owner[1:] == owner[:-1]) & (whole[1:] == whole[:-1])
        changes = [k for k in np.flatnonzero(np.diff(held)) + 1 if not _equal(self.held_u, held[k], held[k - 1])]
        same[changes] = False
        for stop in self.stops:
            same[(np.abs(t[:-1] - stop) <= NEAR * self.h)] = False
        first = np.flatnonzero(~same | (np.arange(len(plain)) == 0))
        out: list[Piece] = []
        for k, stop in zip(first, [*first[1:], len(plain)]):
            flow = flows[owner[k]]
            if not jumps[k]:
                out += self._due_ticks(flow, float(t[k]), x[..., k, :])
            u = self._held(float(t[k]))
            if plain[k]:
                count, every = int(whole[k:stop].sum()), int(whole[k])
                begin = self.start + round(float(places[k])) * self.h
                out.append(Steps(flow, begin, self.h, count, x[..., k : stop + 1, :], u, every))
            elif jumps[k]:
                events = tuple(e for e in state.events if e.t == t[k])
                out.append(Jump(flow, float(t[k]), x[..., k, :], x[..., k + 1, :], u, events))
            else:
                first_x = self._gone_on(float(t[k]), x[..., k, :], u) if k and jumps[k - 1] else x[..., k, :]
                out += self._between(flow, float(t[k]), float(t[k + 1]), first_x, x[..., k + 1, :], u)
        return out

    def _gone_on(self, t: float, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The state with which the run went on after a jump to x: guards that are zero but for roundings are put on the
        side to which they move, and a law may jump there."""
        plan = self.last.plan
        if plan.events is None or x.ndim > 1:
            return x
        at = VectorField(plan.events.flow, plan.settings.parameters, plan.signals.at(t, u))
        return settled(at, t, x, plan.events.passive)[0]

    def _stopped(self, t: np.ndarray) -> np.ndarray:
        """Whether something that is held changes inside each interval between the instants t (s)."""
        slack = NEAR * self.h
        low = np.searchsorted(self.stops, t[:-1] + slack, side="right")
        return np.asarray(np.searchsorted(self.stops, t[1:] - slack, side="left") > low)

    def _held(self, t: float) -> np.ndarray:
        """(..., nu) what is held from t on; tables are asked, since not all their instants were recorded."""
        u = np.array(self.held_u[np.searchsorted(self.held_t, t, side="right") - 1])
        for line, table in self.last.plan.signals.tables:
            u[..., line.columns] = table_value(table, t + NEAR * self.h)
        for column, value in self.ticking.given.items():
            u[..., column] = value
        return u

    def _due_ticks(self, flow: Flow, t: float, x: np.ndarray) -> list[Piece]:
        """Ticks that are due at t, in the state x."""
        return self.ticking.due(flow, t, x, self._held(t))

    def _between(self, flow: Flow, a: float, b: float, x: np.ndarray, end: np.ndarray, u: np.ndarray) -> list[Piece]:
        """Single steps from a to b: to the next instant of the grid, or at which something that is held changes."""
        out: list[Piece] = []
        t = a
        while t < b:
            k, _ = step_index(self.start, self.h, t)
            stop = self.start + (k + 1) * self.h
            inner = self.stops[(self.stops > t + NEAR * self.h) & (self.stops < min(stop, b) - NEAR * self.h)]
            stop = float(inner[0]) if len(inner) else stop
            if stop > b - NEAR * self.h:
                stop = b
            out += self._due_ticks(flow, t, x)
            held = self._held(t)
            after = end if stop == b else self.step(flow, t, stop - t, x, held)
            out.append(Steps(flow, t, stop - t, 1, np.stack([x, after], axis=-2), held, odd=True))
            t, x = stop, after
        return out
