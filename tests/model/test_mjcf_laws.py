"""Everything in MJCF that moves bodies or holds them back: M, bias, efforts and accelerations are MuJoCo's."""

import struct
import sys
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from symbody.basics.errors import ModelError

pytest.importorskip("mujoco")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.robot_files import compare

INERTIAL = '<inertial pos="0.1 0.2 0.3" mass="2" diaginertia="0.3 0.4 0.5"/>'
ARM = f"""<site name="ground" pos="1 0 2"/><site name="wall" pos="-1 1 0"/>
<body name="a" pos="0 0 1"><joint name="x" axis="0 1 0" springref="20"/>{INERTIAL}<site name="s" pos=".3 .1 .2"/>
<body name="b" pos=".5 0 0"><joint name="y" axis="1 0 0" ref="10"/><geom type="capsule" size=".1 .3"/>
<site name="tip" pos="0 .2 .6"/><body name="c" pos="0 .4 0"><joint name="z" type="slide" axis="0 1 1" springref=".1"/>
<geom type="box" size=".1 .2 .3" euler="10 20 30"/><geom size=".2" pos=".1 .3 0"/><site name="end" pos="0 .1 .1"/>
</body></body></body>"""
L_PRISM = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 3], [0, 3]]) * 0.1


def model(body, rest="", before=""):
    return f'<mujoco model="m">{before}<worldbody>{body}</worldbody>{rest}</mujoco>'


def prism():
    """Vertices and outward triangles of an L that is skewed, so that no axis is a principal one."""
    n = len(L_PRISM)
    flat = [(0, 1, 2), (0, 2, 3), (0, 3, 5), (3, 4, 5)]
    faces = [f[::-1] for f in flat] + [tuple(k + n for k in f) for f in flat]
    for k in range(n):
        j = (k + 1) % n
        faces += [(k, j, j + n), (k, j + n, k + n)]
    points = np.vstack([np.c_[L_PRISM, np.zeros(n)], np.c_[L_PRISM, np.full(n, 0.07)]])
    skew = np.array([[1, 0.2, 0.1], [0, 1, 0.3], [0, 0, 1]])
    return points @ skew.T + [0.3, -0.2, 0.5], np.array(faces)


def numbers(values):
    return " ".join(repr(float(v)) for v in np.ravel(values))


def inline(attributes="", faces=True):
    points, triangles = prism()
    shown = f'face="{" ".join(str(k) for k in triangles.ravel())}"' if faces else ""
    return f'<mesh name="m" {attributes} vertex="{numbers(points)}" {shown}/>'


def meshed(asset, geom='type="mesh"', compiler=""):
    text = f'<body name="a"><joint/><geom mesh="m" {geom} pos=".1 .2 .3" quat="1 2 3 4"/>'
    return model(
        f'{text}<body name="b" pos="0 0 1"><joint type="ball"/><geom mesh="m" {geom}/><geom size=".1"/></body></body>',
        before=f"{compiler}<asset>{asset}</asset>",
    )


