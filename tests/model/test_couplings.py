"""Cuts and couplings of model files and of the Builder: what they may say, and errors with file and line."""

from __future__ import annotations

import re

import pytest

from symbody.basics.errors import ModelError
from symbody.model.build.builder import Builder
from symbody.model.files.yaml_file import read_text
from symbody.model.files.yaml_writer import to_yaml
from symbody.model.record.couplings import coordinate_names, quote_coordinates
from symbody.symbolic.expr.walk import free_symbols

TEXT = """symbody: 1
name: machine
parameters: {n: 3.0}
bodies: {a: {frames: {tip: [1, 0, 0]}}, b: {frames: {tip: [1, 0, 0]}}, c: , d: }
joints:
  ja: {kind: revolute, parent: world, child: a}
  jb: {kind: revolute, parent: world, child: b, position: [1, 0, 0]}
  base: {kind: free, parent: world, child: c}
  left-knee: {kind: revolute, parent: c, child: d, mimic: {joint: ja, ratio: 2}}
cuts:
  pin: {kind: revolute, between: [a.tip, b.tip], axis: x, switched: true}
  some: {kind: rows, between: [a.tip, b.tip], rows: [x, ry, 5]}
  cross: {kind: universal, between: [a.tip, c], axis: z, axis2: x}
couplings:
  gear: q.ja - n*q.jb
  roll: {expression: "qd.base.4 - n*qd.ja*cos(q.base.2)", kind: velocity}
  stop: {expression: "`q.left-knee` - sin(2*t)", switched: true}
"""


def test_cuts_and_couplings_are_read_and_written_back():
    mech = read_text(TEXT, "m.yaml")
    pin, some, cross = mech.cuts
    assert (pin.kind, pin.axis, pin.switched) == ("revolute", "x", True)
    assert some.rows == (0, 4, 5)
    assert (cross.axis, cross.axis2, cross.switched) == ("z", "x", False)
    gear, roll, stop = mech.couplings
    assert (gear.kind, roll.kind, stop.switched) == ("position", "velocity", True)
    assert {s.data.name for s in free_symbols([roll.expression])} == {"qd.base.4", "n", "qd.ja", "q.base.2"}
    assert {s.data.role for s in free_symbols([stop.expression])} == {"coordinate", "time"}
    assert "n" in mech.parameters
    text = to_yaml(mech)
    again = read_text(text)
    assert to_yaml(again) == text
    assert [str(c.expression) for c in again.couplings] == [str(c.expression) for c in mech.couplings]


def test_the_builder_takes_texts_and_nodes():
    b = Builder("gear")
    b.body("a").joint("a", "revolute", "world", "a").body("b").joint("b", "revolute", "world", "b")
    ratio = b.parameter("ratio", 4)
    b.coupling("text", "q.a - ratio*q.b").coupling("node", b.coordinate("a") - ratio * b.coordinate("b"))
    b.coupling("rate", b.coordinate("a", rate=True) + b.coordinate("b", rate=True), kind="velocity")
    text, node, _ = b.done().couplings
    assert text.expression is node.expression


def test_coordinates_are_counted_in_the_order_of_q_and_qd():
    q, qd = coordinate_names(read_text(TEXT))
    assert q["q.ja"] == 0
    assert (q["q.base.1"], q["q.base.7"]) == (2, 8)
    assert (qd["qd.base.1"], qd["qd.base.6"]) == (2, 7)
    assert "q.left-knee" not in q  # it follows ja


@pytest.mark.parametrize(
    ("text", "quoted", "names"),
    [
        ("q.a + 2*qd.b_1", "q.a + 2*qd.b_1", ["q.a", "qd.b_1"]),
        ("q.a.2^2", "`q.a.2`^2", ["q.a.2"]),
        ("`q.my joint` + q0.5*aq.b", "`q.my joint` + q0.5*aq.b", ["q.my joint"]),
    ],
)
def test_only_coordinates_are_quoted(text, quoted, names):
    assert quote_coordinates(text) == (quoted, names)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("gear: q.ja - n*q.jb", "gear: q.jz - 1", 15, "names 'q.jz', which is no coordinate of machine. Did you mean"),
        ("gear: q.ja - n*q.jb", "gear: q.base - 1", 15, "names 'q.base', which is no coordinate"),
        ("gear: q.ja - n*q.jb", "gear: 2*n", 15, "names no coordinate"),
        ("gear: q.ja - n*q.jb", "gear: qd.ja", 15, "of kind position names 'qd.ja'"),
        ("gear: q.ja - n*q.jb", "gear: q.ja - k", 15, "the name 'k' is unknown"),
        ("gear: q.ja - n*q.jb", "gear: [q.ja]", 15, "expected a number or an expression"),
        ("n*qd.ja*cos", "qd.ja^2*cos", 16, "expected it linear in qd.<joint>"),
        ("kind: velocity", "kind: speed", 16, "expected one of position, velocity"),
        ("kind: velocity", "sort: velocity", 16, "unknown key 'sort'"),
        ("(2*t)\", switched: true", "(2*t)\", switched: 2", 17, "switched 2; expected true or false"),
        ("axis: x, switched", "axis: w, switched", 11, "axis 'w'; expected x, y or z"),
        ("switched: true}\n  some", "switched: on}\n  some", 11, "switched 'on'; expected true or false"),
        ("rows: [x, ry, 5]", "rows: [x, rw]", 12, "expected different numbers 0 to 5"),
        ("rows: [x, ry, 5]", "rows: x", 12, "expected a list of numbers 0 to 5 or names"),
        ("kind: universal", "kind: hinge", 13, "expected one of ball, rod, solid"),
        ("[a.tip, c]", "[a.tip, a.tip]", 13, "between a frame and itself"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_file_and_line(old, new, line, words):
    assert old in TEXT
    with pytest.raises(ModelError, match=rf"^m.yaml:{line}: .*{re.escape(words)}"):
        read_text(TEXT.replace(old, new, 1), "m.yaml")
