"""Clocks: the best of interleaved rounds, and steps in a process of their own with a time limit."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def seconds(function: Callable[[], Any]) -> float:
    """Of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def interleaved(clocks: Mapping[str, Callable[[], float]], rounds: int, patience: float = 3.0) -> dict[str, float]:
    """Best reading of each clock. They take turns, so that a busy minute of a shared machine hits all of them.

    patience: seconds after which a slow clock is not asked again.
    """
    best = dict.fromkeys(clocks, float("inf"))
    spent = dict.fromkeys(clocks, 0.0)
    for _ in range(rounds):
        for name, clock in clocks.items():
            if spent[name] < patience:
                start = time.perf_counter()
                best[name] = min(best[name], clock())
                spent[name] += time.perf_counter() - start
    return best


def per_call(function: Callable[[], Any], repeat: int) -> Callable[[], float]:
    """A clock that reads the mean time of a call."""

    def clock() -> float:
        start = time.perf_counter()
        for _ in range(repeat):
            function()
        return (time.perf_counter() - start) / repeat

    return clock


def resident_bytes() -> int:
    """Memory that the process holds now; 0 where the system does not tell."""
    try:
        fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


class TooSlow(Exception):
    """A step did not end within its time limit, or failed; the text says which."""


def limited(command: list[str], limit: float, **options: Any) -> tuple[int, str, str]:
    """Status, output and errors of a command. At the limit all of its processes end: gcc's compiler proper is a child
    that would otherwise go on, and disturb every later figure."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **options
    ) as process:
        try:
            out, err = process.communicate(timeout=limit)
        except BaseException as error:
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            if isinstance(error, subprocess.TimeoutExpired):
                raise TooSlow(f"not done in {limit:.0f} s") from None
            raise
        return process.returncode, out, err


def isolated(function: Callable[..., Any], *arguments: Any, limit: float) -> Any:
    """`function(*arguments)` in a fresh process: its memory is its own, and it can be stopped.

    Compiled libraries cannot be interrupted from Python, and some of them grow without bound on shared expressions.
    Arguments and the result pass as JSON.
    """
    command = [sys.executable, "-m", "benchmarks.timing", function.__module__, function.__qualname__]
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    status, out, err = limited([*command, json.dumps(arguments)], limit, env={**os.environ, "PYTHONPATH": path})
    if status:
        last = (err.strip().splitlines() or [f"status {status}"])[-1]
        # a step that gave up by itself says why; anything else is named as it is
        raise TooSlow(last.partition("TooSlow: ")[2] or f"failed: {last[:100]}")
    return json.loads(out.splitlines()[-1])


if __name__ == "__main__":
    module, name, given = sys.argv[1:]
    sys.setrecursionlimit(100_000)  # SymPy and SymEngine's wrapper walk expressions recursively
    answer = getattr(import_module(module), name)(*json.loads(given))
    gc.disable()  # leave at once: freeing a million nodes is not part of any figure
    print(json.dumps(answer), flush=True)
    os._exit(0)
