"""Poses, joints and masses of SDF files: judged by a resolver of poses, and closed forms, of this test's own."""

from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import symbody as sb
from helpers.mechanism_numbers import Numbers
from symbody.basics.errors import ModelError

INERTIAL = (
    "<inertial><pose>.1 .2 .3 .1 .2 .3</pose><mass>2</mass><inertia><ixx>.3</ixx><iyy>.4</iyy><izz>.5</izz>"
    "</inertia></inertial>"
)
CENTRE = np.array([0.1, 0.2, 0.3, 1])
TENSOR = Rotation.from_euler("xyz", (0.1, 0.2, 0.3)).as_matrix()
TENSOR = TENSOR @ np.diag([0.3, 0.4, 0.5]) @ TENSOR.T


def matrix(element):
    """(4, 4) of a <pose>."""
    out = np.eye(4)
    text = "" if element is None or element.text is None else element.text
    if text.split():
        x, y, z, *angles = map(float, text.split())
        out[:3, :3] = Rotation.from_euler("xyz", angles).as_matrix()
        out[:3, 3] = x, y, z
    return out


class Resolver:
    """World poses of all links, as the SDFormat specification has them; `files`: included ones by their uri."""

    def __init__(self, world, files):
        self.frames = {}  # full name -> matrix, full name of what it is relative to, of what stands there instead
        self.links, self.files = [], files
        self.scope(world, "", "")

    def scope(self, element, path, own):
        def full(name):
            return own if name == "__model__" else "" if name == "world" else path + name

        def add(name, child, around, placed=None):
            pose = child.find("pose")
            to = pose.get("relative_to") if pose is not None else None
            self.frames[path + name] = matrix(pose), full(to) if to else around, placed

        for child in element:
            name = child.get("name")
            if child.tag == "link":
                add(name, child, own)
                self.links.append(path + name)
            elif child.tag == "frame":
                to = child.get("attached_to")
                add(name, child, full(to) if to else own)
            elif child.tag == "joint":
                add(name, child, full(child.find("child").text))
            elif child.tag == "model":
                self.model(child, path, name, child, child.get("placement_frame"), full, own, False)
            elif child.tag == "include":
                model = self.files[child.find("uri").text]
                name = child.findtext("name") or model.get("name")
                placed = child.findtext("placement_frame") or model.get("placement_frame")
                source = child if child.find("pose") is not None else model
                self.model(model, path, name, source, placed, full, own, child.get("merge") == "true")

    def model(self, model, path, name, source, placed, full, own, merge):
        pose = source.find("pose")
        to = pose.get("relative_to") if pose is not None else None
        key = f"{path}_merged__{name}__model__" if merge else path + name
        inner = path if merge else f"{key}::"
        by = None if placed in (None, "__model__") else inner + placed
        self.frames[key] = matrix(pose), full(to) if to else own, by
        self.scope(model, inner, key)

    def relative(self, key):
        own, _, placed = self.frames[key]
        if placed is None:
            return own
        inside, at = np.eye(4), placed
        while at != key:
            inside, at = self.relative(at) @ inside, self.frames[at][1]
        return own @ np.linalg.inv(inside)

    def pose(self, key):
        return np.eye(4) if key == "" else self.pose(self.frames[key][1]) @ self.relative(key)


