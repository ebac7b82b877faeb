"""Files that are made to take squared time, or to unfold: each is read, or refused by a sentence, at once."""

import time
from contextlib import nullcontext

import pytest

import symbody as sb
from symbody.basics.errors import SymbodyError
from symbody.model.build.builder import Builder
from symbody.model.files import mjcf_names
from symbody.model.files.file_values import FileValues
from symbody.model.files.loop_file import close_loops
from symbody.model.files.mjcf_tree import TreeReader

SECONDS = 10  # of CPU; each took minutes, or more memory than there is


@pytest.fixture(autouse=True)
def quick():
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS


def load(tmp_path, name: str, text: str) -> sb.Mechanism:
    path = tmp_path / name
    path.write_text(text)
    return sb.load(path)


def test_urdf_links_in_a_long_circle(tmp_path):
    count = 60_000
    links = "".join(f'<link name="l{k}"/>' for k in range(count))
    joints = "".join(
        f'<joint name="j{k}" type="fixed"><parent link="l{k}"/><child link="l{(k + 1) % count}"/></joint>'
        for k in range(count)
    )
    with pytest.raises(SymbodyError, match="carried by itself") as told:
        load(tmp_path, "arm.urdf", f'<robot name="r"><link name="o"/>{links}{joints}</robot>')
    assert len(str(told.value)) < 500


def test_sdf_poses_in_a_long_circle(tmp_path):
    count = 60_000
    links = "".join(f'<link name="l{k}"><pose relative_to="l{(k + 1) % count}"/></link>' for k in range(count))
    joint = '<joint name="j" type="fixed"><parent>world</parent><child>l0</child></joint>'
    with pytest.raises(SymbodyError, match="relative to each other"):
        load(tmp_path, "arm.sdf", f'<sdf version="1.9"><model name="m">{links}{joint}</model></sdf>')


def test_sdf_frames_attached_to_each_other(tmp_path):
    count = 3000
    frames = "".join(f'<frame name="f{k}" attached_to="f{k + 1}"/>' for k in range(count))
    model = f'<model name="m"><link name="l"/>{frames}<frame name="f{count}" attached_to="l"/></model>'
    mech = load(tmp_path, "arm.sdf", f'<sdf version="1.9">{model}</sdf>')
    assert len(mech.bodies[0].frames) == count + 1


def test_names_that_clean_to_the_same():
    values = FileValues(Builder("m"), True)
    names = [values._free("é") for _ in range(50_000)]
    assert names[:3] == ["_", "__2", "__3"]
    assert len(set(names)) == len(names)


def test_numbers_behind_names_pass_over_names_that_are_taken():
    values = FileValues(Builder("m"), True)
    assert [values._free(n) for n in ("a", "a_2", "a", "a", "a_2")] == ["a", "a_2", "a_3", "a_4", "a_2_2"]


@pytest.mark.parametrize("count", ["1e30", "3e8"])
def test_many_copies_of_nothing(count, tmp_path):
    with pytest.raises(SymbodyError, match="replicate"):
        load(tmp_path, "arm.xml", f'<mujoco><worldbody><replicate count="{count}"/></worldbody></mujoco>')


def mjcf(default: str, worldbody: str, actuator: str = "") -> str:
    return (
        f"<mujoco><default>{default}</default><worldbody>{worldbody}</worldbody>"
        f"<actuator>{actuator}</actuator></mujoco>"
    )


def test_copies_of_what_names_copies(tmp_path, monkeypatch):
    monkeypatch.setattr(mjcf_names, "COPIES", 100_000)
    body = '<body><joint name="j"/><geom size="1"/></body>'
    motors = "".join(f'<motor name="m{k}" joint="j"/>' for k in range(1000))
    with pytest.raises(SymbodyError, match="copies of what <actuator> names"):
        load(tmp_path, "arm.xml", mjcf("", f'<replicate count="1000">{body}</replicate>', motors))


def test_many_replicates_and_many_actuators(tmp_path):
    count = 3000
    sites = "".join(f'<replicate count="1"><site name="s{k}_"/></replicate>' for k in range(count))
    motors = "".join(f'<motor name="m{k}" joint="j"/>' for k in range(count))
    mech = load(tmp_path, "arm.xml", mjcf("", f'<body><joint name="j"/><geom size="1"/>{sites}</body>', motors))
    assert len(mech.bodies[0].frames) == count


def test_default_classes_with_attributes_that_mjcf_has_not(tmp_path):
    count, body = 20_000, '<body><geom size="1"/></body>'
    given = " ".join(f'a{k}="1"' for k in range(count))
    classes = "".join(f'<default class="c{k}"><geom/></default>' for k in range(count))
    assert len(load(tmp_path, "arm.xml", mjcf(f"<geom {given}/>{classes}", body)).bodies) == 1
    with pytest.raises(SymbodyError, match="attributes; expected MJCF's"):
        load(tmp_path, "arm.xml", mjcf(f"<light {given}/>", body))


def test_side_files_that_name_many_joints(tmp_path):
    count = 1000
    b = sb.Mechanism.builder("many")
    for k in range(count):
        b.body(f"b{k}", 1.0)
        b.joint(f"joint_{k}", "revolute", "world", f"b{k}")
    path = tmp_path / "loops.yaml"
    path.write_text(
        f"joint_name: [{', '.join(f'jiont_{k}' for k in range(count))}]\njoint_type: [{'FIXED, ' * count}]\n"
    )
    assert "and 999 more" in close_loops(b.done(), path).notes[-1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("joint_name: [[a]]\njoint_type: [FIXED]", nullcontext()),
        ("name_mot: [{a: b}]", pytest.raises(SymbodyError, match="no joint")),
        ("closed_loop: []\ntolerance: " + "9" * 400, pytest.raises(SymbodyError, match="expected a number")),
    ],
)
def test_side_files_with_values_of_other_kinds(text, told, tmp_path):
    b = sb.Mechanism.builder("one")
    b.body("b", 1.0)
    b.joint("j", "revolute", "world", "b")
    path = tmp_path / "loops.yaml"
    path.write_text(text)
    with told:
        assert "which is no joint" in close_loops(b.done(), path).notes[-1]


