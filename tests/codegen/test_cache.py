"""The cache of object code: hits need no Program, damage is repaired, unsafe directories are refused."""

from __future__ import annotations

import hashlib
import os
import random
import struct
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import symbody as sb
from helpers.programs import CUBIC, Builder, pendulum, random_inputs, random_program
from symbody.basics.atomic_file import SUFFIX, remove_abandoned
from symbody.basics.errors import NameLookupError
from symbody.codegen.kernel import cache, secret
from symbody.codegen.kernel.compile_program import compile_program
from symbody.symbolic.lower.program import Program


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv("SYMBODY_CACHE", str(path))
    monkeypatch.setenv("SYMBODY_CONFIG", str(tmp_path / "config"))
    return path


def forget() -> None:
    """As a new process would: folders and the secret are looked at again."""
    cache._checked.cache_clear()
    cache._unused.cache_clear()
    secret._secret_of.cache_clear()


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


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_externals_of_one_name_are_told_apart_by_place(folder: Path, order: tuple[int, ...], swapped: bool) -> None:
    """A factory makes functions of one name: each compile gives each call its own, from the cache too."""
    made = [sb.External("curve", 1, function=lambda u, k=k: 10.0**k * u) for k in range(3)]
    for again in range(2):
        with sb.Graph():
            x, y = sb.symbols("x y")
            # made in one order, read in another; the last call is of the first or of the second function
            calls = [sb.extern(made[k], x) for k in order]
            calls.append(sb.extern(made[order[swapped]], y))
            system = sb.System("curves", inputs={"x": x, "y": y}, outputs={"f": np.array(calls[::-1])})
            wanted = [10.0 ** order[swapped] * 3.0, *(10.0**k * 2.0 for k in order[::-1])]
            assert system.compile()(2.0, 3.0).tolist() == wanted, again
            assert system.compile("python")(2.0, 3.0).tolist() == wanted
    assert len(entries(folder)) == 1


def test_systems_that_call_other_functions_of_one_name_have_entries_of_their_own(folder: Path) -> None:
    first, second = (sb.External("curve", 1, function=lambda u, k=k: k + u) for k in (1, 10))
    for last in (first, second):
        with sb.Graph():
            x, y = sb.symbols("x y")
            calls = [sb.extern(first, x), sb.extern(second, x), sb.extern(last, y)]
            system = sb.System("curves", inputs={"x": x, "y": y}, outputs={"f": np.array(calls)})
            assert system.compile()(2.0, 3.0).tolist() == [3.0, 12.0, last.function(3.0)]
    assert len(entries(folder)) == 2


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


def test_an_entry_counts_under_its_own_name_alone(folder: Path) -> None:
    """Renamed or swapped entries are other programs' numbers: they are compiled anew."""
    cache.store("one", {"n": 1}, [b"first"])
    cache.store("two", {"n": 2}, [b"second"])
    one, two = folder / "one.obj", folder / "two.obj"
    kept = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(kept)
    assert cache.load("one") is None
    assert cache.load("two") is None
    (folder / "three.obj").write_bytes(kept)
    assert cache.load("three") is None
    one.write_bytes(kept)
    assert cache.load("one") == ({"n": 1}, [b"first"])


def test_a_plain_checksum_does_not_make_an_entry(folder: Path) -> None:
    """Whoever can write the folder knows the format, but not the secret."""
    cache.store("one", {}, [b"code"])
    path = folder / "one.obj"
    rest = path.read_bytes()[len(cache.MAGIC) + cache.MAC :]
    path.write_bytes(cache.MAGIC + hashlib.sha256(rest).digest() + rest)
    assert cache.load("one") is None
    path.write_bytes(cache.MAGIC + bytes(32) + rest)
    assert cache.load("one") is None


