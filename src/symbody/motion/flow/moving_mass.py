"""Whether every motion that closed loops leave moves some mass: else nothing tells its acceleration."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from symbody.basics.errors import ModelError
from symbody.basics.memory import memory_of
from symbody.mechanics.assembly.assembly import closed_samples, free_velocities
from symbody.mechanics.assembly.constraints import Constraints
from symbody.mechanics.assembly.numeric import length_unit, numeric_of
from symbody.mechanics.formalisms.composite import mass_matrix
from symbody.mechanics.memoised.model_memory import derived_of, numbers_key
from symbody.model.record.coordinates import sliding, velocity_labels
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.numbers import numbers_of
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.evaluate import Evaluation
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols

NOTHING = 1e-12  # of the largest mass that a motion moves
ZERO = 1e-9  # of the largest singular value of J
SAMPLES = 4  # positions that are looked at where one may be a dead point
FEW = 16  # sets of numbers whose answers are kept


def check_moving_mass(closed: Constraints, parameters: Mapping[str, float], q: np.ndarray, t: float) -> None:
    """ModelError where a motion moves nothing at the closed position q (nq,) and at others near it.

    A body without mass or inertia is legal, and so are loops that hold it to others: only where there are such bodies
    the mass matrix on the motions that are left is looked at, once for each set of numbers of masses.
    """
    mech = closed.tree.mechanism
    own = {n: v for n, v in parameters.items() if n in _inertial(mech)}
    key = (tuple(row.name for row in closed.rows), numbers_key(own))
    still = memory_of(mech).get("moving mass", key, lambda: _still(closed, parameters, own, q, t), FEW)
    if still:
        raise ModelError(
            f"{mech.name} has a motion that moves nothing with mass: {', '.join(still)} may move together, as the "
            "loops allow, and no body that they move has mass or inertia. Give one of them some, or lock a joint."
        )


def _inertial(mech: Mechanism) -> frozenset[str]:
    """Parameters that masses, centres of mass and inertias depend on."""

    def make() -> frozenset[str]:
        nodes = [x for b in mech.bodies for x in (b.mass, *b.com.flat, *b.inertia.flat) if isinstance(x, Node)]
        return frozenset(s.data.name for s in free_symbols(nodes))

    return memory_of(mech).get("inertial", (), make)


def _still(
    closed: Constraints, parameters: Mapping[str, float], own: Mapping[str, float], q: np.ndarray, t: float
) -> tuple[str, ...]:
    """Velocities of a motion without mass; () where there is none."""
    mech = closed.tree.mechanism
    if _all_solid(mech, own):
        return ()
    found = _least(closed, parameters, q, t)
    if found and all(_least(closed, parameters, x, t) for x in closed_samples(closed, SAMPLES, q, parameters, time=t)):
        return found
    return ()


def _all_solid(mech: Mechanism, own: Mapping[str, float]) -> bool:
    """Whether all that moves as one body has mass, and moments of inertia about all axes."""
    for nodes in _inertias(mech):
        found = numbers_of(nodes, own)
        if found is None:
            continue
        mass, moment, tensor = found[0], found[1:4], found[4:].reshape(3, 3)
        if mass <= 0:
            return False
        central = np.linalg.eigvalsh(tensor - (moment @ moment * np.eye(3) - np.outer(moment, moment)) / mass)
        if central[0] <= NOTHING * abs(tensor).max():
            return False
    return True


def _inertias(mech: Mechanism) -> list[np.ndarray]:
    """Nodes (13,) of each part that moves as one body: mass, first moment, tensor about the origin of its Link."""

    def make() -> list[np.ndarray]:
        tree = derived_of(mech).tree()
        parts = [tree.links[k].inertia for k in sorted({place[0] for place in tree.places.values()} - {-1})]
        rows = [as_nodes([tree.graph.zero, i.mass, *i.moment, *i.tensor.flat])[1:] for i in parts]
        return [np.array(row, dtype=object) for row in rows]

    return memory_of(mech).get("inertias of parts", (), make)


def _least(closed: Constraints, parameters: Mapping[str, float], q: np.ndarray, t: float) -> tuple[str, ...]:
    """Velocities of the motion at q that moves least, if that is nothing."""
    mech = closed.tree.mechanism
    numeric, free = numeric_of(closed, parameters, t), free_velocities(mech)
    unit = np.where(sliding(mech), length_unit(numeric.length()), 1.0)[free]
    _, sizes, rows = np.linalg.svd(numeric.J(q)[:, free] * unit)
    rank = int((sizes > ZERO * max(sizes, default=0.0)).sum())
    motions = rows[rank:].T * unit[:, None]
    whole = _mass_matrix(mech, parameters, q)
    if whole is None or not motions.shape[1]:
        return ()
    masses, vectors = np.linalg.eigh(motions.T @ whole[np.ix_(free, free)] @ motions)
    scale = np.abs(whole[np.ix_(free, free)] * np.outer(unit, unit)).max(initial=0.0)
    if masses[0] > NOTHING * scale:
        return ()
    share = np.abs((motions @ vectors[:, 0]) / unit)
    names = velocity_labels(mech)
    return tuple(names[free[k]] for k in np.flatnonzero(share > 1e-3 * share.max()))


def _mass_matrix(mech: Mechanism, parameters: Mapping[str, float], q: np.ndarray) -> np.ndarray | None:
    """M (nv, nv) of the opened tree; None where a parameter has no number."""

    def make() -> tuple[Evaluation, list[Node], list[Node]]:
        tree = derived_of(mech).tree()
        nodes = as_nodes([tree.graph.zero, *mass_matrix(tree).flat])[1:]
        return Evaluation(nodes), list(tree.q), free_symbols(nodes)

    entries, coordinates, symbols = memory_of(mech).get("mass matrix", (), make)
    known = dict(zip(coordinates, q, strict=True))
    values = {s: known.get(s, parameters.get(s.data.name, s.data.default)) for s in symbols}
    if any(v is None for v in values.values()):
        return None
    return np.array([float(v) for v in entries(values)]).reshape(mech.nv, mech.nv)
