"""Steppers over the native march: explicit and splitting methods of fixed step, explicit adaptive ones; batches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from symbody.basics.memory import memory_of
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.flow_kernels import FlowKernels, kernels
from symbody.motion.flow.loop_guards import LoopGuards, guarded
from symbody.motion.flow.signals import InputSignals
from symbody.motion.march.march import March
from symbody.motion.march.method_tables import METHODS, Method, RungeKutta, Splitting
from symbody.motion.march.run import Signals
from symbody.motion.methods.locate import Crossing, Path, locate, locate_each, width
from symbody.motion.methods.numpy_steps import NumpyStep
from symbody.motion.methods.step_grid import NEAR, hermite, stage_times, step_index, stride, together
from symbody.motion.methods.stepper import NOTHING, Leg, Memory, Start, check_arrays
from symbody.motion.trajectory.outcome import Outcome
from symbody.symbolic.system.system import System

WORK = 3e7  # operations in one call of the march, about a hundredth of a second
FEW = 2048  # steps in one call where loops are closed
OUTCOMES = {
    0: Outcome.FINISHED,
    2: Outcome.NOT_FINITE,
    3: Outcome.STEP_TOO_SMALL,
    4: Outcome.TOO_MANY_STEPS,
    5: Outcome.NOT_CONVERGED,
}


def guards_of(flow: Flow, loops: LoopGuards | None) -> Any:
    """The Kernel of a Flow's guards: of its events, and those of its loops after them; or None."""
    if loops is not None:
        return kernel_of(memory_of(flow).get("guarded", (), lambda: guarded(flow)))
    return None if flow.guards is None else kernel_of(flow.guards)


def drift_of(flow: Flow) -> Any:
    """Rates of the positions: "velocities" where they are just those, else a Kernel of them."""
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


def march_of(flow: Flow, splitting: bool, loops: bool, guards: Any) -> March:
    """The march of a Flow, made once for each kind of method: it is stateless."""

    def make() -> March:
        made = kernels(flow)
        return March(
            made["rates"],
            dict(flow.rates.states),
            second=flow.second,
            project=made.get("project"),
            guards=guards,
            drift=drift_of(flow) if splitting else None,
        )

    return memory_of(flow).get("march", (splitting, loops), make)


