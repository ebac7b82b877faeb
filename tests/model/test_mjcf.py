"""MJCF files read as MuJoCo reads them: same bodies, same poses, same mass matrix; what is not supported is named."""

import random

import numpy as np
import pytest

import symbody as sb
from helpers.damaged_files import assert_read_or_refused, damaged
from helpers.mechanism_numbers import Numbers
from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.efforts import generalized
from symbody.mechanics.formalisms.newton_euler import newton_euler
from symbody.mechanics.formalisms.tree import build_tree
from symbody.model.files import mjcf
from symbody.model.record.coordinates import has_coordinates


def saved(tmp_path, text, name="model.xml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def world(body, before=""):
    return f'<mujoco model="m">\n{before}\n<worldbody>\n{body}\n</worldbody>\n</mujoco>'


INERTIAL = '<inertial pos="0.1 0.2 0.3" mass="2" diaginertia="0.3 0.4 0.5"/>'

MODELS = {
    "one hinge": world(f'<body name="a"><joint/>{INERTIAL}</body>'),
    "anchor off the origin": world(f'<body name="a" pos="1 2 3"><joint pos=".1 .2 .3" axis="1 2 3"/>{INERTIAL}</body>'),
    "joints in turn": world(
        f"""<body name="a" pos="0 0 1" euler="10 20 30">
        <joint name="x" type="slide" axis="1 0 0" pos="9 9 9"/><joint name="y" axis="0 1 0" pos=".1 .2 .3"/>
        <joint name="z" axis="0 1 1" pos="-.3 .2 0"/><joint name="w" type="slide" axis="1 1 0"/>{INERTIAL}
        <body name="b" pos=".5 0 0"><joint pos="0 0 .7"/>
        <inertial pos="0 0 1" mass="1" fullinertia=".3 .4 .5 .01 .02 .03"/>
        <body name="c" pos="0 .5 0"><inertial pos="0 0 1" mass=".5" diaginertia=".1 .1 .1" quat="1 2 3 4"/></body>
        </body></body>"""
    ),
    "reference values": world(
        f"""<body name="a" pos="0 0 1"><joint name="h" ref="30" pos=".3 .1 0" axis="1 1 0"/>{INERTIAL}
        <body name="b" pos="1 0 0"><joint name="s" type="slide" ref="0.4" axis="0 1 1" pos="1 2 3"/>{INERTIAL}
        <body name="c" pos="1 0 0"><joint name="h2" ref="-50" pos="0 0 .4"/>{INERTIAL}</body></body></body>"""
    ),
    "ball": world(
        f"""<body name="a" pos="0 0 1" axisangle="1 2 3 40"><joint type="ball" pos=".1 .2 .3" damping="0.1"/>{INERTIAL}
        <body name="b" pos=".4 0 0"><joint axis="0 1 0"/>{INERTIAL}</body></body>"""
    ),
    "free": world(
        f"""<body name="a" pos="1 2 3" quat="1 1 0 0"><freejoint/>{INERTIAL}
        <body name="b"><joint/>{INERTIAL}</body></body>
        <body name="other" pos="0 0 9"><joint type="free" name="f"/>{INERTIAL}</body>"""
    ),
    "orientations": world(
        f"""<body name="a" quat="1 .2 .3 .4"><joint/>{INERTIAL}
        <body name="b" pos="1 0 0" axisangle="1 1 1 50"><joint/>{INERTIAL}
        <body name="c" pos="1 0 0" euler="20 30 40"><joint/>{INERTIAL}
        <body name="d" pos="1 0 0" xyaxes="1 2 3 1 0 1"><joint/>{INERTIAL}
        <body name="e" pos="1 0 0" zaxis="1 -2 .5"><joint/>{INERTIAL}
        <body name="f" pos="1 0 0" zaxis="0 0 -1"><joint/>{INERTIAL}</body></body></body></body></body></body>"""
    ),
    "radians and fixed axes": world(
        f'<body name="a" euler=".1 .2 .3"><joint ref=".4" pos="1 0 0"/>{INERTIAL}</body>',
        '<compiler angle="radian" eulerseq="XzY"/>',
    ),
    "inertia from geoms": world(
        """<geom type="plane" size="1 1 1"/>
        <body name="sphere" pos="0 0 1"><joint/><geom size=".2" pos=".1 0 0"/></body>
        <body name="capsule"><joint/><geom type="capsule" size=".1 .3" euler="30 0 0"/></body>
        <body name="capsule2"><joint/><geom type="capsule" size=".1" fromto="0 0 0 .3 .2 .1"/></body>
        <body name="cylinder"><joint/><geom type="cylinder" size=".1 .3" density="300" pos="0 .1 0"/></body>
        <body name="cylinder2"><joint/><geom type="cylinder" size=".1" fromto="0 0 1 0 0 0" mass="3"/></body>
        <body name="ellipsoid"><joint/><geom type="ellipsoid" size=".1 .2 .3" quat="1 2 3 4"/></body>
        <body name="box"><joint/><geom type="box" size=".1 .2 .3" zaxis="1 1 0"/></body>
        <body name="box2"><joint/><geom type="box" size=".1" fromto="0 0 0 1 1 0"/></body>
        <body name="several"><joint pos="0 0 .3"/><geom size=".2" pos=".1 0 0"/>
          <geom type="box" size=".1 .1 .1" mass="2"/>
          <geom size="5" mass="0"/><geom type="capsule" size=".1 .3" pos="0 1 0"/></body>"""
    ),
    "inertia rules": world(
        f"""<body name="a"><joint/>{INERTIAL}<geom size=".3" pos="1 0 0"/></body>
        <body name="b"><joint/><geom size=".3" group="1"/><geom size=".2" pos="1 0 0" group="3"/></body>""",
        '<compiler inertiafromgeom="true" inertiagrouprange="0 2"/>',
    ),
    "bounds and total mass": world(
        """<body name="a"><joint/><geom type="box" size=".01 .02 .03"/></body>
        <body name="b"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 3"/></body>""",
        '<compiler boundmass="0.5" boundinertia="0.01" balanceinertia="true" settotalmass="7"/>',
    ),
    "default classes": world(
        """<body name="a" childclass="heavy"><joint name="h" class="weak"/><geom size=".1"/>
        <body name="b" pos="1 0 0"><joint name="k"/><geom size=".1" class="main"/><geom/>
        <frame childclass="weak"><body name="c"><joint name="l"/><geom size=".2" pos="0 0 .1"/></body></frame>
        </body></body>""",
        """<default><geom density="700" size=".15"/><joint axis="1 0 0"/>
        <default class="heavy"><geom density="3000" pos="0 .1 0"/><joint armature="0.3" damping="2"/>
        <default class="weak"><joint armature="0.1" axis="0 1 0"/></default></default></default>""",
    ),
    "frames": world(
        f"""<frame pos="1 0 0" euler="0 0 90"><body name="a" pos="0 1 0"><frame pos=".1 .2 .3" euler="30 0 0">
        <joint axis="0 0 1" pos="0 0 .5"/><geom type="box" size=".1 .2 .3"/>
        <body name="b" pos="1 0 0"><joint/>{INERTIAL}</body>
        </frame></body></frame>"""
    ),
    "laws": world(
        f"""<body name="a"><joint name="h" stiffness="3" springref="20" damping=".5" frictionloss=".2" armature=".7"
        range="-30 60"/>{INERTIAL}<body name="b"><joint name="s" type="slide" stiffness="3" springref=".2" armature="2"
        range="-1 2" limited="false"/>{INERTIAL}</body></body>"""
    ),
}  # fmt: skip


def mujoco_of(path):
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_path(str(path))
    return mujoco, model, mujoco.MjData(model)


def full_mass(mujoco, model, data):
    """MuJoCo's mass matrix, column by column."""
    columns = np.eye(model.nv)
    out = np.zeros((model.nv, model.nv))
    for k in range(model.nv):
        mujoco.mj_mulM(model, data, out[k], columns[k])
    return out


def random_state(model, rng):
    """Random coordinates with unit quaternions, and the map from our velocities to MuJoCo's."""
    q, map_ = rng.uniform(-1, 1, model.nq), np.eye(model.nv)
    for j in range(model.njnt):
        at, kind = model.jnt_qposadr[j], model.jnt_type[j]
        quaternion = {0: slice(at + 3, at + 7), 1: slice(at, at + 4)}.get(kind)
        if quaternion is not None:
            q[quaternion] /= np.linalg.norm(q[quaternion])
        if kind == 0:  # ours: angular, linear in body axes; MuJoCo: linear in world axes, angular in body axes
            w, x, y, z = q[quaternion]
            k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
            v = model.jnt_dofadr[j]
            map_[v : v + 6, v : v + 6] = 0
            map_[v : v + 3, v + 3 : v + 6] = np.eye(3) + 2 * w * k + 2 * k @ k
            map_[v + 3 : v + 6, v : v + 3] = np.eye(3)
    return q, map_


@pytest.mark.parametrize("what", MODELS)
def test_bodies_and_mass_matrix_are_mujocos(tmp_path, what):
    path = saved(tmp_path, MODELS[what])
    mujoco, model, data = mujoco_of(path)
    mech = mjcf.read(path)
    assert (mech.nq, mech.nv) == (model.nq, model.nv)
    q, map_ = random_state(model, np.random.default_rng(len(what)))
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    ours = Numbers(mech, q)
    for k in range(1, model.nbody):
        name = model.body(k).name
        body = mech.body(name)
        assert float(ours.value(body.mass)) == pytest.approx(model.body_mass[k], rel=1e-12)
        r, p = ours.poses[name]
        assert r == pytest.approx(data.xmat[k].reshape(3, 3), abs=1e-9)
        assert p + r @ ours.value(body.com) == pytest.approx(data.xipos[k], abs=1e-9)
        turn = data.ximat[k].reshape(3, 3)
        assert r @ ours.value(body.inertia) @ r.T == pytest.approx(
            turn @ np.diag(model.body_inertia[k]) @ turn.T, abs=1e-9
        )
    mass = full_mass(mujoco, model, data)
    assert ours.mass_matrix() == pytest.approx(map_.T @ mass @ map_, abs=1e-9 * np.abs(mass).max())


@pytest.mark.parametrize("what", MODELS)
def test_joints_turn_about_mujocos_axes(tmp_path, what):
    path = saved(tmp_path, MODELS[what])
    mujoco, model, data = mujoco_of(path)
    mech = mjcf.read(path, symbolic=False)
    q, _ = random_state(model, np.random.default_rng(7))
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    ours = Numbers(mech, q)
    moving = [j for j in mech.joints if has_coordinates(j)]
    for k, joint in enumerate(moving):
        assert joint.kind == ("free", "ball", "prismatic", "revolute")[model.jnt_type[k]]
        r, p = ours.poses[joint.child]
        if joint.kind == "free":
            continue
        assert joint.kind == "prismatic" or p == pytest.approx(data.xanchor[k], abs=1e-9)
        if joint.kind != "ball":
            assert r @ ours.value(joint.axis) == pytest.approx(data.xaxis[k], abs=1e-9)


@pytest.mark.parametrize("what", ["joints in turn", "reference values", "orientations", "frames", "default classes"])
def test_symbolic_bias_is_mujocos(tmp_path, what):
    """Coriolis, centrifugal and gravity efforts at a random state."""
    path = saved(tmp_path, MODELS[what])
    mujoco, model, data = mujoco_of(path)
    tree = build_tree(mjcf.read(path))
    rng = np.random.default_rng(11)
    data.qpos[:], data.qvel[:] = rng.uniform(-1, 1, (2, model.nv))
    mujoco.mj_forward(model, data)
    values = {s.data.name: s.data.default for s in tree.mechanism.parameters.values()}
    for k in range(model.nv):
        values |= {f"q{k + 1}": data.qpos[k], f"qd{k + 1}": data.qvel[k], f"qdd{k + 1}": 0.0}
    efforts = generalized(tree, newton_euler(tree))
    got = sb.evaluate([x if isinstance(x, sb.Node) else tree.graph.number(x) for x in efforts], values)
    assert got == pytest.approx(data.qfrc_bias, abs=1e-9 * np.abs(data.qfrc_bias).max())


def test_laws_and_ranges_are_in_radians_and_metres(tmp_path):
    path = saved(tmp_path, MODELS["laws"])
    _, model, _ = mujoco_of(path)
    mech = mjcf.read(path)
    for k, name in enumerate(("h", "s")):
        joint, got = mech.joint(name), Numbers(mech, np.zeros(2)).value
        assert float(got(joint.stiffness)) == model.jnt_stiffness[k]
        assert float(got(joint.rest)) == pytest.approx(model.qpos_spring[k])
        assert float(got(joint.rotor.inertia)) == model.dof_armature[k]
    hinge, slide = mech.joint("h"), mech.joint("s")
    assert (hinge.limits.lower, hinge.limits.upper) == pytest.approx(tuple(model.jnt_range[0]))
    assert slide.limits.lower is None
    assert (hinge.viscous.data.default, hinge.coulomb.data.default) == (0.5, 0.2)
    assert slide.viscous is None


def test_gravity_and_flags(tmp_path):
    body = f'<body name="a"><joint stiffness="2" damping="3"/>{INERTIAL}</body>'
    mech = mjcf.read(saved(tmp_path, world(body, '<option gravity="1 0 -3"/>')))
    assert [float(g.data) for g in mech.gravity] == [1, 0, -3]
    off = '<option><flag gravity="disable" spring="disable" damper="disable"/></option>'
    mech = mjcf.read(saved(tmp_path, world(body, off)))
    assert [float(g.data) for g in mech.gravity] == [0, 0, 0]
    assert mech.joints[0].stiffness is None
    assert mech.joints[0].viscous is None


def test_parameters_have_names_units_and_lines(tmp_path):
    p = mjcf.read(saved(tmp_path, MODELS["one hinge"])).parameters
    assert {n: s.data.default for n, s in p.items()} == {
        "m_a": 2, "cx_a": 0.1, "cy_a": 0.2, "cz_a": 0.3, "Ixx_a": 0.3, "Iyy_a": 0.4, "Izz_a": 0.5,
    }  # fmt: skip
    assert p["m_a"].data.nonzero
    assert p["m_a"].data.origin == "model.xml:4"


def test_inertia_of_a_symmetric_pair_of_geoms_has_exact_zeros(tmp_path):
    text = world('<body name="a"><joint/><geom size=".1" pos=".3 0 .1"/><geom size=".1" pos="-.3 0 .1"/></body>')
    assert set(mjcf.read(saved(tmp_path, text)).parameters) == {"m_a", "cz_a", "Ixx_a", "Iyy_a", "Izz_a"}


# -- equality constraints

FOUR_BAR = world(
    f"""<site name="pin" pos="1 0 .2"/>
    <body name="a" pos="0 0 1"><joint axis="0 1 0" pos=".1 0 0"/>{INERTIAL}
    <site name="tip" pos="0 0 .5" euler="10 20 30"/>
    <body name="b" pos="1 0 0"><joint axis="0 1 0"/>{INERTIAL}<body name="c" pos="0 0 -1" euler="0 0 30">
    <joint pos="0 .2 0"/>{INERTIAL}</body></body></body>"""
)
CONSTRAINTS = {
    "connect": '<connect name="k" body1="c" body2="a" anchor="0.1 0.2 0.3"/>',
    "connect to the world": '<connect name="k" body1="c" anchor="0.1 0.2 0.3"/>',
    "connect sites": '<connect name="k" site1="tip" site2="pin"/>',
    "weld": '<weld name="k" body1="a" body2="c"/>',
    "weld at a pose": '<weld name="k" body1="a" body2="c" relpose="1 2 3 1 1 0 0" anchor=".1 .2 .3"/>',
    "weld to the world": '<weld name="k" body1="c" anchor="1 0 0"/>',
    "weld sites": '<weld name="k" site1="tip" site2="pin"/>',
}


@pytest.mark.parametrize("what", CONSTRAINTS)
def test_cut_residual_is_mujocos(tmp_path, what):
    """The two frames of a cut are as far apart as MuJoCo's constraint says, at any configuration."""
    text = FOUR_BAR.replace("</mujoco>", f"<equality>{CONSTRAINTS[what]}</equality></mujoco>")
    path = saved(tmp_path, text)
    mujoco, model, data = mujoco_of(path)
    mech = mjcf.read(path)
    (cut,) = mech.cuts
    assert cut.kind == ("ball" if "connect" in what else "solid")
    q = np.random.default_rng(5).uniform(-1, 1, model.nq)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    theirs = data.efc_pos[: 3 if cut.kind == "ball" else 6]
    ours = Numbers(mech, q)
    (r1, p1), (r2, p2) = ours.frame(*cut.first), ours.frame(*cut.second)
    assert p1 - p2 == pytest.approx(theirs[:3], abs=1e-9)
    if cut.kind == "solid":  # MuJoCo: the vector part of the relative quaternion, sin(angle / 2)
        angle = np.arccos(np.clip((np.trace(r1.T @ r2) - 1) / 2, -1, 1))
        assert np.linalg.norm(theirs[3:]) == pytest.approx(abs(np.sin(angle / 2)), abs=1e-9)


def test_cut_closes_at_the_configuration_of_the_file(tmp_path):
    text = FOUR_BAR.replace(
        "</mujoco>", '<equality><weld body1="c" body2="a"/><connect body1="c" anchor="1 2 3"/></equality></mujoco>'
    )
    mech = mjcf.read(saved(tmp_path, text))
    here = Numbers(mech, np.zeros(3))
    for cut in mech.cuts:
        (r1, p1), (r2, p2) = here.frame(*cut.first), here.frame(*cut.second)
        assert p1 == pytest.approx(p2, abs=1e-14)
        assert cut.kind == "ball" or r1 == pytest.approx(r2, abs=1e-14)


COUPLED = world(
    f"""<body name="a"><joint name="h" ref="9"/>{INERTIAL}<body><joint name="k" axis="1 0 0" ref="-9"/>{INERTIAL}
    <body name="c"><joint name="l" type="slide"/>{INERTIAL}</body></body></body>"""
)


def test_coupled_joints_satisfy_mujocos_constraint(tmp_path):
    rows = '<joint joint1="k" joint2="h" polycoef="0.2 -2 0 0 0"/><joint joint1="l" joint2="k" polycoef="0.1 0.5"/>'
    path = saved(tmp_path, COUPLED.replace("</mujoco>", f"<equality>{rows}</equality></mujoco>"))
    mujoco, model, data = mujoco_of(path)
    mech = mjcf.read(path)
    assert mech.nv == 1
    q = 0.7
    values = [q]
    for name in ("k", "l"):
        m = mech.joint(name).mimic
        assert m.joint == "h"
        values.append(float(m.ratio.data) * q + float(m.offset.data))
    data.qpos[:] = values
    mujoco.mj_forward(model, data)
    assert data.efc_pos[:2] == pytest.approx([0, 0], abs=1e-14)


LAWS = {  # of joints, which mimic cannot say; how many of the laws become couplings
    "polynomial": ('<joint name="e" joint1="k" joint2="h" polycoef="0.2 -2 0.5 0.3 -0.1"/>', 1),
    "two laws for one joint": ('<joint joint1="k" joint2="h"/><joint joint1="k" joint2="l" polycoef="0.1 0.5"/>', 1),
    "a circle": ('<joint joint1="h" joint2="k" polycoef="0.2 3"/><joint joint1="k" joint2="h"/>', 1),
    "law of a held joint": ('<joint joint1="k" polycoef="0.2"/><joint joint1="l" joint2="k" polycoef="1 0 2"/>', 1),
    "law of a follower": ('<joint joint1="k" joint2="h"/><joint joint1="l" joint2="k" polycoef="1 0 2"/>', 1),
}  # fmt: skip


@pytest.mark.parametrize("what", LAWS)
def test_laws_of_joints_that_become_couplings_are_zero_where_mujocos_are(tmp_path, what):
    rows, count = LAWS[what]
    path = saved(tmp_path, equality(rows))
    mujoco, model, data = mujoco_of(path)
    mech = mjcf.read(path)
    assert len(mech.couplings) == count
    free = np.random.default_rng(8).uniform(-1, 1, 3)
    values: dict[str, float] = {}
    for name, x in zip("hkl", free):  # followers and held joints where the Mechanism has them
        joint = mech.joint(name)
        values[f"q.{name}"] = float(joint.value.data) if joint.mode == "locked" else x
    for name in "hkl":
        m = mech.joint(name).mimic
        if m is not None:
            values[f"q.{name}"] = float(m.ratio.data) * values[f"q.{m.joint}"] + float(m.offset.data)
    data.qpos[:] = [values[f"q.{name}"] for name in "hkl"]
    mujoco.mj_forward(model, data)
    ours = sb.evaluate([c.expression for c in mech.couplings], values)
    left_over = data.efc_pos[:2] if what != "polynomial" else data.efc_pos[:1]
    assert sorted(np.abs(left_over))[-1] == pytest.approx(abs(float(ours[0])), abs=1e-12)
    assert [c.origin.split(":")[0] for c in mech.couplings] == ["model.xml"]


def test_joint_held_by_a_constraint_is_locked(tmp_path):
    rows = '<joint joint1="k" polycoef="0.2 0 0 0 0"/>'
    path = saved(tmp_path, COUPLED.replace("</mujoco>", f"<equality>{rows}</equality></mujoco>"))
    joint = mjcf.read(path).joint("k")
    assert joint.mode == "locked"
    assert float(joint.value.data) == pytest.approx(0.2 - np.deg2rad(9))


# -- files, notes


def test_includes_are_read_from_the_models_folder_only(tmp_path):
    (tmp_path / "sub").mkdir()
    saved(tmp_path, "<mujocoinclude><geom size='.1'/><joint name='j'/></mujocoinclude>", "part.xml")
    main = saved(tmp_path, world('<body name="a"><include file="part.xml"/></body>'))
    assert mjcf.read(main).joint("j").origin == "part.xml:1"
    with pytest.raises(ModelError, match=r"model\.xml:4: include '\.\./part\.xml' lies outside"):
        mjcf.read(saved(tmp_path / "sub", world('<body name="a"><include file="../part.xml"/></body>')))
    with pytest.raises(ModelError, match="included a second time"):
        mjcf.read(
            saved(tmp_path, world('<body><include file="part.xml"/></body><body><include file="part.xml"/></body>'))
        )
    for k in range(3):  # each file is flat enough, all of them in each other are not
        deep = "<body>" * 80 + f'<include file="deep{k + 1}.xml"/>' + "</body>" * 80
        saved(tmp_path, f"<mujocoinclude>{deep}</mujocoinclude>", f"deep{k}.xml")
    with pytest.raises(ModelError, match="nested 200 elements deep"):
        mjcf.read(saved(tmp_path, world('<include file="deep0.xml"/>')))
    with pytest.raises(ModelError, match="no such file"):
        mjcf.read(saved(tmp_path, world('<include file="none.xml"/>')))


def test_what_is_left_out_is_noted_by_name(tmp_path):
    text = world(
        f'<light/><geom type="plane" size="1 1 1"/><body name="a" pos="0 0 4"><freejoint/>{INERTIAL}</body>'
    ).replace(
        "</mujoco>",
        """<actuator><motor name="m1" joint="j"/></actuator><sensor><gyro name="g" site="s"/></sensor>
        <tendon><spatial name="cable"/></tendon><contact><exclude body1="a" body2="b"/></contact>
        <equality><connect name="off" active="false" body1="a" anchor="0 0 0"/></equality></mujoco>""",
    )
    notes = " | ".join(mjcf.read(saved(tmp_path, text)).notes)
    for part in ("motor 'm1'", "gyro 'g'", "spatial 'cable'", "exclude", "1 <light>", "'off' is not active",
                 "1 shapes fixed to the world", "initial position (0, 0, 4)"):  # fmt: skip
        assert part in notes


def test_shapes_keep_their_place_when_the_body_frame_moves(tmp_path):
    text = world(
        """<body name="a"><joint pos="0 0 .5"/><geom type="capsule" size=".1 .2" pos="0 0 1" rgba="1 0 0 1"/>
        <geom type="mesh" mesh="skin" material="blue" mass="0"/></body>""",
        '<compiler meshdir="m"/><asset><mesh file="skin.stl"/><material name="blue" rgba="0 0 1 1"/></asset>',
    )
    mech = mjcf.read(saved(tmp_path, text))
    capsule, mesh = mech.body("a").shapes
    assert (capsule.kind, capsule.size, capsule.colour) == ("capsule", (0.1, 0.4), (1, 0, 0, 1))
    assert [float(x.data) for x in capsule.placement.position] == [0, 0, 0.5]
    assert (mesh.file, mesh.colour) == ("m/skin.stl", (0, 0, 1, 1))


# -- refused


def body(inner, attributes=""):
    return world(f'<body name="a" {attributes}>\n{inner}\n</body>')


def equality(row):
    return COUPLED.replace("</mujoco>", f"<equality>\n{row}</equality></mujoco>")


BAD = {
    "not XML": ("<mujoco", 1, "not well-formed XML"),
    "URDF": ("<robot/>", 1, "This is URDF"),
    "unknown section": ("<mujoco>\n<worldbdy/></mujoco>", 2, "no section of MJCF. Did you mean 'worldbody'"),
    "deformable": ("<mujoco>\n<deformable>\n<flex/></deformable></mujoco>", 3, "<flex> is not supported"),
    "composite": (body("<composite/>"), 5, "<composite> is not supported"),
    "replicate": (world("<replicate/>"), 4, "<replicate> has no attribute 'count'"),
    "copies of none": (world('<replicate count="0"/>'), 4, "has count 0; expected 1, 2, 3, ..."),
    "copies joined with another": (
        world(f'<body name="b"><joint name="k"/>{INERTIAL}</body><replicate count="2"><body><joint name="j"/>{INERTIAL}'
              "</body></replicate>").replace(
            "</mujoco>", '<equality>\n<joint joint1="j" joint2="k"/></equality></mujoco>'),
        7, "joins joint 'j', of which there are copies, with 'k' outside of <replicate>; MuJoCo drops it",
    ),
    "attach": (world('<attach prefix="a"/>'), 4, "<attach> without a model names no body and no frame"),
    "friction of a free body": (body(f'<joint type="free" frictionloss="1"/>{INERTIAL}'), 5, "Set frictionloss='0'"),
    "unknown element": (body("<jiont/>"), 5, "<jiont> in body 'a' is not known"),
    "global coordinates": (world("", '<compiler coordinate="global"/>'), 2, "expected 'local'"),
    "total mass with fused bodies": (
        world(f"<body>\n{INERTIAL}</body>", '<compiler settotalmass="1" fusestatic="true"/>'), 4, "fusestatic='false'"
    ),
    "odd angle unit": (world("", '<compiler angle="grad"/>'), 2, "expected one of degree, radian"),
    "odd eulerseq": (world("", '<compiler eulerseq="xyw"/>'), 2, "eulerseq is 'xyw'"),
    "joint in the world": (world("<joint/>"), 4, "a joint in the worldbody"),
    "unknown joint type": (body('<joint type="screw"/>'), 5, "expected one of hinge, slide, ball, free"),
    "zero axis": (body('<joint axis="0 0 0"/>'), 5, "axis 0 0 0"),
    "free joint below": (body('<body name="b"><freejoint/></body>'), 5, "alone, on a body of the worldbody"),
    "free and another": (body("<freejoint/><joint/>"), 4, "expected it alone"),
    "alignment": (body('<freejoint align="yes"/>'), 5, "align='yes'; expected one of true, false, auto"),
    "curved spring on a ball": (
        body('<joint type="ball" stiffness="1 2"/>'), 5, "ball joint 'a_joint' has stiffness or damping of second"
    ),
    "spring that yields": (body('<joint stiffness="1" springyield="2"/>'), 5, "has springyield"),
    "model to attach": (world('<attach model="m" prefix="a"/>'), 4, "names the model 'm', which is not in <asset>"),
    "springdamper": (body('<joint springdamper="1 1"/>'), 5, "moves none; expected an inertia"),
    "negative damping": (body('<joint damping="-1"/>'), 5, "damping -1; expected zero or more"),
    "range upside down": (body('<joint range="2 1"/>'), 5, "expected lower < upper"),
    "range without limited": (
        world('<body name="a"><joint range="0 1"/></body>', '<compiler autolimits="false"/>'), 4, "autolimits is off",
    ),
    "two orientations": (body("", 'quat="1 0 0 0" euler="0 0 0"'), 4, "quat and euler; expected one orientation"),
    "zero quaternion": (body("", 'quat="0 0 0 0"'), 4, "no orientation"),
    "parallel axes": (body("", 'xyaxes="1 0 0 2 0 0"'), 4, "no orientation"),
    "mocap": (body("", 'mocap="yes"'), 4, "mocap='yes'; expected one of true, false"),
    "gravcomp": (body(INERTIAL + "<joint/>", 'gravcomp="x"'), 4, "gravcomp='x'"),
    "negative mass": (body('<inertial pos="0 0 0" mass="-1"/>'), 5, "mass -1"),
    "inertial twice": (body(INERTIAL + INERTIAL), 5, "second <inertial>"),
    "two inertias": (
        body('<inertial pos="0 0 0" mass="1" diaginertia="1 1 1" fullinertia="1 1 1 0 0 0"/>'), 5, "one of them",
    ),
    "geom without size": (body('<geom type="box" size="1 1"/>'), 5, "a box has 2 sizes; expected 3"),
    "negative size": (body('<geom size="-1"/>'), 5, "expected sizes above zero"),
    "one point": (body('<geom type="capsule" size="1" fromto="1 1 1 1 1 1"/>'), 5, "same point twice"),
    "mass of a mesh": (body('<joint/><geom type="mesh" mesh="skin"/>'), 5, "mesh 'skin' is not in <asset>"),
    "unknown class": (body('<joint class="x"/>'), 5, "default class 'x', which is not defined"),
    "unknown childclass": (body("", 'childclass="x"'), 4, "default class 'x'"),
    "nameless class": ("<mujoco><default>\n<default/></default></mujoco>", 2, "expected a name"),
    "body twice": (world('<body name="a"/>\n<body name="a"/>'), 5, "second body 'a'"),
    "connect nothing": (equality('<connect body1="x" anchor="0 0 0"/>'), 8, "body1='x', which is no body"),
    "no anchor": (equality('<connect body1="a"/>'), 8, "no anchor"),
    "unknown joint": (equality('<joint joint1="hh"/>'), 8, "which is no joint. Did you mean 'h'"),
    "held twice": (equality('<joint joint1="k"/>\n<joint joint1="k" polycoef="1"/>'), 9, "names no coordinate"),
    "unknown constraint": (equality("<glue/>"), 8, "no equality constraint"),
    "doctype": ("<!DOCTYPE m>\n<mujoco/>", 1, "without DTD and entities"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_file_is_refused_in_one_sentence_with_its_line(tmp_path, what):
    text, line, sentence = BAD[what]
    with pytest.raises(ModelError) as caught:
        mjcf.read(saved(tmp_path, text))
    message = str(caught.value)
    assert message.startswith(f"model.xml:{line}: "), message
    assert sentence in message
    assert "\n" not in message


@pytest.mark.parametrize("seed", range(4))
def test_random_damage_never_escapes_as_another_error(tmp_path, seed):
    rng = random.Random(seed)
    texts = [*MODELS.values(), COUPLED, *(equality(r) for r in CONSTRAINTS.values())]
    words = ("world", "a", "ball", "free", "slide", "frame", "body", "box", "true", "main")
    for _ in range(150):
        assert_read_or_refused(mjcf.read, tmp_path / "model.xml", damaged(rng.choice(texts), rng, words))


BALL = '<body><joint {}/><geom size="1"/></body>'


@pytest.mark.parametrize(
    ("head", "joint", "told"),
    [
        ('<option><flag gravity="Disable"/></option>', "", "gravity='Disable'; expected one of enable, disable"),
        ('<compiler balanceinertia="True"/>', "", "balanceinertia='True'; expected one of true, false"),
        ('<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" refquat="0 0 0 0"/></asset>', "mesh", "refquat 0"),
    ],
)
def test_words_that_mujoco_refuses_are_not_read_as_their_opposite(head, joint, told, tmp_path):
    path = tmp_path / "ball.xml"
    geom = '<body><joint/><geom type="mesh" mesh="m"/></body>' if joint else BALL.format("")
    path.write_text(f"<mujoco>{head}<worldbody>{geom}</worldbody></mujoco>")
    with pytest.raises(ModelError, match=told):
        sb.load(path)


def test_the_range_of_a_ball_joint_is_noted(tmp_path):
    path = tmp_path / "ball.xml"
    body = BALL.format('type="ball" range="0 1"')
    path.write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    assert "range of ball joint" in " ".join(sb.load(path).notes)


def test_an_obj_face_with_vertex_0_is_refused(tmp_path):
    """Vertices count from 1; counted from the end, 0 would be one that comes later."""
    (tmp_path / "m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 0 1 2\nf 1 4 3\nf 2 3 4\nv 5 5 5\n")
    path = tmp_path / "m.xml"
    path.write_text(
        '<mujoco><asset><mesh name="m" file="m.obj"/></asset><worldbody><body><joint/>'
        '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    with pytest.raises(ModelError, match="vertex 0"):
        sb.load(path)
