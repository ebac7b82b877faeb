"""Side files that close the loops of a URDF tree: read, refused in one sentence, closed as Pinocchio closes them."""

import json
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from mechanics.loops.reference import LoopWorld
from symbody.basics.errors import ModelError, SymbodyError

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data" / "closed_loop_urdf"
PARALLELOGRAM = """<robot name="p">
<link name="base"/>
{}
</robot>"""
LINK = """<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<joint name="{name}_joint" type="{kind}"><parent link="{parent}"/><child link="{name}"/>
<origin xyz="{xyz}"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>"""


@pytest.fixture
def urdf(tmp_path):
    """Crank and coupler from the left, rocker from the right; their ends coincide at q = 0."""
    parts = [("a", "revolute", "base", "0 0 0"), ("b", "revolute", "a", "0 1 0"), ("c", "revolute", "base", "2 0 0"),
             ("b_end", "fixed", "b", "2 0 0"), ("c_end", "fixed", "c", "0 1 0")]  # fmt: skip
    path = tmp_path / "p.urdf"
    links = (LINK.format(name=n, kind=k, parent=p, xyz=x) for n, k, p, x in parts)
    path.write_text(PARALLELOGRAM.format("\n".join(links)), encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "nv"), [("5bar_linkage", 6), ("disney_robot", 50)])
def test_joints_may_be_named_and_made_of_another_type(name, nv):
    """closed_loop names joints (the frames that they move), joint_name and joint_type make ball joints of hinges."""
    if not SHARED.is_dir():
        pytest.skip("the reference data are not here")
    mech = sb.load(SHARED / f"{name}.urdf", loops=SHARED / f"{name}.yaml")
    assert mech.nv == nv
    q = sb.assemble(mech, tolerance=1e-7, starts=4)
    assert q.shape == (mech.nq,)
    if name == "5bar_linkage":
        assert [(c.first, c.second) for c in mech.cuts] == [(("sphere", ""), ("sphere_2", ""))]
    else:
        assert sum(j.kind == "ball" for j in mech.joints) == 9
        assert any("'left_spherical_free_foot', which is no joint" in n for n in mech.notes)  # the URDF misspells it


def test_a_joint_becomes_a_ball_and_says_what_it_lost(urdf):
    side = loops(urdf, "closed_loop: [[b_joint, c_end]]\njoint_name: [b_joint]\njoint_type: [SPHERICAL]\n")
    mech = sb.load(urdf, loops=side)
    assert mech.joint("b_joint").kind == "ball"
    assert mech.cuts[0].first == ("b", "")
    assert any("is revolute, the side file makes it ball; it lost limits" in n for n in mech.notes)
    for text, words in (("joint_name: [b_joint]", "two lists of one length"),
                        ("joint_name: [b_joint]\njoint_type: [ROUND]", "expected one of SPHERICAL")):  # fmt: skip
        with pytest.raises(ModelError, match=words):
            sb.load(urdf, loops=loops(urdf, f"closed_loop: []\n{text}\n"))


def loops(urdf, text):
    path = urdf.with_name("p.yaml")
    path.write_text(text, encoding="utf-8")
    return path


def reference(name):
    if not SHARED.is_dir():
        pytest.skip("the reference data are not here")
    (found,) = [r for r in json.loads((SHARED / "closure_reference.json").read_text()) if r["name"] == name]
    mech = sb.load(SHARED / f"{name}.urdf", loops=SHARED / f"{name}.yaml")
    return found, mech, LoopWorld(mech)


@pytest.mark.parametrize("name", ["cassie_like", "digit_like"])
def test_legs_are_closed_where_pinocchio_closes_them(name):
    found, mech, world = reference(name)
    q = np.zeros(world.nq)
    q[[world.first[joint][0] for joint in found["joints"]]] = found["q_closed"]
    assert world.nv == found["nv"]
    assert [(c.kind, c.first[0], c.second[0]) for c in mech.cuts] == [("solid", *p) for p in found["loop_frames"]]
    assert np.abs(world.residual(q)).max() < 1e-10
    assert (world.rank(q), world.mobility(q)) == (found["constraint_rank"], found["mobility"])


@pytest.mark.parametrize("name", ["cassie_like", "digit_like"])
def test_legs_assemble_from_the_neutral_configuration(name):
    found, _, world = reference(name)
    q = world.assemble()
    assert np.linalg.norm(world.residual(q)) < 1e-12
    assert world.mobility(q) == found["mobility"]
    qdd, _ = world.acceleration(q, np.zeros(world.nv), np.random.default_rng(0).uniform(-1, 1, world.nv))
    assert np.abs(world.jacobian(q) @ qdd).max() < 1e-14 * world.nv * np.abs(qdd).max()


