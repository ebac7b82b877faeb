"""Stepper over lanes of the native march: events, resets, clocks and held tables without Python, one state or batches.

`lanes_of` says whether all that a run asks for can be done natively; what cannot (resets and sources that are Python
functions of time or state, loops that open and close) is left to the steppers that return to Python at each event.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.errors import FormatError
from symbody.basics.memory import memory_of
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.motion.flow.event_rules import PreparedEvents
from symbody.motion.flow.flow import Flow, shared_inputs
from symbody.motion.flow.flow_kernels import kernels
from symbody.motion.flow.signals import NEAR, InputSignals, Sampled, measured_place, table_value
from symbody.motion.flow.sources import Control, OfTime
from symbody.motion.march.lane_march import LaneEvents, LaneMarch, LaneRun, SampledClock, Stops
from symbody.motion.march.march import March
from symbody.motion.march.method_tables import Method, RungeKutta, Splitting
from symbody.motion.march.run import Signals
from symbody.motion.methods.marks import events_of, jumps_of
from symbody.motion.methods.native_stepper import FEW, OUTCOMES, WORK, guards_of, march_of
from symbody.motion.methods.step_grid import step_index
from symbody.motion.methods.stepper import Followed, Leg, Memory, Start
from symbody.motion.trajectory.outcome import Outcome
from symbody.symbolic.system.system import System, node_array

if TYPE_CHECKING:
    from symbody.motion.methods.methods import Setup

MOST_STOPS = 1_000_000  # in one stretch
MOST_KEPT = 16  # marches of a Flow
ENDS = {**OUTCOMES, 6: Outcome.STOPPED, 7: Outcome.TOO_MANY_EVENTS}
FAILED = (2, 3, 4, 5)  # status of members without a state to go on from


# -- what a march needs to know of events


def after_system(prepared: PreparedEvents) -> System | None:
    """The states after each event's reset, and those at rest, as one output "after" (2 ne, nx); None without any."""
    if not any(e.reset or e.rest for e in prepared.events):
        return None

    def make() -> System:
        flow = prepared.flow
        inputs = shared_inputs(flow.rates)
        same = [s for n in flow.states for s in inputs[n].flat]
        rows: list[Any] = []
        for rest in (False, True):
            for index in range(len(prepared.events)):
                row, reset = list(same), prepared.reset(index, rest)
                for k, node in zip(reset.places, reset.nodes, strict=True) if reset is not None else ():
                    row[k] = node
                rows += row
        shaped = node_array(rows, flow.rates.graph).reshape(2 * len(prepared.events), len(same))
        name = f"{flow.rates.name}_after"
        return System(name, inputs=inputs, outputs={"after": shaped}, parameters=dict(flow.rates.parameters))

    found: System = memory_of(prepared.flow).get("after", (), make)
    return found


def rules_of(prepared: PreparedEvents) -> LaneEvents:
    """Events as numbers for the native march."""
    events, flow = prepared.events, prepared.flow
    after = after_system(prepared)
    own = () if flow.events is None else flow.events.outputs
    return LaneEvents(
        acting=~prepared.passive,
        elements=np.array([e.name in own for e in events], dtype=bool),
        stop=np.array([e.stop for e in events], dtype=bool),
        limit=np.array([e.limit or 0 for e in events], dtype=int),
        slowest=np.array([e.slowest for e in events], dtype=float),
        resets=np.array([bool(e.reset) for e in events], dtype=bool),
        rests=np.array([e.rest is not None for e in events], dtype=bool),
        frozen=frozen_states(flow),
        after=None if after is None else kernel_of(after),
    )


def frozen_states(flow: Flow) -> np.ndarray:
    """(nx,) components that only events change: switches, which no rounding may move."""
    rates = flow.rates
    still = [n for n, rate in rates.states.items() if all(x is rates.graph.zero for x in rates.outputs[rate].flat)]
    out = np.zeros(flow.nx, dtype=bool)
    for n in still:
        out[flow.slices[n]] = True
    return out


# -- what it needs to know of sources


def native_clocks(signals: InputSignals) -> list[Sampled]:
    """Sampled Systems, where all that is sampled is one: they read states, components of them, or time."""
    own = [one for one in signals.sampled if isinstance(one.line.source, Control)]
    return own if len(own) == len(signals.sampled) else []


def held_tables(signals: InputSignals) -> list[Any]:
    """Tables whose values are held, unless Python functions are to be asked at other instants anyway."""
    return [] if len(native_clocks(signals)) < len(signals.sampled) else list(signals.tables)