MODELS = {
    "mesh": meshed(inline()),
    "mesh, exact": meshed(inline('inertia="exact"')),
    "mesh, convex": meshed(inline('inertia="convex"')),
    "mesh, shell": meshed(inline('inertia="shell"')),
    "mesh without faces": meshed(inline(faces=False)),
    "mesh, placed and scaled": meshed(inline('refpos=".1 .2 .3" refquat=".9 .3 .2 .1" scale="2 .5 -1.5"')),
    "mesh of given mass": meshed(inline(), 'type="mesh" mass="3"'),
    "box fitted to a mesh": meshed(inline(), 'type="box"'),
    "capsule fitted to a mesh": meshed(inline(), 'type="capsule" fitscale="1.3"'),
    "cylinder fitted to a mesh": meshed(inline(), 'type="cylinder"'),
    "sphere fitted to a mesh": meshed(inline(), 'type="sphere"'),
    "ellipsoid fitted to a mesh": meshed(inline(), 'type="ellipsoid"'),
    **{
        f"{kind} around a mesh": meshed(inline(), f'type="{kind}"', '<compiler fitaabb="true"/>')
        for kind in ("box", "sphere", "capsule", "cylinder", "ellipsoid")
    },
    "shells": model("".join(
        f'<body name="{kind}"><joint/><geom type="{kind}" size="{size}" pos=".1 0 0" euler="10 20 30" '
        'shellinertia="true"/></body>'
        for kind, size in (("sphere", ".2"), ("box", ".1 .2 .3"), ("cylinder", ".1 .3"), ("capsule", ".1 .3"))
    )),
    "weight compensated": model(ARM.replace('<body name="b"', '<body name="b" gravcomp="0.7"')),
    "fluid": model(ARM, before='<option density="1000" viscosity="3" wind="1 -2 .5"/>'),
    "fluid around a free body": model(
        f'<body><freejoint/><geom type="ellipsoid" size=".1 .2 .3"/><body><joint/>{INERTIAL}</body></body>',
        before='<option density="1000" viscosity="3"/>',
    ),
    "springs by time constants": model(
        ARM.replace('name="y"', 'name="y" springdamper="0.2 0.7"').replace('name="z"', 'name="z" springdamper="0.1 1"')
    ),
    "tendon between two sites": model(
        ARM, '<tendon><spatial stiffness="40" damping="3"><site site="s"/><site site="end"/></spatial></tendon>'
    ),
    "tendon over pulleys": model(ARM, """<tendon><spatial stiffness="40" damping="3" springlength="1.1">
        <site site="ground"/><site site="s"/><site site="tip"/><pulley divisor="2"/><site site="tip"/>
        <site site="wall"/><pulley divisor="3"/><site site="end"/><site site="ground"/></spatial></tendon>"""),
    "tendon with slack": model(ARM, """<tendon><spatial stiffness="40" springlength="0.5 1.9"><site site="ground"/>
        <site site="s"/><site site="tip"/></spatial></tendon>"""),
    "fixed tendon": model(ARM, """<tendon><fixed stiffness="40" damping="3"><joint joint="x" coef=".3"/>
        <joint joint="z" coef="-2"/></fixed></tendon>"""),
    "springs switched off": model(
        ARM, '<tendon><fixed stiffness="40" damping="3"><joint joint="x" coef=".3"/></fixed></tendon>',
        '<option><flag spring="disable"/></option>',
    ),
    "weight compensated by motors": model(
        ARM.replace('<body name="b"', '<body name="b" gravcomp="0.7"').replace(
            'name="y"', 'name="y" actuatorgravcomp="true"'
        ), '<actuator><motor joint="y"/></actuator>',
    ),
    "free body with armature": model(
        f'<body><joint type="free" armature=".3" damping=".2"/>{INERTIAL}<body><joint/>{INERTIAL}</body></body>'
    ),
    "ball joint with armature": model(
        f'<body pos="1 2 3"><joint type="ball" pos=".1 .2 .3" armature=".3"/>{INERTIAL}</body>'
    ),
    "ball joints with dry friction": model(
        f'<body><joint type="ball" frictionloss=".4"/>{INERTIAL}<body><joint type="ball" frictionloss=".1"/>{INERTIAL}'
        "</body></body>"
    ),
    "copies": model(
        """<body name="p"><joint name="pj"/><geom size=".1"/>
        <replicate count="3" offset=".1 .2 .3" euler="10 20 30" sep="-">
        <body name="a" pos="1 0 0" euler="5 6 7"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".1 .2 .3"/>
        <site name="s" pos="0 0 .2"/><replicate count="2" euler="0 0 90"><body name="b" pos="0 .5 0"><joint name="k"/>
        <geom size=".05"/></body></replicate></body><geom size=".02" pos="0 0 1"/><site name="r" pos="1 0 1"/>
        </replicate></body>""",
        """<tendon><fixed name="f" stiffness="3"><joint joint="j" coef="2"/><joint joint="pj" coef="1"/></fixed>
        <spatial stiffness="5"><site site="s"/><site site="r"/></spatial></tendon>""",
    ),
    "springs of ball and free joints": model(
        f'''<body pos="1 2 3" euler="30 20 10"><joint type="free" stiffness="4"/>{INERTIAL}
        <body pos=".3 0 0" euler="10 20 30"><joint type="ball" stiffness="7" pos=".1 .2 .3" damping=".1"/>{INERTIAL}
        <body pos=".3 0 0"><joint axis="1 2 3"/><joint type="ball" stiffness="2" pos=".1 0 .2"/>{INERTIAL}</body></body>
        </body><body pos="0 1 0"><joint type="ball" stiffness="3" pos="0 .1 0"/>{INERTIAL}</body>'''
    ),
    "springs and dampers that are polynomials": model(
        ARM.replace('name="x"', 'name="x" stiffness="3 2 1" damping=".3 .2 .1"').replace(
            'name="z"', 'name="z" stiffness="0 2"'),
        '''<tendon><spatial stiffness="40 3 2" damping="3 2 1"><site site="s"/><site site="end"/></spatial>
        <fixed stiffness="4 3" springlength=".1 .2"><joint joint="x" coef="1"/></fixed></tendon>''',
    ),
    "inertia and damping of actuators": model(
        ARM.replace('name="y"', 'name="y" springdamper="0.2 0.7"'),
        '''<tendon><fixed name="sum"><joint joint="x" coef=".5"/><joint joint="z" coef="2"/></fixed></tendon>
        <actuator><motor joint="x" gear="3" armature=".2" damping=".3 .2 .1"/><position joint="x" armature=".1"/>
        <general tendon="sum" armature=".4" damping=".2"/></actuator>''',
    ),
    "inertia of a fixed tendon": model(
        ARM, '''<tendon><fixed armature=".7"><joint joint="x" coef=".5"/><joint joint="z" coef="-2"/></fixed></tendon>
        <equality><joint joint1="y" joint2="z" polycoef="0 .3 0 0 0"/></equality>''',
    ),
    "ellipsoids in a fluid": model(
        '''<body><freejoint/><geom type="ellipsoid" size=".1 .2 .3" pos=".1 .2 .3" euler="10 20 30"
        fluidshape="ellipsoid"/><geom size=".1" pos="1 0 0"/><body pos="1 0 0"><joint axis="0 1 0"/>
        <geom type="capsule" size=".1 .2" fluidshape="ellipsoid" fluidcoef=".3 .2 .1 .4 .5"/>
        <geom type="cylinder" size=".1 .2" pos="0 .3 0" fluidshape="ellipsoid"/><body pos="0 0 1"><joint/>
        <geom type="box" size=".1 .2 .1" fluidshape="ellipsoid"/><geom type="mesh" mesh="m" fluidshape="ellipsoid"/>
        <geom type="box" mesh="m" fluidshape="ellipsoid"/></body></body></body>''',
        before=f'<option density="900" viscosity="2" wind=".3 -1 .2"/><asset>{inline()}</asset>',
    ),
    "free bodies aligned with their inertia": model(
        f'''<body pos="1 0 0"><freejoint/>{INERTIAL}<site name="p" pos="0 0 1"/></body>
        <body><freejoint align="false"/>{INERTIAL}</body><body><freejoint/>{INERTIAL}<body><joint/>{INERTIAL}</body>
        </body><body><joint type="free"/><geom type="box" size=".1 .2 .3" pos=".3 .2 .1" euler="10 20 30"/>
        <geom size=".2"/></body><site name="w" pos="0 0 2"/>''',
        '<tendon><spatial stiffness="9"><site site="w"/><site site="p"/></spatial></tendon>',
        '<compiler alignfree="true"/>',
    ),
    "lists that a class fills up": model(
        '''<body><joint name="j" stiffness="7" damping="8"/><geom size=".05" fluidcoef=".9"/>
        <body pos="0 0 1"><joint springdamper=".3 1"/><geom size=".05"/></body></body>''',
        '''<tendon><fixed stiffness="9" springlength=".15"><joint joint="j" coef="1"/></fixed></tendon>
        <actuator><general joint="j" damping=".3" gear="2"/></actuator>''',
        '''<option density="900"/><default><geom type="capsule" size=".1 .2" fluidcoef=".1 .2 .3 .4 .5"
        fluidshape="ellipsoid"/><joint stiffness="3 2 1" damping="3 2 1"/><general damping="1 2 3"/>
        <tendon stiffness="4 5 6" springlength=".1 .2"/></default>''',
    ),
    "neither springs nor dampers": model(
        ARM.replace('<body name="b"', '<body name="b" gravcomp="0.7"'),
        before='<option density="100"><flag spring="disable" damper="disable"/></option>',
    ),
    "a tendon on one body": model(
        ARM, '<tendon><spatial stiffness="3"><site site="ground"/><site site="wall"/></spatial></tendon>'
    ),
    "a body that data move": model(f'<body mocap="true" pos="0 0 1">{INERTIAL}<geom size=".1"/></body>{ARM}'),
}  # fmt: skip


