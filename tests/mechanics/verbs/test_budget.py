"""The search for the smallest program: the default depends on the model alone; longer ones are kept for later use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from helpers.robots import descriptions
from symbody.basics.errors import ModelError, NameLookupError
from symbody.mechanics.formalisms.formulation import Choice
from symbody.mechanics.verbs.problem import problem_of
from symbody.mechanics.verbs.smallest.auto import smallest
from symbody.mechanics.verbs.smallest.quick import QuickSearch
from symbody.mechanics.verbs.smallest.stored import StoredChoice, keep, stored
from symbody.mechanics.verbs.smallest.tuned import pattern
from symbody.symbolic.system.save import fingerprint

REFERENCE = Path(__file__).resolve().parents[3] / "benchmarks" / "first_dynamics.json"


def arm(links: int = 3):
    """A chain of revolute joints with offsets; no choice ships for it."""
    b, parent = sb.Mechanism.builder("budget_arm"), "world"
    for k in range(links):
        b.body(f"b{k}", mass=1.0 + k, com=(0.1, 0.02 * k, 0.03), inertia=[0.02, 0.025, 0.03])
        b.joint(f"j{k}", "revolute", parent, f"b{k}", (0.3, 0, 0.1 * k), axis="zyy"[k % 3])
        parent = f"b{k}"
    return b.done()


def put_by_hand(folder, key, choice, total=1):
    """A file as a search would have left it."""
    keep(key, StoredChoice(choice.as_dict(), total, 1))
    assert len(list((folder / "choices").iterdir())) == 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SYMBODY_CACHE", str(tmp_path))
    return tmp_path


# -- the default


def test_the_choice_is_the_same_with_an_empty_a_full_and_a_foreign_folder(tmp_path, monkeypatch):
    found = {}
    for name in ("empty", "full", "foreign"):
        mech = arm()
        monkeypatch.setenv("SYMBODY_CACHE", str(tmp_path / name))
        if name == "full":
            smallest(mech, "inverse", budget=4, finalists=1)
            assert list((tmp_path / name / "choices").iterdir())
        if name == "foreign":
            put_by_hand(tmp_path / name, pattern(problem_of(mech).tree, "inverse"), Choice(grouping="barycentric"))
            (tmp_path / name / "choices" / "other.json").write_text("not ours")
        found[name] = smallest(mech, "inverse")
    assert len({f.choice for f in found.values()}) == 1
    assert len({fingerprint(f.system) for f in found.values()}) == 1
    assert found["empty"].source == "search"


@pytest.mark.parametrize("seed", ["0", "7"])
def test_the_choice_is_the_same_in_another_process(folder, seed):
    script = (
        "import json, sys; sys.path[:0] = json.loads(sys.argv[1])\n"
        "from mechanics.verbs.test_budget import arm, smallest, fingerprint\n"
        "found = smallest(arm(), 'forward', preset='standard')\n"
        "print(json.dumps([found.choice.as_dict(), fingerprint(found.system)]))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", script, json.dumps([p for p in sys.path if p])]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    here = smallest(arm(), "forward", preset="standard")
    assert json.loads(out) == [here.choice.as_dict(), fingerprint(here.system)]


def test_work_is_counted_in_operations_and_bounds_the_candidates(folder):
    few, many = (QuickSearch(arm(), "forward", work=n) for n in (1, 10**6))
    few.run()
    many.run()
    assert 1 <= few.spent < many.spent
    by_many = min(rank for rank in many.counted.values() if rank)
    assert by_many <= min(rank for rank in few.counted.values() if rank)


def test_the_default_beats_plain_base_parameters_and_is_right(folder):
    mech = arm()
    system = sb.forward_dynamics(mech)
    assert system.count().total < sb.forward_dynamics(mech, "base").count().total
    q, qd, tau = np.array([0.3, -0.4, 0.5]), np.array([1.0, 2.0, -1.0]), np.array([3.0, -1.0, 2.0])
    plain = sb.forward_dynamics(mech, "newton_euler", preset="none")
    np.testing.assert_allclose(
        system.compile("python")(q, qd, tau), plain.compile("python")(q, qd, tau), rtol=1e-11, atol=1e-11
    )


# -- longer searches


def test_a_stored_search_is_used_on_request_and_says_so(folder):
    mech = arm()
    asked = smallest(mech, "inverse", budget=25, finalists=2)
    again = smallest(arm(), "inverse", budget="stored")
    assert again.source == "stored"
    assert (again.choice, again.cost, again.candidates) == (asked.choice, asked.cost, asked.candidates)
    assert "stored" in again.say()
    system = sb.inverse_dynamics(arm(), budget="stored")
    assert "stored search" in system.origins["tau"]
    assert system.count().total == asked.cost.total


def test_without_a_stored_search_it_is_said_what_to_do(folder):
    with pytest.raises(ModelError, match=r"no long search for inverse dynamics of budget_arm .* budget='long'"):
        sb.inverse_dynamics(arm(), budget="stored")


def test_a_later_search_is_seen_by_the_same_mechanism(folder):
    """What is on disk is not remembered in memory."""
    mech = arm()
    key = pattern(problem_of(mech).tree, "inverse")
    put_by_hand(folder, key, Choice(grouping="base"), 900)
    first = sb.inverse_dynamics(mech, budget="stored", preset="standard")
    keep(key, StoredChoice(Choice().as_dict(), 800, 1))
    second = sb.inverse_dynamics(mech, budget="stored", preset="standard")
    assert first.count().total < second.count().total


def test_the_smallest_of_several_searches_stays(folder):
    key = "model/inverse/1"
    keep(key, StoredChoice({"grouping": "base"}, 100, 5))
    keep(key, StoredChoice({"grouping": "barycentric"}, 120, 50))
    assert stored(key, "model", "inverse") == StoredChoice({"grouping": "base"}, 100, 5)
    keep(key, StoredChoice({}, 90, 50))
    assert stored(key, "model", "inverse").choice == {}


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 10**5, '{"code": 1}', '{"code": "", "key": "model/inverse/1"}'])
def test_a_damaged_file_is_no_stored_search(folder, text):
    keep("model/inverse/1", StoredChoice({}, 90, 50))
    (path,) = (folder / "choices").iterdir()
    path.write_text(text)
    with pytest.raises(ModelError, match="budget='long'"):
        stored("model/inverse/1", "model", "inverse")


def test_no_flipped_bit_of_a_stored_search_is_used(folder):
    keep("model/inverse/1", StoredChoice({"grouping": "base", "unit": "l1"}, 90, 50))
    (path,) = (folder / "choices").iterdir()
    good = path.read_bytes()
    for at in range(8 * len(good)):
        data = bytearray(good)
        data[at // 8] ^= 1 << at % 8
        path.write_bytes(data)
        try:
            found = stored("model/inverse/1", "model", "inverse")
        except ModelError:
            continue
        assert found == StoredChoice({"grouping": "base", "unit": "l1"}, 90, 50)  # blanks between the words


@pytest.mark.skipif(os.name != "posix", reason="needs links and pipes of POSIX")
@pytest.mark.parametrize("kind", ["pipe", "link", "renamed", "writable"])
def test_a_stored_search_must_be_a_file_of_the_users_own(folder, kind):
    for key in ("model/inverse/1", "model/inverse/2"):
        keep(key, StoredChoice({}, 90, 50))
    path, other = (folder / "choices" / p for p in sorted(os.listdir(folder / "choices")))
    assert stored("model/inverse/1", "model", "inverse").total == 90
    if kind == "writable":
        path.chmod(0o666)
        other.chmod(0o622)
    elif kind == "renamed":
        third = path.rename(folder / "third")
        other.rename(path)
        third.rename(other)
    else:
        moved = path.rename(folder / "elsewhere")
        other.unlink()
        for place in (path, other):
            os.mkfifo(place) if kind == "pipe" else place.symlink_to(moved)
    for key in ("model/inverse/1", "model/inverse/2"):
        with pytest.raises(ModelError, match="budget='long'"):
            stored(key, "model", "inverse")


def test_a_stored_choice_that_would_divide_by_something_small_is_refused(folder):
    mech = arm()
    key = pattern(problem_of(mech).tree, "inverse")
    put_by_hand(folder, key, Choice(grouping="base", unit="no_such_length"))
    with pytest.raises(ModelError, match="other values of its parameters"):
        sb.inverse_dynamics(mech, budget="stored")


def test_a_search_tells_its_progress(folder):
    seen = []
    found = smallest(arm(2), "inverse", budget=5, finalists=1, preset="standard", progress=seen.append)
    assert [p.done for p in seen if p.doing == "candidates"] == list(range(1, found.candidates + 1))
    assert all(p.budget == 5 for p in seen if p.doing == "candidates")
    assert seen[-1].best == found.cost.total
    assert str(seen[0]).startswith("candidates: 1 of 5, best ")


def test_a_longer_search_begins_where_the_default_ended(folder, monkeypatch):
    monkeypatch.setattr("symbody.mechanics.verbs.smallest.auto.LONG", 30)
    mech = arm(2)
    quick = smallest(mech, "inverse", preset="standard")
    asked = smallest(mech, "inverse", budget="long", finalists=1, preset="standard")
    assert asked.cost.total <= quick.cost.total
    assert asked.candidates > 20


@pytest.mark.parametrize("budget", [0, -3, True, 2.5, None])
def test_other_budgets_are_refused(budget):
    with pytest.raises(ModelError, match="number of candidates, 1 or more"):
        sb.inverse_dynamics(arm(2), budget=budget)


def test_an_unknown_budget_is_refused_by_name():
    with pytest.raises(NameLookupError, match="Did you mean 'long'"):
        sb.inverse_dynamics(arm(2), budget="lang")


# -- robots


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kinova_description/robots/kinova.urdf", "solo_description/robots/solo12.urdf"])
def test_the_default_finds_what_a_search_of_sixty_rewritten_candidates_found(folder, name):
    """Operations of the search that this one replaced, by `benchmarks/first_dynamics.py`."""
    reference = json.loads(REFERENCE.read_text(encoding="utf-8"))["robots"][name]
    found = smallest(sb.load(descriptions() / name), "forward")
    assert found.cost.total <= 1.03 * reference["total"]


# -- closed loops


def test_searches_of_closed_loops_are_kept_and_used_in_the_same_way(folder):
    mech = sb.load("four_bar")
    with pytest.raises(ModelError, match="budget='long'"):
        sb.forward_dynamics(mech, budget="stored")
    seen = []
    asked = sb.forward_dynamics(mech, budget=8, progress=seen.append)
    assert [p.done for p in seen] == list(range(1, 9))
    again = sb.forward_dynamics(sb.load("four_bar"), budget="stored")
    assert "stored search" in again.origins["qdd"]
    assert again.count().total == asked.count().total


def test_a_budget_belongs_to_a_search():
    with pytest.raises(NameLookupError, match="no option 'budget'"):
        sb.forward_dynamics(sb.load("four_bar"), "base", budget="long")
    with pytest.raises(ModelError, match="formulation='reduced'"):
        sb.forward_dynamics(sb.load("four_bar"), formulation="augmented", budget="long")
