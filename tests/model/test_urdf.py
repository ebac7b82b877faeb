"""URDF files read as Pinocchio reads them, written so that Pinocchio finds the same robot, refused in one sentence."""

import random
import re
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from helpers.damaged_files import assert_read_or_refused, damaged
from helpers.mechanism_numbers import Numbers
from helpers.robots import DESCRIPTIONS, descriptions, pinocchio_state, random_q
from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.composite import mass_and_bias
from symbody.mechanics.formalisms.efforts import generalized
from symbody.mechanics.formalisms.newton_euler import newton_euler
from symbody.mechanics.formalisms.tree import build_tree
from symbody.model.build.builder import Builder
from symbody.model.files import urdf, urdf_writer

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data" / "urdf"
ROBOTS = ("panda", "ur5", "ur10", "kinova_j2s6", "double_pendulum", "anymal_b", "solo12", "talos_reduced")
FLOATING = ("anymal_b", "solo12", "talos_reduced")


def pinocchio_mass(model, q):
    pin = pytest.importorskip("pinocchio")
    upper = np.triu(pin.crba(model, model.createData(), q))
    return upper + np.triu(upper, 1).T - np.diag(model.armature)


def saved(tmp_path, text, name="robot.urdf"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


# -- against Pinocchio


@pytest.mark.parametrize("robot", ROBOTS)
def test_dynamics_are_those_of_the_reference_file(robot):
    """Inverse dynamics, M, bias, gravity torques and centre of mass at 20 states (Pinocchio 4.1.0)."""
    if not SHARED.is_dir():
        pytest.skip("the reference data are not here")
    ref = np.load(SHARED / f"{robot}_reference.npz")
    free = robot in FLOATING
    mech = urdf.read(SHARED / f"{robot}.urdf", root="free" if free else "fixed", ignore=("mimic", "dynamics"))
    tree = build_tree(mech)
    first = Numbers(mech, np.zeros(mech.nq)).first
    # columns of the reference file, in our order
    q, order, iq = np.zeros((20, mech.nq)), np.zeros(mech.nv, dtype=int), 0
    iv = 0
    for name in ref["joint_names"]:
        jq, jv = first[name]
        if name == "root_joint" and free:
            q[:, :7] = ref["q"][:, [0, 1, 2, 6, 3, 4, 5]]
            order[:6] = [3, 4, 5, 0, 1, 2]
            iq, iv = 7, 6
            continue
        q[:, jq] = ref["q"][:, iq]
        order[jv] = iv
        iq, iv = iq + 1, iv + 1
    values = {n: s.data.default for n, s in mech.parameters.items()}
    moving = {"q": q, "qd": ref["v"][:, order], "qdd": ref["a"][:, order]}

    def at(nodes, **states):
        given = {f"{stem}{k + 1}": column for stem, array in states.items() for k, column in enumerate(array.T)}
        flat = [x if isinstance(x, sb.Node) else tree.graph.number(x) for x in np.asarray(nodes, dtype=object).flat]
        got = [np.broadcast_to(x, 20) for x in sb.evaluate(flat, {**values, **given})]
        return np.moveaxis(np.array(got), 0, 1)

    def close(ours, theirs):
        assert np.abs(ours - theirs).max() <= 1e-9 * np.abs(theirs).max()

    mass, bias = mass_and_bias(tree)
    close(at(generalized(tree, newton_euler(tree)), **moving), ref["tau"][:, order])
    close(at(mass, **moving).reshape(20, mech.nv, mech.nv), ref["M"][:, order][:, :, order])
    close(at(bias, **moving), ref["nle"][:, order])
    close(at(bias, q=q, qd=np.zeros_like(moving["qd"])), ref["g"][:, order])
    M, c = at(mass, **moving).reshape(20, mech.nv, mech.nv), at(bias, **moving)
    acc = np.array([np.linalg.solve(m, t) for m, t in zip(M, ref["tau_in"][:, order] - c)])
    assert np.abs(acc - ref["acc"][:, order]).max() <= 1e-8 * np.abs(ref["acc"]).max()
    for k in range(3):
        here = Numbers(mech, q[k])
        moved = [b for b in mech.bodies if here.jacobians[b.name].any()]  # Pinocchio leaves fixed links out
        assert here.centre_of_mass(moved) == pytest.approx(ref["com"][k], abs=1e-9)
        assert here.total_mass(moved) == pytest.approx(float(ref["total_mass"]), rel=1e-12)


@pytest.mark.parametrize("name", DESCRIPTIONS, ids=lambda n: Path(n).stem)
@pytest.mark.parametrize("root", ["fixed", "free"])
def test_mass_matrix_is_pinocchios(name, root):
    pin = pytest.importorskip("pinocchio")
    path = descriptions() / name
    if root == "free" and '<link name="world"' in path.read_text(encoding="utf-8"):
        pytest.skip("the root link is the world")
    mech = urdf.read(path, root=root, ignore=("mimic",), symbolic=False)
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if root == "free" else []))
    q = random_q(mech, np.random.default_rng(3))
    theirs, order = pinocchio_state(model, mech, q)
    expected = pinocchio_mass(model, theirs)
    ours = Numbers(mech, q).mass_matrix()[np.ix_(order, order)]
    # rotation entries within 1e-10 of 0 and 1 are made exact, and files write 1.5708 for a right angle
    assert np.abs(ours - expected).max() <= 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("name", DESCRIPTIONS, ids=lambda n: Path(n).stem)
