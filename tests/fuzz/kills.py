"""Kills and full disks over every writer: nothing lost, nothing half-written, no leftovers after the next start.

python -m fuzz.kills --count 500      kills, then a disk of 1 MB (which needs the right to mount one)

A child that was forked writes the next version of a file and is killed, at a line of the writer or after a random
time. What stands there then must be the version before or the new one, whole; the next write leaves that file alone.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import symbody as sb
from symbody.basics.errors import FormatError
from symbody.bondgraph.graph.graph_files import FOLDER as GRAPHS
from symbody.codegen.kernel import cache, secret
from symbody.model.files import mbs_writer, mjcf_writer, sdf_writer, urdf_writer, yaml_writer
from symbody.show.drawing.svg import Picture

WATCHED = ("atomic_file.py", "cache.py", "secret.py")  # where a kill may fall on a line


@dataclass(frozen=True)
class Writer:
    """write(path, version 0 or 1); read(path): the version that stands there, or an exception."""

    file: str
    write: Callable[[Path, int], Any]
    read: Callable[[Path], int]


# -- what is written, in two versions


@functools.cache
def mechanism(version: int) -> sb.Mechanism:
    """A chain of 3, or of 40 bodies."""
    make = sb.Mechanism.builder(f"chain{version}")
    for k in range((3, 40)[version]):
        make.body(f"b{k}", 1.0, (0, 0, -0.5), (0.1, 0.1, 0.01))
        make.joint(f"j{k}", "revolute", f"b{k - 1}" if k else "world", f"b{k}", axis="y", position=(0, 0, -1))
    return make.done()


@functools.cache
def motion(version: int) -> sb.Trajectory:
    return sb.simulate(sb.load("pendulum2"), (0.1, 5.0)[version], 0.01, q0=[0.1 + version, 0.2])


@functools.cache
def system(version: int) -> sb.System:
    return sb.inverse_dynamics(sb.load(("pendulum2", "puma560")[version]), "newton_euler")


def _named(path: Path) -> int:
    return int(sb.load(path).name.removeprefix("chain"))


def _began(path: Path) -> int:
    found: sb.Trajectory = sb.Trajectory.load(path)
    version = round(float(found.q[0, 0]) - 0.1)
    assert np.array_equal(found.q, motion(version).q)
    return version


def _checkpoint(path: Path, version: int) -> None:
    sb.simulate(sb.load("pendulum2"), 0.03, 0.01, q0=[0.1 + version, 0.2], checkpoint=path)


@functools.cache
def _continued(version: int) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        _checkpoint(Path(folder, "run.npz"), version)
        return np.asarray(sb.resume(Path(folder, "run.npz"), 0.01).q)


def _resumed(path: Path) -> int:
    found = sb.resume(path, 0.01).q
    return next(v for v in (0, 1) if np.array_equal(found, _continued(v)))


def _system(path: Path) -> int:
    name = sb.System.load(path).name
    return next(v for v in (0, 1) if system(v).name == name)


def _report(path: Path) -> int:
    text = path.read_text(encoding="utf-8")
    assert text.rstrip().endswith("</html>")
    return next(v for v in (0, 1) if f"chain{v}" in text)


@functools.cache
def graph(version: int) -> sb.BondGraph:
    return sb.BondGraph.load(GRAPHS / f"{('rlc', 'gear_train')[version]}.bond.yaml")


def _graph(path: Path) -> int:
    name = sb.BondGraph.load(path).name
    return next(v for v in (0, 1) if graph(v).name == name)


def _picture(version: int) -> Picture:
    return Picture(f"<svg><g>{'<path/>' * 9000 * version}</g><title>{version}</title></svg>", 1, 1)


def _drawn(path: Path) -> int:
    text = path.read_text(encoding="utf-8")
    version = int(text.endswith("<title>1</title></svg>"))
    assert text == _picture(version).svg
    return version


def _stream(path: Path, version: int) -> None:
    start = np.linspace(0.1, 0.3, (8, 80)[version])[:, None] * [1.0, 2.0]
    sb.simulate(sb.load("pendulum2"), 0.1, 0.01, q0=start, stream=sb.Stream(path, 4))


@functools.cache
def _streamed(version: int) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        _stream(Path(folder, "run.parquet"), version)
        return np.asarray(sb.Trajectory.load(Path(folder, "run.parquet")).q)


def _members(path: Path) -> int:
    found: sb.Trajectory = sb.Trajectory.load(path)
    return next(v for v in (0, 1) if np.array_equal(found.q, _streamed(v)))


def _in_folder(path: Path) -> contextlib.AbstractContextManager[None]:
    """Cache and secret in the folder of the path, and nothing remembered of other folders."""
    return _environment(SYMBODY_CACHE=str(path.parent), SYMBODY_CONFIG=str(path.parent.parent / "config"))


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {n: os.environ.get(n) for n in values}
    os.environ.update(values)
    cache._checked.cache_clear()
    secret._secret_of.cache_clear()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _store(path: Path, version: int) -> None:
    with _in_folder(path):
        cache.store(path.stem, {"version": version}, [bytes(1000), bytes(200_000 * version)])


def _load(path: Path) -> int:
    with _in_folder(path):
        found = cache.load(path.stem)
    assert found is not None
    return int(found[0]["version"])


def _make_secret(path: Path, version: int) -> None:
    """Version 0: there is one already; version 1: a new one."""
    with _environment(SYMBODY_CONFIG=str(path.parent)):
        if version and path.exists():
            path.unlink()
        secret.user_secret()


def _secret(path: Path) -> int:
    if not path.exists():
        return 0  # it was to be made anew
    assert len(path.read_bytes()) == secret.SIZE
    return 1


def _whole(make: Callable[[int], Any], write: Callable[[Any, Path], Any]) -> Callable[[Path, int], Any]:
    return lambda path, version: write(make(version), path)


WRITERS: dict[str, Writer] = {
    "yaml": Writer("model.yaml", _whole(mechanism, yaml_writer.write), _named),
    "urdf": Writer("model.urdf", _whole(mechanism, urdf_writer.write), _named),
    "system": Writer("system.json", _whole(system, sb.System.save), _system),
    "csv": Writer("run.csv", _whole(motion, sb.Trajectory.save), _began),
    "npz": Writer("run.npz", _whole(motion, sb.Trajectory.save), _began),
    "parquet": Writer("run.parquet", _whole(motion, sb.Trajectory.save), _began),
    "h5": Writer("run.h5", _whole(motion, sb.Trajectory.save), _began),
    "checkpoint": Writer("checkpoint.npz", _checkpoint, _resumed),
    "mjcf": Writer("model.xml", _whole(mechanism, mjcf_writer.write), _named),
    "sdf": Writer("model.sdf", _whole(mechanism, sdf_writer.write), _named),
    "mbs": Writer("model.mbs", _whole(mechanism, mbs_writer.write), _named),
    "bondgraph": Writer("graph.bond.yaml", _whole(graph, sb.BondGraph.save), _graph),
    "picture": Writer("picture.svg", _whole(_picture, Picture.save), _drawn),
    "stream": Writer("run.parquet", _stream, _members),
    "report": Writer("report.html", _whole(mechanism, sb.write_report), _report),
    "cache": Writer("0123abcd.obj", _store, _load),
    "secret": Writer(secret.NAME, _make_secret, _secret),
}


# -- kills


def _lines(act: Callable[[], object], stop: int = 0) -> int:
    """How many lines of the writers `act` runs through; the process is killed at the `stop`-th."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if os.path.basename(frame.f_code.co_filename) not in WATCHED:
            return None
        if event == "line":
            count += 1
            if count == stop:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(None)
    return count


