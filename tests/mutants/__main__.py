"""`make mutants ARGS="..."`: change the sources, and count what `sb.verify` refuses."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from mutants.hand import PATCHES, patched
from mutants.operators import Change, diff
from mutants.panel import PANEL
from mutants.pool import Job, Pool
from mutants.readers import judge_reader, reader_baseline
from mutants.report import GOAL, share, summary
from mutants.scope import PACKAGE, Mutant, chosen, draw, mechanics_files, reader_files
from mutants.worker import Baseline, baseline_of, certificate_of, judge

SEED = 20251
COUNT = 300
SECONDS = 150.0  # of processor time for a mutant


def main() -> int:
    options = _options()
    _warm()
    work = Path(options.work or tempfile.mkdtemp(prefix="mutants_"))
    work.mkdir(parents=True, exist_ok=True)
    refused: list[str] = []
    try:
        pool = Pool(work, options.jobs, options.seconds)
        missed = [0]
        if options.readers:
            mutants = islice(of_readers(pool, options, missed), options.count)
        else:
            base = stored_baseline(pool, options)
            refused = [m for m, seconds in base.certificates.items() if seconds < 0]
            if refused:
                print(f"unchanged sources are refused on {', '.join(refused)}")
            random = islice(at_random(base, options, missed), options.count)
            mutants = by_hand(base, options) if options.hand else random
        records = []
        for record in run(pool, mutants):
            records.append(record)
            if options.json:  # after each one: a run that is stopped leaves what it found
                given = {"seed": options.seed, "refused_unchanged": refused, "not_reached": missed[0]}
                text = json.dumps({**given, "share": share(records), "mutants": records}, indent=1)
                Path(options.json).write_text(text)
    finally:
        if not options.work:
            shutil.rmtree(work, ignore_errors=True)
    print()
    print(summary(records, missed[0]))
    good = share(records) >= GOAL and not refused
    print(f"\n{100 * share(records):.1f} % of the effective mutants are refused (wanted {100 * GOAL:.0f} %)")
    return 0 if good else 1


def _options() -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    p.add_argument("--seed", type=int, default=SEED, help="of the drawing")
    p.add_argument("--count", type=int, default=COUNT, help="mutants to run, of those that some model reaches")
    p.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes at a time")
    p.add_argument("--files", nargs="*", default=[], help="texts in the paths of the files to change")
    p.add_argument("--models", nargs="*", default=list(PANEL), choices=list(PANEL), help="of the panel")
    p.add_argument("--seconds", type=float, default=SECONDS, help="of processor time for one mutant")
    p.add_argument("--hand", action="store_true", help="the stored list of faults in place of random ones")
    p.add_argument("--readers", action="store_true", help="readers and builder, judged by Pinocchio and MuJoCo")
    p.add_argument("--only", nargs="*", default=[], help="names of mutants of this seed, or of the stored list, to run")
    p.add_argument("--json", default="", help="file for the results")
    p.add_argument("--baseline", default="", help="file that keeps outputs of the unchanged sources for other runs")
    p.add_argument("--work", default="", help="folder to work in, kept afterwards; it must be empty")
    return p.parse_args()


def _warm() -> None:
    """Import what every child needs, once; nothing of symbody."""
    import llvmlite.binding  # noqa: F401
    import numpy  # noqa: F401
    import scipy.linalg
    import scipy.optimize
    import scipy.sparse  # noqa: F401
    import yaml  # noqa: F401

    assert not any(name.split(".")[0] == "symbody" for name in sys.modules)


# -- the unchanged sources


def stored_baseline(pool: Pool, options: argparse.Namespace) -> Baseline:
    """From the file of an earlier run on the same sources, or made anew and written there."""
    path = Path(options.baseline) if options.baseline else None
    judges = [*PACKAGE.glob("mechanics/verbs/certify/*.py"), *PACKAGE.glob("reference/*.py")]
    own = [Path(__file__).with_name(name) for name in ("panel.py", "outputs.py", "worker.py")]
    judged = _digest([*own, *(p for p in PACKAGE.rglob("*.py") if p not in set(judges))], options.models)
    whole = _digest([*own, *PACKAGE.rglob("*.py")], options.models)
    base = None
    if path is not None and path.exists():
        known, complete, base = pickle.loads(path.read_bytes())
        if complete == whole:
            return base
        base = base if known == judged else None
    # where only the certificate has changed, outputs have not
    base = outputs_of(pool, options.models) if base is None else base
    base.certificates = certificates_of(pool, options.models)
    if path is not None:
        path.write_bytes(pickle.dumps((judged, whole, base)))
    return base


def _digest(files: list[Path], models: list[str]) -> str:
    found = hashlib.sha256(" ".join(models).encode())
    for file in sorted(files):
        found.update(file.read_bytes())
    return found.hexdigest()


def outputs_of(pool: Pool, models: list[str]) -> Baseline:
    """Outputs and lines of the unchanged sources."""
    start = time.monotonic()
    base = Baseline({}, {}, {}, {})
    for job, answer in pool.run(Job(m, lambda folder, m=m: baseline_of(m, folder)) for m in models):
        if not isinstance(answer, bytes):
            raise SystemExit(f"{job.label} of the panel: {answer}")
        base.points[job.label], base.outputs[job.label], base.lines[job.label] = pickle.loads(answer)
        print(f"  {job.label:<20} {len(base.outputs[job.label])} tasks", flush=True)
    print(f"outputs of unchanged sources: {len(models)} models, {time.monotonic() - start:.0f} s", flush=True)
    return base


def certificates_of(pool: Pool, models: list[str]) -> dict[str, float]:
    """Seconds of each certificate of the unchanged sources, negative where it is refused."""
    start, found = time.monotonic(), {}
    for job, answer in pool.run(Job(m, lambda folder, m=m: certificate_of(m)) for m in models):
        good = answer.get("verdict") == "certified"
        found[job.label] = answer["seconds"] if good else -1.0
        print(f"  {job.label:<20} {answer.get('verdict', answer)}, {answer.get('seconds', 0.0):.1f} s", flush=True)
    print(f"certificates of unchanged sources: {time.monotonic() - start:.0f} s", flush=True)
    return found


def _order(base: Baseline) -> list[str]:
    """Certified models, those with quick certificates first."""
    return sorted((m for m, s in base.certificates.items() if s >= 0), key=base.certificates.__getitem__)


def reached(base: Baseline, file: str, change: Change) -> dict[str, list[str]]:
    """Model -> tasks that run what is changed, in the order in which they are tried."""
    found = {
        m: [t for t, files in base.lines[m].items() if _runs(change, files.get(file, set()))] for m in _order(base)
    }
    return {m: tasks for m, tasks in found.items() if tasks}


def _runs(change: Change, lines: set[int]) -> bool:
    """Whether a change matters to whom these lines of its file ran: of what runs at import, who uses it."""
    first, last = change.function if change.at_import else (change.line, change.last)
    return any(first <= n <= last for n in lines) if last else bool(lines)


# -- changed ones


def run(pool: Pool, mutants: Iterator[Job]) -> Iterator[dict[str, Any]]:
    """Records of the mutants, each with what became of it."""
    start = time.monotonic()
    for number, (job, answer) in enumerate(pool.run(mutants), 1):
        record = {**job.label, **answer}
        first = record["diff"].splitlines()[1:]
        what = f"{record['end']:<10} {record['name']} {record['file']}:{record['line']} {record['operator']} "
        print(f"{number:>4} {time.monotonic() - start:>6.0f} s  {what}{first[0] if first else ''}"[:160], flush=True)
        yield record


def at_random(base: Baseline, options: argparse.Namespace, missed: list[int]) -> Iterator[Job]:
    """Mutants that some model of the panel reaches; missed counts the others."""
    files = chosen(mechanics_files(), options.files)
    for mutant, old in _drawn(files, options):
        tasks = reached(base, mutant.file, mutant.change)
        if tasks:
            yield _job(mutant, old, options, lambda folder, tasks=tasks: judge(tasks, base))
        else:
            missed[0] += 1


def of_readers(pool: Pool, options: argparse.Namespace, missed: list[int]) -> Iterator[Job]:
    """Mutants of readers and builder that some file reaches."""
    [(_, data)] = pool.run([Job("unchanged", reader_baseline)])
    if not isinstance(data, bytes):
        raise SystemExit(f"unchanged readers: {data}")
    base = pickle.loads(data)
    for mutant, old in _drawn(chosen(reader_files(), options.files), options):
        names = [n for n, row in base.items() if _runs(mutant.change, row[3].get(mutant.file, set()))]
        if names:
            yield _job(mutant, old, options, lambda folder, names=names: judge_reader(names, base))
        else:
            missed[0] += 1


def _drawn(files: list[str], options: argparse.Namespace) -> Iterator[tuple[Mutant, str]]:
    """Mutants of the seed with the unchanged text of their file; those of --only, where some are named."""
    texts = {f: (PACKAGE / f).read_text(encoding="utf-8") for f in files}
    wanted = set(options.only)
    for mutant in draw(files, options.seed, texts):
        name = f"{options.seed}-{mutant.number}"
        if not options.only or name in wanted:
            yield mutant, texts[mutant.file]
        wanted.discard(name)
        if options.only and not wanted:
            return


def _job(mutant: Mutant, old: str, options: argparse.Namespace, judged: Callable[[Path], Any]) -> Job:
    new, change = mutant.change.applied(old), mutant.change
    label = {"name": f"{options.seed}-{mutant.number}", "file": mutant.file, "operator": change.operator}
    return Job({**label, "line": change.line, "diff": diff(old, new, mutant.file)}, judged, mutant.file, new)


def by_hand(base: Baseline, options: argparse.Namespace) -> Iterator[Job]:
    for patch in PATCHES:
        if options.only and patch.name not in options.only:
            continue
        old = (PACKAGE / patch.file).read_text(encoding="utf-8")
        new = patched(patch, old)
        line = old[: old.index(patch.old)].count("\n") + 1
        # the lines of a patch may be used from anywhere in its file
        tasks = {m: [t for t, files in base.lines[m].items() if patch.file in files] for m in _order(base)}
        tasks = {m: found for m, found in tasks.items() if found}
        label = {"name": patch.name, "file": patch.file, "operator": "by hand", "line": line}
        label = {**label, "diff": diff(old, new, patch.file)}
        yield Job(label, lambda folder, tasks=tasks: judge(tasks, base), patch.file, new)


if __name__ == "__main__":
    sys.exit(main())
