"""What may stand for a linear model, as a StateSpace."""

from __future__ import annotations

from typing import Any

from symbody.basics.errors import DefinitionError
from symbody.studies.linear.linear_system import linear_system
from symbody.studies.linear.state_space import StateSpace
from symbody.symbolic.system.system import System


def as_state_space(model: Any) -> StateSpace:
    """A StateSpace from one, from a Linear, a System with states, python-control's StateSpace, or (A, B, C, D)."""
    if isinstance(model, StateSpace):
        return model
    if hasattr(model, "state_space"):
        made: StateSpace = model.state_space
        return made
    if isinstance(model, System):
        return linear_system(model)
    if type(model).__module__.startswith("control."):
        from symbody.codegen.interop.control_bridge import from_control

        return StateSpace(**from_control(model))
    if isinstance(model, (tuple, list)) and len(model) == 4:
        return StateSpace(*model)
    raise DefinitionError(
        f"{type(model).__name__} is no linear model; expected a Linear, a StateSpace, a System with states, or "
        "(A, B, C, D)."
    )
