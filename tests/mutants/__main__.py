"""`make mutants ARGS="..."`: change the sources, and count what `sb.verify` refuses."""

from __future__ import annotations

import argparse
import json
import os
import pickle
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mutants.operators import Change, diff
from mutants.panel import PANEL
from mutants.pool import Job, Pool
from mutants.report import GOAL, share, summary
from mutants.scope import PACKAGE, chosen, draw, mechanics_files
from mutants.worker import Baseline, baseline_of, certificate_of, judge

SEED = 20251
COUNT = 300
SECONDS = 150.0  # of processor time for a mutant


def main() -> int:
    options = _options()
    _warm()
    work = Path(options.work or tempfile.mkdtemp(prefix="mutants_"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        pool = Pool(work, options.jobs, options.seconds)
        base = baseline(pool, options.models)
        refused = [m for m, seconds in base.certificates.items() if seconds < 0]
        if refused:
            print(f"unchanged sources are refused on {', '.join(refused)}")
        records, not_reached = run(pool, base, options)
    finally:
        if not options.work:
            shutil.rmtree(work, ignore_errors=True)
    print()
    print(summary(records, not_reached))
    if options.json:
        given = {"seed": options.seed, "count": options.count, "refused_unchanged": refused, "not_reached": not_reached}
        Path(options.json).write_text(json.dumps({**given, "share": share(records), "mutants": records}, indent=1))
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
    p.add_argument("--only", nargs="*", default=[], help="names of mutants of this seed, or of the stored list, to run")
    p.add_argument("--json", default="", help="file for the results")
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


def baseline(pool: Pool, models: list[str]) -> Baseline:
    """Outputs, lines and certificates of the unchanged sources; a refused model has negative seconds."""
    start = time.monotonic()
    base = Baseline({}, {}, {}, {})
    jobs = [Job(("outputs", m), lambda folder, m=m: baseline_of(m, folder)) for m in models]
    jobs += [Job(("certificate", m), lambda folder, m=m: certificate_of(m)) for m in models]
    for job, answer in pool.run(jobs):
        what, model = job.label
        if what == "outputs":
            if not isinstance(answer, bytes):
                raise SystemExit(f"{model} of the panel: {answer}")
            base.points[model], base.outputs[model], base.lines[model] = pickle.loads(answer)
        else:
            good = answer.get("verdict") == "certified"
            base.certificates[model] = answer["seconds"] if good else -1.0
            print(f"  {model:<20} {answer.get('verdict', answer)}, {answer.get('seconds', 0.0):.1f} s", flush=True)
    print(f"unchanged sources: {len(models)} models, {time.monotonic() - start:.0f} s", flush=True)
    return base


def reached(base: Baseline, file: str, change: Change) -> dict[str, list[str]]:
    """Model -> tasks that run what is changed, models with quick certificates first."""

    def runs(lines: set[int]) -> bool:
        if not change.at_import:
            return any(change.line <= n <= change.last for n in lines)
        first, last = change.function
        return any(first <= n <= last for n in lines) if last else bool(lines)

    out = {}
    for model in sorted(base.certificates, key=base.certificates.__getitem__):
        tasks = [t for t, files in base.lines[model].items() if runs(files.get(file, set()))]
        if tasks and base.certificates[model] >= 0:
            out[model] = tasks
    return out


# -- changed ones


def run(pool: Pool, base: Baseline, options: argparse.Namespace) -> tuple[list[dict[str, Any]], int]:
    """Records of the mutants that were run, and how many were drawn that no model reaches."""
    missed = [0]
    start = time.monotonic()
    records = []
    mutants = by_hand(base, options) if options.hand else at_random(base, options, missed)
    for job, answer in pool.run(mutants):
        record = {**job.label, **answer}
        records.append(record)
        done = f"{len(records):>4} {time.monotonic() - start:>6.0f} s"
        first = record["diff"].splitlines()[1:]
        what = f"{record['end']:<10} {record['file']}:{record['line']} {record['operator']} {first[0] if first else ''}"
        print(f"{done}  {what}"[:160], flush=True)
    return records, missed[0]


def at_random(base: Baseline, options: argparse.Namespace, missed: list[int]) -> Iterator[Job]:
    files = chosen(mechanics_files(), options.files)
    texts = {f: (PACKAGE / f).read_text(encoding="utf-8") for f in files}
    given = 0
    for mutant in draw(files, options.seed, texts):
        name = f"{options.seed}-{mutant.number}"
        if options.only and name not in options.only:
            continue
        tasks = reached(base, mutant.file, mutant.change)
        if not tasks:
            missed[0] += 1
            continue
        yield job(name, mutant.file, mutant.change.operator, mutant.change.line, texts[mutant.file],
                  mutant.change.applied(texts[mutant.file]), tasks, base)  # fmt: skip
        given += 1
        if given >= (len(options.only) or options.count):
            return


def job(
    name: str, file: str, operator: str, line: int, old: str, new: str, tasks: dict[str, list[str]], base: Baseline
) -> Job:
    label = {"name": name, "file": file, "operator": operator, "line": line, "diff": diff(old, new, file)}
    return Job(label, lambda folder: judge(tasks, base), file, new)


def by_hand(base: Baseline, options: argparse.Namespace) -> Iterator[Job]:
    from mutants.hand import PATCHES, patched

    for patch in PATCHES:
        if options.only and patch.name not in options.only:
            continue
        old = (PACKAGE / patch.file).read_text(encoding="utf-8")
        new = patched(patch, old)
        line = old[: old.index(patch.old)].count("\n") + 1
        # the lines of a patch may be anywhere in its file
        tasks = {m: list(base.lines[m]) for m in sorted(base.certificates, key=base.certificates.__getitem__)}
        tasks = {m: [t for t in found if patch.file in base.lines[m][t]] for m, found in tasks.items()}
        yield job(patch.name, patch.file, "by hand", line, old, new, {m: t for m, t in tasks.items() if t}, base)


if __name__ == "__main__":
    sys.exit(main())
