"""A spring between two frames that holds the one at the pose of the other, turned or shifted as it may be."""

from __future__ import annotations

from fractions import Fraction

from symbody.mechanics.formalisms.point_motions import from_frame
from symbody.mechanics.formalisms.vec3 import (
    ZERO,
    Mat,
    Vec,
    dot,
    minus,
    plus,
    times,
    unit_matrix,
    vec,
)
from symbody.mechanics.formalisms.wrenches import TreeElement
from symbody.model.library.force_element import Account
from symbody.model.spatial.rotation_vector import logarithm

HALF = Fraction(1, 2)


def bushing(element: TreeElement) -> None:
    """On the first frame the force -linear d at its origin and the moment -angular v; the opposite on the second.

    d (3,) m goes from the second origin to the first; v (3,) rad is the rotation vector from the second frame to the
    first, which has the same components in both. A half turn is the end: there v jumps to the other side. Observed: the
    stored energy E.
    """
    (first, second), (here, there) = element.motions, element.frames
    energy = 0
    if element.given("linear"):
        d = first.position - second.position
        force = minus(0, element.value("linear")) * d
        element.push_world(force, ZERO, 0)
        element.push_world(-force, ZERO, 1)
        energy = times(element.value("linear"), times(HALF, dot(d, d)))
    if element.given("angular"):
        columns = [_columns(m.rotation) for m in (second, first)]
        v = vec(logarithm([[dot(a, b) for b in columns[1]] for a in columns[0]]))
        moment = minus(0, element.value("angular")) * v
        element.wrenches.push_at(here, ZERO, from_frame(here.rotation, moment))
        element.wrenches.push_at(there, ZERO, from_frame(there.rotation, -moment))
        energy = plus(energy, times(element.value("angular"), times(HALF, dot(v, v))))
    element.observe("E", energy, "J")
    element.account(lambda: Account(stored=energy))


def _columns(rotation: Mat | None) -> list[Vec]:
    rows = unit_matrix() if rotation is None else rotation
    return list(rows.T)
