"""Integration methods by name, and the Driver of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from symbody.errors import DefinitionError, NameLookupError, nearest
from symbody.simulation.feed import Feed
from symbody.simulation.flow import Flow

# name -> what it is, for lists and messages
FIXED = {
    "euler": "explicit Euler, order 1",
    "semi_implicit_euler": "velocities first, order 1",
    "heun": "explicit trapezoidal rule, order 2",
    "rk4": "classical Runge-Kutta, order 4",
    "verlet": "velocity Verlet, order 2, symplectic where forces depend on positions",
    "symplectic4": "three Verlet steps, order 4",
}
EMBEDDED = {
    "bogacki_shampine": "Runge-Kutta of order 3 with error estimate",
    "dopri5": "Dormand-Prince, order 5",
    "dopri8": "Dormand-Prince, order 8",
}
IMPLICIT = {
    "implicit_euler": "order 1, L-stable",
    "midpoint": "implicit midpoint rule, order 2, symplectic",
    "sdirk2": "order 2, L-stable",
    "sdirk3": "order 3, L-stable",
    "generalized_alpha": "order 2, with numerical damping",
}
STIFF = {
    "radau": "Radau IIA, order 5",
    "bdf": "backward differences, order 1 to 5",
    "lsoda": "Adams or backward differences, as needed",
    "cvode": "SUNDIALS, backward differences",
    "ida": "SUNDIALS, implicit equations",
}
ALL = {**FIXED, **EMBEDDED, **IMPLICIT, **STIFF}
LOOSE = 1e-6  # relative tolerance from which order 5 is cheaper than order 8
PARTS = 16  # stretches of methods that offer no natural ones


def choose_method(method: str, step: float | None, rtol: float) -> str:
    """The method that "auto" means, or the one named; with or without a step it must make sense."""
    if method == "auto":
        return "rk4" if step is not None else "dopri5" if rtol >= LOOSE else "dopri8"
    if method not in ALL:
        raise NameLookupError(f"there is no method {method!r}. {nearest(str(method), ['auto', *ALL])}")
    if step is None and method in (*FIXED, *IMPLICIT):
        raise DefinitionError(f"method {method!r} has steps of fixed length; give step=... in seconds.")
    if step is not None and method in STIFF:
        raise DefinitionError(
            f"method {method!r} chooses its steps by the tolerances; leave step out. "
            "To record at equal distances, give samples=..."
        )
    return method


def make_driver(
    flow: Flow,
    method: str,
    feed: Feed,
    *,
    start: float,
    step: float | None,
    rtol: float,
    atol: float,
    max_steps: int,
    parameters: Mapping[str, Any] | None = None,
    directions: np.ndarray | None = None,
    passive: np.ndarray | None = None,
    threads: int | None = None,
    look: Any = None,
) -> Any:
    """A Driver for the Flow, its parameters and its signals.

    directions, passive  (ng,) of the guards: which crossings count; events that only record
    look                 a `Lookout` for closed loops, or None
    """
    guarded: dict[str, Any] = dict(directions=directions, passive=passive, look=look)
    common: dict[str, Any] = dict(parameters=parameters, threads=threads, **guarded)
    if method in (*FIXED, *EMBEDDED):
        from symbody.simulation.native import NativeAdaptive, NativeFixed

        if step is not None:
            return NativeFixed(flow, method, feed, start, step, **common)
        return NativeAdaptive(flow, method, feed, rtol, atol, max_steps, **common)
    if method in IMPLICIT:
        from symbody.simulation.stepped import Stepped

        assert step is not None
        return Stepped(flow, method, feed, start, step, **common)
    from symbody.simulation.field import Field

    field = Field(flow, parameters, lambda t, x: feed.at(t))
    options: dict[str, Any] = dict(rtol=rtol, atol=atol, max_steps=max_steps, **guarded)
    if method == "cvode":
        from symbody.simulation.sundials import CvodeDriver

        return Bounded(CvodeDriver(field, "cvode_bdf", **options), start)
    if method == "ida":
        from symbody.simulation.implicit_form import implicit_form
        from symbody.simulation.stepped import balance_of
        from symbody.simulation.sundials import IdaDriver

        system, states = implicit_form(flow, balance_of(flow))
        guards = field.guards if flow.guards is not None else None
        more: dict[str, Any] = dict(signals=lambda t, x: feed.at(t), guards=guards, project=field.project)
        return Bounded(IdaDriver(system, states, parameters=parameters, **more, **options), start)
    from symbody.simulation.stiff import SciPyDriver

    return Bounded(SciPyDriver(field, method, **options), start)


class Bounded:
    """A Driver cut into stretches, so that an interrupt or a checkpoint need not wait for the end."""

    def __init__(self, driver: Any, start: float) -> None:
        self.driver, self.start = driver, start
        self.part = math.inf

    def span(self, end: float) -> None:
        """The run goes so far."""
        self.part = (end - self.start) / PARTS

    def border(self, t: float) -> float:
        """The end of the stretch that begins at t."""
        return self.start + (math.floor((t - self.start) / self.part * (1 + 1e-12) + 1e-9) + 1) * self.part

    def advance(self, t: float, x: np.ndarray, t_end: float, times: np.ndarray) -> Any:
        """See `Driver`."""
        return self.driver.advance(t, x, t_end, times)
