"""Members: the arrays of all states of a run, checked, and the run over blocks and threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import NameLookupError, ShapeError, nearest
from symbody.codegen.kernel.externals import raise_pending
from symbody.codegen.kernel.native_kernel import Entry, NativeKernel
from symbody.codegen.kernel.threads import run_ranges
from symbody.codegen.llvm.libm import libm_index, libm_table
from symbody.motion.march.job import PAUSED
from symbody.motion.march.march_ports import Ports, parameters_of
from symbody.motion.march.method_tables import METHODS, Method, RungeKutta, Splitting
from symbody.motion.march.run import LogStep, Run, Signals
from symbody.motion.march.step_control import SMALLEST_MEMORY
from symbody.motion.march.workspace import KernelBuffers, Sizes, Workspace

# States that are advanced together: their buffers stay in the fastest cache, calls of Kernels are few.
BLOCK = 32


class Members:
    """The arrays of all members of a run, and the run over blocks and threads."""

    def __init__(
        self, ports: Ports, x: Any, parameters: Any, signals: Signals | None, directions: Any, passive: Any = None
    ) -> None:
        self.ports = ports
        states = np.asarray(x, dtype=float)
        if states.ndim not in (1, 2) or states.shape[-1] != ports.nx:
            raise ShapeError(f"x has shape {states.shape}; expected ({ports.nx},) or (b, {ports.nx}).")
        given = parameters_of(self.kernels, ports.known, parameters)
        self.pool: list[Members] | None = None
        batch: tuple[int, ...] = states.shape[:-1]
        self.entries = self._entries(given, batch)
        own = next((e.derived.shape[:-1] for _, e in self.entries.values() if e.derived.ndim > 1), ())
        if own and not batch:  # one state with many parameters
            batch = own
            self.entries = self._entries(given, batch)
        if len(batch) > 1 or any(e.derived.shape[:-1] not in ((), batch) for _, e in self.entries.values()):
            raise ShapeError(f"The parameters are given for {own} members and x for {states.shape[:-1]}.")
        self.members = batch
        b = self.count = batch[0] if batch else 1
        self.results = np.zeros(b * (2 * ports.nx + 2 + len(COUNTS) + ports.ng))
        self.result: dict[str, np.ndarray] = {
            "x": np.ascontiguousarray(np.broadcast_to(states, (*batch, ports.nx))).reshape(b, ports.nx),
            **_carved(self.results, b, ports.nx, ports.ng),
            "directions": directions_of(directions, ports.ng),
            "passive": passive_of(passive, ports.ng),
        }
        self._read_signals(signals, batch)

    # -- one state, whose arrays are kept from run to run with their addresses

    def keep(self, pool: list[Members], sizes: Sizes, places: Sequence[KernelBuffers]) -> None:
        """Kept in `pool` between runs, with a workspace of its own."""
        self.pool = pool
        self.workspace = Workspace(sizes, self.entries, places, self.ports.offsets, self.ports.signals)
        self.result["x"] = self.result["x"].copy()
        for name in ("directions", "passive"):
            self.result[name] = self.result[name].copy()
        self.result.update(t=np.zeros(1), h=np.zeros(1), memory=np.zeros((1, 2)), longest=np.zeros(1))
        self.workspace.set(**{name: array.ctypes.data for name, array in self.result.items()})

    def renew(
        self,
        x: np.ndarray,
        entries: dict[str, tuple[NativeKernel, Entry]],
        signals: Signals | None,
        directions: Any,
        passive: Any,
    ) -> None:
        """Another run of one state."""
        self.results.fill(0.0)
        r, self.entries = self.result, entries
        r["x"][0] = x
        r["directions"][:] = directions_of(directions, self.ports.ng)
        r["passive"][:] = passive_of(passive, self.ports.ng)
        self._read_signals(signals, ())
        self.workspace.rebind(entries)

    def _entries(self, given: Mapping[str, Any], batch: tuple[int, ...]) -> dict[str, tuple[NativeKernel, Entry]]:
        states = batch[0] if batch else 1
        return {kind: (k, k.entry(states, given[kind])) for kind, k in self.kernels.items()}

    @property
    def kernels(self) -> dict[str, NativeKernel]:
        """All Kernels of the run by what they are for."""
        return self.ports.kernels

    def _read_signals(self, signals: Signals | None, batch: tuple[int, ...]) -> None:
        nu = self.ports.nu
        if signals is None:
            if nu:
                names = ", ".join(self.ports.signals)
                raise NameLookupError(f"The rates depend on {names}; give their values as signals=Signals(...).")
            signals = Signals([0.0], np.zeros((1, 0)))
        times, values = signals.table(nu, batch[0] if batch else None)
        self.member_signals = values.ndim == 3
        self.jumps = signals.jumps(times)
        self.varying = times.size > 1 and nu > 0
        self.result.update(knots=times, values=values)
        self.signal_words = dict(
            n_knots=times.size,
            hold=int(signals.hold),
            member_stride=values.shape[-2] * nu if self.member_signals else 0,
            varying=int(self.varying),
            timed=int(self.varying or self.ports.timed),
        )

    def times(self, t: Any, h: Any) -> None:
        for name, value in (("t", t), ("h", h)):
            array = np.asarray(value, dtype=float)
            if array.shape not in ((), (self.count,)):
                raise ShapeError(f"{name} has shape {array.shape}; expected a number or ({self.count},).")
            if self.pool is not None:
                self.result[name][:] = array
            else:
                self.result[name] = np.ascontiguousarray(np.broadcast_to(array, (self.count,)))

    def span(self, t: Any, t_end: float, first_step: Any) -> float:
        """Times, first steps (0: to be chosen) and memory of the controller; returns the direction of time."""
        self.times(t, 0.0)
        if self.pool is None:
            self.result.update(t=self.result["t"].copy(), h=np.zeros(self.count), memory=np.zeros((self.count, 2)))
        start = self.result["t"]
        signs = np.sign(t_end - start)
        if (signs > 0).any() and (signs < 0).any():
            raise ShapeError(f"t_end = {t_end} lies between the start times; all members must run in one direction.")
        sign = -1.0 if (signs < 0).any() else 1.0
        if first_step is not None:
            self.result["h"][:] = sign * np.abs(np.asarray(first_step, dtype=float))
        self.result["memory"][:] = SMALLEST_MEMORY, 0.0
        return sign

    def wanted(self, times: Any, sign: float, first: np.ndarray | None = None) -> np.ndarray:
        """(k,) checked; first: (b,) of them, the number of the first one of each member."""
        if first is not None:
            self.result["n_samples"][:] = first
            self.result["times"] = np.ascontiguousarray(times, dtype=float)
        else:
            self.result["times"] = wanted_times(times, self.result["t"], sign)
        return self.result["times"]

    def longest(self, size: Any) -> None:
        """s, of a step: a number, or (b,)."""
        if self.pool is not None:
            self.result["longest"][:] = size
        else:
            self.result["longest"] = np.array(np.broadcast_to(np.asarray(size, dtype=float), (self.count,)))

    def go_on(self) -> None:
        """More room for samples, and the members where they stopped."""
        r = self.result
        more = self.room
        r["samples"] = np.concatenate([r["samples"], np.empty((self.count, more, self.ports.nx))], axis=1)
        r["t_samples"] = np.concatenate([r["t_samples"], np.empty((self.count, more))], axis=1)
        self.room += more
        waiting = r["status"] == PAUSED
        if self.pool is None:  # these may be the caller's arrays
            r.update(x=r["x"].copy(), t=r["t"].copy())
        r["x"][waiting] = r["x_end"][waiting]
        r["t"][waiting] = r["t_end"][waiting]

    def samples(self, room: int, steps: int) -> None:
        """Room for samples, and for so many steps in the log where it is needed: most of it is never touched."""
        self.room = room
        self.log_room = steps if self.result["passive"].any() else 0
        self.result["log"] = np.empty((self.count, self.log_room, 2 + 2 * self.ports.nx + self.ports.ng))
        self.result["samples"] = np.empty((self.count, room, self.ports.nx))
        self.result["t_samples"] = np.empty((self.count, room))

    def code(self) -> tuple[tuple[str, int], ...]:
        """What workspaces are kept by: they serve any parameters of the same code."""
        return tuple((kind, id(e.function)) for kind, (_, e) in self.entries.items())

    def run(
        self,
        native: Any,
        prepare: Callable[[Workspace], None],
        places: Sequence[KernelBuffers],
        rates: int,
        shared: bool,
        cost: int,
        threads: int | None,
        more: Mapping[str, int] | None = None,
    ) -> None:
        """more: further work buffers of the method and their lengths."""
        p, b = self.ports, self.count
        if self.pool is not None:
            w, r = self.workspace, self.result
            w.set(**{n: r[n].ctypes.data for n in MADE_ANEW if n in r})
            w.set(room=self.room, log_room=self.log_room, **self.signal_words)
            prepare(w)
            w.begin_at(0)
            native(w.job, 0, 1)
            raise_pending()
            return
        sizes = Sizes(p.nx, p.nu, p.ng, rates, min(BLOCK, max(b, 1)), shared)

        free = self.ports.free.setdefault((id(native), sizes, self.code()), [])

        def call(begin: int, end: int) -> None:
            try:
                w = free.pop()
                w.rebind(self.entries)
            except IndexError:
                w = Workspace(sizes, self.entries, places, p.offsets, p.signals, more)
            w.set(**{name: array.ctypes.data for name, array in self.result.items()})
            w.set(room=self.room, log_room=self.log_room, **self.signal_words)
            prepare(w)
            w.begin_at(begin)
            native(w.job, begin, end)
            free.append(w)
            raise_pending()

        run_ranges(call, b, cost, threads)

    def finished(self, times: np.ndarray, evaluations: np.ndarray | None, h_next: np.ndarray) -> Run:
        """times: (k,), or (b, k) where the members have their own."""
        r = self.result
        x, count = r["samples"], r["n_samples"]
        shape = self.members
        longest = int(count.max(initial=0)) if times is r["t_samples"] or not shape else x.shape[1]
        times, x = times[..., :longest], x[:, :longest]
        if not shape:
            times = times.reshape(longest)
        for i in np.flatnonzero(count < longest):
            x[i, count[i] :] = math.nan
            if times.base is r["t_samples"]:
                times[i, count[i] :] = math.nan
        log = () if shape else self._logged()
        if self.pool is not None:  # the next run writes into these
            r, h_next = _carved(self.results.copy(), 1, self.ports.nx, self.ports.ng), h_next.copy()
            self.pool.append(self)
        if evaluations is None:
            evaluations = r["evaluations"]
        return Run(
            t=times,
            x=x.reshape(*shape, *x.shape[1:]),
            samples=r["n_samples"].reshape(shape),
            **{n: r[n].reshape(shape) for n in ("t_end", "t_before", "status", "steps", "rejected")},
            **{n: r[n].reshape(*shape, p) for n, p in (("x_end", self.ports.nx), ("x_before", self.ports.nx))},
            crossed=r["crossed"].reshape(*shape, self.ports.ng),
            evaluations=evaluations.reshape(shape),
            h_next=h_next.reshape(shape),
            log=log,
        )

    def _logged(self) -> tuple[LogStep, ...]:
        """The log of a run of one state."""
        nx = self.ports.nx
        rows = self.result["log"][0, : int(self.result["n_log"][0])].copy()
        signs = rows[:, 2 + 2 * nx :].view(np.int64)
        return tuple(
            LogStep(float(row[0]), row[2 : 2 + nx], float(row[1]), row[2 + nx : 2 + 2 * nx], sign)
            for row, sign in zip(rows, signs)
        )


MADE_ANEW = ("knots", "values", "samples", "t_samples", "log", "times")
COUNTS = ("status", "steps", "rejected", "evaluations", "n_samples", "n_log")


def _carved(words: np.ndarray, b: int, nx: int, ng: int) -> dict[str, np.ndarray]:
    """What the march writes of b members, as parts of one piece of memory."""
    out, at = {}, 0
    for name, width, whole in (
        *((n, nx, False) for n in ("x_end", "x_before")),
        *((n, 0, False) for n in ("t_end", "t_before")),
        *((n, 0, True) for n in COUNTS),
        ("crossed", ng, True),
    ):
        size = b * (width if width or name == "crossed" else 1)
        part = words[at : at + size]
        part = part.view(np.int64) if whole else part
        out[name] = part.reshape(b, width) if width or name == "crossed" else part
        at += size
    return out


def members_of(
    ports: Ports,
    native: Any,
    places: Sequence[KernelBuffers],
    rates: int,
    shared: bool,
    x: Any,
    parameters: Any,
    signals: Signals | None,
    directions: Any,
    passive: Any,
) -> Members:
    """The members of a run; of one state those of an earlier run of the same code, with other numbers."""
    if type(x) is np.ndarray and x.shape == (ports.nx,) and x.dtype == float:
        given = parameters_of(ports.kernels, ports.known, parameters)
        entries = {kind: (k, k.entry(1, given[kind])) for kind, k in ports.kernels.items()}
        if all(e.derived.ndim == 1 for _, e in entries.values()):
            code = tuple(id(e.function) for _, e in entries.values())
            pool = ports.free.setdefault((id(native), code, rates, shared), [])
            try:
                data: Members = pool.pop()
            except IndexError:
                data = Members(ports, x, parameters, signals, directions, passive)
                data.keep(pool, Sizes(ports.nx, ports.nu, ports.ng, rates, 1, shared), places)
            else:
                data.renew(x, entries, signals, directions, passive)
            return data
    return Members(ports, x, parameters, signals, directions, passive)


def directions_of(given: Any, ng: int) -> np.ndarray:
    array = np.zeros(ng, dtype=np.int64) if given is None else np.ascontiguousarray(given, dtype=np.int64)
    if array.shape != (ng,):
        raise ShapeError(f"directions has shape {array.shape}; expected ({ng},), one for each guard.")
    return array


def passive_of(given: Any, ng: int) -> np.ndarray:
    array = np.zeros(ng, dtype=np.int64) if given is None else np.ascontiguousarray(given, dtype=np.int64)
    if array.shape != (ng,):
        raise ShapeError(f"passive has shape {array.shape}; expected ({ng},), one for each guard.")
    return array


def check_tolerance(rtol: float, atol: Any, nx: int) -> np.ndarray:
    array = np.asarray(atol, dtype=float)
    if array.shape not in ((), (nx,)):
        raise ShapeError(f"atol has shape {array.shape}; expected a number or ({nx},).")
    if not rtol >= 0 or not (array >= 0).all() or not (rtol + array > 0).all():
        raise ShapeError(f"rtol is {rtol} and atol {atol}; expected numbers that are not negative and not both zero.")
    return np.ascontiguousarray(np.broadcast_to(array, (nx,)))


def libm_function(name: str) -> int:
    """Address of a function of the C library."""
    return int(libm_table()[libm_index(name)])


def wanted_times(times: Any, start: np.ndarray, sign: float) -> np.ndarray:
    """(k,) times of samples, checked; empty for None."""
    array = np.ascontiguousarray([] if times is None else times, dtype=float)
    if array.ndim == 1 and not array.size:
        return array
    if array.ndim != 1 or np.any(np.diff(array) * sign < 0) or np.any((array[0] - start) * sign < 0):
        raise ShapeError("times must be one sequence in the direction of the run that does not begin before t.")
    return array


def check_method(ports: Ports, method: str | Method | None, adaptive: bool = False) -> Method | None:
    """The table of a method that the Kernels can be used with; None for a step map."""
    if adaptive and ports.step is not None:
        raise NameLookupError("A one-step map has no error estimate: use fixed steps, or give rates.")
    if ports.step is not None:
        return None
    if isinstance(method, str):
        if method not in METHODS:
            raise NameLookupError(f"There is no method '{method}'. {nearest(method, METHODS)}")
        method = METHODS[method]
    if method is None:
        raise NameLookupError(f"A method is needed; expected one of {', '.join(METHODS)}.")
    if isinstance(method, Splitting) and not ports.second:
        raise ShapeError(
            f"Method '{method.name}' advances positions and velocities in turn; give their pairs as second=..., "
            "or take another method."
        )
    if adaptive and (isinstance(method, Splitting) or not method.error):
        known = ", ".join(n for n, m in METHODS.items() if isinstance(m, RungeKutta) and m.error)
        raise NameLookupError(f"Method '{method.name}' has no error estimate for adaptive steps; take one of {known}.")
    return method
