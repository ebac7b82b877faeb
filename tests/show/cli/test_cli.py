"""The commands on equations and models as a stranger would use them, also wrongly."""

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from symbody.mechanics.verbs.smallest.growth import PUBLISHED

ENV = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3] / "src")}


@pytest.mark.parametrize("name", ["puma560", "panda", "motorcycle", "patterns/general_6r"])
def test_info_describes_trees(call, name):
    text = call("info", name)
    assert text.exit_code == 0
    facts = json.loads(call("info", name, "--json").stdout)
    assert facts["nv"] == facts["mobility"] > 0
    assert facts["joints"][0]["name"] in text.stdout


def test_info_tells_mobility_and_blocks_of_closed_loops(call):
    # Grashof: a planar four-bar has 3 - 2 = 1 degree of freedom, a planar 3-RRR manipulator 9 - 6 = 3
    text = call("info", "four_bar").stdout
    assert "1 degree of freedom" in text
    assert "2 constraints" in text
    assert "equations are those of the tree" not in text
    facts = json.loads(call("info", "three_rrr_1", "--json").stdout)
    assert facts["mobility"] == 3
    assert sum(len(b["velocities"]) for b in facts["loops"]["blocks"]) == 6
    assert len(facts["loops"]["independent"]) == 3
    redundant = json.loads(call("info", "bricard", "--json").stdout)
    assert redundant["mobility"] == 1
    assert len(redundant["loops"]["redundant"]) == 1


def test_count_lists_the_iterations_of_loops_apart(call):
    result = call("count", "four_bar", "-q", "forward", "-f", "base")
    assert "an iteration of its loops" in result.stdout
    (row,) = json.loads(call("count", "four_bar", "-q", "forward", "-f", "base", "--json").stdout)["counts"]
    assert len(row["blocks"]) == 1
    assert row["blocks"][0]["total"] > 0


def test_count_leaves_out_what_does_not_apply_and_says_why(call):
    result = call("count", "pendulum2", "-f", "order_n", "-f", "base")
    assert result.exit_code == 0
    assert "not counted: semi_explicit by order_n" in result.stdout
    assert call("count", "pendulum2", "-q", "semi_explicit", "-f", "order_n").exit_code == 1


def test_count_prints_a_row_for_each_quantity_and_formalism(call):
    data = json.loads(call("count", "pendulum2", "-f", "newton_euler", "-f", "base", "--json").stdout)
    assert len(data["counts"]) == 6
    for row in data["counts"]:
        assert row["total"] == row["mul"] + row["add"] + row["div"]
    table = call("count", "pendulum2", "-q", "inverse", "-f", "base")
    assert table.exit_code == 0
    assert "inverse" in table.stdout


def test_count_searches_longer_on_request_and_uses_what_it_kept(call, tmp_path, monkeypatch):
    monkeypatch.setenv("SYMBODY_CACHE", str(tmp_path))
    asked = ("count", "pendulum2", "-q", "inverse", "-f", "auto", "--json", "--budget")
    missing = call(*asked, "stored")
    assert missing.exit_code == 1
    assert "no long search for inverse dynamics of pendulum2" in missing.stderr
    (found,) = json.loads(call(*asked, "6").stdout)["counts"]
    (kept,) = json.loads(call(*asked, "stored").stdout)["counts"]
    assert kept == found
    assert "Did you mean 'quick'?" in call(*asked, "quik").stderr


def test_verify_certifies_and_says_so(call):
    data = json.loads(call("verify", "pendulum2", "--states", "5", "--json").stdout)
    assert data["passed"]
    assert all(c["passed"] for c in data["checks"])
    text = call("verify", "pendulum2", "--states", "5")
    assert text.exit_code == 0
    assert "certified" in text.stdout


