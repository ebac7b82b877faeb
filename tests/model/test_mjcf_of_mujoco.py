"""What files of MuJoCo's own kind have: it is read as MuJoCo reads it, or refused where MuJoCo refuses it."""

import sys
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from helpers.mechanism_numbers import Numbers
from symbody.basics.errors import ModelError

pytest.importorskip("mujoco")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mujoco
from benchmarks.robot_files import Programs, compare, states

INERTIAL = '<inertial pos="0.1 0.2 0.3" mass="2" diaginertia="0.3 0.4 0.5"/>'
CUBE = np.array([[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]) * 0.5
SIDES = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))
FACES = np.array([t for a, b, c, d in SIDES for t in ((a, b, c), (a, c, d))])


def saved(folder, text, name="model.xml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def moves_alike(path):
    found = compare(path, "mjcf")
    assert found.status == "equal", found.reason
    assert found.nv > 0
    return found


# -- attached models


ARM = '<mujoco{}><worldbody><body name="b"><joint name="j"/><geom size=".1" pos=".3 0 0"/></body></worldbody></mujoco>'


@pytest.mark.parametrize(
    ("asset", "own", "name"),
    [("", ' model="Humanoid"', "Humanoid"), ('name="N"', ' model="Humanoid"', "N"), ("", "", "MuJoCo Model")],
)
def test_a_model_is_attached_by_its_name_or_the_one_it_gives_itself(asset, own, name, tmp_path):
    saved(tmp_path, ARM.format(own), "arm.xml")
    attach = f'<attach model="{name}" prefix="l_"/><frame pos="1 0 0"><attach model="{name}" prefix="r_"/></frame>'
    text = f'<mujoco><asset><model file="arm.xml" {asset}/></asset><worldbody>{attach}</worldbody></mujoco>'
    moves_alike(saved(tmp_path, text))
    with pytest.raises(ModelError, match="names the model 'Hum', which is not in <asset>"):
        sb.load(saved(tmp_path, text.replace(f'model="{name}"', 'model="Hum"')))


# -- armature


def test_armature_of_ball_joints_between_moving_bodies(tmp_path):
    """On the relative velocity: where it turns against the body that carries it, not against the world."""
    text = f"""<mujoco><worldbody><body><freejoint/>{INERTIAL}<body pos=".3 0 0" euler="10 20 30">
    <joint name="one" type="ball" pos=".1 .2 .3" armature=".7" damping=".2"/>{INERTIAL}<body pos="0 .4 0">
    <joint axis="1 0 0"/><joint type="ball" armature=".3"/>{INERTIAL}</body></body></body>
    <body pos="1 0 0"><joint axis="0 1 0"/><joint type="ball" armature=".5"/>{INERTIAL}</body></worldbody></mujoco>"""
    moves_alike(saved(tmp_path, text))


def test_the_certificate_knows_a_ball_joint_that_turns_as_another(tmp_path):
    text = f"""<mujoco><worldbody><body><joint axis="1 0 0"/>{INERTIAL}<body pos=".3 0 0"><joint type="ball"
    armature=".7"/>{INERTIAL}</body></body></worldbody></mujoco>"""
    mech = sb.load(saved(tmp_path, text))
    assert sb.verify(mech, states=2).passed
    assert [j.mimic is not None for j in mech.joints] == [False, False, True]
    for suffix in (".xml", ".sdf", ".urdf"):
        with pytest.raises(ModelError, match=r"follows another one|cannot be written|has a ball motion"):
            sb.save(mech, tmp_path / f"out{suffix}")
    again = sb.load(sb.save(mech, tmp_path / "out.yaml"))
    one, two = Programs(mech), Programs(again)
    for s in states(mech):
        assert np.allclose(one.at(s).mass, two.at(s).mass, rtol=1e-14)


@pytest.mark.parametrize(
    ("details", "sentence"),
    [
        ({"mimic": ("h", 1, 0)}, "expected a ball joint with own coordinates"),
        ({"mimic": ("one", 2, 0)}, "has a ratio or an offset"),
        ({"mimic": ("one", 1, 0.1)}, "has a ratio or an offset"),
        ({"mimic": ("one", 1, 0), "viscous": 0.1}, "follows and has viscous"),
    ],
)
def test_a_ball_joint_follows_a_ball_joint_as_it_is(details, sentence):
    b = sb.Mechanism.builder("m")
    for name in "abc":
        b.body(name, 1, (0, 0, 0.1), (1, 1, 1))
    b.joint("h", "revolute", "world", "a").joint("one", "ball", "a", "b").joint("two", "ball", "b", "c", **details)
    with pytest.raises(ModelError, match=sentence):
        b.done()


# -- meshes


def cube(faces, rule, corners=CUBE):
    text = " ".join(str(k) for k in np.ravel(faces))
    return f"""<mujoco><asset><mesh name="m" inertia="{rule}" vertex="{" ".join(map(str, np.ravel(corners)))}"
    face="{text}"/></asset><worldbody><body><joint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""


TURNED = {
    "one face": np.vstack([FACES[:1, ::-1], FACES[1:]]),
    "half of them": np.vstack([FACES[:6, ::-1], FACES[6:]]),
    "all": FACES[:, ::-1],
    "a face twice": np.vstack([FACES, FACES[:1]]),
}


@pytest.mark.parametrize("what", TURNED)
def test_faces_that_are_turned_over_are_refused_where_they_count(what, tmp_path):
    path = saved(tmp_path, cube(TURNED[what], "exact"))
    with pytest.raises(ValueError, match=r"inconsistent orientation|volume is negative"):
        mujoco.MjModel.from_xml_path(str(path))
    with pytest.raises(
        ModelError, match=r"model\.xml:1: mesh 'm' has .*faces (that are turned over|that look outward)"
    ):
        sb.load(path)
    for rule in ("legacy", "convex", "shell"):
        moves_alike(saved(tmp_path, cube(TURNED[what], rule)))


def test_meshes_of_loose_triangles_are_looked_at_too(tmp_path):
    """Every corner for itself, as in STL files: MuJoCo would take a turned face there, with a mass that is wrong."""
    loose = np.arange(36).reshape(-1, 3)
    moves_alike(saved(tmp_path, cube(loose, "exact", CUBE[FACES.ravel()])))
    with pytest.raises(ModelError, match="turned over"):
        sb.load(saved(tmp_path, cube(loose, "exact", CUBE[TURNED["one face"].ravel()])))


def test_two_solids_that_share_an_edge_and_one_with_a_cavity_are_closed(tmp_path):
    pair = cube(np.vstack([FACES, FACES + 8]), "exact", np.vstack([CUBE, CUBE + np.array([0.5, 0.5, 0])]))
    moves_alike(saved(tmp_path, pair))
    hollow = cube(np.vstack([FACES, FACES[:, ::-1] + 8]), "exact", np.vstack([3 * CUBE - 0.5, CUBE]))
    moves_alike(saved(tmp_path, hollow))


def test_a_negative_moment_is_refused_wherever_it_comes_from(tmp_path):
    link = '<link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="-5.7" iyy="1" izz="1"/></inertial>'
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    urdf = saved(tmp_path, f'<robot name="r">{link}</link>{joint}</robot>', "r.urdf")
    sdf = saved(tmp_path, """<sdf version="1.9"><model name="m"><link name="b"><inertial><inertia><ixx>-5.7</ixx>
        </inertia></inertial></link></model></sdf>""", "m.sdf")  # fmt: skip
    for path in (urdf, sdf):
        with pytest.raises(ModelError, match=r"moments? of inertia"):
            sb.load(path)


MADE = ("sphere 0", "sphere 3", "hemisphere 0", "hemisphere 3", "cone 5 .5", "cone 4 0", "supersphere 9 .4 .7",
        "supersphere 12 2 .4", "supertorus 8 .5 .4 .7", "supertorus 7 1 2 .7")  # fmt: skip


@pytest.mark.parametrize("made", MADE)
def test_meshes_that_mujoco_makes_have_its_masses(made, tmp_path):
    kind, params = made.split(" ", 1)
    rules = ("legacy", "exact", "convex", "shell")
    meshes = "".join(
        f'<mesh name="{rule}" builtin="{kind}" params="{params}" scale=".3 .4 .5" inertia="{rule}"/>' for rule in rules
    )
    bodies = "".join(f'<body><freejoint/><geom type="mesh" mesh="{rule}"/></body>' for rule in rules)
    moves_alike(saved(tmp_path, f"<mujoco><asset>{meshes}</asset><worldbody>{bodies}</worldbody></mujoco>"))


@pytest.mark.parametrize("made", ["sphere 5", "sphere", "supertorus 8 1.5 1 1", "supersphere 2 1 1", "ring 3"])
def test_params_that_make_no_mesh_are_refused(made, tmp_path):
    kind, _, params = made.partition(" ")
    body = '<body><joint/><geom type="mesh" mesh="m"/></body>'
    asset = f'<asset><mesh name="m" builtin="{kind}" params="{params}"/></asset>'
    path = saved(tmp_path, f"<mujoco>{asset}<worldbody>{body}</worldbody></mujoco>")
    with pytest.raises(ModelError, match=r"model\.xml:1: "):
        sb.load(path)
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_path(str(path))


# -- keyframes and names


@pytest.mark.parametrize("given", ['qpos="1"', 'qpos="1 2 3 4"', 'qvel="7"', 'qpos="2 3 1" qvel="1 2 3 4"', 'qpos=""'])
def test_a_keyframe_with_fewer_numbers_goes_on_as_the_file_stands(given, tmp_path):
    text = f"""<mujoco><compiler angle="radian"/><worldbody><body pos="1 2 3"><freejoint/>{INERTIAL}<body>
    <joint name="a" ref=".3" axis="0 1 0"/>{INERTIAL}<body><joint name="b" ref=".7"/>{INERTIAL}</body></body></body>
    </worldbody>
    <keyframe><key name="home" {given}/></keyframe></mujoco>"""
    path = saved(tmp_path, text)
    mech = sb.load(path)
    theirs = mujoco.MjModel.from_xml_path(str(path))
    q, qd = mech.keyframe("home").q, mech.keyframe("home").qd
    ours = np.concatenate([next(iter(q.values())), q["a"], q["b"]])
    assert np.allclose(np.array(ours, dtype=float), theirs.key_qpos[0], atol=1e-15)
    assert np.allclose(np.array(qd.get("b", (0,)), dtype=float), theirs.key_qvel[0, -1:])
    with pytest.raises(ModelError, match="10 values in qpos; expected 9 at most"):
        sb.load(saved(tmp_path, text.replace(given, 'qpos="1 2 3 4 5 6 7 8 9 10"')))


def test_blanks_around_names_count(tmp_path):
    """As in MuJoCo, where "0" and " 0" are two sites, and a tendon goes through the one that it names."""
    text = f"""<mujoco><worldbody><site name="0" pos="0 1 0"/><body><joint axis="0 1 0"/>{INERTIAL}
    <site name=" 0" pos=".3 .1 .2"/><site name="0 " pos=".9 .1 .2"/></body></worldbody>
    <tendon><spatial stiffness="40"><site site="0"/><site site=" 0"/></spatial></tendon></mujoco>"""
    moves_alike(saved(tmp_path, text))
    wrong = saved(tmp_path, text.replace('site=" 0"', 'site="  0"'))
    with pytest.raises(ValueError, match="not found in wrap"):
        mujoco.MjModel.from_xml_path(str(wrong))
    with pytest.raises(ModelError, match="goes through site"):
        sb.load(wrong)


# -- forces and constraints


@pytest.mark.parametrize("motor", [True, False])
@pytest.mark.parametrize("off", [True, False])
def test_weight_that_actuators_bear_is_borne_where_they_act(motor, off, tmp_path):
    flag = '<option><flag actuation="disable"/></option>' if off else ""
    actuator = '<actuator><motor joint="x"/></actuator>' if motor else ""
    text = f"""<mujoco>{flag}<worldbody><body><joint name="x" axis="0 1 0" actuatorgravcomp="true"/>{INERTIAL}
    <body gravcomp=".7"><joint name="y" axis="0 1 0" actuatorgravcomp="true"/>{INERTIAL}</body></body></worldbody>
    {actuator}</mujoco>"""
    path = saved(tmp_path, text)
    mech = sb.load(path, symbolic=False)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    forward = sb.forward_dynamics(mech).compile("python")
    for s in states(mech):
        data.qpos[:], data.qvel[:] = s.q, s.qd
        mujoco.mj_forward(model, data)
        assert np.allclose(forward(s.q, s.qd, 0 * s.tau), data.qacc, rtol=1e-9)
    assert any("left to actuators, and none act" in n for n in mech.notes) is (off or not motor)


def test_weight_that_only_some_actuators_bear(tmp_path):
    text = f"""<mujoco><worldbody><body><joint name="x" axis="0 1 0"/>{INERTIAL}<body gravcomp=".7">
    <joint name="y" axis="0 1 0" actuatorgravcomp="true" actuatorfrcrange="-3 3"/>{INERTIAL}</body></body></worldbody>
    <actuator><motor joint="x"/></actuator></mujoco>"""
    mech = sb.load(saved(tmp_path, text))
    assert any("acts in full, in MuJoCo within the actuatorfrcrange of joint 'y'" in n for n in mech.notes)
    with pytest.raises(ModelError, match="leaves to actuators that do not act"):
        sb.load(saved(tmp_path, text.replace('<motor joint="x"/>', "")))


@pytest.mark.parametrize(("scale", "kind"), [("0", "ball"), ("1", "solid"), ("0.01", "solid")])
def test_a_weld_whose_torque_counts_nothing_holds_a_point(scale, kind, tmp_path):
    """Its residual is MuJoCo's without the three rows that are 0."""
    text = f"""<mujoco><worldbody><body name="a"><joint axis="0 1 0"/>{INERTIAL}</body><body name="b" pos="1 0 0">
    <freejoint/>{INERTIAL}</body></worldbody><equality><weld body1="a" body2="b" anchor=".1 .2 .3"
    relpose=".5 .1 0 .9 .1 .2 .3" torquescale="{scale}"/></equality></mujoco>"""
    path = saved(tmp_path, text)
    mech = sb.load(path, symbolic=False)
    assert [c.kind for c in mech.cuts] == [kind]
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    for s in states(mech, 2):
        data.qpos[:] = s.q
        mujoco.mj_forward(model, data)
        (_, first), (_, second) = (Numbers(mech, s.q).frame(*end) for end in (mech.cuts[0].first, mech.cuts[0].second))
        assert first - second == pytest.approx(data.efc_pos[:3], abs=1e-12)
        assert np.any(data.efc_pos[3:6]) == (kind == "solid")


def test_thin_bodies_in_a_fluid_are_lifted_however_small_they_are(tmp_path):
    """A card of 50 by 20 by 0.2 mm in air: products of its lengths to the eighth power are no reason for a bound."""
    text = """<mujoco><option density="1.225" viscosity="1.8e-5" wind="0 0 1"/><worldbody><body><freejoint/>
    <geom type="box" size=".025 .01 .0001" pos=".025 0 0" euler="20 0 0" mass="1e-4" fluidshape="ellipsoid"/>
    <geom type="box" size=".02 .01 .0001" pos="-.025 0 0" euler="-19 0 0" mass="1e-4" fluidshape="ellipsoid"/></body>
    </worldbody></mujoco>"""
    moves_alike(saved(tmp_path, text))
