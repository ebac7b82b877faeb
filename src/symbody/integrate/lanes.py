"""Driver over lanes of the native march: events, resets, clocks and held tables without Python, one state or batches.

`lanes_of` says whether all that a run asks for can be done natively; what cannot (resets and sources that are Python
functions of time or state, loops that open and close) is left to the drivers that return to Python at each event.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.derived.kernels import kernel_of
from symbody.flow.events import Prepared, reset_nodes
from symbody.flow.flow import Flow, shared_inputs
from symbody.flow.signals import NEAR, Feed, Sampled, measured_place
from symbody.flow.sources import Control, OfTime, Table
from symbody.integrate.native import FAILURES, FEW, WORK, Native, drift_of, guards_of, kernels
from symbody.integrate.stepper import Leg
from symbody.march.lanes import Clock, LaneMarch, LaneRun, Rules, Stops
from symbody.march.march import March
from symbody.march.methods import Method, RungeKutta, Splitting
from symbody.march.run import Signals
from symbody.memory import memory_of
from symbody.system.system import System, node_array
from symbody.trajectory.outcome import Outcome

if TYPE_CHECKING:
    from symbody.integrate.methods import Setup

MOST_STOPS = 1_000_000  # in one stretch
OUTCOMES = {**FAILURES, 0: Outcome.FINISHED, 6: Outcome.STOPPED, 7: Outcome.TOO_MANY_EVENTS}


# -- what a march needs to know of events


def after_system(prepared: Prepared) -> System | None:
    """The states after each event's reset, and those at rest, as one output "after" (2 ne, nx); None without any."""
    if not any(e.reset or e.rest for e in prepared.events):
        return None

    def make() -> System:
        flow = prepared.flow
        inputs = shared_inputs(flow.rates)
        same = [s for n in flow.states for s in inputs[n].flat]
        rows: list[Any] = []
        for reset in [*(e.reset for e in prepared.events), *(e.rest or {} for e in prepared.events)]:
            row = list(same)
            places, nodes, _ = reset_nodes(reset, flow)
            for k, node in zip(places, nodes):
                row[k] = node
            rows += row
        shaped = node_array(rows, flow.rates.graph).reshape(2 * len(prepared.events), len(same))
        name = f"{flow.rates.name}_after"
        return System(name, inputs=inputs, outputs={"after": shaped}, parameters=dict(flow.rates.parameters))

    found: System = memory_of(prepared.flow).get("after", (), make)
    return found


