"""Steppers around scipy.integrate with generated Jacobians: stiff motions, and inputs that are Python functions."""

from __future__ import annotations

import warnings
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symbody.basics.errors import NameLookupError, nearest
from symbody.motion.flow.loop_guards import LoopGuards
from symbody.motion.flow.signals import InputSignals
from symbody.motion.flow.vector_field import VectorField
from symbody.motion.methods.locate import Crossing, crossed, locate, locate_each, width
from symbody.motion.methods.stepper import NOTHING, Leg, Memory, Start
from symbody.motion.methods.stretch_parts import WHOLE, Parts, loop_guards, reading
from symbody.motion.trajectory.outcome import Outcome

# name -> (class of scipy.integrate, whether it takes a Jacobian, whether it forgets all but the last state)
METHODS = {
    "radau": ("Radau", True, True),
    "bdf": ("BDF", True, False),
    "lsoda": ("LSODA", True, False),
    "rk45": ("RK45", False, True),
    "dop853": ("DOP853", False, True),
}
# of radau's cubic in a step: where smooth stiff motions meet it, and the largest |product| of distances to those places
NODES, LARGEST = (0.0, (4 - 6**0.5) / 10, (4 + 6**0.5) / 10, 1.0), 0.0183
LOOKS = 4  # at the guards in each step; two crossings between looks cancel unseen
LARGE, SPARSE = 40, 0.25  # from this size on, below this share of entries, matrices are factorised as sparse ones


