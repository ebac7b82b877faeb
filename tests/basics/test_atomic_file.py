"""Every writer leaves a whole file, the old or the new one, and nothing else."""

from __future__ import annotations

import itertools
import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import symbody as sb
from symbody.basics import atomic_file
from symbody.basics.atomic_file import SUFFIX, open_part, remove_abandoned, write_whole
from symbody.basics.errors import DefinitionError, FormatError
from symbody.model.files import urdf_writer, yaml_writer
from symbody.show.report.bond_graph_report import write_bond_graph_report
from symbody.show.report.identification import write_identification_report
from symbody.show.report.notebook import Animated
from symbody.studies.identification.estimate import Estimate

MECH = sb.load("pendulum2")


def _system(path: Path) -> None:
    sb.inverse_dynamics(MECH, formalism="newton_euler").save(path)


def _trajectory(path: Path) -> None:
    sb.simulate(MECH, 0.05, 0.01).save(path)


def _checkpoint(path: Path) -> None:
    sb.simulate(MECH, 0.05, 0.01, checkpoint=path)


WRITERS: dict[str, Callable[[Path], None]] = {
    "model.yaml": lambda path: yaml_writer.write(MECH, path) and None,
    "model.urdf": lambda path: urdf_writer.write(MECH, path),
    "system.json": _system,
    "run.csv": _trajectory,
    "run.npz": _trajectory,
    "checkpoint.npz": _checkpoint,
    "report.html": lambda path: sb.write_report(MECH, path),
}


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_is_full_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    import resource

    path = tmp_path / name
    WRITERS[name](path)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(FormatError, match="was not written"):
            WRITERS[name](path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match="no folder"):
        WRITERS[name](tmp_path / "nowhere" / name)


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_follow_the_umask(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        path = write_whole(tmp_path / "new", b"text")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == mode
    path.chmod(0o640)
    assert write_whole(path, b"more").stat().st_mode & 0o777 == 0o640  # those of the file that is replaced


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_the_umask_of_the_process_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one for all threads: what another one makes meanwhile would be open to everyone."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask was set"))
    write_whole(tmp_path / "new", b"text")


@pytest.mark.parametrize("name", ["x" * 256, "x/" * 3000 + "x", "a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_a_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match="written"):
        write_whole(tmp_path / name, b"text")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", [1, None, b"page.html", ["page.html"]])
def test_what_is_no_path_is_a_sentence(path: Any) -> None:
    one = np.ones(1)
    estimate = Estimate("OLS", ("a",), ("",), one, one[:, None], "white", {"r": 1.0}, 0.1, {"r": 0.1}, 1.0, 9)
    writers: list[Callable[..., Any]] = [
        Animated("", "nothing").save,
        partial(write_bond_graph_report, sb.BondGraph.load("rlc")),
        partial(write_identification_report, estimate),
    ]
    for write in writers:
        with pytest.raises(DefinitionError, match="expected a text or a path"):
            write(path)


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no text")
def test_names_of_any_bytes_and_of_full_length_are_written(tmp_path: Path) -> None:
    for name in (b"\xff.csv", b"x" * 255, "ü".encode() * 127):
        path = tmp_path / os.fsdecode(name)
        assert write_whole(path, b"text").read_bytes() == b"text"


def test_a_process_that_moves_to_another_folder_writes_where_it_was_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)

    def parts() -> Iterator[bytes]:
        yield b"te"
        os.chdir("other")
        yield b"xt"

    write_whole("file", parts())
    assert (tmp_path / "file").read_bytes() == b"text"


def test_a_part_that_cannot_be_removed_is_still_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a folder is closed while a long run is written into it."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(FormatError, match="Permission denied"):
        write_whole(tmp_path / "file", b"text")


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "disk").mkdir()
    link, file = tmp_path / "link", tmp_path / "disk" / "file"
    (tmp_path / "disk" / "second").symlink_to("file")
    link.symlink_to(Path("disk", "second"))
    for text in (b"new", b"newer"):  # it leads nowhere at first
        write_whole(link, text)
        assert link.is_symlink()
        assert file.read_bytes() == text
        assert not file.is_symlink()
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(FormatError, match="leads to itself"):
        write_whole(tmp_path / "round", b"")
    lstat, others = Path.lstat, os.stat_result((0o120777, 0, 0, 1, 12345, *[0] * 5))
    monkeypatch.setattr(Path, "lstat", lambda path: others if path == link else lstat(path))
    with pytest.raises(FormatError, match="link of another user"):
        write_whole(link, b"harm")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives links away")
