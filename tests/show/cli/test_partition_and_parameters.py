"""Independent joints and values of parameters from the command line; models whose loops cannot be closed."""

import json

import pytest

import symbody as sb
from symbody.show.cli.commands.schema import text as schema_text

BODY = "  {name}: {{mass: 1, com: [{half}, 0, 0], inertia: [0, 0, 0.1], frames: {{end: [{length}, 0, 0]}}}}\n"


def four_bar(path, coupler):
    """Bars of 1, `coupler` and 1 m on a ground of 2 m: closed for 0 < coupler < 4."""
    bars = {"crank": 1, "coupler": coupler, "rocker": 1}
    path.write_text(
        "symbody: 1\nname: bars\nparameters: {k: 5.0}\nbodies:\n"
        + "".join(BODY.format(name=n, half=x / 2, length=x) for n, x in bars.items())
        + "joints:\n"
        "  crank: {kind: revolute, parent: world, child: crank, axis: z, stiffness: k}\n"
        "  coupler: {kind: revolute, parent: crank, child: coupler, position: [1, 0, 0], axis: z}\n"
        "  rocker: {kind: revolute, parent: world, child: rocker, position: [2, 0, 0], axis: z}\n"
        "cuts: {loop: {kind: rows, rows: [x, y], between: [coupler.end, rocker.end]}}\n"
    )
    return path


def fits_its_schema(command, data):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(json.loads(schema_text(command))).validate(data)


@pytest.fixture
def impossible(here):
    return four_bar(here / "impossible.yaml", 5)


def test_info_shows_what_an_impossible_linkage_is_made_of_and_then_why(call, impossible):
    result = call("info", impossible)
    assert result.exit_code == 1
    for words in ("coupler [revolute z", "joints      3 revolute", "parameters  1: k", "loops       2 constraints"):
        assert words in result.stdout
    assert "degrees of freedom not known" in result.stdout
    assert result.stderr.startswith("symbody: bars cannot be assembled: open loops 'loop'")
    assert "cannot be assembled" not in result.stdout


def test_info_keeps_its_schema_where_loops_stay_open(call, impossible):
    result = call("info", impossible, "--json")
    assert result.exit_code == 1
    facts = json.loads(result.stdout)
    fits_its_schema("info", facts)
    assert facts["loops"]["constraints"] == 2
    assert facts["mobility"] is None
    assert "cannot be assembled" in facts["loops"]["problem"]


def test_info_shows_the_partition_that_was_asked_for(call, here):
    path = four_bar(here / "bars.yaml", 2)
    for joint in ("crank", "coupler", "rocker"):
        result = call("info", path, "--partition", joint)
        assert result.exit_code == 0
        assert f"independent {joint}\n" in result.stdout
    facts = json.loads(call("info", path, "--independent", "rocker", "--json").stdout)
    assert facts["loops"]["independent"] == ["rocker"]


WRONG = [
    (("info", "four_bar", "--partition", "rockr"), 2, "Did you mean 'rocker'?"),
    (("info", "four_bar", "--partition", "crank,rocker"), 2, "1 of them are independent"),
    (("info", "pendulum2", "--partition", "joint1"), 2, "pendulum2 has no closed loops"),
    (("simulate", "four_bar", "-t", "0.1", "--partition", "crank,,rocker"), 2, "expected names of joints"),
    (("simulate", "--resume", "x.ckpt", "--partition", "crank"), 2, "a checkpoint holds it"),
    (("linearize", "four_bar", "--partition", "pivoting"), 2, "takes the names of the joints"),
    (("linearize", "four_bar", "--partition", "rockr"), 2, "'rocker'"),
    (("verify", "pendulum2", "--parameter", "m1=0"), 2, "parameter 'm1' is 0; expected another number"),
    (("verify", "pendulum2", "--parameter", "m1=-2kg"), 2, "body 'rod1' has mass -2; expected 0 or more, kg."),
    (("verify", "pendulum2", "--parameter", "m3=1"), 2, "has no parameter 'm3'"),
    (("modes", "pendulum2", "--parameter", "m2=-1"), 2, "body 'rod2' has mass -1"),
    (("equilibrium", "pendulum2", "--parameter", "l1=0"), 2, "parameter 'l1' is 0"),
    (("report", "pendulum2", "--parameter", "m1=nan"), 2, "expected a finite number"),
    (("info", "robot.yml"), 1, "there is no file 'robot.yml'. Did you mean 'robot.yaml'?"),
    (("info", "robot.yal"), 1, "there is no file 'robot.yal'. Did you mean 'robot.yaml'?"),
    (("info", "plans/robot.yaml"), 1, "because there is no folder 'plans'"),
    (("info", "plans/robot"), 1, "because there is no folder 'plans'"),
    (("info", "unheard_of.urdf"), 1, "there is no file 'unheard_of.urdf'. Expected a file"),
]


