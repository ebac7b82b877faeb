"""A Mechanism with its loops: constraints, partition of the velocities, and what the verbs make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from symbody.errors import ModelError
from symbody.expr.arrays import Array
from symbody.expr.walk import quiet_collector
from symbody.formalisms.explicit import driven_velocities
from symbody.formalisms.tree import build_tree
from symbody.loops.branches import Branch, branch_of, holding
from symbody.loops.closure import Closure, Plan, close
from symbody.loops.constraints import Constraints, constraints
from symbody.loops.counted import cheapest_partition
from symbody.loops.inverse import actuated_velocities, actuator_efforts, balance
from symbody.loops.numeric import Numeric
from symbody.loops.opened import Opened
from symbody.loops.ordered import check_partition
from symbody.loops.partition import Partition, choose_partition
from symbody.loops.reduced import (
    Route,
    all_accelerations,
    independent_accelerations,
    multipliers,
    reduce,
)
from symbody.model.joints import KINDS
from symbody.model.mechanism import Mechanism, has_coordinates
from symbody.system.system import System
from symbody.verbs.dynamics import Problem

SINGULAR = 1e12  # condition of J_v above which a partition is refused

Chosen = str | Partition | Sequence[str]  # "auto", "heuristic", "pivoting", names of independent joints, or a Partition


class ClosedProblem(Problem):
    """A Problem with the constraints of its loops and the partition of its velocities."""

    def __init__(
        self,
        mech: Mechanism,
        parameters: str = "setup",
        wrenches: Sequence[str] = (),
        partition: Chosen = "auto",
        kept: Sequence[str] = (),
    ) -> None:
        super().__init__(mech, parameters, wrenches, kept)
        self.kept = kept
        with quiet_collector():
            self.found: Constraints = constraints(self.tree)
        self.wanted = partition
        self.solved = False  # whether dependent joints are solved for

    def closure(self) -> Closure:
        """Constraints solved by the partition; a loop that opens and closes has no place here."""
        opening = sorted({row.loop for row in self.found.rows if row.switch is not None})
        if opening:
            raise ModelError(
                f"{self.mech.name}: {', '.join(map(repr, opening))} opens and closes during motion, so that no joint "
                f"is dependent all the time. Say which is meant: mech.with_loops({_held(opening)}), True for closed, "
                "False for open. forward_dynamics, reactions, energy and simulate take the switch as an input."
            )
        # the choice is that of the mechanism, whatever joints are kept
        found = constraints(build_tree(self.mech)) if self.kept else self.found
        if isinstance(self.wanted, Partition):
            check_partition(self.found, self.wanted)
        else:
            self.wanted = partition_of(self.mech, found, self.wanted)
        if self.kept and np.any(self.found.pattern & ~found.pattern):
            # rows in the axes of a body that is kept have entries that the order of the blocks does not know
            moving = velocity_names(self.mech)
            self.wanted = choose_partition(self.found, [moving[k] for k in self.wanted.independent])
        if self.wanted.least > SINGULAR:  # at all samples, not at a dead point only
            names = ", ".join(velocity_names(self.mech)[k] for k in self.wanted.independent)
            raise ModelError(
                f"{self.mech.name} cannot be moved by {names}: J_v is singular at closed positions. Choose other "
                "independent joints, or partition='auto'."
            )
        self.solved = True
        with quiet_collector():
            return close(self.found, self.wanted)

    def closed_system(
        self, quantity: str, outputs: Mapping[str, Any], source: str, extra: Mapping[str, str] | None = None
    ) -> System:
        """A System around outputs that hold at the closed state already; extra: further origins."""
        system = self.assemble(quantity, dict(outputs), source)
        origins = {**system.origins, **(extra or {})}
        if self.solved and isinstance(self.wanted, Partition):
            origins["partition"] = say_partition(self.mech, self.wanted)
        return system.replace(origins=origins)

    def bind(self, plan: Plan) -> dict[str, Array]:
        """Outputs of a plan at the solution; those of force elements go back to their place."""
        found = plan.bound()
        self.derivatives = {n: found.pop(f"{n}_dot") for n in list(self.derivatives)}
        self.events = {
            name: replace(
                event,
                guard=found.pop(f"{name} guard"),
                reset={n: found.pop(f"{name} {n}") for n in event.reset},
            )
            for name, event in self.events.items()
        }
        return found

    def with_derivatives(self, outputs: Mapping[str, Any]) -> dict[str, Any]:
        """Rates of force states, guards and resets are expressions of q and qd too."""
        out = {**outputs, **{f"{n}_dot": x for n, x in self.derivatives.items()}}
        for name, event in self.events.items():
            out[f"{name} guard"] = event.guard
            out |= {f"{name} {n}": x for n, x in event.reset.items()}
        return out


def _held(names: Sequence[str]) -> str:
    return ", ".join(f"{n}=True" for n in names) if all(map(str.isidentifier, names)) else "**{...}"


def velocity_names(mech: Mechanism) -> list[str]:
    """One name for each velocity: the joint's, with a number where it has several."""
    out = []
    for joint in mech.joints:
        if has_coordinates(joint):
            n = KINDS[joint.kind].nv(joint)
            out += [joint.name] if n == 1 else [f"{joint.name}.{k + 1}" for k in range(n)]
    return out


