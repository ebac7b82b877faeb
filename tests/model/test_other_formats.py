"""USD Physics, xacro and ROBOTRAN's user functions: what is read moves as it should, what is code is not run."""

import sys
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError
from symbody.model.load import write_file

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.robot_files import MujocoPeer, Programs, backward_errors, states

from fuzz.samples import USD_ARM

# -- USD

BASE = """def PhysicsPrismaticJoint "rail"
    {
        uniform token physics:axis = "X"
        rel physics:body1 = </arm/upper>
        point3f physics:localPos0 = (4, 5, 6)
        point3f physics:localPos1 = (0, 0.5, 0)
    }"""


def turn(w, x, y, z):
    from symbody.model.record.pose import from_quaternion

    return from_quaternion([w, x, y, z])


def usd_twin() -> sb.Mechanism:
    """The same arm in the Mechanism's own words: m, kg, rad; body frames at the joints."""
    length, mass = 0.1, 2.0
    b = sb.Mechanism.builder("arm", gravity=(0, -9.81, 0))
    hook = np.array([0, 0.5 * 2, 0]) * length  # the rail's frame in the upper body, whose scale is 2
    align = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]])  # its z is the USD frame's x
    r = turn(0.8, 0.6, 0, 0)
    inertia = r @ np.diag([3, 4, 5]) @ r.T * mass * length**2
    com = np.array([0.5, 1, 0]) * 2 * length - hook
    b.body("upper", 1.5 * mass, list(align.T @ com), align.T @ inertia @ align)
    b.joint("rail", "prismatic", "world", "upper", list(np.array([4, 5, 6]) * length), align, axis="z")
    place = np.array([0.5, 2, 0]) * 2 * length - hook
    tip = turn(0.8, 0, 0.6, 0)
    arm = tip.T @ (np.array([0, 3, 1]) - np.array([0, -3, 1])) * length
    b.body("fore", mass, list(arm), tip.T @ np.diag([1, 1, 2]) @ tip * mass * length**2)
    unit = mass * length**2 * 180 / np.pi
    b.joint("elbow", "revolute", "upper", "fore", list(align.T @ place), align.T @ turn(0.5, 0.5, -0.5, 0.5), axis="z",
            stiffness=2 * unit, viscous=0.5 * unit, rest=np.pi / 6)  # fmt: skip
    return b.done()


def test_a_usd_articulation_moves_as_it_should(tmp_path):
    pytest.importorskip("pxr")
    path = tmp_path / "arm.usda"
    path.write_text(USD_ARM.format(more=BASE))
    mech = sb.load(path, symbolic=False)
    assert [s.owner for s in mech.slots] == ["rail", "elbow"]
    assert mech.joint("elbow").limits.upper == pytest.approx(np.pi / 4)
    programs = [sb.inverse_dynamics(m, "newton_euler").compile("python") for m in (mech, usd_twin())]
    rng = np.random.default_rng(3)
    for state in rng.uniform(-1, 1, (4, 3, 2)):
        first, second = (p(*state) for p in programs)
        assert np.allclose(first, second, rtol=1e-6)  # USD keeps single precision


def test_a_usd_body_without_a_joint_is_free_where_it_stands(tmp_path):
    pytest.importorskip("pxr")
    path = tmp_path / "arm.usda"
    path.write_text(USD_ARM.format(more=""))
    mech = sb.load(path, symbolic=False)
    base = next(j for j in mech.joints if j.kind == "free")
    assert [float(x.data) for x in base.placement.position] == pytest.approx([0.1, 0.2, 0.3])
    assert mech.nv == 7


def test_usd_that_is_made_of_other_files_or_lacks_masses_is_refused(tmp_path):
    pytest.importorskip("pxr")
    path = tmp_path / "arm.usda"
    path.write_text('#usda 1.0\ndef Xform "a" (references = @/etc/passwd.usda@) {}\n')
    with pytest.raises(ModelError, match=r"arm\.usda: .*are not opened.*usdcat --flatten"):
        sb.load(path)
    path.write_text(USD_ARM.format(more=BASE).replace("float physics:mass = 1\n", ""))
    with pytest.raises(ModelError, match=r"arm\.usda:/arm/fore: .*expected both"):
        sb.load(path)


