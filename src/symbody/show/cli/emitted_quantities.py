"""The quantities that `emit` writes: one row each, a System of a Mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symbody.basics.errors import DefinitionError, NameLookupError, nearest

if TYPE_CHECKING:
    from symbody.model.record.mechanism import Mechanism
    from symbody.symbolic.system.system import System


@dataclass(frozen=True)
class EmittedQuantity:
    """about: a few words; make: (mechanism, frames, partition) -> System, None where `generate` makes it."""

    about: str
    make: Callable[[Mechanism, Sequence[str], Any], System] | None = None
    framed: bool = False  # frames may follow: jacobian:hand


def _closed(mech: Mechanism, partition: Any) -> dict[str, Any]:
    return {"partition": partition} if mech.cuts or mech.couplings else {}


def _kinematic(*quantities: str) -> Callable[[Mechanism, Sequence[str], Any], System]:
    def make(mech: Mechanism, frames: Sequence[str], partition: Any) -> System:
        from symbody.mechanics.verbs.kinematics import kinematics

        wanted = quantities or None
        return kinematics(mech, list(frames) or None, quantities=wanted, **_closed(mech, partition))

    return make


def _energy(mech: Mechanism, frames: Sequence[str], partition: Any) -> System:
    from symbody.mechanics.verbs.energy import energy

    return energy(mech, **_closed(mech, partition))


def _reactions(mech: Mechanism, frames: Sequence[str], partition: Any) -> System:
    from symbody.mechanics.verbs.reactions import reactions

    return reactions(mech, list(frames) or None, **_closed(mech, partition))


def _regressor(mech: Mechanism, frames: Sequence[str], partition: Any) -> System:
    from symbody.mechanics.verbs.identifiable_parameters import regressor

    return regressor(mech)


def _linear(mech: Mechanism, frames: Sequence[str], partition: Any) -> System:
    from symbody.studies.linear.linearize import linearize

    return linearize(mech, symbolic=True)


def _closure(mech: Mechanism, frames: Sequence[str], partition: Any) -> System:
    from symbody.mechanics.verbs.closed_dynamics import closure

    return closure(mech, partition)


def _driven(mech: Mechanism, frames: Sequence[str], partition: Any) -> System:
    from symbody.mechanics.verbs.driven_efforts import driven_efforts

    return driven_efforts(mech, **_closed(mech, partition))


QUANTITIES = {
    "inverse": EmittedQuantity("efforts of a motion"),
    "semi_explicit": EmittedQuantity("M and c of M qdd + c = tau"),
    "forward": EmittedQuantity("accelerations"),
    "kinematics": EmittedQuantity("poses, velocities, accelerations and Jacobians of frames", _kinematic(), True),
    "position": EmittedQuantity("poses of frames", _kinematic("R", "p"), True),
    "velocity": EmittedQuantity("velocities of frames", _kinematic("omega", "v"), True),
    "acceleration": EmittedQuantity("accelerations of frames", _kinematic("alpha", "a"), True),
    "jacobian": EmittedQuantity("Jacobians of frames", _kinematic("J"), True),
    "energy": EmittedQuantity("energies, power, mass, centre of mass", _energy),
    "regressor": EmittedQuantity("Y of tau = Y pi", _regressor),
    "reactions": EmittedQuantity("wrenches in joints", _reactions, True),
    "linear": EmittedQuantity("matrices of the linear model about any state", _linear),
    "closure": EmittedQuantity("closed coordinates and velocities of loops", _closure),
    "driven_efforts": EmittedQuantity("efforts of driven joints", _driven),
}
DYNAMICS = ("inverse", "semi_explicit", "forward")


def wanted_quantities(text: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """inverse,jacobian:hand -> key -> (quantity, frames); refused by the nearest names before anything is computed."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for item in filter(None, (piece.strip() for piece in text.split(","))):
        name, colon, frames = item.partition(":")
        if name not in QUANTITIES:
            raise NameLookupError(f"there is no quantity {name!r}. {nearest(name, QUANTITIES)}")
        if colon and not QUANTITIES[name].framed:
            raise DefinitionError(f"quantity {name!r} has no frames to choose, as {item!r} does.")
        key = f"{name}_{frames}".replace(".", "_").replace("+", "_") if colon else name
        found[key] = (name, tuple(filter(None, frames.split("+"))))
    if not found:
        raise DefinitionError("no quantity was named; expected one or more of " + ", ".join(QUANTITIES) + ".")
    return found
