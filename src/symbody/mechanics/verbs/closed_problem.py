"""A Mechanism with its loops: constraints, partition of the velocities, and what the verbs make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from symbody.basics.errors import ModelError
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.formalisms.solve_accelerations import driven_velocities
from symbody.mechanics.loops.closing.closure import Closure, ClosurePlan, close
from symbody.mechanics.loops.equations.inverse import actuated_velocities, actuator_efforts, balance
from symbody.mechanics.loops.equations.reduced import (
    Route,
    all_accelerations,
    independent_accelerations,
    multipliers,
    reduce,
)
from symbody.mechanics.loops.equations.tree_equations import Opened
from symbody.mechanics.loops.partition.partition import Partition, choose_partition
from symbody.mechanics.loops.partition.partition_order import check_partition
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.memoised.partitions import SINGULAR, Chosen
from symbody.mechanics.verbs.problem import Problem
from symbody.model.record.coordinates import velocity_labels
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.arrays import Array
from symbody.symbolic.expr.walk import quiet_collector
from symbody.symbolic.system.system import System


@dataclass(frozen=True, eq=False)
class ClosedProblem(Problem):
    """A Problem with the constraints of its loops.

    wanted  the partition of the velocities that is asked for; kept: fixed and locked joints that are Links
    """

    constraints: Constraints
    wanted: Chosen = "auto"
    kept: tuple[str, ...] = ()

    def check_switches(self) -> None:
        """Refuses a loop that opens and closes."""
        opening = sorted({row.loop for row in self.constraints.rows if row.switch is not None})
        if opening:
            raise ModelError(
                f"{self.mech.name}: {', '.join(map(repr, opening))} opens and closes during motion, so that no joint "
                f"is dependent all the time. Say which is meant: mech.with_loops({_held(opening)}), True for closed, "
                "False for open. forward_dynamics, reactions, energy and simulate take the switch as an input."
            )

    def partition(self) -> Partition:
        """The Partition that is wanted; a loop that opens and closes has no place here."""
        self.check_switches()
        derived, chosen = derived_of(self.mech), self.wanted
        if isinstance(chosen, Partition):
            check_partition(self.constraints, chosen)
        else:  # the choice is that of the mechanism, whatever joints are kept
            chosen = derived.partition(chosen)
        if self.kept and np.any(self.constraints.pattern & ~derived.constraints().pattern):
            # rows in the axes of a body that is kept have entries that the order of the blocks does not know
            moving, own = velocity_labels(self.mech), chosen.independent
            chosen = derived.get(
                "partition_kept", (self.kept, own), lambda: choose_partition(self.constraints, [moving[k] for k in own])
            )
        if chosen.least > SINGULAR:  # at all samples, not at a dead point only
            names = ", ".join(velocity_labels(self.mech)[k] for k in chosen.independent)
            raise ModelError(
                f"{self.mech.name} cannot be moved by {names}: J_v is singular at closed positions. Choose other "
                "independent joints, or partition='auto'."
            )
        return chosen

    def closure(self) -> Closure:
        """Constraints solved by the partition."""
        chosen = self.partition()
        with quiet_collector():
            return close(self.constraints.facing(chosen.turned), chosen)

    def standing(self) -> Constraints:
        """The constraints as they are closed on the branch of the Partition that is wanted."""
        branch = derived_of(self.mech).branch() if not isinstance(self.wanted, Partition) else self.wanted
        return self.constraints if branch is None else self.constraints.facing(branch.turned)

    def closed_system(
        self,
        quantity: str,
        outputs: Mapping[str, Any],
        source: str,
        extra: Mapping[str, str] | None = None,
        closure: Closure | None = None,
    ) -> System:
        """A System around outputs that hold at the closed state already; extra: further origins.

        closure: what dependent joints were solved by; None where no joint is dependent.
        """
        system = self.assemble(quantity, dict(outputs), source)
        origins = {**system.origins, **(extra or {})}
        if closure is not None:
            origins["partition"] = say_partition(self.mech, closure.partition)
        return system.replace(origins=origins)

    def bind(self, plan: ClosurePlan) -> tuple[Self, dict[str, Array]]:
        """Outputs of a plan at the solution, and the problem with the rates and events of force elements there."""
        found = plan.bound()
        rates = {n: found.pop(f"{n}_dot") for n in list(self.derivatives)}
        events = {
            name: replace(
                event,
                guard=found.pop(f"{name} guard"),
                reset={n: found.pop(f"{name} {n}") for n in event.reset},
            )
            for name, event in self.events.items()
        }
        return self.replace(derivatives=rates, events=events), found

    def with_derivatives(self, outputs: Mapping[str, Any]) -> dict[str, Any]:
        """Rates of force states, guards and resets are expressions of q and qd too."""
        out = {**outputs, **{f"{n}_dot": x for n, x in self.derivatives.items()}}
        for name, event in self.events.items():
            out[f"{name} guard"] = event.guard
            out |= {f"{name} {n}": x for n, x in event.reset.items()}
        return out


def closed_problem(
    mech: Mechanism,
    parameters: str = "setup",
    wrenches: Sequence[str] = (),
    partition: Chosen = "auto",
    kept: Sequence[str] = (),
) -> ClosedProblem:
    """The ClosedProblem of a Mechanism; kept: as in `build_tree`."""
    made = derived_of(mech).closed(parameters, wrenches, kept)
    assert made.constraints is not None
    return ClosedProblem(
        mech,
        made.tree,
        made.inputs,
        made.states,
        made.derivatives,
        made.modes,
        made.events,
        made.units,
        made.constraints,
        partition,
        tuple(kept),
    )


def _held(names: Sequence[str]) -> str:
    return ", ".join(f"{n}=True" for n in names) if all(map(str.isidentifier, names)) else "**{...}"


def say_partition(mech: Mechanism, partition: Partition) -> str:
    """Independent and dependent velocities, blocks and the reasons in a few sentences."""
    names = velocity_labels(mech)
    blocks = "; ".join(", ".join(names[k] for k in b.columns) for b in partition.blocks)
    head = f"independent: {', '.join(names[k] for k in partition.independent) or 'none'}. Solved in turn: {blocks}."
    return f"{head} {partition.explanation}".strip()


# -- equations


def closed_efforts(closure: Closure, efforts: Array) -> dict[str, Any]:
    """Outputs of inverse dynamics from the efforts (nv,) of the tree, an expression of its symbols."""
    tree = closure.tree
    actuated = actuated_velocities(tree.mechanism)
    psi, g = balance(closure, efforts, actuated)
    found = actuator_efforts(psi, g)
    if found is None:
        return {"Psi": psi, "G": g}
    tau = np.zeros(len(tree.qd), dtype=object)
    tau[actuated] = found
    return {"tau": tau}


def closed_motion_equations(
    closure: Closure, quantity: str, opened: Opened, route: Route, lam: bool = False
) -> dict[str, Any]:
    """Outputs of semi-explicit or forward dynamics in the symbols of the tree."""
    tree = closure.tree
    if quantity == "semi_explicit":
        reduced = reduce(closure, opened, np.zeros(len(tree.qd), dtype=object), route)
        return {"M": reduced.M, "c": reduced.F}
    reduced = reduce(closure, opened, tree.tau, route, driven_velocities(tree), tree.qdd)
    qdd_u = independent_accelerations(reduced)
    out: dict[str, Any] = {"qdd": all_accelerations(reduced, qdd_u)}
    if lam:
        out["lam"] = multipliers(reduced, qdd_u)
    return out