def saved(folder, text, name="world.sdf"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def neutral(mech):
    q = np.zeros(mech.nq)
    for slot in mech.slots:
        for part in slot.parts:
            if part.quaternion:
                q[part.quaternion] = 1, 0, 0, 0
    return q


def compared(folder, world, **files):
    """The Mechanism of a world, whose links stand where the resolver has them."""
    for name, text in files.items():
        saved(folder, f'<sdf version="1.10">{text}</sdf>', f"{name}.sdf")
    mech = sb.load(saved(folder, f'<sdf version="1.10"><world name="w">{world}</world></sdf>'), symbolic=False)
    included = {f"{name}.sdf": ElementTree.fromstring(text) for name, text in files.items()}
    judge = Resolver(ElementTree.fromstring(f"<world>{world}</world>"), included)
    models = {key.partition("::")[0] for key in judge.links}
    numbers = Numbers(mech, neutral(mech))
    assert len(judge.links) == sum(b.name != "ground" for b in mech.bodies)
    for key in judge.links:
        name = key if len(models) > 1 else key.partition("::")[2]
        place, (r, p) = judge.pose(key), numbers.poses[name]
        body = mech.body(name)
        assert p + r @ numbers.value(body.com) == pytest.approx((place @ CENTRE)[:3], abs=1e-12), key
        own = place[:3, :3] @ TENSOR @ place[:3, :3].T
        assert r @ numbers.value(body.inertia) @ r.T == pytest.approx(own, abs=1e-12), key
    return mech


def link(name, pose="", more=""):
    return f'<link name="{name}"><pose {more}>{pose}</pose>{INERTIAL}</link>'


ARM = f"""<model name="arm" canonical_link="L2"><pose>.1 .2 .3 .1 .2 .3</pose>{link("L1", ".3 .1 .2 .4 0 0")}
{link("L2", "0 .5 0 0 .3 .1", 'relative_to="F1"')}
<frame name="F1" attached_to="L1"><pose>.2 .1 0 .3 .2 .1</pose></frame>
<frame name="F2"><pose relative_to="J1">0 0 .3 0 .7 0</pose></frame><joint name="J1" type="revolute"><pose>0 .1 0 .2 0 0
</pose><parent>L1</parent><child>L2</child><axis><xyz expressed_in="__model__">0 1 0</xyz></axis></joint>
<model name="hand"><pose relative_to="L2">.1 0 0 0 0 .5</pose>{link("L1", "0 0 .1 0 0 0")}</model>
<joint name="J2" type="fixed"><parent>F2</parent><child>hand::L1</child></joint></model>"""
PLACES = {
    "models relative to each other": f"""{ARM}<model name="M2"><pose relative_to="arm">1 0 0 .1 0 0</pose>{link("a")}
        </model><model name="M3"><pose relative_to="M2::a">0 1 0 0 0 .3</pose>{link("a")}</model>""",
    "frames of the world": f"""<frame name="here"><pose>1 2 3 .1 .2 .3</pose></frame><frame name="there" attached_to=
        "M2"><pose relative_to="here">0 0 1 0 0 .2</pose></frame>{ARM}<model name="M2"><pose relative_to="here">1 0 0
        .1 0 0</pose>{link("a")}</model>
        <model name="M3"><pose relative_to="there">1 0 0 0 0 0</pose>{link("b")}</model>""",
    "one model and frames of the world": f"""<frame name="L1"><pose>1 2 3 .1 .2 .3</pose></frame>
        <model name="only"><pose relative_to="L1">1 0 0 .1 0 0</pose>{link("L1")}{link("L2", "0 1 0 0 0 0")}</model>
        <frame name="tip" attached_to="only::L2"><pose relative_to="only">0 0 1 0 0 0</pose></frame>""",
    "nested models by their names": f"""<model name="out">{link("base")}
        <model name="A"><pose>1 0 0 0 .2 0</pose>{link("l")}
        </model><model name="B"><pose relative_to="A">0 1 0 .3 0 0</pose>{link("l")}<model name="C"><pose>0 0 1 0 0 0
        </pose>{link("l")}</model></model>{link("tip", ".1 .2 .3 0 0 0", 'relative_to="B::C"')}
        <joint name="j" type="fixed">
        <parent>A</parent><child>B</child></joint></model>{ARM}""",
    "a frame that stands for the model": "".join(
        f'<model name="m{k}" placement_frame="{by}"><pose relative_to="{to}">1 2 3 .3 .2 .1</pose>{link("L")}'
        f'{link("K", ".1 .2 .3 .4 .5 .6")}<frame name="F" attached_to="K"><pose>.3 0 .1 0 .4 0</pose></frame><model '
        f'name="in" placement_frame="l"><pose>0 1 0 0 0 .3</pose>{link("l", ".5 0 0 .1 0 0")}</model></model>'
        for k, (by, to) in enumerate(
            [("L", "world"), ("K", "world"), ("F", "m0"), ("in", "m1::F"), ("in::l", "m2"), ("__model__", "m3")]
        )
    ),
}  # fmt: skip
INCLUDED = {
    "placed": "<include><uri>arm.sdf</uri><name>one</name></include>" + "".join(
        f"<include><uri>arm.sdf</uri><name>m{k}</name><pose>1 {k} 0 0 .3 0</pose>"
        f"<placement_frame>{by}</placement_frame></include>"
        for k, by in enumerate(("L2", "F2", "J1", "hand", "hand::L1", "__model__"))
    ),
    "merged": f"""<model name="robot"><pose>0 0 1 .1 0 0</pose>{link("base")}<include merge="true"><uri>arm.sdf</uri>
        <pose relative_to="base">1 0 0 0 0 .4</pose></include><joint name="j" type="fixed"><parent>base</parent>
        <child>L1</child></joint></model>{ARM.replace('"arm"', '"plain"')}""",
    "merged and placed": f"""<model name="robot"><pose>0 0 1 .1 0 0</pose>{link("base")}<include merge="true">
        <uri>arm.sdf</uri><placement_frame>F2</placement_frame><pose>1 0 0 0 0 .4</pose></include></model>
        <model name="other"><include merge="true"><uri>arm.sdf</uri><name>x</name></include></model>""",
}  # fmt: skip


@pytest.mark.parametrize("what", PLACES)
def test_links_stand_where_their_poses_say(what, tmp_path):
    compared(tmp_path, PLACES[what])


@pytest.mark.parametrize("what", INCLUDED)
def test_included_models_stand_where_their_poses_say(what, tmp_path):
    compared(tmp_path, INCLUDED[what], arm=ARM)


def test_a_world_takes_the_models_of_a_merged_one(tmp_path):
    group = (
        f'<model name="group"><pose>9 9 9 0 0 0</pose>{ARM}<model name="M2"><pose>0 2 0 0 0 0</pose>{link("a")}</model>'
    )
    group += '<frame name="F"><pose relative_to="M2">0 0 1 0 0 0</pose></frame></model>'
    include = '<include merge="true"><uri>group.sdf</uri><pose>1 2 3 .1 .2 .3</pose></include>'
    more = f'<model name="M3"><pose relative_to="F">1 0 0 0 0 0</pose>{link("b")}</model>'
    compared(tmp_path, include + more, group=group)
    with pytest.raises(ModelError, match="a world has links in models only"):
        compared(tmp_path, include, group=f'<model name="group">{link("l")}</model>')


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (f'<model name="m" placement_frame="nobody">{link("L")}</model>', "'nobody', which is no link or frame"),
        (
            f"""<model name="m" placement_frame="L">{link("L", "", 'relative_to="world"')}{link("K")}</model>""",
            "placement_frame 'L' does not stand in the model",
        ),
        ('<model name="m"><frame name="F"/></model>', "moves with a model without links"),
        (
            f'<model name="m"><pose relative_to="n">0 0 0 0 0 0</pose>{link("L")}</model>',
            "'n', which is no link or frame",
        ),
    ],
)
def test_a_frame_that_is_not_there_is_refused(model, words, tmp_path):
    with pytest.raises(ModelError, match=words):
        sb.load(saved(tmp_path, f'<sdf version="1.10"><world name="w">{model}</world></sdf>'))


