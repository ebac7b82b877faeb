"""The model file: what is written is read back to the same numbers; its schema is the reader's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.bad_model_files import BAD, GOOD
from symbody.basics.errors import ModelError
from symbody.model.build.builder import Builder
from symbody.model.files.model_schema import PIECES, SCHEMA_FILE, model_schema, schema_text
from symbody.model.files.yaml_data import read_yaml
from symbody.model.files.yaml_file import read_text
from symbody.model.files.yaml_writer import to_yaml, write
from symbody.model.library.force_elements import FORCE_ELEMENTS
from symbody.model.load import FOLDER, bundled_names, load
from symbody.model.record.joints import KINDS
from symbody.model.record.mechanism import Mechanism, Shape
from symbody.model.record.numbers import number_of

PATTERNS = sorted(f"patterns/{p.stem}" for p in (FOLDER / "patterns").glob("*.yaml"))


def everything() -> Mechanism:
    """A Mechanism that uses every field of the format."""
    b = Builder("every: thing", gravity=(0, 0, "-g"), source="# no comment")
    b.parameter("g", 9.81)
    b.parameter("l", 0.5, "m", nonzero=True)
    b.parameter("k")
    shape = Shape("box", (0.1, 0.2, 0.3), b.placement((0, 0, 0.1), ("z", 0.3), "shape"), "", (1.0, 0.0, 0.5, 1.0))
    frames = {"p": ("l", 0, 0), "tool": {"position": (0, 0, 1), "rotation": ("y", 0.7)}}
    tensor = (0.3, 0.01, 0.3, 0.02, -0.01, 0.3)
    b.body("a", mass="2*l", com=("l/3", 0, 1e-7), inertia=tensor, shapes=[shape], frames=frames)
    b.body("b", mass=1, inertia=(1, 2, 9), physical=False)
    for name in ("c", "d", "e", "no", "1", "f", "g"):
        b.body(name, mass=0.1)
    laws = {"stiffness": "k", "rest": 0.1, "viscous": 0.2, "coulomb": "k/2", "rotor": ("l", -30, True)}
    turns = [("x", 0.2), ("z", "90*deg")]
    b.joint(
        "j1", "revolute", "world", "a", ("l", 0, 0), turns, (1, 2, 3), limits=(-1, 1, 5, 6), elastic=(100, 1), **laws
    )
    b.joint("j2", "helical", "a", "b", axis="-x", pitch="1/3", rotation=("x", "-90*deg"))
    b.joint("j3", "spherical", "b", "c", sequence="zyx")
    b.joint("j4", "prismatic", "c", "d", mode="driven", value="0.1*sin(t)*l")
    b.joint("j5", "revolute", "d", "e", mimic=("j2", 2, "l"))
    b.joint("yes", "revolute", "e", "no", mode="locked", value=0.25)
    b.joint("j7", "free", "world", "1", mode="passive")
    b.joint("j8", "cylindrical", "1", "f", mode="driven", value=["0.1*t", "l*sin(t)"])
    b.joint("j9", "free", "f", "g", mode="locked", value=[0.1, "l", 0, 0.6, 0, 0.8, 0])
    b.cut("close", "rod", "a.p", ("c", ""), length="l")
    b.cut("rows", "rows", "a", "b", rows=(3, 4))
    b.force("spring", "spring_damper", ["a.p", ("b", "")], stiffness="2*k", damping=3, law="pull")
    b.force("push", "point_force", ["a"], force=[1, "k", 0], axes="body")
    b.force("own", "external", ["a.p", "b"], function="-3*(Z - 1) + t")
    b.sensor("tip", "a", "tool").note("kept: as it is")
    return b.done()


def same_numbers(a: Mechanism, b: Mechanism) -> None:
    first, second = list(a.values()), list(b.values())
    assert len(first) == len(second)
    for x, y in zip(first, second):
        u, v = number_of(x), number_of(y)
        assert u == v or str(x) == str(y), (x, y)
        assert u is None or u == pytest.approx(v, rel=1e-15, abs=0)


def test_a_written_model_is_read_back(tmp_path):
    first = everything()
    second = load(write(first, tmp_path / "every.yaml"))
    same_numbers(first, second)
    assert to_yaml(second) == to_yaml(first)
    assert list(second.parameters) == list(first.parameters)
    assert [p.data.unit for p in second.parameters.values()] == [p.data.unit for p in first.parameters.values()]
    for what in ("name", "source", "notes", "nq", "nv", "elastic_coordinates"):
        assert getattr(first, what) == getattr(second, what), what
    for a, b in zip(first.joints, second.joints):
        for what in ("name", "kind", "parent", "child", "mode", "sequence"):
            assert getattr(a, what) == getattr(b, what), what
        assert a.limits.upper == b.limits.upper
    assert second.bodies[0].shapes[0].size == (0.1, 0.2, 0.3)
    assert not second.body("b").physical
    assert [c.rows for c in second.cuts] == [(), (3, 4)]
    assert [dict(f.values).get("law") for f in second.forces] == ["pull", None, None]
    assert second.forces[2].values["function"] == "-3*(Z - 1) + t"


@pytest.mark.parametrize("name", [*bundled_names(), *PATTERNS])
def test_bundled_models_survive_writing(name):
    first = load(name)
    second = read_text(to_yaml(first))
    same_numbers(first, second)
    assert [p.data.nonzero for p in second.parameters.values()] == [p.data.nonzero for p in first.parameters.values()]


def test_names_with_characters_beyond_16_bits_are_read_back(tmp_path):
    """JSON writes them as two halves, which were no text, or two question marks in the name of the model."""
    make = Mechanism.builder("robot \U0001f916").body("arm \U0001f9be", mass=1.0)
    write(make.joint("turn \U0001f504", "revolute", "world", "arm \U0001f9be").done(), tmp_path / "robot.yaml")
    again = load(tmp_path / "robot.yaml")
    assert (again.name, again.bodies[0].name) == ("robot \U0001f916", "arm \U0001f9be")
    assert again.joints[0].name == "turn \U0001f504"


def test_random_floats_keep_every_digit():
    values = np.random.default_rng(5).normal(size=30) * 10.0 ** np.arange(-15, 15)
    b = Builder("digits")
    for k, v in enumerate(values):
        b.body(f"b{k}", com=(v, 0, -v)).joint(f"j{k}", "revolute", "world", f"b{k}")
    first = b.done()
    second = read_text(to_yaml(first))
    assert [x.data for body in first.bodies for x in body.com] == [x.data for body in second.bodies for x in body.com]


def test_errors_and_symbols_keep_file_and_line():
    arm = read_text(
        "parameters:\n  m: 1\nbodies:\n  a: {mass: m}\njoints:\n  j: {kind: free, parent: world, child: a}\n",
        "arm.yaml",
    )
    assert arm.parameters["m"].data.origin == "arm.yaml:2"
    assert (arm.bodies[0].origin, arm.joints[0].origin) == ("arm.yaml:4", "arm.yaml:6")


def test_the_schema_in_the_package_is_the_one_that_the_reader_uses():
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text()


@pytest.mark.parametrize("name", [*bundled_names(), *PATTERNS])
def test_bundled_files_satisfy_the_schema(name):
    data = read_yaml((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), name)
    assert wrong(data, model_schema(), model_schema()["$defs"]) == []


@pytest.mark.parametrize(
    "what", ["unknown key in a body", "unknown joint kind", "short axis", "no parent", "cuts as a number"]
)
def test_the_schema_refuses_bad_files(what):
    old, new, _, _ = BAD[what]
    assert wrong(read_yaml(GOOD.replace(old, new, 1), "bad"), model_schema(), model_schema()["$defs"]) != []


TYPES = {"string": str, "boolean": bool, "number": (int, float), "integer": int, "object": dict, "array": list}


def wrong(data: Any, schema: dict[str, Any], definitions: dict[str, Any]) -> list[str]:
    """What in the data does not fit a schema: the part of JSON schema that ours uses."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in schema:
        return [] if any(not wrong(data, s, definitions) for s in schema["anyOf"]) else [f"{data} fits no choice"]
    out = []
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(data is None if k == "null" else isinstance(data, TYPES[k]) for k in kinds):
        out.append(f"{data} is not {kinds}")
    if ("enum" in schema and data not in schema["enum"]) or ("const" in schema and data != schema["const"]):
        out.append(f"{data} is no choice")
    if isinstance(data, list):
        if not schema.get("minItems", 0) <= len(data) <= schema.get("maxItems", len(data)):
            out.append(f"{data} has {len(data)} items")
        for item in data:
            out += wrong(item, schema.get("items", {}), definitions)
    if isinstance(data, dict):
        out += [f"{key} is missing" for key in schema.get("required", []) if key not in data]
        more = schema.get("additionalProperties", {})
        for key, value in data.items():
            inner = schema.get("properties", {}).get(key, more)
            out += [f"{key} is unknown"] if inner is False else wrong(value, inner, definitions)
    return out


