"""SDF as Gazebo's worlds have it: included models, links without weight, gravity of old files."""

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError

INERTIAL = (
    "<inertial><pose>.1 .2 .3 .1 .2 .3</pose><mass>2</mass><inertia><ixx>.3</ixx><iyy>.4</iyy><izz>.5</izz>"
    "</inertia></inertial>"
)
HINGE = '<joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz></axis></joint>'
ARM = (
    f'<link name="a">{INERTIAL}</link><link name="b"><pose>0 0 1 0 0 0</pose>{INERTIAL}</link>{HINGE}'
    '<joint name="foot" type="fixed"><parent>world</parent><child>a</child></joint>'
)


def saved(folder, text, name="world.sdf"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def world(inner, gravity="<gravity>0 0 -9.81</gravity>"):
    return f'<sdf version="1.7"><world name="w">{gravity}{inner}</world></sdf>'


def model(inner, name="arm"):
    return f'<sdf version="1.7"><model name="{name}">{inner}</model></sdf>'


def efforts(mech, n):
    inverse = sb.inverse_dynamics(mech, "newton_euler").compile("python")
    rng = np.random.default_rng(4)
    return np.asarray(inverse(*rng.uniform(-1, 1, (3, n))))


def test_included_models_are_those_of_their_files(tmp_path):
    """Beside the world, below it, and where packages says; twice under two names, each at its pose."""
    placed = "<include><uri>model://arm</uri><name>second</name><pose>1 0 0 0 0 1</pose></include>"
    text = world(f"<include><uri>model://sun</uri></include><include><uri>model://arm</uri></include>{placed}")
    saved(tmp_path, model(ARM), "models/arm/model.sdf")
    plain = sb.load(saved(tmp_path, model(ARM), "arm.sdf"), symbolic=False)
    places = {"models/cell/cell.sdf": (), "models/cell.sdf": (), "far/cell.sdf": [tmp_path / "models"]}
    for name, packages in places.items():
        mech = sb.load(saved(tmp_path, text, name), symbolic=False, packages=packages)
        assert [b.name for b in mech.bodies] == ["arm::a", "arm::b", "second::a", "second::b"]
        assert any("model://sun, which does not move, was left out" in note for note in mech.notes)
        one = efforts(plain, 1)
        inverse = sb.inverse_dynamics(mech, "newton_euler").compile("python")
        state = np.random.default_rng(4).uniform(-1, 1, (3, 1))
        assert np.allclose(inverse(*np.repeat(state, 2, axis=1)), np.repeat(one, 2), rtol=1e-14)
    position = mech.joint("second::foot").placement.position
    assert [float(x.data) for x in position] == [1, 0, 0]


def test_a_model_that_is_not_there_or_not_allowed_is_refused(tmp_path):
    saved(tmp_path, model(ARM), "secret/model.sdf")
    for uri in ("model://arm", "https://fuel/arm", "../../secret", "model://../../secret", "/etc/passwd"):
        path = saved(tmp_path, world(f"\n<include><uri>{uri}</uri></include>"), "a/b/world.sdf")
        with pytest.raises(ModelError, match=r"world.sdf:2: include .* is not found; expected a folder"):
            sb.load(path)
    saved(tmp_path, model("<include><uri>model://arm</uri></include>"), "arm/model.sdf")
    with pytest.raises(ModelError, match="includes go 8 files deep"):
        sb.load(saved(tmp_path, world("<include><uri>model://arm</uri></include>")))
    with pytest.raises(ModelError, match="a placement_frame and no pose"):
        sb.load(saved(tmp_path, world("<include><uri>x</uri><placement_frame>a</placement_frame></include>")))


def test_a_link_without_weight_is_not_pulled(tmp_path):
    """Its effort at rest is zero, and motion takes the same as without gravity."""
    light = ARM.replace('<link name="b">', '<link name="b"><gravity>false</gravity>')
    found = sb.load(saved(tmp_path, model(light), "light.sdf"), symbolic=False)
    nowhere = world(f'<model name="arm">{ARM}</model>', "<gravity>0 0 0</gravity>")
    twin = sb.load(saved(tmp_path, nowhere, "nowhere.sdf"), symbolic=False)
    assert np.allclose(efforts(found, 1), efforts(twin, 1), rtol=1e-13)
    assert any("gravity does not pull link 'b'" in note for note in found.notes)


def test_gravity_of_old_files_stands_in_physics(tmp_path):
    text = world(f'<model name="m">{ARM}</model>', '<physics type="ode"><gravity>0 0 -2</gravity></physics>')
    mech = sb.load(saved(tmp_path, text))
    assert [float(g.data) for g in mech.gravity] == [0, 0, -2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '<link name="a">\n<inertial auto="true"/></link>',
            "world.sdf:2: <inertial auto='true'> takes the mass from collisions",
        ),
        (f'\n<link name="a"><kinematic>1</kinematic>{INERTIAL}</link>', "world.sdf:2: link 'a' is kinematic"),
    ],
)
def test_links_whose_mass_or_motion_is_not_in_the_file_are_refused(tmp_path, text, words):
    with pytest.raises(ModelError, match=words):
        sb.load(saved(tmp_path, model(text)))


