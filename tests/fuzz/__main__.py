"""`make fuzz`: damaged inputs for every reader; anything but a SymbodyError, a slow or a large one is kept in `found/`.

make fuzz                                    a short run of every kind
make fuzz ARGS="--whole --jobs 2"            a whole one: 10^6 expressions, 10^5 of everything else; within an hour
make fuzz ARGS="--kind yaml --seed 17"       one input again, with its traceback
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from fuzz.attack import FOUND, Tried, confined_attack
from fuzz.kinds import APART, KINDS


def keep(name: str, seed: int) -> Path:
    """Store a crashing input: `tests/fuzz/test_found.py` reads all of them again."""
    FOUND.mkdir(exist_ok=True)
    path = FOUND / f"{name}-{seed}{KINDS[name].suffix}"
    path.write_bytes(KINDS[name].make(random.Random(f"{name} {seed}")))
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description="Damaged inputs for everything that reads.")
    parser.add_argument("--seconds", type=float, help="of the run, shared among the kinds; a minute, unless --whole")
    parser.add_argument("--whole", action="store_true", help="10^6 expressions, 10^5 of every other kind")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS, action="append", help="one kind (may be given again); default all")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=10**9, help="inputs of each kind at most")
    parser.add_argument("--seed", type=int, help="this input alone, with its traceback")
    given = parser.parse_args()
    kinds = given.kind or sorted(KINDS, key=lambda kind: kind not in APART)  # those that take longest begin
    if given.seed is not None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"input{KINDS[kinds[0]].suffix}")
            path.write_bytes(KINDS[kinds[0]].make(random.Random(f"{kinds[0]} {given.seed}")))
            KINDS[kinds[0]].read(path)
        return 0
    failed, began = 0, time.monotonic()
    seconds = given.seconds or (float("inf") if given.whole else 60.0)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        share = seconds * given.jobs / len(kinds)
        counts = [KINDS[kind].whole if given.whole else given.count for kind in kinds]
        runs = [pool.submit(attack_apart, k, given.first, n, share, Path(folder)) for k, n in zip(kinds, counts)]
        for name, run in zip(kinds, runs):
            tried = run.result()
            print(f"{name:24} {tried.inputs:8} inputs, {tried.read:7} read, {len(tried.faults)} faults", flush=True)
            for wrong, seed in tried.faults.items():
                failed += 1
                print(f"    seed {seed}: {wrong}\n        kept as {keep(name, seed).name}", flush=True)
    print(f"{time.monotonic() - began:.0f} s", flush=True)
    return 1 if failed else 0


def attack_apart(name: str, first: int, count: int, seconds: float, folder: Path) -> Tried:
    """An attack in a process of its own; one that dies is a fault, and the next goes on behind it."""
    end, done, read, faults = time.monotonic() + seconds, 0, 0, {}
    note = folder / name
    while done < count and (time.monotonic() < end or not done):
        note.write_text(f"{first + done:20}")
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            left = max(end - time.monotonic(), 0.0)
            try:
                tried = pool.submit(confined_attack, name, first + done, count - done, left, str(note)).result()
            except BrokenProcessPool:
                died = int(note.read_text())
                tried = Tried(died - first - done + 1, 0, {"the process died": died})
        done, read = done + tried.inputs, read + tried.read
        for wrong, seed in tried.faults.items():
            faults.setdefault(wrong, seed)
    return Tried(done, read, faults)


if __name__ == "__main__":
    sys.exit(main())
