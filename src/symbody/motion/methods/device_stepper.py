"""Stepper on a device: whole batches marched there from start to end, with sampled Systems and held tables on the way.

What a device does not do is refused by a sentence: events, loops that open and close, methods that are not explicit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from symbody.basics.errors import DefinitionError, DeviceError, Named
from symbody.basics.memory import memory_of
from symbody.codegen.cuda import driver
from symbody.codegen.cuda.texts import folded
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.flow_kernels import FlowKernels
from symbody.motion.flow.loop_guards import LoopGuards
from symbody.motion.flow.signals import NEAR, InputSignals, measured_place, moving_values, table_value
from symbody.motion.flow.sources import Control, OfTime
from symbody.motion.march.cuda_equations import Clocked, DeviceEquations
from symbody.motion.march.cuda_text import CLOCK, COUNT, RECORD
from symbody.motion.march.device_march import DeviceMarch, DeviceRun, Schedule
from symbody.motion.march.method_tables import METHODS, Method, RungeKutta, Splitting
from symbody.motion.methods.lane_stepper import held_tables, native_clocks
from symbody.motion.methods.native_stepper import OUTCOMES
from symbody.motion.methods.step_grid import stage_times, step_index
from symbody.motion.methods.stepper import Followed, Leg, Memory, Start
from symbody.symbolic.lower.lowering import lower
from symbody.symbolic.system.ports import gather_parameters
from symbody.symbolic.system.system import System

if TYPE_CHECKING:
    from symbody.motion.methods.methods import Setup

PART = 0.8  # of the free memory of a device that a chunk of members may take
MOST_KEPT = 16  # marches of a Flow


# -- what is marched


def equations_of(
    flow: Flow, signals: InputSignals, loops: LoopGuards | None = None, splitting: bool = False, ticking: bool = True
) -> DeviceEquations:
    """The Programs of a Flow, and where states and signals stand.

    ticking: sampled Systems and held tables are followed on the way
    """
    states = {n: (s.start, s.stop - s.start) for n, s in flow.layout.slices.items()}
    columns = {n: (s.start, s.stop - s.start) for n, s in flow.layout.columns.items()}
    clocks, memory = _clocks(signals, flow) if ticking else ((), 0)
    pairs, drift = _drift(flow) if splitting else ((), None)
    return DeviceEquations(
        rates=lower(flow.rates),
        states=states,
        signals=columns,
        rate_of=dict(flow.rates.states),
        positions=tuple(q for q, _ in flow.second),
        pairs=pairs,
        project=None if flow.project is None else lower(flow.project),
        drift=drift,
        watch=None if loops is None or flow.watch is None else lower(flow.watch),
        bounds=() if loops is None else tuple(float(b) for b in loops.bounds),
        clocks=clocks,
        moving=tuple(int(c) for line in signals.moving for c in line.columns),
        held=tuple(int(c) for line, _ in held_tables(signals) if ticking for c in line.columns),
        memory=memory,
    )


def _drift(flow: Flow) -> tuple[tuple[tuple[int, int, int], ...], Any]:
    """Pairs of positions and velocities where these are the rates of those, else a Program of the rates."""
    rates = flow.rates
    plain = all(
        rates.inputs[v].shape == rates.outputs[rates.states[q]].shape
        and all(a is b for a, b in zip(rates.inputs[v].flat, rates.outputs[rates.states[q]].flat))
        for q, v in flow.second
    )
    if plain:
        slices = flow.layout.slices
        found = [(slices[q].start, slices[v].start, slices[q].stop - slices[q].start) for q, v in flow.second]
        return tuple(found), None
    outputs = {rates.states[q]: rates.outputs[rates.states[q]] for q, _ in flow.second}
    made = System(f"{rates.name}_drift", inputs=rates.inputs, outputs=outputs, parameters=rates.parameters)
    return (), lower(made)


def _clocks(signals: InputSignals, flow: Flow) -> tuple[tuple[Clocked, ...], int]:
    """Sampled Systems, with their own values of parameters; their memories stand one after the other."""
    out, at = [], 0
    for one in native_clocks(signals):
        source = one.line.source
        assert isinstance(source, Control)
        system = source.system
        program = lower(system)
        program = folded(program, gather_parameters(program.parameters, None))
        reads: dict[str, tuple[str, int]] = {}
        kept: dict[str, int] = {}
        for name, rate in system.states.items():
            reads[name], kept[rate] = ("memory", at), at
            at += system.inputs[name].size
        for name, symbols in system.inputs.items():
            if name not in reads:
                where = ("t", 0) if name == "t" else ("x", measured_place(flow, name, symbols.size, system.name))
                reads[name] = where
        columns = tuple(int(c) for c in one.line.columns)
        out.append(Clocked(program, reads, (columns, source.output), kept))
    return tuple(out), at


def march_on_device(setup: Setup, method: Method, precision: str, ordinal: int) -> DeviceMarch:
    """The march of a Flow, made once for each method and each set of sources."""
    signals, flow = setup.signals, setup.flow
    sources = tuple(
        (one.line.source.system, one.line.source.output, *map(int, one.line.columns))
        for one in native_clocks(signals)
        if isinstance(one.line.source, Control)
    )
    moving = tuple(int(c) for line in signals.moving for c in line.columns)
    held = tuple(int(c) for line, _ in held_tables(signals) for c in line.columns)
    bounds = () if setup.loops is None else tuple(setup.loops.bounds)
    ticking = setup.step is not None
    key = (method, precision, ordinal, sources, moving, held, bounds, ticking)

    def make() -> DeviceMarch:
        equations = equations_of(flow, signals, setup.loops, isinstance(method, Splitting), ticking)
        return DeviceMarch(equations, method, precision, ordinal)

    found: DeviceMarch = memory_of(flow).get("device_march", key, make, MOST_KEPT)
    return found


def check_device(setup: Setup, method_name: str) -> Method:
    """The table of a method that devices march; what they cannot do is refused here."""
    method = METHODS.get(method_name)
    if method is None or (isinstance(method, Splitting) and method.substeps):
        able = ", ".join(n for n, m in METHODS.items() if isinstance(m, RungeKutta) or not m.substeps)
        raise DefinitionError(
            f"method {method_name!r} is not marched on a device; take one of {able}, or leave ",
            Named("device"),
            " out.",
        )
    if setup.step is None and isinstance(method, RungeKutta) and method.extra_a:
        raise DefinitionError(
            f"method {method_name!r} chooses its steps on the processor alone; take dopri5 on a device, or give ",
            Named("step", "..."),
            " in seconds.",
        )
    if setup.events is not None:
        names = ", ".join(repr(e.name) for e in setup.events.events)
        raise DefinitionError(
            f"{setup.flow.name} has events ({names}), which are not followed on a device. Leave them out, or leave ",
            Named("device"),
            " out.",
        )
    if setup.flow.impact is not None:
        raise DefinitionError(
            f"{setup.flow.name} has loops that open and close, which are not followed on a device; leave ",
            Named("device"),
            " out.",
        )
    return method


# -- the Stepper


class OnDevice:
    """The Stepper. x is (nx,), or (b, nx) of a batch, whose members that failed hold NaN."""

    def __init__(self, setup: Setup, method: str, precision: str = "double", ordinal: int = 0) -> None:
        self.setup, self.flow, self.signals = setup, setup.flow, setup.signals
        self.method = check_device(setup, method)
        driver.device(ordinal)  # says what is missing
        self.clocks, self.tables = native_clocks(setup.signals), held_tables(setup.signals)
        if setup.step is None:
            self.clocks, self.tables = [], []  # members are at times of their own: the loop ends stretches at ticks
        self.march = march_on_device(setup, self.method, precision, ordinal)
        outside = [e.name for e in self.march.equations.rates.externals if e.c_body is None]
        if setup.step is None and outside:
            raise DefinitionError(
                f"Python functions ({', '.join(outside)}) are asked at fixed steps on a device; give ",
                Named("step", "..."),
                " in seconds, or an expression or a table in their place.",
            )
        self.ordinal = ordinal
        columns = [c for one in self.clocks for c in one.line.columns]
        columns += [c for line, _ in self.tables for c in line.columns]
        self.overlay = np.array(sorted(map(int, columns)), dtype=int)

    @property
    def handles(self) -> frozenset[str]:
        """Clocks and held tables at fixed steps, unless Python functions are asked for some of it; there are no
        events."""
        return frozenset(("events", "clocks")) if self.clocks or self.tables else frozenset()

    def border(self, t: float, end: float) -> float:
        """One launch to the end."""
        return math.inf

    def advance(self, start: Start, stop: float, times: np.ndarray) -> tuple[Leg, Memory]:
        """See `Stepper`."""
        x = np.atleast_2d(np.asarray(start.x, dtype=float))
        memory = dict(start.memory)
        alive = np.isfinite(x).all(axis=1)
        if self.setup.step is not None:
            run = self._fixed(start, stop, times, x, memory)
        else:
            run = self._adaptive(start, stop, times, x, memory)
        status = np.where(alive, run["status"], 2)
        return self._leg(start, stop, times, x, run, status, memory)

    def reduced(self, start: Start, stop: float) -> dict[str, np.ndarray]:
        """Final states and reductions over all steps, (b, 3, nx) as `reduced`: nothing is recorded on the way."""
        x = np.atleast_2d(np.asarray(start.x, dtype=float))
        return self._fixed(start, stop, np.zeros(0), x, {}, reduce=True)

    # -- launches, by chunks of members that fit

    def _chunks(self, members: int, room: int) -> list[slice]:
        device = driver.device(self.ordinal)
        each = self.march.dtype.itemsize * (self.flow.nx * (room + 4) + len(self.overlay) * (room + 1) + 8)
        each += 8 * (sum(np.size(v) for v in self.flow.parameters.values()) + self.signals.size)
        free, _ = device.memory()
        size = int(PART * free) // max(each, 1)
        if size < 1:
            raise DeviceError(
                f"{room} samples of one member of {self.flow.name} take {each} bytes on {device.name}, which has "
                f"{free} free; record fewer."
            )
        return [slice(at, min(at + size, members)) for at in range(0, members, size)]

    def _part(self, value: Any, core: int, part: slice) -> Any:
        array = np.asarray(value, dtype=float)
        return array[part] if array.ndim > core else array

    def _parameters(self, part: slice) -> dict[str, Any] | None:
        given = self.setup.parameters or {}
        known = self.march.equations.parameters()
        own = {n: self._part(v, len(known[n].shape), part) for n, v in given.items() if n in known}
        return own or None

    def _gathered(self, runs: list[DeviceRun]) -> dict[str, np.ndarray]:
        names = ("x_end", "status", "taken", "rows", "samples", "held", "u_end", "memory", "control", "rejected",
                 "reduced")  # fmt: skip
        out: dict[str, np.ndarray] = {}
        for name in names:
            parts = [np.asarray(getattr(run, name)) for run in runs if getattr(run, name) is not None]
            if parts:
                found = np.concatenate(parts)
                out[name] = found.astype(float) if found.dtype.kind == "f" else found.astype(np.int64)
        return out

    def _fixed(
        self, start: Start, stop: float, times: np.ndarray, x: np.ndarray, memory: Memory, reduce: bool = False
    ) -> dict[str, np.ndarray]:
        ticks = memory.get("ticks", np.zeros(len(self.clocks), dtype=np.int64))
        fresh = not start.memory
        if fresh and len(self.overlay):
            times = np.append(start.t, times)  # signals at the start are known after the first ticks
        schedule, held = self._schedule(start.t, stop, times, np.asarray(ticks), fresh)
        own = memory.get("clock_memory")
        runs = []
        for part in self._chunks(len(x), schedule.room):
            runs.append(
                self.march.fixed(
                    np.ascontiguousarray(x[part]),
                    schedule,
                    self._part(start.u, 1, part),
                    parameters=self._parameters(part),
                    memory=None if own is None else own[part],
                    table=self._table(start, stop),
                    held=held,
                    reduce=reduce,
                )
            )
        return self._gathered(runs)

    def _adaptive(
        self, start: Start, stop: float, times: np.ndarray, x: np.ndarray, memory: Memory
    ) -> dict[str, np.ndarray]:
        s, own = self.setup, memory.get("control")
        runs = []
        for part in self._chunks(len(x), len(times)):
            runs.append(
                self.march.adaptive(
                    np.ascontiguousarray(x[part]), start.t, stop, times, self._part(start.u, 1, part), rtol=s.rtol,
                    atol=s.atol, max_steps=s.max_steps, parameters=self._parameters(part),
                    table=self._table(start, stop), control=None if own is None else own[part],
                )
            )  # fmt: skip
        return self._gathered(runs)

    def _table(self, start: Start, stop: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Signals that move, on the stretch: linear in between."""
        moving = self.signals.moving
        if not moving:
            return None
        step = self.setup.step
        instants = np.zeros(0)
        if step is not None and any(isinstance(line.source, OfTime) for line in moving):
            k, _ = step_index(self.setup.start, step, start.t)
            last, _ = step_index(self.setup.start, step, stop)
            instants = stage_times(self.method, self.setup.start + k * step, step, last - k + 1)
        times, _ = self.signals.grid(np.zeros(self.signals.size), start.t, stop, instants)
        return times, np.concatenate([moving_values(line, times) for line in moving], axis=1)

    def _schedule(
        self, t: float, stop: float, times: np.ndarray, ticks: np.ndarray, fresh: bool
    ) -> tuple[Schedule, np.ndarray | None]:
        """Steps of the grid; shorter ones to and from ticks, knots of held tables and the ends."""
        s = self.setup
        step, zero = s.step, s.start
        assert step is not None
        k, exact = step_index(zero, step, t)
        last, fits = step_index(zero, step, stop)
        grid = zero + np.arange(k, last + 1) * step
        if not exact:
            grid[0] = t
        if fits and len(grid) > 1:
            grid[-1] = stop
        if not fits or len(grid) < 2:
            grid = np.append(grid, stop)
        extra = [table.times[(table.times > t) & (table.times < stop)] for _, table in self.tables]
        clocked = [one.clock.times(int(j), stop) for one, j in zip(self.clocks, ticks)]
        marks = np.concatenate([np.zeros(0), *extra, *clocked])
        near = NEAR * step + 8 * np.finfo(float).eps * abs(stop)
        place = np.searchsorted(grid, marks)
        far = np.ones(len(marks), dtype=bool)
        for shift in (0, -1):
            at = np.clip(place + shift, 0, len(grid) - 1)
            far &= np.abs(grid[at] - marks) > near
        entries = np.unique(np.concatenate([grid, marks[far]]))
        keep = np.append(True, np.diff(entries) > near)
        entries = entries[keep]
        lengths = np.append(np.diff(entries), 0.0)
        whole = np.abs(lengths - step) <= near
        lengths[whole] = step
        what = np.zeros(len(entries), dtype=np.int32)

        def at_entry(instants: np.ndarray) -> np.ndarray:
            index = np.clip(np.searchsorted(entries, instants), 0, len(entries) - 1)
            lower_ = np.clip(index - 1, 0, len(entries) - 1)
            return np.where(np.abs(entries[lower_] - instants) < np.abs(entries[index] - instants), lower_, index)

        counted = at_entry(grid if fresh else grid[1:])
        what[counted] |= COUNT
        samples = at_entry(times)
        off = np.abs(entries[samples] - times) > near if len(times) else np.zeros(0, dtype=bool)
        if off.any():
            raise DefinitionError(
                f"a sample at t = {times[off][0]:g} s lies within a step of {step:g} s; on a device samples are at the "
                "ends of steps: give ",
                Named("samples", "..."),
                " that are.",
            )
        what[samples] |= RECORD
        for c, instants in enumerate(clocked):
            what[at_entry(instants)] |= CLOCK << c
        if len(self.clocks) > 20:
            raise DefinitionError("at most 20 sampled controllers run on a device.")
        if not self.tables:
            return Schedule(entries, lengths, what), None
        rows = np.full(len(entries), -1, dtype=np.int32)
        changes = np.unique(np.append(at_entry(np.concatenate(extra)), 0))
        rows[changes] = np.arange(len(changes))
        held = np.stack(
            [
                np.concatenate([table_value(table, float(entries[e]) + near) for _, table in self.tables])
                for e in changes
            ]
        )
        return Schedule(entries, lengths, what, rows), held

    # -- what it gives

    def _leg(
        self,
        start: Start,
        stop: float,
        times: np.ndarray,
        x: np.ndarray,
        run: Mapping[str, np.ndarray],
        status: np.ndarray,
        memory: dict[str, np.ndarray],
    ) -> tuple[Leg, Memory]:
        single = start.x.ndim == 1
        begin = None
        if len(self.overlay) and not start.memory:
            held = np.broadcast_to(start.u, (len(x), self.signals.size)).copy()
            held[:, self.overlay] = run["held"][:, 0]
            begin = (start.x, held[0] if single else held)
            run = {**run, "held": run["held"][:, 1:], "samples": run["samples"][:, 1:], "rows": run["rows"] - 1}
        samples = run.get("samples", np.zeros((len(x), 0, self.flow.nx)))
        for i in np.flatnonzero(run["rows"] < samples.shape[1]):
            samples[i, run["rows"][i] :] = np.nan
        samples[status == 2] = np.where(
            np.isfinite(x[status == 2]).all(axis=1)[:, None, None], samples[status == 2], np.nan
        )
        if self.setup.step is None and self.flow.project is not None and len(times):
            values = self.signals.at_times(times, start.u)
            samples = FlowKernels(self.flow, self.setup.parameters).project(times, samples, values)
        end = np.where(status[:, None] == 0, run["x_end"], np.nan)
        stages = self.method.stages if isinstance(self.method, RungeKutta) else 1
        steps = int(run["taken"].sum())
        rejected = int(run["rejected"].sum()) if "rejected" in run else 0
        statistics = {"steps": steps, "evaluations": stages * (steps + rejected)}
        if "rejected" in run:
            statistics["rejected"] = rejected
        followed, after = self._followed(start, stop, times, run, memory, single, len(x), begin)
        if "control" in run:
            after["control"] = run["control"]
        members = np.array([OUTCOMES[int(k)] for k in status], dtype=object)
        if single:
            count = int(run["rows"][0]) if samples.shape[1] else 0
            leg = Leg(
                times[:count],
                samples[0, :count],
                stop,
                end[0] if status[0] == 0 else run["x_end"][0],
                members[0],
                statistics=statistics,
                followed=followed,
            )
            return leg, after
        return Leg(times, samples, stop, end, statistics=statistics, members=members, followed=followed), after

    def _followed(
        self,
        start: Start,
        stop: float,
        times: np.ndarray,
        run: Mapping[str, np.ndarray],
        memory: dict[str, np.ndarray],
        single: bool,
        count: int,
        begin: Any,
    ) -> tuple[Followed | None, dict[str, np.ndarray]]:
        """Held signals at the samples, and the memories of the clocks."""
        if not len(self.overlay):
            return None, {}
        held = run.get("held", np.zeros((count, 0, len(self.overlay))))
        u = np.array(np.broadcast_to(start.u, (len(times), *start.u.shape)))
        u[..., self.overlay] = held[0] if single else np.moveaxis(held, 1, 0)
        last = np.array(start.u)
        last[..., self.overlay] = run["u_end"][0] if single else run["u_end"]
        ticks = np.asarray(memory.get("ticks", np.zeros(len(self.clocks), dtype=np.int64)))
        ticks = ticks + [len(one.clock.times(int(j), stop)) for one, j in zip(self.clocks, ticks)]
        after = {"ticks": ticks.astype(np.int64), "begun": np.ones(1)}
        memories, at = [], 0
        if self.clocks:
            after["clock_memory"] = run["memory"]
        for one in self.clocks:
            source = one.line.source
            assert isinstance(source, Control)
            own = {}
            for name in source.system.states:
                symbols = source.system.inputs[name]
                part = run["memory"][:, at : at + symbols.size]
                own[name] = part.reshape(symbols.shape if single else (count, *symbols.shape)).copy()
                at += symbols.size
            memories.append(own)
        return Followed((), (), begin, u, last, tuple(int(k) for k in ticks), tuple(memories), None), after