@pytest.mark.parametrize("what", MODELS)
def test_it_moves_as_in_mujoco(what, tmp_path):
    path = tmp_path / "model.xml"
    path.write_text(MODELS[what])
    found = compare(path, "mjcf")
    assert found.status == "equal", found.reason
    assert found.nv > 0


def stl(points, faces):
    out = bytearray(b"\0" * 80 + struct.pack("<I", len(faces)))
    for face in faces:
        out += struct.pack("<12fH", 0, 0, 0, *points[face].ravel(), 0)
    return bytes(out)


def text_stl(points, faces):
    lines = ["solid m"]
    for face in faces:
        lines += ["facet normal 0 0 0", "outer loop", *(f"vertex {numbers(p)}" for p in points[face]), "endloop"]
    return "\n".join([*lines, "endsolid"]).encode()


def obj(points, faces):
    corners = [f"f {' '.join(f'{k + 1}/1/1' for k in face)}" for face in faces]
    return "\n".join([*(f"v {numbers(p)}" for p in points), *corners]).encode()


def msh(points, faces):
    head = np.array([len(points), 0, 0, len(faces)], dtype="<i4").tobytes()
    return head + points.astype("<f4").tobytes() + faces.astype("<i4").tobytes()


@pytest.mark.parametrize(("suffix", "written"), [("stl", stl), ("obj", obj), ("msh", msh)])
def test_mass_from_a_mesh_file_is_mujocos(suffix, written, tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / f"meshes/m.{suffix}").write_bytes(written(*prism()))
    path = tmp_path / "model.xml"
    path.write_text(meshed(f'<mesh file="m.{suffix}"/>', compiler='<compiler meshdir="meshes"/>'))
    found = compare(path, "mjcf")
    assert found.status == "equal", found.reason


