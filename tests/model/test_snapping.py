"""Rotations of files: entries meant to be 0 or 1 become that, in a matrix that stays a rotation, and are listed."""

from __future__ import annotations

import numpy as np
import pytest

import symbody as sb
from symbody.model.record.pose import about, from_rpy
from symbody.model.record.snapping import LOOSE, SNAP, looseness, snapped

RIGHT = np.pi / 2


def rotation(joint):
    return np.array([[float(x.data) for x in row] for row in joint.placement.rotation])


def urdf(tmp_path, rpy="0 0 0", axis="0 0 1", inertial=""):
    path = tmp_path / "robot.urdf"
    path.write_text(
        f'<robot name="r"><link name="base"/><link name="a"><inertial><mass value="1.3"/>'
        f'<origin xyz="0.3 0.2 1" {inertial}/><inertia ixx="1" iyy="2" izz="1.5" ixy="0" ixz="0" iyz="0"/></inertial>'
        f'</link><joint name="j" type="continuous"><parent link="base"/><child link="a"/><origin rpy="{rpy}"/>'
        f'<axis xyz="{axis}"/></joint></robot>'
    )
    return path


def test_random_rotations_near_quarter_turns_stay_rotations():
    rng = np.random.default_rng(0)
    for _ in range(400):
        base = from_rpy(*rng.choice([0, RIGHT, np.pi, -RIGHT, rng.uniform(-3, 3)], 3))
        tiny = 10.0 ** rng.uniform(-17, -3, 3) * rng.choice([-1, 1, 0], 3)
        given = about(2, tiny[2]) @ about(1, tiny[1]) @ about(0, tiny[0]) @ base
        made = snapped(given)
        assert looseness(made) <= LOOSE
        assert np.abs(made - given).max() <= 2 * SNAP + LOOSE
        assert np.array_equal(snapped(made), made)


def test_quarter_turns_with_rounded_angles_become_exact():
    for angle in (RIGHT, 1.57079632679, 1.570796326794, RIGHT + 5e-11):
        assert np.array_equal(snapped(from_rpy(angle, 0, 0)), [[1, 0, 0], [0, 0, -1], [0, 1, 0]])


def test_a_turn_by_five_digits_is_what_it_says():
    """cos(1.5708) = -3.7e-6 is no zero; the sine is not 1 beside it."""
    made = snapped(from_rpy(1.5708, 0, 0))
    assert made[1, 1] == pytest.approx(np.cos(1.5708), rel=1e-12)
    assert made[0].tolist() == [1, 0, 0]


def test_what_is_snapped_is_listed(tmp_path):
    mech = sb.load(urdf(tmp_path, "1.57079632675 0 0"))
    assert rotation(mech.joint("j"))[1, 1] == 0
    assert any("rotation of <joint>: entries within 1e-10" in note for note in mech.notes)
    quiet = sb.load(urdf(tmp_path, "1.5708 0 0"))
    assert looseness(rotation(quiet.joint("j"))) <= LOOSE
    assert not quiet.notes


def test_an_axis_a_little_off_is_kept_and_one_within_rounding_is_listed(tmp_path):
    mech = sb.load(urdf(tmp_path, axis="0.000001 0 1"))
    assert float(mech.joint("j").axis[0].data) == pytest.approx(1e-6, rel=1e-9)
    mech = sb.load(urdf(tmp_path, axis="0.00000000001 0 1"))
    assert [x.data for x in mech.joint("j").axis] == [0, 0, 1]
    assert any("axis of joint 'j'" in note for note in mech.notes)


def test_a_matrix_that_is_no_rotation_but_for_its_digits_is_made_one():
    c = round(np.cos(0.4), 8)
    s = round(np.sin(0.4), 8)
    b = sb.Mechanism.builder("digits").body("a", mass=1)
    b.joint("j", "revolute", "world", "a", rotation=[[1, 0, 0], [0, c, -s], [0, s, c]])
    mech = b.done()
    made = rotation(mech.joint("j"))
    assert looseness(made) <= LOOSE
    assert np.abs(made - [[1, 0, 0], [0, c, -s], [0, s, c]]).max() < 1e-8
    assert any("nearest rotation" in note for note in mech.notes)


@pytest.mark.parametrize("rpy", ["1.5708 0 0", "1.5708 0 -1.5708", "3.1416 1.5708 0.2", "3.14159265 0 1.5708"])
@pytest.mark.parametrize("axis", ["0 0 1", "0.000003 0 1", "0.3 0 1"])
def test_urdf_against_pinocchio(tmp_path, rpy, axis):
    """To the last digits; where an entry was snapped, and listed, to the size of such entries."""
    pin = pytest.importorskip("pinocchio")
    path = urdf(tmp_path, rpy, axis, 'rpy="1.5708 0.00001 0"')
    model = pin.buildModelFromUrdf(str(path))
    mech = sb.load(path)
    data = model.createData()
    assert bool(mech.notes) == (rpy == "3.1416 1.5708 0.2")  # sin(3.1416) cos(1.5708) = 2.7e-11
    allowed = SNAP if mech.notes else 1e-12
    for k in range(3):
        q, qd, tau = np.random.default_rng(k).normal(size=(3, 1))
        at = pin.neutral(model) if model.nq == 1 else np.array([np.cos(q[0]), np.sin(q[0])])
        if model.nq == 1:
            at[:] = q
        want = pin.aba(model, data, at, qd, tau)
        for formalism in ("newton_euler", "base"):
            found = sb.forward_dynamics(mech, formalism).compile("python")(q, qd, tau)
            assert np.abs(found - want).max() <= allowed * max(1.0, np.abs(want).max())