ONE = "bodies:\n  b: {mass: 1}\njoints:\n  j: {kind: revolute, parent: world, child: b}\n"


def test_definitions_of_definitions(tmp_path):
    count = 6000
    rows = "".join(f'  d{k}: "sin(d{k - 1})*d{k - 1} + 1"\n' for k in range(1, count))
    text = f'{ONE}parameters: {{p: 2}}\ndefinitions:\n  d0: "p"\n{rows}couplings: {{c: q.j*d{count - 1}}}\n'
    assert len(load(tmp_path, "arm.yaml", text).couplings) == 1


def test_values_behind_aliases(tmp_path):
    frames = ", ".join(f"f{k}: [{k}, 0, 0]" for k in range(2000))
    bodies = "".join(f"  b{k}: {{mass: 1, frames: *f}}\n" for k in range(2000))
    text = f"bodies:\n  b: {{mass: 1, frames: &f {{{frames}}}}}\n{bodies}joints: {{}}\n"
    with pytest.raises(SymbodyError, match="values stand behind aliases"):
        load(tmp_path, "arm.yaml", text)


def test_directives_of_yaml(tmp_path):
    directives = "".join(f"%TAG !a{k}! tag:x,2000:\n" for k in range(100_000))
    with pytest.raises(SymbodyError, match=r"arm.yaml:101: more than 100 lines begin with %"):
        load(tmp_path, "arm.yaml", f"{directives}---\n{ONE}")


def test_copies_of_copies(tmp_path):
    for levels, count in ((30, 2), (2, 1_000_000), (14, 3)):
        body = f'<replicate count="{count}">' * levels + "<body/>" + "</replicate>" * levels
        with pytest.raises(SymbodyError, match="<replicate> and others make more than"):
            load(tmp_path, "arm.xml", f"<mujoco><worldbody>{body}</worldbody></mujoco>")


def test_models_that_attach_the_next_one_under_two_names(tmp_path):
    """2^18 files were read."""
    for k in range(18):
        models = "".join(f'<model name="{side}" file="arm{k + 1}.xml"/>' for side in "lr")
        bodies = f'<attach model="l" body="b" prefix="l"/><body name="b{k}"/><attach model="r" body="b" prefix="r"/>'
        text = f'<mujoco><asset>{models}</asset><worldbody><body name="b"/>{bodies}</worldbody></mujoco>'
        (tmp_path / f"arm{k}.xml").write_text(text)
    (tmp_path / "arm18.xml").write_text('<mujoco><worldbody><body name="b"/></worldbody></mujoco>')
    assert len(sb.load(tmp_path / "arm0.xml").bodies) == 4


def trees(count: int, joint: str = "") -> str:
    return "".join(
        f'<body><joint name="j{k}" axis="0 1 0" {joint}/><geom pos="0 0 1" size=".1"/></body>' for k in range(count)
    )


@pytest.mark.parametrize("joint", ["", 'springdamper="0.1 1"'])
def test_inertia_that_many_joints_feel(joint, tmp_path):
    count = 1500
    motors = "".join(f'<position joint="j{k}" kp="2" dampratio="1"/>' for k in range(0 if joint else count))
    path = tmp_path / "arm.xml"
    path.write_text(mjcf("", trees(count, joint), motors))
    mech = sb.load(path, actuators="laws")
    assert mech.nv == count
    assert len(mech.forces) == (0 if joint else 2 * count)


def test_a_tree_of_too_many_joints_for_the_inertia_that_they_feel(tmp_path):
    joints = "".join(f'<joint name="j{k}" springdamper="0.1 1"/>' for k in range(3000))
    with pytest.raises(SymbodyError, match="more than 2000 velocities"):
        load(tmp_path, "arm.xml", mjcf("", f'<body>{joints}<geom size=".1"/></body>'))


def test_springs_and_equalities_of_many_tendons(tmp_path, monkeypatch):
    count, asked = 100, []
    monkeypatch.setattr(TreeReader, "coordinate", lambda self, joint, attribute: asked.append(attribute) or 0.0)
    tendons = "".join(f'<fixed name="t{k}" stiffness="1"><joint joint="j{k}" coef="1"/></fixed>' for k in range(count))
    laws = "".join(f'<tendon tendon1="t{k}" tendon2="t{k + 1}"/>' for k in range(count - 1))
    sections = f"<tendon>{tendons}</tendon><equality>{laws}</equality>"
    text = f"<mujoco><worldbody>{trees(count)}</worldbody>{sections}</mujoco>"
    assert len(load(tmp_path, "arm.xml", text).couplings) == count - 1
    assert len(asked) < 10 * count


def test_sentences_without_the_middle_of_long_names(tmp_path):
    name = "n" * 100_000
    model = f"bodies:\n  b: {{mass: 1}}\njoints:\n  j: {{kind: revolute, parent: {name}, child: b}}\n"
    link = f'<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="{name}"><parent link="a"/>'
    for file, text in (("arm.yaml", model), ("arm.urdf", f'{link}<child link="b"/></joint></robot>')):
        with pytest.raises(SymbodyError, match=r"nnn \.\.\. ") as told:
            load(tmp_path, file, text)
        assert len(str(told.value)) < 2000
