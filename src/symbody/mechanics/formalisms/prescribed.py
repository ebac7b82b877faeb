"""Motion of driven joints: coordinates, velocities and accelerations from the laws of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from symbody.model.record.elementary_motions import Motion
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import Joint
from symbody.model.spatial.quaternion import matrix_from_quaternion, normalise, velocity_map
from symbody.symbolic.expr.arrays import matmul, norm_squared, transpose
from symbody.symbolic.expr.derivative import jacobian
from symbody.symbolic.expr.evaluate import transplant
from symbody.symbolic.expr.graph import Graph
from symbody.symbolic.expr.node import Node
from symbody.symbolic.expr.walk import free_symbols


@dataclass(frozen=True, eq=False)
class Prescribed:
    """Coordinates (nq), velocities (nv) and their rates (nv) of one joint as nodes of time and parameters."""

    q: list[Node]
    qd: list[Node]
    qdd: list[Node]


def prescribed(joint: Joint, laws: Sequence[Node] | None = None) -> Prescribed:
    """The motion of a driven joint by these laws: its `values` in the Graph that is meant; None: in one of its own.

    The laws of a quaternion may have any length but zero: it is scaled to 1.
    """
    # nothing is written into the Graph of the Mechanism: later programs would depend on it
    laws = list(transplant(joint.values, {}, Graph(joint.name)) if laws is None else laws)
    q: list[Node] = []
    qd: list[Node] = []
    with laws[0].graph:
        for motion, _ in KINDS[joint.kind].motions(joint):
            own, laws = laws[: motion.nq], laws[motion.nq :]
            place, speed = _turning(own) if motion.body_axes else (own, _plain(motion, own))
            q, qd = [*q, *place], [*qd, *speed]
        return Prescribed(q, qd, rates(qd))


def _plain(motion: Motion, laws: list[Node]) -> list[Node]:
    """Velocities of a motion that is not turned by a quaternion."""
    graph = laws[0].graph
    found = motion.velocities_of(laws, rates(laws))
    return [x if isinstance(x, Node) else graph.number(x) for x in found]


def _turning(laws: list[Node]) -> tuple[list[Node], list[Node]]:
    """(q, qd) of a ball or a free body: omega, then the velocity of its origin, both in its own axes."""
    graph, position, quaternion = laws[0].graph, laws[:-4], laws[-4:]
    unit = normalise(quaternion)
    # the part of the rate along the quaternion itself makes no omega
    omega = matmul(velocity_map(quaternion), rates(quaternion)) / norm_squared(quaternion)
    velocity = list(matmul(transpose(matrix_from_quaternion(unit)), rates(position))) if position else []

    def nodes(values: Any) -> list[Node]:
        return [x if isinstance(x, Node) else graph.number(x) for x in values]

    return [*position, *nodes(unit)], nodes([*omega, *velocity])


def rates(nodes: Sequence[Node]) -> list[Node]:
    """Derivatives by time, which is the symbol of role "time"."""
    time = [s for s in free_symbols(nodes) if s.data.role == "time"]
    if not time:
        return [node.graph.zero for node in nodes]
    return [row[0] for row in jacobian(nodes, time)]
