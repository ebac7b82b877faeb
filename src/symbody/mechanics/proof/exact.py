"""The exact twin of a Mechanism: the same description with rational numbers, so that no constant is rounded in folding.

A number is the one that its decimal text says. A rotation of numbers is a product of turns by points of the unit circle
with rational coordinates (t = tan(angle / 2) rational), within 2^-58 of the angles of the matrix: orthonormal without
rounding, with the same zeros and ones. Axes of joints likewise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from symbody.mechanics.proof.prime_field import coefficient, decimal
from symbody.model.record.mechanism import Body, Joint, Mechanism, Placement
from symbody.model.record.nodes import with_nodes
from symbody.symbolic.expr.coefficients import scale
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import CONST, SCALE, SYMBOL, Node
from symbody.symbolic.expr.walk import rebuild, topological

FINEST = 1 << 30  # largest denominator of the tangent of half an angle
SMALL = 1e-4  # tangents below it have larger denominators
SAME = 1e-12  # entries of a rotation and of its exact twin

Matrix = list[list[Any]]
Turn = tuple[int, Any, Any]  # axis, cosine, sine


def has_floats(mechanism: Mechanism) -> bool:
    """Whether some number of the description is a float, whose products would be rounded."""
    nodes = topological(mechanism.values())
    return any(n.data.__class__ is float for n in nodes if n.op is CONST) or any(
        n.data.__class__ is float or coefficient(n) is not n.data for n in nodes if n.op is SCALE
    )


def exact_twin(mechanism: Mechanism) -> Mechanism:
    """The Mechanism with exact numbers, in a Graph that keeps them exact; not validated again."""
    graph = Graph(mechanism.name, exact=True)
    carry = _Carrier(graph)

    def placed(placement: Placement) -> Placement:
        return Placement(carry.rotation(placement.rotation), carry(placement.position))

    def body(b: Body) -> Body:
        frames = {name: placed(p) for name, p in b.frames.items()}
        return replace(b, mass=carry(b.mass), com=carry(b.com), inertia=carry(b.inertia), frames=frames, shapes=())

    def joint(j: Joint) -> Joint:
        names = ("pitch", "value", "stiffness", "rest", "viscous", "coulomb", "rotor", "elastic", "mimic")
        changes = {name: carry(getattr(j, name)) for name in names}
        return replace(j, placement=placed(j.placement), axis=carry.axis(j.axis), **changes)

    return replace(
        mechanism,
        graph=graph,
        gravity=carry(mechanism.gravity),
        bodies=tuple(body(b) for b in mechanism.bodies),
        joints=tuple(joint(j) for j in mechanism.joints),
        cuts=tuple(replace(c, length=carry(c.length)) for c in mechanism.cuts),
        couplings=tuple(replace(c, expression=carry(c.expression)) for c in mechanism.couplings),
        forces=tuple(replace(f, values={k: carry(v) for k, v in f.values.items()}) for f in mechanism.forces),
        keyframes=(),
        followers={},
    )


class _Carrier:
    """Nodes of a Mechanism in an exact Graph, alone or inside arrays, sequences, mappings and records."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.known: dict[Node, Node] = {}

    def __call__(self, value: Any) -> Any:
        return with_nodes(value, self._node)

    def _node(self, root: Node) -> Node:
        for node in topological([root], self.known.__contains__):
            if node.op is CONST:
                new = self.graph.number(decimal(node.data))
            elif node.op is SYMBOL:
                new = self.graph.intern(SYMBOL, (), node.data, node.flags)
            elif node.op is SCALE:
                new = scale(decimal(coefficient(node)), self.known[node.args[0]])
            else:
                new = rebuild(node, tuple(self.known[a] for a in node.args))
            self.known[node] = new
        return self.known[root]

    def rotation(self, matrix: np.ndarray) -> np.ndarray:
        """(3, 3) nodes; a matrix of numbers becomes exactly orthonormal."""
        if any(x.op is not CONST for x in matrix.flat) or all(x.data in (0, 1, -1) for x in matrix.flat):
            out: np.ndarray = self(matrix)
            return out
        return self._numbers(exact_rotation(np.array([float(x.data) for x in matrix.flat]).reshape(3, 3)))

    def axis(self, axis: np.ndarray) -> np.ndarray:
        if any(x.op is not CONST for x in axis) or all(x.data in (0, 1, -1) for x in axis):
            out: np.ndarray = self(axis)
            return out
        return self._numbers(exact_axis([float(x.data) for x in axis]))

    def _numbers(self, entries: Any) -> np.ndarray:
        array = np.array(entries, dtype=object)
        out = np.empty(array.shape, dtype=object)
        for k, x in enumerate(array.flat):
            out.flat[k] = self.graph.number(x)
        return out


