"""Numbers with units: converted as the SI brochure says, and refused where they are another quantity."""

import math

import pytest

from symbody.basics.errors import SymbodyError
from symbody.model.record.typed_values import is_value, read_value
from symbody.model.record.units import read_unit


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("30deg", "rad", math.pi / 6),
        ("30°", "rad", math.pi / 6),
        ("-0.25 turn", "rad", -math.pi / 2),
        ("1.5", "rad", 1.5),
        ("pi/6", "rad", math.pi / 6),
        ("30*deg", "rad", math.pi / 6),
        ("5mm", "m", 0.005),
        ("1e-3km", "m", 1.0),
        ("36km/h", "m/s", 10.0),
        ("60rpm", "rad/s", 2 * math.pi),
        ("180deg/s", "rad/s", math.pi),
        ("10N", "N", 10.0),
        ("3 N m", "N m", 3.0),
        ("3Nm", "N m", 3.0),
        ("2kN*m", "N m", 2000.0),
        ("1 N m/rad", "N m", 1.0),
        ("500g", "kg", 0.5),
        ("2.5 kg m^2", "kg m^2", 2.5),
        ("1 kg cm^2", "kg m^2", 1e-4),
        ("20 N/mm", "N/m", 20000.0),
        ("3 N s/m", "N s/m", 3.0),
        ("250ms", "s", 0.25),
        ("2min", "s", 120.0),
        ("7mm", None, 0.007),
        ("4", "some words", 4.0),
    ],
)
def test_a_value_becomes_its_number_in_si(text, unit, value):
    assert read_value(text, unit, "x") == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    ("text", "unit", "words"),
    [
        ("3kg", "rad", "q0 of 'elbow' is 3kg; expected an angle: rad or deg."),
        ("3", "rad", None),
        ("3m", "rad/s", "an angular velocity"),
        ("2Hz", "rad/s", "an angular velocity"),  # turns or radians a second? not guessed
        ("2rad", "m", "a length"),
        ("1N", "N m", "a torque"),
        ("1s", "", "a plain number"),
        ("30dge", "rad", "'deg'"),
        ("nan", "rad", "finite"),
        ("-inf", "m", "finite"),
        ("1e999", "m", "finite"),
        ("elbow", "rad", "an angle"),
        ("", "rad", "an angle"),
        ("1,2", "rad", "an angle"),
        ("1/0", "rad", "an angle"),
        ("__import__('os')", "rad", "an angle"),
        ("1 kg m^2", "kg m", "kg m"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_expected(text, unit, words):
    if words is None:
        assert read_value(text, unit, "q0 of 'elbow'") == 3.0
        return
    with pytest.raises(SymbodyError) as caught:
        read_value(text, unit, "q0 of 'elbow'")
    assert words in str(caught.value)
    assert "q0 of 'elbow'" in str(caught.value)


@pytest.mark.parametrize(
    "text", ["2*t", "sin(t)", "q.elbow", "-3*q.elbow - qd.elbow", "select(t<1, 2, 0)", "10N*t^2 + (1)"]
)
def test_expressions_are_no_values(text):
    assert not is_value(text)


def test_units_multiply_and_divide():
    assert read_unit("kg m^2/s^2").powers == read_unit("N m").powers == read_unit("J").powers
    assert read_unit("W").powers == read_unit("N m/s").powers
    assert read_unit("MPa").factor == pytest.approx(read_unit("N/mm^2").factor)
