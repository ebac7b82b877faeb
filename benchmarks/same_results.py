"""Results of runs and verbs, recorded from one checkout and compared with those of another.

    PYTHONPATH=src python -m benchmarks.same_results record before.npz
    PYTHONPATH=src python -m benchmarks.same_results compare before.npz after.npz

PYTHONPATH decides which symbody is asked; only public names (`sb.*`) are used. A result has a kind:

    bits       runs of fixed steps and evaluations: equal bit for bit
    tolerance  runs of adaptive steps and iterations: equal to the tolerance stated with each result
    words      outcomes, verdicts, notes, names: equal text
    count      operations: none may rise; fewer are listed
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

KINDS = ("bits", "tolerance", "words", "count")
LISTS = ("trees", "loops", "hybrid", "verbs", "counts")


@dataclass(frozen=True)
class Result:
    """make() gives an array of doubles, or a text where the kind is words; rtol is beside the largest entry."""

    name: str
    kind: str
    make: Callable[[], Any]
    rtol: float = 0.0


def result(into: list[Result], name: str, kind: str = "bits", rtol: float = 0.0) -> Callable[[Any], Any]:
    """Decorator that lists a function without arguments as a Result."""
    if kind not in KINDS or (kind == "tolerance") != (rtol > 0):
        raise ValueError(f"{name}: kind {kind!r} with rtol={rtol}; expected one of {KINDS}, rtol for tolerance alone")

    def add(make: Any) -> Any:
        into.append(Result(name, kind, make, rtol))
        return make

    return add


def results() -> list[Result]:
    """All of them, in the order in which they are made."""
    from importlib import import_module

    found = [r for name in LISTS for r in import_module(f"benchmarks.same_results_{name}").RESULTS]
    names = [r.name for r in found]
    assert len(set(names)) == len(names), sorted(n for n in names if names.count(n) > 1)
    return found


def write(path: Path, chosen: Iterable[Result], slowest: int = 0) -> None:
    """Make results and write them; what raises is recorded as the words of its error."""
    arrays: dict[str, np.ndarray] = {}
    heads: dict[str, dict[str, Any]] = {}
    seconds = {}
    for r in chosen:
        begin = time.process_time()
        head: dict[str, Any] = {"kind": r.kind, "rtol": r.rtol}
        try:
            value = r.make()
        except Exception as error:  # an error is a result too: it must stay the same
            head["raised"] = f"{type(error).__name__}: {error}"
        else:
            if r.kind == "words":
                head["words"] = value
            else:
                arrays[r.name] = np.asarray(value, dtype=float)
        heads[r.name] = head
        seconds[r.name] = time.process_time() - begin
    np.savez_compressed(path, **arrays, heads=np.array(json.dumps(heads)))  # type: ignore[arg-type]
    print(f"{len(heads)} results in {sum(seconds.values()):.1f} s of CPU -> {path}")
    for name, head in heads.items():
        if "raised" in head:
            print(f"  raised: {name}: {head['raised']}")
    for name in sorted(seconds, key=lambda n: -seconds[n])[:slowest]:
        print(f"  {seconds[name]:6.2f} s  {name}")


def _read(path: Path) -> tuple[dict[str, dict[str, Any]], dict[str, np.ndarray]]:
    with np.load(path) as file:
        return json.loads(str(file["heads"])), {n: file[n] for n in file.files if n != "heads"}


def compare(first: Path, second: Path) -> int:
    """List what differs, and by how much; the number of results that are not the same."""
    (before, old), (after, new) = _read(first), _read(second)
    wrong, better = [], []
    for name, head in before.items():
        if name not in after:
            wrong.append(f"{name}: missing in {second}")
        elif (said := _difference(head, after[name], old.get(name), new.get(name))) is not None:
            fine, text = said
            (better if fine else wrong).append(f"{name} ({head['kind']}): {text}")
    for title, lines in (("not the same", wrong), ("fewer operations", better)):
        for line in lines:
            print(f"{title}: {line}")
    added = [n for n in after if n not in before]
    print(
        f"{len(before) - len(wrong)} of {len(before)} results are the same" + (f"; {len(added)} new" if added else "")
    )
    return len(wrong)


def _difference(
    head: dict[str, Any], other: dict[str, Any], x: np.ndarray | None, y: np.ndarray | None
) -> tuple[bool, str] | None:
    """None if equal; else whether it is an improvement, and what differs."""
    if head.get("raised") != other.get("raised"):
        return False, f"raised {head.get('raised')!r} -> {other.get('raised')!r}"
    if head.get("words") != other.get("words"):
        return False, _changed(str(head.get("words")), str(other.get("words")))
    if x is None or y is None:
        return None if x is y else (False, "a value on one side only")
    if x.shape != y.shape:
        return False, f"shape {x.shape} -> {y.shape}"
    if x.tobytes() == y.tobytes():
        return None
    # relative to the largest entry: single components of a motion pass through zero
    scale = np.nanmax(np.abs(x), initial=0.0) or 1.0
    same_holes = np.array_equal(np.isnan(x), np.isnan(y))
    worst = np.nanmax(np.abs(x - y), initial=0.0) / scale if same_holes else np.inf
    if head["kind"] == "count":
        text = f"{x.astype(int).tolist()} -> {y.astype(int).tolist()}"
        return bool((y <= x).all()), text
    if head["kind"] == "tolerance" and worst <= head["rtol"]:
        return None
    limit = f", allowed {head['rtol']:.0e}" if head["kind"] == "tolerance" else ""
    return False, f"{int((x != y).sum())} of {x.size} entries differ, by up to {worst:.2e} of the largest{limit}"


def _changed(old: str, new: str) -> str:
    """Lines of a text that went (-) and came (+)."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
    return "\n    ".join(["", *(line for line in lines if not line.startswith(("---", "+++", "@@")))])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Record results, and compare those of two checkouts.")
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("other", type=Path, nargs="?")
    parser.add_argument("--only", default="", help="record results with this in their names")
    parser.add_argument("--slowest", type=int, default=0, help="print so many of those that took longest")
    given = parser.parse_args(arguments)
    if given.action == "record":
        write(given.file, (r for r in results() if given.only in r.name), given.slowest)
        return 0
    if given.other is None:
        parser.error("compare needs two files")
    return 1 if compare(given.file, given.other) else 0


if __name__ == "__main__":
    sys.exit(main())
