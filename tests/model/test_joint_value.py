"""Locked and driven joints of several coordinates: one value for each, in the order of the coordinates."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.model.build.builder import Builder
from symbody.model.files.urdf import read as read_urdf
from symbody.model.files.urdf_writer import write as write_urdf
from symbody.model.files.yaml_file import read_text
from symbody.model.files.yaml_writer import to_yaml
from symbody.model.record.joints import KINDS, coordinate_names
from symbody.model.record.mechanism import Mechanism
from symbody.show.drawing.show import body_poses

AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
VALUES = [0.3, -0.7, 0.45, 0.9, -0.2, 0.6]
QUATERNION = [0.5, -0.1, 0.7, 0.5]  # of unit length


def locked(kind: str, value, **details) -> Mechanism:
    """A body on a locked joint, away from the origin, and a pendulum on it."""
    b = Builder("locked").body("a", mass=1, frames={"tip": (0.3, 0.2, 0.1)}).body("b", mass=1, com=(0.1, 0, 0))
    if kind in ("helical", "y"):
        details.setdefault("pitch", 0.2)
    b.joint("j", kind, "world", "a", (0.1, 0.2, 0.3), ("x", 0.4), mode="locked", value=value, **details)
    return b.joint("k", "revolute", "a", "b", axis="y").done()


def tip(mech: Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and position of the tip by the equations."""
    found = sb.kinematics(mech, frames=["a.tip"], order=0).compile("python")(np.zeros(mech.nq))
    return np.asarray(found.R_a_tip), np.asarray(found.p_a_tip)


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("fixed", "ball", "free")])
def test_a_locked_joint_stands_like_a_chain_of_locked_joints_of_one_axis(kind):
    """Slides and hinges in turn; a screw is a slide by pitch * angle and a hinge."""
    axis = (0.6, 0, 0.8)
    details = {"axis": axis} if KINDS[kind].needs_axis else {}
    motions = [(m.key, axis) for m, axis in KINDS[kind].motions(SimpleNamespace(sequence=""))]
    values = VALUES[: len(motions)]
    steps = []  # (kind, axis, value) of one-axis joints
    for (letter, name), value in zip(motions, values):
        u = axis if name == "u" else AXES[name]
        steps += [("prismatic", u, value * (0.2 if letter == "H" else 1))] if letter in "TH" else []
        steps += [("revolute", u, value)] if letter in "RH" else []
    b = Builder("chain")
    place = {"position": (0.1, 0.2, 0.3), "rotation": ("x", 0.4)}
    parent = "world"
    for i, (one, u, value) in enumerate(steps):
        name = "a" if i == len(steps) - 1 else f"s{i}"
        b.body(name, mass=0.0 if name != "a" else 1, frames={"tip": (0.3, 0.2, 0.1)} if name == "a" else None)
        b.joint(f"j{i}", one, parent, name, axis=u, mode="locked", value=value, **(place if i == 0 else {}))
        parent = name
    want = tip(b.body("b", mass=1).joint("k", "revolute", "a", "b").done())
    found = locked(kind, values if len(values) > 1 else values[0], **details)
    for x, y in zip(tip(found), want):
        np.testing.assert_allclose(x, y, atol=1e-15)
    rotation, position = body_poses(found)["a"]
    np.testing.assert_allclose(position + rotation @ [0.3, 0.2, 0.1], want[1], atol=1e-15)


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_a_locked_quaternion_turns_as_scipy_says(kind):
    rotation_of = pytest.importorskip("scipy.spatial.transform").Rotation
    shift = [0.3, -0.7, 0.45] if kind == "free" else []
    found = locked(kind, [*shift, *QUATERNION])
    w, *xyz = QUATERNION
    turn, frame = rotation_of.from_quat([*xyz, w]), rotation_of.from_euler("x", 0.4)
    want_r = (frame * turn).as_matrix()
    want_p = np.array([0.1, 0.2, 0.3]) + frame.apply(shift or np.zeros(3)) + want_r @ [0.3, 0.2, 0.1]
    for x, y in zip(tip(found), (want_r, want_p)):
        np.testing.assert_allclose(x, y, atol=1e-15)
    rotation, position = body_poses(found)["a"]
    np.testing.assert_allclose(position + rotation @ [0.3, 0.2, 0.1], want_p, atol=1e-15)


