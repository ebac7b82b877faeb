"""Displacements: pose of a frame b in a frame a, and what it does to screws, over any scalar.

The adjoint representation of (R, p) is the orthogonal dual matrix D* = (1 + eps skew(p)) R; its columns are the axes of
b as sliders in a (MEDUSA, ch. 2 and eq. 3.11).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symbody.model.spatial.dual import join
from symbody.model.spatial.rotations import about_axis, exponential
from symbody.model.spatial.screws import Screw
from symbody.model.spatial.stumpff import stumpff
from symbody.symbolic.expr.arrays import (
    Array,
    as_array,
    cross,
    identity,
    matmul,
    norm_squared,
    skew,
    transpose,
    vector,
    zeros,
)


@dataclass(frozen=True, eq=False)
class Displacement:
    """rotation (3, 3) takes b-coordinates to a-coordinates; translation (3,) is the origin of b in a, m."""

    rotation: Array
    translation: Array


def translation(p: Any) -> Displacement:
    return Displacement(identity(3), vector(p))


def about(axis: Any, angle: Any, shift: Any = 0) -> Displacement:
    """Rotation about a coordinate axis and shift along it: the cylindrical motion exp((angle + eps shift) axis)."""
    p = zeros(3)
    rotation = about_axis(axis, angle)
    p["xyz".index(axis) if isinstance(axis, str) else axis] = shift
    return Displacement(rotation, as_array(p.tolist()))


def compose(first: Displacement, second: Displacement, *more: Displacement) -> Displacement:
    """Pose of c in a from those of b in a and of c in b."""
    both = Displacement(
        matmul(first.rotation, second.rotation), first.translation + matmul(first.rotation, second.translation)
    )
    return compose(both, *more) if more else both


def inverse(d: Displacement) -> Displacement:
    """Pose of a in b."""
    back = transpose(d.rotation)
    return Displacement(back, -matmul(back, d.translation))


def move(d: Displacement, x: Screw) -> Screw:
    """D* X: a screw given in b, reduced at b's origin, in a, reduced at a's origin."""
    resultant = matmul(d.rotation, x.resultant)
    return Screw(resultant, matmul(d.rotation, x.moment) + cross(d.translation, resultant))


def move_back(d: Displacement, x: Screw) -> Screw:
    """D*^-1 X: a screw given in a, in b."""
    back = transpose(d.rotation)
    return Screw(matmul(back, x.resultant), matmul(back, x.moment + cross(x.resultant, d.translation)))


def adjoint(d: Displacement) -> Array:
    """The dual matrix D* (3, 3)."""
    return join(d.rotation, matmul(skew(d.translation), d.rotation))


def exponential_of(x: Screw) -> Displacement:
    """exp X, the displacement reached by the twist X in unit time (dual Rodrigues, MEDUSA eqs. 2.24-2.25).

    p = (1 + c2 S + c3 S^2) X(O) with S = skew(omega): the dual part of the same formula over dual numbers.
    """
    square, s = norm_squared(x.resultant), skew(x.resultant)
    spread = identity(3) + stumpff(2, square) * s + stumpff(3, square) * matmul(s, s)
    return Displacement(exponential(x.resultant), matmul(spread, x.moment))
