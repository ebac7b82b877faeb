"""Screws: resultant and moment at the origin, X = omega + eps X(O), over any scalar (MEDUSA, ch. 2).

A twist has the angular velocity as resultant and the velocity of the point at the origin as moment; a wrench the force
and the moment of forces. Both are moved by the same adjoint representation (`displacement.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symbody.basics.errors import ExpressionError
from symbody.model.spatial.dual import Dual
from symbody.model.spatial.scalar import sqrt
from symbody.symbolic.expr.arrays import Array, cross, dot, is_zero, norm_squared, vector, zeros


@dataclass(frozen=True, eq=False)
class Screw:
    """resultant (3,) and moment (3,) at the origin, in one frame."""

    resultant: Array
    moment: Array

    def __add__(self, other: Screw) -> Screw:
        return Screw(self.resultant + other.resultant, self.moment + other.moment)

    def __sub__(self, other: Screw) -> Screw:
        return Screw(self.resultant - other.resultant, self.moment - other.moment)

    def __neg__(self) -> Screw:
        return Screw(-self.resultant, -self.moment)

    def scaled(self, factor: Any) -> Screw:
        """(a + eps b) X = a X + b Omega X for a dual factor, a X for any other."""
        if isinstance(factor, Dual):
            return Screw(factor.re * self.resultant, factor.re * self.moment + factor.du * self.resultant)
        return Screw(factor * self.resultant, factor * self.moment)


def screw(resultant: Any, moment: Any) -> Screw:
    return Screw(vector(resultant), vector(moment))


def slider(direction: Any, point: Any, pitch: Any = 0) -> Screw:
    """The screw of a line through a point (3,) along a unit direction (3,): moment p x d + pitch d."""
    direction = vector(direction)
    return Screw(direction, cross(point, direction) + pitch * direction)


def couple(moment: Any) -> Screw:
    """A screw without resultant: a translation, or a free moment."""
    return Screw(zeros(3), vector(moment))


def bracket(x: Screw, y: Screw) -> Screw:
    """Lie bracket [X, Y]: the dual cross product, ad X applied to Y (MEDUSA, eq. 2.3)."""
    return Screw(cross(x.resultant, y.resultant), cross(x.resultant, y.moment) + cross(x.moment, y.resultant))


def klein(x: Screw, y: Screw) -> Any:
    """Klein form [X / Y]: power where one is a twist and the other a wrench; zero of two lines that are coplanar."""
    return dot(x.resultant, y.moment) + dot(x.moment, y.resultant)


def magnitude(x: Screw) -> Any:
    """|omega|."""
    return sqrt(norm_squared(x.resultant))


def is_couple(x: Screw) -> bool:
    """Whether the resultant is structurally zero."""
    return all(is_zero(w) for w in x.resultant)


def pitch(x: Screw) -> Any:
    """[X / X] / (2 |omega|^2), m/rad; couples have none (MEDUSA, eq. 2.7)."""
    _no_couple(x, "pitch")
    return dot(x.resultant, x.moment) / norm_squared(x.resultant)


def _no_couple(x: Screw, what: str) -> None:
    if is_couple(x):
        raise ExpressionError(f"a couple has no {what}; expected a screw with a resultant.")