def clocks_of(signals: InputSignals, flow: Flow) -> list[SampledClock]:
    """Clocks of the native march; their memories stand one after the other."""
    out, at = [], 0
    for one in native_clocks(signals):
        source = one.line.source
        assert isinstance(source, Control)
        system = source.system
        reads: dict[str, tuple[str, int]] = {}
        kept: dict[str, int] = {}
        for name, rate in system.states.items():
            reads[name] = ("memory_row", at)
            kept[rate] = at
            at += system.inputs[name].size
        for name, symbols in system.inputs.items():
            if name not in reads:
                reads[name] = ("TS", 0) if name == "t" else ("X", measured_place(flow, name, symbols.size, system.name))
        out.append(SampledClock(kernel_of(system), reads, (one.line.columns, source.output), kept))
    return out


def lanes_of(setup: Setup) -> bool:
    """Whether a run has events, clocks or held tables, and all of them can be followed natively."""
    events, signals, flow = setup.events, setup.signals, setup.flow
    if events is None and not native_clocks(signals) and not held_tables(signals):
        return False
    if setup.loops is not None or flow.impact is not None:
        return False
    if any(isinstance(line.source, OfTime) for line in signals.moving):
        return False  # between the steps of the grid its values are not known
    if events is None:
        return True
    values = [v for e in events.events for r in (e.reset, e.rest or {}) for v in r.values()]
    return flow.guards is not None and not any(callable(v) for v in values)


def _march(setup: Setup, method: Method | None, overlay: np.ndarray, march: March | None) -> LaneMarch:
    """The march of a Flow with its events and clocks, made once."""
    flow, signals = setup.flow, setup.signals

    def make() -> LaneMarch:
        inner = march or march_of(flow, isinstance(method, Splitting), False, guards_of(flow, None))
        offsets = {rate: flow.slices[state].start for state, rate in flow.rates.states.items()}
        rules = None if setup.events is None else rules_of(setup.events)
        own = [int(c) for c in overlay]
        return LaneMarch(inner, kernels(flow)["rates"], offsets, rules, clocks_of(signals, flow), own)

    sources = [(one.line.source, one.line.columns) for one in native_clocks(signals)]
    clocks = tuple((s.system, s.output, *map(int, c)) for s, c in sources if isinstance(s, Control))
    # a Flow with guards is that of its events
    key = (method if march is None else march, setup.events is None, tuple(map(int, overlay)), clocks)
    found: LaneMarch = memory_of(flow).get("lanes", key, make, MOST_KEPT)
    return found


