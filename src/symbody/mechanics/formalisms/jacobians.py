"""Jacobians of frames, omega and v of a frame = J qd, and their time derivatives (robotran 3.3).

Progressive: columns are carried outward from Link to Link, shared by all frames beyond. Hybrid: rotations outward, then
for each frame one walk inward with the vector to it: linear in the length of the path, best for a single frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from symbody.basics.errors import ModelError, word_argument
from symbody.mechanics.formalisms.frame_kinematics import FrameMotion, attached, column, link_motions
from symbody.mechanics.formalisms.frames import Frame, common_ancestor, path, product
from symbody.mechanics.formalisms.tree import Link, Tree
from symbody.mechanics.formalisms.vec3 import ZERO, Vec, cross, is_null, mat, plus, times
from symbody.symbolic.expr.arrays import Array, zeros

SCHEMES = ("auto", "progressive", "hybrid")


@dataclass(frozen=True, eq=False, slots=True)
class VelocityColumn:
    """Velocity that one unit of a Link's rate gives to a point, and its derivative in time, in the axes of the base."""

    angular: Vec
    linear: Vec
    angular_rate: Vec
    linear_rate: Vec


Columns = dict[tuple[int, int], VelocityColumn]  # (Link, component of its velocity) -> VelocityColumn


def frame_jacobians(
    tree: Tree, frames: Sequence[Frame], reference: Frame | None = None, rates: bool = True, scheme: str = "auto"
) -> list[tuple[Array, Array]]:
    """(J, Jd) of each frame relative to a reference frame (None: the world), both (6, nv), angular first.

    J qd is (omega, v), J qdd + Jd qd is (alpha, a), as the reference sees them, in its axes. Without `rates` Jd is 0.
    scheme: progressive, hybrid, or auto: hybrid for a single frame.
    """
    word_argument("scheme", scheme, SCHEMES, error=ModelError)
    everything = [*frames] if reference is None else [*frames, reference]
    base = -1 if reference is None else common_ancestor(tree, [f.link for f in everything])
    order = 1 if rates else 0
    moves = link_motions(tree, [f.link for f in everything], base, order)
    if scheme == "hybrid" or (scheme == "auto" and len(frames) == 1):
        found = [_hybrid(tree, f, base, moves, order) for f in everything]
    else:
        carried = _progressive(tree, moves, base)
        found = [_shifted_all(carried[f.link], *_arm(f, moves, order)) for f in everything]
    if reference is not None:
        *found, observer = found
        seen_from = attached(moves[reference.link], reference, order)
        points = [attached(moves[f.link], f, order) for f in frames]
        found = [_relative(c, m, observer, seen_from) for c, m in zip(found, points, strict=True)]
    return [_assemble(tree, columns) for columns in found]


def joint_columns(tree: Tree, link: Link, moves: dict[int, FrameMotion]) -> Columns:
    """Columns of a Link's own rates at its own origin."""
    here, parent = moves[link.index], moves[link.parent]
    out: Columns = {}

    def put(component: int, angular: Vec, linear: Vec, carrier: FrameMotion) -> None:
        turn = carrier.omega  # what carries the direction turns it
        out[link.index, component] = VelocityColumn(angular, linear, cross(turn, angular), cross(turn, linear))

    def outward(v: Vec) -> Vec:
        return v if here.rotation is None else here.rotation @ v

    if not link.motion.axial:
        for k, (angular, linear) in enumerate(link.twists):
            put(k, outward(angular), outward(linear), here)
        for k, (angular, linear) in enumerate(link.twist_rates):
            c = out[link.index, k]
            rates = c.angular_rate + outward(angular), c.linear_rate + outward(linear)
            out[link.index, k] = VelocityColumn(c.angular, c.linear, *rates)
        return out
    stem = product(parent.rotation, None if link.rotation is None else mat(link.rotation))
    axis = column(stem, link.axis)
    linear = link.advance * axis
    put(0, axis if link.motion.turns else ZERO, linear, parent)
    return out


def _progressive(tree: Tree, moves: dict[int, FrameMotion], base: int) -> dict[int, Columns]:
    """Columns at the origin of every Link met."""
    out: dict[int, Columns] = {base: {}}
    for k in sorted(moves):
        if k != base:
            link = tree.links[k]
            here, parent = moves[k], moves[link.parent]
            arm, rate = here.position - parent.position, here.velocity - parent.velocity
            out[k] = {**_shifted_all(out[link.parent], arm, rate), **joint_columns(tree, link, moves)}
    return out


def _hybrid(tree: Tree, f: Frame, base: int, moves: dict[int, FrameMotion], order: int) -> Columns:
    """Columns at a frame: inward with the vector from each Link's origin to the frame."""
    out: Columns = {}
    arm, rate = _arm(f, moves, order)
    for k in reversed(path(tree, f.link, base)):
        link = tree.links[k]
        out.update(_shifted_all(joint_columns(tree, link, moves), arm, rate))
        here, parent = moves[k], moves[link.parent]
        arm = arm + (here.position - parent.position)
        rate = rate + (here.velocity - parent.velocity)
    return out


def _arm(f: Frame, moves: dict[int, FrameMotion], order: int) -> tuple[Vec, Vec]:
    """Vector from the Link's origin to the frame's, in the axes of the base, and its rate."""
    m = moves[f.link]
    arm = f.position if m.rotation is None else m.rotation @ f.position
    return arm, cross(m.omega, arm) if order else ZERO


def _shifted_all(columns: Columns, arm: Vec, rate: Vec) -> Columns:
    return {key: _shifted(c, arm, rate) for key, c in columns.items()}


def _shifted(c: VelocityColumn, arm: Vec, rate: Vec) -> VelocityColumn:
    """At a point that lies `arm` further on the same body."""
    if is_null(c.angular):
        return c
    linear = c.linear + cross(c.angular, arm)
    change = cross(c.angular_rate, arm) + cross(c.angular, rate)
    return VelocityColumn(c.angular, linear, c.angular_rate, c.linear_rate + change)


def _relative(columns: Columns, m: FrameMotion, observer: Columns, r: FrameMotion) -> Columns:
    """Columns as an observer with motion r sees them, in the observer's axes."""
    none = VelocityColumn(ZERO, ZERO, ZERO, ZERO)
    arm, rate = m.position - r.position, m.velocity - r.velocity

    def back(v: Vec) -> Vec:
        return v if r.rotation is None else r.rotation.T @ v

    out: Columns = {}
    for key in [*columns, *(k for k in observer if k not in columns)]:
        c, o = columns.get(key, none), _shifted(observer.get(key, none), arm, rate)
        angular, linear = c.angular - o.angular, c.linear - o.linear
        angular_rate = c.angular_rate - o.angular_rate - cross(r.omega, angular)
        linear_rate = c.linear_rate - o.linear_rate - cross(r.omega, linear)
        out[key] = VelocityColumn(back(angular), back(linear), back(angular_rate), back(linear_rate))
    return out


def _assemble(tree: Tree, columns: Columns) -> tuple[Array, Array]:
    """(6, nv) matrices over the Mechanism's velocities."""
    value, rate = zeros(6, len(tree.qd)), zeros(6, len(tree.qd))
    for (index, component), c in columns.items():
        for i, factor in tree.links[index].columns[component]:
            for row, (x, xd) in enumerate(zip((*c.angular, *c.linear), (*c.angular_rate, *c.linear_rate), strict=True)):
                value[row, i] = plus(value[row, i], times(factor, x))
                rate[row, i] = plus(rate[row, i], times(factor, xd))
    return value, rate
