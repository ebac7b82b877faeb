"""`make fuzz`: damaged inputs for every reader; anything but a SymbodyError, a slow or a large one is kept in `found/`.

make fuzz                                    a short run of every kind
make fuzz ARGS="--seconds 3600 --jobs 2"     a long one
make fuzz ARGS="--kind yaml --seed 17"       one input again, with its traceback
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from fuzz.attack import FOUND, attack
from fuzz.kinds import KINDS


def keep(name: str, seed: int) -> Path:
    """Store a crashing input: `tests/fuzz/test_found.py` reads all of them again."""
    FOUND.mkdir(exist_ok=True)
    path = FOUND / f"{name}-{seed}{KINDS[name].suffix}"
    path.write_bytes(KINDS[name].make(random.Random(f"{name} {seed}")))
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description="Damaged inputs for everything that reads.")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the whole run, shared among the kinds")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS, action="append", help="one kind (may be given again); default all")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=10**9, help="inputs of each kind at most")
    parser.add_argument("--seed", type=int, help="this input alone, with its traceback")
    given = parser.parse_args()
    kinds = given.kind or list(KINDS)
    if given.seed is not None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"input{KINDS[kinds[0]].suffix}")
            path.write_bytes(KINDS[kinds[0]].make(random.Random(f"{kinds[0]} {given.seed}")))
            KINDS[kinds[0]].read(path)
        return 0
    share = given.seconds * given.jobs / len(kinds)
    failed = 0
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        runs = [pool.submit(attack, kind, given.first, given.count, share) for kind in kinds]
        for run in runs:
            name, done, faults = run.result()
            print(f"{name:12} {done:8} inputs, {len(faults)} faults", flush=True)
            for wrong, seed in faults.items():
                failed += 1
                print(f"    seed {seed}: {wrong}\n        kept as {keep(name, seed).name}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
