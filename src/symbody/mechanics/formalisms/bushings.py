"""A spring between two frames that holds the one at the pose of the other, turned or shifted as it may be."""

from __future__ import annotations

from fractions import Fraction

from symbody.mechanics.formalisms import vec3 as t3
from symbody.mechanics.formalisms.point_motions import from_frame
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
        d = t3.add(first.position, t3.negative(second.position))
        force = t3.scaled(t3.minus(0, element.value("linear")), d)
        element.push_world(force, t3.ZERO, 0)
        element.push_world(t3.negative(force), t3.ZERO, 1)
        energy = t3.times(element.value("linear"), t3.times(HALF, t3.dot(d, d)))
    if element.given("angular"):
        columns = [_columns(m.rotation) for m in (second, first)]
        v = t3.triple(logarithm([[t3.dot(a, b) for b in columns[1]] for a in columns[0]]))
        moment = t3.scaled(t3.minus(0, element.value("angular")), v)
        element.wrenches.push_at(here, t3.ZERO, from_frame(here.rotation, moment))
        element.wrenches.push_at(there, t3.ZERO, from_frame(there.rotation, t3.negative(moment)))
        energy = t3.plus(energy, t3.times(element.value("angular"), t3.times(HALF, t3.dot(v, v))))
    element.observe("E", energy, "J")
    element.account(lambda: Account(stored=energy))


def _columns(rotation: t3.Mat | None) -> list[t3.Vec]:
    rows = t3.tensor([t3.along(k, 1) for k in range(3)]) if rotation is None else rotation
    return [t3.triple([row[k] for row in rows]) for k in range(3)]