def rules_of(prepared: Prepared) -> Rules:
    """Events as numbers for the native march."""
    events, flow = prepared.events, prepared.flow
    after = after_system(prepared)
    own = () if flow.events is None else flow.events.outputs
    return Rules(
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


def native_clocks(feed: Feed) -> list[Sampled]:
    """Sampled Systems that read states, components of them, or time."""
    return [one for one in feed.sampled if isinstance(one.line.source, Control)]


def clocks_of(feed: Feed, flow: Flow) -> list[Clock]:
    """Clocks of the native march; their memories stand one after the other."""
    out, at = [], 0
    for one in native_clocks(feed):
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
        out.append(Clock(kernel_of(system), reads, (one.line.columns, source.output), kept))
    return out


def lanes_of(setup: Setup) -> bool:
    """Whether a run has events, clocks or held tables, and all of them can be followed natively."""
    events, feed, flow = setup.events, setup.feed, setup.flow
    if events is None and not native_clocks(feed) and not feed.tables:
        return False
    if setup.look is not None or flow.impact is not None:
        return False
    if any(isinstance(line.source, OfTime) for line in feed.moving):
        return False  # between the steps of the grid its values are not known
    if events is None:
        return True
    values = [v for e in events.events for r in (e.reset, e.rest or {}) for v in r.values()]
    return flow.guards is not None and not any(callable(v) for v in values)


def _march(setup: Setup, method: Method | None, overlay: np.ndarray, march: March | None) -> LaneMarch:
    """The march of a Flow with its events and clocks, made once."""
    flow, feed = setup.flow, setup.feed

    def make() -> LaneMarch:
        made = kernels(flow)
        inner = march or March(
            made["rates"], dict(flow.rates.states), second=flow.second, project=made.get("project"),
            guards=guards_of(flow, None), drift=drift_of(flow) if isinstance(method, Splitting) else None,
        )  # fmt: skip
        offsets = {rate: flow.slices[state].start for state, rate in flow.rates.states.items()}
        rules = None if setup.events is None else rules_of(setup.events)
        return LaneMarch(inner, made["rates"], offsets, rules, clocks_of(feed, flow), [int(c) for c in overlay])

    sources = [(one.line.source, one.line.columns) for one in native_clocks(feed)]
    clocks = tuple((s.system, s.output, *map(int, c)) for s, c in sources if isinstance(s, Control))
    # a Flow with guards is that of its events
    key = (method if march is None else march, setup.events is None, tuple(map(int, overlay)), clocks)
    found: LaneMarch = memory_of(flow).get("lanes", key, make, MOST_KEPT)
    return found


MOST_KEPT = 16


class Lanes:
    """The Driver. x is (nx,), or (b, nx) of a batch, whose members that failed hold NaN; others that ended stay."""

    follows = True

    def __init__(self, setup: Setup, method: Method | None, march: March | None = None, work: float = 1.0) -> None:
        """march: that of a step map, method None; work: evaluations of the map's operations in a step."""
        flow, feed = setup.flow, setup.feed
        self.setup, self.flow, self.feed, self.method = setup, flow, feed, method
        self.clocks = native_clocks(feed)
        columns = [c for one in self.clocks for c in one.line.columns]
        columns += [c for line in feed.tables for c in line.columns]
        self.overlay = np.array(sorted(map(int, columns)), dtype=int)
        self.march = _march(setup, method, self.overlay, march)
        self.parameters = dict(setup.parameters) if setup.parameters else None
        self.directions = None if setup.events is None else setup.events.directions
        feed.native = True
        operations = self.march.ports.main.signature.operations
        if march is None:
            stages = method.stages if isinstance(method, RungeKutta) else 4
            self.cost = float(stages * (operations + 20 * flow.nx))
        else:
            self.cost = work * operations + 20 * flow.nx
        self.chunk = max(16, int(WORK / self.cost))
        self.state: dict[str, np.ndarray] = {}
        self.ended: np.ndarray | None = None  # (b,) status of members that go no further

    # -- stretches

    def border(self, t: float) -> float:
        """The end of the native call that begins at t: whole multiples of a chunk, whoever asks."""
        s = self.setup
        if s.step is None:
            shortest = min((one.clock.period for one in self.clocks), default=math.inf)
            return t + MOST_STOPS * shortest
        from symbody.integrate.step_grid import step_index

        k, _ = step_index(s.start, s.step, t)
        return s.start + (k // self.chunk + 1) * self.chunk * s.step

    def advance(self, t: float, x: np.ndarray, t_end: float, times: np.ndarray) -> Leg:
        """See `Driver`."""
        states = np.atleast_2d(x)
        memory = self._memory(t, len(states))
        options: dict[str, Any] = dict(
            signals=self._signals(t, t_end), parameters=self.parameters, directions=self.directions,
            stops=self._stops(t, t_end), done=self.ended, threads=self.setup.threads, span=self.setup.span,
            most_events=self.setup.most_events,
        )  # fmt: skip
        s = self.setup
        if s.step is not None:
            cost = int(self.cost * max(1.0, (t_end - t) / s.step))
            run = self.march.fixed(
                self.method, states, memory, t_end, times, start=s.start, step=s.step, cost=cost, **options
            )
        else:
            assert isinstance(self.method, RungeKutta)
            most = min(self.chunk, FEW, s.max_steps) if x.ndim == 1 else s.max_steps
            run = self.march.adaptive(
                self.method, states, memory, t_end, times, rtol=s.rtol, atol=s.atol, max_steps=most,
                cost=int(100 * self.cost), **options,
            )  # fmt: skip
        self._remember(run, memory["ticks"], options["stops"])
        return self._leg(run, x, times, t_end)

    def _leg(self, run: LaneRun, x: np.ndarray, times: np.ndarray, t_end: float) -> Leg:
        stats = {n: int(np.sum(getattr(run, n))) for n in ("steps", "rejected", "evaluations")}
        if self.setup.step is not None:
            del stats["rejected"]
        if x.ndim == 1:
            count, status = int(run.samples[0]), int(run.status[0])
            if status == 4 and min(self.chunk, FEW) < self.setup.max_steps:
                status = 0
            return Leg(
                times[:count], run.x[0, :count], float(run.t[0]), run.x_end[0], OUTCOMES[status], statistics=stats,
                lanes=run,
            )  # fmt: skip
        self.failed = run.status.copy()
        if self.ended is not None:
            self.failed[self.ended != 0] = self.ended[self.ended != 0]
        self.ended = self.failed if self.failed.any() else None
        end = np.array(run.x_end)
        end[np.isin(self.failed, tuple(FAILURES))] = np.nan
        return Leg(times, run.x, t_end, end, statistics=stats, lanes=run)

    def rates(self, t: np.ndarray, x: np.ndarray) -> np.ndarray:
        """(k, nx) rates at states (k, nx) and times (k,), with the signals as they are."""
        return Native(self.flow, "rk4", self.feed, self.parameters).rates(t, x)

    # -- signals

    def _signals(self, t: float, t_end: float) -> Signals | None:
        feed = self.feed
        if not feed.size:
            return None
        if not feed.moving:
            held = feed.held
            return Signals([t], held if held.ndim == 1 else held[:, None, :])
        return Signals(*feed.grid(t, t_end, np.zeros(0)))

    def _stops(self, t: float, t_end: float) -> Stops:
        """Ticks and knots of held tables that come up before t_end."""
        nu, ticks = self.feed.size, self.state["ticks"]
        times, clock, slack = [np.zeros(0)], [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        values, mask, rows = [np.zeros((0, nu))], [np.zeros((0, nu))], 0
        for line in self.feed.tables:
            source = line.source
            assert isinstance(source, Table)
            inside = (source.times > t) & (source.times < t_end)
            found = np.zeros((2, int(inside.sum()), nu))
            found[0][:, line.columns], found[1][:, line.columns] = source.values[inside], 1.0
            times.append(source.times[inside])
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

    # -- memory

    def _memory(self, t: float, members: int) -> dict[str, np.ndarray]:
        if not self.state:
            self.feed.hold_tables(t)
            self.state = self.march.start(t, members, self.feed.held)
            self.state["ticks"] = np.array([one.clock.next for one in self.clocks], dtype=np.int64)
        held = self.state["held"]
        python = np.setdiff1d(np.arange(self.feed.size), self.overlay)
        held[:, python] = np.broadcast_to(self.feed.held, held.shape)[:, python]
        return self.state

    def _remember(self, run: LaneRun, ticks: np.ndarray, stops: Stops) -> None:
        self.state = {n: np.array(a) for n, a in run.memory.items()}
        done = stops.clock[: int(run.stops.max(initial=0))]
        self.state["ticks"] = ticks + np.bincount(done[done >= 0], minlength=len(ticks))[: len(ticks)]
        if len(self.overlay):
            held = run.memory["held"]
            self.feed.held[..., self.overlay] = (
                held[0, self.overlay] if self.feed.batch is None else held[:, self.overlay]
            )

    def release(self) -> None:
        """Give clocks and their memories back to the signals, for a driver that asks them from outside."""
        self.feed.native = False
        at = 0
        for c, one in enumerate(self.clocks):
            source = one.line.source
            assert isinstance(source, Control)
            one.clock.next = int(self.state["ticks"][c])
            for name in source.system.states:
                symbols = source.system.inputs[name]
                part = self.state["clock_memory"][:, at : at + symbols.size]
                shape = symbols.shape if self.feed.batch is None else (len(part), *symbols.shape)
                one.memory[name] = part.reshape(shape).copy()
                at += symbols.size

    def memory(self) -> dict[str, np.ndarray]:
        """What the next call depends on besides time and state."""
        more = {} if self.ended is None else {"ended": self.ended}
        return {n: np.array(a) for n, a in {**self.state, **more}.items()}

    def recall(self, memory: Mapping[str, np.ndarray]) -> None:
        """Back to where `memory` was taken; {}: before the start."""
        found = {n: np.array(a) for n, a in memory.items()}
        self.ended = found.pop("ended", None)
        self.state = found
