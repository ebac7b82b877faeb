"""Words of other programs: each table says what they are called here, and says so where they are met."""

from __future__ import annotations

import re

import pytest

import symbody as sb
from symbody.basics import words
from symbody.basics.errors import NameLookupError, SymbodyError
from symbody.model.record.joints import KINDS
from symbody.motion.methods.methods import METHODS
from symbody.motion.run.settings import OPTIONS
from symbody.motion.run.simulate import NAMED
from symbody.motion.trajectory.trajectory import Trajectory


def test_what_the_tables_name_exists():
    for text in words.VERBS.values():
        for name in re.findall(r"\bsb\.(\w+)", text):
            assert hasattr(sb, name), text
        for name in re.findall(r"\bsystem\.(\w+)", text):
            assert hasattr(sb.System, name), text
        for name in re.findall(r"\bexpression\.(\w+)", text):
            assert hasattr(sb.Node, name), text
        for name in re.findall(r"\bmotion\.(\w+)", text):
            assert hasattr(Trajectory, name), text
        control = re.search(r"(\w+)\(.*\) of symbody\.analyse\.control", text)
        if control:
            from symbody.studies import control as module

            assert callable(getattr(module, control[1]))
    for text in words.ARGUMENTS.values():
        assert set(re.findall(r"(\w+)=", text)) <= {*NAMED, *OPTIONS}
    assert {text.strip("'") for text in words.METHODS.values()} <= set(METHODS)


def test_joints_are_named_as_elsewhere():
    assert {text.strip("'") for text in words.KINDS.values()} <= set(KINDS)
    assert not set(words.KINDS) & set(KINDS)
    builder = sb.Mechanism.builder("a").body("rod", mass=1)
    with pytest.raises(SymbodyError, match=r"kind 'hinge'.*Here it is 'revolute'"):
        builder.joint("pin", "hinge", "world", "rod")
    with pytest.raises(SymbodyError, match=r"parent 'ground'.*Here it is 'world'"):
        builder.joint("pin", "revolute", "ground", "rod").done()


def test_no_word_hides_a_name():
    assert not set(words.VERBS) & set(sb.__all__)
    assert not set(words.ARGUMENTS) & {*NAMED, *OPTIONS}
    assert not set(words.METHODS) & set(METHODS)


def test_what_motions_are_asked_for_exists():
    motion = sb.simulate(sb.load("pendulum2"), 0.1)
    for text in words.MOTION.values():
        for name in re.findall(r"motion\.(\w+)", text):
            assert hasattr(motion, name), text
    with pytest.raises(AttributeError, match=r"has no 'qpos'. Here it is motion.q\."):
        motion.qpos


def test_words_are_met_where_they_stand():
    arm = sb.load("pendulum2")
    with pytest.raises(AttributeError, match=r"Here it is sb.inverse_dynamics\(mech\)\."):
        sb.rnea
    with pytest.raises(NameLookupError, match=r"takes no 'dt'. Here it is step=."):
        sb.simulate(arm, 1.0, dt=0.01)
    with pytest.raises(NameLookupError, match=r"'RK45'. Here it is 'dopri5'"):
        sb.simulate(arm, 1.0, method="RK45")
    with pytest.raises(NameLookupError, match=r"'BDF'. Did you mean 'bdf'\?"):
        sb.simulate(arm, 1.0, method="BDF")