TREE = (  # body, carrier, joint, axis; numbers that single precision holds exactly, quaternions of any length
    ("hull", "", "Prismatic", "Y"), ("left", "hull", "Revolute", "X"), ("hand", "left", "Spherical", "X"),
    ("tool", "hand", "Prismatic", "Z"), ("tip", "tool", "Revolute", "Y"), ("right", "tool", "Revolute", "Z"),
)  # fmt: skip


def usd_and_mjcf() -> tuple[str, str]:
    """The same tree of bodies in both languages."""
    rng = np.random.default_rng(11)
    prims, nested = [], {name: [] for name, *_ in TREE} | {"": []}
    for name, carrier, joint, axis in TREE:
        place, com = rng.integers(-64, 64, (2, 3)) / 64
        turned, axes = rng.integers(1, 5, (2, 4))
        mass, moments = rng.integers(16, 64) / 16, rng.integers(24, 32, 3) / 64
        quaternion, principal = (", ".join(map(str, q)) for q in (turned, axes))
        owner = f"rel physics:body0 = </tree/{carrier}>" if carrier else ""
        prims.append(f"""
    def Xform "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {{
        float physics:mass = {mass}
        point3f physics:centerOfMass = ({", ".join(map(str, com))})
        float3 physics:diagonalInertia = ({", ".join(map(str, moments))})
        quatf physics:principalAxes = ({principal})
    }}
    def Physics{joint}Joint "{name}_joint"
    {{
        uniform token physics:axis = "{axis}"
        {owner}
        rel physics:body1 = </tree/{name}>
        point3f physics:localPos0 = ({", ".join(map(str, place))})
        quatf physics:localRot0 = ({quaternion})
    }}""")
        kind = {"Revolute": "hinge", "Prismatic": "slide", "Spherical": "ball"}[joint]
        unit = " ".join(str(int(axis == letter)) for letter in "XYZ")
        nested[carrier].append(
            (
                name,
                f"""<body name="{name}" pos="{" ".join(map(str, place))}"
            quat="{" ".join(map(str, turned))}"><joint name="{name}_joint" type="{kind}" axis="{unit}"/><inertial
            pos="{" ".join(map(str, com))}" quat="{" ".join(map(str, axes))}" mass="{mass}"
            diaginertia="{" ".join(map(str, moments))}"/>""",
            )
        )

    def written(carrier: str) -> str:
        return "".join(text + written(name) + "</body>" for name, text in nested[carrier])

    head = '#usda 1.0\n(\n    metersPerUnit = 1\n    kilogramsPerUnit = 1\n    upAxis = "Z"\n)\n'
    usd = head + 'def Xform "tree"\n{' + "".join(prims) + "\n}\n"
    return usd, f'<mujoco><option gravity="0 0 -9.81"/><worldbody>{written("")}</worldbody></mujoco>'


def test_a_usd_tree_moves_as_mujocos(tmp_path):
    pytest.importorskip("pxr")
    pytest.importorskip("mujoco")
    for suffix, text in zip((".usda", ".xml"), usd_and_mjcf(), strict=True):
        (tmp_path / f"tree{suffix}").write_text(text)
    mech, peer = sb.load(tmp_path / "tree.usda", symbolic=False), MujocoPeer(tmp_path / "tree.xml")
    assert [j.kind for j in mech.joints] == ["prismatic", "revolute", "ball", "prismatic", "revolute", "revolute"]
    order = [peer.model.joint(k).name for k in range(peer.model.njnt)]
    assert [j.name for j in mech.joints] == order
    programs = Programs(mech)
    for state in states(mech):
        errors = backward_errors(programs.at(state), *peer.at(mech, state), state)
        assert max(errors.values()) < 1e-12, errors


# -- xacro