def test_the_same_file_gives_the_same_text_every_time():
    assert to_yaml(load("panda")) == to_yaml(load("panda"))


def test_the_example_of_the_manual_is_read():
    manual = (Path(__file__).parents[2] / "docs" / "model_file.md").read_text(encoding="utf-8")
    arm = read_text(manual.split("```yaml\n")[1].split("```")[0], "arm.yaml")
    assert list(arm.parameters) == ["l1", "m1", "m_fore"]
    assert all(f"`{name}`" in manual for name in bundled_names() if not name.startswith("pendulum"))
    assert all(f"`{kind}`" in manual for kind in KINDS)
    assert all(f"`{key}`" in manual for key in PIECES["joint"]["properties"])
    assert all(f"`{kind}`" in manual for kind in FORCE_ELEMENTS)
    for row in FORCE_ELEMENTS.values():
        chosen = [{}, *({name: word} for name, words in row.variants.items() for word in words)]
        keys = {key for words in chosen for key in row.fields_for(words) if not key.isupper()}
        assert not [key for key in keys if f"`{key}`" not in manual]


def test_the_values_of_joints_in_the_manual_are_read():
    manual = (Path(__file__).parents[2] / "docs" / "model_file.md").read_text(encoding="utf-8")
    joints = next(block for block in manual.split("```") if "slide: {kind: cylindrical" in block)
    made = read_text(joints.removeprefix("yaml\n") + "bodies: {a: , hull: , b: }\nparameters: {v: 3}\n")
    assert [len(j.values) for j in made.joints] == [2, 6, 4]
    assert made.nv == 6


