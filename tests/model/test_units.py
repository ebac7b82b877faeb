"""Units in models: numbers with units, declared units that exist and are SI, expressions that make sense."""

from __future__ import annotations

import math

import pytest

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.model.record.typed_values import read_value
from symbody.model.record.units import read_unit

FILE = """
name: arm
parameters:
  l1: {{default: 400*mm, unit: m}}
  m1: {{default: 2500*g, unit: kg}}
  speed: {{default: 12*rpm, unit: rad/s}}
gravity: [0, 0, -9.81]
bodies:
  link: {{mass: {mass}, com: [{com}, 0, 0], inertia: [0, {inertia}, {inertia}]}}
joints:
  hinge: {{kind: revolute, parent: world, child: link, axis: y, limits: [-30*deg, 0.25*turn], {joint}}}
"""
GOOD = {
    "mass": "m1",
    "com": "l1/2 + 20*mm",
    "inertia": "m1*l1^2/12",
    "joint": "viscous: 0.3*N*m*s/rad, mode: driven, value: speed*t",
}


def load(tmp_path, **changes):
    path = tmp_path / "arm.yaml"
    path.write_text(FILE.format(**{**GOOD, **changes}))
    return sb.load(path)


def test_numbers_have_units_as_on_the_command_line(tmp_path):
    mech = load(tmp_path)
    values = {n: s.data.default for n, s in mech.parameters.items()}
    assert values == {"l1": 0.4, "m1": 2.5, "speed": pytest.approx(12 * math.pi / 30)}
    hinge = mech.joint("hinge")
    assert hinge.limits.lower == pytest.approx(-math.pi / 6)
    assert hinge.limits.upper == pytest.approx(math.pi / 2)
    assert sb.evaluate(mech.body("link").com[0], values) == pytest.approx(0.22)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mass": "l1"}, "mass of body 'link' is 'l1', which is in m; expected a mass"),
        ({"mass": "l1/2 + 20*mm"}, "which is in m; expected a mass"),
        ({"mass": "400*mm"}, "'400*mm', which is in m; expected a mass"),
        ({"mass": "m1 + l1"}, "l1 (m) and m1 (kg) are added"),
        ({"com": "m1"}, "expected a length"),
        ({"com": "sin(l1)"}, "sin is taken of l1, which is in m"),
        ({"inertia": "m1*l1"}, "which is in kg m; expected a moment of inertia"),
        ({"joint": "stiffness: 20*N/m"}, "stiffness of joint 'hinge' is '20*N/m', which is in kg s^-2"),
        ({"joint": "effort: 3"}, "effort"),
        ({"mass": "2*parsec"}, "'parsec' is unknown"),
    ],
    ids=lambda x: str(x),
)
def test_what_makes_no_sense_is_refused_with_its_line(tmp_path, changes, said):
    with pytest.raises(ModelError) as caught:
        load(tmp_path, **changes)
    assert said in str(caught.value)
    assert "arm.yaml:" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ("parsec", "'parsec' is no unit"),
        ("mm", "no unit of the SI.*declare m"),
        ("kg m^^2", "is no unit"),
        (3, "expected a text"),
    ],
)
def test_declared_units_exist_and_are_si(unit, said):
    with pytest.raises(ModelError, match=said):
        sb.Mechanism.builder("x").parameter("a", 1.0, unit)


def test_numbers_alone_may_be_anything():
    """7.8*l1 is a mass where 7.8 is one per length: nothing is known of numbers without a unit."""
    b = sb.Mechanism.builder("x")
    b.parameter("l1", 0.4, "m")
    b.body("a", mass="7.8*l1")
    b.body("b", mass="7.8*kg/m*l1")
    b.body("c", mass=b.names["l1"] * 3.0)
    with pytest.raises(ModelError, match="expected a mass"):
        b.body("d", mass=b.names["l1"])


def test_names_of_the_model_come_before_units():
    b = sb.Mechanism.builder("x")
    m, g = b.parameter("m", 2.0, "kg"), b.parameter("g", 9.81, "m/s^2")
    assert b.number("3*m") is 3 * m
    assert b.number("2*g", unit="m/s^2") is 2 * g


def test_letters_that_nobody_declared_are_no_units_where_nothing_is_known():
    b = sb.Mechanism.builder("x")
    b.body("a", 1.0).joint("j", "revolute", "world", "a")
    with pytest.raises(ModelError, match="'h' is unknown"):
        b.coupling("gear", "q.j - 2*h")
    b.coupling("gear", "q.j - 20*deg*sin(t)")


def test_force_elements_take_units():
    b = sb.Mechanism.builder("x")
    b.body("a").body("c")
    b.force("f", "spring_damper", ["a", "c"], stiffness="20*N/mm", damping="3*N*s/m", length="10*cm")
    values = {k: float(v.data) for k, v in b._forces["f"].values.items()}
    assert values == {"stiffness": pytest.approx(20e3), "damping": 3.0, "length": pytest.approx(0.1)}


@pytest.mark.parametrize("power", ["9" * 5000, "-" + "9" * 12000, "21", "-21"])
def test_powers_of_any_length_are_refused_in_a_sentence(power):
    with pytest.raises(ModelError, match="has the power"):
        read_unit(f"m^{power}")


def test_zeros_before_a_power_do_not_count():
    assert read_unit("m^" + "0" * 5000 + "2") == read_unit("m^2")
    assert read_unit("m^-02") == read_unit("1/m^2")


def test_lengths_in_place_of_angles_are_refused():
    """A file with the sine of a length could be written, and not be read."""
    b = sb.Mechanism.builder("x")
    b.parameter("l", 1.0, "m")
    for rotation in (("x", "l"), {"rpy": (0, "l", 0)}):
        with pytest.raises(ModelError, match="which is in m; expected"):
            b.body("a", frames={"f": {"position": (0, 0, 0), "rotation": rotation}})
    b.parameter("alpha", 1.0, "rad")
    b.body("a", frames={"f": {"position": (0, 0, 0), "rotation": ("x", "alpha + 90*deg")}})


@pytest.mark.parametrize("mass", ["1e-400", "0.2e-330", "2*1e-400", "1e-400*kg", "-3.5e-999"])
def test_numbers_that_floats_take_for_zero_are_refused(tmp_path, mass):
    """A mass of 0 makes another program than a small one."""
    with pytest.raises(ModelError, match=r"too small for a float; they begin at 4.9e-324"):
        load(tmp_path, mass=mass)
    if not mass.startswith("2*"):
        with pytest.raises(ModelError, match=r"q0 is .*too small"):
            read_value(mass.replace("kg", "rad"), None, "q0")
    assert load(tmp_path, mass="0.0e-400").bodies[0].name == "link"
