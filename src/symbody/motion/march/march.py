"""March: a Kernel of rates advanced in time by native loops, for one state or for batches of them.

The loop over steps is machine code, so that a step costs its evaluations of the rates and little else. Methods are
tables (`method_tables.py`, with their sources), of which `ir/` writes the loop; members of a batch share its code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import ShapeError
from symbody.codegen.kernel.native_kernel import NativeKernel
from symbody.codegen.llvm.loading import host
from symbody.motion.march.ir.adaptive import adaptive_module
from symbody.motion.march.ir.compiled_march import function
from symbody.motion.march.ir.fixed import fixed_module
from symbody.motion.march.ir.splitting import DRIFTS
from symbody.motion.march.job import FAILED, NOT_FINITE, PAUSED
from symbody.motion.march.march_ports import Ports
from symbody.motion.march.members import check_method, check_tolerance, libm_function, members_of
from symbody.motion.march.method_tables import Method, RungeKutta, Splitting
from symbody.motion.march.run import Run, Signals
from symbody.motion.march.workspace import KernelBuffers, Workspace

__all__ = ["March", "Run", "Signals"]

# Samples of accepted steps that there is room for at first; it is doubled as needed.
FIRST_ROOM = 256


class March:
    """Native integration of a Kernel; stateless, thread safe.

    A run uses the code that its Kernels have when it starts: after `kernel.wait()` that is the optimised one.

    rates    Kernel: states, "t", signals -> rates; None with `step`
    states   state (an input) -> its rate (an output), in the order that makes up x; with `step` any values
    second   pairs (positions, velocities) for splitting methods; all states that are not positions are kicked
    project  Kernel of the same inputs -> corrected states under their own names (some or all), used after each step
    guards   Kernel of the same inputs -> output "guard" (ng,)
    step     a map instead of rates: states, "t", STEP_LENGTH, signals -> the states after h, under their own names
    step_node  signals of a `step` are those at t + step_node*h
    drift    rates of the positions for splitting methods: "velocities" where they are the velocities themselves, a
             Kernel of the same inputs -> the positions' rates, or None to take them from `rates`, which costs most
    """

    def __init__(
        self,
        rates: NativeKernel | None,
        states: Mapping[str, str],
        second: Sequence[tuple[str, str]] = (),
        project: NativeKernel | None = None,
        guards: NativeKernel | None = None,
        step: NativeKernel | None = None,
        *,
        step_node: float = 0.0,
        drift: NativeKernel | str | None = None,
    ) -> None:
        self.ports = Ports(rates, states, second, project, guards, step, drift)
        self.step_node = step_node
        # by the identity of the method's table, which is kept with it
        self._ready: dict[tuple[str, int], tuple[Method | None, tuple[Any, list[KernelBuffers], int]]] = {}

    @property
    def nx(self) -> int:
        return self.ports.nx

    # -- fixed steps

    def fixed(
        self,
        method: str | Method | None,
        x: Any,
        t: Any,
        h: Any,
        steps: int,
        every: int = 1,
        *,
        signals: Signals | None = None,
        parameters: Mapping[str, Any] | None = None,
        directions: Any = None,
        passive: Any = None,
        threads: int | None = None,
    ) -> Run:
        """`steps` steps of length h from x (nx,) or (b, nx) at t, with samples after every `every` steps and the last.

        t, h: numbers, or (b,) one for each member. method: a name or table; None where there is a step map.
        parameters: by name, with a batch dimension in front where they differ by member.
        directions: (ng,) 1 only upward crossings of a guard count, -1 only downward ones, 0 (default) both.
        passive: (ng,) not 0 where crossings of a guard do not end the run, but are logged (of one state).
        """
        table = check_method(self.ports, method)
        if steps < 0 or every < 1:
            raise ShapeError(f"steps is {steps} and every is {every}; expected at least 0 and at least 1.")
        native, places, rates = self._made("fixed", table)
        shared = np.ndim(t) == 0 and np.ndim(h) == 0
        data = members_of(self.ports, native, places, rates, shared, x, parameters, signals, directions, passive)
        shared = shared and not data.member_signals
        data.times(t, h)
        room = -(-steps // every)
        data.samples(room, steps)

        reuse = self.ports.project is None and not data.jumps

        def prepare(w: Workspace) -> None:
            w.set(n_steps=steps, every=every, reuse=int(reuse))
            if isinstance(table, Splitting):
                self._splitting(w)

        data.run(native, prepare, places, rates, shared, self._cost(table) * steps, threads)
        status = data.result["status"]
        broken = (status == NOT_FINITE) | (status == FAILED)
        evaluations = self._evaluations(table, data.result["steps"] + broken, reuse)
        index = np.minimum(np.arange(1, room + 1) * every, steps)
        t0, step = (np.asarray(v, dtype=float) for v in (t, h))
        times = t0[..., None] + index * step[..., None]
        return data.finished(times, evaluations, np.broadcast_to(step, data.members).copy())

    # -- adaptive steps

    def adaptive(
        self,
        method: str | RungeKutta,
        x: Any,
        t: Any,
        t_end: float,
        times: Any = None,
        *,
        rtol: float,
        atol: Any,
        first_step: Any = None,
        max_step: Any = math.inf,
        max_steps: int = 1_000_000,
        signals: Signals | None = None,
        parameters: Mapping[str, Any] | None = None,
        directions: Any = None,
        passive: Any = None,
        threads: int | None = None,
        first_sample: np.ndarray | None = None,
    ) -> Run:
        """From x (nx,) or (b, nx) at t (a number or (b,)) to t_end exactly, which may lie before t.

        times: (k,) samples by the continuous extension, in the direction of the run and after t; None: each accepted
        step. Samples of a step that met a guard may lie after the event. atol: a number or (nx,).
        first_step: length, or (b,) lengths, of the first step; None (or 0 of a member): chosen. max_step: likewise.
        max_steps: accepted and rejected ones.
        first_sample: (b,) members that start at different times: the first of `times` that each of them records.
        """
        table = check_method(self.ports, method, adaptive=True)
        assert isinstance(table, RungeKutta)
        native, places, stages = self._made("adaptive", table)
        data = members_of(self.ports, native, places, stages, False, x, parameters, signals, directions, passive)
        sign = data.span(t, float(t_end), first_step)
        wanted = data.wanted(times, sign, first_sample)
        data.longest(max_step)
        data.samples(wanted.size if times is not None else FIRST_ROOM, max_steps)
        tolerance = check_tolerance(rtol, atol, self.nx)

        def prepare(w: Workspace) -> None:
            w.buffer("tolerance", w.pad)[:] = np.resize(tolerance, w.pad)
            w.set_numbers(t_stop=float(t_end), sign=sign, rtol=rtol)
            w.set(max_steps=max_steps, n_times=wanted.size, dense=int(times is not None), pow=libm_function("pow"))
            w.set(reuse=int(self.ports.project is None and not data.jumps))

        data.result["status"][:] = PAUSED
        while True:
            data.run(native, prepare, places, stages, False, self._cost(table) * 100, threads)
            if not (data.result["status"] == PAUSED).any():
                break
            data.go_on()
        return data.finished(wanted if times is not None else data.result["t_samples"], None, data.result["h"])

    def _made(self, kind: str, table: Method | None) -> tuple[Any, list[KernelBuffers], int]:
        """The native function of a method, where Kernels read and write, and the number of buffers of rates."""
        kept = self._ready.get((kind, id(table)))
        if kept is None:
            if kind == "fixed":
                places = self._places_fixed(table)
                rates = max((p.number for p in places if p.target == "K"), default=0) + 1
                text = fixed_module(table, host().lanes, self.step_node if table is None else 0.0)
            else:
                assert isinstance(table, RungeKutta)
                rates, offsets = table.stages + 1 + len(table.extra_a), self.ports.rate_offsets
                places = [KernelBuffers("rates", _source(i, table.stages), "K", i, offsets) for i in range(rates)]
                places += self._places_common()
                text = adaptive_module(table, host().lanes)
            kept = self._ready[kind, id(table)] = table, (function(text, "march"), places, rates)
        return kept[1]

    def _places_fixed(self, method: Method | None) -> list[KernelBuffers]:
        p = self.ports
        if method is None:
            places = [KernelBuffers("rates", "X", "XN", 0, p.offsets)]
        elif isinstance(method, RungeKutta):
            places = [KernelBuffers("rates", "Y" if i else "X", "K", i, p.rate_offsets) for i in range(method.stages)]
        else:
            places = [KernelBuffers("rates", "Y" if i else "X", "K", i, p.rate_offsets) for i in range(2)]
            if p.drift != "velocities":
                stages = DRIFTS[method.drift].stages
                places += [KernelBuffers("drift", "XP" if i else "XN", "KD", i, p.drift_offsets) for i in range(stages)]
        return places + self._places_common()

    def _places_common(self) -> list[KernelBuffers]:
        p = self.ports
        places = []
        if p.project is not None:
            places.append(KernelBuffers("project", "XN", "XP", 0, p.offsets))
        if p.guards is not None:
            places.append(KernelBuffers("guards", "X", "G1", 0, {"guard": 0}))
        return places

    def _splitting(self, w: Workspace) -> None:
        p = self.ports
        w.buffer("kick", w.pad)[:] = np.resize(p.kick, w.pad)
        if p.drift == "velocities":
            w.set(pairs=p.pair_table.ctypes.data, n_pairs=len(p.pair_table))

    def _cost(self, method: Method | None) -> int:
        stages = method.stages if isinstance(method, RungeKutta) else 1
        return stages * self.ports.main.signature.operations

    def _evaluations(self, method: Method | None, steps: np.ndarray, reuse: bool) -> np.ndarray:
        """Calls of the rates for each member in so many steps, the one that failed included."""
        if method is None:
            return steps.copy()
        if isinstance(method, RungeKutta):
            return steps * method.stages
        if not method.substeps:
            count = steps.copy()
        else:
            fresh = np.minimum(steps, 1) if reuse else steps
            count = steps * len(method.substeps) * method.evaluations + fresh
        if self.ports.drift is None:
            count += steps * max(len(method.substeps), 1) * DRIFTS[method.drift].stages
        return count


def _source(stage: int, stages: int) -> str:
    """The buffer that a stage reads: the state, stage states, or the new state."""
    return "X" if stage == 0 else "XN" if stage == stages else "Y"
