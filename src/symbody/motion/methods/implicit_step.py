"""Implicit methods of fixed step as Systems: one step is a map with solve blocks, run by the native march.

A step System has the inputs states, memory of the method, t, STEP_LENGTH, signals, and outputs under the names of the
states and of the memory: their values at t + h. Its `clocks` say, for each signal, at which fraction of the step it is
to be read (it is held over the step).

    implicit_euler          order 1, L-stable
    midpoint                order 2, symplectic, keeps quadratic invariants (Gauss of one stage)
    sdirk2, sdirk3          order 2 and 3, L-stable (Alexander 1977); order 3 where signals are constant over a step
    generalized_alpha       order 2, numerical damping by rho_inf (Chung and Hulbert 1993; Arnold and Bruels 2007)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.basics.errors import DefinitionError, ModelError, NameLookupError, nearest
from symbody.motion.flow.flow import Flow
from symbody.motion.march.march_ports import STEP_LENGTH
from symbody.symbolic.expr.graph import Graph, current_graph
from symbody.symbolic.expr.implicit import solve
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols
from symbody.symbolic.system.system import System

RATE, LIKE = " (rate)", " (like its rate)"  # of a state: what generalized_alpha remembers; no ends of identifiers

_G2 = 1 - 0.5**0.5
_G3 = 0.4358665215084589994160194511935568425  # root of x^3 - 3 x^2 + 3/2 x - 1/6 in (1/6, 1/2)


@dataclass(frozen=True)
class Diagonal:
    """Diagonally implicit Runge-Kutta method: stages are solved one after the other.

    a, b    lower triangle with the diagonal, row by row; weights
    about   what it is, for lists
    """

    name: str
    order: int
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    about: str = ""

    @property
    def c(self) -> tuple[float, ...]:
        return tuple(sum(row) for row in self.a)


_SDIRK3 = (-(6 * _G3**2 - 16 * _G3 + 1) / 4, (6 * _G3**2 - 20 * _G3 + 5) / 4, _G3)
TABLES = (
    Diagonal("implicit_euler", 1, ((1.0,),), (1.0,), "order 1, L-stable"),
    Diagonal("midpoint", 2, ((0.5,),), (1.0,), "implicit midpoint rule, order 2, symplectic"),
    Diagonal("sdirk2", 2, ((_G2,), (1 - _G2, _G2)), (1 - _G2, _G2), "order 2, L-stable"),
    Diagonal("sdirk3", 3, ((_G3,), ((1 - _G3) / 2, _G3), _SDIRK3), _SDIRK3, "order 3, L-stable"),
)
DIAGONAL = {table.name: table for table in TABLES}
ORDERS = {**{name: table.order for name, table in DIAGONAL.items()}, "generalized_alpha": 2}


@dataclass(frozen=True, eq=False)
class Residual:
    """Equations of motion of one pair (positions, velocities) that are not solved for the accelerations.

    system         (positions, velocities, accelerations[, multipliers], t, signals, other states) -> `equations` (nv,),
                   zero on motions: M qdd + c - tau (- J^T lam); with constraints also -> `constraints` (nc,), h(q, t)
    velocities     the state whose rate is meant
    accelerations  input of the system that stands for the rate
    explicit       components of the velocities whose rates are those of the Flow: prescribed motions
    """

    system: System
    velocities: str = "qd"
    accelerations: str = "qdd"
    equations: str = "residual"
    multipliers: str | None = None
    constraints: str | None = None
    explicit: tuple[int, ...] = ()


def step_system(flow: Flow, method: str | Diagonal, residual: Residual | None = None, **options: Any) -> System:
    """One step of an implicit method as a System, see the module.

    method    a table, or the name of a method of this module
    residual  equations of motion to solve in place of the Flow's own rates of the velocities: the same motion, and a
              much smaller Newton matrix, since the mass matrix is not inverted inside it
    options   tolerance and max_iterations of Newton's method; rho_inf of generalized_alpha (0.9; 0 damps most, 1 not)
    """
    with Graph():
        if method == "generalized_alpha":
            return _Stepper(flow, residual, options).generalized_alpha()
        table = DIAGONAL.get(method) if isinstance(method, str) else method
        if table is not None:
            return _Stepper(flow, residual, options).diagonal(table)
    raise NameLookupError(f"there is no implicit method {method!r} of fixed step. {nearest(str(method), ORDERS)}")


def start_system(flow: Flow, method: str | Diagonal, residual: Residual | None = None) -> System | None:
    """(states, t, signals) -> memory of the method at the start of a run, or after a jump; None if it has none.

    generalized_alpha begins with the true accelerations for both, an error O(h) that leaves q and qd of order 2;
    multipliers begin at 0: they are guesses.
    """
    if method != "generalized_alpha":
        return None
    rates = flow.rates
    outputs: dict[str, Any] = {}
    for name in flow.states:
        if name not in _positions(flow):
            outputs[name + RATE] = outputs[name + LIKE] = rates.output(rates.states[name])
    if residual is not None and residual.multipliers is not None:
        shape = residual.system.inputs[residual.multipliers].shape
        outputs[residual.multipliers] = np.full(shape, rates.graph.zero, dtype=object)
    arguments: dict[str, Any] = {"parameters": rates.parameters, "defaults": rates.defaults}
    return System(f"{rates.name}_start", inputs=rates.inputs, outputs=outputs, **arguments)


class _Stepper:
    """Symbols of one step, and the equations that its stages share. All of it lives in one Graph."""

    def __init__(self, flow: Flow, residual: Residual | None, options: dict[str, Any]) -> None:
        self.rho = float(options.pop("rho_inf", 0.9))
        self.newton = {k: options.pop(k) for k in ("tolerance", "max_iterations") if k in options}
        if options:
            known = ("tolerance", "max_iterations", "rho_inf")
            name = next(iter(options))
            raise NameLookupError(f"an implicit step has no option {name!r}. {nearest(name, known)}")
        if not 0 <= self.rho <= 1:
            raise DefinitionError(f"rho_inf is {self.rho}; expected a number from 0 (most damping) to 1 (none).")
        if residual is not None and residual.velocities not in flow.states:
            raise NameLookupError(
                f"the residual is that of {residual.velocities!r}. {nearest(residual.velocities, flow.states)}"
            )
        self.flow, self.residual = flow, residual
        self.graph = current_graph()
        self.t = self.graph.symbol("t", "time")
        self.h = self.graph.symbol(STEP_LENGTH, "input")
        self.x = {n: _fresh(self.graph, n, flow.rates.inputs[n]) for n in flow.states}
        self.signals = {n: _fresh(self.graph, n, flow.rates.inputs[n]) for n in flow.signals}
        self.implicit = residual.velocities if residual is not None else ""

    # -- equations

    def rates(self, t: Node, x: dict[str, Any]) -> dict[str, np.ndarray]:
        """Rates of all states in explicit form; those of a Residual's velocities are not asked for."""
        wanted = [n for n in self.flow.states if n != self.implicit]
        return self._applied(self._rates_of(wanted), t, x)

    def _rates_of(self, wanted: Sequence[str]) -> System:
        rates = self.flow.rates
        return System(
            rates.name,
            inputs=rates.inputs,
            outputs={n: rates.output(rates.states[n]) for n in wanted},
            parameters=rates.parameters,
            defaults=rates.defaults,
        )

    def balance(self, t: Node, x: dict[str, Any], acceleration: Any, multipliers: Any = None) -> dict[str, np.ndarray]:
        """Equations (nv,), and constraints where there are some, of the Residual."""
        r = self.residual
        assert r is not None
        more = {r.accelerations: acceleration}
        if r.multipliers is not None:
            more[r.multipliers] = multipliers
        found = self._applied(r.system, t, {**x, **more})
        if r.explicit:
            rates = self._applied(self._rates_of([r.velocities]), t, x)[r.velocities]
            for i in r.explicit:
                found[r.equations][i] = acceleration[i] - rates[i]
        return {n: found[n] for n in (r.equations, r.constraints) if n is not None}

    def _applied(self, system: System, t: Node, values: dict[str, Any]) -> dict[str, np.ndarray]:
        given = {"t": t, **self.signals, **values}
        missing = [n for n in system.inputs if n not in given]
        if missing:
            raise DefinitionError(
                f"{system.name} reads {', '.join(missing)}; expected states, t and signals of {self.flow.rates.name}."
            )
        found = system.apply(**{n: given[n] for n in system.inputs})
        if not isinstance(found, dict):
            found = {next(iter(system.outputs)): found}
        return {n: np.array(v, dtype=object) for n, v in found.items()}

    def block(self, rows: list[Any], unknowns: list[Any], guess: list[Any], name: str) -> Any:
        join = lambda parts: [v for p in parts for v in np.array(p, dtype=object).flat]  # noqa: E731
        # for short steps the matrix is nearly I and the mass matrix: a pivot off its diagonal, sound at some states,
        # may be exactly zero at others
        return solve(join(rows), join(unknowns), join(guess), name=name, pivots="diagonal", **self.newton)

    def system(self, method: str, outputs: dict[str, Any], memory: dict[str, Any], fraction: float) -> System:
        scalar = lambda node: np.array(node, dtype=object)  # noqa: E731
        rates = self.flow.rates
        return System(
            f"{rates.name}_{method}",
            inputs={**self.x, **memory, "t": scalar(self.t), STEP_LENGTH: scalar(self.h), **self.signals},
            outputs=outputs,
            clocks=dict.fromkeys(self.signals, fraction),
            units={n: u for n, u in rates.units.items() if n in self.x or n in self.signals},
        )

    # -- diagonally implicit Runge-Kutta

    def diagonal(self, method: Diagonal) -> System:
        name = method.name
        if self.residual is not None and self.residual.constraints is not None:
            raise ModelError(f"method {name!r} takes no constraints in implicit form; use 'generalized_alpha'.")
        slopes: list[dict[str, np.ndarray]] = []
        for k, row in enumerate(method.a):
            base = {n: _combined(x, [self.h * a for a in row[:-1]], [s[n] for s in slopes]) for n, x in self.x.items()}
            t = self.t + self.h * method.c[k]
            slopes.append(self._stage(t, base, self.h * row[-1], f"{name}_{k + 1}"))
        weights = [self.h * b for b in method.b]
        after = {n: _combined(x, weights, [s[n] for s in slopes]) for n, x in self.x.items()}
        return self.system(name, after, {}, fraction=0.5 if method.order > 1 else 1.0)

    def _stage(self, t: Node, base: dict[str, np.ndarray], step: Node, name: str) -> dict[str, np.ndarray]:
        """Rates k of a stage x = base + step k, x' = f(t, x); unknown are those x that do not follow from others."""
        z = {n: _fresh(self.graph, n, x, "stage") for n, x in base.items()}
        rates = self.rates(t, z)
        followers = _followers(z, rates, self.implicit)
        full = {n: base[n] + step * rates[n] if n in followers else z[n] for n in z}
        kept = [n for n in z if n not in followers]
        if not kept:
            return {n: rates[n] for n in z}
        if followers:
            rates |= self.rates(t, full)
        rows = []
        for n in kept:
            if self.residual is not None and n == self.implicit:
                rows.append(self.balance(t, full, (z[n] - base[n]) / step)[self.residual.equations])
            else:
                rows.append(z[n] - base[n] - step * rates[n])
        found = self.block(rows, [z[n] for n in kept], [self.x[n] for n in kept], name)
        return {n: found.at(rates[n] if n in followers else (z[n] - base[n]) / step) for n in z}

    # -- generalized alpha

    def generalized_alpha(self) -> System:
        """Second-order pairs by Arnold and Bruels 2007, eqs. (3)-(5); other states by its form of first order.

        Positions that are not plain integrals of velocities (quaternions) move along the frozen velocity
        dq = v + h (1/2 - beta) a + h beta a1 over the step, as on a Lie group (Bruels and Cardona 2010).
        """
        h, rho, residual = self.h, self.rho, self.residual
        positions = _positions(self.flow)
        moved = [n for n in self.flow.states if n not in positions]
        second = set(positions.values())
        alpha_m, alpha_f = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
        first_m = (3 * rho - 1) / (2 * rho + 2)  # Jansen, Whiting and Hulbert 2000; Bruels and Golinval 2006
        beta = 0.25 * (1 + alpha_f - alpha_m) ** 2
        constrained = residual is not None and residual.constraints is not None
        # with constraints, unknowns and equations are scaled to displacements, so that roundings of h(q) stay below
        # the tolerance and the matrix keeps its condition as h goes to 0 (Bottasso, Bauchau and Cardona 2007)
        unit = beta * h * h if constrained else self.graph.one
        unknown = {n: _fresh(self.graph, n + RATE, self.x[n], "next") for n in moved}
        z = {n: np.array(y / unit, dtype=object) for n, y in unknown.items()}
        memory = {n + end: _fresh(self.graph, n + end, self.x[n]) for n in moved for end in (RATE, LIKE)}
        like, after = {}, {}
        for n in moved:
            m = alpha_m if n in second else first_m
            dot, old = memory[n + RATE], memory[n + LIKE]
            like[n] = ((1 - alpha_f) * z[n] + alpha_f * dot - m * old) * (1 / (1 - m))
            gamma = 0.5 + alpha_f - m
            after[n] = self.x[n] + h * ((1 - gamma) * old + gamma * like[n])
        for q, v in positions.items():
            mean = self.x[v] + h * ((0.5 - beta) * memory[v + LIKE] + beta * like[v])
            after[q] = self._moved(q, v, mean)
        after = {n: after[n] for n in self.flow.states}
        t = self.t + h
        rates = self.rates(t, after)
        rows: list[Any] = []
        unknowns: list[Any] = [unknown[n] for n in moved]
        guess: list[Any] = [memory[n + RATE] * unit for n in moved]
        multipliers: dict[str, Any] = {}
        if residual is not None and residual.multipliers is not None:
            name = residual.multipliers
            lam = _fresh(self.graph, name, residual.system.inputs[name], "next")
            memory[name] = _fresh(self.graph, name, lam)  # the guess of the next step, and a result
            unknowns.append(lam)
            guess.append(memory[name] * unit)
            multipliers = {name: np.array(lam / unit, dtype=object)}
        balance = self.balance(t, after, z[self.implicit], multipliers.get(_name(residual))) if self.implicit else {}
        for n in moved:
            own = balance[residual.equations] if residual is not None and n == self.implicit else z[n] - rates[n]
            rows.append(own * unit)
        if residual is not None and residual.constraints is not None:
            rows.append(balance[residual.constraints])
        found = self.block(rows, unknowns, guess, "generalized_alpha")
        outputs = {n: found.at(after[n]) for n in self.flow.states}
        for n in moved:
            outputs[n + RATE], outputs[n + LIKE] = found.at(z[n]), found.at(like[n])
        outputs |= {n: found.at(lam) for n, lam in multipliers.items()}
        return self.system("generalized_alpha", outputs, memory, fraction=1.0)

    def _moved(self, q: str, v: str, mean: np.ndarray) -> np.ndarray:
        """Positions after a step along q' = N(q) mean, the mean velocity held; exact where N is the identity.

        Elsewhere by the classical Runge-Kutta method: its error h^5 is far below that of the step.
        """
        system = self._rates_of([q])
        rate = lambda dt, x: self._applied(system, self.t + dt, {**self.x, q: x, v: mean})[q]  # noqa: E731
        h, start = self.h, self.x[q]
        k1 = rate(0, start)
        if not _reads(self._applied(system, self.t, self.x)[q], self.x, {q}, self.t):
            return start + h * k1
        k2 = rate(h / 2, start + h / 2 * k1)
        k3 = rate(h / 2, start + h / 2 * k2)
        k4 = rate(h, start + h * k3)
        return start + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def _name(residual: Residual | None) -> str:
    return residual.multipliers or "" if residual is not None else ""


