"""Integration methods: one row each, from which `simulate`, the command line and the documentation take all they know.

A new explicit method is a Butcher table, `explicit(RungeKutta(...))`; a diagonally implicit one is
`diagonal(Diagonal(...))`; anything else is a Method whose `make` gives a Stepper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, Named, NameLookupError, add_row, remove_row
from symbody.basics.memory import memory_of
from symbody.basics.words import METHODS as ELSEWHERE
from symbody.basics.words import nearest_word
from symbody.motion.flow.event_rules import PreparedEvents
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.loop_guards import LoopGuards
from symbody.motion.flow.signals import InputSignals
from symbody.motion.flow.vector_field import VectorField
from symbody.motion.march import method_tables as native_tables
from symbody.motion.march.method_tables import RungeKutta, Splitting, check_table
from symbody.motion.methods import implicit_step
from symbody.motion.methods.stepper import Stepper
from symbody.motion.methods.stretch_parts import Parts

MOST_EVENTS = 100_000  # that act in a run
LOOSE = 1e-6  # relative tolerance from which order 5 is cheaper than order 8


@dataclass(frozen=True, eq=False)
class Setup:
    """What a Stepper is made of: equations, signals, accuracy.

    step                 s, of methods that are given one
    rtol, atol           of those that choose their steps
    directions, passive  (ng,) of the guards: which crossings count; events that only record
    loops                guards of closed loops, or None
    events               with what follows from them, of methods that follow them natively; most_events: that may act
    """

    flow: Flow
    signals: InputSignals
    start: float
    step: float | None
    rtol: float
    atol: float
    max_steps: int
    parameters: Mapping[str, Any] | None = None
    directions: np.ndarray | None = None
    passive: np.ndarray | None = None
    threads: int | None = None
    loops: LoopGuards | None = None
    events: PreparedEvents | None = None
    most_events: int = MOST_EVENTS

    @property
    def guarded(self) -> dict[str, Any]:
        """Options of every Stepper."""
        return dict(directions=self.directions, passive=self.passive, loops=self.loops)

    @property
    def native(self) -> dict[str, Any]:
        """Options of Steppers over the native march."""
        return dict(parameters=self.parameters, threads=self.threads, **self.guarded)


@dataclass(frozen=True)
class Method:
    """An integration method.

    about    what it is, for lists
    order    of convergence as the step goes to 0; of a method that chooses its order, the highest
    make     Setup -> Stepper
    steps    "fixed": needs a step; "chosen": by the tolerances; "both": fixed with a step, chosen without
    batches  whether it advances the members of a batch together; lanes: with events and clocks too
    unsolved whether it takes the equations of motion as they are before they are solved for the accelerations
    stages   whether it reads signals at known fractions of a step, so that functions of time can be tabulated
    """

    name: str
    about: str
    order: int
    make: Callable[[Setup], Stepper]
    steps: str
    batches: bool = True
    lanes: bool = False
    unsolved: bool = False
    stages: bool = False


def explicit(table: RungeKutta | Splitting) -> Method:
    """The method of a table that the native march runs: with an error estimate, adaptive too."""
    embedded = isinstance(table, RungeKutta) and bool(table.error)
    if isinstance(table, RungeKutta):
        check_table(table)

    def make(s: Setup) -> Stepper:
        from symbody.motion.methods.lane_stepper import LaneStepper, lanes_of
        from symbody.motion.methods.native_stepper import NativeAdaptive, NativeFixed

        if lanes_of(s):
            return LaneStepper(s, table)
        if s.step is not None:
            return NativeFixed(s.flow, table, s.signals, s.start, s.step, **s.native)
        return NativeAdaptive(s.flow, table, s.signals, s.rtol, s.atol, s.max_steps, **s.native)

    steps, stages = "both" if embedded else "fixed", isinstance(table, RungeKutta)
    return Method(table.name, table.about, table.order, make, steps, lanes=True, stages=stages)


def diagonal(table: implicit_step.Diagonal) -> Method:
    """The method of a table whose stages are solved by Newton's method, in native code too."""
    return Method(table.name, table.about, table.order, _stepped(table), "fixed", lanes=True, unsolved=True)