def test_joints_of_the_world_join_its_models(tmp_path):
    joint = """<joint name="j" type="revolute"><parent>M2::a</parent><child>M1</child>
    <axis><xyz>0 1 0</xyz></axis></joint>
    <joint name="k" type="fixed"><parent>world</parent><child>M2</child></joint>"""
    models = [f'<model name="M{k}"><pose>{k} 0 0 0 .{k} 0</pose>{link("a")}</model>' for k in (1, 2)]
    mech = compared(tmp_path, "".join(models) + joint)
    assert [(j.name, j.kind, j.parent, j.child) for j in mech.joints] == [
        ("k", "fixed", "world", "M2::a"), ("j", "revolute", "M2::a", "M1::a"),
    ]  # fmt: skip
    alone = compared(tmp_path, models[0] + joint.replace("M2::a", "world").replace("child>M2<", "child>M1<"))
    assert len(alone.cuts) == 1


def test_shapes_and_collisions_may_stand_relative_to_other_frames(tmp_path):
    text = f"""<sdf version="1.9"><model name="m">{link("base", "1 0 0 0 0 0")}<link name="a"><pose>0 1 0 0 0 0</pose>
    {INERTIAL}<visual name="v"><pose relative_to="base">0 0 1 0 0 0</pose><geometry><sphere><radius>1</radius></sphere>
    </geometry></visual></link></model></sdf>"""
    shape = sb.load(saved(tmp_path, text)).body("a").shapes[0]
    assert [float(x.data) for x in shape.placement.position] == [1, -1, 1]