@pytest.mark.parametrize(("words", "status", "text"), WRONG, ids=[" ".join(w[0]) for w in WRONG])
def test_wrong_joints_numbers_and_paths_give_a_sentence(call, here, words, status, text):
    (here / "robot.yaml").write_text("symbody: 1\n")
    result = call(*words)
    assert result.exit_code == status
    assert text in " ".join(result.stderr.split())
    assert "acma_h80" not in result.stderr  # a path that is wrong is answered without the list of bundled models


def test_verify_certifies_the_numbers_that_were_given(call):
    plain = json.loads(call("verify", "pendulum2", "--states", "2", "--json").stdout)
    data = json.loads(call("verify", "pendulum2", "--states", "2", "--parameter", "m1=2.5kg,l2=400mm", "--json").stdout)
    fits_its_schema("verify", data)
    assert data["passed"]
    assert data["parameters"] == {"m1": 2.5, "l2": 0.4}
    assert plain["parameters"] == {}
    assert [c["text"] for c in plain["checks"]] == [c["text"] for c in data["checks"]]
    assert [c["error"] for c in plain["checks"]] != [c["error"] for c in data["checks"]]
    assert "with m1 = 2" in call("verify", "pendulum2", "--states", "1", "-p", "m1=2").stdout


@pytest.mark.slow
def test_verify_certifies_closed_loops_with_other_joints_and_lengths(call):
    data = json.loads(
        call("verify", "four_bar", "--states", "2", "--partition", "rocker", "-p", "a=120mm", "--json").stdout
    )
    assert data["passed"]
    assert data["independent"] == ["rocker"]


def test_linear_models_keep_the_joint_that_was_named(call):
    """Another coordinate of the same motion: the eigenvalues stay."""
    found = [
        json.loads(call("linearize", "four_bar", "--partition", joint, "--json").stdout)
        for joint in ("crank", "rocker")
    ]
    assert [f["coordinates"] for f in found] == [["crank"], ["rocker"]]
    a, b = ([x["re"] for x in f["eigenvalues"]] for f in found)
    assert a == pytest.approx(b, rel=1e-9)


def test_motion_does_not_depend_on_the_partition(call, here):
    ends = []
    for joint in ("crank", "rocker"):
        result = call("simulate", "four_bar", "-t", "0.2", "--q0", "crank=30deg", "--partition", joint, "--json")
        assert result.exit_code == 0
        ends.append(json.loads(result.stdout)["quantities"]["q"]["end"])
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)


def test_count_counts_the_program_of_the_partition(call):
    totals = {}
    for joint in ("crank", "rocker"):
        words = ("count", "four_bar", "-q", "inverse", "-f", "base", "--partition", joint, "--json")
        totals[joint] = json.loads(call(*words).stdout)["counts"][0]["total"]
        made = sb.inverse_dynamics(sb.load("four_bar"), "base", partition=[joint])
        assert totals[joint] == made.count().total
    assert totals["crank"] != totals["rocker"]


def test_one_is_counted_in_the_singular(call, here):
    assert call("new", "bench", "--kind", "slider").exit_code == 0
    text = call("info", "bench.yaml").stdout
    assert "1 position, 1 velocity" in text
    assert "1 body, 1 joint" in text
    assert "1 bodies" not in text
    assert "certified at 1 random state\n" in call("verify", "bench.yaml", "--states", "1").stdout
