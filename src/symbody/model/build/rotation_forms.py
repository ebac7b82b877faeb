"""Rotations and axes as people write them: matrices, turns about axes, roll-pitch-yaw, quaternions, directions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbody.model.record.numbers import frozen_array, plain, sequence_of
from symbody.model.record.origin import fault, shown
from symbody.model.record.snapping import ROUNDING, SNAP, listed, looseness, snapped
from symbody.model.record.validate import ROTATION_SLACK
from symbody.model.spatial.quaternion import matrix_from_quaternion
from symbody.symbolic.expr.arrays import identity, is_one, is_zero, matmul, rotation_x, rotation_y, rotation_z
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import CONST, Node

Number = Callable[[Any, str], Node]  # a value and what it is -> Node, or an error
TURNS = {"x": rotation_x, "y": rotation_y, "z": rotation_z}
AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "-x": (-1, 0, 0), "-y": (0, -1, 0), "-z": (0, 0, -1)}
EXPECTED_ROTATION = (
    "expected a turn such as [x, 90*deg], a list of turns, {rpy: [r, p, y]}, {quaternion: [w, x, y, z]} "
    "or a 3 x 3 matrix"
)


def rotation_matrix(
    value: Any, graph: Graph, number: Number, note: Callable[[str], None], what: str = "rotation", origin: str = ""
) -> np.ndarray:
    """(3, 3) nodes that take coordinates of the placed frame to those of its owner.

    value: None | 3 x 3 | (axis letter, angle) | list of such turns, each about the axes reached so far |
    {"rpy": (r, p, y)}: about fixed x, y, z as in URDF | {"quaternion": (w, x, y, z)}. Angles in rad.
    """
    reader = _RotationReader(graph, number, what, origin)
    matrix = reader.exact(reader.read(value), note)
    return frozen_array(list(matrix.flat), 3, 3)


@dataclass
class _RotationReader:
    """One reading of one rotation."""

    graph: Graph
    number: Number
    what: str
    origin: str

    def read(self, value: Any) -> np.ndarray:
        if value is None:
            return identity(3)
        if isinstance(value, Mapping):
            return self.mapping(value)
        if _is_matrix(value):
            part = f"an entry of {self.what}"
            return np.array([[self.number(x, part) for x in row] for row in value], dtype=object)
        if not isinstance(value, (list, tuple)):
            raise fault(self.origin, f"{self.what} is {shown(value)}; {EXPECTED_ROTATION}.")
        matrix = identity(3)
        for turn in [value] if value and isinstance(value[0], str) else value:
            if not isinstance(turn, (list, tuple)) or len(turn) != 2 or str(turn[0]) not in TURNS:
                raise fault(self.origin, f"{self.what} contains {shown(turn)}; {EXPECTED_ROTATION}.")
            matrix = matmul(matrix, self.turn(turn[0], turn[1]))
        return matrix

    def turn(self, letter: str, angle: Any) -> np.ndarray:
        """A turn about a coordinate axis; cosine and sine are exact for multiples of a right angle."""
        node = self.number(angle, f"an angle of {self.what}")
        return TURNS[letter](node) if node.op is not CONST else self.exact(TURNS[letter](float(node.data)))

    def mapping(self, value: Mapping[str, Any]) -> np.ndarray:
        if set(value) == {"rpy"}:
            angles = sequence_of(value["rpy"], 3, f"rpy in {self.what}", self.origin)
            x, y, z = (self.turn(k, angle) for k, angle in zip("xyz", angles))
            out: np.ndarray = matmul(z, y, x)
            return out
        if set(value) == {"quaternion"}:
            entries = sequence_of(value["quaternion"], 4, f"quaternion in {self.what}", self.origin)
            part = f"an entry of the quaternion in {self.what}"
            return self.quaternion([_constant(self.number(e, part), part, self.origin) for e in entries])
        raise fault(self.origin, f"{self.what} has the keys {', '.join(map(str, value))}; {EXPECTED_ROTATION}.")

    def quaternion(self, entries: list[float]) -> np.ndarray:
        size = math.hypot(*entries)
        if not abs(size - 1) < 1e-3:
            raise fault(self.origin, f"the quaternion in {self.what} has length {size:.6g}; expected 1.")
        return np.array(matrix_from_quaternion([e / size for e in entries]), dtype=float)

    def exact(self, matrix: np.ndarray, note: Callable[[str], None] | None = None) -> np.ndarray:
        """As nodes; in a matrix of numbers entries near 0 and +-1 are made exact, but for rounding with a note."""
        out = np.array(matrix, dtype=object)
        numbers = [x for x in matrix.flat if not isinstance(x, Node) or x.op is CONST]
        values = [float(x.data if isinstance(x, Node) else x) for x in numbers]
        if len(values) == out.size and looseness(np.reshape(values, (3, 3))) < ROTATION_SLACK:  # else it is refused
            table, where = np.reshape(values, (3, 3)), f"{self.origin}: {self.what}" if self.origin else self.what
            values = list((snapped(table, ROUNDING) if note is None else listed(table, note, where)).flat)
        else:
            values = [round(x) if abs(x - round(x)) < ROUNDING else x for x in values]
        rest = iter(values)
        for k, entry in enumerate(matrix.flat):
            if not isinstance(entry, Node) or entry.op is CONST:
                out.flat[k] = self.graph.number(plain(next(rest)))
        return out


def _is_matrix(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.shape == (3, 3)
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        return False
    return all(isinstance(r, (list, tuple, np.ndarray)) and len(r) == 3 for r in value)


def axis_vector(
    value: Any,
    graph: Graph,
    number: Number,
    owner: str = "the joint",
    origin: str = "",
    note: Callable[[str], None] | None = None,
) -> np.ndarray:
    """(3,) unit vector in the joint frame from "x", "-z" or three numbers, which are normalised.

    Entries within 1e-10 of 0 are made exact, but for rounding with a note.
    """
    if isinstance(value, str):
        if value not in AXES:
            raise fault(origin, f"{owner} has axis {value!r}; expected one of {', '.join(AXES)} or three numbers.")
        return frozen_array([graph.number(x) for x in AXES[value]], 3)
    part = f"an entry of the axis of {owner}"
    given = [_constant(number(x, part), part, origin) for x in sequence_of(value, 3, f"axis of {owner}", origin)]
    size = math.hypot(*given)
    if size == 0 or not math.isfinite(size):
        raise fault(origin, f"{owner} has axis {given}; expected a direction that is not zero.")
    if abs(size - 1) < 1e-15:  # of unit length already: what was written is read back to the last digit
        size = 1.0
    unit = [x / size for x in given]
    kept = [0.0 if abs(x) < SNAP else x for x in unit]
    if kept != unit:
        size = math.hypot(*kept)
        kept = [x / size for x in kept]
    change = max(abs(a - b) for a, b in zip(unit, kept))
    if change > ROUNDING and note is not None:
        where = f"{origin}: axis of {owner}" if origin else f"axis of {owner}"
        note(f"{where}: entries within {SNAP:g} of 0 were made exact (largest change {change:.2g})")
    return frozen_array([graph.number(plain(x)) for x in kept], 3)


def _constant(node: Node, what: str, origin: str) -> float:
    if node.op is not CONST:
        raise fault(origin, f"{what} is the expression {node}; expected a number. Turn the joint's frame instead.")
    return float(node.data)


def is_identity(rotation: np.ndarray) -> bool:
    """Whether a rotation is structurally the unit matrix."""
    unit = identity(3)
    return all(is_one(a) if b == 1 else is_zero(a) for a, b in zip(rotation.flat, unit.flat))