def test_a_folder_that_is_a_link_of_another_user_is_refused_where_everyone_may_put_one(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "shared").mkdir()
    link = tmp_path / "shared" / "results"
    link.symlink_to(tmp_path / "private")
    for mode, owner, refused in ((0o1777, 12345, True), (0o1777, 0, False), (0o755, 12345, False)):
        (tmp_path / "shared").chmod(mode)
        os.chown(link, owner, owner, follow_symlinks=False)
        if refused:
            with pytest.raises(FormatError, match=r"link of another user|Permission denied"):
                write_whole(link / "file", b"harm")
        else:
            write_whole(link / "file", b"text")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_is_read_only_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"kept")
    path.chmod(0o444)
    with pytest.raises(FormatError, match="Permission denied"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"kept"


def _list(*entries: tuple[int, int, int]) -> bytes:
    """An access list as Linux keeps it: (kind, rights, user or group) of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


NOBODY, ANY = 65534, 0xFFFFFFFF
FOR_NOBODY = _list((0x01, 6, ANY), (0x02, 6, NOBODY), (0x04, 0, ANY), (0x10, 6, ANY), (0x20, 0, ANY))


def _needs_access_lists(folder: Path) -> None:
    try:
        os.setxattr(folder, "system.posix_acl_default", FOR_NOBODY)
    except (OSError, AttributeError):
        pytest.skip("no access lists here")


def test_a_file_keeps_its_access_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mode alone would let its group do what the list lets others do."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    _needs_access_lists(tmp_path)
    os.setxattr(path, atomic_file.ACL, FOR_NOBODY)
    assert path.stat().st_mode & 0o777 == 0o660
    write_whole(path, b"new")
    assert os.getxattr(path, atomic_file.ACL) == FOR_NOBODY
    assert path.stat().st_mode & 0o777 == 0o660
    monkeypatch.setattr(os, "setxattr", lambda *_: None)
    assert write_whole(path, b"new").stat().st_mode & 0o777 == 0o600


def test_a_file_without_an_access_list_gets_none_from_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)
    _needs_access_lists(tmp_path)
    write_whole(path, b"new")
    assert atomic_file.ACL not in os.listxattr(path)
    assert path.stat().st_mode & 0o777 == 0o640
    assert atomic_file.ACL in os.listxattr(write_whole(tmp_path / "another", b"new"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="names of open files")
def test_a_file_that_has_no_name_any_more_is_refused(tmp_path: Path) -> None:
    with open(tmp_path / "gone", "wb") as file:
        (tmp_path / "gone").unlink()
        with pytest.raises(FormatError, match="without a name"):
            write_whole(f"/proc/self/fd/{file.fileno()}", b"text")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_owner_and_group_of_a_file_stay_or_another_group_gets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    path.chmod(0o640)
    status = write_whole(path, b"new").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (12345, 23456, 0o640)
    monkeypatch.setattr(os, "chown", lambda *_: None)
    assert write_whole(path, b"new").stat().st_mode & 0o777 == 0o600


def test_many_files_in_a_folder_take_time_in_proportion_to_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for k in range(1000):
        (tmp_path / f"{k}").touch()
    looks = 0
    scandir = os.scandir

    def counted(path: Any) -> Any:
        nonlocal looks
        looks += 1
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counted)
    for k in range(30):
        write_whole(tmp_path / f"{k}", b"")
    assert looks == 3


def test_parts_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path: Path) -> None:
    (tmp_path / f".old.abcdefgh{SUFFIX}").write_bytes(b"left by a kill")
    (tmp_path / ".someone_elses.part").write_bytes(b"not ours")
    tried: list[str] = []
    with open_part(tmp_path, ".new.", tried):
        remove_abandoned(tmp_path)
        names = {p.name for p in tmp_path.iterdir()}
        assert names == {Path(tried[-1]).name, ".someone_elses.part"}
    if os.name == "posix":
        remove_abandoned(tmp_path)
        assert {p.name for p in tmp_path.iterdir()} == {".someone_elses.part"}


KILLED = """
import sys, itertools
sys.path.insert(0, {tests!r})
from symbody.basics.atomic_file import write_whole
print("ready", flush=True)
for i in itertools.count():
    write_whole({path!r}, [bytes([65 + i % 26]) * 4096] * 64)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_kill_leaves_a_whole_file_and_the_next_start_no_leftovers(tmp_path: Path) -> None:
    path = tmp_path / "file"
    rng = random.Random(4)
    for _ in range(12):
        text = KILLED.format(tests=str(Path(__file__).parent), path=str(path))
        process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.03))
        process.kill()
        process.wait()
        process.stdout.close()
        if path.exists():
            data = path.read_bytes()
            assert data == data[:1] * (4096 * 64)
    write_whole(path, b"end")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.name != "posix", reason="parts that are open can be removed on POSIX alone")
def test_an_interrupt_at_any_line_leaves_no_part(tmp_path: Path) -> None:
    """Nor one whose lock the process holds on to: nobody could remove that while it lives."""
    path = tmp_path / "file"
    caught: list[BaseException] = []  # a notebook keeps the last error, and with it what its frames hold
    for stop in itertools.count(1):
        path.write_bytes(b"old")
        try:
            if not _interrupted(lambda: write_whole(path, [b"n", b"ew"]), stop):
                break
        except KeyboardInterrupt as error:
            caught.append(error)
        assert path.read_bytes() in (b"old", b"new")
        assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert len(caught) > 50


def _interrupted(act: Callable[[], object], stop: int) -> bool:
    """Interrupt `act` before the `stop`-th line of the writer; False where it has fewer."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename != atomic_file.__file__:
            return None
        count += event == "line"
        if count == stop and event == "line":
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count >= stop


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    import threading

    path = tmp_path / "file"
    faults: list[BaseException] = []

    def write(letter: bytes) -> None:
        try:
            for _ in range(50):
                write_whole(path, letter * 10_000)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    data = path.read_bytes()
    assert data == data[:1] * 10_000
    assert len(list(tmp_path.iterdir())) == 1