@pytest.mark.parametrize("name", ["cassie_like", "digit_like"])
def test_only_the_motors_of_the_file_are_actuated(name):
    found, mech, _ = reference(name)
    assert {j.name for j in mech.joints if j.mode == "actuated" and j.kind != "fixed"} == set(found["motors"])


def test_a_ball_joint_between_two_links(urdf):
    text = "closed_loop: [[c_end, b_end]]\ntype: ['3d']\nname_mot: [a_joint]\nbase: floating\n"
    mech = sb.load(urdf, loops=loops(urdf, text))
    (cut,) = mech.cuts
    assert (cut.name, cut.kind, cut.first, cut.second) == ("loop1", "ball", ("c_end", ""), ("b_end", ""))
    assert cut.origin == "p.yaml:1"
    assert [j.mode for j in mech.joints if j.kind == "revolute"] == ["actuated", "passive", "passive"]
    assert "p.yaml:4: 'base' is not read from a file of loops and was left out" in mech.notes
    world = LoopWorld(mech)
    assert np.abs(world.residual(np.zeros(3))).max() == 0
    assert world.mobility(np.zeros(3)) == 1


def test_loops_are_welds_and_motors_stay_where_nothing_is_said(urdf):
    mech = sb.load(urdf, loops=loops(urdf, "closed_loop: [[c_end, b_end]]"))
    assert [c.kind for c in mech.cuts] == ["solid"]
    assert {j.mode for j in mech.joints if j.kind == "revolute"} == {"actuated"}


def test_named_frames_can_be_joined(tmp_path):
    b = sb.Mechanism.builder("two")
    b.body("left", frames={"tip": (1, 0, 0), "mark": (0, 0, 0)}).joint("l", "revolute", "world", "left")
    b.body("right", frames={"tip": (1, 0, 0)}).joint("r", "revolute", "world", "right")
    path = tmp_path / "two.yaml"
    from symbody.model.files import yaml_writer

    yaml_writer.write(b.done(), path)
    side = tmp_path / "loops.yaml"
    side.write_text("closed_loop: [[left.tip, right.tip], [mark, right]]\ntype: 3d\n", encoding="utf-8")
    mech = sb.load(path, loops=side)
    assert [(c.kind, c.first, c.second) for c in mech.cuts] == [
        ("ball", ("left", "tip"), ("right", "tip")), ("ball", ("left", "mark"), ("right", "")),
    ]  # fmt: skip
    side.write_text("closed_loop: [[tip, right]]\n", encoding="utf-8")
    with pytest.raises(ModelError, match=r"loops.yaml:1: closed_loop names 'tip', which is a frame of 2 bodies"):
        sb.load(path, loops=side)


FOUR_BAR = """<robot name="four_bar"><link name="base"/>{}</robot>"""
PLACE = (  # name, kind, parent, xyz, rpy: a planar four-bar that stands upright and is welded to itself in space
    ("crank", "revolute", "base", (0, 0, 0), (1.5707963267948966, 0, 0)),
    ("coupler", "revolute", "crank", (0.2, 0.1, 0.03), (0, 0, -0.4)),
    ("end", "revolute", "coupler", (0.5, 0, 0), (0, 0, 0)),
    ("rocker", "revolute", "base", (0.6, 0, 0), (1.5707963267948966, 0, 0)),
    ("tip", "fixed", "rocker", (0.1, 0.35, 0.03), (0, 0, 0)),
)


def four_bar(folder, xyz=0.0, rpy=0.0):
    """The file of a four-bar whose lengths and angles are off by about these amounts, as exported data are."""
    rng = np.random.default_rng(3)
    parts = []
    for name, kind, parent, place, angles in PLACE:
        place = np.array(place) + xyz * rng.normal(size=3)
        angles = np.array(angles) + rpy * rng.normal(size=3)
        parts.append(
            f'<link name="{name}"><inertial><origin xyz="0.1 0.05 0"/><mass value="1"/>'
            '<inertia ixx="0.01" iyy="0.02" izz="0.02"/></inertial></link>'
            f'<joint name="{name}_joint" type="{kind}"><parent link="{parent}"/><child link="{name}"/>'
            f'<origin xyz="{" ".join(map(repr, place.tolist()))}" rpy="{" ".join(map(repr, angles.tolist()))}"/>'
            '<axis xyz="0 0 1"/><limit effort="1" velocity="1" lower="-3" upper="3"/></joint>'
        )
    path = folder / "four_bar.urdf"
    path.write_text(FOUR_BAR.format("".join(parts)), encoding="utf-8")
    side = folder / "four_bar.loops.yaml"
    side.write_text("closed_loop: [[end, tip]]\ntype: [6d]\nname_mot: [crank_joint]\n", encoding="utf-8")
    return path, side


