"""One attack: damaged inputs of a kind, one after the other, each with a limit of time and memory."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

from fuzz.forked import Server
from fuzz.kinds import APART, KINDS
from symbody.basics.errors import SymbodyError
from symbody.model.files import parser_process

FOUND = Path(__file__).parent / "found"
SLOW = 1.0  # s of one input
LARGE = 500 << 20  # bytes of one input, above what the process has before
ROOM = 4 << 30  # bytes of address space of an attack: a machine with others on it must not suffer
ROUND = 200  # inputs between two looks at the clock


class Slow(BaseException):
    """An input that takes more than `SLOW`; no reader catches it."""


class Large(BaseException):
    """An input that takes more than `LARGE` in a process apart."""


class Answer(NamedTuple):
    """To one input. wrong: "" if it was read, or refused in a sentence; read: whether it was read."""

    wrong: str
    read: bool = False


class Tried(NamedTuple):
    """What came of an attack. faults: what went wrong -> first seed."""

    inputs: int
    read: int
    faults: dict[str, int]


def attempt(name: str, seed: int, folder: Path, limit: float = SLOW) -> Answer:
    """The answer to one input. limit: s of CPU time, 0 for none."""
    kind = KINDS[name]
    data = kind.make(random.Random(f"{name} {seed}"))
    path = folder / f"input{kind.suffix}"
    path.write_bytes(data)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        kind.read(path)
    except SymbodyError:
        return Answer("")
    except Slow:
        return Answer(f"more than {limit:g} s")
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Answer(f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {str(error)[:100]}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return Answer("", read=True)


def attack(name: str, first: int, count: int, seconds: float, note: str = "") -> Tried:
    """Damaged inputs of a kind. note: a file that says which seed is being tried."""
    signal.signal(signal.SIGPROF, _slow)
    faults: dict[str, int] = {}
    end, done, read, base = time.monotonic() + seconds, 0, 0, _resident()
    with tempfile.TemporaryDirectory(dir=_memory()) as folder, _noting(note) as tell:
        while done < count and (done % ROUND or time.monotonic() < end):
            if not done % ROUND:
                base = _resident()  # what an attack itself keeps is not what an input takes
            tell(first + done)
            wrong, taken = attempt(name, first + done, Path(folder))
            read += taken
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
            if not wrong and peak - base > LARGE:
                wrong = f"{(peak - base) >> 20} MB"
                _forget_peak()
            if wrong:
                faults.setdefault(wrong, first + done)
            done += 1
    return Tried(done, read, faults)


def confined_attack(name: str, first: int, count: int, seconds: float, note: str) -> Tried:
    """The same in a process of its own, with bounded memory."""
    with tempfile.TemporaryDirectory() as folder:
        attempt(name, -1, Path(folder), 0.0)  # libraries are loaded, and code compiled, before the bound
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, resource.getrlimit(resource.RLIMIT_AS)[1]))
    with contextlib.ExitStack() as stack:
        if name in APART:
            server = stack.enter_context(Server(*APART[name]))
            parser_process.ran = lambda command, made, told: _judged(*server.run(command, made, told))
        return attack(name, first, count, seconds, note)


def _judged(status: int, seconds: float, memory: int) -> int:
    """The status of a process apart, which is held to the limits of this one."""
    if seconds > SLOW:
        raise Slow
    if memory > LARGE:
        raise Large(f"{memory >> 20} MB")
    return status


def _slow(*_: Any) -> None:
    raise Slow


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def _forget_peak() -> None:
    """Let the next input be measured from what is used now (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _memory() -> str | None:
    """A folder in memory, if there is one: the disk would be the slowest part."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@contextlib.contextmanager
def _noting(note: str) -> Any:
    """A function that writes a seed to the file, for whoever has to find out why a process died."""
    if not note:
        yield lambda seed: None
        return
    with open(note, "r+b", buffering=0) as file:

        def tell(seed: int) -> None:
            file.seek(0)
            file.write(b"%20d" % seed)

        yield tell
