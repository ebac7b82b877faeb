"""What symbody has built in, the reference has a second time: no row is certified because nothing judges it."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.model.library.force_elements import FORCE_ELEMENTS
from symbody.model.record.joints import KINDS as JOINTS
from symbody.reference import element_laws
from symbody.reference.bodies import NumericModel
from symbody.reference.body_dynamics import BodyMotion
from symbody.reference.joint_steps import kinds_of


@pytest.mark.parametrize("kind", list(JOINTS))
def test_every_kind_of_joint_is_transcribed(kind):
    b = sb.Mechanism.builder("one").body("a", mass=1, inertia=(1, 1, 1))
    joint = b.joint("j", kind, "world", "a", **({"pitch": 0.1} if kind in ("helical", "y") else {})).done().joint("j")
    motions = [motion.name for motion, _ in JOINTS[kind].motions(joint)]
    assert [name for name, _ in kinds_of(joint, np.array([0.0, 0.0, 1.0]))] == motions


def test_every_kind_of_force_element_is_transcribed():
    assert set(FORCE_ELEMENTS) == set(element_laws.KINDS)


def test_a_law_that_the_reference_does_not_know_is_refused_by_name():
    b = sb.Mechanism.builder("one").body("a", mass=1, inertia=(1, 1, 1)).joint("j", "prismatic", "world", "a")
    mech = b.force("s", "spring_damper", ["world", "a"], stiffness=2.0, length=1.0).done()
    (force,) = mech.forces
    values = {**force.values, "law": "quadratic"}
    object.__setattr__(force, "values", values)
    one = np.ones((1, 1))
    motion = BodyMotion(NumericModel(mech), one, one, one)
    with pytest.raises(ModelError, match="does not know law 'quadratic' of 's'"):
        element_laws.loads(motion)
