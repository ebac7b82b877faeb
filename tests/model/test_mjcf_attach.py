"""MJCF <attach>: what is attached moves as in MuJoCo, by its own defaults, units and meshes."""

import sys
from pathlib import Path

import pytest

import symbody as sb
from symbody.basics.errors import ModelError

pytest.importorskip("mujoco")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.robot_files import compare

ARM = """<mujoco model="arm"><compiler angle="degree" eulerseq="zyx" meshdir="m"/>
<default><joint damping="0.3" axis="0 1 0"/><geom density="700"/><position kp="5"/><default class="big">
<geom size=".2"/><joint armature=".2" ref="20" stiffness="3" springref="10"/></default></default>
<asset><mesh name="t" file="t.obj"/><material name="red" rgba="1 0 0 1"/></asset>
<worldbody><frame name="tilted" pos="0 0 .3" euler="10 20 30" childclass="big"><body name="base" pos=".1 .2 .3"
euler="30 20 10"><joint name="a"/><geom type="box" size=".1 .2 .3"/><site name="s" pos=".1 .2 .1"/>
<body name="tip" pos="0 0 .5" axisangle="1 2 3 40"><joint name="b" type="slide" ref=".3" springref=".2" stiffness="2"/>
<geom type="sphere"/><geom type="mesh" mesh="t" material="red"/><site name="s2" pos="0 .1 .1"/></body></body></frame>
</worldbody><tendon><spatial name="t" stiffness="7"><site site="s"/><site site="s2"/></spatial>
<fixed name="f" stiffness="4"><joint joint="a" coef="2"/><joint joint="b" coef="1"/></fixed></tendon>
<actuator><position name="p" joint="a" armature=".3"/><motor name="m" tendon="t"/></actuator>
<keyframe><key name="home"/></keyframe></mujoco>"""
SOLID = "v 0 0 0\nv .3 .02 0\nv .05 .4 .01\nv .03 .06 .5\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
PLACES = {
    "body": '<attach model="arm" body="base" prefix="L_"/>',
    "frame": '<attach model="arm" frame="tilted" prefix="L_"/>',
    "all": '<attach model="arm" prefix="L_"/>',
    "world": '<attach model="arm" body="world" prefix="L_"/>',
    "inner body": '<attach model="arm" body="tip" prefix="L_"/>',
    "twice": '<attach model="arm" prefix="L_"/><frame pos="0 1 0"><attach model="arm" prefix="R_"/></frame>',
    "of the same model": '<attach body="own" prefix="2_"/>',
}


def written(folder, attach, compiler='angle="radian" meshdir="x"'):
    (folder / "sub/m").mkdir(parents=True, exist_ok=True)
    (folder / "sub/arm.xml").write_text(ARM)
    (folder / "sub/m/t.obj").write_text(SOLID)
    path = folder / "main.xml"
    path.write_text(
        f"""<mujoco model="m"><compiler {compiler}/><default><joint damping="2"/><geom density="3000"/></default>
        <asset><model name="arm" file="sub/arm.xml"/></asset><worldbody><body name="base" pos="0 0 1"><freejoint/>
        <geom size=".3"/><body name="own" pos="1 0 0"><joint name="o" range="-1 1"/><geom size=".1"/></body>
        <frame pos="0 0 .2" euler=".1 .2 .3">{attach}</frame></body></worldbody></mujoco>"""
    )
    return path


@pytest.mark.parametrize("what", PLACES)
def test_what_is_attached_moves_as_in_mujoco(what, tmp_path):
    found = compare(written(tmp_path, PLACES[what]), "mjcf")
    assert found.status == "equal", found.reason
    assert found.nv > 7


def test_names_get_the_prefix_and_what_stays_behind_is_noted(tmp_path):
    mech = sb.load(written(tmp_path, PLACES["inner body"]), actuators="laws")
    assert "L_b" in [j.name for j in mech.joints]
    assert any("<spatial> names what is not attached" in n for n in mech.notes)
    assert any("keyframes of the attached model 'arm' were left out" in n for n in mech.notes)
    whole = sb.load(written(tmp_path, PLACES["all"]), actuators="laws")
    assert {"L_t", "L_f", "L_p", "L_m"} <= {f.name for f in whole.forces}


@pytest.mark.parametrize(
    ("attach", "sentence"),
    [
        ('<attach model="arm" body="bose" prefix=""/>', "names the body 'bose', which the model has not. Did you mean"),
        ('<attach model="leg" prefix=""/>', "names the model 'leg', which is not in <asset>"),
        ('<attach model="arm" body="base" frame="tilted" prefix=""/>', "expected one of them"),
    ],
)
def test_a_wrong_attachment_is_refused(attach, sentence, tmp_path):
    with pytest.raises(ModelError, match=r"main\.xml:") as caught:
        sb.load(written(tmp_path, attach))
    assert sentence in str(caught.value)


def test_other_rules_of_masses_are_refused_by_name(tmp_path):
    with pytest.raises(ModelError, match="boundmass='default' in <compiler>, this one '1'"):
        sb.load(written(tmp_path, PLACES["all"], 'boundmass="1"'))


def test_a_model_that_attaches_itself_is_refused(tmp_path):
    path = written(tmp_path, PLACES["all"])
    path.write_text(path.read_text().replace("sub/arm.xml", "main.xml"))
    with pytest.raises(ModelError, match="attaches itself"):
        sb.load(path)


def test_models_that_attach_each_other_twice_do_not_fill_the_memory(tmp_path, monkeypatch):
    """2^n copies are refused before they are made."""
    monkeypatch.setattr("symbody.model.files.mjcf_names.COPIES", 2000)
    body = "<body><joint/><geom size='.1'/></body>"
    (tmp_path / "m0.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    for k in range(1, 15):
        twice = "".join(f'<attach model="m{k - 1}" prefix="{side}"/>' for side in "lr")
        (tmp_path / f"m{k}.xml").write_text(
            f'<mujoco><asset><model file="m{k - 1}.xml"/></asset><worldbody>{twice}</worldbody></mujoco>'
        )
    with pytest.raises(ModelError, match="attached models have more than 2"):
        sb.load(tmp_path / "m14.xml")
