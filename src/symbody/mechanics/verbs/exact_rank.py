"""The rank of a regressor without rounding: at random states modulo the prime 2^61 - 1, with exact numbers.

The numbers of a model are the decimals that its text says, rotations are exactly orthonormal
(`mechanics/proof/exact.py`), sines and cosines are points of the circle. A rank at random points is that of the
functions but for a chance of 2^-40.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from symbody.basics.errors import SymbodyError
from symbody.mechanics.formalisms.regressor import regressor as regressor_matrix
from symbody.mechanics.proof.exact import exact_twin
from symbody.mechanics.proof.field_tape import tape_of
from symbody.mechanics.proof.modular import reduced
from symbody.mechanics.proof.points import RandomPoint, Relations
from symbody.mechanics.proof.prime_field import NoValue, decimal, residue
from symbody.mechanics.proof.relations import relations_of
from symbody.mechanics.proof.tape_values import values_at
from symbody.mechanics.verbs.problem import problem_of
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.call import as_nodes
from symbody.symbolic.expr.node import CONST, Node
from symbody.symbolic.expr.walk import topological
from symbody.symbolic.system.system import System

LARGEST = 250  # columns; elimination of integers of 61 bits takes seconds above


def exact_rank(mech: Mechanism, columns: Sequence[int], tolerance: float, seed: int = 0) -> int | None:
    """Rank of columns of the regressor of a tree, parameters at their defaults; None where it has none or is large.

    tolerance   offsets of joints below it, in m, are rounding of a file and count as zero
    """
    if not columns or len(columns) > LARGEST:
        return None if columns else 0
    try:
        return _rank(mech, list(columns), tolerance, seed)
    except (SymbodyError, NoValue):  # laws or numbers without an exact form
        return None


def _rank(mech: Mechanism, columns: list[int], tolerance: float, seed: int) -> int | None:
    twin = exact_twin(_general(mech, tolerance))
    if not _is_orthonormal(twin):
        return None
    problem = problem_of(twin, "setup").read_only()  # Y alone: no rates of states of force elements beside it
    y = regressor_matrix(problem.tree, columns)[:, columns]
    if any(n.op is CONST and n.data.__class__ is float for n in topological(as_nodes(list(y.flat)))):
        return None  # a function of a number: its value is rounded
    system = problem.assemble("inverse", {"Y": y}, "")
    tape = tape_of(system)
    if tape.refusal:
        return None
    relations = relations_of(twin)
    model = _model_point(system, relations, seed)
    angles = [base for base in tape.halvings if base[0] == "argument" and base[1][0] in system.parameters]
    fixed = {base: model.part(base) for base in angles}
    rows = np.zeros((0, len(columns)), dtype=object)
    states, k = len(columns) // max(mech.nv, 1) + 1, 0
    while True:  # a random state that adds nothing shows that no state does
        more = []
        for _ in range(states):
            point = RandomPoint((seed, "rank", k), relations, model.values, dict(tape.halvings))
            point.parts.update(fixed)
            more.append(np.array(values_at(tape, point), dtype=object).reshape(y.shape))
            k += 1
        wider, _ = reduced(np.concatenate([rows, *more]))
        if len(wider) == len(rows) or len(wider) == len(columns):
            return len(wider)
        rows, states = wider, 1


def _model_point(system: System, relations: Relations, seed: int) -> RandomPoint:
    """What is the same at all states: parameters at their defaults; those that are bound, or open, at random."""
    parameters = {(n, k): s for n, a in system.parameters.items() for k, s in enumerate(a.flat)}
    bound = set(relations.keys())
    given = {
        key: residue(decimal(s.data.default))
        for key, s in parameters.items()
        if s.data.default is not None and key not in bound
    }
    point = RandomPoint((seed, "model"), relations, given)
    point.values = {key: point.value(key) for key in parameters}
    return point


def _general(mech: Mechanism, tolerance: float) -> Mechanism:
    """Dust of offsets and directions is zero; a joint that is locked at an angle of no special size is locked at a
    general one, whose sine and cosine are a point of the circle."""

    def clean(x: Node) -> Node:
        return mech.graph.zero if x.op is CONST and abs(x.data) < tolerance else x

    joints = []
    for j in mech.joints:
        position = np.array([clean(x) for x in j.placement.position], dtype=object)
        rotation = _clean_rotation(j.placement.rotation, mech, tolerance)
        value = j.value
        if isinstance(value, Node) and value.op is CONST and value.data and j.kind != "prismatic":
            value = mech.graph.symbol(f"angle of {j.name}", "parameter")
        joints.append(replace(j, placement=replace(j.placement, position=position, rotation=rotation), value=value))
    return replace(mech, joints=tuple(joints))


def _clean_rotation(rotation: np.ndarray, mech: Mechanism, tolerance: float) -> np.ndarray:
    """A rotation of numbers without dust, orthonormal to rounding again."""
    if any(x.op is not CONST for x in rotation.flat):
        return rotation
    r = np.array([float(x.data) for x in rotation.flat]).reshape(3, 3)
    dust = (np.abs(r) < tolerance) & (r != 0)
    if not dust.any():
        return rotation
    u, _, vt = np.linalg.svd(np.where(dust, 0.0, r))
    whole = np.round(u @ vt, 15)
    out = np.empty((3, 3), dtype=object)
    for k, x in np.ndenumerate(whole):
        out[k] = mech.graph.number(int(x) if x in (0, 1, -1) else float(x))
    return out


def _is_orthonormal(mech: Mechanism) -> bool:
    """Whether all rotations of numbers are rotations without rounding."""
    for j in mech.joints:
        r = j.placement.rotation
        if all(x.op is CONST for x in r.flat):
            m = np.array([x.data for x in r.flat], dtype=object).reshape(3, 3)
            if not np.array_equal(m @ m.T, np.eye(3, dtype=int)):
                return False
    return True
