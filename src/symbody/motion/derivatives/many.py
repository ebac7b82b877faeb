"""Many runs of one RunFunction with their derivatives, each with the very numbers of its single run.

Smooth runs of explicit Runge-Kutta methods take the same steps whatever theta is: they march side by side, in lanes and
threads, forwards and backwards. Runs whose steps depend on theta (events, closed loops that are watched, steps that a
tolerance chooses, sampled controllers), and those of other methods, are linearised one by one, over threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from symbody.basics.errors import ModelError
from symbody.codegen.kernel.threads import check_threads
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.motion.derivatives.linearised import Linearised
from symbody.motion.derivatives.machine import by_theta, called, chain_of, numbers_for
from symbody.motion.derivatives.observed import observed_pullback, observing
from symbody.motion.derivatives.pullbacks import Pullback
from symbody.motion.derivatives.starts import start_derivative
from symbody.motion.derivatives.supply import Supply
from symbody.motion.derivatives.tape import Steps
from symbody.motion.events.plan import Plan
from symbody.motion.events.state import RunState
from symbody.motion.flow.signals import InputSignals, table_value
from symbody.motion.march.run import Signals
from symbody.motion.methods.lane_stepper import LaneStepper
from symbody.motion.methods.native_stepper import NativeFixed
from symbody.motion.methods.step_grid import NEAR, stage_times

if TYPE_CHECKING:
    from symbody.motion.derivatives.function import RunFunction

T = TypeVar("T")
R = TypeVar("R")


class Many:
    """Runs at thetas (b, n): `y` (b, ny), and `vjp` of weights (b, ny). threads: None takes all processors."""

    def __init__(self, f: RunFunction, thetas: np.ndarray, threads: int | None = None) -> None:
        self.f, self.thetas = f, thetas
        self.workers = (os.cpu_count() or 1) if threads is None else check_threads(threads)
        # the first says how the others step, and makes the programs before threads need them
        self.first = f.linearise(thetas[0])
        self.lanes = len(thetas) > 1 and _side_by_side(self.first)

    @cached_property
    def _groups(self) -> list[_RunLanes]:
        """As many runs at once as there is memory for."""
        each = sum(p.count + 1 for p in self.first.tape.pieces if isinstance(p, Steps)) * self.first.nx * 8
        size = max(1, int(self.f.memory / max(each, 1)))
        groups = range(0, len(self.thetas), size)
        return [
            _RunLanes(self.f, self.first, self.thetas[k : k + size], self.workers, len(groups) == 1) for k in groups
        ]

    @cached_property
    def runs(self) -> list[Linearised]:
        """Each by itself."""
        return [self.first, *_over(self.workers, self.f.linearise, list(self.thetas[1:]))]

    @cached_property
    def y(self) -> np.ndarray:
        """(b, ny)"""
        if self.lanes:
            return np.concatenate([group.y for group in self._groups])
        return np.array(_over(self.workers, lambda run: run.y, self.runs))

    def vjp(self, weights: np.ndarray) -> np.ndarray:
        """(b, n) of weights (b, ny), one set for each run."""
        w = np.asarray(weights, dtype=float)
        if not self.lanes:
            pairs = list(zip(self.runs, w, strict=True))
            return np.array(_over(self.workers, lambda pair: pair[0].vjp(pair[1]), pairs))
        out, at = [], 0
        for group in self._groups:
            out.append(group.vjp(w[at : at + group.b]))
            at += group.b
        return np.concatenate(out)

    def gradients(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (b,) and gradients (b, n) of w^T y."""
        found = self.vjp(np.broadcast_to(weights, (len(self.thetas), len(weights))))
        return np.array([float(weights @ y) for y in self.y]), found


