"""Efforts are linear in masses, first and second moments, and constants of joint laws: their slopes, one by one.

A NumericModel is emptied of all of them; what one unit of one of them adds to the efforts is a column.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from symbody.model.record.mechanism import Joint, Rotor
from symbody.reference.bodies import BodyPart, NumericModel
from symbody.reference.body_dynamics import BodyMotion
from symbody.reference.jets import Array

ENTRIES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))  # of the inertia tensor, after mass and first moments
KINEMATIC = ("coordinates", "poses", "maps", "relative")  # what no mass enters


def parameter_count(model: NumericModel) -> int:
    return 10 * len(model.parts) + sum(len(list(_laws(p.joint))) for p in _in_document_order(model))


def linear_parameters(model: NumericModel) -> Array:
    """(p,): for every body m, m c (3), Ixx Ixy Iyy Ixz Iyz Izz about its origin; then the joints' constants."""
    out: list[float] = []
    for part in _bodies(model):
        c = part.com
        tensor = part.inertia + part.mass * (c @ c * np.eye(3) - np.outer(c, c))
        out += [part.mass, *(part.mass * c), *(tensor[i, k] for i, k in ENTRIES)]
    for part in _in_document_order(model):
        out += [model.number(value) for _, value in _laws(part.joint)]
    return np.array(out, dtype=float)


def effort_columns(motion: BodyMotion, chosen: Sequence[int]) -> tuple[Array, Array]:
    """(Y (n, nv, k), tau0 (n, nv)): efforts = Y pi + tau0; columns of Y by their numbers in `linear_parameters`."""
    model = motion.model
    empty = [_emptied(p) for p in model.parts]
    unforced = replace(model.mechanism, forces=())  # forces are large, and would leave few digits of a difference

    def efforts(index: int = 0, part: BodyPart | None = None) -> Array:
        parts = list(empty)
        if part is not None:
            parts[index] = part
        other = copy.copy(model)
        other.parts = parts
        if part is not None:
            other.mechanism = unforced
        moved = BodyMotion(other, motion.q, motion.qd, motion.qdd, motion.t, motion.inputs)
        # found by now, and the same whatever the masses are
        moved.__dict__.update({name: getattr(motion, name) for name in KINEMATIC})
        return moved.efforts()

    owners = {p.name: k for k, p in enumerate(model.parts)}
    bodies = [owners[p.name] for p in _bodies(model)]
    joints = [(owners[p.name], what) for p in _in_document_order(model) for what, _ in _laws(p.joint)]
    columns = []
    for k in chosen:
        if k < 10 * len(bodies):
            index = bodies[k // 10]
            more, less = _unit_body(empty[index], k % 10)
        else:
            index, what = joints[k - 10 * len(bodies)]
            more, less = _unit_law(empty[index], model.parts[index].joint, what), None
        columns.append(efforts(index, more) - (0.0 if less is None else efforts(index, less)))
    rest = efforts()
    return (np.stack(columns, axis=-1) if columns else np.zeros((*rest.shape, 0))), rest


def _bodies(model: NumericModel) -> list[BodyPart]:
    """Parts in the order of the Mechanism's bodies."""
    return [model.parts[model.index[b.name]] for b in model.mechanism.bodies]


def _in_document_order(model: NumericModel) -> list[BodyPart]:
    """Parts in the order of the Mechanism's joints."""
    return [model.parts[model.index[j.child]] for j in model.mechanism.joints]


def _laws(joint: Joint) -> Iterator[tuple[str, Any]]:
    """Constants of a joint that moves."""
    if joint.kind == "fixed" or joint.mode == "locked":
        return
    if joint.rotor is not None:
        yield "rotor", joint.rotor.inertia
    for name in ("viscous", "coulomb", "stiffness"):
        if getattr(joint, name) is not None:
            yield name, getattr(joint, name)
    for name, value in zip(("elastic_stiffness", "elastic_damping"), joint.elastic or (), strict=False):
        yield name, value


def _emptied(part: BodyPart) -> BodyPart:
    """Without mass, rotor and laws; it moves as before."""
    elastic: Any = None if part.joint.elastic is None else (0.0, 0.0)
    joint = replace(part.joint, rotor=None, viscous=None, coulomb=None, stiffness=None, elastic=elastic)
    return replace(part, joint=joint, mass=0.0, com=np.zeros(3), inertia=np.zeros((3, 3)))


def _unit_body(part: BodyPart, k: int) -> tuple[BodyPart, BodyPart | None]:
    """Bodies whose difference has a unit of the k-th parameter alone; None: nothing."""
    if k == 0:
        return replace(part, mass=1.0), None
    if k < 4:
        c = np.eye(3)[k - 1]
        # about the origin its tensor vanishes
        return replace(part, mass=1.0, com=c, inertia=np.outer(c, c) - np.eye(3)), replace(part, mass=1.0)
    i, j = ENTRIES[k - 4]
    tensor = np.zeros((3, 3))
    tensor[i, j] = tensor[j, i] = 1.0
    return replace(part, inertia=tensor), None


def _unit_law(part: BodyPart, joint: Joint, what: str) -> BodyPart:
    """With a unit of one constant of its joint."""
    one: Any = 1.0  # numbers stand in for nodes here
    if what == "rotor":
        assert joint.rotor is not None
        return replace(part, joint=replace(part.joint, rotor=Rotor(one, joint.rotor.ratio, joint.rotor.gyroscopic)))
    if what.startswith("elastic"):
        pair: Any = (1.0, 0.0) if what == "elastic_stiffness" else (0.0, 1.0)
        return replace(part, joint=replace(part.joint, elastic=pair))
    return replace(part, joint=replace(part.joint, **{what: one}))
