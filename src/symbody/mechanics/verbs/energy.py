"""sb.energy: energies, powers, mass and centre of mass as a System."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.mechanics.formalisms import tree_energy as formulas
from symbody.mechanics.formalisms.applied_forces import wrenches
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import plus
from symbody.mechanics.memoised.model_memory import derived_of, options_key
from symbody.mechanics.verbs.system_of_tree import has_loops, make_system, time_input
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.arrays import is_zero
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.system import System

# output -> (function of the Tree, unit, meaning)
OUTPUTS: dict[str, tuple[Any, str, str]] = {
    "kinetic": (formulas.kinetic, "J", "kinetic energy of bodies and rotors"),
    "potential": (formulas.potential, "J", "energy of gravity, joint springs and force elements"),
    "power": (formulas.power, "W", "tau . qd, and what inputs, given forces and functions of the user bring"),
    "dissipated": (formulas.dissipated, "W", "power that friction, dampers, contacts and tyres take"),
    "mass": (formulas.total_mass, "kg", "mass of the bodies that move"),
    "com": (formulas.centre_of_mass, "m", "centre of mass of the bodies that move, in world axes"),
}

# what a force element adds to which output
SHARES = {"potential": "stored", "power": "given", "dissipated": "lost"}


@declared
def energy(
    mech: Mechanism, parameters: str = "setup", preset: str = "standard", loops: bool = True, partition: Any = "auto"
) -> System:
    """(q, qd, tau) -> kinetic, potential (J), power, dissipated (W), mass (kg), com (3,) (m).

    Along a motion d/dt (kinetic + potential) = power - dissipated. Force elements count: what they store is part of
    potential (springs, stops, the elastic part of contacts and tyres), the power of actuators, inputs, given forces and
    functions of the user is part of power, the rest of their work is dissipated
    (`mechanics/formalisms/element_energy.py`). Their inputs and states are inputs here, as in `forward_dynamics`. tau
    holds the efforts of driven joints too: what they need is given by `driven_efforts`, with the power of loops that
    move in time. Without any mass that moves there is no output com. Closed loops (unless loops is False): of the
    closed mechanism, with the dependent parts of q and qd as in `forward_dynamics`; forces of loops do no work. Where a
    loop opens and closes, q and qd are taken as they are.
    """
    options = options_key({"partition": partition} if loops and has_loops(mech) else {})
    return derived_of(mech).system(
        ("energy", parameters, preset, bool(loops), options), lambda: _made(mech, parameters, preset, loops, partition)
    )


def _made(mech: Mechanism, parameters: str, preset: str, loops: bool, partition: Any) -> System:
    if loops and has_loops(mech):
        pieces: tuple[Any, ...] = (*mech.cuts, *mech.couplings)
        if any(p.switched for p in pieces):
            # whatever is closed, energies are those of the bodies at q and qd
            return optimize_system(_system(derived_of(mech).tree(parameters)), preset)
        from symbody.mechanics.verbs.closed_dynamics import at_closed_state

        return at_closed_state(mech, lambda problem, _: _system(problem.tree), partition, parameters, preset)
    return optimize_system(_system(derived_of(mech).tree(parameters)), preset)


def _system(tree: Tree) -> System:
    massless = is_zero(formulas.total_mass(tree))
    chosen = {name: row for name, row in OUTPUTS.items() if not (massless and name == "com")}
    outputs = {name: row[0](tree) for name, row in chosen.items()}
    inputs: dict[str, Any] = {"q": tree.q, "qd": tree.qd, "tau": tree.tau}
    units = {name: row[1] for name, row in chosen.items()}
    if tree.mechanism.forces:
        found = wrenches(tree)
        account = found.account()
        for name, share in SHARES.items():
            outputs[name] = plus(outputs[name], getattr(account, share))
        inputs.update({**found.inputs, **found.states, **found.modes, **time_input(outputs.values())})
        units.update({name: unit for name, unit in found.units.items() if name in inputs})
    origins = {name: row[2] for name, row in chosen.items()}
    system = make_system(
        tree, "energy", {name: np.ravel(array) for name, array in inputs.items()}, outputs, units, origins
    )
    return system.replace(inputs={name: inputs.get(name, array) for name, array in system.inputs.items()})