def test_what_is_not_certified_is_said_on_stderr(call, monkeypatch):
    monkeypatch.setattr("symbody.mechanics.verbs.certify.verify.AGREE", -1.0)  # nothing is as small
    for options in ((), ("--json",)):
        found = call("verify", "pendulum2", "--states", "2", *options)
        assert found.exit_code == 1
        assert found.stderr.startswith("symbody: pendulum2 is not certified: ")
        assert "more." in found.stderr
        assert len(found.stderr.splitlines()) == 1


def test_emit_writes_a_header_and_a_source(call, tmp_path):
    result = call("emit", "pendulum2", "-f", "base", "--bare", "--out", str(tmp_path / "new"))
    assert result.exit_code == 0
    assert sorted(p.suffix for p in (tmp_path / "new").iterdir()) == [".c", ".h"]


def test_emit_writes_one_header_with_short_names_and_prints_what_it_renamed(call, tmp_path):
    words = ("emit", "pendulum2", "-f", "base", "--bare", "--out", str(tmp_path))
    assert call(*words, "--single-header", "--names", "compact").exit_code == 0
    assert [p.name for p in tmp_path.iterdir()] == ["pendulum2_inverse.h"]
    refused = call(*words, "--target", "rust", "--names", "compact")
    assert refused.exit_code == 1
    assert "'rust' has plain names, not 'compact'" in refused.output
    named = call("emit", "pendulum2", "-q", "linear", "--target", "maple", "--bare", "--out", str(tmp_path))
    assert "renamed here: D is D_2" in named.output  # D is protected there


def test_emit_carries_the_certificate(call, tmp_path):
    assert call("emit", "pendulum2", "-f", "base", "--certify", "--out", str(tmp_path)).exit_code == 0
    texts = "".join(p.read_text() for p in tmp_path.iterdir())
    assert "pendulum2: certified at 20 random states" in texts


