"""What the arguments of a Mechanism's Systems obey: unit quaternions of q, rotations whose entries are parameters."""

from __future__ import annotations

import numpy as np

from symbody.mechanics.proof.points import Key, Relations
from symbody.model.record.coordinates import parts
from symbody.model.record.mechanism import Mechanism
from symbody.symbolic.expr.node import SCALE, SYMBOL, Node


def relations_of(mechanism: Mechanism) -> Relations:
    """Unit quaternions of ball and free joints; cosines, sines and entries of rotations that are parameters."""
    quaternions = [tuple(("q", k) for k in part.quaternion) for part in parts(mechanism) if part.quaternion]
    taken: dict[Key, tuple[Key, ...]] = {}
    for matrix in _rotations(mechanism):
        group = _circle(matrix) or _whole(matrix)
        # an entry that stands in two rotations is one parameter: the first group decides
        if group is not None and not any(k in taken for k in group):
            taken.update(dict.fromkeys(group, group))
    groups = tuple(dict.fromkeys(taken.values()))
    return Relations(
        tuple((g[0], g[1]) for g in groups if len(g) == 2),
        tuple((g[0], g[1], g[2], g[3]) for g in quaternions),
        tuple(g for g in groups if len(g) == 9),
    )


def _rotations(mechanism: Mechanism) -> list[np.ndarray]:
    joints = [j.placement.rotation for j in mechanism.joints]
    return joints + [p.rotation for b in mechanism.bodies for p in b.frames.values()]


def _parameter(node: Node) -> Key | None:
    """The parameter of which a node is the value, or the negative."""
    if node.op is SCALE and node.data == -1:
        node = node.args[0]
    return (node.data.name, 0) if node.op is SYMBOL and node.data.role == "parameter" else None


def _circle(matrix: np.ndarray) -> tuple[Key, Key] | None:
    """(cosine, sine) of a turn about a coordinate axis whose cosine and sine are parameters."""
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        c, s = _parameter(matrix[i, i]), _parameter(matrix[j, i])
        if c is None or s is None or c == s:
            continue
        if matrix[j, j] is matrix[i, i] and matrix[i, j] is -matrix[j, i]:
            return c, s
    return None


def _whole(matrix: np.ndarray) -> tuple[Key, ...] | None:
    """All nine entries, where they are nine parameters."""
    entries = [_parameter(x) if x.op is SYMBOL else None for x in matrix.flat]
    return tuple(entries) if None not in entries and len(set(entries)) == 9 else None  # type: ignore[arg-type]