@pytest.mark.parametrize(
    "off",
    [
        {"xyz": 5e-8},
        {"xyz": 3e-6, "rpy": 3e-6},
        pytest.param({"xyz": 5e-8, "rpy": 5e-8}, marks=pytest.mark.slow),
        pytest.param({"rpy": 1e-7}, marks=pytest.mark.slow),
    ],
)
def test_data_of_a_loop_that_close_to_a_tolerance_move_as_exact_ones(tmp_path, off):
    """A redundant loop of rounded data stays open by what joints cannot take up; it moves as that of exact data."""
    size = max(off.values())
    exact = sb.load(*four_bar(tmp_path))
    rough = sb.load(*four_bar(tmp_path, **off))
    with pytest.raises(SymbodyError, match=r"close_gaps\(1e-0"):
        sb.forward_dynamics(rough)
    mech = rough.close_gaps(20 * size)
    assert any("was closed by moving its frame" in note for note in mech.notes)
    start = {"crank_joint": 0.3}
    ends = [sb.simulate(m, 0.5, q0=sb.assemble(m, start), step=1e-3).q[-1] for m in (exact, mech)]
    assert np.abs(ends[0] - ends[1]).max() < 200 * size
    assert np.abs(sb.assemble(mech, start) - sb.assemble(exact, start)).max() < 100 * size
    again = sb.load(tmp_path / "four_bar.urdf", loops=tmp_path / "four_bar.loops.yaml", tolerance=20 * size)
    assert again.notes == mech.notes


def test_a_gap_above_the_tolerance_stays_an_error(tmp_path):
    path, side = four_bar(tmp_path, xyz=1e-4)
    with pytest.raises(SymbodyError, match=r"four_bar.loops.yaml:1: .* tolerance 1e-06: loop1.y stays open by .* m\."):
        sb.load(path, loops=side, tolerance=1e-6)
    path, side = four_bar(tmp_path, rpy=1e-4)
    with pytest.raises(SymbodyError, match="loop1"):
        sb.load(path, loops=side, tolerance=1e-6)
    for wrong in (0.0, 1.0, "small"):
        with pytest.raises(ModelError, match="tolerance"):
            sb.load(path, loops=side, tolerance=wrong)


def test_loops_that_close_are_left_as_they_are(tmp_path):
    path, side = four_bar(tmp_path)
    mech = sb.load(path, loops=side)
    assert mech.close_gaps() is mech
    side.write_text(side.read_text() + "tolerance: 1.0e-6\n", encoding="utf-8")
    assert [(c.kind, c.second) for c in sb.load(path, loops=side).cuts] == [("solid", ("tip", ""))]
    side.write_text("closed_loop: [[end, tip]]\ntolerance: none\n", encoding="utf-8")
    with pytest.raises(ModelError, match=r"four_bar.loops.yaml:2: tolerance is .none.; expected a number above zero"):
        sb.load(path, loops=side)


BAD = {
    "no such link": ("closed_loop: [[c_end, b_en]]", 1, "'b_en', which is no body or frame of p. Did you mean 'b_end'"),
    "not a pair": ("closed_loop: [[c_end, b_end, a]]", 1, "expected a list of pairs"),
    "no name": ("closed_loop: [[c_end, 3]]", 1, "expected the name of a body or frame"),
    "types": ("closed_loop: [[c_end, b_end]]\ntype: [6d, 6d]", 2, "2 entries for 1 loops"),
    "type": ("closed_loop: [[c_end, b_end]]\ntype: [5d]", 2, "expected one of 6d, 3d"),
    "motor": ("closed_loop: [[c_end, b_end]]\nname_mot: [a_joit]", 2, "no joint. Did you mean 'a_joint'"),
    "motors": ("closed_loop: [[c_end, b_end]]\nname_mot: a_joint", 2, "expected a list of joints"),
    "itself": ("closed_loop: [[c_end, c_end]]", 1, "between a frame and itself"),
    "a list": ("[1, 2]", 0, "expected a mapping with closed_loop"),
    "another file": ("name: x", 0, "expected a mapping with closed_loop"),
    "not YAML": ("closed_loop: [[", 1, "this is not YAML"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_wrong_side_file_is_refused_with_its_line(urdf, what):
    text, line, sentence = BAD[what]
    with pytest.raises(ModelError) as caught:
        sb.load(urdf, loops=loops(urdf, text))
    assert str(caught.value).startswith(f"p.yaml:{line}:" if line else "p.yaml: ")
    assert sentence in str(caught.value)


def test_a_missing_side_file_is_named(urdf):
    with pytest.raises(ModelError, match=r"q\.yaml: the file of loops cannot be read: No such file"):
        sb.load(urdf, loops=urdf.with_name("q.yaml"))
