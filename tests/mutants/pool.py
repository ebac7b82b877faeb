"""A few processes at a time, each on its own copy of the sources."""

from __future__ import annotations

import compileall
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutants.scope import PACKAGE
from mutants.worker import in_child

PATIENCE = 8.0  # seconds of wall time for each second of processor time, on a busy machine


@dataclass
class Job:
    """run(folder of the sources) in a child, with `text` in place of the file `path` (none: nothing is changed)."""

    label: Any
    run: Callable[[Path], Any]
    path: str = ""
    text: str = ""


@dataclass
class Running:
    job: Job
    slot: int
    pid: int
    started: float


class Pool:
    """`jobs` copies of the sources below the folder `work`, and the processes that use them."""

    def __init__(self, work: Path, jobs: int, seconds: float) -> None:
        self.work, self.jobs, self.seconds = work, jobs, seconds
        first = work / "slot0" / "src" / "symbody"
        # times of files are kept, so that what is compiled already is valid in every copy
        shutil.copytree(PACKAGE, first)
        compileall.compile_dir(first, quiet=2)
        for k in range(1, jobs):
            shutil.copytree(first, work / f"slot{k}" / "src" / "symbody")
        self.originals = {p.relative_to(first).as_posix(): p.read_bytes() for p in first.rglob("*.py")}

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Any]]:
        """(job, answer) in the order in which they end; an answer {"end": ...} where a process gave none."""
        waiting, running, free = iter(jobs), [], list(range(self.jobs))
        more = True
        try:
            while more or running:
                while free and more:
                    job = next(waiting, None)
                    if job is None:
                        more = False
                        break
                    running.append(self._start(job, free.pop()))
                ended = [r for r in running if self._ended(r)]
                for one in ended:
                    running.remove(one)
                    free.append(one.slot)
                    yield one.job, self._answer(one)
                if not ended:
                    time.sleep(0.02)
        finally:
            for one in running:
                os.kill(one.pid, signal.SIGKILL)
                os.waitpid(one.pid, 0)

    def _place(self, slot: int) -> Path:
        return self.work / f"slot{slot}"

    def _start(self, job: Job, slot: int) -> Running:
        place = self._place(slot)
        cache = place / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir(mode=0o700)
        (place / "result").unlink(missing_ok=True)
        (place / "result.log").unlink(missing_ok=True)
        source = place / "src"
        if job.path:
            changed = source / "symbody" / job.path
            changed.write_text(job.text, encoding="utf-8")
            # what was compiled from the unchanged file
            for old in (changed.parent / "__pycache__").glob(f"{changed.stem}.*.pyc"):
                old.unlink()
        pid = in_child(lambda: job.run(source / "symbody"), source, cache, place / "result", self.seconds)
        return Running(job, slot, pid, time.monotonic())

    def _ended(self, one: Running) -> bool:
        pid, _ = os.waitpid(one.pid, os.WNOHANG)
        if pid:
            return True
        if time.monotonic() - one.started > PATIENCE * self.seconds:
            os.kill(one.pid, signal.SIGKILL)
            os.waitpid(one.pid, 0)
            return True
        return False

    def _answer(self, one: Running) -> Any:
        place = self._place(one.slot)
        if one.job.path:
            changed = place / "src" / "symbody" / one.job.path
            changed.write_bytes(self.originals[one.job.path])
        result, log = place / "result", place / "result.log"
        if not result.exists() or not result.stat().st_size:  # also where it was killed while it wrote
            why = log.read_text() if log.exists() else "the process ended without a word"
            return {"end": "died", "raised": {"process": why}}
        data = result.read_bytes()
        if data[:1] in (b"{", b"["):
            return json.loads(data)
        return data
