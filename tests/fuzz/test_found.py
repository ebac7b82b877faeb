"""Inputs that once did harm, read again; and a short attack on every kind with seeds of its own."""

from __future__ import annotations

import contextlib
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import symbody as sb
from fuzz.attack import FOUND, attempt
from fuzz.forked import Server
from fuzz.kinds import APART, GOOD, KINDS
from symbody.basics.errors import SymbodyError
from symbody.model.files import parser_process


@pytest.mark.parametrize("path", sorted(FOUND.glob("*")) if FOUND.is_dir() else [], ids=lambda p: p.name)
def test_inputs_that_did_harm_are_read_or_refused(path: Path) -> None:
    """Any exception but a SymbodyError fails the test."""
    kind = path.name.rpartition("-")[0]
    if kind not in KINDS:
        pytest.skip(f"what reads {kind} is not installed")
    with contextlib.suppress(SymbodyError):
        KINDS[kind].read(path)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_damaged_can_be_read_before(name: str, tmp_path: Path) -> None:
    """Else nothing behind the first check would ever be reached."""
    path = tmp_path / f"good{KINDS[name].suffix}"
    good = GOOD[name]()
    path.write_bytes(good.encode() if isinstance(good, str) else good)
    KINDS[name].read(path)


@pytest.mark.parametrize("name", KINDS)
def test_damaged_inputs_are_read_or_refused(name: str, tmp_path: Path) -> None:
    for seed in range(10**6, 10**6 + (4 if name in APART else 40)):
        assert not attempt(name, seed, tmp_path, limit=0.0).wrong, f"make fuzz ARGS='--kind {name} --seed {seed}'"


@pytest.mark.parametrize("name", [name for name in APART if name in KINDS])
def test_processes_that_are_forked_answer_as_new_ones_do(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a long attack forks is what users run."""
    paths = [tmp_path / f"{k}{KINDS[name].suffix}" for k in range(4)]
    good = GOOD[name]()
    paths[0].write_bytes(good.encode() if isinstance(good, str) else good)
    for k, path in enumerate(paths[1:]):
        path.write_bytes(KINDS[name].make(random.Random(f"forked {k}")))
    new = [said(KINDS[name].read, path) for path in paths]
    with Server(*APART[name]) as server:
        monkeypatch.setattr(parser_process, "ran", lambda *files: server.run(*files)[0])
        assert [said(KINDS[name].read, path) for path in paths] == new
    assert new[0].startswith("Mechanism")


def said(read: Callable[[Path], Any], path: Path) -> str:
    try:
        return repr(read(path))
    except SymbodyError as error:
        return re.sub("symbody_[a-z_0-9]*", "", str(error))  # temporary folders


@pytest.mark.parametrize("name", ["x" * 300, "x/" * 3000 + "y.yaml", "x" * 100_000, "a\0b", "../" * 50 + "etc/passwd"])
def test_long_and_strange_names_in_includes_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "model.yaml").write_text(f"include: [{json.dumps(name)}]\nbodies: {{}}\njoints: {{}}\n")
    (tmp_path / "model.xml").write_text(f'<mujoco><include file="{name}"/><worldbody/></mujoco>')
    for file in ("model.yaml", "model.xml"):
        with pytest.raises(SymbodyError):
            sb.load(tmp_path / file)