def test_emit_without_a_certificate_says_in_short_what_fails(call, tmp_path):
    model = tmp_path / "empty.yaml"
    model.write_text(
        "symbody: 1\nname: empty\nbodies: {b: {}}\njoints: {j: {kind: revolute, parent: world, child: b}}\n"
    )
    result = call("emit", str(model), "--certify", "--out", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "empty is not certified. 2 of" in result.output
    assert "M is positive definite (1.0e+00, allowed 0e+00)" in result.output
    assert len(result.output) < 600
    assert not (tmp_path / "out").exists()


WRONG = [
    (["info", "pumma560"], 1, "puma560"),
    (["info", "missing.yaml"], 1, "missing.yaml"),
    (["count", "pendulum2", "-q", "invers"], 2, "inverse"),
    (["count", "pendulum2", "-f", "newton"], 2, "newton_euler"),
    (["verify", "pendulum2", "--states", "0"], 2, "states"),
    (["verify", "pendulum2", "--seed", "-1"], 2, "seed"),
    (["info"], 2, "MODEL"),
    (["info", "."], 1, "folder"),
    (["info", "puma560.yaml"], 1, "'puma560'"),
    (["count"], 2, "MODEL"),
    (["emit", "pendulum2", "-f", "bsae"], 2, "'base'"),
    (["inof", "puma560"], 2, "inof"),
]


@pytest.mark.parametrize(("words", "status", "text"), WRONG, ids=[" ".join(w[0]) for w in WRONG])
def test_wrong_use_gives_a_sentence_and_a_status(call, words, status, text):
    result = call(*words)
    assert result.exit_code == status
    assert text in result.stderr
    assert "Traceback" not in result.stderr


def test_a_bad_file_is_named_with_its_line(call, tmp_path):
    path = tmp_path / "bad.yaml"
    joint = "  j: {kind: revolute, parent: world, child: a}"
    path.write_text(f"symbody: 1\nname: bad\nbodies:\n  a: {{mass: -1}}\njoints:\n{joint}\n")
    result = call("info", str(path))
    assert result.exit_code == 1
    assert "bad.yaml:4" in result.stderr


def test_growth_needs_no_model(call):
    result = call("count", "--growth", "--json")
    found = json.loads(result.stdout)
    assert found["symbody"]["base"]["exact"]
    # MEDUSA, Table 4.3: all but the multiplications of two rows follow from the formulas
    six = {name: row.get("printed", row["six"]) for name, row in found["published"].items()}
    assert list(six.values())[:8] == [
        [66271, 51548], [468, 264], [7051, 5652], [4388, 3586], [2195, 1719], [852, 738], [841, 573], [599, 456]
    ]  # fmt: skip
    assert found["published"]["Uicker 1965, Kahn 1969"]["mul"] == "65/2 N^4 + 1037/12 N^3 + 685/4 N^2 + 160/3 N - 128"


# mixed numbers of the first source (Hollerbach 1980): whole part, numerator, denominator; highest power first
UICKER_MUL = [(32, 1, 2), (86, 5, 12), (171, 1, 4), (53, 1, 3), (-128, 0, 1)]
UICKER_ADD = [(25, 0, 1), (66, 1, 3), (129, 1, 2), (42, 1, 3), (-96, 0, 1)]
WATERS_MUL = [(106, 1, 2), (620, 1, 2), (-512, 0, 1)]


def horner(coefficients, n):
    total = Fraction(0)
    for c in coefficients:
        total = total * n + c
    return total


def mixed(parts):
    return [whole + Fraction(above, below) for whole, above, below in parts]


def product(parts):
    return [Fraction(whole * above, below) if above else Fraction(whole) for whole, above, below in parts]


def test_growth_formulas_give_the_printed_counts_of_six_joints():
    """MEDUSA, Table 4.3: eight rows of additions, and all multiplications but those of Uicker, Kahn and Waters."""
    uicker, waters = PUBLISHED[0], PUBLISHED[2]
    assert [row.at(6)[1] for row in PUBLISHED[:8]] == [51548, 264, 5652, 3586, 1719, 738, 573, 456]
    assert [row.at(6)[0] for row in PUBLISHED[:8] if row not in (uicker, waters)] == [468, 4388, 2195, 852, 841, 599]
    for row, printed, error in ((uicker, 66271, 0.014), (waters, 7051, 0.001)):
        assert row.printed is not None
        assert row.printed[0] == printed
        assert 0 < abs(row.at(6)[0] / printed - 1) < error
    for n in (1, 6, 10):
        assert uicker.at(n) == (round(horner(mixed(UICKER_MUL), n)), round(horner(mixed(UICKER_ADD), n)))
        assert waters.at(n)[0] == round(horner(mixed(WATERS_MUL), n))


def test_printed_counts_of_ten_joints_read_mixed_numbers_as_products():
    """MEDUSA, Table 4.4: rows without mixed numbers follow from the formulas, the others show how they were misread."""
    plain = [row.at(10) for row in PUBLISHED[:8] if not row.printed]
    assert plain == [(2100, 1120), (7708, 6286), (3843, 2999), (1452, 1262), (1433, 977), (1055, 808)]
    misread = [round(horner(product(parts), 10)) for parts in (UICKER_MUL, UICKER_ADD, WATERS_MUL)]
    assert misread == [200157, 278494, 7888]


def test_the_module_runs_as_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "symbody", "--help"], env=ENV, capture_output=True, text=True, check=True
    )
    for command in ("info", "count", "emit", "verify", "simulate", "linearize", "modes", "report", "new", "examples"):
        assert command in done.stdout


@pytest.mark.slow
def test_emit_certifies_closed_loops(call, tmp_path):
    assert call("emit", "slider_crank", "-q", "forward", "-f", "base", "--certify", "--out", tmp_path).exit_code == 0
    texts = "".join(p.read_text() for p in tmp_path.iterdir())
    assert "slider_crank: certified" in texts
    assert "agrees with Newton-Euler to" in texts


def test_help_loads_no_heavy_package():
    code = (
        "import sys; from symbody.show.cli.app import app; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ENV, capture_output=True, text=True, check=True)
    assert not {"scipy", "matplotlib", "llvmlite", "yaml", "rich"} & set(done.stdout.split())
