"""The command line as a stranger would use it, also wrongly."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from symbody.cli.app import app
from symbody.model.load import bundled_names

runner = CliRunner()


def call(*words):
    result = runner.invoke(app, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.mark.parametrize("name", bundled_names())
def test_info_describes_every_bundled_model(name):
    text = call("info", name)
    assert text.exit_code == 0
    facts = json.loads(call("info", name, "--json").stdout)
    assert facts["nv"] > 0
    assert facts["source"]
    assert facts["joints"][0]["name"] in text.stdout


def test_count_prints_a_row_for_each_quantity_and_formalism():
    data = json.loads(call("count", "pendulum2", "-f", "newton_euler", "-f", "base", "--json").stdout)
    assert len(data["counts"]) == 6
    for row in data["counts"]:
        assert row["total"] == row["mul"] + row["add"] + row["div"]
    table = call("count", "pendulum2", "-q", "inverse", "-f", "base")
    assert table.exit_code == 0
    assert "inverse" in table.stdout


def test_verify_certifies_and_says_so():
    data = json.loads(call("verify", "pendulum2", "--states", "5", "--json").stdout)
    assert data["passed"]
    assert all(c["passed"] for c in data["checks"])
    text = call("verify", "pendulum2", "--states", "5")
    assert text.exit_code == 0
    assert "certified" in text.stdout


def test_emit_writes_a_header_and_a_source(tmp_path):
    result = call("emit", "pendulum2", "-f", "base", "--out", str(tmp_path / "new"))
    assert result.exit_code == 0
    assert sorted(p.suffix for p in (tmp_path / "new").iterdir()) == [".c", ".h"]


def test_emit_carries_the_certificate(tmp_path):
    assert call("emit", "pendulum2", "-f", "base", "--certify", "--out", str(tmp_path)).exit_code == 0
    texts = "".join(p.read_text() for p in tmp_path.iterdir())
    assert "pendulum2: certified at 20 random states" in texts


WRONG = [
    (["info", "pumma560"], 1, "puma560"),
    (["info", "missing.yaml"], 1, "missing.yaml"),
    (["count", "pendulum2", "-q", "invers"], 1, "inverse"),
    (["count", "pendulum2", "-f", "newton"], 1, "newton_euler"),
    (["verify", "pendulum2", "--states", "0"], 2, "states"),
    (["verify", "pendulum2", "--seed", "-1"], 2, "seed"),
    (["info"], 2, "MODEL"),
    (["info", "."], 1, "folder"),
    (["info", "puma560.yaml"], 1, "'puma560'"),
    (["count"], 2, "MODEL"),
    (["emit", "pendulum2", "-f", "bsae"], 1, "'base'"),
    (["inof", "puma560"], 2, "inof"),
]


@pytest.mark.parametrize(("words", "status", "text"), WRONG, ids=[" ".join(w[0]) for w in WRONG])
def test_wrong_use_gives_a_sentence_and_a_status(words, status, text):
    result = call(*words)
    assert result.exit_code == status
    assert text in result.stderr
    assert "Traceback" not in result.stderr


def test_a_bad_file_is_named_with_its_line(tmp_path):
    path = tmp_path / "bad.yaml"
    joint = "  j: {kind: revolute, parent: world, child: a}"
    path.write_text(f"symbody: 1\nname: bad\nbodies:\n  a: {{mass: -1}}\njoints:\n{joint}\n")
    result = call("info", str(path))
    assert result.exit_code == 1
    assert "bad.yaml:4" in result.stderr


def test_growth_needs_no_model():
    result = call("count", "--growth", "--json")
    assert json.loads(result.stdout)["symbody"]["base"]["exact"]


def test_the_module_runs_as_a_command():
    done = subprocess.run([sys.executable, "-m", "symbody", "--help"], capture_output=True, text=True, check=True)
    for command in ("info", "count", "emit", "verify"):
        assert command in done.stdout
