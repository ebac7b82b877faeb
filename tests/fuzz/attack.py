"""One attack: damaged inputs of a kind, one after the other, each with a limit of time and memory."""

from __future__ import annotations

import random
import resource
import signal
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from fuzz.kinds import KINDS
from symbody.errors import SymbodyError

FOUND = Path(__file__).parent / "found"
SLOW = 1.0  # s of one input
LARGE = 500 << 20  # bytes above what the process has at its start
ROUND = 200  # inputs between two looks at the clock


class Slow(BaseException):
    """An input that takes more than `SLOW`; no reader catches it."""


def attempt(name: str, seed: int, folder: Path, limit: float = SLOW) -> str:
    """What is wrong with the answer to one input: "" if it was read, or refused in a sentence. limit: s, 0 for none."""
    kind = KINDS[name]
    data = kind.make(random.Random(f"{name} {seed}"))
    path = folder / f"input{kind.suffix}"
    path.write_bytes(data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        kind.read(path)
    except SymbodyError:
        pass
    except Slow:
        return f"more than {limit:g} s"
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {str(error)[:100]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return f"{grown >> 10} MB" if grown << 10 > LARGE else ""


def attack(name: str, first: int, count: int, seconds: float) -> tuple[str, int, dict[str, int]]:
    """(kind, inputs tried, what went wrong -> first seed)."""
    signal.signal(signal.SIGPROF, _slow)
    faults: dict[str, int] = {}
    end, done = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        while done < count and (done % ROUND or time.monotonic() < end):
            wrong = attempt(name, first + done, Path(folder))
            if wrong:
                faults.setdefault(wrong, first + done)
            done += 1
    return name, done, faults


def _slow(*_: Any) -> None:
    raise Slow