def _stepped(method: str | implicit_step.Diagonal) -> Callable[[Setup], Stepper]:
    def make(s: Setup) -> Stepper:
        from symbody.motion.methods.implicit_stepper import ITERATIONS, ImplicitFixed, balance_of, step_march
        from symbody.motion.methods.lane_stepper import LaneStepper, lanes_of

        assert s.step is not None
        march = step_march(s.flow, method) if lanes_of(s) else None
        if march is not None:
            return LaneStepper(s, None, march, ITERATIONS)
        return ImplicitFixed(s.flow, method, s.signals, s.start, s.step, residual=balance_of(s.flow), **s.native)

    return make


def _field(s: Setup) -> VectorField:
    return VectorField(s.flow, s.parameters, lambda t, x: s.signals.at(t, s.signals.start().values))


def _chosen(s: Setup) -> dict[str, Any]:
    return dict(rtol=s.rtol, atol=s.atol, parts=Parts(s.start), **s.guarded)


def _scipy(name: str) -> Callable[[Setup], Stepper]:
    def make(s: Setup) -> Stepper:
        from symbody.motion.methods.scipy import SciPyStepper

        return SciPyStepper(_field(s), name, signals=s.signals, **_chosen(s))

    return make


def _cvode(s: Setup) -> Stepper:
    from symbody.motion.methods.sundials import CvodeStepper

    return CvodeStepper(_field(s), "cvode_bdf", signals=s.signals, **_chosen(s))


def _ida(s: Setup) -> Stepper:
    from symbody.motion.methods.implicit_form import implicit_form
    from symbody.motion.methods.implicit_stepper import balance_of
    from symbody.motion.methods.sundials import IdaStepper

    field = _field(s)
    system, states = memory_of(s.flow).get("implicit_form", (), lambda: implicit_form(s.flow, balance_of(s.flow)))
    guards = field.guards if s.flow.guards is not None else None
    more: dict[str, Any] = dict(field=field, held=s.signals, guards=guards)
    return IdaStepper(system, states, parameters=s.parameters, **more, **_chosen(s))


_ROWS = (
    *(explicit(table) for table in native_tables.TABLES),
    *(diagonal(table) for table in implicit_step.TABLES),
    Method(
        "generalized_alpha", "order 2, with numerical damping", 2, _stepped("generalized_alpha"), "fixed", unsolved=True
    ),
    Method("radau", "Radau IIA, order 5", 5, _scipy("radau"), "chosen", batches=False),
    Method("bdf", "backward differences, order 1 to 5", 5, _scipy("bdf"), "chosen", batches=False),
    Method("lsoda", "Adams or backward differences, as needed", 12, _scipy("lsoda"), "chosen", batches=False),
    Method("cvode", "SUNDIALS, backward differences", 5, _cvode, "chosen", batches=False),
    Method("ida", "SUNDIALS, implicit equations", 5, _ida, "chosen", batches=False, unsolved=True),
)
METHODS: dict[str, Method] = {row.name: row for row in _ROWS}
BUILT_IN = frozenset(METHODS)


def add_method(row: Method | RungeKutta | Splitting | implicit_step.Diagonal) -> Method:
    """One more method, under a name that is free: `simulate`, checkpoints and the command line know it from now on.

    row: a table of coefficients, or a Method with a Stepper of its own.
    """
    if isinstance(row, RungeKutta | Splitting):
        row = explicit(row)
    elif isinstance(row, implicit_step.Diagonal):
        row = diagonal(row)
    if not isinstance(row, Method):
        raise DefinitionError(f"add_method was given {row!r}; expected a RungeKutta, Splitting, Diagonal or Method.")
    return add_row(METHODS, row.name, row, "method", taken=("auto",))


def remove_method(name: str) -> None:
    """Take an added method out again."""
    remove_row(METHODS, name, BUILT_IN, "method")


def choose_method(method: str, step: float | None, rtol: float) -> str:
    """The method that "auto" means, or the one named; with or without a step it must make sense."""
    if method == "auto":
        return "rk4" if step is not None else "dopri5" if rtol >= LOOSE else "dopri8"
    if method not in METHODS:
        hint = nearest_word(str(method), ["auto", *METHODS], ELSEWHERE)
        raise NameLookupError(f"there is no method {method!r}. {hint}")
    steps = METHODS[method].steps
    if step is None and steps == "fixed":
        raise DefinitionError(
            f"method {method!r} has steps of fixed length; give ", Named("step", "..."), " in seconds."
        )
    if step is not None and steps == "chosen":
        raise DefinitionError(
            f"method {method!r} chooses its steps by the tolerances; leave ",
            Named("step"),
            " out. To record at equal distances, give ",
            Named("samples", "..."),
        )
    return method
