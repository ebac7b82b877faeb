"""LaneMarch: native integration with events and clocks, lane by lane; one state is a batch of one.

What a lane remembers from call to call stands in arrays over the members (`Memory`), so that a run can be cut anywhere,
and goes on with the same bits. What happens on the way comes back as marks, row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symbody.codegen.kernel.externals import raise_pending
from symbody.codegen.kernel.native_kernel import Entry, NativeKernel
from symbody.codegen.kernel.threads import run_ranges
from symbody.codegen.llvm.loading import host
from symbody.motion.march.ir.clock import CLOCK
from symbody.motion.march.ir.compiled_march import address_of, function
from symbody.motion.march.ir.event_effects import CROWD
from symbody.motion.march.ir.lanes_adaptive import lanes_adaptive_module
from symbody.motion.march.ir.lanes_fixed import lanes_fixed_module
from symbody.motion.march.ir.one_lane import GUARDS, STATES
from symbody.motion.march.job import FAILED, NOT_FINITE, PAUSED
from symbody.motion.march.march import March
from symbody.motion.march.members import BLOCK, Members, check_method, check_tolerance, libm_function
from symbody.motion.march.method_tables import Method, RungeKutta, Splitting
from symbody.motion.march.run import Signals
from symbody.motion.march.step_control import SMALLEST_MEMORY
from symbody.motion.march.workspace import KernelBuffers, Sizes, Workspace

MARK_BYTES = 64_000_000  # room for marks of all members in one call
LEAST_MARKS = 8  # steps whose marks a member has room for at least


@dataclass(frozen=True, eq=False)
class LaneEvents:
    """Events of a march: its first guards, in their order.

    acting    (ne,) whether something follows; else it is recorded only
    elements  (ne,) whether a jump that carries the guard over zero brings the event about
    stop      (ne,) whether the run ends there; limit (ne,) after so many, 0: never
    slowest   (ne,) rate of the guard after its reset below which it rests
    resets, rests   (ne,) whether `after` has a state for it
    after     Kernel -> "after" (2 ne, nx): the states after resets, then those at rest; None where nothing is reset
    frozen    (nx,) components that only events change
    """

    acting: np.ndarray
    elements: np.ndarray
    stop: np.ndarray
    limit: np.ndarray
    slowest: np.ndarray
    resets: np.ndarray
    rests: np.ndarray
    frozen: np.ndarray
    after: NativeKernel | None = None

    @property
    def count(self) -> int:
        return len(self.acting)


def no_rules(nx: int) -> LaneEvents:
    """The event arrays of a march without events, for nx states."""
    none = np.zeros(0)
    return LaneEvents(none, none, none, none, none, none, none, np.zeros(nx))


@dataclass(frozen=True, eq=False)
class SampledClock:
    """A sampled System: at its ticks it reads the state, and what it puts out is held until the next.

    reads    input -> ("X", component of x), ("TS", 0) for time, or ("memory_row", place in the memory of all clocks)
    held     (columns of the signals, the output, places in it)
    kept     output that is the next value of a memory -> its place in the memory of all clocks
    Parameters of the run that it knows are its own too.
    """

    kernel: NativeKernel
    reads: Mapping[str, tuple[str, int]]
    held: tuple[np.ndarray, str]
    kept: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Stops:
    """Instants (k,) at which held signals change, ascending.

    clock    (k,) number of the clock that ticks; or -1 - i for a table, where row i of `values` takes over
    slack    (k,) s before it that count as the instant itself
    values   (n, nu) of tables, where mask (n, nu) is not 0
    """

    times: np.ndarray
    clock: np.ndarray
    slack: np.ndarray
    values: np.ndarray
    mask: np.ndarray


def no_stops(nu: int) -> Stops:
    """Nothing held changes."""
    return Stops(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, nu)), np.zeros((0, nu)))


MEMORY = ("now", "counts", "leaving", "instants", "n_instants", "begun", "h", "memory", "held", "clock_memory")
Memory = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class LaneRun:
    """How lanes went; all arrays have the members in front.

    x, held        (b, k, nx), (b, k, n_overlay) samples at the wanted times; NaN from where a member ended
    samples        (b,) how many
    t, x_end       (b,), (b, nx) where the members are; t_before, x_before: the start of their last step
    status         (b,) 0 end reached, 1 something is to be asked, 2 not finite, 3 step too small, 4 too many steps,
                   5 implicit block failed, 6 stopped by an event, 7 events without end
    crossed        (b, ng) signs of guards in the last step
    began          whether the run started in this call; x_begin, held_begin (b, nx), (b, nu): state and held signals
                   there, after what happens at once
    marks          rows (m, 6 + 2 nx + n_overlay): member, kind, event, code, count, t, x before, x after, held signals
    memory         what the next call goes on from
    stops          (b,) how many of the stops each has passed
    """

    x: np.ndarray
    held: np.ndarray
    samples: np.ndarray
    t: np.ndarray
    x_end: np.ndarray
    t_before: np.ndarray
    x_before: np.ndarray
    status: np.ndarray
    crossed: np.ndarray
    began: bool
    x_begin: np.ndarray
    held_begin: np.ndarray
    marks: np.ndarray
    memory: Memory
    stops: np.ndarray
    steps: np.ndarray
    rejected: np.ndarray
    evaluations: np.ndarray


class LaneMarch:
    """A march with events and clocks.

    march    rates or a step map, projection, and guards: those of the events first, then others that end a lane
    field    Kernel of the states' rates, with the outputs of `rate_offsets`: for events and samples between steps
    overlay  columns of the signals that are held between stops
    """

    def __init__(
        self,
        march: March,
        field: NativeKernel,
        rate_offsets: Mapping[str, int],
        rules: LaneEvents | None = None,
        clocks: Sequence[SampledClock] = (),
        overlay: Sequence[int] = (),
    ) -> None:
        self.march, self.ports = march, march.ports
        self.rules = no_rules(march.nx) if rules is None else rules
        self.clocks = tuple(clocks)
        self.overlay = np.ascontiguousarray(overlay, dtype=np.int64)
        self.rate_offsets = dict(rate_offsets)
        self.extra: dict[str, NativeKernel] = {"field": field}
        if self.rules.after is not None:
            self.extra["after"] = self.rules.after
        self.n_memory = sum(int(np.prod(o.shape)) for c in self.clocks for o in c.kernel.outputs if o.name in c.kept)
        self.free: dict[Any, list[tuple[Workspace, Workspace]]] = {}
        self.keep: list[np.ndarray] = []

    def start(self, t: float, members: int, held: np.ndarray) -> dict[str, np.ndarray]:
        """The memory of members (at least one) that begin at t; held: (nu,) or (b, nu) signals there."""
        ne, ng, whole = self.rules.count, self.ports.ng, np.int64
        memory = np.zeros((members, 2))
        memory[:, 0] = SMALLEST_MEMORY
        return {
            "now": np.full(members, float(t)),
            "counts": np.zeros((members, ne), dtype=whole),
            "leaving": np.zeros((members, ng), dtype=whole),
            "instants": np.zeros((members, CROWD)),
            "n_instants": np.zeros(members, dtype=whole),
            "begun": np.zeros(members, dtype=whole),
            "h": np.zeros(members),
            "memory": memory,
            "held": np.array(np.broadcast_to(held, (members, self.ports.nu)), dtype=float),
            "clock_memory": np.zeros((members, self.n_memory)),
        }

    def fixed(
        self,
        method: str | Method | None,
        x: np.ndarray,
        memory: Memory,
        t_end: float,
        times: np.ndarray,
        *,
        start: float,
        step: float,
        **options: Any,
    ) -> LaneRun:
        """Members x (b, nx) up to t_end, with samples at `times` (k,) after their present times; steps from start + k
        step, and shorter ones between. options: those of `_run`."""
        table = check_method(self.ports, method)
        places = self.march._places_fixed(table)
        single = places
        rates = max((p.number for p in places if p.target == "K"), default=0) + 1
        node = self.march.step_node if table is None else 0.0
        native = function(lanes_fixed_module(table, host().lanes, node), "march")

        def prepare(w: Workspace) -> None:
            w.set_numbers(grid_start=start, grid_step=step)
            if isinstance(table, Splitting):
                self.march._splitting(w)

        found = self._run(native, prepare, (places, single), rates, x, memory, t_end, times, **options)
        broken = (found.status == NOT_FINITE) | (found.status == FAILED)
        steps = found.steps + broken
        if isinstance(table, Splitting) and table.substeps:
            evaluations = self.march._evaluations(table, steps, True) - np.minimum(steps, 1) + found.evaluations
        else:
            evaluations = self.march._evaluations(table, steps, False)
        return replace(found, evaluations=evaluations)

    def adaptive(
        self,
        method: str | RungeKutta,
        x: np.ndarray,
        memory: Memory,
        t_end: float,
        times: np.ndarray,
        *,
        rtol: float,
        atol: Any,
        longest: Any = math.inf,
        max_steps: int = 1_000_000,
        **options: Any,
    ) -> LaneRun:
        """As `fixed`, with steps chosen by the tolerances; longest: s, of a step, a number or (b,)."""
        table = check_method(self.ports, method, adaptive=True)
        assert isinstance(table, RungeKutta)
        stages = table.stages + 1 + len(table.extra_a)
        source = ["X", *["Y"] * (table.stages - 1), "XN", *["Y"] * len(table.extra_a)]
        places = [KernelBuffers("rates", source[i], "K", i, self.ports.rate_offsets) for i in range(stages)]
        places += [replace(p, source="XN") if p.kind == "guards" else p for p in self.march._places_common()]
        single = self.march._places_fixed(table)
        tolerance = check_tolerance(rtol, atol, self.ports.nx)
        native = function(lanes_adaptive_module(table, host().lanes), "march")

        def prepare(w: Workspace) -> None:
            w.buffer("tolerance", w.pad)[:] = np.resize(tolerance, w.pad)
            w.set_numbers(sign=1.0, rtol=rtol)
            w.set(max_steps=max_steps, dense=1, pow=libm_function("pow"))

        most = np.ascontiguousarray(np.broadcast_to(np.asarray(longest, dtype=float), (len(x),)))
        return self._run(native, prepare, (places, single), stages, x, memory, t_end, times, longest=most, **options)

    # -- one call

    def _run(
        self,
        native: Any,
        prepare: Callable[[Workspace], None],
        places: tuple[Sequence[KernelBuffers], Sequence[KernelBuffers]],
        rates: int,
        x: np.ndarray,
        memory: Memory,
        t_end: float,
        times: np.ndarray,
        *,
        signals: Signals | None = None,
        parameters: Mapping[str, Any] | None = None,
        directions: np.ndarray | None = None,
        stops: Stops | None = None,
        done: np.ndarray | None = None,
        longest: np.ndarray | None = None,
        threads: int | None = None,
        cost: int = 1000,
        span: float = math.inf,
        most_events: int = 100_000,
    ) -> LaneRun:
        """signals: tables of those that move; done: (b,) members that take no part; cost: operations for a member;
        span: s, of the whole run, and how many events may act in it."""
        data = _MemberArrays(self, x, memory, times, signals, parameters, directions, stops, longest)
        data.limits(t_end, span, most_events)
        r = data.result
        r["status"][:] = PAUSED if done is None else np.where(done, 0, PAUSED)
        marks: list[np.ndarray] = []
        while True:
            data.call(native, prepare, places, rates, cost, threads)
            marks.append(data.take_marks())
            waiting = r["status"] == PAUSED
            if not waiting.any():
                break
            r["x"] = np.where(waiting[:, None], r["x_end"], r["x"])
        resting = np.zeros(len(x), dtype=bool) if done is None else done
        r["x_end"][resting] = r["x"][resting]
        return data.finished(marks, self)


class _MemberArrays(Members):
    """The arrays of all members of one call."""

    def __init__(
        self,
        lanes: LaneMarch,
        x: np.ndarray,
        memory: Memory,
        times: np.ndarray,
        signals: Signals | None,
        parameters: Mapping[str, Any] | None,
        directions: Any,
        stops: Stops | None,
        longest: np.ndarray | None,
    ) -> None:
        self.lanes, self.extra, self.given = lanes, lanes.extra, parameters or {}
        super().__init__(lanes.ports, x, parameters, signals, directions)
        rules, b, nx, whole = lanes.rules, self.count, lanes.ports.nx, np.int64
        ne, n_times, n_overlay = rules.count, len(times), len(lanes.overlay)
        self.stops = no_stops(lanes.ports.nu) if stops is None else stops
        self.needed = 4 * ne + 2
        self.mark_width = 5 + 2 * nx + n_overlay
        self.mark_room = 0
        if ne:
            most = MARK_BYTES // (8 * max(b, 1) * self.mark_width)
            self.mark_room = int(max(LEAST_MARKS * self.needed, min(4096, most)))
        flags = {
            n: np.ascontiguousarray(getattr(rules, n), dtype=whole) for n in ("acting", "elements", "resets", "rests")
        }
        self.result.update(
            {n: np.array(memory[n], order="C") for n in MEMORY},
            **flags,
            stopping=np.ascontiguousarray(rules.stop, dtype=whole),
            limits=np.ascontiguousarray(rules.limit, dtype=whole),
            slowest=np.ascontiguousarray(rules.slowest, dtype=float),
            frozen=np.ascontiguousarray(rules.frozen, dtype=whole),
            overlay=lanes.overlay,
            times=np.ascontiguousarray(times, dtype=float),
            samples=np.empty((b, n_times, nx)),
            u_samples=np.empty((b, n_times, n_overlay)),
            x_begin=np.array(self.result["x"]),
            held_begin=np.array(memory["held"], dtype=float, order="C"),
            marks=np.empty((b, self.mark_room, self.mark_width)),
            longest=np.full(b, math.inf) if longest is None else longest,
            **{n: np.zeros(b) for n in ("piece_begin", "piece_h", "piece_end", "stop_time")},
            **{n: np.zeros(b, dtype=whole) for n in ("n_marks", "piece_step", "piece_steps", "inside", "freshes")},
            next_stop=np.zeros(b, dtype=whole),
            forces=np.zeros((b, nx)),
            stops=self.stops.times,
            stop_slack=self.stops.slack,
            stop_values=self.stops.values,
            stop_mask=self.stops.mask,
            stop_clock=self.stops.clock,
        )
        self.room, self.log_room = n_times, 0
        self.began = not np.asarray(memory["begun"]).any()
        self.words = dict(
            ne=ne,
            n_times=n_times,
            mark_room=self.mark_room,
            mark_width=self.mark_width,
            n_overlay=n_overlay,
            n_stops=len(self.stops.times),
            n_memory=lanes.n_memory,
        )

    def limits(self, t_end: float, span: float, most_events: int) -> None:
        """Where the call ends, and when a run has too many events."""
        self.numbers = {"t_stop": t_end, "span": span}
        self.words["most_events"] = most_events

    @property
    def kernels(self) -> dict[str, NativeKernel]:
        return {**self.ports.kernels, **self.extra}

    def call(
        self,
        native: Any,
        prepare: Callable[[Workspace], None],
        places: tuple[Sequence[KernelBuffers], Sequence[KernelBuffers]],
        rates: int,
        cost: int,
        threads: int | None,
    ) -> None:
        lanes, p = self.lanes, self.ports
        sizes = Sizes(p.nx, p.nu, p.ng, rates, min(BLOCK, max(self.count, 1)), False)
        free = lanes.free.setdefault((id(native), sizes, self.code()), [])
        reuse = int(p.project is None and not self.jumps)

        def run(begin: int, end: int) -> None:
            try:
                pair = free.pop()
                pair[0].rebind(self.entries)
                pair[1].rebind(self._single())
                self._point(pair)
            except IndexError:
                pair = self._workspaces(sizes, places)
            for w in pair:
                w.set(**{name: array.ctypes.data for name, array in self.result.items()})
                w.set(room=self.room, reuse=reuse, **self.signal_words, **self.words)
                w.set_numbers(**self.numbers)
                prepare(w)
            pair[0].begin_at(begin)
            native(pair[0].job, begin, end)
            free.append(pair)
            raise_pending()

        run_ranges(run, self.count, cost, threads)

    def _workspaces(
        self, sizes: Sizes, places: tuple[Sequence[KernelBuffers], Sequence[KernelBuffers]]
    ) -> tuple[Workspace, Workspace]:
        """That of a block of lanes, and that of a single one."""
        lanes, p = self.lanes, self.ports
        inner = {k: v for k, v in self.entries.items() if k in p.kernels}
        main = Workspace(sizes, inner, places[0], p.offsets, p.signals)
        ne, nx, ng = lanes.rules.count, p.nx, p.ng
        single = self._single()
        own = [*places[1], KernelBuffers("field", "X", "KF", 0, lanes.rate_offsets)]
        if "after" in single:
            own.append(KernelBuffers("after", "X", "AF", 0, {"after": 0}))
        more = {"sx": len(STATES) * nx, "sg": len(GUARDS) * max(ng, 1), "slopes": max(ne, 1) * nx}
        more |= {"KF": nx, "AF": 2 * ne * nx, "memory_row": lanes.n_memory}
        out = 0
        for i, clock in enumerate(lanes.clocks):
            kernel, offsets = clock.kernel, {}
            for o in kernel.outputs:
                offsets[o.name] = out
                out += int(np.prod(o.shape))
            own.append(KernelBuffers(f"clock{i}", "X", "tick_out", 0, offsets, clock.reads))
        more["tick_out"] = out
        one = Workspace(replace(sizes, block=1), single, own, p.offsets, p.signals, more)
        contexts = np.array(one.addresses, dtype=np.int64)
        table = self._clock_table(one, own, single)
        main.keep += [contexts, table]
        for w in (main, one):
            w.set(single=one.job, single_contexts=contexts.ctypes.data, n_single=len(contexts))
            w.set(clocks=table.ctypes.data)
        self._point((main, one))
        return main, one

    def _single(self) -> dict[str, tuple[NativeKernel, Entry]]:
        """Kernels of the single lane: the same with code for one state, and those of the clocks."""
        found = {
            kind: (k, replace(e, function=e.code.main, frame=k.signature.layout.main_frame))
            for kind, (k, e) in self.entries.items()
        }
        clocks = self.lanes.clocks
        return found | {f"clock{i}": (c.kernel, self._clock_entry(c)) for i, c in enumerate(clocks)}

    def _clock_entry(self, clock: SampledClock) -> Entry:
        # its parameters are its own, whatever the model calls its own
        return clock.kernel.entry(1, None)

    def _point(self, pair: tuple[Workspace, Workspace]) -> None:
        """Where the parameters of the members begin."""
        main, one = pair
        derived = np.array([(base, stride) for _, base, stride in one.derived], dtype=np.int64)
        one.keep = [*one.keep[:1], derived]
        for w in (main, one):
            w.set(single_derived=derived.ctypes.data)

    def _clock_table(self, one: Workspace, own: Sequence[KernelBuffers], single: Mapping[str, Any]) -> np.ndarray:
        """Words of the clocks, see `CLOCK`."""
        rows = []
        for i, clock in enumerate(self.lanes.clocks):
            at = next(k for k, place in enumerate(own) if place.kind == f"clock{i}")
            kernel, entry = single[f"clock{i}"]
            offsets, shapes = own[at].outputs, {o.name: int(np.prod(o.shape)) for o in kernel.outputs}
            columns, name = clock.held
            lists = [
                np.ascontiguousarray(columns, dtype=np.int64),
                offsets[name] + np.arange(shapes[name], dtype=np.int64),
                np.array([to + k for n, to in clock.kept.items() for k in range(shapes[n])], dtype=np.int64),
                np.array([offsets[n] + k for n in clock.kept for k in range(shapes[n])], dtype=np.int64),
            ]
            self.lanes.keep += lists
            status = one.at.get(f"clock{i}_status", 0)
            rows.append(
                [address_of(entry.function), one.addresses[at], len(kernel.signature.blocks), status, len(lists[0]),
                 lists[0].ctypes.data, lists[1].ctypes.data, len(lists[2]), lists[2].ctypes.data, lists[3].ctypes.data]
            )  # fmt: skip
        return np.array(rows, dtype=np.int64).reshape(-1, len(CLOCK))

    def take_marks(self) -> np.ndarray:
        """The marks of the last call, member by member; their room is free again."""
        counts = self.result["n_marks"]
        owners = np.repeat(np.arange(self.count), counts)
        rows = self.result["marks"][np.arange(self.mark_room) < counts[:, None]] if counts.any() else None
        counts[:] = 0
        if rows is None:
            return np.zeros((0, 1 + self.mark_width))
        return np.concatenate([owners[:, None].astype(float), rows], axis=1)

    def finished(self, marks: Sequence[np.ndarray], lanes: LaneMarch) -> LaneRun:  # type: ignore[override]
        r = self.result
        short = np.arange(self.room) >= r["n_samples"][:, None]
        r["samples"][short] = math.nan
        r["u_samples"][short] = math.nan
        rows = np.concatenate(marks)
        if len(marks) > 1:  # of each member in the order in which they happened
            rows = rows[np.argsort(rows[:, 0], kind="stable")]
        evaluations = r["evaluations"] if r["evaluations"].any() else r["freshes"]
        return LaneRun(
            r["samples"], r["u_samples"], r["n_samples"], r["now"], r["x_end"], r["t_before"], r["x_before"],
            r["status"], r["crossed"], self.began, r["x_begin"], r["held_begin"], rows, {n: r[n] for n in MEMORY},
            r["next_stop"], r["steps"], r["rejected"], evaluations,
        )  # fmt: skip
