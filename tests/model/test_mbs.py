"""ROBOTRAN files: structure, parameters, cuts and forces as the file has them; M by an independent definition."""

import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from helpers.damaged_files import assert_read_or_refused, damaged
from helpers.mechanism_numbers import Numbers
from symbody.basics.errors import ModelError
from symbody.mechanics.formalisms.composite import mass_and_bias
from symbody.mechanics.formalisms.tree import build_tree
from symbody.model.files import mbs

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data" / "robotran_models"


def model(name):
    path = SHARED / f"{name}.mbs"
    if not path.is_file():
        pytest.skip("the ROBOTRAN models are not here")
    return path


def saved(tmp_path, text):
    path = tmp_path / "model.mbs"
    path.write_text(text, encoding="utf-8")
    return path


def xyz(x, y, z):
    return f"<coordinates><x>{x}</x><y>{y}</y><z>{z}</z></coordinates>"


PENDULUM = f"""<?xml version="1.0" encoding="UTF-8"?>
<mbsDescR7>
<mbsname>swing</mbsname>
<base><gravity>{xyz(0, 0, -9.81)}</gravity><baseBodyName>ground floor</baseBodyName>
<point><pointname>hook</pointname>{xyz(0, 0, 2)}</point></base>
<bodytree>
<body><bodyname>arm</bodyname><parent><bodyname>base</bodyname><pointname>hook</pointname></parent>
<joint><jointname>slide</jointname><type>T2</type><nature>independent</nature></joint>
<joint><jointname>swing</jointname><type>R1</type><nature>dependent</nature><initialvalue><q>0.3</q></initialvalue></joint>
<mass>2.0</mass><com>{xyz(0, 0, -0.5)}</com><inertia><Ixx>0.1</Ixx><Iyy>0.2</Iyy><Izz>.15</Izz><Ixz>.01</Ixz></inertia>
<point><pointname>end</pointname>{xyz(0.1, 0, -1)}<sensor name="tip" Pos="true"/><extforce name="push"/></point>
</body>
<body><bodyname>bob</bodyname><parent><bodyname>arm</bodyname><pointname>end</pointname></parent>
<joint><jointname>spin</jointname><type>R3</type><nature>locked</nature><initialvalue><q>0.4</q></initialvalue></joint>
<joint><jointname>turn</jointname><type>R2</type><nature>driven</nature></joint>
<mass>1.0</mass><inertia><Ixx>0.1</Ixx><Iyy>0.1</Iyy><Izz>0.1</Izz></inertia>
</body>
</bodytree>
<cuts>
<ball><name>b</name><endpoint1><bodyname>arm</bodyname><pointname>end</pointname></endpoint1>
<endpoint2><bodyname>base</bodyname><pointname>hook</pointname></endpoint2></ball>
<rod><name>r</name><length>1.5</length><endpoint1><bodyname>bob</bodyname><pointname>origin</pointname></endpoint1>
<endpoint2><bodyname>base</bodyname><pointname>origin</pointname></endpoint2></rod>
</cuts>
<links><link><name>spring</name><endpoint1><bodyname>arm</bodyname><pointname>end</pointname></endpoint1>
<endpoint2><bodyname>bob</bodyname><pointname>origin</pointname></endpoint2></link></links>
<user_models><user_model><name>Motor</name></user_model></user_models>
</mbsDescR7>"""


# -- the two published models


@pytest.mark.parametrize(
    ("name", "bodies", "joints", "cuts", "links", "external", "sensors"),
    [("car_43", 28, 43, 10, 4, 4, 2), ("coman_29", 24, 29, 0, 0, 3, 52)],
)
def test_published_model_has_the_counts_of_its_file(name, bodies, joints, cuts, links, external, sensors):
    path = model(name)
    mech = mbs.read(path)
    text = path.read_text(encoding="utf-8")
    assert (mech.nq, len(mech.joints), len(mech.cuts)) == (joints, joints, cuts)
    # names and order are ROBOTRAN's; massless bodies stand between joints in turn
    assert [j.name for j in mech.joints] == re.findall(r"<jointname>(.*?)</jointname>", text)
    named = re.findall(r"<body>\s*<bodyname>(.*?)</bodyname>", text)
    assert len(named) == bodies
    assert [b.name for b in mech.bodies if b.name in named] == named
    assert len(mech.bodies) == joints
    kinds = Counter(f.kind for f in mech.forces)
    assert (kinds["link"], kinds["external"], len(mech.sensors)) == (links, external, sensors)
    written = sum(float(m) for m in re.findall(r"<mass>(.*?)</mass>", text))
    assert Numbers(mech, np.zeros(mech.nq)).total_mass() == pytest.approx(written)
    axes = Counter(re.findall(r"<type>([RT][123])</type>", text))
    got = Counter(
        f"{j.kind[0].upper().replace('P', 'T')}{[float(a.data) for a in j.axis].index(1) + 1}" for j in mech.joints
    )
    assert got == axes