# -- joints


BASE = '<joint name="foot" type="fixed"><parent>world</parent><child>a</child></joint>'


def pair(joint, more=""):
    return f'<sdf version="1.11"><model name="m">{link("a")}{link("b", "0 0 1 0 0 0")}{BASE}{joint}{more}</model></sdf>'


def universal(first, second, of_first="", of_second="", more=""):
    axes = f"<axis><xyz>{first}</xyz>{of_first}</axis><axis2><xyz>{second}</xyz>{of_second}</axis2>"
    joint = (
        f'<joint name="u" type="universal"><pose>.1 0 0 0 0 .3</pose><parent>a</parent><child>b</child>{axes}</joint>'
    )
    return pair(joint, more)


@pytest.mark.parametrize(("first", "second"), [("1 0 0", "0 1 0"), ("-1 0 0", "0 0 1"), (".6 .8 0", "0 .6 .8")])
def test_a_universal_joint_turns_about_its_two_axes_in_turn(first, second, tmp_path):
    mech = sb.load(saved(tmp_path, universal(first, second)), symbolic=False)
    assert mech.nv == 2
    one, two = (np.array(list(map(float, v.split()))) for v in (first, second))
    frame = Rotation.from_euler("z", 0.3)
    for q in np.random.default_rng(3).uniform(-2, 2, (3, 2)):
        turned = frame * Rotation.from_rotvec(q[0] * one) * Rotation.from_rotvec(q[1] * two) * frame.inv()
        origin = np.array([0.1, 0, 1])
        numbers = Numbers(mech, q)
        r, p = numbers.poses["b"]
        centre = origin + turned.apply(CENTRE[:3] - [0.1, 0, 0])
        assert p + r @ numbers.value(mech.body("b").com) == pytest.approx(centre, abs=1e-12)


def test_laws_limits_and_followers_of_universal_joints_are_kept(tmp_path):
    law = "<dynamics><damping>.2</damping></dynamics><limit><lower>-1</lower><upper>2</upper></limit>"
    follower = f"""{link("c")}<joint name="f" type="revolute"><parent>a</parent><child>c</child><axis><xyz>0 0 1</xyz>
    <mimic joint="u" axis="axis2"><multiplier>2</multiplier><offset>.1</offset><reference>0</reference></mimic></axis>
    </joint>"""
    path = saved(tmp_path, universal("1 0 0", "0 1 0", law, "<dynamics><friction>.3</friction></dynamics>", follower))
    mech = sb.load(path, symbolic=False)
    first, second, third = mech.joint("u"), mech.joint("u_2"), mech.joint("f")
    assert (first.limits.lower, first.limits.upper, float(first.viscous.data)) == (-1, 2, 0.2)
    assert float(second.coulomb.data) == 0.3
    assert third.mimic.joint == "u_2"
    with pytest.raises(ModelError, match="mimics axis2 of 'foot'"):
        sb.load(saved(tmp_path, universal("1 0 0", "0 1 0", more=follower.replace('joint="u"', 'joint="foot"'))))


@pytest.mark.parametrize("most", ["1.79769e+308", "1e16", "inf", "1e400"])
def test_limits_as_large_as_numbers_go_are_none(most, tmp_path):
    """What SDFormat's own converter of URDF writes."""
    limit = f"<limit><lower>-{most}</lower><upper>{most}</upper><effort>{most}</effort><velocity>3</velocity></limit>"
    axis = f"<axis><xyz>0 0 1</xyz>{limit}</axis>"
    joint = f'<joint name="j" type="revolute"><parent>a</parent><child>b</child>{axis}</joint>'
    bounds = sb.load(saved(tmp_path, pair(joint))).joint("j").limits
    assert (bounds.lower, bounds.upper, bounds.effort, bounds.velocity) == (None, None, None, 3)
    urdf = f"""<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute"><parent link="a"/>
    <child link="b"/><limit lower="-{most}" upper="{most}" effort="{most}" velocity="3"/></joint></robot>"""
    if most != "1e16":  # a number like others in URDF
        bounds = sb.load(saved(tmp_path, urdf, "r.urdf")).joint("j").limits
        assert (bounds.lower, bounds.upper, bounds.effort, bounds.velocity) == (None, None, None, 3)


