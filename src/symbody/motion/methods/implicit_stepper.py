"""Implicit methods of fixed step on the native march: the step map, and the memory that it carries along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symbody.basics.memory import memory_of
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.flow_kernels import kernels
from symbody.motion.flow.loop_guards import LoopGuards
from symbody.motion.flow.signals import InputSignals
from symbody.motion.march.march import March
from symbody.motion.march.run import Signals
from symbody.motion.methods.implicit_step import Diagonal, Residual, start_system, step_system
from symbody.motion.methods.native_stepper import WORK, NativeFixed, guards_of
from symbody.motion.methods.step_grid import NEAR, stage_times
from symbody.motion.methods.stepper import Leg, Memory, Start, check_arrays
from symbody.symbolic.system.system import System

ITERATIONS = 4  # of Newton's method in a step, as a guess of its cost
SAME = 1e-6  # of a state: what is corrected after a step is near it
KEPT = 6  # states whose memory is known in one stretch


class StepMarch:
    """The step map of an implicit method over states and what the method carries from step to step; stateless."""

    def __init__(
        self,
        flow: Flow,
        method: str | Diagonal,
        residual: Residual | None = None,
        loops: LoopGuards | None = None,
        **options: Any,
    ) -> None:
        step, start = memory_of(flow).get(
            "step",
            (method, residual, *sorted(options.items())),
            lambda: (step_system(flow, method, residual, **options), start_system(flow, method, residual)),
        )
        native = kernel_of(step)
        self._start: Any = None if start is None else kernel_of(start)
        made = kernels(flow)
        memory = {} if start is None else {n: a.size for n, a in start.outputs.items()}
        names = [*flow.states, *memory]
        node = max(step.clocks.values(), default=0.0)
        self.march = March(
            None,
            {n: n for n in names},
            project=made.get("project"),
            guards=guards_of(flow, loops),
            step=native,
            step_node=node,
        )
        self.flow, self.nx, self.step, self.operations = flow, flow.nx, step, native.signature.operations
        self.begins: System | None = start
        self.carried = sum(memory.values())  # numbers

    def fixed(self, method: Any, x: Any, t: Any, h: Any, steps: int, every: int = 1, **options: Any) -> Any:
        """As `March.fixed` from a motion that begins; the method is the map's own."""
        return MethodMemory(self, {}).fixed(x, t, h, steps, every, **options)

    def started(self, t: Any, x: np.ndarray, options: Mapping[str, Any]) -> np.ndarray:
        """Memory of the method where a motion begins."""
        start = self.begins
        assert start is not None
        signals = options.get("signals")
        u = np.zeros((*x.shape[:-1], 0)) if signals is None else _at(signals, t)
        given = self.flow.layout.named(t, x, u)
        known = {n: v for n, v in (options.get("parameters") or {}).items() if n in start.parameters}
        found = self._start.call_with_status(*[given[n] for n in start.inputs], parameters=known or None)[0]
        parts = [np.asarray(found)] if len(start.outputs) == 1 else [np.asarray(a) for a in found]
        shapes = [a.ndim for a in start.outputs.values()]
        batch = x.shape[:-1]
        flat = [p.reshape(*p.shape[: p.ndim - c], -1) for p, c in zip(parts, shapes)]
        return np.concatenate([np.broadcast_to(p, (*batch, p.shape[-1])) for p in flat], axis=-1)


class MethodMemory:
    """Runs of one stretch, and the memory of the method at their latest ends.

    A run that starts at such an end goes on with it; any other start is that of a new motion.
    """

    def __init__(self, march: StepMarch, memory: Memory) -> None:
        self.march = march
        known = (memory["t"], memory["state"], memory["memory"]) if memory else None
        self.ends: list[tuple[Any, np.ndarray, np.ndarray]] = [] if known is None else [known]
        self.logged: list[tuple[Any, np.ndarray, np.ndarray]] = []  # starts of steps in the last log

    def memory(self) -> Memory:
        """At the end of the last run."""
        return dict(zip(("t", "state", "memory"), self.ends[0])) if self.ends else {}

    def fixed(self, x: Any, t: Any, h: Any, steps: int, every: int = 1, **options: Any) -> Any:
        """As `March.fixed`."""
        x, own, nx = np.asarray(x, dtype=float), self.march, self.march.nx
        if own.begins is None:
            return own.march.fixed(None, x, t, h, steps, every, **options)
        memory = self._recalled(t, x, h, options)
        run = own.march.fixed(None, np.concatenate([x, memory], axis=-1), t, h, steps, every, **options)
        for instant, state in ((run.t_before, run.x_before), (run.t_end, run.x_end)):
            self._keep(instant, np.array(state))
        if run.log:
            self.logged = [(np.array(s.t_before), s.x_before[:nx], s.x_before[nx:]) for s in run.log]
        parts = {n: getattr(run, n)[..., :nx] for n in ("x", "x_end", "x_before")}
        log = tuple(replace(s, x_before=s.x_before[:nx], x_end=s.x_end[:nx]) for s in run.log)
        return replace(run, **parts, log=log)

    def tried(self, *arguments: Any, **options: Any) -> Any:
        """As `fixed`, but the run goes on from where it was, not from the end of this trial."""
        ends = list(self.ends)
        try:
            return self.fixed(*arguments, **options)
        finally:
            self.ends = ends

    def _keep(self, t: Any, state: np.ndarray) -> None:
        nx = self.march.nx
        self.ends = [(np.array(t), state[..., :nx], state[..., nx:]), *self.ends[: KEPT - 1]]

    def _recalled(self, t: Any, x: np.ndarray, h: Any, options: Mapping[str, Any]) -> np.ndarray:
        near = 1e-9 * np.max(np.abs(h)) + 1e-14 * np.max(np.abs(t))
        for k, (instant, state, memory) in enumerate(self.ends):
            if np.array_equal(state, x) and np.all(np.abs(instant - t) <= near):
                self.ends.insert(0, self.ends.pop(k))
                return memory
        for instant, state, memory in self.logged:
            if np.array_equal(state, x) and np.all(instant == t):
                return memory
        return self.march.started(t, x, options)


