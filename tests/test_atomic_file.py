"""Every writer leaves a whole file, the old or the new one, and nothing else."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import symbody as sb
from symbody.atomic_file import SUFFIX, open_part, remove_abandoned, write_whole
from symbody.errors import FormatError
from symbody.model.files import urdf_writer, yaml_writer

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


def test_parts_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path: Path) -> None:
    (tmp_path / f".old.abcdefgh{SUFFIX}").write_bytes(b"left by a kill")
    (tmp_path / ".someone_elses.part").write_bytes(b"not ours")
    handle, living = open_part(tmp_path, ".new.")
    try:
        remove_abandoned(tmp_path)
        names = {p.name for p in tmp_path.iterdir()}
        assert names == {Path(living).name, ".someone_elses.part"}
    finally:
        os.close(handle)
    if os.name == "posix":
        remove_abandoned(tmp_path)
        assert {p.name for p in tmp_path.iterdir()} == {".someone_elses.part"}


KILLED = """
import sys, itertools
sys.path.insert(0, {tests!r})
from symbody.atomic_file import write_whole
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
