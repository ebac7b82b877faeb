"""How a simulation deals with closed loops: by a partition of the velocities, or by multipliers."""

from __future__ import annotations

from typing import Any

from symbody.basics.errors import DefinitionError, Named, argument, real_argument
from symbody.mechanics.verbs.dynamics import forward_dynamics
from symbody.model.record.mechanism import Mechanism
from symbody.motion.flow.chosen_dynamics import is_reduced
from symbody.motion.flow.loop_treatment import Augmented


def formulated(mech: Any, formalism: str | None, partition: Any, formulation: str, alpha: Any, beta: Any) -> Any:
    """How closed loops are dealt with: a partition, None if it is to be chosen, or Augmented."""
    from symbody.mechanics.verbs.closed_dynamics import check_formulation

    check_formulation(formulation)
    for name, value in (("alpha", alpha), ("beta", beta)):
        real_argument(name, value, "a rate in 1/s, or 0", least=0.0)
    if formulation == "auto" and not (alpha or beta):
        return partition
    if not isinstance(mech, Mechanism) or not (mech.cuts or mech.couplings):
        name = getattr(mech, "name", "this model")
        raise DefinitionError(f"formulation, alpha and beta are for closed loops; {name} has none. Leave them out.")
    if formulation != "augmented":
        if alpha or beta:
            raise DefinitionError(
                "alpha and beta belong to ", argument("formulation", "augmented"), "; the reduced one closes the loops."
            )
        wanted = "auto" if partition is None else partition
        if not is_reduced(mech, formalism, wanted):  # in its own words
            forward_dynamics(mech, formalism or "base", formulation="reduced", partition=wanted)
        return partition
    if partition is not None:
        raise DefinitionError(
            Named("partition"),
            " belongs to ",
            argument("formulation", "reduced"),
            "; the augmented one solves for all joints.",
        )
    return Augmented(float(alpha), float(beta))
