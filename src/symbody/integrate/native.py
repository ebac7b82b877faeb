"""Drivers over the native march: explicit and splitting methods of fixed step, explicit adaptive ones; batches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from symbody.derived.kernels import kernel_of
from symbody.flow.flow import Flow
from symbody.flow.loop_guards import Lookout, guarded
from symbody.flow.signals import Feed
from symbody.integrate.brief import Brief
from symbody.integrate.locate import Crossing, Path, locate, locate_each, width
from symbody.integrate.step_grid import NEAR, hermite, stage_times, step_index, stride, together
from symbody.integrate.stepper import Leg
from symbody.march.march import March
from symbody.march.methods import METHODS, Method, RungeKutta, Splitting
from symbody.march.run import Signals
from symbody.memory import memory_of
from symbody.system.system import System
from symbody.trajectory.outcome import Outcome

WORK = 3e7  # operations in one call of the march, about a hundredth of a second
FEW = 2048  # steps in one call where loops are closed
FAILURES = {
    2: Outcome.NOT_FINITE,
    3: Outcome.STEP_TOO_SMALL,
    4: Outcome.TOO_MANY_STEPS,
    5: Outcome.NOT_CONVERGED,
    1: Outcome.LOOP_OPENED,  # of a batch, which has no events
}


def kernels(flow: Flow) -> dict[str, Any]:
    """Kernels of a Flow's Systems, made once: rates, project, record, guards."""
    return {k: kernel_of(s) for k, s in flow.systems.items() if k not in ("balance", "events", "impact", "watch")}


def guards_of(flow: Flow, look: Lookout | None) -> Any:
    """The Kernel of a Flow's guards: of its events, and with a lookout those of its loops after them; or None."""
    if look is not None:
        return kernel_of(memory_of(flow).get("guarded", (), lambda: guarded(flow)))
    return None if flow.guards is None else kernel_of(flow.guards)


def drift_of(flow: Flow) -> Any:
    """How positions move: "velocities" where their rates are just those, else a Kernel of the rates of positions."""
    rates = flow.rates
    names = [rates.states[q] for q, _ in flow.second]
    plain = all(
        rates.inputs[qd].shape == rates.outputs[rate].shape
        and all(a is b for a, b in zip(rates.inputs[qd].flat, rates.outputs[rate].flat))
        for rate, (_, qd) in zip(names, flow.second)
    )
    if plain:
        return "velocities"
    outputs = {n: rates.outputs[n] for n in names}

    def make() -> System:
        return System(f"{rates.name}_drift", inputs=rates.inputs, outputs=outputs, parameters=rates.parameters)

    return kernel_of(memory_of(flow).get("drift", (), make))


