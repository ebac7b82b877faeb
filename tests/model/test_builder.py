"""The Builder: numbers, frames, joints; every kind of joint has as many velocities as its twists have rank."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from symbody.basics.errors import ModelError
from symbody.model.build.builder import Builder
from symbody.model.record.coordinates import neutral
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import Mechanism
from symbody.model.record.numbers import number_of, numbers_of
from symbody.model.record.tree_text import tree_text
from symbody.show.drawing.show import body_poses
from symbody.symbolic.expr.arrays import is_one, is_zero
from symbody.symbolic.expr.graph import Graph


def single(kind: str, **details) -> Mechanism:
    if kind in ("helical", "y"):
        details.setdefault("pitch", 0.3)
    return Builder("one").body("a", mass=1).joint("j", kind, "world", "a", **details).done()


# -- joints


@pytest.mark.parametrize("kind", KINDS)
def test_degrees_of_freedom_are_the_rank_of_the_twist_basis(kind):
    """The pose is differentiated by central differences at a random state; nv is the rank."""
    details = {"axis": (1, 2, -1)} if KINDS[kind].needs_axis else {}
    one = single(kind, **details)
    rng = np.random.default_rng(3)
    q = neutral(one) + 0.3 * rng.normal(size=one.nq)

    def pose(x):
        rotation, position = body_poses(one, x)["a"]
        return rotation, position

    twists, h = [], 1e-6
    rotation, _ = pose(q)
    for k in range(one.nq):
        step = h * np.eye(one.nq)[k]
        (r1, p1), (r0, p0) = pose(q + step), pose(q - step)
        w = rotation.T @ (r1 - r0) / (2 * h)
        np.testing.assert_allclose(w, -w.T, atol=1e-8)  # R^T dR is skew: the motion is a rigid one
        twists.append([w[2, 1], w[0, 2], w[1, 0], *(p1 - p0) / (2 * h)])
    rank = np.linalg.matrix_rank(np.array(twists).reshape(one.nq, 6), tol=1e-6) if one.nq else 0
    assert rank == one.nv


def test_the_catalogue_holds_the_subgroups_of_displacements():
    """MEDUSA, table 3.1: the twelve subgroups and their dimensions."""
    dimensions = {
        "fixed": 0, "prismatic": 1, "revolute": 1, "helical": 1, "cylindrical": 2, "translation2": 2, "planar": 3,
        "translation3": 3, "spherical": 3, "y": 3, "schoenflies": 4, "free": 6,
    }  # fmt: skip
    for kind, nv in dimensions.items():
        assert single(kind).nv == nv, kind


@pytest.mark.parametrize("kind", ["spherical", "universal", "floating"])
def test_rotation_sequences_turn_about_their_axes_in_turn(kind):
    letters = "zx" if kind == "universal" else "zxz"
    one = single(kind, sequence=letters)
    angles = [0.3, -0.5, 0.7][: len(letters)]
    q = neutral(one)
    q[-len(letters) :] = angles
    expected = np.eye(3)
    for letter, angle in zip(letters, angles):
        c, s = math.cos(angle), math.sin(angle)
        turn = {"x": [[1, 0, 0], [0, c, -s], [0, s, c]], "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]]}
        expected = expected @ np.array(turn[letter])
    np.testing.assert_allclose(body_poses(one, q)["a"][0], expected, atol=1e-15)


def test_a_helical_joint_advances_by_its_pitch():
    one = single("helical", axis="y", pitch=0.25)
    rotation, position = body_poses(one, [math.pi / 2])["a"]
    np.testing.assert_allclose(position, [0, 0.25 * math.pi / 2, 0], atol=1e-15)
    np.testing.assert_allclose(rotation @ [1, 0, 0], [0, 0, -1], atol=1e-15)


def test_joints_are_sorted_parents_first_and_keep_their_order_otherwise():
    builder = Builder("tree")
    for name in "abcd":
        builder.body(name)
    builder.joint("jd", "revolute", "c", "d").joint("jb", "revolute", "a", "b")
    builder.joint("jc", "revolute", "a", "c").joint("ja", "revolute", "world", "a")
    tree = builder.done()
    assert [j.name for j in tree.joints] == ["ja", "jb", "jc", "jd"]


def test_several_trees_and_a_moving_base():
    both = (
        Builder("two trees")
        .body("cart", mass=1).body("bob", mass=1).body("other", mass=1)
        .joint("rail", "prismatic", "world", "cart", axis="x", mode="driven", value="0.1*sin(2*pi*t)")
        .joint("swing", "revolute", "cart", "bob", axis="y")
        .joint("fly", "free", "world", "other")
        .done()
    )  # fmt: skip
    assert (both.nq, both.nv) == (9, 8)
    law = both.joint("rail").value
    assert law is not None
    assert number_of(law) is None  # it depends on the time, which has no default
    assert "t" not in both.parameters


def test_locked_fixed_and_mimic_joints_have_no_coordinates():
    hand = (
        Builder("hand")
        .body("palm", mass=1).body("left", mass=1).body("right", mass=1).body("nail")
        .joint("wrist", "revolute", "world", "palm", mode="locked", value="30*deg")
        .joint("open", "prismatic", "palm", "left", axis="y")
        .joint("follow", "prismatic", "palm", "right", axis="y", mimic=("open", -1, 0.5))
        .joint("glue", "fixed", "left", "nail")
        .done()
    )  # fmt: skip
    assert hand.nq == hand.nv == 1
    poses = body_poses(hand, [0.2])
    c, s = math.cos(math.pi / 6), math.sin(math.pi / 6)
    np.testing.assert_allclose(poses["left"][1], [-s * 0.2, c * 0.2, 0], atol=1e-15)
    np.testing.assert_allclose(poses["right"][1], [-s * 0.3, c * 0.3, 0], atol=1e-15)


def test_elastic_coordinates_are_known_so_that_they_can_be_zeroed_together():
    arm = (
        Builder("arm").body("base", mass=1).body("a", mass=1).body("b", mass=1)
        .joint("fly", "free", "world", "base")
        .joint("j1", "revolute", "base", "a", elastic=(1000, 2))
        .joint("j2", "revolute", "a", "b", elastic={"stiffness": "auto"})
        .done()
    )  # fmt: skip
    assert (arm.nq, arm.nv) == (11, 10)
    assert arm.elastic_coordinates == (8, 10)
    assert arm.elastic_velocities == (7, 9)
    assert "ke_j2" in arm.parameters


# -- numbers


def test_zeros_and_ones_are_structure_and_other_floats_stay_floats():
    b = Builder("numbers")
    assert is_zero(b.number(0.0))
    assert is_one(b.number(1.0))
    assert b.number(0.0) is b.graph.zero
    assert b.number(2.0).data.__class__ is float
    assert b.number("1/3").data == Fraction(1, 3)


def test_auto_names_the_symbol_after_its_place():
    builder = Builder("arm").body("link 1", mass="auto", com=("auto", 0, 0), inertia="auto")
    arm = builder.joint("j", "revolute", "world", "link 1").done()
    names = list(arm.parameters)
    assert names[:2] == ["m_link_1", "c_link_1x"]
    assert names[2:] == [f"I_link_1{k}" for k in ("xx", "xy", "yy", "xz", "yz", "zz")]


def test_auto_takes_a_parameter_that_is_declared_already():
    builder = Builder("arm")
    mass = builder.parameter("m_link", 2.5)
    arm = builder.body("link", mass="auto").joint("j", "revolute", "world", "link").done()
    assert arm.body("link").mass is mass


def test_expressions_of_another_graph_are_refused():
    stranger = Graph("other").symbol("x", "parameter")
    with pytest.raises(ModelError, match="another Graph"):
        Builder("arm").body("a", mass=stranger)


def test_the_symbols_of_two_models_never_merge():
    first, second = Builder("first").parameter("m", 1), Builder("second").parameter("m", 1)
    assert first.data != second.data


def test_a_mechanism_cannot_be_changed():
    arm = single("revolute")
    with pytest.raises(ValueError, match="read-only"):
        arm.bodies[0].com[0] = 1


# -- frames


def test_quarter_turns_are_exact_and_general_rotations_are_not_rounded():
    b = Builder("frames")
    quarter = b.placement((0, 0, 0), ("x", "90*deg"), "frame").rotation
    assert [x.data for x in quarter.flat] == [1, 0, 0, 0, 0, -1, 0, 1, 0]
    assert all(x.data.__class__ is int for x in quarter.flat)
    assert b.notes == []
    b.placement((0, 0, 0), {"rpy": (1.57079632679, 0, 0)}, "frame")  # as many files write it
    assert "made exact" in b.notes[0]
    kept = b.placement((0, 0, 0), ("x", 1e-9), "frame").rotation
    assert kept[2, 1].data == math.sin(1e-9)


def test_forms_of_a_rotation_agree():
    b = Builder("frames")
    roll, pitch, yaw = 0.3, -0.4, 1.1
    by_rpy = numbers_of(b.placement((0, 0, 0), {"rpy": (roll, pitch, yaw)}, "frame").rotation)
    by_turns = numbers_of(b.placement((0, 0, 0), [("z", yaw), ("y", pitch), ("x", roll)], "frame").rotation)
    scipy_rotation = pytest.importorskip("scipy.spatial.transform").Rotation.from_euler("xyz", [roll, pitch, yaw])
    x, y, z, w = scipy_rotation.as_quat()
    by_quaternion = numbers_of(b.placement((0, 0, 0), {"quaternion": (w, x, y, z)}, "frame").rotation)
    for form in (by_rpy, by_turns, by_quaternion):
        np.testing.assert_allclose(form, scipy_rotation.as_matrix(), atol=1e-14)


def test_symbolic_cosines_and_sines_may_stand_in_a_rotation():
    b = Builder("dh")
    c, s = b.parameter("ca"), b.parameter("sa")
    b.body("a").joint("j", "revolute", "world", "a", rotation=[[1, 0, 0], [0, c, -s], [0, s, c]])
    assert list(b.done().parameters) == ["ca", "sa"]


@pytest.mark.parametrize(
    ("given", "unit"),
    [("-y", [0, -1, 0]), ((0, 0, 5), [0, 0, 1]), ((1e-13, 2, 0), [0, 1, 0]), ((3, 4, 0), [0.6, 0.8, 0])],
)
def test_axes_are_normalised(given, unit):
    assert [x.data for x in single("revolute", axis=given).joints[0].axis] == unit


def test_the_tree_is_drawn_as_text():
    text = tree_text(
        Builder("arm").body("a", mass="2").body("b", mass="auto").body("c")
        .joint("j1", "revolute", "world", "a").joint("j2", "prismatic", "a", "b", axis="-x")
        .joint("j3", "fixed", "a", "c").done()
    )  # fmt: skip
    assert text.splitlines()[1:] == [
        "world",
        "└─ j1 [revolute z]  a, 2 kg",
        "   ├─ j2 [prismatic -x]  b, m_b",
        "   └─ j3 [fixed]  c",
    ]


def test_the_skeleton_is_drawn():
    figure = single("free").show()
    assert len(figure.axes) == 1
