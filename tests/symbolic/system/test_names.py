"""Components of arguments by number."""

from __future__ import annotations

import pytest

import symbody as sb
from symbody.basics.errors import ExpressionError, NameLookupError
from symbody.symbolic.system.names import components, place_of


def test_places_are_counted_from_one():
    assert [place_of(part, 3) for part in ("1", "3", "0", "4", "-1", "", "a", "02")] == [0, 2, None, None] + [
        None
    ] * 3 + [1]


@pytest.mark.parametrize("part", ["²", "٣", "9" * 5000, "1.0", " 1"])
def test_what_python_calls_digits_is_not_always_a_number(part):
    assert place_of(part, 10**6) is None
    assert components(["a", "b"], 2, part) == []
    with pytest.raises(NameLookupError):
        sb.linearize(sb.load("pendulum2"), q0={f"q.{part}": 0.1})
    with pytest.raises(NameLookupError, match="to differentiate by"):
        sb.sensitivity(sb.load("pendulum2"), 0.01, [f"m1.{part}"])


def test_symbols_are_counted_as_far_as_anybody_needs():
    assert len(sb.symbols("q1:4")) == 3
    for wrong in ("q1:²", "q1:" + "9" * 5000, "q0:10000000000"):
        with pytest.raises(ExpressionError, match="cannot count"):
            sb.symbols(wrong)