class Native:
    """What both kinds of Driver share: the march of a Flow, its parameters, signals and guards.

    x is (nx,), or (b, nx) for a batch, whose members that failed hold NaN.
    """

    def __init__(
        self,
        flow: Flow,
        method: str | Method,
        feed: Feed,
        parameters: Mapping[str, Any] | None = None,
        directions: np.ndarray | None = None,
        passive: np.ndarray | None = None,
        threads: int | None = None,
        look: Lookout | None = None,
    ) -> None:
        made = kernels(flow)
        self.flow, self.feed = flow, feed
        self.method: Method = METHODS[method] if isinstance(method, str) else method
        self.kernels = made
        self.look = look
        self.parameters = dict(parameters) if parameters else None
        self.threads = threads
        self.directions = np.zeros(self.events, dtype=int) if directions is None else np.asarray(directions, dtype=int)
        self.passive = np.zeros(self.events, dtype=bool) if passive is None else np.asarray(passive, dtype=bool)
        self.opened: dict[int, tuple[float, np.ndarray]] = {}  # member of a batch -> where its loops opened
        self.march = self._made()
        stages = self.method.stages if isinstance(self.method, RungeKutta) else 4
        self.chunk = max(16, int(WORK / (stages * (self.march.ports.main.signature.operations + 20 * flow.nx))))

    def _made(self) -> March:
        return March(
            self.kernels["rates"],
            dict(self.flow.rates.states),
            second=self.flow.second,
            project=self.kernels.get("project"),
            guards=guards_of(self.flow, self.look),
            drift=drift_of(self.flow) if isinstance(self.method, Splitting) else None,
        )

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"parameters": self._numbers(), "threads": self.threads}
        directions, passive = self.directions, self.passive
        if self.look is not None:
            directions = np.concatenate([directions, self.look.directions])
            passive = np.concatenate([passive, np.zeros(len(self.look.directions), dtype=bool)])
        return {**options, "directions": directions, "passive": passive}

    def _numbers(self) -> dict[str, Any] | None:
        """Parameters, and the levels of the lookout."""
        return self.parameters if self.look is None else {**(self.parameters or {}), **self.look.numbers()}

    def _fixed(
        self, x: np.ndarray, t: float, h: float, steps: int, every: int, signals: Signals | None, **options: Any
    ) -> Any:
        """Equal steps in one native call."""
        return self.march.fixed(self.method, x, t, h, steps, every, signals=signals, **options)

    def _signals(self, start: float, end: float, instants: Any) -> Signals | None:
        if not self.feed.size:
            return None
        if not self.feed.moving:
            held = self.feed.held
            return Signals([start], held if held.ndim == 1 else held[:, None, :])
        times, values = self.feed.grid(start, end, np.asarray(instants, dtype=float))
        return Signals(times, values)

    def _arguments(self, t: Any, x: np.ndarray, u: np.ndarray) -> list[Any]:
        """Inputs of the Flow's Kernels in their order, for states x (..., nx) at times t (...,)."""
        states = self.flow.split(x)
        out: list[Any] = [*states.values(), t]
        at = 0
        for name in self.flow.signals:
            symbols = self.flow.rates.inputs[name]
            part = u[..., at : at + symbols.size]
            out.append(part.reshape(part.shape[:-1] + symbols.shape))
            at += symbols.size
        return out

    def call(self, kind: str, t: Any, x: np.ndarray, u: np.ndarray) -> Any:
        """A Kernel of the Flow at many states at once; a solve block that fails gives NaN."""
        parameters = loops_of(self.parameters, self.flow, x.ndim)
        kernel = self.kernels[kind]
        return kernel.call_with_status(*self._arguments(t, x, u), parameters=parameters, threads=self.threads)[0]

    def rates(self, t: Any, x: np.ndarray) -> np.ndarray:
        """(..., nx) rates at states (..., k, nx) and times (k,), with the signals as they are."""
        found = self.call("rates", t, x, self._signals_at(t))
        return joined(found, self.flow, [self.flow.rates.states[n] for n in self.flow.states], x.shape)

    def project(self, t: Any, x: np.ndarray) -> np.ndarray:
        """States (..., k, nx) at times (k,), corrected."""
        if "project" not in self.kernels or not x.size:
            return x
        return joined(self.call("project", t, x, self._signals_at(t)), self.flow, self.flow.states, x.shape)

    def _signals_at(self, t: Any) -> np.ndarray:
        times = np.atleast_1d(t)
        values = np.stack([self.feed.at(float(s)) for s in times], axis=-2) if self.feed.moving else None
        if values is None:
            return self.feed.held if np.ndim(t) == 0 else self.feed.held[..., None, :]
        return values[..., 0, :] if np.ndim(t) == 0 else values

    def guards(self, t: float, x: np.ndarray) -> np.ndarray:
        """(ng,) guards of the events at one state."""
        found: np.ndarray = np.asarray(self.call("guards", t, x, self.feed.at(t)))
        return found

    @property
    def events(self) -> int:
        """Number of guards that are events; those of the lookout follow."""
        return 0 if self.flow.guards is None else int(self.flow.guards.output("guard").size)

    def _looked(self, run: Any) -> bool:
        """Whether only the lookout ended a run of one state."""
        return int(run.status) == 1 and not np.asarray(run.crossed)[: self.events][~self.passive].any()

    def _members(self, run: Any, end: np.ndarray) -> None:
        """What became of the members of a batch; end (b, nx) is NaN from now on where they failed."""
        self.failed = np.asarray(run.status)
        for i in np.flatnonzero(self.failed == 1):
            self.opened.setdefault(int(i), (float(np.ravel(run.t_end)[i]), end.copy()))
        end[self.failed != 0] = np.nan

    def _path(self, run: Any) -> Path:
        """States inside the last step of a run, or a step of its log: it is done again up to an instant, once."""
        t0, t1, x0, x1 = float(run.t_before), float(run.t_end), np.array(run.x_before), np.array(run.x_end)

        @cache
        def path(s: float) -> np.ndarray:
            if s <= t0 or s >= t1:
                return x0 if s <= t0 else x1
            return self._tried(t0, x0, s)

        return path

    def _tried(self, t0: float, x0: np.ndarray, s: float) -> np.ndarray:
        """The state at s, after one step from (t0, x0)."""
        signals = self._signals(t0, s, stage_times(self.method, t0, s - t0, 1))
        return np.asarray(self._fixed(x0, t0, s - t0, 1, 1, signals, parameters=self._numbers()).x_end)

    def _logged(self, run: Any) -> list[Crossing]:
        """Crossings of passive guards in the steps of a run, but for its last one where a guard ended it."""
        return [crossing for step in run.log for crossing in self._passed(step, float(step.t_end))]

    def _passed(self, step: Any, end: float) -> list[Crossing]:
        """Crossings of passive guards in the part of a step (or the last of a run) up to `end`."""
        t0, way = float(step.t_before), np.asarray(step.crossed)[: self.events]
        which = np.flatnonzero((way != 0) & self.passive)
        if not len(which):
            return []
        path = self._path(step)
        before, after = self.guards(t0, path(t0)), self.guards(end, path(end))
        # the step before ended a rounding of t short of the crossing
        at_start = [int(k) for k in which if before[k] * way[k] >= 0]
        inside = [int(k) for k in which if before[k] * way[k] < 0 <= after[k] * way[k]]
        first = [Crossing(t0, path(t0), tuple(at_start))] if at_start else []
        found = first + locate_each(path, self.guards, t0, end, before, after, inside)
        later = min(end + 2 * width(t0, float(step.t_end)), float(step.t_end))
        if later > end:  # where an event acts, those within its bracket happen with it
            beyond = self.guards(later, path(later))
            same = [int(k) for k in which if before[k] * way[k] < 0 and after[k] * way[k] < 0 <= beyond[k] * way[k]]
            found += [Crossing(end, path(later), tuple(same))] if same else []
        return found

    def _located(self, run: Any) -> tuple[Crossing, list[Crossing]]:
        """The first event that acts inside the last step, and those before it that record."""
        t0, t1 = float(run.t_before), float(run.t_end)
        acting = np.flatnonzero(~self.passive)
        path = self._path(run)

        def guards(t: float, x: np.ndarray) -> np.ndarray:
            return self.guards(t, x)[acting]

        before, after = guards(t0, path(t0)), guards(t1, path(t1))
        way = np.asarray(run.crossed)[acting]
        at_start = np.flatnonzero((way != 0) & (before * way >= 0))
        if len(at_start):  # the step before ended a rounding of t short of the crossing
            found = Crossing(t0, path(t0), tuple(at_start.tolist()))
        else:
            found = locate(path, guards, t0, t1, before, after, self.directions[acting])
        event = Crossing(found.t, found.x, tuple(acting[list(found.events)].tolist()))
        return event, self._passed(run, found.t)


