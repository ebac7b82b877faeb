"""sb.center_of_mass and sb.centroidal_momentum: the motion of a mechanism as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbody.basics.arguments import declared
from symbody.basics.errors import ModelError, wrong_argument
from symbody.mechanics.formalisms.centroidal_maps import centre_of_mass_map, centroidal_map
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.loops.closing.closure import Closure
from symbody.mechanics.loops.equations.reduced import add, closed_motion, product
from symbody.mechanics.memoised.model_memory import derived_of, options_key
from symbody.mechanics.verbs.closed_dynamics import at_closed_state, velocity_map
from symbody.mechanics.verbs.closed_problem import ClosedProblem
from symbody.mechanics.verbs.split_bias import along_motion, velocity_map_rate
from symbody.mechanics.verbs.system_of_tree import has_loops, make_system, time_input
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.arrays import Array
from symbody.symbolic.expr.walk import quiet_collector
from symbody.symbolic.lower.optimize import optimize_system
from symbody.symbolic.system.system import System

# verb -> names of (value, map, its rate, rate of the value), their units and meanings
ROWS = {
    "center_of_mass": {
        "p": ("m", "centre of mass of the bodies that move, world axes"),
        "v": ("m/s", "its velocity, J qd"),
        "J": ("", "its Jacobian by qd"),
        "a": ("m/s^2", "its acceleration, J qdd + Jd qd"),
        "Jd": ("", "time derivative of J"),
    },
    "centroidal_momentum": {
        "hg": ("", "angular momentum about the centre of mass (N m s), then linear momentum (N s); world axes"),
        "Ag": ("", "centroidal momentum matrix: hg = Ag qd"),
        "hgd": ("", "rate of hg, Ag qdd + Agd qd: moment about the centre of mass and force from outside"),
        "Agd": ("", "time derivative of Ag"),
    },
}


@declared
def center_of_mass(
    mech: Mechanism,
    order: int = 2,
    parameters: str = "setup",
    preset: str = "standard",
    loops: bool = True,
    partition: Any = "auto",
) -> System:
    """(q, qd, qdd) -> p (3,), v (3,), J (3, nv), a (3,), Jd (3, nv) of the centre of mass, world axes; v = J qd.

    order: 0 gives p, 1 also v and J, 2 also a and Jd. Closed loops (unless loops is False): J and Jd (3, u) go by the
    independent velocities; q, qd, qdd as in `inverse_dynamics`.
    """
    return _verb(mech, "center_of_mass", order, parameters, preset, loops, partition)


@declared
def centroidal_momentum(
    mech: Mechanism,
    order: int = 2,
    parameters: str = "setup",
    preset: str = "standard",
    loops: bool = True,
    partition: Any = "auto",
) -> System:
    """(q, qd, qdd) -> hg (6,), Ag (6, nv), hgd (6,), Agd (6, nv): momentum about the centre of mass, hg = Ag qd.

    Angular part first (N m s, N s), in world axes, about the centre of mass; order: 1 gives hg and Ag, 2 also their
    rates. Closed loops as in `center_of_mass`.
    """
    return _verb(mech, "centroidal_momentum", order, parameters, preset, loops, partition)


def _verb(mech: Mechanism, what: str, order: int, parameters: str, preset: str, loops: bool, partition: Any) -> System:
    derived, lowest = derived_of(mech), 0 if what == "center_of_mass" else 1
    if isinstance(order, bool) or order not in range(lowest, 3):
        words = "0 (position), 1 (velocity) or 2 (acceleration)" if lowest == 0 else "1 (momentum) or 2 (its rate)"
        raise wrong_argument("order", order, words, error=ModelError)
    closed = loops and has_loops(mech)

    def make() -> System:
        with quiet_collector():
            if not closed:
                tree = derived.tree(parameters)
                return optimize_system(_system(tree, what, _outputs(tree, what, order)), preset)
            return at_closed_state(mech, at, partition, parameters, preset)

    def at(problem: ClosedProblem, closure: Closure) -> System:
        outputs = _outputs(closure.tree, what, order)
        maps = [n for n in ("J", "Ag") if n in outputs]
        b = velocity_map(closure)
        for name in maps:
            full = outputs[name]
            outputs[name] = product(full, b)
            if f"{name}d" in outputs:
                outputs[f"{name}d"] = add(product(outputs[f"{name}d"], b), product(full, velocity_map_rate(closure)))
        system = _system(closure.tree, what, outputs)
        moved = closed_motion(closure, {f"={n}": x for n, x in system.outputs.items()})  # no name of a frame's Jacobian
        found = {n[1:]: x for n, x in moved.items()}
        return system.replace(inputs={**system.inputs, **time_input(found.values())}, outputs=found)

    options = options_key({"partition": partition} if closed else {})
    return derived.system((what, order, parameters, preset, closed, options), make)


def _outputs(tree: Tree, what: str, order: int) -> dict[str, Array]:
    """Values, maps and their rates in the symbols of the Tree."""
    if what == "center_of_mass":
        p, map_ = centre_of_mass_map(tree)
        out: dict[str, Any] = {"p": np.array(p, dtype=object)}
        names = ("v", "J", "a", "Jd")
    else:
        map_, out, names = centroidal_map(tree), {}, ("hg", "Ag", "hgd", "Agd")
    if order > 0:
        out |= {names[0]: product(map_, tree.qd), names[1]: map_}
    if order > 1:
        rate = np.array(along_motion(tree, map_.flat), dtype=object).reshape(map_.shape)
        out |= {names[2]: add(product(map_, tree.qdd), product(rate, tree.qd)), names[3]: rate}
    return out


def _system(tree: Tree, what: str, outputs: dict[str, Array]) -> System:
    rows = ROWS[what]
    used = 2 if {"a", "hgd"} & outputs.keys() else 1 if {"v", "hg"} & outputs.keys() else 0
    inputs = {"q": tree.q, "qd": tree.qd, "qdd": tree.qdd}
    return make_system(
        tree,
        what,
        {**dict(list(inputs.items())[: used + 1]), **time_input(outputs.values())},
        {n: outputs[n] for n in rows if n in outputs},
        {"t": "s", **{n: rows[n][0] for n in outputs}},
        {n: rows[n][1] for n in outputs},
    )