def test_a_screw_closes_a_loop(tmp_path):
    """A slide that a screw drives beside it: one motion is left, of 0.2 m a turn."""
    slide = '<joint name="s" type="prismatic"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>'
    nut = '<joint name="n" type="revolute"><parent>a</parent><child>c</child><axis><xyz>0 0 1</xyz></axis></joint>'
    screw = """<joint name="t" type="screw"><pose>0 0 .3 0 0 0</pose><parent>c</parent><child>b</child>
    <screw_thread_pitch>0.2</screw_thread_pitch><axis><xyz>0 0 1</xyz></axis></joint>"""
    mech = sb.load(saved(tmp_path, pair(slide, link("c") + nut + screw)), symbolic=False)
    assert [c.kind for c in mech.cuts] == ["solid"]
    closed = sb.assemble(mech, {"s": 0.05, "t": 1.2, "n": -1.0})
    q = {slot.owner: closed[slot.iq] for slot in mech.slots}
    # the child slides by pitch/(2 pi) times its turn against the nut
    assert q["s"] == pytest.approx(q["t"] * 0.2 / (2 * np.pi), abs=1e-9)
    assert q["n"] == pytest.approx(-q["t"], abs=1e-9)
    assert abs(q["s"]) > 0.01


@pytest.mark.parametrize(("over", "sign"), [("0 0 1", 1), ("0 0 -1", -1)])
def test_a_gearbox_couples_the_turns_of_two_links(over, sign, tmp_path):
    """theta2 = -ratio theta1, each about its axis, against the reference body."""
    one = '<joint name="one" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>'
    two = '<joint name="two" type="revolute"><parent>c</parent><child>a</child><axis><xyz>0 0 1</xyz></axis></joint>'
    gears = f"""<joint name="g" type="gearbox"><parent>b</parent><child>c</child><gearbox_ratio>3</gearbox_ratio>
    <gearbox_reference_body>a</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis>
    <axis2><xyz>{over}</xyz></axis2></joint>"""
    text = (
        pair(one, link("c") + two + gears)
        .replace(BASE, "")
        .replace("</model>", BASE.replace("child>a<", "child>c<") + "</model>")
    )
    mech = sb.load(saved(tmp_path, text), symbolic=False)
    assert len(mech.couplings) == 1
    closed = sb.assemble(mech, {"one": 0.4})
    q = {slot.owner: closed[slot.iq] for slot in mech.slots}
    # "two" turns the reference against c, so that c turns by -q against it; about over
    assert -q["two"] * sign == pytest.approx(-3 * 0.4, abs=1e-9)
    with pytest.raises(ModelError, match="expected a hinge between them about its axis"):
        sb.load(saved(tmp_path, text.replace("<gearbox_reference_body>a</gearbox_reference_body>", "")))


def test_a_hinge_without_axis_turns_about_z(tmp_path):
    mech = sb.load(saved(tmp_path, pair('<joint name="j" type="revolute"><parent>a</parent><child>b</child></joint>')))
    assert [float(x.data) for x in mech.joint("j").axis] == [0, 0, 1]
    assert any("'j' has no axis; SDF's default is 0 0 1" in note for note in mech.notes)


# -- mass from shapes


def quadrature(inside, half, density, n=60):
    """Mass, centre and tensor about it of what is inside a box, by midpoints."""
    axes = [(np.arange(n) + 0.5) / n * 2 * h - h for h in half]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    x = x[inside(x)]
    mass = density * np.prod(half) * 8 / n**3
    centre = x.mean(axis=0)
    d = x - centre
    return mass * len(x), centre, mass * (np.sum(d * d) * np.eye(3) - d.T @ d)