class Native:
    """What both kinds of Stepper share: the march of a Flow, its parameters, its signals, its guards."""

    handles = NOTHING

    def __init__(
        self,
        flow: Flow,
        method: str | Method,
        signals: InputSignals,
        parameters: Mapping[str, Any] | None = None,
        directions: np.ndarray | None = None,
        passive: np.ndarray | None = None,
        threads: int | None = None,
        loops: LoopGuards | None = None,
    ) -> None:
        self.flow, self.signals = flow, signals
        self.method: Method = METHODS[method] if isinstance(method, str) else method
        self.loops = loops
        self.parameters = dict(parameters) if parameters else None
        self.threads = threads
        self.kernels = FlowKernels(flow, parameters, threads)
        # number of guards that are events; those of the loops follow
        self.events = 0 if flow.guards is None else int(flow.guards.output("guard").size)
        self.directions = np.zeros(self.events, dtype=int) if directions is None else np.asarray(directions, dtype=int)
        self.passive = np.zeros(self.events, dtype=bool) if passive is None else np.asarray(passive, dtype=bool)
        splitting = isinstance(self.method, Splitting)
        self.march = march_of(flow, splitting, loops is not None, guards_of(flow, loops))
        stages = self.method.stages if isinstance(self.method, RungeKutta) else 4
        self.chunk = max(16, int(WORK / (stages * (self.march.ports.main.signature.operations + 20 * flow.nx))))

    def options(self, start: Start) -> dict[str, Any]:
        """Keyword arguments of a call of the march."""
        options: dict[str, Any] = {"parameters": self._numbers(start), "threads": self.threads}
        directions, passive = self.directions, self.passive
        if self.loops is not None:
            directions = np.concatenate([directions, self.loops.directions])
            passive = np.concatenate([passive, np.zeros(len(self.loops.directions), dtype=bool)])
        return {**options, "directions": directions, "passive": passive}

    def together(self) -> bool:
        """Whether runs of one state by Steppers of the same kind can be advanced in one call: where nothing happens on
        the way but for closed loops, and signals are constant."""
        return self.events == 0 and not self.signals.moving and self.signals.batch is None

    def _options_of(self, parts: Sequence[tuple[Native, Start]]) -> dict[str, Any]:
        """Keyword arguments of one march of several runs that are alike: this one is the first of them."""
        numbers = [stepper._numbers(start) or {} for stepper, start in parts]
        options = self.options(parts[0][1])
        options["parameters"] = {n: np.array([own[n] for own in numbers]) for n in numbers[0]} or None
        if self.signals.size:
            options["signals"] = Signals([0.0], np.array([start.u for _, start in parts])[:, None, :])
        return options

    def _numbers(self, start: Start) -> dict[str, Any] | None:
        """Parameters, and the levels of the loops' guards."""
        if self.loops is None:
            return self.parameters
        levels = start.levels or self.loops.no_levels()
        return {**(self.parameters or {}), **self.loops.numbers(levels)}

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
        """Equal steps in one native call."""
        return self.march.fixed(self.method, x, t, h, steps, every, signals=signals, **options)

    def table(self, start: Start, begin: float, end: float, instants: Any) -> Signals | None:
        """Signals on an interval as the march takes them."""
        if not self.signals.size:
            return None
        if not self.signals.moving:
            held = start.u
            return Signals([begin], held if held.ndim == 1 else held[:, None, :])
        times, values = self.signals.grid(start.u, begin, end, np.asarray(instants, dtype=float))
        return Signals(times, values)

    def rates(self, start: Start, t: Any, x: np.ndarray) -> np.ndarray:
        """(..., nx) rates at states (..., k, nx) and times (k,), with the signals as they are."""
        return self.kernels.rates(t, x, self.signals.at_times(t, start.u))

    def project(self, start: Start, t: Any, x: np.ndarray) -> np.ndarray:
        """States (..., k, nx) at times (k,), corrected."""
        if not x.size or self.flow.project is None:
            return x
        return self.kernels.project(t, x, self.signals.at_times(t, start.u))

    def guards(self, start: Start, t: float, x: np.ndarray) -> np.ndarray:
        """(ng,) guards of the events at one state."""
        return self.kernels.guards(t, x, self.signals.at(t, start.u))

    def _looked(self, run: Any) -> bool:
        """Whether only the loops' guards ended a run of one state."""
        if int(run.status) != 1:
            return False
        return self.events == 0 or not np.asarray(run.crossed)[: self.events][~self.passive].any()

    def _members(self, run: Any, end: np.ndarray) -> dict[str, Any]:
        """What became of the members of a batch; end (b, nx) is NaN from now on where they failed."""
        status = np.asarray(run.status)
        end[status != 0] = np.nan
        return {"members": np.array([OUTCOMES[int(s)] for s in status], dtype=object)}

    def _path(self, start: Start, run: Any) -> Path:
        """States inside the last step of a run, or a step of its log: it is done again up to an instant, once."""
        t0, t1, x0, x1 = float(run.t_before), float(run.t_end), np.array(run.x_before), np.array(run.x_end)

        @cache
        def path(s: float) -> np.ndarray:
            if s <= t0 or s >= t1:
                return x0 if s <= t0 else x1
            return self._tried(start, t0, x0, s)

        return path

    def _tried(self, start: Start, t0: float, x0: np.ndarray, s: float) -> np.ndarray:
        """The state at s, after one step from (t0, x0)."""
        signals = self.table(start, t0, s, stage_times(self.method, t0, s - t0, 1))
        return np.asarray(self.fixed(start, x0, t0, s - t0, 1, 1, signals, parameters=self._numbers(start)).x_end)

    def _logged(self, start: Start, run: Any) -> list[Crossing]:
        """Crossings of passive guards in the steps of a run, but for its last one where a guard ended it."""
        return [crossing for step in run.log for crossing in self._passed(start, step, float(step.t_end))]

    def _passed(self, start: Start, step: Any, end: float) -> list[Crossing]:
        """Crossings of passive guards in the part of a step (or the last of a run) up to `end`."""
        if not self.events:
            return []
        t0, way = float(step.t_before), np.asarray(step.crossed)[: self.events]
        which = np.flatnonzero((way != 0) & self.passive)
        if not len(which):
            return []
        path, guards = self._path(start, step), self._guard_function(start)
        before, after = guards(t0, path(t0)), guards(end, path(end))
        # the step before ended a rounding of t short of the crossing
        at_start = [int(k) for k in which if before[k] * way[k] >= 0]
        inside = [int(k) for k in which if before[k] * way[k] < 0 <= after[k] * way[k]]
        first = [Crossing(t0, path(t0), tuple(at_start))] if at_start else []
        found = first + locate_each(path, guards, t0, end, before, after, inside)
        later = min(end + 2 * width(t0, float(step.t_end)), float(step.t_end))
        if later > end:  # where an event acts, those within its bracket happen with it
            beyond = guards(later, path(later))
            same = [int(k) for k in which if before[k] * way[k] < 0 and after[k] * way[k] < 0 <= beyond[k] * way[k]]
            found += [Crossing(end, path(later), tuple(same))] if same else []
        return found

    def _guard_function(self, start: Start) -> Any:
        return lambda t, x: self.guards(start, t, x)

    def _located(self, start: Start, run: Any) -> tuple[Crossing, list[Crossing]]:
        """The first event that acts inside the last step, and those before it that record."""
        t0, t1 = float(run.t_before), float(run.t_end)
        acting = np.flatnonzero(~self.passive)
        path = self._path(start, run)

        def guards(t: float, x: np.ndarray) -> np.ndarray:
            return self.guards(start, t, x)[acting]

        before, after = guards(t0, path(t0)), guards(t1, path(t1))
        way = np.asarray(run.crossed)[acting]
        at_start = np.flatnonzero((way != 0) & (before * way >= 0))
        if len(at_start):  # the step before ended a rounding of t short of the crossing
            found = Crossing(t0, path(t0), tuple(at_start.tolist()))
        else:
            found = locate(path, guards, t0, t1, before, after, self.directions[acting])
        event = Crossing(found.t, found.x, tuple(acting[list(found.events)].tolist()))
        return event, self._passed(start, run, found.t)


