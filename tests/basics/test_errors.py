"""Errors about arguments: one wording, with parts that can be said in other words; they travel between processes."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from symbody.basics.errors import (
    DefinitionError,
    ModelError,
    Named,
    argument,
    real_argument,
    whole_argument,
    word_argument,
    wrong_argument,
)


def test_a_number_is_finite_and_within_its_bounds():
    for value in (1, 0.5, np.float64(2), np.int32(3)):
        assert real_argument("step", value, "a positive number", above=0.0) == value
    for value in (0, -1.0, math.nan, math.inf, "1", None, True, [1.0], np.ones(2), 1j):
        with pytest.raises(DefinitionError, match=r"^step=.*; expected a positive number\.$"):
            real_argument("step", value, "a positive number", above=0.0)
    assert real_argument("slow", 0, "a speed, or 0", least=0.0) == 0


def test_a_whole_number_is_no_float_and_no_truth_value():
    assert whole_argument("states", np.int64(3), 1) == 3
    for value in (0, 2.5, "3", True, None):
        with pytest.raises(ModelError, match=r"^verify: states=.*; expected a whole number from 1\.$"):
            whole_argument("states", value, 1, owner="verify", error=ModelError)


def test_a_word_is_one_of_those_known_or_the_nearest_is_named():
    assert word_argument("kind", "damped", ("damped", "undamped")) == "damped"
    with pytest.raises(
        DefinitionError, match=r"kind='dampt'; expected one of damped, undamped\. Did you mean 'damped'"
    ):
        word_argument("kind", "dampt", ("damped", "undamped"))
    with pytest.raises(DefinitionError, match=r"kind=3; expected one of damped, undamped, or a list\.$"):
        word_argument("kind", 3, ("damped", "undamped"), also=", or a list")


def test_parts_can_be_said_in_other_words_and_travel():
    error = wrong_argument("step", -1.0, "a positive number of seconds", "Or leave ", Named("step"), " out.")
    text = "step=-1.0; expected a positive number of seconds. Or leave step out."
    for same in (error, pickle.loads(pickle.dumps(error))):
        assert str(same) == text
        assert same.said(lambda a: f"<{a.name}|{a.value}>").startswith("<step|-1.0>; expected")
        assert same.said(lambda a: f"<{a.name}|{a.value}>").endswith("leave <step|> out.")
    assert argument("q0", "x") == Named("q0", "'x'")
    assert str(DefinitionError()) == ""