def _positions(flow: Flow) -> dict[str, str]:
    """positions -> velocities."""
    return dict(flow.second)


def _fresh(graph: Graph, name: str, like: Any, scope: str = "") -> np.ndarray:
    """Symbols of a shape, named after the array; those of other arrays and scopes are others, whatever their names."""
    scope = f"{scope} {name}"
    out = np.empty(np.shape(like), dtype=object)
    if out.shape == ():
        out[()] = graph.symbol(name, "state", scope=scope)
        return out
    for k in range(out.size):
        out.flat[k] = graph.symbol(f"{name}_{k + 1}", "state", scope=scope)
    return out


def _combined(x: np.ndarray, weights: Sequence[Node], slopes: Sequence[np.ndarray]) -> np.ndarray:
    """x + sum of weights times slopes."""
    out = x
    for w, s in zip(weights, slopes, strict=True):
        out = out + w * s
    return np.array(out, dtype=object)


def _followers(states: dict[str, np.ndarray], rates: dict[str, np.ndarray], implicit: str) -> list[str]:
    """States that follow from the others, x = base + step f(others): positions whose rates are velocities."""
    out: list[str] = []
    for n in states:
        if n == implicit or _reads(rates[n], states, {n, *out}) or any(_reads(rates[f], states, {n}) for f in out):
            continue
        out.append(n)
    return out


def _reads(rate: np.ndarray, states: dict[str, np.ndarray], names: set[str], *others: Node) -> bool:
    symbols = {s for n in names for s in states[n].flat} | set(others)
    return any(s in symbols for s in free_symbols(rate.flat))
