"""Implicit methods of fixed step on the native march: the step map, and the memory that it carries along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from symbody.derived.kernels import kernel_of
from symbody.flow.flow import Flow
from symbody.flow.loop_guards import Lookout
from symbody.flow.signals import Feed
from symbody.integrate.implicit_step import Diagonal, Residual, start_system, step_system
from symbody.integrate.native import WORK, NativeFixed, guards_of, kernels
from symbody.integrate.step_grid import stage_times
from symbody.march.march import March
from symbody.memory import memory_of
from symbody.system.system import System

ITERATIONS = 4  # of Newton's method in a step, as a guess of its cost
KEPT = 6  # states whose memory is known


class StepMarch:
    """The march of an implicit method: `fixed` as that of a `March` of rates, on the states alone.

    What a method carries from step to step is kept here for the latest ends of runs. A run that starts at such an end
    goes on with it; any other start is that of a new motion.
    """

    def __init__(
        self,
        flow: Flow,
        method: str | Diagonal,
        residual: Residual | None = None,
        look: Lookout | None = None,
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
            None, {n: n for n in names}, project=made.get("project"), guards=guards_of(flow, look), step=native,
            step_node=node,
        )  # fmt: skip
        self.flow, self.nx, self.step, self.operations = flow, flow.nx, step, native.signature.operations
        self._begin: System | None = start
        self.ends: list[tuple[Any, np.ndarray, np.ndarray]] = []
        self.logged: list[tuple[Any, np.ndarray, np.ndarray]] = []  # starts of steps in the last log

    def fixed(self, method: Any, x: Any, t: Any, h: Any, steps: int, every: int = 1, **options: Any) -> Any:
        """As `March.fixed`; the method is the map's own."""
        x = np.asarray(x, dtype=float)
        if self._begin is None:
            return self.march.fixed(None, x, t, h, steps, every, **options)
        memory = self._recalled(t, x, h, options)
        run = self.march.fixed(None, np.concatenate([x, memory], axis=-1), t, h, steps, every, **options)
        for instant, state in ((run.t_before, run.x_before), (run.t_end, run.x_end)):
            self._keep(instant, np.array(state))
        if run.log:
            self.logged = [(np.array(s.t_before), s.x_before[: self.nx], s.x_before[self.nx :]) for s in run.log]
        parts = {n: getattr(run, n)[..., : self.nx] for n in ("x", "x_end", "x_before")}
        log = tuple(replace(s, x_before=s.x_before[: self.nx], x_end=s.x_end[: self.nx]) for s in run.log)
        return replace(run, **parts, log=log)

    def tried(self, *arguments: Any, **options: Any) -> Any:
        """As `fixed`, but the run goes on from where it was, not from the end of this trial."""
        ends = list(self.ends)
        try:
            return self.fixed(*arguments, **options)
        finally:
            self.ends = ends

    def _keep(self, t: Any, state: np.ndarray) -> None:
        self.ends = [(np.array(t), state[..., : self.nx], state[..., self.nx :]), *self.ends[: KEPT - 1]]

    def _recalled(self, t: Any, x: np.ndarray, h: Any, options: Mapping[str, Any]) -> np.ndarray:
        near = 1e-9 * np.max(np.abs(h)) + 1e-14 * np.max(np.abs(t))
        for k, (instant, state, memory) in enumerate(self.ends):
            if np.array_equal(state, x) and np.all(np.abs(instant - t) <= near):
                self.ends.insert(0, self.ends.pop(k))
                return memory
        for instant, state, memory in self.logged:
            if np.array_equal(state, x) and np.all(instant == t):
                return memory
        return self._started(t, x, options)

    def _started(self, t: Any, x: np.ndarray, options: Mapping[str, Any]) -> np.ndarray:
        """Memory of the method where a motion begins."""
        start = self._begin
        assert start is not None
        states, signals = self.flow.split(x), options.get("signals")
        u = np.zeros((*x.shape[:-1], 0)) if signals is None else _at(signals, t)
        arguments: dict[str, Any] = {}
        at = 0
        for name in self.flow.signals:
            symbols = self.flow.rates.inputs[name]
            part = u[..., at : at + symbols.size]
            arguments[name] = part.reshape(part.shape[:-1] + symbols.shape)
            at += symbols.size
        given = {"t": t, **states, **arguments}
        known = {n: v for n, v in (options.get("parameters") or {}).items() if n in start.parameters}
        found = self._start.call_with_status(*[given[n] for n in start.inputs], parameters=known or None)[0]
        parts = [np.asarray(found)] if len(start.outputs) == 1 else [np.asarray(a) for a in found]
        shapes = [a.ndim for a in start.outputs.values()]
        batch = x.shape[:-1]
        flat = [p.reshape(*p.shape[: p.ndim - c], -1) for p, c in zip(parts, shapes)]
        return np.concatenate([np.broadcast_to(p, (*batch, p.shape[-1])) for p in flat], axis=-1)


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


class ImplicitFixed(NativeFixed):
    """A Driver of an implicit method of fixed step: a table or a name of `implicit`.

    residual  equations of motion to solve in place of the Flow's rates; see `step_system`
    newton    tolerance, max_iterations; rho_inf of generalized_alpha
    """

    def __init__(
        self,
        flow: Flow,
        method: str | Diagonal,
        feed: Feed,
        start: float,
        step: float,
        *,
        residual: Residual | None = None,
        newton: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        directions: np.ndarray | None = None,
        passive: np.ndarray | None = None,
        threads: int | None = None,
        look: Lookout | None = None,
    ) -> None:
        # signals that move are sampled where the classical method reads them: at the start, middle and end of steps
        common: dict[str, Any] = dict(parameters=parameters, threads=threads, look=look)
        super().__init__(flow, "rk4", feed, start, step, directions=directions, passive=passive, **common)
        march: Any = StepMarch(flow, method, residual, look, **(newton or {}))
        self.march, self.brief = march, None
        self.chunk = max(16, int(WORK / (ITERATIONS * march.operations + 20 * flow.nx)))

    def _tried(self, t0: float, x0: np.ndarray, s: float) -> np.ndarray:
        signals = self._signals(t0, s, stage_times(self.method, t0, s - t0, 1))
        march: Any = self.march
        return np.asarray(march.tried(None, x0, t0, s - t0, 1, 1, signals=signals, parameters=self._numbers()).x_end)
