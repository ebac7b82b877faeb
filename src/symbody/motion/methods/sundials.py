"""Steppers around SUNDIALS (package scikit-sundae, extra "sundials"): CVODE for rates, IDA for implicit equations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, NameLookupError, ShapeError, SolveError, SymbodyError, nearest
from symbody.basics.memory import memory_of
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.motion.flow.layout import Layout
from symbody.motion.flow.loop_guards import LoopGuards
from symbody.motion.flow.signals import InputSignals
from symbody.motion.flow.vector_field import SignalValues, VectorField
from symbody.motion.methods.locate import EPS, Crossing, Path, crossed, locate_each
from symbody.motion.methods.stepper import NOTHING, Leg, Memory, Start
from symbody.motion.methods.stretch_parts import WHOLE, Parts, loop_guards, reading
from symbody.motion.trajectory.outcome import Outcome
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.system.system import System, node_array

METHODS = {"cvode_bdf": "BDF", "cvode_adams": "Adams"}

EVENT, TOO_SMALL, NO_CONVERGENCE = 2, -3, -4
PATIENCE = 500  # evaluations at one instant
LOOSE = 1e3  # absolute tolerance that leaves a component out of the error test
# return values of CVODE and IDA (the same numbers in both) -> what they mean here
FAILURES = {
    -1: Outcome.TOO_MANY_STEPS,
    -2: Outcome.STEP_TOO_SMALL,  # too much accuracy asked for
    TOO_SMALL: Outcome.STEP_TOO_SMALL,  # error test failed too often
    NO_CONVERGENCE: Outcome.NOT_CONVERGED,  # Newton's iteration failed too often
}


def _package(name: str) -> Any:
    try:
        sksundae = import_module("sksundae")
    except ImportError as missing:
        raise SymbodyError(
            "this method needs SUNDIALS through the package scikit-sundae, which is not installed. "
            'Install it with: pip install "symbody[sundials]". Without it, radau, bdf and lsoda solve stiff equations.'
        ) from missing
    return getattr(sksundae, name)


class CvodeStepper:
    """A VectorField advanced by CVODE of variable order and step: cvode_bdf for stiff motions, cvode_adams for smooth.

    States are projected in what is returned, not inside the method, whose memory spans several steps.
    """

    def __init__(
        self,
        field: VectorField,
        method: str = "cvode_bdf",
        *,
        rtol: float = 1e-6,
        atol: float | np.ndarray = 1e-9,
        directions: Sequence[int] | np.ndarray | None = None,
        passive: Sequence[bool] | np.ndarray | None = None,
        max_steps: int = 10_000_000,
        loops: LoopGuards | None = None,
        signals: InputSignals | None = None,
        parts: Parts = WHOLE,
    ) -> None:
        if method not in METHODS:
            raise NameLookupError(f"CVODE has no method {method!r}. {nearest(method, METHODS)}")
        self.field = field
        self._unsolved = 0
        self._pace = _Pace()
        options: dict[str, Any] = {
            "method": METHODS[method],
            "rtol": rtol,
            "atol": atol,
            "max_num_steps": max_steps,
            "jacfn": self._jacobian,
        }
        self.loops, self.signals, self.parts = loops, signals, parts
        self._guards = field
        self.guards = _Guards(lambda t, x: self.field.guards(t, x), field.ng, directions, passive)
        options |= self.guards.options()
        self._solver = _package("cvode").CVODE(self._rates, **options)

    handles = NOTHING

    def border(self, t: float, end: float) -> float:
        """See `Stepper`."""
        return self.parts.border(t, end)

    def advance(self, start: Start, stop: float, times: np.ndarray) -> tuple[Leg, Memory]:
        """See `Stepper`; each stretch begins anew."""
        self.field = reading(self._guards, self.signals, start)
        self._unsolved = self.field.unsolved
        y = np.array(start.x, dtype=float)
        begin = lambda: self._solver.init_step(float(start.t), y)  # noqa: E731
        look = lambda t, x: loop_guards(self.loops, self.field, start, t, x)  # noqa: E731
        leg = _leg(
            self._solver, self._pace, begin, float(start.t), y, float(stop), times, self.field.project, self._why,
            self.loops, look, self.guards, start.most,
        )  # fmt: skip
        return leg, {}

    def _why(self, status: int, t: float, x: np.ndarray) -> Outcome:
        if self.field.unsolved > self._unsolved:
            return Outcome.NOT_CONVERGED
        if not np.all(np.isfinite(self.field.rates(t, x))):
            return Outcome.NOT_FINITE
        # the rates are explicit: where Newton's iteration fails for all steps, no step is small enough
        return Outcome.STEP_TOO_SMALL if status == NO_CONVERGENCE else FAILURES.get(status, Outcome.NOT_CONVERGED)

    def _rates(self, t: float, y: np.ndarray, out: np.ndarray) -> None:
        self._pace.watch(t, y)
        out[:] = self.field.rates(t, np.array(y))

    def _jacobian(self, t: float, y: np.ndarray, rates: np.ndarray, out: np.ndarray) -> None:
        out[:, :] = self.field.jacobian(t, np.array(y))


class IdaStepper:
    """Implicit equations F(t, y, y') = 0, differential and algebraic, advanced by IDA (BDF of order 1 to 5).

    system     inputs: the states, their rates, t, signals; one output of as many residuals as state components
    states     name of a state -> name of the input that stands for its rate, or None where none occurs
    algebraic  components whose rates do not occur; found in the equations

    index      1, or 2 for constraints as velocities, stabilised with multipliers for the positions: then algebraic
               components are left out of the error test. Write constraints of index 3 in one of these forms.

    At the start of each stretch the rates of differential components and the values of algebraic ones are computed.
    """

    def __init__(
        self,
        system: System,
        states: Mapping[str, str | None],
        *,
        parameters: Mapping[str, Any] | None = None,
        signals: SignalValues = None,
        guards: Callable[[float, np.ndarray], np.ndarray] | None = None,
        directions: Sequence[int] | np.ndarray | None = None,
        passive: Sequence[bool] | np.ndarray | None = None,
        project: Callable[[float, np.ndarray], np.ndarray] | None = None,
        index: int = 1,
        rtol: float = 1e-6,
        atol: float | np.ndarray = 1e-9,
        max_steps: int = 10_000_000,
        loops: LoopGuards | None = None,
        field: VectorField | None = None,
        held: InputSignals | None = None,
        parts: Parts = WHOLE,
    ) -> None:
        if index not in (1, 2):
            raise DefinitionError(
                f"index is {index}; IDA solves equations of index 1 and 2. Differentiate constraints."
            )
        self.system, self.states = system, dict(states)
        self._read(system)
        made = memory_of(system).get("ida", (), lambda: _implicit_systems(system, self._symbols, self._rate_symbols))
        given = dict(parameters or {})
        kernels = [kernel_of(s) for s in made]
        known = [{n: v for n, v in given.items() if n in s.parameters} for s in made]
        self._kernels = [k.bind(p) if s.parameters else k for k, p, s in zip(kernels, known, made)]
        self._signals = signals if callable(signals) else (lambda t, x, held=signals: held)
        self._project = project or (lambda t, x: x)
        self._unsolved = False
        self._pace = _Pace()
        tolerances = np.array(np.broadcast_to(atol, self.nx), dtype=float)
        if index == 2:
            tolerances[self.algebraic] = LOOSE
        options: dict[str, Any] = {
            "rtol": rtol,
            "atol": tolerances,
            "max_num_steps": max_steps,
            "jacfn": self._jacobian,
            "calc_initcond": "yp0",
        }
        if len(self.algebraic):
            options["algebraic_idx"] = self.algebraic
        self.loops, self.parts = loops, parts
        self._field, self._held = field, held
        size = 0 if guards is None else len(directions) if directions is not None else 1
        self.guards = _Guards(guards, size, directions, passive)
        options |= self.guards.options(implicit=True)
        self._solver = _package("ida").IDA(self._residual, **options)

    def _read(self, system: System) -> None:
        self._symbols: list[Any] = []
        self._rate_symbols: list[Any] = []
        for name, rate in self.states.items():
            own = system.argument(name)
            self._symbols += own.flat
            if rate is None:
                self._rate_symbols += [None] * own.size
            else:
                self._rate_symbols += system.argument(rate).flat
        outputs = [x for a in system.outputs.values() for x in a.flat]
        if len(outputs) != len(self._symbols):
            raise ShapeError(f"{system.name} has {len(outputs)} residuals for {len(self._symbols)} state components.")
        found = set(free_symbols(outputs))
        self.algebraic = np.array([k for k, s in enumerate(self._rate_symbols) if s not in found], dtype=int)
        rest = [n for n in system.inputs if n not in self.states and n not in self.states.values() and n != "t"]
        self._layout = Layout(
            {n: system.inputs[n].shape for n in self.states}, {n: system.inputs[n].shape for n in rest}
        )
        self.nx = len(self._symbols)

    handles = NOTHING

    def border(self, t: float, end: float) -> float:
        """See `Stepper`."""
        return self.parts.border(t, end)

    def advance(self, start: Start, stop: float, times: np.ndarray) -> tuple[Leg, Memory]:
        """See `Stepper`; each stretch begins anew. Algebraic components of x are guesses."""
        self._unsolved = False
        if self._field is not None:
            field = reading(self._field, self._held, start)
            self._signals, self._project, self.guards.all = field.signals, field.project, field.guards
        y = np.array(start.x, dtype=float)
        begin = lambda: self._solver.init_step(float(start.t), y, np.zeros(self.nx))  # noqa: E731

        def look(t: float, x: np.ndarray) -> np.ndarray | None:
            return None if self._field is None else loop_guards(self.loops, field, start, t, x)

        leg = _leg(
            self._solver, self._pace, begin, float(start.t), y, float(stop), times, self._project, self._why,
            self.loops, look, self.guards, start.most,
        )  # fmt: skip
        return leg, {}

    def _why(self, status: int, t: float, x: np.ndarray) -> Outcome:
        if not np.all(np.isfinite(x)):
            return Outcome.NOT_FINITE
        return Outcome.NOT_CONVERGED if self._unsolved else FAILURES.get(status, Outcome.NOT_CONVERGED)

    def _arguments(self, t: float, y: np.ndarray, yp: np.ndarray) -> dict[str, Any]:
        layout = self._layout
        u = np.asarray(self._signals(t, y), dtype=float).reshape(-1) if layout.nu else np.zeros(0)
        out = layout.named(t, y, u)
        if "t" not in self.system.inputs:
            del out["t"]
        slopes = layout.split(yp)
        return {**out, **{rate: slopes[n] for n, rate in self.states.items() if rate is not None}}

    def _residual(self, t: float, y: np.ndarray, yp: np.ndarray, out: np.ndarray) -> None:
        self._pace.watch(t, y)
        try:
            out[:] = self._kernels[0](**self._arguments(t, np.array(y), np.array(yp)))
        except SolveError:
            self._unsolved = True
            out[:] = np.nan

    def _jacobian(self, t: float, y: np.ndarray, yp: np.ndarray, res: np.ndarray, cj: float, out: np.ndarray) -> None:
        arguments = self._arguments(t, np.array(y), np.array(yp))
        out[:, :] = self._kernels[1](**arguments, cj=cj)


def _implicit_systems(system: System, symbols: list[Any], rates: list[Any]) -> tuple[System, System]:
    """(residual, dF/dy + cj dF/dy') with one flat output each."""
    residual = [x for a in system.outputs.values() for x in a.flat]
    cj = system.graph.symbol("cj", "input", scope="IDA")
    matrix = jacobian(residual, symbols)
    present = [k for k, s in enumerate(rates) if s is not None]
    if present:
        by_rates = jacobian(residual, [rates[k] for k in present])
        for column, k in enumerate(present):
            matrix[:, k] = matrix[:, k] + cj * by_rates[:, column]
    if "cj" in system.inputs or "cj" in system.parameters:
        raise DefinitionError(f"{system.name} has an argument 'cj'; this name is taken by IDA's Jacobian.")
    common: dict[str, Any] = {"parameters": system.parameters, "defaults": system.defaults}
    return (
        System(f"{system.name}_flat", inputs=system.inputs, outputs={"residual": node_array(residual)}, **common),
        System(
            f"{system.name}_slope", inputs={**system.inputs, "cj": node_array(cj)}, outputs={"slope": matrix}, **common
        ),
    )


class _Guards:
    """Guards of events. Those that act are left to SUNDIALS, which ends a step at the first of their roots.

    Those that are passive are looked at here, at the ends of steps, and located by the interpolation of the last one.

    silent  after an event: SUNDIALS would look for roots backwards while it interpolates, and return the event again
    """

    silent = False

    def __init__(
        self,
        guards: Callable[[float, np.ndarray], np.ndarray] | None,
        size: int,
        directions: Sequence[int] | np.ndarray | None,
        passive: Sequence[bool] | np.ndarray | None,
    ) -> None:
        self.all = guards
        self.directions = np.zeros(size, dtype=int) if directions is None else np.asarray(directions, dtype=int)
        quiet = np.zeros(size, dtype=bool) if passive is None else np.asarray(passive, dtype=bool)
        self.acting, self.passive = np.flatnonzero(~quiet), np.flatnonzero(quiet)

    def options(self, implicit: bool = False) -> dict[str, Any]:
        """Keyword arguments of the solver for the guards that act."""
        if not len(self.acting):
            return {}

        def explicit_form(t: float, y: np.ndarray, out: np.ndarray) -> None:
            out[:] = 1.0 if self.silent else self.values_at(t, np.array(y), self.acting)

        def implicit_form(t: float, y: np.ndarray, yp: np.ndarray, out: np.ndarray) -> None:
            out[:] = 1.0 if self.silent else self.values_at(t, np.array(y), self.acting)

        function: Any = implicit_form if implicit else explicit_form
        function.terminal = [True] * len(self.acting)
        function.direction = [int(d) for d in self.directions[self.acting]]
        return {"eventsfn": function, "num_events": len(self.acting)}

    def values_at(self, t: float, x: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Some of the guards at a state; none where there are none."""
        return np.zeros(0) if self.all is None or not len(which) else np.asarray(self.all(t, x)).reshape(-1)[which]

    def passed(self, path: Path, t0: float, g0: np.ndarray, t1: float, g1: np.ndarray) -> list[Crossing]:
        """Crossings of the passive guards, with the values g0 and g1, in (t0, t1]."""
        own = self.passive
        which = np.flatnonzero(crossed(g0, g1, self.directions[own])).tolist()
        found = locate_each(path, lambda t, x: self.values_at(t, x, own), t0, t1, g0, g1, which)
        return [Crossing(c.t, c.x, tuple(own[list(c.events)].tolist())) for c in found]


class _Pace:
    """Watches the times of evaluations. Ends a run that does not come on, where SUNDIALS would repeat steps for long.

    steps: those that were kept, which the package does not tell, to about one in a hundred. Each one tried is evaluated
    at its end; after a failure comes an earlier time.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.t, self.x, self.count, self.steps = np.nan, np.zeros(0), 0, 0

    def watch(self, t: float, x: np.ndarray) -> None:
        if abs(t - self.t) <= 4 * EPS * abs(t):
            self.count += 1
            if self.count > PATIENCE:
                raise _Stuck
        else:
            self.steps += t > self.t  # a failed step and the one in its place make one
            self.t, self.x, self.count = t, np.array(x), 0


class _Stuck(Exception):
    """Time stands still."""


def _leg(
    solver: Any,
    pace: _Pace,
    start: Callable[[], Any],
    t: float,
    x: np.ndarray,
    t_end: float,
    times: np.ndarray,
    project: Callable[[float, np.ndarray], np.ndarray],
    why: Callable[[int, float, np.ndarray], Outcome],
    loops: LoopGuards | None,
    look: Callable[[float, np.ndarray], np.ndarray | None],
    guards: _Guards,
    most: int,
) -> Leg:
    """One stretch, step by step; samples are interpolated in the last one, so that they change nothing.

    Exceptions of functions that SUNDIALS calls come through.
    """
    wanted = [float(s) for s in times if t < s <= t_end]
    samples: list[np.ndarray] = []
    outcome, evaluations = Outcome.FINISHED, 0
    events: tuple[int, ...] = ()
    before: tuple[float, np.ndarray] | None = None
    recorded: list[Crossing] = []
    nodes: list[tuple[float, np.ndarray]] = []
    guards.silent = False
    quiet = guards.values_at(t, x, guards.passive)

    def path(s: float) -> np.ndarray:
        """States of the last step."""
        return x if s == t else project(s, np.array(solver.step(s, tstop=t_end).y))

    watched = look(t, x)
    pace.begin()
    with np.errstate(all="ignore"):
        found = start() if t_end > t else None
        while found is not None and t < t_end:
            if len(nodes) >= most:
                outcome = Outcome.TOO_MANY_STEPS
                break
            try:
                if found.status >= 0:
                    found = solver.step(t_end, method="onestep", tstop=t_end)
            except _Stuck:
                t, x = pace.t, project(pace.t, pace.x)
                outcome = why(TOO_SMALL, t, x)
                break
            if found.status >= 0 and float(found.t) <= t:
                continue  # after a sample inside of it, the end of the last step is returned once more
            old, status, evaluations = (t, x), found.status, int(found.nfev)
            t, x = float(found.t), project(float(found.t), np.array(found.y))
            if status < 0 or not np.all(np.isfinite(x)):
                outcome = why(status, t, x)
                break
            nodes.append((t, x))
            if status == EVENT:
                events = tuple(guards.acting[np.flatnonzero(found.i_events[-1])].tolist())
                guards.silent = True
            if len(quiet):
                g = guards.values_at(t, x, guards.passive)
                recorded += guards.passed(path, old[0], quiet, t, g)
                quiet = g
            while len(samples) < len(wanted) and wanted[len(samples)] <= t:
                samples.append(path(wanted[len(samples)]))
            now = look(t, x)
            if loops is not None and watched is not None and now is not None:
                if crossed(watched, now, loops.directions).any():
                    before = old
                watched = now
            if events or before is not None:
                break
    statistics = {"steps": pace.steps, "evaluations": evaluations}
    k = len(samples)
    at = np.array(samples).reshape(k, len(x))
    ends = np.array([s for s, _ in nodes]), np.array([y for _, y in nodes]).reshape(len(nodes), len(x))
    return Leg(np.array(wanted[:k]), at, t, x, outcome, events, statistics, before, tuple(recorded), nodes=ends)