class LaneStepper:
    """The Stepper. x is (nx,), or (b, nx) of a batch, whose members that failed hold NaN; others that ended stay."""

    def __init__(self, setup: Setup, method: Method | None, march: March | None = None, work: float = 1.0) -> None:
        """march: that of a step map, method None; work: evaluations of the map's operations in a step."""
        flow, signals = setup.flow, setup.signals
        self.setup, self.flow, self.signals, self.method = setup, flow, signals, method
        self.clocks, self.tables = native_clocks(signals), held_tables(signals)
        columns = [c for one in self.clocks for c in one.line.columns]
        columns += [c for line, _ in self.tables for c in line.columns]
        self.overlay = np.array(sorted(map(int, columns)), dtype=int)
        self.march = _march(setup, method, self.overlay, march)
        self.parameters = dict(setup.parameters) if setup.parameters else None
        self.directions = None if setup.events is None else setup.events.directions
        operations = self.march.ports.main.signature.operations
        if march is None:
            stages = method.stages if isinstance(method, RungeKutta) else 4
            self.cost = float(stages * (operations + 20 * flow.nx))
        else:
            self.cost = work * operations + 20 * flow.nx
        self.chunk = max(16, int(WORK / self.cost))

    @property
    def handles(self) -> frozenset[str]:
        """Events, and what is held unless Python functions are asked for some of it."""
        sampled = bool(self.signals.sampled) and not self.clocks
        return frozenset(("events",) if sampled else ("events", "clocks"))

    # -- stretches

    def border(self, t: float, end: float) -> float:
        """The end of the native call that begins at t: whole multiples of a chunk, whoever asks."""
        s = self.setup
        if s.step is None:
            shortest = min((one.clock.period for one in self.clocks), default=math.inf)
            return t + MOST_STOPS * shortest
        k, _ = step_index(s.start, s.step, t)
        return s.start + (k // self.chunk + 1) * self.chunk * s.step

    def advance(self, start: Start, stop: float, times: np.ndarray) -> tuple[Leg, Memory]:
        """See `Stepper`."""
        s, states = self.setup, np.atleast_2d(start.x)
        memory = self._memory(start, len(states))
        ended: np.ndarray | None = memory.pop("ended", None)
        ticks = memory.pop("ticks")
        stops = self._stops(ticks, start.t, stop)
        options: dict[str, Any] = dict(
            signals=self._signals(start, stop),
            parameters=self.parameters,
            directions=self.directions,
            stops=stops,
            done=None if ended is None else ended != 0,
            threads=s.threads,
            span=start.end - s.start,
            most_events=s.most_events,
        )
        if s.step is not None:
            cost = int(self.cost * max(1.0, (stop - start.t) / s.step))
            grid: dict[str, Any] = dict(start=s.start, step=s.step, cost=cost)
            run = self.march.fixed(self.method, states, memory, stop, times, **grid, **options)
        else:
            assert isinstance(self.method, RungeKutta)
            most = self._most(start)
            accuracy: dict[str, Any] = dict(rtol=s.rtol, atol=s.atol, max_steps=most, cost=int(100 * self.cost))
            run = self.march.adaptive(self.method, states, memory, stop, times, **accuracy, **options)
        done = stops.clock[: int(run.stops.max(initial=0))]
        after = {n: np.array(a) for n, a in run.memory.items()}
        after["ticks"] = ticks + np.bincount(done[done >= 0], minlength=len(ticks))[: len(ticks)]
        if start.x.ndim == 1:
            return self._leg(run, start, times, after), after
        status = run.status if ended is None else np.where(ended != 0, ended, run.status)
        if status.any():
            after["ended"] = status
        return self._legs(run, start, stop, times, after, status), after

    def _most(self, start: Start) -> int:
        """Steps in one call: of one state few, so that stiffness is noticed."""
        return min(self.chunk, FEW, start.most) if start.x.ndim == 1 else self.setup.max_steps

    def _statistics(self, run: LaneRun) -> dict[str, int]:
        names = ("steps", "evaluations") if self.setup.step is not None else ("steps", "rejected", "evaluations")
        return {n: int(np.sum(getattr(run, n))) for n in names}

    def _leg(self, run: LaneRun, start: Start, times: np.ndarray, after: Memory) -> Leg:
        count, status = int(run.samples[0]), int(run.status[0])
        if status == 4 and self._most(start) < start.most:
            status = 0
        rules = () if self.setup.events is None else self.setup.events.events
        ring, number = after["instants"][0], int(after["n_instants"][0])
        instants = [float(ring[k % len(ring)]) for k in range(max(number - len(ring), 0), number)]
        followed = Followed(
            tuple(events_of(run.marks, rules, False)),
            tuple(jumps_of(run.marks, self.flow.nx, start.u, self.overlay)),
            (run.x_begin[0], run.held_begin[0]) if run.began else None,
            self._held(start.u, run.held[0, :count]),
            after["held"][0],
            *self._clocks(after),
            tuple(after["counts"][0].tolist()),
            tuple(instants),
            frozenset(np.flatnonzero(after["leaving"][0]).tolist()),
        )
        return Leg(
            times[:count],
            run.x[0, :count],
            float(run.t[0]),
            run.x_end[0],
            ENDS[status],
            statistics=self._statistics(run),
            followed=followed,
        )

    def _legs(
        self, run: LaneRun, start: Start, stop: float, times: np.ndarray, after: Memory, status: np.ndarray
    ) -> Leg:
        """The Leg of a batch; members that failed hold nan."""
        rules = () if self.setup.events is None else self.setup.events.events
        end = np.array(run.x_end)
        end[np.isin(status, FAILED)] = np.nan
        members = np.array([ENDS[int(k)] for k in status], dtype=object)
        followed = Followed(
            tuple(events_of(run.marks, rules, True)),
            (),
            (run.x_begin, run.held_begin) if run.began else None,
            self._held(start.u, np.moveaxis(run.held, 1, 0)),
            after["held"],
            *self._clocks(after),
            None,
        )
        return Leg(times, run.x, stop, end, statistics=self._statistics(run), members=members, followed=followed)

    # -- signals

    def _held(self, u: np.ndarray, values: np.ndarray) -> np.ndarray | None:
        """(k, ..., nu) signals at samples, from those (k, ..., columns) that were held here."""
        if not len(self.overlay):
            return None
        out = np.repeat(u[None], len(values), axis=0)
        out[..., self.overlay] = values
        return out

    def _signals(self, start: Start, stop: float) -> Signals | None:
        signals, held = self.signals, start.u
        if not signals.size:
            return None
        if not signals.moving:
            return Signals([start.t], held if held.ndim == 1 else held[:, None, :])
        return Signals(*signals.grid(held, start.t, stop, np.zeros(0)))

    def _stops(self, ticks: np.ndarray, t: float, t_end: float) -> Stops:
        """Ticks and knots of held tables that come up before t_end."""
        nu = self.signals.size
        times, clock, slack = [np.zeros(0)], [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        values, mask, rows = [np.zeros((0, nu))], [np.zeros((0, nu))], 0
        for line, table in self.tables:
            inside = (table.times > t) & (table.times < t_end)
            found = np.zeros((2, int(inside.sum()), nu))
            found[0][:, line.columns], found[1][:, line.columns] = table.values[inside], 1.0
            times.append(table.times[inside])
            clock.append(-1 - rows - np.arange(found.shape[1]))
            slack.append(np.zeros(found.shape[1]))
            values.append(found[0])
            mask.append(found[1])
            rows += found.shape[1]
        for c, one in enumerate(self.clocks):
            times.append(one.clock.times(int(ticks[c]), t_end))
            clock.append(np.full(len(times[-1]), c))
            slack.append(np.full(len(times[-1]), NEAR * one.clock.period))
        at, number, before = (np.concatenate(parts) for parts in (times, clock, slack))
        if len(times) > 2:
            order = np.argsort(at, kind="stable")
            at, number, before = at[order], number[order], before[order]
        return Stops(at, number, before, np.concatenate(values), np.concatenate(mask))

    def _clocks(self, after: Memory) -> tuple[tuple[int, ...] | None, tuple[Mapping[str, np.ndarray], ...]]:
        """Ticks and memories of the sampled controllers, as `Held` has them."""
        if "clocks" not in self.handles:
            return None, ()
        memories, at = [], 0
        for one in self.clocks:
            source = one.line.source
            assert isinstance(source, Control)
            own = {}
            for name in source.system.states:
                symbols = source.system.inputs[name]
                part = after["clock_memory"][:, at : at + symbols.size]
                shape = symbols.shape if self.signals.batch is None else (len(part), *symbols.shape)
                own[name] = part.reshape(shape).copy()
                at += symbols.size
            memories.append(own)
        return tuple(after["ticks"].tolist()), tuple(memories)

    # -- memory

    def _memory(self, start: Start, members: int) -> dict[str, np.ndarray]:
        held = np.array(start.u, dtype=float)
        fresh = not start.memory
        if fresh:
            for line, table in self.tables:
                held[..., line.columns] = table_value(table, start.t)
        begin = self.march.start(start.t, members, held)
        begin["ticks"] = np.zeros(len(self.clocks), dtype=np.int64)
        if fresh:
            return begin
        found = {n: np.array(a) for n, a in start.memory.items()}
        self._check(found, begin, members)
        found["held"] = np.array(np.broadcast_to(held, begin["held"].shape))
        return found

    def check_memory(self, start: Start) -> None:
        """See `stepper.check_memory`: of members that go on, it is that of a run that has come to the start."""
        states, found = np.atleast_2d(start.x), start.memory
        begin = {**self.march.start(start.t, len(states), start.u), "ticks": np.zeros(len(self.clocks), dtype=np.int64)}
        self._check(found, begin, len(states))
        ended = found.get("ended", np.zeros(len(states), dtype=np.int64)).tolist()
        own = {n: a[[k == 0 for k in ended]] for n, a in found.items() if n != "ticks"}
        late = abs(own["now"] - start.t) > NEAR * max(1.0, abs(start.t))
        clocks = zip(self.clocks, found["ticks"].tolist(), strict=True)
        right = {
            "ended": all(k == 0 or k in ENDS for k in ended),
            "now at another instant": not late.any(),
            "begun": (own["begun"] == 1).all(),
            "h below 0": (own["h"] >= 0).all(),
            "ticks": all(one.clock.waits_for(j, start.t) for one, j in clocks),
            **{n: np.isfinite(own[n]).all() for n in ("now", "h", "memory", "instants")},
        }
        wrong = [n for n, is_right in right.items() if not is_right]
        if wrong:
            raise ValueError(f"a memory of another run: {', '.join(wrong)}")

    def _check(self, found: Mapping[str, np.ndarray], begin: Mapping[str, np.ndarray], members: int) -> None:
        """Numbers from a file that native code must not read beyond."""
        ended = found.get("ended", np.zeros(members, dtype=np.int64))
        wrong = [
            n for n, a in begin.items() if n not in found or (found[n].shape, found[n].dtype) != (a.shape, a.dtype)
        ]
        wrong += [n for n in found if n not in begin and n != "ended"]
        if not wrong and ((found["n_instants"] < 0).any() or (found["ticks"] < 0).any()):
            wrong = ["n_instants", "ticks"]
        if wrong or ended.shape != (members,):
            raise FormatError(f"the memory of a run of {self.flow.name} is damaged: {', '.join(wrong) or 'ended'}.")
