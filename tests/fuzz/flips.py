"""One flipped bit in every format that symbody writes to read it again: refused, or read as what it was.

python -m fuzz.flips                 every format, 4000 bits of each
python -m fuzz.flips --count 0       all bits of each file

Model files, which people write and edit, have no checksum: there a changed number is another model.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import symbody as sb
from fuzz.kinds import FILES, GOOD
from fuzz.run_files import RUNS, checkpoint_bytes, stream_bytes, trajectory_bytes
from symbody.basics.errors import SymbodyError
from symbody.symbolic.system.save import fingerprint


def _whole_motion(path: Path) -> list[Any]:
    """Everything that a Trajectory has, as values that can be compared."""
    found = sb.Trajectory.load(path)
    outcomes = None if found.outcomes is None else [getattr(o, "name", o) for o in np.ravel(found.outcomes)]
    texts = [found.model, found.method, found.outcome.name, outcomes, found.notes, found.events, found.statistics]
    numbers = [(n, np.asarray(a).dtype.str, a.shape, _bits(a)) for n, a in (("t", found.t), *found.values.items())]
    return [texts, dict(found.labels), dict(found.units), numbers]


def _bits(array: np.ndarray) -> bytes:
    return np.where(np.isnan(array), np.nan, array).tobytes() if array.dtype.kind == "f" else array.tobytes()


def _whole_run(path: Path) -> list[Any]:
    found = sb.resume(path, 0.02)
    return [found.outcome, found.notes, found.events, *(_bits(a) for a in found.values.values())]


def formats() -> dict[str, tuple[str, bytes, Callable[[Path], Any]]]:
    """name -> (suffix, the good file, what is read of it)."""
    out: dict[str, tuple[str, bytes, Callable[[Path], Any]]] = {}
    for suffix in (".csv", ".npz", *FILES):
        for members, word in ((0, ""), (3, " of a batch")):
            out[f"{suffix[1:]}{word}"] = (suffix, trajectory_bytes(suffix, members), _whole_motion)
    if ".parquet" in FILES:
        out["stream"] = (".parquet", stream_bytes(), _whole_motion)
    out["system"] = (".json", str(GOOD["system"]()).encode(), lambda path: fingerprint(sb.System.load(path)))
    out.update({name: (".npz", checkpoint_bytes(name), _whole_run) for name in RUNS})
    return out


def flip(name: str, bits: Iterable[int], folder: Path) -> Counter[str]:
    """How many of the flipped bits were refused, and how many read as the same; AssertionError for others."""
    suffix, good, read = formats()[name]
    path = folder / f"file{suffix}"
    path.write_bytes(good)
    whole = read(path)
    found: Counter[str] = Counter()
    for bit in bits:
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a note that there is no checksum is a way past it
                other = read(path)
        except SymbodyError:
            found["refused"] += 1
            continue
        assert other == whole, f"{name}: bit {bit} gives something else"
        found["read as what it was"] += 1
    return found


def chosen(name: str, count: int, seed: int) -> Iterator[int]:
    size = 8 * len(formats()[name][1])
    yield from range(size) if not 0 < count < size else random.Random(f"{name} {seed}").sample(range(size), count)


def main() -> int:
    parser = argparse.ArgumentParser(description="Flipped bits in every format.")
    parser.add_argument("--count", type=int, default=4000, help="bits of each format; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=formats(), action="append")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for name in given.kind or formats():
            found = flip(name, chosen(name, given.count, given.seed), Path(folder))
            told = ", ".join(f"{n} {what}" for what, n in found.items())
            print(f"{name:24} {sum(found.values()):7} bits: {told}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
