"""`symbody bondgraph`: every WHAT, for people and as JSON that its schema describes."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from symbody.show.cli.app import app
from symbody.show.cli.commands.schema import text


def run(*words: str):
    result = CliRunner().invoke(app, ["bondgraph", *words])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_texts(tmp_path):
    assert "structurally controllable" in run("rlc")
    assert "integral: L, C" in run("rlc", "causality")
    assert "p_L_dot = u - q_C/C - R*(p_L/L)" in run("rlc", "equations")
    assert "f_L_dot" in run("rlc", "equations", "--variables", "coenergy")
    assert "R_law = e_R - R*(p_L/L)" in run("rlc", "equations", "--type", "dae")
    assert "A[p_L, q_C] = -1/C" in run("rlc", "equations", "--type", "matrices")
    assert "K[f_L, f_L] = 1/C" in run("rlc", "equations", "--type", "second_order")
    assert "v/u = (1/L/C)/(s**2 + (R/L)*s + 1/L/C)" in run("rlc", "equations", "--type", "transfer")
    assert "L - C: gain" in run("rlc", "loops")
    assert "wrote" in run("rlc", "draw", "--out", str(tmp_path / "x.svg"))
    assert (tmp_path / "x.svg").read_text().startswith("<svg")
    assert "q_C" in run("rlc", "simulate", "-t", "20ms", "-i", "u=sin(300*t)", "--start", "q_C=1e-4", "-p", "R=20")
    run("rlc", "simulate", "-t", "20ms", "--out", str(tmp_path / "x.csv"))
    assert "q_C" in (tmp_path / "x.csv").read_text()
    run("gear_train", "report", "-t", "0.1", "--out", str(tmp_path / "x.html"))
    page = (tmp_path / "x.html").read_text()
    assert page.count("data:image/svg+xml") >= 3
    assert "Structure digraph" in page


@pytest.mark.parametrize(
    "what", [(), ("causality",), ("equations",), ("loops",), ("equations", "--type", "dae"), ("simulate", "-t", "1ms")]
)
def test_json_follows_the_schema(what):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads(run("four_inertias", *what, "--json")), json.loads(text("bondgraph")))


def test_json_of_a_graph_that_signals_feed_back_follows_the_schema(tmp_path):
    """Engines that say nothing there are null."""
    jsonschema = pytest.importorskip("jsonschema")
    file = tmp_path / "fed.bond.yaml"
    file.write_text(
        "name: fed\nelements:\n  u: {kind: Se, value: -3*w}\n  j: 1\n  m: {kind: I, value: 2}\n  w: {kind: Df, on: j}\n"
        "bonds: [u -> j -> m]\n"
    )
    found = json.loads(run(str(file), "--json"))
    jsonschema.validate(found, json.loads(text("bondgraph")))
    assert found["ranks"]["A"] == {"value": 1, "of": 1, "blocks": None, "causal": None, "term": 1}


def test_refusals():
    for words, sentence, status in (
        (("rlcc",), "Did you mean 'rlc'", 1),
        (("rlc", "drew"), "Did you mean 'draw'", None),
        (("rlc", "simulate"), "--duration", None),
        (("rlc", "simulate", "-t", "1", "--start", "q_D=1"), "q_D", 2),
        (("rlc", "simulate", "-t", "1", "-p", "Q=1"), "has no parameter 'Q'", 2),
        (("rlc", "draw", "--out", "x.png"), "expected one of .svg", None),
    ):
        result = CliRunner().invoke(app, ["bondgraph", *words])
        assert result.exit_code in ((1, 2) if status is None else (status,)), words
        assert sentence in result.stderr, result.stderr
        assert result.stderr.count("\n") == 1