def test_text_and_binary_stl_hold_the_same_mesh(tmp_path):
    masses = []
    for name, written in (("a", stl), ("b", text_stl)):
        (tmp_path / f"{name}.stl").write_bytes(written(*prism()))
        path = tmp_path / f"{name}.xml"
        path.write_text(meshed(f'<mesh name="m" file="{name}.stl"/>'))
        masses.append(sb.load(path).body("a").mass.data.default)
    assert masses[0] == masses[1]


def test_a_mesh_that_is_missing_or_damaged_is_refused_with_the_way_out(tmp_path):
    path = tmp_path / "model.xml"
    path.write_text(meshed('<mesh name="m" file="m.stl"/>'))
    with pytest.raises(ModelError, match=r"was not found in the folder of the model.*saveinertial"):
        sb.load(path)
    (tmp_path / "m.stl").write_bytes(b"\0" * 90)
    with pytest.raises(ModelError, match=r"'m\.stl' is damaged"):
        sb.load(path)
    path.write_text(meshed('<mesh name="m" file="m.stl"/>', 'type="mesh" mass="0"').replace(
        "<joint/>", f"<joint/>{INERTIAL}"))  # fmt: skip
    assert sb.load(path).nv == 4  # no mass is asked of it


def test_a_flat_mesh_has_no_mass_to_give(tmp_path):
    path = tmp_path / "model.xml"
    path.write_text(meshed('<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 1 1 0"/>'))
    with pytest.raises(ModelError, match=r"model\.xml:1: mesh 'm' encloses the volume 0"):
        sb.load(path)


def test_files_outside_the_folder_are_read_where_the_user_names_it(tmp_path, monkeypatch):
    (tmp_path / "robot").mkdir()
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/part.xml").write_text(
        f"<mujocoinclude><body name='a'><joint/>{INERTIAL}</body></mujocoinclude>"
    )
    path = tmp_path / "robot/model.xml"
    path.write_text(model('<include file="../shared/part.xml"/>'))
    with pytest.raises(ModelError, match=r"outside the model's folder.*packages"):
        sb.load(path)
    assert sb.load(path, packages=[tmp_path / "shared"]).nv == 1
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "shared"))
    assert sb.load(path).nv == 1


