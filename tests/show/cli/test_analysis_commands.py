"""`linearize`, `modes`, `equilibrium`, `report`, `new`, `examples`: against numbers that textbooks give."""

import csv
import json
import math

import numpy as np
import pytest

from symbody.model.load import load
from symbody.show.cli.commands.new import kinds
from symbody.show.cli.matrix_text import matrix_csv, matrix_text


def data(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def bench(call, here):
    """m = 2 kg, k = 200 N/m, b = 1.5 N s/m."""
    call("new", "bench", "--kind", "slider")
    return "bench.yaml"


# -- linearize, modes


def test_the_linear_model_of_an_oscillator_is_its_equation(call, bench):
    facts = data(call("linearize", bench, "--json"))
    values = {n: m["values"] for n, m in facts["matrices"].items()}
    assert values["M"] == [[2.0]]
    assert values["B"] == [[1.5]]
    assert values["K"] == [[200.0]]
    assert values["U"] == [[-1.0]]
    (first, second) = facts["eigenvalues"]
    assert first["re"] == pytest.approx(-1.5 / 4)
    assert first["im"] == pytest.approx(math.sqrt(100 - (1.5 / 4) ** 2))
    assert second["im"] == -first["im"]
    text = call("linearize", bench, "--matrices", "A,B_ss").stdout
    assert "A  (2 x 2)" in text
    assert "q.slide" in text
    assert "-0.375 + 9.99297i" in text
    assert "K  (" not in text
    assert "M  (" not in call("linearize", bench, "--matrices", "none").stdout


def test_frequency_and_damping_of_an_oscillator(call, bench):
    (mode,) = data(call("modes", bench, "--json"))["modes"]
    assert mode["frequency"] == pytest.approx(10 / (2 * math.pi))
    assert mode["damping"] == pytest.approx(1.5 / (2 * math.sqrt(2 * 200)))
    (heavy,) = data(call("modes", bench, "-p", "m=8kg", "--json"))["modes"]
    assert heavy["frequency"] == pytest.approx(mode["frequency"] / 2)


def test_a_pendulum_on_its_head_grows(call, here):
    call("new", "swing")
    hanging = data(call("modes", "swing.yaml", "--json"))["modes"]
    assert not any(m["grows"] for m in hanging)
    standing = data(call("modes", "swing.yaml", "--q0", "upper=180deg", "--json"))["modes"]
    assert any(m["grows"] for m in standing)
    assert "grows" in call("linearize", "swing.yaml", "--q0", "upper=180deg").stdout


def test_an_operating_point_keeps_the_joints_that_were_named(call, here):
    facts = data(call("linearize", "four_bar", "--q0", "crank=30deg", "--json"))
    assert facts["q0"][0] == pytest.approx(math.pi / 6)
    assert not any("moved" in note for note in facts["notes"])


def test_matrices_are_written_with_their_names(call, bench, here):
    assert call("linearize", bench, "--csv", "lin").exit_code == 0
    rows = list(csv.reader((here / "lin" / "A.csv").read_text().splitlines()))
    assert rows[0] == ["", "q.slide", "qd.slide"]
    assert [float(x) for x in rows[2][1:]] == pytest.approx([-100.0, -0.75])


def test_wide_matrices_are_cut_into_groups_of_columns():
    names = [f"column{k}" for k in range(20)]
    text = matrix_text("W", np.eye(20), names, names, width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("column19") == 1 + len([line for line in text.splitlines() if line.startswith("column19")])
    assert matrix_csv(np.array([[0.1]]), ["r"], ["c"]) == b",c\nr,0.1\n"


def test_a_mode_is_animated(call, bench, here):
    result = call("modes", bench, "--animate", "m.html")
    assert result.exit_code == 0
    assert "wrote m.html" in result.stdout
    assert "1.592 Hz" in (here / "m.html").read_text()


# -- equilibrium


def test_a_held_pendulum_needs_the_torque_of_its_weight(call, here):
    facts = data(call("equilibrium", "pendulum2", "--q0", "joint1=30deg", "--fixed", "joint1", "--json"))
    assert facts["found"]
    # two rods of 1 kg and 1 m; the lower one hangs straight down from the tip of the upper one
    assert facts["tau"]["values"][0] == pytest.approx(9.81 * math.sin(math.pi / 6) * (0.5 + 1.0))
    assert facts["q"]["values"] == pytest.approx([math.pi / 6, -math.pi / 6])
    text = call("equilibrium", "pendulum2", "--q0", "joint1=30deg", "--fixed", "joint1").stdout
    assert "tau.joint1" in text
    assert "N m" in text


def test_no_equilibrium_is_a_sentence_and_a_status(call, here):
    result = call("equilibrium", "pendulum2", "--input", "joint1=1kN m", "--starts", "1")
    assert result.exit_code == 1
    assert "No start led" in result.stdout


def test_modes_at_the_equilibrium_near_a_point(call, here):
    facts = data(call("modes", "four_bar", "--q0", "crank=150deg", "--equilibrium", "--json"))
    assert not any(m["grows"] for m in facts["modes"])
    assert not facts["notes"]


# -- new, examples, report


@pytest.mark.parametrize("kind", kinds())
def test_a_starter_loads_verifies_and_simulates(call, here, kind):
    assert call("new", "mine", "--kind", kind).exit_code == 0
    assert load(here / "mine.yaml").name == "mine"
    run = data(call("simulate", "mine.yaml", "-t", "100ms", "--output", "energy", "--json"))
    assert run["outcome"]["code"] == "FINISHED"
    if kind != "arm":  # all others start at rest in equilibrium
        assert run["quantities"]["q"]["end"] == pytest.approx(run["quantities"]["q"]["start"], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", kinds())
def test_a_starter_is_certified(call, here, kind):
    call("new", "mine", "--kind", kind)
    assert call("verify", "mine.yaml", "--states", "3").exit_code == 0


def test_the_hints_in_a_starter_work(call, here):
    import shlex

    for kind in ("slider", "vehicle"):
        call("new", kind, "--kind", kind)
        lines = [line[1:].strip() for line in (here / f"{kind}.yaml").read_text().splitlines()]
        for line in (x for x in lines if x.startswith("symbody ") and "verify" not in x):
            assert call(*shlex.split(line)[1:]).exit_code == 0, line


def test_new_leaves_what_is_there(call, here):
    (here / "mine.yaml").write_text("old")
    refused = call("new", "mine")
    assert refused.exit_code == 1
    assert "--force" in refused.stderr
    assert (here / "mine.yaml").read_text() == "old"
    assert call("new", "mine.yaml", "--force").exit_code == 0
    assert load(here / "mine.yaml").nv == 2


def test_a_copied_model_is_the_bundled_one_with_its_parts(call, here):
    assert call("examples", "three_rrr_1", "--copy", "there").exit_code == 0
    assert (here / "there" / "parts" / "three_rrr.yaml").is_file()
    copy, bundled = load(here / "there" / "three_rrr_1.yaml"), load("three_rrr_1")
    assert [j.name for j in copy.joints] == [j.name for j in bundled.joints]
    assert list(copy.parameters) == list(bundled.parameters)
    refused = call("examples", "three_rrr_2", "--copy", "there")
    assert refused.exit_code == 1  # the shared part is there already
    assert not (here / "there" / "three_rrr_2.yaml").exists()
    assert call("examples", "three_rrr_2", "--copy", "there", "--force").exit_code == 0


def test_a_report_is_written_where_it_was_asked_for(call, bench, here):
    result = call("report", bench, "--simulate", "1", "--q0", "slide=5cm", "--no-certificate", "--out", "page.html")
    assert result.exit_code == 0, result.stderr
    page = (here / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>") or page.lower().startswith("<!doctype html>")
    assert 'src="http' not in page


WRONG = [
    (["linearize"], 2, "MODEL"),
    (["linearize", "pendulum2", "--matrices", "M,Q"], 2, "'Q'"),
    (["linearize", "pendulum2", "--q0", "joint1=1m"], 2, "an angle"),
    (["linearize", "pendulum2", "--q0", "elbow=1"], 2, "'joint1'"),
    (["linearize", "pendulum2", "--input", "joint1=sin(t)"], 2, "a torque"),
    (["linearize", "pendulum2", "--input", "motor=1"], 2, "has no --input motor"),
    (["linearize", "pendulum2", "--output", "p.nothing"], 2, "nothing"),
    (["linearize", "pendulum2", "--csv", "file"], 1, "is a file"),
    (["linearize", "pendulum2", "--equilibrium", "--qd0", "joint1=1"], 2, "--qd0"),
    (["modes", "pendulum2", "--kind", "dampened"], 2, "'damped'"),
    (["modes", "pendulum2", "--animate", "m.html", "--mode", "3"], 2, "from 1 to 2"),
    (["modes", "pendulum2", "--animate", "m.gif"], 2, ".html"),
    (["modes", "pendulum2", "--animate", "m.html", "--amplitude", "nan"], 2, "--amplitude"),
    (["modes", "pendulum2", "--mode", "0"], 2, "--mode"),
    (["equilibrium", "pendulum2", "--fixed", "elbow"], 2, "'elbow'"),
    (["equilibrium", "pendulum2", "--starts", "0"], 2, "--starts"),
    (["report", "pendulum2", "--out", "page.pdf"], 2, ".html"),
    (["report", "pendulum2", "--out", "no/page.html"], 2, "no folder"),
    (["report", "pendulum2", "--simulate", "1kg"], 2, "a time"),
    (["report", "pendulum2", "--parameter", "x=1"], 2, "has no parameter 'x'"),
    (["new"], 2, "NAME"),
    (["new", "1st"], 2, "'1st' is no name"),
    (["new", "no/mine"], 2, "no folder"),
    (["new", "mine", "--kind", "vehikle"], 2, "'vehicle'"),
    (["examples", "fourbar"], 1, "'four_bar'"),
    (["examples", "--copy"], 2, "NAME"),
    (["examples", "four_bar", "here.yaml"], 2, "--copy"),
    (["examples", "four_bar", "--copy", "no/here.yaml"], 2, "no folder"),
    (["schema", "simulation"], 2, "'simulate'"),
]


@pytest.mark.parametrize(("words", "status", "text"), WRONG, ids=[" ".join(w[0]) for w in WRONG])
def test_wrong_use_gives_a_sentence_and_a_status(call, here, words, status, text):
    (here / "file").write_text("")
    result = call(*words)
    assert result.exit_code == status
    assert text in result.stderr
    assert "Traceback" not in result.stderr
    assert [p.name for p in here.iterdir()] == ["file"]