def test_written_robot_has_the_same_mass_matrix(name):
    """Read, write and let Pinocchio read both."""
    pin = pytest.importorskip("pinocchio")
    path = descriptions() / name
    text = urdf_writer.to_urdf(urdf.read(path, ignore=("mimic",)))
    before, after = pin.buildModelFromUrdf(str(path)), pin.buildModelFromXML(text)
    assert list(before.names)[1:] == list(after.names)[1:]
    assert [j.shortname() for j in before.joints] == [j.shortname() for j in after.joints]
    q = pin.randomConfiguration(before, -np.ones(before.nq), np.ones(before.nq))
    expected = pinocchio_mass(before, q)
    assert np.abs(pinocchio_mass(after, q) - expected).max() <= 1e-9 * np.abs(expected).max()


def test_followers_move_with_their_leader(tmp_path):
    """With mimic, M = G' M0 G for the map G from free coordinates to all of them."""
    path = saved(tmp_path, MIMIC)
    every, led = urdf.read(path, ignore=("mimic",)), urdf.read(path)
    assert led.nv == 1
    q = 0.3
    all_q = np.array([q, -2 * q + 0.1, 0.5 * (-2 * q + 0.1)])
    G = np.array([[1.0], [-2.0], [-1.0]])
    assert Numbers(led, [q]).mass_matrix() == pytest.approx(G.T @ Numbers(every, all_q).mass_matrix() @ G, rel=1e-13)


MIMIC = """<robot name="fingers">
  <link name="palm"/>
  <link name="a"><inertial><origin xyz="0.1 0 0"/><mass value="2"/><inertia ixx="1" iyy="1" izz="2"/></inertial></link>
  <link name="b"><inertial><origin xyz="0 0.2 0"/><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1"/></inertial>
  </link>
  <link name="c"><inertial><origin xyz="0 0 0.3"/><mass value="3"/><inertia ixx=".2" iyy=".2" izz=".2"/></inertial>
  </link>
  <joint name="lead" type="continuous"><parent link="palm"/><child link="a"/><axis xyz="0 0 1"/></joint>
  <joint name="second" type="revolute"><parent link="a"/><child link="b"/><origin xyz=".4 0 0"/><axis xyz="0 0.6 0.8"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="lead" multiplier="-2" offset="0.1"/></joint>
  <joint name="third" type="prismatic"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="second" multiplier="0.5"/></joint>
</robot>"""


# -- what is read

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0.1 0 -0.2" rpy="0 0 1.5707963267948966"/>
      <mass value="2.5"/>
      <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.04"/>
    </inertial>
    <visual><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry><material name="blue"/></visual>
    <visual><geometry><mesh filename="package://arm/meshes/upper.stl"/></geometry></visual>
    <collision><geometry><sphere radius="0.4"/></geometry></collision>
  </link>
  <link name="fore"><collision><geometry><cylinder radius="0.1" length="0.5"/></geometry></collision></link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 0.3" rpy="0 1.5707963267948966 0"/>
    <axis xyz="0 0 2"/><limit lower="-1" upper="2" effort="30" velocity="4"/><dynamics damping="0.5" friction="0.2"/>
    <safety_controller k_velocity="1"/>
  </joint>
  <joint name="elbow" type="prismatic">
    <parent link="upper"/><child link="fore"/><limit lower="0" upper="1" effort="1" velocity="1"/>
  </joint>
  <transmission name="t1"/><transmission name="t2"/><gazebo reference="upper"/>