XACRO = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:property name="a" value="{value}"/>
<link name="l"><inertial><mass value="${{a}}"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link></robot>"""
PROGRAMS = (
    "${__import__('os').system('true')}", "${().__class__}", "$(env HOME)", "$(eval 1)", "${open('x')}", "${'a'*9}",
    "${[1][0]}", "$${a}", "$", "${2**9999}", "${load_yaml('x')}", "${lambda: 1}", "{${a}", "${xacro.load_yaml(a)}",
    "${(load_yaml)(a)}", "${((load_yaml))(a)}",
)  # fmt: skip


def test_macros_of_arithmetic_are_expanded(tmp_path):
    pytest.importorskip("xacro")
    path = tmp_path / "r.urdf.xacro"
    path.write_text(XACRO.format(value="${2*sqrt(4) + 1}"))
    mech = sb.load(path, root="free")
    assert mech.body("l").mass.data.default == 5.0
    assert any("macros were expanded" in note for note in mech.notes)


@pytest.mark.parametrize("value", [p for p in PROGRAMS if p != "{${a}"])
def test_programs_in_macros_are_not_run(tmp_path, value):
    pytest.importorskip("xacro")
    path = tmp_path / "r.xacro"
    path.write_text(XACRO.format(value=value.replace("'", "&apos;")))
    with pytest.raises(ModelError, match=r"r\.xacro:\d+: .*Expand it first"):
        sb.load(path)


def test_files_from_outside_are_not_included(tmp_path):
    pytest.importorskip("xacro")
    path = tmp_path / "r.xacro"
    path.write_text(XACRO.format(value="1").replace("<link", '<xacro:include filename="/etc/passwd"/><link'))
    with pytest.raises(ModelError, match="from outside"):
        sb.load(path)


def test_elements_whose_names_are_made_cannot_include_files(tmp_path):
    pytest.importorskip("xacro")
    path = tmp_path / "r.xacro"
    made = '<xacro:element xacro:name="xacro:include" filename="other.xacro"/><link'
    path.write_text(XACRO.format(value="1").replace("<link", made))
    with pytest.raises(ModelError, match="makes names when it runs"):
        sb.load(path)


def test_expressions_in_comments_are_not_run(tmp_path):
    """xacro runs them where a comment asks for it."""
    pytest.importorskip("xacro")
    path = tmp_path / "r.xacro"
    asked = "<!-- xacro:eval-comments:on --><!-- ${xacro.fatal(1)} --><link"
    path.write_text(XACRO.format(value="2").replace("<link", asked))
    assert sb.load(path, root="free").body("l").mass.data.default == 2.0


# -- ROBOTRAN

MBS = """<mbsDescR7><mbsname>swing</mbsname><base><gravity><coordinates><z>-9.81</z></coordinates></gravity>
<point><pointname>hook</pointname><coordinates><x>1.0</x></coordinates></point></base><bodytree>
<body><bodyname>car</bodyname><parent><bodyname>base</bodyname><pointname>origin</pointname></parent>
<joint><jointname>go</jointname><type>T1</type><nature>driven</nature></joint><mass>2</mass></body>
<body><bodyname>bob</bodyname><parent><bodyname>car</bodyname><pointname>origin</pointname></parent>
<joint><jointname>pin</jointname><type>R2</type><nature>independent</nature></joint><mass>2</mass>
<com><coordinates><z>-0.5</z></coordinates></com><inertia><Ixx>0.1</Ixx><Iyy>0.1</Iyy><Izz>0.01</Izz></inertia>
<point><pointname>tip</pointname><coordinates><z>-1</z></coordinates><extforce name="wind"/><sensor name="eye"/></point>
</body></bodytree><links><link><name>spring</name><endpoint1><bodyname>bob</bodyname><pointname>tip</pointname>
</endpoint1><endpoint2><bodyname>base</bodyname><pointname>hook</pointname></endpoint2></link></links></mbsDescR7>"""


def swing(tmp_path, **functions):
    path = tmp_path / "swing.mbs"
    path.write_text(MBS)
    return sb.load(path, symbolic=False, functions=functions)


def test_user_functions_are_stubs_that_python_fills(tmp_path):
    bare = swing(tmp_path)
    stubs = next(n for n in bare.notes if "user functions" in n)
    for name in ("link F 'spring' (Z, Zd, t)", "driven joint q 'go' (t)", "external force F, M 'wind'"):
        assert name in stubs
    filled = swing(
        tmp_path, spring=lambda Z, Zd, t: -300 * (Z - 0.4) - 25 * Zd, go="0.2*sin(3*t)", wind=lambda *x: [1.0, 0, 0]
    )
    assert not any("user functions" in n for n in filled.notes)
    assert str(filled.joint("go").value) == "0.2*sin(3*t)"
    q, qd, qdd = [0.1, 0.3], [0.2, 0.4], [0.0, 0.0]
    free = sb.inverse_dynamics(bare, "newton_euler").compile("python")
    tau = np.asarray(sb.inverse_dynamics(filled, "newton_euler").compile("python")(q, qd, qdd))
    tip = np.array([q[0] - np.sin(q[1]), 0, -np.cos(q[1])])
    speed = np.array([qd[0] - np.cos(q[1]) * qd[1], 0, np.sin(q[1]) * qd[1]])
    z = tip - [1.0, 0, 0]
    force = -300 * (np.linalg.norm(z) - 0.4) - 25 * z @ speed / np.linalg.norm(z)
    given = np.asarray(free(q=q, qd=qd, qdd=qdd, F_spring=force, F_wind=[1.0, 0, 0], M_wind=[0.0] * 3))
    assert np.allclose(tau, given, rtol=1e-12)
    with pytest.raises(ModelError, match=r"'sprin'.*spring"):
        swing(tmp_path, sprin=lambda Z, Zd, t: 0)


def test_a_mechanism_goes_through_robotran(tmp_path):
    b = sb.Mechanism.builder("chain", gravity=(0, 1.0, -9.0))
    tensor = (0.3, 0.01, 0.4, 0.02, 0.03, 0.5)
    b.body("a", 2.0, (0.1, 0.2, 0.3), tensor, frames={"tip": (0, 0, 0.5)})
    b.joint("one", "revolute", "world", "a", (0.1, 0, 0.2), ("x", 0.4), axis=(1, 2, 3))
    b.body("b", 1.0, (0.1, 0, 0.3), tensor, frames={"end": (0, 0.2, 0.5)})
    b.joint("two", "cylindrical", "a", "b", (0, 0, 0.5), {"rpy": (0.1, 0.2, 0.3)}, axis="-y", mode="passive")
    b.body("c", 1.0, (0.1, 0, 0.3), tensor)
    b.joint("three", "spherical", "b", "c", sequence="zxy")
    b.force("strut", "link", ["c", "a.tip"]).force("push", "external", ["b.end"]).sensor("eye", "b", "end")
    b.cut("rope", "rod", ("b", "end"), ("world", ""), length=0.8)
    mech = b.done()
    path = tmp_path / "chain.mbs"
    assert write_file(mech, path) == ["that these joints take no efforts: two"]
    again = sb.load(path, symbolic=False)
    assert [c.kind for c in again.cuts] == ["rod"]
    assert [f.kind for f in again.forces] == ["external", "link"]
    assert (again.nv, [s.name for s in again.sensors]) == (mech.nv, ["eye"])
    rng = np.random.default_rng(1)
    programs = [sb.inverse_dynamics(m, "newton_euler", loops=False).compile("python") for m in (mech, again)]
    for q, qd, qdd in rng.uniform(-1, 1, (4, 3, mech.nv)):
        given = {"F_strut": 3.0, "F_push": [1.0, 2.0, 3.0], "M_push": [0.1, 0.2, 0.3]}
        first, second = (np.asarray(p(q=q, qd=qd, qdd=qdd, **given)) for p in programs)
        assert np.allclose(first, second, rtol=1e-12, atol=1e-12)
    with pytest.raises(ModelError, match="ball motion, which ROBOTRAN has not"):
        sb.save(b.body("d", 1.0).joint("globe", "ball", "c", "d").done(), path)


def test_binary_usd_is_the_same_model(tmp_path):
    Sdf = pytest.importorskip("pxr.Sdf")
    text, binary = tmp_path / "arm.usda", tmp_path / "arm.usdc"
    text.write_text(USD_ARM.format(more=""))
    Sdf.Layer.OpenAsAnonymous(str(text)).Export(str(binary))
    mechs = [sb.load(path, symbolic=False) for path in (text, binary)]
    rng = np.random.default_rng(3)
    q, qd, qdd = rng.normal(size=mechs[0].nq), rng.normal(size=mechs[0].nv), rng.normal(size=mechs[0].nv)
    ours, theirs = (sb.inverse_dynamics(m, "newton_euler").compile("python")(q, qd, qdd) for m in mechs)
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("bracket", ["(", "[", 'def Xform "a" {'])
def test_usd_with_brackets_that_its_parser_does_not_bear_is_refused(bracket, tmp_path):
    pytest.importorskip("pxr")
    path = tmp_path / "deep.usda"
    path.write_text("#usda 1.0\n" + bracket * 100_000)
    with pytest.raises(ModelError, match="more than 1000 brackets are open"):
        sb.load(path)


def test_axes_of_usd_that_are_none_are_refused(tmp_path):
    """usd-core gives no value, or the text as it is: a default in its place would be another joint."""
    pytest.importorskip("pxr")
    path = tmp_path / "arm.usda"
    good = USD_ARM.format(more=BASE)
    for old, new, said in (
        ('physics:axis = "Z"', r'physics:axis = "\xda"', "no UTF-8"),
        ('physics:axis = "Z"', 'physics:axis = "-Z"', "expected X, Y or Z"),
        ('upAxis = "Y"', r'upAxis = "\331"', "no UTF-8"),
        ('upAxis = "Y"', 'upAxis = "W"', "expected Y or Z"),
    ):
        assert old in good
        path.write_text(good.replace(old, new))
        with pytest.raises(ModelError, match=said):
            sb.load(path)
    path.write_text(good.replace(BASE, r'custom string said = "\xc3\xa9 and \\xda"' + "\n" + BASE))
    assert sb.load(path).nv == 2


def test_brackets_in_texts_paths_and_comments_of_usd_do_not_count(tmp_path):
    pytest.importorskip("pxr")
    path = tmp_path / "arm.usda"
    quiet = 5000 * "("
    more = f"custom string a = \"{quiet}\"\n# {quiet}\ncustom string b = '{quiet}'\ncustom asset c = @{quiet}@"
    path.write_text(USD_ARM.format(more=more))
    assert len(sb.load(path).bodies) == 2


PENDULUM = """#usda 1.0
(
    metersPerUnit = 1
)
def Xform "bob" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{{
    float physics:mass = 1
    float3 physics:diagonalInertia = (1, 1, 1)
    {body}
}}
def PhysicsRevoluteJoint "hinge" (prepend apiSchemas = ["PhysicsDriveAPI:angular"])
{{
    rel physics:body1 = </bob>
    {drive}
}}
"""


def pendulum(tmp_path, body="", drive="") -> sb.Mechanism:
    path = tmp_path / "pendulum.usda"
    path.write_text(PENDULUM.format(body=body, drive=drive))
    return sb.load(path, symbolic=False)


def test_the_target_velocity_of_a_usd_drive_is_part_of_its_law(tmp_path):
    """-k (q - target) - d (qd - speed), of degrees."""
    given = "float drive:angular:physics:{} = {}\n"
    law = given.format("stiffness", 2) + given.format("damping", 3)
    mech = pendulum(tmp_path, drive=law + given.format("targetPosition", 10) + given.format("targetVelocity", 20))
    assert np.isclose(float(mech.joints[0].rest.data), np.deg2rad(10 + 20 * 3 / 2))
    speed_alone = given.format("damping", 3) + given.format("targetVelocity", 20) + given.format("maxForce", 5)
    notes = " ".join(pendulum(tmp_path, drive=speed_alone).notes)
    assert "target velocity" in notes
    assert "largest force of the drive, 5" in notes


def test_the_largest_single_number_of_usd_means_no_limit(tmp_path):
    """PhysX has no infinity, and neither have those who write files for it."""
    most = "3.4028235e38"
    drive = f"float drive:angular:physics:stiffness = 2\nfloat drive:angular:physics:maxForce = {most}\n"
    limits = f"float physics:lowerLimit = -{most}\nfloat physics:upperLimit = {most}\n"
    mech = pendulum(tmp_path, drive=drive + limits)
    limits = mech.joints[0].limits
    assert (limits.lower, limits.upper) == (None, None)
    assert "largest force" not in " ".join(mech.notes)


def test_paths_of_usd_may_have_backslashes(tmp_path):
    r"""In a path \x and \2 are no bytes, as Blender writes them under Windows."""
    pendulum(tmp_path, r"custom asset picture = @.\textures\xylophone\239.png@")


@pytest.mark.parametrize("given", ["rigidBodyEnabled = false", "kinematicEnabled = true"])
def test_a_usd_body_that_forces_do_not_move_is_refused(given, tmp_path):
    with pytest.raises(sb.SymbodyError, match="forces do not move it"):
        pendulum(tmp_path, f"bool physics:{given}")


def test_what_other_programs_add_to_usd_is_noted(tmp_path):
    notes = pendulum(tmp_path, "bool physxRigidBody:disableGravity = true", "float physxJoint:armature = 1").notes
    assert "physxRigidBody:disableGravity, physxJoint:armature" in notes[-1]


def test_bodies_in_instances_of_usd_are_read(tmp_path):
    path = tmp_path / "two.usda"
    path.write_text(
        PENDULUM.format(body="", drive="").replace('def Xform "bob"', 'def Xform "arm" {\ndef Xform "bob"', 1)
        .replace("def PhysicsRevoluteJoint", "}\ndef PhysicsRevoluteJoint").replace("</bob>", "</copy/bob>")
        + 'def Xform "copy" (instanceable = true\nprepend inherits = </arm>) {}\n'
    )  # fmt: skip
    mech = sb.load(path)
    assert {j.name: j.child for j in mech.joints} == {"arm_bob_free": "arm_bob", "hinge": "copy_bob"}


TWICE = """def Xform "{name}"
{{
    def "l" ({arc} = </arm/{other}>)
    {{
    }}
    def "r" ({arc} = </arm/{other}>)
    {{
    }}
}}
"""


@pytest.mark.parametrize("arc", ["references", "inherits", "specializes", "payload"])
def test_usd_prims_that_refer_twice_to_others_do_not_unfold(arc, tmp_path):
    pytest.importorskip("pxr")
    path = tmp_path / "arm.usda"
    start = time.process_time()
    for count, refused in ((4, False), (40, True)):
        more = 'def Xform "x0"\n{\n}\n'
        more += "".join(TWICE.format(name=f"x{k + 1}", other=f"x{k}", arc=arc) for k in range(count))
        path.write_text(USD_ARM.format(more=more))
        with pytest.raises(ModelError, match="prims that refer to others make more") if refused else nullcontext():
            assert sb.load(path).nv == 7
    assert time.process_time() - start < 10


def test_instances_within_a_usd_file_are_read(tmp_path):
    """As usdcat --flatten leaves them."""
    pytest.importorskip("pxr")
    path = tmp_path / "arm.usda"
    proto = (
        'def Xform "proto"\n{\n    def Xform "body" (apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])\n    {\n'
    )
    proto += "        float physics:mass = 1\n        float3 physics:diagonalInertia = (1, 1, 2)\n    }\n}\n"
    text = f'#usda 1.0\nclass Xform "Proto"\n{{\n{proto}}}\n'
    for k in range(2):
        text += f'def Xform "arm{k}" (instanceable = true\n references = </Proto/proto>)\n{{\n}}\n'
    path.write_text(text)
    assert [b.name for b in sb.load(path).bodies] == ["arm0_body", "arm1_body"]
    path.write_text(text + 'def "a" (references = </b>)\n{\n}\ndef "b" (references = </a>)\n{\n}\n')
    with pytest.raises(ModelError, match=r"references lead from /[ab] back to it"):
        sb.load(path)


def test_usd_prims_with_many_schemas_are_refused(tmp_path):
    pytest.importorskip("pxr")
    path = tmp_path / "arm.usda"
    schemas = ", ".join(f'"PhysicsDriveAPI:a{k}"' for k in range(10_000))
    path.write_text(USD_ARM.format(more=f'def Xform "x" (apiSchemas = [{schemas}])\n{{\n}}'))
    with pytest.raises(ModelError, match=r"arm\.usda:/arm/x: the prim has more than 300 apiSchemas"):
        sb.load(path)


def test_what_usd_says_of_a_file_is_a_note(tmp_path, capfd):
    tf = pytest.importorskip("pxr.Tf")
    if not hasattr(tf, "DiagnosticTrap"):
        pytest.skip("this usd-core cannot be asked")
    path = tmp_path / "arm.usda"
    path.write_text(USD_ARM.format(more=f'def Xform "x"\n{{\n    double far = {"9" * 40}\n}}'))
    assert any("Integer literal '9999" in note for note in sb.load(path).notes)
    assert capfd.readouterr().err == ""


def test_variants_of_usd_prims_count(tmp_path):
    pytest.importorskip("pxr")
    path = tmp_path / "arm.usda"
    levels = 'def Xform "x0"\n{\n}\n' + "".join(
        f'def Xform "x{k + 1}" (\n variants = {{string v = "on"}}\n prepend variantSets = "v"\n)\n{{\n'
        f'variantSet "v" = {{\n"on" {{\ndef "l" (references = </arm/x{k}>) {{}}\n'
        f'def "r" (references = </arm/x{k}>) {{}}\n}}\n"off" {{\n}}\n}}\n}}\n'
        for k in range(30)
    )
    path.write_text(USD_ARM.format(more=levels))
    with pytest.raises(ModelError, match="prims that refer to others make more"):
        sb.load(path)