# -- rational rotations


def rational_turn(angle: float) -> tuple[Any, Any]:
    """Rational (cosine, sine) next to those of an angle; exact for right angles."""
    quarters = round(angle / (math.pi / 2))
    tangent = Fraction(math.tan((angle - quarters * (math.pi / 2)) / 2))
    finest = FINEST if abs(tangent) > SMALL or not tangent else round(FINEST / abs(tangent))  # it must not vanish
    t = tangent.limit_denominator(finest)
    c, s = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    for _ in range(quarters % 4):
        c, s = -s, c
    return c, s


def exact_rotation(matrix: np.ndarray) -> Matrix:
    """A rational rotation next to a rotation of floats, with its zeros and ones, from as few turns as possible.

    Where zeros and ones of floats are so by rounding, such as the sine of 1.5707963 beside its cosine of 2.7e-8, no
    rotation has them all: then with most of them.
    """
    best: tuple[tuple[int, int], Matrix] | None = None
    for sequence in product(range(3), repeat=3):
        if sequence[0] == sequence[1] or sequence[1] == sequence[2]:
            continue
        turns = [(axis, *rational_turn(angle)) for axis, angle in zip(sequence, euler_angles(matrix, sequence))]
        made = _product(turns)
        pairs = list(zip(_flat(made), matrix.flat))
        if any(abs(float(x) - y) >= SAME for x, y in pairs):
            continue
        lost = sum(y in (0, 1, -1) and x != y for x, y in pairs)
        cost = (lost, sum(c not in (0, 1, -1) for _, c, _ in turns))
        if best is None or cost < best[0]:
            best = cost, made
    if best is None:  # not orthonormal enough to have angles: as it is written
        return [[decimal(float(x)) for x in row] for row in matrix]
    return best[1]


def euler_angles(matrix: np.ndarray, axes: tuple[int, ...]) -> tuple[float, float, float]:
    """Angles of turns about the axes i, j, k (j differs from both), each about the axes reached so far."""
    i, j, k = axes
    v = matrix[:, k]
    if i != k:
        even = 1 if (j - i) % 3 == 1 else -1
        b = math.atan2(even * v[i], math.hypot(v[j], v[k]))
        a = math.atan2(-even * v[j], v[k])
    else:
        other = 3 - i - j
        even = 1 if (j - i) % 3 == 1 else -1
        b = math.atan2(math.hypot(v[j], v[other]), v[i])
        a = math.atan2(v[j], -even * v[other])
    if math.hypot(*(v[m] for m in range(3) if m != i)) < 1e-10:  # both outer turns are about one axis
        a = 0.0
    rest = (_about(i, a) @ _about(j, b)).T @ matrix
    m, n = (k + 1) % 3, (k + 2) % 3
    return a, b, math.atan2(rest[n, m], rest[m, m])


def _about(axis: int, angle: float) -> np.ndarray:
    return np.array(_turn(axis, math.cos(angle), math.sin(angle)), dtype=float)


def _turn(axis: int, c: Any, s: Any) -> Matrix:
    out: Matrix = [[int(i == j) for j in range(3)] for i in range(3)]
    i, j = (axis + 1) % 3, (axis + 2) % 3
    out[i][i] = out[j][j] = c
    out[i][j], out[j][i] = -s, s
    return out


def _product(turns: list[Turn]) -> Matrix:
    out = _turn(*turns[0])
    for turn in turns[1:]:
        right = _turn(*turn)
        out = [[sum(out[i][m] * right[m][j] for m in range(3)) for j in range(3)] for i in range(3)]
    return out


def _flat(matrix: Matrix) -> Iterator[Any]:
    for row in matrix:
        yield from row


def exact_axis(u: list[float]) -> list[Any]:
    """A rational unit vector next to one of floats, at a rational point of the circle from its smallest entry.

    `formalisms.tree` completes it to a frame with the projection of that coordinate axis, which is rational then.
    """
    k = min(range(3), key=lambda i: abs(u[i]))
    i, j = (k + 1) % 3, (k + 2) % 3
    across, along = rational_turn(math.atan2(u[k], math.hypot(u[i], u[j])))
    c, s = rational_turn(math.atan2(u[j], u[i]))
    out: list[Any] = [0, 0, 0]
    out[k], out[i], out[j] = along, across * c, across * s
    return out
