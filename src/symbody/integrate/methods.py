"""Integration methods: one row each, from which `simulate`, the command line and the documentation take all they know.

A new explicit method is a Butcher table, `explicit(RungeKutta(...))`; a diagonally implicit one is
`diagonal(Diagonal(...))`; anything else is a Method whose `make` gives a Driver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.errors import DefinitionError, Named, NameLookupError, add_row, nearest, remove_row
from symbody.flow.field import Field
from symbody.flow.flow import Flow
from symbody.flow.signals import Feed
from symbody.integrate import implicit_step
from symbody.integrate.stepper import Driver, Leg
from symbody.march import methods as native_tables
from symbody.march.methods import RungeKutta, Splitting, check_table

LOOSE = 1e-6  # relative tolerance from which order 5 is cheaper than order 8
PARTS = 16  # stretches of methods that offer no natural ones


@dataclass(frozen=True, eq=False)
class Setup:
    """What a Driver is made of: equations, signals, accuracy.

    step                 s, of methods that are given one
    rtol, atol           of those that choose their steps
    directions, passive  (ng,) of the guards: which crossings count; events that only record
    look                 a `Lookout` for closed loops, or None
    """

    flow: Flow
    feed: Feed
    start: float
    step: float | None
    rtol: float
    atol: float
    max_steps: int
    parameters: Mapping[str, Any] | None = None
    directions: np.ndarray | None = None
    passive: np.ndarray | None = None
    threads: int | None = None
    look: Any = None

    @property
    def guarded(self) -> dict[str, Any]:
        """Options of every Driver."""
        return dict(directions=self.directions, passive=self.passive, look=self.look)

    @property
    def native(self) -> dict[str, Any]:
        """Options of Drivers over the native march."""
        return dict(parameters=self.parameters, threads=self.threads, **self.guarded)


@dataclass(frozen=True)
class Method:
    """An integration method.

    about    what it is, for lists
    order    of convergence as the step goes to 0; of a method that chooses its order, the highest
    make     Setup -> Driver
    steps    "fixed": needs a step; "chosen": by the tolerances; "both": fixed with a step, chosen without
    batches  whether it advances the members of a batch together
    unsolved whether it takes the equations of motion as they are before they are solved for the accelerations
    stages   whether it reads signals at known fractions of a step, so that functions of time can be tabulated
    """

    name: str
    about: str
    order: int
    make: Callable[[Setup], Driver]
    steps: str
    batches: bool = True
    unsolved: bool = False
    stages: bool = False


def explicit(table: RungeKutta | Splitting) -> Method:
    """The method of a table that the native march runs: with an error estimate, adaptive too."""
    embedded = isinstance(table, RungeKutta) and bool(table.error)
    if isinstance(table, RungeKutta):
        check_table(table)

    def make(s: Setup) -> Driver:
        from symbody.integrate.native import NativeAdaptive, NativeFixed

        if s.step is not None:
            return NativeFixed(s.flow, table, s.feed, s.start, s.step, **s.native)
        return NativeAdaptive(s.flow, table, s.feed, s.rtol, s.atol, s.max_steps, **s.native)

    stages = isinstance(table, RungeKutta)
    return Method(table.name, table.about, table.order, make, "both" if embedded else "fixed", stages=stages)


def diagonal(table: implicit_step.Diagonal) -> Method:
    """The method of a table whose stages are solved by Newton's method, in native code too."""
    return Method(table.name, table.about, table.order, _stepped(table), "fixed", unsolved=True)


def _stepped(method: str | implicit_step.Diagonal) -> Callable[[Setup], Driver]:
    def make(s: Setup) -> Driver:
        from symbody.integrate.stepped import Stepped

        assert s.step is not None
        return Stepped(s.flow, method, s.feed, s.start, s.step, **s.native)

    return make


def _field(s: Setup) -> Field:
    return Field(s.flow, s.parameters, lambda t, x: s.feed.at(t))


def _chosen(s: Setup) -> dict[str, Any]:
    return dict(rtol=s.rtol, atol=s.atol, max_steps=s.max_steps, **s.guarded)


def _scipy(name: str) -> Callable[[Setup], Driver]:
    def make(s: Setup) -> Driver:
        from symbody.integrate.scipy import SciPyDriver

        return Bounded(SciPyDriver(_field(s), name, **_chosen(s)), s.start)

    return make


def _cvode(s: Setup) -> Driver:
    from symbody.integrate.sundials import CvodeDriver

    return Bounded(CvodeDriver(_field(s), "cvode_bdf", **_chosen(s)), s.start)


def _ida(s: Setup) -> Driver:
    from symbody.integrate.implicit_form import implicit_form
    from symbody.integrate.stepped import balance_of
    from symbody.integrate.sundials import IdaDriver

    field = _field(s)
    system, states = implicit_form(s.flow, balance_of(s.flow))
    guards = field.guards if s.flow.guards is not None else None
    more: dict[str, Any] = dict(signals=lambda t, x: s.feed.at(t), guards=guards, project=field.project)
    return Bounded(IdaDriver(system, states, parameters=s.parameters, **more, **_chosen(s)), s.start)


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
OWN = frozenset(METHODS)


def add_method(row: Method | RungeKutta | Splitting | implicit_step.Diagonal) -> Method:
    """One more method, under a name that is free: `simulate`, checkpoints and the command line know it from now on.

    row: a table of coefficients, or a Method with a Driver of its own.
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
    remove_row(METHODS, name, OWN, "method")


def choose_method(method: str, step: float | None, rtol: float) -> str:
    """The method that "auto" means, or the one named; with or without a step it must make sense."""
    if method == "auto":
        return "rk4" if step is not None else "dopri5" if rtol >= LOOSE else "dopri8"
    if method not in METHODS:
        raise NameLookupError(f"there is no method {method!r}. {nearest(str(method), ['auto', *METHODS])}")
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


class Bounded:
    """A Driver cut into stretches, so that an interrupt or a checkpoint need not wait for the end."""

    def __init__(self, driver: Driver, start: float) -> None:
        self.driver, self.start = driver, start
        self.part = math.inf

    def span(self, end: float) -> None:
        """The run goes so far."""
        self.part = (end - self.start) / PARTS

    def border(self, t: float) -> float:
        """The end of the stretch that begins at t."""
        return self.start + (math.floor((t - self.start) / self.part * (1 + 1e-12) + 1e-9) + 1) * self.part

    def advance(self, t: float, x: np.ndarray, t_end: float, times: np.ndarray) -> Leg:
        """See `Driver`."""
        return self.driver.advance(t, x, t_end, times)