SHAPES = {
    "box": ("<size>.2 .4 .6</size>", (0.1, 0.2, 0.3), lambda x: np.ones(len(x), dtype=bool)),
    "sphere": ("<radius>.3</radius>", (0.3,) * 3, lambda x: np.linalg.norm(x, axis=1) < 0.3),
    "ellipsoid": (
        "<radii>.1 .2 .3</radii>", (0.1, 0.2, 0.3), lambda x: np.linalg.norm(x / [0.1, 0.2, 0.3], axis=1) < 1,
    ),
    "cylinder": ("<radius>.2</radius><length>.6</length>", (0.2, 0.2, 0.3), lambda x: np.hypot(x[:, 0], x[:, 1]) < 0.2),
    "capsule": (
        "<radius>.2</radius><length>.6</length>", (0.2, 0.2, 0.5),
        lambda x: np.linalg.norm(x - np.c_[0 * x[:, :2], np.clip(x[:, 2], -0.3, 0.3)], axis=1) < 0.2,
    ),
    "cone": (
        "<radius>.2</radius><length>.6</length>", (0.2, 0.2, 0.3),
        lambda x: np.hypot(x[:, 0], x[:, 1]) < 0.2 * (0.3 - x[:, 2]) / 0.6,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", SHAPES)
def test_mass_and_inertia_come_from_the_shape(kind, tmp_path):
    size, half, inside = SHAPES[kind]
    text = f"""<sdf version="1.11"><model name="m"><link name="a">
    <inertial auto="true"><density>700</density></inertial>
    <collision name="c"><geometry><{kind}>{size}</{kind}></geometry></collision></link></model></sdf>"""
    body = sb.load(saved(tmp_path, text), symbolic=False).body("a")
    mass, centre, tensor = quadrature(inside, half, 700)
    value = np.vectorize(lambda node: float(node.data))
    assert float(body.mass.data) == pytest.approx(mass, rel=5e-3)
    assert value(body.com) == pytest.approx(centre, abs=2e-3)
    assert value(body.inertia) == pytest.approx(tensor, abs=5e-3 * np.abs(tensor).max())


@pytest.mark.parametrize("given", ["", "<mass>6</mass>", "<density>50</density>"])
def test_shapes_of_several_densities_are_put_together(given, tmp_path):
    """Two boxes by Steiner's rule; a given mass scales what they give."""
    text = f"""<sdf version="1.11"><model name="m"><link name="a"><inertial auto="true">{given}</inertial>
    <collision name="c"><density>200</density><pose>1 0 0 0 0 0</pose>
    <geometry><box><size>.2 .4 .6</size></box></geometry></collision>
    <collision name="d"><pose>0 .5 0 0 0 1.5707963267948966</pose><geometry><box><size>.2 .4 .6</size></box>
    </geometry></collision></link></model></sdf>"""
    body = sb.load(saved(tmp_path, text), symbolic=False).body("a")
    volume, other = 0.2 * 0.4 * 0.6, 50 if "density" in given else 1000
    m1, m2 = 200 * volume, other * volume
    centre = np.array([m1, 0.5 * m2, 0]) / (m1 + m2)
    squares = np.array([0.04, 0.16, 0.36]) / 12
    own1, own2 = squares.sum() - squares, (squares.sum() - squares)[[1, 0, 2]]
    tensor = np.zeros((3, 3))
    for m, own, at in ((m1, own1, np.array([1, 0, 0])), (m2, own2, np.array([0, 0.5, 0]))):
        d = at - centre
        tensor += m * (np.diag(own) + (d @ d) * np.eye(3) - np.outer(d, d))
    scale = 6 / (m1 + m2) if "mass" in given else 1.0
    value = np.vectorize(lambda node: float(node.data))
    assert float(body.mass.data) == pytest.approx(scale * (m1 + m2), rel=1e-13)
    assert value(body.com) == pytest.approx(centre, abs=1e-13)
    assert value(body.inertia) == pytest.approx(scale * tensor, abs=1e-12)


def test_shapes_that_give_no_mass_are_refused(tmp_path):
    for form in ("<mesh><uri>x.dae</uri></mesh>", "<plane/>", "<box><size>1 1 0</size></box>"):
        text = f"""<sdf version="1.11"><model name="m"><link name="a"><inertial auto="true"/>
        <collision name="c"><geometry>{form}</geometry></collision></link></model></sdf>"""
        with pytest.raises(ModelError, match=r"world\.sdf:2: .*expected (box, sphere|sizes above zero)"):
            sb.load(saved(tmp_path, text))