class SciPyStepper:
    """A VectorField advanced by a method of SciPy: radau, bdf, lsoda (implicit), rk45, dop853 (explicit).

    directions  (ng,) in {-1, 0, 1}: crossings of the guards that are events; None: all
    passive     (ng,) guards that only record: their crossings leave the steps as they are

    States are projected after every step where the method allows it (one-step methods), else in what is returned.
    """

    def __init__(
        self,
        field: VectorField,
        method: str,
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
            raise NameLookupError(f"SciPy's methods do not include {method!r}. {nearest(method, METHODS)}")
        import scipy.integrate

        name, implicit, self._one_step = METHODS[method]
        self._solver: Callable[..., Any] = getattr(scipy.integrate, name)
        self.field, self.method = field, method
        self._options: dict[str, Any] = {"rtol": rtol, "atol": atol}
        self.implicit = implicit
        self._max_steps = max_steps
        self._directions = np.zeros(field.ng) if directions is None else np.asarray(directions)
        self._passive = np.zeros(field.ng, dtype=bool) if passive is None else np.asarray(passive, dtype=bool)
        self.loops, self.signals, self.parts = loops, signals, parts
        self._sparse = False
        if implicit and method != "lsoda" and field.nx >= LARGE:
            self._sparse = len(field.pattern()[0]) < SPARSE * field.nx**2

    handles = NOTHING

    def border(self, t: float, end: float) -> float:
        """See `Stepper`."""
        return self.parts.border(t, end)

    def advance(self, start: Start, stop: float, times: np.ndarray) -> tuple[Leg, Memory]:
        """See `Stepper`; each stretch begins anew."""
        return _SciPyStretch(self, start).leg(stop, times), {}


class _SciPyStretch:
    """One stretch of a SciPyStepper, with the signals and levels that hold in it."""

    def __init__(self, stepper: SciPyStepper, start: Start) -> None:
        self.start = start
        self.field = reading(stepper.field, stepper.signals, start)
        self.method, self.loops = stepper.method, stepper.loops
        self._solver, self._one_step, self._sparse = stepper._solver, stepper._one_step, stepper._sparse
        self._directions, self._passive, self._max_steps = stepper._directions, stepper._passive, stepper._max_steps
        self._options = dict(stepper._options)
        if stepper.implicit:
            self._options["jac"] = self._jacobian

    def leg(self, t_end: float, times: np.ndarray) -> Leg:
        """See `Stepper`."""
        t, x = self.start.t, self.start.x
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # LSODA also warns of what it reports; the Outcome says it
            warnings.filterwarnings("ignore", message="lsoda:")
            return self._advance(float(t), np.array(x, dtype=float), float(t_end), times)

    def _advance(self, t: float, x: np.ndarray, t_end: float, times: np.ndarray) -> Leg:
        field = self.field
        wanted = [float(s) for s in times if t < s <= t_end]
        samples: list[np.ndarray] = []
        recorded: list[Crossing] = []
        nodes: list[tuple[float, np.ndarray]] = []
        unsolved, steps, event = field.unsolved, 0, None
        seen: tuple[float, np.ndarray] | None = None
        self._watched = self._loop_guards(t, x)
        if t_end <= t:
            return Leg(np.zeros(0), np.zeros((0, field.nx)), t, x)
        if not np.all(np.isfinite(field.rates(t, x))):
            outcome = Outcome.NOT_CONVERGED if field.unsolved > unsolved else Outcome.NOT_FINITE
            return Leg(np.zeros(0), np.zeros((0, field.nx)), t, x, outcome)
        guard = field.guards(t, x)
        outcome = Outcome.FINISHED
        solver = self._solver(field.rates, t, x, t_end, **self._options)
        while t < t_end:
            if steps >= min(self._max_steps, self.start.most):
                outcome = Outcome.TOO_MANY_STEPS
                break
            before = x
            if not self._stepped(solver):
                outcome = self._why(t, x, unsolved)
                break
            steps += 1
            dense = solver.dense_output()
            path = self._path(dense)
            start, t, x = t, float(solver.t), self._projected(solver)
            if field.ng:
                event, passed, guard = self._events(path, start, before, t, x, guard)
                recorded += passed
                if event is not None:
                    t, x = event.t, event.x
            nodes.append((t, x))
            inside = [s for s in wanted[len(samples) :] if s < t]
            if inside and self.method == "radau" and not self._follows(dense, start, before):
                path = self._refined(path, start, before, t, inside)
            while len(samples) < len(wanted) and wanted[len(samples)] <= t:
                s = wanted[len(samples)]
                samples.append(x if s == t else path(s))
            if event is not None:
                break
            if self._seen(t, x):
                seen = (start, before)
                break
        statistics = {"steps": steps, "evaluations": int(solver.nfev)}
        statistics |= {"jacobians": int(solver.njev), "factors": int(solver.nlu)}
        k = len(samples)
        at = np.array(samples).reshape(k, field.nx)
        events = event.events if event else ()
        ends = np.array([s for s, _ in nodes]), np.array([y for _, y in nodes]).reshape(len(nodes), field.nx)
        return Leg(np.array(wanted[:k]), at, t, x, outcome, events, statistics, seen, tuple(recorded), nodes=ends)

    def _seen(self, t: float, x: np.ndarray) -> bool:
        """Whether a guard of the closed loops crossed zero in the step that ends here."""
        if self.loops is None:
            return False
        old, self._watched = self._watched, self._loop_guards(t, x)
        assert old is not None
        assert self._watched is not None
        return bool(crossed(old, self._watched, self.loops.directions).any())

    def _loop_guards(self, t: float, x: np.ndarray) -> np.ndarray | None:
        return loop_guards(self.loops, self.field, self.start, t, x)

    def _stepped(self, solver: Any) -> bool:
        """Whether a step was done."""
        try:
            solver.step()
        except _NotFinite:
            return False
        except ValueError as error:  # of SciPy's linear solver, where rates beside the state have no value
            if "infs or NaNs" not in str(error):
                raise
            return False
        moved = solver.t_old is None or solver.t != solver.t_old  # LSODA may stand still without end
        return moved and solver.status != "failed" and bool(np.all(np.isfinite(solver.y)))

    def _why(self, t: float, x: np.ndarray, unsolved: int) -> Outcome:
        if self.field.unsolved > unsolved:
            return Outcome.NOT_CONVERGED
        nearby = self.field.entries(t, x) if "jac" in self._options else self.field.rates(t, x)
        return Outcome.STEP_TOO_SMALL if np.all(np.isfinite(nearby)) else Outcome.NOT_FINITE

    def _projected(self, solver: Any) -> np.ndarray:
        x = np.array(solver.y)
        if not self.field.projects:
            return x
        x = self.field.project(solver.t, x)
        if self._one_step:
            solver.y, solver.f = x, self.field.rates(solver.t, x)
        return x

    def _path(self, dense: Callable[[float], np.ndarray]) -> Callable[[float], np.ndarray]:
        if not self.field.projects:
            return dense
        return lambda s: self.field.project(s, dense(s))

    def _events(
        self, path: Callable[[float], np.ndarray], t0: float, x0: np.ndarray, t1: float, x1: np.ndarray, g0: np.ndarray
    ) -> tuple[Crossing | None, list[Crossing], np.ndarray]:
        """The first crossing in a step that acts, if there is one, those before it that record, and the guards then."""
        guards, recorded = self.field.guards, []
        left = t0
        for k in range(1, LOOKS + 1):
            right = t1 if k == LOOKS else t0 + k / LOOKS * (t1 - t0)
            g1 = guards(right, x1 if k == LOOKS else path(right))
            way = crossed(g0, g1, self._directions)
            if way.any():
                fine = path
                if self.method == "radau":
                    # its continuous extension is a cubic, far less accurate than its steps
                    fine = self._again(t0, x0)
                    again = guards(right, fine(right))
                    # those that act and those that record do not touch each other
                    for own in (self._passive, ~self._passive):
                        g1 = np.where(own & (own & (way != 0)).any(), again, g1)
                event, found = self._located(fine, left, right, g0, g1)
                recorded += found
                if event is not None:
                    return event, recorded, g1
            g0, left = g1, right
        return None, recorded, g0

    def _located(
        self, path: Callable[[float], np.ndarray], t0: float, t1: float, g0: np.ndarray, g1: np.ndarray
    ) -> tuple[Crossing | None, list[Crossing]]:
        """The first crossing between two looks that acts, and those before it that record."""
        guards, directions, acting = self.field.guards, self._directions, np.flatnonzero(~self._passive)
        event, end, g = None, t1, g1
        if crossed(g0, g1, directions)[acting].any():
            of = lambda t, x: guards(t, x)[acting]  # noqa: E731
            found = locate(path, of, t0, t1, g0[acting], g1[acting], directions[acting])
            event = Crossing(found.t, found.x, tuple(acting[list(found.events)].tolist()))
            end = min(found.t + 2 * width(t0, t1), t1)  # within its bracket they happen with it
            g = guards(end, path(end))
        which = np.flatnonzero(crossed(g0, g, directions) * self._passive).tolist()
        each = locate_each(path, guards, t0, end, g0, g, which)
        return event, each if event is None else [Crossing(min(c.t, event.t), c.x, c.events) for c in each]

    def _follows(self, dense: Any, t0: float, x0: np.ndarray) -> bool:
        """Whether radau's cubic leaves the start of a step as the rates say: then it meets the tolerances inside.

        For a smooth motion the difference of slopes times the step is 5 times the error of the cubic.
        """
        slopes = dense.Q[:, 0] - dense.h * self.field.rates(t0, x0)
        size = self._options["atol"] + self._options["rtol"] * np.abs(x0)
        return bool(np.all(np.abs(slopes) <= 5.0 * size))

    def _refined(
        self, path: Callable[[float], np.ndarray], t0: float, x0: np.ndarray, t1: float, wanted: list[float]
    ) -> Callable[[float], np.ndarray]:
        """A path that meets the tolerances at the wanted instants of a radau step, whose own one is a cubic.

        It is judged at two instants, away from where the cubic meets a smooth motion. If it fails the step is repeated
        in shorter parts, because the error of the cubic goes with the fourth power of their length.
        """
        again, error = self._again(t0, x0), 0.0
        places = (np.array(wanted) - t0) / (t1 - t0)
        share = np.abs(np.poly1d(NODES, r=True)(places))
        for half in (places < NODES[2], places >= NODES[2]):
            if half.any():
                k = int(np.where(half, share, -1.0).argmax())
                right = again(wanted[k])
                apart = np.abs(path(wanted[k]) - right)
                apart /= self._options["atol"] + self._options["rtol"] * np.abs(right)
                error = max(error, float(apart.max()))
        error *= max(1.0, LARGEST / float(share.max()))
        if error <= 1:
            return path
        part = (t1 - t0) / min(np.ceil(1.2 * error**0.25), len(wanted) + 1) if np.isfinite(error) else t1 - t0
        solver = self._solver(self.field.rates, t0, x0, t1, first_step=part, max_step=part, **self._options)
        ends, parts = [], []
        while solver.status == "running" and self._stepped(solver):
            parts.append(self._path(solver.dense_output()))
            ends.append(float(solver.t))
            self._projected(solver)
        if not ends or ends[-1] < wanted[-1]:
            return path
        return lambda w: parts[bisect_left(ends, w)](w)

    def _again(self, t0: float, x0: np.ndarray) -> Callable[[float], np.ndarray]:
        """The path from the start of a step, integrated anew to each instant."""

        def path(s: float) -> np.ndarray:
            if s <= t0:
                return x0
            # a part of an accepted step is short enough to be tried at once
            solver = self._solver(self.field.rates, t0, x0, s, first_step=s - t0, **self._options)
            while solver.status == "running" and self._stepped(solver):
                pass
            return self.field.project(s, np.array(solver.y))

        return path

    def _jacobian(self, t: float, x: np.ndarray) -> Any:
        entries = self.field.entries(t, x)
        if not np.all(np.isfinite(entries)):
            raise _NotFinite
        rows, columns = self.field.pattern()
        n = self.field.nx
        if self._sparse:
            from scipy.sparse import csc_matrix

            return csc_matrix((entries, (rows, columns)), shape=(n, n))
        out = np.zeros((n, n))
        out[rows, columns] = entries
        return out


class _NotFinite(Exception):
    """A Jacobian is not finite: SciPy would fail inside of its factorisation."""
