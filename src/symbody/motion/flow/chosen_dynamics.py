"""The forward dynamics that a simulation of a Mechanism integrates: by a named formalism, or a small one."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from symbody.basics.errors import ModelError
from symbody.mechanics.memoised.model_memory import derived_of
from symbody.mechanics.verbs.dynamics import forward_dynamics
from symbody.mechanics.verbs.problem import problem_of
from symbody.mechanics.verbs.smallest.tuned import pattern, tuned_choices
from symbody.model.record.mechanism import Mechanism
from symbody.motion.flow.loop_treatment import Augmented
from symbody.symbolic.lower.optimize import count_system
from symbody.symbolic.system.system import System

MANY = 20  # velocities beyond which only the order-N recursion is tried


def is_reduced(mech: Mechanism, formalism: str | None, partition: Any) -> bool:
    """Whether the equations of `mechanism_flow` solve the loops for dependent joints."""
    return "partition" in flow_dynamics(mech, formalism, partition).origins


def flow_dynamics(mech: Mechanism, formalism: str | None, partition: Any) -> System:
    key = ("chosen_dynamics", formalism, partition_key(partition))
    return derived_of(mech).system(key, lambda: chosen_dynamics(mech, formalism, partition))


def partition_key(partition: Any) -> Any:
    return tuple(map(str, partition)) if isinstance(partition, (list, tuple)) else partition


def chosen_dynamics(mech: Mechanism, formalism: str | None, partition: Any = "auto") -> System:
    """Forward dynamics by a named formalism, or quickly a small one: never a search."""
    if isinstance(partition, Augmented):
        return forward_dynamics(mech, formalism or "base", **partition.options)
    if mech.cuts or mech.couplings:
        try:
            return forward_dynamics(mech, formalism or "base", partition=partition)
        except ModelError:
            if formalism is not None or partition != "auto":
                raise
            # no joints can be solved for, as with some rolling wheels: all of them, with multipliers
            return forward_dynamics(mech, "base", formulation="augmented")
    if formalism is not None:
        return forward_dynamics(mech, formalism)
    if pattern(problem_of(mech).tree, "forward") in tuned_choices():
        return forward_dynamics(mech, "auto", preset="standard")
    if mech.nv > MANY:
        try:
            return forward_dynamics(mech, "order_n")
        except ModelError:
            return forward_dynamics(mech, "base")  # a joint moves nothing with mass: M says so in its own words
    made = [forward_dynamics(mech, "base")]
    with suppress(ModelError):  # a joint that moves nothing with mass
        made.append(forward_dynamics(mech, "order_n"))
    return min(made, key=lambda system: count_system(system).total)