def say_partition(mech: Mechanism, partition: Partition) -> str:
    """Independent and dependent velocities, blocks and the reasons in a few sentences."""
    names = velocity_names(mech)
    blocks = "; ".join(", ".join(names[k] for k in b.columns) for b in partition.blocks)
    head = f"independent: {', '.join(names[k] for k in partition.independent) or 'none'}. Solved in turn: {blocks}."
    return f"{head} {partition.explanation}".strip()


# -- partition

_partitions: WeakKeyDictionary[Mechanism, dict[Any, Partition]] = WeakKeyDictionary()
_branches: WeakKeyDictionary[Mechanism, Branch] = WeakKeyDictionary()


def partition_of(mech: Mechanism, found: Constraints, wanted: str | Sequence[str] = "auto") -> Partition:
    """The Partition of a Mechanism, the same for every verb, on the branch of its assembled position.

    "auto" counts the programs for forward dynamics of the best choices by predicted operations, and of the one by
    structure ("heuristic"); how many depends on the size of the mechanism.
    """
    known = _partitions.setdefault(mech, {})
    key = wanted if isinstance(wanted, str) else tuple(wanted)
    if key not in known:
        branch = branch_of_mechanism(found)
        if wanted == "auto":
            known[key] = cheapest_partition(found, branch=branch)
        else:
            known[key] = choose_partition(found, wanted, branch=branch)
    return known[key]


def partition_at(
    mech: Mechanism,
    q: np.ndarray,
    wanted: Chosen = "auto",
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> Partition:
    """The Partition for the branch of the closed position q (nq,): that of the Mechanism, where it holds there.

    A Partition that was given is refused where it leaves out a constraint which is needed at q.
    """
    found = constraints(build_tree(mech))
    usual = _usual(mech, found, wanted)
    opened = {found.rows[i].loop for i in usual.open} if usual is not None else set()
    closed = tuple({row.loop for row in found.rows if row.switch is not None} - opened)

    def suits(positions: np.ndarray) -> bool:
        if usual is None:
            return False
        # joints that were named may be locked on one branch, and move another
        columns = None if isinstance(wanted, (str, Partition)) else usual.dependent
        if columns is not None and usual.least > SINGULAR:
            return False
        return bool(holding(found, usual.rows, positions, parameters, time, closed, columns).any())

    if usual is not None and suits(np.asarray(q, dtype=float)[None]):
        return usual
    branch = branch_of(found, q, parameters, closed, time=time, others=False)
    if usual is not None and (branch.singular or suits(branch.positions)):
        return usual
    if isinstance(wanted, Partition):
        assert usual is not None
        raise ModelError(
            f"the Partition solves {len(usual.rows)} constraints ({', '.join(usual.row_order)}); on the branch of "
            f"{mech.name} that was given {branch.rank} are independent. Make one for it: sb.partition(mech, q=...)."
        )
    known = _partitions.setdefault(mech, {})
    key = (wanted if isinstance(wanted, str) else tuple(wanted), branch.rank, branch.redundant)
    if key not in known:
        if wanted == "auto":
            known[key] = cheapest_partition(found, q=q, parameters=parameters, time=time)
        else:
            known[key] = choose_partition(found, wanted, q=q, parameters=parameters, time=time)
    return known[key]


def wanted_at(
    mech: Mechanism,
    q: np.ndarray,
    wanted: Chosen = "auto",
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> Chosen:
    """What was asked of the partition, where that holds at the closed position q (nq,); else `partition_at` q."""
    made = partition_at(mech, q, wanted, parameters, time)
    if isinstance(wanted, Partition) or made is _usual(mech, constraints(build_tree(mech)), wanted):
        return wanted
    return made


def _usual(mech: Mechanism, found: Constraints, wanted: Chosen) -> Partition | None:
    """The Partition that is wanted, on the branch of the assembled position; None where joints that were named do not
    fit it, as they may another branch."""
    if isinstance(wanted, Partition):
        return wanted
    try:
        return partition_of(mech, found, wanted)
    except ModelError:
        if isinstance(wanted, str):
            raise
        return None


def branch_of_mechanism(found: Constraints) -> Branch | None:
    """The Branch of the assembled position with all loops closed that are not switched; None without numbers for the
    parameters."""
    mech = found.tree.mechanism
    if mech not in _branches:
        try:
            Numeric(found)
        except ModelError:
            return None
        _branches[mech] = branch_of(found)
    return _branches[mech]


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