def test_a_locked_quaternion_is_normalised_and_without_a_value_it_is_a_unit():
    half = locked("ball", [0.70711, 0, 0, 0.70711]).joint("j").values
    assert np.hypot(float(half[0].data), float(half[3].data)) == pytest.approx(1, abs=1e-15)
    bare = locked("ball", None)
    np.testing.assert_allclose(tip(bare)[0], tip(locked("ball", [1, 0, 0, 0]))[0], atol=0)


def test_positions_of_locked_joints_may_be_expressions_and_auto():
    b = Builder("sym").body("a", mass=1).body("b", mass=1)
    b.parameter("l", 0.5)
    b.joint("j", "planar", "world", "a", mode="locked", value=["l", "2*l", "l/5"]).joint(
        "k", "cylindrical", "a", "b", mode="locked", value="auto"
    )
    made = b.done()
    assert {"l", "q_k1", "q_k2"} == set(made.parameters)
    position = body_poses(made, parameters={"l": 1.0, "q_k1": 0.0, "q_k2": 0.0})["a"][1]
    np.testing.assert_allclose(position, [1, 2, 0])


def test_values_of_several_coordinates_survive_writing(tmp_path):
    first = locked("floating", VALUES, sequence="zyx")
    second = read_text(to_yaml(first))
    for x, y in zip(tip(first), tip(second)):
        np.testing.assert_array_equal(x, y)
    for kind, value in (("cylindrical", [0.2, 0.5]), ("ball", QUATERNION), ("free", [1, 2, 3, *QUATERNION])):
        first = locked(kind, value)
        write_urdf(first, tmp_path / "locked.urdf")
        second = read_urdf(tmp_path / "locked.urdf", symbolic=False)
        for x, y in zip(body_poses(first)["a"], body_poses(second)["a"]):
            np.testing.assert_allclose(x, y, atol=1e-12)


def test_every_joint_names_as_many_coordinates_as_it_has():
    for kind in KINDS:
        pitch = {"pitch": 0.1} if kind in ("helical", "y") else {}
        one = Builder("one").body("a", mass=1).joint("j", kind, "world", "a", **pitch).done()
        assert len(coordinate_names(one.joint("j"))) == one.nq, kind


FILE = """\
name: m
parameters: {{L: 0.3}}
bodies:
  a: {{mass: 1}}
joints:
  j:
    kind: {kind}
    parent: world
    child: a
    mode: {mode}
    value: {value}
"""


@pytest.mark.parametrize(
    ("kind", "mode", "value", "words"),
    [
        ("ball", "locked", "0.3", ["'ball' has the single value 0.3", "a list of 4", "w of the quaternion"]),
        ("free", "locked", "[1, 2, 3]", ["value of 3 entries", "a list of 7: x (m)"]),
        ("cylindrical", "locked", "0.3", ["a list of 2: along the axis (m), about the axis (rad)"]),
        ("floating", "driven", "sin(t)", ["a list of 6: along x (m)", "about z (rad)"]),
        ("planar", "driven", "[t, t]", ["value of 2 entries; expected a list of 3"]),
        ("revolute", "driven", "[t, t]", ["value of 2 entries; expected one for about the axis (rad)"]),
        ("fixed", "locked", "0.3", ["none, for it does not move"]),
        ("ball", "locked", "[1, 1, 0, 0]", ["quaternion of length 1.41421; expected 1"]),
        ("ball", "locked", "[L, 0, 0, 1]", ["quaternion", "expected numbers", "spherical"]),
        ("ball", "driven", "[t, 0, 0, 0]", ["zero at t = 0"]),
        ("planar", "locked", "[t, 0, 0]", ["'t'"]),
        ("planar", "actuated", "[0, 0, 0]", ["mode 'actuated'"]),
    ],
)
def test_a_value_that_does_not_fit_is_refused_at_its_line(kind, mode, value, words):
    with pytest.raises(ModelError) as caught:
        read_text(FILE.format(kind=kind, mode=mode, value=value), "m.yaml")
    message = str(caught.value)
    assert message.startswith("m.yaml:11: ")
    for word in words:
        assert word in message, message


@pytest.mark.parametrize(
    ("details", "words"), [({"elastic": (10, 1)}, "driven and elastic"), ({"mimic": ("i", 2)}, "driven and mimics 'i'")]
)
def test_a_driven_joint_has_no_other_master(details, words):
    b = Builder("e").body("a", mass=1).body("b", mass=1).joint("i", "revolute", "world", "a")
    b.joint("j", "revolute", "a", "b", mode="driven", value="t", **details)
    with pytest.raises(ModelError, match=words):
        b.done()