def joined(found: Any, flow: Flow, names: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Named outputs (several or one) as one flat last dimension."""
    named = found._asdict() if hasattr(found, "_asdict") else {next(iter(names)): found}
    core = [flow.rates.inputs[n].ndim for n in flow.states]
    parts = [np.asarray(named[n]) for n in names]
    return np.concatenate([p.reshape(*p.shape[: p.ndim - c], -1) for p, c in zip(parts, core)], axis=-1).reshape(shape)


def loops_of(parameters: Mapping[str, Any] | None, flow: Flow, ndim: int) -> dict[str, Any] | None:
    """Parameters for states (..., nx) of so many dimensions: samples stand between the batch and the components."""
    if not parameters:
        return None
    if ndim < 3:
        return dict(parameters)
    known = flow.parameters
    arrays = {n: np.asarray(v, dtype=float) for n, v in parameters.items()}
    return {n: a if a.ndim == known[n].ndim else np.expand_dims(a, 1) for n, a in arrays.items()}


# -- fixed steps


class NativeFixed(Native):
    """Steps from start + k step; an end (or a beginning) between two of them is reached by a shorter step."""

    brief: Brief | None = None

    def __init__(self, flow: Flow, method: str | Method, feed: Feed, start: float, step: float, **options: Any) -> None:
        super().__init__(flow, method, feed, **options)
        self.start, self.step = start, step
        # parameters of a batch differ by member; guards and signals that move are left to the march
        if feed.jumps and not feed.moving and feed.batch is None and flow.guards is None:
            if isinstance(self.method, RungeKutta):
                self.brief = Brief(flow, self.kernels, self.method, self.parameters)

    def index(self, t: float) -> tuple[int, bool]:
        """(k, exact): the last step instant that is not after t, and whether t is that instant."""
        return step_index(self.start, self.step, t)

    def border(self, t: float) -> float:
        """The end of the native call that begins at t: whole multiples of a chunk, whoever asks."""
        k, _ = self.index(t)
        return self.start + (k // self.chunk + 1) * self.chunk * self.step

    def advance(self, t: float, x: np.ndarray, t_end: float, times: np.ndarray) -> Leg:
        """See `Driver`."""
        legs: list[Leg] = []
        for begin, h, steps, end in self._pieces(t, t_end):
            inside = times[(times > t) & (times <= end)] if end < t_end else times[times > t]
            legs.append(self._piece(begin, h, steps, end, x, inside))
            t, x = legs[-1].t_end, legs[-1].x_end
            if legs[-1].events or not legs[-1].outcome.ok or legs[-1].before is not None:
                break
        return legs[0] if len(legs) == 1 else together(legs)

    def _pieces(self, t: float, t_end: float) -> list[tuple[float, float, int, float]]:
        """(begin, step, number of steps, end): to the next step instant, whole steps, and what is left."""
        out: list[tuple[float, float, int, float]] = []
        k, exact = self.index(t)
        last, fits = self.index(t_end)
        if not exact:
            after = self.start + (k + 1) * self.step
            if last < k + 1:
                return [(t, t_end - t, 1, t_end)]
            out.append((t, after - t, 1, after))
            k += 1
        if last > k:
            end = t_end if fits else self.start + last * self.step
            out.append((self.start + k * self.step, self.step, last - k, end))
        if not fits:
            begin = self.start + last * self.step
            out.append((begin, t_end - begin, 1, t_end))
        return out

    def _piece(self, t: float, h: float, steps: int, t_end: float, x: np.ndarray, times: np.ndarray) -> Leg:
        """Equal steps in one native call, and samples of them: at step instants, else by Hermite's cubic."""
        if steps == 1 and self.brief is not None and (not len(times) or times[0] >= t_end - NEAR * h):
            after = self.brief.step(t, h, x, self.feed.held)
            if after is not None:
                count = {"steps": 1, "evaluations": len(self.brief.method.b)}
                return Leg(times, np.repeat(after[None], len(times), axis=0), t_end, after, statistics=count)
        places = (times - t) / h
        whole = np.rint(places).astype(int)
        slack = np.maximum(NEAR, 8 * np.finfo(float).eps * np.abs(times) / h)
        on = np.abs(places - whole) <= slack
        every = stride(whole, steps) if on.all() else 1
        signals = self._signals(t, t_end, stage_times(self.method, t, h, steps) if self.feed.moving else ())
        run = self._fixed(x, t, h, steps, every, signals, **self._options())
        got = np.asarray(run.x)
        reached = math.inf if x.ndim == 2 else int(run.steps)
        recorded = self._logged(run)
        stats = {n: int(np.sum(getattr(run, n))) for n in ("steps", "evaluations")}
        if x.ndim == 1 and self._looked(run):
            # nor is it if the lookout ended the run there, but it is complete
            recorded += self._passed(run, float(run.t_end))
            if reached % every == 0:
                got = np.concatenate([got, np.asarray(run.x_end)[None]])
            keep = places <= reached + NEAR
            values = self._sampled(t, h, x, got, every, whole, on, places, keep)
            end, x_before = np.array(run.x_end), np.array(run.x_before)
            if reached == steps:
                before = (t_end - h, x_before)
                return Leg(times[keep], values, t_end, end, statistics=stats, before=before, recorded=tuple(recorded))
            k = self.index(t)[0] + int(reached)
            before, now = (self.start + (k - 1) * self.step, x_before), self.start + k * self.step
            return Leg(times[keep], values, now, end, statistics=stats, before=before, recorded=tuple(recorded))
        if x.ndim == 1 and int(run.status) == 1:
            # the step with the event is not part of what was recorded
            event, passed = self._located(run)
            keep = times <= event.t
            values = self._sampled(t, h, x, got, every, whole, on, places, keep & (places <= reached - 1 + NEAR))
            late = times[keep & ~(places <= reached - 1 + NEAR)]
            if len(late):
                t0, x0 = float(run.t_before), np.asarray(run.x_before)
                values = np.concatenate([values, [self._tried(t0, x0, s) for s in late]])
            recorded += passed
            return _at_event(times[keep], values, event, recorded, stats)
        if x.ndim == 1 and int(run.status) != 0:
            keep = places <= reached + NEAR
            values = self._sampled(t, h, x, got, every, whole, on, places, keep)
            outcome, end = FAILURES[int(run.status)], np.asarray(run.x_end)
            at = float(run.t_end)
            return Leg(times[keep], values, at, end, outcome, statistics=stats, recorded=tuple(recorded))
        end = np.array(run.x_end)
        if x.ndim == 2:
            self._members(run, end)
        values = self._sampled(t, h, x, got, every, whole, on, places, np.ones(len(times), dtype=bool))
        return Leg(times, values, t_end, end, statistics=stats, recorded=tuple(recorded))

    def _sampled(
        self, t: float, h: float, x: np.ndarray, got: np.ndarray, every: int, whole: np.ndarray, on: np.ndarray,
        places: np.ndarray, keep: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """(..., k, nx) states at the chosen instants."""
        if on[keep].all():
            return np.take(got, whole[keep] // every - 1, axis=-2)
        states = np.concatenate([x[..., None, :], got], axis=-2)
        places, on, whole = places[keep], on[keep], whole[keep]
        low = np.clip(np.where(on, whole, np.floor(places)).astype(int), 0, states.shape[-2] - 1)
        high = np.minimum(low + 1, states.shape[-2] - 1)
        instants = t + np.arange(states.shape[-2]) * h
        x0, x1 = states[..., low, :], states[..., high, :]
        f0, f1 = self.rates(instants[low], x0), self.rates(instants[high], x1)
        s = np.where(on, 0.0, places - low)[:, None]
        values = hermite(s, h, x0, x1, f0, f1)
        between = self.project(t + places * h, values)
        return np.where(on[:, None], x0, between)


def _at_event(t: np.ndarray, x: np.ndarray, event: Crossing, recorded: list[Crossing], stats: dict[str, int]) -> Leg:
    return Leg(t, x, event.t, event.x, events=event.events, statistics=stats, recorded=tuple(recorded))


# -- adaptive steps


class NativeAdaptive(Native):
    """Steps chosen by the error of an embedded method; samples by its continuous extension."""

    def __init__(
        self, flow: Flow, method: str | Method, feed: Feed, rtol: float, atol: float | np.ndarray,
        max_steps: int = 10**7, max_step: float = math.inf, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(flow, method, feed, **options)
        self.rtol, self.atol, self.max_steps, self.max_step = rtol, atol, max_steps, max_step
        self.next: Any = None  # proposal for the next step

    def border(self, t: float) -> float:
        """Nowhere: a call ends after so many steps."""
        return math.inf

    def advance(self, t: float, x: np.ndarray, t_end: float, times: np.ndarray) -> Leg:
        """See `Driver`; it may end early, after a number of steps, and wants to be called again."""
        single = x.ndim == 1
        chunk, longest = self.chunk, self.max_step
        if self.look is not None and single:
            # loops are closed again from the step before: none may turn its joints beyond that branch
            chunk = min(chunk, FEW)
            longest = min(longest, self.look.longest(x))
        steps = min(chunk, self.max_steps) if single else self.max_steps
        signals = self._signals(t, t_end, ())
        assert isinstance(self.method, RungeKutta)
        run = self.march.adaptive(
            self.method, x, t, t_end, times, rtol=self.rtol, atol=self.atol, first_step=self.next,
            max_step=longest, max_steps=steps, signals=signals, **self._options(),
        )  # fmt: skip
        self.next = np.array(run.h_next) if not single else float(run.h_next)
        stats = {n: int(np.sum(getattr(run, n))) for n in ("steps", "rejected", "evaluations")}
        if not single:
            end = np.array(run.x_end)
            self._members(run, end)
            values = self.project(times, np.asarray(run.x))
            return Leg(times, values, t_end, end, statistics=stats)
        count = int(run.samples)
        status, at, state = int(run.status), float(run.t_end), np.asarray(run.x_end)
        values = self.project(times[:count], np.asarray(run.x)[:count])
        recorded = self._logged(run)
        if self._looked(run):
            before = (float(run.t_before), np.array(run.x_before))
            recorded += self._passed(run, at)
            return Leg(times[:count], values, at, state, statistics=stats, before=before, recorded=tuple(recorded))
        if status == 1:
            event, passed = self._located(run)
            recorded += passed
            keep = times[:count] <= event.t
            return _at_event(times[:count][keep], values[keep], event, recorded, stats)
        if status == 4 and steps == chunk:
            status = 0
        outcome = FAILURES.get(status, Outcome.FINISHED)
        return Leg(times[:count], values, at, state, outcome, statistics=stats, recorded=tuple(recorded))

    def memory(self) -> dict[str, np.ndarray]:
        """What the next call depends on besides time and state."""
        return {} if self.next is None else {"next": np.asarray(self.next)}

    def recall(self, memory: Mapping[str, np.ndarray]) -> None:
        """Back to where `memory` was taken."""
        found = memory.get("next")
        self.next = None if found is None else float(found) if np.ndim(found) == 0 else np.array(found)