def test_a_part_is_refused_with_what_to_load(tmp_path):
    path = tmp_path / "part.xml"
    path.write_text("<mujoco><body name='a'/></mujoco>")
    with pytest.raises(ModelError, match=r"part.xml:1: .*load the file that includes it"):
        sb.load(path)
    path.write_text("<mujocoinclude/>")
    with pytest.raises(ModelError, match="load the file that includes it"):
        sb.load(path)


# -- actuators and constraints of tendons

ACTUATORS = """<tendon><spatial name="line"><site site="ground"/><site site="tip"/></spatial>
<fixed name="sum"><joint joint="x" coef=".5"/><joint joint="y" coef="2"/></fixed></tendon>
<default><general gear="3"/><position kp="9"/><default class="soft"><general gainprm="5" biastype="affine"
biasprm="1 -4 -3"/></default></default>
<actuator><general name="c" class="soft" joint="z" biasprm="1 -2"/>
<motor name="m" joint="x" gear="2"/><position name="p" joint="y" kp="20" kv="3" gear="1.5"/>
<velocity name="v" joint="z" kv="4"/><motor name="t" tendon="line"/><general name="g" tendon="sum" gainprm="5"
biastype="affine" biasprm="1 -2 -3"/><position name="d" joint="x"/></actuator>"""


def test_actuators_push_as_in_mujoco(tmp_path):
    import mujoco

    path = tmp_path / "model.xml"
    path.write_text(model(ARM, ACTUATORS))
    mech = sb.load(path, symbolic=False, actuators="laws")
    inverse = sb.inverse_dynamics(mech, "newton_euler").compile("python")
    peer = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(peer)
    rng = np.random.default_rng(1)
    for _ in range(4):
        q, qd, qdd = rng.uniform(-1, 1, (3, 3))
        control = dict(zip("cmpvtgd", rng.uniform(-1, 1, 7)))
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        data.ctrl[:] = list(control.values())
        peer.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        mujoco.mj_inverse(peer, data)
        mujoco.mj_fwdActuation(peer, data)
        ours = inverse(q=q, qd=qd, qdd=qdd, **{f"u_{k}": v for k, v in control.items()})
        assert np.allclose(ours, data.qfrc_inverse - data.qfrc_actuator, rtol=1e-10, atol=1e-10)


def test_actuators_without_laws_are_noted_and_joints_take_efforts(tmp_path):
    path = tmp_path / "model.xml"
    path.write_text(model(ARM, ACTUATORS))
    mech = sb.load(path)
    assert not mech.forces
    assert any("<actuator> was left out (joints take efforts): general 'c', motor 'm'" in n for n in mech.notes)
    with pytest.raises(ModelError, match="'efforts' or 'laws'"):
        sb.load(path, actuators="none")


def test_equality_of_tendons_holds_where_mujocos_does(tmp_path):
    """Residuals of the coupling and of the rod are those of MuJoCo's constraint rows."""
    import mujoco

    rows = """<equality><tendon name="gear" tendon1="sum" tendon2="other" polycoef=".1 2 .3"/>
    <tendon name="rope" tendon1="line" polycoef=".05"/></equality>"""
    tendons = ACTUATORS.split("<default>")[0].replace(
        "</tendon>", '<fixed name="other"><joint joint="z" coef="3"/></fixed></tendon>'
    )
    path = tmp_path / "model.xml"
    path.write_text(model(ARM, tendons + rows))
    mech = sb.load(path, symbolic=False)
    assert [(c.name, c.kind) for c in mech.cuts] == [("rope", "rod")]
    assert [c.name for c in mech.couplings] == ["gear"]
    peer = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(peer)
    rng = np.random.default_rng(2)
    for _ in range(3):
        q = rng.uniform(-1, 1, 3)
        data.qpos[:] = q
        mujoco.mj_fwdPosition(peer, data)
        values = {f"q.{name}": x for name, x in zip("xyz", q)}
        gear = sb.evaluate(mech.couplings[0].expression, values)
        assert gear == pytest.approx(data.efc_pos[0], abs=1e-12)
        line = np.linalg.norm(data.site("ground").xpos - data.site("tip").xpos)
        assert line - float(mech.cuts[0].length.data) == pytest.approx(data.efc_pos[1], abs=1e-12)