</robot>"""


def test_numbers_become_parameters_and_zeros_are_structure(tmp_path):
    mech = urdf.read(saved(tmp_path, ARM))
    p = mech.parameters
    assert p["m_upper"].data.default == 2.5
    assert p["m_upper"].data.nonzero
    assert p["m_upper"].data.unit == "kg"
    assert p["m_upper"].data.origin == "robot.urdf:6"
    assert p["cx_upper"].data.default == 0.1
    assert p["pz_shoulder"].data.default == 0.3
    assert "cy_upper" not in p
    assert "px_shoulder" not in p
    # a quarter turn about z: Ixx and Iyy change places, Ixy changes sign, and what was zero stays exactly zero
    got = {n: p[n].data.default for n in p if n.startswith("I")}
    assert got == pytest.approx({"Ixx_upper": 0.03, "Iyy_upper": 0.02, "Izz_upper": 0.04, "Ixy_upper": -0.001})
    assert urdf.read(saved(tmp_path, ARM), symbolic=False).parameters == {}


def test_joints_carry_axis_limits_and_laws(tmp_path):
    mech = urdf.read(saved(tmp_path, ARM))
    shoulder, elbow = mech.joint("shoulder"), mech.joint("elbow")
    assert [float(x.data) for x in shoulder.axis] == [0, 0, 1]
    assert [float(x.data) for x in elbow.axis] == [1, 0, 0]  # URDF's default
    assert (shoulder.limits.lower, shoulder.limits.upper, shoulder.limits.effort) == (-1, 2, 30)
    assert shoulder.viscous.data.default == 0.5
    assert shoulder.coulomb.data.default == 0.2
    assert urdf.read(saved(tmp_path, ARM), ignore=["dynamics"]).joint("shoulder").viscous is None
    turned = [[x.data for x in row] for row in shoulder.placement.rotation]
    assert turned == [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]


def test_what_is_left_out_is_noted(tmp_path):
    notes = " | ".join(urdf.read(saved(tmp_path, ARM)).notes)
    assert "<transmission> is not part of the mechanics and was ignored (2 in all)" in notes
    assert "<gazebo>" in notes
    assert "<safety_controller>" in notes
    assert "'package://arm/meshes/upper.stl' was not found" in notes


def test_meshes_are_found_in_their_package_and_nowhere_else(tmp_path):
    package = tmp_path / "arm"
    (package / "meshes").mkdir(parents=True)
    (package / "urdf").mkdir()
    (package / "meshes" / "upper.stl").touch()
    (tmp_path / "secret.stl").touch()
    mech = urdf.read(saved(package / "urdf", ARM))
    box, mesh = mech.body("upper").shapes
    assert (box.kind, box.size, box.colour) == ("box", (1, 2, 3), (0, 0, 1, 1))
    assert mesh.file == str((package / "meshes" / "upper.stl").resolve())
    assert [s.kind for s in mech.body("fore").shapes] == ["cylinder"]
    away = ARM.replace("meshes/upper.stl", "../secret.stl")
    assert urdf.read(saved(package / "urdf", away)).body("upper").shapes[1].file == "package://arm/../secret.stl"
    (tmp_path / "elsewhere").mkdir()
    found = urdf.read(saved(tmp_path / "elsewhere", ARM), packages=[tmp_path]).body("upper").shapes[1].file
    assert found == str((package / "meshes" / "upper.stl").resolve())


def test_root_link_called_world_is_the_world(tmp_path):
    mech = urdf.read(saved(tmp_path, ARM.replace('"base"', '"world"')))
    assert [j.name for j in mech.joints] == ["shoulder", "elbow"]
    assert [j.name for j in urdf.read(saved(tmp_path, ARM)).joints] == ["root_joint", "shoulder", "elbow"]
    assert urdf.read(saved(tmp_path, ARM), root="free").nq == 7 + 2


@pytest.mark.parametrize("axis", ["0 0 1", "1 0 0", "0 -2 0", "1 2 3"])
def test_planar_joint_moves_normal_to_its_axis(tmp_path, axis):
    text = f"""<robot name="r"><link name="a"/><link name="b"/><joint name="p" type="planar"><parent link="a"/>
      <child link="b"/><origin xyz="1 2 3" rpy="0.3 0.4 0.5"/><axis xyz="{axis}"/></joint></robot>"""
    mech = urdf.read(saved(tmp_path, text))
    r0, p0 = Numbers(mech, [0, 0, 0]).poses["b"]
    r, p = Numbers(mech, [0.3, -0.7, 0.9]).poses["b"]
    normal = r0 @ np.array([float(x) for x in axis.split()])
    assert p0 == pytest.approx([1, 2, 3])
    assert (p - p0) @ normal == pytest.approx(0, abs=1e-14)
    assert np.linalg.norm(p - p0) == pytest.approx(np.hypot(0.3, 0.7))
    assert r @ r0.T @ normal == pytest.approx(normal)


def test_inertia_that_no_mass_has_is_kept_and_noted(tmp_path):
    mech = urdf.read(saved(tmp_path, ARM.replace('izz="0.04"', 'izz="4"')))
    assert mech.parameters["Izz_upper"].data.default == 4
    assert any("no distribution of mass has" in n for n in mech.notes)


# -- writing


def test_writer_splits_joints_with_several_motions():
    """Six motions in turn: M as Pinocchio finds it for the written chain."""
    pin = pytest.importorskip("pinocchio")
    builder = Builder("craft").body("hull", 3.0, (0.1, 0.2, 0.3), (0.2, 0.3, 0.4), {"mast": (0, 0, 1)})
    builder.joint("sea", "floating", "world", "hull", position=(1, 2, 3), rotation={"rpy": (0.1, 0.2, 0.3)})
    builder.body("fin", 1.0, (0, 0.1, 0), (0.1, 0.1, 0.1))
    builder.joint("hinge", "revolute", "hull", "fin", axis=(1, 2, 2), position=(0, 0, 1), mode="locked", value=0.4)
    mech = builder.done()
    model = pin.buildModelFromXML(urdf_writer.to_urdf(mech))
    q = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    theirs = pin.neutral(model)
    order = ["sea", "sea_2", "sea_3", "sea_4", "sea_5", "sea_6"]
    assert list(model.names)[1:] == order
    for k, joint in enumerate(list(model.joints)[1:]):
        angle = (np.cos(q[k]), np.sin(q[k]))
        theirs[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 2 else q[k]
    assert Numbers(mech, q).mass_matrix() == pytest.approx(pinocchio_mass(model, theirs), abs=1e-12)
    data = model.createData()
    pin.framesForwardKinematics(model, data, theirs)
    place = data.oMf[model.getFrameId("mast")]
    assert place.translation == pytest.approx(Numbers(mech, q).frame("hull", "mast")[1])


def test_writer_keeps_free_roots_laws_and_bounds(tmp_path):
    mech = urdf.read(saved(tmp_path, ARM), root="free")
    again = urdf.read(saved(tmp_path, urdf_writer.to_urdf(mech), "again.urdf"))
    assert (again.nq, again.nv) == (mech.nq, mech.nv)
    for name in ("shoulder", "elbow"):
        assert again.joint(name).limits.__dict__ == mech.joint(name).limits.__dict__
    assert again.joint("shoulder").viscous.data.default == 0.5
    assert [s.kind for s in again.body("upper").shapes] == ["box", "mesh"]
    assert {n: s.data.default for n, s in again.parameters.items()} == pytest.approx(
        {n: s.data.default for n, s in mech.parameters.items()}
    )


def test_writer_refuses_what_urdf_cannot_say_and_lists_what_it_drops():
    ball = Builder("b").body("x", 1).joint("j", "ball", "world", "x").done()
    with pytest.raises(ModelError, match="joint 'j' of kind 'ball' cannot be written as URDF"):
        urdf_writer.to_urdf(ball)
    builder = Builder("b").body("x", 1, frames={"f": (1, 0, 0)})
    builder.joint("j--1", "revolute", "world", "x", stiffness=3.0).cut("c", "ball", ("x", "f"), ("world", ""))
    text = urdf_writer.to_urdf(builder.done())
    assert "spring of joint j- -1" in text
    assert "cut c" in text
    open_parameter = Builder("b")
    open_parameter.body("x", open_parameter.parameter("m")).joint("j", "revolute", "world", "x")
    with pytest.raises(ModelError, match="no defaults"):
        urdf_writer.to_urdf(open_parameter.done())


# -- refused

LINKS = '<link name="a"/>\n<link name="b"/>\n'


def joint(inner="", kind="revolute", name="j", parent="a", child="b"):
    return f'<joint name="{name}" type="{kind}">\n<parent link="{parent}"/><child link="{child}"/>{inner}</joint>\n'


def robot(body):
    return f'<robot name="r">\n{body}</robot>'


BAD = {
    "not XML": ("hello", 1, "not well-formed XML"),
    "empty file": ("", 1, "no element found"),
    "tag left open": ('<robot name="r">\n<link name="a">\n</robot>', 3, "mismatched tag"),
    "other root": ("<mujoco/>", 1, "root is <mujoco>; expected <robot>"),
    "no links": (robot(""), 1, "no <link>"),
    "link without name": (robot("<link/>"), 2, "no attribute 'name'"),
    "two links of one name": (robot('<link name="a"/>\n<link name="a"/>'), 3, "second link 'a'"),
    "unknown parent": (robot(LINKS + joint(parent="aa")), 5, "parent 'aa', which is no link. Did you mean 'a'"),
    "unknown child": (robot(LINKS + joint(child="c")), 5, "which is no link"),
    "joint without child": (robot(LINKS + '<joint name="j" type="fixed"><parent link="a"/></joint>'), 4, "no <child>"),
    "two parents": (robot(LINKS + joint() + joint(name="k")), 6, "child of joint 'k' and of joint 'j'"),
    "two roots": (robot(LINKS), 3, "expected one root"),
    "loop": (robot(LINKS + joint() + joint(name="k", parent="b", child="a")), 1, "loop without a root"),
    "island loop": (
        robot('<link name="o"/>\n' + LINKS + joint() + joint(name="k", parent="b", child="a")), 3, "carried by itself",
    ),
    "unknown type": (robot(LINKS + joint(kind="screw")), 4, "type 'screw'; expected one of revolute"),
    "zero axis": (robot(LINKS + joint('\n<axis xyz="0 0 0"/>')), 6, "axis 0 0 0"),
    "two numbers": (robot(LINKS + joint('\n<origin xyz="0 0"/>')), 6, "2 values; expected 3 numbers"),
    "a word for a number": (robot(LINKS + joint('\n<origin xyz="0 0 z"/>')), 6, "'z' is not a number"),
    "not a number": (robot(LINKS + joint('\n<origin xyz="0 0 nan"/>')), 6, "'nan' is not a number"),
    "too large": (robot(LINKS + joint('\n<origin xyz="0 0 1e300"/>')), 6, "expected numbers below 1e+30"),
    "limits upside down": (robot(LINKS + joint('\n<limit lower="2" upper="1"/>')), 6, "expected lower < upper"),
    "negative mass": (
        robot('<link name="a"><inertial>\n<mass value="-1"/></inertial></link>'), 3, "mass -1; expected zero or more",
    ),
    "no mass": (robot('<link name="a">\n<inertial><origin/></inertial></link>'), 3, "no <mass>"),
    "negative inertia": (
        robot('<link name="a"><inertial><mass value="1"/>\n<inertia ixx="-1"/></inertial></link>'), 3, "zero or more",
    ),
    "negative damping": (robot(LINKS + joint('\n<dynamics damping="-1"/>')), 6, "damping -1"),
    "unknown leader": (robot(LINKS + joint('\n<mimic joint="jj"/>')), 6, "mimics 'jj', which is no joint"),
    "mimics itself": (robot(LINKS + joint('\n<mimic joint="j"/>')), 6, "in a circle"),
    "mimic on a free joint": (robot(LINKS + joint('<mimic joint="j"/>', "floating")), 4, "one coordinate"),
    "world hangs": (robot('<link name="a"/>\n<link name="world"/>\n' + joint(child="world")), 3, "it to be the root"),
    "odd geometry": (
        robot('<link name="a"><visual><geometry>\n<torus/></geometry></visual></link>'), 3, "geometry <torus>",
    ),
    "no geometry": (robot('<link name="a">\n<visual/></link>'), 3, "no geometry"),
    "doctype": ('<!DOCTYPE robot [<!ENTITY x "y">]>\n<robot name="&x;"/>', 1, "without DTD and entities"),
    "outside entity": ('<!DOCTYPE r SYSTEM "file:///etc/passwd">\n<robot/>', 1, "without DTD and entities"),
    "xacro macro": (robot('<xacro:macro name="m"/>'), 2, "xacro robot.urdf -o expanded_robot.urdf"),
    "xacro expression": (robot('\n<link name="${n}"/>'), 3, "Expand it first"),
    "deep nesting": ("<robot>" + "<a>" * 300 + "</a>" * 300 + "</robot>", 1, "nested 200 elements deep"),
    "unknown encoding": ('<?xml version="1.0" encoding="klingon"?><robot/>', 1, "encoding"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_file_is_refused_in_one_sentence_with_its_line(tmp_path, what):
    text, line, sentence = BAD[what]
    with pytest.raises(ModelError) as caught:
        urdf.read(saved(tmp_path, text))
    message = str(caught.value)
    assert message.startswith(f"robot.urdf:{line}: ")
    assert sentence in message
    assert "\n" not in message


def test_missing_folder_and_xacro_files_are_refused(tmp_path, monkeypatch):
    for path in (tmp_path / "none.urdf", tmp_path, "bad\0name.urdf"):
        with pytest.raises(ModelError):
            urdf.read(path)
    with pytest.raises(ModelError, match=re.escape("xacro robot.urdf.xacro -o robot.urdf")):
        urdf.read(saved(tmp_path, ARM, "robot.urdf.xacro"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # without the package
    for name in ("robot.urdf.xacro", "robot.xacro"):
        with pytest.raises(ModelError, match=re.escape(f"xacro {name} -o robot.urdf")):
            sb.load(saved(tmp_path, ARM, name))
    with pytest.raises(ModelError, match="root='flying'"):
        urdf.read(saved(tmp_path, ARM), root="flying")
    with pytest.raises(ModelError, match="ignore has 'mass'"):
        urdf.read(saved(tmp_path, ARM), ignore=["mass"])


def test_large_file_is_refused_unread(tmp_path):
    path = tmp_path / "large.urdf"
    with path.open("wb") as file:
        file.truncate(129 * 2**20)
    with pytest.raises(ModelError, match="bytes; expected"):
        urdf.read(path)


@pytest.mark.parametrize("seed", range(4))
def test_random_damage_never_escapes_as_another_error(tmp_path, seed):
    rng = random.Random(seed)
    words = ("world", "base", "upper", "fixed", "floating", "planar", "mimic", "link", "lead")

    def there_and_back(path):
        urdf_writer.to_urdf(urdf.read(path, root=rng.choice(("fixed", "free"))))

    for _ in range(150):
        text = damaged(rng.choice((ARM, MIMIC)), rng, words)
        assert_read_or_refused(there_and_back, tmp_path / "robot.urdf", text)


def written(tmp_path, inner: str) -> sb.Mechanism:
    path = tmp_path / "arm.urdf"
    path.write_text(robot(LINKS + joint(inner)))
    return sb.load(path)


def test_quaternions_of_urdf_1_1_turn_as_angles_do(tmp_path):
    half = np.sqrt(0.5)
    plain = '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>'
    turned = f'<origin xyz="1 2 3" quat_xyzw="0 0 {half} {half}"/>'
    first, second = (written(tmp_path, o).joints[-1].placement for o in (plain, turned))
    assert str(first.rotation) == str(second.rotation)
    for wrong in ('quat_xyzw="0 0 0 1" rpy="0 0 0"', 'quat_xyzw="0 0 0 0"'):
        with pytest.raises(ModelError, match="<origin> has"):
            written(tmp_path, f"<origin {wrong}/>")


def test_attributes_that_urdf_has_not_are_noted(tmp_path):
    notes = written(tmp_path, '<dynamics damping="1" stiffness="5"/>').notes
    assert any("<dynamics> has stiffness=, which URDF does not know" in n for n in notes)
