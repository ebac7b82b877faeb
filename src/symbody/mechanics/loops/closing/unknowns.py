"""What a block of constraints is solved for: coordinates of joints, or tangent increments of quaternions.

A dependent velocity of a scalar joint has its coordinate as unknown. Ball and free joints have no such coordinate: from
the guess q0 they move by an increment d, q = normalise(q0 + N(q0) d), and Newton's step w in the tangent of q becomes
a step of d (Cayley map: with a = d / 2, dd = w + a (a.w) + a x w).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symbody.mechanics.formalisms.tree import Tree
from symbody.model.record.coordinates import CoordinatePart
from symbody.model.spatial import quaternion
from symbody.symbolic.expr.arrays import cross, dot, matmul
from symbody.symbolic.expr.implicit import Condition
from symbody.symbolic.expr.node import Node


@dataclass(eq=False)
class Unknowns:
    """Unknowns of a block, one for each of its columns.

    symbols  placeholders in the equations
    guess    where the iteration starts
    values   symbol of q -> its value as an expression of the unknowns, for quaternion joints
    step     of each unknown, for a step w of the tangent increments
    remedy   sentences on what to do where they are not found
    checks   conditions (check, value, limit) that hold at a sound solution
    """

    symbols: list[Node] = field(default_factory=list)
    guess: list[Any] = field(default_factory=list)
    values: dict[Node, Any] = field(default_factory=dict)
    step: list[Any] = field(default_factory=list)
    remedy: str = ""
    checks: list[Condition] = field(default_factory=list)


def unknowns(
    tree: Tree, columns: Sequence[int], w: Mapping[int, Any], owners: Mapping[int, CoordinatePart], unit: float = 1.0
) -> Unknowns:
    """Unknowns of the velocities `columns`; w: velocity index -> Newton's step of the tangent increment.

    unit: m, of slides along one coordinate: the iteration ends where a step is small beside 1.
    """
    out = Unknowns()
    increments: dict[CoordinatePart, dict[int, Node]] = {}
    scaled: list[int] = []
    for k in columns:
        part = owners[k]
        if not part.motion.plain:
            d = tree.graph.symbol(f"increment{k + 1}", "coordinate", scope="loops")
            increments.setdefault(part, {})[k] = d
            out.symbols.append(d)
            out.guess.append(0)
        elif unit != 1 and part.motion.is_slide:
            (at,) = part.coordinates(k)
            d = tree.graph.symbol(f"slide{k + 1}", "coordinate", scope="loops")
            out.symbols.append(d)
            out.guess.append(tree.q[at] / unit)
            out.values[tree.q[at]] = d * unit
            scaled.append(k)
        else:
            (at,) = part.coordinates(k)
            out.symbols.append(tree.q[at])
            out.guess.append(tree.q[at])
    steps: dict[int, Any] = dict(w)
    for part, mine in increments.items():
        out.values.update(_moved(tree, part, mine))
        steps.update(_increment_steps(tree, part, mine, w))
    steps.update((k, steps[k] / unit) for k in scaled)
    out.step = [steps[k] for k in columns]
    return out


def stepped(tree: Tree, w: Mapping[int, Any], owners: Mapping[int, CoordinatePart]) -> dict[Node, Any]:
    """Symbol of q -> its value after a step w of the tangent increments (velocity index -> node)."""
    out: dict[Node, Any] = {}
    turned: dict[CoordinatePart, dict[int, Any]] = {}
    for k, step in w.items():
        part = owners[k]
        if part.motion.plain:
            (at,) = part.coordinates(k)
            out[tree.q[at]] = tree.q[at] + step
        else:
            turned.setdefault(part, {})[k] = step
    for part, mine in turned.items():
        out.update(_moved(tree, part, mine))
    return out


def _components(part: CoordinatePart, mine: Mapping[int, Any], first: int) -> list[Any]:
    """Three components from a velocity index on, 0 where there is none."""
    return [mine.get(part.iv + first + k, 0) for k in range(3)]


def _moved(tree: Tree, part: CoordinatePart, mine: Mapping[int, Node]) -> Iterable[tuple[Node, Any]]:
    """Coordinates of a motion that is not plain after the increment, as (symbol, value)."""
    if not part.motion.body_axes:
        start, d = tree.q[part.q], np.array([mine.get(k, 0) for k in part.velocities], dtype=object)
        yield from zip(start, part.motion.normalise(start + matmul(part.motion.map_of_rates(start), d)), strict=True)
        return
    start = tree.q[list(part.quaternion)]
    turn, slide = _components(part, mine, 0), _components(part, mine, 3)
    if any(isinstance(d, Node) for d in turn):
        moved = start + matmul(quaternion.rate_map(start), np.array(turn, dtype=object))
        yield from zip(start, quaternion.normalise(moved), strict=True)
    if part.motion.slides and any(isinstance(d, Node) for d in slide):
        place = tree.q[[part.iq + k for k in part.motion.places]]
        rotation = quaternion.matrix_from_quaternion(start)
        yield from zip(place, place + matmul(rotation, np.array(slide, dtype=object)), strict=True)


def _increment_steps(
    tree: Tree, part: CoordinatePart, mine: Mapping[int, Node], w: Mapping[int, Any]
) -> dict[int, Any]:
    """Steps of the increments. Where only some components are unknown, w itself: the iteration is then not quite
    Newton's, and converges as fast as the increment is small."""
    out = {k: w[k] for k in mine}
    if not part.motion.body_axes:
        return out
    turn, slide = range(part.iv, part.iv + 3), range(part.iv + 3, part.iv + 6)
    a = np.array([d / 2 for d in _components(part, mine, 0) if isinstance(d, Node)], dtype=object)
    if len(a) != 3:
        return out
    turned = np.array([w[k] for k in turn], dtype=object)
    out.update(zip(turn, turned + a * dot(a, turned) + cross(a, turned), strict=True))
    if part.motion.slides and all(k in mine for k in slide):
        # the slide is measured in the axes of the guess: from the present ones by the rotation of (1, a)
        relative = quaternion.matrix_from_quaternion(quaternion.normalise(np.array([1, *a], dtype=object)))
        out.update(zip(slide, matmul(relative, np.array([w[k] for k in slide], dtype=object)), strict=True))
    return out
