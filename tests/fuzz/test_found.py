"""Inputs that once did harm, read again; and a short attack on every kind with seeds of its own."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

import symbody as sb
from fuzz.attack import FOUND, attempt
from fuzz.kinds import APART, GOOD, KINDS
from symbody.errors import SymbodyError


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


@pytest.mark.parametrize("name", ["x" * 300, "x/" * 3000 + "y.yaml", "x" * 100_000, "a\0b", "../" * 50 + "etc/passwd"])
def test_long_and_strange_names_in_includes_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "model.yaml").write_text(f"include: [{json.dumps(name)}]\nbodies: {{}}\njoints: {{}}\n")
    (tmp_path / "model.xml").write_text(f'<mujoco><include file="{name}"/><worldbody/></mujoco>')
    for file in ("model.yaml", "model.xml"):
        with pytest.raises(SymbodyError):
            sb.load(tmp_path / file)
