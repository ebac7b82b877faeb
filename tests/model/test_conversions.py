"""A model in another format moves alike: each format is read again by its own program or by symbody."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import symbody as sb
from helpers.robots import descriptions
from symbody.basics.errors import ModelError
from symbody.model.load import write_file
from symbody.show.cli.app import app

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.robot_files import Programs, compare, states

ROBOTS = (
    "panda_description/urdf/panda.urdf", "ur_description/urdf/ur5_robot.urdf", "talos_data/robots/talos_reduced.urdf",
    "solo_description/robots/solo12.urdf", "tiago_description/robots/tiago.urdf",
)  # fmt: skip
FOLDER = Path(__file__).parents[2] / ".." / "shared" / "data" / "urdf"
SHARED = ("anymal_b", "double_pendulum", "kinova_j2s6", "panda", "solo12", "talos_reduced", "ur10", "ur5")
CHAIN = (".xml", ".sdf", ".yaml", ".sdf", ".xml", ".urdf")


def differences(first: sb.Mechanism, second: sb.Mechanism) -> float:
    """Largest relative difference of M and efforts, joints matched by the bodies that they carry."""
    slots = {first.joint(s.owner).child: s for s in first.slots}
    pairs = [(slots[second.joint(s.owner).child], s) for s in second.slots]
    velocities = [k for one, two in pairs for k in range(one.iv, one.iv + two.nv)]
    coordinates = [k for one, two in pairs for k in range(one.iq, one.iq + two.nq)]
    assert sorted(velocities) == list(range(first.nv))
    one, two = Programs(first), Programs(second)
    worst = 0.0
    for s in states(first, 2):
        moved = {k: getattr(s, k)[velocities] for k in ("qd", "qdd", "tau")}
        a, b = one.at(s), two.at(replace(s, q=s.q[coordinates], **moved))
        worst = max(worst, float(np.abs(a.efforts[velocities] - b.efforts).max() / np.abs(a.efforts).max()))
        worst = max(worst, float(np.abs(a.mass[np.ix_(velocities, velocities)] - b.mass).max() / np.abs(a.mass).max()))
    return worst


@pytest.mark.parametrize("robot", ROBOTS[:2])
def test_urdf_to_mjcf_to_sdf_to_yaml_and_back_keeps_the_dynamics(robot, tmp_path):
    mech = at = sb.load(descriptions() / robot, symbolic=False)
    for k, suffix in enumerate(CHAIN):
        options = {} if suffix == ".yaml" else {"symbolic": False}
        at = sb.load(sb.save(at, tmp_path / f"step{k}{suffix}"), **options)
        assert differences(mech, at) < 1e-12, suffix


@pytest.mark.slow
@pytest.mark.parametrize("robot", ROBOTS[2:])
def test_larger_robots_keep_their_dynamics_too(robot, tmp_path):
    test_urdf_to_mjcf_to_sdf_to_yaml_and_back_keeps_the_dynamics(robot, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("root", ["fixed", "free"])
@pytest.mark.parametrize("robot", SHARED)
def test_the_reference_robots_keep_their_dynamics_on_the_same_way(robot, root, tmp_path):
    path = FOLDER / f"{robot}.urdf"
    if not path.is_file():
        pytest.skip("the reference data are not here")
    if root == "free" and robot in ("ur10", "ur5"):
        pytest.skip("its root link is the world, which is not free")
    mech = at = sb.load(path, symbolic=False, root=root)
    for k, suffix in enumerate(CHAIN):
        options = {} if suffix == ".yaml" else {"symbolic": False}
        at = sb.load(sb.save(at, tmp_path / f"step{k}{suffix}"), **options)
        assert differences(mech, at) < 1e-12, suffix


@pytest.mark.parametrize("robot", ROBOTS[:2])
def test_mujoco_and_pinocchio_read_what_is_written(robot, tmp_path):
    pytest.importorskip("mujoco")
    mech = sb.load(descriptions() / robot, symbolic=False)
    for suffix, kind in ((".xml", "mjcf"), (".urdf", "urdf")):
        path = sb.save(mech, tmp_path / f"robot{suffix}")
        found = compare(path, kind)
        assert found.status == "equal", found.reason


def machine() -> sb.Mechanism:
    """All kinds of joints and laws that the formats share."""
    b = sb.Mechanism.builder("machine", gravity=(0, -1.6, -9.0))
    tensor = (0.3, 0.01, 0.4, 0.02, 0.03, 0.5)
    b.body("hull", 3.0, (0.1, 0, 0.2), tensor, frames={"hook": {"position": (0.3, 0.1, 0), "rotation": ("x", 0.4)}})
    b.joint("base", "free", "world", "hull")
    b.body("arm", 2.0, (0, 0.1, 0.3), tensor)
    b.joint("turn", "revolute", "hull", "arm", (0.1, 0.2, 0.3), ("y", 0.7), axis=(1, 2, 3), stiffness=3.0, rest=0.2,
            viscous=0.4, limits=(-1, 2, None, 5), rotor=(0.02, 3))  # fmt: skip
    b.body("hand", 1.0, (0, 0.1, 0), tensor)
    b.joint("globe", "ball", "arm", "hand", (0, 0, 0.5), ("z", 0.3), viscous=0.1)
    b.body("tool", 0.7, (0, 0, 0.1), tensor)
    b.joint("slide", "prismatic", "hand", "tool", (0, 0.1, 0), ("x", 0.2), axis="y", coulomb=0.3)
    b.body("twin", 0.5, (0.2, 0, 0), tensor)
    b.joint("follow", "revolute", "hull", "twin", (0, 0, -0.3), axis="x", mimic=("turn", -0.5, 0.1))
    b.body("nut", 0.4, (0, 0.1, 0), tensor)
    b.joint("screw", "helical", "hull", "nut", (0, 0.4, 0), ("x", 1.0), axis="z", pitch=0.05)
    b.body("leg", 0.6, (0, 0.1, 0.1), tensor)
    b.joint("held", "universal", "hull", "leg", (0.2, 0, 0), mode="locked", value=(0.3, -0.4))
    b.body("foot", 0.8, (0, 0.1, 0.1), tensor)
    b.joint("ankle", "universal", "leg", "foot", (0, 0, -0.2), sequence="zx")
    return b.done()


def test_every_kind_of_joint_goes_through_mjcf(tmp_path):
    mech = machine()
    again = sb.load(sb.save(mech, tmp_path / "machine.xml"), symbolic=False)
    pair = {"ankle.1": "ankle", "ankle.2": "ankle_2"}
    assert again.nv == mech.nv
    assert [s.owner for s in again.slots] == [
        "base", "turn", "globe", "slide", "screw", "ankle", pair["ankle.2"]
    ]  # fmt: skip
    one, two = Programs(mech), Programs(again)
    for s in states(mech):
        assert np.allclose(one.at(s).efforts, two.at(s).efforts, rtol=1e-12, atol=1e-12)


def test_every_kind_of_joint_goes_through_sdf(tmp_path):
    mech = machine()
    again = sb.load(sb.save(mech, tmp_path / "machine.sdf"), symbolic=False)
    order = [s.owner for s in again.slots]
    assert set(order) == {"hull_free", "turn", "globe", "slide", "screw", "ankle", "ankle_2"}
    names = ["hull_free", "turn", "globe", "slide", "screw", "ankle", "ankle_2"]
    width = {"hull_free": (7, 6), "globe": (4, 3)}
    starts, iq, iv = {}, 0, 0
    for name in names:
        starts[name] = (iq, iv)
        nq, nv = width.get(name, (1, 1))
        iq, iv = iq + nq, iv + nv
    q_at = [k for n in order for k in range(starts[n][0], starts[n][0] + width.get(n, (1, 1))[0])]
    v_at = [k for n in order for k in range(starts[n][1], starts[n][1] + width.get(n, (1, 1))[1])]
    one, two = Programs(mech), Programs(again)
    viscous = 0.1  # of the ball joint, which SDF has no words for
    for s in states(mech):
        given = replace(s, q=s.q[q_at], qd=s.qd[v_at], qdd=s.qdd[v_at])
        wanted = one.at(s).efforts
        globe = starts["globe"][1]
        wanted[globe : globe + 3] -= viscous * s.qd[globe : globe + 3]
        assert np.allclose(wanted[v_at], two.at(given).efforts, rtol=1e-12, atol=1e-12)


def test_loops_go_through_sdf_and_mjcf(tmp_path):
    b = sb.Mechanism.builder("loop")
    for name, length in (("crank", 1.0), ("rocker", 1.4)):
        b.body(name, 1.0, (0, 0, length / 2), (0.1, 0.1, 0.01), frames={"tip": (0, 0, length)})
    b.joint("a", "revolute", "world", "crank", axis="y")
    b.joint("b", "revolute", "world", "rocker", (2.0, 0, 0), axis="y")
    b.body("coupler", 1.0, (0, 0, 1), (0.1, 0.1, 0.01), frames={"tip": (0, 0, 2.0)})
    b.joint("c", "revolute", "crank", "coupler", (0, 0, 1.0), axis="y")
    mech = b.cut("closed", "ball", ("coupler", "tip"), ("rocker", "tip")).done()
    for suffix in (".sdf", ".xml"):
        again = sb.load(sb.save(mech, tmp_path / f"loop{suffix}"), symbolic=False)
        assert [(c.name, c.kind) for c in again.cuts] == [("closed", "ball")]
        assert differences(mech, again) < 1e-12


def test_springs_on_lines_become_tendons(tmp_path):
    pytest.importorskip("mujoco")
    b = sb.Mechanism.builder("swing")
    b.body("arm", 2.0, (0, 0.1, -0.4), (0.2, 0.2, 0.1), frames={"tip": (0, 0, -0.8)})
    b.joint("pin", "revolute", "world", "arm", axis="y")
    b.body("wall", frames={"hook": (0.6, 0, -0.3), "eye": (0.5, 0.2, 0)}).joint("wall", "fixed", "world", "wall")
    b.force("spring", "spring_damper", ["arm.tip", "wall.hook"], stiffness=30.0, damping=2.0, length=0.3)
    b.force("rope", "tendon", ["wall.eye", "arm.tip", "wall.hook"], stiffness=9.0, length=0.1, divisors=[1, 2])
    b.force("sum", "tendon", joints=["pin"], coefficients=[2.0], stiffness=5.0, length=0.4, slack=0.1)
    b.force("bent", "tendon", joints=["pin"], coefficients=[1.0], stiffness2=5.0, damping=0.4, damping3=0.1)
    mech = b.done()
    path = tmp_path / "swing.xml"
    assert write_file(mech, path) == []
    assert compare(path, "mjcf").status == "equal"
    assert differences(mech, sb.load(path, symbolic=False)) < 1e-12


# -- the command


def run(*words):
    return CliRunner().invoke(app, ["convert", *map(str, words)])


@pytest.mark.parametrize("suffix", [".urdf", ".xml", ".sdf"])
def test_nothing_is_lost_without_a_word(suffix, tmp_path):
    """Every piece of a Mechanism is in the file, or in the list of what is lost."""
    b = sb.Mechanism.builder("rich")
    tensor = (0.1, 0.2, 0.25)
    for name, x in (("a", 0), ("b", 1), ("c", 2), ("d", 3)):
        b.body(name, 1, (0, 0.1, 0), tensor, frames={f"tip_{name}": (x, 0, 1)})
    b.joint("ja", "revolute", "world", "a", mode="passive", stiffness=3, rotor=(0.1, 3, True), limits=(-1, 1, 2, 3))
    b.joint("jb", "revolute", "a", "b", (0, 0, 1), axis="y", mode="driven", value="0.2*sin(t)")
    b.joint("jc", "revolute", "world", "c", axis="y", mode="locked", value=0.3)
    b.joint("jd", "prismatic", "world", "d", axis="y", viscous=0.2)
    b.cut("loop", "universal", ("b", "tip_b"), ("d", "tip_d"), switched=True)
    b.coupling("gear", "q.ja - 2*q.jd").sensor("eye", "b", "tip_b").keyframe("home", {"ja": 0.3})
    b.force("push", "point_force", ["b"], {"force": [1, 2, 3]})
    path = tmp_path / f"rich{suffix}"
    lost = " | ".join(write_file(b.done(), path))
    pieces = ["take no efforts: ja", "locked joints, which are fixed there: jc", "prescribed motion of joint jb",
              "cut loop", "coupling gear", "sensor eye", "keyframe home", "force push"]  # fmt: skip
    pieces += ["spring of joint ja", "rotor of joint ja"] if suffix == ".urdf" else ["gyroscopic effect of the rotor"]
    for piece in pieces:
        assert piece in lost, piece
    assert all(f"tip_{name}" in path.read_text() for name in "abcd")


def test_convert_says_what_is_lost(tmp_path):
    out = tmp_path / "car.sdf"
    result = run("four_bar", out)
    assert result.exit_code == 0, result.output
    assert "wrote" in result.stdout
    assert "lost" in result.stdout
    assert "cut loop" in result.stdout  # SDF has no rod
    assert run("four_bar", tmp_path / "copy.yaml").stdout.endswith("lost        nothing\n")


def test_convert_refuses_what_it_cannot_write(tmp_path):
    assert "can be written: .yaml" in run("four_bar", tmp_path / "x.doc").stderr
    elastic = tmp_path / "elastic.yaml"
    elastic.write_text(
        "bodies: {a: {mass: 1, inertia: [1, 1, 1]}}\n"
        "joints: {j: {kind: revolute, parent: world, child: a, elastic: {stiffness: 3}}}\n"
    )
    for suffix, title in ((".xml", "MJCF"), (".sdf", "SDF"), (".urdf", "URDF")):
        with pytest.raises(ModelError, match=f"elastic; {title} has no such joint"):
            sb.save(sb.load(elastic), tmp_path / f"x{suffix}")
        assert not (tmp_path / f"x{suffix}").exists()
