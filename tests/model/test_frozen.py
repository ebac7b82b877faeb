"""A Mechanism never changes: its records refuse to be written to, and a changed copy is validated again."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError, NameLookupError
from symbody.model.record.frozen import FrozenMapping
from symbody.model.record.mechanism import Body, Force


def test_mappings_and_arrays_of_records_cannot_be_written_to():
    mech = sb.load("motorcycle")
    with pytest.raises(TypeError):
        mech.bodies[0].frames["x"] = 1  # type: ignore[index]
    with pytest.raises(TypeError):
        mech.forces[0].values["stiffness"] = 3  # type: ignore[index]
    for array in (mech.gravity, mech.bodies[0].com, mech.bodies[0].inertia, mech.joints[0].axis):
        with pytest.raises(ValueError, match="read-only"):
            array.flat[0] = 0
    for array in (mech.joints[0].placement.rotation, mech.joints[0].placement.position):
        with pytest.raises(ValueError, match="read-only"):
            array.flat[0] = 0


def test_a_record_keeps_nothing_that_its_maker_can_change_later():
    values, com = {"gain": 2}, np.zeros(3, dtype=object)
    force = Force("f", "actuator", (), values)
    zero = sb.load("puma560").graph.zero
    body = Body("b", zero, com, np.zeros((3, 3), dtype=object))
    values["gain"] = 3
    com[0] = 1
    assert force.values == {"gain": 2}
    assert body.com[0] == 0
    assert com.flags.writeable


def test_a_frozen_mapping_reads_like_a_dict_and_can_be_copied():
    made = FrozenMapping({"a": 1, "b": 2})
    assert made == {"a": 1, "b": 2}
    assert list(made) == ["a", "b"]
    assert repr(made) == "{'a': 1, 'b': 2}"
    assert copy.deepcopy(made) == made
    assert len(copy.deepcopy(sb.load("motorcycle")).forces) == 3


def test_a_changed_mechanism_is_validated():
    mech = sb.load("puma560")
    with pytest.raises(ModelError, match="'link1' has no joint"):
        mech.replace(joints=mech.joints[1:])
    with pytest.raises(ModelError, match="2 bodies are called 'link1'"):
        mech.replace(bodies=mech.bodies + mech.bodies)
    light = replace(mech.bodies[2], mass=mech.graph.number(-1))
    with pytest.raises(ModelError, match="mass -1"):
        mech.replace(bodies=(*mech.bodies[:2], light, *mech.bodies[3:]))
    with pytest.raises(ModelError, match="kind 'hinge'"):
        mech.replace(joints=(replace(mech.joints[0], kind="hinge"), *mech.joints[1:]))
    with pytest.raises(ModelError, match="expected a tuple of Joint"):
        mech.replace(joints=list(mech.joints))
    with pytest.raises(NameLookupError, match="Did you mean 'name'"):
        mech.replace(nme="x")


def test_a_follower_without_its_leader_is_refused():
    b = sb.Mechanism.builder("two").body("a", mass=1).body("b", mass=1)
    b.joint("j", "revolute", "world", "a").joint("k", "revolute", "a", "b", mimic=("j", 2))
    mech = b.done()
    held = replace(mech.joint("j"), mode="locked")
    with pytest.raises(ModelError, match="mimics 'j'"):
        mech.replace(joints=(held, mech.joint("k")))


def test_joints_of_a_changed_mechanism_are_sorted():
    mech = sb.load("puma560")
    turned = mech.replace(joints=mech.joints[::-1])
    assert [j.name for j in turned.joints] == [j.name for j in mech.joints]