def _over(workers: int, call: Callable[[T], R], items: Sequence[T]) -> list[R]:
    if workers == 1 or len(items) < 2:
        return [call(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(call, items))


def _side_by_side(run: Linearised) -> bool:
    """Whether all runs beside this one take its steps, by an explicit Runge-Kutta method."""
    plan, pieces = run.tape.plan, run.tape.pieces
    stepper = plan.stepper
    # held tables alone are followed by the same steps, between their instants
    plain = isinstance(stepper, NativeFixed) or (isinstance(stepper, LaneStepper) and not plan.signals.moving)
    return (
        plain
        and run.numbers(run.first).machine.table is not None
        and plan.events is None
        and plan.loops is None
        and not run.controllers.size
        and all(isinstance(p, Steps) and p.every == 1 and not p.odd and not p.method for p in pieces)
        and all(p.flow is run.first for p in pieces)
    )


def _stepper(run: Linearised) -> NativeFixed:
    """Steps of the run, whoever took them: parameters and signals are given to each call."""
    plan, table = run.tape.plan, run.numbers(run.first).machine.table
    if isinstance(plan.stepper, NativeFixed):
        return plan.stepper
    s = plan.settings
    assert table is not None
    assert s.step is not None
    return NativeFixed(run.first, table, plan.signals, s.start, s.step, parameters=run.parameters)


class _RunLanes:
    """Runs that take the same steps, side by side. keep: the states stay in memory between calls."""

    def __init__(self, f: RunFunction, first: Linearised, thetas: np.ndarray, workers: int, keep: bool) -> None:
        self.first, self.workers, self.keep, self.b = first, workers, keep, len(thetas)
        made: list[tuple[Plan, RunState]] = [f._made(f._given(f._theta(row))) for row in thetas]
        self.plans = [plan for plan, _ in made]
        self.start = np.array([state.x for _, state in made])
        self.given = np.array([f._given_start(x, row) for x, row in zip(self.start, thetas)])
        self.pieces: list[Steps] = [p for p in first.tape.pieces if isinstance(p, Steps)]
        self.machine = first.numbers(first.first).machine
        self.numbers = [dict(plan.settings.parameters) for plan in self.plans]
        table = self.machine.table
        self.supplies = [Supply(plan.signals, first.variables, table) for plan in self.plans]
        self.moving = any(plan.signals.moving for plan in self.plans)
        self.stepper = _stepper(first)
        self._kept: list[np.ndarray] | None = None

    # -- numbers of the members

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Those that differ by run with the runs in front."""
        names = self.numbers[0]
        same = {n: all(np.array_equal(own[n], names[n]) for own in self.numbers) for n in names}
        return {n: v if same[n] else np.array([own[n] for own in self.numbers]) for n, v in names.items()}

    def _known(self, kernels: Any) -> dict[str, Any] | None:
        have = {p.name for k in kernels.values() for p in k.parameters}
        return {n: v for n, v in self.parameters.items() if n in have} or None

    def _rows(self, count: int) -> dict[str, Any]:
        """Parameters for `count` rows of each run, one after the other."""
        same = self.numbers[0]
        return {n: v if v is same[n] else np.repeat(v, count, axis=0) for n, v in self.parameters.items()}

    def _chains(self, pull: Pullback) -> list[np.ndarray]:
        """(nm, n) of each run."""
        first = self.first
        varied = any(v is not self.numbers[0][n] for n, v in self.parameters.items())

        def chain(own: dict[str, Any]) -> np.ndarray:
            return by_theta(chain_of(pull, own), pull.names, first.places, first.total)

        return [chain(own) for own in self.numbers] if varied else [chain(self.numbers[0])] * self.b

    def _held(self, t: float, h: float) -> np.ndarray:
        """(b, nu) what is held from t on."""
        return np.array([_held(plan.signals, t, h) for plan in self.plans]).reshape(self.b, -1)

    def _signals(self, begin: float, end: float, u: np.ndarray, instants: Any) -> Signals | None:
        if not u.shape[-1]:
            return None
        if not self.moving:
            return Signals([begin], u[:, None, :])
        found = [plan.signals.grid(row, begin, end, instants) for plan, row in zip(self.plans, u)]
        return Signals(found[0][0], np.array([values for _, values in found]))

    def _during(self, piece: Steps) -> Signals | None:
        """As `Supply.during`, of all runs."""
        instants = stage_times(self.supplies[0].table, piece.t, piece.h, piece.count) if self.moving else ()
        return self._signals(
            piece.t, piece.t_end, self._held(piece.t, self.first.tape.plan.settings.step or 0.0), instants
        )

    # -- forwards

    def states(self) -> list[np.ndarray]:
        """(b, count + 1, nx) of each piece."""
        if self._kept is not None:
            return self._kept
        out, x = [], self.start
        for piece in self.pieces:
            parts = [x[:, None]]
            for part in self._stretches(piece):
                parts.append(self._marched(part, parts[-1][:, -1]))
            out.append(np.concatenate(parts, axis=1))
            x = out[-1][:, -1]
        if self.keep:
            self._kept = out
        return out

    def _stretches(self, piece: Steps) -> list[Steps]:
        """The native calls that a single run makes: time and moving signals are counted from their beginnings."""
        stepper = self.stepper
        if piece.odd:
            return [piece]
        out: list[Steps] = []
        first, _ = stepper.index(piece.t)
        last = first + piece.count
        while first < last:
            stop = min(last, (first // stepper.chunk + 1) * stepper.chunk)
            t = stepper.start + first * stepper.step
            out.append(Steps(piece.flow, t, piece.h, stop - first, piece.x, piece.u))
            first = stop
        return out

    def _marched(self, part: Steps, x: np.ndarray) -> np.ndarray:
        stepper = self.stepper
        step = self.first.tape.plan.settings.step or 0.0
        end = part.t_end if part.odd else stepper.start + (stepper.index(part.t)[0] + part.count) * stepper.step
        instants = stage_times(stepper.method, part.t, part.h, part.count) if self.moving else ()
        run = stepper.march.fixed(
            stepper.method,
            x,
            part.t,
            part.h,
            part.count,
            1,
            signals=self._signals(part.t, end, self._held(part.t, step), instants),
            parameters=self._known(stepper.march.ports.kernels),
            threads=self.workers,
        )
        wrong = np.flatnonzero(np.asarray(run.status) != 0)
        if len(wrong):
            raise ModelError(
                f"run {wrong[0] + 1} of {self.b} of {self.first.first.name} that are to be differentiated does not "
                f"reach its end: it stops after t = {float(np.asarray(run.t_end)[wrong[0]]):g} s."
            )
        return np.asarray(run.x)

    def _widened(self, x: np.ndarray) -> np.ndarray:
        nz = self.first.nz
        return np.concatenate([x, np.zeros((*x.shape[:-1], nz))], axis=-1) if nz else x

    @cached_property
    def _integrals(self) -> np.ndarray:
        """(b, nz)"""
        z, m = np.zeros((self.b, self.first.nz)), self.machine
        if not self.first.nz:
            return z
        for piece, x in zip(self.pieces, self.states()):
            run = m.march.fixed(
                m.table,
                np.concatenate([x[:, 0], z], axis=1),
                piece.t,
                piece.h,
                piece.count,
                piece.count,
                signals=self._during(piece),
                parameters=self._known(m.march.ports.kernels),
                threads=self.workers,
            )
            z = np.asarray(run.x_end)[:, self.first.nx :]
        return z

    def _observed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(t (k,), x (b, k, nx), u (b, k, nu)) at the instants that are asked for."""
        first, states = self.first, self.states()
        step = first.tape.plan.settings.step or 0.0
        t = np.array([node.t for node in first.nodes])
        x = np.stack([self.start if n.piece < 0 else states[n.piece][:, n.step] for n in first.nodes], axis=1)
        u = np.zeros((self.b, len(t), self.supplies[0].signals.size))
        for j, node in enumerate(first.nodes):
            during = first.during(node)
            held = self._held(node.t if during is None else during.t, step)
            u[:, j] = [s.at(node.t, row) for s, row in zip(self.supplies, held)]
        return t, x, u

    @cached_property
    def y(self) -> np.ndarray:
        """(b, ny)"""
        first = self.first
        if not first.nodes:
            return self._integrals
        system, _ = observing(first.tape.plan.flow, first.requested.quantities)
        kernel = kernel_of(system)
        t, x, u = self._observed()
        k = len(t)
        flat = [np.tile(t, self.b), x.reshape(self.b * k, -1), u.reshape(self.b * k, -1)]
        named = first.first.layout.named(*flat)
        found = kernel(*(named[p.name] for p in kernel.inputs), parameters=numbers_for(kernel, self._rows(k)))
        rows = np.broadcast_to(np.asarray(found), (self.b * k, first.requested.width))
        return np.concatenate([rows.reshape(self.b, -1), self._integrals], axis=1)

    # -- backwards

    def vjp(self, weights: np.ndarray) -> np.ndarray:
        """(b, n) of weights (b, ny)."""
        first = self.first
        size = len(first.nodes) * first.requested.width
        lam = np.zeros((self.b, first.nx + first.nz))
        lam[:, first.nx :] = weights[:, size:]
        g = np.zeros((self.b, first.total))
        seeds: dict[int, list[tuple[int, np.ndarray]]] = {}
        inputs: dict[int, np.ndarray] = {}
        if size:
            rows, direct, by_signals = self._pull_observed(weights[:, :size].reshape(self.b, len(first.nodes), -1))
            g += direct
            for j, node in enumerate(first.nodes):
                inputs[node.piece] = inputs.get(node.piece, 0.0) + by_signals[:, j]
                seeds.setdefault(node.piece, []).append((node.step, self._widened(rows[:, j])))
        states = self.states()
        for k in reversed(range(len(self.pieces))):
            g = g + inputs.get(k, 0.0)
            lam, g = self._steps_back(self.pieces[k], self._widened(states[k]), lam, g, seeds.get(k, ()))
        for _, row in seeds.get(-1, ()):
            lam = lam + row
        return np.asarray((g + inputs.get(-1, 0.0) + self._start_back(lam))[:, : first.n])

    def _pull_observed(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(seeds (b, k, nx), directions (b, total), directions by the signals of each instant (b, k, total))."""
        first, k = self.first, w.shape[1]
        flow = first.tape.plan.flow
        pull = observed_pullback(flow, first.requested.quantities)
        t, x, u = self._observed()
        flat = [a.reshape(self.b * k, -1) for a in (x, u, w)]
        parts = called(pull, flow, self._rows(k), np.tile(t, self.b), *flat)
        g, by_signals = np.zeros((self.b, first.total)), np.zeros((self.b, k, first.total))
        if "gm" in parts:
            gm = parts["gm"].reshape(self.b, k, -1)
            for i, chain in enumerate(self._chains(pull)):
                g[i] += np.ascontiguousarray(gm[i]).sum(axis=0) @ chain
        if "gu" in parts and self.supplies[0].entries:
            gu = parts["gu"].reshape(self.b, k, -1)
            for i, supply in enumerate(self.supplies):
                for j, node in enumerate(first.nodes):
                    by_signals[i, j] = gu[i, j] @ supply.by_theta(node.t, first.begin(node))
        return parts["gx"].reshape(self.b, k, -1), g, by_signals

    def _steps_back(
        self, piece: Steps, states: np.ndarray, lam: np.ndarray, g: np.ndarray, seeds: Sequence[tuple[int, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray]:
        m = self.machine
        rows = np.zeros_like(states) if seeds else None
        for s, row in seeds:
            assert rows is not None
            rows[:, s] += row
        signals, inputs = self._during(piece), bool(self.supplies[0].entries)
        back = m.adjoint.fixed(
            m.table, states, lam, piece.t, piece.h, seeds=rows, signals=signals, inputs=inputs,
            parameters=self._known(m.adjoint.ports.kernels), threads=self.workers,
        )  # fmt: skip
        g = g + np.array([row @ chain for row, chain in zip(back.m, self._chains(m.pull))])
        if m.pulled is not None:
            g = g + np.array([row @ chain for row, chain in zip(back.v, self._chains(m.pulled))])
        if inputs and back.u is not None and signals is not None:
            knots = np.atleast_1d(np.asarray(signals.times))[: back.u.shape[-2]].tolist()
            g = g + np.array([s.gathered(knots, u, piece.t) for s, u in zip(self.supplies, back.u)])
        return back.lam, g

    def _start_back(self, lam: np.ndarray) -> np.ndarray:
        """(b, total); where the start is corrected, each run by itself."""
        first, nx = self.first, self.first.nx
        if first.start_flow.project is None:
            matrix, direct = first.of_start
            return np.array([row[:nx] @ direct + row[:nx] @ matrix for row in lam])
        t, out = float(first.tape.plan.settings.start), []
        held = self._held(self.pieces[0].t, first.tape.plan.settings.step or 0.0)
        for row, given, supply, own, u in zip(lam, self.given, self.supplies, self.numbers, held):
            matrix, direct = start_derivative(
                first.variables, first.first, first.start_flow, own, first.places, first.total, supply, t, given, u
            )
            out.append(row[:nx] @ direct + row[:nx] @ matrix)
        return np.array(out)


def _held(signals: InputSignals, t: float, h: float) -> np.ndarray:
    """(nu,) constants, and what tables hold from t on."""
    u = np.array(signals.start().values)
    for line, table in signals.tables:
        u[line.columns] = table_value(table, t + NEAR * h)
    return u