def test_an_entry_of_another_secret_is_not_loaded(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.store("one", {}, [b"code"])
    assert cache.load("one") is not None
    monkeypatch.setenv("SYMBODY_CONFIG", str(tmp_path / "other"))
    assert cache.load("one") is None


def test_a_forged_header_means_compile_anew(folder: Path) -> None:
    for text in (b"[]", b"{}", b'{"header": 3, "sizes": []}', b'{"header": {}, "sizes": [1e9]}', b"[" * 2000, b"\xff"):
        rest = struct.pack("<Q", len(text)) + text
        cache.store("one", {}, [])
        (folder / "one.obj").write_bytes(cache.MAGIC + cache.code_of("one", rest) + rest)
        assert cache.load("one") is None
    rest = struct.pack("<Q", 2**63) + b"{}"
    (folder / "one.obj").write_bytes(cache.MAGIC + cache.code_of("one", rest) + rest)
    assert cache.load("one") is None


def test_no_damaged_entry_is_ever_loaded(folder: Path) -> None:
    cache.store("one", {"n": 1}, [bytes(range(256)) * 4])
    path = folder / "one.obj"
    good = path.read_bytes()
    rng = random.Random(3)
    for _ in range(2000):
        data = bytearray(good)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(data))
            if rng.random() < 0.5:
                data[at] ^= 1 << rng.randrange(8)
            else:
                del data[at : at + rng.randint(1, 9)]
        if bytes(data) != good:
            path.write_bytes(bytes(data))
            assert cache.load("one") is None


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o775, 0o720, 0o702])
def test_a_directory_that_others_can_write_is_not_used(folder: Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode)
    with pytest.warns(UserWarning, match="W-cache-unused.*written by others"):
        compile_program(pendulum())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_program(pendulum())  # warned once
    assert entries(folder) == []


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_link_and_a_parent_that_everyone_can_write_are_not_used(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    folder.symlink_to(real)
    with pytest.warns(UserWarning, match="is a link"):
        assert cache.directory() is None
    for mode, used in ((0o777, False), (0o1777, True), (0o770, True)):
        parent = tmp_path / f"parent{mode:o}"
        parent.mkdir()
        parent.chmod(mode)
        monkeypatch.setenv("SYMBODY_CACHE", str(parent / "cache"))
        if used:
            assert cache.directory() is not None
        else:
            with pytest.warns(UserWarning, match="everyone can write"):
                assert cache.directory() is None


@pytest.mark.skipif(os.name != "posix", reason="permissions, links and pipes of POSIX")
def test_what_is_no_plain_entry_of_the_user_is_not_read(folder: Path, tmp_path: Path) -> None:
    cache.store("one", {}, [b"code"])
    path = folder / "one.obj"
    for mode in (0o620, 0o602, 0o666):
        path.chmod(mode)
        assert cache.load("one") is None
    path.chmod(0o600)
    assert cache.load("one") is not None
    moved = path.rename(tmp_path / "moved.obj")
    path.symlink_to(moved)
    assert cache.load("one") is None
    path.unlink()
    os.mkfifo(path)
    assert cache.load("one") is None  # and does not wait for a writer
    path.unlink()
    path.mkdir()
    assert cache.load("one") is None


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("fault", ["readable", "short", "zeros", "link", "read-only folder"])
def test_a_secret_that_is_none_makes_the_cache_unused(folder: Path, tmp_path: Path, fault: str) -> None:
    cache.store("one", {}, [b"code"])
    path = tmp_path / "config" / secret.NAME
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(path.read_bytes()) == secret.SIZE
    if fault == "readable":
        path.chmod(0o644)
    elif fault == "short":
        path.write_bytes(b"short")
    elif fault == "zeros":
        path.write_bytes(bytes(secret.SIZE))
    elif fault == "link":
        path.symlink_to(path.rename(tmp_path / "moved"))
    else:
        path.unlink()
        path.parent.rmdir()
        path.parent.write_text("a file where the folder should be")
    forget()
    with pytest.warns(UserWarning, match=r"W-cache-unused.*secret"):
        assert cache.load("one") is None


def test_parts_that_a_kill_left_are_removed(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / f"abcdefgh{SUFFIX}").write_bytes(b"half")
    assert cache.directory() == folder
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_another_process_that_begins_takes_no_part_that_is_being_stored(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What begins to use the folders removes abandoned parts: not one that is about to get its name."""

    def late(move: Callable[[str, str], None]) -> Callable[[str, str], None]:
        return lambda part, place: (remove_abandoned(Path(part).parent), move(part, place))[1]

    monkeypatch.setattr(os, "replace", late(os.replace))
    monkeypatch.setattr(os, "link", late(os.link))
    cache.store("one", {"n": 1}, [b"code"])
    assert cache.load("one") == ({"n": 1}, [b"code"])


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


def test_a_disk_that_is_read_only_still_serves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the image of a container: the time of use cannot be noted there."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    cache.store("one", {"n": 1}, [b"code"])
    monkeypatch.setattr(os, "utime", refuse)
    monkeypatch.setattr(os, "supports_fd", {*os.supports_fd, refuse})
    assert cache.load("one") == ({"n": 1}, [b"code"])


@pytest.mark.parametrize("missing", ["home", "home of the secret", "working folder"])
def test_folders_that_nobody_can_name_make_the_cache_unused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    forget()
    if missing == "working folder":
        monkeypatch.setenv("SYMBODY_CACHE", "cache")
        monkeypatch.setattr(os, "getcwd", lambda: os.stat(tmp_path / "nowhere"))
    else:
        monkeypatch.setattr(Path, "home", unknown)
        monkeypatch.setenv("XDG_CACHE_HOME" if os.name == "posix" else "LOCALAPPDATA", str(tmp_path))
        assert cache.directory() is not None  # what names it needs no home
        for name in ("SYMBODY_CONFIG", *(["SYMBODY_CACHE"] if missing == "home" else [])):
            monkeypatch.delenv(name)
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "APPDATA", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
    with pytest.warns(UserWarning, match="W-cache-unused.*is not known"):
        assert compile_program(pendulum())(0.0, 1.0) == pytest.approx(0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.load("one") is None  # warned once


def test_a_folder_of_the_secret_that_changes_is_looked_at_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.store("one", {}, [b"code"])
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SYMBODY_CONFIG", str(tmp_path / "file" / "config"))
    with pytest.warns(UserWarning, match=r"W-cache-unused.*secret"):
        assert cache.load("one") is None


@pytest.mark.parametrize("below", [".", "config"])
def test_a_folder_that_would_hold_its_secret_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    monkeypatch.setenv("SYMBODY_CONFIG", str(folder / below))
    with pytest.warns(UserWarning, match="would hold the secret"):
        assert cache.directory() is None
    assert not list(folder.rglob(secret.NAME))


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_folders_are_made_for_the_user_alone_whatever_the_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMBODY_CACHE", str(tmp_path / "home" / "cache" / "symbody"))
    monkeypatch.setenv("SYMBODY_CONFIG", str(tmp_path / "home" / "config" / "symbody"))
    before = os.umask(0)
    try:
        assert cache.directory() is not None
    finally:
        os.umask(before)
    assert {p.stat().st_mode & 0o077 for p in (tmp_path / "home", *(tmp_path / "home").rglob("*"))} == {0}


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_links_on_the_way_that_everyone_can_exchange_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folders that a link leads to may be safe; the one that it lies in is not."""
    for name in ("open", "mine", "safe"):
        (tmp_path / name).mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "open" / "link").symlink_to(tmp_path / "safe")
    (tmp_path / "mine" / "link").symlink_to(Path("..", "open", "link"))
    for name in ("open", "mine"):
        monkeypatch.setenv("SYMBODY_CACHE", str(tmp_path / name / "link" / "cache"))
        with pytest.warns(UserWarning, match="everyone can write"):
            assert cache.directory() is None


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_secret_that_everyone_can_exchange_is_not_used(folder: Path, tmp_path: Path) -> None:
    cache.store("one", {}, [b"code"])
    (tmp_path / "config").chmod(0o777)
    forget()
    with pytest.warns(UserWarning, match=r"needs the secret .*everyone can write"):
        assert cache.load("one") is None
    (tmp_path / "config").chmod(0o1777)  # where nobody removes what others made
    forget()
    assert cache.load("one") is not None


@pytest.mark.skipif(os.name != "posix", reason="names of POSIX")
def test_folders_are_named_as_people_write_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """~ also where no shell has read it; a system's folder that is no whole path is none, whatever folder we are in."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, place in (("CACHE", cache.CACHE), ("CONFIG", secret.CONFIG)):
        monkeypatch.setenv(f"SYMBODY_{name}", f"~/{name}")
        assert secret.folder_of(place) == tmp_path / name
        usual = tmp_path / f".{name.lower()}" / "symbody"
        monkeypatch.delenv(f"SYMBODY_{name}")
        monkeypatch.setenv(f"XDG_{name}_HOME", "relative")
        assert sys.platform == "darwin" or secret.folder_of(place) == usual


def test_the_oldest_entries_go_first(folder: Path) -> None:
    names = [cache.digest((i,)) for i in range(5)]
    for i, name in enumerate(names):
        cache.store(name, {"n": i}, [bytes(1000)])
        os.utime(folder / f"{name}.obj", (i, i))
    mesh = folder / "torso.obj"  # of a user who named a folder of his own
    mesh.write_bytes(bytes(5000))
    os.utime(mesh, (0, 0))
    assert cache.load(names[0]) is not None  # used now: the youngest
    cache.prune(folder, 2500)
    assert {p.stem for p in entries(folder)} == {names[0], names[4], "torso"}


def test_equal_programs_have_equal_keys_and_changed_ones_do_not() -> None:
    keys = {cache.program_key(random_program(s, size=30)) for s in (1, 1, 2, 3)}
    assert len(keys) == 3
    b = Builder()
    b.output("y", [b.const(1)], ())
    c = Builder()
    c.output("y", [c.const(1.0)], ())
    assert cache.program_key(b.program()) != cache.program_key(c.program())