def kill_one(writer: Writer, path: Path, version: int, at_line: int, after: float) -> bool:
    """Kill a child that writes a version; whether it was killed, and not done before."""
    child = os.fork()
    if child == 0:
        try:
            if at_line:
                _lines(lambda: writer.write(path, version), at_line)
            else:
                writer.write(path, version)
        finally:
            os._exit(0)
    if not at_line:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def kill_many(name: str, count: int, folder: Path, rng: random.Random) -> dict[str, int]:
    """Kills, those within a write, and how often the new version stood there; AssertionError if harm is done."""
    writer = WRITERS[name]
    home = folder / name
    home.mkdir(mode=0o700)
    path = home / writer.file
    writer.write(path, 0)
    writer.write(path, 1)  # whatever is made once is made
    start = time.perf_counter()
    writer.write(path, 0)
    lasts = time.perf_counter() - start
    steps = _lines(lambda: writer.write(path, 1))
    writer.write(path, 0)
    found = {"kills": 0, "within": 0, "new": 0}
    for k in range(count):
        old, new = k % 2, 1 - k % 2
        by_line = rng.random() < 0.6
        killed = kill_one(writer, path, new, rng.randint(1, steps) if by_line else 0, rng.uniform(0, 1.2 * lasts))
        found["kills"] += 1
        found["within"] += killed
        now = writer.read(path)
        assert now in (old, new), f"{name}: version {now} stands there, neither {old} nor {new}"
        found["new"] += now == new
        strange = [p.name for p in home.iterdir() if p != path and not p.name.endswith(".symbody.part")]
        assert not strange, f"{name}: {strange} were left, which no writer removes"
        writer.write(path, new)  # the next start
        left = sorted(p.name for p in home.iterdir())
        assert left == [writer.file], f"{name}: {left} stand there after the next write"
        assert writer.read(path) in (new, 1), name
    return found