@pytest.mark.parametrize(("version", "upright"), [("1.4", True), ("1.5", False)])
@pytest.mark.parametrize("included", [False, True])
def test_axes_before_sdf_1_5_stand_in_the_frame_of_the_model(version, upright, included, tmp_path):
    path = tmp_path / "arm.sdf"
    path.write_text(
        f'<sdf version="{version}"><model name="m"><link name="a"><pose>0 0 0 1.5707963267948966 0 0</pose></link>'
        '<joint name="j" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz></axis></joint>'
        "</model></sdf>"
    )
    if included:
        path = tmp_path / "world.sdf"
        path.write_text('<sdf version="1.9"><world name="w"><include><uri>arm.sdf</uri></include></world></sdf>')
    axis = [float(str(x)) for x in sb.load(path).joints[0].axis]
    assert np.allclose(axis, [0, 1, 0] if upright else [0, 0, 1])


def test_poses_before_sdf_1_7_call_what_they_are_relative_to_their_frame(tmp_path):
    path = tmp_path / "arm.sdf"
    text = (
        '<sdf version="1.6"><model name="m"><link name="a"><pose>0 0 1 0 0 0</pose></link><link name="b">'
        '<pose frame="a">0 2 0 0 0 0</pose></link><joint name="i" type="fixed"><parent>world</parent><child>a</child>'
        '</joint><joint name="j" type="revolute"><parent>world</parent><child>b</child><axis><xyz>1 0 0</xyz></axis>'
        "</joint></model></sdf>"
    )
    path.write_text(text)
    assert [float(str(x)) for x in sb.load(path, symbolic=False).joint("j").placement.position] == [0, 2, 1]
    path.write_text(text.replace("1.6", "1.9"))
    with pytest.raises(ModelError, match="expected relative_to"):
        sb.load(path)
    # blank ones, and those of what is not read, do not matter
    elsewhere = '<sensor name="s" type="imu"><pose frame="b">0 0 0 0 0 0</pose></sensor></link><link name="b">'
    path.write_text(
        text.replace("1.6", "1.9").replace('frame="a"', "frame=''").replace('</link><link name="b">', elsewhere)
    )
    assert [float(str(x)) for x in sb.load(path, symbolic=False).joint("j").placement.position] == [0, 2, 0]


def test_a_frame_of_a_model_moves_with_its_own_first_link(tmp_path):
    path = tmp_path / "arm.sdf"
    path.write_text(
        '<sdf version="1.9"><model name="m"><model name="inner"><link name="n"/></model><link name="base"/>'
        '<frame name="f"/></model></sdf>'
    )
    assert {b.name: list(b.frames) for b in sb.load(path).bodies} == {"inner::n": [], "base": ["f"]}


def test_included_files_are_bounded_together(tmp_path, monkeypatch):
    monkeypatch.setattr("symbody.model.files.sdf_include.MAX_ELEMENTS", 20)
    (tmp_path / "a.sdf").write_text('<sdf version="1.9"><model name="a"><link name="l"/></model></sdf>')
    many = "".join(f"<include><name>a{k}</name><uri>a.sdf</uri></include>" for k in range(10))
    path = tmp_path / "world.sdf"
    path.write_text(f'<sdf version="1.9"><world name="w">{many}</world></sdf>')
    with pytest.raises(ModelError, match="20 elements together"):
        sb.load(path)
