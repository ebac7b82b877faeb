"""Constraints of closed loops, symbolic: h(q, t) = 0, J and the bias, row by row, from cuts and couplings.

    d/dt h = J qd + ht        d2/dt2 h = J qdd + bias        M qdd + c = tau + J^T lam

J goes by velocities qd (tangent increments), so that quaternion joints are no special case. A cut is written in the
axes of the last Link that carries both of its frames: motion below it does not matter. The multiplier of a row is a
component of the force or torque on the body of the *second* frame; the first body feels the opposite
(`ConstraintRow.meaning`).
Sources: robotran 3.11 with its corrections; couplings as MuJoCo and Modelica have them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symbody.basics.errors import ModelError
from symbody.mechanics.assembly.assembly_errors import say_gap
from symbody.mechanics.assembly.constraints import ConstraintRow, Constraints
from symbody.mechanics.formalisms.frames import Frame, common_ancestor, frame, product
from symbody.mechanics.formalisms.tree import Tree
from symbody.mechanics.formalisms.vec3 import mat, vec
from symbody.mechanics.loops.rows.coupling_rows import coupling_rows
from symbody.mechanics.loops.rows.cut_rows import cut_rows
from symbody.mechanics.loops.rows.structural_zeros import without_zeros
from symbody.model.record.mechanism import Cut
from symbody.model.record.numbers import number_of
from symbody.symbolic.expr.arrays import is_one, is_zero
from symbody.symbolic.expr.node import Node

CLOSED = 1e-9  # m or rad: a condition on parameters alone holds to this much for their defaults


def constraints(tree: Tree) -> Constraints:
    """Rows of all cuts and couplings of the Tree's Mechanism. An inconsistent loop is a ModelError that names it."""
    found: list[ConstraintRow] = []
    notes: list[str] = []
    mechanism = tree.mechanism
    for cut in mechanism.cuts:
        _keep(without_zeros(tree, list(cut_rows(tree, cut, *cut_frames(tree, cut)))), cut.origin, found, notes)
    for coupling in mechanism.couplings:
        _keep(coupling_rows(tree, coupling), coupling.origin, found, notes)
    return Constraints(tuple(found), tree, tuple(notes))


def cut_frames(tree: Tree, cut: Cut) -> tuple[Frame, Frame, int]:
    """Both frames of a cut, and the last Link that carries both."""
    first, second = (_frame(tree, body, name) for body, name in (cut.first, cut.second))
    return first, second, common_ancestor(tree, [first.link, second.link])


def _frame(tree: Tree, body: str, name: str) -> Frame:
    """A frame of a body; names of bodies may contain dots here."""
    at = frame(tree, body)
    if not name:
        return at
    placement = tree.node(tree.mechanism.body(body).frames[name])
    shift, turn = vec(placement.position), mat(placement.rotation)
    plain = all(is_one(turn[k][k]) for k in range(3))  # of a rotation: then it is the identity
    rotation = at.rotation if plain else product(at.rotation, turn)
    moved = shift if at.rotation is None else at.rotation @ shift
    return Frame(f"{body}.{name}", at.link, rotation, at.position + moved)


def _keep(rows: Iterable[ConstraintRow], origin: str, found: list[ConstraintRow], notes: list[str]) -> None:
    """Rows that no coordinate enters are left out if they hold by themselves."""
    for row in rows:
        if row.J:
            found.append(row)
            continue
        gap = 0.0 if row.h is None or is_zero(row.h) else _gap(row.h)
        where = f"{origin}: " if origin else ""
        if not is_zero(row.ht):
            raise ModelError(
                f"{where}loop {row.loop!r} cannot stay closed: {row.name} changes with time, and no joint can follow. "
                "Remove the dependence on t, or add a joint."
            )
        if gap is not None and not abs(gap) < CLOSED:
            raise ModelError(
                f"{where}loop {row.loop!r} cannot close: {row.name} is {gap:.6g} {row.unit} for the default "
                "parameters, and no joint can change it. Correct the points or axes of the loop, or add a joint."
                f"{say_gap(gap)}"
            )
        needs = "" if row.h is None or is_zero(row.h) else f", provided that {row.h} = 0"
        notes.append(f"{row.name} holds in every configuration and was left out{needs}")


def _gap(h: Any) -> float | None:
    return number_of(h) if isinstance(h, Node) else float(h)