EXPRESSIONS = """\
name: expressions
parameters: {L: 0.8, unknown: }
definitions: {half: L/2}
bodies:
  a:
    mass: 1
    frames:
      tip: auto
      side: {position: [half, auto, 0], rotation: [z, half]}
    shapes:
      - {kind: box, size: [L, half, 2*half], position: [half, 0, 0], colour: [L, 0, 1/2, 1]}
joints:
  j:
    kind: revolute
    parent: world
    child: a
    limits: %s
"""


def test_expressions_stand_wherever_numbers_stand():
    made = read_text(EXPRESSIONS % "{lower: -L, upper: half, velocity: 2*L, effort: 10*L}")
    limits = made.joint("j").limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == pytest.approx((-0.8, 0.4, 1.6, 8.0))
    shape = made.body("a").shapes[0]
    assert shape.size == pytest.approx((0.8, 0.4, 0.8))
    assert shape.colour == pytest.approx((0.8, 0, 0.5, 1))
    frames = made.body("a").frames
    assert [str(x) for x in frames["tip"].position] == ["p_a_tipx", "p_a_tipy", "p_a_tipz"]
    assert str(frames["side"].position[1]) == "p_a_sidey"
    assert {"p_a_tipx", "p_a_sidey", "L"} <= set(made.parameters)


def test_bounds_need_parameters_with_a_value():
    with pytest.raises(ModelError, match=r"expressions.yaml:17: upper limit .* default"):
        read_text(EXPRESSIONS % "[-L, unknown]", "expressions.yaml")
    sized = EXPRESSIONS.replace("size: [L,", "size: [auto,")
    with pytest.raises(ModelError, match=r":10: size of a shape .*'auto'; expected a number"):
        read_text(sized % "[-L, L]")


@pytest.mark.parametrize(
    ("kind", "size", "file"),
    [("capsule", (0.1, 0.3), ""), ("ellipsoid", (0.1, 0.2, 0.3), ""), ("mesh", (1.0, -1.0, 1.0), "a.stl")],
)
def test_shapes_of_other_formats_are_read_back(kind, size, file):
    b = Builder("m")
    b.body("a", 1, shapes=[Shape(kind, size, b.placement((0, 0, 0), None, "shape"), file)])
    b.joint("j", "revolute", "world", "a")
    (shape,) = read_text(to_yaml(b.done())).bodies[0].shapes
    assert (shape.kind, shape.size, shape.file) == (kind, size, file)


def test_names_longer_than_a_plain_key_of_yaml_are_read_back():
    body, joint, frame, mass = (letter * 3000 for letter in "bjfm")
    b = Builder("m")
    b.parameter(mass, 2.0)
    b.body(body, mass, frames={frame: (0, 0, 1)})
    b.joint(joint, "revolute", "world", body)
    b.keyframe("home", {joint: 0.5})
    again = read_text(to_yaml(b.done()))
    assert (again.bodies[0].name, list(again.bodies[0].frames), list(again.parameters)) == (body, [frame], [mass])
    assert again.keyframes[0].q == {joint: (0.5,)}


def test_an_expression_that_no_model_file_can_hold_is_not_written():
    b = Builder("m")
    node = b.parameter("p", 0.01)
    for _ in range(12):
        node = b.define(f"d{len(b.names)}", node * node + node)
    b.body("a", node)
    b.joint("j", "revolute", "world", "a")
    with pytest.raises(ModelError, match="a model file holds 10000"):
        to_yaml(b.done())
