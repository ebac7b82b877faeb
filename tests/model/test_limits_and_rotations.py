"""Limits belong to joints with one coordinate; matrices that are no rotations are refused."""

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.model.record.joints import KINDS

SEVERAL = [name for name, kind in KINDS.items() if name not in ("fixed", "revolute", "prismatic", "helical")]


def joint(kind, **details):
    b = sb.Mechanism.builder("m")
    more = {"pitch": 0.1} if KINDS[kind].pitched else {}
    return b.body("a", 1, (0, 0, 0.1), (1, 1, 1)).joint("j", kind, "world", "a", **more, **details).done()


@pytest.mark.parametrize("limits", [(-1, 1), {"velocity": 2}, {"effort": 3}, {"upper": 1}])
@pytest.mark.parametrize("kind", SEVERAL)
def test_one_pair_of_bounds_is_refused_for_several_coordinates(kind, limits):
    with pytest.raises(ModelError, match=f"joint 'j' of kind {kind!r} has limits, one pair for .*with one coordinate"):
        joint(kind, limits=limits)
    assert joint(kind).joint("j").limits.lower is None


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "helical"])
def test_joints_with_one_coordinate_have_limits(kind):
    assert joint(kind, limits=(-1, 2)).joint("j").limits.upper == 2


def test_a_model_file_says_where_its_limits_stand(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_text(
        "bodies: {a: {mass: 1, inertia: [1, 1, 1]}}\njoints:\n  j:\n    kind: planar\n    parent: world\n"
        "    child: a\n    limits: [-1, 1]\n"
    )
    with pytest.raises(ModelError, match=r"m\.yaml:7: joint 'j' of kind 'planar' has limits"):
        sb.load(path)


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_readers_note_limits_that_are_one_pair_for_metres_and_radians(kind, tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(
        f'''<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="{kind}"><parent link="a"/>
        <child link="b"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'''
    )
    (note,) = [n for n in sb.load(path).notes if "limits" in n]
    assert f"limits of {kind} joint 'j' were left out, one pair for metres and radians" in note


def test_a_motion_that_passes_the_limit_of_an_elastic_joint_has_a_note():
    """Its motor falls as far as a stiff pendulum does: from 0 to the other side, beyond 1 rad."""
    b = sb.Mechanism.builder("m")
    b.body("a", 1, (1, 0, 0), (0.1, 0.1, 0.1))
    b.joint("j", "revolute", "world", "a", axis="y", limits=(-0.5, 1.0), elastic=(1e4, 10), rotor=(0.01, 1))
    mech = b.done()
    run = sb.simulate(mech, 1.0, step=1e-4, method="rk4")
    reached = np.abs(run.q[:, 0]).max()
    assert reached > 1.1
    (note,) = [n for n in run.notes if "its limits are -0.5 to 1 rad" in n]
    assert f"position of joint 'j' reached {reached:.4g} rad" in note
    stopped = sb.with_limits(mech)
    assert "limits of joint 'j' do not act: it is elastic" in stopped.notes
    assert sb.with_limits(stopped).notes == stopped.notes


@pytest.mark.parametrize("off", [0.3, 0.1, 1e-2, 1e-4, 2e-6])
def test_a_matrix_that_is_no_rotation_is_refused(off):
    """R^T R off by more than 1e-6, as docs/model_file.md says; by less it becomes the nearest rotation, with a note."""
    c, s = np.cos(0.4), np.sin(0.4)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    wrong = turn * np.sqrt(1 + off)
    assert np.isclose(np.abs(wrong.T @ wrong - np.eye(3)).max(), off, rtol=1e-6)
    with pytest.raises(ModelError, match="rotation of joint 'j' is not orthogonal"):
        joint("revolute", rotation=wrong.tolist())
    nearly = joint("revolute", rotation=(turn * np.sqrt(1 + 5e-7)).tolist())
    assert any("the nearest rotation was taken" in note for note in nearly.notes)
    made = np.array([[float(x.data) for x in row] for row in nearly.joint("j").placement.rotation])
    assert np.allclose(made, turn, atol=1e-9)


def test_a_mirror_is_refused():
    with pytest.raises(ModelError, match="left-handed"):
        joint("revolute", rotation=np.diag([1.0, 1, -1]).tolist())
