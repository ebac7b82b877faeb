"""Force elements are checked when a model is read, at the line of the slip."""

from __future__ import annotations

import pytest

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.applied_forces import law_of
from symbody.model.files.yaml_file import read_text
from symbody.model.library.force_elements import FORCE_ELEMENTS

FILE = """\
name: m
parameters: {{k: 30}}
bodies:
  a: {{mass: 1, com: [0, 0, -0.5], frames: {{tip: [0, 0, -1]}}}}
  ground: {{frames: {{pin: [1, 0, 0]}}}}
joints:
  j: {{kind: revolute, parent: world, child: a, axis: y}}
  g: {{kind: fixed, parent: world, child: ground}}
forces:
  f:
    points: {points}
    kind: {kind}
    {values}
"""
TWO, ONE = "[a.tip, ground.pin]", "[a.tip]"


def load(kind: str, points: str, values: str) -> sb.Mechanism:
    return read_text(FILE.format(kind=kind, points=points, values=values), "m.yaml")


@pytest.mark.parametrize(
    ("kind", "points", "values", "line", "words"),
    [
        ("springy", TWO, "stiffness: 3", 12, ["kind 'springy'", "expected one of spring_damper, actuator"]),
        ("spring_dampr", TWO, "stiffness: 3", 12, ["Did you mean 'spring_damper'?"]),
        ("3", TWO, "stiffness: 3", 12, ["kind 3"]),
        ("spring_damper", TWO, "stifness: 3", 13, ["no use for 'stifness'", "'stiffness'"]),
        ("spring_damper", TWO, "values:\n      length: 1\n      stifness: 3", 15, ["no use for 'stifness'"]),
        ("spring_damper", TWO, "stiffness: kk", 13, ["stiffness 'kk'", "declared in parameters"]),
        ("spring_damper", TWO, "stiffness: [1, 2]", 13, ["expected a number"]),
        ("spring_damper", TWO, "law: quartic", 13, ["law 'quartic'; expected one of linear, cubic, pull, push"]),
        ("spring_damper", TWO, "law: cubic", 10, ["has no 'stiffness3'"]),
        ("spring_damper", TWO, "stiffness3: 3", 13, ["no use for 'stiffness3'"]),
        ("spring_damper", ONE, "stiffness: 3", 11, ["1 points; expected two"]),
        ("tyre", TWO, "radius: 1", 11, ["2 points; expected one"]),
        ("tyre", ONE, "stiffness: 1000", 10, ["has no 'radius'"]),
        ("tyre", ONE, "law: pacejka", 13, ["expected one of linear, magic_formula, external"]),
        ("tyre", ONE, "{law: external, radius: 1}", 10, ["expected"]),
        ("contact", ONE, "stiffness: 1\n    ground: hilly", 14, ["ground 'hilly'; expected one of flat, slope"]),
        ("contact", ONE, "stiffness: 1\n    ground: sinusoid", 10, ["has no 'amplitude'"]),
        ("contact", ONE, "stiffness: 1\n    slope_x: 1", 14, ["no use for 'slope_x'"]),
        ("point_force", ONE, "force: [1, 2]", 13, ["list of 3 numbers"]),
        ("point_force", ONE, "moment: [1, 2, 3]", 13, ["no use for 'moment'"]),
        ("point_force", ONE, "axes: mine", 13, ["expected one of world, body"]),
        ("link", TWO, "stiffness: 3", 13, ["It takes no values"]),
        ("external", TWO, "function: 3", 13, ["expected an External"]),
        ("external", TWO, "force: [1, 2, 3]", 13, ["no use for 'force'"]),
        ("joint", "[a]", "law: stick", 13, ["expected one of actuator, viscous"]),
        ("joint", "[a]", "law: viscous", 10, ["has no 'coefficient'"]),
        ("joint", "[a]", "{law: viscous}", 10, ["expected"]),
        ("joint", "[ground]", "law: actuator", 11, ["joint 'g'; expected a joint with one coordinate"]),
        ("joint", "[a]", "joint: jj", 13, ["'jj', which is no joint"]),
        ("lugre", TWO, "level: -1", 13, ["level -1", "above 0"]),
        ("stiction", ONE, "joint: j\n    level: 1\n    breakaway: 2", 10, ["has no 'stiffness'"]),
        (
            "maxwell",
            "[ground]",
            "stiffness: 1\n    damping: 1",
            11,
            ["joint 'g'; expected a joint with one coordinate"],
        ),
        ("dahl", TWO, "joint: j\n    level: 1\n    stifness: 3", 15, ["no use for 'stifness'"]),
    ],
)
def test_a_slip_in_a_force_is_refused_at_its_line(kind, points, values, line, words):
    if values.startswith("{"):
        values = values.strip("{}").replace(", ", "\n    ")
    with pytest.raises(ModelError) as caught:
        load(kind, points, values)
    message = str(caught.value)
    assert message.startswith(f"m.yaml:{line}: "), message
    for word in words:
        assert word in message, message


@pytest.mark.parametrize(
    ("kind", "points", "values"),
    [
        ("spring_damper", TWO, "{law: cubic, stiffness: k, stiffness3: 2*k, length: 0.4}"),
        ("external", TWO, "{function: '-3*(Z - 1) - Zd + sin(t)'}"),
        ("external", ONE, "{force: [0, 0, k]}"),
        ("tyre", ONE, "{law: magic_formula, tyre: symmetric, PCY1: 1.3}"),
        ("joint", "[a]", "{law: bump_stop, lower: -1, upper: 1, stiffness: k}"),
    ],
)
def test_what_loads_makes_equations(kind, points, values):
    mech = load(kind, points, f"values: {values}")
    assert sb.inverse_dynamics(mech, "base").count().total > 0


def test_an_unknown_coefficient_of_a_tyre_file_is_named():
    with pytest.raises(ModelError, match=r"^m.yaml:13: .*'PCYX'.*Did you mean 'PC"):
        load("tyre", ONE, "values: {law: magic_formula, PCYX: 1.3}")


def test_every_row_has_a_law_that_says_what_it_takes():
    for row in FORCE_ELEMENTS.values():
        assert row.about
        assert law_of(row).__doc__, row.kind