def _at(signals: Any, t: Any) -> np.ndarray:
    """Signals (nu,) or (b, nu) at the start of a run, all of whose members begin at the same time."""
    times, values = np.atleast_1d(signals.times), np.asarray(signals.values, dtype=float)
    if values.ndim == 1:
        return values
    s = float(np.ravel(t)[0])
    k = int(np.clip(np.searchsorted(times, s, side="right") - 1, 0, len(times) - 1))
    if signals.hold or k + 1 >= len(times) or s <= times[0]:
        return values[..., k, :]
    w = (s - times[k]) / (times[k + 1] - times[k])
    return np.asarray((1 - w) * values[..., k, :] + w * values[..., k + 1, :])


def balance_of(flow: Flow) -> Residual | None:
    """The Flow's equations of motion in their unsolved form, made once: programs are kept by it."""
    balance = flow.balance
    if balance is None:
        return None
    explicit = tuple(flow.prescribed.get("qd", ()))
    return memory_of(flow).get("balance", (), lambda: Residual(balance, explicit=explicit))


def step_march(flow: Flow, method: str | Diagonal) -> March | None:
    """The march of a method's step map, made once; None where it remembers more of a step than the state."""
    made: StepMarch = memory_of(flow).get("step march", (method,), lambda: StepMarch(flow, method, balance_of(flow)))
    return made.march if made.begins is None else None


class ImplicitFixed(NativeFixed):
    """A Stepper of an implicit method of fixed step: a table or a name of `implicit_step`.

    residual  equations of motion to solve in place of the Flow's rates; see `step_system`
    newton    tolerance, max_iterations; rho_inf of generalized_alpha
    """

    def __init__(
        self,
        flow: Flow,
        method: str | Diagonal,
        signals: InputSignals,
        start: float,
        step: float,
        *,
        residual: Residual | None = None,
        newton: Mapping[str, Any] | None = None,
        loops: LoopGuards | None = None,
        **options: Any,
    ) -> None:
        # signals that move are sampled where the classical method reads them: at the start, middle and end of steps
        super().__init__(flow, "rk4", signals, start, step, loops=loops, **options)
        self.steps = StepMarch(flow, method, residual, loops, **(newton or {}))
        self.numpy_step = None
        self.chunk = max(16, int(WORK / (ITERATIONS * self.steps.operations + 20 * flow.nx)))

    def advance(self, start: Start, stop: float, times: np.ndarray) -> tuple[Leg, Memory]:
        """See `Stepper`; carried is what the method remembers at the end."""
        carried = MethodMemory(self.steps, start.memory)
        own = _Carrying(start.t, start.x, start.u, start.memory, start.levels, carried=carried)
        return self._advance(own, stop, times), carried.memory()

    def check_memory(self, start: Start) -> None:
        """See `stepper.check_memory`."""
        batch = start.x.shape[:-1]
        shapes = {"t": batch, "state": start.x.shape, "memory": (*batch, self.steps.carried)}
        alive = np.isfinite(start.x).all(axis=-1)
        check_arrays(start.memory, shapes, alive)
        if (abs(start.memory["t"][alive] - start.t) > self.step).any():
            raise ValueError(f"a memory of {start.memory['t']} s at {start.t:g} s")
        there = alive & (abs(start.memory["t"] - start.t) <= NEAR * self.step)
        if (abs(start.memory["state"] - start.x)[there] > SAME * (1 + abs(start.x[there]))).any():
            raise ValueError("a memory of another state")

    def fixed(
        self,
        start: Start,
        x: np.ndarray,
        t: float,
        h: float,
        steps: int,
        every: int,
        signals: Signals | None,
        **options: Any,
    ) -> Any:
        assert isinstance(start, _Carrying)
        return start.carried.fixed(x, t, h, steps, every, signals=signals, **options)

    def _tried(self, start: Start, t0: float, x0: np.ndarray, s: float) -> np.ndarray:
        assert isinstance(start, _Carrying)
        signals = self.table(start, t0, s, stage_times(self.method, t0, s - t0, 1))
        run = start.carried.tried(x0, t0, s - t0, 1, 1, signals=signals, parameters=self._numbers(start))
        return np.asarray(run.x_end)


@dataclass(frozen=True, eq=False)
class _Carrying(Start):
    """A Start with what the runs of its stretch carry along."""

    carried: MethodMemory = field(kw_only=True)
