"""Real robots: the scripts in examples/identification meet the criteria that come with each data set."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from helpers.pages import ROOT

EXAMPLES = ROOT / "examples" / "identification"
DATA = ROOT.parent / "shared" / "data"


def run(name: str, monkeypatch, tmp_path: Path):
    if not (DATA / name).is_dir():
        pytest.skip(f"the records of {name} are not here")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    spec = importlib.util.spec_from_file_location(f"measured_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop("measured", None)
    found = module.main(str(tmp_path), str(DATA / name))
    assert (tmp_path / f"{name}.png").is_file()
    return found


def near(value, published, share):
    assert abs(value / published - 1) <= share, (value, published)


@pytest.mark.slow
def test_emps(monkeypatch, tmp_path):
    estimate, error, stribeck, second = run("emps", monkeypatch, tmp_path)
    for name, value in {"carriage.m": 95.1089, "slide.viscous": 203.5034, "slide.coulomb": 20.3935}.items():
        near(estimate[name], value, 0.01)
    near(estimate["slide.offset"], -3.1648, 0.03)
    assert estimate.relative <= 0.036
    assert error <= 0.044
    assert stribeck.relative <= estimate.relative
    assert second <= error


@pytest.mark.slow
def test_kuka_lwr4(monkeypatch, tmp_path):
    pytest.importorskip("cvxpy")
    e = run("kuka_lwr4", monkeypatch, tmp_path)
    assert e["inertial"] == 43
    assert max(e[f"ols {k}"] for k in (1, 2, 3)) <= 0.021
    assert max(e["ols 1->2"], e["ols 2->1"]) <= 0.025
    assert e["ols 3->1"] <= 0.065
    assert max(e["consistent 1->2"], e["consistent 2->1"]) <= 0.03
    assert not any(e[f"consistent {k} bodies that cannot exist"] for k in (1, 2, 3))
    assert e["prior 1->3"] < 0.104


@pytest.mark.slow
def test_staubli_tx40(monkeypatch, tmp_path):
    estimate, without = run("staubli_tx40", monkeypatch, tmp_path)
    published = json.loads((DATA / "staubli_tx40" / "tx40_published_parameters.json").read_text())
    wls = {row["expr"].split(" ")[0]: row["wls"] for row in published["base_parameters"]}
    for k in range(1, 6):
        near(estimate[f"joint_{k}.viscous"], wls[f"fv{k}"], 0.03)
        near(estimate[f"joint_{k}.coulomb"], wls[f"fs{k}"], 0.04)
    near(estimate["fvm6"], wls["fvm6"], 0.05)
    near(estimate["fsm6"], wls["fsm6"], 0.05)
    near(estimate["link_1.Izz"], 1.2421, 0.03)
    near(estimate["link_2.Izz"], 1.0750, 0.03)
    near(estimate["link_2.mx"], 2.2377, 0.05)
    assert estimate.relative <= 0.053
    for row in ("joint_5", "joint_6"):
        assert without.relative_of[row] > 1.05 * estimate.relative_of[row]


@pytest.mark.slow
def test_ur10e(monkeypatch, tmp_path):
    inertial, errors, gains = run("ur10e", monkeypatch, tmp_path)
    assert inertial == 40
    assert errors["valid_ptp10"] <= 0.052
    assert max(errors["ident_40s_12h"], errors["ident_50s_12h"]) <= 0.055
    assert all(8 < g < 16 for g in gains.gains)
