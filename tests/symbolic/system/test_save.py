"""Saved Systems come back the same; damaged files are refused in a sentence."""

import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest

import symbody as sb
from helpers.expressions import random_expressions
from symbody.basics.errors import DefinitionError, FormatError
from symbody.symbolic.expr.evaluate import evaluate
from symbody.symbolic.system import save
from symbody.symbolic.system.save import fingerprint, from_record, load_system, record


@pytest.fixture(autouse=True)
def own_graph():
    with sb.Graph():
        yield


def everything() -> sb.System:
    """A System with every kind of node."""
    x, y = sb.symbols("x y")
    p = sb.symbol("p", "parameter", default=1.25, unit="kg", nonzero=True)
    f = sb.External("f", 1, 2, function=lambda a: (a, 2 * a))
    a, b = sb.extern(f, x)
    block = sb.solve([y**3 + y - x * p], [y], [0.5], name="cubic")
    nodes = [
        x / 3 - 0.1 * y, a * b, sb.select(x < y, x, -y), sb.table(x, [0, 1, 2], [0, 1, 0]), block.x[0],
        block.at(sb.sin(y)), (x + 2) ** -2, sb.sqrt(x + p), sb.mask(x * y + 1, "W"), 2**70 * x, sb.atan2(y, x),
    ]  # fmt: skip
    return sb.System("all", inputs={"x": x, "y": y}, outputs={"f": nodes}, units={"x": "m"}, origins={"f": "test"}), f


def test_a_system_survives_a_file(tmp_path):
    system, f = everything()
    path = system.save(tmp_path / "all.json")
    back = load_system(path, externals=[f])
    assert fingerprint(back) == fingerprint(system)
    assert back.default("p") == (1.25,)
    assert back.units == {"x": "m"}
    point = {"x": 0.7, "y": 1.1, "p": 1.25}
    np.testing.assert_array_equal(
        np.array(evaluate(back.expressions(), point), dtype=float),
        np.array(evaluate(system.expressions(), point), dtype=float),
    )
    assert back.count() == system.count()


@pytest.mark.parametrize("seed", range(8))
def test_random_systems_survive_a_file(tmp_path, seed):
    outputs, xs, ps = random_expressions(seed, size=60)
    system = sb.System("r", inputs={"x": xs}, outputs={"f": outputs}, parameters={"p": ps})
    back = load_system(system.save(tmp_path / "r.json"))
    assert fingerprint(back) == fingerprint(system)
    assert json.dumps(record(back)) == json.dumps(record(system))


def test_the_fingerprint_is_the_same_in_any_process():
    code = (
        "import sys; sys.path.insert(0, 'tests'); import symbody as sb\n"
        "from helpers.expressions import random_expressions\n"
        "from symbody.symbolic.system.save import fingerprint\n"
        "o, x, p = random_expressions(3, size=80)\n"
        "print(fingerprint(sb.System('r', inputs={'x': x}, outputs={'f': o}, parameters={'p': p})))"
    )
    prints = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, cwd=root
        )
        prints.add(done.stdout)
    assert len(prints) == 1


def test_another_system_has_another_fingerprint():
    x = sb.symbols("x")
    prints = {fingerprint(sb.System("s", inputs={"x": x}, outputs={"f": f})) for f in (2 * x, 2.0 * x, x + 2, x - 2)}
    assert len(prints) == 4


def test_an_external_function_must_be_given_again(tmp_path):
    system, _ = everything()
    path = system.save(tmp_path / "all.json")
    with pytest.raises(FormatError, match=r"'f'.*externals="):
        load_system(path)
    with pytest.raises(FormatError, match="expects 1 and 2"):
        load_system(path, externals=[sb.External("f", 2, 1)])


def test_wrong_files_are_refused(tmp_path):
    with pytest.raises(FormatError, match="no file"):
        load_system(tmp_path / "nothing.json")
    path = tmp_path / "bad.json"
    for text in (
        "",
        "{",
        "[1, 2]",
        '{"format": "other"}',
        '{"format": "symbody-system", "version": 99}',
        "[" * 100_000,
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=r"bad\.json"):
            load_system(path)


