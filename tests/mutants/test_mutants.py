"""The tool that changes the sources: its changes are Python, a seed decides them, and an effect is told from none."""

from __future__ import annotations

import ast
import itertools
import pickle

import numpy as np
import pytest

from mutants.hand import PATCHES, patched
from mutants.operators import OPERATORS, changes, diff, is_valid
from mutants.outputs import differences
from mutants.pool import Job, Pool
from mutants.readers import disagreement, reader_baseline
from mutants.report import share, summary
from mutants.scope import PACKAGE, draw, mechanics_files, reader_files
from mutants.worker import Baseline, baseline_of, judge

SAMPLE = '''"""Text."""

def f(a, b, n=2, flag=False):
    """Text with 1 + 2."""
    total = 0.5 * a + b[0] - cross(a, b) @ a.T
    for k in range(n):
        if a < b and flag or "xyz"[k] in "RT":
            total += sin(k) * -a
            continue
        raise ValueError(f"{a + 1}")
    out = {"x": (a, b), "y": [x for x in b if x]}
    return g(total if flag else out, key=3)
'''


def test_every_operator_makes_a_change_and_the_result_is_python():
    found = changes(SAMPLE)
    valid = [c for c in found if is_valid(SAMPLE, c)]
    assert len(valid) > 0.95 * len(found)
    for change in valid:
        ast.parse(change.applied(SAMPLE))
        assert change.applied(SAMPLE) != SAMPLE
    assert {c.operator for c in valid} == {"default", *(f.__name__.strip("_") for f in OPERATORS)}


def test_texts_for_people_are_left_alone():
    for change in changes(SAMPLE):
        new = change.applied(SAMPLE)
        assert '"""Text with 1 + 2."""' in new
        assert 'ValueError(f"{a + 1}")' in new or change.operator in ("statement", "condition")


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        ("arguments", "cross(b, a)"),
        ("sign", "sin(k) * a"),
        ("constants", "0.25 * a"),
        ("index", "b[1]"),
        ("names", "cos(k)"),
        ("transposes", "cross(a, b) @ a\n"),
        ("comparison", "(a >= b)"),
        ("range", "range(n - 1)"),
        ("letters", '"yzx"[k]'.replace('"', "'", 2)),
        ("default", "flag=True"),
        ("statement", "pass"),
        ("keyword", "else out)"),
    ],
)
def test_operator_makes_the_fault_that_it_is_named_after(operator, text):
    assert any(text in c.applied(SAMPLE) for c in changes(SAMPLE) if c.operator == operator)


def test_a_seed_decides_what_is_drawn():
    files = ["model/library/springs.py", "model/spatial/inertia.py"]

    def first(seed):
        return [(m.file, m.change) for m in itertools.islice(draw(files, seed), 40)]

    assert first(3) == first(3)
    assert first(3) != first(4)
    assert len(set(first(3))) == 40
    assert {f for f, _ in first(3)} == set(files)


def test_files_of_both_lists_exist_and_none_is_in_both():
    both = [*mechanics_files(), *reader_files()]
    assert all((PACKAGE / f).is_file() for f in both)
    assert len(both) == len(set(both))


def test_a_diff_shows_the_changed_line_alone():
    change = next(c for c in changes(SAMPLE) if c.operator == "range")
    assert [line[0] for line in diff(SAMPLE, change.applied(SAMPLE), "f").splitlines()] == ["@", "-", "+"]


@pytest.mark.parametrize("patch", PATCHES, ids=lambda p: p.name)
def test_patch_by_hand_applies(patch):
    source = (PACKAGE / patch.file).read_text(encoding="utf-8")
    assert ast.dump(ast.parse(patched(patch, source))) != ast.dump(ast.parse(source))


def test_names_of_patches_differ():
    assert len({p.name for p in PATCHES}) == len(PATCHES) >= 27


def test_a_difference_is_relative_to_the_largest_entry():
    old = {"tau": np.array([1.0, 1e3]), "rest": np.zeros(2)}
    assert differences(old, {"tau": np.array([1.0 + 1e-7, 1e3]), "rest": np.full(2, 1e-13)}) == {}
    assert differences(old, {"tau": np.array([1.0 + 1e-5, 1e3]), "rest": np.zeros(2)}) == pytest.approx({"tau": 1e-8})
    assert set(differences(old, {"tau": np.array([1.0, np.nan]), "rest": np.zeros(3)})) == {"tau", "rest"}


def test_the_share_counts_effective_mutants_alone():
    record = {
        "file": "a/b.py",
        "operator": "sign",
        "line": 1,
        "name": "1",
        "diff": "",
        "changed": {"m": {"t": {"x": 1.0}}},
    }
    ends = ["refused"] * 3 + ["survived", "no effect", "raises", "import", "time"]
    records = [{**record, "end": end} for end in ends]
    assert share(records) == 0.75
    assert "1 do not import" in summary(records, 7)
    assert "m, t: x 1.0e+00" in summary(records, 7)


def test_an_effect_is_told_from_none_and_refused(tmp_path):
    """On a double pendulum: a comment changes nothing, a number that is not used neither, the Steiner term does."""
    pool, tasks = Pool(tmp_path, 1, 60.0), ["inverse newton_euler"]
    [(_, data)] = pool.run([Job("unchanged", lambda folder: baseline_of("pendulum2", folder, tasks))])
    point, outputs, lines = pickle.loads(data)
    base = Baseline({"pendulum2": point}, {"pendulum2": outputs}, {"pendulum2": lines}, {"pendulum2": 1.0})
    file = "model/spatial/inertia.py"
    assert lines["inverse newton_euler"][file]
    source = (PACKAGE / file).read_text(encoding="utf-8")
    steiner = next(p for p in PATCHES if p.name == "steiner_term")
    texts = {
        "no effect": source + "\nUNUSED = 3\n",
        "refused": patched(steiner, source),
        "import": source + "\nimport nowhere\n",
        "raises": source.replace("def steiner(", "def steiner(_, "),
    }
    jobs = [Job(k, lambda folder: judge({"pendulum2": tasks}, base), file, text) for k, text in texts.items()]
    found = {job.label: answer for job, answer in pool.run(jobs)}
    assert {k: a["end"] for k, a in found.items()} == {k: k for k in texts}
    assert found["refused"]["changed"]["pendulum2"]["inverse newton_euler"]["tau"] > 1e-3
    # the copy is as it was
    assert (tmp_path / "slot0" / "src" / "symbody" / file).read_text(encoding="utf-8") == source


def test_unchanged_readers_agree_with_the_other_programs():
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    base = pickle.loads(reader_baseline(PACKAGE))
    assert {name.split()[0] for name in base} == {"urdf", "mjcf"}
    files = {file for _, _, _, lines in base.values() for file in lines}
    assert {"model/files/urdf.py", "model/files/mjcf.py", "model/build/builder.py", "model/record/pose.py"} <= files


def test_a_reader_is_judged_by_numbers_of_the_other_program():
    mine = {"M": np.eye(2), "limits of a": np.array([-1.0, np.inf])}
    assert disagreement(mine, {**mine}) == {}
    assert set(disagreement(mine, {**mine, "limits of a": np.array([-1.0, 3.0])})) == {"limits of a"}
