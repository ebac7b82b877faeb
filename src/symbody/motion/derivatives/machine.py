"""Machine: the native programs that differentiate the steps of one Flow by one method, made once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError
from symbody.basics.memory import memory_of
from symbody.codegen.kernel.native_kernel import NativeKernel
from symbody.mechanics.memoised.kernels import kernel_of
from symbody.motion.derivatives.carried import ALPHA, carries, carrying
from symbody.motion.derivatives.collocation import RADAU, Collocation
from symbody.motion.derivatives.observed import Texts, with_integrals
from symbody.motion.derivatives.pullbacks import Pullback, plain_rows, projection_pullback, pulled, rates_pullback
from symbody.motion.flow.flow import Flow
from symbody.motion.flow.flow_kernels import kernels
from symbody.motion.march.adjoint import WEIGHT, AdjointMarch
from symbody.motion.march.march import March
from symbody.motion.march.march_ports import STEP_LENGTH
from symbody.motion.march.method_tables import METHODS, RungeKutta, Splitting
from symbody.motion.march.variational import VariationalMarch
from symbody.motion.methods.implicit_step import DIAGONAL, step_system
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import substitute
from symbody.symbolic.system.system import System

FOLLOWED = (RADAU.name, "radau", "bdf", "lsoda", "cvode", "ida")
Names = tuple[tuple[str, int], ...]
Table = RungeKutta | Collocation | None
MOST_KEPT = 16


def machine_of(flow: Flow, integrals: Texts, method: str, table: Table) -> Machine:
    """The Machine of a Flow, made once for each method. table: of an explicit method that has one."""
    return memory_of(flow).get(
        "derivatives", (integrals, method, table), lambda: Machine(flow, integrals, method, table), MOST_KEPT
    )


def method_table(method: str, own: object) -> Table:
    """The table by which a method steps; None for a map. Methods of others, whose steps are not known, are refused.

    Steps of implicit methods that choose them are followed by collocation.

    own: the table that the run's stepper has, of methods that authors added
    """
    found = METHODS.get(method)
    if found is None and isinstance(own, RungeKutta) and own.name == method:
        found = own
    if isinstance(found, RungeKutta):
        return found
    if method in FOLLOWED:
        return RADAU
    if carries(method):
        return None
    if method in DIAGONAL or (isinstance(found, Splitting) and not found.substeps):
        return None
    known = ", ".join([*METHODS, *DIAGONAL, ALPHA, *FOLLOWED[1:]])
    raise DefinitionError(
        f"method {method!r} is not differentiated: its steps are not known one by one. Take one of {known}."
    )


class Machine:
    """Steps of a Flow, their adjoints and their variations.

    flow     with its integrals as further states; plain: without the integrals
    wide     with what a method carries from step to step, too, after the integrals; nx their number
    table    of an explicit Runge-Kutta method; collocation: of an implicit one; None both: the step is a map
    start    what a method carries where a motion begins, of the states of `flow`; None where it carries nothing
    """

    collocation: Collocation | None = None
    start: System | None = None
    _wide: Flow | None = None

    def __init__(self, flow: Flow, integrals: Texts, method: str, table: Table) -> None:
        self.flow = with_integrals(flow, integrals)
        self.plain, self.n_states, self.nx = flow, flow.nx, self.flow.nx
        self.collocation = table if isinstance(table, Collocation) else None
        self.table = None if isinstance(table, Collocation) else table
        self.step: System | None = None
        self.node = 0.0
        if carries(method):
            made_of = carrying(self.flow, method)
            self._wide, self.step, self.start, self.node = made_of.flow, made_of.step, made_of.start, made_of.node
            self.nx = self.wide.nx
        elif table is None:
            self.step = _kick_and_drift(self.flow) if method in METHODS else step_system(self.flow, method)
            self.node = max(self.step.clocks.values(), default=0.0)
        made = kernels(self.wide)
        self.project = made.get("project")
        self.rates = made["rates"] if self.step is None else None
        self.step_kernel = None if self.step is None else kernel_of(self.step)
        self.states = dict(self.wide.rates.states)

    @property
    def wide(self) -> Flow:
        """All states that a step moves."""
        return self.flow if self._wide is None else self._wide

    # -- programs, made when they are asked for

    @cached_property
    def march(self) -> March:
        """Values."""
        return March(self.rates, self.states, project=self.project, step=self.step_kernel, step_node=self.node)

    @cached_property
    def pull(self) -> Pullback:
        """Pullback of the rates, or of the step."""
        return self._pullback(None, False)

    @cached_property
    def pulled(self) -> Pullback | None:
        """Pullback of the projection; None where there is none."""
        return projection_pullback(self.wide)

    def _pullback(self, chosen: Names | None, lean: bool) -> Pullback:
        if self.step is None:
            return rates_pullback(self.wide, chosen, lean)
        step, flow = self.step, self.wide
        nodes = [x for n in flow.states for x in step.output(n).flat]
        return memory_of(step).get(
            "pullback", (chosen, lean), lambda: pulled(flow, step, nodes, "pullback", chosen, lean)
        )

    @cached_property
    def adjoint(self) -> AdjointMarch:
        pulled = None if self.pulled is None else kernel_of(self.pulled.system)
        return AdjointMarch(
            self.rates, self.states, kernel_of(self.pull.system), self.project, pulled, self.step_kernel, self.node
        )

    def variational(self, chosen: Names | None) -> VariationalMarch:
        """Directions: `chosen` parameters and constant signals; None: the combinations of parameters."""

        def make() -> VariationalMarch:
            live, copied = plain_rows(self.wide)
            projection = projection_pullback(self.wide, chosen, True)
            return VariationalMarch(
                self.rates,
                self.states,
                kernel_of(self._pullback(chosen, True).system),
                live,
                copied,
                self.project,
                None if projection is None else kernel_of(projection.system),
                self.step_kernel,
                self.node,
            )

        return memory_of(self).get("variational", (chosen,), make, MOST_KEPT)

    @property
    def combined(self) -> int | None:
        """Number of combinations of parameters, where directions may be taken along them."""
        return self.pull.groups.get("gm", 0) if self.pulled is None else None


def _kick_and_drift(flow: Flow) -> System:
    """One step of the semi-implicit Euler method as a map: all but positions by their rates, then positions by theirs
    at the new velocities."""
    if not flow.second:
        raise DefinitionError(f"{flow.name} has no positions and velocities; take another method.")
    rates = flow.rates
    h = rates.graph.symbol(STEP_LENGTH, "input")
    positions = [q for q, _ in flow.second]
    new: dict[str, list[Node]] = {}
    for n in flow.states:
        if n not in positions:
            rate = rates.output(rates.states[n])
            new[n] = [x + h * f for x, f in zip(rates.inputs[n].flat, rate.flat)]
    moved = {s: x for n, values in new.items() for s, x in zip(rates.inputs[n].flat, values)}
    for n in positions:
        drift = substitute(list(rates.output(rates.states[n]).flat), moved)
        new[n] = [x + h * f for x, f in zip(rates.inputs[n].flat, drift)]
    outputs = {n: _shaped(new[n], rates.inputs[n].shape) for n in flow.states}
    return System(
        f"{rates.name}_step", inputs={**rates.inputs, STEP_LENGTH: np.array(h, dtype=object)}, outputs=outputs,
        parameters=rates.parameters, defaults=rates.defaults,
    )  # fmt: skip


def _shaped(nodes: Sequence[Node], shape: tuple[int, ...]) -> np.ndarray:
    out = np.empty(shape, dtype=object)
    for k, node in enumerate(nodes):
        out.flat[k] = node
    return out


@dataclass(frozen=True, eq=False)
class DerivativeRows:
    """Derivatives of a map F of (t, x, u, parameters[, h]) at one point: x (n, nx), t, h (n,), u (n, nu), p (n, np)."""

    x: np.ndarray
    t: np.ndarray
    h: np.ndarray
    u: np.ndarray
    p: np.ndarray


def numbers_for(kernel: NativeKernel, parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """The parameters that a Kernel has."""
    known = {p.name for p in kernel.parameters}
    return {n: v for n, v in parameters.items() if n in known} or None


def chain_of(pull: Pullback, parameters: Mapping[str, Any]) -> np.ndarray:
    """(nm, np) derivative of what does not change by the parameters `pull.names`."""
    nm = pull.groups.get("gm", 0)
    if pull.chain is None:
        return np.zeros((nm, len(pull.names)))
    kernel = kernel_of(pull.chain)
    return np.asarray(kernel(parameters=numbers_for(kernel, parameters))).reshape(nm, len(pull.names))


def by_theta(
    chain: np.ndarray, names: tuple[tuple[str, int], ...], places: Mapping[tuple[str, int], int], n: int
) -> np.ndarray:
    """(..., nm, n) from (..., nm, np): columns of the parameters that are differentiated by, in their places."""
    out = np.zeros((*chain.shape[:-1], n))
    for k, name in enumerate(names):
        if name in places:
            out[..., places[name]] += chain[..., k]
    return out


def rows_of(
    pull: Pullback,
    flow: Flow,
    parameters: Mapping[str, Any],
    chain: np.ndarray,
    t: float,
    x: np.ndarray,
    u: np.ndarray,
    size: int,
    h: float = 0.0,
    more: Mapping[str, np.ndarray] | None = None,
) -> DerivativeRows:
    """All rows of the derivative of a map with `size` values at one point; chain (nm, np) brings m to parameters.

    more: further inputs of the map
    """
    kernel = kernel_of(pull.system)
    named = {**flow.layout.named(t, x, u), STEP_LENGTH: h, **(more or {})}
    given = [np.eye(size) if p.name == WEIGHT else named[p.name] for p in kernel.inputs]
    made, status = kernel.call_with_status(*given, parameters=numbers_for(kernel, parameters))
    parts = made._asdict() if len(kernel.outputs) > 1 else {kernel.outputs[0].name: made}
    if (np.asarray(status) < 0).any():
        raise DefinitionError(f"an implicit block of {flow.name} does not converge at t = {t:g} s.")
    nothing = np.zeros((size, 0))

    def part(name: str) -> np.ndarray:
        return np.asarray(parts[name]).reshape(size, -1) if name in parts else nothing

    def one(name: str) -> np.ndarray:
        return part(name)[:, 0] if name in parts else np.zeros(size)

    m = part("gm") @ chain if "gm" in parts else np.zeros((size, chain.shape[1]))
    return DerivativeRows(
        part("gx"), one("gt"), one("gh"), part("gu") if "gu" in parts else np.zeros((size, len(u))), m
    )


def called(
    pull: Pullback, flow: Flow, parameters: Mapping[str, Any], t: Any, x: np.ndarray, u: np.ndarray, w: np.ndarray
) -> dict[str, np.ndarray]:
    """Outputs (k, size) of a pullback at many points."""
    kernel = kernel_of(pull.system)
    named = {**flow.layout.named(t, x, u), WEIGHT: w}
    made, _ = kernel.call_with_status(
        *(named[p.name] for p in kernel.inputs), parameters=numbers_for(kernel, parameters)
    )
    parts = made if len(kernel.outputs) > 1 else [made]
    names = [o.name for o in kernel.outputs]
    return {n: np.broadcast_to(a, (*w.shape[:-1], pull.groups[n])) for n, a in zip(names, parts, strict=True)}
