"""What a Link's own velocities do to it: columns of its twist in Link axes, and what they make of rates and wrenches.

Motions about and along an axis have constant columns in stem axes and Link axes alike. Others say by their row
(`model/record/elementary_motions.py`) how their columns depend on the coordinates; the columns then have rates of their
own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symbody.mechanics.formalisms.vec3 import ZERO, Vec, axis_vector, dot, plus, times
from symbody.symbolic.expr.arrays import is_zero

if TYPE_CHECKING:
    from symbody.mechanics.formalisms.tree import Link

Twist = tuple[Vec, Vec]  # angular, linear


def joint_twists(link: Link) -> tuple[Twist, ...]:
    """For each velocity of the Link, the twist relative to the parent that a unit of it gives, in Link axes."""
    if not link.motion.axial:
        return link.twists
    angular = axis_vector(link.axis, 1) if link.motion.turns else ZERO
    return ((angular, axis_vector(link.axis, link.advance)),)


def joint_twist(link: Link, rates: Any) -> Twist:
    """Twist of a Link relative to its parent for given rates, in Link axes."""
    if link.motion.axial:
        spin = axis_vector(link.axis, rates) if link.motion.turns else ZERO
        return spin, axis_vector(link.axis, times(link.advance, rates)) if link.motion.slides else ZERO
    return _combined(link.twists, rates)


def joint_drift(link: Link, qd: Any) -> Twist:
    """Rate of the twist, in Link axes, that turning columns make of constant velocities qd; zero at rest."""
    if not link.twist_rates or all(is_zero(x) for x in qd):
        return ZERO, ZERO
    return _combined(link.twist_rates, qd)


def joint_acceleration(link: Link, qd: Any, qdd: Any) -> Twist:
    """Rate of the twist relative to the parent as seen in Link axes, of a Link that is not axial."""
    (spin, slide), (turn, bend) = _combined(link.twists, qdd), joint_drift(link, qd)
    return spin + turn, slide + bend


def _combined(columns: tuple[Twist, ...], factors: Any) -> Twist:
    spin, slide = ZERO, ZERO
    for (angular, linear), x in zip(columns, factors, strict=True):
        spin, slide = spin + x * angular, slide + x * linear
    return spin, slide


def joint_efforts(link: Link, force: Vec, moment: Vec) -> tuple[Any, ...]:
    """Component of a wrench at the Link's origin, in Link axes, along each of its velocities, N or N m."""
    return tuple(plus(dot(w, moment), dot(v, force)) for w, v in joint_twists(link))


def axial_effort(link: Link, force: Vec, moment: Vec) -> Any:
    """Component of a wrench along the motion of an axial Link, in stem axes or Link axes."""
    if link.motion.is_turn:
        return moment[link.axis]
    if link.motion.is_slide:
        return force[link.axis]
    return plus(moment[link.axis], times(link.pitch, force[link.axis]))
