"""Every command on every bundled model, its JSON against its schema; large models are slow."""

import json

import pytest

from symbody.model.load import bundled_names
from symbody.motion.trajectory.outcome import Outcome
from symbody.show.cli.commands.schema import FOLDER, names

jsonschema = pytest.importorskip("jsonschema")

QUICK = ("pendulum2", "slider_crank")
MODELS = [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in bundled_names()]


def schema(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def checked(result, name, statuses=(0,)):
    """The JSON of a result, after its schema."""
    assert result.exit_code in statuses, result.stderr
    data = json.loads(result.stdout, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    jsonschema.Draft202012Validator(schema(name)).validate(data)
    return data


@pytest.mark.parametrize("model", MODELS)
def test_every_command_works_on_every_model(call, here, model):
    facts = checked(call("info", model, "--json"), "info")
    text = call("info", model).stdout
    assert facts["joints"][0]["name"] in text
    assert (facts["loops"] is None) == ("independent" not in text)
    one = checked(call("examples", model, "--json"), "examples")["models"][0]
    assert one["mobility"] == facts["mobility"]
    counts = checked(call("count", model, "-q", "forward", "-f", "base", "--json"), "count")["counts"]
    assert bool(counts[0]["blocks"]) == (facts["loops"] is not None)
    checked(call("emit", model, "-q", "forward", "-f", "base", "--json"), "emit")
    run = checked(call("simulate", model, "-t", "5ms", "--samples", "3", "--output", "energy", "--json"), "simulate")
    assert run["outcome"]["code"] == "FINISHED"
    assert len(run["quantities"]["q"]["end"]) == facts["nq"]
    linear = checked(call("linearize", model, "--json"), "linearize")
    assert len(linear["speeds"]) == facts["mobility"]
    assert call("linearize", model).exit_code == 0
    found = checked(call("modes", model, "--json"), "modes")
    assert all(sum(m["participation"]) <= 1 + 1e-6 for m in found["modes"])
    assert call("modes", model).exit_code == 0
    checked(call("equilibrium", model, "--starts", "1", "--json"), "equilibrium", statuses=(0, 1))
    checked(call("report", model, "--no-certificate", "--no-equations", "--json"), "report")
    assert (here / f"{model}.html").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("model", bundled_names())
def test_every_bundled_model_is_certified(call, model):
    facts = checked(call("verify", model, "--states", "3", "--json"), "verify", statuses=(0, 1))
    assert facts["passed"], [c for c in facts["checks"] if not c["passed"]]


def test_other_documents_follow_their_schemas(call, here):
    checked(call("new", "swing", "--json"), "new")
    call("new", "bench", "--kind", "slider")
    checked(call("verify", "bench.yaml", "--states", "2", "--json"), "verify")
    checked(call("examples", "car", "--copy", "--json"), "examples")
    checked(call("count", "pendulum2", "-f", "base", "-f", "order_n", "--json"), "count")
    checked(call("modes", "bench.yaml", "--json"), "modes")
    words = ("--q0", "upper=1", "--stop-when", "q.upper < 0", "--output", "energy", "--out", "a.csv", "--json")
    checked(call("simulate", "swing.yaml", "-t", "2", *words), "simulate")
    checked(call("linearize", "swing.yaml", "--csv", "folder", "--json"), "linearize")
    assert len(list((here / "folder").iterdir())) == 12


def test_numbers_that_are_not_finite_become_null(capsys):
    from symbody.show.cli.common import print_json

    print_json({"a": float("nan"), "b": [float("inf"), 1.0], "c": complex(0, float("-inf"))})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, 1.0], "c": {"re": 0.0, "im": None}}


@pytest.mark.parametrize("name", names())
def test_schemas_are_schemas_and_are_printed(call, name):
    printed = json.loads(call("schema", name).stdout)
    jsonschema.Draft202012Validator.check_schema(printed)
    if name != "model_file":
        assert printed == schema(name)
        assert "null" in printed["description"]


def test_every_command_with_json_has_a_schema(call):
    from symbody.show.cli.app import COMMANDS

    with_json = [name for name in COMMANDS if "--json" in call(name, "--help").stdout and name != "schema"]
    assert sorted(with_json) == [n for n in names() if n != "model_file"]


def test_the_schema_of_simulate_knows_every_outcome():
    known = schema("simulate")["properties"]["outcome"]["properties"]["code"]["enum"]
    assert sorted(known) == sorted(o.name for o in Outcome)