def test_damaged_records_never_crash():
    x, y = sb.symbols("x y")
    system = sb.System("s", inputs={"x": x, "y": y}, outputs={"f": [x * y + 2, sb.sin(x) / y]})
    text = json.dumps(record(system))
    rnd = random.Random(0)
    refused = 0
    for _ in range(400):
        at = rnd.randrange(len(text))
        try:
            data = json.loads(text[:at] + rnd.choice('0123456789",[]{}xyz-') + text[at + 1 :])
        except json.JSONDecodeError:
            continue
        try:
            from_record(data, {}, "file")
        except sb.SymbodyError:
            refused += 1
    assert refused > 50


def _at(op, *path, value):
    """The record with another value in its first node of a kind."""

    def change(data):
        place = next(row for row in data["nodes"] if row[0] == op)
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value(data) if callable(value) else value

    return change


def _unknown(data):
    return next(i for i, row in enumerate(data["nodes"]) if row[0] == "symbol" and row[1][1] == "unknown")


def _given(data):
    return next(i for i, row in enumerate(data["nodes"]) if row[0] == "symbol" and row[1][1] != "unknown")


MEANINGLESS = {
    "an unknown outside of its block": lambda data: data["outputs"].update(f=[[], [_unknown(data)]]),
    "an unknown in a sum": lambda data: (
        data["nodes"].append(["add", _given(data), _unknown(data)]),
        data["outputs"].update(f=[[], [len(data["nodes"]) - 1]]),
    ),
    "a guess by itself": _at("solve", 3, value=_unknown),
    "an input as unknown": _at("solve", 1, 1, value=lambda data: [_given(data)]),
    "no iterations": _at("solve", 1, 3, value=0),
    "more iterations than are counted": _at("solve", 1, 3, value=10**30),
    "no tolerance": _at("solve", 1, 2, value="nan"),
    "an endless power": _at("power", 1, value=["i", str(10**4000)]),
    "a power that is no number": _at("power", 1, value="nan"),
    "points that do not ascend": _at("table", 1, 0, value=["0x0p0", "0x1p1", "0x1p0"]),
    "a table without rows": _at("table", 1, 1, value=[]),
}


@pytest.mark.parametrize("change", MEANINGLESS.values(), ids=MEANINGLESS)
def test_records_without_a_meaning_are_refused_behind_a_right_checksum(change):
    system, f = everything()
    data = json.loads(json.dumps(record(system)))
    change(data)
    data.pop("checksum")
    data = {"checksum": save._checksum(save._canonical(data)), **data}
    with pytest.raises(FormatError, match="file is damaged"):
        from_record(data, {"f": f}, "file")


@pytest.mark.parametrize("wrong", [{"max_iterations": 0}, {"max_iterations": 1.5}, {"tolerance": -1.0}])
def test_blocks_that_cannot_be_solved_are_refused(wrong):
    x, y = sb.symbols("x y")
    with pytest.raises(sb.SymbodyError, match=next(iter(wrong))):
        sb.solve([y**3 + y - x], [y], [0.5], **wrong)


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    x = sb.symbols("x")
    system = sb.System("s", inputs={"x": x}, outputs={"f": x})
    path = system.save(tmp_path / "s.json")
    before = path.read_text()

    def full_disk(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(sb.SymbodyError, match="no space"):
        system.save(path)
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


def test_two_external_functions_of_one_name_are_refused_by_files(tmp_path):
    x = sb.symbol("x")
    first, second = (sb.External("curve", 1, function=lambda u, k=k: k + u) for k in (1, 10))
    system = sb.System("two", inputs={"x": x}, outputs={"f": sb.extern(first, x) + 2 * sb.extern(second, x)})
    with pytest.raises(DefinitionError, match=r"'two' calls two different external functions 'curve'.*own"):
        system.save(tmp_path / "two.json")
    one = system.replace(outputs={"f": sb.extern(first, x) + sb.extern(first, 2 * x)})
    path = one.save(tmp_path / "one.json")
    assert load_system(path, externals=[first, first]).compile("python")(3.0) == 4.0 + 7.0
    with pytest.raises(DefinitionError, match="two different external functions 'curve' were given"):
        load_system(path, externals=[first, second])
