"""Problem: a Mechanism with what acts on it from outside, and the System that a named formalism makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from symbody.mechanics.formalisms.formulation import Choice, added, equations, solved
from symbody.mechanics.formalisms.order_n import check_order_n
from symbody.mechanics.formalisms.solve_accelerations import driven_velocities
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import minus
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.model.library.force_element import Event
from symbody.model.record.coordinates import parts
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.arrays import Array, matmul, scalar_array
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols, quiet_collector, substitute
from symbody.symbolic.system.names import identifier
from symbody.symbolic.system.system import System

MANY_LINKS = 30

CHOICES = {
    "newton_euler": Choice(),
    "barycentric": Choice(grouping="barycentric"),
    "base": Choice(grouping="base"),
    "order_n": Choice(grouping="base", solver="local"),
}
# with parameters that change at every call, what is computed from them is computed every time
RUNTIME_CHOICES = {
    "newton_euler": Choice(reference="com"),
    "order_n": Choice(solver="local"),
}

SOURCES = {
    "newton_euler": "recursive Newton-Euler, composite bodies, LDL^T (robotran 3.4, 3.8; Featherstone 2008)",
    "barycentric": "Newton-Euler with barycentric parameters (robotran 3.6)",
    "base": "Newton-Euler with base parameters (Gautier and Khalil 1990)",
    "order_n": "articulated bodies (robotran 3.7; Featherstone 2008, ch. 7)",
    "screw": "Newton-Euler by screws (MEDUSA, algorithms 4.7 and 4.10)",
    "lagrange": "Lagrange's equations from the energies",
    "auto": "smallest of the programs tried",
}

OUTPUTS = {
    "tau": "efforts on the velocities",
    "M": "mass matrix",
    "c": "efforts at zero acceleration",
    "qdd": "accelerations",
    "lam": "multipliers of the loop constraints",
    "Psi": "efforts on the independent velocities",
    "G": "from actuator efforts to those on the independent velocities",
}


def rounds_for(tree: Tree) -> int:
    """Repeating the chain of passes gains a few operations in small programs, and only time in large ones."""
    return 3 if len(tree.links) <= MANY_LINKS else 1


@dataclass(frozen=True, eq=False)
class Problem:
    """A Mechanism with what acts on it from outside, ready to be written as a System by any formalism.

    The Tree stands in a Graph of its own. inputs, states, derivatives, modes, events, units: as in `LoadedTree`.
    """

    mech: Mechanism
    tree: Tree
    inputs: dict[str, Array]
    states: dict[str, Array]
    derivatives: dict[str, Any]
    modes: dict[str, Array]
    events: dict[str, Event]
    units: dict[str, str]

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def without_states(self, **changes: Any) -> Self:
        """A copy whose force elements have no states, modes and events."""
        return replace(self, states={}, derivatives={}, modes={}, events={}, **changes)

    def read_only(self) -> Self:
        """States and modes of force elements are plain inputs: their rates and events are asked of other Systems."""
        return self.without_states(inputs={**self.inputs, **self.states, **self.modes})

    # -- formalisms

    def outputs(self, quantity: str, formalism: str) -> dict[str, Array]:
        if formalism in ("screw", "lagrange"):
            return self._by_other(quantity, formalism)
        if formalism == "order_n" and quantity == "forward":
            check_order_n(self.tree)
        with quiet_collector():
            return equations(self.tree, quantity, self.choice(formalism))

    def choice(self, formalism: str) -> Choice:
        """The fixed Choice of a named formalism."""
        if self.tree.runtime and formalism in RUNTIME_CHOICES:
            return RUNTIME_CHOICES[formalism]
        return CHOICES[formalism]

    def _by_other(self, quantity: str, formalism: str) -> dict[str, Array]:
        """Screws give tau, Lagrange M and c; the other quantities follow from those."""
        tree = self.tree
        if formalism == "screw":
            from symbody.mechanics.formalisms.screw import inverse

            tau = as_nodes([tree.graph.zero, *inverse(tree)])[1:]
            if quantity == "inverse":
                return {"tau": np.array(tau, dtype=object)}
            mass = jacobian(tau, list(tree.qdd))
            c = np.array(substitute(tau, dict.fromkeys(tree.qdd, 0)), dtype=object)
        else:
            from symbody.mechanics.formalisms.lagrange import mass_and_bias

            mass, c = mass_and_bias(tree)
            if tree.efforts is not None:
                c = added(c, np.array([minus(0, x) for x in tree.efforts], dtype=object))
        if quantity == "inverse":
            return {"tau": added(matmul(mass, tree.qdd), c)}
        return {"M": mass, "c": c} if quantity == "semi_explicit" else {"qdd": solved(tree, mass, c)}

    # -- the System

    def system(self, quantity: str, formalism: str) -> System:
        return self.assemble(quantity, self.outputs(quantity, formalism), SOURCES[formalism])

    def assemble(self, quantity: str, outputs: dict[str, Any], source: str) -> System:
        """Named inputs, outputs, units and origins around the equations."""
        tree, driven = self.tree, driven_velocities(self.tree)
        inputs: dict[str, Array] = {"q": tree.q, "qd": tree.qd}
        if quantity == "inverse":
            inputs["qdd"] = tree.qdd
        elif quantity == "forward":
            inputs["tau"] = tree.tau
            if driven:
                inputs["qdd_driven"] = tree.qdd[driven]
        inputs.update(self.inputs)
        inputs.update(self.states)
        inputs.update(self.modes)
        outputs = {**outputs, **{f"{n}_dot": x for n, x in self.derivatives.items()}}
        guards = {name: event.guard for name, event in self.events.items()}
        resets = {f"{name}.{n}": x for name, event in self.events.items() for n, x in event.reset.items()}
        symbols = free_symbols(
            [
                x
                for a in (*outputs.values(), *guards.values(), *resets.values())
                for x in np.array(a, dtype=object).flat
                if isinstance(x, Node)
            ]
        )
        if any(s.data.role == "time" for s in symbols):
            inputs["t"] = next(scalar_array(s) for s in symbols if s.data.role == "time")
        if tree.runtime:
            known = set(tree.moved.values())
            inputs.update({s.data.name: scalar_array(s) for s in symbols if s in known and s.data.role == "input"})
        units = {**self.units, **_units(self.mech), "qdd_driven": ""}
        return System(
            f"{identifier(self.mech.name)}_{quantity}",
            inputs={n: a for n, a in inputs.items() if a.size},
            outputs=outputs,
            states={n: f"{n}_dot" for n in self.states},
            guards=guards,
            resets=resets,
            modes={
                **{n: s.item().data.default or 0.0 for n, s in self.modes.items()},
                **{f"{name}.direction": event.direction for name, event in self.events.items()},
            },
            units={n: u for n, u in units.items() if u and (n in inputs or n in outputs)},
            origins={n: f"{OUTPUTS[n]} of {self.mech.name}: {source}" for n in outputs if n in OUTPUTS},
        )


def problem_of(
    mech: Mechanism, parameters: str = "setup", wrenches: Sequence[str] = (), kept: Sequence[str] = ()
) -> Problem:
    """The Problem of a Mechanism; kept: as in `build_tree`."""
    made = derived_of(mech).loaded(parameters, wrenches, kept)
    return Problem(mech, made.tree, made.inputs, made.states, made.derivatives, made.modes, made.events, made.units)


def _units(mech: Mechanism) -> dict[str, str]:
    """Units of q, qd, qdd, tau where all components share one."""
    motions = [p.motion for p in parts(mech)]
    if motions and all(m.is_turn for m in motions):
        return {"q": "rad", "qd": "rad/s", "qdd": "rad/s^2", "tau": "N m", "c": "N m", "M": "kg m^2", "t": "s"}
    if motions and all(m.is_slide for m in motions):
        return {"q": "m", "qd": "m/s", "qdd": "m/s^2", "tau": "N", "c": "N", "M": "kg", "t": "s"}
    return {"t": "s"}