def test_car_cuts_join_points_that_exist_and_dependent_joints_are_passive():
    mech = mbs.read(model("car_43"))
    assert {c.kind for c in mech.cuts} == {"ball"}
    for cut in mech.cuts:
        for body, frame in (cut.first, cut.second):
            assert frame in mech.body(body).frames
    assert Counter(j.mode for j in mech.joints) == {"passive": 28, "actuated": 15}


@pytest.mark.parametrize("name", ["car_43", "coman_29"])
def test_every_number_is_a_symbol_and_every_zero_structure(name):
    """As ROBOTRAN's generated code has it: 0 vanishes, any other number is a parameter, gravity too."""
    path = model(name)
    mech = mbs.read(path)
    text = re.sub(r"<graphics>.*?</graphics>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    body = text[: text.index("</bodytree>")]
    numbers = [float(n) for n in re.findall(r"<(?:mass|I..|x|y|z)>(.*?)</", body)]
    assert len(mech.parameters) == sum(n != 0 for n in numbers)
    assert mech.parameters["gz"].data.default == -9.81
    assert sorted(s.data.default for s in mech.parameters.values()) == sorted(n for n in numbers if n)
    assert mbs.read(path, symbolic=False).parameters == {}


@pytest.mark.parametrize("name", ["car_43", "coman_29"])
def test_symbolic_mass_matrix_is_the_sum_over_bodies(name):
    mech = mbs.read(model(name))
    tree = build_tree(mech)
    q = np.random.default_rng(2).uniform(-1, 1, mech.nq)
    here = Numbers(mech, q)
    values = {**here.defaults, **{f"q{k + 1}": x for k, x in enumerate(q)}}
    mass, _ = mass_and_bias(tree)
    flat = [x if isinstance(x, sb.Node) else tree.graph.number(x) for x in np.asarray(mass, dtype=object).flat]
    got = np.array(sb.evaluate(flat, values), dtype=float).reshape(mech.nv, mech.nv)
    expected = here.mass_matrix()
    assert np.abs(got - expected).max() <= 1e-12 * np.abs(expected).max()


# -- a small one


def test_chains_points_and_natures(tmp_path):
    mech = mbs.read(saved(tmp_path, PENDULUM))
    assert mech.name == "swing"
    assert [(j.name, j.parent, j.child, j.mode) for j in mech.joints[:4]] == [
        ("slide", "world", "arm_1", "actuated"), ("swing", "arm_1", "arm", "passive"),
        ("spin", "arm", "bob_1", "locked"), ("turn", "bob_1", "bob", "driven"),
    ]  # fmt: skip
    assert float(mech.joint("spin").value.data) == 0.4
    here = Numbers(mech, [0.5, 0.3, 0.0])
    # slide along y, then swing about x: the bob hangs on the end of the arm
    c, s = np.cos(0.3), np.sin(0.3)
    assert here.poses["bob"][1] == pytest.approx([0.1, 0.5 + s, 2 - c])
    assert here.frame("arm", "end")[1] == pytest.approx(here.poses["bob"][1])


def test_cuts_links_forces_and_sensors_are_kept(tmp_path):
    mech = mbs.read(saved(tmp_path, PENDULUM))
    ball, rod = mech.cuts
    assert (ball.kind, ball.first, ball.second) == ("ball", ("arm", "end"), ("ground", "hook"))
    assert (rod.kind, rod.first, rod.second) == ("rod", ("bob", ""), ("world", ""))
    assert rod.length.data.default == 1.5
    assert Numbers(mech, np.zeros(3)).frame("ground", "hook")[1] == pytest.approx([0, 0, 2])
    assert {f.name: (f.kind, f.points) for f in mech.forces} == {
        "push": ("external", (("arm", "end"),)), "spring": ("link", (("arm", "end"), ("bob", ""))),
    }  # fmt: skip
    assert [(s.name, s.body, s.frame) for s in mech.sensors] == [("tip", "arm", "end")]


def test_initial_values_are_a_keyframe_that_is_written_too(tmp_path):
    mech = mbs.read(saved(tmp_path, PENDULUM))
    assert {k.name: dict(k.q) for k in mech.keyframes} == {"initial": {"swing": (0.3,)}}
    sb.save(mech, tmp_path / "again.mbs")
    assert dict(sb.load(tmp_path / "again.mbs").keyframe("initial").q) == {"swing": (0.3,)}


def test_what_is_left_out_is_noted(tmp_path):
    notes = " | ".join(mbs.read(saved(tmp_path, PENDULUM)).notes)
    for part in ("'turn' is driven by user code", "user models were left out: Motor",
                 "dependent joints (passive here): swing"):  # fmt: skip
        assert part in notes


def test_parameters_have_names_units_and_lines(tmp_path):
    p = mbs.read(saved(tmp_path, PENDULUM)).parameters
    assert set(p) == {
        "gz", "m_arm", "cz_arm", "Ixx_arm", "Iyy_arm", "Izz_arm", "Ixz_arm", "px_arm_end", "pz_arm_end", "pz_arm_hook",
        "m_bob", "Ixx_bob", "Iyy_bob", "Izz_bob", "pz_ground_hook", "length_r",
    }  # fmt: skip
    assert (p["px_arm_end"].data.unit, p["px_arm_end"].data.nonzero) == ("m", True)
    assert p["px_arm_end"].data.origin == "model.mbs:11"


# -- refused


def changed(old, new):
    assert old in PENDULUM
    return PENDULUM.replace(old, new, 1)


BAD = {
    "not XML": ("x", 1, "not well-formed XML"),
    "other root": ("<robot/>", 1, "root is <robot>; expected <mbsDescR7>"),
    "no base": ("<mbsDescR7/>", 1, "no <base>"),
    "no tree": ("<mbsDescR7>\n<base/></mbsDescR7>", 1, "no <bodytree>"),
    "unknown type": (changed("T2", "R4"), 8, "type 'R4'; expected one of T1, T2, T3, R1, R2, R3"),
    "unknown nature": (changed("<nature>dependent", "<nature>lazy"), 9, "nature 'lazy'"),
    "no type": (changed("<type>T2</type>", ""), 8, "no text in <type>"),
    "joint without name": (changed("<jointname>slide</jointname>", ""), 8, "no text in <jointname>"),
    "unknown parent": (changed("<bodyname>arm</bodyname><pointname>end", "<bodyname>arn</bodyname><pointname>end"), 13,
                       "hangs on 'arn', which is no body. Did you mean 'arm'"),
    "unknown point": (changed("<bodyname>arm</bodyname><pointname>end", "<bodyname>arm</bodyname><pointname>ende"), 13,
                      "point 'ende' is named, which body 'arm' has not. Did you mean 'end'"),
    "unknown point of base": (changed("<pointname>hook</pointname></parent>", "<pointname>n</pointname></parent>"), 7,
                                  "which the base has not"),
    "body twice": (changed("<bodyname>bob</bodyname>", "<bodyname>arm</bodyname>"), 13, "second body 'arm'"),
    "body called base": (changed("<bodyname>bob</bodyname>", "<bodyname>base</bodyname>"), 13, "which is the ground"),
    "joint twice": (changed("<jointname>swing", "<jointname>slide"), 9, "second joint 'slide'"),
    "negative mass": (changed("<mass>2.0", "<mass>-2.0"), 10, "mass -2"),
    "a word for a number": (changed("<mass>2.0", "<mass>two"), 10, "'two' is not a number"),
    "infinite": (changed("<mass>2.0", "<mass>inf"), 10, "'inf' is not a number"),
    "two masses": (changed("<mass>2.0</mass>", "<mass>2</mass>\n<mass>3</mass>"), 11, "a second <mass>"),
    "negative inertia": (changed("<Ixx>0.1", "<Ixx>-0.1"), 10, "negative moment of inertia"),
    "unknown cut": (changed("<rod>", "<bar>").replace("</rod>", "</bar>"), 22, "<bar> is no cut"),
    "rod without length": (changed("<length>1.5</length>", ""), 22, "no <length> above zero"),
    "cut without end": (changed("<endpoint2>", "<end2>").replace("</endpoint2>", "</end2>", 1), 20, "no <endpoint2>"),
    "cut on nothing": (changed("<bodyname>bob</bodyname><pointname>or", "<bodyname>b</bodyname><pointname>or"), 22,
                       "which is no body"),
    "doctype": ("<!DOCTYPE m>\n" + PENDULUM.split("\n", 1)[1], 1, "without DTD and entities"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_file_is_refused_in_one_sentence_with_its_line(tmp_path, what):
    text, line, sentence = BAD[what]
    with pytest.raises(ModelError) as caught:
        mbs.read(saved(tmp_path, text))
    message = str(caught.value)
    assert message.startswith(f"model.mbs:{line}: "), message
    assert sentence in message
    assert "\n" not in message


def test_bodies_that_carry_each_other_are_refused(tmp_path):
    text = changed("<bodyname>base</bodyname><pointname>hook</pointname></parent>",
                   "<bodyname>bob</bodyname><pointname>origin</pointname></parent>")  # fmt: skip
    with pytest.raises(ModelError, match="cycle"):
        mbs.read(saved(tmp_path, text))


@pytest.mark.parametrize("seed", range(4))
def test_random_damage_never_escapes_as_another_error(tmp_path, seed):
    rng = random.Random(seed)
    words = ("base", "arm", "bob", "ground", "world", "R2", "T3", "ball", "rod", "locked", "origin", "end")
    for _ in range(150):
        assert_read_or_refused(mbs.read, tmp_path / "model.mbs", damaged(PENDULUM, rng, words))