# -- fixed steps


class NativeFixed(Native):
    """Steps from start + k step; an end (or a beginning) between two of them is reached by a shorter step."""

    numpy_step: NumpyStep | None = None

    def __init__(
        self, flow: Flow, method: str | Method, signals: InputSignals, start: float, step: float, **options: Any
    ) -> None:
        super().__init__(flow, method, signals, **options)
        self.start, self.step = start, step
        # parameters of a batch differ by member; guards and signals that move are left to the march
        if signals.jumps and not signals.moving and signals.batch is None and flow.guards is None:
            if isinstance(self.method, RungeKutta):
                self.numpy_step = NumpyStep(flow, kernels(flow), self.method, self.parameters)

    def index(self, t: float) -> tuple[int, bool]:
        """(k, exact): the last step instant that is not after t, and whether t is that instant."""
        return step_index(self.start, self.step, t)

    def border(self, t: float, end: float) -> float:
        """The end of the native call that begins at t: whole multiples of a chunk, whoever asks."""
        k, _ = self.index(t)
        return self.start + (k // self.chunk + 1) * self.chunk * self.step

    def advance(self, start: Start, stop: float, times: np.ndarray) -> tuple[Leg, Memory]:
        """See `Stepper`; explicit methods of fixed step carry nothing."""
        return self._advance(start, stop, times), {}

    def _advance(self, start: Start, t_end: float, times: np.ndarray) -> Leg:
        t, x = start.t, start.x
        legs: list[Leg] = []
        for begin, h, steps, end in self._pieces(t, t_end):
            inside = times[(times > t) & (times <= end)] if end < t_end else times[times > t]
            legs.append(self._piece(start, begin, h, steps, end, x, inside))
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

    def _piece(
        self, start: Start, t: float, h: float, steps: int, t_end: float, x: np.ndarray, times: np.ndarray
    ) -> Leg:
        """Equal steps in one native call, and samples of them: at step instants, else by Hermite's cubic."""
        if steps == 1 and self.numpy_step is not None and (not len(times) or times[0] >= t_end - NEAR * h):
            after = self.numpy_step.step(t, h, x, start.u)
            if after is not None:
                count = {"steps": 1, "evaluations": len(self.numpy_step.method.b)}
                return Leg(times, np.repeat(after[None], len(times), axis=0), t_end, after, statistics=count)
        every = _places(times, t, h, steps)[3]
        instants = stage_times(self.method, t, h, steps) if self.signals.moving else ()
        signals = self.table(start, t, t_end, instants)
        run = self.fixed(start, x, t, h, steps, every, signals, **self.options(start))
        return self._piece_leg(start, t, h, steps, t_end, x, times, run)

    def together(self) -> bool:
        """Whether runs of one state by Steppers of the same kind can be advanced in one call."""
        return super().together() and self.numpy_step is None

    @staticmethod
    def alike(start: Start, stop: float) -> Any:
        """Runs with the same can be: the pieces of their way are the same."""
        return start.t, stop

    @staticmethod
    def advance_all(parts: Sequence[tuple[NativeFixed, Start]], stop: float, times: Sequence[np.ndarray]) -> list[Any]:
        """(Leg, Memory) of each run, as `advance` gives it."""
        one, start = parts[0]
        pieces = one._pieces(start.t, stop)
        if len(pieces) > 1:  # a piece may end the stretch of one run, and not of another
            return [stepper.advance(s, stop, own) for (stepper, s), own in zip(parts, times, strict=True)]
        t, h, steps, end = pieces[0]
        wanted = times[0][times[0] > start.t]
        options = one._options_of(parts)
        x = np.array([s.x for _, s in parts])
        run = one.march.fixed(one.method, x, t, h, steps, _places(wanted, t, h, steps)[3], **options)
        return [
            (stepper._piece_leg(s, t, h, steps, end, s.x, wanted, run.member(k)), {})
            for k, (stepper, s) in enumerate(parts)
        ]

    def _piece_leg(
        self, start: Start, t: float, h: float, steps: int, t_end: float, x: np.ndarray, times: np.ndarray, run: Any
    ) -> Leg:
        """What a native call gave."""
        places, whole, on, every = _places(times, t, h, steps)
        got = np.asarray(run.x)
        reached = math.inf if x.ndim == 2 else int(run.steps)
        recorded = self._logged(start, run)
        stats = _counts(run, "steps", "evaluations")
        if x.ndim == 1 and self._looked(run):
            # nor is it if the guards of loops ended the run there, but it is complete
            recorded += self._passed(start, run, float(run.t_end))
            if reached % every == 0:
                got = np.concatenate([got, np.asarray(run.x_end)[None]])
            keep = places <= reached + NEAR
            values = self._sampled(start, t, h, x, got, every, whole, on, places, keep)
            end, x_before = np.array(run.x_end), np.array(run.x_before)
            if reached == steps:
                before = (t_end - h, x_before)
                return Leg(times[keep], values, t_end, end, statistics=stats, before=before, recorded=tuple(recorded))
            k = self.index(t)[0] + int(reached)
            before, now = (self.start + (k - 1) * self.step, x_before), self.start + k * self.step
            return Leg(times[keep], values, now, end, statistics=stats, before=before, recorded=tuple(recorded))
        if x.ndim == 1 and int(run.status) == 1:
            # the step with the event is not part of what was recorded
            event, passed = self._located(start, run)
            keep = times <= event.t
            values = self._sampled(start, t, h, x, got, every, whole, on, places, keep & (places <= reached - 1 + NEAR))
            late = times[keep & ~(places <= reached - 1 + NEAR)]
            if len(late):
                t0, x0 = float(run.t_before), np.asarray(run.x_before)
                values = np.concatenate([values, [self._tried(start, t0, x0, s) for s in late]])
            recorded += passed
            return _at_event(times[keep], values, event, recorded, stats)
        if x.ndim == 1 and int(run.status) != 0:
            keep = places <= reached + NEAR
            values = self._sampled(start, t, h, x, got, every, whole, on, places, keep)
            outcome, end = OUTCOMES[int(run.status)], np.asarray(run.x_end)
            at = float(run.t_end)
            return Leg(times[keep], values, at, end, outcome, statistics=stats, recorded=tuple(recorded))
        end = np.array(run.x_end)
        members = self._members(run, end) if x.ndim == 2 else {}
        values = self._sampled(start, t, h, x, got, every, whole, on, places, np.ones(len(times), dtype=bool))
        return Leg(times, values, t_end, end, statistics=stats, recorded=tuple(recorded), **members)

    def _sampled(
        self,
        start: Start,
        t: float,
        h: float,
        x: np.ndarray,
        got: np.ndarray,
        every: int,
        whole: np.ndarray,
        on: np.ndarray,
        places: np.ndarray,
        keep: np.ndarray,
    ) -> np.ndarray:
        """(..., k, nx) states at the chosen instants."""
        if on[keep].all():
            numbers = whole[keep]
            if not len(numbers) or numbers.min() >= 1:
                return np.take(got, numbers // every - 1, axis=-2)
            # an instant that is the beginning but for roundings
            return np.take(np.concatenate([x[..., None, :], got], axis=-2), -(-numbers // every), axis=-2)
        states = np.concatenate([x[..., None, :], got], axis=-2)
        places, on, whole = places[keep], on[keep], whole[keep]
        low = np.clip(np.where(on, whole, np.floor(places)).astype(int), 0, states.shape[-2] - 1)
        high = np.minimum(low + 1, states.shape[-2] - 1)
        instants = t + np.arange(states.shape[-2]) * h
        x0, x1 = states[..., low, :], states[..., high, :]
        f0, f1 = self.rates(start, instants[low], x0), self.rates(start, instants[high], x1)
        s = np.where(on, 0.0, places - low)[:, None]
        values = hermite(s, h, x0, x1, f0, f1)
        between = self.project(start, t + places * h, values)
        return np.where(on[:, None], x0, between)


def _counts(run: Any, *names: str) -> dict[str, int]:
    """Counts of one state, or the sums over all members."""
    found = {n: getattr(run, n) for n in names}
    return {n: int(a) if a.ndim == 0 else int(a.sum()) for n, a in found.items()}


def _places(times: np.ndarray, t: float, h: float, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Samples in steps from t on: their places, the nearest whole ones, whether they are these, and after how many
    steps to record."""
    places = (times - t) / h
    whole = np.rint(places).astype(int)
    slack = np.maximum(NEAR, 8 * np.finfo(float).eps * np.abs(times) / h)
    on = np.abs(places - whole) <= slack
    return places, whole, on, stride(whole, steps) if on.all() else 1


def _at_event(t: np.ndarray, x: np.ndarray, event: Crossing, recorded: list[Crossing], stats: dict[str, int]) -> Leg:
    return Leg(t, x, event.t, event.x, events=event.events, statistics=stats, recorded=tuple(recorded))


# -- adaptive steps


class NativeAdaptive(Native):
    """Steps chosen by the error of an embedded method; samples by its continuous extension."""

    def __init__(
        self,
        flow: Flow,
        method: str | Method,
        signals: InputSignals,
        rtol: float,
        atol: float | np.ndarray,
        max_steps: int = 10**7,
        max_step: float = math.inf,
        **options: Any,
    ) -> None:
        super().__init__(flow, method, signals, **options)
        self.rtol, self.atol, self.max_steps, self.max_step = rtol, atol, max_steps, max_step

    def border(self, t: float, end: float) -> float:
        """Nowhere: a call ends after so many steps."""
        return math.inf

    def advance(self, start: Start, stop: float, times: np.ndarray) -> tuple[Leg, Memory]:
        """See `Stepper`; it may end early, after a number of steps. Its memory is the proposal for the next step."""
        t, x, t_end = start.t, start.x, stop
        single = x.ndim == 1
        chunk, longest = self.limits(x)
        steps = min(chunk, start.most) if single else self.max_steps
        signals = self.table(start, t, t_end, ())
        assert isinstance(self.method, RungeKutta)
        run = self.march.adaptive(
            self.method, x, t, t_end, times, rtol=self.rtol, atol=self.atol, first_step=start.memory.get("next"),
            max_step=longest, max_steps=steps, signals=signals, **self.options(start),
        )  # fmt: skip
        return self._leg(start, run, t_end, times, steps < start.most), {"next": np.array(run.h_next)}

    def check_memory(self, start: Start) -> None:
        """See `stepper.check_memory`."""
        alive = np.isfinite(start.x).all(axis=-1)
        check_arrays(start.memory, {"next": start.x.shape[:-1]}, alive)
        if (start.memory["next"][alive] < 0).any():
            raise ValueError("a step that is proposed backwards")

    def limits(self, x: np.ndarray) -> tuple[int, float]:
        """Most steps in one call, and the longest step from the state x."""
        if self.loops is None or x.ndim > 1:
            return self.chunk, self.max_step
        # loops are closed again from the step before: none may turn its joints beyond that branch
        return min(self.chunk, FEW), min(self.max_step, self.loops.longest(x))

    @staticmethod
    def alike(start: Start, stop: float) -> Any:
        """Runs with the same can be advanced in one call: each has its own time and step size."""
        return stop, min(start.most, FEW)

    @staticmethod
    def advance_all(
        parts: Sequence[tuple[NativeAdaptive, Start]], stop: float, times: Sequence[np.ndarray]
    ) -> list[Any]:
        """(Leg, Memory) of each run, as `advance` gives it."""
        one = parts[0][0]
        wanted = max(times, key=len)
        first = np.array([len(wanted) - len(own) for own in times])
        limits = [stepper.limits(s.x) for stepper, s in parts]
        steps = min(limits[0][0], *(s.most for _, s in parts))
        assert isinstance(one.method, RungeKutta)
        run = one.march.adaptive(
            one.method, np.array([s.x for _, s in parts]), np.array([s.t for _, s in parts]), stop, wanted,
            rtol=one.rtol, atol=one.atol, first_step=[float(s.memory.get("next", 0.0)) for _, s in parts],
            max_step=[longest for _, longest in limits], max_steps=steps, first_sample=first,
            **one._options_of(parts),
        )  # fmt: skip
        out = []
        for k, (stepper, start) in enumerate(parts):
            own = run.member(k, int(first[k]))
            leg = stepper._leg(start, own, stop, times[k], steps < start.most)
            out.append((leg, {"next": np.array(own.h_next)}))
        return out

    def _leg(self, start: Start, run: Any, t_end: float, times: np.ndarray, pausing: bool) -> Leg:
        """pausing: whether it was asked for so many steps only."""
        stats = _counts(run, "steps", "rejected", "evaluations")
        if start.x.ndim != 1:
            end = np.array(run.x_end)
            members = self._members(run, end)
            values = self.project(start, times, np.asarray(run.x))
            return Leg(times, values, t_end, end, statistics=stats, **members)
        count = int(run.samples)
        status, at, state = int(run.status), float(run.t_end), np.asarray(run.x_end)
        values = self.project(start, times[:count], np.asarray(run.x)[:count])
        recorded = self._logged(start, run)
        if self._looked(run):
            before = (float(run.t_before), np.array(run.x_before))
            recorded += self._passed(start, run, at)
            return Leg(times[:count], values, at, state, statistics=stats, before=before, recorded=tuple(recorded))
        if status == 1:
            event, passed = self._located(start, run)
            recorded += passed
            keep = times[:count] <= event.t
            return _at_event(times[:count][keep], values[keep], event, recorded, stats)
        if status == 4 and pausing:
            status = 0
        outcome = OUTCOMES.get(status, Outcome.FINISHED)
        return Leg(times[:count], values, at, state, outcome, statistics=stats, recorded=tuple(recorded))