# -- a disk of 1 MB


@contextlib.contextmanager
def small_disk(folder: Path, size: str = "1m") -> Iterator[Path]:
    """A disk in memory; PermissionError where it may not be mounted."""
    place = folder / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True)
    if done.returncode:
        raise PermissionError(done.stderr.decode().strip() or "mount failed")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def fill_disk(name: str, disk: Path, rng: random.Random, count: int = 8) -> dict[str, int]:
    """Writes onto a disk with less and less room; how many were refused."""
    writer = WRITERS[name]
    home = disk / name
    home.mkdir(mode=0o700)
    path, filler = home / writer.file, disk / "filler"
    writer.write(path, 0)
    before = path.read_bytes()
    found = {"writes": 0, "refused": 0}
    for k in range(count):
        status = os.statvfs(disk)
        free = status.f_bavail * status.f_frsize
        leave = 0 if k < 2 else rng.randint(0, max(len(before) * 2, 1 << 14))
        filler.write_bytes(bytes(max(free - leave, 0)))
        found["writes"] += 1
        try:
            writer.write(path, 1)
        except FormatError:
            found["refused"] += 1
        if name != "secret":
            assert path.read_bytes() == before or writer.read(path) == 1, name
        names = sorted(p.name for p in home.iterdir())
        assert names in ([writer.file], []) if name == "secret" else names == [writer.file], f"{name}: {names}"
        filler.unlink()
        path.unlink(missing_ok=True)  # a disk of 1 MB does not hold two reports
        writer.write(path, 0)
        before = path.read_bytes()
    path.unlink()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Kills and full disks over every writer.")
    parser.add_argument("--count", type=int, default=500, help="kills, shared among the writers")
    parser.add_argument("--kind", choices=WRITERS, action="append")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    kinds = given.kind or list(WRITERS)
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        for name in kinds:
            found = kill_many(name, -(-given.count // len(kinds)), Path(folder), rng)
            print(f"{name:12} {', '.join(f'{n} {k}' for k, n in found.items())}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            with small_disk(Path(folder)) as disk:
                for name in kinds:
                    found = fill_disk(name, disk, rng)
                    print(f"{name:12} disk of 1 MB: {', '.join(f'{n} {k}' for k, n in found.items())}", flush=True)
        except PermissionError as error:
            print(f"no disk of 1 MB: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
