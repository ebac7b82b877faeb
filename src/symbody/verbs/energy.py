"""sb.energy: energies, powers, mass and centre of mass as a System."""

from __future__ import annotations

from typing import Any

from symbody.formalisms import energy as formulas
from symbody.formalisms.tree import build_tree
from symbody.lower.optimize import optimize_system
from symbody.model.mechanism import Mechanism
from symbody.system.system import System
from symbody.verbs.assemble import make_system

# output -> (function of the Tree, unit, meaning)
OUTPUTS: dict[str, tuple[Any, str, str]] = {
    "kinetic": (formulas.kinetic, "J", "kinetic energy of bodies and rotors"),
    "potential": (formulas.potential, "J", "energy of gravity and of joint springs"),
    "power": (formulas.power, "W", "tau . qd"),
    "dissipated": (formulas.dissipated, "W", "power that joint friction takes"),
    "mass": (formulas.total_mass, "kg", "mass of the bodies that move"),
    "com": (formulas.centre_of_mass, "m", "centre of mass of the bodies that move, in world axes"),
}


def energy(mech: Mechanism, parameters: str = "setup", preset: str = "standard") -> System:
    """(q, qd, tau) -> kinetic, potential (J), power, dissipated (W), mass (kg), com (3,) (m).

    Along a motion d/dt (kinetic + potential) = power - dissipated, if nothing else acts: force elements are
    not counted. Without any mass that moves there is no output com.
    """
    tree = build_tree(mech, parameters)
    massless = formulas.t3.is_zero(formulas.total_mass(tree))
    chosen = {name: row for name, row in OUTPUTS.items() if not (massless and name == "com")}
    system = make_system(
        tree,
        "energy",
        {"q": tree.q, "qd": tree.qd, "tau": tree.tau},
        {name: row[0](tree) for name, row in chosen.items()},
        {name: row[1] for name, row in chosen.items()},
        {name: row[2] for name, row in chosen.items()},
    )
    return optimize_system(system, preset)
