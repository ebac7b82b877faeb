"""Named states: keyframes of MJCF files mean what MuJoCo means, and q0 and qd0 take their names."""

import numpy as np
import pytest
from typer.testing import CliRunner

import symbody as sb
from symbody.basics.errors import ModelError, NameLookupError
from symbody.show.cli.app import app

MODEL = """<mujoco model="keys">
<worldbody>
  <body name="torso" pos="0.1 0.2 1.3" quat="0.9 0.1 0.2 0.3">
    <freejoint name="root"/>
    <geom size="0.1"/>
    <body name="arm" pos="0.3 0 0"><joint name="shoulder" type="ball"/><geom size="0.05" pos="0.1 0 0"/>
      <body name="hand" pos="0.2 0 0"><joint name="elbow" axis="0 1 0" ref="20"/><geom size="0.1" pos="0 0 1"/></body>
    </body>
  </body>
  <body name="cart"><joint name="slide" type="slide" axis="1 0 0"/><geom size="0.1"/></body>
  <body name="twin"><joint name="follower" type="slide" axis="1 0 0"/><geom size="0.1"/></body>
</worldbody>
<equality><joint joint1="follower" joint2="slide" polycoef="0 2 0 0 0"/></equality>
<keyframe>
  <key name="crouch" qpos="0 0 0.5  1 1 0 0  0.5 0.5 0.5 -0.5  0.3  0.7 1.4" qvel="1 2 3 4 5 6 7 8 9 10 11 22"/>
  <key qvel="0 0 0 0 0 0 0 0 0 1 0 0" ctrl=""/>
</keyframe>
</mujoco>"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "keys.xml"
    file.write_text(MODEL, encoding="utf-8")
    return file


def test_a_keyframe_is_the_state_that_mujoco_has_there(path):
    mujoco = pytest.importorskip("mujoco")
    mech = sb.load(path)
    assert [k.name for k in mech.keyframes] == ["crouch", "key1", "qpos0"]
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    for number, name in enumerate(("crouch", "key1")):
        mujoco.mj_resetDataKeyframe(model, data, number)
        mujoco.mj_forward(model, data)
        motion = sb.simulate(
            mech, 1e-3, step=1e-3, q0=name, qd0=name, outputs=["p.torso", "v.hand", "p.hand", "p.twin"]
        )
        speed = np.zeros(6)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, data.body("hand").id, speed, 0)
        for body in ("torso", "hand", "twin"):
            assert np.allclose(motion[f"p.{body}"][0], data.body(body).xpos, atol=1e-14)
        assert np.allclose(motion["v.hand"][0], speed[3:], atol=1e-13)
    assert np.allclose(mech.keyframe("qpos0").q["root"], model.qpos0[:7], atol=1e-15)
    assert mech.keyframe("qpos0").q["elbow"] == (np.deg2rad(20),)
    assert not mech.keyframe("qpos0").qd


def test_every_verb_that_takes_q0_takes_the_name(tmp_path):
    file = tmp_path / "arm.yaml"
    file.write_text(
        "name: arm\nbodies: {upper: {mass: 1, com: [0, 0, -1]}, lower: {mass: 1, com: [0, 0, -1]}}\n"
        "joints:\n  shoulder: {kind: revolute, parent: world, child: upper, axis: y}\n"
        "  elbow: {kind: revolute, parent: upper, child: lower, axis: y, position: [0, 0, -2]}\n"
        "keyframes:\n  bent: {q: {elbow: 30*deg, shoulder: 0.2}, qd: {elbow: 1}}\n",
        encoding="utf-8",
    )
    mech = sb.load(file)
    given = {"elbow": np.pi / 6, "shoulder": 0.2}
    assert np.allclose(sb.assemble(mech, "bent"), [0.2, np.pi / 6])
    assert np.allclose(sb.linearize(mech, q0="bent").A, sb.linearize(mech, q0=given).A)
    assert np.array_equal(sb.linearize(mech, q0="bent", qd0="bent").qd0, [0, 1])
    assert np.allclose(sb.equilibrium(mech, q0="bent").q, sb.equilibrium(mech, q0=given).q)
    runs = [
        sb.simulate(mech, 0.1, step=0.01, q0=q0, qd0=qd0).q for q0, qd0 in (("bent", "bent"), (given, {"elbow": 1}))
    ]
    assert np.array_equal(*runs)
    sb.save(mech, tmp_path / "again.yaml")
    again = sb.load(tmp_path / "again.yaml")
    assert (again.keyframe("bent").q, again.keyframe("bent").qd) == (mech.keyframe("bent").q, mech.keyframe("bent").qd)
    with pytest.raises(NameLookupError, match=r"arm has no keyframe 'bend'. Did you mean 'bent'"):
        sb.simulate(mech, 0.1, q0="bend")


def test_keyframes_on_the_command_line(path):
    shown = CliRunner().invoke(app, ["info", str(path)])
    assert "keyframes   crouch, key1, qpos0" in shown.output
    run = CliRunner().invoke(
        app,
        ["simulate", str(path), "--duration", "1ms", "--step", "1ms", "--q0", "crouch", "--q0", "elbow=0.5", "--json"],
    )
    assert run.exit_code == 0, run.output
    wrong = CliRunner().invoke(app, ["simulate", str(path), "--duration", "1ms", "--q0", "crouc"])
    assert wrong.exit_code != 0
    assert "no keyframe 'crouc'. Did you mean 'crouch'" in " ".join(wrong.output.split())


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (f'<key qpos="{"0 " * 15}"/>', r"keys.xml:15: <key> has 15 values in qpos; expected 14 at most"),
        ('<key qpos="0 0 0 0 0 0 0 1 0 0 0 0 0 0"/>', r"keys.xml:15: the quaternion of joint 'root' is zero"),
        ('<key name="a"/><key name="a"/>', r"keys.xml:15: a second keyframe 'a'"),
    ],
)
def test_a_wrong_keyframe_is_refused_with_its_line(tmp_path, key, words):
    file = tmp_path / "keys.xml"
    head, _, _ = MODEL.partition("<keyframe>")
    file.write_text(f"{head}<keyframe>\n{key}</keyframe></mujoco>", encoding="utf-8")
    with pytest.raises(ModelError, match=words):
        sb.load(file)


def test_a_keyframe_of_a_model_file_names_joints_with_coordinates(tmp_path):
    file = tmp_path / "arm.yaml"
    text = "bodies: {a: {mass: 1}, b: {mass: 1}}\njoints:\n  j: {kind: revolute, parent: world, child: a}\n"
    text += "  k: {kind: fixed, parent: a, child: b}\nkeyframes:\n  home: {q: {%s}}\n"
    for inner, words in (
        ("k: 1", "which has no coordinates of its own; expected j"),
        ("j: [1, 2]", "as 2 numbers; expected 1"),
    ):
        file.write_text(text % inner, encoding="utf-8")
        with pytest.raises(ModelError, match=f"arm.yaml:6: keyframe 'home' gives q of .*{words}"):
            sb.load(file)
