"""Forces along the line of two points: springs, dampers, actuators, user laws (robotran 3.9, DESIGN 4).

z goes from the second point to the first, Z is its length. F > 0 pushes the points apart: +F z/Z acts on the first and
-F z/Z on the second, so that the power is F Zd. (robotran eq. (1.56) has a doubled minus, and the code that the thesis
shows the opposite sign; this is the one convention here.)

Positions are found inward from each point to the last common ancestor, z goes outward to each point. The rate Zd is the
power of the unit force: joint by joint, speed times the component of (z, r x z) along its motion. Velocities of points
are not needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symbody.mechanics.formalisms.frames import Frame, common_ancestor, path
from symbody.mechanics.formalisms.link_motion import joint_twist
from symbody.mechanics.formalisms.link_poses import LinkPose, poses
from symbody.mechanics.formalisms.tree import Link
from symbody.mechanics.formalisms.vec3 import OTHERS, Vec, cross, dot, minus, plus, times, vec
from symbody.mechanics.formalisms.wrenches import TreeElement
from symbody.symbolic.expr.arrays import is_zero
from symbody.symbolic.expr.call import call


@dataclass(frozen=True, eq=False)
class Distance:
    """Two points and the line between them.

    Z, Zd    distance, m, and its rate, m/s
    sides    what each point needs to turn a force along the line into a wrench; none where both are of one body
    z        (3,) from the second point to the first, in axes of the common ancestor
    """

    Z: Any
    Zd: Any
    z: Vec
    sides: tuple[Side, ...]


@dataclass(frozen=True, eq=False)
class Side:
    """One point: the Links that move it, outward, and (for the last of them) z before its motion."""

    frame: Frame
    links: tuple[tuple[Link, LinkPose], ...]
    stem_z: Vec
    turning: Any  # (r x z) about the axis of the last Link, if it is revolute; else 0


def distance(element: TreeElement, k: int = 0) -> Distance:
    """Distance of the element's k-th point and the next; refused where they coincide at every position."""
    tree, places = element.tree, element.wrenches.places
    first, second = element.frames[k : k + 2]
    base = common_ancestor(tree, [first.link, second.link])
    places = poses(tree) if places is None else places
    chains = [tuple((tree.links[k], places[k]) for k in path(tree, f.link, base)) for f in (first, second)]
    arms = [_inward(chain, f.position) for chain, f in zip(chains, (first, second))]
    z = arms[0][0] - arms[1][0]
    if all(map(is_zero, z)):
        ends = element.force.points[k : k + 2]
        points = " and ".join(repr(f"{body}.{frame}" if frame else body) for body, frame in ends)
        raise element.fault(f"joins {points}, which coincide at every position; expected two points apart.")
    sides, power = [], []
    for f, chain, (_, stems) in zip((first, second), chains, arms):
        stem_z, turning, rate = _outward(chain, stems, z)
        sides.append(Side(f, chain, stem_z, turning))
        power.append(rate)
    Z = call("sqrt", dot(z, z))
    # both sides move: the second against z
    return Distance(Z, minus(power[0], power[1]) / Z, z, (sides[0], sides[1]))


def _inward(chain: tuple[tuple[Link, LinkPose], ...], point: Vec) -> tuple[Vec, list[Vec]]:
    """The point in base axes, and its arm from the origin of each Link: in stem axes (not axial: Link axes)."""
    arms = []
    for link, pose in reversed(chain):
        turned = pose.to_stem(point)
        arms.append(turned if link.motion.axial else point)
        point = pose.arm + pose.stem_to_parent(turned)
    return point, arms[::-1]


def _outward(chain: tuple[tuple[Link, LinkPose], ...], arms: list[Vec], z: Vec) -> tuple[Vec, Any, Any]:
    """(z in the stem axes of the last Link, its turning component, speed of the point along z times Z)."""
    rate: Any = 0
    turning: Any = 0
    for k, ((link, pose), arm) in enumerate(zip(chain, arms)):
        if k:
            z = chain[k - 1][1].from_stem(z)
        z = pose.parent_to_stem(z)
        turning = 0
        if not link.motion.axial:
            inside = pose.from_stem(z)
            spin, slide = joint_twist(link, link.qd)
            rate = plus(rate, dot(spin, cross(arm, inside)))
            rate = plus(rate, dot(slide, inside))
            continue
        if link.motion.turns:
            i, j = OTHERS[link.axis]
            turning = minus(times(arm[i], z[j]), times(arm[j], z[i]))
            rate = plus(rate, times(link.qd, turning))
        if link.motion.slides:
            rate = plus(rate, times(times(link.advance, link.qd), z[link.axis]))
    return z, turning, rate


def push_along_line(element: TreeElement, line: Distance, force: Any) -> None:
    """Put a force along the line on both Links."""
    per_length = force / line.Z
    for side, gain in zip(line.sides, (per_length, -per_length)):
        if not side.links:
            element.wrenches.push_at(side.frame, gain * line.z)
            continue
        link, pose = side.links[-1]
        f = pose.from_stem(gain * side.stem_z)
        moment = list(cross(side.frame.position, f))
        if link.motion.about_axis:  # known already from the rate
            moment[link.axis] = times(gain, side.turning)
        element.wrenches.push(link.index, f, vec(moment))


# -- elements


def measure(element: TreeElement) -> Distance:
    """Distance of the element's two points, observed as Z and Zd."""
    first, second = element.frames
    if first.link == second.link:
        raise element.fault("has both points on one rigid body, where it changes nothing; expected two bodies.")
    line = distance(element)
    element.observe("Z", line.Z, "m")
    element.observe("Zd", line.Zd, "m/s")
    return line
