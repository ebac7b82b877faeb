"""Rotations and axes as people write them: matrices, turns about coordinate axes, roll-pitch-yaw, quaternions, directions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from symbody.expr.arrays import identity, is_zero, matmul, rotation_x, rotation_y, rotation_z
from symbody.expr.graph import Graph
from symbody.expr.node import CONST, Node
from symbody.model.numbers import fault, frozen_array, sequence_of, shown

Number = Callable[[Any, str], Node]  # a value and what it is -> Node, or an error
SNAP = 1e-10  # entries of rotation matrices this close to 0, 1 or -1 are meant to be it
TURNS = {"x": rotation_x, "y": rotation_y, "z": rotation_z}
AXES = {
    "x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "-x": (-1, 0, 0), "-y": (0, -1, 0), "-z": (0, 0, -1),
    "+x": (1, 0, 0), "+y": (0, 1, 0), "+z": (0, 0, 1),
}  # fmt: skip
EXPECTED_ROTATION = "expected turns such as [x, 90*deg] or a list of them, {rpy: [r, p, y]}, {quaternion: [w, x, y, z]} or a 3 x 3 matrix"


def rotation_matrix(
    value: Any, graph: Graph, number: Number, note: Callable[[str], None], what: str = "rotation", origin: str = ""
) -> np.ndarray:
    """(3, 3) nodes that take coordinates of the placed frame to those of its owner.

    value: None | 3 x 3 | (axis letter, angle) | list of such turns, each about the axes reached so far |
    {"rpy": (r, p, y)}: about fixed x, y, z as in URDF | {"quaternion": (w, x, y, z)}. Angles in rad.
    """
    if value is None:
        matrix = identity(3)
    elif isinstance(value, Mapping):
        matrix = _from_mapping(value, graph, number, what, origin)
    elif _is_matrix(value):
        rows = [sequence_of(row, 3, f"a row of {what}", origin) for row in value]
        matrix = np.array([[number(x, f"an entry of {what}") for x in row] for row in rows], dtype=object)
    elif isinstance(value, (list, tuple)):
        turns = [value] if value and isinstance(value[0], str) else value
        matrix = identity(3)
        for turn in turns:
            matrix = matmul(matrix, _turn(turn, graph, number, what, origin))
    else:
        raise fault(origin, f"{what} is {shown(value)}; {EXPECTED_ROTATION}.")
    return _snapped(matrix, graph, note, f"{origin}: {what}" if origin else what)


def _is_matrix(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.shape == (3, 3)
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        return False
    return all(isinstance(r, (list, tuple, np.ndarray)) and len(r) == 3 for r in value)


def _turn(turn: Any, graph: Graph, number: Number, what: str, origin: str) -> np.ndarray:
    if not isinstance(turn, (list, tuple)) or len(turn) != 2 or turn[0] not in TURNS:
        raise fault(origin, f"{what} contains {shown(turn)}; {EXPECTED_ROTATION}.")
    return _elementary(turn[0], number(turn[1], f"an angle of {what}"), graph)


def _elementary(letter: str, angle: Node, graph: Graph) -> np.ndarray:
    """A turn whose cosine and sine are exact for multiples of a right angle."""
    if angle.op is not CONST:
        return TURNS[letter](angle)
    turned = TURNS[letter](float(angle.data))
    return np.array([[graph.number(snap(float(x))) for x in row] for row in turned], dtype=object)


def _from_mapping(value: Mapping[str, Any], graph: Graph, number: Number, what: str, origin: str) -> np.ndarray:
    if set(value) == {"rpy"}:
        roll, pitch, yaw = (
            number(x, f"an angle of {what}") for x in sequence_of(value["rpy"], 3, f"rpy in {what}", origin)
        )
        return matmul(_elementary("z", yaw, graph), _elementary("y", pitch, graph), _elementary("x", roll, graph))  # type: ignore[no-any-return]
    if set(value) == {"quaternion"}:
        part = f"an entry of the quaternion in {what}"
        entries = sequence_of(value["quaternion"], 4, f"quaternion in {what}", origin)
        w, x, y, z = (_constant(number(e, part), part, origin) for e in entries)
        size = math.sqrt(w * w + x * x + y * y + z * z)
        if not 0.9 < size < 1.1:
            raise fault(
                origin, f"the quaternion in {what} has length {size:.6g}; expected a unit quaternion (w, x, y, z)."
            )
        w, x, y, z = w / size, x / size, y / size, z / size
        rows = (
            (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
            (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
            (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
        )
        return np.array([[graph.number(snap(v)) for v in row] for row in rows], dtype=object)
    raise fault(origin, f"{what} has the keys {', '.join(map(str, value))}; {EXPECTED_ROTATION}.")


def snap(value: float) -> float | int:
    """An entry of a rotation matrix: within 1e-10 of 0 or +-1 it is exactly that."""
    near = round(value)
    return near if abs(value - near) < SNAP else value


def _snapped(matrix: np.ndarray, graph: Graph, note: Callable[[str], None], what: str) -> np.ndarray:
    """Entries near 0 and +-1 made exact; a note where that is more than a rounding error."""
    out, most = [], 0.0
    for entry in matrix.flat:
        node = entry if isinstance(entry, Node) else graph.number(entry)
        if node.op is CONST:
            exact = snap(float(node.data))
            most = max(most, abs(exact - float(node.data)))
            node = graph.number(exact)
        out.append(node)
    if most > 1e-15:
        note(f"{what}: entries within {SNAP:g} of 0, 1 or -1 were made exact (largest change {most:.2g})")
    return frozen_array(out, 3, 3)


def axis_vector(value: Any, graph: Graph, number: Number, owner: str = "the joint", origin: str = "") -> np.ndarray:
    """(3,) unit vector in the joint frame from "x", "-z" or three numbers, which are normalised."""
    if isinstance(value, str):
        if value not in AXES:
            raise fault(origin, f"{owner} has axis {value!r}; expected one of x, y, z, -x, -y, -z or three numbers.")
        return frozen_array([graph.number(x) for x in AXES[value]], 3)
    entries = sequence_of(value, 3, f"axis of {owner}", origin)
    nodes = [number(x, f"an entry of the axis of {owner}") for x in entries]
    given = [_constant(node, f"an entry of the axis of {owner}", origin) for node in nodes]
    size = math.hypot(*given)
    if size == 0 or not math.isfinite(size):
        raise fault(origin, f"{owner} has axis {given}; expected a direction that is not zero.")
    turned = [snap(x / size) for x in given]
    if sum(abs(x) == 1 for x in turned) == 1:  # a coordinate axis: what is left is rounding
        turned = [x if abs(x) == 1 else 0 for x in turned]
    return frozen_array([graph.number(x) for x in turned], 3)


def _constant(node: Node, what: str, origin: str) -> float:
    if node.op is not CONST:
        raise fault(origin, f"{what} is the expression {node}; expected a number. Turn the joint's frame instead.")
    return float(node.data)


def is_identity(rotation: np.ndarray) -> bool:
    """Whether a rotation is structurally the unit matrix."""
    unit = identity(3)
    return all(is_zero(a) if b == 0 else a.op is CONST and a.data == 1 for a, b in zip(rotation.flat, unit.flat))
