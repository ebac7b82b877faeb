"""The cache of object code: hits need no Program, damage is repaired, unsafe directories are refused."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from programs import CUBIC, Builder, pendulum, random_inputs, random_program
from symbody.codegen import cache
from symbody.codegen.kernel import compile_program
from symbody.errors import NameLookupError
from symbody.lower.program import Program


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv("SYMBODY_CACHE", str(path))
    return path


def never() -> Program:
    raise AssertionError("a hit must not lower")


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.obj"))


def test_a_hit_needs_no_program(folder: Path) -> None:
    program = random_program(4, size=200, blocks=2)
    x = random_inputs(program, 0, (9,))
    first = compile_program(program, key="robot")
    second = compile_program(never, key="robot", externals=program.externals)
    assert repr(second) == repr(first)
    assert second.signature == first.signature
    for a, b in zip(first.call_with_status(*x), second.call_with_status(*x), strict=True):
        assert np.array_equal(np.concatenate([np.ravel(v) for v in a]), np.concatenate([np.ravel(v) for v in b]))
    assert len(entries(folder)) == 1
    if os.name == "posix":
        assert folder.stat().st_mode & 0o777 == 0o700


def test_every_option_and_every_program_has_its_own_entry(folder: Path) -> None:
    compile_program(pendulum())
    compile_program(pendulum())
    assert len(entries(folder)) == 1
    compile_program(pendulum(), fma=False)
    compile_program(pendulum(), lanes=2)
    compile_program(pendulum(), level="quick")
    compile_program(random_program(1, size=10))
    compile_program(pendulum(), cache=False, lanes=1)
    assert len(entries(folder)) == 5


def test_externals_are_matched_by_name(folder: Path) -> None:
    b = Builder()
    b.output("y", b.call(CUBIC, *b.input("x", (2,))))
    compile_program(b.program(), key="k")
    assert compile_program(never, key="k", externals=[CUBIC])(np.array([2.0, 3.0])).tolist() == [14.0, 1.0]
    with pytest.raises(NameLookupError, match="cubic"):
        compile_program(never, key="k")


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other"])
def test_damaged_files_are_written_again(folder: Path, damage: str) -> None:
    compile_program(pendulum())
    (path,) = entries(folder)
    good = path.read_bytes()
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    path.write_bytes({"cut": good[:-7], "flipped": bytes(flipped), "empty": b"", "other": b"text\n" * 50}[damage])
    assert compile_program(pendulum())(0.5, 1.0) == pytest.approx(0.5 + 9.81 * np.sin(0.5))
    assert path.read_bytes()[:100] == good[:100]
    assert not list(folder.glob("*.part"))


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_directory_that_everyone_can_write_is_not_used(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.warns(UserWarning, match="W-cache-unused"):
        compile_program(pendulum())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_program(pendulum())  # warned once
    assert entries(folder) == []


@pytest.mark.skipif(os.name != "posix", reason="owners of POSIX")
def test_a_directory_of_another_user_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    monkeypatch.setattr(os, "getuid", lambda: os.stat(folder).st_uid + 1)
    with pytest.warns(UserWarning, match="another user"):
        assert cache.directory() is None


def test_an_impossible_directory_only_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SYMBODY_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="cannot be made"):
        assert compile_program(pendulum())(0.0, 1.0) == pytest.approx(0.5)


def test_the_oldest_entries_go_first(folder: Path) -> None:
    for i in range(5):
        cache.store(f"e{i}", {"n": i}, [bytes(1000)])
        os.utime(folder / f"e{i}.obj", (i, i))
    assert cache.load("e0") is not None  # used now: the youngest
    cache.prune(folder, 2500)
    assert {p.stem for p in entries(folder)} == {"e0", "e4"}


def test_equal_programs_have_equal_keys_and_changed_ones_do_not() -> None:
    keys = {cache.program_key(random_program(s, size=30)) for s in (1, 1, 2, 3)}
    assert len(keys) == 3
    b = Builder()
    b.output("y", [b.const(1)], ())
    c = Builder()
    c.output("y", [c.const(1.0)], ())
    assert cache.program_key(b.program()) != cache.program_key(c.program())
